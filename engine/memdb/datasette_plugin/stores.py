"""Which of Datasette's databases are stores, and what a connection needs before Datasette may look at one."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from datasette.utils.sqlite import sqlite3  # pysqlite3 where that is installed, with errors of its own

from memdb.base import database_file
from memdb.base.place import FOLDER
from memdb.base.words import query_words

APPLICATION_ID = b"memd"
"""Bytes 68 to 71 of a store's file."""

WAL_FRAMES = 100_000
"""So many pages of a log are looked through for the first page of the file; a checkpoint comes after 1,000."""

VECTOR_TABLE = "vec_passage"
"""The table of a store that needs sqlite-vec."""


def file_of(datasette: Any, database: str | None) -> Path | None:
    """The file of a database that is a store; None of any other."""
    found = datasette.databases.get(database) if database else None
    path = getattr(found, "path", None)
    if not path:
        return None
    file = Path(path)
    try:
        status = file.stat()
        identity = (path, status.st_dev, status.st_ino)
        if identity not in _STORES:
            if not _is_marked(file):
                return None
            _STORES.add(identity)
    except OSError:
        return None
    return file


_STORES: set[tuple[str, int, int]] = set()
"""Files that are known for stores: none is opened again only to be looked at."""


def _is_marked(file: Path) -> bool:
    return database_file.head(file, 72)[68:] == APPLICATION_ID or _is_marked_in_wal(file)


def _is_marked_in_wal(file: Path) -> bool:
    """Whether the write-ahead log of a new store has the first page that the file itself still lacks.

    The log is a header of 32 bytes with the size of a page at 8, then frames: number, 20 bytes, the page
    (https://www.sqlite.org/fileformat2.html#walformat).
    """
    try:
        with file.with_name(f"{file.name}-wal").open("rb") as log:
            size = int.from_bytes(log.read(32)[8:12], "big")
            for number in range(WAL_FRAMES):
                log.seek(32 + number * (24 + size))
                frame = log.read(24 + 72)
                if len(frame) < 24 + 72:
                    return False
                if int.from_bytes(frame[:4], "big") == 1 and frame[24 + 68 :] == APPLICATION_ID:
                    return True
    except OSError:
        pass
    return False


def root_of(file: Path) -> Path | None:
    """The folder whose store a file is; None where the database lies elsewhere."""
    return file.parent.parent if file.parent.name == FOLDER else None


def prepare(connection: sqlite3.Connection, recall: Callable[[str], str]) -> None:
    """Load sqlite-vec, or hide its tables behind empty ones; add `memdb_match`, and `recall` as `memdb_recall`.

    Datasette's own search, `escape_fts`, becomes that of the store: the index has words in pieces, and any text is
    right.
    """
    if not _load_vec(connection):
        hide_vec_tables(connection)
    for name in ("memdb_match", "escape_fts"):
        connection.create_function(name, 1, lambda text: match(str(text or "")), deterministic=True)
    connection.create_function("memdb_recall", 1, lambda text: recall(str(text or "")))


def _load_vec(connection: sqlite3.Connection) -> bool:
    """Whether sqlite-vec is there now: many Pythons are built without loadable extensions."""
    if not hasattr(connection, "enable_load_extension"):
        return False
    try:
        connection.enable_load_extension(True)
        connection.load_extension(str(_vec_of_its_own()))
    except (sqlite3.Error, OSError):
        return False
    finally:
        with suppress(sqlite3.Error):
            connection.enable_load_extension(False)
    return True


@cache
def _vec_of_its_own() -> Path:
    """A copy of sqlite-vec for Datasette's SQLite, without the suffix of its file. Raises OSError where none is safe.

    The store itself loads sqlite-vec into the SQLite of apsw. A library that is loaded from one file is in a process
    once, with one pointer to SQLite's functions: one SQLite would be called with what belongs to the other, and the
    process would die of it.
    """
    import sqlite_vec  # noqa: PLC0415

    original = Path(sqlite_vec.loadable_path())
    [file] = original.parent.glob(f"{original.name}.*")
    folder = Path(tempfile.mkdtemp(prefix="memdb-vec-"))
    # On Windows a library in use stays; the system's own clearing of temporary folders takes it.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copy = Path(shutil.copy2(file, folder / file.name))
    if sys.platform.startswith("linux"):
        for one in (file, copy):
            _bind_to_itself(one)
    return folder / original.name


def _bind_to_itself(library: Path) -> None:
    """Load a library so that it finds its own pointer: SQLite makes the names in it those of the whole process."""
    import ctypes  # noqa: PLC0415

    mode = getattr(os, "RTLD_DEEPBIND", None)
    if mode is None:
        raise OSError(f"{library} cannot be kept apart from another copy of it.")
    ctypes.CDLL(str(library), mode=os.RTLD_NOW | os.RTLD_LOCAL | mode)


def hide_vec_tables(connection: sqlite3.Connection) -> None:
    """Put an empty temporary table before each vec0 table: Datasette does not start where it cannot describe one.

    The file itself is opened read-only and is not touched. The table of a store that has no vectors yet is hidden as
    well: it comes with the first of them, while this connection is open.
    """
    found = connection.execute("select name from main.sqlite_schema where sql like 'create virtual table%using vec0%'")
    for name in sorted({VECTOR_TABLE, *(str(name) for (name,) in found)}):
        quoted = name.replace('"', '""')
        connection.execute(f'create temp table if not exists "{quoted}" (rowid integer primary key)')


def match(text: str) -> str:
    """Any text as an FTS5 query for any of its words, as the index has them."""
    return " OR ".join('"' + word.replace('"', '""') + '"' for word in query_words(text)) or '""'
