"""Read what others packed: a folder, a zip or a single file as named entries, with hostile ones refused."""

from __future__ import annotations

import os
import re
import stat
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from memdb.base.files import AGENT_FOLDER, SKIPPED_FOLDERS, storable
from memdb.base.place import FOLDER
from memdb.errors import NotFound, Refused, StoreUnreadable, UsageError

MAX_ENTRIES = 500_000
"""Of an archive or a folder: the largest exports that people showed have some ten thousand."""

MAX_TOTAL_BYTES = 64 * 2**30
"""Of an archive, unpacked: more than fits on a laptop beside what it has is no export of notes."""

MAX_RATIO = 200
"""How many times its packed size an entry may have: text packs to a tenth, a table of one value to a hundredth, a bomb
to a thousandth (1,032 is the most that deflate can do, zlib's technical notes)."""

RATIO_FROM = 4 * 2**20
"""Bytes, unpacked: smaller entries may be packed as well as they like."""

TOP_SHARE = 2
"""An archive of one folder has at least so many parts in each name."""

_DRIVE = re.compile(r"^[A-Za-z]:")


class BadArchive(Refused):
    """The archive is damaged, or made to do harm; nothing of it was written."""

    code = "bad_archive"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in a source: its name with "/", size in bytes, time of change in nanoseconds or None."""

    path: str
    size: int
    mtime_ns: int | None
    real: str  # the name by which it is opened


@dataclass(slots=True)
class Tree:
    """What a person names as a source. `passed` are names that were not looked at, with the reason."""

    path: Path
    entries: dict[str, Entry] = field(default_factory=dict)
    passed: list[tuple[str, str]] = field(default_factory=list)
    hidden: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        """What the source is called, whatever folder it lies in: of a `memory` folder with the name above it."""
        name = self.path.stem if self.path.suffix.lower() == ".zip" else self.path.name
        return f"{self.path.parent.name}/{name}" if name == "memory" else name

    @contextmanager
    def open(self, path: str) -> Iterator[IO[bytes]]:
        """The bytes of an entry as a stream. Raises BadArchive, StoreUnreadable."""
        try:
            with (self.path / self.entries[path].real).open("rb") as stream:
                yield stream
        except OSError as error:
            raise StoreUnreadable(f"{self.path / path} cannot be read: {error.strerror or error}.") from error

    def read(self, path: str) -> bytes:
        """All bytes of an entry. Raises as `open` does."""
        with self.open(path) as stream:
            return stream.read()


class SingleFile(Tree):
    """One file."""

    @contextmanager
    def open(self, path: str) -> Iterator[IO[bytes]]:
        try:
            with self.path.open("rb") as stream:
                yield stream
        except OSError as error:
            raise StoreUnreadable(f"{self.path} cannot be read: {error.strerror or error}.") from error


class Archive(Tree):
    """A zip, looked through before anything of it is read."""

    @contextmanager
    def open(self, path: str) -> Iterator[IO[bytes]]:
        try:
            with zipfile.ZipFile(self.path) as packed, packed.open(self.entries[path].real) as stream:
                yield stream
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise _damaged(self.path, error) from error
        except OSError as error:
            raise StoreUnreadable(f"{self.path} cannot be read: {error.strerror or error}.") from error


def open_tree(path: Path, *, whole: bool = False) -> Tree:
    """The source at a path. `whole` takes hidden names too, and an archive's names as they are.

    Raises NotFound, UsageError for what is no file or folder, BadArchive, StoreUnreadable.
    """
    path = path.expanduser()
    if path.is_dir():
        return _folder(Tree(path.resolve()))
    if not path.exists():
        raise NotFound(f"There is no file or folder {path}.", hint="Check the path.")
    if not path.is_file():
        raise UsageError(f"{path} is no file and no folder.")
    if is_zip(path):
        return _archive(Archive(path), whole)
    status = path.stat()
    return SingleFile(path, {path.name: Entry(path.name, status.st_size, status.st_mtime_ns, path.name)})


def is_zip(path: Path) -> bool:
    """Whether a file begins as a zip does."""
    try:
        with path.open("rb") as file:
            return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
    except OSError as error:
        raise StoreUnreadable(f"{path} cannot be read: {error.strerror or error}.") from error


def _folder(tree: Tree) -> Tree:
    pending = [""]
    while pending:
        prefix = pending.pop()
        try:
            with os.scandir(tree.path / prefix) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if not prefix:
                raise StoreUnreadable(f"{tree.path} cannot be read: {error.strerror or error}.") from error
            tree.passed.append((storable(prefix), f"cannot be read: {error.strerror or error}"))
            continue
        for entry in listed:
            path = prefix + entry.name
            if entry.is_symlink():
                tree.passed.append((storable(path), "a link, which is not followed"))
            elif entry.is_dir():
                if _is_passed(entry.name):
                    tree.hidden.add(path)
                else:
                    pending.append(f"{path}/")
            elif entry.is_file() and not entry.name.startswith("."):
                status = entry.stat()
                name = storable(path)
                tree.entries[name] = Entry(name, status.st_size, status.st_mtime_ns, path)
                if len(tree.entries) > MAX_ENTRIES:
                    raise UsageError(f"{tree.path} has more than {MAX_ENTRIES:,} files.", hint="Name a folder in it.")
    tree.entries = dict(sorted(tree.entries.items()))
    return tree


def _is_passed(name: str) -> bool:
    return name in SKIPPED_FOLDERS or name == FOLDER or (name.startswith(".") and name != AGENT_FOLDER)


def _archive(tree: Archive, whole: bool) -> Archive:
    try:
        with zipfile.ZipFile(tree.path) as packed:
            members = packed.infolist()
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        raise _damaged(tree.path, error) from error
    except OSError as error:
        raise StoreUnreadable(f"{tree.path} cannot be read: {error.strerror or error}.") from error
    if len(members) > MAX_ENTRIES:
        raise BadArchive(f"{tree.path} has more than {MAX_ENTRIES:,} entries; nothing of it was read.")
    total = sum(member.file_size for member in members)
    if total > MAX_TOTAL_BYTES:
        raise BadArchive(f"{tree.path} would unpack to more than {MAX_TOTAL_BYTES // 2**30} GiB; nothing was read.")
    if total > RATIO_FROM and total > MAX_RATIO * tree.path.stat().st_size:
        raise BadArchive(f"{tree.path} unpacks to more than {MAX_RATIO} times its size; nothing of it was read.")
    for member in members:
        _check(tree.path, member)
        if member.is_dir():
            continue
        if member.filename in tree.entries:
            raise BadArchive(f"{tree.path} has two entries {member.filename!r}; nothing of it was read.")
        tree.entries[member.filename] = Entry(member.filename, member.file_size, _time(member), member.filename)
    if not whole:
        _strip(tree)
    tree.entries = dict(sorted(tree.entries.items()))
    return tree


def _check(archive: Path, member: zipfile.ZipInfo) -> None:
    name = member.filename
    parts = name.rstrip("/").split("/")
    if name.startswith("/") or _DRIVE.match(name) or "\\" in name or "\0" in member.orig_filename:
        raise BadArchive(f"{archive} has an entry with a path of its own, {name!r}; nothing of it was read.")
    if any(part in ("", ".", "..") for part in parts):
        raise BadArchive(f"{archive} has an entry that leads out of it, {name!r}; nothing of it was read.")
    if stat.S_ISLNK(member.external_attr >> 16):
        raise BadArchive(f"{archive} has a link in it, {name!r}; nothing of it was read.")
    if member.flag_bits & 1:
        raise BadArchive(f"{archive} is encrypted; nothing of it was read.", hint="Unpack it, and import the folder.")
    if member.file_size > RATIO_FROM and member.file_size > MAX_RATIO * max(1, member.compress_size):
        raise BadArchive(
            f"{archive} has an entry that unpacks to more than {MAX_RATIO} times its size, {name!r}; nothing was read.",
            hint="If it is what it should be, unpack it yourself and import the folder.",
        )


def _strip(tree: Archive) -> None:
    """Leave out hidden names, and the one folder that all others lie in."""
    parts = {path: path.split("/") for path in tree.entries}
    parts = {path: found for path, found in parts.items() if found[0] != "__MACOSX"}
    tops = {found[0] for found in parts.values()}
    if len(tops) == 1 and all(len(found) >= TOP_SHARE for found in parts.values()) and tops != {AGENT_FOLDER}:
        parts = {path: found[1:] for path, found in parts.items()}
    kept: dict[str, Entry] = {}
    for path, found in parts.items():
        passed = next((part for part in found[:-1] if _is_passed(part)), None)
        if passed is not None:
            tree.hidden.add("/".join(found[: found.index(passed) + 1]))
        elif not found[-1].startswith("."):
            name = "/".join(found)
            entry = tree.entries[path]
            kept[name] = Entry(name, entry.size, entry.mtime_ns, entry.real)
    tree.entries = kept


def _time(member: zipfile.ZipInfo) -> int | None:
    try:
        # A zip has local time, without a zone.
        return int(time.mktime((*member.date_time, 0, 0, -1))) * 1_000_000_000
    except (ValueError, OverflowError):
        return None


def _damaged(path: Path, error: BaseException) -> BadArchive:
    return BadArchive(f"{path} is a damaged archive: {error}.", hint="Download it again, or unpack it yourself.")
