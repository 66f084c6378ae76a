"""A new database is a copy of one that the process made before, and the same as one that the migrations make."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memdb.base import blank, resources
from memdb.base.storage import Database
from memdb.services.index import digests


@pytest.fixture(autouse=True)
def none_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process made no database yet."""
    monkeypatch.setattr(blank, "_kept", {})


@pytest.fixture
def laid(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each database was a copy, as they were made."""
    seen: list[bool] = []
    lay = blank.lay

    def telling(path: Path, kind: blank.Kind) -> bool:
        seen.append(lay(path, kind))
        return seen[-1]

    monkeypatch.setattr(blank, "lay", telling)
    return seen


@pytest.fixture
def make(tmp_path: Path) -> Iterator[object]:
    """Makes or opens a database by its name."""
    opened: list[Database] = []

    def one(name: str, **options: int) -> Database:
        opened.append(Database(tmp_path / name, **options))
        return opened[-1]

    yield one
    for database in opened:
        database.close()


def told(database: Database) -> list[tuple[object, ...]]:
    """All that a new database has: its objects with their statements, its header, and the rows of its tables."""
    schema = database.rows("select type, name, tbl_name, sql from sqlite_schema order by type, name")
    pragmas = ("application_id", "page_size", "user_version", "encoding", "journal_mode", "auto_vacuum")
    header = [(name, database.connection.pragma(name)) for name in pragmas]
    tables = [name for kind, name, _, sql in schema if kind == "table" and "virtual" not in sql.lower()]
    rows = [
        (name, sorted(database.rows(f'select * from "{name}"'), key=repr)) for name in tables if name != "migration"
    ]
    return [*schema, *header, *rows]


def test_a_copy_is_what_the_migrations_make(make, laid: list[bool]) -> None:
    made, _, copy = make("a.db"), make("b.db"), make("c.db")
    assert laid == [False, False, True]
    assert told(copy) == told(made)
    assert copy.check(whole=True) is None
    assert [name for (name,) in copy.rows("select name from migration")] == [name for name, _ in resources.migrations()]
    assert digests.digest(copy).tables == digests.digest(made).tables


def test_a_copy_is_dated_by_itself(make, monkeypatch: pytest.MonkeyPatch) -> None:
    make("a.db"), make("b.db")
    monkeypatch.setattr("memdb.base.storage._now", lambda: "2031-01-01T00:00:00Z")
    assert make("c.db").rows("select distinct applied_at from migration") == [("2031-01-01T00:00:00Z",)]


def test_what_was_written_is_in_no_copy(make, laid: list[bool]) -> None:
    for name in ("a.db", "b.db", "c.db"):
        database = make(name)
        with database.write():
            database.set_meta("mine", f"of {name}")
    assert laid[-1] and make("d.db").meta("mine") is None


def test_another_page_size_is_no_copy(make, laid: list[bool]) -> None:
    make("a.db"), make("b.db")
    assert make("c.db", page_size=4096).connection.pragma("page_size") == 4096
    assert laid == [False, False, False]


def test_another_list_of_migrations_is_no_copy(make, laid: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    make("a.db"), make("b.db")
    older = resources.migrations()[:3]
    monkeypatch.setattr(resources, "migrations", lambda: older)
    monkeypatch.setattr(resources, "views", lambda: ())
    assert len(make("c.db").rows("select name from migration")) == 3
    assert laid == [False, False, False]


@pytest.mark.parametrize("log", blank.LOGS)
def test_a_log_left_by_another_database_meets_no_copy(make, laid: list[bool], log: str, tmp_path: Path) -> None:
    make("a.db"), make("b.db")
    (tmp_path / f"c.db{log}").write_bytes(b"of another database")
    assert make("c.db").check(whole=True) is None
    assert laid == [False, False, False]


def test_a_file_that_is_there_stays(make, laid: list[bool], tmp_path: Path) -> None:
    make("a.db"), make("b.db")
    with make("c.db").write() as connection:
        connection.execute("insert into meta values ('mine', 'kept')")
    assert make("c.db").meta("mine") == "kept"
    assert laid[-2:] == [True, False]
    assert not list(tmp_path.glob("*.new"))


def test_a_disk_without_links_gets_its_database(make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make("a.db"), make("b.db")

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    made = make("c.db")
    assert made.check(whole=True) is None and told(made) == told(make("a.db"))
    assert not list(tmp_path.glob("*.new"))


def test_threads_that_make_one_database_at_once_all_open_it(make, tmp_path: Path) -> None:
    make("a.db"), make("b.db")

    def write(number: int) -> None:
        database = Database(tmp_path / "c.db")
        with database.write():
            database.set_meta(f"of {number}", "here")
        database.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(24)))
    assert len(make("c.db").rows("select 1 from meta where key like 'of %'")) == 24
