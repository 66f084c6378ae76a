"""Bring an earlier text of a memory back."""

from __future__ import annotations

from memdb.base import files
from memdb.base import text as texts
from memdb.domain.history import key_digest
from memdb.errors import NotFound, Refused
from memdb.services.context import Context
from memdb.services.files import sync
from memdb.services.memories import reading, saving
from memdb.services.memories.saving import Saved


def restore(context: Context, written: str, number: int, *, expected_sha256: str | None = None) -> Saved:
    """Make an earlier text of a memory its text again; what it says now becomes an earlier text itself.

    `number` counts from 1, the oldest. The file comes back where it was deleted; encoding and newlines are those that
    the file has now. Raises NotFound, Refused for a text that was withheld, SecretFound, Changed where the file is not
    the one of `expected_sha256`.
    """
    with files.writer(context.place):
        sync.sync(context, embed=False)
        key = _meant(context, written)
        past = reading.history(context, key)
        if not 1 <= number <= len(past):
            known = f"Its earlier texts are numbered 1 to {len(past)}." if past else "It has no earlier texts."
            raise NotFound(f"{key} has no version {number}.", hint=known)
        text = past[number - 1].text
        if text is None:
            raise Refused(
                f"Version {number} of {key} was not kept: {past[number - 1].withheld or 'withheld'}.",
                hint="memdb keeps no text that looks like a credential.",
            )
        saving.refuse_secrets({"text": text})
        path = reading.path_of(context, key)
        before = None if path is None else saving.current(context, path)
        if before is None:
            return saving.put(
                context, path or saving.new_path(context, key), None, text.encode(), expected_sha256, reason="restored"
            )
        after = texts.encode(text, texts.decode_exact(before))
        return saving.put(context, str(path), before, after, expected_sha256, reason="restored")


def _meant(context: Context, written: str) -> str:
    """The memory that is meant: one that is there, or one whose file is gone and whose earlier texts are kept."""
    database = context.database
    if database.value("select 1 from memory_version where memory_key = ?", (written,)):
        return written
    forgotten = database.value("select 1 from tombstone where key_sha256 = ?", (key_digest(written),))
    if forgotten and reading.path_of(context, written) is None:
        raise NotFound(f"{written} was forgotten; nothing of it was kept.", hint="`memdb save` writes it anew.")
    return reading.find_past(context, written)
