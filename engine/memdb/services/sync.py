"""Bring the index up to the files: only what changed is read, indexed, linked, embedded and clustered again."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from memdb.base import files
from memdb.base import text as texts
from memdb.base.files import Found, Walk
from memdb.base.journal import Record
from memdb.domain import history, memories
from memdb.errors import ModelUnavailable, Refused
from memdb.services import clustering, indexing, vectors
from memdb.services.context import Context, Progress, silent
from memdb.services.indexing import Reading

BATCH = 500
"""Files per write transaction: short enough that other writers do not wait, long enough to be fast."""

RACY_NS = 2_000_000_000
"""A file changed this recently (2 s, the coarsest clock of a file system, FAT's) may change again unseen: it is read again."""

MISSING_SHARE = 0.5
"""A sync that finds more than this share of the files gone asks first: more often a disk is away than a person deletes so much."""

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


@dataclass(slots=True)
class Plan:
    """The files whose size or time differs from what the index has, and the paths that are gone."""

    walk: Walk
    suspects: list[Found]
    known: dict[str, tuple[int, int, str]]  # path: size, mtime_ns, sha256
    missing: list[str]


def plan(context: Context, walk: Walk | None = None) -> Plan:
    """Compare the folder with the index by size and time; reads no file."""
    seen = walk or files.walk(context.place.root)
    known = {
        path: (size, mtime, digest)
        for path, size, mtime, digest in context.database.rows("select path, size, mtime_ns, sha256 from source")
    }
    suspects = []
    for path, found in seen.files.items():
        stamp = known.get(path)
        if stamp is None or stamp[0] != found.size or stamp[1] != found.mtime_ns:
            suspects.append(found)
    missing = sorted(known.keys() - seen.files.keys())
    return Plan(seen, suspects, known, missing)


def sync(
    context: Context,
    *,
    yes: bool = False,
    embed: bool = True,
    embed_limit: int | None = None,
    cluster_limit: int | None = None,
    wait: float = files.LOCK_SECONDS,
    progress: Progress = silent,
) -> SyncReport:
    """Bring the index up to the files and return what was done.

    `yes` lets more than half of the files be gone; `embed_limit` bounds how many memories are embedded now, `cluster_limit` leaves the
    clusters of a larger store for later, `wait` is for how many seconds another writer is waited for.
    Raises StoreUnreadable when the root cannot be listed, Refused when too much is missing; the index is then as it was.
    """
    first = plan(context)
    report = SyncReport(ignored=first.walk.ignored)
    report.unchanged = len(first.walk.files)
    if first.suspects or first.missing or _behind(context, first.walk):
        with files.writer(context.place, wait):
            # Another process may have synced while this one waited.
            _apply(context, plan(context), report, yes, progress)
    if embed:
        try:
            report.embedded = vectors.embed_pending(context, limit=embed_limit, progress=progress)
        except ModelUnavailable as error:
            report.embedder = error.message
        clustering.refresh(context, at_most=cluster_limit)
    database = context.database
    report.pending = vectors.pending_count(context)
    report.problems = [
        Problem(path, line, reason)
        for path, line, reason in database.rows("select path, line, reason from problem order by path, line, reason")
    ]
    return report


def _behind(context: Context, walk: Walk) -> bool:
    """Whether the journal says more than the tables, or the walk met other problems than the last one."""
    if context.journal_state() != context.journal.state():
        return True
    stood = context.database.rows("select path, reason from problem where code = 'walk' order by path, reason")
    return [tuple(row) for row in stood] != walk.problems


def _apply(context: Context, found: Plan, report: SyncReport, yes: bool, progress: Progress) -> None:
    database = context.database
    if context.journal_state() != context.journal.state():
        with database.write():
            context.replay_journal()
    fresh = {item.path for item in found.suspects if item.path not in found.known}
    moved = _moves(context, found, fresh)
    gone = [path for path in found.missing if path not in moved.values()]
    if not yes and len(gone) >= MISSING_MINIMUM and len(gone) > MISSING_SHARE * len(found.known):
        raise Refused(
            f"{len(gone)} of {len(found.known)} files are missing under {context.place.root}; nothing was changed.",
            hint="If they are meant to be gone, run `memdb sync --yes`; else check that the disk or folder is there.",
        )
    with database.write() as connection:
        connection.execute("delete from problem where code = 'walk'")
        connection.executemany(
            "insert into problem (path, line, code, reason) values (?, null, 'walk', ?)", found.walk.problems
        )
    report.unchanged -= len(found.suspects)
    removals = list(gone)
    total, done = len(found.suspects), 0
    for batch in _batches(found.suspects):
        readings = [reading for item in batch if (reading := _read(context, item)) is not None]
        same = [r for r in readings if r.found.path in found.known and found.known[r.found.path][2] == r.sha256]
        unequal = [r for r in readings if r not in same]
        with database.write() as connection:
            for reading in same:
                connection.execute(
                    "update source set size = ?, mtime_ns = ? where path = ?",
                    (reading.found.size, reading.found.mtime_ns, reading.found.path),
                )
            moves = {r.found.path: moved[r.found.path] for r in unequal if r.found.path in moved}
            context.append(*_past_records(context, unequal, removals, moves))
            indexing.apply(database, unequal, removals, moves)
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
        progress("reading", done, total)
    if removals:
        with database.write():
            context.append(*_past_records(context, [], removals, {}))
            indexing.apply(database, [], removals, {})
    report.removed = len(gone)


def _batches(items: list[Found]) -> Iterator[list[Found]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]


def _read(context: Context, found: Found) -> Reading | None:
    """Read one file; None where it vanished after the walk saw it."""
    if found.size > files.MAX_FILE_BYTES:
        limit = files.MAX_FILE_BYTES // 2**20
        return Reading(found, "", None, f"larger than {limit} MiB; split it, or add it as a document")
    try:
        data = files.read(context.place.root, found)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Reading(Found(found.path, found.size, 0, found.real), "", None, f"cannot be read: {error.strerror}")
    return reading_of(found, data)


def reading_of(found: Found, data: bytes) -> Reading:
    """The reading of a file's bytes, with a stamp that is read again when the file is very young."""
    digest = hashlib.sha256(data).hexdigest()
    young = time.time_ns() - found.mtime_ns < RACY_NS
    stamped = Found(found.path, len(data), 0 if young else found.mtime_ns, found.real)
    try:
        return Reading(stamped, digest, memories.read_memory(found.path, data))
    except texts.UndecodableText as error:
        return Reading(stamped, digest, None, error.message)


def _moves(context: Context, found: Plan, fresh: set[str]) -> dict[str, str]:
    """New paths whose bytes are those of exactly one missing file, and of no other new one: the file was renamed."""
    if not fresh or not found.missing:
        return {}
    by_digest: dict[str, list[str]] = {}
    for path in found.missing:
        by_digest.setdefault(found.known[path][2], []).append(path)
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
    context: Context, readings: Iterable[Reading], removals: Iterable[str], moves: dict[str, str]
) -> list[Record]:
    """Journal records for the texts that are about to be replaced, and for renames."""
    records: list[Record] = []
    for reading in readings:
        old = moves.get(reading.found.path)
        if old is None:
            records += version_of(context, reading.found.path, "edited")
        elif reading.memory is not None:
            key = context.database.value(
                "select node.key from memory join node on node.id = memory.id join source on source.id = source_id"
                " where path = ?",
                (old,),
            )
            if key is not None and key != reading.memory.key:
                records.append(history.rename_record(key, reading.memory.key))
    for path in removals:
        records += version_of(context, path, "deleted")
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
    last = context.database.value("select sha256 from memory_version where memory_key = ? order by id desc", (key,))
    if last == digest:
        return []
    # The stored text of a memory with a secret is redacted: it is not what was written, so it is withheld.
    return [history.version_record(key, digest, reason, text, "secret" if secret else None)]
