"""Have a recall answered by the store's warm process, where one runs: the same answer, without loading anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memdb.base.place import Place
    from memdb.services.recall.answers import Filters, ManyRecall, Recall

SECONDS = 15.0
"""That a warm process may take for an answer: it may still be loading the model."""


def ask_warm(
    root: Path | None,
    database: Path | None,
    *,
    query: str,
    filters: Filters,
    options: dict[str, Any],
    budget: int | None,
) -> tuple[Recall, str | None] | None:
    """The answer, and its block for a prompt where there is a budget for one; None where the store has to be opened.

    What cannot be answered, an error too, is left to the store itself: it says it with all that belongs to it.
    """
    from memdb.base import settings

    return _ask(settings.place(root, database), query, filters, options, budget)


def ask_many(
    stores: Sequence[str] | None, *, query: str, filters: Filters, options: dict[str, Any], budget: int | None
) -> tuple[ManyRecall, str | None]:
    """The answer of some stores, or of all that have a name, and its block; each is asked in its warm process, if
    it has one.
    """
    from memdb.stores import Stores, places

    def warm(place: Place, query: str, filters: Filters, options: dict[str, Any]) -> Recall | None:
        given = _ask(place, query, filters, options, None)
        return None if given is None else given[0]

    with Stores(places(stores), warm=warm) as several:
        answer = several.recall(query, filters=filters, **options)
        return answer, several.prompt_block(answer, budget) if budget is not None else None


def _ask(
    place: Place, query: str, filters: Filters, options: dict[str, Any], budget: int | None
) -> tuple[Recall, str | None] | None:
    if not place.served.exists():
        return None
    from memdb.base import warm
    from memdb.services.recall import wire

    request = {"do": "recall", "query": query, "filters": asdict(filters), "options": options, "budget": budget}
    try:
        said = warm.ask(place, request, seconds=SECONDS)
        return wire.unpacked(said["recall"]), said["block"]
    except (warm.NoAnswer, ValueError, TypeError, KeyError):
        return None
