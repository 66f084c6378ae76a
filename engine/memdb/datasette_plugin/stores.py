"""Which of Datasette's databases are stores, and what a connection needs before Datasette may look at one."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

from memdb.base.place import FOLDER
from memdb.base.words import query_words

APPLICATION_ID = b"memd"
"""Bytes 68 to 71 of a store's file."""


def file_of(datasette: Any, database: str | None) -> Path | None:
    """The file of a database that is a store; None of any other."""
    found = datasette.databases.get(database) if database else None
    path = getattr(found, "path", None)
    if not path:
        return None
    file = Path(path)
    try:
        with file.open("rb") as opened:
            head = opened.read(72)
    except OSError:
        return None
    return file if head[68:72] == APPLICATION_ID else None


def root_of(file: Path) -> Path | None:
    """The folder whose store a file is; None where the database lies elsewhere."""
    return file.parent.parent if file.parent.name == FOLDER else None


def prepare(connection: sqlite3.Connection, file: Path) -> None:
    """Load sqlite-vec, or hide its tables behind empty ones; add `memdb_match` and `memdb_recall`.

    Datasette's own search, `escape_fts`, becomes that of the store: the index has words in pieces, and any text is
    right.
    """
    if not _load_vec(connection):
        hide_vec_tables(connection)
    for name in ("memdb_match", "escape_fts"):
        connection.create_function(name, 1, lambda text: match(str(text or "")), deterministic=True)
    connection.create_function("memdb_recall", 1, lambda text: _recall(file, str(text or "")))


def _load_vec(connection: sqlite3.Connection) -> bool:
    """Whether sqlite-vec is there now: many Pythons are built without loadable extensions."""
    import sqlite_vec  # noqa: PLC0415

    if not hasattr(connection, "enable_load_extension"):
        return False
    try:
        connection.enable_load_extension(True)
        sqlite_vec.load(connection)
    except sqlite3.Error:
        return False
    finally:
        with suppress(sqlite3.Error):
            connection.enable_load_extension(False)
    return True


def hide_vec_tables(connection: sqlite3.Connection) -> None:
    """Put an empty temporary table before each vec0 table: Datasette does not start where it cannot describe one.

    The file itself is opened read-only and is not touched.
    """
    names = connection.execute("select name from main.sqlite_schema where sql like 'create virtual table%using vec0%'")
    for (name,) in names.fetchall():
        quoted = str(name).replace('"', '""')
        connection.execute(f'create temp table if not exists "{quoted}" (rowid integer primary key)')


def match(text: str) -> str:
    """Any text as an FTS5 query for any of its words, as the index has them."""
    return " OR ".join('"' + word.replace('"', '""') + '"' for word in query_words(text)) or '""'


def _recall(file: Path, text: str) -> str:
    """The hits of a recall as JSON: the store's own answer, on a connection of its own."""
    import json  # noqa: PLC0415
    from dataclasses import asdict  # noqa: PLC0415

    import memdb  # noqa: PLC0415

    root = root_of(file)
    if root is None:
        return json.dumps([{"id": None, "reason": "The database lies outside of its store: recall needs the files."}])
    with memdb.open(root) as store:
        answer = store.recall(text)
        return json.dumps([asdict(hit) for hit in answer.hits], ensure_ascii=False, default=str)
