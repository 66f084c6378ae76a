"""Where a store lies: the root with the user's files, `.memdb` with what memdb keeps, the database.

A hook imports this, and little else: a dataclass would cost it more than all that it does.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

FOLDER = ".memdb"
"""The folder inside a root that holds what memdb keeps."""


def at(root: Path, database: Path | str | None = None) -> Place:
    """The place of a store under a root; links, `~` and trailing slashes lead to the same one.

    The database is the given one, else that of MEMDB_DB, else the root's own. Raises OSError, RuntimeError for a link
    that leads to itself.
    """
    resolved = root.expanduser().resolve()
    named = database if database is not None else os.environ.get("MEMDB_DB")
    return Place(resolved, Path(named).expanduser().resolve() if named else resolved / FOLDER / "memory.db")


def nearest(start: Path) -> Path | None:
    """The nearest folder upward that has a `.memdb` folder; None where there is none."""
    here = start.absolute()
    return next((folder for folder in (here, *here.parents) if (folder / FOLDER).is_dir()), None)


class Place(NamedTuple):
    """Where a store lives: `root` holds the user's files, `home` is `<root>/.memdb`."""

    root: Path
    database: Path

    @property
    def home(self) -> Path:
        return self.root / FOLDER

    @property
    def journal(self) -> Path:
        return self.home / "journal"

    @property
    def snapshots(self) -> Path:
        return self.home / "snapshots"

    @property
    def opened(self) -> Path:
        """Copies of snapshots that programs can open: they tell a file's kind by its name."""
        return self.home / "local" / "opened"

    def snapshot_files(self, digest: str) -> list[Path]:
        """The snapshot of a sha256 with its copies, there or not."""
        return [*self.opened.glob(f"{digest}*"), self.snapshots / digest]

    @property
    def config(self) -> Path:
        return self.home / "config.toml"

    @property
    def lock(self) -> Path:
        return self.home / "lock"

    @property
    def next_lock(self) -> Path:
        """Held by whoever is the next to get the lock."""
        return self.home / "local" / "lock-next"

    @property
    def log(self) -> Path:
        """SQLite's write-ahead log, where one is."""
        return self.database.with_name(self.database.name + "-wal")

    @property
    def checked(self) -> Path:
        """The note of how memdb left the database."""
        return self.home / "local" / "checked.json"

    def withdraw_note(self) -> None:
        """Take the note back before the database changes: what a killed process leaves is looked at when it is opened.

        It must not come back with a power cut, beside a database that it is not of. A read-only folder has no note that
        could be wrong.
        """
        from memdb.base import files  # noqa: PLC0415 (a hook does without)

        with suppress(OSError):
            files.remove(self.checked)

    @property
    def served(self) -> Path:
        """Where a warm process of this store says where it is; a database elsewhere has one of its own."""
        if self.database == self.home / "memory.db":
            return self.home / "local" / "serve.json"
        from hashlib import sha256  # noqa: PLC0415

        mark = sha256(str(self.database).encode("utf-8", "surrogatepass")).hexdigest()[:8]
        return self.home / "local" / f"serve-{mark}.json"
