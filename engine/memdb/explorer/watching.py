"""Know when a store changed: by its own process, by another one, or because files on disk did."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw

from memdb.errors import MemdbError
from memdb.store import Store

LOOK = 0.5
"""Seconds between two looks at the database: one statement that reads no page."""


class Watcher:
    """Counts the changes of one store while anyone listens, in a thread; another thread follows the files then."""

    def __init__(self, store: Store, *, follow: bool = True, look: float = LOOK) -> None:
        self._store, self._follow, self._look = store, follow, look
        self._guard = threading.Lock()
        self._listeners: dict[int, Callable[[int], Any]] = {}
        self._ended: threading.Event | None = None
        self._next = 0
        self.version = 0

    def listen(self, tell: Callable[[int], Any]) -> int:
        """Have `tell` called with each new version, from another thread; returns the number to stop it by."""
        with self._guard:
            self._next += 1
            self._listeners[self._next] = tell
            if self._ended is None:
                self._ended = threading.Event()
                threading.Thread(target=self._run, args=(self._ended,), daemon=True, name="memdb-changes").start()
                if self._follow:
                    threading.Thread(target=self._files, args=(self._ended,), daemon=True, name="memdb-follow").start()
            return self._next

    def leave(self, number: int) -> None:
        """Stop telling a listener; without any nothing is watched."""
        with self._guard:
            self._listeners.pop(number, None)
            if not self._listeners and self._ended is not None:
                self._ended.set()
                self._ended = None

    def close(self) -> None:
        """Stop watching."""
        with self._guard:
            self._listeners.clear()
            if self._ended is not None:
                self._ended.set()
                self._ended = None

    def _files(self, ended: threading.Event) -> None:
        with suppress(MemdbError, apsw.Error, OSError):
            self._store.follow(lambda _event: None, ended=ended)

    def _run(self, ended: threading.Event) -> None:
        eye = Eye(self._store.place.database)
        try:
            before = eye.look()
            while not ended.wait(self._look):
                now = eye.look()
                if now is not None and now != before:
                    before = now
                    self._tell()
        finally:
            eye.close()

    def _tell(self) -> None:
        with self._guard:
            self.version += 1
            told = list(self._listeners.values())
        for tell in told:
            with suppress(RuntimeError):  # the loop of one that is going is closed
                tell(self.version)


class Eye:
    """A connection that only asks whether the file was written to since it was opened."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._connection: apsw.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._opened = 0

    def look(self) -> tuple[int, int] | None:
        """What differs once the database was changed or replaced; None where it cannot be read now."""
        try:
            status = self._database.stat()
            if self._connection is None or (status.st_dev, status.st_ino) != self._file:
                self.close()
                self._connection = apsw.Connection(str(self._database), flags=apsw.SQLITE_OPEN_READONLY)
                self._file = (status.st_dev, status.st_ino)
                self._opened += 1
            version: Any = self._connection.pragma("data_version")
        except (OSError, apsw.Error):
            self.close()
            return None
        return self._opened, int(version)

    def close(self) -> None:
        """Close the connection; the next look opens another one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


async def versions(watcher: Watcher, gone: asyncio.Event, quiet: float) -> Any:
    """The version now, then each new one; None after so many seconds without one. Ends when the client is gone."""
    loop = asyncio.get_running_loop()
    told: asyncio.Queue[int] = asyncio.Queue()
    number = watcher.listen(lambda version: loop.call_soon_threadsafe(told.put_nowait, version))
    try:
        yield watcher.version
        while not gone.is_set():
            waiting = asyncio.ensure_future(told.get())
            ending = asyncio.ensure_future(gone.wait())
            done, _ = await asyncio.wait({waiting, ending}, timeout=quiet, return_when=asyncio.FIRST_COMPLETED)
            for task in (waiting, ending):
                if task not in done:
                    task.cancel()
            if waiting in done:
                yield waiting.result()
            elif ending not in done:
                yield None
    finally:
        watcher.leave(number)
