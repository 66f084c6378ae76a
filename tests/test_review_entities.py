"""The review of what people decided apart, of decisions that are held, and of entities that may be one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from memdb.errors import NotFound
from memdb.services.review.review_items import ReviewItem
from memdb.store import Store
from tests.answer_support import Answered, answer

TEXTS = {
    "project/gauge.md": "Ottilie Krahn reads the tide gauges by Grafana.\n",
    "project/desk.md": "Ask Otilie Krahn at the Tide Desk.\n",
    "project/night.md": "Ottilie Krahn has the night watch.\n",
}
SAID = {
    "project/gauge": answer(("Ottilie Krahn", "person"), ("Grafana", "tool")),
    "project/desk": answer(("Otilie Krahn", "person"), ("Tide Desk", "place")),
    "project/night": answer(("Ottilie Krahn", "person")),
}


def machine(root: Path) -> Answered:
    """One machine's copy of the folder, with what the model said."""
    made = Answered(root, TEXTS)
    for key, output in SAID.items():
        made.put(key, output)
    return made


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Answered]:
    made = machine(tmp_path / "root")
    yield made
    made.store.close()


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[tuple[Answered, Answered]]:
    """Two copies of one folder: the first journaled what the model said, the second got it from there."""
    first = machine(tmp_path / "first")
    second = Answered(tmp_path / "second", TEXTS)
    meet(first, second)
    yield first, second
    first.store.close()
    second.store.close()


def meet(first: Answered, second: Answered) -> None:
    """Bring both journals together, as version control does: each machine writes files of its own."""
    folders = [made.store.place.journal for made in (first, second)]
    for here, there in (folders, folders[::-1]):
        there.mkdir(parents=True, exist_ok=True)
        for file in here.iterdir():
            if not (there / file.name).exists() or (there / file.name).stat().st_size < file.stat().st_size:
                shutil.copy2(file, there / file.name)
    for made in (first, second):
        made.store.sync()


def only(store: Store, kind: str) -> ReviewItem:
    [item] = store.review.list(kinds=[kind])
    return item


def name_of(world: Answered, key: str) -> str:
    return world.store.entities.show(key).name


# Contradictions


def contradicting(machines: tuple[Answered, Answered]) -> ReviewItem:
    first, second = machines
    first.store.entities.rename("Grafana", "Tide Charts", why="that is what we say")
    second.store.entities.rename("Grafana", "Gauge Board")
    meet(first, second)
    items = [only(made.store, "contradiction") for made in machines]
    assert items[0] == items[1]
    assert first.store.review.list()[0] == items[0]
    return items[0]


def test_decisions_that_contradict_come_first_on_both_machines(machines: tuple[Answered, Answered]) -> None:
    item = contradicting(machines)
    one, other = item.id.removeprefix("contradiction:").split("+")
    assert {one, other} == {decision.id for decision in machines[0].store.log() if decision.action == "rename"}
    assert "Grafana is called Tide Charts. " in item.title
    assert item.title.endswith("Grafana is called Gauge Board")
    assert [line.text for line in item.detail if line.role in ("side", "quote", "fact")] == [
        "Grafana is called Tide Charts",
        "that is what we say",
        "Grafana is called Gauge Board",
        "now: Grafana is called Gauge Board",
    ]
    assert [choice.key for choice in item.choices] == ["1", "2", "c"]
    assert item.since == machines[0].store.log(limit=1)[0].at


@pytest.mark.parametrize(("key", "called"), [("1", "Tide Charts"), ("2", "Gauge Board"), ("c", "Gauge Board")])
def test_one_answer_settles_it_everywhere(machines: tuple[Answered, Answered], key: str, called: str) -> None:
    first, second = machines
    item = contradicting(machines)
    before = first.digest().digest
    answered = first.store.review.answer(item.id, key, seen=item, why="settled in the meeting")
    assert name_of(first, "Grafana") == called
    meet(first, second)
    for made in machines:
        assert made.store.review.list(kinds=["contradiction"]) == []
        assert name_of(made, "Grafana") == called
    assert first.digest() == second.digest() == first.rebuilt()
    with pytest.raises(NotFound):
        second.store.review.answer(item.id, key)
    second.store.review.undo(answered)
    assert only(second.store, "contradiction").id == item.id
    assert second.digest().digest == before


def test_a_merge_against_a_deletion(machines: tuple[Answered, Answered]) -> None:
    first, second = machines
    first.store.entities.merge("Otilie Krahn", "Ottilie Krahn")
    second.store.entities.delete("Otilie Krahn")
    meet(first, second)
    item = only(first.store, "contradiction")
    assert "Otilie Krahn is Ottilie Krahn" in item.title
    assert "Otilie Krahn is none" in item.title


# Held decisions


def test_what_is_held_is_listed_until_it_is_dropped_or_takes_effect(machines: tuple[Answered, Answered]) -> None:
    first, second = machines
    first.store.entities.merge("Otilie Krahn", "Ottilie Krahn")
    second.store.entities.merge("Otilie Krahn", "Tide Desk")
    meet(first, second)
    item = only(first.store, "contradiction")
    [held] = [choice for choice in item.choices if choice.key == "2"]
    assert "held: it is part of 'Ottilie Krahn' already" in [line.text for line in item.detail]
    assert "Otilie Krahn is Tide Desk" in held.does
    first.store.review.answer(item.id, "confirm")
    again = only(first.store, "held")
    assert again.title.endswith("Otilie Krahn is Tide Desk. Held: it is part of 'Ottilie Krahn' already")
    answered = first.store.review.answer(again.id, "drop")
    assert answered.said == "taken back: Otilie Krahn is Tide Desk"
    assert first.store.review.list(kinds=["held", "contradiction"]) == []
    first.store.review.undo(answered)
    assert only(first.store, "held").id == again.id


# Merges


def test_a_suggested_merge_quotes_both_sides(world: Answered) -> None:
    item = only(world.store, "merge")
    assert item.id == "merge:otilie%20krahn+ottilie%20krahn"
    assert item.title == "Otilie Krahn and Ottilie Krahn may be one"
    assert [(line.role, line.text) for line in item.detail if line.role != "fact"] == [
        ("side", "Otilie Krahn"),
        ("source", "person, 1 text mentions it"),
        ("source", "project/desk"),
        ("quote", "Ask Otilie Krahn at the Tide Desk."),
        ("side", "Ottilie Krahn"),
        ("source", "person, 2 texts mention it"),
        ("source", "project/gauge"),
        ("quote", "Ottilie Krahn reads the tide gauges by Grafana."),
    ]
    assert world.store.review.show(item.id) == item


@pytest.mark.parametrize(
    ("choice", "said", "called"),
    [
        ("merge", "merged otilie krahn into ottilie krahn", "Ottilie Krahn"),
        ("merge-reversed", "merged ottilie krahn into otilie krahn", "Otilie Krahn"),
        ("distinct", "otilie krahn and ottilie krahn are two", "Ottilie Krahn"),
    ],
)
def test_a_suggested_merge_is_answered_and_taken_back(world: Answered, choice: str, said: str, called: str) -> None:
    item = only(world.store, "merge")
    before = world.digest().digest
    answered = world.store.review.answer(item.id, choice, why="the same handwriting")
    assert answered.said == said
    assert world.store.log(limit=1)[0].why == "the same handwriting"
    assert name_of(world, "Ottilie Krahn") == called
    assert world.store.review.list(kinds=["merge"]) == []
    with pytest.raises(NotFound):
        world.store.review.answer(item.id, choice)
    assert world.digest() == world.rebuilt()
    world.store.review.undo(answered)
    assert only(world.store, "merge") == item
    assert world.digest().digest == before


def test_what_was_merged_otherwise_waits_no_more(world: Answered) -> None:
    item = only(world.store, "merge")
    world.store.entities.merge("Otilie Krahn", "Tide Desk")
    with pytest.raises(NotFound):
        world.store.review.answer(item.id, "merge", seen=item)
