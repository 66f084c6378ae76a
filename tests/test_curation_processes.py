"""Processes that decide at the same time, and one that is killed half way: no decision is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memdb.base.embedding import Embedder
from memdb.domain import gazetteer
from memdb.services.entities import mentions
from memdb.store import Store
from tests.answer_support import Answered, answer

REPOSITORY = Path(__file__).parents[1]
NAMES = [f"Berth {chr(65 + at)}{chr(75 + at)}" for at in range(8)]

DECIDES = """
import sys
from memdb.base.embedding import Embedder
from memdb.store import Store
with Store(Store.__init__.__globals__["settings"].place(sys.argv[1]), Embedder(enabled=False)) as store:
    for name in sys.argv[2:]:
        store.entities.rename(name, name + " Pier")
        store.entities.retype(name, "place")
        store.undo(store.entities.delete(name).id)
"""

DIES = """
import os, sys
from memdb.base.embedding import Embedder
from memdb.services.context import Context
from memdb.store import Store
store = Store(Store.__init__.__globals__["settings"].place(sys.argv[1]), Embedder(enabled=False))
store.sync()
at = sys.argv[3]
if at == "journal":
    # Journaled, and nothing of it in the tables.
    Context._apply = lambda self, record: os._exit(9)
elif at == "commit":
    # In the tables, and not committed.
    Context.set_journal_state = lambda self, state: os._exit(9)
else:
    # Committed, and nothing derived of it.
    from memdb.services import decisions
    decisions.mentions = type("Gone", (), {"refresh": lambda context, limit: os._exit(9)})
exec(sys.argv[2])
"""


@pytest.fixture
def world(tmp_path: Path) -> Answered:
    made = Answered(tmp_path / "root", {"project/quay.md": f"At {', '.join(NAMES)} they wait.\n"})
    made.put("project/quay", answer(*((name, "concept") for name in NAMES[:5])))
    made.write({"project/pier.md": f"At {', '.join(NAMES)} they go.\n"})
    made.store.sync()
    made.put("project/pier", answer(*((name, "concept") for name in NAMES[3:])))
    return made


def deciding(root: Path, *names: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", DECIDES, str(root), *names], cwd=REPOSITORY, stderr=subprocess.PIPE)


def processes_decide(world: Answered, share: int) -> None:
    """Each process decides about its share of the names, while this one looks."""
    at_work = [deciding(world.root, *NAMES[at : at + share]) for at in range(0, len(NAMES), share)]
    while any(process.poll() is None for process in at_work):
        assert len(world.store.entities.list()) >= 1
    for process in at_work:
        _, errors = process.communicate()
        assert process.returncode == 0, errors.decode()
    log = world.store.log()
    assert len(log) == 4 * len(NAMES)
    assert len({one.ref for one in log}) == len(log)
    assert {one.state for one in log if one.action not in ("delete",)} == {"standing"}
    assert not any(one.contradicts for one in log)
    found = {one.name: (one.type, one.aliases) for one in world.store.entities.list()}
    assert {name: found[f"{name} Pier"] for name in NAMES} == {name: ("place", (name,)) for name in NAMES}
    live = world.digest().tables
    rebuilt = world.rebuilt().tables
    assert {name for name in live if live[name] != rebuilt[name]} == set()
    world.store.close()


def test_two_processes_decide_at_once(world: Answered) -> None:
    processes_decide(world, 4)


@pytest.mark.slow
def test_eight_processes_decide_at_once(world: Answered) -> None:
    processes_decide(world, 1)


ACTS = {
    "rename": 'store.entities.rename("Berth AK", "Long Pier")',
    "merge": 'store.entities.merge("Berth AK", "Berth BL")',
    "delete": 'store.entities.delete("Berth AK")',
    "undo": "store.undo(store.log()[0].id)",
}


@pytest.mark.parametrize(
    ("act", "at"), [("rename", "journal"), ("merge", "commit"), ("delete", "after"), ("undo", "journal")]
)
def test_a_process_that_is_killed_half_way_has_decided(world: Answered, act: str, at: str) -> None:
    world.store.entities.retype("Berth CM", "event")
    world.store.close()
    done = subprocess.run(
        [sys.executable, "-c", DIES, str(world.root), ACTS[act], at], cwd=REPOSITORY, capture_output=True, check=False
    )
    assert done.returncode == 9, done.stderr.decode()
    with Store(world.store.place, Embedder(enabled=False)) as store:
        assert [one.action for one in store.log()] == [act, "retype"]
        found = {one.name: one.type for one in store.entities.list()}
        expected = {"rename": "Berth AK" not in found and "Long Pier" in found, "undo": found["Berth CM"] == "concept"}
        assert expected.get(act, "Berth AK" not in found)
        live = store.digest()
        store.rebuild()
        assert store.digest() == live


def test_names_that_change_while_texts_are_searched_are_searched_again(
    world: Answered, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the search and its result another process deletes what was found."""
    world.write({"user/late.md": "Berth AK is wet, said the Berth AK crew.\n", "user/berth.md": "No name.\n"})
    find = gazetteer.find
    done: list[bool] = []

    def interrupted(*given: Any) -> Any:
        found = find(*given)
        if not done:
            done.append(True)
            with Store(world.store.place, Embedder(enabled=False)) as other:
                other.entities.rename("Berth AK", "Crew")
                other.entities.delete("Crew")
        return found

    monkeypatch.setattr(gazetteer, "find", interrupted)
    world.store.sync()
    assert done
    live = world.digest().tables
    assert not {row for row in world.rows("select name_key from mention where source = 'known'")} & {("berth ak",)}
    rebuilt = world.rebuilt().tables
    assert {name for name in live if live[name] != rebuilt[name]} == set()


def test_an_output_that_comes_while_its_text_is_read_is_read_too(
    world: Answered, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the reading and its result another process journals what a model said."""
    world.write({"user/late.md": "The Ebb Counter is new.\n"})
    evidence = mentions._evidence
    done: list[bool] = []

    def interrupted(*given: Any) -> Any:
        found = evidence(*given)
        if not done:
            done.append(True)
            world_ = Answered.__new__(Answered)
            world_.root = world.root
            with Store(world.store.place, Embedder(enabled=False)) as other:
                world_.store = other
                world_.put("user/late", answer(("Ebb Counter", "place")))
        return found

    monkeypatch.setattr(mentions, "_evidence", interrupted)
    world.store.sync()
    assert done
    assert {one.name: one.type for one in world.store.entities.list()}["Ebb Counter"] == "place"
