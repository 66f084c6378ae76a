"""A whole store in one zip: the user's files, the journal, snapshots and settings, and in a backup the database."""

from __future__ import annotations

import hashlib
import json
import os
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memdb.base import files, secrets, settings
from memdb.base.archives import BadArchive, Tree
from memdb.base.journal import Record
from memdb.base.place import Place
from memdb.domain import documents, history
from memdb.domain.importers import MANIFEST, CannotImport
from memdb.errors import NotWritable, Refused
from memdb.services.context import Context, Progress
from memdb.services.files.rekeying import READ_WHOLE

VERSION = 1
"""Of the layout of these zips: `memdb.json`, `files/`, `journal/`, `snapshots/`, `config.json`, `memory.db`."""

FILES, JOURNAL, SNAPSHOTS, CONFIG, DATABASE = "files/", "journal/", "snapshots/", "config.json", "memory.db"

CHUNK = 1 << 20
"""Bytes that are copied at once."""

LOCAL_SETTINGS = ("id",)
"""Settings of one store alone, which its copy elsewhere is not to have."""

DERIVED = ("clusters",)
"""Kinds of journal record that no person and no save made: an empty store may have them."""

Change = Callable[[list[Record]], Mapping[int, Record | None]]
"""What `Journal.rewrite` takes."""


@dataclass(slots=True)
class Packed:
    """What a zip has: how many of the user's files, snapshots, bytes of its own, and what could not be read."""

    file: str
    files: int = 0
    snapshots: int = 0
    bytes: int = 0
    digest: str = ""
    outside: list[str] = field(default_factory=list)  # documents that lie outside of the root, and are not in it
    changed: list[str] = field(default_factory=list)  # that changed while it was written: as they are now
    lost: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Unpacked:
    """What came out of a zip. `digest` is what the store must have in the end, "" where nobody wrote it down."""

    files: int = 0
    snapshots: int = 0
    journals: int = 0
    settings: dict[str, str] = field(default_factory=dict)
    digest: str = ""
    same: bool | None = None
    """Whether the store has that digest now; None where nothing was written or it was not looked at."""


def pack(
    context: Context,
    target: Path,
    journal: Mapping[str, bytes],
    *,
    digest: str,
    database: Path | None = None,
    whole: bool = False,
    about: Mapping[str, str] | None = None,
    progress: Progress,
) -> Packed:
    """Write the zip, whole or not at all, with the journal as it was read under the writer lock.

    `whole` keeps the store's own id, as a backup of it has to; `about` goes into `memdb.json`. Raises NotWritable.
    """
    packed = Packed(str(target), digest=digest)
    wanted = user_files(context, packed)
    snapshots = [digest_ for (digest_,) in context.database.rows("select distinct sha256 from snapshot order by 1")]
    settings_ = _portable(context.place, whole)
    with _zip(target) as writer:
        for done, (path, known) in enumerate(wanted.items()):
            progress("packing", done, len(wanted))
            try:
                digest_ = writer.add(FILES + path, context.place.root / files.real_path(path))
            except OSError as error:
                packed.lost.append((path, error.strerror or str(error)))
                continue
            packed.files += 1
            if digest_ != known:
                packed.changed.append(path)
        for digest_ in snapshots:
            try:
                writer.add(SNAPSHOTS + digest_, context.place.snapshots / digest_)
                packed.snapshots += 1
            except OSError as error:
                packed.lost.append((f"snapshot {digest_}", error.strerror or str(error)))
        for name, data in journal.items():
            writer.add_bytes(JOURNAL + name, data)
        writer.add_bytes(CONFIG, json.dumps(settings_, indent=2, sort_keys=True).encode())
        if database is not None:
            writer.add(DATABASE, database, level=1)
        said = {"memdb": VERSION, "made_at": _now(), "digest": digest, **(about or {}), "files": writer.digests}
        writer.add_bytes(MANIFEST, json.dumps(said, ensure_ascii=False, indent=1).encode())
    packed.bytes = target.stat().st_size
    return packed


def user_files(context: Context, packed: Packed) -> dict[str, str]:
    """The user's files below the root that the store reads, each with the sha256 that the index has of it."""
    rows = context.database.rows("select path, sha256 from source")
    rows += context.database.rows("select path, sha256 from place where state <> 'missing'")
    found: dict[str, str] = {}
    for path, digest in sorted(rows):
        if history.is_snapshot(path):
            continue
        if history.is_outside(path):
            packed.outside.append(path)
        else:
            found[path] = digest
    return found


def manifest_of(tree: Tree) -> dict[str, Any]:
    """What a zip says of itself. Raises CannotImport where it is none of memdb's, or of a later one."""
    try:
        about = json.loads(tree.read(MANIFEST))
        listed = about["files"]
        version = about["memdb"]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise CannotImport(
            f"{tree.path} is no export or backup of memdb.", hint="It has no readable memdb.json."
        ) from error
    if not isinstance(version, int) or version > VERSION:
        raise CannotImport(f"{tree.path} was written by a newer memdb.", hint="Upgrade memdb, then try again.")
    if not isinstance(listed, dict) or set(listed) | {MANIFEST} != set(tree.entries):
        raise BadArchive(f"{tree.path} does not have the entries that its memdb.json lists; nothing was written.")
    return dict(about)


def destination(place: Place, entry: str) -> Path | None:
    """Where an entry belongs below a root; None for what is read otherwise. Raises BadArchive for a bad name."""
    if entry in (MANIFEST, CONFIG, DATABASE):
        return None
    for prefix, folder in ((FILES, place.root), (JOURNAL, place.journal), (SNAPSHOTS, place.snapshots)):
        if entry.startswith(prefix):
            name = files.real_path(entry.removeprefix(prefix)) if prefix == FILES else entry.removeprefix(prefix)
            target = Path(os.path.normpath(folder / name))
            inside = target.is_relative_to(folder) and target != folder
            flat = prefix == FILES or target.parent == folder
            if inside and flat and not (prefix == FILES and target.is_relative_to(place.home)):
                return target
    raise BadArchive(f"The archive has an entry that belongs nowhere, {entry!r}; nothing was written.")


def copy_checked(tree: Tree, entry: str, target: Path, expected: str) -> None:
    """Write an entry to a file, whole or not at all. Raises BadArchive where its bytes are not those listed."""
    temporary = target.with_name(f"{files.LEFTOVER_PREFIX}{os.getpid()}{files.LEFTOVER_SUFFIX}")
    found = hashlib.sha256()
    try:
        files.make_folder(target.parent)
        with tree.open(entry) as stream, temporary.open("wb") as out:
            while chunk := stream.read(CHUNK):
                found.update(chunk)
                out.write(chunk)
            out.flush()
            os.fsync(out.fileno())
        if found.hexdigest() != expected:
            raise BadArchive(f"{entry} in {tree.path} is damaged.", hint="Use another copy of the archive.")
        mtime = tree.entries[entry].mtime_ns
        if mtime is not None:
            os.utime(temporary, ns=(mtime, mtime))
        temporary.replace(target)
        files.sync_folder(target.parent)
    except OSError as error:
        raise NotWritable(f"{target} cannot be written: {error.strerror or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)


def unpack_into(context: Context, tree: Tree, *, dry_run: bool, progress: Progress) -> Unpacked:
    """Make an empty store what an export has. Interrupted, it goes on when it is run again.

    Raises Refused where the store has memories or a past of its own, BadArchive, CannotImport, NotWritable.
    """
    about = manifest_of(tree)
    listed: dict[str, str] = about["files"]
    place = context.place
    targets = {entry: found for entry in listed if (found := destination(place, entry)) is not None}
    done = Unpacked(digest=str(about.get("digest", "")))
    done.files = sum(entry.startswith(FILES) for entry in targets)
    done.snapshots = sum(entry.startswith(SNAPSHOTS) for entry in targets)
    done.journals = sum(entry.startswith(JOURNAL) for entry in targets)
    if CONFIG in listed:
        done.settings = settings_in(tree, listed[CONFIG])
    with files.writer(place):
        _require_empty(context, targets)
        if dry_run:
            return done
        with context.database.write():
            # What is in the files now is of any age: the journal that comes with them says what was made when.
            context.database.set_meta(READ_WHOLE, None)
        # The journal comes last: with it the store has a past, and is complete.
        order = sorted(targets, key=lambda entry: (entry.startswith(JOURNAL), entry))
        for number, entry in enumerate(order):
            progress("unpacking", number, len(order))
            target = targets[entry]
            if not target.exists() or documents.digest(target) != listed[entry]:
                copy_checked(tree, entry, target, listed[entry])
        own = settings.read_settings(place)
        if done.settings:
            settings.write_settings(place, done.settings | {key: own[key] for key in LOCAL_SETTINGS if key in own})
    return done


def _require_empty(context: Context, targets: Mapping[str, Path]) -> None:
    place = context.place
    wanted = {path.resolve() for path in targets.values()}
    own = [
        found.real
        for found in files.walk(place.root).files.values()
        if (place.root / found.real).resolve() not in wanted
    ]
    past = {record["w"] for record in context.journal.read() if record["kind"] not in DERIVED}
    past -= {path.stem for path in targets.values() if path.parent == place.journal}
    if own or past:
        raise Refused(
            f"{place.root} has memories or decisions of its own; an export of a whole store goes into an empty one.",
            hint="`memdb init` a new folder and import there; for the memories alone, unpack the zip and import its"
            " folder `files`.",
        )


def settings_in(tree: Tree, expected: str) -> dict[str, str]:
    """The settings that an archive has. Raises BadArchive."""
    data = tree.read(CONFIG)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadArchive(f"The settings in {tree.path} cannot be read.", hint="Use another copy.") from error
    if hashlib.sha256(data).hexdigest() != expected:
        raise BadArchive(f"The settings in {tree.path} are damaged.", hint="Use another copy.")
    given = found.items() if isinstance(found, dict) else ()
    return {str(key): str(value) for key, value in given if str(key).isidentifier()}


def _portable(place: Place, whole: bool) -> dict[str, str]:
    """The settings without the store's id (unless `whole`) and without what looks like a credential."""
    return {
        key: value
        for key, value in settings.read_settings(place).items()
        if (whole or key not in LOCAL_SETTINGS) and not secrets.find_secrets(f'{key} = "{value}"')
    }


class _Writer:
    """A zip that is being written, with the sha256 of each entry."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.digests: dict[str, str] = {}

    def add(self, name: str, file: Path, level: int = 6) -> str:
        """Pack a file and return its sha256. Raises OSError where it cannot be read."""
        with file.open("rb") as stream:
            status = os.fstat(stream.fileno())
            info = _info(name, status.st_mtime, level)
            found = hashlib.sha256()
            with self._archive.open(info, "w", force_zip64=status.st_size > 2**30) as out:
                while chunk := stream.read(CHUNK):
                    found.update(chunk)
                    out.write(chunk)
        self.digests[name] = found.hexdigest()
        return self.digests[name]

    def add_bytes(self, name: str, data: bytes) -> None:
        self._archive.writestr(_info(name, time.time(), 6), data)
        self.digests[name] = hashlib.sha256(data).hexdigest()


def _info(name: str, changed: float, level: int) -> zipfile.ZipInfo:
    try:
        moment = max(time.localtime(changed)[:6], (1980, 1, 1, 0, 0, 0))
    except (OverflowError, OSError, ValueError):
        moment = (1980, 1, 1, 0, 0, 0)
    info = zipfile.ZipInfo(name, min(moment, (2107, 12, 31, 23, 59, 58)))
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    # The level of an entry has no public name before Python 3.13.
    info._compresslevel = level  # type: ignore[attr-defined]
    return info


@contextmanager
def _zip(target: Path) -> Iterator[_Writer]:
    with aside(target) as temporary:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, allowZip64=True, strict_timestamps=False) as archive:
            yield _Writer(archive)
        with zipfile.ZipFile(temporary) as written:
            broken = written.testzip()
        if broken is not None:
            raise NotWritable(f"{target} was not written as it should be ({broken}).", hint="Check the disk.")


@contextmanager
def aside(target: Path) -> Iterator[Path]:
    """A file beside the target that takes its name when it is whole. Raises NotWritable."""
    temporary = target.with_name(f"{files.LEFTOVER_PREFIX}{os.getpid()}-{target.name[:100]}{files.LEFTOVER_SUFFIX}")
    try:
        files.make_folder(target.parent)
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.replace(target)
        files.sync_folder(target.parent)
    except OSError as error:
        raise NotWritable(
            f"{target} cannot be written: {error.strerror or error}.", hint="Check the permissions and the free space."
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


__all__ = ["Change", "Packed", "Unpacked", "pack", "unpack_into"]
