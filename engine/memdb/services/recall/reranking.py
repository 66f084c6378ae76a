"""Order the answers of a recall anew by a cross encoder, where the store's settings name one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

from memdb.base import settings
from memdb.base.reranking import Reranker
from memdb.errors import ModelUnavailable
from memdb.services.context import Context
from memdb.services.memories import reading
from memdb.services.recall.answers import Hit

DEPTH = 20
"""Answers that are read again, the best first, unless more are asked for: beyond them stands little that is right."""

DIGITS = 6
"""Decimals of such a score: a model's last digits differ between processors."""

_kept: WeakKeyDictionary[Context, Reranker | None] = WeakKeyDictionary()


def reranker(context: Context) -> Reranker | None:
    """The store's reranker, by the setting `reranker`; None where it names none. Nothing is loaded."""
    if context not in _kept:
        named = (settings.setting(context.place, "reranker") or "").strip()
        _kept[context] = None if not named or settings.switched_off(named) else Reranker(named)
    return _kept[context]


def use(context: Context, chosen: Reranker | None) -> None:
    """Use this reranker for the store instead of the one that its settings name."""
    _kept[context] = chosen


def reranked(context: Context, question: str, hits: Sequence[Hit]) -> tuple[list[Hit], str | None]:
    """The hits by how well their texts answer the question, which is their score then, and what to say of it.

    Where the model is not there the hits stay as they are.
    """
    chosen = reranker(context)
    if chosen is None or not hits:
        return list(hits), None
    texts = [f"{hit.name}\n{reading.body_of(context, hit.id, hit.version) or hit.description}" for hit in hits]
    try:
        scores = chosen.scores(question, texts)
    except ModelUnavailable as error:
        return list(hits), f"The answers were not reranked: {error.message}{f' {error.hint}' if error.hint else ''}"
    found = [replace(hit, score=round(score, DIGITS)) for hit, score in zip(hits, scores, strict=True)]
    return sorted(found, key=lambda hit: (-hit.score, hit.id)), None
