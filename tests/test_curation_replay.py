"""What decisions come to when they are replayed: tables of what was decided, and what stands then."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

from memdb.base.journal import Record
from memdb.domain import curation, history, registry, remains
from memdb.domain.curation import Curation, id_of, is_whole, ref_of, replay

Said = tuple[Any, ...]
"""An action with its fields in short: `("rename", "a", "X")`, `("undo", 0)`; a leading `@2` names the writer."""


def record(place: int, said: Said) -> Record:
    """The record of what was said, as the writer `1` unless it begins with another one."""
    writer = "1"
    if str(said[0]).startswith("@"):
        writer, said = said[0][1:], said[1:]
    action, *given = said
    on: list[int] = []
    if given and isinstance(given[-1], list):
        on = given.pop()
    fields: dict[str, Callable[[], dict[str, Any]]] = {
        "rename": lambda: {"entity": given[0], "name": given[1], **({"part": True} if given[2:] else {})},
        "retype": lambda: {"entity": given[0], "type": given[1]},
        "change": lambda: {"entity": given[0], "name": given[1], "type": given[2]},
        "merge": lambda: {"entity": given[0], "into": given[1]},
        "delete": lambda: {"entity": given[0]},
        "distinct": lambda: {"pair": [given[0], given[1]]},
        "resolve": lambda: {"conflict": given[0], "of": "relation", "choice": given[1], "keep": given[2:]},
        "undo": lambda: {"of": stamp(given[0])},
        "confirm": lambda: {"of": [stamp(one) for one in given]},
    }
    time, _, _ = stamp(place).partition("/")
    made = curation.record(action, by="ada", on=[stamp(one) for one in on], **fields[action]())
    return {"t": time, "w": writer, **made}


def stamp(place: int | str) -> str:
    """The ref of the decision at a place, `3`, or of that of another writer, `3@2`."""
    number, _, writer = str(place).partition("@")
    return f"{int(number):013d}-00000/{writer or 1}"


def replayed(*said: Said) -> Curation:
    records = [record(place, one) for place, one in enumerate(said)]
    assert all(map(is_whole, records))
    return replay(records)


def entities(found: Curation, names: str = "abcdxyz") -> dict[str, str]:
    """What each name means, by the key of the entity; of a deleted one nothing."""
    roots = {name: found.resolve(name) for name in names}
    return {name: "-" if root in found.deleted else found.key_of(root) for name, root in roots.items()}


def meaning(found: Curation) -> str:
    """The names that mean something else: `a=x b=-`."""
    return " ".join(f"{name}={key}" for name, key in entities(found).items() if name != key)


STANDS: list[tuple[list[Said], str, list[str]]] = [
    ([], "", []),
    # A new name, and back.
    ([("rename", "a", "X")], "a=x", ["standing"]),
    ([("rename", "a", "X"), ("rename", "a", "Y")], "a=y x=y", ["standing", "standing"]),
    ([("rename", "a", "X"), ("rename", "a", "A")], "x=a", ["standing", "standing"]),
    ([("rename", "a", "@A")], "", ["standing"]),
    ([("rename", "a", "X"), ("undo", 0)], "", ["undone", "standing"]),
    ([("rename", "a", "X"), ("rename", "a", "Y"), ("undo", 0)], "a=y", ["undone", "standing", "standing"]),
    ([("rename", "a", "X"), ("rename", "a", "Y"), ("undo", 1)], "a=x", ["standing", "undone", "standing"]),
    ([("rename", "a", "X"), ("undo", 0), ("undo", 1)], "a=x", ["standing", "undone", "standing"]),
    ([("rename", "a", "X"), ("undo", 0), ("undo", 1), ("undo", 2)], "", ["undone", "standing", "undone", "standing"]),
    # A name that another has.
    ([("rename", "a", "X"), ("rename", "b", "X")], "a=x", ["standing", "held"]),
    ([("rename", "a", "X"), ("rename", "b", "x"), ("undo", 0)], "b=x", ["undone", "standing", "standing"]),
    ([("retype", "b", "tool"), ("rename", "a", "B")], "", ["standing", "held"]),
    ([("rename", "a", "B"), ("retype", "b", "tool")], "a=b", ["standing", "standing"]),
    ([("change", "a", "X", "tool"), ("change", "b", "X", "tool")], "a=x", ["standing", "held"]),
    # Merges, in any order.
    ([("merge", "a", "b")], "a=b", ["standing"]),
    ([("merge", "a", "b"), ("merge", "b", "c")], "a=c b=c", ["standing"] * 2),
    ([("merge", "a", "b"), ("merge", "b", "c"), ("undo", 0)], "b=c", ["undone", "standing", "standing"]),
    ([("merge", "a", "b"), ("merge", "b", "c"), ("undo", 1)], "a=b", ["standing", "undone", "standing"]),
    ([("merge", "b", "c"), ("merge", "a", "b"), ("undo", 0)], "a=b", ["undone", "standing", "standing"]),
    ([("merge", "a", "b"), ("merge", "b", "a")], "a=b", ["standing", "held"]),
    ([("merge", "a", "b"), ("merge", "b", "a"), ("undo", 0)], "b=a", ["undone", "standing", "standing"]),
    ([("merge", "a", "b"), ("merge", "b", "c"), ("merge", "c", "a")], "a=c b=c", ["standing", "standing", "held"]),
    ([("merge", "a", "b"), ("merge", "a", "c")], "a=b", ["standing", "held"]),
    ([("merge", "a", "b"), ("merge", "a", "c"), ("undo", 0)], "a=c", ["undone", "standing", "standing"]),
    ([("merge", "a", "a")], "", ["held"]),
    ([("rename", "a", "X"), ("merge", "a", "b")], "a=b x=b", ["standing"] * 2),
    ([("rename", "a", "X"), ("merge", "a", "b"), ("undo", 1)], "a=x", ["standing", "undone", "standing"]),
    ([("merge", "a", "b"), ("rename", "b", "X")], "a=x b=x", ["standing"] * 2),
    ([("merge", "a", "b"), ("rename", "b", "X"), ("undo", 0)], "b=x", ["undone", "standing", "standing"]),
    ([("merge", "a", "b"), ("rename", "a", "X")], "a=b x=b", ["standing"] * 2),
    ([("rename", "a", "X"), ("rename", "b", "Y"), ("merge", "a", "b")], "a=y b=y x=y", ["standing"] * 3),
    # The name of a part.
    ([("merge", "a", "b"), ("rename", "b", "A", "part")], "b=a", ["standing"] * 2),
    ([("merge", "a", "b"), ("rename", "b", "A", "part"), ("undo", 0)], "", ["undone", "held", "standing"]),
    ([("rename", "a", "X"), ("merge", "a", "b"), ("rename", "b", "X", "part"), ("undo", 1)],
     "a=x", ["standing", "undone", "held", "standing"]),
    # Deleted.
    ([("delete", "a")], "a=-", ["standing"]),
    ([("delete", "a"), ("undo", 0)], "", ["undone", "standing"]),
    ([("rename", "a", "X"), ("delete", "a")], "a=- x=-", ["standing"] * 2),
    ([("delete", "a"), ("rename", "a", "X")], "a=- x=-", ["standing"] * 2),
    ([("delete", "a"), ("rename", "a", "X"), ("undo", 0)], "a=x", ["undone", "standing", "standing"]),
    ([("delete", "a"), ("merge", "a", "b")], "a=-", ["standing", "held"]),
    ([("delete", "b"), ("merge", "a", "b")], "b=-", ["standing", "held"]),
    ([("delete", "b"), ("merge", "a", "b"), ("undo", 0)], "a=b", ["undone", "standing", "standing"]),
    ([("merge", "a", "b"), ("delete", "b")], "a=- b=-", ["standing"] * 2),
    ([("merge", "a", "b"), ("delete", "b"), ("undo", 0)], "b=-", ["undone", "standing", "standing"]),
    ([("merge", "a", "b"), ("delete", "a")], "a=b", ["standing", "held"]),
    ([("merge", "a", "b"), ("delete", "a"), ("undo", 0)], "a=-", ["undone", "standing", "standing"]),
    ([("delete", "a"), ("delete", "a"), ("undo", 0)], "a=-", ["undone", "standing", "standing"]),
    ([("delete", "b"), ("rename", "a", "B")], "b=-", ["standing", "held"]),
    # An undo of what is not there is held; of what comes later, nothing.
    ([("undo", 7)], "", ["held"]),
    ([("undo", 1), ("rename", "a", "X")], "a=x", ["standing", "standing"]),
    ([("undo", 0)], "", ["standing"]),
]  # fmt: skip


@pytest.mark.parametrize(("said", "means", "states"), STANDS)
def test_what_names_mean(said: list[Said], means: str, states: list[str]) -> None:
    found = replayed(*said)
    assert meaning(found) == means
    assert [one.state for one in found.verdicts.values()] == states
    assert all((one.reason is not None) == (one.state == "held") for one in found.verdicts.values())


REASONS: list[tuple[list[Said], str]] = [
    ([("rename", "a", "X"), ("rename", "b", "X")], "another entity has the name 'X'"),
    ([("merge", "a", "b"), ("merge", "a", "c")], "it is part of 'b' already"),
    ([("merge", "a", "b"), ("merge", "b", "a")], "both are one entity already"),
    ([("delete", "b"), ("merge", "a", "b")], "'b' is deleted"),
    ([("merge", "a", "b"), ("delete", "a")], "it is part of 'b' already"),
    ([("undo", 7)], "what it is of is not in the journal"),
]


@pytest.mark.parametrize(("said", "reason"), REASONS)
def test_why_a_decision_is_held(said: list[Said], reason: str) -> None:
    assert list(replayed(*said).verdicts.values())[-1].reason == reason


def test_types_are_those_that_were_given_last() -> None:
    found = replayed(("retype", "a", "tool"), ("retype", "a", "Person"), ("change", "b", "X", "place"), ("undo", 1))
    assert found.types == {"a": "tool", "b": "place"}
    assert found.called == {"b": "X"}


def test_of_a_change_that_is_held_nothing_counts() -> None:
    found = replayed(("rename", "a", "X"), ("change", "b", "X", "place"))
    assert (found.types, found.called) == ({}, {"a": "X"})


def test_pairs_that_are_two() -> None:
    found = replayed(
        ("distinct", "b", "a"), ("rename", "c", "X"), ("distinct", "x", "a"), ("distinct", "c", "d"), ("undo", 3)
    )
    assert found.distinct == {("a", "b"), ("a", "c")}


def test_the_last_resolution_of_a_conflict_stands() -> None:
    found = replayed(
        ("resolve", "k1", "keep-new", "a"), ("resolve", "k1", "keep-both", "a", "b"), ("resolve", "k2", "keep", "c")
    )
    assert {key: one["choice"] for key, one in found.resolutions.items()} == {"k1": "keep-both", "k2": "keep"}


MERGES = [("merge", "a", "b"), ("merge", "b", "c"), ("merge", "c", "d")]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_merges_that_are_undone_in_any_order_leave_nothing(order: tuple[int, ...]) -> None:
    undone: list[Said] = []
    groups = []
    for place in order:
        undone.append(("undo", place))
        found = replayed(*MERGES, *undone)
        groups.append(len({found.resolve(name) for name in "abcd"}))
    assert groups == [2, 3, 4]


# Contradictions


CONTRADICT: list[tuple[list[Said], list[tuple[int, int]]]] = [
    ([("rename", "a", "X"), ("@2", "rename", "a", "Y")], [(0, 1)]),
    ([("rename", "a", "X"), ("@2", "rename", "a", "X")], []),
    ([("rename", "a", "X"), ("@1", "rename", "a", "Y")], []),
    ([("rename", "a", "X"), ("@2", "rename", "a", "Y", [0])], []),
    ([("rename", "a", "X"), ("@2", "rename", "b", "X")], [(0, 1)]),
    ([("rename", "a", "B"), ("@2", "retype", "b", "tool")], [(0, 1)]),
    ([("rename", "a", "X"), ("@2", "retype", "a", "tool")], []),
    ([("retype", "a", "tool"), ("@2", "retype", "a", "place")], [(0, 1)]),
    ([("change", "a", "X", "tool"), ("@2", "retype", "a", "place")], [(0, 1)]),
    ([("change", "a", "X", "tool"), ("@2", "retype", "a", "tool")], []),
    ([("delete", "a"), ("@2", "rename", "a", "X")], [(0, 1)]),
    ([("delete", "a"), ("@2", "delete", "a")], []),
    ([("delete", "b"), ("@2", "merge", "a", "b")], [(0, 1)]),
    ([("delete", "a"), ("@2", "merge", "a", "b")], [(0, 1)]),
    ([("merge", "a", "b"), ("@2", "merge", "a", "c")], [(0, 1)]),
    ([("merge", "a", "b"), ("@2", "merge", "a", "b")], []),
    ([("merge", "a", "b"), ("@2", "merge", "b", "a")], [(0, 1)]),
    ([("merge", "a", "b"), ("@2", "merge", "b", "c")], []),
    ([("merge", "a", "b"), ("@2", "distinct", "b", "a")], [(0, 1)]),
    ([("merge", "a", "b"), ("@2", "distinct", "b", "c")], []),
    ([("merge", "a", "b"), ("@2", "rename", "a", "X")], []),
    ([("retype", "a", "tool"), ("@2", "distinct", "a", "b")], []),
    ([("distinct", "a", "b"), ("@2", "delete", "a")], []),
    ([("resolve", "k", "keep-new", "a"), ("@2", "resolve", "k", "keep-existing", "b")], [(0, 1)]),
    ([("resolve", "k", "keep-new", "a"), ("@2", "resolve", "k", "keep-new", "a")], []),
    ([("resolve", "k", "keep-new", "a"), ("@2", "resolve", "l", "keep-existing", "b")], []),
    # What was undone contradicts nothing; nor does what was looked at since.
    ([("rename", "a", "X"), ("@2", "rename", "a", "Y"), ("undo", 0)], []),
    ([("rename", "a", "X"), ("@2", "rename", "a", "Y"), ("confirm", 0, "1@2")], []),
    ([("rename", "a", "X"), ("@2", "rename", "a", "Y"), ("confirm", 0, "1@2"), ("undo", 2)], [(0, 1)]),
    ([("rename", "a", "X"), ("@2", "rename", "a", "Y"), ("rename", "a", "Z", [0, "1@2"])], []),
    ([("rename", "a", "X"), ("@2", "rename", "a", "Y"), ("rename", "a", "Z", [0])], [(0, 1), (1, 2)]),
    # Three machines.
    ([("rename", "a", "X"), ("@2", "rename", "a", "Y"), ("@3", "delete", "a")], [(0, 1), (0, 2), (1, 2)]),
]


@pytest.mark.parametrize(("said", "pairs"), CONTRADICT)
def test_which_decisions_contradict(said: list[Said], pairs: list[tuple[int, int]]) -> None:
    found = replayed(*said)
    refs = list(found.verdicts)
    noted = {(ref, other) for ref, one in found.verdicts.items() for other in one.contradicts}
    assert noted == {(refs[a], refs[b]) for pair in pairs for a, b in (pair, pair[::-1])}


# The vocabulary


def vocabulary(place: int, action: str, name: str, writer: str = "1", **fields: Any) -> Record:
    time, _, _ = stamp(place).partition("/")
    return {"t": time, "w": writer, **history.vocabulary_record(action, "type", name, **fields)}


def test_a_decision_about_the_vocabulary_is_undone_like_any_other() -> None:
    records = [
        vocabulary(0, "disable", "tool"),
        vocabulary(1, "add", "guild", description="A."),
        record(2, ("undo", 0)),
    ]
    found = replay(records)
    entries = registry.replay(found.vocabulary).entries
    assert (entries["type", "tool"].state, entries["type", "guild"].state) == ("active", "active")
    found = replay([*records, record(3, ("undo", 1))])
    assert ("type", "guild") not in registry.replay(found.vocabulary).entries


def test_decisions_of_earlier_versions_contradict_nothing() -> None:
    apart = [vocabulary(0, "disable", "tool"), vocabulary(1, "enable", "tool", "2")]
    assert not any(one.contradicts for one in replay(apart).verdicts.values())
    apart = [one | {"on": []} for one in apart]
    assert all(one.contradicts for one in replay(apart).verdicts.values())


# Records


WHOLE: list[tuple[dict[str, Any], bool]] = [
    ({"action": "rename", "entity": "a", "name": "X"}, True),
    ({"action": "rename", "entity": "a", "name": "@ "}, False),
    ({"action": "rename", "entity": "", "name": "X"}, False),
    ({"action": "rename", "entity": "a"}, False),
    ({"action": "rename", "entity": "a", "name": 3}, False),
    ({"action": "change", "entity": "a"}, False),
    ({"action": "change", "entity": "a", "type": "tool"}, True),
    ({"action": "merge", "entity": "a", "into": None}, False),
    ({"action": "delete", "entity": "a", "on": "x"}, False),
    ({"action": "delete", "entity": "a", "on": [1]}, False),
    ({"action": "delete", "entity": "a", "why": ["x"]}, False),
    ({"action": "distinct", "pair": ["a"]}, False),
    ({"action": "distinct", "pair": ["a", "a"]}, False),
    ({"action": "distinct", "pair": ["a", "b"]}, True),
    ({"action": "resolve", "conflict": "k", "of": "relation", "choice": "keep-new", "keep": "a"}, False),
    ({"action": "resolve", "conflict": "k", "of": "relation", "choice": "keep-new"}, True),
    ({"action": "undo", "of": "x"}, True),
    ({"action": "undo", "of": []}, False),
    ({"action": "undo"}, False),
    ({"action": "confirm", "of": ["x", 1]}, False),
    ({"action": "split", "entity": "a"}, False),
    ({"action": ["rename"], "entity": "a"}, False),
    ({}, False),
]


@pytest.mark.parametrize(("fields", "whole"), WHOLE)
def test_records_that_lack_something_are_passed_over(fields: dict[str, Any], whole: bool) -> None:
    assert history.is_whole({"t": "1", "w": "1", "kind": "curation", **fields}) is whole


def test_two_records_of_one_stamp_both_count() -> None:
    twins = [record(0, ("rename", "a", "X")), record(0, ("rename", "b", "Y"))]
    found = replay(twins)
    assert meaning(found) == "a=x b=y"
    assert len({id_of(ref) for ref in found.verdicts}) == 2
    assert ref_of(twins[0]) in found.verdicts


# Memories in resolutions


def resolved(place: int, keep: list[str], against: list[str]) -> Record:
    record: Record = {"t": stamp(place).partition("/")[0], "w": "1"}
    return record | curation.record(
        "resolve", by="ada", on=[], conflict="k", of="memories", choice="keep", keep=keep, against=against
    )


def past(place: int, record: Record) -> Record:
    return {"t": stamp(place).partition("/")[0], "w": "1", **record}


def test_resolutions_follow_renames_and_lose_what_was_forgotten() -> None:
    records = [
        resolved(0, ["user/a"], ["user/b", "user/c"]),
        past(1, history.rename_record({"user/b": "user/d", "user/a": "user/b"})),
        past(2, history.forget_record("user/d")),
    ]
    (decision,) = history.replay(records).decisions
    assert (decision["keep"], decision["against"]) == (["user/b"], ["user/c"])
    left = remains.remains(records)
    assert left[0] is not None
    assert (left[0]["keep"], left[0]["against"]) == (["user/a"], ["user/c"])
    assert left[1] is not None
    assert left[1]["moves"] == {"user/a": "user/b"}
    again = [left.get(place, one) for place, one in enumerate(records)]
    kept = [one for one in again if one is not None]
    assert remains.remains(kept) == {}
    assert history.replay(kept).decisions[0]["keep"] == ["user/b"]
