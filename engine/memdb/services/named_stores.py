"""What a person may want to know of the stores that have a name, without opening any: each is looked at, read-only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import apsw

from memdb.base import named
from memdb.base.named import Named
from memdb.base.place import Place


@dataclass(frozen=True, slots=True)
class Listed:
    """A named store; `state` is ok, missing, replaced (another store has its folder), unreadable, damaged.

    `memories` is None where they cannot be counted, `opened` is when it was opened last, in UTC, `copies` are folders
    with its id that were opened too.
    """

    name: str
    path: str
    id: str | None
    state: str
    memories: int | None
    opened: str | None
    database: str
    copies: tuple[str, ...]


def listed() -> Sequence[Listed]:
    """All named stores, by name. Raises UsageError for a damaged list."""
    return [look(one) for one in named.read().values()]


def look(one: Named) -> Listed:
    """A named store as it is now."""
    place, state, memories = one.place, one.state, None
    if state == "ok":
        memories, is_sound = _counted(place)
        state = state if is_sound else "damaged"
    seconds = named.last_opened(place) if state in ("ok", "damaged") else None
    opened = None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    copies = tuple(str(copy) for copy in one.copies)
    return Listed(one.name, str(one.root), one.id, state, memories, opened, str(place.database), copies)


def _counted(place: Place) -> tuple[int | None, bool]:
    """How many memories the database has, None where nobody can tell, and whether it can be read as one.

    A store without a database is sound: the next use makes it from the files.
    """
    if not place.database.exists():
        return None, True
    try:
        connection = apsw.Connection(str(place.database), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return int(connection.execute("select count(*) from memory").get), True
        finally:
            connection.close()
    except (apsw.NotADBError, apsw.CorruptError):
        return None, False
    except apsw.Error:  # locked, an older one without the table, a folder that takes no lock
        return None, True
