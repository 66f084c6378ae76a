"""A person says that a decision holds: what is held takes effect, what contradicts is closed, and all is taken back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memdb.domain.curation import record, replay
from memdb.errors import NotFound, Refused
from memdb.services import decisions
from memdb.services.confirming import in_the_way
from tests.cli_support import memdb
from tests.test_curation_machines import Machines, by_copy, names


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    made = Machines(tmp_path, monkeypatch, by_copy)
    yield made
    made.close()


def states(machines: Machines, *ids: str) -> list[str]:
    log = {one.id: one.state for one in machines.here.log()}
    return [log[one] for one in ids]


def test_a_held_merge_takes_effect_and_is_taken_back(machines: Machines) -> None:
    first = machines.decide("one", lambda s: s.entities.merge("A. Wren", "Ada Wren"))
    second = machines.decide("two", lambda s: s.entities.merge("A. Wren", "Bree Labs"))
    other = machines.decide("two", lambda s: s.entities.retype("Bree Labs", "project"))
    machines.meet()
    assert states(machines, first.id, second.id, other.id) == ["standing", "held", "standing"]
    said = machines.decide("two", lambda s: s.confirm(second.id[:6], why="it is their robot"))
    assert (said.action, said.why, said.detail["of"], said.detail["holds"]) == (
        "undo", "it is their robot", first.ref, second.ref,
    )  # fmt: skip
    log = {one.id: one for one in machines.meet()}
    assert [log[one.id].state for one in (first, second, other)] == ["undone", "standing", "standing"]
    assert log[second.id].contradicts == ()
    assert names(machines.here)["Bree Labs"] == ("project", ("A. Wren",))
    assert names(machines.here)["Ada Wren"] == ("person", ())
    again = machines.decide("one", lambda s: s.confirm(second.id))
    assert not again.changed
    assert again.id == second.id
    machines.decide("one", lambda s: s.undo(said.id))
    machines.meet()
    assert states(machines, first.id, second.id) == ["standing", "held"]
    assert names(machines.there)["Ada Wren"] == ("person", ("A. Wren",))


def test_only_what_is_in_the_way_is_taken_back(machines: Machines) -> None:
    kept = machines.decide("one", lambda s: s.entities.merge("Zigbee", "MQTT"))
    renamed = machines.decide("one", lambda s: s.entities.rename("MQTT", "Message bus"))
    gone = machines.decide("one", lambda s: s.entities.delete("Grafana"))
    held = machines.decide("two", lambda s: s.entities.merge("Grafana", "MQTT"))
    machines.meet()
    assert states(machines, held.id) == ["held"]
    machines.decide("one", lambda s: s.confirm(held.id))
    machines.meet()
    assert states(machines, kept.id, renamed.id, gone.id, held.id) == ["standing", "standing", "undone", "standing"]
    assert names(machines.there)["Message bus"] == ("technology", ("Grafana", "MQTT", "Zigbee"))


def test_a_contradiction_is_closed(machines: Machines) -> None:
    first = machines.decide("one", lambda s: s.entities.rename("Ada Wren", "Countess"))
    second = machines.decide("two", lambda s: s.entities.rename("Ada Wren", "Admiral"))
    machines.meet()
    said = machines.decide("one", lambda s: s.confirm(first.id))
    assert (said.action, said.detail["of"]) == ("confirm", sorted((first.ref, second.ref)))
    log = machines.meet()
    assert [one.contradicts for one in log] == [(), (), ()]
    assert "Admiral" in names(machines.here)


def test_what_cannot_be_confirmed(machines: Machines) -> None:
    done = machines.decide("one", lambda s: s.entities.delete("Loki"))
    machines.decide("one", lambda s: s.undo(done.id))
    with pytest.raises(Refused, match="was taken back"):
        machines.here.confirm(done.id)
    with pytest.raises(NotFound):
        machines.here.confirm("ffffffffff")


def test_the_review_offers_both_ways(machines: Machines) -> None:
    first = machines.decide("one", lambda s: s.entities.delete("Grafana"))
    machines.decide("two", lambda s: s.entities.merge("Grafana", "Loki"))
    machines.meet()
    [item] = machines.here.review.list(kinds=["contradiction"])
    machines.decide("one", lambda s: s.confirm(first.id))
    [item] = machines.here.review.list(kinds=["held"])
    assert [(choice.name, choice.does) for choice in item.choices] == [
        ("confirm", "it takes effect; taken back is: Grafana is none"),
        ("drop", "take it back: it will never take effect"),
    ]
    answered = machines.here.review.answer(item.id, "c")
    assert answered.said == "in effect: Grafana is Loki"
    assert names(machines.here)["Loki"][1] == ("Grafana",)
    machines.here.review.undo(answered)
    assert [one.id for one in machines.here.review.list(kinds=["held"])] == [item.id]


def test_the_command(machines: Machines) -> None:
    machines.decide("one", lambda s: s.entities.delete("Grafana"))
    held = machines.decide("two", lambda s: s.entities.merge("Grafana", "Loki"))
    machines.meet()
    root = machines.here.place.root
    told = memdb("log", "--root", root)
    assert f"`memdb confirm {held.id}` has it take effect" in told.err
    done = memdb("confirm", held.id, "--root", root)
    assert done.out.startswith("confirmed: merged Grafana into Loki  (taken back: deleted Grafana; ")
    said = machines.here.log(limit=1)[0]
    log = memdb("log", "--root", root, "--json").json["decisions"]
    assert log[0]["words"].endswith(f": deleted Grafana, for {held.id} to take effect")
    again = memdb("confirm", held.id, "--root", root)
    assert "unchanged" in again.out
    assert "it stands, and nothing contradicts it" in again.out
    assert memdb("undo", said.id, "--root", root).code == 0
    assert memdb("confirm", "ffffffffff", "--root", root).code == 3


KEYS = st.sampled_from("abcd")
SAID = st.one_of(
    st.tuples(st.just("merge"), KEYS, KEYS).filter(lambda said: said[1] != said[2]),
    st.tuples(st.just("delete"), KEYS),
    st.tuples(st.just("rename"), KEYS, st.sampled_from(["a", "b", "x"])),
    st.tuples(st.just("undo"), st.integers(0, 6)),
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(SAID, min_size=2, max_size=9))
def test_no_fewer_would_do(said: list[tuple[object, ...]]) -> None:
    """Taking back what is in the way lets a held decision stand, and taking back one less does not."""
    records = []
    for place, (action, *values) in enumerate(said):
        names_of = {"merge": ("entity", "into"), "delete": ("entity",), "rename": ("entity", "name"), "undo": ("of",)}
        fields = dict(zip(names_of[str(action)], values, strict=True))
        if action == "undo":
            fields = {"of": f"{fields['of']:013d}-00000/1"}
        records.append({"t": f"{place:013d}-00000", "w": "1", **record(str(action), by="ada", on=(), **fields)})
    curation = replay(records)

    def stands(ref: str, without: list[str]) -> bool:
        undo = record("undo", by="ada", on=(), of=without) | decisions.UNWRITTEN
        return replay([*records, undo]).verdicts[ref].state == "standing"

    for ref, verdict in curation.verdicts.items():
        if verdict.state != "held" or verdict.record["action"] == "undo":
            continue
        refs = in_the_way(curation, ref)
        assert stands(ref, refs)
        for one in refs:
            fewer = [other for other in refs if other != one]
            assert not fewer or not stands(ref, fewer)
