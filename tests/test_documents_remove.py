"""What is taken out leaves the store for good, and comes back only when it is added again."""

from __future__ import annotations

from pathlib import Path

import pytest

from memdb.errors import NotFound
from tests.document_support import Shelf

FILES: dict[str, str | bytes] = {
    "a.md": "The gate is green.\n",
    "b.md": "The hut is red.\n",
    "sub/c.md": "The quokkabird sings.\n",
    "sub/d.md": "The gate is green.\n",
}


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path, FILES)
    shelf.add()
    return shelf


def ids(shelf: Shelf) -> list[str]:
    return [doc.id.rpartition("/docs/")[2] for doc in shelf.store.documents.list()]


def test_a_document_is_removed_with_all_its_places(shelf: Shelf) -> None:
    assert ids(shelf) == ["a.md", "b.md", "sub/c.md"]
    shelf.store.remove(shelf.key("a.md"))
    shelf.store.sync()
    assert ids(shelf) == ["b.md", "sub/c.md"]
    assert (shelf.docs / "a.md").exists()
    shelf.assert_rebuilds()


def test_a_path_is_removed_and_the_identical_file_stays(shelf: Shelf) -> None:
    shelf.store.remove(str(shelf.docs / "a.md"))
    assert ids(shelf) == ["b.md", "sub/c.md", "sub/d.md"]
    shelf.assert_rebuilds()


def test_a_folder_below_an_added_one_is_removed_and_added_again(shelf: Shelf) -> None:
    shelf.store.remove(str(shelf.docs / "sub"))
    shelf.put({"sub/e.md": "New in it.\n", "f.md": "New beside it.\n"})
    shelf.store.sync()
    assert ids(shelf) == ["a.md", "b.md", "f.md"]
    assert shelf.rows("select excluded from addition order by path") == [(0,), (1,)]
    shelf.add("sub")
    assert ids(shelf) == ["a.md", "b.md", "f.md", "sub/c.md", "sub/e.md"]
    shelf.assert_rebuilds()


def test_a_hidden_file_is_read_only_as_long_as_it_is_added_itself(shelf: Shelf) -> None:
    shelf.put({".draft.md": "The draft is grey.\n", "~copy.md": "The copy is grey.\n"})
    shelf.add(".draft.md")
    assert ids(shelf) == [".draft.md", "a.md", "b.md", "sub/c.md"]
    assert shelf.store.sync().documents.unchanged == 5
    shelf.store.remove(str(shelf.docs / ".draft.md"))
    shelf.store.sync()
    assert ids(shelf) == ["a.md", "b.md", "sub/c.md"]
    shelf.assert_rebuilds()


def test_adding_the_whole_folder_again_takes_back_what_was_removed(shelf: Shelf) -> None:
    shelf.store.remove(str(shelf.docs / "sub"))
    shelf.add()
    assert ids(shelf) == ["a.md", "b.md", "sub/c.md"]
    assert shelf.rows("select excluded from addition") == [(0,)]
    shelf.assert_rebuilds()


def test_nothing_of_a_removed_document_is_left_in_the_file(shelf: Shelf) -> None:
    shelf.store.remove(shelf.key("sub/c.md"))
    for table in ("chunk", "fts", "passage", "embedding", "embedded", "document"):
        assert shelf.rows(f"select count(*) from {table}") == [(2,)], table
    assert shelf.store.recall("quokkabird").hits == []
    shelf.store.close()
    for file in (shelf.where / "root" / ".memdb").rglob("*"):
        assert not file.is_file() or b"quokkabird" not in file.read_bytes().lower(), file


def test_a_missing_document_can_be_removed(shelf: Shelf) -> None:
    (shelf.docs / "b.md").unlink()
    shelf.store.sync()
    shelf.store.remove(shelf.key("b.md"))
    assert ids(shelf) == ["a.md", "sub/c.md"]
    shelf.store.rebuild()
    assert ids(shelf) == ["a.md", "sub/c.md"]


@pytest.mark.parametrize("written", ["nowhere", "document:nowhere", "user/a"])
def test_what_is_not_there_cannot_be_removed(shelf: Shelf, written: str) -> None:
    with pytest.raises(NotFound, match="no document"):
        shelf.store.remove(written)
    assert len(ids(shelf)) == 3
