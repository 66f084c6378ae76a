"""The user's files: walking a root, reading, writing one file whole, and the lock of the one writer."""

from __future__ import annotations

import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memdb.base.place import FOLDER, Place
from memdb.errors import Busy, NotWritable, StoreUnreadable

if TYPE_CHECKING:
    from filelock import BaseFileLock

MEMORY_SUFFIXES = (".md", ".markdown")
"""What a memory file's name ends with, in any case."""

TEMPORARY_SUFFIXES = (".tmp", ".swp", ".swx", ".swo", ".part", ".crdownload", "~")
"""Names that editors and sync tools give to files that are not finished."""

SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv"})
"""Folders of programs, not of people; hidden folders are skipped too."""

AGENT_FOLDER = ".claude"
"""The one hidden folder that is entered: Claude Code keeps its memories in `memory` folders below it."""

LEFTOVER_PREFIX, LEFTOVER_SUFFIX = ".memdb-", ".tmp"
"""The name under which a file is written before it takes its own: one that stays behind was never finished."""

NOT_A_MEMORY = "not a Markdown file"

MAX_FILE_BYTES = 16 * 1024 * 1024
"""A memory file larger than this is listed as a problem and not read: 16 MiB is a shelf of books."""

LOCK_SECONDS = 30.0
"""How long a writer waits for another one before it says Busy."""

LOCK_POLL = 0.005
"""Seconds between two looks at a lock: a small part of what a save takes."""


Stamp = tuple[int, int, int]
"""Size in bytes, and the times of change of a file and of its record: with equal ones it is taken for unchanged."""


@dataclass(frozen=True, slots=True)
class Found:
    """A memory file as the folder shows it."""

    path: str  # relative to the root, with "/"; bytes that are no UTF-8 as \xNN
    size: int  # bytes
    mtime_ns: int
    ctime_ns: int  # change of the file's record; on Windows, creation: an edit that keeps size and mtime shows here
    real: str  # the path for the operating system


class Listed(NamedTuple):
    """A folder in which a walk met nothing but memories and documents as they are known, and other folders."""

    documents: list[str]  # stored paths
    folders: list[str]  # names; a link is none


@dataclass(slots=True)
class Walk:
    """What a walk saw: new and changed memory files by path, those as known, what was left out, what is unreadable.

    `ignored` has what is left out with the reason, but for `others`. `listed` has, by what their paths begin with, the
    folders that need not be listed again for `documents`, whose stamps were given to compare with; of these, none has
    the name of a memory.
    """

    files: dict[str, Found] = field(default_factory=dict)
    as_known: set[str] = field(default_factory=set)
    ignored: list[tuple[str, str]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)  # real paths of files that are no memories
    problems: list[tuple[str, str]] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)  # files and folders that are there and could not be looked at
    leftovers: list[str] = field(default_factory=list)  # real paths of files that a killed save did not finish
    documents: Mapping[str, Stamp] = field(default_factory=dict)
    listed: dict[str, Listed] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many memory files there are."""
        return len(self.files) + len(self.as_known)

    def left_out(self, documents: AbstractSet[str]) -> list[tuple[str, str]]:
        """The stored paths of all that is left out, with the reason, in order; what is read as a document is not.

        Of ten thousand documents nearly all names are stored as they are, and none is looked at by itself.
        """
        others = {storable(path) for path in set(self.others) - documents} - documents
        return sorted([*((path, NOT_A_MEMORY) for path in others), *self.ignored])


def storable(name: str) -> str:
    r"""A file name as text that can be stored: a byte that is no UTF-8 is written `\xNN`.

    A backslash that would then read as the start of such a byte is written `\x5c`, so that no two names become one.
    """
    if name.isascii() and "\\" not in name:
        return name
    if "\\x" in name:
        name = re.sub(r"\\(?=x[0-9a-f]{2})", r"\\x5c", name)
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def real_path(path: str) -> str:
    """The operating system's name of a stored path: what `storable` was given."""
    if os.name == "nt" or "\\x" not in path:
        return path
    plain = re.sub(
        rb"\\x(5c|[89a-f][0-9a-f])", lambda match: bytes([int(match[1], 16)]), path.encode("utf-8", "surrogateescape")
    )
    return os.fsdecode(plain)


def is_memory_file(name: str) -> bool:
    """Whether a file name is that of a memory: Markdown, not hidden, not a temporary or conflict copy."""
    lower = name.lower()
    # A temporary suffix is none of a memory's.
    return lower.endswith(MEMORY_SUFFIXES) and not name.startswith((".", "~")) and ".sync-conflict-" not in lower


def walk(root: Path, known: Mapping[str, Stamp] | None = None, documents: Mapping[str, Stamp] | None = None) -> Walk:
    """Every memory file under a root, in a fixed order whatever the file system's; those as `known` by path only.

    Links to folders are followed once; a loop is a problem. Of `documents`, files of the root that are no memories, it
    says which folders hold them unchanged. Raises StoreUnreadable when the root itself cannot be listed: an index is
    never emptied because a disk was not there.
    """
    result, stamps = Walk(documents={} if documents is None else documents), known or {}
    try:
        top = root.stat()
    except OSError as error:
        raise unreadable(root, error) from error
    if not stat.S_ISDIR(top.st_mode):
        raise StoreUnreadable(f"{root} is not a folder.", hint="Name the folder that holds the memories with --root.")
    pending = [_Folder(str(root), "", True, frozenset({(top.st_dev, top.st_ino)}))]
    while pending:
        folder = pending.pop()
        try:
            with listing(folder.real) as entries:
                _see(entries, folder, stamps, pending, result)
        except OSError as error:
            if not folder.prefix:
                raise unreadable(root, error) from error
            if not isinstance(error, FileNotFoundError):  # else gone while the walk ran
                result.unseen.append(storable(folder.prefix.rstrip("/")))
                result.problems.append((result.unseen[-1], f"the folder cannot be read: {error.strerror}"))
    result.files = dict(sorted(result.files.items()))
    result.problems.sort()
    return result


@contextmanager
def listing(folder: str) -> Iterator[Iterable[os.DirEntry[str]]]:
    """The entries of a folder, which may be asked for their status within the block only. Raises OSError.

    Where the system can, that is asked of the folder's descriptor: of a whole path it takes a fifth longer, of which a
    sync that finds nothing changed mostly consists. The entries' `path` is then no more than their name.
    """
    if sys.platform != "win32" and os.scandir in os.supports_fd:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with os.scandir(descriptor) as entries:
                yield entries
        finally:
            os.close(descriptor)
    else:
        with os.scandir(folder) as entries:
            yield entries


def unreadable(root: Path, error: OSError) -> StoreUnreadable:
    """The error for a root that cannot be listed."""
    return StoreUnreadable(
        f"The folder {root} cannot be read: {error.strerror}.",
        hint="Check that it exists, that its disk is mounted and that you may read it; the index was left as it is.",
    )


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder that is to be listed; `above` has device and number of it and of the folders that led to it."""

    real: str
    prefix: str
    wanted: bool  # whether files in it are memories
    above: frozenset[tuple[int, int]]


def _see(
    listed: Iterable[os.DirEntry[str]],
    folder: _Folder,
    known: Mapping[str, Stamp],
    pending: list[_Folder],
    result: Walk,
) -> None:
    prefix, unchanged, folders = folder.prefix, list[str](), list[str]()
    rest = _not_as_known(listed, folder, known, result, unchanged)
    if folder.wanted:
        result.others += unchanged
    for entry in rest:
        name = entry.name
        try:
            if name[0] != "." and not name.lower().endswith(MEMORY_SUFFIXES) and entry.is_file():
                if folder.wanted:
                    result.others.append(prefix + name)
                continue
            _look(entry, folder, pending, result)
            if entry.is_dir(follow_symlinks=False):
                folders.append(name)
        except FileNotFoundError:
            continue
        except OSError as error:
            result.unseen.append(storable(prefix + name))
            result.problems.append((result.unseen[-1], f"cannot be read: {error.strerror}"))
    # What is stored with a backslash may be another name.
    if result.documents and len(folders) == len(rest) and "\\" not in "/".join([prefix, *unchanged]):
        result.listed[prefix] = Listed(unchanged, folders)


def _not_as_known(
    listed: Iterable[os.DirEntry[str]],
    folder: _Folder,
    known: Mapping[str, Stamp],
    result: Walk,
    unchanged: list[str],
) -> list[os.DirEntry[str]]:
    """The entries of a folder that have to be looked at; documents that have not come to `unchanged`.

    Nearly all files are as they were, on every recall: of them no more is asked than their stamp.
    """
    prefix, wanted, as_known, documents = folder.prefix, folder.wanted, result.as_known, result.documents
    rest = []
    for entry in listed:
        path = prefix + entry.name
        document = documents.get(path)
        stamp = document or (known.get(path) if wanted else None)
        if stamp is not None:
            try:
                status = entry.stat()
            except OSError:
                rest.append(entry)
                continue
            if (status.st_size, status.st_mtime_ns, status.st_ctime_ns) == stamp:
                if document is None:
                    as_known.add(path)
                else:
                    unchanged.append(path)
                continue
        rest.append(entry)
    return rest


def _look(entry: os.DirEntry[str], folder: _Folder, pending: list[_Folder], result: Walk) -> None:
    path = folder.prefix + entry.name
    if entry.is_dir(follow_symlinks=True):
        _enter(entry, folder, pending, result)
    elif folder.wanted and is_memory_file(entry.name):
        _take(entry, path, result)
    elif entry.name.startswith(LEFTOVER_PREFIX) and entry.name.endswith(LEFTOVER_SUFFIX):
        result.leftovers.append(path)
    elif folder.wanted:
        result.ignored.append((storable(path), NOT_A_MEMORY))


def _take(entry: os.DirEntry[str], path: str, result: Walk) -> None:
    status = entry.stat(follow_symlinks=True)
    if not stat.S_ISREG(status.st_mode):
        result.problems.append((storable(path), "not a regular file"))
        return
    key = storable(path)
    result.files[key] = Found(key, status.st_size, status.st_mtime_ns, status.st_ctime_ns, path)


def _enter(entry: os.DirEntry[str], folder: _Folder, pending: list[_Folder], result: Walk) -> None:
    name, path = entry.name, folder.prefix + entry.name
    if name == FOLDER:
        return
    if name in SKIPPED_FOLDERS or (name.startswith(".") and name != AGENT_FOLDER):
        result.ignored.append((storable(path) + "/", "a hidden or program folder"))
        return
    # Device and file number tell a loop; only a link can make one. A listing has neither on Windows.
    real = os.path.join(folder.real, name)  # noqa: PTH118 (surrogates in names)
    status = os.stat(real)  # noqa: PTH116
    identity = (status.st_dev, status.st_ino)
    if entry.is_symlink() and identity in folder.above:
        result.problems.append((storable(path), "a link that leads back to a folder above it"))
        return
    wanted = name != AGENT_FOLDER and (folder.wanted or name == "memory")
    pending.append(_Folder(real, path + "/", wanted, folder.above | {identity}))


def read(root: Path, found: Found) -> bytes:
    """The bytes of a memory file."""
    with open(os.path.join(root, found.real), "rb") as file:  # noqa: PTH118, PTH123 (surrogates in names)
        return file.read()


def stat_file(root: Path, path: str) -> Found | None:
    """One memory file of a root by its stored path, or None."""
    real = real_path(path)
    try:
        status = os.stat(os.path.join(root, real))  # noqa: PTH116, PTH118
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return Found(path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, real)


def other_spelling(root: Path, path: str) -> str | None:
    """The name that a file has on disk where the disk finds it under another spelling: another case or Unicode form."""
    real = Path(root, real_path(path))
    try:
        names = [other.name for other in real.parent.iterdir()]
        if real.name in names:
            return None
        return next((storable(name) for name in names if (real.parent / name).samefile(real)), None)
    except OSError:
        return None


def write_whole(target: Path, data: bytes) -> None:
    """Replace a file in one step: the old bytes or the new, never a part. Keeps the file's permissions.

    Raises NotWritable where the folder or the disk does not take it.
    """
    try:
        make_folder(target.parent)
        # Through a link, the file that it leads to is replaced, and the link stays.
        final = target.resolve() if target.is_symlink() else target
        descriptor, temporary = tempfile.mkstemp(prefix=LEFTOVER_PREFIX, suffix=LEFTOVER_SUFFIX, dir=final.parent)
        try:
            with os.fdopen(descriptor, "wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            mode = stat.S_IMODE(final.stat().st_mode) if final.exists() else 0o666 & ~_umask()
            if os.name != "nt":
                os.chmod(temporary, mode)  # noqa: PTH101
            os.replace(temporary, final)  # noqa: PTH105
        except BaseException:
            # Whatever it was, Ctrl-C too, goes on; only the half-written file does not stay.
            Path(temporary).unlink(missing_ok=True)
            raise
        sync_folder(final.parent)
    except OSError as error:
        raise NotWritable(
            f"{target} cannot be written: {error.strerror or error}.",
            hint="Check the permissions and the free space; the file is as it was.",
        ) from error


def make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing, so that a power cut leaves them. Raises OSError."""
    if folder.is_dir():
        return
    if folder.parent != folder:
        make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def remove(*paths: Path) -> None:
    """Delete files that may be gone already, so that a power cut brings none of them back. Raises OSError."""
    for path in paths:
        with suppress(FileNotFoundError):
            path.unlink()
            sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder survive a power cut, where the system can."""
    if os.name == "nt":
        return
    # Some network file systems cannot sync a folder; the rename itself is done.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def writer(where: Place, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the store's writer lock.

    One process at a time changes files, journal and index. Who waits first stands in line for being the next: the
    system gives a lock to whoever asks at the right moment, most often to the process that just let it go. Raises Busy,
    NotWritable.
    """
    import filelock  # noqa: PLC0415

    lock = _lock(str(where.lock), os.getpid())
    end = time.monotonic() + seconds
    try:
        with ExitStack() as line:
            if not lock.is_locked:
                line.enter_context(_next_in_line(where, seconds))
            lock.acquire(timeout=max(0.0, end - time.monotonic()), poll_interval=LOCK_POLL)
    except filelock.Timeout as error:
        raise Busy(
            f"Another memdb process has been writing {where.root} for {seconds:.0f} seconds.",
            hint="Wait for it to finish, then try again; nothing was changed.",
        ) from error
    except OSError as error:
        raise NotWritable(
            f"{where.home} takes no write: {error.strerror or error}.", hint="Check the permissions of the folder."
        ) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _next_in_line(where: Place, seconds: float) -> Iterator[None]:
    """Be the one process that waits for the writer lock; whoever has it now comes behind. Raises filelock.Timeout."""
    if not where.next_lock.parent.is_dir():
        yield
        return
    from memdb.base import locks  # noqa: PLC0415 (only a change needs it)

    descriptor = locks.taken_at_once(str(where.next_lock))
    if descriptor is None:
        with _lock(str(where.next_lock), os.getpid()).acquire(timeout=seconds, poll_interval=LOCK_POLL):
            yield
        return
    try:
        yield
    finally:
        locks.let_go(descriptor)


@lru_cache(maxsize=64)
def _lock(path: str, process: int) -> BaseFileLock:
    """The one lock object of a file in a process: a service that holds it calls others that take it too."""
    import filelock  # noqa: PLC0415

    return filelock.FileLock(path, is_singleton=True)
