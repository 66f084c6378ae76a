"""What people decide of entities: what follows, what is refused, and that nothing of it is lost or left behind."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memdb.base import secrets
from memdb.base.embedding import Embedder
from memdb.domain.curation import id_of
from memdb.errors import MemdbError, NotFound, Refused, SecretFound, UsageError
from memdb.services.decisions import Decision
from memdb.services.entities import naming
from memdb.store import Store
from tests.answer_support import Answered, answer

TEXTS = {
    "project/line.md": "Ada Wren runs the Corvin line over MQTT.\n",
    "project/gate.md": "The Corvin gate speaks MQTT and Zigbee too, says Ada Wren.\n",
    "user/note.md": "A. Wren asked for Grafana at Bree Labs.\n",
    "user/later.md": "Tide Desk is new.\n",
}
PERSON, OTHER = ("Ada Wren", "person"), ("A. Wren", "person")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Answered]:
    made = Answered(tmp_path / "root", TEXTS)
    said(made)
    yield made
    made.store.close()


def said(made: Answered) -> None:
    made.put("project/line", answer(PERSON, ("MQTT", "technology"), said=(("Ada Wren", "uses", "MQTT"),)))
    made.put(
        "project/gate",
        answer(PERSON, ("MQTT", "technology"), ("Zigbee", "technology"), said=(("Zigbee", "part_of", "MQTT"),)),
    )
    made.put(
        "user/note",
        answer(
            OTHER, ("Grafana", "tool"), ("Bree Labs", "organization"),
            said=(("A. Wren", "uses", "Grafana"), ("A. Wren", "works_at", "Bree Labs")),
        ),
    )  # fmt: skip
    made.put("user/later", answer(("Tide Desk", "organization")))


def names(world: Answered) -> dict[str, tuple[str | None, int, tuple[str, ...]]]:
    """What there is, by name: type, mentions, other names."""
    return {one.name: (one.type, one.mentions, one.aliases) for one in world.store.entities.list()}


def related(world: Answered) -> set[tuple[str, str, str]]:
    return {
        (a.removeprefix("entity:"), predicate, b.removeprefix("entity:"))
        for a, predicate, b in world.rows("select subject, predicate, object from relations")
    }


def same_when_rebuilt(world: Answered) -> None:
    live, listed, log = world.digest(), world.store.entities.list(), world.store.log()
    assert world.rebuilt() == live
    assert world.store.entities.list() == listed
    assert world.store.log() == log


# Renaming


def test_a_renamed_entity_keeps_its_edges_and_its_old_name(world: Answered) -> None:
    before = world.rows("select id from entity where name_key = 'ada wren'")
    decision = world.store.entities.rename("@ada wren", "  Countess\nWren ", why="She goes by that now.")
    assert (decision.action, decision.subject, decision.state) == ("rename", "entity:ada wren", "standing")
    assert decision.detail == {"entity": "ada wren", "label": "Ada Wren", "name": "Countess Wren"}
    assert (decision.why, decision.changed, decision.waiting) == ("She goes by that now.", True, False)
    assert names(world)["Countess Wren"] == ("person", 2, ("Ada Wren",))
    assert ("countess wren", "uses", "mqtt") in related(world)
    assert world.rows("select id from entity where name_key = 'countess wren'") == before
    shown = world.store.entities.show("Ada Wren")
    assert (shown.id, shown.decided) == ("entity:countess wren", ("name",))
    assert [(one.name, one.made_by) for one in shown.alias_list] == [("Ada Wren", "rename")]
    same_when_rebuilt(world)


@pytest.mark.parametrize("name", ["ADA WREN", "@Ada Wren", "ada  wren", "\uff21da Wren"])
def test_a_name_that_differs_by_case_or_an_at_sign_is_the_same_entity(world: Answered, name: str) -> None:
    world.store.entities.rename("ada wren", name)
    assert names(world)[" ".join(name.split())] == ("person", 2, ())
    assert world.store.entities.show("Ada Wren").id == "entity:ada wren"
    same_when_rebuilt(world)


@pytest.mark.parametrize("name", ["mqtt", "@MQTT", "\uff2d\uff31\uff34\uff34", "Mqtt "])
def test_the_name_of_another_entity_is_refused_with_the_command_that_merges(world: Answered, name: str) -> None:
    before = world.digest()
    with pytest.raises(Refused) as caught:
        world.store.entities.rename("zigbee", name)
    assert "'MQTT' is another entity" in caught.value.message
    assert caught.value.hint == "To make one of the two: memdb entities merge Zigbee MQTT"
    assert world.digest() == before


def test_an_alias_of_another_entity_is_refused_too(world: Answered) -> None:
    world.store.entities.rename("Ada Wren", "Countess")
    with pytest.raises(Refused, match="'Countess' is another entity, and has the name 'ada wren'"):
        world.store.entities.rename("A. Wren", "Ada Wren")
    world.write({"user/bree.md": "---\nname: Bree Labs\naliases: [Bree Works]\n---\nA lab.\n"})
    with pytest.raises(Refused, match="'Bree Labs' is another entity"):
        world.store.entities.rename("Tide Desk", "bree works")


def test_renamed_back(world: Answered) -> None:
    before = world.digest()
    first = world.store.entities.rename("Ada Wren", "Countess")
    second = world.store.entities.rename("Countess", "Ada Wren")
    assert names(world)["Ada Wren"] == ("person", 2, ("Countess",))
    same_when_rebuilt(world)
    world.store.undo(first.id)
    assert names(world)["Ada Wren"] == ("person", 2, ())
    world.store.undo(second.id)
    assert world.digest().digest == before.digest


def test_a_text_that_mentions_the_new_name_later_mentions_the_entity(world: Answered) -> None:
    world.store.entities.rename("Ada Wren", "Tidewarden")
    world.write({"user/new.md": "We met the Tidewarden again.\n", "user/other.md": "It is not tidewarden weather.\n"})
    world.store.sync()
    assert {("user/new", "tidewarden"), ("project/line", "tidewarden")} <= world.mentions()
    assert ("user/other", "tidewarden") not in world.mentions()
    world.put("user/new", answer(("Tidewarden", "concept")))
    assert names(world)["Tidewarden"] == ("person", 3, ("Ada Wren",))
    same_when_rebuilt(world)
    world.store.undo(world.store.log(limit=1)[0].id)
    assert names(world)["Tidewarden"] == ("concept", 1, ())
    assert names(world)["Ada Wren"] == ("person", 2, ())
    same_when_rebuilt(world)


def test_a_name_that_a_person_gave_waits_for_a_text(world: Answered) -> None:
    world.store.entities.rename("Tide Desk", "Ebb Counter")
    (world.root / "user/later.md").unlink()
    assert [one.waiting for one in world.store.log()] == [True]
    assert "Ebb Counter" not in names(world)
    same_when_rebuilt(world)
    world.write({"user/again.md": "Ask at the Ebb Counter.\n"})
    assert names(world)["Ebb Counter"] == (None, 1, ("Tide Desk",))
    assert [one.waiting for one in world.store.log()] == [False]
    same_when_rebuilt(world)


def test_a_conflict_keeps_its_name_when_its_subject_is_renamed(world: Answered) -> None:
    world.put("user/later", answer(OTHER, ("Tide Desk", "organization"), said=(("A. Wren", "works_at", "Tide Desk"),)))
    world.write({"user/later.md": "A. Wren left for Tide Desk.\n"})
    world.store.sync()
    world.put("user/later", answer(OTHER, ("Tide Desk", "organization"), said=(("A. Wren", "works_at", "Tide Desk"),)))
    (before,) = world.rows("select distinct conflict from open_conflicts")
    world.store.entities.rename("A. Wren", "Arthur Wren")
    assert world.rows("select distinct conflict, subject from open_conflicts") == [(*before, "entity:arthur wren")]
    same_when_rebuilt(world)


# Types


def test_a_type_stays_whatever_texts_say(world: Answered) -> None:
    decision = world.store.entities.retype("grafana", "Technology")
    assert (decision.action, decision.detail["type"]) == ("retype", "technology")
    world.put("user/note", answer(("Grafana", "organization")), model="later")
    assert names(world)["Grafana"][0] == "technology"
    assert world.store.entities.show("Grafana").decided == ("type",)
    same_when_rebuilt(world)


def test_a_type_that_is_not_active_any_more_gives_way_to_the_evidence(world: Answered) -> None:
    world.store.schema.add("type", "gauge", "A thing that shows how much.")
    world.store.entities.retype("grafana", "gauge")
    assert names(world)["Grafana"][0] == "gauge"
    world.store.schema.disable("type", "gauge")
    assert names(world)["Grafana"][0] == "tool"
    same_when_rebuilt(world)
    world.store.schema.delete("type", "gauge")
    assert names(world)["Grafana"][0] == "tool"
    world.store.schema.add("type", "gauge", "A thing that shows how much.")
    assert names(world)["Grafana"][0] == "gauge"
    same_when_rebuilt(world)


def test_a_new_name_and_a_new_type_come_together_or_not_at_all(world: Answered) -> None:
    before = world.digest()
    with pytest.raises(Refused):
        world.store.entities.change("grafana", "MQTT", "technology")
    with pytest.raises(NotFound, match="no type 'gadget'"):
        world.store.entities.change("grafana", "Graphs", "gadget")
    assert world.digest() == before
    decision = world.store.entities.change("grafana", "Graphs", "technology")
    assert decision.action == "change"
    assert names(world)["Graphs"] == ("technology", 1, ("Grafana",))
    world.store.undo(decision.id)
    assert world.digest().digest == before.digest


# Merging


def test_a_merge_moves_mentions_and_relations_and_drops_doubles_and_loops(world: Answered) -> None:
    world.store.entities.merge("A. Wren", "Ada Wren")
    assert names(world)["Ada Wren"] == ("person", 3, ("A. Wren",))
    assert related(world) >= {("ada wren", "uses", "grafana"), ("ada wren", "works_at", "bree labs")}
    world.store.entities.merge("Zigbee", "MQTT")
    assert names(world)["MQTT"] == ("technology", 2, ("Zigbee",))
    assert ("mqtt", "part_of", "mqtt") not in related(world)
    assert world.rows("select count(*) from edge where src = dst") == [(0,)]
    assert [mention.source for mention in world.store.entities.show("a. wren").mention_list] == [
        "project/gate", "project/line", "user/note",
    ]  # fmt: skip
    same_when_rebuilt(world)


def test_a_merge_keeps_the_name_and_type_of_what_it_goes_into(world: Answered) -> None:
    world.store.entities.merge("MQTT", "Tide Desk")
    assert names(world)["Tide Desk"] == ("organization", 3, ("MQTT",))
    (world.root / "user/later.md").unlink()
    assert names(world)["MQTT"][:2] == ("technology", 2)
    assert world.store.entities.show("mqtt").id == "entity:tide desk"
    same_when_rebuilt(world)


@pytest.mark.parametrize("order", [("A. Wren", "Ada Wren"), ("Ada Wren", "A. Wren")])
def test_merges_into_one_another_are_taken_back_in_any_order(world: Answered, order: tuple[str, str]) -> None:
    before = world.digest()
    world.store.entities.merge("A. Wren", "Ada Wren")
    world.store.entities.merge("Ada Wren", "Tide Desk")
    assert names(world)["Tide Desk"] == ("organization", 4, ("A. Wren", "Ada Wren"))
    same_when_rebuilt(world)
    world.store.entities.unmerge(order[0])
    one = names(world)
    assert (one["Tide Desk"][2], one.get("Ada Wren", (0, 0, ()))[2]) == (
        (("Ada Wren",), ()) if order[0] == "A. Wren" else ((), ("A. Wren",))
    )
    same_when_rebuilt(world)
    world.store.entities.unmerge(order[1])
    assert world.digest().digest == before.digest
    same_when_rebuilt(world)


def test_new_mentions_of_a_merged_name_go_with_it_when_it_is_taken_back(world: Answered) -> None:
    world.store.entities.merge("Zigbee", "MQTT")
    world.write({"user/new.md": "Zigbee reaches the gate.\n"})
    assert names(world)["MQTT"] == ("technology", 3, ("Zigbee",))
    world.store.entities.unmerge("MQTT")
    assert (names(world)["MQTT"], names(world)["Zigbee"]) == (("technology", 2, ()), ("technology", 2, ()))
    same_when_rebuilt(world)


def test_a_merge_after_a_rename_and_the_other_way_round(world: Answered) -> None:
    before = world.digest()
    world.store.entities.rename("A. Wren", "Arthur")
    world.store.entities.merge("Arthur", "Ada Wren")
    world.store.entities.rename("Ada Wren", "Wren")
    assert names(world)["Wren"] == ("person", 3, ("A. Wren", "Ada Wren", "Arthur"))
    same_when_rebuilt(world)
    world.store.entities.unmerge("a. wren")
    assert (names(world)["Arthur"], names(world)["Wren"]) == (("person", 1, ("A. Wren",)), ("person", 2, ("Ada Wren",)))
    for decision in world.store.log(states=["standing"]):
        if decision.action == "rename":
            world.store.undo(decision.id)
    assert world.digest().digest == before.digest


def test_an_entity_may_take_the_name_of_what_was_merged_into_it(world: Answered) -> None:
    world.store.entities.merge("MQTT", "Zigbee")
    world.store.entities.rename("Zigbee", "MQTT")
    assert names(world)["MQTT"] == ("technology", 2, ("Zigbee",))
    same_when_rebuilt(world)
    world.store.entities.unmerge("MQTT")
    assert (names(world)["MQTT"], names(world)["Zigbee"]) == (("technology", 2, ()), ("technology", 1, ()))
    held = next(one for one in world.store.log() if one.action == "rename")
    assert (held.state, held.reason) == ("held", "another entity has the name 'MQTT'")
    same_when_rebuilt(world)


def test_aliases_that_memories_give_follow_what_they_mean(world: Answered) -> None:
    world.write({"user/bree.md": "---\nname: Bree Labs\naliases: [Bree Works]\n---\nA lab.\n"})
    world.write({"user/talk.md": "At Bree Works they said so.\n"})
    assert names(world)["Bree Labs"] == ("organization", 3, ("Bree Works",))
    before = world.digest()
    world.store.entities.rename("bree works", "Bree")
    assert names(world)["Bree"] == ("organization", 3, ("Bree Labs", "Bree Works"))
    same_when_rebuilt(world)
    world.store.entities.merge("Bree", "Tide Desk")
    assert names(world)["Tide Desk"] == ("organization", 4, ("Bree", "Bree Labs", "Bree Works"))
    world.store.entities.delete("Bree Works")
    assert "Tide Desk" not in names(world)
    same_when_rebuilt(world)
    for decision in world.store.log(states=["standing"]):
        world.store.undo(decision.id)
    assert world.digest().digest == before.digest
    same_when_rebuilt(world)


# Deleting


def test_what_is_deleted_does_not_come_back_unasked(world: Answered) -> None:
    before = world.digest()
    world.store.entities.delete("MQTT", why="Noise.")
    assert "MQTT" not in names(world)
    assert related(world) == {("a. wren", "uses", "grafana"), ("a. wren", "works_at", "bree labs")}
    assert not {name for _, name in world.mentions()} & {"mqtt"}
    assert [row for row in world.rows("select name_key, count(*) from mention group by 1") if row[0] == "mqtt"]
    world.put("project/line", answer(("MQTT", "tool")), model="later")
    world.write({"user/new.md": "MQTT once more.\n"})
    assert "MQTT" not in names(world)
    assert world.rows("select id, name, mentions, why from entities_deleted") == [("entity:mqtt", "MQTT", 3, "Noise.")]
    same_when_rebuilt(world)
    with pytest.raises(NotFound, match="'MQTT' was deleted") as caught:
        world.store.entities.show("MQTT")
    assert caught.value.hint == 'To have it back: memdb entities restore "MQTT"'
    world.store.entities.restore("mqtt")
    assert names(world)["MQTT"][1] == 3
    same_when_rebuilt(world)
    (world.root / "user/new.md").unlink()
    world.store.sync()
    assert world.digest().tables["mention"] != before.tables["mention"]


def test_a_deleted_name_keeps_no_shorter_one_from_being_found(world: Answered) -> None:
    world.write({"reference/harbour-lamp.md": "A light.\n", "reference/harbour-lamp-keeper.md": "He tends it.\n"})
    world.write({"user/a.md": "Ask the harbour lamp keeper.\n", "user/b.md": "Ask the harbour lamp keeper too.\n"})
    world.store.sync()
    before = world.digest()
    assert {("user/a", "harbour-lamp-keeper"), ("user/a", "harbour-lamp")} & world.mentions() == {
        ("user/a", "harbour-lamp-keeper")
    }
    decision = world.store.entities.delete("harbour-lamp-keeper")
    assert {("user/a", "harbour-lamp"), ("user/b", "harbour-lamp")} <= world.mentions()
    same_when_rebuilt(world)
    world.store.undo(decision.id)
    assert world.digest().digest == before.digest


def test_a_deleted_entity_relays_nothing_and_is_not_given_to_the_model(world: Answered) -> None:
    from memdb.services.extraction.extraction_plans import names_here, names_widely

    database = world.store._context.database
    assert "MQTT" in names_widely(database, 50)
    world.store.entities.delete("MQTT")
    node = database.value("select id from node where key = 'project/line'")
    assert "MQTT" not in [*names_widely(database, 50), *names_here(database, node, 50)]
    assert world.rows("select * from neighbor join node on node.id = node_id where key = 'entity:mqtt'") == []


# What is refused, and what changes nothing


Call = Callable[[Store], object]
ERRORS: list[tuple[Call, type[MemdbError], str, str]] = [
    (lambda s: s.entities.rename("Ada Wrenn", "X1"), NotFound, "no entity 'Ada Wrenn'", "Did you mean ada wren"),
    (lambda s: s.entities.rename("Ada Wren", ""), UsageError, "'' is no name", "a letter or a digit"),
    (lambda s: s.entities.rename("Ada Wren", " @ "), UsageError, "' @ ' is no name", "a letter or a digit"),
    (lambda s: s.entities.rename("Ada Wren", "-!-"), UsageError, "'-!-' is no name", "a letter or a digit"),
    (lambda s: s.entities.rename("Ada Wren", "a" * 201), UsageError, "has 201 characters", "shorter"),
    (lambda s: s.entities.rename("Ada Wren", "A\u200bda"), UsageError, "hidden characters", "A<U+200B>da"),
    (lambda s: s.entities.rename("Ada Wren", "Gone"), Refused, "was deleted", "memdb entities restore Gone"),
    (lambda s: s.entities.retype("Ada Wren", "persn"), NotFound, "no type 'persn'", "Did you mean person"),
    (lambda s: s.entities.retype("Ada Wren", "off"), Refused, "'off' is disabled", "memdb schema enable type off"),
    (lambda s: s.entities.change("Ada Wren"), UsageError, "Nothing is to be changed", "a new name, a type"),
    (lambda s: s.entities.merge("Ada Wren", "nobody"), NotFound, "'nobody'", "`memdb entities` lists"),
    (lambda s: s.entities.merge("Gone", "MQTT"), NotFound, "'Gone' was deleted", 'memdb entities restore "Gone"'),
    (lambda s: s.entities.merge("Ada Wren", "@ada wren"), UsageError, "names of one entity", 'show "Ada Wren"'),
    (lambda s: s.entities.delete("Zigby"), NotFound, "There is no entity 'Zigby'", "Did you mean zigbee"),
    (lambda s: s.entities.restore("MQTT"), NotFound, "No entity 'MQTT' is deleted", "`memdb log` lists"),
    (lambda s: s.entities.restore("Gonne"), NotFound, "No entity 'Gonne' is deleted", "Did you mean Gone?"),
    (lambda s: s.entities.unmerge("MQTT"), NotFound, "Nothing was merged into 'MQTT'", "`memdb log`"),
    (lambda s: s.entities.unmerge("nobody"), NotFound, "There is no entity 'nobody'", "`memdb entities`"),
    (lambda s: s.entities.unmerge("Target"), UsageError, "Several were merged", "Name one of Left, Right."),
    (lambda s: s.entities.distinct("MQTT", "mqtt"), UsageError, "names of one entity", "memdb entities unmerge MQTT"),
    (lambda s: s.undo("zz"), NotFound, "no decision 'zz'", "`memdb log` lists them"),
    (lambda s: s.undo(""), NotFound, "no decision ''", "`memdb log` lists them"),
    (lambda s: s.log(states=["done"]), UsageError, "no state 'done'", "standing, held, undone"),
    (lambda s: s.log(limit=0), UsageError, "limit of 0", "Give 1 or more"),
    (lambda s: s.entities.delete("MQTT", why="x" * 1001), UsageError, "reason has 1001", "shorter"),
]  # fmt: skip


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answered]:
    """A store where some things are decided already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("MEMDB_USER", "Ada")
        more = {"user/more.md": "Gone, Left, Right and Target stand apart.\n"}
        made = Answered(tmp_path_factory.mktemp("settled"), TEXTS | more)
        said(made)
        made.put("user/more", answer(*((name, "concept") for name in ("Gone", "Left", "Right", "Target"))))
        made.store.entities.delete("Gone")
        made.store.entities.merge("Left", "Target")
        made.store.entities.merge("Right", "Target")
        made.store.entities.change("Grafana", "Graphs", "technology")
        made.store.entities.distinct("A. Wren", "Ada Wren")
        made.store.schema.add("type", "off", "A state of rest.")
        made.store.schema.disable("type", "off")
        patch.delenv("MEMDB_USER")
        yield made
        made.store.close()


@pytest.mark.parametrize(("call", "kind", "message", "hint"), ERRORS)
def test_what_is_refused(settled: Answered, call: Call, kind: type[MemdbError], message: str, hint: str) -> None:
    before = settled.store._context.journal.state()
    with pytest.raises(MemdbError) as caught:
        call(settled.store)
    assert type(caught.value) is kind
    assert message in caught.value.message
    assert hint in str(caught.value.hint)
    assert settled.store._context.journal.state() == before


AGAIN: list[Callable[[Store], Decision]] = [
    lambda s: s.entities.delete("@gone"),
    lambda s: s.entities.merge("left", "TARGET"),
    lambda s: s.entities.rename("grafana", "Graphs"),
    lambda s: s.entities.retype("graphs", "Technology"),
    lambda s: s.entities.change("graphs", "Graphs", "technology"),
    lambda s: s.entities.distinct("Ada Wren", "A. Wren"),
]


@pytest.mark.parametrize("call", AGAIN)
def test_what_is_so_already_is_not_decided_again(settled: Answered, call: Callable[[Store], Decision]) -> None:
    before = settled.store._context.journal.state()
    decision = call(settled.store)
    assert (decision.changed, decision.state, decision.by) == (False, "standing", "Ada")
    assert settled.store._context.journal.state() == before


@pytest.mark.parametrize("field", ["name", "why"])
def test_a_credential_is_refused(settled: Answered, field: str) -> None:
    secret = "sk-" + "proj-" + "Zq8" * 14
    assert secrets.find_secrets(secret)
    with pytest.raises(SecretFound) as caught:
        if field == "name":
            settled.store.entities.rename("MQTT", secret)
        else:
            settled.store.entities.delete("MQTT", why=f"It says {secret}.")
    assert secret not in caught.value.message
    assert secret not in "".join(file.read_text("utf-8") for file in settled.store._context.journal.files())


# The log


def test_the_log_says_who_when_and_why(world: Answered, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMDB_USER", "Ada Wren")
    world.store.entities.merge("Zigbee", "MQTT", why="One stack.")
    monkeypatch.setenv("MEMDB_USER", "Bo")
    world.store.schema.disable("type", "event")
    world.store.undo(world.store.log()[1].id[:6], why="Two stacks.")
    assert [(one.action, one.subject, one.by, one.why, one.state) for one in world.store.log()] == [
        ("undo", "entity:zigbee", "Bo", "Two stacks.", "standing"),
        ("disable", "type:event", "Bo", None, "standing"),
        ("merge", "entity:zigbee", "Ada Wren", "One stack.", "undone"),
    ]
    (merge,) = world.store.log(states=["undone"])
    assert merge.id == id_of(merge.ref)
    assert merge.at.startswith("20")
    assert merge.at.endswith("Z")
    assert [one.action for one in world.store.log(subject="MQTT")] == ["undo", "merge"]
    assert [one.action for one in world.store.log(subject="@zigbee", limit=1)] == ["undo"]
    assert [one.action for one in world.store.log(subject="type:event")] == ["disable"]
    assert world.store.log(subject="Grafana") == []
    record = json.loads(world.store._context.journal.file.read_text("utf-8").splitlines()[-1])
    assert (record["kind"], record["action"], record["of"], record["by"]) == ("curation", "undo", merge.ref, "Bo")
    assert record["on"] == [merge.ref]


def test_the_name_of_the_user_is_that_of_the_system_where_no_setting_has_one(
    world: Answered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMDB_USER", raising=False)
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "ottilie")
    assert world.store.entities.delete("MQTT").by == "ottilie"
    monkeypatch.setattr("getpass.getuser", lambda: (_ for _ in ()).throw(KeyError("no such user")))
    assert world.store.entities.restore("MQTT").by == "unknown"


def test_a_decision_about_the_vocabulary_is_undone(world: Answered) -> None:
    before = world.digest()
    world.store.schema.add("type", "gauge", "A thing that shows how much.")
    world.store.schema.disable("type", "technology")
    for decision in world.store.log(states=["standing"]):
        world.store.undo(decision.id)
    assert world.digest().digest == before.digest
    assert [one.state for one in world.store.log()] == ["standing", "standing", "undone", "undone"]
    same_when_rebuilt(world)


def test_less_than_four_letters_of_an_id_mean_no_decision(world: Answered) -> None:
    decision = world.store.entities.rename("Zigbee", "Zigbee 3")
    for begin in (decision.id[:1], decision.id[:3]):
        with pytest.raises(NotFound):
            world.store.undo(begin)
    assert world.store.undo(decision.id[:4]).subject == decision.subject


def test_an_undo_that_would_take_the_name_of_another_entity_is_refused(world: Answered) -> None:
    rename = world.store.entities.rename("Ada Wren", "Tidewarden")
    undo = world.store.undo(rename.id)
    assert world.store.undo(rename.id).changed is False
    world.write({"user/new.md": "Tidewarden is a ship.\n"})
    world.store.sync()
    world.put("user/new", answer(("Tidewarden", "project")))
    with pytest.raises(Refused, match="'Tidewarden' is another entity"):
        world.store.undo(undo.id)


def test_two_open_stores_decide_one_after_the_other(world: Answered) -> None:
    with Store(world.store.place, Embedder(enabled=False)) as other:
        other.entities.rename("Ada Wren", "Countess")
        assert names(world)["Countess"][1] == 2
        world.store.entities.merge("Countess", "MQTT")
        assert other.entities.show("ada wren").id == "entity:mqtt"
        with pytest.raises(NotFound):
            other.entities.delete("Nobody")
    same_when_rebuilt(world)


def test_a_name_with_a_quote_or_a_script_of_its_own_is_a_name(world: Answered) -> None:
    for name in ('O\'Hara "Bo"', "悬空引用", "Ünïcode Straße", "C++"):
        world.store.entities.rename("MQTT", name)
        assert name in names(world)
    same_when_rebuilt(world)
    assert any("ünïcode strasse" in alias.casefold().replace("ß", "ss") for alias in names(world)["C++"][2])


def test_counts_of_what_is_touched(world: Answered) -> None:
    """A decision writes what it is about, and no row of what it is not."""
    connection = world.store._context.database.connection
    looked_at: list[str] = []

    def written(call: Callable[[], Any]) -> int:
        world.store.sync()
        before = connection.total_changes()
        looked_at.clear()
        call()
        # Files that were just written are looked at again, and their times noted.
        return connection.total_changes() - before - looked_at.count("source")

    connection.set_update_hook(lambda _type, _schema, table, _row: looked_at.append(table))
    few = [written(lambda: world.store.entities.rename("Tide Desk", "Ebb Desk"))]
    world.write({f"project/more-{at}.md": f"Ada Wren and MQTT, day {at}.\n" for at in range(60)})
    few.append(written(lambda: world.store.entities.rename("Ebb Desk", "Flood Desk")))
    assert max(few) < 60
    assert written(lambda: world.store.entities.rename("Ada Wren", "Countess")) < 60  # its edges stay


def test_a_question_that_holds_a_deleted_name_means_the_shorter_one(world: Answered) -> None:
    world.write({"reference/harbour-lamp.md": "A light.\n", "reference/harbour-lamp-keeper.md": "He tends it.\n"})
    world.write({"user/a.md": "Ask the harbour lamp keeper.\n", "user/b.md": "The harbour lamp is out.\n"})
    world.store.sync()

    def named() -> list[str]:
        database = world.store._context.database
        found, _ = naming.named(database, "who is the harbour lamp keeper?")
        return [database.value("select key from node where id = ?", (entity,)) for entity in found]

    assert named() == ["entity:harbour-lamp-keeper"]
    world.store.entities.delete("harbour-lamp-keeper")
    assert named() == ["entity:harbour-lamp"]
