"""Keep an index up to the files while it is looked at, so that to look at one thing costs no walk over all files.

A thread follows the files by notices of the system, and walks them now and then for what no notice told. Where there
are no notices, each question walks the files itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import apsw

from memdb.base import secrets
from memdb.base.place import Place
from memdb.errors import MemdbError
from memdb.services.context import Progress, silent
from memdb.services.files.following import WALK, Followed, Follower
from memdb.services.files.sync import SyncReport
from memdb.store import Store

IDLE = 60.0
"""Seconds without a question after which the files are followed no more."""

FOLLOWED = "The files are followed: what changes on disk is here a moment later."
BEGINNING = "The files begin to be followed; until then each question looks at all of them."
FAILED = "The files could not be followed ({}): each question looks at all of them, and begins to follow them again."
WALKED = "The system gives no notices of changed files (package watchfiles): each question looks at all of them."


class Freshness:
    """Follows the files of a store from the first question on, and tells the store that it need not look at them."""

    def __init__(self, store: Store, *, idle: float = IDLE, walk: float = WALK, notices: bool = True) -> None:
        self._store, self._idle, self._walk, self._notices = store, idle, walk, notices
        self._guard = threading.Lock()
        self._held = 0
        self._used = 0.0
        self._ended: threading.Event | None = None
        self._watching = False
        self._without_notices = False
        self._fresh = False
        self._failed: str | None = None  # why the files are not followed, where that ended by itself
        store.followed_by(self.is_fresh)

    def is_fresh(self) -> bool:
        """Whether what changed on disk until a moment ago is in the index."""
        return self._fresh

    @property
    def said(self) -> str:
        """How the index is kept up to the files, for people."""
        if self._fresh:
            return FOLLOWED
        if self._failed is not None:
            return FAILED.format(self._failed)
        return WALKED if self._without_notices else BEGINNING

    def use(self) -> None:
        """Follow from now on, until nobody asked for some time."""
        self._used = time.monotonic()
        with self._guard:
            if self._ended is None:
                self._ended = threading.Event()
                thread = threading.Thread(target=self._run, args=(self._ended,), daemon=True, name="memdb-follow")
                thread.start()

    def hold(self) -> None:
        """Follow until `release`, asked or not."""
        self._held += 1
        self.use()

    def release(self) -> None:
        """Take one `hold` back."""
        self._held -= 1

    def close(self) -> None:
        """Follow no more; the next question begins anew."""
        with self._guard:
            self._fresh = False
            if self._ended is not None:
                self._ended.set()
                self._ended = None

    def _run(self, ended: threading.Event) -> None:
        def make() -> _Synced:
            return _Synced(self._store.another(), self, ended)

        failed: str | None = None
        try:
            follower = Follower(
                make, lambda event: self._told(event, ended), ended=ended, walk=self._walk, notices=self._notices
            )
            follower.run()
        except (MemdbError, apsw.Error, OSError) as error:
            failed = secrets.redact(str(error).rstrip("."))
        finally:
            with self._guard:
                if self._ended is ended:
                    self._fresh, self._ended, self._failed = False, None, failed

    def _told(self, event: Followed, ended: threading.Event) -> None:
        with self._guard:
            if self._ended is not ended:
                return
            self._without_notices = not event.notices
            if event.kind == "watching":
                # Of what changed before, only the next walk knows.
                self._watching, self._fresh = event.notices, False
            elif event.kind != "synced":
                self._fresh = False

    def synced(self, ended: threading.Event) -> None:
        """The index is up to the files."""
        with self._guard:
            if self._ended is not ended:
                return
            self._fresh = self._watching and not self._without_notices
            self._failed = None
            if not self._held and time.monotonic() - self._used > self._idle:
                self._fresh, self._ended = False, None
                ended.set()

    @property
    def place(self) -> Place:
        """Where the store is."""
        return self._store.place


class _Synced:
    """A store of its own that is followed, which says when it was synced."""

    def __init__(self, store: Store, freshness: Freshness, ended: threading.Event) -> None:
        self._store, self._freshness, self._ended = store, freshness, ended
        self.place = store.place

    def sync(self, *, progress: Progress = silent) -> SyncReport:
        report = self._store.sync(progress=progress)
        self._freshness.synced(self._ended)
        return report

    def mirrored(self) -> Sequence[Path]:
        return self._store.mirrored()

    def close(self) -> None:
        self._store.close()
