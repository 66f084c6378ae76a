"""The SQLite file: connections, transactions, migrations, views."""

from __future__ import annotations

import errno
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import apsw
from apsw import bestpractice

from memdb.base import blank, database_file, resources
from memdb.errors import Busy, MemdbError, NewerStore, NotWritable, StoreUnreadable

APPLICATION_ID = 0x6D656D64
"""`memd` in ASCII, in the file's header: tells a memdb file from any other SQLite file."""

BUSY_MS = 30_000
"""How long a statement waits for another process's write transaction before it gives up."""

PAGE_SIZE = 8192
"""Bytes of a page of a new database: of texts longer than a page less is empty than with SQLite's 4,096."""

PRACTICES = (
    bestpractice.connection_wal,
    bestpractice.connection_enable_foreign_keys,
    bestpractice.connection_dqs,
    bestpractice.connection_recursive_triggers,
)
"""apsw's best practices, applied to our connections alone: a library does not set its host's other connections."""

DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.IOError, apsw.FormatError)
"""What SQLite raises when the file is not what it should be."""


class Damaged(MemdbError):
    """The database file is damaged, foreign or half written; it can be rebuilt from the files."""

    code = "damaged"


class Database:
    """One connection to a store's file; `read_only` where the folder takes no write."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool = True,
        page_size: int = PAGE_SIZE,
        before_write: Callable[[], None] | None = None,
    ) -> None:
        """Open, check that it is ours, migrate to the newest schema; a new one has pages of so many bytes.

        `before_write` is called before each write transaction.
        Raises Damaged where the file is no memdb database, NewerStore where a newer memdb wrote it,
        StoreUnreadable where it cannot be opened.
        """
        self.path = path
        self.read_only = False
        self.vector_reason: str | None = None
        self._busy_ms = BUSY_MS
        self._page_size = page_size
        self._laid = False
        self._before_write = before_write
        self.connection = self._connect(create)
        try:
            self._identify()
            self._load_vectors()
            if not self.read_only:
                self._migrate()
        except BaseException as error:
            self.connection.close()
            raise explain(path, error) from error

    def _connect(self, create: bool) -> apsw.Connection:
        if self.path.is_dir():
            raise StoreUnreadable(f"{self.path} is a folder, not a database file.", hint="Name a file with --db.")
        flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
        writable = os.access(self.path if self.path.exists() else self.path.parent, os.W_OK)
        writable = writable and os.access(self.path.parent, os.W_OK)
        try:
            if writable:
                self._laid = create and blank.lay(self.path, self._kind())
                connection = apsw.Connection(str(self.path), flags=flags)
            else:
                self.read_only = True
                connection = self._connect_to_read()
        except apsw.CantOpenError as error:
            raise StoreUnreadable(
                f"{self.path} cannot be opened.", hint="Check the path and its permissions, or run `memdb init`."
            ) from error
        connection.set_busy_timeout(BUSY_MS)
        return connection

    def _connect_to_read(self) -> apsw.Connection:
        """Read with the log where there is one.

        Without, a database in WAL mode opens only as immutable where no file can be made.
        """
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        address = self.path.resolve().as_uri()
        connection = apsw.Connection(address + "?mode=ro", flags=flags)
        try:
            connection.set_busy_timeout(BUSY_MS)
            connection.execute("select count(*) from sqlite_schema").fetchall()
        except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError):
            connection.close()
            connection = apsw.Connection(address + "?immutable=1", flags=flags)
        return connection

    def _identify(self) -> None:
        connection = self.connection
        found = connection.pragma("application_id")
        empty = not connection.execute("select count(*) from sqlite_schema").get
        if found != APPLICATION_ID and not empty:
            raise Damaged(f"{self.path} is a database of another program.")
        if not self.read_only:
            if empty:
                connection.pragma("page_size", self._page_size)
            for practice in PRACTICES:
                practice(connection)
            # FULL would sync at every commit; what must not be lost is in the files and the journal, which are synced.
            connection.pragma("synchronous", 1)
            connection.pragma("secure_delete", 1)
        # Else SQLite prepares a statement anew whenever other values are bound: a third of the time of a recall.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.pragma("temp_store", 2)
        connection.pragma("cache_size", -64_000)

    def _load_vectors(self) -> None:
        # Importing sqlite_vec would load numpy and the standard sqlite3, for the path of a file that lies beside it.
        package = find_spec("sqlite_vec")
        try:
            if package is None or package.origin is None:
                raise ImportError("it is not installed")
            self.connection.enable_load_extension(True)
            self.connection.load_extension(str(Path(package.origin).with_name("vec0")))
        except (ImportError, apsw.Error) as error:
            self.vector_reason = f"sqlite-vec cannot be loaded: {error}"
        finally:
            self.connection.enable_load_extension(False)

    def _migrate(self) -> None:
        known = resources.migrations()
        applied = self._applied()
        names = {name for name, _ in known}
        ahead = sorted(applied - names, key=str)
        # A newer memdb has all of our migrations and its own; anything else is no list of migrations.
        if ahead and not (names <= applied and all(re.fullmatch(r"\d{4}_\w+", str(name)) for name in ahead)):
            raise Damaged(f"{self.path} has a list of migrations that no memdb wrote.")
        if ahead:
            raise NewerStore(
                f"{self.path} was written by a newer memdb (it has {ahead[-1]}).",
                hint="Upgrade memdb: pip install --upgrade memdb-engine",
            )
        checked = self.meta("schema") == resources.migrations_digest()
        if applied and not checked and not self._has_tables_of(applied):
            raise Damaged(f"{self.path} has other tables than memdb makes.")
        if len(applied) == len(known) and checked and self.meta("views") == resources.views_digest():
            if self._laid:
                with self.write():
                    self.connection.execute("update migration set applied_at = ?", (_now(),))
            return
        with self.write():
            applied = self._applied()
            fresh = not applied
            self.connection.pragma("application_id", APPLICATION_ID)
            self.connection.execute(
                "create table if not exists migration"
                " (name text primary key, applied_at text not null) strict, without rowid"
            )
            for name, statements in known:
                if name not in applied:
                    self.connection.execute(statements)
                    self.connection.execute("insert into migration values (?, ?)", (name, _now()))
            self.set_meta("schema", resources.migrations_digest())
            self._create_views()
            if fresh:
                blank.keep(self._kind(), self.connection)

    def _kind(self) -> blank.Kind:
        return resources.migrations_digest(), resources.views_digest(), self._page_size

    def _has_tables_of(self, applied: set[str]) -> bool:
        """Whether tables, indexes and triggers are as these migrations make them; what somebody added is not looked at.

        An unfinished memdb may have had other ones under the same names.
        """
        model = apsw.Connection(":memory:")
        try:
            for name, statements in resources.migrations():
                if name in applied:
                    model.execute(statements)
            return schema_of(model) <= schema_of(self.connection)
        except apsw.SQLError:
            return False  # they do not build on one another
        finally:
            model.close()

    def _applied(self) -> set[str]:
        if not self.connection.table_exists(None, "migration"):
            return set()
        return {name for (name,) in self.connection.execute("select name from migration")}

    def _create_views(self) -> None:
        for (name,) in self.connection.execute("select name from sqlite_schema where type = 'view'").fetchall():
            self.connection.execute(f'drop view "{name}"')
        for _, statement in resources.views():
            self.connection.execute(statement)
        self.set_meta("views", resources.views_digest())

    @contextmanager
    def patience(self, seconds: float) -> Iterator[None]:
        """Wait for other processes' transactions so long, instead of BUSY_MS."""
        before, self._busy_ms = self._busy_ms, int(seconds * 1000)
        self.connection.set_busy_timeout(self._busy_ms)
        try:
            yield
        finally:
            self._busy_ms = before
            self.connection.set_busy_timeout(before)

    def close(self) -> None:
        """Close the connection; SQLite folds the write-ahead log into the file when it is the last one.

        What cannot be folded, on a full disk, stays in the log.
        """
        with suppress(apsw.Error):
            self.connection.close()

    @contextmanager
    def write(self) -> Iterator[apsw.Connection]:
        """One write transaction (BEGIN IMMEDIATE); whole or not at all. Raises Busy, NotWritable, Damaged."""
        if self.read_only:
            raise NotWritable(
                f"{self.path} or its folder is read-only.", hint="Change its permissions, or copy the store."
            )
        if self._before_write is not None:
            self._before_write()
        try:
            self.connection.execute("begin immediate")
            yield self.connection
            self.connection.execute("commit")
        except BaseException as error:
            if self.connection.in_transaction:
                self.connection.execute("rollback")
            raise explain(self.path, error) from error

    @contextmanager
    def read(self) -> Iterator[apsw.Connection]:
        """One read transaction: every statement inside sees the same state of the store."""
        inside = self.connection.in_transaction
        if inside:
            yield self.connection
            return
        self.connection.execute("begin")
        try:
            yield self.connection
        finally:
            if self.connection.in_transaction:
                self.connection.execute("rollback")

    def rows(self, sql: str, values: Any = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        return self.connection.execute(sql, values).fetchall()

    def value(self, sql: str, values: Any = ()) -> Any:
        """The first column of the first row, or None."""
        row = self.connection.execute(sql, values).fetchone()
        return row[0] if row else None

    def meta(self, key: str) -> str | None:
        """One setting or stamp of the file."""
        if not self.connection.table_exists(None, "meta"):
            return None
        found = self.connection.execute("select value from meta where key = ?", (key,)).fetchone()
        return str(found[0]) if found else None

    def set_meta(self, key: str, value: str | None) -> None:
        """Set or, with None, remove a stamp."""
        if value is None:
            self.connection.execute("delete from meta where key = ?", (key,))
        else:
            self.connection.execute("insert or replace into meta values (?, ?)", (key, value))

    def check(self, *, whole: bool = False) -> str | None:
        """What SQLite's own quick check finds wrong, or None. Reads the whole file.

        With `whole`, indexes are compared with their tables too, which takes longer.
        """
        try:
            found = [row[0] for row in self.connection.execute(f"pragma {'integrity' if whole else 'quick'}_check(5)")]
        except DAMAGE as error:
            return str(error)
        return None if found == ["ok"] else "; ".join(str(line) for line in found)


def page_size_of(path: Path) -> int:
    """The bytes of a page of a database as its header has them; of what is no database, those of a new one."""
    try:
        header = database_file.head(path, 18)
    except OSError:
        return PAGE_SIZE
    size = int.from_bytes(header[16:18], "big")
    size = 65_536 if size == 1 else size
    return (
        size
        if header.startswith(b"SQLite format 3\0") and size in (1 << power for power in range(9, 17))
        else PAGE_SIZE
    )


def schema_of(connection: apsw.Connection) -> set[tuple[str, str, str]]:
    """What a database has, as `(type, name, statement)`; comments and blanks do not count, nor do views."""
    rows = connection.execute("select type, name, coalesce(sql, '') from sqlite_schema where type <> 'view'")
    return {
        (kind, name, "".join(re.sub(r"--[^\n]*", "", statement).lower().split()))
        for kind, name, statement in rows
        if not name.startswith("sqlite_")
    }


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


READ_ERRORS = (
    apsw.SQLITE_IOERR_READ,
    apsw.SQLITE_IOERR_SHORT_READ,
    apsw.SQLITE_IOERR_CORRUPTFS,
    apsw.SQLITE_IOERR_DATA,
)
"""The I/O errors that tell of the file; all others tell of a disk that takes no write."""

UNREADABLE_VALUES = (UnicodeDecodeError, json.JSONDecodeError)
"""What a text or JSON in a damaged page raises when it is read: memdb wrote valid ones."""

MISSING_PARTS = (
    "no such table",
    "no such column",
    "already exists",
    "malformed",
    "no such module",
    "vtable constructor",
)
"""What SQLite says when a file has other tables than it should: half written, or changed by another program."""


WHOLE = "Free some space on its disk, then try again. What was asked for is done whole or not at all."
"""What a write that failed comes to: a decision that was journaled before is shown by the next sync."""

REFUSED = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO)
"""What an operating system says of a file that it does not let be written (or read) now."""


def explain(path: Path, error: BaseException) -> BaseException:  # noqa: PLR0911 (one for each kind of error)
    """The memdb error for an SQLite error, with what to do next; any other error as it is."""
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return Busy(
            f"Another process is writing {path}.",
            hint="Wait for it to finish, or end it, then try again; nothing was changed.",
        )
    if isinstance(error, apsw.FullError):
        return NotWritable(f"The disk that holds {path} is full.", hint=WHOLE)
    if isinstance(error, apsw.IOError) and getattr(error, "extendedresult", 0) not in READ_ERRORS:
        return NotWritable(f"{path} takes no write: {error}", hint=WHOLE)
    if isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError):
        return NotWritable(f"{path} takes no write: {error}", hint="Check the permissions of the file and its folder.")
    if isinstance(error, OSError) and error.errno in REFUSED:
        return NotWritable(
            f"{error.filename or path} cannot be read or written: {error.strerror}.",
            hint="Check the permissions and the free space, then try again.",
        )
    if isinstance(error, (*DAMAGE, *UNREADABLE_VALUES)):
        return Damaged(f"{path} cannot be read as a database: {error}")
    if isinstance(error, apsw.SQLError) and any(part in str(error) for part in MISSING_PARTS):
        return Damaged(f"{path} is half written: {error}")
    return error
