"""add, documents, chunks, open, remove, and what show, recall, sync and doctor say of documents."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from memdb.errors import MemdbError
from memdb.services.recall.answers import Citation
from memdb.services.recall.prompting import CLOSING, OPENING
from memdb.services.recall.recall import Filters
from memdb.store import Store
from memdb.stores import open_all
from memdb_cli import opener, screen
from memdb_cli.hits import cited
from tests.cli_support import make, memdb
from tests.conftest import write_files

GUIDE = """# Guide

How the pumps are kept.

## Install

Bolt the pump to the plinth.

### Linux

Run the installer as the service user.

## Restore

Stop the writer, then copy the last snapshot back.
Nine minutes are enough for it.
"""


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder of documents outside of the store: two that can be read, one empty, and a picture."""
    files: dict[str, str | bytes] = {
        "guide.md": GUIDE,
        "parts/list.csv": "name,part\nhose,12\nvalve,7\n",
        "empty.txt": "",
        "photo.png": b"\x89PNG",
        "parts/old.png": b"\x89PNG",
    }
    write_files(tmp_path / "docs", files)
    return tmp_path / "docs"


@pytest.fixture
def root(tmp_path: Path, no_model: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The worked example without a model, named by MEMDB_ROOT."""
    monkeypatch.setenv("MEMDB_ROOT", str(tmp_path / "notes"))
    return make(tmp_path / "notes")


@pytest.fixture
def guide(root: Path) -> str:
    """The id of the guide, which lies outside of the store and is added as a file."""
    write_files(root.parent / "docs", {"guide.md": GUIDE})
    assert memdb("add", root.parent / "docs" / "guide.md").code == 0
    return f"document:{(root.parent / 'docs' / 'guide.md').as_posix()}"


def test_add_keeps_the_rest_and_says_what_failed(root: Path, docs: Path) -> None:
    answer = memdb("add", docs)
    assert answer.code == 1
    assert answer.out.splitlines() == [
        "2 added, 6 chunks written, 1 failed",
        "1 file could not be read:",
        f"  {(docs / 'empty.txt').as_posix()}  The file is empty.",
    ]
    assert answer.err.splitlines() == [
        "note: 2 files of other formats passed over: .png 2",
        "note: 8 texts not embedded: Embeddings are switched off.",
    ]
    assert [document["title"] for document in memdb("documents", "--json").json["documents"]] == ["Guide", "list.csv"]


def test_add_as_json(root: Path, docs: Path) -> None:
    answer = memdb("add", "-r", docs, "--json")
    assert answer.code == 1
    assert answer.json == {
        "documents": {
            "added": 2,
            "changed": 0,
            "moved": 0,
            "unchanged": 0,
            "missing": 0,
            "removed": 0,
            "chunks": 6,
            "behind": 0,
            "failed": [{"path": (docs / "empty.txt").as_posix(), "reason": "The file is empty."}],
            "skipped": [(docs / "photo.png").as_posix(), (docs / "parts" / "old.png").as_posix()],
            "memories": 0,
            "notes": [],
        },
        "embedded": 0,
        "pending": 8,
        "embedder": "Embeddings are switched off.",
    }


def test_add_says_what_was_left_out_of_a_document(root: Path, docs: Path) -> None:
    lines = ['{"id": "a", "text": "The hose is red."}', "not json", *["neither"] * 12]
    write_files(docs, {"log.jsonl": "\n".join(lines)})
    answer = memdb("add", docs / "log.jsonl")
    place = (docs / "log.jsonl").as_posix()
    assert answer.code == 0
    assert answer.err.splitlines()[0].startswith(f"note: {place}: line 2: not valid JSON")
    assert "note: and 3 more; --json lists them." in answer.err
    assert len(memdb("add", docs / "log.jsonl", "--json").json["documents"]["notes"]) == 13
    assert memdb("add", docs / "guide.md", "--json").json["documents"]["notes"] == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
def test_add_refuses_what_is_neither_a_file_nor_a_folder(root: Path) -> None:
    answer = memdb("add", "/dev/null")
    assert (answer.code, answer.out) == (2, "")
    assert "error: /dev/null is neither a file nor a folder.\n" in answer.err


def test_a_path_alone_is_one_path(root: Path, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text is a sequence of letters, and one of them is often a dot: the folder where the program stands."""
    monkeypatch.chdir(docs)
    write_files(root.parent / "vault", {"Quay.md": "The quay."})
    with Store.init(root) as store:
        assert store.add("guide.md", embed=False).documents.added == 1
        assert store.add(docs / "parts" / "list.csv", embed=False).documents.added == 1
        assert len(store.documents.list()) == 2
        [item] = store.import_from("../vault", dry_run=True).items
        assert item.place == "Quay.md"
    with open_all(str(root)) as stores:
        assert [hit.kind for hit in stores.recall("bolt the pump").hits][:1] == ["chunk"]


def test_what_failed_elsewhere_does_not_fail_an_add(root: Path, docs: Path, tmp_path: Path) -> None:
    assert memdb("add", docs).code == 1
    write_files(tmp_path / "more", {"note.txt": "The valve is green."})
    answer = memdb("add", tmp_path / "more" / "note.txt")
    assert answer.code == 0
    assert answer.out.startswith("1 added, ")
    assert "empty.txt" not in answer.out


def test_add_without_embedding(root: Path, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}
    sync = Store.sync

    def watch(self: Store, *, embed: bool = True, **options: object) -> object:
        asked["embed"] = embed
        return sync(self, embed=embed)

    monkeypatch.setattr(Store, "sync", watch)
    memdb("add", docs / "guide.md", "--no-embed")
    assert asked == {"embed": False}
    memdb("add", docs / "guide.md")
    assert asked == {"embed": True}


@pytest.mark.parametrize("url", ["ftp://example.org/page", "file:///etc/hosts", "https://"])
def test_add_refuses_other_addresses(root: Path, url: str) -> None:
    answer = memdb("add", url, "--json")
    assert (answer.code, answer.json["error"]["code"]) == (2, "usage")
    assert answer.json["error"]["hint"]
    assert memdb("documents", "--json").json == {"documents": []}


def test_add_refuses_what_is_a_memory(root: Path) -> None:
    answer = memdb("add", root / "user" / ".." / "feedback" / "prefers-tables.md")
    assert answer.code == 2
    assert "Markdown files in its folder are memories" in answer.err


def test_add_says_which_files_of_a_folder_are_memories(root: Path) -> None:
    write_files(root / "papers", {"a.txt": "The valve is green.", "b.md": "A memory.", "sub/c.md": "Another one."})
    answer = memdb("add", root / "papers")
    assert answer.code == 0
    assert answer.out.startswith("1 added, ")
    assert answer.err.splitlines()[0] == (
        "note: 2 Markdown files there in the store's own folder: memories, no documents; `memdb list` shows them."
    )
    assert memdb("add", root / "papers", "--json").json["documents"]["memories"] == 2
    assert "Markdown" not in memdb("add", root / "papers" / "a.txt").err


def test_add_of_nothing(root: Path, tmp_path: Path) -> None:
    assert memdb("add", tmp_path / "nowhere").code == 3
    (tmp_path / "hollow").mkdir()
    assert memdb("add", tmp_path / "hollow").out == "Nothing there that memdb reads.\n"


def test_documents(root: Path, guide: str) -> None:
    answer = memdb("documents")
    heads, line = answer.out.splitlines()
    assert heads.split() == ["ID", "TITLE", "FORMAT", "CHUNKS", "STATE"]
    assert line.split() == [guide, "Guide", "markdown", "4", "seen"]
    place = guide.removeprefix("document:")
    assert memdb("documents", "--json").json == {
        "documents": [
            {
                "id": guide,
                "title": "Guide",
                "format": "markdown",
                "state": "seen",
                "chunks": 4,
                "places": [place],
                "notes": [],
                "link": None,
            }
        ]
    }


def test_no_documents(root: Path) -> None:
    answer = memdb("documents")
    assert (answer.code, answer.out) == (0, "")
    assert answer.err == "There are no documents. `memdb add PATH` adds files and folders.\n"


def test_chunks(root: Path, guide: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = memdb("chunks", guide).out.splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "ID PLACE BEGINS",
        f"{guide}#1 Guide, line 3 How the pumps are kept.",
        f"{guide}#2 Guide › Install, line 7 Bolt the pump to the plinth.",
        f"{guide}#3 Guide › Install › Linux, line 11 Run the installer as the service user.",
        f"{guide}#4 Guide › Restore, lines 15-16 Stop the writer, then copy the last snapshot back. Nine m...",
    ]
    monkeypatch.chdir(root.parent)
    found = memdb("chunks", Path("docs") / "guide.md", "--json").json["chunks"]
    assert found[3] == {
        "id": f"{guide}#4",
        "text": "Stop the writer, then copy the last snapshot back.\nNine minutes are enough for it.",
        "citation": citation(guide),
        "embedded": False,
    }


def citation(document: str) -> dict[str, object]:
    """The JSON of the guide's last section."""
    return {
        "document": document,
        "heading_path": ["Guide", "Restore"],
        "page": None,
        "start_line": 15,
        "end_line": 16,
        "record_id": None,
        "link": None,
        "text": f"{document.removeprefix('document:')} › Guide › Restore, lines 15-16",
    }


def test_show_prints_a_chunk_between_its_neighbours(root: Path, guide: str) -> None:
    place = guide.removeprefix("document:")
    assert memdb("show", f"{guide}#3").out == (
        f"{place} › Guide › Install › Linux, line 11\n"
        f"  {guide}#3\n"
        "  not embedded\n"
        f"\n--- {guide}#2\nBolt the pump to the plinth.\n"
        f"\n--- {guide}#3\nRun the installer as the service user.\n"
        f"\n--- {guide}#4\nStop the writer, then copy the last snapshot back.\nNine minutes are enough for it.\n"
    )


@pytest.mark.parametrize(
    ("number", "around", "before", "after"), [(4, 1, [3], []), (1, 2, [], [2, 3]), (2, 0, [], []), (2, 9, [1], [3, 4])]
)
def test_show_a_chunk_as_json(
    *, number: int, around: int, before: list[int], after: list[int], root: Path, guide: str
) -> None:
    shape = memdb("show", f"{guide}#{number}", "--around", str(around), "--json").json
    assert set(shape) == {"id", "text", "citation", "embedded", "before", "after"}
    assert shape["id"] == f"{guide}#{number}"
    assert [chunk["id"] for chunk in shape["before"]] == [f"{guide}#{near}" for near in before]
    assert [chunk["id"] for chunk in shape["after"]] == [f"{guide}#{near}" for near in after]


def test_show_prints_the_outline_of_a_document(root: Path, guide: str) -> None:
    place = guide.removeprefix("document:")
    assert memdb("show", guide).out == (
        f"{guide}\n"
        "  title   Guide\n"
        "  format  markdown\n"
        f"  places  {place}\n"
        "\n"
        "  Guide  #1\n"
        "    Install  #2\n"
        "      Linux  #3\n"
        "    Restore  #4\n"
    )
    assert memdb("show", place).out == memdb("show", guide).out
    outline = memdb("show", guide, "--json").json["outline"]
    assert outline[2] == {
        "heading_path": ["Guide", "Install", "Linux"],
        "first": f"{guide}#3",
        "last": f"{guide}#3",
        "chunks": 1,
    }


def test_an_outline_has_headings_without_text_and_text_without_headings(root: Path, tmp_path: Path) -> None:
    write_files(tmp_path / "docs", {"a.md": "Before.\n\n# A\n\n## B\n\nIn B.\n\n# A\n\n## C\n\nIn C.\n"})
    memdb("add", tmp_path / "docs")
    shown = memdb("show", tmp_path / "docs" / "a.md").out.partition("\n\n")[2]
    assert shown == "  (no heading)  #1\n  A\n    B  #2\n    C  #3\n"


@pytest.mark.parametrize("written", ["document:nope", "document:nope#1", "nope"])
def test_show_of_what_is_not_there(written: str, root: Path, guide: str) -> None:
    assert memdb("show", written, "--json").json["error"]["code"] == "not_found"


def test_show_raw_is_for_memories(root: Path, guide: str) -> None:
    assert memdb("show", guide, "--raw").code == 2
    assert memdb("show", "prefers-tables", "--raw").code == 0


def test_open_prints_the_path(root: Path, guide: str) -> None:
    path = root.parent / "docs" / "guide.md"
    assert memdb("open", guide, "--print").out == f"{path}\n"
    shape = {"document": guide, "path": str(path), "link": None, "opened": False}
    assert memdb("open", guide, "--print", "--json").json == shape


def test_open_opens_the_file(root: Path, guide: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []
    monkeypatch.setattr(opener, "open_file", opened.append)
    answer = memdb("open", guide)
    path = root.parent / "docs" / "guide.md"
    assert (answer.code, answer.out, answer.err) == (0, "", f"opened {path}\n")
    assert opened == [path]


@pytest.mark.parametrize("by", ["path", "chunk", "relative", "elsewhere", "memory"])
def test_open_takes_no_path(by: str, root: Path, guide: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []
    monkeypatch.setattr(opener, "open_file", opened.append)
    write_files(root.parent, {"other.md": "No document."})
    written = {
        "path": guide.removeprefix("document:"),
        "chunk": f"{guide}#1",
        "relative": "document:docs/guide.md",
        "elsewhere": f"document:{(root.parent / 'other.md').as_posix()}",
        "memory": "feedback/prefers-tables",
    }
    monkeypatch.chdir(root.parent)
    answer = memdb("open", written[by])
    assert (answer.code, opened) == (3, [])


def test_open_of_a_file_that_is_gone(root: Path, guide: str) -> None:
    (root.parent / "docs" / "guide.md").unlink()
    answer = memdb("open", guide, "--print")
    assert (answer.code, answer.out) == (3, "")
    assert answer.err == f"error: The file of {guide} is gone.\nhint: `memdb chunks` shows what it said.\n"


def test_open_takes_another_place_of_the_same_bytes(root: Path, guide: str) -> None:
    docs = root.parent / "docs"
    (docs / "zcopy.md").write_bytes((docs / "guide.md").read_bytes())
    memdb("add", docs)
    assert memdb("open", guide, "--print").out == f"{docs / 'guide.md'}\n"
    (docs / "guide.md").unlink()
    [document] = memdb("documents", "--json").json["documents"]
    assert memdb("open", document["id"], "--print").out == f"{docs / 'zcopy.md'}\n"


@pytest.mark.parametrize(
    ("name", "platform", "words"),
    [
        ("a.pdf", "linux", ["xdg-open"]),
        ("a.py", "linux", ["xdg-open"]),
        ("a.pdf", "darwin", ["open"]),
        ("a.sh", "darwin", ["open", "-t"]),
        ("a.command", "darwin", ["open", "-t"]),
        ("a.js", "win32", ["notepad.exe"]),
        ("a.PY", "win32", ["notepad.exe"]),
    ],
)
def test_what_a_system_could_run_goes_to_an_editor(name: str, platform: str, words: list[str]) -> None:
    assert opener.words(Path(name), platform) == [*words, name]


@pytest.mark.parametrize(("name", "viewed"), [("a.pdf", True), ("a.DOCX", True), ("a.js", False), ("a", False)])
def test_what_a_system_shows(name: str, viewed: bool) -> None:
    assert opener.is_viewed(Path(name)) is viewed


@pytest.mark.skipif(os.name == "nt", reason="Windows asks its shell, not a program")
def test_no_program_that_opens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MemdbError) as caught:
        opener.open_file(tmp_path / "a.pdf")
    assert caught.value.hint == "`memdb open DOCUMENT --print` prints the path."
    assert not caught.value.message.endswith("..")


def test_remove_leaves_the_file(root: Path, guide: str) -> None:
    path = root.parent / "docs" / "guide.md"
    answer = memdb("remove", guide)
    assert (answer.code, answer.out) == (0, f"removed {path.as_posix()}  (the file stays)\n")
    assert path.read_text(encoding="utf-8") == GUIDE
    assert memdb("documents", "--json").json == {"documents": []}
    assert memdb("recall", "snapshot", "--json").json["hits"] == []
    assert memdb("remove", guide).code == 3


def test_remove_by_path_from_here_or_from_the_root(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(root / "papers", {"a.txt": "The valve is green.", "b.txt": "The hose is red."})
    memdb("add", root / "papers")
    assert memdb("remove", "papers/a.txt", "--json").json == {"removed": "papers/a.txt"}
    assert [document["id"] for document in memdb("documents", "--json").json["documents"]] == ["document:papers/b.txt"]
    monkeypatch.chdir(root)
    assert memdb("remove", "papers").out == "removed papers  (its files stay)\n"
    assert memdb("documents", "--json").json == {"documents": []}
    assert memdb("remove", "papers/c.txt").code == 3


def test_recall_cites_a_chunk(root: Path, guide: str) -> None:
    place = guide.removeprefix("document:")
    answer = memdb("recall", "snapshot copied back", "--kind", "chunk")
    assert answer.out.startswith(f"1  {guide}#4  0.")
    assert answer.out.endswith(f"  keyword 1  {place} › Guide › Restore, lines 15-16\n")
    explained = memdb("recall", "snapshot copied back", "--kind", "chunk", "--explain").out.splitlines()
    assert explained[1] == "   Stop the writer, then copy the last snapshot back. Nine minutes are enough for it."
    hit = memdb("recall", "snapshot copied back", "--json").json["hits"][0]
    assert (hit["kind"], hit["citation"]) == ("chunk", citation(guide))


def test_recall_of_one_kind_or_document(root: Path, guide: str, tmp_path: Path) -> None:
    write_files(tmp_path / "docs", {"tables.txt": "The tables stand beside the pump."})
    memdb("add", tmp_path / "docs")
    other = f"document:{(tmp_path / 'docs' / 'tables.txt').as_posix()}"

    def found(*words: str) -> set[str]:
        return {hit["id"] for hit in memdb("recall", "pump tables", *words, "--json").json["hits"]}

    assert {f"{other}#1", "feedback/prefers-tables"} <= found()
    assert found("--kind", "memory") == {"feedback/prefers-tables", "feedback/response-style"}
    assert f"{other}#1" in found("--kind", "chunk")
    assert all(hit.startswith("document:") for hit in found("--kind", "chunk"))
    assert found("--document", other) == {f"{other}#1"}
    assert found("--document", str(tmp_path / "docs" / "tables.txt")) == {f"{other}#1"}
    assert memdb("recall", "pump", "--document", "nope").code == 3
    assert memdb("recall", "pump", "--kind", "page").code == 2


def test_a_memory_has_no_citation(root: Path) -> None:
    hits = memdb("recall", "tables for comparisons", "--json").json["hits"]
    assert hits
    assert all(hit["citation"] is None for hit in hits)


def test_a_chunk_whose_file_is_gone_is_marked(root: Path, guide: str) -> None:
    (root.parent / "docs" / "guide.md").unlink()
    assert "   stale: the document's file is gone\n" in memdb("recall", "snapshot").out


LONG = Citation("document:/home/her/docs/handbooks/pumps/2026/guide.md", ("Guide", "Install"), None, 12, 20, None)


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (None, "/home/her/docs/handbooks/pumps/2026/guide.md › Guide › Install, lines 12-20"),
        (75, "/home/her/docs/handbooks/pumps/2026/guide.md › Guide › Install, lines 12-20"),
        (60, "/home/he...umps/2026/guide.md › Guide › Install, lines 12-20"),
        (46, "/hom...guide.md › Guide › Install, lines 12-20"),
        (40, "/home/her/docs/handbooks/pumps/2026/g..."),
    ],
)
def test_a_long_path_is_cut_in_the_middle(columns: int | None, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "arrows", lambda text: text)
    assert cited(LONG, columns) == shown
    assert columns is None or len(shown) <= columns


def test_a_console_without_arrows(root: Path, guide: str) -> None:
    shown = memdb("recall", "snapshot", "--kind", "chunk", encoding="ascii").out
    assert " > Guide > Restore, lines 15-16\n" in shown


def test_a_prompt_has_the_chunk_with_its_citation(root: Path, guide: str) -> None:
    place = guide.removeprefix("document:")
    line = f"- [{guide}#4] {place} › Guide › Restore, lines 15-16"
    whole = memdb("recall", "snapshot copied back", "--format", "prompt").out
    text = "  Stop the writer, then copy the last snapshot back.\n  Nine minutes are enough for it.\n"
    assert whole.startswith(f"{OPENING}{line}\n\n{text}")
    tight = str(len(f"{OPENING}{line}{CLOSING}".encode()) + 10)
    answer = memdb("recall", "snapshot copied back", "--format", "prompt", "--budget", tight)
    assert answer.out == f"{OPENING}{line}{CLOSING}\n"


def test_sync_counts_documents(root: Path, docs: Path) -> None:
    memdb("add", docs)
    (docs / "guide.md").write_text(GUIDE.replace("Nine", "Ten"), encoding="utf-8")
    (docs / "parts" / "list.csv").unlink()
    first, second, *rest = memdb("sync").out.splitlines()
    assert first == "2 unchanged"
    assert second.startswith("documents: 1 changed, 1 missing, ")
    assert second.endswith("1 failed, 2 of no format that memdb reads")
    assert rest == ["", "1 problem:", f"  {(docs / 'empty.txt').as_posix()}  The file is empty."]
    shape = memdb("sync", "--json").json["documents"]
    assert shape["failed"] == [{"path": (docs / "empty.txt").as_posix(), "reason": "The file is empty."}]


def test_sync_is_silent_on_documents_where_there_are_none(root: Path) -> None:
    assert memdb("sync").out == "2 unchanged\n"


def test_stats_and_doctor_count_documents(root: Path, docs: Path) -> None:
    memdb("add", docs)
    stats = memdb("stats", "--json").json
    assert (stats["documents"], stats["chunks"]) == (2, 6)

    def finding() -> dict[str, str]:
        found = memdb("doctor", "--json").json["findings"]
        return next(one for one in found if one["check"] == "documents")

    assert finding()["state"] == "warning"
    assert finding()["detail"] == "2 documents, 6 chunks, 1 files that cannot be read (`memdb sync` says why)"
    (docs / "empty.txt").unlink()
    memdb("sync")
    assert (finding()["state"], finding()["detail"]) == ("ok", "2 documents, 6 chunks")
    (docs / "guide.md").unlink()
    memdb("sync")
    assert finding()["state"] == "warning"
    assert "1 with the file gone" in finding()["detail"]


def test_recall_sql_takes_the_filters(root: Path, guide: str) -> None:
    with Store.init(root) as store:
        statement = store.recall_sql("snapshot", filters=Filters(kinds=("chunk",)))
    assert memdb("recall", "snapshot", "--kind", "chunk", "--sql").out == statement
    assert sqlite3.complete_statement(statement)


def test_long_work_says_so_where_nobody_watches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(screen.time, "monotonic", lambda: now[0])
    with screen.progress() as progress:
        for done in range(100):
            now[0] = done * 0.7
            progress(f"reading shelf/{done}.md", done, 2900)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == ["reading shelf/43.md: 43 of 2,900", "reading shelf/86.md: 86 of 2,900"]
