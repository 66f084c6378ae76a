"""What a disk has of a folder at a power cut: what was written is there for certain once it is synced, and not before.

A file's writes survive its sync, a name (of a file that was made, renamed or deleted) the sync of its folder. Of what
was not synced, each sector of 512 bytes may be old or new, whatever the order of the writes; of the names in a folder,
any number of the last changes may be missing.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SECTOR = 512
"""Bytes that a disk writes whole or not at all."""

FOLDER = "folder"
"""What stands in a listing for a folder."""

MAPPED = "-shm"
"""The end of the name of SQLite's shared memory: it is made anew by whoever opens the database first."""

Listing = dict[str, Any]
"""Names in a folder, with the number of the file that each is of, or FOLDER."""

Event = tuple[Any, ...]
"""`("write", file, offset, bytes)`, `("cut", file, size)`, `("sync", file)`, `("names", folder, listing)`,
`("sync names", folder)` or `("done",)`: a call that was confirmed."""


class Disk:
    """Takes note of everything that is written below a folder, in order; of this process alone."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.events: list[Event] = []
        self._held: list[int] = []  # open, so that no number is given to another file
        self._numbers: dict[tuple[int, int], int] = {}
        self._listings: dict[str, Listing] = {}
        self.first: dict[int, bytes] = {}
        self.renamed()
        for folder, listing in self._listings.items():
            for name, number in listing.items():
                if number != FOLDER:
                    self.first[number] = (root / folder / name).read_bytes() if not _is_open(name) else b""
        self.events.clear()
        self.listings = dict(self._listings)

    def _number(self, status: os.stat_result, path: str | None) -> int:
        key = status.st_dev, status.st_ino
        if key not in self._numbers:
            if path is not None:
                self._held.append(os.open(path, os.O_RDONLY))
            self._numbers[key] = len(self._numbers)
        return self._numbers[key]

    def _file(self, path: str | int) -> int | None:
        status = os.stat(path)  # noqa: PTH116 (a descriptor too)
        if isinstance(path, str) and not Path(path).is_relative_to(self.root):
            return None
        key = status.st_dev, status.st_ino
        if key not in self._numbers:
            self.renamed()
        return self._numbers.get(key)

    def wrote(self, file: str | int, offset: int, data: bytes) -> None:
        """Bytes were written to a file, by its path or descriptor."""
        if (number := self._file(file)) is not None:
            self.events.append(("write", number, offset, data))

    def cut(self, file: str | int, size: int) -> None:
        """A file was cut or made longer."""
        if (number := self._file(file)) is not None:
            self.events.append(("cut", number, size))

    def synced(self, file: str | int, *, with_name: bool = False) -> None:
        """A file or folder was synced; `with_name`, the folder of the file too."""
        status = os.stat(file)  # noqa: PTH116
        for folder in self._listings:
            other = (self.root / folder).stat() if (self.root / folder).is_dir() else None
            if other is not None and (other.st_dev, other.st_ino) == (status.st_dev, status.st_ino):
                self.renamed()
                self.events.append(("sync names", folder))
                return
        if (number := self._file(file)) is not None:
            self.events.append(("sync", number))
        if with_name and isinstance(file, str):
            self.synced(os.path.dirname(file))  # noqa: PTH120

    def appeared(self, file: str | int) -> None:
        """A file was opened to be written, and may be new."""
        self.renamed()

    def renamed(self) -> None:
        """Names changed: look which."""
        listings = dict(self._listed(""))
        for folder in sorted(listings.keys() | self._listings.keys()):
            now = listings.get(folder, {})
            if now != self._listings.get(folder, {}) or (folder in listings) != (folder in self._listings):
                self.events.append(("names", folder, now))
        self._listings = listings

    def _listed(self, folder: str) -> Iterator[tuple[str, Listing]]:
        listing: Listing = {}
        inside = []
        with os.scandir(self.root / folder) as entries:
            for entry in entries:
                if entry.name.endswith(MAPPED):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    listing[entry.name] = FOLDER
                    inside.append(f"{folder}/{entry.name}".lstrip("/"))
                else:
                    listing[entry.name] = self._number(entry.stat(), entry.path)
        yield folder, listing
        for below in inside:
            yield from self._listed(below)

    def done(self) -> None:
        """A call was confirmed to its caller."""
        self.renamed()
        self.events.append(("done",))


def _is_open(name: str) -> bool:
    return name.endswith("-wal")


@dataclass
class Recorded:
    """All that an operation wrote: the files by number and the listings that were there first, and the events."""

    first: dict[int, bytes]
    listings: dict[str, Listing]
    events: list[Event]

    def sync_points(self) -> list[int]:
        """How many events there are before each sync, and after it."""
        syncs = [at for at, event in enumerate(self.events) if event[0].startswith("sync")]
        return sorted({point for at in syncs for point in (at, at + 1)} | {len(self.events)})

    def confirmed(self, at: int) -> int:
        """How many calls were confirmed before an event."""
        return sum(event == ("done",) for event in self.events[:at])


@dataclass
class Platter:
    """What is certain, and what is not, after so many events."""

    certain: dict[int, bytes]
    names: dict[str, Listing]
    open_writes: dict[int, list[Event]] = field(default_factory=dict)
    open_names: dict[str, list[Listing]] = field(default_factory=dict)

    @classmethod
    def after(cls, recorded: Recorded, at: int) -> Platter:
        """The state after the first `at` events."""
        found = cls(dict(recorded.first), dict(recorded.listings))
        for event in recorded.events[:at]:
            found._take(event)
        return found

    def _take(self, event: Event) -> None:
        match event:
            case ("write" | "cut", file, *_):
                self.open_writes.setdefault(file, []).append(event)
            case ("sync", file):
                self.certain[file] = applied(self.certain.get(file, b""), self.open_writes.pop(file, []))
            case ("names", folder, listing):
                self.open_names.setdefault(folder, []).append(listing)
            case ("sync names", folder):
                self.names[folder] = self.open_names.pop(folder, [self.names.get(folder, {})])[-1]

    def made(self, where: Path, template: Path, keeps: Callable[[], bool]) -> int:
        """Write the folder as the disk has it; `keeps` says of each open write and name whether it is there.

        A file that nothing was written to is copied from the template, with its times. Returns how much was lost.
        """
        shutil.rmtree(where, ignore_errors=True)
        self._lost = 0
        self._make(where, "", template, keeps)
        return self._lost

    def _make(self, where: Path, folder: str, template: Path, keeps: Callable[[], bool]) -> None:
        (where / folder).mkdir(parents=True)
        states = [self.names.get(folder, {}), *self.open_names.get(folder, [])]
        stand = 0
        while stand + 1 < len(states) and keeps():
            stand += 1
        self._lost += len(states) - 1 - stand
        for name, file in states[stand].items():
            path = where / folder / name
            if file == FOLDER:
                self._make(where, f"{folder}/{name}".lstrip("/"), template, keeps)
                continue
            before, open_writes = self.certain.get(file, b""), self.open_writes.get(file, [])
            parts = [part for event in open_writes for part in sectors(event)]
            kept = [part for part in parts if keeps()]
            self._lost += len(parts) - len(kept)
            data = applied(before, kept)
            same = template / folder / name
            if same.is_file() and same.read_bytes() == data:
                shutil.copy2(same, path)
            else:
                path.write_bytes(data)


def sectors(event: Event) -> Iterator[Event]:
    """A write, sector by sector."""
    if event[0] == "cut":
        yield event
        return
    _, file, offset, data = event
    start = 0
    while start < len(data):
        end = min(len(data), (offset + start) // SECTOR * SECTOR + SECTOR - offset)
        yield "write", file, offset + start, data[start:end]
        start = end


def applied(data: bytes, events: list[Event]) -> bytes:
    """The bytes of a file after some writes; what lies between its end and a write behind it is zero."""
    found = bytearray(data)
    for event in events:
        end = event[2] + (len(event[3]) if event[0] == "write" else 0)
        if len(found) < end:
            found.extend(bytes(end - len(found)))
        if event[0] == "write":
            found[event[2] : end] = event[3]
        else:
            del found[end:]
    return bytes(found)


def nothing() -> bool:
    """A disk that lost all that was not synced."""
    return False


def some(pick: random.Random) -> Callable[[], bool]:
    """A disk that has a part of it, in any order."""
    share = pick.choice((0.2, 0.5, 0.8))
    return lambda: pick.random() < share
