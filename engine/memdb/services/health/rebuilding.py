"""Build the database anew from the files and the journal, aside, and put it in the old one's place when it is whole."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import apsw

from memdb.base import files
from memdb.base.place import Place
from memdb.base.storage import BUSY_MS, DAMAGE, UNREADABLE_VALUES, Damaged, Database, page_size_of
from memdb.errors import MemdbError, ModelUnavailable, NotWritable
from memdb.services import late
from memdb.services.context import Context, Progress, silent
from memdb.services.documents import document_rows
from memdb.services.files import rekeying, sync
from memdb.services.files.sync import SyncReport
from memdb.services.forgetting import scrubbing
from memdb.services.forgetting.scrubbing import ASIDE, PARTS
from memdb.services.health import checking
from memdb.services.index import vectors
from memdb.services.salvage import Salvage

SALVAGE_BATCH = 1000

HEADER = 100
"""Bytes of the header of an SQLite file."""

COMPARED = 1 << 20
"""Bytes of two files that are compared at once."""

HEAL_EMBEDS = 16
"""Texts embedded while damage is mended: whoever met it is waiting. What was salvaged is free, `sync` does the rest."""

VECTORS = "select model, text_sha256, vector from embedding_model join embedding using (model_id)"
VECTORS_BY_NAME = "select model, text_sha256, vector from embedding"
"""Of an older database; before migration 14 each vector had the model's name beside it."""

UNIT_TOLERANCE = 2e-6
"""How far the length of a vector of float32 may be from 1 (measured: 7e-8); more tells of a byte that changed."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild did; `salvaged` counts vectors taken over from the old database."""

    reason: str
    salvaged: int
    report: SyncReport


def rebuild(
    context: Context, *, reason: str = "asked for", progress: Progress = silent, keep_old: bool = True
) -> Rebuilt:
    """Rebuild and put in place.

    Vectors are taken over where the old database can be read, so that unchanged text costs nothing. The old database
    stays where the root cannot be read and, with `keep_old`, where it is sound and the model that it was embedded with
    is broken (ModelUnavailable).
    """
    place = context.place
    aside = place.database.with_name(place.database.name + ASIDE)
    if keep_old and _is_half_synced(context) and _is_sound(context):
        # Of a sync that was killed only the old database knows which texts follow to which memory.
        sync.sync(context, yes=True, embed=False, progress=progress)
    context.close()
    with files.writer(place):
        _mend_journal(context)
        _rescue(aside, place)
        remove(aside)
        # SQLite copies a database only over one of the same page size.
        fresh = Database(aside, page_size=page_size_of(place.database))
        # What is half written when the power fails is built again: nothing waits for the disk before all is done.
        fresh.connection.pragma("synchronous", 0)
        context.use(fresh)
        try:
            salvaged = _salvage(place.database, fresh) if place.database.exists() else 0
            with fresh.write():
                context.replay_journal()
                fresh.set_meta("scrub", None)  # a new file has nothing to be scrubbed of
            carry_over(place.database, fresh)
            if keep_old:
                context.salvage = Salvage(place.database)
            report = sync.sync(
                context,
                yes=True,
                embed_limit=None if keep_old else HEAL_EMBEDS,
                reading=late.late(fresh, late.NEIGHBORS, late.TOTALS, late.WAITING),
                progress=progress,
            )
            if _owes_a_scrub(place.database, fresh):
                with fresh.write():
                    scrubbing.drop_vectors(context)
            is_off = report.pending and context.embedder.status.state == "off" and _failed(context)
            if is_off and keep_old and _is_whole(place.database):
                raise ModelUnavailable(
                    f"The embedding model is broken: {context.embedder.status.reason}. The old database stays.",
                    hint="Mend the model (`memdb doctor`), or rebuild without it: MEMDB_EMBEDDER=off memdb rebuild",
                )
            fresh.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except BaseException:
            # Whatever it was, Ctrl-C too, goes on; what was embedded so far is kept for the next try.
            context.close()
            _rescue(aside, place)
            _discard(aside)
            raise
        finally:
            if context.salvage is not None:
                context.salvage.close()
                context.salvage = None
        context.close()
        place.withdraw_note()
        if _copy_over(aside, place.database):
            _discard(aside)
        else:
            _swap(aside, place.database)
        checking.note(place)
    return Rebuilt(reason, salvaged, report)


def _mend_journal(context: Context) -> None:
    """Bring damaged lines of the journal back from the old database, where it can be read: it shows what they said."""
    if context.journal.damaged():
        from memdb.services.health import mending  # noqa: PLC0415 (seldom used)

        with suppress(MemdbError, *DAMAGE, *UNREADABLE_VALUES, apsw.SQLError):
            mending.mend(context)
        context.close()


def _failed(context: Context) -> bool:
    """Whether the model was wanted and does not work, rather than being switched off or never installed."""
    return context.embedder.status.identity is not None


def _is_half_synced(context: Context) -> bool:
    """Whether a sync was killed, as far as the database can be read."""
    if not context.place.database.exists():
        return False
    try:
        return rekeying.is_pending(context.database)
    except (MemdbError, *DAMAGE, *UNREADABLE_VALUES, apsw.SQLError):
        return False


def _is_whole(file: Path) -> bool:
    """Whether a database can be worked with as it is."""
    if not file.exists():
        return False
    try:
        database = Database(file)
    except MemdbError:
        return False
    try:
        return database.check() is None
    finally:
        database.close()


def _is_sound(context: Context) -> bool:
    if not context.place.database.exists():
        return False
    try:
        return context.database.check() is None
    except MemdbError:
        return False


def heal(context: Context, error: Damaged, *, progress: Progress = silent) -> Rebuilt:
    """Rebuild a database that turned out to be damaged, and remember why."""
    result = rebuild(context, reason=error.message, progress=progress, keep_old=False)
    context.damage = error.message
    return result


def _rescue(aside: Path, place: Place) -> None:
    """Put the vectors of a rebuild that did not finish into the old database, where the next one finds them."""
    if not aside.exists() or not place.database.exists():
        return
    vouched = checking.is_as_noted(place)
    try:
        target = Database(place.database)
        try:
            _salvage(aside, target)
        finally:
            target.close()
    except (MemdbError, apsw.Error):
        return  # a database too damaged, or a disk too full, to take them: they are computed again
    if vouched:
        checking.note(place)


def _salvage(old: Path, fresh: Database) -> int:
    """Copy the vectors that can be read, each checked for its length and norm; stops where the damage begins."""
    try:
        source = apsw.Connection(str(old), flags=apsw.SQLITE_OPEN_READONLY)
    except (*DAMAGE, apsw.CantOpenError):
        return 0
    taken = 0
    try:
        rows = source.execute(VECTORS if source.table_exists(None, "embedding_model") else VECTORS_BY_NAME)
        while True:
            some: list[tuple[str, str, bytes]] = _some(rows)
            units = _units([row[2] for row in some])
            # A byte that changed can make a blob of a name, too.
            batch = [
                (model, text, vector)
                for place, (model, text, vector) in enumerate(some)
                if place in units and isinstance(model, str) and isinstance(text, str)
            ]
            if not some:
                break
            with fresh.write() as connection:
                vectors.put_vectors(connection, batch)
            taken += len(batch)
    except (*DAMAGE, *UNREADABLE_VALUES, apsw.SQLError):
        # What was read before the damage is kept; the rest is embedded again.
        return taken
    finally:
        source.close()
    return taken


def carry_over(old: Path, fresh: Database) -> None:
    """Take over the documents whose files are gone; those that are no longer wanted leave with the next sync."""
    if not old.exists():
        return
    try:
        source = apsw.Connection(str(old), flags=apsw.SQLITE_OPEN_READONLY)
    except (*DAMAGE, apsw.CantOpenError):
        return
    try:
        document_rows.carry_over(source, fresh)
    finally:
        source.close()


def _owes_a_scrub(old: Path, fresh: Database) -> bool:
    """Whether the old database, and so what was taken over from it, may have vectors of a memory that was forgotten."""
    marks = set(fresh.rows("select key_sha256, at from tombstone"))
    if not marks or not old.exists():
        return False
    try:
        source = apsw.Connection(str(old), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            done = set(source.execute("select key_sha256, at from tombstone").fetchall())
            return not marks <= done or bool(source.execute("select 1 from meta where key = 'scrub'").fetchall())
        finally:
            source.close()
    except (apsw.Error, *UNREADABLE_VALUES):
        return True


def _some(rows: apsw.Cursor) -> list[tuple[str, str, bytes]]:
    found = []
    for row in rows:
        found.append(row)
        if len(found) == SALVAGE_BATCH:
            break
    return found


def is_unit(blob: object) -> bool:
    """Whether a blob is a vector of float32 of length 1."""
    return bool(_units([blob]))


def _units(blobs: Sequence[object]) -> set[int]:
    """The places of the blobs that are vectors of float32 of length 1."""
    import numpy as np  # noqa: PLC0415

    by_size: dict[int, list[tuple[int, bytes]]] = defaultdict(list)
    for place, blob in enumerate(blobs):
        if isinstance(blob, bytes) and blob and len(blob) % 4 == 0:
            by_size[len(blob)].append((place, blob))
    found: set[int] = set()
    for alike in by_size.values():
        matrix = np.frombuffer(b"".join(blob for _, blob in alike), dtype="<f4").reshape(len(alike), -1)
        with np.errstate(all="ignore"):  # noise may be any number
            lengths = np.linalg.norm(matrix.astype(np.float64), axis=1)
        good = np.isfinite(lengths) & (np.abs(lengths - 1) < UNIT_TOLERANCE)
        found.update(alike[row][0] for row in np.flatnonzero(good))
    return found


def remove(database: Path) -> None:
    """Delete a database file with its log and shared memory. Raises NotWritable."""
    try:
        for part in PARTS:
            database.with_name(database.name + part).unlink(missing_ok=True)
    except OSError as error:
        raise NotWritable(
            f"{database} cannot be deleted: {error.strerror or error}.", hint="Check the permissions of its folder."
        ) from error


def _discard(aside: Path) -> None:
    """Delete what was built, where it can be; what stays is a leftover that the next rebuild takes away."""
    with suppress(NotWritable):
        remove(aside)


def _copy_over(fresh: Path, old: Path) -> bool:
    """Write the new database into the old file, as one transaction; False where SQLite cannot.

    Processes that have the old file open go on with the new content, which a file that takes the name of an open one,
    and its log, would not give them.
    """
    if not old.exists():
        return False
    try:
        source = apsw.Connection(str(fresh), flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error:
        return False
    try:
        target = apsw.Connection(str(old), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            target.set_busy_timeout(BUSY_MS)
            with target.backup("main", source, "main") as backup:
                while not backup.done:
                    backup.step(-1)
            return _is_copy(target, old, fresh)
        finally:
            target.close()
    except apsw.FullError as error:
        raise NotWritable(
            f"The disk that holds {old} is full.", hint="Free some space; the old database is as it was."
        ) from error
    except apsw.Error:
        return False
    finally:
        source.close()


def _is_copy(target: apsw.Connection, old: Path, fresh: Path) -> bool:
    """Whether what was copied can be read back: byte by byte, or by SQLite where another process holds the log."""
    in_log, folded = target.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    if in_log != folded:
        return bool(target.pragma("quick_check") == "ok")
    with old.open("rb") as here, fresh.open("rb") as there:
        # The header counts the changes of each file by itself.
        here.seek(HEADER)
        there.seek(HEADER)
        while part := there.read(COMPARED):
            if here.read(COMPARED) != part:
                return False
        return not here.read(1)


def _swap(fresh: Path, old: Path) -> None:
    # The old log must not be replayed into the new file.
    try:
        with fresh.open("rb+") as built:
            os.fsync(built.fileno())
        for part in PARTS[1:]:
            old.with_name(old.name + part).unlink(missing_ok=True)
        fresh.replace(old)
    except OSError as error:
        _discard(fresh)
        raise NotWritable(
            f"{old} cannot be replaced: {error.strerror or error}.",
            hint="Close other programs that have it open (a Datasette, an SQLite browser), then run `memdb rebuild`.",
        ) from error
    files.sync_folder(old.parent)
