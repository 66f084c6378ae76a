"""Move out: a folder that people read, lines that programs read, or a zip from which the whole store comes back."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from memdb.base import files, secrets, text
from memdb.domain.documents import name_of
from memdb.domain.importers import naming
from memdb.errors import Refused, UsageError
from memdb.services.context import Context, Progress, silent
from memdb.services.index import digests
from memdb.services.transfer import packing

FORMATS = ("folder", "jsonl", "zip")

LINES_VERSION = 1
"""Of the shape of JSONL exports."""

RECORDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "memory": (
        "select memories.id, memories.type, memories.name, memories.description, memories.tags, aliases, file,"
        " memories.created, memories.modified, memories.happened_at, memories.valid_from, memories.valid_to,"
        " superseded, memories.has_secret, memories.body as text from memories join node on node.key = memories.id"
        " join memory on memory.id = node.id order by 1",
        ("tags", "aliases"),
    ),
    "link": (
        "select node.key as source, link.kind as link, raw, target, status, goal.key as leads_to, line from link"
        " join node on node.id = memory_id left join node as goal on goal.id = target_id order by 1, line, raw, 2",
        (),
    ),
    "document": (
        "select id, title, format, state, places, link, notes from documents order by id",
        ("places", "notes"),
    ),
    "chunk": (
        "select id, document, ordinal, heading_path, page, start_line, end_line, record_id, has_secret, text"
        " from chunks order by document, ordinal",
        ("heading_path",),
    ),
    "entity": ("select id, name, type, origin, aliases from entities order by id", ("aliases",)),
    "mention": (
        "select distinct source, entity, name, type, origin, about from mentions order by source, entity, name, origin",
        (),
    ),
    "relation": (
        "select subject, predicate, object, confidence, sources from relations order by subject, predicate, object",
        ("sources",),
    ),
}
"""The kinds of line of a JSONL export, each with its statement and the columns that are JSON. Texts have their
credentials redacted, as in the database."""


@dataclass(slots=True)
class Exported:
    """What an export wrote. `digest` is that of the store; a zip of it imported into an empty store has it again."""

    format: str
    target: str
    digest: str
    counts: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def format_of(target: Path) -> str:
    """The format that a name asks for."""
    return {".zip": "zip", ".jsonl": "jsonl", ".ndjson": "jsonl"}.get(target.suffix.lower(), "folder")


def export(
    context: Context, target: Path, *, form: str | None = None, yes: bool = False, progress: Progress = silent
) -> Exported:
    """Write what the store has, as its index has it now. What was forgotten is in none of it.

    `yes` lets it write over a file, or into a folder that has something. Raises Refused without, UsageError for a bad
    format and a folder inside the root, NotWritable.
    """
    target = Path(os.path.abspath(target.expanduser()))  # noqa: PTH100 (a link is written to as what it is called)
    form = form or format_of(target)
    if form not in FORMATS:
        raise UsageError(f"There is no format {form!r}.", hint=f"One of {', '.join(FORMATS)}.")
    _check(context, target, form, yes)
    with files.writer(context.place):
        # Journal and index are to tell the same.
        digest = digests.digest(context.database).digest
        journal = {file.name: file.read_bytes() for file in context.journal.files()} if form == "zip" else {}
    report = Exported(form, str(target), digest)
    if form == "zip":
        _zip(context, target, journal, report, progress)
    elif form == "jsonl":
        _lines(context, target, report)
    else:
        _folder(context, target, report, progress)
    return report


def _check(context: Context, target: Path, form: str, yes: bool) -> None:
    root = context.place.root
    if form == "folder" and (target == root or target.is_relative_to(root) or root.is_relative_to(target)):
        raise UsageError(
            f"{target} and the store's folder lie in one another.",
            hint="Name a folder beside it: memories would double.",
        )
    if target.is_dir() and form != "folder":
        raise UsageError(f"{target} is a folder.", hint=f"Name a file, for example {target / f'memdb.{form}'}.")
    if form == "folder" and target.exists() and not target.is_dir():
        raise UsageError(f"{target} is a file.", hint="Name a folder, or another --format.")
    taken = any(target.iterdir()) if target.is_dir() else target.exists()
    if taken and not yes:
        what = "is not empty" if target.is_dir() else "is there already"
        raise Refused(
            f"{target} {what}; nothing was written.", hint="Name another place, or add --yes to write over it."
        )


def _zip(context: Context, target: Path, journal: Mapping[str, bytes], report: Exported, progress: Progress) -> None:
    packed = packing.pack(context, target, journal, digest=report.digest, progress=progress)
    report.counts = {"files": packed.files, "snapshots": packed.snapshots, "bytes": packed.bytes}
    if packed.outside:
        report.notes.append(
            f"{len(packed.outside)} documents outside of the store's folder are not in it: only their paths."
        )
    report.notes += [f"{path} changed while it was packed" for path in packed.changed]
    report.notes += [f"{path} is not in it: {reason}" for path, reason in packed.lost]


def _lines(context: Context, target: Path, report: Exported) -> None:
    with packing.aside(target) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as out:
        head = {"kind": "store", "version": LINES_VERSION, "digest": report.digest}
        out.write(json.dumps(head) + "\n")
        for record in records(context):
            report.counts[record["kind"]] = report.counts.get(record["kind"], 0) + 1
            out.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")


def records(context: Context) -> Iterator[dict[str, Any]]:
    """The lines of a JSONL export after the first, in a fixed order. Fields without a value are left out."""
    with context.database.read() as connection:
        for kind, (statement, lists) in RECORDS.items():
            cursor = connection.execute(statement)
            names: list[str] = []
            for row in cursor:
                names = names or [column[0] for column in cursor.get_description()]
                found = {
                    name: json.loads(value) if name in lists and value else value
                    for name, value in zip(names, row, strict=True)
                    if value not in (None, "", "[]")
                }
                yield {"kind": kind, **found}


def _folder(context: Context, target: Path, report: Exported, progress: Progress) -> None:
    """`memories/` as they are, `documents/` as text, `snapshots/` as they were kept."""
    root = context.place.root
    memories = [path for (path,) in context.database.rows("select path from source order by path")]
    listed = context.database.rows("select node.key, label, document.id from document join node using (id) order by 1")
    total, done, secret = len(memories) + len(listed), 0, 0
    for path in memories:
        try:
            data = (root / files.real_path(path)).read_bytes()
        except OSError as error:
            report.notes.append(f"{path} is not in it: {error.strerror or error}")
            continue
        secret += _has_secret(data)
        files.write_whole(target / "memories" / files.real_path(path), data)
        done += 1
        progress("writing", done, total)
    report.counts["memories"] = done
    paths = naming.Paths(())
    for key, title, document in listed:
        stem = naming.safe_path(name_of(str(key).removeprefix("document:")) or str(title))
        name = paths.claim(f"documents/{stem}", ".txt", str(key))
        files.write_whole(target / name, _text_of(context, document, str(title)).encode("utf-8", "replace"))
        done += 1
        progress("writing", done, total)
    report.counts["documents"] = len(listed)
    count = 0
    for path, digest, suffix in context.database.rows("select path, sha256, suffix from snapshot order by path"):
        kept = context.place.snapshots / digest
        if kept.is_file():
            stem = naming.safe_path(name_of(path) or digest)
            name = paths.claim(f"snapshots/{stem.removesuffix(suffix)}", suffix, path)
            files.write_whole(target / name, kept.read_bytes())
            count += 1
    report.counts["snapshots"] = count
    if secret:
        report.notes.append(f"{secret} of the files have text that looks like a credential, as they do in your folder.")


def _has_secret(data: bytes) -> bool:
    try:
        return bool(secrets.find_secrets(text.decode(data).text))
    except text.UndecodableText:
        return False


def _text_of(context: Context, document: int, title: str) -> str:
    """A document's text from its passages, under their headings."""
    parts, before = [title], cast(list[str], [])
    rows = context.database.connection.execute(
        "select heading_path, text from chunk where document_id = ? order by ordinal", (document,)
    )
    for path, passage in rows:
        headings = json.loads(path)
        if headings and headings != before:
            parts.append(" › ".join(headings))
            before = headings
        parts.append(passage.strip())
    return "\n\n".join(part for part in parts if part) + "\n"
