"""Conflicts: one subject with two objects by a predicate that holds for one. Both stand; nothing is changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memdb.domain.quotes import LONGEST, quote
from memdb.errors import NotFound, UsageError
from memdb.store import Store
from tests.answer_support import Answered, answer

TEXTS = {
    "user/mirela.md": "We met in May. Mirela Dovrak works at Harrowgate Labs now! Harrowgate Labs is old.\n",
    "user/later.md": "News. In June Mirela Dovrak moved to Quill Works.\n",
    "user/third.md": "Harrowgate Labs still lists Mirela Dovrak.\n",
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Answered]:
    made = Answered(tmp_path / "root", TEXTS)
    yield made
    made.store.close()


def at(place: str, sure: float = 0.9, *, who: str = "Mirela Dovrak") -> dict[str, object]:
    return answer((who, "person"), (place, "organization"), said=((who, "works_at", place, sure),))


def clash(world: Answered) -> Answered:
    world.put("user/mirela", at("Harrowgate Labs"))
    world.put("user/later", at("Quill Works", 0.8))
    return world


def sides(store: Store) -> list[tuple[str, str, dict[str, list[str]]]]:
    return [
        (
            str(c.subject_name),
            str(c.predicate),
            {side.object_name: [source.id for source in side.sources] for side in c.sides},
        )
        for c in store.conflicts.list()
    ]


BOTH = [("Mirela Dovrak", "works_at", {"Harrowgate Labs": ["user/mirela"], "Quill Works": ["user/later"]})]


def test_two_objects_of_a_single_valued_predicate_are_a_conflict(world: Answered) -> None:
    world.put("user/mirela", at("Harrowgate Labs"))
    assert world.store.conflicts.list() == []
    before = world.digest().tables
    world.put("user/later", at("Quill Works", 0.8))
    assert sides(world.store) == BOTH
    assert world.rows("select predicate, object, confidence, sources from open_conflicts order by object") == [
        ("works_at", "entity:harrowgate labs", 0.9, '{"user/mirela":0.9}'),
        ("works_at", "entity:quill works", 0.8, '{"user/later":0.8}'),
    ]
    # Both relations stand, and nothing but the new text's evidence is there.
    assert len(world.rows("select * from relations where predicate = 'works_at'")) == 2
    assert before["conflict"] != world.digest().tables["conflict"]
    assert before["memory"] != world.digest().tables["memory"]  # indexed_at
    assert world.rows("select count(*) from memory_version") == [(0,)]


def test_a_conflict_is_shown_with_a_quote_from_each_text(world: Answered) -> None:
    clash(world)
    world.put("user/third", at("Harrowgate Labs", 0.75))
    key = world.store.conflicts.list()[0].id
    for name in ("Mirela Dovrak", "@mirela dovrak", "entity:mirela dovrak", key, key[:4], key.upper()):
        assert world.store.conflicts.show(name).id == key
    shown = world.store.conflicts.show(key)
    assert [[(s.id, s.confidence, s.quote) for s in side.sources] for side in shown.sides] == [
        [
            ("user/mirela", 0.9, "Mirela Dovrak works at Harrowgate Labs now!"),
            ("user/third", 0.75, "Harrowgate Labs still lists Mirela Dovrak."),
        ],
        [("user/later", 0.8, "In June Mirela Dovrak moved to Quill Works.")],
    ]


def test_a_text_that_joins_a_side_is_listed(world: Answered) -> None:
    clash(world)
    key = world.store.conflicts.list()[0].id
    world.put("user/third", at("Harrowgate Labs", 0.95))
    assert sides(world.store)[0][2]["Harrowgate Labs"] == ["user/third", "user/mirela"]
    assert world.store.conflicts.list()[0].id == key


def supersede(world: Answered) -> None:
    world.write({"user/later.md": "---\nsupersedes: user/mirela\n---\nMirela Dovrak moved to Quill Works.\n"})
    world.store.sync()
    world.put("user/later", at("Quill Works"))
    assert len(world.rows("select * from relations where predicate = 'works_at'")) == 2


Change = Callable[[Answered], object]
ENDS: list[Change] = [
    lambda w: (w.root / "user/later.md").unlink(),
    lambda w: w.write({"user/later.md": "News of other things.\n"}),
    supersede,
    lambda w: w.put("user/later", at("Quill Works", 0.69)),
    lambda w: w.put("user/later", answer(("Mirela Dovrak", "person"), ("Quill Works", "organization"))),
    lambda w: w.put("user/later", at("Quill Works") | {"relations": []}, model="another"),
    lambda w: w.put("user/later", answer(("Mirela Dovrak", "guild"), ("Quill Works", "guild"))),
    lambda w: w.write(
        {"user/harrowgate-labs.md": "---\nname: Harrowgate Labs\naliases: [Quill Works]\n---\nA firm.\n"}
    ),
]


@pytest.mark.parametrize(
    "change", ENDS, ids=["deleted", "edited", "superseded", "unsure", "unsaid", "other model", "held", "alias"]
)
def test_a_conflict_goes_with_the_disagreement(world: Answered, change: Change) -> None:
    clash(world)
    assert sides(world.store) == BOTH
    change(world)
    world.store.sync(yes=True)
    assert world.store.conflicts.list() == []
    assert world.rows("select * from conflict") == world.rows("select * from conflict_side") == []
    assert world.digest().tables == world.rebuilt().tables


def test_a_replaced_memory_contradicts_nothing_until_what_replaces_it_is_gone(world: Answered) -> None:
    clash(world)
    world.write({"user/newer.md": "---\nsupersedes: user/mirela\n---\n-\n"})
    assert world.store.conflicts.list() == []
    assert len(world.rows("select * from relations where predicate = 'works_at'")) == 2
    assert world.digest().tables == world.rebuilt().tables
    (world.root / "user/newer.md").unlink()
    assert sides(world.store) == BOTH


def test_names_of_one_entity_are_one_side(world: Answered) -> None:
    world.write(
        {
            "user/harrowgate-labs.md": "---\nname: Harrowgate Labs\naliases: [Harrow Labs]\n---\nA firm.\n",
            "user/note.md": "Mirela Dovrak is at Harrow Labs.\n",
        }
    )
    world.store.sync()
    world.put("user/note", at("Harrow Labs"))
    world.put("user/mirela", at("Harrowgate Labs"))
    assert world.store.conflicts.list() == []
    world.put("user/later", at("Quill Works"))
    assert sides(world.store)[0][2]["Harrow Labs"] == ["user/mirela", "user/note"]
    assert world.store.conflicts.show("mirela dovrak").sides[0].sources[1].quote == "Mirela Dovrak is at Harrow Labs."


def test_only_a_single_valued_predicate_contradicts(world: Answered) -> None:
    for key, place in (("user/mirela", "Harrowgate Labs"), ("user/later", "Quill Works")):
        said = (("Mirela Dovrak", "uses", place), ("Mirela Dovrak", "heads", place))
        world.put(key, answer(("Mirela Dovrak", "person"), (place, "organization"), said=said))
    assert world.store.conflicts.list() == []
    world.store.proposals.approve("predicate", "heads", description="The subject leads the object.", single_valued=True)
    assert [(c.subject_name, c.predicate) for c in world.store.conflicts.list()] == [("Mirela Dovrak", "heads")]
    assert world.digest().tables == world.rebuilt().tables
    world.store.schema.disable("predicate", "heads")
    world.store.schema.delete("predicate", "heads")
    assert world.store.conflicts.list() == []
    world.store.schema.add("predicate", "heads", "The subject leads the object.")
    assert world.store.conflicts.list() == []


def test_another_machine_can_say_that_a_predicate_has_many_objects(world: Answered) -> None:
    for key, place in (("user/mirela", "Harrowgate Labs"), ("user/later", "Quill Works")):
        said = (("Mirela Dovrak", "heads", place),)
        world.put(key, answer(("Mirela Dovrak", "person"), (place, "organization"), said=said))
    world.store.schema.add("predicate", "heads", "The subject leads the object.", single_valued=True)
    assert len(world.store.conflicts.list()) == 1
    # Its decision was the earlier one.
    record = {"t": "0000000000001-00000", "w": "other", "kind": "vocabulary", "action": "add", "list": "predicate"}
    line = json.dumps(record | {"name": "heads", "description": "Leads it."})
    (world.store._context.journal.folder / "other.jsonl").write_text(line + "\n", encoding="utf-8")
    assert world.store.conflicts.list() == []
    assert world.digest().tables == world.rebuilt().tables


def test_a_held_object_is_no_side(world: Answered) -> None:
    clash(world)
    said = (("Mirela Dovrak", "works_at", "Quill Works"),)
    world.put("user/later", answer(("Mirela Dovrak", "person"), ("Quill Works", "guild"), said=said))
    assert world.store.conflicts.list() == []
    world.store.schema.add("type", "guild", "A named guild.")
    assert sides(world.store) == BOTH
    world.store.schema.disable("type", "guild")
    world.store.schema.delete("type", "guild")
    assert world.store.conflicts.list() == []
    assert world.digest().tables == world.rebuilt().tables


def test_what_is_not_found(world: Answered) -> None:
    clash(world)
    with pytest.raises(NotFound, match="no conflict 'mirela'") as caught:
        world.store.conflicts.show("mirela")
    assert "Did you mean mirela dovrak" in str(caught.value.hint)
    with pytest.raises(NotFound, match="no conflict ''"):
        world.store.conflicts.show("")
    world.store.schema.add("predicate", "heads", "The subject leads the object.", single_valued=True)
    for key, place in (("user/mirela", "Harrowgate Labs"), ("user/later", "Quill Works")):
        said = (("Mirela Dovrak", "works_at", place), ("Mirela Dovrak", "heads", place))
        world.put(key, answer(("Mirela Dovrak", "person"), (place, "organization"), said=said))
    with pytest.raises(UsageError, match="can mean 2 conflicts") as several:
        world.store.conflicts.show("Mirela Dovrak")
    assert "mirela dovrak heads" in str(several.value.hint)


QUOTES: list[tuple[str, str | None]] = [
    ("One. Ann Lee is at Corvin. Corvin is far.", "Ann Lee is at Corvin."),
    ("Corvin is far. ANN  LEE is at corvin?", "ANN LEE is at corvin?"),
    ("Ann Lee left.\nCorvin is far. So is Bree.", "Corvin is far."),
    ("Ann Lee is\nat Corvin.", "at Corvin."),
    ("- Ann Lee: Corvin\n- Bo: Bree", "- Ann Lee: Corvin"),
    ("Corvinus and Ann Lee.", None),
    ("", None),
    ("安は Corvin にいる。Ann Lee は Corvin に。終", "Ann Lee は Corvin に。"),
    ("Ann Lee, 3.5 km from Corvin e.g. there", "Ann Lee, 3.5 km from Corvin e.g."),
]


@pytest.mark.parametrize(("text", "expected"), QUOTES)
def test_quotes(text: str, expected: str | None) -> None:
    assert quote(text, ["Ann Lee"], ["Corvin"]) == expected


def test_a_name_with_a_full_stop_ends_no_quote() -> None:
    assert quote("x. Ann is at St. Mary's. y", ["Ann"], ["St. Mary's"]) == "x. Ann is at St. Mary's. y"


@pytest.mark.parametrize("before", [0, 300, 5_000])
def test_a_long_sentence_is_cut_around_the_object(before: int) -> None:
    text = f"Ann Lee {'so ' * before}Corvin{' and' * 400}."
    found = quote(text, ["Ann Lee"], ["Corvin"])
    assert found is not None
    assert len(found) == LONGEST
    assert "Corvin" in found
    assert found.endswith("...")
    assert found.startswith("...") is (before > 0)
