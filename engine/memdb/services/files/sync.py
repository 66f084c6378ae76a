"""Bring the index up to the files: only what changed is read, indexed, linked, embedded and clustered again."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from memdb.base import files
from memdb.base import text as texts
from memdb.base.files import Found, Stamp, Walk
from memdb.base.journal import Record
from memdb.base.kept import state_of
from memdb.base.later import Later
from memdb.base.storage import Database
from memdb.domain import history
from memdb.errors import ModelUnavailable, Refused
from memdb.services.context import Context, Progress, silent
from memdb.services.documents import document_scan, documents
from memdb.services.documents.documents import DocumentReport
from memdb.services.entities import mentions, vocabulary
from memdb.services.files import rekeying
from memdb.services.index import clustering, vectors

if TYPE_CHECKING:
    from memdb.services.forgetting import scrubbing
    from memdb.services.index import indexing
    from memdb.services.index.indexing import Reading
else:
    scrubbing = Later("memdb.services.forgetting.scrubbing")
    indexing = Later("memdb.services.index.indexing")

BATCH = 500
"""Files per write transaction: short enough that other writers do not wait, long enough to be fast."""

RACY_NS = 2_000_000_000
"""A file changed this recently (2 s, the coarsest clock of a file system, FAT's) may change again unseen: it is read
again."""

MISSING_SHARE = 0.5
"""A sync that finds more than this share of the files gone asks first: more often a disk is away than a person deletes
so much."""

LAST_WAIT = 0.2
"""Seconds that a part of a sync waits for another writer where the parts before it used the time up."""

MISSING_MINIMUM = 3
"""Below this many missing files nobody is asked."""


@dataclass(slots=True)
class Problem:
    """What could not be read or understood."""

    path: str
    line: int | None
    reason: str


@dataclass(slots=True)
class SyncReport:
    """What a sync did: files by what became of them, texts embedded, problems that stand, and what is still behind."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    renamed: int = 0
    unchanged: int = 0
    embedded: int = 0
    problems: list[Problem] = field(default_factory=list)
    ignored: list[tuple[str, str]] = field(default_factory=list)
    pending: int = 0
    embedder: str = ""
    documents: DocumentReport = field(default_factory=DocumentReport)


@dataclass(slots=True)
class Plan:
    """The files whose size or time differs from what the index has, and the paths that are gone."""

    walk: Walk
    suspects: list[Found]
    known: dict[str, str]  # sha256 by path; empty where nothing differs
    missing: list[str]


def plan(context: Context) -> Plan:
    """Compare the folder with the index by size and time; reads no file, unless the index cannot be written."""
    database = context.database
    stamps = _stamps(database)
    seen = files.walk(context.place.root, stamps, document_scan.stamps(context))
    suspects = list(seen.files.values())
    gone = stamps.keys() - seen.as_known - seen.files.keys() if len(seen.as_known) < len(stamps) else ()
    missing = sorted(path for path in gone if not _is_unseen(path, seen))
    known = dict(database.rows("select path, sha256 from source")) if suspects or missing else {}
    if database.read_only:
        # The times of a copy differ, and cannot be noted: only a file whose bytes differ is behind.
        suspects = [found for found in suspects if _differs(context, found, known.get(found.path))]
    return Plan(seen, suspects, known, missing)


def behind(context: Context) -> int:
    """How many files of memories and documents are new, changed or gone, as far as their size and times tell."""
    found = plan(context)
    scanned = document_scan.scan(context, found.walk)
    changed = [file for file in found.suspects if _differs(context, file, found.known.get(file.path))]
    return len(changed) + len(found.missing) + len(scanned.suspects) + len(scanned.missing) + len(scanned.unwanted)


def _stamps(database: Database) -> dict[str, Stamp]:
    """Size and times of every file, as the index has them; read again only when the database was written to."""
    state = state_of(database)
    held = _held.get(database)
    if held is None or held[0] != state:
        rows = database.connection.execute("select path, size, mtime_ns, ctime_ns from source")
        held = _held[database] = state, {path: (size, mtime, ctime) for path, size, mtime, ctime in rows}
    return held[1]


_held: WeakKeyDictionary[Database, tuple[tuple[int, int], dict[str, Stamp]]] = WeakKeyDictionary()


def sync(
    context: Context,
    *,
    yes: bool = False,
    embed: bool = True,
    embed_limit: int | None = None,
    cluster_limit: int | None = None,
    read_limit: int | None = None,
    names_limit: int | None = None,
    wait: float = files.LOCK_SECONDS,
    reading: AbstractContextManager[None] | None = None,
    progress: Progress = silent,
) -> SyncReport:
    """Bring the index up to the files and return what was done.

    `yes` lets more than half of the files be gone; `embed_limit` bounds how many memories are embedded now,
    `cluster_limit` leaves the clusters of a larger store for later, `read_limit` bounds how many bytes of documents are
    read now, `names_limit` how many texts are read for names, `wait` is for how many seconds another writer is waited
    for, `reading` is entered for all that comes before vectors. Raises StoreUnreadable when the root cannot be listed,
    Refused when too much is missing; the index is then as it was.
    """
    end = time.monotonic() + wait

    def left() -> float:
        """All waits together are to be no longer than was asked for, but who waited is not sent away at once."""
        return max(end - time.monotonic(), min(wait, LAST_WAIT))

    with context.database.patience(wait):
        with reading or nullcontext():
            report, walked = _bring_up(context, yes, wait, progress)
            report.documents = documents.sync(
                context, wait=left(), read_limit=read_limit, progress=progress, seen=walked
            )
            report.ignored = walked.left_out(document_scan.places(context))
            _scrub(context, left())
            mentions.refresh(context, wait=left(), limit=names_limit, progress=progress)
        if embed:
            try:
                report.embedded = vectors.embed_pending(context, limit=embed_limit, progress=progress)
            except ModelUnavailable as error:
                report.embedder = error.message
            clustering.refresh(context, at_most=cluster_limit, wait=left())
        report.pending = vectors.pending_count(context)
        report.problems = [
            Problem(path, line, reason)
            for path, line, reason in context.database.rows(
                "select path, line, reason from problem order by path, line, reason"
            )
        ]
    return report


def _bring_up(context: Context, yes: bool, wait: float, progress: Progress) -> tuple[SyncReport, Walk]:
    before = state_of(context.database)
    first = plan(context)
    report = SyncReport(unchanged=first.walk.count)
    if first.suspects or first.missing or _behind(context, first.walk):
        with files.writer(context.place, wait):
            # Another process may have synced while this one waited.
            found = first if state_of(context.database) == before else plan(context)
            _apply(context, found, report, yes, progress)
    return report, first.walk


def _scrub(context: Context, wait: float) -> None:
    """Clean the database of what was forgotten or removed; documents that were are dropped before it."""
    if context.database.meta("scrub") is not None:
        with files.writer(context.place, wait):
            if context.database.meta("scrub") is not None:
                scrubbing.scrub(context)


def _behind(context: Context, walk: Walk) -> bool:
    """Whether there is more to do than files to read.

    The journal says more than the tables, the walk met other problems than the last one, or a forget or an earlier sync
    is not done.
    """
    if walk.leftovers or context.journal_is_ahead() or context.database.meta("scrub") is not None:
        return True
    if vocabulary.is_outdated(context.database) or context.database.meta("signs_stale") is not None:
        return True
    if rekeying.is_pending(context.database):
        return True
    stood = context.database.rows("select path, reason from problem where code = 'walk' order by path, reason")
    return [tuple(row) for row in stood] != walk.problems


def _apply(context: Context, found: Plan, report: SyncReport, yes: bool, progress: Progress) -> None:
    database = context.database
    _catch_up(context)
    fresh = {item.path for item in found.suspects if item.path not in found.known}
    moved = _moves(context, found, fresh)
    gone = [path for path in found.missing if path not in moved.values()]
    if not yes and len(gone) >= MISSING_MINIMUM and len(gone) > MISSING_SHARE * len(found.known):
        raise Refused(
            f"{len(gone)} of {len(found.known)} files are missing under {context.place.root}; nothing was changed.",
            hint="If they are meant to be gone, run `memdb sync --yes`; else check that the disk or folder is there.",
        )
    for leftover in found.walk.leftovers:
        (context.place.root / leftover).unlink(missing_ok=True)
    with database.write() as connection:
        connection.execute("delete from problem where code = 'walk'")
        connection.executemany(
            "insert into problem (path, line, code, reason) values (?, null, 'walk', ?)", found.walk.problems
        )
    report.unchanged = found.walk.count - len(found.suspects)
    changed = rekeying.Changes(database)
    removals = list(gone)
    done = 0
    for batch in _batches(found.suspects):
        read = [reading for item in batch if (reading := _read(context, item)) is not None]
        # A file that cannot be read now is what it was, until it can.
        unread = [r for r in read if not r.sha256 and r.found.path in found.known and r.found.mtime_ns < 0]
        readings = [r for r in read if r not in unread]
        same = [r for r in readings if r.found.path in found.known and found.known[r.found.path] == r.sha256]
        unequal = [r for r in readings if r not in same]
        with database.write() as connection:
            for reading in same:
                connection.execute(
                    "update source set size = ?, mtime_ns = ?, ctime_ns = ? where path = ?",
                    (reading.found.size, reading.found.mtime_ns, reading.found.ctime_ns, reading.found.path),
                )
            _note_unread(database, same, unread)
            moves = {r.found.path: moved[r.found.path] for r in unequal if r.found.path in moved}
            context.append(*_past_records(context, unequal, removals, moves))
            changed.note(indexing.apply(database, unequal, removals, moves))
        removals = []
        report.unchanged += len(same)
        for reading in unequal:
            if reading.found.path in moved:
                report.renamed += 1
            elif reading.found.path in fresh:
                report.added += 1
            else:
                report.changed += 1
        done += len(batch)
        progress("reading", done, len(found.suspects))
    with database.write():
        if removals:
            context.append(*_past_records(context, [], removals, {}))
            changed.note(indexing.apply(database, [], removals, {}))
        context.append(*changed.records())
        changed.end()
        context.set_forgotten(set())
        if database.meta(rekeying.READ_WHOLE) is None:
            database.set_meta(rekeying.READ_WHOLE, "1")
    report.removed = len(gone)


def _catch_up(context: Context) -> None:
    """Show what the journal has more than the tables, and what an older memdb did not write."""
    database = context.database
    if context.journal_is_ahead():
        with database.write():
            context.replay_journal()
    elif vocabulary.is_outdated(database):
        with database.write():
            context.show_decisions()
    if database.meta("signs_stale") is not None:
        with database.write():
            indexing.sign_all(database)


def _is_unseen(path: str, walk: Walk) -> bool:
    """Whether a file may be there all the same, in a folder that could not be listed."""
    return any(path == unseen or path.startswith(f"{unseen}/") for unseen in walk.unseen)


def _differs(context: Context, found: Found, digest: str | None) -> bool:
    try:
        return hashlib.sha256(files.read(context.place.root, found)).hexdigest() != digest
    except OSError:
        return True


def _note_unread(database: Database, read: list[Reading], unread: list[Reading]) -> None:
    """List what could not be read as a problem, until it was read."""
    run = database.connection.execute
    for reading in (*read, *unread):
        run(
            "delete from problem where path = ? and code = 'unreadable'"
            " and exists (select 1 from source where source.path = problem.path and state = 'seen')",
            (reading.found.path,),
        )
    for reading in unread:
        path = reading.found.path
        run("update source set mtime_ns = -1 where path = ?", (path,))
        run("delete from problem where path = ? and code = 'unreadable'", (path,))
        run("insert into problem (path, line, code, reason) values (?, null, 'unreadable', ?)", (path, reading.error))


def _batches(items: list[Found]) -> Iterator[list[Found]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]


def _read(context: Context, found: Found) -> Reading | None:
    """Read one file; None where it vanished after the walk saw it."""
    if found.size > files.MAX_FILE_BYTES:
        limit = files.MAX_FILE_BYTES // 2**20
        return indexing.Reading(found, "", None, f"larger than {limit} MiB; split it, or add it as a document")
    try:
        data = files.read(context.place.root, found)
    except FileNotFoundError:
        return None
    except OSError as error:
        return indexing.Reading(_unsettled(found), "", None, f"cannot be read: {error.strerror}")
    return reading_of(found, data)


def reading_of(found: Found, data: bytes) -> Reading:
    """The reading of a file's bytes, with a stamp that is read again when the file is very young."""
    digest = hashlib.sha256(data).hexdigest()
    now = time.time_ns()
    past = [at for at in (found.mtime_ns, found.ctime_ns) if at <= now]
    # The size that was read counts: a file that grew meanwhile is read again.
    stamped = Found(found.path, len(data), found.mtime_ns, found.ctime_ns, found.real)
    if now - max(past, default=now) < RACY_NS:
        stamped = _unsettled(stamped)
    from memdb.domain import memory_file  # noqa: PLC0415 (parsers that a sync without changes does not need)

    try:
        return indexing.Reading(stamped, digest, memory_file.read_memory(found.path, data))
    except texts.UndecodableText as error:
        return indexing.Reading(stamped, digest, None, error.message)


def _unsettled(found: Found) -> Found:
    """The file with a time that no file has, so that the next sync reads it again."""
    return Found(found.path, found.size, -1, found.ctime_ns, found.real)


def _moves(context: Context, found: Plan, fresh: set[str]) -> dict[str, str]:
    """New paths whose bytes are those of exactly one missing file, and of no other new one: the file was renamed."""
    if not fresh or not found.missing:
        return {}
    by_digest: dict[str, list[str]] = {}
    for path in found.missing:
        by_digest.setdefault(found.known[path], []).append(path)
    news: dict[str, list[str]] = {}
    for item in found.suspects:
        if item.path in fresh and item.size <= files.MAX_FILE_BYTES:
            try:
                digest = hashlib.sha256(files.read(context.place.root, item)).hexdigest()
            except OSError:
                continue  # reported when it is read to be indexed
            news.setdefault(digest, []).append(item.path)
    return {
        paths[0]: by_digest[digest][0]
        for digest, paths in news.items()
        if len(paths) == 1 and len(by_digest.get(digest, [])) == 1
    }


def _past_records(
    context: Context, readings: Iterable[Reading], removals: Sequence[str], moves: dict[str, str]
) -> list[Record]:
    """Journal records for the texts that are about to be replaced."""
    records: list[Record] = []
    for reading in readings:
        if reading.found.path not in moves:
            records += version_of(context, reading.found.path, "edited")
    forgotten = context.forgotten() if removals else set()
    for path in removals:
        records += [
            record
            for record in version_of(context, path, "deleted")
            if history.key_digest(record["id"]) not in forgotten
        ]
    return records


def version_of(context: Context, path: str, reason: str) -> list[Record]:
    """The journal record of the text that the index has for a path, unless it is the last one already."""
    row = context.database.connection.execute(
        "select node.key, source.sha256, head || body, has_secret from memory join node on node.id = memory.id"
        " join source on source.id = source_id where path = ?",
        (path,),
    ).fetchone()
    if row is None:
        return []
    key, digest, text, secret = row
    last = context.database.rows(
        "select sha256, reason from memory_version where memory_key = ? order by id desc limit 1", (key,)
    )
    # A file that came back as it was when it was deleted had that text in two lives.
    if last and last[0][0] == digest and not (last[0][1] == "deleted" and rekeying.is_born(context.database, key)):
        return []
    # The stored text of a memory with a secret is redacted: it is not what was written, so it is withheld.
    return [history.version_record(key, digest, reason, text, "secret" if secret else None)]
