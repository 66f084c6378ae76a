"""The entity arm: what a question names, by which spelling, and which texts it leads to."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memdb.errors import UsageError
from memdb.store import Store

MakeStore = Callable[..., Store]

NOTES = {
    "reference/staging-database.md": "---\naliases: [stagedb]\n---\nRuns on the host heron.\n",
    "project/deploys.md": "Before a deploy, the staging database is copied.\n",
    "user/wilhelmina.md": "Wilhelmina Brandt keeps the keys of the archive.\n",
    "episode/visit.md": "On Tuesday we met Wilhelmina Brandt at the gate.\n",
    "project/garden.md": "The garden has nine apple trees.\n",
}


@pytest.fixture
def store(make_store: MakeStore, no_model: None) -> Store:
    made = make_store(NOTES)
    made.sync()
    return made


def by_entity(store: Store, question: str) -> dict[str, int]:
    hits = store.recall(question, arms=("entity",), hops=0).hits
    return {hit.id: hit.arms["entity"].rank for hit in hits}


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("where does the staging database run", {"reference/staging-database": 1, "project/deploys": 2}),
        ("where does the Staging-Database run", {"reference/staging-database": 1, "project/deploys": 2}),
        ("where does stagedb run", {"reference/staging-database": 1, "project/deploys": 2}),
        ("who is wilhelmina brandt", {"episode/visit": 1, "user/wilhelmina": 2}),
        ("who is Wilhelmina Brand", {"episode/visit": 1, "user/wilhelmina": 2}),
        ("who is wilhemina brandt", {"episode/visit": 1, "user/wilhelmina": 2}),
        ("how many apple trees are there", {}),
        ("", {}),
    ],
)
def test_what_a_question_names(store: Store, question: str, found: dict[str, int]) -> None:
    assert by_entity(store, question) == found


def test_what_the_question_names_speaks_for_a_text(store: Store) -> None:
    alone = store.recall("what is with the staging database", arms=("keyword",), hops=0).hits
    both = store.recall("what is with the staging database", arms=("keyword", "entity"), hops=0).hits
    before = {hit.id: hit.score for hit in alone}
    after = {hit.id: hit.score for hit in both}
    assert after["project/deploys"] == pytest.approx(1 - (1 - before["project/deploys"]) * 0.5)


def test_texts_meet_through_what_they_mention(make_store: MakeStore, no_model: None) -> None:
    store = make_store(
        {
            "episode/call.md": "The pump failed at noon, and Ottilie Krahn was called.\n",
            "user/ottilie.md": "Ottilie Krahn lives by the harbour.\n",
        }
    )
    hits = store.recall("when did the pump fail").hits
    assert [hit.id for hit in hits] == ["episode/call", "user/ottilie"]
    assert [(hop.edge, hop.node) for hop in hits[1].path] == [
        (None, "episode/call"),
        ("mentions", "entity:ottilie krahn"),
        ("mentions", "user/ottilie"),
    ]


def test_a_name_that_comes_and_goes(store: Store) -> None:
    assert by_entity(store, "what about the apple trees") == {}
    store.save("reference/apple-trees", "Planted in spring.")
    assert by_entity(store, "what about the apple trees") == {"reference/apple-trees": 1, "project/garden": 2}
    store.forget("reference/apple-trees")
    assert by_entity(store, "what about the apple trees") == {}


def test_filters_hold_inside_the_arm(store: Store) -> None:
    from memdb.services.recall.recall import Filters

    hits = store.recall("the staging database", filters=Filters(types=("project",)), arms=("entity",), hops=0).hits
    assert [hit.id for hit in hits] == ["project/deploys"]


def test_an_empty_store_says_why_the_arm_is_off(make_store: MakeStore, no_model: None) -> None:
    arm = make_store({}).recall("anything").arms["entity"]
    assert (arm.state, arm.reason) == ("off", "the store has no entities yet")


@pytest.mark.parametrize(("degree", "passed"), [(2, 0.49), (4, 0.294), (8, 0.163333333333)])
def test_an_entity_passes_on_the_less_the_more_texts_mention_it(
    make_store: MakeStore, no_model: None, degree: int, passed: float
) -> None:
    store = make_store({f"user/n{at}.md": f"Number {at} knows Ottilie Krahn.\n" for at in range(degree)})
    hits = store.cascade({"user/n0": 1.0}, limit=50).hits
    assert {round(hit.score, 6) for hit in hits[1:]} == {round(passed, 6)}


def test_a_path_is_evidence_or_only_counts_where_it_is_better(make_store: MakeStore, no_model: None) -> None:
    store = make_store(
        {
            "project/pump.md": "The pump failed at noon. See [[gauge]].\n",
            "project/gauge.md": "The gauge beside the pump showed nothing when the pump failed.\n",
        }
    )
    question = "pump failed at noon"
    best = {hit.id: hit for hit in store.recall(question, arms=("keyword",), paths="best").hits}
    both = {hit.id: hit for hit in store.recall(question, arms=("keyword",)).hits}
    assert best["project/gauge"].fused == both["project/gauge"].fused
    assert best["project/gauge"].score == max(best["project/gauge"].fused or 0.0, best["project/gauge"].path[-1].score)
    assert both["project/gauge"].score > best["project/gauge"].score > 0
    with pytest.raises(UsageError, match="There is no rule 'worst'"):
        store.recall(question, paths="worst")
