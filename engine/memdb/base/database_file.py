"""The bytes of a database's file, read the way SQLite reads them.

On Linux and macOS, a process that opens a file and closes it again drops every lock that it holds on that file, those
of its database connections too: another process could then take away the log that a connection writes to. SQLite's own
file layer knows of the connections and puts the closing off (https://www.sqlite.org/howtocorrupt.html, 2.2).
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

FLAGS = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY


def head(path: Path, size: int) -> bytes:
    """The first bytes of a file, fewer where it has fewer. Raises OSError."""
    with _opened(path) as file:
        return file.xRead(min(size, file.xFileSize()), 0)


def blocks(path: Path, size: int) -> Iterator[bytes]:
    """All bytes of a file, in blocks of `size`. Raises OSError."""
    with _opened(path) as file:
        end = file.xFileSize()
        for start in range(0, end, size):
            yield file.xRead(min(size, end - start), start)


@contextmanager
def _opened(path: Path) -> Iterator[apsw.VFSFile]:
    path.stat()  # says by the right error what is missing or not allowed
    try:
        file = apsw.VFSFile("", str(path), [FLAGS, 0])
        try:
            yield file
        finally:
            file.xClose()
    except apsw.Error as error:
        raise OSError(errno.EIO, str(error), str(path)) from error
