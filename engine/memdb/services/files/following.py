"""Follow the files: sync a little after they change, however they change, and now and then without being told.

Notices of the system (package `watchfiles`) say that something changed; what changed, a sync finds out itself. So a
notice that is lost, comes twice or names a temporary file does no harm: a walk every minute finds what no notice told
of, and without the package, or where the system gives no notices, a walk every two seconds does all of it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from memdb.base import files
from memdb.base.place import FOLDER, Place
from memdb.errors import MemdbError, Refused, StoreUnreadable
from memdb.services.context import Context, Progress, silent
from memdb.services.files.sync import SyncReport

QUIET = 0.2
"""Seconds without a change after which a sync begins: an editor's save is several changes."""

LONGEST_QUIET = 2.0
"""Seconds after which it begins although changes go on."""

WALK = 60.0
"""Seconds between two walks of all files where the system gives notices."""

POLL = 2.0
"""The same where it gives none, and until what could not be synced is tried again."""

LOOK = 1.0
"""Seconds between two looks at whether the watched folders are still the same ones."""


@dataclass(frozen=True, slots=True)
class Followed:
    """Something that happened; `kind` is watching, synced, unreadable, refused, failed, stopped.

    `notices` says whether the system tells of changes; `message` is for people, `report` says what was synced.
    """

    kind: str
    message: str = ""
    notices: bool = True
    folders: tuple[str, ...] = ()
    report: SyncReport | None = None
    seconds: float = 0.0


Tell = Callable[[Followed], None]
Stamps = tuple[tuple[int, ...] | None, ...]


class Followable(Protocol):
    """What is followed: a store."""

    place: Place

    def sync(self, *, progress: Progress = silent) -> SyncReport: ...

    def mirrored(self) -> Sequence[Path]: ...

    def close(self) -> None: ...


class _Ended(Exception):
    """The event was set while a sync went on; what is left of it the next one does."""


class Follower:
    """Follows one store in the thread that calls `run`, by a store of its own that `make` opens."""

    def __init__(
        self,
        make: Callable[[], Followable],
        tell: Tell,
        *,
        ended: threading.Event | None = None,
        walk: float = WALK,
        poll: float = POLL,
        notices: bool = True,
    ) -> None:
        self._make, self._tell = make, tell
        self._store = make()
        self._place = self._store.place
        self._config = _stamps((self._place.config,), _stamp)
        self._ended = ended or threading.Event()
        self._walk, self._poll = walk, poll
        self._notices = notices and find_spec("watchfiles") is not None
        self._trouble: str | None = None

    def run(self) -> None:
        """Follow until the event is set. Nothing that files or other processes do is raised; it is told."""
        try:
            self._sync()
            while not self._ended.is_set():
                self._follow()
        finally:
            self._store.close()
        self._tell(Followed("stopped", notices=self._notices))

    def _added(self) -> Sequence[Path]:
        try:
            return self._store.mirrored()
        except MemdbError:
            return ()  # the next sync says what is wrong

    def _follow(self) -> None:
        """Follow one set of folders, until it changes."""
        folders = self._folders()
        identities = _stamps(folders, _identity)
        single = self._single()
        stamps = _stamps(single, _stamp)
        self._tell(Followed("watching", notices=self._notices, folders=tuple(str(folder) for folder in folders)))
        due = 0.0  # what changed before the notices began, the first look finds
        with closing(self._changes(folders)) as changes:
            for changed in changes:
                if self._ended.is_set():
                    return
                now = _stamps(single, _stamp)
                if changed or now != stamps or time.monotonic() >= due:
                    again = self._sync()
                    due = time.monotonic() + (self._pause if again is None else again)
                stamps = now
                if (self._folders(), self._single()) != (folders, single):
                    return
                if _stamps(folders, _identity) != identities:
                    return

    @property
    def _pause(self) -> float:
        return self._walk if self._notices else self._poll

    def _folders(self) -> tuple[Path, ...]:
        """The folders to watch that are there; one inside another is watched with it."""
        there = sorted({path for path in (self._place.root, *self._added()) if path.is_dir()})
        return tuple(path for path in there if not any(other in path.parents for other in there))

    def _single(self) -> tuple[Path, ...]:
        """Files that were added alone: what lies around them is nobody's business, so they are looked at instead."""
        return tuple(path for path in self._added() if not path.is_dir())

    def _changes(self, folders: tuple[Path, ...]) -> Generator[bool, None, None]:
        """True after a change, False after some time without one."""
        if self._notices and folders:
            try:
                yield from self._told(folders)
                return
            except (OSError, RuntimeError) as error:
                # More folders than the system watches, or a file system that gives no notices: walks do it.
                self._notices = False
                self._tell(Followed("failed", f"The system gives no notices ({error}); the files are walked.", False))
        while not self._ended.wait(min(LOOK, self._pause)):
            yield False

    def _told(self, folders: tuple[Path, ...]) -> Generator[bool, None, None]:
        import watchfiles  # noqa: PLC0415 (not installed everywhere)

        batches = watchfiles.watch(
            *folders,
            watch_filter=self.concerns,
            debounce=int(LONGEST_QUIET * 1000),
            step=int(QUIET * 1000),
            rust_timeout=int(LOOK * 1000),
            yield_on_timeout=True,
            stop_event=self._ended,
            raise_interrupt=False,
            ignore_permission_denied=True,
        )
        for batch in batches:
            yield bool(batch)

    def concerns(self, _change: Any, path: str) -> bool:
        """Whether a changed path may be a memory, a document, a folder of them or the journal."""
        home = f"{self._place.home}{os.sep}"
        if path.startswith(home):
            return path.startswith(str(self._place.journal))
        root = f"{self._place.root}{os.sep}"
        *folders, name = path.removeprefix(root).split(os.sep)  # noqa: PTH206 (called for every change of a burst)
        if any(folder in files.SKIPPED_FOLDERS or folder in (".git", FOLDER) for folder in folders):
            return False
        return name != FOLDER and not name.endswith(files.TEMPORARY_SUFFIXES)

    def _opened(self) -> Followable:
        """The store; anew where its settings changed, another model for example."""
        config = _stamps((self._place.config,), _stamp)
        if config not in (self._config, (None,)):
            self._store.close()
            self._store, self._config = self._make(), config
        return self._store

    def _sync(self) -> float | None:
        """One sync; seconds until it has to be tried again, None where the usual pause will do."""
        begun = time.monotonic()
        try:
            report = self._opened().sync(progress=self._go_on)
        except _Ended:
            return None
        except MemdbError as error:
            known = {Refused: "refused", StoreUnreadable: "unreadable"}
            kind = next((name for type_, name in known.items() if isinstance(error, type_)), "failed")
            message = f"{error.message} {error.hint}" if error.hint else error.message
            if message != self._trouble:
                self._tell(Followed(kind, message, self._notices))
            self._trouble = message
            return self._poll
        if self._trouble is not None or did_something(report):
            seconds = round(time.monotonic() - begun, 3)
            self._tell(Followed("synced", notices=self._notices, report=report, seconds=seconds))
        self._trouble = None
        return None

    def _go_on(self, _what: str, _done: int, _total: int) -> None:
        """Between two batches of a sync: thousands of texts that wait for the model keep nobody from ending."""
        if self._ended.is_set():
            raise _Ended


def added_paths(context: Context) -> list[Path]:
    """The files and folders that the store mirrors, there or not."""
    from memdb.base import fetching  # noqa: PLC0415
    from memdb.domain.documents import UPLOAD, real_path  # noqa: PLC0415 (it brings the extractors)

    rows = context.database.rows("select path from addition where not excluded order by path")
    paths = [path for (path,) in rows if not fetching.is_address(path) and not path.startswith(UPLOAD)]
    return [real_path(path, context.place.root) for path in paths]


def did_something(report: SyncReport) -> bool:
    """Whether a sync changed the index."""
    documents = report.documents
    return any(
        (
            *(report.added, report.changed, report.removed, report.renamed, report.embedded),
            *(documents.added, documents.changed, documents.moved, documents.removed, documents.chunks),
        )
    )


def _stamps(paths: Sequence[Path], of: Callable[[os.stat_result], tuple[int, ...]]) -> Stamps:
    found: list[tuple[int, ...] | None] = []
    for path in paths:
        try:
            found.append(of(path.stat()))
        except OSError:
            found.append(None)
    return tuple(found)


def _identity(status: os.stat_result) -> tuple[int, ...]:
    """Another folder of the same name gives no notices to who watched the first."""
    return status.st_dev, status.st_ino


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
