"""Forget a memory or document: after it, no byte of its text is in what memdb keeps; only a mark without content."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from memdb.base import fetching, files
from memdb.base.journal import Record
from memdb.domain import history, remains
from memdb.errors import NotFound, NotWritable
from memdb.services.context import Context
from memdb.services.files import rekeying, sync
from memdb.services.forgetting import forgotten_decisions, scrubbing
from memdb.services.index import clustering, indexing
from memdb.services.memories import reading
from memdb.services.memories.saving import target
from memdb.services.recall import sessions
from memdb.services.transfer import backups, importing

LEDGER = {"extraction": ("text_sha256",), "judgement": ("text_sha256", "other_sha256")}
"""Kinds of journal record about texts, with the fields that have the hashes of these."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What went: the file, earlier versions, vectors, decisions; and the links that are unresolved now.

    `file` is empty where there was none, and of a document, whose file is not memdb's: `kept` names the files that are
    still there. `backups` counts the ones in the store that were deleted because they had it. `waits` is true where
    another process is reading the old state: the next sync rewrites the database then.
    """

    id: str
    file: str
    versions: int
    vectors: int
    unresolved: tuple[str, ...]
    kind: str = "memory"  # memory, document
    decisions: int = 0
    backups: int = 0
    kept: tuple[str, ...] = ()
    waits: bool = False


def forget(context: Context, written: str) -> Forgotten:
    """Delete a memory's file, or what is kept of a document, with all that was made of it, and rewrite the database.

    Of both go rows, words, vectors, versions, what a model said, the log of runs, backups in the store, and decisions
    about entities that nothing else names. The file of a document stays where its owner has it. Cannot be undone.
    Raises NotFound, NotWritable, and what `sync` raises: a file that was renamed unseen would stay. Copies that other
    programs made (version control, backups, file sync) are not reached.
    """
    with files.writer(context.place):
        sync.sync(context, embed=False)
        found = _find(context, written)
        return _memory(context, found) if isinstance(found, str) else _documents(context, *found)


def _memory(context: Context, key: str) -> Forgotten:
    database = context.database
    path = reading.path_of(context, key)
    linking = [link.source for link in reading.links(context) if link.id == key and link.source != key]
    past = database.rows("select text from memory_version where memory_key = ?", (key,))
    digest = database.value("select sha256 from source where path = ?", (path,))
    present = database.rows("select node.id, head || body from node join memory using (id) where key = ?", (key,))
    nodes = [node for node, _ in present]
    texts = [text for _, text in present] + [text for (text,) in past if text is not None]
    decided = forgotten_decisions.moot(database, nodes, texts)
    alone = _hashes(context, nodes)
    if path is not None:
        file = target(context, path)
        try:
            files.remove(file)
        except OSError as error:
            raise NotWritable(f"{file} cannot be deleted: {error.strerror}.", hint="Check its permissions.") from error
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
        connection.execute("delete from run_event where node = ?", (key,))
        context.append(history.forget_record(key, decided))
        if path is not None:
            rekeyed = indexing.apply(database, [], [path], {})
            context.append(*rekeying.rename_records(rekeyed))
        _rewrite(context, alone)
        if path is not None:
            context.journal.rewrite(importing.without(path, digest))
        gone = _settle(context)
    clustering.refresh(context)
    sessions.forget(context.place, key)
    dropped, waits = _scrub(context)
    return Forgotten(
        key,
        path or "",
        len(past),
        gone,
        tuple(sorted(set(linking))),
        decisions=len(decided),
        backups=dropped,
        waits=waits,
    )


def _documents(context: Context, written: str, keys: list[str], paths: list[str]) -> Forgotten:
    from memdb.services.documents import document_rows, snapshots  # noqa: PLC0415 (they bring the readers of files)

    database = context.database
    named = json.dumps(keys)
    chunks = database.rows(
        "select chunk.id, node.key, prefix || char(10) || text from chunk join node using (id) where document_id in"
        " (select id from node where key in (select value from json_each(?)))",
        (named,),
    )
    nodes = [node for node, _, _ in chunks]
    decided = forgotten_decisions.moot(database, nodes, [text for _, _, text in chunks])
    alone = _hashes(context, nodes)
    former = _former(context, keys, alone)
    kept = database.rows("select sha256, path from snapshot")
    for digest in {digest for digest, path in kept if path in paths}:
        if all(path in paths for other, path in kept if other == digest):
            snapshots.delete(context, digest)
    with database.write() as connection:
        connection.execute(
            "delete from run_event where node in (select value from json_each(?))",
            (json.dumps([key for _, key, _ in chunks]),),
        )
        marks = [history.forget_record(key) for key in [*keys, *former]]
        marks[0] |= history.forget_record(keys[0], decided)
        context.append(*(history.remove_record(path) for path in paths), *marks)
        known = dict(database.rows("select path, document_id from place"))
        for path in paths:
            document_rows.leave(database, path)
        document_rows.settle(database, {known.get(path) for path in paths})
        _rewrite(context, alone)
        gone = _settle(context)
    clustering.refresh(context)
    for key in keys:
        sessions.forget(context.place, key)
    dropped, waits = _scrub(context)
    from memdb.domain.documents import real_path  # noqa: PLC0415

    left = [path for path in paths if not history.is_snapshot(path) and _is_there(real_path(path, context.place.root))]
    return Forgotten(
        keys[0] if len(keys) == 1 else fetching.shown(written),
        "",
        0,
        gone,
        (),
        kind="document",
        decisions=len(decided),
        backups=dropped,
        kept=tuple(left),
        waits=waits,
    )


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _hashes(context: Context, nodes: Collection[int]) -> set[str]:
    """The sha256 of the texts that these nodes have and no other one has."""
    return {
        digest
        for (digest,) in context.database.rows(
            "with gone (id) as materialized (select value from json_each(?)),"
            " held (id, digest) as (select id, text_sha256 from memory union all select id, text_sha256 from chunk)"
            " select digest from held where id in gone"
            " except select digest from held where id not in gone",
            (json.dumps(sorted(nodes)),),
        )
    }


def _former(context: Context, keys: Collection[str], hashes: Collection[str]) -> list[str]:
    """The ids that the documents had before their files moved, as far as the ledger names them."""
    found = set()
    for record in context.journal.read(("extraction",)):
        document = str(record.get("id")).partition("#")[0]
        if record.get("text_sha256") in hashes and document.startswith(history.DOCUMENT):
            found.add(document)
    there = {key for (key,) in context.database.rows("select key from node where kind = 'document'")}
    return sorted(found - there - set(keys))


def _rewrite(context: Context, hashes: Collection[str]) -> None:
    """Take out of the journal what it tells of forgotten memories and documents, and of texts with these hashes."""

    def of_texts(records: list[Record]) -> dict[int, Record | None]:
        return {
            place: None
            for place, record in enumerate(records)
            if any(record.get(name) in hashes for name in LEDGER.get(record["kind"], ()))
        }

    context.journal.rewrite(remains.remains)
    if hashes:
        context.journal.rewrite(of_texts)


def _settle(context: Context) -> int:
    """Show the journal as it is now; returns how many vectors went."""
    context.replay_journal()
    context.set_forgotten(set())
    gone = scrubbing.drop_vectors(context)
    context.database.set_meta("scrub", scrubbing.FORGOTTEN)
    return gone


def _scrub(context: Context) -> tuple[int, bool]:
    """How many backups in the store went, and whether a reader of the old state keeps it from being cleaned now."""
    dropped = backups.drop_outdated(context)
    return dropped, not scrubbing.scrub(context)


def _find(context: Context, written: str) -> str | tuple[str, list[str], list[str]]:
    """A memory's id; or a document, folder or address as written, its documents' ids and all their places.

    A memory is one that is there, or whose file is gone but whose earlier texts are kept. Raises NotFound, UsageError.
    """
    if context.database.value("select 1 from memory_version where memory_key = ?", (written,)):
        return written
    mirrored = _mirrored(context, written)
    if mirrored is not None:
        return mirrored
    try:
        return reading.find(context, written)
    except NotFound as error:
        documents = int(context.database.value("select count(*) from document"))
        if documents and error.hint == "`memdb list` shows what there is.":
            error.hint = "`memdb list` and `memdb documents` show what there is."
        raise


def documents_meant(context: Context, written: str) -> list[str]:
    """The ids of the documents that an id, a path, a folder or an address means."""
    found = _mirrored(context, written)
    return found[1] if found else []


def _mirrored(context: Context, written: str) -> tuple[str, list[str], list[str]] | None:
    places = context.database.rows(
        "select place.path, coalesce(node.key, '') from place left join node on node.id = document_id"
    )
    snapshots = context.database.rows("select path from snapshot")
    if not places and not snapshots:
        return None
    from memdb.domain.documents import meant_path  # noqa: PLC0415 (it brings the readers of files)

    keys = sorted({key for _, key in places if key == written and key})
    if not keys:
        if reading.path_of(context, written) is not None:
            return None
        path = meant_path(written, context.place.root)
        if path == "":
            return None
        below = [(place, key) for place, key in places if history.is_below(place, path)]
        keys = sorted({key or history.document_key(place) for place, key in below})
        if not keys and any(path == found for (found,) in snapshots):
            keys = [history.document_key(path)]
        if not keys:
            return None
    mine = {place for place, key in places if (key or history.document_key(place)) in keys}
    mine |= {found for (found,) in snapshots if history.document_key(found) in keys}
    return written, keys, sorted(mine)
