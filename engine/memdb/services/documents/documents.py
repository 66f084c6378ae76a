"""Mirror documents: what was added is walked, changed files are cut anew, and only what changed in them is replaced."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from memdb.base import files
from memdb.base.later import Later
from memdb.base.storage import Database
from memdb.domain import documents, formats
from memdb.domain.documents import DocumentFile, OffsetsOf, Read
from memdb.errors import ModelUnavailable
from memdb.services.context import Context, Progress, silent
from memdb.services.documents.document_scan import Known, Scan, cutter_of, scan

if TYPE_CHECKING:
    from memdb.domain import extractors
    from memdb.services.documents import document_content, document_salvage
    from memdb.services.documents import document_rows as rows
    from memdb.services.index import indexing
    from memdb.services.index.indexing import NodeWords
else:
    extractors = Later("memdb.domain.extractors")
    document_content = Later("memdb.services.documents.document_content")
    document_salvage = Later("memdb.services.documents.document_salvage")
    rows = Later("memdb.services.documents.document_rows")
    indexing = Later("memdb.services.index.indexing")

RACY_NS = 2_000_000_000
"""A file changed this recently may change again unseen, as in `sync`."""

ESTIMATED_TOKENS = 254
"""The window without a tokenizer: that of the bundled model, in estimated tokens, which are rather too many."""

ESTIMATE = "estimate"
"""What a document's `cutter` is where tokens were estimated."""

BATCH = 32
"""Files that are put in at once: taking the lock and committing cost more than a short file."""

BATCH_CHARACTERS = 1_000_000
"""Or so many characters, a few seconds of writing."""

TOUCHED_SHARE = 32
"""To see that a file has the bytes that it had costs about so many times less than to read and cut it."""


@dataclass(slots=True)
class DocumentReport:
    """What became of the files, each of which counts once.

    `failed` has those that stand with a reason, `skipped` those of no known format, `behind` counts those that a limit
    left for later.
    """

    added: int = 0
    changed: int = 0
    moved: int = 0
    unchanged: int = 0
    missing: int = 0
    removed: int = 0
    chunks: int = 0
    behind: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    memories: int = 0  # of an add: Markdown files below what was added that are memories, and so no documents
    notes: list[str] = field(default_factory=list)  # of an add: redirects, and what was cut out or left out


@dataclass(frozen=True, slots=True)
class Look:
    """A file as it was seen: its sha256, or why it cannot be read."""

    file: DocumentFile
    sha256: str
    unread: str | None = None


class Reading(NamedTuple):
    """What was read of a file, and by whose tokens it was cut, or why there is nothing."""

    look: Look
    content: Read | None
    cutter: str
    problem: str
    prepared: document_content.Prepared | None = None

    @property
    def characters(self) -> int:
        return sum(len(passage.text) for passage in self.content.passages) if self.content else 0


def sync(
    context: Context,
    *,
    wait: float = files.LOCK_SECONDS,
    read_limit: int | None = None,
    progress: Progress = silent,
    seen: files.Walk | None = None,
) -> DocumentReport:
    """Bring the documents up to their files. One bad file never stops the rest; each is whole or as it was.

    Other writers wait for one file at most. `read_limit` bounds how many bytes are read now, `seen` is what a walk over
    the root saw just now. Raises Busy, NotWritable.
    """
    found = scan(context, seen)
    if found.is_behind:
        with files.writer(context.place, wait), context.database.write():
            found = scan(context)  # another process may have synced while this one waited
            _mark(context.database, found)
    report = DocumentReport(unchanged=found.unchanged, skipped=found.skipped)
    report.removed, report.missing = len(found.unwanted), len(found.missing)
    suspects = found.suspects if read_limit is None else _affordable(found, read_limit)
    report.behind = len(found.suspects) - len(suspects)
    if context.database.read_only:
        # The times of a copy differ, and cannot be noted: only a file whose bytes differ is behind.
        suspects = [file for file in suspects if _is_other(file, found.known.get(file.path))]
    if suspects:
        _mirror(context, suspects, report, wait, progress)
    if not report.behind and any(place.state == "error" for place in found.known.values()):
        _note_abilities(context, wait)
    report.failed = [
        (path, reason)
        for path, reason in context.database.rows(
            "select path, reason from problem where code in ('document', 'addition') order by path, reason"
        )
    ]
    return report


def _is_other(file: DocumentFile, known: Known | None) -> bool:
    return known is None or _look(file).sha256 != known.sha256


def _affordable(found: Scan, limit: int) -> list[DocumentFile]:
    chosen, bytes_read = [], 0
    for file in found.suspects:
        place = found.known.get(file.path)
        is_young = place is not None and place.mtime_ns < 0 and place.size == file.size
        bytes_read += file.size // TOUCHED_SHARE if is_young else file.size
        if bytes_read > limit:
            break
        chosen.append(file)
    return chosen


def _note_abilities(context: Context, wait: float) -> None:
    now = documents.abilities()
    if context.database.meta("abilities") != now:
        with files.writer(context.place, wait), context.database.write():
            context.database.set_meta("abilities", now)


def _mark(database: Database, found: Scan) -> None:
    """Forget the places that are not wanted, mark those that are missing, and list the folders that cannot be read."""
    run = database.connection.execute
    touched = [found.known[path].document for path in (*found.unwanted, *found.missing)]
    for path in found.unwanted:
        rows.leave(database, path)
    for path in found.missing:
        run("delete from problem where path = ? and code = 'document'", (path,))
        if found.known[path].document is None:
            rows.leave(database, path)
        else:
            run("update place set state = 'missing' where path = ?", (path,))
    rows.settle(database, touched)
    run("delete from problem where code = 'addition'")
    database.connection.executemany(
        "insert into problem (path, line, code, reason) values (?, null, 'addition', ?)", found.problems
    )


def _mirror(
    context: Context, suspects: list[DocumentFile], report: DocumentReport, wait: float, progress: Progress
) -> None:
    """Look at all files, let those that were seen under another name take their places, then read the others.

    In this order a document whose file changed names with another's, or moved on before a new one took its name, stays
    the same document.
    """
    looks = []
    for done, file in enumerate(suspects, start=1):
        looks.append(_look(file))
        if len(suspects) > 1:
            progress("looking at files", done, len(suspects))
    unknown = [look for look in looks if look.unread or _current(context, look) is None]
    if len(unknown) < len(looks):
        with _writing(context, wait) as database:
            unknown, touched = [], []
            for look in looks:
                document = None if look.unread else _current(context, look)
                if document is None:
                    unknown.append(look)
                else:
                    touched += _take(database, look, document, report)
            rows.settle(database, touched)
    batch: list[Reading] = []
    fresh: list[int] = []
    characters = 0
    for done, look in enumerate(unknown, start=1):
        progress(f"reading {look.file.path}", done - 1, len(unknown))
        if look.unread is None or not _stands(context.database, look):
            batch.append(_read(context, look))
            characters += batch[-1].characters
        if len(batch) >= BATCH or characters >= BATCH_CHARACTERS:
            fresh += _put_in(context, batch, report, wait)
            batch, characters = [], 0
    fresh += _put_in(context, batch, report, wait)
    _rejoin(context, fresh, report, wait)
    if unknown:
        progress("reading", len(unknown), len(unknown))


@contextmanager
def _writing(context: Context, wait: float) -> Iterator[Database]:
    with files.writer(context.place, wait), context.database.write():
        yield context.database


def _look(file: DocumentFile) -> Look:
    try:
        digest = documents.digest(file.real)
    except OSError as error:
        return Look(file, "", f"cannot be read: {error.strerror}")
    if file.expected not in (None, digest):
        return Look(file, "", documents.DAMAGED)
    return Look(file, digest)


def _same(database: Database, look: Look) -> int | None:
    found = database.value("select id from document where sha256 = ? and suffix = ?", (look.sha256, look.file.suffix))
    return None if found is None else int(found)


def _current(context: Context, look: Look) -> int | None:
    """The document with these bytes, unless it has to be cut anew."""
    same = _same(context.database, look)
    if same is None:
        return None
    extractor, cutter = context.database.rows("select extractor, cutter from document where id = ?", (same,))[0]
    now = cutter_of(context)
    return same if extractor in formats.versions() and (now is None or now == cutter) else None


def _read(context: Context, look: Look) -> Reading:
    """Read one file, outside of any transaction."""
    if look.unread is not None:
        return Reading(look, None, "", look.unread)
    cutter, max_tokens, offsets_of = _tokens(context)
    made = document_content.Made(look.file.name or look.file.real.name, look.file.suffix, cutter, max_tokens)
    if context.salvage is not None:
        taken = document_salvage.salvaged(context.salvage, look.sha256, made)
        if taken is not None:
            return Reading(look, taken.content, cutter, "", taken.prepared)
    try:
        content = documents.read(
            look.file.real, look.sha256, max_tokens=max_tokens, offsets_of=offsets_of, name=look.file.name
        )
    except extractors.CannotExtract as error:
        return Reading(look, None, "", error.message)
    except OSError as error:
        return Reading(Look(look.file, ""), None, "", f"cannot be read: {error.strerror}")
    database = context.database
    held = database.value("select document_id from place where path = ?", (look.file.path,))
    # Most of the work of a large file: it is done before anyone has to wait for the lock.
    return Reading(
        look,
        content,
        cutter,
        "",
        document_content.prepare(content, rows.texts_of(database, [held, _same(database, look)]), made),
    )


def _put_in(context: Context, batch: list[Reading], report: DocumentReport, wait: float) -> list[int]:
    """Put files in, each whole; returns the documents that are new."""
    if not batch:
        return []
    fresh = []
    words: list[NodeWords] = []
    with _writing(context, wait) as database:
        for look, content, cutter, problem, prepared in batch:
            if content is None:
                _fail(database, look, problem)
                continue
            # Another process, or an identical file before this one, may have put it in meanwhile.
            document = _current(context, look)
            if document is None:
                same = _same(database, look)
                is_new = database.value("select document_id from place where path = ?", (look.file.path,)) is None
                target = same if same is not None else _document_for(database, look.file.path)
                document = rows.write(
                    database, target, content, look.file.suffix, cutter, words=words, prepared=prepared
                )
                report.chunks += len(content.passages)
                fresh += [document] if target is None and is_new else []
            rows.settle(database, _take(database, look, document, report))
        indexing.put_words(database, words)
    return fresh


def _rejoin(context: Context, fresh: list[int], report: DocumentReport, wait: float) -> None:
    """Let a file that was renamed and edited at once stay the document that it was."""
    if not fresh or context.database.value("select 1 from document where state = 'missing'") is None:
        return
    with _writing(context, wait) as database:
        for old, new in rows.successors(database, fresh):
            rows.rejoin(database, old, new)
            report.added -= 1
            report.moved += 1


def _tokens(context: Context) -> tuple[str, int, OffsetsOf]:
    """By whose tokens a file is cut, the window, and what gives the tokens."""
    identity = cutter_of(context)
    if identity is not None:
        try:
            embedder = context.embedder
            embedder.token_offsets("a first text")
            return identity, embedder.window_tokens, embedder.token_offsets
        except ModelUnavailable:
            # Its files are there, its tokenizer does not work: nothing is cut anew for it in this process.
            context.broken_tokenizer = identity
    return ESTIMATE, ESTIMATED_TOKENS, _estimate()


def _estimate() -> OffsetsOf:
    from memdb.domain.chunking import estimate_offsets  # noqa: PLC0415

    return estimate_offsets


def _fail(database: Database, look: Look, problem: str) -> None:
    """List a file that cannot be read.

    What was read before is kept where the file itself cannot be reached, and let go where it has no such text any more.
    """
    path = look.file.path
    held = database.value("select document_id from place where path = ?", (path,))
    _take_place(database, look, held if not look.sha256 else None, "error")
    database.connection.execute("delete from problem where path = ? and code = 'document'", (path,))
    database.connection.execute(
        "insert into problem (path, line, code, reason) values (?, null, 'document', ?)", (path, problem)
    )
    rows.settle(database, [held])


def _stands(database: Database, look: Look) -> bool:
    """Whether it is known already that a file cannot be reached: a sync without news writes nothing."""
    path = look.file.path
    reason = database.value("select reason from problem where path = ? and code = 'document'", (path,))
    state = database.value("select state from place where path = ?", (path,))
    return bool(reason == look.unread and state == "error")


def _document_for(database: Database, path: str) -> int | None:
    """The document that a changed file was, if no other file is the same document."""
    document = database.value("select document_id from place where path = ?", (path,))
    others = database.value("select count(*) from place where document_id = ?", (document,))
    return document if others == 1 else None


def _take(database: Database, look: Look, document: int, report: DocumentReport) -> list[int | None]:
    """Give a file's place to its document; returns the documents that this touched."""
    path = look.file.path
    before = database.rows("select document_id, sha256, state from place where path = ?", (path,))
    held, sha256, _ = before[0] if before else (None, "", "")
    if held is None:
        state = database.value("select state from document where id = ?", (document,))
        is_new = database.value("select 1 from place where document_id = ?", (document,)) is None
        if state == "missing" and not is_new:
            report.moved += 1
        else:
            report.added += 1
    elif held == document and sha256 in ("", look.sha256):
        report.unchanged += 1
    else:
        report.changed += 1
    database.connection.execute("delete from problem where path = ? and code = 'document'", (path,))
    _take_place(database, look, document, "seen")
    return [document, held]


def _take_place(database: Database, look: Look, document: int | None, state: str) -> None:
    file = look.file
    # What could not be reached, and what is very young, is looked at again.
    again = not look.sha256 or time.time_ns() - max(file.mtime_ns, file.ctime_ns) < RACY_NS
    database.connection.execute(
        "insert or replace into place (path, document_id, size, mtime_ns, ctime_ns, sha256, state)"
        " values (?, ?, ?, ?, ?, ?, ?)",
        (file.path, document, file.size, -1 if again else file.mtime_ns, file.ctime_ns, look.sha256, state),
    )
