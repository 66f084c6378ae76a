"""The vocabulary of a store: what it lists, what people may change, and what each decision links."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memdb.base.embedding import Embedder
from memdb.domain.extraction import messages
from memdb.errors import MemdbError, NotFound, Refused, SecretFound, UsageError
from memdb.services.entities import vocabulary as deciding
from memdb.services.extraction.extraction_plans import vocabulary
from memdb.store import Store
from tests.answer_support import Answered, answer

TEXTS = {
    "project/line.md": "Ada Wren runs the Corvin line over MQTT.\n",
    "project/gate.md": "The Corvin gate speaks MQTT and Zigbee too, says Ada Wren.\n",
}
RULE = "A named agreement on how programs talk to one another."

SYSTEM_TYPES = ["person", "organization", "project", "tool", "technology", "place", "event", "concept"]
SYSTEM_PREDICATES = [
    "uses", "depends_on", "part_of", "created_by", "works_on", "works_at", "located_in", "attended",
]  # fmt: skip


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Answered]:
    made = Answered(tmp_path / "root", TEXTS)
    yield made
    made.store.close()


def held(world: Answered) -> Answered:
    """Both texts name things by a type and a predicate that nobody added."""
    world.put(
        "project/line",
        answer(("Ada Wren", "person"), ("MQTT", "protocol"), said=(("Ada Wren", "speaks", "MQTT"),)),
    )
    world.put("project/gate", answer(("MQTT", "protocol"), ("Zigbee", "protocol"), ("Ada Wren", "person")))
    return world


def test_the_list_has_the_built_in_entries_in_the_order_of_the_prompt(world: Answered) -> None:
    entries = world.store.schema.list()
    assert [e.name for e in entries if e.kind == "type"] == SYSTEM_TYPES
    assert [e.name for e in entries if e.kind == "predicate"] == SYSTEM_PREDICATES
    assert {(e.origin, e.state, e.uses) for e in entries} == {("system", "active", 0)}
    assert [e.name for e in entries if e.single_letters] == ["technology"]
    assert [e.name for e in entries if e.single_valued] == ["works_at"]


def test_usage_is_live(world: Answered) -> None:
    said = (("Ada Wren", "uses", "MQTT"),)
    world.put("project/line", answer(("Ada Wren", "person"), ("MQTT", "technology"), said=said))
    world.put("project/gate", answer(("Ada Wren", "person")))
    used = {(e.kind, e.name): (e.uses, e.evidence) for e in world.store.schema.list() if e.uses}
    assert used == {("type", "person"): (1, 2), ("type", "technology"): (1, 2), ("predicate", "uses"): (1, 1)}
    (world.root / "project/gate.md").unlink()
    used = {(e.kind, e.name): (e.uses, e.evidence) for e in world.store.schema.list() if e.uses}
    assert used == {("type", "person"): (1, 1), ("type", "technology"): (1, 1), ("predicate", "uses"): (1, 1)}


def test_what_is_added_links_what_was_held(world: Answered) -> None:
    held(world)
    assert not {name for _, name in world.mentions()} & {"mqtt", "zigbee"}
    added = world.store.schema.add("type", " Protocol ", f"{RULE}\n")
    assert (added.name, added.description, added.origin, added.state) == ("protocol", RULE, "user", "active")
    assert (added.uses, added.evidence) == (2, 3)
    assert {("project/line", "mqtt"), ("project/gate", "mqtt"), ("project/gate", "zigbee")} <= world.mentions()
    assert world.rows("select * from relations") == []
    world.store.schema.add("predicate", "speaks", "The subject talks by the object.")
    assert world.rows("select * from relations") == [
        ("entity:ada wren", "speaks", "entity:mqtt", 0.9, '["project/line"]')
    ]


def test_a_disabled_entry_keeps_what_it_links_and_leaves_the_prompt(world: Answered) -> None:
    world.put("project/line", answer(("Ada Wren", "person"), ("MQTT", "technology")))
    before = world.mentions()
    assert world.store.schema.disable("type", "Technology").state == "disabled"
    assert world.mentions() == before
    prompt = messages("x", vocabulary(world.store._context.database))[0]["content"]
    assert "- technology:" not in prompt
    assert "- person:" in prompt
    world.store.schema.enable("type", "technology")
    assert "- technology:" in messages("x", vocabulary(world.store._context.database))[0]["content"]


def test_what_a_model_named_by_a_disabled_entry_is_linked_when_it_is_enabled(world: Answered) -> None:
    world.store.schema.disable("type", "technology")
    world.store.schema.disable("predicate", "uses")
    world.put(
        "project/line",
        answer(("Ada Wren", "person"), ("MQTT", "technology"), said=(("Ada Wren", "uses", "MQTT"),)),
        refused=("type:technology", "predicate:uses"),
    )
    assert ("project/line", "mqtt") not in world.mentions()
    world.store.schema.enable("type", "technology")
    assert ("project/line", "mqtt") in world.mentions()
    assert world.rows("select predicate from relations") == []
    world.store.schema.enable("predicate", "Uses")
    assert world.rows("select predicate from relations") == [("uses",)]
    world.store.schema.disable("type", "technology")
    assert ("project/line", "mqtt") not in world.mentions()


def test_what_is_deleted_is_held_again(world: Answered) -> None:
    held(world)
    before = world.digest().tables
    world.store.schema.add("type", "protocol", RULE)
    world.store.schema.disable("type", "protocol")
    gone = world.store.schema.delete("type", "protocol")
    assert (gone.name, gone.uses) == ("protocol", 2)
    after = world.digest().tables
    assert {name for name in before if before[name] != after[name]} == {"decision"}
    assert ("protocol", 2) in [(p.name, p.texts) for p in world.store.proposals.list()]


def test_names_of_one_letter_are_let_in_by_their_type(world: Answered) -> None:
    world.write({"project/unit.md": "The R and the Q are set by Ada Wren.\n"})
    world.store.sync()
    world.put("project/unit", answer(("R", "register"), ("Ada Wren", "person")))
    world.store.schema.add("type", "register", "A named register of the machine.", single_letters=True)
    assert ("project/unit", "r") in world.mentions()
    assert world.digest().digest == world.rebuilt().digest
    world.store.schema.disable("type", "register")
    world.store.schema.delete("type", "register")
    assert ("project/unit", "r") not in world.mentions()
    assert world.digest().digest == world.rebuilt().digest


def test_a_description_is_the_rule_in_the_prompt(world: Answered) -> None:
    world.store.schema.add("predicate", "Reports to", "The object is the boss of the subject.")
    assert world.store.schema.describe("predicate", "reports_to", "The  object\nleads the subject.").description == (
        "The object leads the subject."
    )
    prompt = messages("x", vocabulary(world.store._context.database))[0]["content"]
    assert "- reports_to: The object leads the subject." in prompt


Call = Callable[[Store], object]
LONG = "word " * 61
ERRORS: list[tuple[Call, type[MemdbError], str, str]] = [
    (lambda s: s.schema.add("kind", "x", RULE), UsageError, "'kind' is no part", "`type` or `predicate`"),
    (lambda s: s.schema.add("type", "C++ {x}", RULE), UsageError, "is no name of a type", "Use letters"),
    (lambda s: s.schema.add("type", "", RULE), UsageError, "is no name of a type", "Use letters"),
    (lambda s: s.schema.add("type", "x" * 41, RULE), UsageError, "at most 40 characters", "in its rule"),
    (lambda s: s.schema.add("type", "guild", ""), UsageError, "cannot be empty", "--description"),
    (lambda s: s.schema.add("type", "guild", " \n -"), UsageError, "cannot be empty", "--description"),
    (lambda s: s.schema.add("type", "guild", LONG), UsageError, "has 304 characters", "one sentence"),
    (lambda s: s.schema.add("type", "guild", "A g\u200build."), UsageError, "hidden characters", "A g<U+200B>uild."),
    (lambda s: s.schema.add("type", "Tool", RULE), UsageError, "a type 'tool' already", "choose another name"),
    (lambda s: s.schema.add("type", "mine", RULE), UsageError, "(user, active)", "memdb schema describe type mine"),
    (lambda s: s.schema.add("type", "off", RULE), UsageError, "(user, disabled)", "memdb schema enable type off"),
    (
        lambda s: s.schema.add("type", "x y", RULE, single_valued=True),
        UsageError, "Only a predicate can", "single_valued",
    ),
    (
        lambda s: s.schema.add("predicate", "xy", RULE, single_letters=True),
        UsageError, "Only a type can", "single_letters",
    ),
    (lambda s: s.schema.describe("type", "tool", RULE), Refused, "is built in", "memdb schema disable type tool"),
    (lambda s: s.schema.describe("type", "tol", RULE), NotFound, "There is no type 'tol'", "Did you mean tool"),
    (lambda s: s.schema.describe("type", "mine", ""), UsageError, "cannot be empty", "--description"),
    (lambda s: s.schema.disable("type", "uses"), NotFound, "There is no type 'uses'", "`memdb schema` lists"),
    (lambda s: s.schema.disable("predicate", "work at"), NotFound, "'work at'", "Did you mean works_at"),
    (lambda s: s.schema.enable("type", "g\u202eone"), NotFound, "'g<U+202E>one'", "`memdb schema` lists"),
    (lambda s: s.schema.delete("type", "tool"), Refused, "can only be disabled", "memdb schema disable type tool"),
    (lambda s: s.schema.delete("type", "mine"), Refused, "is active", "memdb schema disable type mine"),
    (lambda s: s.schema.delete("predicate", "mine"), NotFound, "no predicate 'mine'", "`memdb schema` lists"),
]  # fmt: skip


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        made = Answered(tmp_path_factory.mktemp("mine"), {})
        made.store.schema.add("type", "mine", RULE)
        made.store.schema.add("type", "off", RULE)
        made.store.schema.disable("type", "off")
        yield made.store
        made.store.close()


@pytest.mark.parametrize(("call", "kind", "message", "hint"), ERRORS)
def test_what_is_refused(mine: Store, call: Call, kind: type[MemdbError], message: str, hint: str) -> None:
    before = mine._context.journal.state()
    with pytest.raises(MemdbError) as caught:
        call(mine)
    assert type(caught.value) is kind
    assert message in caught.value.message
    assert hint in str(caught.value.hint)
    assert mine._context.journal.state() == before


def test_a_rule_with_a_credential_is_refused(mine: Store) -> None:
    secret = "sk-" + "proj-" + "Zq8" * 14
    with pytest.raises(SecretFound) as caught:
        mine.schema.add("type", "guild", f"Named things with {secret}.")
    assert secret not in caught.value.message
    assert secret not in "".join(file.read_text("utf-8") for file in mine._context.journal.files())


def test_what_changes_nothing_is_not_journaled(mine: Store) -> None:
    before = mine._context.journal.state()
    assert mine.schema.enable("type", "tool").state == "active"
    assert mine.schema.disable("type", "off").state == "disabled"
    assert mine.schema.describe("type", "mine", RULE).description == RULE
    assert mine._context.journal.state() == before


@pytest.mark.parametrize(
    "decide",
    [
        lambda s: s.schema.add("type", "protocol", RULE),
        lambda s: s.schema.add("predicate", "speaks", RULE, single_valued=True),
        lambda s: (s.schema.add("type", "protocol", RULE), s.schema.describe("type", "protocol", "Another rule.")),
        lambda s: s.schema.disable("type", "person"),
        lambda s: (s.schema.disable("type", "person"), s.schema.enable("type", "person")),
        lambda s: (s.schema.add("type", "a b", RULE), s.schema.disable("type", "a b"), s.schema.delete("type", "a b")),
        lambda s: s.proposals.approve("type", "protocol", description=RULE),
        lambda s: s.proposals.dismiss("type", "protocol"),
        lambda s: (s.proposals.dismiss("type", "protocol"), s.proposals.restore("type", "protocol")),
    ],
    ids=["add", "predicate", "describe", "disable", "enable", "delete", "approve", "dismiss", "restore"],
)
def test_a_rebuild_knows_the_decision(world: Answered, decide: Call) -> None:
    held(world)
    decide(world.store)
    live, listed, proposals = world.digest(), world.store.schema.list(), world.store.proposals.list()
    assert world.rebuilt().tables == live.tables
    assert world.store.schema.list() == listed
    assert world.store.proposals.list() == proposals


def test_what_another_machine_decided_counts_before_the_next_decision(world: Answered) -> None:
    held(world)
    record = {"t": "0000000000001-00000", "w": "other", "kind": "vocabulary", "action": "add", "list": "type"}
    line = json.dumps(record | {"name": "protocol", "description": RULE})
    (world.store._context.journal.folder / "other.jsonl").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(UsageError, match="a type 'protocol' already"):
        deciding.add(world.store._context, "type", "protocol", "Mine.")  # between two syncs
    world.store.sync()
    assert ("project/line", "mqtt") in world.mentions()


def test_two_open_stores_decide_one_after_the_other(world: Answered) -> None:
    held(world)
    with Store(world.store.place, Embedder(enabled=False)) as other:
        assert other.schema.add("type", "protocol", RULE).uses == 2
        with pytest.raises(UsageError, match="a type 'protocol' already"):
            world.store.schema.add("type", "protocol", "Mine.")
        assert world.store.schema.disable("type", "protocol").description == RULE
        assert other.schema.delete("type", "protocol").state == "disabled"
    assert [e for e in world.store.schema.list() if e.origin == "user"] == []
    assert world.digest().tables == world.rebuilt().tables
