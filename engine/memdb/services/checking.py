"""Whether the database is as memdb left it: looked at when a store is opened, noted when it is closed."""

from __future__ import annotations

import json
import os
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

from memdb.base import files
from memdb.base.place import Place
from memdb.base.storage import Damaged
from memdb.errors import Busy, NotWritable
from memdb.services import vectors
from memdb.services.context import Context

WAIT = 2.0
"""Seconds that opening or closing waits for another writer: both go on without the lock then."""

Stamp = list[str | int]


def verify(context: Context) -> None:
    """Raise Damaged where the database is not what memdb left.

    A file that is as it was noted needs no look. One that changed although memdb closed it, and no log tells of a
    process that was killed, was written by something else: SQLite has no checksums, so nothing in it can be relied on.
    In all other cases (a crash, a copy of the folder, another process at work) SQLite's quick check has to do.
    """
    place = context.place
    as_noted = is_as_noted(place)
    changed = not as_noted and _was_changed(place)
    if changed:
        # Another process may be between closing the file and noting it.
        with suppress(Busy, NotWritable), files.writer(place, WAIT):
            changed = _was_changed(place)
    database = context.database  # a newer or foreign file is said before anything is done about a change
    if changed:
        raise Damaged(f"{place.database} was changed by something other than memdb")
    if as_noted:
        return
    wrong = database.check()
    if wrong is None and database.value(
        "select (select count(*) from memory) + (select count(*) from chunk)"
    ) != database.value("select count(*) from fts_length"):
        wrong = "rows are missing"
    if wrong is not None:
        raise Damaged(f"{place.database} is damaged: {wrong}")
    vectors.repair_index(database)
    note(place)


def close(context: Context, *, locked: bool = True) -> None:
    """Close the database and note how it was left.

    Without `locked`, as the garbage collector must, take no lock for it.
    """
    place = context.place
    with ExitStack() as held:
        # Who wrote nothing does not vouch for what the file is now.
        wrote = context.wrote or bool(_log_size(place))
        if wrote and locked:
            # Closing folds the log into the file; no one is to look at it before it is noted.
            with suppress(Busy, NotWritable):
                held.enter_context(files.writer(place, WAIT))
        context.close()
        if wrote:
            note(place)


def note(place: Place) -> None:
    """Note that the database is as memdb left it."""
    stamp = _stamp(place)
    if stamp is None or stamp == _noted(place) or not place.home.is_dir():
        return
    file = _file(place)
    with suppress(OSError):  # a read-only folder: the next open checks again
        file.parent.mkdir(exist_ok=True)
        fresh = file.with_suffix(f".{os.getpid()}-{threading.get_ident()}.tmp")
        fresh.write_text(json.dumps(stamp), encoding="utf-8")
        fresh.replace(file)


def is_as_noted(place: Place) -> bool:
    """Whether the database is as memdb left it."""
    stamp = _stamp(place)
    return stamp is not None and stamp == _noted(place)


def _was_changed(place: Place) -> bool:
    stamp, noted = _stamp(place), _noted(place)
    return stamp is not None and noted is not None and stamp != noted and stamp[0] == noted[0] and not _has_log(place)


def _file(place: Place) -> Path:
    return place.home / "local" / "checked.json"


def _stamp(place: Place) -> Stamp | None:
    try:
        status = place.database.stat()
    except OSError:
        return None
    return [str(place.database), status.st_size, status.st_mtime_ns]


def _noted(place: Place) -> Stamp | None:
    try:
        noted = json.loads(_file(place).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return noted if isinstance(noted, list) and len(noted) == 3 else None


def _log(place: Place) -> Path:
    return place.database.with_name(place.database.name + "-wal")


def _has_log(place: Place) -> bool:
    return _log(place).exists()


def _log_size(place: Place) -> int:
    try:
        return _log(place).stat().st_size
    except OSError:
        return 0
