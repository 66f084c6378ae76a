"""Proposals: what models want, counted by texts, and what becomes of the evidence when a person decides."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memdb.domain.extraction import messages
from memdb.errors import MemdbError, NotFound, Refused, UsageError
from memdb.services.extraction.extraction_plans import vocabulary
from memdb.store import Store
from tests.answer_support import Answered, answer

TEXTS = {
    "project/line.md": "Ada Wren runs the Corvin line over MQTT.\n",
    "project/gate.md": "The Corvin gate speaks MQTT and Zigbee too, says Ada Wren.\n",
    "project/hall.md": "In the hall Zigbee is enough.\n",
}
RULE = "A named agreement on how programs talk to one another."
SAID = "A wire protocol."


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Answered]:
    made = Answered(tmp_path / "root", TEXTS)
    yield made
    made.store.close()


LINE = answer(
    ("Ada Wren", "person"),
    ("MQTT", "Protocol"),
    said=(("Ada Wren", "Runs over", "MQTT"),),
    new_types={"protocol": SAID},
)
GATE = answer(
    ("MQTT", "protocol"),
    ("Zigbee", "PROTOCOL"),
    ("Ada Wren", "person"),
    said=(("Ada Wren", "runs_over", "Zigbee"),),
    new_types={"protocols": "", "protocol": "Another rule."},
)


def asked(world: Answered) -> Answered:
    world.put("project/line", LINE)
    world.put("project/gate", GATE)
    return world


def states(store: Store) -> dict[tuple[str, str], tuple[str, int]]:
    return {(p.kind, p.name): (p.state, p.texts) for p in store.proposals.list()}


def test_a_name_waits_until_a_second_text_asks_for_it(world: Answered) -> None:
    world.put("project/line", LINE)
    assert states(world.store) == {("type", "protocol"): ("waiting", 1), ("predicate", "runs_over"): ("waiting", 1)}
    assert world.rows("select * from pending_proposals") == []
    world.put("project/gate", GATE)
    assert states(world.store) == {
        ("type", "protocol"): ("pending", 2),
        ("predicate", "runs_over"): ("pending", 2),
        ("type", "protocols"): ("waiting", 1),
    }
    first = world.store.proposals.list()[0]
    assert (first.name, first.description, first.examples) == ("protocol", SAID, ("MQTT", "Zigbee"))
    assert first.sources == ("project/gate", "project/line")
    second = world.store.proposals.list(states=["pending"])[1]
    assert (second.name, second.description) == ("runs_over", None)
    assert second.examples == ("Ada Wren runs_over MQTT", "Ada Wren runs_over Zigbee")


def test_one_text_that_asks_twice_is_one(world: Answered) -> None:
    world.put("project/line", LINE)
    world.put("project/line", LINE, model="another")
    assert states(world.store)["type", "protocol"] == ("waiting", 1)
    world.write({"project/line.md": "Ada Wren still runs the Corvin line over MQTT.\n"})
    world.store.sync()
    assert states(world.store) == {}  # the text that asked is gone
    world.put("project/line", LINE)
    assert states(world.store)["type", "protocol"] == ("waiting", 1)


def test_a_copy_of_a_text_is_no_other_text(world: Answered) -> None:
    same = "Zigbee is enough.\n"
    world.write(
        {"project/copy.md": f"---\nname: copy\n---\n{same}", "project/copied.md": f"---\nname: copy\n---\n{same}"}
    )
    world.store.sync()
    world.put("project/copy", answer(("Zigbee", "protocol")))
    assert {("project/copy", "zigbee"), ("project/copied", "zigbee")} <= set(
        world.rows("select source, name_key from mentions_all where type = 'protocol'")
    )
    assert states(world.store) == {("type", "protocol"): ("waiting", 1)}


def test_approval_links_all_that_was_seen_without_a_call(world: Answered) -> None:
    asked(world)
    ledger = world.rows("select * from extraction")
    before = world.mentions()
    entry = world.store.proposals.approve("type", "protocol")
    assert (entry.description, entry.origin, entry.uses, entry.evidence) == (SAID, "user", 2, 4)
    assert world.mentions() - before >= {
        ("project/line", "mqtt"),
        ("project/gate", "mqtt"),
        ("project/gate", "zigbee"),
    }
    assert world.rows("select type, count(*) from entity where name_key in ('mqtt', 'zigbee') group by type") == [
        ("protocol", 2)
    ]
    assert ("project/hall", "zigbee") in world.mentions()  # the name is known now
    world.store.proposals.approve("predicate", "runs over", description="The subject runs by the object.")
    assert world.rows("select subject, object from relations order by 2") == [
        ("entity:ada wren", "entity:mqtt"),
        ("entity:ada wren", "entity:zigbee"),
    ]
    assert world.rows("select * from extraction") == ledger
    assert states(world.store) == {("type", "protocols"): ("waiting", 1)}


def test_what_is_asked_for_after_the_approval_is_linked_at_once(world: Answered) -> None:
    asked(world).store.proposals.approve("type", "protocol", description=RULE)
    world.put("project/hall", answer(("Zigbee", "protocol")))
    assert ("project/hall", "model", "protocol") in world.rows("select source, origin, type from mentions")
    assert "- protocol: A named agreement" in messages("x", vocabulary(world.store._context.database))[0]["content"]


def test_approval_takes_flags(world: Answered) -> None:
    asked(world)
    entry = world.store.proposals.approve("predicate", "runs_over", description=RULE, single_valued=True)
    assert entry.single_valued
    assert world.store.proposals.approve("type", "protocol", single_letters=True).single_letters


def test_what_one_text_asked_for_may_be_approved(world: Answered) -> None:
    world.put("project/line", LINE)
    world.store.proposals.approve("type", "protocol")
    assert ("project/line", "mqtt") in world.mentions()


def test_a_dismissed_name_is_asked_no_more(world: Answered) -> None:
    asked(world)
    before = world.mentions()
    assert world.store.proposals.dismiss("type", "Protocol").state == "dismissed"
    assert world.mentions() == before
    world.put("project/hall", answer(("Zigbee", "protocol"), new_types={"protocol": SAID}))
    assert states(world.store)["type", "protocol"] == ("dismissed", 3)
    assert [p.name for p in world.store.proposals.list(states=["pending"])] == ["runs_over"]
    assert "protocol:" not in messages("x", vocabulary(world.store._context.database))[0]["content"]
    restored = world.store.proposals.restore("type", "protocol")
    assert restored is not None
    assert (restored.state, restored.texts) == ("pending", 3)
    assert world.store.proposals.approve("type", "protocol").uses == 2


def test_a_dismissal_outlives_the_texts_that_asked(world: Answered) -> None:
    world.put("project/line", LINE)
    world.store.proposals.dismiss("type", "protocol")
    (world.root / "project/line.md").unlink()
    assert states(world.store) == {("type", "protocol"): ("dismissed", 0)}
    assert world.store.proposals.restore("type", "protocol") is None
    assert states(world.store) == {}


def test_a_secret_text_asks_for_nothing(world: Answered) -> None:
    secret = "sk-" + "proj-" + "Zq8" * 14
    world.write({"project/key.md": f"MQTT key {secret}\n"})
    world.store.sync()
    world.put("project/key", answer(("MQTT", "protocol"), new_types={secret: SAID, "wire": f"Uses {secret}."}))
    assert secret not in repr(world.store.proposals.list())
    assert secret not in repr(world.rows("select * from proposal_evidence"))


Call = Callable[[Store], object]
ERRORS: list[tuple[Call, type[MemdbError], str, str]] = [
    (lambda s: s.proposals.list(states=["open"]), UsageError, "no state 'open'", "pending, waiting, dismissed"),
    (lambda s: s.proposals.approve("type", "protocl"), NotFound, "asked for a type 'protocl'", "Did you mean protocol"),
    (lambda s: s.proposals.approve("type", "\u200bx"), NotFound, "'<U+200B>x'", "memdb proposals --all"),
    (lambda s: s.proposals.approve("type", "tool"), UsageError, "There is a type 'tool' already", "choose another"),
    (lambda s: s.proposals.approve("predicate", "runs_over"), UsageError, "No model said", "--description"),
    (
        lambda s: s.proposals.approve("predicate", "runs_over", description=" "),
        UsageError,
        "cannot be empty",
        "--description",
    ),
    (lambda s: s.proposals.approve("type", "vibe"), Refused, "was dismissed", 'memdb proposals restore type "vibe"'),
    (
        lambda s: s.proposals.approve("type", "protocol", single_valued=True),
        UsageError,
        "Only a predicate",
        "single_valued",
    ),
    (lambda s: s.proposals.dismiss("type", "tool"), UsageError, "There is a type 'tool' already", "choose another"),
    (lambda s: s.proposals.dismiss("thing", "tool"), UsageError, "no part of the vocabulary", "`type`"),
    (
        lambda s: s.proposals.dismiss("predicate", "protocol"),
        NotFound,
        "a predicate 'protocol'",
        "memdb proposals --all",
    ),
    (lambda s: s.proposals.restore("type", "protocol"), NotFound, "was dismissed", "--state dismissed"),
    (lambda s: s.proposals.restore("type", "vibes"), NotFound, "'vibes'", "Did you mean vibe"),
]


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        made = asked(Answered(tmp_path_factory.mktemp("decided"), TEXTS))
        made.put("project/hall", answer(("Zigbee", "vibe")))
        made.store.proposals.dismiss("type", "vibe")
        yield made.store
        made.store.close()


@pytest.mark.parametrize(("call", "kind", "message", "hint"), ERRORS)
def test_what_is_refused(decided: Store, call: Call, kind: type[MemdbError], message: str, hint: str) -> None:
    before = decided._context.journal.state()
    with pytest.raises(MemdbError) as caught:
        call(decided)
    assert type(caught.value) is kind
    assert message in caught.value.message
    assert hint in str(caught.value.hint)
    assert decided._context.journal.state() == before


def test_to_dismiss_twice_is_journaled_once(decided: Store) -> None:
    before = decided._context.journal.state()
    assert decided.proposals.dismiss("type", "vibe").state == "dismissed"
    assert decided._context.journal.state() == before


# Any sequence of decisions

NAMES = [("type", "protocol"), ("type", "tool"), ("predicate", "runs_over"), ("predicate", "works_at")]
ACTIONS = ["add", "describe", "disable", "enable", "delete", "approve", "dismiss", "restore"]
Decision = tuple[str, tuple[str, str], int]
DECISIONS = st.tuples(st.sampled_from(ACTIONS), st.sampled_from(NAMES), st.integers(0, 2))
SHOWN = ("vocabulary", "entity", "edge")


def decide(store: Store, decision: Decision) -> None:
    action, (kind, name), variant = decision
    flag = {"single_letters": variant == 2} if kind == "type" else {"single_valued": variant == 2}
    if action == "add":
        store.schema.add(kind, name, f"Rule {variant}.", **flag)
    elif action == "approve":
        store.proposals.approve(kind, name, description=f"Rule {variant}.", **flag)
    elif action == "describe":
        store.schema.describe(kind, name, f"Rule {variant}.")
    else:
        methods = {"dismiss": store.proposals.dismiss, "restore": store.proposals.restore}
        (methods.get(action) or getattr(store.schema, action))(kind, name)


def undo(store: Store, decision: Decision, before: dict[tuple[str, str], str]) -> bool:
    """Take a decision back; False where that cannot be done."""
    action, (kind, name), _ = decision
    if action in ("add", "approve"):
        store.schema.disable(kind, name)
        store.schema.delete(kind, name)
    elif action == "describe":
        store.schema.describe(kind, name, before[kind, name].partition(": ")[2])
    elif action == "disable" and before[kind, name].startswith("active"):
        store.schema.enable(kind, name)
    elif action == "enable" and before[kind, name].startswith("disabled"):
        store.schema.disable(kind, name)
    elif action == "dismiss":
        store.proposals.restore(kind, name)
    elif action == "restore":
        store.proposals.dismiss(kind, name)
    return action != "delete"


def holds(sequence: list[Decision]) -> None:
    """What was decided is there after a rebuild, and what is undone is as it was."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        world = asked(Answered(Path(folder), TEXTS))
        try:
            for decision in sequence:
                shown = {(e.kind, e.name): f"{e.state}: {e.description}" for e in world.store.schema.list()}
                before = world.digest().tables
                try:
                    decide(world.store, decision)
                except MemdbError:
                    assert world.digest().tables == before
                    continue
                if undo(world.store, decision, shown):
                    now = world.digest().tables
                    assert {name: now[name] for name in SHOWN} == {name: before[name] for name in SHOWN}
                    decide(world.store, decision)
            assert world.digest().tables == world.rebuilt().tables
        finally:
            world.store.close()


@settings(max_examples=4, deadline=None)
@given(st.lists(DECISIONS, min_size=1, max_size=6))
def test_any_decisions_survive_a_rebuild_and_can_be_taken_back(sequence: list[Decision]) -> None:
    holds(sequence)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.lists(DECISIONS, min_size=1, max_size=6))
def test_many_decisions_survive_a_rebuild_and_can_be_taken_back(sequence: list[Decision]) -> None:
    holds(sequence)
