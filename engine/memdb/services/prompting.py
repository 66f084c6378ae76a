"""A recall as a block for a prompt: most relevant first, within a byte budget, nothing cut in the middle."""

from __future__ import annotations

from memdb.services import reading
from memdb.services.context import Context
from memdb.services.recall import Hit, Recall

BUDGET = 4096
"""Bytes of UTF-8 that a block may have."""


def block(context: Context, answer: Recall, budget: int = BUDGET) -> str:
    """Each hit as its whole text while that fits, else as one line, else not at all; empty where nothing fits.

    The line of a memory is its description, that of a chunk its citation.
    """
    lines: list[str] = []
    used = 0
    for hit in answer.hits:
        body = reading.body_of(context, hit.id)
        if body is None:
            continue  # it went since it was found
        line = f"- [{hit.id}] {hit.citation or hit.description or hit.name}{_marks(hit)}"
        whole = f"{line}\n\n{body.strip()}\n" if body.strip() else line
        for text in (whole, line):
            size = len(text.encode("utf-8")) + 1
            if used + size <= budget:
                lines.append(text)
                used += size
                break
    return "\n".join(lines)


def _marks(hit: Hit) -> str:
    marks = []
    if hit.superseded_by:
        marks.append(f"replaced by {', '.join(hit.superseded_by)}")
    if hit.contradicts:
        marks.append(f"contradicts {', '.join(hit.contradicts)}")
    if hit.stale:
        marks.append("no longer valid" if hit.citation is None else "its file is gone")
    return f" ({'; '.join(marks)})" if marks else ""
