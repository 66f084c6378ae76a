"""Back up a store while others use it, and bring it back: a zip of all files, the journal and the database, checked."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from memdb.base import archives, files, settings
from memdb.base.place import FOLDER, Place
from memdb.base.storage import Database
from memdb.errors import MemdbError, NotWritable, Refused, UsageError
from memdb.services.context import Context, Progress, silent
from memdb.services.index import digests
from memdb.services.transfer import packing

BACKUPS = "backups"
"""The folder in `.memdb` that backups without a place of their own go to."""

SCRATCH = ".memdb-backup-"
"""What the name of a folder begins with in which a database is copied, beside the backup: there is room for it."""

STAMP = "%Y%m%dT%H%M%SZ"


@dataclass(slots=True)
class Backup:
    """A backup that was written and read back. `digest` is that of the database in it."""

    file: str
    digest: str
    bytes: int
    files: int
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Restored:
    """A store that was brought back; what the folder had before is whole in `kept_aside`."""

    root: str
    digest: str
    files: int
    kept_aside: str | None


class BadBackup(MemdbError):
    """A backup that is not what it should be; nothing was changed."""

    code = "bad_backup"


def folder(place: Place) -> Path:
    """Where backups of a store go that have no other place."""
    return place.home / BACKUPS


def backup(context: Context, target: Path | None = None, *, yes: bool = False, progress: Progress = silent) -> Backup:
    """Write a zip from which the whole store comes back: the user's files, journal, snapshots, settings, database.

    Other processes read and write meanwhile: the database is copied by SQLite's online backup, journal and database
    under the writer lock, so that they tell the same; files that change later are noted. The copy of the database is
    checked (integrity, digest) before it is packed, and the zip is read back before it takes its name. Raises Refused
    where the file is there, without `yes`; NotWritable, Busy.
    """
    target = _target(context.place, target, yes)
    files.make_folder(target.parent)
    with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=target.parent, ignore_cleanup_errors=True) as scratch:
        copy = Path(scratch) / "memory.db"
        with files.writer(context.place):
            progress("copying the database", 0, 1)
            _copy(context.database.connection, copy)
            journal = {file.name: file.read_bytes() for file in context.journal.files()}
            forgotten = _forgotten(context)
        digest = _checked_digest(copy)
        packed = packing.pack(
            context,
            target,
            journal,
            digest=digest,
            database=copy,
            whole=True,
            about={"forgotten": forgotten},
            progress=progress,
        )
    notes = [f"{path} changed while the backup ran; it has the later text" for path in packed.changed]
    notes += [f"{path} is not in it: {reason}" for path, reason in packed.lost]
    if packed.outside:
        notes.append(
            f"{len(packed.outside)} documents outside of the store's folder: their text is in it, not their files."
        )
    return Backup(str(target), digest, packed.bytes, packed.files, notes)


def restore(file: Path, root: Path, *, progress: Progress = silent) -> Restored:
    """Bring a store back into a folder. What is in the folder is kept aside under a name beside it.

    All is unpacked beside the folder and checked there (sha256 of every file, integrity and digest of the database)
    before the folder is touched. Raises BadArchive, BadBackup, CannotImport, NotFound, NotWritable.
    """
    tree = archives.open_tree(file, whole=True)
    about = packing.manifest_of(tree)
    if packing.DATABASE not in about["files"]:
        raise UsageError(f"{file} is an export, not a backup.", hint="`memdb import` takes it into an empty store.")
    root = Path(os.path.abspath(root.expanduser()))  # noqa: PTH100 (a link is replaced as what it is called)
    if root.exists() and not root.is_dir():
        raise UsageError(f"{root} is a file.", hint="Name the folder that the store is to have.")
    stamp = time.strftime(STAMP, time.gmtime())
    aside = root.with_name(f".{root.name}.restoring-{stamp}-{os.getpid()}")
    try:
        _unpack(tree, about["files"], settings.place(aside), progress)
        digest = _checked_digest(settings.place(aside).home / "memory.db")
        if digest != about.get("digest"):
            raise BadBackup(f"The database in {file} is not the one that was backed up.", hint="Use another backup.")
        kept = _swap(aside, root, stamp)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    counted = sum(entry.startswith(packing.FILES) for entry in about["files"])
    return Restored(str(root), digest, counted, str(kept) if kept else None)


def drop_outdated(context: Context) -> int:
    """Delete the backups in the store that were made before something was forgotten, here or on another machine.

    Also what a backup that was killed left there. Returns how many backups went; raises NotWritable.
    """
    forgotten, count = _forgotten(context), 0
    for path in folder(context.place).iterdir() if folder(context.place).is_dir() else ():
        try:
            if path.is_dir():
                shutil.rmtree(path)
            elif path.suffix == ".zip" and _says(path) != forgotten:
                files.remove(path)
                count += 1
            elif path.suffix == files.LEFTOVER_SUFFIX:
                files.remove(path)
        except OSError as error:
            raise NotWritable(f"{path} cannot be deleted: {error.strerror}.", hint="Check its permissions.") from error
    return count


def _forgotten(context: Context) -> str:
    """One hash over the marks of all that was forgotten."""
    marks = [mark for (mark,) in context.database.rows("select key_sha256 from tombstone order by 1")]
    return hashlib.sha256("".join(marks).encode()).hexdigest()


def _says(file: Path) -> str | None:
    """What had been forgotten when a backup was made; None of a file that does not say it."""
    try:
        return str(packing.manifest_of(archives.open_tree(file, whole=True)).get("forgotten"))
    except MemdbError:
        return None


def _target(place: Place, target: Path | None, yes: bool) -> Path:
    name = f"memdb-{time.strftime(STAMP, time.gmtime())}.zip"
    if target is None:
        own = folder(place)
        if not (own / ".gitignore").is_file():
            # Backups are no part of what a version control keeps: they would never leave its history.
            files.write_whole(own / ".gitignore", b"*\n")
        target, number = own / name, 2
        while target.exists():
            target, number = own / f"{name[:-4]}-{number}.zip", number + 1
        return target
    target = Path(os.path.abspath(target.expanduser()))  # noqa: PTH100
    if target.is_dir():
        target = target / name
    if target.exists() and not yes:
        raise Refused(f"{target} is there already; nothing was written.", hint="Name another file, or add --yes.")
    return target


def _copy(source: apsw.Connection, copy: Path) -> None:
    """Copy a database as it stands at one moment; others read and write it meanwhile."""
    target = apsw.Connection(str(copy))
    try:
        with target.backup("main", source, "main") as copying:
            while not copying.done:
                copying.step(-1)
        target.pragma("journal_mode", "delete")
    except apsw.FullError as error:
        raise NotWritable(f"The disk that holds {copy} is full.", hint="Free some space, or set TMPDIR.") from error
    finally:
        target.close()


def _checked_digest(copy: Path) -> str:
    """The digest of a database file that passes SQLite's full check. Raises BadBackup."""
    try:
        database = Database(copy, create=False)
        try:
            wrong = [row[0] for row in database.connection.execute("pragma integrity_check(5)")]
            if wrong != ["ok"]:
                raise BadBackup(f"The copy of the database is damaged: {'; '.join(map(str, wrong))}.")
            found = digests.digest(database).digest
            database.connection.pragma("journal_mode", "delete")
            return found
        finally:
            database.close()
    except apsw.Error as error:
        raise BadBackup(f"The copy of the database is damaged: {error}.") from error


def _unpack(tree: archives.Tree, listed: dict[str, str], place: Place, progress: Progress) -> None:
    targets = {entry: packing.destination(place, entry) for entry in listed}
    targets[packing.DATABASE] = place.home / "memory.db"
    settings.initialise(place)
    for number, (entry, target) in enumerate(sorted(targets.items())):
        progress("restoring", number, len(targets))
        if target is not None:
            packing.copy_checked(tree, entry, target, listed[entry])
    if packing.CONFIG in listed:
        given = packing.settings_in(tree, listed[packing.CONFIG])
        settings.write_settings(place, settings.read_settings(place) | given)


def _swap(aside: Path, root: Path, stamp: str) -> Path | None:
    """Give the new folder the name of the old one, which gets another. Raises NotWritable, with all as it was."""
    kept: Path | None = None
    try:
        if root.is_dir() and any(root.iterdir()):
            kept = root.with_name(f"{root.name}.before-{stamp}")
            number = 2
            while kept.exists():
                kept, number = root.with_name(f"{root.name}.before-{stamp}-{number}"), number + 1
            root.rename(kept)
        elif root.is_dir():
            root.rmdir()
        try:
            aside.rename(root)
        except OSError:
            if kept is not None:
                kept.rename(root)
            raise
    except OSError as error:
        raise NotWritable(
            f"{root} cannot be replaced: {error.strerror or error}. It is as it was.",
            hint="Close what has it open, or restore into a new folder.",
        ) from error
    files.sync_folder(root.parent)
    return kept


__all__ = ["FOLDER", "Backup", "Restored", "backup", "drop_outdated", "restore"]
