"""What is handed over as bytes: kept as a snapshot, a document by its name, gone without a trace when it is removed."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from memdb.domain.extractors import CannotExtract
from memdb.errors import SecretFound, UsageError
from memdb.services.documents import snapshots
from tests.document_files import docx, pdf
from tests.document_support import Shelf

REPORT = "# Pumps\n\nThe gate is green.\n\n## Care\n\nGrease it.\n"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def texts(shelf: Shelf) -> dict[str, int]:
    return {text: chunk for chunk, text in shelf.rows("select id, text from chunk")}


@pytest.mark.parametrize(
    ("name", "data", "form", "said"),
    [
        ("report.md", REPORT.encode(), "markdown", "Grease it."),
        ("report", b"The gate is green.", "text", "green"),
        ("Plan of June.PDF", pdf([[(72, 700, "The tower has nine bells.")]]), "pdf", "nine bells"),
        ("wrong.txt", docx(), "docx", "opened again in autumn"),
        ("turns.jsonl", b'{"id": "t1", "text": "The first turn."}\n', "jsonl", "The first turn."),
        ("c#1 50%.txt", b"The gate is green.", "text", "green"),
        ("灯台.txt", "灯台の鍵".encode(), "text", "灯台の鍵"),
    ],
)
def test_an_upload_is_a_document_by_its_name(shelf: Shelf, name: str, data: bytes, form: str, said: str) -> None:
    report = shelf.store.add_bytes(name, data)
    assert (report.documents.added, report.documents.failed) == (1, [])
    [document] = shelf.store.documents.list()
    assert (document.format, document.places, document.link) == (form, (f"upload://{name}",), None)
    assert document.id == "document:upload://" + name.replace("#", "%23")
    assert said in "".join(texts(shelf))
    assert shelf.store.documents.path(document.id).read_bytes() == data
    assert shelf.store.documents.find(f"upload://{name}") == document.id
    shelf.assert_rebuilds()


def test_an_upload_without_a_title_is_called_by_its_name(shelf: Shelf) -> None:
    shelf.store.add_text("what now?.txt", "The gate is green.")
    assert [document.title for document in shelf.store.documents.list()] == ["what now?.txt"]


def test_an_upload_of_the_same_name_replaces_what_changed(shelf: Shelf) -> None:
    shelf.store.add_text("report.md", REPORT)
    before = texts(shelf)
    shelf.embedder.read.clear()
    assert shelf.store.add_text("report.md", REPORT).documents.unchanged == 1
    assert shelf.embedder.read == []
    report = shelf.store.add_text("report.md", REPORT.replace("Grease it.", "Oil it."))
    assert (report.documents.changed, report.embedded) == (1, 1)
    after = texts(shelf)
    assert {text for text in after if before.get(text) != after[text]} == {"Oil it."}
    assert len(list(shelf.store.place.snapshots.iterdir())) == 1
    shelf.assert_rebuilds()


@pytest.mark.parametrize("by", ["document:upload://report.md", "upload://report.md"])
def test_a_removed_upload_leaves_no_byte(shelf: Shelf, by: str) -> None:
    shelf.store.add_text("report.md", REPORT.replace("green", "quokkabird"))
    shelf.store.documents.path("document:upload://report.md")
    shelf.store.remove(by)
    assert shelf.store.documents.list() == []
    assert [*shelf.store.place.snapshots.iterdir(), *shelf.store.place.opened.iterdir()] == []
    shelf.assert_rebuilds()
    shelf.store.close()
    files = [file for file in (shelf.where / "root" / ".memdb").rglob("*") if file.is_file()]
    assert files
    assert all(b"quokkabird" not in file.read_bytes().lower() for file in files)


def test_a_file_of_a_like_path_is_another_document(shelf: Shelf) -> None:
    root = shelf.store.place.root
    (root / "upload").mkdir()
    (root / "upload" / "a.txt").write_text("The hut is red.", encoding="utf-8")
    shelf.store.add_text("a.txt", "The gate is green.")
    shelf.store.add([root / "upload"])
    assert [document.id for document in shelf.store.documents.list()] == [
        "document:upload/a.txt",
        "document:upload://a.txt",
    ]
    shelf.store.remove("document:upload/a.txt")
    assert [document.id for document in shelf.store.documents.list()] == ["document:upload://a.txt"]


@pytest.mark.parametrize(
    "name", ["", " ", ".", "..", "a/b.txt", "a\\b.txt", "a\nb", "a\0b", "x" * 256, "ü" * 128, "../../a"]
)
def test_what_is_no_name(shelf: Shelf, name: str) -> None:
    with pytest.raises(UsageError, match="no name for an upload"):
        shelf.store.add_bytes(name, b"The gate is green.")
    assert shelf.store.documents.list() == []


def test_two_spellings_of_a_name_are_one(shelf: Shelf) -> None:
    shelf.store.add_text(unicodedata.normalize("NFD", "Größe.txt"), "The gate is green.")
    shelf.store.add_text(" Größe.txt", "The hut is red.")
    assert [document.id for document in shelf.store.documents.list()] == ["document:upload://Größe.txt"]


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"", "empty"), (b" \n", "no text"), (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "PNG"), (bytes(99), "not text")],
)
def test_bytes_without_text_are_refused(shelf: Shelf, data: bytes, said: str) -> None:
    with pytest.raises(CannotExtract, match=said):
        shelf.store.add_bytes("a.txt", data)
    assert shelf.store.documents.list() == []
    assert not shelf.store.place.snapshots.exists()


def test_too_many_bytes_are_refused(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    assert snapshots.MAX_BYTES == 32_000_000
    monkeypatch.setattr(snapshots, "MAX_BYTES", 1000)
    with pytest.raises(UsageError, match=r"more than 0\.001 MB"):
        shelf.store.add_bytes("a.txt", b"word " * 300)
    assert not shelf.store.place.snapshots.exists()


def test_credentials_are_refused_in_the_name_and_cut_out_of_the_text(shelf: Shelf) -> None:
    token = "sk-" + "proj-" + "Zq8" * 14
    with pytest.raises(SecretFound):
        shelf.store.add_text(f"{token}.txt", "The gate is green.")
    report = shelf.store.add_text("keys.txt", f"The key is {token} for now.\n")
    assert len(report.documents.notes) == 1
    assert list(texts(shelf)) == ["The key is [redacted: OpenAI key] for now."]
    shelf.store.close()
    files = [file for file in (shelf.where / "root" / ".memdb").rglob("*") if file.is_file()]
    assert all(b"Zq8Zq8" not in file.read_bytes() for file in files)
