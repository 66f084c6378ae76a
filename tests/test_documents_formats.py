"""Every format is recalled by its last sentence, and its citation leads to where the sentence stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memdb.services.recall.recall import Filters, Hit
from tests.document_files import docx, pdf
from tests.document_support import Shelf

NOTES = "# Notes\n\nThe gate is green.\n\n## Evening\n\nIt is locked at ten.\nOnly the warden has a second key.\n"
PLAIN = "The kettle is old.\n\nIt whistles in a minor third.\n"
PAGE = (
    "<html><head><title>Ferries</title></head><body><nav>Home</nav><main><h1>Ferries</h1>"
    "<p>They run daily and carry bicycles without a fee.</p><h2>Winter</h2>"
    "<p>In winter the last ferry carries only the mail.</p></main></body></html>"
)
TABLE = "name,colour\nhose,yellow\nvalve,crimson\n"
STATIONS = json.dumps([{"name": "Harbour", "depth": 4}, {"name": "Quarry", "note": "swallows nest here"}], indent=1)
TURNS = '{"id": "t-1", "text": "Shall we paint the boat?"}\n{"id": "t-2", "text": "Only once the tar has dried."}\n'
CODE = (
    "def open_gate():\n    return 1\n\n\ndef close_gate():\n"
    "    '''Lower the portcullis slowly.'''\n    return 2\n"
)  # fmt: skip

CASES: dict[str, tuple[str, str | bytes, str, str]] = {
    "markdown": ("notes.md", NOTES, "warden second key", "Only the warden has a second key."),
    "text": ("kettle.txt", PLAIN, "whistles minor third", "minor third"),
    "html": ("ferries.html", PAGE, "winter last ferry mail", "carries only the mail"),
    "table": ("parts.csv", TABLE, "crimson valve", "crimson"),
    "json": ("stations.json", STATIONS, "swallows nest here", "swallows nest here"),
    "jsonl": ("turns.jsonl", TURNS, "tar has dried", "once the tar has dried"),
    "source": ("src/gate.py", CODE, "lower portcullis slowly", "Lower the portcullis"),
}


def best(shelf: Shelf, question: str, **filters: str) -> Hit:
    hits = shelf.store.recall(question, filters=Filters(**filters) if filters else None).hits  # type: ignore[arg-type]
    return hits[0]


@pytest.mark.parametrize("case", CASES)
def test_each_format_is_recalled_by_its_last_sentence(tmp_path: Path, case: str) -> None:
    path, content, question, sentence = CASES[case]
    shelf = Shelf(tmp_path, {name: text for name, text, *_ in CASES.values()})
    report = shelf.add()
    assert report.documents.failed == []
    hit = best(shelf, question)
    assert hit.kind == "chunk"
    assert hit.citation is not None
    assert hit.citation.document == shelf.key(path)
    chunk = next(chunk for chunk in shelf.store.documents.chunks(shelf.key(path)) if chunk.id == hit.id)
    assert sentence in chunk.text
    if hit.citation.start_line is not None and hit.citation.end_line is not None:
        assert isinstance(content, str)
        lines = content.splitlines()[hit.citation.start_line - 1 : hit.citation.end_line]
        assert sentence in "\n".join(lines)


def test_the_binary_formats_are_recalled_by_their_last_sentence(tmp_path: Path) -> None:
    pages = [[(72, 700, "The tower has nine bells.")], [(72, 700, "The smallest bell was recast in copper.")]]
    shelf = Shelf(tmp_path, {"report.docx": docx(), "tower.pdf": pdf(pages)})
    shelf.add()
    hit = best(shelf, "smallest bell recast in copper")
    assert hit.citation is not None
    assert (hit.citation.document, hit.citation.page) == (shelf.key("tower.pdf"), 2)
    assert str(hit.citation).endswith("tower.pdf, page 2")
    hit = best(shelf, "pumps opened again in autumn")
    assert hit.citation is not None
    assert hit.citation.document == shelf.key("report.docx")
    assert hit.citation.heading_path[-1] == "Closing"


def test_a_line_of_jsonl_is_known_by_its_id(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"turns.jsonl": TURNS})
    shelf.add()
    hit = best(shelf, "once the tar has dried")
    assert hit.id == f"{shelf.key('turns.jsonl')}#t-2"
    assert hit.citation is not None
    assert (hit.citation.record_id, hit.citation.start_line) == ("t-2", 2)


def test_verbatim_passages_stand_in_their_lines(tmp_path: Path) -> None:
    text = "".join(f"## Part {part}\n\n" + "".join(f"Line {part}.{n} of it.\n" for n in range(40)) for part in range(5))
    shelf = Shelf(tmp_path, {"long.md": text, "long.txt": text.replace("## ", "")}, window=48)
    shelf.add()
    for name in ("long.md", "long.txt"):
        lines = (shelf.docs / name).read_text(encoding="utf-8").splitlines()
        chunks = shelf.store.documents.chunks(shelf.key(name))
        assert len(chunks) > 5
        for chunk in chunks:
            start, end = chunk.citation.start_line, chunk.citation.end_line
            assert start is not None
            assert "\n".join(lines[start - 1 : end]) == chunk.text


ODD_IDS = ["", "a b\tc\nd", "\ud800", "x" * 5000, "a~3", "a", "a", "1", 7, None, "é", "path#1"]


def test_record_ids_of_any_kind_make_ids_of_their_own(tmp_path: Path) -> None:
    lines = [json.dumps({"id": name, "text": f"Statement {at} of the ledger."}) for at, name in enumerate(ODD_IDS)]
    shelf = Shelf(tmp_path, {"odd.jsonl": "\n".join(lines) + "\n", "odd.jsonl#1.txt": "Another file.\n"})
    report = shelf.add()
    assert report.documents.failed == []
    keys = [key for (key,) in shelf.rows("select key from node where kind in ('chunk', 'document')")]
    assert len(keys) == len(set(keys)) == len(ODD_IDS) + 3
    assert all("\n" not in key and "\t" not in key and len(key) < 600 for key in keys)
    assert len(shelf.store.recall("statement of the ledger", limit=20).hits) == len(ODD_IDS)
    shelf.assert_rebuilds()


FILTERS: list[tuple[dict[str, object], set[str]]] = [
    ({}, {"memory", "notes", "turns"}),
    ({"types": ("user",)}, {"memory"}),
    ({"tags": ("boat",)}, {"memory"}),
    ({"kinds": ("chunk",)}, {"notes", "turns"}),
    ({"kinds": ("memory",)}, {"memory"}),
    ({"kinds": ("memory", "chunk")}, {"memory", "notes", "turns"}),
    ({"path": "*turns.jsonl"}, {"turns"}),
    ({"document": "turns"}, {"turns"}),
    ({"since": "2024"}, {"turns"}),
    ({"until": "2023"}, {"memory"}),
    ({"document": "turns", "types": ("user",)}, set()),
    ({"kinds": ("entity",)}, set()),
]


@pytest.mark.parametrize(("filters", "expected"), FILTERS)
def test_filters_let_through_what_they_say(tmp_path: Path, filters: dict[str, object], expected: set[str]) -> None:
    turn = {"id": "t", "text": "The tarred boat is dry.", "created": "2024-05-01"}
    shelf = Shelf(tmp_path, {"notes.txt": "The tarred boat is blue.\n", "turns.jsonl": json.dumps(turn) + "\n"})
    memory = "---\ntags: [boat]\ncreated: 2023-01-05\n---\nThe tarred boat is mine.\n"
    (tmp_path / "root" / "user").mkdir()
    (tmp_path / "root" / "user" / "boat.md").write_text(memory, encoding="utf-8")
    shelf.add()
    if "document" in filters:
        filters = filters | {"document": shelf.key("turns.jsonl")}
    hits = shelf.store.recall("tarred boat", filters=Filters(**filters)).hits  # type: ignore[arg-type]
    names = {hit.id.rpartition("/")[2].partition(".")[0].partition("#")[0] for hit in hits}
    assert {"memory" if name == "boat" else name for name in names} == expected
