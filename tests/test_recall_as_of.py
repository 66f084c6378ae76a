"""Recall as of a time: memories answer with the text that they had then, and are found by it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memdb.errors import UsageError
from memdb.services.recall import past
from memdb.services.recall.recall import Filters
from memdb.store import Store
from tests.cli_support import memdb
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder
from tests.histories import anew, differing, secret

pytestmark = pytest.mark.usefixtures("no_model")

Make = Callable[..., Store]


class Clock:
    """The time that the journal sees."""

    def __init__(self) -> None:
        self.now = 0

    def at(self, day: str) -> None:
        self.now = int(datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp() * 1e9)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    clock.at("2026-01-01")
    monkeypatch.setattr("memdb.base.journal.time.time_ns", lambda: clock.now)
    return clock


@pytest.fixture
def store(make_store: Make, clock: Clock) -> Iterator[Store]:
    """A plan that was changed twice, a note that was deleted, and one that came later."""
    store = make_store()
    clock.at("2026-02-01")
    store.save("project/plan", "The pump house runs on Firebird.\n", description="first plan", tags=["water"])
    store.save("project/note", "The ferry leaves from the old pier.\n", tags=["water"])
    clock.at("2026-03-01")
    store.save("project/plan", "The pump house runs on Postgres.\n", description="second plan")
    clock.at("2026-04-01")
    (store.place.root / "project/note.md").unlink()
    store.sync(yes=True)
    clock.at("2026-05-01")
    store.save("project/plan", "The pump house runs on sqlite.\n", description="third plan")
    store.save("reference/late", "A pump house manual came with the mail.\n")
    return store


def found(store: Store, query: str, as_of: str | None = None, **options: Any) -> dict[str, int | None]:
    """The hits by id, each with the version that it answers with."""
    answer = store.recall(query, filters=Filters(as_of=as_of, **options.pop("filters", {})), **options)
    return {hit.id: hit.version for hit in answer.hits}


@pytest.mark.parametrize(
    ("query", "as_of", "expected"),
    [
        ("firebird", "2026-02-01", {"project/plan": 1}),
        ("firebird", "2026-02-28", {"project/plan": 1}),
        ("firebird", "2026-02", {"project/plan": 1}),
        ("firebird", "2026-03", {}),
        ("postgres", "2026-02", {}),
        ("postgres", "2026-03", {"project/plan": 2}),
        ("postgres", "2026-04-30", {"project/plan": 2}),
        ("postgres", "2026-05-01", {}),
        ("sqlite", "2026-04", {}),
        ("sqlite", "2026-05", {"project/plan": None}),
        ("sqlite", "2026", {"project/plan": None}),
        ("sqlite", "9999", {"project/plan": None}),
        ("pump house", "2026-01-31", {}),
        ("pump house", "2026-02", {"project/plan": 1}),
        ("pump house", "2026-05", {"project/plan": None, "reference/late": None}),
        ("ferry pier", "2026-02", {"project/note": 1}),
        ("ferry pier", "2026-03-31", {"project/note": 1}),
        ("ferry pier", "2026-04", {}),
        ("first plan", "2026-02", {"project/plan": 1}),
    ],
)
def test_each_text_answers_for_its_time(store: Store, query: str, as_of: str, expected: dict[str, int | None]) -> None:
    assert found(store, query, as_of) == expected


def test_a_hit_has_the_description_of_its_time_and_its_body_goes_into_the_prompt(store: Store) -> None:
    answer = store.recall("pump house", filters=Filters(as_of="2026-02"))
    (hit,) = answer.hits
    assert (hit.description, hit.version) == ("first plan", 1)
    assert set(hit.arms) == {"keyword"}
    block = store.prompt_block(answer)
    assert "runs on Firebird" in block and "sqlite" not in block


def test_without_a_time_earlier_texts_answer_nothing(store: Store) -> None:
    assert found(store, "firebird") == {}
    assert found(store, "ferry pier") == {}
    assert found(store, "pump house") == {"project/plan": None, "reference/late": None}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"types": ("project",)}, {"project/note": 1}),
        ({"types": ("user",)}, {}),
        ({"tags": ("Water",)}, {"project/note": 1}),
        ({"tags": ("other",)}, {}),
        ({"path": "project/*"}, {"project/note": 1}),
        ({"path": "user/*"}, {}),
        ({"kinds": ("memory",)}, {"project/note": 1}),
        ({"kinds": ("chunk",)}, {}),
        ({"since": "2020"}, {}),
    ],
)
def test_filters_hold_for_what_is_gone(store: Store, filters: dict[str, Any], expected: dict[str, int]) -> None:
    assert found(store, "ferry pier", "2026-03", filters=filters) == expected


def test_a_memory_that_came_back_was_away_between(store: Store, clock: Clock) -> None:
    clock.at("2026-06-01")
    store.save("project/note", "The ferry leaves from the new pier.\n")
    clock.at("2026-07-01")
    store.save("project/note", "The ferry is gone.\n")
    assert found(store, "ferry pier", "2026-03") == {"project/note": 1}
    assert found(store, "ferry pier", "2026-05") == {}
    assert found(store, "ferry pier", "2026-06") == {"project/note": 2}
    assert found(store, "ferry", "2026-07") == {"project/note": None}


def test_a_text_that_came_back_as_it_was_lived_twice(store: Store, clock: Clock) -> None:
    clock.at("2026-06-01")
    store.restore("project/note", 1)
    clock.at("2026-07-01")
    store.save("project/note", "Nothing is here.\n")
    assert [past.reason for past in store.history("project/note")] == ["deleted", "saved"]
    assert found(store, "ferry pier", "2026-05") == {}
    assert found(store, "ferry pier", "2026-06")["project/note"] == 2


def test_what_a_file_says_of_its_time_comes_first(make_store: Make, clock: Clock) -> None:
    store = make_store()
    clock.at("2026-05-01")
    store.save("project/a", "maple one", fields={"created": "2026-02-10"})
    store.save("project/b", "maple two", fields={"valid_from": "2025-01-01"})
    store.save("project/c", "maple three")
    store.save("episode/d", "maple four", fields={"happened_at": "2026-01-05"})
    store.save("project/e", "maple five", fields={"created": "once upon a time"})
    assert set(found(store, "maple", "2025-06")) == {"project/b"}
    assert set(found(store, "maple", "2026-01")) == {"project/b", "episode/d"}
    assert set(found(store, "maple", "2026-02-10")) == {"project/a", "project/b", "episode/d"}
    assert len(found(store, "maple", "2026-05")) == 5


def test_files_of_a_first_reading_may_be_of_any_age_and_the_answer_says_so(make_store: Make, clock: Clock) -> None:
    store = make_store({"user/a.md": "maple one"})
    clock.at("2026-05-01")
    write_files(store.place.root, {"user/b.md": "maple two"})
    answer = store.recall("maple", filters=Filters(as_of="2026-04"))
    assert [hit.id for hit in answer.hits] == ["user/a"]
    assert answer.notes == ["1 memory does not say since when it is there; it counts as there."]


def test_what_replaced_a_memory_later_had_not_replaced_it_then(make_store: Make, clock: Clock) -> None:
    store = make_store()
    clock.at("2026-02-01")
    store.save("project/old", "We deploy with the maple script.\n")
    clock.at("2026-03-01")
    store.save("project/new", "We deploy with the birch script.\n", supersedes=["project/old"])
    then = store.recall("how do we deploy", filters=Filters(as_of="2026-02")).hits
    assert [(hit.id, hit.superseded_by) for hit in then] == [("project/old", ())]
    now = store.recall("how do we deploy", filters=Filters(as_of="2026-03")).hits
    assert [(hit.id, hit.superseded_by) for hit in now] == [("project/new", ()), ("project/old", ("project/new",))]


def test_a_text_that_was_withheld_answers_nothing(make_store: Make, clock: Clock) -> None:
    store = make_store()
    clock.at("2026-02-01")
    write_files(store.place.root, {"user/a.md": f"maple {secret()}\n"})
    store.sync()
    clock.at("2026-03-01")
    write_files(store.place.root, {"user/a.md": "maple without\n"})
    store.sync()
    answer = store.recall("maple", filters=Filters(as_of="2026-02"))
    assert answer.hits == []
    assert "1 memory is left out: the text of that time was not kept." in answer.notes
    assert found(store, "maple", "2026-03") == {"user/a": None}


def test_a_renamed_memory_keeps_its_past(store: Store, clock: Clock) -> None:
    clock.at("2026-06-01")
    (store.place.root / "project/plan.md").rename(store.place.root / "project/pump-plan.md")
    store.sync()
    assert found(store, "firebird", "2026-02") == {"project/pump-plan": 1}
    assert found(store, "pump house", "2026-01") == {}


def test_a_rebuilt_store_answers_the_same(store: Store) -> None:
    live, before = store.digest(), found(store, "pump house ferry", "2026-03")
    assert before == {"project/plan": 2, "project/note": 1}
    assert differing(live, anew(store.place.root, model=False)) == []
    with Store(store.place) as again:
        assert found(again, "pump house ferry", "2026-03") == before


def test_forgotten_means_forgotten_at_any_time(store: Store) -> None:
    store.forget("project/plan")
    store.forget("project/note")
    assert found(store, "pump house ferry firebird", "2026-03") == {}
    for file in store.place.home.rglob("*"):
        if file.is_file():
            data = file.read_bytes().lower()
            assert b"firebird" not in data and b"ferry" not in data, file


def test_a_store_of_an_older_memdb_learns_its_past_by_a_sync(store: Store) -> None:
    database = store._context.database
    with database.write() as connection:
        connection.execute("delete from version_fts")
        connection.execute("delete from version_length")
        connection.execute("delete from memory_sign")
        connection.execute("insert or replace into meta values ('signs_stale', '1'), ('journal', '{}')")
    assert found(store, "firebird", "2026-02") == {"project/plan": 1}
    assert differing(store.digest(), anew(store.place.root, model=False)) == []


def test_vectors_of_today_do_not_answer_for_an_earlier_text(tmp_path: Path, clock: Clock) -> None:
    with Store.init(tmp_path / "r", embedder=FakeEmbedder()) as store:
        clock.at("2026-02-01")
        store.save("project/plan", "The pump house runs on Firebird.\n")
        store.save("project/same", "The lighthouse runs on Firebird.\n")
        clock.at("2026-03-01")
        store.save("project/plan", "Nothing but tulips in the garden.\n")
        answer = store.recall("tulips garden", filters=Filters(as_of="2026-02"))
        assert "project/plan" not in {hit.id for hit in answer.hits if hit.arms}
        answer = store.recall("pump house firebird", filters=Filters(as_of="2026-02"))
        assert {hit.id: hit.version for hit in answer.hits} == {"project/plan": 1, "project/same": None}
        assert answer.arms["vector"].state == "on"
        assert answer.notes[0] == (
            "As of then: links, tags and entities are those of today; what was edited since is found by its words, not"
            " by its meaning."
        )


@pytest.mark.parametrize(
    ("day", "end"),
    [
        ("2026", "2027-01-01"),
        ("2026-01", "2026-02-01"),
        ("2026-12", "2027-01-01"),
        ("2024-02", "2024-03-01"),
        ("2024-02-28", "2024-02-29"),
        ("2026-12-31", "2027-01-01"),
    ],
)
def test_a_time_ends_with_its_last_day(day: str, end: str) -> None:
    moment = datetime.fromisoformat(end).replace(tzinfo=UTC)
    assert past.end_of(day) == f"{int(moment.timestamp() * 1000):013d}"


@pytest.mark.parametrize("day", ["2026-13", "2026-02-30", "0000", "2026-00"])
def test_a_day_that_no_calendar_has_is_refused(store: Store, day: str) -> None:
    with pytest.raises(UsageError):
        store.recall("pump", filters=Filters(as_of=day))


def test_the_sql_of_an_answer_runs_by_hand(store: Store) -> None:
    statement = store.recall_sql("firebird pump", filters=Filters(as_of="2026-02"))
    assert "json_each('[[" in statement


def test_the_command_says_which_version_answers(store: Store) -> None:
    root = store.place.root
    answer = memdb("recall", "firebird", "--as-of", "2026-02", "--root", root)
    assert "project/plan" in answer.out and "version 1: what it said then" in answer.out and "first plan" in answer.out
    (hit,) = memdb("recall", "firebird", "--as-of", "2026-02", "--root", root, "--json").json["hits"]
    assert (hit["id"], hit["version"]) == ("project/plan", 1)
