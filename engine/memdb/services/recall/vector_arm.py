"""The vector arm of a recall: the memories and chunks whose vectors lie nearest to the question's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from memdb.base import kept, resources, words
from memdb.base.storage import Database
from memdb.errors import ModelUnavailable
from memdb.services.context import Context
from memdb.services.index import seen_vectors, signatures, vectors

if TYPE_CHECKING:
    from memdb.services.index.seen_vectors import Numbers

EXACT_PASSAGES = 1_500
"""Up to this many passages every vector is compared exactly: about 4 microseconds each, as fast as by bits."""

BIT_CANDIDATES = 800
"""Candidates by bits beyond that: 0.998 of the exact ten best on 19,131 passages of real text; 400 are 0.990."""

FIRST_SHARE = 64
"""Of a larger store one passage in so many is taken by one bit per dimension, and of these BIT_CANDIDATES by two bits:
of made-up vectors in 64 clusters that finds 1.00 of the ten nearest of 100,000 and 0.995 of a million; 800 by one bit
find 0.92 and 0.67. Of the 200 nearest of 100,000, which the fusion mixes, 800 by two bits find 0.986, 600 find 0.953
and 400 find 0.857; to take more by one bit finds no more of them."""

Near = tuple[str, float, int]
"""A hit of the vector arm: its key, its similarity, and its node."""


def nearest_to(
    context: Context, query: str, allowed: str | None, pool: int
) -> tuple[dict[str, Any] | None, list[Near], str | None]:
    """The statement's values, up to `pool` hits, and why the arm is off, if it is.

    `allowed` are the nodes that filters let through, as JSON; all where it is None.
    """
    database = context.database
    reason = _why_off(context, query)
    if reason is not None:
        return None, [], reason
    try:
        vector = context.embedder.embed_query(query)
    except ModelUnavailable as error:
        return None, [], error.message
    blob = vectors.to_blob(vector)
    passages = int(kept.value(database, "select count(*) from signature"))
    is_exact, candidates = passages <= EXACT_PASSAGES, max(BIT_CANDIDATES, passages // FIRST_SHARE)
    values = {
        "vector": blob,
        "exact": int(is_exact),
        "candidates": candidates,
        "allowed": allowed,
        "known": None,
        "pool": pool,
    }
    if allowed is None and (not is_exact or passages == kept.value(database, "select count(*) from passage")):
        block = signatures.block(database, passages)
        known = None
        if block is not None:
            known = block.passages if is_exact else block.nearest(blob, candidates, BIT_CANDIDATES)
        if block is not None and known is not None:
            best = seen_vectors.best(database, block, vector, known, pool)
            hits = _compared(database, values, best)
            # A passage may have come in another's place: two of one memory are not two hits.
            if len(hits) < pool and len(best) < len(known):
                hits = _compared(database, values, known)
            if candidates > BIT_CANDIDATES:
                # SQL knows no second bits: the statement is told what they found.
                values |= _of(known)
            return values, hits, None
    return values, _compared(database, values, None), None


def _compared(database: Database, values: dict[str, Any], known: Numbers | None) -> list[Near]:
    """The hits of the statement, among the passages that are known to be candidates where some are."""
    rows = database.rows(resources.query("recall_vector"), values | ({} if known is None else _of(known)))
    return [(key, similarity, node) for key, similarity, node in rows]


def _of(known: Numbers) -> dict[str, Any]:
    """The statement's values where these passages are known to be the candidates."""
    return {"known": json.dumps(known.tolist()), "exact": 0}


def _why_off(context: Context, query: str) -> str | None:
    database, status = context.database, context.embedder.status
    if not words.searchable(query[: words.QUERY_CAP]).strip():
        return "the question is empty"
    if status.state == "off":
        return status.reason or "off"
    if database.vector_reason is not None:
        return database.vector_reason
    if kept.value(database, "select 1 from passage limit 1") is None:
        return "nothing is embedded yet; `memdb sync` does it"
    model = database.meta("model")
    if model != status.identity:
        return f"the store was embedded by {model}; `memdb sync` embeds it again by {status.identity}"
    return None
