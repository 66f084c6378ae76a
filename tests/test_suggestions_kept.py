"""What is kept of the names of a store gives what a comparison of all names gives, whatever happened before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memdb.base.storage import Database
from memdb.domain import near_keys
from memdb.domain.near_keys import Meeting
from memdb.errors import MemdbError
from memdb.services.entities import suggestions_kept
from tests.answer_support import Answered, answer

NAMES = (
    "Quill Base", "Quillbase", "quill-base", "Quill Bases", "Quill Base Inc", "Quill", "Tide Desk", "Tied Desk",
    "Ottilie Krahn", "Otilie Krahn", "O. Krahn", "Krahn", "Harbour Sensor Report Board", "HSRB", "Kubernetes", "k8s",
    "Kuberrnetes", "Caf\u00e9 Mole", "Cafe Mole", "The Tide Desk", "Natural Tide Lamp (NTL)", "NTL", "desk.tide",
    "tide_desk",
)  # fmt: skip
"""Names that meet in every way that there is."""

TYPES = ("person", "tool", "organization", "concept")

Act = tuple[str, int, int, int]

acts = st.tuples(
    st.sampled_from(("say", "say", "say", "file", "remove", "rename", "retype", "merge", "unmerge", "delete", "restore",
                     "distinct", "undo", "ask", "forget")),
    st.integers(0, len(NAMES) - 1),
    st.integers(0, len(NAMES) - 1),
    st.integers(0, 3),
)  # fmt: skip


def does(world: Answered, act: Act) -> None:
    """One act; what is refused changes nothing."""
    what, one, other, number = act
    store, name, another = world.store, NAMES[one], NAMES[other]
    if what == "say":
        world.write({f"episode/{number}.md": f"We saw {name} and {another} that day.\n"})
        store.sync()
        said = answer((name, TYPES[number]), (another, TYPES[(number + one) % 4]))
        world.put(f"episode/{number}", said)
    elif what == "file":
        world.write({f"project/{number}.md": f"---\nname: {name}\naliases: ['{another}']\n---\nA text.\n"})
    elif what == "remove":
        (world.root / "episode" / f"{number}.md").unlink(missing_ok=True)
        store.sync(yes=True)
    elif what == "forget":
        store.forget(f"episode/{number}")
    elif what == "undo":
        ids = [decision.id for decision in store.log()]
        store.undo(ids[one % len(ids)] if ids else "none")
    elif what == "ask":
        store.entities.suggest()
    elif what == "retype":
        store.entities.retype(name, TYPES[number])
    elif what in ("rename", "merge", "distinct"):
        getattr(store.entities, what)(name, another)
    else:
        getattr(store.entities, what)(name)


def kept(world: Answered) -> set[Meeting]:
    world.store.sync()
    return set(suggestions_kept.meetings(world.store._context.database))


def computed(world: Answered) -> set[Meeting]:
    return set(suggestions_kept.computed(world.store._context.database))


def tables(world: Answered) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    """What is kept, without the ids of this file."""
    keys = "select near_key.key, name_key, place from near_key join entity on entity.id = entity_id order by 1, 2, 3"
    meetings = (
        "select near_meeting.key, min(one.name_key, other.name_key), max(one.name_key, other.name_key), rank, words,"
        " score from near_meeting join entity as one on one.id = a join entity as other on other.id = b"
        " order by 1, 2, 3, 4, 5, 6"
    )
    return world.rows(keys), world.rows(meetings)


def holds(given_acts: list[Act]) -> None:
    with TemporaryDirectory() as folder:
        world = Answered(Path(folder) / "root", {"episode/0.md": f"We saw {NAMES[0]} at the {NAMES[6]}.\n"})
        world.put("episode/0", answer((NAMES[0], "tool"), (NAMES[6], "organization")))
        try:
            for act in given_acts:
                with suppress(MemdbError):
                    does(world, act)
                if act[3] % 2:
                    assert kept(world) == computed(world)
            assert kept(world) == computed(world)
            live, said = tables(world), world.store.entities.suggest(limit=None)
            world.rebuilt()
            assert world.rows("select count(*) from near_changed") != [(0,)] or not live[0]
            assert world.store.entities.suggest(limit=None) == said
            assert tables(world) == live
        finally:
            world.store.close()


@pytest.fixture(params=[0, suggestions_kept.ALL_ANEW], ids=["bit by bit", "all anew where much changed"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(suggestions_kept, "ALL_ANEW", request.param)
    monkeypatch.setenv("MEMDB_EMBEDDER", "off")
    yield


BOUNDS = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]}


@settings(max_examples=5, **BOUNDS)  # type: ignore[arg-type]
@given(st.lists(acts, min_size=1, max_size=8))
def test_what_is_kept_is_what_a_comparison_gives(way: None, given_acts: list[Act]) -> None:
    holds(given_acts)


@pytest.mark.slow
@settings(max_examples=100, **BOUNDS)  # type: ignore[arg-type]
@given(st.lists(acts, min_size=5, max_size=25))
def test_what_is_kept_is_what_a_comparison_gives_after_long_histories(way: None, given_acts: list[Act]) -> None:
    holds(given_acts)


def many(tmp_path: Path) -> Answered:
    """A store with all names, and more that have nothing in common."""
    names = [*NAMES, *(f"Zander {letter * 3}{number}" for number in range(20) for letter in "bdf")]
    some = [names[place::6] for place in range(6)]
    texts = {f"episode/{place}.md": f"We saw {', '.join(part)} that day.\n" for place, part in enumerate(some)}
    world = Answered(tmp_path / "root", texts)
    for place, part in enumerate(some):
        world.put(f"episode/{place}", answer(*((name, TYPES[len(name) % 4]) for name in part)))
    return world


@pytest.mark.usefixtures("no_model")
def test_one_change_costs_one_entity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = many(tmp_path)
    world.store.entities.suggest()
    looked_at: list[int] = []
    original = suggestions_kept._keep

    def counting(database: Database, changed: Collection[int]) -> None:
        looked_at.extend(changed)
        original(database, changed)

    monkeypatch.setattr(suggestions_kept, "_keep", counting)
    world.store.entities.suggest()
    assert looked_at == []
    world.store.entities.rename("Tied Desk", "Tide Desks")
    world.store.entities.suggest()
    [entity] = world.rows("select id from entity where name = 'Tide Desks'")
    assert looked_at == [*entity]
    assert kept(world) == computed(world)


@pytest.mark.usefixtures("no_model")
def test_where_nothing_can_be_written_all_names_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggestions_kept, "PATIENCE", 0.0)
    world = many(tmp_path)
    expected = computed(world)
    assert expected
    with closing(apsw.Connection(str(world.store.place.database))) as other:
        other.execute("begin immediate")
        assert set(suggestions_kept.meetings(world.store._context.database)) == expected
        other.execute("rollback")
    assert world.rows("select count(*) from near_key") == [(0,)]
    assert set(suggestions_kept.meetings(world.store._context.database)) == expected
    assert world.rows("select count(*) from near_changed") == [(0,)]


@pytest.mark.usefixtures("no_model")
def test_no_name_is_kept(tmp_path: Path) -> None:
    world = many(tmp_path)
    world.store.entities.suggest()
    words = {reason for (reason,) in world.rows("select distinct words from near_meeting")}
    known = {reason.words for reason, _ in near_keys.REDUCTIONS} | {one.words for one in near_keys.SLIPS.values()}
    others = (near_keys.SAME_LETTERS, near_keys.INITIALS, near_keys.ACRONYM, near_keys.NUMERONYM,
              near_keys.PART_OF_A_PERSON, near_keys.PART_OF_A_COMPANY)  # fmt: skip
    assert words
    assert words <= known | {one.words for one in others}
    columns = world.rows("select name, type from pragma_table_info('near_key') union all"
                         " select name, type from pragma_table_info('near_changed')")  # fmt: skip
    assert {type_ for _, type_ in columns} == {"INTEGER"}


@pytest.mark.usefixtures("no_model")
def test_no_hash_of_a_forgotten_name_stays(tmp_path: Path) -> None:
    world = Answered(tmp_path, {"user/ada.md": "Ada Wren sails.\n", "user/bree.md": "Bree Holt rows.\n"})
    for memory, name in (("user/ada", "Ada Wren"), ("user/bree", "Bree Holt")):
        world.put(memory, answer((name, "person")))
    kept(world)
    before = {key for (key,) in world.rows("select key from near_key")}
    world.store.forget("user/ada")
    assert world.rows("select count(*) from near_key") == [(0,)]
    assert kept(world) == computed(world)
    assert {key for (key,) in world.rows("select key from near_key")} < before


@pytest.mark.usefixtures("no_model")
def test_what_was_kept_by_other_rules_is_kept_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = many(tmp_path)
    expected = kept(world)
    with world.store._context.database.write() as connection:
        connection.execute("update near_key set place = place + 7")
        connection.execute("delete from near_meeting")
    assert kept(world) == set()
    monkeypatch.setattr(near_keys, "RULES", "others")
    assert kept(world) == expected


def test_the_rules_are_those_of_their_version() -> None:
    """A store keeps what they gave: whoever changes them gives them another version, and this test another digest."""
    named = [
        (one, near_keys.keys(one))
        for name in NAMES
        for type_ in ("person", "organization", None)
        for one in near_keys.spellings(f"{name} of {type_}", (name,), type_)
    ]
    found = [sorted(keys) for _, keys in named], sorted(near_keys.met(named))
    digest = hashlib.sha256(json.dumps(found).encode()).hexdigest()
    assert (near_keys.RULES, digest[:16]) == ("1", "3a269fd6d6680610")
