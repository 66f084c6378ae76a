"""Records (JSONL, JSON, CSV) and files too large to be held in memory."""

from __future__ import annotations

import base64
import json
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memdb.domain.chunking import chunks, estimate_offsets
from memdb.domain.extractors import Block, CannotExtract, extract
from memdb.domain.extractors.tables import column_names, delimiter_of

DOCUMENTS = Path(__file__).parent / "vaults" / "documents"

Row = tuple[str | None, str, int | None, int | None]


def rows(content: bytes | Path, name: str) -> list[Row]:
    return [(block.record_id, block.text, block.start_line, block.end_line) for block in extract(content, name).blocks]


def test_jsonl_keeps_ids_and_names_the_broken_line() -> None:
    extracted = extract(DOCUMENTS / "turns.jsonl", "turns.jsonl")
    found = list(extracted.blocks)
    assert [(block.record_id, block.text, block.start_line) for block in found] == [
        ("t1", "The east pump is loud again.\nspeaker: Ada", 1),
        ("t2", "I will look at it.\nspeaker: Ben", 2),
        ("4", "Ben changed the seal.\nmeta.by: Ada\nmeta.tags: seal, east", 4),
        ("t5", "The last turn says that the pump is quiet.", 6),
    ]
    assert extracted.warnings == [
        "line 3: not valid JSON (Unterminated string starting at, column 68); left out",
    ]
    assert [block.heading_path for block in found][:3] == [("c1", "session 1"), ("c1", "session 1"), ()]
    assert (found[2].title, found[2].created) == ("Summary", "2024-05-02")
    assert all(block.atomic for block in found)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"id": 0, "text": "a"}', ("0", "a")),
        ('{"id": "x", "title": "only a title"}', ("x", "only a title")),
        ('{"id": "x"}', ("x", "x")),
        ('{"text": "a", "n": 1, "on": true, "off": null, "e": "", "l": []}', (None, "a\nn: 1\non: true")),
        ('{"text": ["a", "b"], "d": {"e": [{"f": 1}]}}', (None, "text: a, b\nd.e.0.f: 1")),
        ('"just a string"', (None, "just a string")),
        ('["a", 2]', (None, "text: a, 2")),
        ('{"text": "half \\ud83d", "id": "\\udc00"}', ("\ufffd", "half \ufffd")),
        ('{"text": "caf\\u00e9 \\ud83d\\ude00"}', (None, "café 😀")),
    ],
)
def test_shapes_of_a_line(line: str, expected: tuple[str | None, str]) -> None:
    assert [row[:2] for row in rows(line.encode(), "a.jsonl")] == [expected]


def test_many_broken_lines_are_counted() -> None:
    extracted = extract(b'{"id": 1, "text": "a"}\n' + b"oops\n" * 30, "a.jsonl")
    assert len(list(extracted.blocks)) == 1
    assert len(extracted.warnings) == 21
    assert extracted.warnings[-1] == "10 more lines are not valid JSON, the first on line 22; left out"


def test_json_records_and_fields_with_their_lines() -> None:
    found = list(extract(DOCUMENTS / "stations.json", "stations.json").blocks)
    assert [(block.heading_path, block.record_id, block.text, block.start_line, block.end_line) for block in found] == [
        ((), None, "network: upper valley", 2, 2),
        ((), None, "owner.name: water board\nowner.phones: 11, 12", 3, 3),
        (("stations",), "s1", "name: Weir\nsensor.kind: float\nsensor.range: 0, 400", 5, 5),
        (("stations",), "s2", "name: Harbour\nremark: The harbour station has no mains power.", 6, 10),
        ((), None, "active: true", 12, 12),
    ]


@pytest.mark.parametrize(
    ("text", "expected", "warned"),
    [
        ('[{"id": 1, "text": "a"}, {"id": 2, "text": "b"}]', [("1", "a", 1, 1), ("2", "b", 1, 1)], 0),
        ('["a", ["b", 3], null]', [(None, "a", 1, 1), (None, "b, 3", 1, 1)], 0),
        ('"text"', [(None, "text", 1, 1)], 0),
        ('{"a": {"b": {"c": 1}}}', [(None, "a.b.c: 1", 1, 1)], 0),
        # What is no JSON is kept as it is written.
        ("// note\n{}", [(None, "// note\n{}", 1, 2)], 1),
        ('{"a": 1,\n "b": oops}', [(None, "a: 1", 1, 1), (None, '"b": oops}', 2, 2)], 1),
        ('[{"id": 1, "text": "a"},\n{"id": 2', [("1", "a", 1, 1), (None, '{"id": 2', 2, 2)], 1),
        ('{"a": 1} trailing', [(None, "a: 1", 1, 1), (None, "} trailing", 1, 1)], 1),
        ("[" * 5000, [(None, "[" * 5000, 1, 1)], 1),
    ],
)
def test_shapes_of_json(text: str, expected: list[Row], warned: int) -> None:
    extracted = extract(text.encode(), "a.json")
    found = [(block.record_id, block.text, block.start_line, block.end_line) for block in extracted.blocks]
    assert (found, len(extracted.warnings)) == (expected, warned)


def test_minified_json_of_a_megabyte() -> None:
    records = [{"id": number, "text": f"Reading {number} was taken."} for number in range(25_000)]
    found = rows(json.dumps(records, separators=(",", ":")).encode(), "a.json")
    assert (len(found), found[-1][:2]) == (25_000, ("24999", "Reading 24999 was taken."))


_LEAF = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5))
_VALUE: st.SearchStrategy[Any] = st.recursive(
    _LEAF, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3))
)


@settings(max_examples=80, deadline=None)
@given(_VALUE, st.sampled_from([None, 2]))
def test_any_json_is_read_without_a_warning(value: Any, indent: int | None) -> None:
    text = json.dumps({"kept": "kept", "value": value}, indent=indent)
    extracted = extract(text.encode(), "a.json")
    assert next(iter(extracted.blocks)).text == "kept: kept"
    assert extracted.warnings == []


@given(st.text(alphabet='{}[]",:1a \n\\', min_size=1, max_size=40))
def test_no_text_named_json_raises_anything_else(text: str) -> None:
    try:
        list(extract(text.encode(), "a.json").blocks)
    except CannotExtract as refused:
        assert "no text" in refused.message


def test_csv_cells_with_quotes_commas_and_line_ends() -> None:
    assert rows(DOCUMENTS / "parts.csv", "parts.csv") == [
        ("P-1", "id: P-1\npart: hose, 2 m\nprice, net: 12.50\nnote: fits both\npumps", 2, 3),
        ("P-2", 'id: P-2\npart: seal\nprice, net: 3.10\nnote: the "green" one', 4, 4),
        ("P-3", "id: P-3\npart: valve\nprice, net: 88.00\nnote: Only the west pump takes this valve.", 5, 5),
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a,b\n1,2\n", ["a: 1\nb: 2"]),
        ("\ufeffa;b\n1,5;2\n", ["a: 1,5\nb: 2"]),
        ("a|b|c\nx, y|2|3\n", ["a: x, y\nb: 2\nc: 3"]),
        ("a\tb\nx\ty\n", ["a: x\nb: y"]),
        ("1,2\n3,4\n", ["column 1: 1\ncolumn 2: 2", "column 1: 3\ncolumn 2: 4"]),
        ("a,,a\nx,y,z\n", ["column 1: a\ncolumn 3: a", "column 1: x\ncolumn 2: y\ncolumn 3: z"]),
        ("a,b\n\n1,2,3\n,\n4\n", ["a: 1\nb: 2\ncolumn 3: 3", "a: 4"]),
        ("word\nother\n", ["word: other"]),
        ("a,b\n", ["a, b"]),
        ("a,b\r\n1,2\r\n", ["a: 1\nb: 2"]),
    ],
)
def test_shapes_of_tables(content: str, expected: list[str]) -> None:
    assert [row[1] for row in rows(content.encode(), "a.csv")] == expected


def test_an_unclosed_quote_costs_no_text() -> None:
    content = 'a,b\n1,"open\n' + "".join(f"{number},later row\n" for number in range(20_000))
    extracted = extract(content.encode(), "a.csv")
    text = "\n".join(block.text for block in extracted.blocks)
    assert text.count("later row") == 20_000
    assert len(extracted.warnings) == 1
    assert extracted.warnings[0].startswith("line 2: not a readable row (field larger than field limit")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [(["a,b;c", "d,e;f"], ","), (["a;b", "1,5;2", "3;4,1"], ";"), (["plain words"], ","), ([], ","), (["a|b|c"], "|")],
)
def test_delimiters(lines: list[str], expected: str) -> None:
    assert delimiter_of(lines, ".csv") == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [(["a", ""], ["a", "column 2"]), (["2024-01-02", "x"], []), (["a", "3.5"], []), (["", ""], []), (["a", "a"], [])],
)
def test_column_names(row: list[str], expected: list[str]) -> None:
    assert column_names(row) == expected


def peak_of(read: Callable[[], Iterator[Block]]) -> tuple[int, Block, int]:
    """The number of blocks, the last one, and the most megabytes that were held at once."""
    tracemalloc.start()
    try:
        count, last = 0, None
        for block in read():
            count, last = count + 1, block
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert last is not None
    return count, last, peak // 1_000_000


@pytest.mark.parametrize(
    ("name", "line", "count"),
    [
        pytest.param(
            *("big.jsonl", json.dumps({"id": "x", "text": "The gauge was read. " * 1500}) + "\n", 3350),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("big.csv", "id,text\n" + "x," + "The gauge was read again. " * 1200 + "\n", 3220), marks=pytest.mark.slow
        ),
        pytest.param(
            *("big.txt", "The gauge was read at noon and again at night. " * 640 + "\n\n", 3330), marks=pytest.mark.slow
        ),
        ("big.log", "12:00 the gauge was read " * 1200 + "\n", 3400),
        ("oneline.txt", "The gauge was read. " * 1500, 3350),
    ],
)
def test_a_hundred_megabytes_in_flat_memory(name: str, line: str, count: int, tmp_path: Path) -> None:
    path = tmp_path / name
    with path.open("w", encoding="utf-8", newline="") as file:
        for _ in range(count):
            file.write(line)
    assert path.stat().st_size > 100_000_000
    found, _, peak = peak_of(lambda: iter(extract(path, name).blocks))
    assert found >= 90
    assert peak < 30


@pytest.mark.slow
def test_a_hundred_megabytes_of_json(tmp_path: Path) -> None:
    path = tmp_path / "big.json"
    record = json.dumps({"id": "x", "text": "The gauge was read. " * 1500})
    path.write_text("[" + ",\n".join([record] * 3350) + "]", encoding="utf-8")
    count, last, peak = peak_of(lambda: iter(extract(path, "big.json").blocks))
    assert (count, last.start_line) == (3350, 3350)
    assert peak < 400


def test_a_large_file_in_one_byte_a_letter(tmp_path: Path) -> None:
    path = tmp_path / "old.txt"
    path.write_bytes(("plain words in a line\n" * 100_000 + "\nDas letzte Wort heißt Straße.\n").encode("cp1252"))
    assert list(extract(path, "old.txt").blocks)[-1].text == "Das letzte Wort heißt Straße."


@pytest.mark.parametrize(
    ("name", "content", "limit"),
    [("a.html", b"<html>" + b" " * 32_000_000, "32 MB"), ("a.json", b"[" + b" " * 128_000_000, "128 MB")],
)
def test_too_large_is_said(name: str, content: bytes, limit: str) -> None:
    with pytest.raises(CannotExtract, match=f"at most {limit} are read"):
        extract(content, name)


def test_a_large_markdown_file_is_read_as_text() -> None:
    extracted = extract(b"# T\n\n" + b"word " * 1_800_000 + b"\n\nlast", "a.md")
    assert list(extracted.blocks)[-1].text == "last"
    assert extracted.warnings == ["too large to be read by its headings; read as plain text"]


LAST = "The last sentence names the lighthouse keeper."


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "One sentence after the other. " * 34_000 + LAST),
        ("a.md", "# T\n\n" + "One sentence after the other. " * 4_000 + LAST),
        ("a.md", "# T\n\n" + base64.b64encode(bytes(range(256)) * 200).decode() + "\n\n" + LAST),
        ("a.txt", "x" * 300_000 + " " + LAST),
        ("a.js", "function a(){return 1};" * 5_000 + f"/* {LAST} */"),
        ("a.json", json.dumps({"blob": "ab" * 100_000, "note": LAST})),
        ("a.md", "word, " * 33_000 + LAST),
    ],
    ids=["1 MB line", "markdown line", "base64", "no spaces", "minified code", "json", "200 kB paragraph"],
)
def test_pathological_texts_stay_within_the_window(name: str, content: str) -> None:
    began = time.process_time()
    found = list(chunks(extract(content.encode(), name).blocks, max_tokens=254, offsets_of=estimate_offsets))
    assert "lighthouse keeper" in found[-1].text
    assert all(len(estimate_offsets(chunk.text)) <= 254 for chunk in found)
    assert time.process_time() - began < 20
