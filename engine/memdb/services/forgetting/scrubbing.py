"""Leave no copy of a deleted text: freed pages, log frames, index segments, files that a killed process left behind."""

from __future__ import annotations

from pathlib import Path

import apsw

from memdb.base import files
from memdb.base.place import Place
from memdb.services.context import Context
from memdb.services.entities import mentions, suggestions_kept
from memdb.services.extraction import runs
from memdb.services.index import mirroring

ASIDE = ".rebuild"
"""What the name of a database that is being built ends with."""

FORGOTTEN = "forgotten"
"""The value of the note `scrub` where something was forgotten; any other one says that something was removed."""

WAIT = 2.0
"""Seconds that readers of the old state are waited for."""

PARTS = ("", "-wal", "-shm", "-journal")
"""What SQLite puts after a database's name for the files that belong to it."""


def drop_vectors(context: Context) -> int:
    """Vectors of what is no passage and no entity's name, under any model: of the memory and its earlier versions."""
    context.database.connection.execute(
        "delete from embedding where text_sha256 not in (select text_sha256 from passage)"
        " and text_sha256 not in (select text_sha256 from entity_name)"
    )
    return context.database.connection.changes()


def drop_remarks(connection: apsw.Connection, *, forgotten: bool) -> None:
    """Delete what runs of a language model noted of texts that are not there any more.

    A name or an error of theirs may quote the text. Where something was `forgotten`, the errors by which whole runs
    ended go too: nobody knows which text an endpoint quoted in them.
    """
    connection.execute("delete from run_event where node is not null and node not in (select key from node)")
    connection.execute("delete from claim where run_id not in (select id from run where state = 'running')")
    connection.execute(
        "delete from failure where text_sha256 not in (select text_sha256 from memory)"
        " and text_sha256 not in (select text_sha256 from chunk)"
    )
    if forgotten:
        connection.execute("update run set message = null where state <> 'running' and message <> ?", (runs.KILLED,))


def scrub(context: Context) -> bool:
    """Rewrite the database so that no freed page and no log frame holds what was deleted.

    The caller holds the writer lock. False where another process is reading the old state; the next sync tries again.
    """
    from memdb.services.transfer import backups  # noqa: PLC0415 (it syncs, and a sync scrubs)

    database = context.database
    remove_leftovers(context)
    backups.drop_outdated(context)
    # Names that only what was deleted gave are in the entity graph until it is derived anew.
    mentions.refresh(context)
    forgotten = database.meta("scrub") == FORGOTTEN
    # Bit vectors are in pages of their own; a process without sqlite-vec leaves the rebuild to one that has it.
    with database.write() as connection:
        drop_vectors(context)
        drop_remarks(connection, forgotten=forgotten)
        suggestions_kept.drop(database)
        database.set_meta("vec_stale", "1")
        # FTS5 keeps deleted words in its segments until they are merged.
        connection.execute("insert into fts (fts) values ('optimize')")
        connection.execute("insert into version_fts (version_fts) values ('optimize')")
    mirroring.repair(database)
    mirroring.mirror(database)
    try:
        with database.patience(WAIT):
            database.connection.execute("vacuum")
            database.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.BusyError:
        return False
    with database.write():
        database.set_meta("scrub", None)
    return True


def leftovers(place: Place) -> list[Path]:
    """What a killed rebuild or save left in `.memdb`; what another process is writing looks the same."""
    aside = [place.database.with_name(place.database.name + ASIDE + part) for part in PARTS]
    found = [file for file in aside if file.exists()]
    for folder in (place.home, place.journal, place.snapshots, place.home / "local"):
        found += sorted(folder.glob(f"{files.LEFTOVER_PREFIX}*{files.LEFTOVER_SUFFIX}"))
    return found + sorted((place.home / "local").glob("checked.*.tmp"))


def remove_leftovers(context: Context) -> None:
    """Delete what a killed rebuild or save left in `.memdb`; no one else is at work while the writer lock is held."""
    for file in leftovers(context.place):
        file.unlink(missing_ok=True)
