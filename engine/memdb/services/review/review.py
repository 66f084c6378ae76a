"""One queue of all that waits for a person: decisions that contradict, conflicts, merges, proposals, problems.

Nothing is kept for it: an item stands for as long as what it is about does, and an answer is a call of the service that
decides such things.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from memdb.base.text import expose_hidden
from memdb.errors import Changed, NotFound, UsageError
from memdb.services.conflicts import resolving
from memdb.services.context import Context
from memdb.services.review import (
    review_conflicts,
    review_decisions,
    review_merges,
    review_problems,
    review_proposals,
    review_restatements,
)
from memdb.services.review.review_items import Answered, ReviewItem, Source

SOURCES: tuple[Source, ...] = (
    review_decisions.CONTRADICTIONS,
    review_decisions.HELD_ONES,
    review_conflicts.SOURCE,
    review_merges.SOURCE,
    review_restatements.SOURCE,
    review_proposals.SOURCE,
    review_problems.SOURCE,
)
"""The kinds, the most important first."""

KINDS = tuple(source.kind for source in SOURCES)


def review(context: Context, kinds: Sequence[str] = (), limit: int | None = None) -> list[ReviewItem]:
    """All that waits for a person, or some kinds of it, the most important first; the same for the same store.

    Raises UsageError for a kind that there is not, or a limit below 1.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"The limit is {limit}.", hint="Give a number from 1 on.")
    wanted = {checked_kind(kind) for kind in kinds}
    return list(islice(_items(context, wanted), limit))


def _items(context: Context, wanted: set[str]) -> Iterator[ReviewItem]:
    for source in SOURCES:
        if not wanted or source.kind in wanted:
            yield from source.items(context)


def checked_kind(kind: str) -> str:
    """The kind that a word names, in the singular or the plural. Raises UsageError."""
    for known in KINDS:
        if kind in (known, f"{known}s"):
            return known
    raise UsageError(f"There is no kind {expose_hidden(kind)!r}.", hint=f"Kinds are {', '.join(KINDS)}.")


def find(context: Context, item_id: str, seen: ReviewItem | None = None) -> ReviewItem:
    """An item by its id as it is now; `seen` is what it was when it was shown before, which makes it cheaper to find.

    Raises NotFound where nothing of that id waits (any more).
    """
    source, key = _source(item_id)
    item = source.find(context, key, seen)
    if item is None:
        raise NotFound(
            f"{expose_hidden(item_id)} waits for nobody (any more).",
            hint="`memdb review` lists what does; `memdb log` what was decided.",
        )
    return item


def _source(item_id: str) -> tuple[Source, str]:
    kind, _, key = item_id.partition(":")
    for source in SOURCES:
        if source.kind == kind:
            return source, key
    raise NotFound(
        f"There is no item {expose_hidden(item_id)!r}.",
        hint=f"Ids are KIND:KEY, of the kinds {', '.join(KINDS)}; `memdb review` lists them.",
    )


def answer(
    context: Context,
    item_id: str,
    choice: str,
    *,
    text: str | None = None,
    why: str | None = None,
    seen: ReviewItem | None = None,
) -> Answered:
    """Answer one item by the name or the key of a choice, with the text that the choice asks for.

    `seen` is the item as the person saw it: one that changed meanwhile is not answered. Raises NotFound where it waits
    no more, UsageError for a choice or a text that does not fit, Changed, and what the service that decides raises.
    """
    source, key = _source(item_id)
    item = find(context, item_id, seen)
    if seen is not None and (seen.detail, seen.choices) != (item.detail, item.choices):
        raise Changed(f"{item.id} changed since it was shown.", hint="Look at it again: `memdb review`.")
    chosen = item.choice(choice)
    if text is not None and chosen.asks is None:
        raise UsageError(f"The answer {chosen.name!r} takes no text.", hint="Leave the text out.")
    if chosen.required and not (text and text.strip()):
        raise UsageError(
            f"The answer {chosen.name!r} needs a text: {chosen.asks}.",
            hint=f"memdb review answer {item.id} {chosen.name} --text TEXT",
        )
    if not chosen.here:
        where = f": {item.file}" if item.file else ""
        raise UsageError(f"{item.id} is settled in an editor{where}.", hint="Run `memdb review` on a terminal.")
    done = source.answer(context, key, chosen, text, why)
    return Answered(item.id, chosen.name, done.said, done.decision)


def undo(context: Context, answered: Answered, *, why: str | None = None) -> None:
    """Take an answer back, as far as it decided something. Raises what undoing the decision raises."""
    if answered.decision is not None:
        resolving.undo(context, answered.decision, why=why)


__all__ = ["KINDS", "answer", "checked_kind", "find", "review", "undo"]
