"""The database that a rebuild replaces, asked for what it has of texts that did not change.

Whoever takes rows from it checks them first: each unit of them was written with a checksum over its rows and all that
they were made of (`base.sums`). A unit without one, or with another, is made from its source again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw

from memdb.base.storage import BUSY_MS, UNREADABLE_VALUES

CACHE_KIB = 16_000


class Salvage:
    """An old database, open to read; what cannot be read is not there."""

    def __init__(self, old: Path) -> None:
        self._connection: apsw.Connection | None = None
        try:
            self._connection = apsw.Connection(str(old), flags=apsw.SQLITE_OPEN_READONLY)
            self._connection.set_busy_timeout(BUSY_MS)
            self._connection.pragma("cache_size", -CACHE_KIB)
        except apsw.Error:
            self.close()

    def rows(self, sql: str, values: Any = ()) -> list[tuple[Any, ...]]:
        """All rows of a query; none where it meets damage, or an older memdb had no such columns."""
        if self._connection is None:
            return []
        try:
            return self._connection.execute(sql, values).fetchall()
        except (apsw.Error, *UNREADABLE_VALUES):
            return []

    def close(self) -> None:
        """Close the database; there is nothing in it any more."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
