"""Which format a file has, and what of each format becomes blocks."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memdb.domain import formats
from memdb.domain.chunking import chunks, estimate_offsets
from memdb.domain.extractors import EXTRACTORS, Block, CannotExtract, choose, extract
from tests import document_files as made

DOCUMENTS = Path(__file__).parent / "vaults" / "documents"


def blocks(content: bytes | Path, name: str) -> list[Block]:
    return list(extract(content, name).blocks)


def fixture(name: str) -> list[Block]:
    return blocks(DOCUMENTS / name, name)


def told(content: bytes, name: str) -> list[str]:
    return [block.text for block in blocks(content, name)]


def last_chunk(content: bytes | Path, name: str, max_tokens: int = 60) -> str:
    return list(chunks(extract(content, name).blocks, max_tokens=max_tokens, offsets_of=estimate_offsets))[-1].text


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("pump.md", "The old seals are kept in the green cabinet."),
        ("gauge.log", "sensor back after a restart of the modem"),
        ("parts.csv", "Only the west pump takes this valve."),
        ("levels-semicolon.csv", "Der letzte Pegel steht am Hafen."),
        ("readers.tsv", "The harbour gauge is read by boat."),
        ("turns.jsonl", "The last turn says that the pump is quiet."),
        ("page.html", "Hang the rake back on its hook."),
        ("code/gauge.py", "the last line of python"),
        ("code/gauge.ts", "the last line of typescript"),
        ("code/gauge.go", "the last line of go"),
        ("code/gauge.rs", "the last line of rust"),
        ("code/Gauge.java", "the last line of java"),
        ("code/gauge.c", "the last line of c"),
        ("code/gauge.rb", "the last line of ruby"),
        ("code/gauge.sh", "the last line of shell"),
        ("code/station.yaml", "the last line of yaml"),
    ],
)
def test_the_last_sentence_is_in_the_last_chunk(name: str, sentence: str) -> None:
    assert sentence in last_chunk(DOCUMENTS / name, name)


@pytest.mark.parametrize("name", sorted(path.relative_to(DOCUMENTS).as_posix() for path in DOCUMENTS.rglob("*.*")))
def test_cited_lines_read_back(name: str) -> None:
    lines = (DOCUMENTS / name).read_text(encoding="utf-8").splitlines()
    for block in fixture(name):
        if block.verbatim:
            assert block.start_line is not None and block.end_line is not None
            assert block.text == "\n".join(lines[block.start_line - 1 : block.end_line])


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.md", b"# T", "markdown"),
        ("a.MD", b"# T", "markdown"),
        ("a.txt", b"plain", "text"),
        ("a.log", b"plain", "text"),
        ("README", b"plain", "text"),
        ("a.unknown", b"plain", "text"),
        ("a.csv", b"a,b", "table"),
        ("a.json", b"[1]", "json"),
        ("a.jsonl", b'{"a": 1}', "jsonl"),
        ("a.json", b'{"a": 1}\n{"a": 2}\n', "jsonl"),
        ("a.txt", b'{"a": 1}\r\n{"a": 2}\r\n', "jsonl"),
        ("a.json", b'{"a": 1,\n"b": 2}\n', "json"),
        ("a.py", b"x = 1", "source"),
        ("run", b"#!/bin/sh\necho", "source"),
        ("deploy/Dockerfile", b"FROM x", "source"),
        ("a.html", b"<p>x", "html"),
        ("a.txt", b"\xef\xbb\xbf <!-- saved -->\n<!DOCTYPE HTML>\n<p>x", "html"),
        ("index", "<html><p>x".encode("utf-16"), "html"),
        ("a.py", b"<html>'''", "source"),
        ("a.md", b"Text about <html> pages", "markdown"),
        ("a.txt", b"%PDF-1.7\n", "pdf"),
        ("a.md", b"PK\x03\x04rest", "docx"),
    ],
)
def test_choosing_by_content_where_the_extension_lies(name: str, content: bytes, expected: str) -> None:
    assert choose(name, content).name == expected


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.md", b"", "The file is empty."),
        ("a.md", b" \n\t\n", "The file has no text."),
        ("a.jsonl", b"oops\n", "The file has no text (line 1: not valid JSON (Expecting value, column 1); left out)."),
        ("a.html", b"<html><body><script>x</script>", "The file has no text."),
        ("a.md", b"\x89PNG\r\n\x1a\n\0\0", "The file is a PNG picture, which holds no text that memdb reads."),
        ("a.txt", b"\x7fELF\x02\x01" + bytes(60), "The file is a program, which holds no text that memdb reads."),
        (
            "a.txt",
            bytes(range(256)) * 300,
            "The file is not text, and of no format that memdb reads: it is not UTF-8 and has control characters.",
        ),
        (
            "a.bin",
            bytes(90_000),
            "The file is not text, and of no format that memdb reads: it is mostly control characters.",
        ),
        ("a.docx", made.zipped(notes_txt="x"), "The file is a zip archive, not a Word document."),
        ("a.docx", made.zipped(xl__workbook_xml="x"), "The file is an Excel workbook, not a Word document."),
        ("a.docx", made.zipped(ppt__a_xml="x"), "The file is a PowerPoint presentation, not a Word document."),
        ("a.docx", b"PK\x03\x04", "The file is a damaged or cut zip archive (File is not a zip file)."),
        ("a.docx", b"PK\x05\x06" + bytes(18), "The file is a zip archive, not a Word document."),
        (
            "a.docx",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
            "The file is an encrypted Office document or one of the format before 2007.",
        ),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_clear_reasons(name: str, content: bytes, reason: str) -> None:
    with pytest.raises(CannotExtract) as raised:
        blocks(content, name)
    assert raised.value.message == reason
    assert raised.value.code == "cannot_extract"


PLAIN = "One naïve line.\n\nTwo — lines\nof text.\n"


@pytest.mark.parametrize(
    "content",
    [
        PLAIN.encode(),
        b"\xef\xbb\xbf" + PLAIN.encode(),
        PLAIN.replace("\n", "\r\n").encode(),
        PLAIN.replace("\n", "\r").encode(),
        PLAIN.rstrip().encode(),
        PLAIN.encode("utf-16"),
        PLAIN.encode("utf-16-be"),
        PLAIN.encode("cp1252"),
    ],
    ids=["utf-8", "bom", "crlf", "cr", "no final newline", "utf-16", "utf-16 bare", "cp1252"],
)
@pytest.mark.parametrize("name", ["a.txt", "a.md"])
def test_encodings_and_newlines_give_the_same_blocks(name: str, content: bytes) -> None:
    found = [(block.text, block.start_line, block.end_line) for block in blocks(content, name)]
    assert found == [("One naïve line.", 1, 1), ("Two — lines\nof text.", 3, 4)]


def test_markdown_sections_and_frontmatter() -> None:
    extracted = extract(DOCUMENTS / "pump.md", "pump.md")
    assert (extracted.format, extracted.title, extracted.created) == ("markdown", "The pump house", "2024-03-01")
    found = [(block.heading_path, block.start_line, block.text.split("\n")[0]) for block in extracted.blocks]
    house = "The pump house"
    assert found == [
        ((), 1, "description: How the pump house at the weir is run"),
        ((), 9, "Read this before you touch a valve."),
        ((house, "Daily round"), 15, "Walk to the gauge and note the level."),
        ((house, "Daily round"), 18, "- Check the oil of both pumps."),
        ((house, "Daily round"), 19, "- Listen for knocking."),
        ((house, "Daily round"), 21, "| Pump | Litres |"),
        ((house, "Repairs", "Changing a seal"), 30, "Close the valve first."),
        ((house, "Repairs", "Changing a seal"), 32, "```sh"),
        ((house, "Repairs", "Spare parts"), 39, "[catalogue]: https://example.org/parts"),
        ((house, "Notes"), 43, "The old seals are kept in the green cabinet."),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\n\n## B\n\nx", [(("A", "B"), "x")]),
        ("# A\n\n## B\n\n# C\n\nx", [(("A", "B"), "## B"), (("C",), "x")]),
        ("# A\n\n# A\n", [(("A",), "# A"), (("A",), "# A")]),
        ("A\n=\n\nx\n\nB\n-\n\ny", [(("A",), "x"), (("A", "B"), "y")]),
        ("---\n\nrule first", [((), "---"), ((), "rule first")]),
        ("> quote\n> more\n\n1. a\n   b\n2. c", [((), "> quote\n> more"), ((), "1. a\n   b"), ((), "2. c")]),
    ],
)
def test_markdown_headings(text: str, expected: list[tuple[tuple[str, ...], str]]) -> None:
    assert [(block.heading_path, block.text) for block in blocks(text.encode(), "a.md")] == expected


def test_frontmatter_that_does_not_parse_is_a_warning_and_the_body_is_read() -> None:
    extracted = extract(b"---\ntitle: [unclosed\n---\n\nThe body.\n", "a.md")
    assert [block.text for block in extracted.blocks][-1] == "The body."
    assert extracted.warnings[0].startswith("line 2: ")


def test_a_page_without_what_is_around_it() -> None:
    extracted = extract(DOCUMENTS / "page.html", "page.html")
    assert (extracted.title, extracted.created) == ("Cleaning the weir & its rake", "2024-04-05")
    assert [(block.heading_path[1:], block.text) for block in extracted.blocks] == [
        ((), "The rake is cleaned twice a week.\nMore often in autumn."),
        (("Tools",), "- A rake\n  - with a long handle\n- Gloves"),
        (("Tools",), "Tool | Shed\nRake | north"),
        (("Tools",), "stop pump\n  wait 5 < 10"),
        (("Afterwards",), "Hang the rake back on its hook."),
    ]


MENU = "".join(f'<a href="/{number}">Part {number}</a> ' for number in range(9))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"<div class='top-nav'>{MENU}</div><div><p>The text stands beside a menu of nine.</p></div>",
         ["The text stands beside a menu of nine."]),
        (f"<div>{MENU}</div><p>A page of prose that has no main element, only some paragraphs.</p>"
         "<p>It goes on for a while, so that the menu above is clearly not what it is about.</p>",
         ["A page of prose that has no main element, only some paragraphs.",
          "It goes on for a while, so that the menu above is clearly not what it is about."]),
        # An index page is a list of links, and nothing else.
        (f"<ul>{''.join(f'<li><a href=/{n}>Part {n}</a></li>' for n in range(5))}</ul>",
         ["- Part 0\n- Part 1\n- Part 2\n- Part 3\n- Part 4"]),
        # A main element that a program would fill.
        ("<main></main><div><p>What there is without a program.</p></div>", ["What there is without a program."]),
        ("<article><header><h1>T</h1></header><p>x</p><footer>f</footer></article><footer>g</footer>", ["x"]),
        ("<h1>Alone</h1>", ["Alone"]),
        ("<p>a<script>b</script><noscript>c</noscript><!-- d --><template>e</template></p>", ["a"]),
        ("<p aria-hidden=true>no</p><p class='sr-only'>no</p><p>yes</p>", ["yes"]),
        ("<p>broken <b>markup <i>here</b> goes</p>on", ["broken markup here goes", "on"]),
        ("<p class='hidden'>no</p><p class='hidden md:block'>yes</p><p class='d-none d-lg-flex'>so</p>", ["yes", "so"]),
        ("<ol><li>one<pre>a\nb</pre></li></ol>", ["one", "a\nb"]),
        ("<p>&nbsp;</p><p>5 &lt; 6 &amp;amp;</p>", ["5 < 6 &amp;"]),
        ("<p><img src=x alt='The weir in May'></p>", ["The weir in May"]),
        ("<div>" * 3000 + "deep", ["deep"]),
    ],
)  # fmt: skip
def test_pages(body: str, expected: list[str]) -> None:
    assert told(f"<!doctype html><html><body>{body}".encode(), "a.html") == expected


@pytest.mark.parametrize(
    "page",
    [
        "<meta charset=utf-8><p>Grüße".encode(),
        "<meta charset='iso-8859-1'><p>Grüße".encode("latin-1"),
        "<p>Grüße".encode("latin-1"),
        "<p>Grüße".encode("utf-16"),
        "<meta charset=no-such-thing><p>Grüße".encode(),
        b"\xef\xbb\xbf" + "<meta charset=latin-1><p>Grüße".encode(),
    ],
)
def test_encodings_of_pages(page: bytes) -> None:
    assert told(page, "a.html") == ["Grüße"]


def test_word_documents() -> None:
    extracted = extract(made.docx(), "report.docx")
    assert (extracted.format, extracted.title) == ("docx", "Report on the pumps")
    assert [(block.heading_path, block.text) for block in extracted.blocks] == [
        (("Pumps",), "Both pumps were opened"),
        (("Pumps",), "- east pump\n- west pump"),
        (("Pumps", "Costs"), "Part | Price\nHose | 12"),
        (("Closing",), "The pumps will be opened again in autumn."),
    ]
    assert last_chunk(made.docx(), "renamed.txt") == "The pumps will be opened again in autumn."


@pytest.mark.parametrize("cut", [30, 500, 5000, 15000])
def test_cut_word_documents(cut: int) -> None:
    with pytest.raises(CannotExtract, match="damaged or cut"):
        blocks(made.docx()[:cut], "a.docx")


def test_a_word_document_without_its_parts_is_damaged() -> None:
    with pytest.raises(CannotExtract, match="damaged"):
        blocks(made.zipped(word__document_xml="<w:document"), "a.docx")


def test_a_zip_made_to_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memdb.domain.extractors.docx.MAX_UNPACKED_BYTES", 1_000_000)
    with pytest.raises(CannotExtract, match="unpacks to 2 MB; at most 1 MB"):
        blocks(made.zipped(word__document_xml=" " * 2_000_000), "a.docx")


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("gauge.py", [(), (), (), ("rounded",), ("Gauge",), ()]),
        ("gauge.ts", [(), ("Reading",), ("rounded",), ("worst",)]),
        ("gauge.go", [(), (), ("Gauge",), ("Gauge.Rounded",), ("Worst",)]),
        ("gauge.rs", [(), ("Gauge",), ("fmt::Display for Gauge",), ("worst",)]),
        ("Gauge.java", [(), (), ("Gauge",), ("Worst",)]),
        ("gauge.c", [(), ("gauge",), ("rounded",), ("main",)]),
        ("gauge.rb", [(), ("Valley",), ("worst",)]),
        ("gauge.sh", [(), (), ()]),
        ("station.yaml", [(), ()]),
    ],
)
def test_source_code_by_definitions(name: str, paths: list[tuple[str, ...]]) -> None:
    found = fixture(f"code/{name}")
    assert [block.heading_path for block in found] == paths
    source = (DOCUMENTS / "code" / name).read_text(encoding="utf-8")
    assert "".join(found_text for block in found for found_text in block.text.split()) == "".join(source.split())


def test_a_remark_stands_with_its_definition() -> None:
    assert fixture("code/gauge.py")[3].text.startswith("# Rounded up, for safety.\n@staticmethod\ndef rounded")


def test_a_large_class_is_read_by_its_methods() -> None:
    methods = "".join(
        f"    def step{number}(self):\n        return {number * 7!r} * {'x' * 90}\n\n" for number in range(20)
    )
    found = blocks(f"class Big:\n    '''Doc.'''\n\n{methods}".encode(), "a.py")
    assert [block.heading_path for block in found][:3] == [("Big",), ("Big", "step0"), ("Big", "step1")]
    assert (found[0].text, found[1].start_line) == ("class Big:\n    '''Doc.'''", 4)


@pytest.mark.parametrize("code", ["def (:\n  x\n", "}}}}\nfoo(", "class A:\n", "\x00\x00x = 1", "def f(): pass\n" * 3])
def test_code_that_does_not_parse_loses_nothing(code: str) -> None:
    assert "".join("".join(told(code.encode(), "a.py")).split()) == "".join(code.split())


def test_without_a_grammar_code_is_read_by_its_indentation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    assert [block.start_line for block in fixture("code/gauge.py")] == [1, 3, 5, 8, 14, 21]


@pytest.mark.parametrize(("module", "name"), [("selectolax.lexbor", "page.html"), ("mammoth", "report.docx")])
def test_a_missing_library_names_the_extra(module: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    content = made.docx() if name == "report.docx" else (DOCUMENTS / name).read_bytes()
    with pytest.raises(CannotExtract) as raised:
        extract(content, name)
    assert "which is not installed" in raised.value.message
    assert raised.value.hint == "Install the extra: pip install 'memdb-engine[files]'."


def test_notebooks() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Gauges\n", "\n", "How they were read."]},
        {"cell_type": "code", "source": "# not a heading\nread('weir')", "outputs": [{"text": "never told"}]},
        {"cell_type": "markdown", "source": "## End\n\nThe last cell."},
        {"cell_type": "raw", "source": []},
    ]
    extracted = extract(json.dumps({"cells": cells, "nbformat": 4}).encode(), "a.ipynb")
    assert extracted.title == "Gauges"
    assert [(block.heading_path, block.text, block.start_line) for block in extracted.blocks] == [
        (("Gauges",), "How they were read.", None),
        (("Gauges",), "```\n# not a heading\nread('weir')\n```", None),
        (("Gauges", "End"), "The last cell.", None),
    ]


@pytest.mark.parametrize(
    ("content", "reason"), [(b"{", "not valid JSON"), (b"[]", "has no cells"), (b'{"cells": 1}', "has no cells")]
)
def test_broken_notebooks(content: bytes, reason: str) -> None:
    with pytest.raises(CannotExtract, match=reason):
        extract(content, "a.ipynb")


def test_importing_loads_no_library() -> None:
    heavy = "pypdfium2 selectolax mammoth tree_sitter markdown_it ruamel tokenizers"
    code = (
        "import sys; import memdb.domain.extractors, memdb.domain.chunking; "
        f"print([name for name in {heavy.split()!r} if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"


def test_each_format_has_a_name_a_version_and_its_own_suffixes() -> None:
    assert [extractor.name for extractor in EXTRACTORS] == [
        *("pdf", "docx", "html", "jsonl", "markdown", "table", "json", "notebook", "source", "text"),
    ]
    suffixes = [suffix for extractor in EXTRACTORS for suffix in extractor.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert all(extractor.version >= 1 for extractor in EXTRACTORS)


_STARTS = [
    b"",
    b"%PDF-1.4\n",
    b"PK\x03\x04",
    b"<html>",
    b"---\n",
    b"#!/usr/bin/python\n",
    b'[{"',
    b"\xff\xfe",
    b"a,b\n",
]
_NAMES = ["a.md", "a.txt", "a.pdf", "a.docx", "a.html", "a.csv", "a.json", "a.jsonl", "a.py", "a.go", "a.ipynb", "a"]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(_STARTS), st.binary(max_size=200), st.sampled_from(_NAMES))
def test_any_bytes_under_any_name_are_read_or_refused(start: bytes, rest: bytes, name: str) -> None:
    try:
        found = blocks(start + rest, name)
    except CannotExtract as refused:
        assert refused.message.endswith((".", ")")) or refused.message.startswith("The PDF is damaged")
    else:
        assert any(block.text.strip() for block in found)


@pytest.mark.parametrize(("kind", "times"), [("pdf", 100), ("docx", 8)])
def test_flipped_bytes_are_read_or_refused(kind: str, times: int) -> None:
    content = made.docx() if kind == "docx" else made.pdf([[(72, 700, "The only line.")]], title="T")
    source = random.Random(11)
    for _ in range(times):
        damaged = bytearray(content)
        for _ in range(3):
            damaged[source.randrange(len(damaged))] = source.randrange(256)
        try:
            blocks(bytes(damaged), f"a.{kind}")
        except CannotExtract as refused:
            assert refused.message


def test_formats_are_those_of_the_extractors() -> None:
    assert {extractor.name: (extractor.version, set(extractor.suffixes) - {""}) for extractor in EXTRACTORS} == {
        name: (version, set(suffixes.split())) for name, (version, suffixes) in formats.FORMATS.items()
    }
    assert {suffix for extractor in EXTRACTORS for suffix in extractor.suffixes} == formats.READABLE
