"""What is mirrored: files and folders that are added, pages that are fetched, uploads, and what is removed again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from memdb.base import fetching, files
from memdb.domain import documents, history
from memdb.domain.extractors import CannotExtract
from memdb.errors import MemdbError, NotFound, Refused, UsageError
from memdb.services.context import Context, Progress, several, silent
from memdb.services.documents import document_rows as rows
from memdb.services.documents import snapshots
from memdb.services.documents.documents import DocumentReport


@dataclass(slots=True)
class Added:
    """What an add took: the stored paths, what it could not take and why, and what a person should know."""

    paths: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


Wanted = Path | snapshots.Page | tuple[str, MemdbError]
"""What is to be added: a file or folder, a page that was fetched, or what was asked for and why it is not there."""


def gather(written: Sequence[Path | str] | Path | str, *, progress: Progress = silent) -> list[Wanted]:
    """Fetch what is a text with an address; without the store, which others use meanwhile."""
    found: list[Wanted] = []
    paths = several(written)
    for done, item in enumerate(dict.fromkeys(paths)):
        if isinstance(item, Path) or not fetching.is_address(item):
            found.append(Path(item))
            continue
        progress(f"fetching {fetching.shown(item)}", done, len(paths))
        try:
            found.append(snapshots.fetch(item))
        except (UsageError, Refused, fetching.CannotFetch) as refusal:
            found.append((fetching.shown(item), refusal))
    return found


def add(context: Context, wanted: Sequence[Wanted]) -> Added:
    """Remember files and folders whose documents the store mirrors, and keep pages.

    Of several, those that cannot be taken keep no other back; a single one raises why: NotFound where there is nothing,
    UsageError for a memory of the store or a bad address, SecretFound, CannotFetch, CannotExtract.
    """
    added = Added()
    mirrored: list[str] = []
    refused: list[tuple[str, MemdbError]] = []
    for item in wanted:
        try:
            if isinstance(item, Path):
                mirrored.append(_addable(context, item))
            elif isinstance(item, snapshots.Page):
                kept = snapshots.keep(context, item)
                added.paths.append(kept.path)
                added.notes += _told(kept)
            else:
                refused.append(item)
        except (NotFound, UsageError, CannotExtract) as refusal:
            refused.append((item.path if isinstance(item, snapshots.Page) else str(item), refusal))
    if refused and len(wanted) == 1:
        raise refused[0][1]
    added.failed = [(name, " ".join(filter(None, (error.message, error.hint)))) for name, error in refused]
    _remember(context, mirrored)
    added.paths += mirrored
    return added


def _told(kept: snapshots.Kept) -> list[str]:
    said = []
    if kept.link not in (None, kept.path):
        said.append(f"{kept.path} leads to {kept.link}")
    if kept.redacted:
        parts = "1 part" if kept.redacted == 1 else f"{kept.redacted} parts"
        said.append(f"{kept.path}: {parts} of the snapshot redacted that looked like a credential")
    return said


def _addable(context: Context, path: Path) -> str:
    whole = Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 (a link is added as what it is called)
    if not whole.exists():
        raise NotFound(f"There is no file or folder {path}.", hint="Check the path.")
    if not whole.is_file() and not whole.is_dir():
        raise UsageError(
            f"{path} is neither a file nor a folder.",
            hint="What a program writes is taken from standard input: memdb add - --name NAME",
        )
    stored = documents.stored_path(whole, context.place.root)
    if whole.is_file() and files.is_memory_file(whole.name) and not history.is_outside(stored):
        raise UsageError(
            f"{path} is a memory of this store already: Markdown files in its folder are memories.",
            hint="`memdb sync` reads it, `memdb show` prints it.",
        )
    return stored


def upload(context: Context, name: str, data: bytes) -> Added:
    """Keep bytes under a name as a document. Raises UsageError, SecretFound, CannotExtract, NotWritable."""
    kept = snapshots.upload(context, name, data)
    return Added([kept.path], [], _told(kept))


def narrow(context: Context, report: DocumentReport, added: Added) -> None:
    """Have the report of a sync tell of failures and skipped files only where something was just added.

    What was left out of a document, or read in another way, is told too. Memory files in an added folder are no
    documents, which who adds it may not expect: `memories` counts them.
    """

    def is_added(path: str) -> bool:
        return any(history.is_below(path, folder) for folder in added.paths)

    report.failed = [(path, reason) for path, reason in report.failed if is_added(path)] + added.failed
    report.skipped = [path for path in report.skipped if is_added(path)]
    read_in_part = context.database.rows(
        "select place.path, note.value from place join document on document.id = document_id, json_each(notes) as note"
        " where notes <> '[]' order by place.path, note.key"
    )
    report.notes = added.notes + [f"{path}: {note}" for path, note in read_in_part if is_added(path)]
    report.memories = sum(is_added(path) for (path,) in context.database.rows("select path from source"))


def _remember(context: Context, stored: list[str]) -> None:
    if not stored:
        return
    with files.writer(context.place), context.database.write():
        known = {path for path, excluded in context.database.rows("select * from addition") if not excluded}
        excluded = [path for path, out in context.database.rows("select * from addition") if out]
        # Added once more, a folder takes back what was taken out of it.
        fresh = [
            path
            for path in dict.fromkeys(stored)
            if path not in known or any(history.is_below(other, path) for other in excluded)
        ]
        context.append(*(history.add_record(path) for path in fresh))


def remove(context: Context, written: str) -> str:
    """Stop mirroring a document (by id, with all its places), file, folder or address, and drop its chunks.

    A snapshot that nothing wants any more is deleted first: whatever happens after it, no byte of it comes back. Raises
    NotFound, NotWritable.
    """
    database = context.database
    by_id = database.rows(
        "select path from place join node on node.id = document_id where node.key = ? order by path", (written,)
    )
    paths = [path for (path,) in by_id] or [documents.meant_path(written, context.place.root)]
    with files.writer(context.place), database.write():
        known = database.rows("select path, document_id from place")
        gone = [row for row in known if any(history.is_below(row[0], path) for path in paths)]
        added = [path for (path,) in database.rows("select path from addition union all select path from snapshot")]
        if not gone and not any(history.is_below(other, path) for other in added for path in paths):
            raise NotFound(
                f"{fetching.shown(written)} is no document and nothing that was added.",
                hint="`memdb documents` lists them.",
            )
        kept = database.rows("select sha256, path from snapshot")
        for digest in {digest for digest, path in kept if path in paths}:
            if all(path in paths for other, path in kept if other == digest):
                snapshots.delete(context, digest)
        context.append(*(history.remove_record(path) for path in paths))
        for path, _ in gone:
            rows.leave(database, path)
        rows.settle(database, (document for _, document in gone))
        # The words of what is no longer mirrored leave the file as well, at the next sync.
        database.set_meta("scrub", "1")
    return str(paths[0])
