"""Files that cannot be read, files that are gone, folders that are away: said, and nothing is lost or half there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from memdb.base import files
from memdb.domain import documents as domain
from memdb.errors import NotFound, UsageError
from memdb.services.documents import documents
from tests.document_files import docx, pdf, scan, zipped
from tests.document_support import Shelf, age

PAGES = [[(72, 700, "The tower has nine bells.")]]

BAD: dict[str, tuple[str, bytes, str]] = {
    "encrypted PDF": ("locked.pdf", pdf(PAGES, password="x" * 4), "password"),
    "scanned PDF": ("scan.pdf", scan(2), "no text"),
    "zip named docx": ("letter.docx", zipped(a_txt="hello"), "not a Word"),
    "broken docx": ("cut.docx", docx()[:900], ""),
    "broken PDF": ("cut.pdf", b"%PDF-1.7\n" + b"\x00\x01" * 200, ""),
    "empty": ("empty.txt", b"", "empty"),
    "blank": ("blank.md", b" \n\n\t\n", "no text"),
    "binary": ("blob.txt", bytes(range(256)) * 40, "not text"),
    "picture": ("photo.md", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "PNG"),
}

ROOT_READS_ALL = pytest.mark.skipif(
    sys.platform == "win32" or (hasattr(os, "geteuid") and os.geteuid() == 0),
    reason="permissions do not stop this user",
)


def test_bad_files_say_why_and_keep_no_other_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf(tmp_path, {name: data for name, data, _ in BAD.values()} | {"good.md": "The gate is green.\n"})
    report = shelf.add()
    failed = dict(report.documents.failed)
    for case, (name, _, reason) in BAD.items():
        said = failed[(shelf.docs / name).as_posix()]
        assert reason.lower() in said.lower(), case
        assert len(said) > 10
    assert report.documents.added == 1
    assert [doc.id for doc in shelf.store.documents.list()] == [shelf.key("good.md")]
    assert shelf.rows("select count(*) from chunk") == [(1,)]
    listed = shelf.rows("select path, reason from problems where code = 'document' order by path")
    assert listed == sorted(failed.items())
    assert shelf.store.recall("green gate").hits[0].citation is not None
    monkeypatch.setattr(documents, "RACY_NS", 0)
    shelf.store.sync()
    writes = shelf.store._context.database.connection.total_changes()
    assert len(shelf.store.sync().documents.failed) == len(BAD)
    assert shelf.store._context.database.connection.total_changes() == writes
    shelf.assert_rebuilds()


def test_a_bad_file_that_becomes_good_and_bad_again(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"a.pdf": scan()})
    shelf.add()
    shelf.put({"a.pdf": pdf(PAGES)})
    report = shelf.store.sync()
    assert (report.documents.failed, report.documents.added) == ([], 1)
    assert shelf.rows("select count(*) from problems") == [(0,)]
    shelf.put({"a.pdf": scan()})
    report = shelf.store.sync()
    assert len(report.documents.failed) == 1
    assert shelf.rows("select count(*) from chunk") == shelf.rows("select count(*) from fts") == [(0,)]
    shelf.assert_rebuilds()


@ROOT_READS_ALL
def test_a_file_that_cannot_be_opened_is_kept_as_it_was(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"a.md": "The gate is green.\n"})
    shelf.add()
    (shelf.docs / "a.md").chmod(0)
    check_kept_and_restored(shelf, lambda: (shelf.docs / "a.md").chmod(0o600))


def test_a_file_that_fails_to_be_read_is_kept_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf(tmp_path, {"a.md": "The gate is green.\n"})
    shelf.add()

    def fail(_: Path) -> str:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(domain, "digest", fail)
        (shelf.docs / "a.md").touch()
        report = shelf.store.sync()
        assert report.documents.failed == [
            ((shelf.docs / "a.md").as_posix(), "cannot be read: Input/output error"),
        ]
        assert [hit.stale for hit in shelf.store.recall("green gate").hits] == [True]
    shelf.embedder.read.clear()
    assert shelf.store.sync().documents.failed == []
    assert [hit.stale for hit in shelf.store.recall("green gate").hits] == [False]
    assert shelf.embedder.read == []
    shelf.assert_rebuilds()


def check_kept_and_restored(shelf: Shelf, restore: object) -> None:
    report = shelf.store.sync()
    assert len(report.documents.failed) == 1
    assert [hit.stale for hit in shelf.store.recall("green gate").hits] == [True]
    assert callable(restore)
    restore()
    shelf.store.sync()
    assert [hit.stale for hit in shelf.store.recall("green gate").hits] == [False]


def test_a_missing_file_is_marked_and_comes_back_for_nothing(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"a.md": "The gate is green.\n", "b.md": "The hut is red.\n"})
    shelf.add()
    before = shelf.nodes("a.md")
    (shelf.docs / "a.md").replace(tmp_path / "away.md")
    report = shelf.store.sync()
    assert (report.documents.missing, report.documents.removed) == (1, 0)
    assert shelf.store.sync().documents.missing == 0
    assert {doc.id: doc.state for doc in shelf.store.documents.list()} == {
        shelf.key("a.md"): "missing",
        shelf.key("b.md"): "seen",
    }
    hit = shelf.store.recall("green gate").hits[0]
    assert (hit.id, hit.stale) == (f"{shelf.key('a.md')}#1", True)
    shelf.embedder.read.clear()
    (tmp_path / "away.md").replace(shelf.docs / "a.md")
    shelf.store.sync()
    assert shelf.embedder.read == []
    assert shelf.nodes("a.md") == before
    assert not shelf.store.recall("green gate").hits[0].stale


def test_a_rebuild_carries_missing_documents_over(tmp_path: Path) -> None:
    long = "The gate is green and stands open. " * 20
    shelf = Shelf(tmp_path, {"a.md": f"# Gate\n\n{long}\n", "b.md": "The hut is red.\n"}, window=32)
    shelf.add()
    (shelf.docs / "a.md").unlink()
    shelf.store.sync()
    text = shelf.rows("select ordinal, text, heading_path, identity from chunk order by ordinal, text")
    edges = shelf.rows("select count(*) from edge where kind = 'next'")
    live = shelf.store.digest()
    shelf.embedder.read.clear()
    shelf.store.rebuild()
    assert shelf.embedder.read == []
    assert shelf.rows("select ordinal, text, heading_path, identity from chunk order by ordinal, text") == text
    assert shelf.rows("select count(*) from edge where kind = 'next'") == edges
    assert shelf.store.digest() == live
    assert shelf.store.recall("green gate").hits[0].stale


def test_an_added_folder_that_is_away_loses_nothing(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"a.md": "The gate is green.\n", "sub/b.md": "The hut is red.\n"})
    shelf.add()
    shelf.docs.replace(tmp_path / "away")
    report = shelf.store.sync()
    assert [path for path, _ in report.documents.failed] == [shelf.docs.as_posix()]
    assert report.documents.failed[0][1].startswith(domain.GONE)
    assert shelf.store.sync().documents.failed == report.documents.failed
    assert [doc.state for doc in shelf.store.documents.list()] == ["missing", "missing"]
    assert shelf.store.recall("green gate").hits[0].stale
    shelf.embedder.read.clear()
    (tmp_path / "away").replace(shelf.docs)
    report = shelf.store.sync()
    assert (report.documents.failed, shelf.embedder.read) == ([], [])
    assert [doc.state for doc in shelf.store.documents.list()] == ["seen", "seen"]
    shelf.assert_rebuilds()


@pytest.mark.parametrize("which", ["", "sub"])
def test_a_folder_that_cannot_be_listed_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    shelf = Shelf(tmp_path, {"a.md": "The gate is green.\n", "sub/b.md": "The hut is red.\n"})
    shelf.add()
    locked, listing = shelf.docs / which, files.listing

    def refuse(folder: str) -> AbstractContextManager[Iterable[os.DirEntry[str]]]:
        if Path(folder) == locked:
            raise PermissionError(13, "Permission denied", folder)
        return listing(folder)

    with monkeypatch.context() as patch:
        patch.setattr(files, "listing", refuse)
        report = shelf.store.sync()
        assert report.documents.failed == [(locked.as_posix(), f"{domain.UNLISTED}: Permission denied")]
        assert shelf.rows("select count(*) from chunk") == [(2,)]
        assert shelf.store.recall("red hut").hits[0].stale
    assert shelf.store.sync().documents.failed == []
    assert not shelf.store.recall("red hut").hits[0].stale
    shelf.assert_rebuilds()


def test_a_library_that_is_installed_later_lets_its_files_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memdb.domain.extractors import CannotExtract
    from memdb.domain.extractors import pdf as reader

    shelf = Shelf(tmp_path, {"a.pdf": pdf(PAGES)})
    age(shelf.docs / "a.pdf")

    def absent(*_: str) -> object:
        raise CannotExtract("Reading PDF files needs the package pypdfium2, which is not installed.")

    with monkeypatch.context() as patch:
        patch.setattr(reader, "library", absent)
        patch.setattr(domain, "abilities", lambda: "none")
        assert len(shelf.add().documents.failed) == 1
        shelf.store.sync()
    assert shelf.store.sync().documents.failed == []
    assert [doc.id for doc in shelf.store.documents.list()] == [shelf.key("a.pdf")]


def test_what_is_added_must_be_there(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"a.md": "The gate is green.\n"})
    with pytest.raises(NotFound, match="no file or folder"):
        shelf.add("nowhere.md")
    assert shelf.rows("select * from addition") == []


def test_what_is_not_there_keeps_no_other_back(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"a.md": "The gate is green.\n"})
    report = shelf.add("nowhere.md", "a.md")
    nowhere = str(shelf.docs / "nowhere.md")
    assert report.documents.failed == [(nowhere, f"There is no file or folder {nowhere}. Check the path.")]
    assert [doc.id for doc in shelf.store.documents.list()] == [shelf.key("a.md")]


def test_a_memory_is_no_document(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.store.save("user/a", "The gate is green.")
    with pytest.raises(UsageError, match="a memory of this store already"):
        shelf.store.add([tmp_path / "root" / "user" / "a.md"])
    assert shelf.rows("select * from addition") == []


def test_a_copy_that_cannot_be_written_answers_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf(tmp_path)
    note = tmp_path / "root" / "papers" / "a.txt"
    note.parent.mkdir()
    note.write_text("The gate is green.\n", encoding="utf-8")
    shelf.store.add([note.parent])
    note.touch()
    database = shelf.store._context.database
    monkeypatch.setattr(database, "read_only", True)
    answer = shelf.store.recall("green gate")
    assert (len(answer.hits), answer.notes) == (1, [])


def test_a_format_that_is_read_whole_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memdb.domain.extractors import records

    monkeypatch.setattr(records, "MAX_JSON_BYTES", 100)
    shelf = Shelf(tmp_path, {"a.json": '{"note": "' + "word " * 100 + '"}'})
    report = shelf.add()
    assert [("at most" in reason) for _, reason in report.documents.failed] == [True]


def test_the_root_itself_can_be_added(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {})
    root = tmp_path / "root"
    (root / "papers").mkdir()
    (root / "papers" / "a.txt").write_text("The gate is green.\n", encoding="utf-8")
    (root / "papers" / "b.md").write_text("A memory, no document.\n", encoding="utf-8")
    shelf.store.add([root])
    assert [doc.id for doc in shelf.store.documents.list()] == ["document:papers/a.txt"]
    (root / "papers" / "a.txt").unlink()
    shelf.store.sync()
    assert [doc.state for doc in shelf.store.documents.list()] == ["missing"]
    shelf.store.remove(str(root))
    assert shelf.store.documents.list() == []


def test_a_folder_around_the_root_can_be_added(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"a.txt": "The gate is green.\n"})
    (tmp_path / "root" / "b.txt").write_text("The hut is red.\n", encoding="utf-8")
    shelf.store.add([tmp_path])
    assert [doc.id for doc in shelf.store.documents.list()] == [shelf.key("a.txt"), "document:b.txt"]
    (tmp_path / "root" / "b.txt").unlink()
    shelf.store.sync()
    assert [doc.state for doc in shelf.store.documents.list()] == ["seen", "missing"]
