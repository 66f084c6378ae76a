"""Mirror documents: what was added is walked, changed files are cut anew, and only what changed in them is replaced."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memdb.base import files
from memdb.base.storage import Database
from memdb.domain import documents, history
from memdb.domain.documents import DocumentFile, Passage, Read
from memdb.domain.extractors import EXTRACTORS, CannotExtract
from memdb.errors import ModelUnavailable, NotFound
from memdb.services.context import Context, Progress, silent
from memdb.services.indexing import change_edges, drop_passages, index_words, unindex_words

RACY_NS = 2_000_000_000
"""A file changed this recently may change again unseen, as in `sync`."""

ESTIMATED_TOKENS = 254
"""The window without a tokenizer: that of the bundled model, in estimated tokens, which are rather too many."""


@dataclass(slots=True)
class DocumentReport:
    """What became of the files: each counts once; `failed` are those with a reason, `skipped` of no known format."""

    added: int = 0
    changed: int = 0
    moved: int = 0
    unchanged: int = 0
    missing: int = 0
    removed: int = 0
    chunks: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Scan:
    """The files that need a look, and the places that are gone or no longer wanted."""

    suspects: list[DocumentFile]
    unchanged: int
    missing: list[str]
    unwanted: list[str]
    skipped: list[str]


def add(context: Context, paths: list[Path]) -> list[str]:
    """Remember files and folders whose documents the store mirrors. Raises NotFound where there is nothing."""
    stored = []
    for path in paths:
        whole = path.expanduser()
        if not whole.exists():
            raise NotFound(f"There is no file or folder {path}.", hint="Check the path; nothing was added.")
        stored.append(documents.stored_path(whole, context.place.root))
    with files.writer(context.place), context.database.write():
        known = {path for path, excluded in context.database.rows("select * from addition") if not excluded}
        context.append(*(history.add_record(path) for path in stored if path not in known))
    return stored


def remove(context: Context, written: str) -> str:
    """Stop mirroring a document, file or folder, and drop its chunks. Raises NotFound."""
    database = context.database
    path = database.value(
        "select min(place.path) from place join node on node.id = document_id where node.key = ?", (written,)
    )
    path = path or documents.stored_path(Path(written).expanduser(), context.place.root)
    known = database.rows("select path from place union select path from addition")
    if not any(history.is_below(other, path) for (other,) in known):
        raise NotFound(f"{written} is no document and nothing that was added.", hint="`memdb documents` lists them.")
    with files.writer(context.place), database.write():
        context.append(history.remove_record(path))
    return str(path)


def scan(context: Context) -> Scan:
    """Compare the files below what was added with the places; reads no file."""
    database, root = context.database, context.place.root
    rows = database.rows("select path, excluded from addition order by path")
    if not rows and database.value("select 1 from place") is None:
        return Scan([], 0, [], [], [])
    added = [path for path, excluded in rows if not excluded]
    out = [path for path, excluded in rows if excluded]

    def excluded(path: str) -> bool:
        return any(history.is_below(path, other) for other in out)

    known = {path: stamp for path, *stamp in database.rows("select path, size, mtime_ns, ctime_ns, state from place")}
    outdated = _outdated(database)
    seen: set[str] = set()
    suspects, skipped, unchanged = [], [], 0
    for path in added:
        whole = documents.real_path(path, root)
        for file in documents.walk(whole, root, excluded):
            if file.path in seen:
                continue
            seen.add(file.path)
            if file.real != whole and not documents.is_readable_kind(file.real):
                skipped.append(file.path)
                seen.discard(file.path)
            elif file.path in outdated or _differs(file, known.get(file.path)):
                suspects.append(file)
            else:
                unchanged += 1
    gone = known.keys() - seen
    unwanted = sorted(path for path in gone if excluded(path) or not any(history.is_below(path, a) for a in added))
    missing = sorted(path for path in gone if path not in unwanted and known[path][3] != "missing")
    return Scan(suspects, unchanged, missing, unwanted, skipped)


def _differs(file: DocumentFile, stamp: list[Any] | None) -> bool:
    return stamp is None or stamp[3] == "missing" or stamp[:3] != [file.size, file.mtime_ns, file.ctime_ns]


def _versions() -> set[str]:
    return {f"{extractor.name} {extractor.version}" for extractor in EXTRACTORS}


def _outdated(database: Database) -> set[str]:
    """The paths of documents that another version of their extractor has read."""
    current = _versions()
    return {
        path
        for path, extractor in database.rows(
            "select path, extractor from place join document on document.id = document_id"
        )
        if extractor not in current
    }


def sync(context: Context, *, wait: float = files.LOCK_SECONDS, progress: Progress = silent) -> DocumentReport:
    """Bring the documents up to their files. One bad file never stops the rest; each is whole or as it was."""
    first = scan(context)
    report = DocumentReport(unchanged=first.unchanged, skipped=first.skipped)
    if first.suspects or first.missing or first.unwanted:
        with files.writer(context.place, wait):
            found = scan(context)
            _apply(context, found, report, progress)
    report.failed = [
        (path, reason)
        for path, reason in context.database.rows(
            "select path, reason from problem where code = 'document' order by path, reason"
        )
    ]
    return report


def _apply(context: Context, found: Scan, report: DocumentReport, progress: Progress) -> None:
    database = context.database
    report.unchanged = found.unchanged
    with database.write():
        touched = {
            document
            for path in (*found.unwanted, *found.missing)
            if (document := database.value("select document_id from place where path = ?", (path,))) is not None
        }
        for path in found.unwanted:
            _leave(database, path)
        for path in found.missing:
            database.connection.execute("update place set state = 'missing' where path = ?", (path,))
        _settle(database, touched)
    report.removed, report.missing = len(found.unwanted), len(found.missing)
    for done, file in enumerate(found.suspects, start=1):
        progress(f"reading {file.path}", done, len(found.suspects))
        _mirror(context, file, report)


def _mirror(context: Context, file: DocumentFile, report: DocumentReport) -> None:
    """Read one file and put it in, in one transaction."""
    database = context.database
    try:
        sha256 = documents.digest(file.real)
        before = database.connection.execute(
            "select place.sha256, document_id, document.extractor from place"
            " left join document on document.id = document_id where path = ?",
            (file.path,),
        ).fetchone()
        suffix = file.real.suffix.lower()
        same = database.value("select id from document where sha256 = ? and suffix = ?", (sha256, suffix))
        # A file that was seen under another name, or only touched, is not read again.
        outdated = before is not None and before[1] == same and before[2] not in _versions()
        content = None if same is not None and not outdated else _read(context, file, sha256)
        problem = None
    except (CannotExtract, OSError) as error:
        sha256, before, same, content = "", None, None, None
        problem = error.message if isinstance(error, CannotExtract) else f"cannot be read: {error.strerror}"
    with database.write() as connection:
        connection.execute("delete from problem where path = ? and code = 'document'", (file.path,))
        if problem is not None:
            connection.execute(
                "insert into problem (path, line, code, reason) values (?, null, 'document', ?)", (file.path, problem)
            )
            held = database.value("select document_id from place where path = ?", (file.path,))
            _take_place(database, file, None, "", "error")
            _settle(database, {held} if held is not None else set())
            return
        if content is None:
            document = int(same)
        else:
            target = int(same) if same is not None else _document_for(database, before)
            document = _write(database, target, content, suffix)
            report.chunks += len(content.passages)
        if before is None or before[1] is None:
            report.added += 1
        elif before[0] == sha256:
            report.unchanged += 1
        else:
            report.changed += 1
        _take_place(database, file, document, sha256, "seen")
        _settle(database, {document, *([before[1]] if before is not None and before[1] is not None else [])})


def _read(context: Context, file: DocumentFile, sha256: str) -> Read:
    from memdb.domain.chunking import estimate_offsets  # noqa: PLC0415

    embedder = context.embedder
    try:
        tokens, offsets = embedder.window_tokens, embedder.token_offsets
        return documents.read(file.real, sha256, max_tokens=tokens, offsets_of=offsets)
    except ModelUnavailable:
        return documents.read(file.real, sha256, max_tokens=ESTIMATED_TOKENS, offsets_of=estimate_offsets)


def _document_for(database: Database, before: tuple[str, int | None, str | None] | None) -> int | None:
    """The document that a changed file was, if no other file is the same document."""
    if before is None or before[1] is None:
        return None
    others = database.value("select count(*) from place where document_id = ?", (before[1],))
    return before[1] if others == 1 else None


def _take_place(database: Database, file: DocumentFile, document: int | None, sha256: str, state: str) -> None:
    young = time.time_ns() - max(file.mtime_ns, file.ctime_ns) < RACY_NS
    database.connection.execute(
        "insert or replace into place (path, document_id, size, mtime_ns, ctime_ns, sha256, state)"
        " values (?, ?, ?, ?, ?, ?, ?)",
        (file.path, document, file.size, -1 if young else file.mtime_ns, file.ctime_ns, sha256, state),
    )


def _leave(database: Database, path: str) -> None:
    database.connection.execute("delete from place where path = ?", (path,))
    database.connection.execute("delete from problem where path = ? and code = 'document'", (path,))


def _write(database: Database, document: int | None, content: Read, suffix: str) -> int:
    """Write a document and its chunks; a passage whose identity stays keeps its chunk, with vectors and edges."""
    run = database.connection.execute
    notes = json.dumps(content.notes, ensure_ascii=False)
    row = (content.sha256, suffix, content.format, content.title, content.created, content.extractor, notes)
    if document is None:
        run("insert into node (kind, key, label) values ('document', ?, '')", (f"\x00{content.sha256}{suffix}",))
        document = database.connection.last_insert_rowid()
        run(
            "insert into document (id, sha256, suffix, format, title, created, extractor, notes, state)"
            " values (?, ?, ?, ?, ?, ?, ?, ?, 'seen')",
            (document, *row),
        )
    else:
        run(
            "update document set sha256 = ?, suffix = ?, format = ?, title = ?, created = ?, extractor = ?, notes = ?,"
            " state = 'seen' where id = ?",
            (*row, document),
        )
    old: dict[str, list[int]] = defaultdict(list)
    for chunk, identity in database.rows(
        "select id, identity from chunk where document_id = ? order by ordinal desc", (document,)
    ):
        old[identity].append(chunk)
    kept: list[int] = []
    for passage in content.passages:
        before = old[passage.identity].pop() if old.get(passage.identity) else None
        kept.append(_write_chunk(database, document, passage, before))
    for chunks in old.values():
        for chunk in chunks:
            drop_chunk(database, chunk)
    _write_next(database, kept, content.passages)
    return document


def _write_chunk(database: Database, document: int, passage: Passage, chunk: int | None) -> int:
    run = database.connection.execute
    fresh = chunk is None
    old = database.value("select text_sha256 from chunk where id = ?", (chunk,)) if chunk is not None else None
    if chunk is None:
        key = f"\x00{document}:{passage.ordinal}:{passage.identity}"
        run("insert into node (kind, key, label) values ('chunk', ?, '')", (key,))
        chunk = database.connection.last_insert_rowid()
    run(
        "insert or replace into chunk (id, document_id, ordinal, heading_path, prefix, text, page, start_line,"
        " end_line, record_id, title, created, identity, text_sha256, has_secret, indexed_at)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (select indexed_at from chunk where id = ?))",
        (
            chunk,
            document,
            passage.ordinal,
            json.dumps(passage.heading_path, ensure_ascii=False),
            passage.prefix,
            passage.text,
            passage.page,
            passage.start_line,
            passage.end_line,
            passage.record_id,
            passage.title,
            passage.created,
            passage.identity,
            passage.text_sha256,
            int(passage.secret is not None),
            chunk,
        ),
    )
    if fresh or old != passage.text_sha256:
        unindex_words(database, chunk)
        index_words(database, chunk, name=passage.prefix, body=passage.text)
        drop_passages(database, chunk)
    return chunk


def drop_chunk(database: Database, chunk: int) -> None:
    """Delete a chunk's node and all that hangs on it."""
    drop_passages(database, chunk)
    unindex_words(database, chunk)
    database.connection.execute("delete from node where id = ?", (chunk,))


def _write_next(database: Database, chunks: list[int], passages: tuple[Passage, ...]) -> None:
    """Join each chunk to the following one of its section by a `next` edge."""
    for place, chunk in enumerate(chunks):
        new = {chunks[place + 1]} if passages[place].joins_next and place + 1 < len(chunks) else set()
        old = {dst for (dst,) in database.rows("select dst from edge where src = ? and kind = 'next'", (chunk,))}
        change_edges(database, chunk, "next", old, new)


def _settle(database: Database, touched: set[int]) -> None:
    """Drop touched documents without a place, forget gone places of those that have another, and name what is left.

    A document is `document:` and the first of its paths, a chunk that and its record's id or its place.
    """
    run = database.connection.execute
    named = []
    for document in sorted(touched):
        run(
            "delete from place where document_id = ?1 and state = 'missing'"
            " and exists (select 1 from place where document_id = ?1 and state = 'seen')",
            (document,),
        )
        path, seen = database.rows(
            "select min(path), coalesce(max(state = 'seen'), 0) from place where document_id = ?", (document,)
        )[0]
        if path is None:
            for (chunk,) in database.rows("select id from chunk where document_id = ?", (document,)):
                drop_chunk(database, chunk)
            run("delete from node where id = ?", (document,))
            continue
        run("update document set state = ? where id = ?", ("seen" if seen else "missing", document))
        # Two documents can change names with one another: a name that holds its place for a moment comes between.
        run("update node set key = ? where id = ?", (f"\x00{document}", document))
        named.append((document, path))
    for document, path in named:
        title = database.value("select title from document where id = ?", (document,))
        label = title or path.rpartition("/")[2]
        run("update node set key = ?, label = ? where id = ?", (f"document:{path}", label, document))
        _name_chunks(database, document, f"document:{path}")


def _name_chunks(database: Database, document: int, key: str) -> None:
    wanted: dict[int, tuple[str, str]] = {}
    used: set[str] = set()
    for chunk, ordinal, record_id, prefix in database.rows(
        "select id, ordinal, record_id, prefix from chunk where document_id = ? order by ordinal", (document,)
    ):
        name = f"{key}#{record_id or ordinal + 1}"
        if name in used:
            name = f"{name}~{ordinal + 1}"
        used.add(name)
        wanted[chunk] = (name, prefix)
    rows = database.rows(
        "select node.id, node.key, node.label from node join chunk on chunk.id = node.id where document_id = ?",
        (document,),
    )
    for chunk, now, label in rows:
        if now != wanted[chunk][0]:
            database.connection.execute("update node set key = ? where id = ?", (f"\x00{chunk}", chunk))
        elif label != wanted[chunk][1]:
            database.connection.execute("update node set label = ? where id = ?", (wanted[chunk][1], chunk))
    for chunk, now, _ in rows:
        if now != wanted[chunk][0]:
            database.connection.execute("update node set key = ?, label = ? where id = ?", (*wanted[chunk], chunk))
