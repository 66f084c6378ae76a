"""Whatever people save, models say and people decide: a rebuild gives the same graph, an undo gives back the old."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memdb.errors import MemdbError
from memdb.services.decisions import Decision
from memdb.services.entities import mentions
from memdb.store import Store
from tests.answer_support import Answered, answer

NAMES = ("harbour-lamp", "Ottilie Krahn", "harbour-lamp-keeper", "Grafana", "@ottilie krahn", "QB", "Tide Desk", "k9")
"""Names that meet: one within another, two keys of one match key, one that differs by `@` and case, short ones."""

SENTENCES = (
    "We met Ottilie Krahn at the Tide Desk.",
    "The harbour lamp is out again.",
    "Ask the harbour lamp keeper, or QB.",
    "Grafana shows when; k9 does not.",
    "The Tide Desk runs Grafana.",
    "Nothing is named here.",
)
FILES = ("harbour-lamp", "Tide Desk", "note", "harbour-lamp-keeper")
TYPES = ("person", "tool", "place", "guild")
"""`guild` is added to the vocabulary, disabled and deleted on the way."""

Act = tuple[str, str, str, str, list[str]]

acts = st.tuples(
    st.sampled_from(
        ("save", "save", "delete file", "say", "say", "rename", "rename", "retype", "change", "merge", "merge",
         "unmerge", "delete", "restore", "distinct", "undo", "undo", "vocabulary", "forget")
    ),
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
    st.sampled_from(TYPES),
    st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3),
)  # fmt: skip

DECISIONS: dict[str, Callable[[Store, Act], Decision]] = {
    "rename": lambda store, act: store.entities.rename(act[1], act[2]),
    "retype": lambda store, act: store.entities.retype(act[1], act[3]),
    "change": lambda store, act: store.entities.change(act[1], act[2], act[3]),
    "merge": lambda store, act: store.entities.merge(act[1], act[2]),
    "unmerge": lambda store, act: store.entities.unmerge(act[1]),
    "delete": lambda store, act: store.entities.delete(act[1]),
    "restore": lambda store, act: store.entities.restore(act[1]),
    "distinct": lambda store, act: store.entities.distinct(act[1], act[2]),
    "undo": lambda store, act: store.undo(undoable(store, act)),
}


def undoable(store: Store, act: Act) -> str:
    """Some decision, chosen by the names of the act."""
    ids = [decision.id for decision in store.log()]
    return ids[(NAMES.index(act[1]) + len(act[4])) % len(ids)] if ids else "none"


def does(world: Answered, act: Act) -> None:
    """One act; what is refused changes nothing."""
    what, name, other, kind, sentences = act
    store = world.store
    file = FILES[NAMES.index(name) % len(FILES)]
    if what in DECISIONS:
        with suppress(MemdbError):
            decide(world, act)
    elif what == "save":
        store.save(f"project/{file}", "\n".join(sentences), aliases=[other] if kind == "tool" else [])
    elif what == "delete file":
        (world.root / "project" / f"{file}.md").unlink(missing_ok=True)
        store.sync(yes=True)
    elif what == "forget":
        with suppress(MemdbError):
            store.forget(f"project/{file}")
    elif what == "say":
        said = [one for one in NAMES if one.casefold() in " ".join(sentences).replace("-", " ").casefold()]
        world.write({f"project/{file}.md": "".join(f"{line}\n" for line in sentences)})
        store.sync()
        related: Any = ((said[0], "works_at", said[-1]),) if len(said) > 1 else ()
        world.put(f"project/{file}", answer(*((one, kind) for one in said), said=related))
    else:
        with suppress(MemdbError):
            vocabulary(store, name)


def vocabulary(store: Store, name: str) -> None:
    """Add the type that models name, or put it away."""
    known = {entry.name: entry.state for entry in store.schema.list()}
    if "guild" not in known:
        store.schema.add("type", "guild", "A body of people of one craft.")
    elif known["guild"] == "active":
        store.schema.disable("type", "guild")
    elif name < "h":
        store.schema.enable("type", "guild")
    else:
        store.schema.delete("type", "guild")


def decide(world: Answered, act: Act) -> None:
    """One decision: taken back, the content is as before, and decided again, as after."""
    before = world.digest()
    decision = DECISIONS[act[0]](world.store, act)
    if not decision.changed:
        assert world.digest() == before
        return
    after = world.digest()
    assert after.decisions != before.decisions
    taken_back = world.store.undo(decision.id)
    undone = world.digest()
    assert {name for name in before.tables if undone.tables[name] != before.tables[name]} <= {"decision"}
    world.store.undo(taken_back.id)
    again = world.digest()
    assert {name for name in after.tables if again.tables[name] != after.tables[name]} <= {"decision"}


def holds(given_acts: list[Act]) -> None:
    with TemporaryDirectory() as folder:
        world = Answered(Path(folder) / "root", {"project/note.md": f"{SENTENCES[0]}\n{SENTENCES[1]}\n"})
        world.put("project/note", answer(("Ottilie Krahn", "person"), ("Tide Desk", "organization")))
        try:
            for act in given_acts:
                does(world, act)
            live = world.digest()
            assert not mentions.is_behind(world.store._context.database)
            assert world.rebuilt().tables == live.tables
        finally:
            world.store.close()


BOUNDS: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}


@settings(max_examples=8, **BOUNDS)
@given(st.lists(acts, min_size=1, max_size=8))
def test_any_history_is_rebuilt_and_any_decision_is_taken_back(given_acts: list[Act]) -> None:
    holds(given_acts)


@pytest.mark.slow
@settings(max_examples=400, **BOUNDS)
@given(st.lists(acts, min_size=1, max_size=25))
def test_any_long_history_is_rebuilt_and_any_decision_is_taken_back(given_acts: list[Act]) -> None:
    holds(given_acts)
