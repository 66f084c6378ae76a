"""A process whose writes can be made to fail, or to be its last: every write call of SQLite and of Python is counted.

The counting VFS is made the process's default before memdb opens a database; files that Python writes go through `open`
and a few functions of `os`, which are replaced in this process alone. The product has no hook for any of it.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import apsw

from tests.bench.faults.disk import Disk

VFS = "memdb-faults"

KILLS = ("kill", "torn")
"""The process ends before the call, or after half of what the call was to write."""

ERRORS: dict[str, tuple[type[apsw.Error], int]] = {
    "full": (apsw.FullError, errno.ENOSPC),
    "read-only": (apsw.ReadOnlyError, errno.EROFS),
    "denied": (apsw.PermissionsError, errno.EACCES),
    "i/o error": (apsw.IOError, errno.EIO),
    "short": (apsw.FullError, errno.ENOSPC),
}
"""What SQLite is told and what Python is told; after a short write, half of the bytes are there."""

WRITING = ("w", "a", "x", "+")


@dataclass
class Faults:
    """Counts write calls while it is armed; from the one numbered `at` on, they meet the fault `how`."""

    armed: bool = False
    at: int | None = None
    how: str = "kill"
    calls: int = 0
    met: int = 0
    trace: list[str] = field(default_factory=list)
    disk: Disk | None = None  # what was written and synced, where that is to be known

    def arm(self, at: int | None, how: str = "kill") -> None:
        """Count from 0; with None, only count."""
        self.armed, self.at, self.how, self.calls, self.met = True, at, how, 0, 0
        self.trace.clear()

    def disarm(self) -> None:
        self.armed = False

    def meets(self, what: str, half: Callable[[], object] | None = None) -> bool:
        """Count a call; end the process where this one is its last; True where the call is to fail.

        Errors stay: a disk that is full at one call is full at the next.
        """
        if not self.armed:
            return False
        number = self.calls
        self.calls += 1
        self.trace.append(what)
        if self.at is None or number < self.at:
            return False
        self.met += 1
        if half is not None and self.how in ("torn", "short"):
            self.armed = False
            half()
            self.armed = True
        if self.how in KILLS:
            os.kill(os.getpid(), signal.SIGKILL)
        return True

    def sqlite_error(self) -> apsw.Error:
        return ERRORS[self.how][0](f"a fault of the bench: {self.how}")

    def os_error(self, name: object = None) -> OSError:
        number = ERRORS[self.how][1]
        return OSError(number, os.strerror(number), str(name))


FAULTS = Faults()
"""Those of this process."""


class FaultyDatabaseFile(apsw.VFSFile):
    """A database, log or journal of SQLite."""

    def __init__(self, base: str, name: Any, flags: list[int]) -> None:
        kinds = (
            (apsw.SQLITE_OPEN_WAL, "log"),
            (apsw.SQLITE_OPEN_MAIN_JOURNAL, "rollback journal"),
            (apsw.SQLITE_OPEN_MAIN_DB, "database"),
        )
        self.kind = next((said for flag, said in kinds if flags[0] & flag), "temporary")
        self.path = name if isinstance(name, str) else name.filename() if name is not None else None
        super().__init__(base, name, flags)
        if self.path is not None and FAULTS.disk is not None:
            FAULTS.disk.appeared(self.path)

    def xWrite(self, data: Any, offset: int) -> None:
        half = bytes(data)[: len(data) // 2]
        if FAULTS.meets(f"{self.kind}: write", lambda: super(FaultyDatabaseFile, self).xWrite(half, offset)):
            raise FAULTS.sqlite_error()
        super().xWrite(data, offset)
        if self.path is not None and FAULTS.disk is not None:
            FAULTS.disk.wrote(self.path, offset, bytes(data))

    def xTruncate(self, newsize: int) -> None:
        if FAULTS.meets(f"{self.kind}: truncate"):
            raise FAULTS.sqlite_error()
        super().xTruncate(newsize)
        if self.path is not None and FAULTS.disk is not None:
            FAULTS.disk.cut(self.path, newsize)

    def xSync(self, flags: int) -> None:
        if FAULTS.meets(f"{self.kind}: sync"):
            raise FAULTS.sqlite_error()
        super().xSync(flags)
        if self.path is not None and FAULTS.disk is not None:
            # Of a log or journal that it made, SQLite syncs the folder too.
            FAULTS.disk.synced(self.path, with_name=self.kind in ("log", "rollback journal"))

    def xLock(self, level: int) -> None:
        try:
            super().xLock(level)
        except apsw.IOError as error:
            # SQLite passes over it where a file is open for reading alone; apsw would raise it.
            raise apsw.BusyError(str(error)) from error


class FaultyVfs(apsw.VFS):
    """The system's VFS with counted writes; shared memory and locks are the system's own."""

    def __init__(self) -> None:
        self.base = apsw.vfs_names()[0]
        super().__init__(VFS, self.base, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> Any:
        return FaultyDatabaseFile(self.base, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        if FAULTS.meets("database: delete"):
            raise FAULTS.sqlite_error()
        super().xDelete(filename, syncdir)
        if FAULTS.disk is not None:
            FAULTS.disk.renamed()
            if syncdir:
                FAULTS.disk.synced(os.path.dirname(filename))  # noqa: PTH120


class FaultyRaw(io.FileIO):
    """A file that Python writes."""

    appends = False

    def write(self, data: Any, /) -> int:
        whole = memoryview(data).cast("B")
        half = whole[: len(whole) // 2]
        if FAULTS.meets("file: write", lambda: super(FaultyRaw, self).write(half)):
            raise FAULTS.os_error(self.name)
        disk = FAULTS.disk
        if disk is None:
            return super().write(data)
        status = os.fstat(self.fileno())
        # A file that is appended to is written at its end, wherever it was read.
        start = status.st_size if self.appends else self.tell()
        written = super().write(data)
        disk.wrote(self.fileno(), start, bytes(whole[:written]))
        return written

    def truncate(self, size: int | None = None, /) -> int:
        if FAULTS.meets("file: truncate"):
            raise FAULTS.os_error(self.name)
        cut = super().truncate(size)
        if FAULTS.disk is not None:
            FAULTS.disk.cut(self.fileno(), cut)
        return cut


_open = builtins.open


def _faulty_open(  # noqa: PLR0917 (as `open` has them)
    file: Any,
    mode: str = "r",
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    closefd: bool = True,
    opener: Any = None,
) -> Any:
    if not FAULTS.armed or not any(letter in mode for letter in WRITING):
        return _open(file, mode, buffering, encoding, errors, newline, closefd, opener)
    if FAULTS.meets("file: open"):
        raise FAULTS.os_error(file)
    raw = FaultyRaw(file, mode.replace("b", "").replace("t", ""), closefd, opener)
    raw.appends = "a" in mode
    if FAULTS.disk is not None:
        FAULTS.disk.appeared(raw.fileno())
        if "w" in mode:
            FAULTS.disk.cut(raw.fileno(), 0)
    if buffering == 0:
        return raw
    plus = io.BufferedRandom if "+" in mode else io.BufferedWriter
    buffered = plus(raw)
    return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding or "utf-8", errors, newline)


def _counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def counted(*arguments: Any, **options: Any) -> Any:
        if FAULTS.meets(f"file: {name}"):
            raise FAULTS.os_error(arguments[0] if arguments else None)
        returned = call(*arguments, **options)
        disk = FAULTS.disk
        if disk is not None and name == "fsync":
            disk.synced(arguments[0])
        elif disk is not None and name == "truncate":
            disk.cut(arguments[0], arguments[1])
        elif disk is not None and name != "chmod":
            disk.renamed()
        return returned

    return counted


OS_CALLS = ("replace", "rename", "unlink", "remove", "mkdir", "rmdir", "fsync", "chmod", "truncate", "link", "symlink")

_vfs: list[FaultyVfs] = []


def install() -> None:
    """Make this process's writes countable; before memdb opens its first database. Only for processes of the bench."""
    if _vfs:
        return
    _vfs.append(FaultyVfs())
    builtins.open = io.open = _faulty_open
    for name in OS_CALLS:
        setattr(os, name, _counted(name, getattr(os, name)))
    # A copy by the kernel would pass unseen.
    shutil._USE_CP_SENDFILE = False
