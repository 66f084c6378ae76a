"""The SQL files: each says what it answers, and what a recall runs can be run by hand."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest
import sqlite_vec

from memdb.base import resources
from memdb.services.recall import recall as recalling
from memdb.services.recall.recall import Filters
from memdb.store import Store
from tests.conftest import copy_vault
from tests.fake_embedder import FakeEmbedder

SQL = Path(__file__).parents[1] / "sql"
OWN_SQLITE = pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 40), reason="this Python's SQLite is older than 3.40")


@pytest.mark.parametrize("file", sorted(SQL.rglob("*.sql")), ids=lambda file: file.stem)
def test_each_file_opens_with_a_question_that_it_answers(file: Path) -> None:
    first = file.read_text(encoding="utf-8").splitlines()[0]
    assert re.match(r"-- [A-Z].*\?", first), first


@pytest.mark.parametrize("name", sorted(file.stem for file in (SQL / "queries").glob("*.sql")))
def test_each_query_is_used(name: str) -> None:
    engine = Path(recalling.__file__).parents[1]
    used = "".join(file.read_text(encoding="utf-8") for file in engine.rglob("*.py"))
    assert f'"{name}"' in used


def test_a_query_that_is_none_is_an_error() -> None:
    with pytest.raises((FileNotFoundError, KeyError)):
        resources.query("no_such_query")


@pytest.mark.parametrize(
    ("statement", "values", "expected"),
    [
        ("select :a, :b", {"a": 1, "b": None}, "select 1, NULL\n"),
        ("select :text", {"text": "it's :a -- b"}, "select 'it''s :a -- b'\n"),
        ("select :blob", {"blob": b"\x00\xff"}, "select X'00FF'\n"),
        ("select :a -- not :a", {"a": 0.5}, "select 0.5 -- not :a\n"),
        ("select ':x', a::b, :ab", {"x": 1, "ab": 2}, "select '1', a::b, 2\n"),
    ],
)
def test_values_are_written_in(statement: str, values: dict[str, object], expected: str) -> None:
    assert recalling.with_values(statement, values) == expected


def statements(text: str) -> list[str]:
    """The statements of a script, each with its closing semicolon."""
    found, so_far = [], ""
    for line in text.splitlines(keepends=True):
        so_far += line
        if sqlite3.complete_statement(so_far) and ";" in line.partition("--")[0]:
            found.append(so_far)
            so_far = ""
    assert not so_far.strip()
    return found


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.init(copy_vault("search", tmp_path / "search"), embedder=FakeEmbedder())
    store.sync()
    return store


QUESTIONS: list[tuple[str, Filters | None]] = [
    ("what database do we use for staging", None),
    ('it\'s "quoted"; -- :pool 100% 悬空', None),
    ("deploy bot", Filters(types=("project",), tags=("ops",))),
    ("", None),
    ("quantum chromodynamics", None),
]


@pytest.mark.parametrize(("question", "filters"), QUESTIONS)
def test_a_recall_runs_by_hand_with_the_extension(store: Store, question: str, filters: Filters | None) -> None:
    with store:
        answer = store.recall(question, filters=filters)
        scripts = statements(store.recall_sql(question, filters=filters))
    with closing(apsw.Connection(str(store.place.database))) as connection:
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        rows = [connection.execute(script).fetchall() for script in scripts]
    assert len(scripts) == (3 if question else 2)
    assert [(row[0], round(row[2], 12)) for row in rows[-1]] == [(hit.id, hit.score) for hit in answer.hits]


@OWN_SQLITE
@pytest.mark.parametrize(("question", "filters"), QUESTIONS)
def test_fusion_and_cascade_run_in_any_sqlite(store: Store, question: str, filters: Filters | None) -> None:
    with store:
        answer = store.recall(question, filters=filters)
        fusion, cascade = statements(store.recall_sql(question, filters=filters))[-2:]
    with closing(sqlite3.connect(store.place.database)) as connection:
        pool = connection.execute(fusion).fetchall()
        rows = connection.execute(cascade).fetchall()
    assert [(row[0], pytest.approx(row[2])) for row in rows] == [(hit.id, hit.score) for hit in answer.hits]
    fused = {hit.id: hit.fused for hit in answer.hits if hit.fused is not None}
    assert {row[0]: pytest.approx(row[1]) for row in pool if row[0] in fused} == fused


def test_the_arms_statement_gives_what_the_next_one_starts_from(store: Store) -> None:
    with store:
        scripts = statements(store.recall_sql("deploy bot"))
        found = store._context.database.rows(scripts[0])
    assert found[0][0] == "project/deploy-bot"
    assert f"[{found[0][2]}, {found[0][1]}]" in scripts[1]


def test_a_recall_without_a_model_needs_no_extension(store: Store) -> None:
    with store:
        script = store.recall_sql("deploy bot", arms=("keyword",))
    assert "vec_" not in script
    assert len(statements(script)) == 2


def test_reading_writes_nothing(store: Store) -> None:
    with store:
        before = store._context.database.value("select total_changes()")
        store.recall("deploy bot", sync_first=False)
        store.recall_sql("deploy bot")
        store.cascade({"project/deploy-bot": 0.5})
        assert store._context.database.value("select total_changes()") == before


PLAN_OF_EACH: list[tuple[str, Callable[[str], bool]]] = [
    ("neighbor", lambda line: "USING PRIMARY KEY" in line),
    ("memory", lambda line: "USING INTEGER PRIMARY KEY" in line),
]


@pytest.mark.parametrize(("table", "is_searched"), PLAN_OF_EACH, ids=[table for table, _ in PLAN_OF_EACH])
def test_the_cascade_reads_no_table_as_a_whole(store: Store, table: str, is_searched: Callable[[str], bool]) -> None:
    with store:
        cascade = statements(store.recall_sql("deploy bot"))[-1]
        plan = [row[3] for row in store._context.database.rows(f"explain query plan {cascade}")]
    assert any(re.match(rf"SEARCH {table}\b", line) and is_searched(line) for line in plan)
    big = {"neighbor", "memory", "edge", "node", "source"}
    scanned = [line for line in plan if (m := re.match(r"SCAN (\w+)", line)) and m[1] in big]
    assert scanned == []
