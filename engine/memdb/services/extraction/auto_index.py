"""Index what was written without being asked to: a while after the last write, by one worker at a time, when it is on.

`local/auto-index.json` says that there is work and from when on. Who writes to a store touches it; the worker, a thread
of a program that keeps the store open or a process of its own, takes it away when nothing is left. So work that a
killed worker leaves, or that has to wait for an endpoint, is found by whoever writes or reads next.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import apsw

from memdb.base import settings
from memdb.base.llm import configured
from memdb.base.place import Place
from memdb.errors import LlmOff, MemdbError
from memdb.services.context import Context
from memdb.services.files import sync
from memdb.services.health import checking

QUIET = 3.0
"""Seconds without a write after which work begins: a burst of saves is one run."""

LONGEST_QUIET = 60.0
"""Seconds after which it begins although writing goes on."""

FIRST_REST, LONGEST_REST = 300.0, 6 * 3600.0
"""Seconds until work that failed is tried again, doubled with each further failure."""


def is_on(place: Place) -> bool:
    """Whether texts are sent to the model without being asked for each time; off unless the settings say otherwise."""
    return not settings.switched_off(settings.setting(place, "auto_index", "off"))


def switch(place: Place, on: bool) -> None:
    """Write the setting."""
    written = settings.read_settings(place)
    settings.write_settings(place, written | {"auto_index": "on" if on else "off"})


@dataclass(frozen=True, slots=True)
class Due:
    """Work that waits: from when on it may be done (seconds since 1970), and how long the last rest was."""

    at: float = 0.0
    rest: float = 0.0


def due(place: Place) -> Due | None:
    """The work that waits, or None."""
    try:
        said = json.loads(_file(place).read_text(encoding="utf-8"))
        return Due(float(said["at"]), float(said["rest"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError):
        return Due()  # a torn file still says that there is work


def want(place: Place, work: Due | None = None) -> None:
    """Note that there is work. Noted again by a writer, it keeps the time from which on it may be done."""
    file = _file(place)
    with suppress(OSError):  # a folder that takes no write has no worker
        if work is None and file.exists():
            file.touch()
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"at": (work or Due()).at, "rest": (work or Due()).rest}), encoding="utf-8")


def is_due(place: Place) -> bool:
    """Whether there is work that may be done now, a model to do it, and nobody at it."""
    work = due(place)
    # A clock that was set back keeps no work waiting for longer than the longest rest.
    if work is None or time.time() < work.at <= time.time() + LONGEST_REST:
        return False
    return configured(place).status.state == "on" and not _is_taken(place)


def work(context: Context, stop: threading.Event | None = None) -> bool:
    """Do the work that waits, once writing has paused; False where another worker is at it.

    What fails is tried again after a rest that grows with each failure; nothing is raised for it.
    """
    place = context.place
    ended = stop or threading.Event()
    with _taken(place) as mine:
        if not mine:
            return False
        while due(place) is not None and not ended.is_set():
            _await_quiet(place, ended)
            if ended.is_set() or not is_on(place):
                break
            before = due(place) or Due()
            _file(place).unlink(missing_ok=True)
            if not _run(context, ended, before.rest):
                break
    return True


def _run(context: Context, ended: threading.Event, rested: float) -> bool:
    """One run; False where what is left has to wait."""
    from memdb.services.extraction import extraction_runs  # noqa: PLC0415 (a command that only looks whether there is work is short)

    again = max(FIRST_REST, min(2 * rested, LONGEST_REST))
    try:
        sync.sync(context, embed=False)
        report = extraction_runs.index(context, stop=ended)
    except LlmOff:
        return False  # nothing to wait for: the next write, with a model, begins anew
    except MemdbError:
        want(context.place, Due(time.time() + again, again))
        return False
    if report.state == "failed":
        again = max(again, report.retry_after or 0.0)
        want(context.place, Due(time.time() + again, again))
        return False
    if report.state == "stopped":
        want(context.place)
    return report.state == "done"


def _await_quiet(place: Place, ended: threading.Event) -> None:
    """Wait until nothing was written for a while."""
    end = time.monotonic() + LONGEST_QUIET
    while time.monotonic() < end:
        try:
            quiet = time.time() - _file(place).stat().st_mtime
        except OSError:
            return
        if not 0 <= quiet < QUIET or ended.wait(max(0.05, QUIET - quiet)):
            return


def _file(place: Place) -> Path:
    return place.home / "local" / "auto-index.json"


@contextmanager
def _taken(place: Place) -> Iterator[bool]:
    """Be the one worker of a store while the block lasts, if no other is."""
    import filelock  # noqa: PLC0415

    lock = filelock.FileLock(str(_file(place).with_suffix(".lock")), thread_local=False)
    try:
        _file(place).parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except (filelock.Timeout, OSError):
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def _is_taken(place: Place) -> bool:
    with _taken(place) as free:
        return not free


class Worker:
    """The worker of a program that keeps a store open: a thread that begins some seconds after a write."""

    def __init__(self, place: Place, make_context: Callable[[], Context]) -> None:
        self._place = place
        self._make_context = make_context
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def wake(self) -> None:
        """Have work done that waits, unless the thread is at it. Costs next to nothing."""
        with self._lock:
            if self._ended.is_set() or (self._thread is not None and self._thread.is_alive()):
                return
            self._thread = threading.Thread(target=self._work, daemon=True, name="memdb-auto-index")
            self._thread.start()

    def _work(self) -> None:
        if self._ended.wait(QUIET) or not is_due(self._place):
            return
        context = self._make_context()
        try:
            # What this thread cannot do, the next write or the next open of the store meets again, and says.
            with suppress(MemdbError, apsw.Error):
                work(context, self._ended)
        finally:
            checking.close(context)

    def end(self, seconds: float = 0.0) -> None:
        """Begin nothing more, and wait so long for what goes on; a question that is open is not waited for."""
        self._ended.set()
        thread = self._thread
        if thread is not None and seconds:
            thread.join(seconds)
