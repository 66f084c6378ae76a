"""A recall as a block for a prompt."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memdb.store import Store

pytestmark = pytest.mark.usefixtures("no_model")

FILES = {
    "user/kettle.md": "---\ndescription: The kettle she likes\n---\nkettle kettle kettle: the red one, é.\n",
    "user/long-kettle.md": "---\ndescription: A long note\n---\nkettle " + "and much more " * 40 + "\n",
    "project/old-kettle.md": "---\nvalid_to: 2020-01-01\n---\nThe kettle in the office.\n",
    "project/new-kettle.md": "---\nsupersedes: old-kettle\n---\nMoved.\n",
    "episode/empty.md": "---\nname: kettle log\n---\n",
}


@pytest.fixture
def store(make_store: Callable[..., Store]) -> Store:
    return make_store(FILES)


def block(store: Store, budget: int | None = None) -> str:
    answer = store.recall("kettle")
    return store.prompt_block(answer) if budget is None else store.prompt_block(answer, budget)


def test_the_most_relevant_comes_first(store: Store) -> None:
    answer = store.recall("kettle")
    text = store.prompt_block(answer)
    places = [text.index(f"[{hit.id}]") for hit in answer.hits]
    assert places == sorted(places)
    assert len(places) == 5


@pytest.mark.parametrize("budget", [0, 1, 40, 60, 100, 150, 200, 300, 500, 800, 1_000, 2_000])
def test_within_the_budget_and_nothing_cut(store: Store, budget: int) -> None:
    text = block(store, budget)
    assert len(text.encode("utf-8")) <= budget
    whole = {f"[{memory.id}]": store.show(memory.id).body.strip() for memory in store.list()}
    for part in text.split("- [")[1:]:
        name = "[" + part.partition("]")[0] + "]"
        _, _, rest = part.partition("\n\n")
        assert rest.strip() in ("", whole[name])


def test_one_liners_where_bodies_do_not_fit(store: Store) -> None:
    text = block(store, 500)
    assert "- [user/kettle] The kettle she likes\n\nkettle kettle kettle: the red one, é.\n" in text
    assert "- [user/long-kettle] A long note" in text
    assert "and much more" not in text


def test_marks(store: Store) -> None:
    database = store._context.database
    database.connection.execute(
        "insert into edge (src, dst, kind, weight) select a.id, b.id, 'contradicts', 0 from node as a, node as b"
        " where a.key = 'user/kettle' and b.key = 'user/long-kettle'"
    )
    text = block(store)
    assert "- [project/old-kettle] old-kettle (replaced by project/new-kettle; no longer valid)" in text
    assert "- [user/kettle] The kettle she likes (contradicts user/long-kettle)" in text


def test_a_secret_is_not_shown(make_store: Callable[..., Store]) -> None:
    secret = "npm_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
    store = make_store({"user/key.md": f"The kettle key is {secret}\n"})
    assert "kettle key" in block(store)
    assert secret not in block(store)


def test_a_memory_that_went_meanwhile_is_left_out(store: Store) -> None:
    answer = store.recall("kettle")
    (store.place.root / "user/kettle.md").unlink()
    store.sync()
    text = store.prompt_block(answer)
    assert "[user/kettle]" not in text
    assert "[user/long-kettle]" in text


def test_no_answer_is_an_empty_block(store: Store) -> None:
    assert store.prompt_block(store.recall("quantum chromodynamics")) == ""
