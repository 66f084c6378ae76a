"""Work that takes minutes: in a thread, on a store of its own, with progress as events."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import asdict
from typing import Any

import apsw

from memdb.errors import Busy, MemdbError
from memdb.explorer.answers import error_shape
from memdb.services.context import Progress
from memdb.services.extraction.extraction_runs import RunReport
from memdb.services.files.sync import SyncReport
from memdb.store import Store

PAUSE = 0.1
"""Seconds between two events of one step: a person reads no faster."""

Event = tuple[str, dict[str, Any]]


def sync(store: Store, given: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Bring the index up to the files, embedding what waits."""
    report = store.sync(progress=progress)
    return {"report": sync_report(report), "said": said_of_sync(report)}


def index(store: Store, given: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Ask the language model about texts that it has not read."""
    report: RunReport = store.index(limit=given.get("limit"), progress=progress)
    return {"report": asdict(report), "said": report.message or f"{report.done} texts indexed, {report.failed} failed."}


def sync_report(report: SyncReport) -> dict[str, Any]:
    """A sync as its counts, `problems`, `ignored: [{path, reason}]` and `documents`."""
    shape = asdict(report)
    shape["ignored"] = [{"path": path, "reason": reason} for path, reason in report.ignored]
    shape["documents"]["failed"] = [{"path": path, "reason": reason} for path, reason in report.documents.failed]
    return shape


def said_of_sync(report: SyncReport) -> str:
    """What a sync did, in a sentence."""
    names = ("added", "changed", "removed", "renamed", "embedded")
    did = [f"{getattr(report, name)} {name}" for name in names if getattr(report, name)]
    return f"Synced: {', '.join(did) or 'nothing to do'}."


WORK = {"sync": sync, "index": index}


class LongWork:
    """The long work of one store: each kind runs once at a time, and goes on when its client goes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._guard = threading.Lock()
        self._running: set[str] = set()

    def start(self, name: str, given: Mapping[str, Any]) -> AsyncIterator[Event]:
        """Start it; gives `progress` events with stage, done and total, then `done` or `error`. Raises Busy."""
        with self._guard:
            if name in self._running:
                raise Busy(f"{name} is at work already.", hint="Wait for it; `memdb runs` shows how far it is.")
            self._running.add(name)
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[Event | None] = asyncio.Queue()

        def put(event: Event | None) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(events.put_nowait, event)

        # A daemon: the server need not wait for it to end; what it did so far is kept.
        threading.Thread(target=self._run, args=(name, dict(given), put), daemon=True, name=f"memdb-{name}").start()
        return _until_none(events)

    def _run(self, name: str, given: Mapping[str, Any], put: Callable[[Event | None], None]) -> None:
        try:
            # On a store of its own: questions need not wait for it.
            with Store(self._store.place) as own:
                put(("done", {"ok": True} | WORK[name](own, given, Told(put))))
        except MemdbError as error:
            put(("error", error_shape(error)))
        except (apsw.Error, OSError) as error:
            put(("error", error_shape(MemdbError(f"{type(error).__name__}: {error}"))))
        finally:
            with self._guard:
                self._running.discard(name)
            put(None)


class Told:
    """Progress as events, now and then, and always the last of a step."""

    def __init__(self, put: Callable[[Event | None], None]) -> None:
        self._put, self._last, self._stage = put, 0.0, ""

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if stage != self._stage or done >= total or now - self._last >= PAUSE:
            self._stage, self._last = stage, now
            self._put(("progress", {"stage": stage, "done": done, "total": total}))


async def _until_none(events: asyncio.Queue[Event | None]) -> AsyncIterator[Event]:
    while (event := await events.get()) is not None:
        yield event
