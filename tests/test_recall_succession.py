"""What was replaced steps back, and what replaces it takes its place."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memdb.services.recall import recall as recalling
from memdb.services.recall.recall import Filters, Hop, Recall
from memdb.store import Store
from tests.graph_support import Edge, add_graph
from tests.test_cascade import empty, in_a_graph  # noqa: F401

MakeStore = Callable[..., Store]
pytestmark = pytest.mark.usefixtures("no_model")


def ranking(answer: Recall) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in answer.hits]


@pytest.fixture
def above(make_store: MakeStore) -> Callable[..., Store]:
    """Makes a store in which each `(newer, older)` of `project/…` replaces the other."""

    def make(*pairs: tuple[str, str]) -> Store:
        store = make_store()
        edges: list[Edge] = [(f"project/{newer}", "supersedes", f"project/{older}") for newer, older in pairs]
        with store._context.database.write():
            add_graph(store._context.database, edges)
        return store

    return make


def test_a_replaced_memory_hands_on_its_score_and_steps_back(above: Callable[..., Store]) -> None:
    answer = above(("new", "old")).cascade({"project/old": 0.8})
    assert ranking(answer) == [("project/new", 0.8), ("project/old", 0.504)]
    new, old = answer.hits
    assert new.path == (Hop("project/old", None, None, 0.8), Hop("project/new", "supersedes", 1.0, 0.8))
    assert (new.superseded_by, old.superseded_by) == ((), ("project/new",))


def test_the_newest_keeps_a_better_score_of_its_own(above: Callable[..., Store]) -> None:
    answer = above(("new", "old")).cascade({"project/old": 0.5, "project/new": 0.9})
    assert ranking(answer) == [("project/new", 0.9), ("project/old", 0.35721)]  # 0.9 x 0.9 x 0.7 x 0.63


def test_a_chain_of_three_shows_every_step(above: Callable[..., Store]) -> None:
    answer = above(("c", "b"), ("b", "a")).cascade({"project/a": 0.8})
    assert ranking(answer) == [("project/c", 0.8), ("project/b", 0.504), ("project/a", 0.31752)]
    assert [(hop.node, hop.edge) for hop in answer.hits[0].path] == [
        ("project/a", None),
        ("project/b", "supersedes"),
        ("project/c", "supersedes"),
    ]


def test_two_that_replace_one_both_take_its_score(above: Callable[..., Store]) -> None:
    answer = above(("b", "old"), ("a", "old")).cascade({"project/old": 0.8})
    assert ranking(answer) == [("project/a", 0.8), ("project/b", 0.8), ("project/old", 0.504)]
    assert answer.hits[2].superseded_by == ("project/a", "project/b")


def test_ways_up_of_different_length_demote_no_newest(above: Callable[..., Store]) -> None:
    answer = above(("mid", "old"), ("top", "mid"), ("side", "old")).cascade({"project/old": 1.0})
    assert ranking(answer) == [
        ("project/side", 1.0),
        ("project/top", 1.0),
        ("project/mid", 0.63),
        ("project/old", 0.3969),
    ]


def test_one_that_replaces_both_the_old_and_the_middle(above: Callable[..., Store]) -> None:
    answer = above(("c", "b"), ("b", "a"), ("c", "a")).cascade({"project/a": 1.0})
    assert ranking(answer) == [("project/c", 1.0), ("project/b", 0.63), ("project/a", 0.3969)]


@pytest.mark.parametrize(
    "pairs",
    [[("a", "b"), ("b", "a")], [("a", "b"), ("b", "c"), ("c", "a")]],
    ids=["two", "three"],
)
def test_memories_that_replace_one_another_are_not_demoted(
    above: Callable[..., Store], pairs: list[tuple[str, str]]
) -> None:
    answer = above(*pairs).cascade({"project/a": 0.8, "project/b": 0.7})
    assert ranking(answer)[:2] == [("project/a", 0.8), ("project/b", 0.7)]
    assert all(hit.superseded_by for hit in answer.hits)


def test_a_ring_with_a_way_out_hands_on_to_what_stands_above_it(above: Callable[..., Store]) -> None:
    answer = above(("a", "b"), ("b", "a"), ("new", "a")).cascade({"project/a": 0.8})
    assert ranking(answer) == [("project/new", 0.8), ("project/a", 0.504), ("project/b", 0.504)]


def test_a_memory_that_replaces_itself_stays(make_store: MakeStore) -> None:
    store = make_store({"project/a.md": "---\nsupersedes: a\n---\nThe kettle is red.\n"})
    assert [hit.id for hit in store.recall("kettle").hits] == ["project/a"]
    assert store.links()[0].status == "self"


def test_a_long_line_of_notes_ends(above: Callable[..., Store]) -> None:
    store = above(*((f"{at + 1:03}", f"{at:03}") for at in range(100)))
    answer = store.cascade({f"project/{at:03}": 0.9 for at in range(100)})
    assert (answer.hits[0].id, answer.hits[0].score) == ("project/100", 0.9)


OLD_AND_NEW = {
    "project/db-2024.md": "---\ntags: [old]\nvalid_from: 2024-01-01\nvalid_to: 2024-12-31\n---\n"
    "The staging database is MySQL.\n",
    "project/db-2025.md": "---\nsupersedes: db-2024\nvalid_from: 2025-01-01\n---\nWe moved to Postgres.\n",
    "user/tea.md": "Likes green tea.\n",
}


NOW = datetime.now(UTC).isoformat()


@pytest.mark.parametrize(
    ("valid_to", "stale"),
    [
        ("2020", True), ("2020-05", True), ("2020-05-01", True), ("2020-05-01T10:00", True), ("2999", False),
        ("2999-01-01", False), ("until spring", False), (NOW[:4], False), (NOW[:7], False),
    ],
)  # fmt: skip
def test_what_is_no_longer_valid_is_marked(make_store: MakeStore, valid_to: str, stale: bool) -> None:
    store = make_store({"user/a.md": f"---\nvalid_to: {valid_to}\n---\nThe kettle is red.\n"})
    assert store.recall("kettle").hits[0].stale is stale


def test_a_hit_on_the_old_text_leads_to_the_new_one(make_store: MakeStore) -> None:
    answer = make_store(OLD_AND_NEW).recall("which staging database is it")
    assert [hit.id for hit in answer.hits] == ["project/db-2025", "project/db-2024"]
    new, old = answer.hits
    assert [hop.node for hop in new.path] == ["project/db-2024", "project/db-2025"]
    assert old.superseded_by == ("project/db-2025",)
    assert old.stale
    assert not new.stale


@pytest.mark.parametrize(
    "filters",
    [Filters(as_of="2024-06"), Filters(tags=("old",)), Filters(path="project/db-2024*")],
    ids=["as of", "tag", "path"],
)
def test_where_the_newest_is_filtered_out_the_old_one_keeps_its_score(make_store: MakeStore, filters: Filters) -> None:
    store = make_store(OLD_AND_NEW)
    answer = store.recall("staging database", filters=filters)
    assert [hit.id for hit in answer.hits] == ["project/db-2024"]
    assert answer.hits[0].score == answer.hits[0].fused
    assert answer.hits[0].superseded_by == ("project/db-2025",)


def test_the_way_up_passes_through_what_a_filter_leaves_out(make_store: MakeStore) -> None:
    store = make_store(
        {
            "project/one.md": "The gate code is on the blue card.\n",
            "episode/two.md": "---\nsupersedes: one\n---\nMoved.\n",
            "project/three.md": "---\nsupersedes: two\n---\nSee the keeper.\n",
        }
    )
    answer = store.recall("gate code", filters=Filters(types=("project",)))
    assert [hit.id for hit in answer.hits] == ["project/three", "project/one"]
    assert [hop.node for hop in answer.hits[0].path] == ["project/one", "episode/two", "project/three"]


LETTERS = "abcdef"
pairs = st.sets(st.tuples(st.sampled_from(LETTERS), st.sampled_from(LETTERS)), max_size=10)


@settings(max_examples=150, deadline=None)
@given(pairs=pairs, seeds=st.dictionaries(st.sampled_from(LETTERS), st.sampled_from([0.2, 0.5, 0.8]), min_size=1))
def test_nothing_stands_above_what_replaces_it(
    empty: object,  # noqa: F811
    pairs: set[tuple[str, str]],
    seeds: dict[str, float],
) -> None:
    edges: list[Edge] = [(f"user/{newer}", "supersedes", f"user/{older}") for newer, older in sorted(pairs)]
    names = [f"user/{letter}" for letter in LETTERS]
    asked = [(f"user/{letter}", score) for letter, score in seeds.items()]
    answer = in_a_graph(empty, edges, names, lambda context: recalling.cascade(context, asked, limit=50))  # type: ignore[arg-type]
    place = {hit.id.removeprefix("user/"): number for number, hit in enumerate(answer.hits)}
    over: dict[str, set[str]] = {letter: {letter} for letter in LETTERS}
    for _ in LETTERS:
        for newer, older in pairs:
            over[older] |= over[newer]
    for newer, older in pairs:
        if older not in over[newer] and older in place:
            assert place[newer] < place[older], (newer, older)
    assert {letter for letter in seeds} <= place.keys()
