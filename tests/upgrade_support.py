"""Databases of every schema version so far, made from the migrations up to it and rows as they were then."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw

from memdb.base import resources, settings
from memdb.base.storage import APPLICATION_ID
from memdb.store import Store
from tests.fake_embedder import FakeEmbedder

FOLDER = Path(__file__).parent / "upgrades"
"""`vault` has the files and the journal; `NNNN_name.sql` the rows of the tables that this migration brought."""

VERSIONS = range(1, len(resources.migrations()) + 1)


def embedder() -> FakeEmbedder:
    """The model whose vectors the rows have."""
    return FakeEmbedder(dims=8)


def folder(root: Path) -> Path:
    """A copy of the vault with its journal and its snapshots, without a database."""
    shutil.copytree(FOLDER / "vault", root, ignore=shutil.ignore_patterns("journal", "snapshots"))
    settings.initialise(settings.place(root))
    for name in ("journal", "snapshots"):
        shutil.copytree(FOLDER / "vault" / name, root / ".memdb" / name, dirs_exist_ok=True)
    return root


def database(version: int, file: Path) -> None:
    """Write the database of a version: each migration, then the rows of that time, as they came to be."""
    connection = apsw.Connection(str(file))
    connection.pragma("page_size", 4096)
    connection.pragma("journal_mode", "wal")
    connection.pragma("application_id", APPLICATION_ID)
    connection.execute("create table migration (name text primary key, applied_at text not null) strict, without rowid")
    for name, statements in resources.migrations()[:version]:
        connection.execute(statements)
        connection.execute("insert into migration values (?, '2026-01-01T00:00:00Z')", (name,))
        rows = FOLDER / f"{name}.sql"
        if rows.is_file():
            _insert(connection, rows.read_text(encoding="utf-8"))
    connection.close()


def _insert(connection: apsw.Connection, rows: str) -> None:
    # The rows are those after all triggers had their say.
    triggers = connection.execute("select name, sql from sqlite_schema where type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f'drop trigger "{name}"')
    connection.execute(rows)
    for _, statement in triggers:
        connection.execute(statement)


def old_store(version: int, root: Path) -> Store:
    """A store whose database is of a version, opened, and so migrated, by this memdb."""
    folder(root)
    database(version, root / ".memdb" / "memory.db")
    return Store.init(root, embedder=embedder())
