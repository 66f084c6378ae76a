"""What waits to be embedded is known without a look at every text, until anyone writes to the database."""

from __future__ import annotations

from pathlib import Path

import pytest

from memdb.services.index import vectors
from memdb.store import Store
from tests.document_support import Shelf
from tests.fake_embedder import FakeEmbedder


@pytest.fixture
def store(tmp_path: Path) -> Store:
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "tea.md").write_text("Green tea in the morning.\n", encoding="utf-8")
    made = Store.init(tmp_path, embedder=FakeEmbedder())
    made.sync()
    return made


def waiting(store: Store) -> int:
    return vectors.pending_count(store._context)


def test_where_nothing_waits_the_texts_are_not_looked_at_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert waiting(store) == 0
    monkeypatch.setattr(vectors, "FEW_WAITING", "this is no SQL")
    assert waiting(store) == 0
    assert vectors.embed_pending(store._context) == 0


def test_what_another_process_writes_waits(store: Store) -> None:
    assert waiting(store) == 0
    with Store.init(store.place.root, embedder=FakeEmbedder()) as other:
        (store.place.root / "user" / "coffee.md").write_text("Coffee after lunch.\n", encoding="utf-8")
        other.sync(embed=False)
        assert waiting(store) == 1
    assert store.sync().embedded == 1
    assert waiting(store) == 0


def test_what_this_process_writes_waits(store: Store) -> None:
    assert waiting(store) == 0
    (store.place.root / "user" / "tea.md").write_text("White tea in the evening.\n", encoding="utf-8")
    store.sync(embed=False)
    assert waiting(store) == 1


def test_under_another_model_everything_waits(store: Store) -> None:
    assert waiting(store) == 0
    store._context.set_embedder(FakeEmbedder("fake/other@1"))
    assert waiting(store) == 1


SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

CHANGES: dict[str, tuple[dict[str, str | None], int]] = {
    "a new memory": ({"user/coffee.md": "Coffee after lunch.\n"}, 1),
    "a changed memory": ({"user/tea.md": "White tea in the evening.\n"}, 1),
    "a memory that is gone": ({"user/tea.md": None}, 0),
    "a memory with a secret": ({"user/tea.md": f"The token is {SECRET}.\n"}, 0),
    "a new document": ({"docs/new.txt": "A whole new text about kettles.\n"}, 1),
    "a changed document": ({"docs/guide.md": "# Guide\n\nCups.\n\n## Water\n\nOf ninety degrees.\n"}, 1),
    "a document that is gone": ({"docs/guide.md": None}, 0),
    "a document with a secret": ({"docs/guide.md": f"# Guide\n\nThe token is {SECRET}.\n"}, 0),
    "a document that says the same elsewhere": ({"docs/again.md": "# Guide\n\nCups.\n"}, 1),
    "another tag": ({"user/tea.md": "---\ntags: [drink]\n---\nGreen tea in the morning.\n"}, 0),
}


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    made = Shelf(tmp_path, {"guide.md": "# Guide\n\nCups.\n\n## Water\n\nOf eighty degrees.\n"})
    (made.store.place.root / "user").mkdir()
    (made.store.place.root / "user" / "tea.md").write_text("Green tea in the morning.\n", encoding="utf-8")
    made.add()
    assert made.store.sync().pending == 0
    return made


@pytest.mark.parametrize("change", CHANGES)
def test_what_triggers_say_is_what_a_look_at_all_texts_finds(shelf: Shelf, change: str) -> None:
    files, count = CHANGES[change]
    for name, text in files.items():
        file = (shelf.where if name.startswith("docs/") else shelf.store.place.root) / name
        file.unlink() if text is None else file.write_text(text, encoding="utf-8")
    shelf.store.sync(embed=False, yes=True)
    assert _both(shelf.store, count)
    shelf.store.sync()
    assert _both(shelf.store, 0)
    shelf.assert_rebuilds()
    assert _both(shelf.store, 0)


def test_of_another_model_and_back(shelf: Shelf) -> None:
    shelf.store._context.set_embedder(FakeEmbedder("fake/other@1", window=64))
    assert waiting(shelf.store) == 3
    shelf.store.sync()
    assert _both(shelf.store, 0)
    shelf.store._context.set_embedder(shelf.embedder)
    assert waiting(shelf.store) == 3
    shelf.store.sync()
    assert _both(shelf.store, 0)


def test_a_text_that_nobody_was_told_of_is_found_by_doctor(shelf: Shelf) -> None:
    shelf.store._context.database.connection.execute("delete from embedded; delete from embed_waiting")
    findings = {finding.check: finding.state for finding in shelf.store.doctor(deep=True)}
    assert findings["vectors"] == "error"


def _both(store: Store, count: int) -> bool:
    """Whether so many texts wait, by the triggers and by a look at all."""
    database, identity = store._context.database, store._context.embedder.status.identity
    found = [database.rows(statement, (identity,)) for statement in (vectors.FEW_WAITING, vectors.ALL_WAITING)]
    return found[0] == found[1] and len(found[0]) == count == waiting(store)
