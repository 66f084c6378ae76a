"""Where a store lies: the root with the user's files, `.memdb` with what memdb keeps, the database."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = ".memdb"
"""The folder inside a root that holds what memdb keeps."""


@dataclass(frozen=True, slots=True)
class Place:
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
