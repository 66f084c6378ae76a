"""The vector arm of a recall: the memories and chunks whose vectors lie nearest to the question's."""

from __future__ import annotations

import json
from typing import Any

from memdb.base import kept, resources, words
from memdb.errors import ModelUnavailable
from memdb.services.context import Context
from memdb.services.index import seen_vectors, signatures, vectors

EXACT_PASSAGES = 1_500
"""Up to this many passages every vector is compared exactly: about 4 microseconds each, as fast as by bits."""

BIT_CANDIDATES = 800
"""Candidates by bits beyond that: 0.998 of the exact ten best on 19,131 passages of real text; 400 are 0.990."""

MANY_PASSAGES = 20_000
"""In a store of more, twice as many candidates are taken: 1.00 on 100,000 made-up vectors, of which 800 find 0.90."""

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
    is_exact, candidates = passages <= EXACT_PASSAGES, BIT_CANDIDATES * (2 if passages > MANY_PASSAGES else 1)
    values = {
        "vector": blob,
        "exact": int(is_exact),
        "candidates": candidates,
        "allowed": allowed,
        "known": None,
        "pool": pool,
    }
    known = None
    if allowed is None and (not is_exact or passages == kept.value(database, "select count(*) from passage")):
        block = signatures.block(database, passages)
        known = None if block is None else block.nearest(vectors.signature(blob), passages if is_exact else candidates)
        if block is not None and known is not None:
            known = seen_vectors.best(database, block, vector, known, pool)
    near = {} if known is None else {"known": json.dumps(known.tolist()), "exact": 0}
    hits = database.rows(resources.query("recall_vector"), values | near)
    return values, [(key, similarity, node) for key, similarity, node in hits], None


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
