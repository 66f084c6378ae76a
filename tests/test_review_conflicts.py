"""The review of conflicts: relations that cannot all hold, and memories that cannot all be right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memdb.errors import NotFound, Refused, UsageError
from memdb.services.review.review_items import ReviewItem
from tests.answer_support import Answered, answer

TEXTS = {
    "user/mirela.md": "We met in May. Mirela Dovrak works at Harrowgate Labs now! Harrowgate Labs is old.\n",
    "user/later.md": "News. In June Mirela Dovrak moved to Quill Works.\n",
    "user/third.md": "They say that Mirela Dovrak is at Tide Desk.\n",
}


def at(place: str) -> dict[str, object]:
    return answer(
        ("Mirela Dovrak", "person"), (place, "organization"), said=(("Mirela Dovrak", "works_at", place, 0.9),)
    )


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Answered]:
    made = Answered(tmp_path / "root", TEXTS)
    made.put("user/mirela", at("Harrowgate Labs"))
    made.put("user/later", at("Quill Works"))
    yield made
    made.store.close()


def only(world: Answered) -> ReviewItem:
    [item] = world.store.review.list(kinds=["conflict"])
    return item


def standing(world: Answered) -> list[str]:
    return [name for (name,) in world.rows("select object from relations where predicate = 'works_at' order by 1")]


def test_a_conflict_quotes_both_sides(world: Answered) -> None:
    item = only(world)
    assert item.title == "Mirela Dovrak works_at: Harrowgate Labs or Quill Works"
    assert [(line.role, line.text) for line in item.detail] == [
        ("side", "Harrowgate Labs"),
        ("source", "user/mirela, 0.90"),
        ("quote", "Mirela Dovrak works at Harrowgate Labs now!"),
        ("side", "Quill Works"),
        ("source", "user/later, 0.90"),
        ("quote", "In June Mirela Dovrak moved to Quill Works."),
    ]
    assert [(choice.key, choice.name) for choice in item.choices] == [
        ("1", "keep-harrowgate-labs"),
        ("2", "keep-quill-works"),
        ("a", "keep-both"),
        ("m", "merge"),
    ]
    assert world.store.review.show(item.id) == item
    assert world.store.review.list()[0] == item


@pytest.mark.parametrize(
    ("choice", "said", "left"),
    [
        ("keep-harrowgate-labs", "kept Harrowgate Labs", ["entity:harrowgate labs"]),
        ("2", "kept Quill Works", ["entity:quill works"]),
        ("keep-both", "all stand", ["entity:harrowgate labs", "entity:quill works"]),
        ("merge", "merged into Harrowgate Labs", ["entity:harrowgate labs"]),
    ],
)
def test_a_conflict_is_settled_and_opened_again(world: Answered, choice: str, said: str, left: list[str]) -> None:
    item = only(world)
    before = world.digest().digest
    answered = world.store.review.answer(item.id, choice, seen=item, why="she told me")
    assert answered.said == f"Mirela Dovrak works_at: {said}"
    assert standing(world) == left
    assert world.store.review.list(kinds=["conflict"]) == []
    with pytest.raises(NotFound):
        world.store.review.answer(item.id, choice)
    assert world.digest() == world.rebuilt()
    world.store.review.undo(answered)
    assert only(world) == item
    assert world.digest().digest == before


def test_of_three_sides_one_is_kept(world: Answered) -> None:
    world.put("user/third", at("Tide Desk"))
    item = only(world)
    assert [choice.key for choice in item.choices] == ["1", "2", "3", "a", "m"]
    world.store.review.answer(item.id, "keep-tide-desk")
    assert standing(world) == ["entity:tide desk"]
    assert world.store.review.list(kinds=["conflict"]) == []


def test_a_cut_id_means_nothing(world: Answered) -> None:
    with pytest.raises(NotFound):
        world.store.review.show(only(world).id[:-1])


# Memories

BELIEFS = {
    "project/deploy-day.md": "---\ncreated: 2026-01-05\n---\nDeploys happen on Monday.\n",
    "project/deploy-weekday.md": "---\ncreated: 2026-02-05\n---\nDeploys happen on Thursday.\n",
}


@pytest.fixture
def beliefs(tmp_path: Path) -> Iterator[Answered]:
    made = Answered(tmp_path / "root", BELIEFS)
    yield made
    made.store.close()


def test_memories_that_disagree_are_quoted(beliefs: Answered) -> None:
    item = only(beliefs)
    assert item.title == "project/deploy-day and project/deploy-weekday cannot both be right"
    assert [choice.name for choice in item.choices] == [
        "keep-project-deploy-day",
        "keep-project-deploy-weekday",
        "keep-both",
        "merge",
    ]
    assert item.choices[-1].draft == "Deploys happen on Monday.\n\nDeploys happen on Thursday.\n"
    assert [line.text for line in item.detail if line.role == "quote"] == [
        "Deploys happen on Monday.",
        "Deploys happen on Thursday.",
    ]


def test_memories_are_merged_into_a_text_and_parted_again(beliefs: Answered) -> None:
    item = only(beliefs)
    before = {path: (beliefs.root / path).read_bytes() for path in BELIEFS}
    with pytest.raises(UsageError):
        beliefs.store.review.answer(item.id, "merge")
    answered = beliefs.store.review.answer(item.id, "merge", text="Deploys happen on Monday and Thursday.\n")
    assert beliefs.store.show("project/deploy-weekday").body == "Deploys happen on Monday and Thursday.\n"
    assert beliefs.store.review.list(kinds=["conflict"]) == []
    beliefs.store.review.undo(answered)
    assert {path: (beliefs.root / path).read_bytes() for path in BELIEFS} == before
    assert only(beliefs) == item


def test_a_merge_whose_text_was_changed_since_is_not_taken_back_in_silence(beliefs: Answered) -> None:
    answered = beliefs.store.review.answer(only(beliefs).id, "merge", text="On both days.\n")
    beliefs.write({"project/deploy-weekday.md": "Another text.\n"})
    with pytest.raises(Refused):
        beliefs.store.review.undo(answered)


def test_memories_with_a_credential_are_not_drafted(beliefs: Answered) -> None:
    secret = "sk-" + "proj-" + "Zq8" * 14
    beliefs.write({"project/deploy-day.md": f"---\ncreated: 2026-01-05\n---\nDeploys happen on Monday. Key {secret}\n"})
    beliefs.store.sync()
    for item in beliefs.store.review.list(kinds=["conflict"]):
        assert secret not in repr(item)
        assert "merge" not in [choice.name for choice in item.choices]


# Restatements

SAME = {
    "project/deploy.md": "Deploys happen on Monday, by the harbour crew alone.\n",
    "reference/deploying.md": "deploys happen on monday by the harbour crew alone\n",
}


@pytest.fixture
def same(tmp_path: Path) -> Iterator[Answered]:
    made = Answered(tmp_path / "root", SAME)
    yield made
    made.store.close()


@pytest.mark.parametrize(
    ("choice", "said", "edges"),
    [
        (
            "1",
            "project/deploy replaces reference/deploying",
            [("project/deploy", "replaces", "reference/deploying")],
        ),
        (
            "keep-reference-deploying",
            "reference/deploying replaces project/deploy",
            [("reference/deploying", "replaces", "project/deploy")],
        ),
        (
            "keep-both",
            "project/deploy and reference/deploying both stand",
            [("project/deploy", "distinct", "reference/deploying")],
        ),
    ],
)
def test_memories_that_say_the_same(same: Answered, choice: str, said: str, edges: list[tuple[str, str, str]]) -> None:
    [item] = same.store.review.list()
    assert (item.id, item.title) == (
        "restatement:project/deploy+reference/deploying",
        "project/deploy and reference/deploying say the same",
    )
    assert [line.text for line in item.detail] == [
        "the same words, but for signs, capitals or a typo",
        "project/deploy",
        "Deploys happen on Monday, by the harbour crew alone.",
        "reference/deploying",
        "deploys happen on monday by the harbour crew alone",
    ]
    before = same.digest().digest
    answered = same.store.review.answer(item.id, choice, seen=item)
    assert answered.said == said
    assert same.rows("select source, kind, target from graph_edges where kind in ('replaces', 'distinct')") == edges
    assert same.store.review.list() == []
    assert same.digest() == same.rebuilt()
    same.store.review.undo(answered)
    assert same.store.review.list() == [item]
    assert same.digest().digest == before
