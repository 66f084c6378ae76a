"""Memories that say the same, in a review: which one is to be recalled, or both."""

from __future__ import annotations

from collections.abc import Iterator

from memdb.base.journal import Record
from memdb.base.storage import Database
from memdb.domain.curation import Curation
from memdb.errors import NotFound
from memdb.services import decisions
from memdb.services.conflicts.conflict_tables import conflict_key
from memdb.services.context import Context
from memdb.services.memories import reading, restating
from memdb.services.memories.restating import Restatement
from memdb.services.review.review_items import Choice, Done, Line, ReviewItem, Source, choice_names, item_id, parts_of

KIND = "restatement"

LONGEST = 240
"""Characters that are shown of a text: two lines of a terminal."""

WAYS = {"exact": "the same text", "near": "the same words, but for signs, capitals or a typo"}


def items(context: Context) -> Iterator[ReviewItem]:
    """The pairs of memories that say the same, by id."""
    found = [_item(context, one) for one in restating.restatements(context)]
    yield from sorted(found, key=lambda item: item.id)


def _item(context: Context, restatement: Restatement) -> ReviewItem:
    pair = restatement.memories
    quotes = restatement.quotes or tuple(_begin(context, memory) for memory in pair)
    detail = [Line("fact", WAYS.get(restatement.by, f"as {restatement.by} judged"))]
    for memory, said in zip(pair, quotes, strict=True):
        detail += [Line("side", memory), Line("quote", said)]
    keeps = [
        Choice(str(place + 1), name, f"{pair[place]} is recalled; it replaces the other")
        for place, name in enumerate(choice_names("keep", pair))
    ]
    return ReviewItem(
        item_id(KIND, *pair),
        KIND,
        f"{pair[0]} and {pair[1]} say the same",
        tuple(detail),
        (*keeps, Choice("a", "keep-both", "both stand: ask no more")),
    )


def _begin(context: Context, memory: str) -> str:
    text = " ".join((reading.body_of(context, memory) or "").split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def find(context: Context, key: str, _seen: ReviewItem | None) -> ReviewItem | None:
    """A pair of memories by its key."""
    return next((item for item in items(context) if item.id == f"{KIND}:{key}"), None)


def answer(context: Context, key: str, choice: Choice, _text: str | None, why: str | None) -> Done:
    """Have one memory replace the other, or both stand. Raises NotFound where one is gone."""
    pair = parts_of(key)
    kept, against = pair, []
    if choice.name != "keep-both":
        place = choice_names("keep", pair).index(choice.name)
        kept, against = [pair[place]], [pair[1 - place]]
    word = "keep" if against else "keep-both"

    def plan(database: Database, curation: Curation) -> Record:
        for memory in pair:
            if not database.value("select 1 from node where key = ? and kind = 'memory'", (memory,)):
                raise NotFound(f"There is no memory {memory} any more.", hint="`memdb review` lists what waits.")
        subject = conflict_key("memories", *pair)
        fields = {"conflict": subject, "of": "memories", "choice": word, "keep": kept, "against": against}
        return decisions.written(context, curation, "resolve", why, **fields)

    decision = decisions.decide(context, plan)
    said = f"{kept[0]} replaces {against[0]}" if against else f"{' and '.join(pair)} both stand"
    return Done(said, decision.id)


SOURCE = Source(KIND, items, find, answer)
