"""Whether the database is as memdb left it: looked at when a store is opened, noted when it is closed."""

from __future__ import annotations

import json
import os
import threading
import time
import zlib
from contextlib import ExitStack, suppress
from typing import NamedTuple

from memdb.base import database_file, files
from memdb.base.place import Place
from memdb.base.storage import Damaged
from memdb.errors import Busy, NotWritable
from memdb.services.context import Context
from memdb.services.index import mirroring

WAIT = 2.0
"""Seconds that opening or closing waits for another writer: both go on without the lock then."""

SUMMED_BYTES = 32 * 2**20
"""Databases of up to so many bytes have a checksum in the note: it takes a few hundredths of a second to make."""

ALWAYS_BYTES = 4 * 2**20
"""Up to so many bytes the checksum is compared whenever a store is opened: a few thousandths of a second."""

SUM_SECONDS = 24 * 3600
"""Larger databases are compared once a day: what a disk changed by itself shows no other time of change."""

BLOCK = 2**20


class Stamp(NamedTuple):
    """What tells a file from another one, or from itself at another time."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int


class Note(NamedTuple):
    """How the database was left: its stamp, the CRC-32 of its bytes where it is small, and when that was compared."""

    stamp: Stamp
    crc: int | None
    compared: int


def verify(context: Context) -> None:
    """Raise Damaged where the database is not what memdb left.

    A file that is as it was noted needs no look, but for its checksum now and then. One that changed although memdb
    closed it, and no log tells of a process that was killed, was written by something else: SQLite has no checksums, so
    nothing in it can be relied on, unless its bytes are the same. In all other cases (a crash, a copy of the folder,
    another process at work) SQLite's quick check has to do.
    """
    place = context.place
    wrong = _changed(place)
    if wrong is not None:
        # Another process may be between closing the file and noting it.
        with suppress(Busy, NotWritable), files.writer(place, WAIT):
            wrong = _changed(place)
    database = context.database  # a newer or foreign file is said before anything is done about a change
    if wrong is not None:
        raise Damaged(f"{place.database} {wrong}")
    if is_as_noted(place):
        return
    wrong = database.check()
    if wrong is None and database.value(
        "select (select count(*) from memory) + (select count(*) from chunk)"
    ) != database.value("select count(*) from fts_length"):
        wrong = "rows are missing"
    if wrong is not None:
        raise Damaged(f"{place.database} is damaged: {wrong}")
    mirroring.repair(database)
    if not _log_size(place):
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
        if wrote:
            place.withdraw_note()  # also after writes of a process that was killed
        context.close()
        if wrote and not _has_log(place):
            note(place)


def note(place: Place) -> None:
    """Note that the database is as memdb left it."""
    stamp, noted = _stamp(place), _noted(place)
    if stamp is None or (noted is not None and stamp == noted.stamp) or not place.home.is_dir():
        return
    _write(place, Note(stamp, _sum(place, stamp), int(time.time())))


def is_as_noted(place: Place) -> bool:
    """Whether the database is as memdb left it."""
    stamp, noted = _stamp(place), _noted(place)
    return stamp is not None and noted is not None and stamp == noted.stamp


def difference(place: Place) -> str | None:
    """What is wrong with a closed database's bytes, compared with those that memdb left; None also where none is noted.

    Reads the whole file.
    """
    stamp, noted = _stamp(place), _noted(place)
    if stamp is None or noted is None or noted.crc is None or stamp != noted.stamp:
        return None
    if _has_log(place) and _log_size(place):
        return None
    return None if _sum(place, stamp) == noted.crc else "has other bytes than memdb left in it"


def _changed(place: Place) -> str | None:  # noqa: PLR0911 (one for each way)
    """In what way the database is another one than memdb left, or None; looks at its bytes where that can tell."""
    stamp, noted = _stamp(place), _noted(place)
    if stamp is None or noted is None or stamp.path != noted.stamp.path or _has_log(place):
        return None
    same = stamp == noted.stamp
    if same and noted.crc is not None:
        due = not 0 <= time.time() - noted.compared < SUM_SECONDS
        if stamp.size > ALWAYS_BYTES and not due:
            return None
        if _sum(place, stamp) != noted.crc:
            return "has other bytes than memdb left in it"
        if due:
            _write(place, noted._replace(compared=int(time.time())))
        return None
    if same:
        return None
    if stamp.size == noted.stamp.size and noted.crc is not None and _sum(place, stamp) == noted.crc:
        # Touched, or brought back as it was.
        _write(place, Note(stamp, noted.crc, int(time.time())))
        return None
    if (stamp.size, stamp.mtime_ns) == (noted.stamp.size, noted.stamp.mtime_ns) and noted.crc is None:
        return None  # its name or its rights changed, as far as can be told; it is looked at as after a crash
    return "was changed by something other than memdb"


def _sum(place: Place, stamp: Stamp) -> int | None:
    if stamp.size > SUMMED_BYTES:
        return None
    found = 0
    try:
        for block in database_file.blocks(place.database, BLOCK):
            found = zlib.crc32(block, found)
    except OSError:
        return None
    return found


def _write(place: Place, noted: Note) -> None:
    file = place.checked
    with suppress(OSError):  # a read-only folder: the next open checks again
        file.parent.mkdir(exist_ok=True)
        fresh = file.with_suffix(f".{os.getpid()}-{threading.get_ident()}.tmp")
        fresh.write_text(json.dumps(noted), encoding="utf-8")
        fresh.replace(file)


def _stamp(place: Place) -> Stamp | None:
    try:
        status = place.database.stat()
    except OSError:
        return None
    return Stamp(str(place.database), status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _noted(place: Place) -> Note | None:
    try:
        stamp, crc, compared = json.loads(place.checked.read_text(encoding="utf-8"))
        return Note(Stamp(*stamp), crc, int(compared))
    except (OSError, ValueError, TypeError):
        return None  # none, or one of an earlier memdb


def _has_log(place: Place) -> bool:
    return place.log.exists()


def _log_size(place: Place) -> int:
    try:
        return place.log.stat().st_size
    except OSError:
        return 0
