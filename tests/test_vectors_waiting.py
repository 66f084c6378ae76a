"""What waits to be embedded is known without a look at every text, until anyone writes to the database."""

from __future__ import annotations

from pathlib import Path

import pytest

from memdb.services.index import vectors
from memdb.store import Store
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
    monkeypatch.setattr(vectors, "WAITING", "this is no SQL")
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
