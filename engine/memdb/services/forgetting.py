"""Forget a memory: after it, no byte of its text remains in what memdb keeps; only a mark without content."""

from __future__ import annotations

from dataclasses import dataclass

from memdb.base import files
from memdb.domain import history
from memdb.errors import NotWritable
from memdb.services import clustering, importing, indexing, reading, scrubbing, sessions, sync
from memdb.services.context import Context
from memdb.services.saving import target


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What went: the file, earlier versions, vectors; and the links that are unresolved now."""

    id: str
    file: str
    versions: int
    vectors: int
    unresolved: tuple[str, ...]


def forget(context: Context, written: str) -> Forgotten:
    """Delete a memory's file, rows, words, vectors, versions and journal lines, and rewrite the database without them.

    Cannot be undone. Raises NotFound, NotWritable, and what `sync` raises: a file that was renamed unseen would stay.
    Copies that other programs made (version control, backups, file sync) are not reached.
    """
    with files.writer(context.place):
        sync.sync(context, embed=False)
        database = context.database
        key = _find(context, written)
        path = reading.path_of(context, key)
        linking = [link.source for link in reading.links(context) if link.id == key and link.source != key]
        count = int(database.value("select count(*) from memory_version where memory_key = ?", (key,)))
        digest = database.value("select sha256 from source where path = ?", (path,))
        if path is not None:
            file = target(context, path)
            try:
                file.unlink(missing_ok=True)
            except OSError as error:
                raise NotWritable(
                    f"{file} cannot be deleted: {error.strerror}.", hint="Check its permissions."
                ) from error
        # From here on a crash changes nothing: the journal says that it is forgotten, and the next sync carries it out.
        with database.write() as connection:
            # What clusters say is made of their members; a clustering that cannot run now is not waited for.
            connection.execute(
                "update node set label = '' where id in (select dst from edge join node as member on member.id = src"
                " where member.key = ? and edge.kind = 'in_cluster')",
                (key,),
            )
            connection.execute(
                "update cluster set anchors = (select json_group_array(value) from json_each(anchors) where value <> ?)"
                " where exists (select 1 from json_each(anchors) where value = ?)",
                (key, key),
            )
            connection.execute("delete from memory_version where memory_key = ?", (key,))
            # Under an earlier id of it as well: what a run says of texts that are not there any more goes.
            connection.execute("delete from run_event where node = ? or node not in (select key from node)", (key,))
            context.append(history.forget_record(key))
            if path is not None:
                rekeyed = indexing.apply(database, [], [path], {})
                context.append(*sync.rename_records(rekeyed))
            context.journal.rewrite(history.remains)
            if path is not None:
                context.journal.rewrite(importing.without(path, digest))
            context.replay_journal()
            context.set_forgotten(set())
            gone = scrubbing.drop_vectors(context)
            database.set_meta("scrub", "1")
        clustering.refresh(context)
        sessions.forget(context.place, key)
        scrubbing.scrub(context)
    return Forgotten(key, path or "", count, gone, tuple(sorted(set(linking))))


def _find(context: Context, written: str) -> str:
    """A memory that is there, or one whose file is gone but whose earlier texts are kept."""
    if context.database.value("select 1 from memory_version where memory_key = ?", (written,)):
        return written
    return reading.find(context, written)
