"""Two machines that decide apart: their journals merge without a conflict, both come to the same, nothing is lost."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memdb.base.embedding import Embedder
from memdb.services.decisions import Decision
from memdb.store import Store
from tests.answer_support import Answered, answer

TEXTS = {
    "project/line.md": "Ada Wren runs the Corvin line over MQTT.\n",
    "project/gate.md": "The Corvin gate speaks MQTT and Zigbee too, says Ada Wren.\n",
    "user/note.md": "A. Wren asked for Grafana and Loki at Bree Labs.\n",
}


class Machines:
    """Two machines, each with a clone of one folder; `here` and `there` are their stores."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, join: Callable[[Path, Path], None]) -> None:
        self._folder, self._patch, self._join = folder, patch, join
        self.at("one")
        first = Answered(folder / "one", TEXTS)
        first.put("project/line", answer(("Ada Wren", "person"), ("MQTT", "technology")))
        first.put("project/gate", answer(("Ada Wren", "person"), ("MQTT", "technology"), ("Zigbee", "technology")))
        first.put(
            "user/note",
            answer(("A. Wren", "person"), ("Grafana", "tool"), ("Loki", "tool"), ("Bree Labs", "organization")),
        )
        self.here = first.store
        copy(folder / "one", folder / "two")
        self.at("two")
        self.there = Store.init(folder / "two", embedder=Embedder(enabled=False))
        self.there.sync()
        assert self.here._context.journal.writer != self.there._context.journal.writer

    def at(self, machine: str) -> None:
        """Have stores that are opened from here on be those of a machine."""
        self._patch.setenv("MEMDB_HOME", str(self._folder / f"home-{machine}"))
        self._patch.setenv("MEMDB_USER", machine)

    def decide(self, machine: str, call: Callable[[Store], Decision]) -> Decision:
        self.at(machine)
        return call(self.here if machine == "one" else self.there)

    def meet(self) -> list[Decision]:
        """Merge what both have, each way; the log, the same on both sides, as is everything else."""
        self.here.sync()
        self.there.sync()
        self._join(self._folder / "two", self._folder / "one")
        self._join(self._folder / "one", self._folder / "two")
        digest, other = self.here.digest(), self.there.digest()
        assert {name for name in digest.tables if digest.tables[name] != other.tables[name]} == set()
        self.here.rebuild()
        assert self.here.digest() == digest
        self.here.close()
        for file in self.here.place.home.glob("memory.db*"):
            file.unlink()
        assert self.here.digest() == digest
        log = self.here.log()
        assert list(self.there.log()) == list(log)
        return list(log)

    def close(self) -> None:
        self.here.close()
        self.there.close()


def git(root: Path, *words: str) -> str:
    settings = ["-c", "user.name=memdb", "-c", "user.email=memdb@example.invalid", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *settings, *words], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"git {' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout


def copy(one: Path, two: Path) -> None:
    """A clone by git where there is one, else a copy of what git would take."""
    if shutil.which("git"):
        git(one, "init", "--quiet", "--initial-branch=main")
        commit(one)
        git(one.parent, "clone", "--quiet", str(one), str(two))
    else:
        shutil.copytree(one, two, ignore=shutil.ignore_patterns("memory.db*", "local", "lock"))


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "what was done here")


def by_git(source: Path, target: Path) -> None:
    """Commit what both sides have, then pull."""
    commit(source)
    commit(target)
    git(target, "pull", "--quiet", "--no-rebase", "--no-edit", str(source), "main")
    assert "<<<<" not in "".join(file.read_text("utf-8") for file in (target / ".memdb/journal").glob("*.jsonl"))


def by_copy(source: Path, target: Path) -> None:
    """What a file-sync tool does: files that the other side has or has newer."""
    journal = source / ".memdb/journal"
    for file in [*journal.glob("*.jsonl"), *source.glob("*/*.md")]:
        goal = target / file.relative_to(source)
        if not goal.exists() or goal.stat().st_size < file.stat().st_size:
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, goal)


@pytest.fixture(params=["git", "copy"])
def machines(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    if request.param == "git" and not shutil.which("git"):
        pytest.skip("git is not installed")
    made = Machines(tmp_path, monkeypatch, by_git if request.param == "git" else by_copy)
    yield made
    made.close()


def names(store: Store) -> dict[str, tuple[str | None, tuple[str, ...]]]:
    return {one.name: (one.type, one.aliases) for one in store.entities.list()}


def test_decisions_about_different_things_all_stand(machines: Machines) -> None:
    machines.decide("one", lambda s: s.entities.rename("Ada Wren", "Countess"))
    machines.decide("one", lambda s: s.entities.merge("Zigbee", "MQTT"))
    machines.at("one")
    machines.here.save("user/one", "Countess likes tea.")
    machines.here.schema.add("type", "gauge", "A thing that shows how much.")
    machines.decide("two", lambda s: s.entities.retype("Grafana", "technology"))
    machines.decide("two", lambda s: s.entities.delete("Loki"))
    machines.decide("two", lambda s: s.entities.distinct("Ada Wren", "A. Wren"))
    machines.there.schema.disable("type", "event")
    machines.at("two")
    machines.there.save("user/two", "Bree Labs has a boat.")
    log = machines.meet()
    assert {one.state for one in log} == {"standing"}
    assert [one.contradicts for one in log] == [()] * 7
    assert sorted((one.by, one.action) for one in log) == [
        ("one", "add"), ("one", "merge"), ("one", "rename"),
        ("two", "delete"), ("two", "disable"), ("two", "distinct"), ("two", "retype"),
    ]  # fmt: skip
    found = names(machines.here)
    assert (found["Countess"], found["MQTT"], found["Grafana"]) == (
        ("person", ("Ada Wren",)), ("technology", ("Zigbee",)), ("technology", ()),
    )  # fmt: skip
    assert "Loki" not in found
    assert machines.here._context.database.rows("select one, other from entity_distinct") == [("a. wren", "ada wren")]


def test_two_names_for_one_entity_contradict_until_someone_looks(machines: Machines) -> None:
    first = machines.decide("one", lambda s: s.entities.rename("Ada Wren", "Countess"))
    second = machines.decide("two", lambda s: s.entities.rename("Ada Wren", "Admiral"))
    log = machines.meet()
    assert {one.id: one.contradicts for one in log} == {first.id: (second.id,), second.id: (first.id,)}
    assert names(machines.here)["Admiral"] == ("person", ("Ada Wren", "Countess"))
    machines.decide("one", lambda s: s.undo(second.id))
    log = machines.meet()
    assert [one.contradicts for one in log] == [(), (), ()]
    assert names(machines.there)["Countess"] == ("person", ("Ada Wren",))


def test_merges_that_do_not_go_together_are_held(machines: Machines) -> None:
    first = machines.decide("one", lambda s: s.entities.merge("A. Wren", "Ada Wren"))
    second = machines.decide("two", lambda s: s.entities.merge("A. Wren", "Bree Labs"))
    third = machines.decide("two", lambda s: s.entities.delete("Ada Wren"))
    log = {one.id: one for one in machines.meet()}
    assert [log[one.id].state for one in (first, second, third)] == ["standing", "held", "standing"]
    assert log[second.id].reason == "it is part of 'Ada Wren' already"
    assert set(log[first.id].contradicts) == {second.id, third.id}
    assert not {"Ada Wren", "A. Wren"} & names(machines.here).keys()
    machines.decide("two", lambda s: s.entities.restore("ada wren"))
    machines.decide("two", lambda s: s.undo(first.id))
    log = {one.id: one for one in machines.meet()}
    assert [log[one.id].state for one in (first, second)] == ["undone", "standing"]
    assert names(machines.here)["Bree Labs"] == ("organization", ("A. Wren",))
    assert names(machines.here)["Ada Wren"] == ("person", ())


def test_the_same_decision_made_twice_is_taken_back_at_once(machines: Machines) -> None:
    before = names(machines.here)
    for machine in ("one", "two"):
        machines.decide(machine, lambda s: s.entities.merge("Zigbee", "MQTT"))
        machines.decide(machine, lambda s: s.entities.delete("Loki"))
        machines.decide(machine, lambda s: s.entities.rename("Grafana", "Graphs"))
    log = machines.meet()
    assert [one.contradicts for one in log] == [()] * 6
    machines.decide("one", lambda s: s.entities.unmerge("Zigbee"))
    machines.decide("two", lambda s: s.entities.restore("Loki"))
    machines.decide("two", lambda s: s.undo(next(one.id for one in log if one.action == "rename")))
    machines.meet()
    assert names(machines.here) == before == names(machines.there)


def test_one_name_for_two_entities_goes_to_the_first(machines: Machines) -> None:
    first = machines.decide("one", lambda s: s.entities.rename("Grafana", "Dials"))
    second = machines.decide("two", lambda s: s.entities.rename("Loki", "dials"))
    log = {one.id: one for one in machines.meet()}
    assert (log[second.id].state, log[second.id].reason) == ("held", "another entity has the name 'dials'")
    assert log[second.id].contradicts == (first.id,)
    assert {"Dials", "Loki"} <= names(machines.there).keys()
    machines.decide("two", lambda s: s.undo(first.id))
    machines.meet()
    assert {"Grafana", "dials"} <= names(machines.here).keys()


def test_a_decision_about_what_only_one_side_has_waits(machines: Machines) -> None:
    machines.at("one")
    machines.here.save("user/boat", "Tide Desk keeps the boat.")
    made = Answered.put
    world = Answered.__new__(Answered)
    world.root, world.store = machines.here.place.root, machines.here
    made(world, "user/boat", answer(("Tide Desk", "organization")))
    decision = machines.decide("one", lambda s: s.entities.rename("Tide Desk", "Ebb Desk"))
    (machines.here.place.root / "user/boat.md").unlink()
    log = machines.meet()
    assert [(one.id, one.waiting) for one in log] == [(decision.id, True)]
    machines.at("two")
    machines.there.save("user/boat", "Tide Desk keeps the boat.")
    log = machines.meet()
    assert [one.waiting for one in log] == [False]
    assert names(machines.here)["Ebb Desk"] == ("organization", ("Tide Desk",))
