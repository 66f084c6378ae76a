"""Conflicts in a review: what texts say of one subject, or memories that cannot all be right, with quotes."""

from __future__ import annotations

from collections.abc import Iterator

from memdb.base.storage import Database
from memdb.errors import NotFound, UsageError
from memdb.services.conflicts import conflicts, resolving
from memdb.services.conflicts.conflicts import Conflict, ConflictSide
from memdb.services.conflicts.resolving import Resolution
from memdb.services.context import Context
from memdb.services.memories import reading
from memdb.services.review.review_items import (
    MOST_NUMBERED,
    Choice,
    Done,
    Line,
    ReviewItem,
    Source,
    choice_names,
    item_id,
    numbered,
)

KIND = "conflict"


def items(context: Context) -> Iterator[ReviewItem]:
    """The open conflicts by id."""
    found = [_item(context, conflicts.show(context.database, one.id)) for one in conflicts.listed(context.database)]
    yield from sorted(found, key=lambda item: item.id)


def _item(context: Context, conflict: Conflict) -> ReviewItem:
    sides = conflict.sides
    names = [_name(side) for side in sides]
    holds = "{} is right, the rest is not" if conflict.kind == "memories" else "{} holds, the rest does not"
    choices = [
        Choice(numbered(place), word, holds.format(name))
        for place, (word, name) in enumerate(zip(choice_names("keep", names), names, strict=True))
        if place < MOST_NUMBERED
    ]
    choices.append(Choice("a", "keep-both", "all stand: ask no more"))
    if conflict.kind == "relation":
        choices.append(Choice("m", "merge", "one thing under several names"))
        title = f"{conflict.subject_name} {conflict.predicate}: {' or '.join(names)}"
    else:
        title = f"{' and '.join(names)} cannot both be right" if len(names) == 2 else f"{', '.join(names)} disagree"
        choices += _merge_of_texts(context, conflict)
    return ReviewItem(
        item_id(KIND, conflict.id), KIND, title, tuple(line for side in sides for line in _lines(side)), tuple(choices)
    )


def _name(side: ConflictSide) -> str:
    """What a side is called: the entity, or the first of the memories that agree."""
    return side.object_name if side.object.startswith("entity:") else side.object


def _lines(side: ConflictSide) -> Iterator[Line]:
    yield Line("side", _name(side))
    for source in side.sources:
        sure = f", {source.confidence:.2f}" if source.confidence is not None else ""
        if len(side.sources) > 1 or source.id != side.object:
            yield Line("source", f"{source.id}{sure}")
        if source.quote:
            yield Line("quote", source.quote)


def _merge_of_texts(context: Context, conflict: Conflict) -> list[Choice]:
    """The merge of memories into one text; not where a text has a credential, which a draft would lack."""
    memories = [source.id for side in conflict.sides for source in side.sources]
    if any(_has_secret(context.database, memory) for memory in memories):
        return []
    draft = "\n\n".join((reading.body_of(context, memory) or "").strip() for memory in memories) + "\n"
    does = "write one text that says what holds; it replaces the others"
    return [Choice("m", "merge", does, "The text that says what holds", True, draft)]


def _has_secret(database: Database, memory: str) -> bool:
    return bool(database.value("select has_secret from memory join node using (id) where key = ?", (memory,)))


def find(context: Context, key: str, _seen: ReviewItem | None) -> ReviewItem | None:
    """An open conflict by its key."""
    try:
        conflict = conflicts.show(context.database, key)
    except (NotFound, UsageError):  # the second where a key is cut short
        return None
    return _item(context, conflict) if conflict.id == key else None


def answer(context: Context, key: str, choice: Choice, text: str | None, why: str | None) -> Done:
    """Settle a conflict. Raises what `resolving.resolve` raises."""
    conflict = conflicts.show(context.database, key)
    keep, word = None, choice.name
    if word not in ("keep-both", "merge"):
        names = choice_names("keep", [_name(side) for side in conflict.sides])
        keep, word = conflict.sides[names.index(word)].object, "keep"
    try:
        done = resolving.resolve(context, key, word, keep=keep, text=text, why=why)
    except UsageError:
        if word != "merge" or conflict.kind != "memories":
            raise
        # No dates say which memory is the newest one: the first takes the text.
        first = conflict.sides[0].sources[0].id
        done = resolving.resolve(context, key, word, keep=first, text=text, why=why)
    return Done(_said(conflict, done, choice), done.id)


def _said(conflict: Conflict, done: Resolution, choice: Choice) -> str:
    about = f"{conflict.subject_name} {conflict.predicate}" if conflict.kind == "relation" else conflict.title
    if choice.name == "keep-both":
        return f"{about}: all stand"
    kept = ", ".join(sorted({effect.kept_name for effect in done.effects})) or choice.name.removeprefix("keep-")
    return f"{about}: {'merged into' if choice.name == 'merge' else 'kept'} {kept}"


SOURCE = Source(KIND, items, find, answer)
