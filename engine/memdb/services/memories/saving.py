"""Write one memory file: made or edited on request, whole or not at all, and in the index when the call returns."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from memdb.base import files, secrets
from memdb.base import text as texts
from memdb.domain import frontmatter, memories
from memdb.errors import Changed, Refused, SecretFound, UsageError
from memdb.services.context import Context
from memdb.services.files import rekeying, sync
from memdb.services.index import indexing
from memdb.services.memories import reading, restating
from memdb.services.memories.restating import Restated

NAME_BYTES = 255
"""The longest file name, in UTF-8 bytes, that all common file systems take."""

WINDOWS_RESERVED = re.compile(r"(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)")
WINDOWS_ILLEGAL = re.compile(r'[<>:"|?*\\]|[. ]$')


@dataclass(frozen=True, slots=True)
class Saved:
    """What a save did; `sha256` is that of the file's bytes now.

    `restates` is the memory that says the same and was there before: the text became its text, and no new memory was
    made. `left_out` are fields that were given and not taken, because that memory keeps its own. `apart_from` is the
    memory that says the same where the new one was to stand apart.
    """

    id: str
    file: str
    created: bool
    changed: bool
    sha256: str
    restates: str | None = None
    left_out: tuple[str, ...] = ()
    apart_from: str | None = None


def save(
    context: Context,
    key: str,
    body: str | None = None,
    *,
    description: str | None = None,
    tags: Sequence[str] | None = None,
    supersedes: Sequence[str] | None = None,
    aliases: Sequence[str] | None = None,
    fields: Mapping[str, str | None] | None = None,
    expected_sha256: str | None = None,
    apart: bool = False,
) -> Saved:
    """Make a memory or change one; what is not given stays as it is, unknown keys too.

    `key` is `type/name`; `fields` sets further frontmatter keys, None removes one. A new memory that only says again
    what another one says becomes a version of that one, unless it is to stand `apart` (see `Saved.restates`). With
    `expected_sha256`, a file that changed since is not replaced (Changed). Raises SecretFound where any given text
    looks like a credential, UsageError for a bad name.
    """
    kind, name = split_key(key)
    if body and not body.endswith("\n"):
        body += "\n"  # a text file ends with a newline, at the first save as at the next
    changes: dict[str, object] = dict(fields or {})
    given = {"description": description, "tags": tags, "supersedes": supersedes, "aliases": aliases}
    for field, value in given.items():
        if value is not None:
            changes[field] = value if isinstance(value, str) else list(value)
    refuse_secrets({"name": key, "body": body or "", **{field: _flat(value) for field, value in changes.items()}})
    with files.writer(context.place):
        path = reading.path_of(context, f"{kind}/{name}")
        beside: str | None = None
        if path is not None and files.stat_file(context.place.root, path) is None:
            # Renamed or deleted unseen: only the folder can say which. Where too much is missing, this one file is made
            # anew.
            with suppress(Refused):
                sync.sync(context, embed=False)
            path = reading.path_of(context, f"{kind}/{name}")
        if path is None:
            path = new_path(context, f"{kind}/{name}")
            if body and not supersedes and expected_sha256 is None and not _is_there(context, path):
                said = restating.restated(context, kind, body, changes)
                if said is not None and not apart:
                    return _restate(context, said, body, _filled(changes))
                beside = said.id if said is not None else None
        before = current(context, path)
        if before is None:
            text = frontmatter.render({"name": name, **_filled(changes)}, body or "")
            return replace(put(context, path, None, text.encode("utf-8"), expected_sha256), apart_from=beside)
        return put(context, path, before, frontmatter.edit_bytes(before, changes, body=body), expected_sha256)


def _restate(context: Context, said: Restated, body: str, given: Mapping[str, object]) -> Saved:
    """Make a text that says the same the text of a memory; where it is the same text, nothing is written."""
    before = current(context, said.file) or b""
    after = before if said.way == "exact" else frontmatter.edit_bytes(before, {}, body=body)
    saved = put(context, said.file, before, after, None, reason="restated")
    shown = reading.show(context, said.id)
    kept = {"description": shown.description, "tags": list(shown.tags), "aliases": list(shown.aliases)}
    left_out = [field for field, value in given.items() if kept.get(field, shown.frontmatter.get(field)) != value]
    return replace(saved, restates=said.id, left_out=tuple(left_out))


def _is_there(context: Context, path: str) -> bool:
    return files.stat_file(context.place.root, path) is not None


def new_path(context: Context, key: str) -> str:
    """The path of a memory that is to be made. Raises UsageError where the disk takes another file for it."""
    path = files.storable(f"{key}.md")
    taken = files.other_spelling(context.place.root, path)
    if taken is not None:
        raise UsageError(
            f"This disk does not tell {path} from {taken}, which is there already.",
            hint="Choose another name, or save to the one that is there.",
        )
    return path


def write_file(context: Context, path: str, data: bytes, *, expected_sha256: str | None = None) -> Saved:
    """Replace the bytes of one memory file, as an editor left them. Raises as `save` does."""
    refuse_secrets({"text": texts.decode(data).text})
    with files.writer(context.place):
        return put(context, path, current(context, path), data, expected_sha256)


def split_key(key: str) -> tuple[str, str]:
    """Type and name of a `type/name`. Raises UsageError for what cannot be a file name here."""
    kind, slash, name = key.strip().removesuffix(".md").partition("/")
    if not slash or not kind or not name:
        raise UsageError(f"{key!r} is no id.", hint="Write TYPE/NAME, for example feedback/prefers-tables.")
    for part in (kind, *name.split("/")):
        if part in ("", ".", "..") or part.startswith(".") or re.search(r"[\x00-\x1f\x7f]", part):
            raise UsageError(f"{part!r} cannot be part of an id.", hint="Use letters, digits, spaces, - and _.")
        if len(part.encode("utf-8", "replace")) > NAME_BYTES - len(".md"):
            raise UsageError(
                f"The name is longer than {NAME_BYTES} bytes.", hint="Put the long text into the description."
            )
        if os.name == "nt" and (WINDOWS_RESERVED.search(part) or WINDOWS_ILLEGAL.search(part)):
            raise UsageError(
                f"Windows does not take {part!r} as a file name.", hint="Use letters, digits, spaces, - and _."
            )
        if not files.is_memory_file(f"{part}.md"):
            raise UsageError(
                f"{part!r} reads as a temporary file, which memdb does not index.", hint="Choose another name."
            )
    return kind, name


def refuse_secrets(parts: Mapping[str, str]) -> None:
    """Raise SecretFound for the first text that looks like a credential, without showing it."""
    for where, text in parts.items():
        found = secrets.find_secrets(text)
        if found:
            raise SecretFound(
                f"The {where} (line {found[0].line}) looks like a credential: {found[0].category}. Nothing was saved.",
                hint=secrets.advice(found[0].category),
            )


def _flat(value: object) -> str:
    return "\n".join(str(item) for item in value) if isinstance(value, list) else str(value or "")


def _filled(changes: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in changes.items() if value is not None}


def target(context: Context, path: str) -> Path:
    """The file of a stored path. Raises UsageError where it would lie outside the root."""
    real = context.place.root / files.real_path(path)
    inside = Path(os.path.abspath(real))  # noqa: PTH100 (links stay links)
    if not inside.is_relative_to(context.place.root) or inside.is_relative_to(context.place.home):
        raise UsageError(f"{path} is not among the memories of {context.place.root}.")
    if not files.is_memory_file(inside.name):
        raise UsageError(f"{path} is no Markdown file.", hint="Name a file that ends with .md")
    return real


def current(context: Context, path: str) -> bytes | None:
    """The file's bytes now, with the index brought up to them, so that no outside edit is overwritten unseen."""
    found = files.stat_file(context.place.root, path)
    if found is None:
        return None
    data = files.read(context.place.root, found)
    known = context.database.value("select sha256 from source where path = ?", (path,))
    if known != hashlib.sha256(data).hexdigest():
        with context.database.write():
            _index(context, found, data, "edited")
    return data


def _index(context: Context, found: files.Found, data: bytes, reason: str | None, *, made: bool = False) -> None:
    """Bring one file into the index, inside the caller's transaction.

    With a reason, the text before goes to the journal; `made` is true of a file that memdb made.
    """
    if reason is not None:
        context.append(*sync.version_of(context, found.path, reason))
    rekeyed = indexing.apply(context.database, [sync.reading_of(found, data)], [], {})
    fresh = [new for old, new in rekeyed.values() if old is None]
    context.append(*rekeying.rename_records(rekeyed), *rekeying.birth_records(context.database, fresh, made=made))


def put(
    context: Context, path: str, before: bytes | None, after: bytes, expected: str | None, *, reason: str = "saved"
) -> Saved:
    """Write a file, None before where it is new, and show it in the index; the caller holds the writer lock.

    `reason` is why the text before was replaced. Raises Changed where the file is not what it was, UsageError for a
    text that is too long to be indexed.
    """
    digest = hashlib.sha256(before).hexdigest() if before is not None else None
    if expected is not None and expected != digest:
        raise Changed(
            f"{path} was changed by someone else since it was read; it was not replaced.",
            hint=f"Look at it with `memdb show {path.removesuffix('.md')}`, then save again.",
        )
    if len(after) > files.MAX_FILE_BYTES:
        # Such a file would be listed as a problem and found by no recall.
        raise UsageError(
            f"The text has {len(after):,} bytes; a memory has at most {files.MAX_FILE_BYTES // 2**20} MiB.",
            hint="Split it, or add it as a document: `memdb add FILE`.",
        )
    file = target(context, path)
    if before == after:
        return Saved(reading.key_of(context, path) or path, path, False, False, digest or "")
    with context.database.write():
        context.append(*sync.version_of(context, path, reason))
        now = file.read_bytes() if file.exists() else None
        if now != before:
            raise Changed(f"{path} changed while it was being saved; it was not replaced.", hint="Save again.")
        files.write_whole(file, after)
        found = files.stat_file(context.place.root, path)
        if found is None:
            raise Changed(f"{path} was removed while it was being saved.", hint="Save again.")
        _index(context, found, after, None, made=before is None)
    return Saved(
        reading.key_of(context, path) or memories.split_path(path)[1],
        path,
        before is None,
        True,
        hashlib.sha256(after).hexdigest(),
    )
