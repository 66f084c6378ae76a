"""Know when a store changed: by its own process, by another one, or because files on disk did."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from memdb.explorer.freshness import Freshness
from memdb.services.files.noticing import Eye
from memdb.store import Store

LOOK = 0.5
"""Seconds between two looks at the database: one statement that reads no page."""


class Watcher:
    """Counts the changes of one store while anyone listens, in a thread; the files are followed then."""

    def __init__(self, store: Store, freshness: Freshness | None = None, *, look: float = LOOK) -> None:
        self._store, self._freshness, self._look = store, freshness, look
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
                if self._freshness is not None:
                    self._freshness.hold()
            return self._next

    def leave(self, number: int) -> None:
        """Stop telling a listener; without any nothing is watched."""
        with self._guard:
            self._listeners.pop(number, None)
            if not self._listeners:
                self._end()

    def close(self) -> None:
        """Stop watching."""
        with self._guard:
            self._listeners.clear()
            self._end()

    def _end(self) -> None:
        if self._ended is not None:
            self._ended.set()
            self._ended = None
            if self._freshness is not None:
                self._freshness.release()

    def _run(self, ended: threading.Event) -> None:
        eye = Eye(self._store.place.database)
        try:
            eye.changed()
            while not ended.wait(self._look):
                if eye.changed():
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
