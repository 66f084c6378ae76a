"""Documents that lie inside the root: they are seen in the walk over the memories, and nothing is missed for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from memdb.base import files
from memdb.services.documents import document_scan
from memdb.services.files import sync as syncing
from memdb.store import Store
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder

FILES = {
    "user/tea.md": "Tea is green.\n",
    "shelf/a.txt": "The gate is green.\n",
    "shelf/memory.md": "A memory among documents.\n",
    "shelf/deep/b.txt": "The hut is red.\n",
    "shelf/deep/c.txt": "The well is dry.\n",
    "shelf/odd/d\\xff.txt": "The mill is old.\n",
    "shelf/odd/.hidden.txt": "Not for reading.\n",
    "shelf/none/picture.png": "no picture\n",
    "beside/e.txt": "Not added.\n",
}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterable[Store]:
    # Else what is seconds old is read again.
    monkeypatch.setattr("memdb.services.files.sync.RACY_NS", 0)
    monkeypatch.setattr("memdb.services.documents.documents.RACY_NS", 0)
    root = tmp_path / "root"
    write_files(root, FILES)
    write_files(tmp_path, {"elsewhere/f.txt": "The bell is far.\n"})
    with Store.init(root, embedder=FakeEmbedder()) as opened:
        opened.add([root / "shelf"])
        opened.add_bytes("notes.md", b"An upload with the name of a memory.\n")
        opened.sync()
        yield opened


def listed(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that a sync lists, by their paths below the root."""
    listing, seen = files.listing, list[str]()

    def watch(folder: str) -> AbstractContextManager[Iterable[os.DirEntry[str]]]:
        seen.append(Path(folder).relative_to(store.place.root).as_posix())
        return listing(folder)

    with monkeypatch.context() as patch:
        patch.setattr(files, "listing", watch)
        store.sync()
    return sorted(seen)


def test_a_folder_with_nothing_new_is_listed_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders with files that only the walk over documents can judge are listed for it again."""
    once = [".", "beside", "shelf", "shelf/deep", "shelf/none", "shelf/odd", "user"]
    assert listed(store, monkeypatch) == sorted([*once, "shelf/none", "shelf/odd"])
    (store.place.root / "shelf" / "deep" / "b.txt").write_text("The hut is blue.\n", encoding="utf-8")
    assert listed(store, monkeypatch).count("shelf/deep") == 2
    assert store.recall("blue hut").hits[0].file == "shelf/deep/b.txt"
    assert listed(store, monkeypatch).count("shelf/deep") == 1


def replace_by_link(root: Path) -> None:
    (root / "shelf/deep").rename(root / "away")
    (root / "shelf/deep").symlink_to(root / "away", target_is_directory=True)


def edit_unseen(root: Path) -> None:
    """Same size, same time of change: the record's own time tells."""
    path = root / "shelf/deep/b.txt"
    status = path.stat()
    path.write_text("The hut is tan.\n", encoding="utf-8")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda root: None,
    "edited": lambda root: (root / "shelf/a.txt").write_text("The gate is shut.\n", encoding="utf-8"),
    "edited, with its time kept": edit_unseen,
    "new file": lambda root: write_files(root, {"shelf/deep/new.txt": "A new one.\n"}),
    "new folder": lambda root: write_files(root, {"shelf/new/g.txt": "A new one.\n"}),
    "new memory": lambda root: write_files(root, {"shelf/deep/other.md": "A new memory.\n"}),
    "gone": lambda root: (root / "shelf/deep/c.txt").unlink(),
    "renamed": lambda root: (root / "shelf/deep/c.txt").rename(root / "shelf/c.txt"),
    "folder gone": lambda root: (root / "shelf/deep").rename(root.parent / "deep"),
    "folder moved out of what was added": lambda root: (root / "shelf/deep").rename(root / "beside/deep"),
    "what was added gone": lambda root: (root / "shelf").rename(root.parent / "shelf"),
    "file became a folder": lambda root: ((root / "shelf/a.txt").unlink(), (root / "shelf/a.txt").mkdir()),
    "folder became a link": replace_by_link,
    "link to a file": lambda root: (root / "shelf/deep/l.txt").symlink_to(root.parent / "elsewhere/f.txt"),
    "link to a folder": lambda root: (root / "shelf/l").symlink_to(root.parent / "elsewhere", target_is_directory=True),
    "link to nothing": lambda root: (root / "shelf/l.txt").symlink_to(root / "nothing"),
    "program folder": lambda root: write_files(root, {"shelf/node_modules/h.txt": "Of a program.\n"}),
    "hidden folder": lambda root: write_files(root, {"shelf/.git/h.txt": "Of a program.\n"}),
    "agent's folder": lambda root: write_files(root, {"shelf/.claude/h.txt": "Of an agent.\n"}),
    "temporary file": lambda root: write_files(root, {"shelf/deep/h.txt.part": "Not finished.\n"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_with_the_walk_over_memories_the_same_is_found(store: Store, change: str) -> None:
    try:
        CHANGES[change](store.place.root)
    except OSError as error:  # Windows lets not everyone make links
        pytest.skip(str(error))
    context = store._context
    found = syncing.plan(context)
    assert found.walk.listed
    assert document_scan.scan(context, found.walk) == document_scan.scan(context)
    store.sync(yes=True)
    assert document_scan.scan(context, syncing.plan(context).walk) == document_scan.scan(context)


def test_what_was_excluded_or_removed_meanwhile_is_not_taken_from_an_earlier_walk(store: Store) -> None:
    context, root = store._context, store.place.root
    before = syncing.plan(context).walk
    store.remove(str(root / "shelf" / "deep"))
    assert document_scan.scan(context, before) == document_scan.scan(context)
    assert len(store.documents.list()) == 3
    assert store.sync().documents.unchanged == 3


def test_a_folder_inside_that_cannot_be_listed_loses_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    locked, listing = store.place.root / "shelf" / "deep", files.listing

    def refuse(folder: str) -> AbstractContextManager[Iterable[os.DirEntry[str]]]:
        if Path(folder) == locked:
            raise PermissionError(13, "Permission denied", folder)
        return listing(folder)

    with monkeypatch.context() as patch:
        patch.setattr(files, "listing", refuse)
        report = store.sync()
        assert [path for path, _ in report.documents.failed] == ["shelf/deep"]
        assert "shelf/deep" in [problem.path for problem in report.problems]
    assert store.sync().documents.failed == []
    assert len(store.documents.list()) == 5


WRITES: dict[str, Callable[[Store], object]] = {
    "a document is added": lambda other: other.add_bytes("more.md", b"Another upload.\n"),
    "a folder is added": lambda other: other.add([other.place.root.parent / "elsewhere"]),
    "a document is removed": lambda other: other.remove("document:shelf/a.txt"),
    "a missing document comes back": lambda other: (
        (other.place.root / "shelf/deep/b.txt").write_text("The hut is back.\n", encoding="utf-8"),
        other.sync(),
    ),
    "a file changes": lambda other: (
        (other.place.root / "shelf/a.txt").write_text("The gate is blue.\n", encoding="utf-8"),
        other.sync(),
    ),
    "a file is gone": lambda other: ((other.place.root / "shelf/a.txt").unlink(), other.sync(yes=True)),
    "a document is cut anew": lambda other: other._context.database.connection.execute(
        "update document set cutter = 'another' where id = (select min(id) from document)"
    ),
    "a rebuild": lambda other: other.rebuild(),
}


@pytest.mark.parametrize("change", WRITES)
def test_places_are_read_again_where_they_changed_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    read = []
    known = document_scan._known
    monkeypatch.setattr(document_scan, "_known", lambda *given: read.append(given[1:]) or known(*given))
    (store.place.root / "shelf/deep/b.txt").unlink()
    store.sync(yes=True)
    assert [document.state for document in store.documents.list()].count("missing") == 1
    store.sync()
    read.clear()
    store.save("user/oak", "What a memory says changes no document.")
    store.sync()
    with Store.init(store.place.root, embedder=FakeEmbedder()) as other:
        other.save("user/elm", "Nor does another process.")
        assert store.recall("document").hits
        assert () not in read
        WRITES[change](other)
    store.sync()
    assert () in read
