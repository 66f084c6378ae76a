"""Times and people of a question in a recall: what is of them counts for more, nothing is lost, and it says why."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from memdb.base import resources
from memdb.errors import UsageError
from memdb.services.recall import dating, evaluation, recall
from memdb.services.recall.answers import Filters
from memdb.store import Store
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder
from tests.histories import differing
from tests.upgrade_support import database

NOTES = {
    "project/postgres-migration.md": "---\nname: Postgres migration\nhappened_at: 2023-05-10\n---\nThe move is done.\n",
    "project/one.md": "---\nname: staging one\ncreated: 2023-03-01\n---\nThe staging host runs the older engine.\n",
    "project/two.md": "---\nname: staging two\ncreated: 2023-07-01\n---\nThe staging host runs the newer engine.\n",
    "project/valid.md": "---\nname: badge rule\nvalid_from: 2022-01-01\nvalid_to: 2022-06-30\n---\n"
    "A badge opens the gate.\n",
    "project/later.md": "---\nname: badge law\nvalid_from: 2022-07-01\n---\nA phone opens the gate.\n",
    "episode/2023-04-05.md": "We planted an oak.\n",
    "episode/trip.md": "---\ndate: 2023-08-09\n---\nWe planted a birch.\n",
}
TURNS: list[dict[str, Any]] = [
    {"id": "a", "text": "I painted a lake with a boat", "speaker": "Caroline", "created": "2023-05-08T13:56:00"},
    {"id": "b", "text": "I painted a lake with a tree", "speaker": "Melanie", "created": "2023-06-08T13:56:00"},
    {"id": "c", "text": "The kettle sings", "speaker": "Melanie", "date": "2:31 pm on 17 July, 2023"},
    {"id": "d", "text": "The kettle hums", "speaker": "Caroline", "created": "2023-07-18"},
    {"id": "e", "text": "Dr Ann Smith: the fox sleeps"},
    {"id": "f", "text": "2023-01-02\nDr Ann Smith: the owl sleeps"},
    {"id": "g", "text": "can you fix the printer", "role": "user"},
    {"id": "h", "text": "I fix the printer", "role": "assistant"},
    {"id": "i", "text": "and the printer cable", "role": "user"},
    {"id": "j", "text": "look at the printer tray", "role": "assistant"},
    {"id": "k", "text": "Warning: the kiln is hot"},
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        made = made_store(tmp_path_factory.mktemp("times"))
        yield made
        made.close()


def made_store(root: Path) -> Store:
    write_files(root, NOTES)
    chat = root / "chat.jsonl"
    chat.write_text("".join(json.dumps(turn) + "\n" for turn in TURNS), encoding="utf-8")
    store = Store.init(root, embedder=FakeEmbedder(dims=64))
    store.add([chat])
    return store


def asked(store: Store, query: str, **options: Any) -> recall.Recall:
    return store.recall(query, arms=("keyword", "entity"), hops=0, **options)


def reasons(store: Store, query: str, **options: Any) -> dict[str, tuple[str, ...]]:
    return {hit.id.rpartition("#")[2]: hit.reasons for hit in asked(store, query, **options).hits}


TIMES = """
the lake painted in May 2023 | a | dated 2023-05-08 | 'May 2023' (2023-05-01 to 2023-06-01)
the lake painted in June 2023 | b | dated 2023-06-08 | 'June 2023' (2023-06-01 to 2023-07-01)
the lake painted last spring | a | dated 2023-05-08 | 'last spring' (2023-03-01 to 2023-06-01)
staging engine in March 2023 | project/one | created 2023-03-01 | 'March 2023' (2023-03-01 to 2023-04-01)
the gate in May 2022 | project/valid | valid 2022-01-01 to 2022-06-30 | 'May 2022' (2022-05-01 to 2022-06-01)
the gate in May 2023 | project/later | valid from 2022-07-01 | 'May 2023' (2023-05-01 to 2023-06-01)
what was planted in April 2023 | episode/2023-04-05 | dated 2023-04-05 | 'April 2023' (2023-04-01 to 2023-05-01)
what was planted in August | episode/trip | happened 2023-08-09 | 'August' (2023-08-01 to 2023-09-01)
the kettle on 17 July 2023 | c | dated 2023-07-17 | '17 July 2023' (2023-07-17)
staging engine before the migration | project/one | created 2023-03-01 | 'before the migration' (before 2023-05-10)
staging engine before Postgres migration|project/one|created 2023-03-01|'before Postgres migration' (before 2023-05-10)
staging engine after the migration | project/two | created 2023-07-01 | 'after the migration' (since 2023-05-11)
""".strip().splitlines()


@pytest.mark.parametrize("line", TIMES)
def test_what_is_of_the_time_comes_first_and_says_why(store: Store, line: str) -> None:
    query, first, dated, within = (part.strip() for part in line.split("|"))
    answer = asked(store, query)
    found = [hit for hit in answer.hits if hit.reasons]
    assert found[0].id.rpartition("#")[2] == first
    assert f"{dated}, within {within}" in found[0].reasons
    others = [
        hit
        for hit in answer.hits
        if hit.id != found[0].id and not hit.reasons and hit.id != "project/postgres-migration"
    ]
    assert all(hit.score < found[0].score for hit in others)


@pytest.mark.parametrize(
    ("query", "first", "speaker"),
    [
        ("the lake that Caroline painted", "a", "Caroline"),
        ("Which lake did Melanie paint?", "b", "Melanie"),
        ("what did melanie say about the kettle", "c", "Melanie"),
        ("Caroline's kettle, not Melanie's", "d", "Caroline"),
        ("who sleeps, says Dr Ann Smith", "e", "Dr Ann Smith"),
        ("what did the user say about the printer", "g", "user"),
        ("what did the assistant suggest for the printer", "h", "assistant"),
    ],
)
def test_what_the_named_person_says_comes_first(store: Store, query: str, first: str, speaker: str) -> None:
    found = reasons(store, query)
    told = {key for key, why in found.items() if f"said by {speaker}" in why}
    assert first in told
    assert {why for reasons_ in found.values() for why in reasons_} == {f"said by {speaker}"}


@pytest.mark.parametrize(
    "query",
    [
        "the lake with a boat",
        "how many user accounts has the printer",
        "is the Warning about the kiln",
        "agent and printer",
    ],
)
def test_no_speaker_is_seen_where_none_is_meant(store: Store, query: str) -> None:
    assert all(why == () for why in reasons(store, query).values())


def test_evidence_never_beats_a_clearly_better_text_and_takes_nothing_away(store: Store) -> None:
    pool = {f"document:chat.jsonl#{turn}": score for turn, score in (("a", 0.9), ("b", 0.5), ("c", 0.2))}
    weighed, seen = dating.weigh(store._context, "what did Melanie do in June 2023", pool)
    assert list(weighed) == list(pool) and set(seen.reasons) == {"document:chat.jsonl#b", "document:chat.jsonl#c"}
    assert weighed["document:chat.jsonl#a"] == pool["document:chat.jsonl#a"]
    assert weighed["document:chat.jsonl#b"] == dating.likelier(0.5, dating.DATED * dating.SPOKEN) < 0.9
    assert dating.likelier(0.25, dating.DATED) == 0.5
    assert dating.likelier(0.8, dating.DATED) == pytest.approx(0.923, abs=1e-3)
    assert dating.likelier(0.2, dating.DATED) < 0.5
    for score in (0.0, 0.01, 0.5, 1.0):
        assert score <= dating.likelier(score, dating.DATED) <= 1


def test_a_time_that_nothing_is_of_changes_nothing(store: Store) -> None:
    plain, dated = asked(store, "the lake of the boat"), asked(store, "the lake of the boat", now="1950-01-01")
    assert [(hit.id, hit.score) for hit in plain.hits] == [(hit.id, hit.score) for hit in dated.hits]
    assert asked(store, "kettle in the 1950s").hits != []


def test_the_day_of_the_question_decides_what_relative_words_mean(store: Store) -> None:
    assert "a" in reasons(store, "the lake painted yesterday", now="2023-05-09")
    assert reasons(store, "the lake painted yesterday", now="2023-05-09")["a"] == (
        "dated 2023-05-08, within 'yesterday' (2023-05-08)",
    )
    assert reasons(store, "the lake painted yesterday", now="2023-06-09")["b"] != ()
    assert asked(store, "the lake painted yesterday", now="2023-05-09").notes == [
        "'yesterday' was read as 2023-05-08, counted from 2023-05-09."
    ]
    assert asked(store, "the lake painted yesterday", filters=Filters(now="2023-05-09")).notes != []


def test_an_old_store_is_a_record_of_its_time(store: Store) -> None:
    """Nothing in it is newer than August 2023: counted from today, `last week` could mean nothing there."""
    assert asked(store, "what was planted last week").notes == [
        "'last week' was read as 2023-07-31 to 2023-08-07, counted from 2023-08-09, the newest day in the store"
        " (--now DATE counts from another)."
    ]


def test_a_live_store_counts_from_today(tmp_path: Path) -> None:
    today = datetime.now(UTC).date()
    yesterday = (today - timedelta(days=1)).isoformat()
    write_files(tmp_path / "r", {"project/a.md": f"---\ncreated: {yesterday}\n---\nThe oven is lit.\n"})
    with Store.init(tmp_path / "r", embedder=FakeEmbedder(dims=64)) as store:
        answer = asked(store, "was the oven lit yesterday")
        assert answer.notes == [f"'yesterday' was read as {yesterday}."]
        assert answer.hits[0].reasons == (f"created {yesterday}, within 'yesterday' ({yesterday})",)
        # A day in the future is no sign that the store is of that time.
        write_files(tmp_path / "r", {"project/b.md": "---\ncreated: 2999-01-01\n---\nThe sun is cold.\n"})
        assert asked(store, "was the oven lit yesterday").notes[0] == f"'yesterday' was read as {yesterday}."


@pytest.mark.parametrize("now", ["soon", "2023-13-45", "2023", "05/01/2023", ""])
def test_a_now_that_is_no_day_is_refused(store: Store, now: str) -> None:
    with pytest.raises(UsageError) as error:
        asked(store, "anything", now=now)
    assert error.value.message.startswith("now is ") and "it has to be a day" in error.value.message
    assert error.value.hint


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("what happened in May 2023", {"a", "project/postgres-migration"}),
        ("What did we do on 5 April 2023?", {"episode/2023-04-05"}),
        ("what is new since August 2023?", {"episode/trip"}),
    ],
)
def test_a_question_of_a_time_alone_lists_what_is_of_it(store: Store, query: str, found: set[str]) -> None:
    assert {key for key, why in reasons(store, query).items() if why} >= found


def test_filters_hold_for_what_a_time_lists(store: Store) -> None:
    only = asked(store, "what happened in May 2023", filters=Filters(kinds=("chunk",)))
    assert {hit.kind for hit in only.hits} == {"chunk"}


@pytest.mark.parametrize(
    "query",
    [
        "engine before the harvest",
        "engine after staging",
        "what ran during the gate",
        "until the cows come home",
        "after it failed",
    ],
)
def test_what_no_one_thing_in_the_store_is_called_stays_words(store: Store, query: str) -> None:
    assert asked(store, query).notes == []


def test_a_month_that_is_somebody_is_a_person(tmp_path: Path) -> None:
    turns = [{"id": str(at), "speaker": "April", "text": f"box {at}", "created": "2022-04-02"} for at in range(3)]
    (tmp_path / "r").mkdir()
    (tmp_path / "r/c.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in turns), encoding="utf-8")
    with Store.init(tmp_path / "r", embedder=FakeEmbedder(dims=64)) as store:
        store.add([tmp_path / "r/c.jsonl"])
        assert asked(store, "which box came before April", now="2022-06-01").notes == []
        assert asked(store, "which box came in April 2022", now="2022-06-01").notes != []


def test_another_name_of_a_person_is_heard(tmp_path: Path) -> None:
    turns = [
        {"id": str(at), "speaker": who, "text": f"the crate {at}"} for at, who in enumerate(["Melanie Ward", "Bo"] * 2)
    ]
    write_files(tmp_path / "r", {"user/melanie-ward.md": "---\nname: Melanie Ward\naliases: [Mel]\n---\nA painter.\n"})
    (tmp_path / "r/c.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in turns), encoding="utf-8")
    with Store.init(tmp_path / "r", embedder=FakeEmbedder(dims=64)) as store:
        store.add([tmp_path / "r/c.jsonl"])
        for query in ("what did Melanie say of the crate", "what did Melanie Ward say of the crate"):
            assert ("said by Melanie Ward",) in reasons(store, query).values()


def test_the_same_store_and_now_give_the_same_answer(store: Store, tmp_path: Path) -> None:
    with made_store(tmp_path / "again") as again:
        for query in (
            "the lake Melanie painted last spring",
            "what happened last month",
            "staging before the migration",
        ):
            one, other = asked(store, query, now="2023-10-22"), asked(again, query, now="2023-10-22")
            assert [(hit.id, hit.score, hit.reasons) for hit in one.hits] == [
                (hit.id, hit.score, hit.reasons) for hit in other.hits
            ]
            assert one.notes == other.notes


def test_the_printed_sql_walks_from_the_evidence(store: Store) -> None:
    query = "the lake painted in June 2023"
    hits = asked(store, query).hits
    statement = store.recall_sql(query, arms=("keyword", "entity"), hops=0).rpartition("-- Which memories and chunks")[
        2
    ]
    rows = store._context.database.rows("--" + statement)
    assert [(row[0], round(row[2], 12)) for row in rows] == [(hit.id, hit.score) for hit in hits]


def test_a_rebuild_reads_speakers_and_days_again(store: Store, tmp_path: Path) -> None:
    with made_store(tmp_path / "r") as made:
        live = made.digest()
        said = made._context.database.rows("select id, speaker, day from chunks order by 1")
        made.rebuild()
        assert differing(live, made.digest()) == []
        assert made._context.database.rows("select id, speaker, day from chunks order by 1") == said
    assert [(key.rpartition("#")[2], *rest) for key, *rest in said] == [
        ("a", "Caroline", "2023-05-08"), ("b", "Melanie", "2023-06-08"), ("c", "Melanie", "2023-07-17"),
        ("d", "Caroline", "2023-07-18"), ("e", "Dr Ann Smith", None), ("f", "Dr Ann Smith", None), ("g", "user", None),
        ("h", "assistant", None), ("i", "user", None), ("j", "assistant", None), ("k", "Warning", None),
    ]  # fmt: skip


def test_an_older_database_gets_its_speakers_by_the_migration(tmp_path: Path) -> None:
    names = [name for name, _ in resources.migrations()]
    before = names.index("0013_times_and_speakers")
    file = tmp_path / "old.db"
    database(before, file)
    connection = apsw.Connection(str(file))
    connection.execute("pragma foreign_keys = off")
    document = connection.execute("select id from document limit 1").fetchall()[0][0]
    connection.execute(
        "insert into node (id, kind, key, label) values (900, 'chunk', 'x#1', 'x');"
        f"insert into chunk values (900, {document}, 90, '[]', '', 'Hey' || char(10) || 'speaker: Bo', null, 1,"
        " 1, 'r', null, '2023-05-08T10:00:00', 'i', 't', 0, null)"
    )
    connection.execute(resources.migrations()[before][1])
    assert connection.execute("select name from speaker where chunk_id = 900").fetchall() == [("Bo",)]
    assert connection.execute("select day from chunk where id = 900").fetchall() == [("2023-05-08",)]
    connection.execute("delete from chunk where id = 900")
    connection.close()


def test_forgotten_turns_leave_no_speaker(tmp_path: Path) -> None:
    with made_store(tmp_path / "r") as store:
        (tmp_path / "r/chat.jsonl").unlink()
        store.remove("document:chat.jsonl")
        assert store._context.database.value("select count(*) from speaker") == 0


def test_a_line_of_an_evaluation_may_say_when_it_was_asked(store: Store) -> None:
    line = {"question": "the lake painted yesterday", "gold": ["b"], "now": "2023-06-09"}
    assert evaluation.question(line, 1).filters.now == "2023-06-09"
    with pytest.raises(UsageError, match="`now` has to be a day"):
        evaluation.question(line | {"now": "soon"}, 1)
    found = store.evaluate([line], k=(1,))
    assert found.configurations["cascade"].scores["R@1"].value == 1


def test_without_the_library_another_language_stays_words_and_says_so(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dating.times_languages, "is_installed", lambda: False)
    assert asked(store, "welcher lake war es gestern").notes == [
        "'gestern' may be a time, but dateparser is not installed; memdb-engine[time] installs what reads them."
    ]


def test_a_question_of_another_language_is_read(store: Store) -> None:
    pytest.importorskip("dateparser")
    assert reasons(store, "lake gestern", now="2023-05-09")["a"] == ("dated 2023-05-08, within 'gestern' (2023-05-08)",)


def test_a_question_without_times_imports_nothing_and_costs_less_than_a_millisecond(tmp_path: Path) -> None:
    root = tmp_path / "r"
    with made_store(root) as store:
        query = "which of the many engines does the staging host run for everybody in the office"
        pool = {f"project/x{at}": 0.5 for at in range(400)}
        dating.weigh(store._context, query, pool)
        start = time.process_time()
        for _ in range(50):
            dating.weigh(store._context, query, pool)
        assert (time.process_time() - start) / 50 < 0.001
    code = (
        "import sys; from memdb.store import Store; s = Store.open(sys.argv[1]);"
        "s.recall('which lake did Melanie paint in May 2023', arms=('keyword', 'entity'));"
        "assert not {'dateparser', 'regex'} & set(sys.modules), 'imported'"
    )
    if not hasattr(Store, "open"):
        code = code.replace("Store.open(sys.argv[1])", "__import__('memdb').open(sys.argv[1])")
    subprocess.run([sys.executable, "-c", code, str(root)], check=True)


def test_a_name_that_begins_with_a_month_says_no_more_than_that(tmp_path: Path) -> None:
    write_files(tmp_path / "r", {"episode/2026-05-outage.md": "The cache ran out of memory.\n"})
    with Store.init(tmp_path / "r", embedder=FakeEmbedder(dims=64)) as store:
        [hit] = asked(store, "what ran out of memory in May 2026").hits
        assert hit.reasons == ("dated 2026-05, within 'May 2026' (2026-05-01 to 2026-06-01)",)
