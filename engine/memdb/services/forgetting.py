"""Forget a memory: after it, no byte of its text remains in what memdb keeps; only a mark without content."""

from __future__ import annotations

from dataclasses import dataclass

from memdb.base import files
from memdb.base.journal import Record
from memdb.domain import history
from memdb.errors import NotWritable
from memdb.services import clustering, indexing, reading, vectors
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

    Cannot be undone. Raises NotFound. Copies that other programs made (version control, backups, sync) are not reached.
    """
    database = context.database
    with files.writer(context.place):
        key = _find(context, written)
        path = reading.path_of(context, key)
        linking = [link.source for link in reading.links(context) if link.id == key and link.source != key]
        count = int(database.value("select count(*) from memory_version where memory_key = ?", (key,)))
        if path is not None:
            file = target(context, path)
            try:
                file.unlink(missing_ok=True)
            except OSError as error:
                raise NotWritable(
                    f"{file} cannot be deleted: {error.strerror}.", hint="Check its permissions."
                ) from error
        # The journal first: a crash after it leaves a missing file, which the next sync takes note of.
        context.journal.rewrite(lambda record: _without(record, key))
        with database.write() as connection:
            # A label is made of the members' words.
            connection.execute(
                "update node set label = '' where id in (select dst from edge join node as member on member.id = src"
                " where member.key = ? and edge.kind = 'in_cluster')",
                (key,),
            )
            if path is not None:
                indexing.apply(database, [], [path], {})
            context.set_journal_state(context.journal.state())
            context.append(history.forget_record(key))
            gone = _drop_vectors(context)
            context.replay_journal()
            # FTS5 keeps deleted words in its segments until they are merged.
            connection.execute("insert into fts (fts) values ('optimize')")
        clustering.refresh(context)
        _scrub(context)
    return Forgotten(key, path or "", count, gone, tuple(sorted(set(linking))))


def _find(context: Context, written: str) -> str:
    """A memory that is there, or one whose file is gone but whose earlier texts are kept."""
    if context.database.value("select 1 from memory_version where memory_key = ?", (written,)):
        return written
    return reading.find(context, written)


def _without(record: Record, key: str) -> Record | None:
    if record["kind"] == "version" and record.get("id") == key:
        return None
    if record["kind"] == "rename" and key in (record.get("id"), record.get("to")):
        return None
    if record["kind"] == "clusters" and any(key in anchors for anchors in record.get("set", {}).values()):
        kept = {name: [anchor for anchor in anchors if anchor != key] for name, anchors in record["set"].items()}
        return {**record, "set": kept}
    return record


def _drop_vectors(context: Context) -> int:
    """Vectors of texts that no passage has: those of the memory and of its earlier versions, under any model."""
    context.database.connection.execute(
        "delete from embedding where not exists"
        " (select 1 from passage where passage.text_sha256 = embedding.text_sha256)"
    )
    return context.database.connection.changes()


def _scrub(context: Context) -> None:
    """Rewrite the file so that no freed page and no log frame holds what was deleted."""
    database = context.database
    # Bit vectors are in pages of their own; a process without sqlite-vec leaves the rebuild to one that has it.
    database.set_meta("vec_stale", "1")
    vectors.repair_index(database)
    database.connection.execute("vacuum")
    database.connection.wal_checkpoint(mode=3)  # TRUNCATE
