"""Relate two memories by what people would write: a link at the end of a text, or a line in its frontmatter."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from memdb.base import files
from memdb.base import text as texts
from memdb.domain import frontmatter
from memdb.errors import NotFound, UsageError
from memdb.services.context import Context
from memdb.services.memories import reading, saving

KINDS = ("link", "supersedes")


@dataclass(frozen=True, slots=True)
class Related:
    """What was related, and whether the file was changed for it: it may have said so already."""

    source: str
    target: str
    kind: str
    file: str
    changed: bool


def relate(context: Context, source: str, target: str, kind: str = "link") -> Related:
    """Have one memory link to another, or replace it: `supersedes`. Changes nothing where it says so already.

    Raises NotFound, UsageError, SecretFound where the file has a credential in it, Changed, NotWritable.
    """
    if kind not in KINDS:
        raise UsageError(
            f"Memories are not related by {kind!r}.",
            hint="Use link or supersedes. How people and things relate is read from the texts: say it in one.",
        )
    one, other = reading.find(context, source), reading.find(context, target)
    if one == other:
        raise UsageError(f"{one} cannot be related to itself.")
    with files.writer(context.place):
        shown = reading.show(context, one)
        stands = shown.supersedes if kind == "supersedes" else tuple(link.id for link in shown.links)
        if other in stands:
            return Related(one, other, kind, shown.file, False)
        found = files.stat_file(context.place.root, shown.file)
        if found is None:
            raise NotFound(f"The file {shown.file} is gone.", hint="Run `memdb sync`, then look with `memdb list`.")
        data = files.read(context.place.root, found)
        parsed = frontmatter.parse(texts.plain(texts.decode(data).text))
        if kind == "supersedes":
            after = frontmatter.edit_bytes(data, {"supersedes": [*parsed.supersedes, other]})
        else:
            after = frontmatter.edit_bytes(data, {}, body=_linked(parsed.body, other))
        saved = saving.write_file(context, shown.file, after, expected_sha256=hashlib.sha256(data).hexdigest())
    return Related(one, other, kind, saved.file, saved.changed)


def _linked(body: str, other: str) -> str:
    """A text with a link at its end; links that stand there one a line stay together."""
    lines = body.rstrip().split("\n")
    between = "\n" if lines[-1].startswith("See also [[") else "\n\n"
    return f"{body.rstrip()}{between if body.strip() else ''}See also [[{other}]].\n"
