"""A sync that is killed between its last batch and the journal's record: births and earlier texts are not lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memdb.services.files import rekeying, sync
from memdb.store import Store
from tests.conftest import write_files
from tests.histories import differing

pytestmark = pytest.mark.usefixtures("no_model")


class Killed(BaseException):
    """In place of a signal that ends the process."""


@pytest.fixture
def killed(make_store: Callable[..., Store], monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store with a memory that has an earlier text, then renamed, and a new one; its sync was killed."""
    store = make_store({"user/one.md": "The first text of one.\n", "user/two.md": "The text of two.\n"})
    store.save("user/one", "The second text of one.\n")
    root = store.place.root
    (root / "user/one.md").rename(root / "user/renamed.md")
    write_files(root, {"user/new.md": "New.\n"})

    def die(_: rekeying.Changes) -> None:
        raise Killed

    monkeypatch.setattr(sync, "RACY_NS", 0)  # no file is read again for being young
    with monkeypatch.context() as patch:
        patch.setattr(rekeying.Changes, "records", die)
        with pytest.raises(Killed):
            store.sync()
    store.close()
    return store


def births(store: Store) -> list[str]:
    return [str(key) for (key,) in store._run(lambda c: c.database.rows("select memory_key from memory_birth"))]


def test_the_next_sync_goes_on_with_it(killed: Store) -> None:
    killed.sync()
    assert [past.text for past in killed.history("user/renamed")] == ["The first text of one.\n"]
    assert births(killed) == ["user/new"]
    before = killed.digest()
    killed.rebuild()
    assert differing(before, killed.digest()) == []
    assert not killed._run(lambda c: rekeying.is_pending(c.database))
    killed.sync()
    assert births(killed) == ["user/new"]


def test_a_rebuild_tells_the_journal_first(killed: Store) -> None:
    killed.rebuild()
    assert [past.text for past in killed.history("user/renamed")] == ["The first text of one.\n"]
    assert births(killed) == ["user/new"]


def test_what_was_renamed_again_meanwhile_has_its_last_id(killed: Store) -> None:
    root = killed.place.root
    (root / "user/renamed.md").rename(root / "user/again.md")
    (root / "user/new.md").unlink()
    killed.sync()
    assert [past.text for past in killed.history("user/again")] == ["The first text of one.\n"]
    assert births(killed) == []
    before = killed.digest()
    killed.rebuild()
    assert differing(before, killed.digest()) == []


def test_the_first_reading_of_a_folder_keeps_nothing(make_store: Callable[..., Store]) -> None:
    store = make_store({"user/one.md": "One.\n"}, sync=False)
    store._run(lambda c: rekeying.Changes(c.database).note({1: (None, "user/one")}))
    assert not store._run(lambda c: rekeying.is_pending(c.database))
