"""Notice that a store says something else than before, whoever wrote it, without reading it again and again."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import apsw


class Eye:
    """A connection of its own that asks, for next to nothing, whether the database was written to.

    A write that changes only stamps of files is no change: a sync makes such, and whoever looks at the store syncs it.
    """

    def __init__(self, database: Path) -> None:
        self._database = database
        self._connection: apsw.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._version: object = None
        self._said: str | None = None

    def changed(self) -> bool:
        """Whether the store says something else than at the last look; True at the first one."""
        try:
            status = self._database.stat()
            if self._connection is None or (status.st_dev, status.st_ino) != self._file:
                self.close()
                self._connection = apsw.Connection(str(self._database), flags=apsw.SQLITE_OPEN_READONLY)
                self._file = (status.st_dev, status.st_ino)
            version = self._connection.pragma("data_version")
            if version == self._version:
                return False
            said = self._says(self._connection)
        except (OSError, apsw.Error):
            self.close()  # it is being replaced, or written to: the next look sees it
            return False
        before, self._version, self._said = self._said, version, said
        return said != before

    def _says(self, connection: apsw.Connection) -> str:
        digest = sha256()
        for statement in SIGNS:
            for row in connection.execute(statement):
                digest.update(repr(row).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def close(self) -> None:
        """Close the connection; the next look opens another one."""
        if self._connection is not None:
            self._connection.close()
        self._connection, self._version = None, None


SIGNS = (
    "select path, sha256, state from source order by path",
    "select path, sha256, state from place order by path",
    "select ref, state from decision order by ref",
    "select key from conflict order by key",
    "select count(*), max(id) from node",
    "select count(*), max(id), sum(active) from edge",
    "select count(*), max(id) from passage",
    "select count(*), max(id) from extraction",
    "select count(*) from extract_waiting",
    "select count(*), max(id) from problem",
    "select id, state, done, skipped, failed from run order by id",
    "select kind, name_key, state, description from vocabulary order by kind, name_key",
    "select kind, name_key from dismissal order by kind, name_key",
)
"""What a page of the store shows follows from these: whatever changes one of the rest changes one of them too."""
