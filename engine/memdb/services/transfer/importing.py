"""Move in: write what other tools keep as memory files and conversations, so that it can be done again without harm."""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from memdb.base import archives, files
from memdb.base.archives import Tree
from memdb.base.journal import Record
from memdb.domain import history, importers
from memdb.domain.importers import Importer, chats
from memdb.domain.importers.audit import Audit
from memdb.errors import NotFound, UsageError
from memdb.services.context import Context, Progress, several, silent
from memdb.services.documents import document_additions as additions
from memdb.services.files import sync
from memdb.services.files.sync import SyncReport
from memdb.services.index import digests
from memdb.services.memories import saving
from memdb.services.transfer import packing
from memdb.services.transfer.import_plans import WRITTEN, Plan, Planner, Step, folder_of, without_secrets

BATCH = 50
"""Files between two lines of the journal: a second or so of work, which a killed import does again."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one item. `file` is relative to the root.

    `action` is created, updated, unchanged, edited (changed here since, left alone), gone (removed here since),
    forgotten, refused (a credential), empty or unreadable.
    """

    place: str
    file: str
    action: str
    reason: str


@dataclass(slots=True)
class Imported:
    """What an import did, or with `dry_run` would do. `store` tells of an export of memdb that was taken as a whole."""

    kinds: list[str]
    dry_run: bool
    items: list[Outcome] = field(default_factory=list)
    audit: Audit = field(default_factory=Audit)
    store: packing.Unpacked | None = None
    sync: SyncReport | None = None

    @property
    def counts(self) -> dict[str, int]:
        """How many items came to which end."""
        found: dict[str, int] = {}
        for item in self.items:
            found[item.action] = found.get(item.action, 0) + 1
        return dict(sorted(found.items()))

    @property
    def writes(self) -> int:
        """How many files were written, or would be."""
        return sum(item.action in WRITTEN for item in self.items) + (self.store.files if self.store else 0)


def import_from(
    context: Context,
    sources: Sequence[Path | str] | Path | str,
    *,
    kind: str | None = None,
    to: str | None = None,
    dry_run: bool = False,
    embed: bool = True,
    today: datetime.date | None = None,
    progress: Progress = silent,
) -> Imported:
    """Write what sources have below the root and sync; what was imported before, only where the source changed it.

    `to` is the folder, and so the type, of all notes and conversations; stale texts are measured against `today`. An
    import that was killed goes on when it is run again. Raises UsageError for a bad `to` or `kind` and a source that
    lies in the store, NotFound, CannotImport, BadArchive, StoreUnreadable, NotWritable.
    """
    done = _taken_over(context, sources, kind=kind, to=to, dry_run=dry_run, today=today, progress=progress)
    if not dry_run:
        if done.store is not None and "model" in done.store.settings:
            context.set_embedder(None)
        done.sync = sync.sync(context, embed=embed, progress=progress)
        if done.store is not None:
            sync.sync(context)
            done.store.same = digests.digest(context.database).digest == done.store.digest
    return done


def _taken_over(
    context: Context,
    sources: Sequence[Path | str] | Path | str,
    *,
    kind: str | None,
    to: str | None,
    dry_run: bool,
    today: datetime.date | None,
    progress: Progress,
) -> Imported:
    if to is not None:
        if "/" in to:
            raise UsageError(f"{to!r} is no type.", hint="A type is one folder, for example reference.")
        to = saving.split_key(f"{to}/name")[0]
    if not sources:
        raise UsageError("Nothing to import was named.", hint="Name a folder, a zip or a JSON file.")
    trees = [_tree(context, Path(source)) for source in several(sources)]
    found = [importers.importer(tree, kind) for tree in trees]
    if None in found:
        return _whole(context, trees, dry_run, progress)
    if not dry_run:
        sync.sync(context, embed=False, progress=progress)
    readers = [one for one in found if one is not None]
    planner = Planner(context, readers, to=to, today=today or datetime.datetime.now(datetime.UTC).date())
    plan = planner.plan(progress)
    if not dry_run:
        _carry_out(context, plan, progress)
    outcomes = [Outcome(step.place, step.path, step.action, step.reason) for step in plan.steps]
    return Imported([reader.kind for reader in readers], dry_run, outcomes, plan.audit)


def _tree(context: Context, path: Path) -> Tree:
    whole = path.expanduser()
    if whole.exists() and whole.is_dir():
        inside = whole.resolve()
        root = context.place.root
        if inside == root or inside.is_relative_to(root) or root.is_relative_to(inside):
            raise UsageError(
                f"{path} and the store's folder lie in one another; there is nothing to move in.",
                hint="`memdb sync` reads what is in the store's folder, `memdb add` mirrors documents.",
            )
    return archives.open_tree(whole)


def _whole(context: Context, trees: Sequence[Tree], dry_run: bool, progress: Progress) -> Imported:
    if len(trees) > 1:
        raise UsageError("An export of memdb is imported alone.", hint="Import the others with commands of their own.")
    tree = archives.open_tree(trees[0].path, whole=True)
    done = packing.unpack_into(context, tree, dry_run=dry_run, progress=progress)
    return Imported([importers.STORE], dry_run, store=done)


def _carry_out(context: Context, plan: Plan, progress: Progress) -> None:
    """Write what is new and changed, in batches; each is in the journal before the next begins."""
    total = sum(step.action in WRITTEN for step in plan.steps)
    done = 0
    noted = {tuple(entry) for record in context.journal.read(("import",)) for entry in record.get("files", [])}
    batch: list[tuple[Step, bytes]] = []
    for step, data in _contents(plan):
        batch.append((step, data))
        if len(batch) == BATCH:
            _write(context, batch, noted)
            done += len(batch)
            progress("writing", done, total)
            batch = []
    _write(context, batch, noted)
    progress("writing", total, total)
    # What was there already, as a person or an import that was killed left it, is known from now on.
    found = [step for step in plan.steps if step.action == "unchanged" and not step.reason]
    _note(context, found, noted)
    documents = [step for step in plan.steps if step.is_document]
    folders = {folder_of(context, step) for step in documents if step.action in WRITTEN}
    if documents:
        # An import that was killed may have written conversations and not got to this.
        added = {record.get("path") for record in context.journal.read(("add",))}
        here = {
            step.path.split("/", 1)[0]: folder_of(context, step) for step in documents if step.action == "unchanged"
        }
        folders |= {folder for path, folder in here.items() if path not in added}
    for folder in sorted(folders):
        with suppress(NotFound):  # nothing of it could be written
            additions.add(context, [folder])


def _contents(plan: Plan) -> Iterable[tuple[Step, bytes]]:
    """The steps that write, each with its bytes; conversations are read once more, one at a time."""
    by_source: dict[int, list[Step]] = {}
    for step in plan.steps:
        by_source.setdefault(step.source, []).append(step)
    for number, reader in enumerate(plan.importers):
        steps = by_source.get(number, [])
        yield from ((step, step.data) for step in steps if step.action in WRITTEN and step.data is not None)
        if any(step.is_document and step.action in WRITTEN for step in steps):
            yield from _conversations(reader, steps)


def _conversations(reader: Importer, steps: Sequence[Step]) -> Iterable[tuple[Step, bytes]]:
    for step, item in zip(steps, reader.items(), strict=False):
        if step.action not in WRITTEN or not isinstance(item, importers.Conversation):
            continue
        data = chats.lines(without_secrets(item)[0], reader.kind)
        if hashlib.sha256(data).hexdigest() != step.sha256:
            step.action, step.reason = "unreadable", "the source changed while it was read; import it again"
            continue
        yield step, data


def _write(context: Context, batch: Sequence[tuple[Step, bytes]], noted: set[tuple[str, ...]]) -> None:
    if not batch:
        return
    with files.writer(context.place):
        for step, data in batch:
            target = context.place.root / files.real_path(step.path)
            before = hashlib.sha256(target.read_bytes()).hexdigest() if target.exists() else None
            if before != step.before:
                step.action, step.reason = "edited", "changed while the import ran; it was not written over"
                continue
            files.write_whole(target, data)
            if step.mtime_ns is not None:
                with suppress(OSError, OverflowError):  # a time that this system cannot write
                    os.utime(target, ns=(step.mtime_ns, step.mtime_ns))
    _note(context, [step for step, _ in batch if step.action in WRITTEN], noted)


def _note(context: Context, steps: Sequence[Step], noted: set[tuple[str, ...]]) -> None:
    """Journal which items are in which files: by hashes, so that it says nothing of what is forgotten later."""
    entries = [(step.mark, history.key_digest(step.path), step.sha256) for step in steps]
    fresh = [entry for entry in entries if entry not in noted]
    if not fresh:
        return
    noted.update(fresh)
    with files.writer(context.place), context.database.write():
        for start in range(0, len(fresh), 20 * BATCH):
            context.append({"kind": "import", "files": fresh[start : start + 20 * BATCH]})


def without(path: str, sha256: str | None = None) -> packing.Change:
    """The change of the journal by which it tells of an item only that its memory was forgotten."""
    told = {history.key_digest(path), sha256} - {None}

    def change(records: list[Record]) -> dict[int, Record | None]:
        changed: dict[int, Record | None] = {}
        for place, record in enumerate(records):
            if record["kind"] != "import" or not isinstance(record.get("files"), list):
                continue
            kept = [[entry[0], "", ""] if told & set(entry[1:]) else entry for entry in record["files"] if entry]
            if kept != record["files"]:
                changed[place] = {**record, "files": kept}
        return changed

    return change
