"""What a process read already of the words of a store: where they stand, in how many texts, and how long these are.

The same words are asked for again and again, and the frequent ones, whose postings take the longest to read, the most.
What was read is kept until something is written.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from memdb.base import resources
from memdb.base.kept import Kept
from memdb.base.storage import Database

# numpy costs more than all of a `memdb list`: it is loaded where there are many postings.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Floats = NDArray[np.float64]

FIELD_WEIGHTS = {"name_weight": 3.0, "description_weight": 2.0, "tags_weight": 2.0, "parts_weight": 0.5}
"""How often a word in a field counts, as in BM25F; a word of the body counts once."""

FIELDS = 8
"""A posting comes as so many times its text, and the number of its field: 0 is the body, then those with weights."""

MOST_ASKED = 10_000
"""Words of which it is kept in how many texts they stand."""

MOST_POSTINGS = 500_000
"""Postings that are kept, 12 bytes each; those of the words that were not asked for the longest go first."""

WordPostings = tuple[Any, Any]
"""Of one word the texts, ascending, and how often it counts in each: halves, which floats of 32 bits hold exactly."""


@dataclass(slots=True)
class SeenWords:
    """What was read of one state of a store; a length of 0 was not read yet."""

    frequencies: dict[str, int] = field(default_factory=dict)
    postings: dict[str, WordPostings] = field(default_factory=dict)  # the word that was asked for last comes last
    postings_kept: int = 0
    lengths: Any = None
    totals: tuple[int, int] | None = None


_seen: Kept[SeenWords] = Kept(SeenWords)


def frequencies(database: Database, terms: Collection[str]) -> dict[str, int]:
    """In how many texts each of some words stands; 0: in none.

    To count the texts of a word that half of them have takes milliseconds.
    """
    known = _seen.of(database).frequencies
    if len(known) > MOST_ASKED:
        known.clear()
    new = [term for term in terms if term not in known]
    if new:
        known.update(dict.fromkeys(new, 0))
        known.update(database.rows(resources.query("recall_terms"), {"terms": json.dumps(new)}))
    return {term: known[term] for term in terms}


def postings(database: Database, terms: Sequence[str]) -> list[WordPostings]:
    """The texts of each of some words."""
    seen = _seen.of(database)
    new = [term for term in terms if term not in seen.postings]
    if new:
        rows = database.rows(resources.query("recall_postings"), {"terms": json.dumps(new)})
        for term, (said,) in zip(new, rows, strict=True):
            seen.postings[term] = _counted(said)
            seen.postings_kept += len(seen.postings[term][0])
    found = []
    for term in terms:
        found.append(seen.postings.pop(term))
        seen.postings[term] = found[-1]
    while len(seen.postings) > max(len(terms), MOST_ASKED if seen.postings_kept <= MOST_POSTINGS else 0):
        oldest = next(iter(seen.postings))
        seen.postings_kept -= len(seen.postings.pop(oldest)[0])
    return found


def _counted(said: str | None) -> WordPostings:
    """The postings of one word, as recall_postings gives them."""
    import numpy as np  # noqa: PLC0415

    numbers = np.fromstring(said or "", dtype=np.int64, sep=",")
    texts = numbers // FIELDS
    starts = np.flatnonzero(np.concatenate(([True], texts[1:] != texts[:-1]))) if len(texts) else texts
    weights = np.array([1.0, *FIELD_WEIGHTS.values()], dtype=np.float32)[numbers % FIELDS]
    return texts[starts], np.add.reduceat(weights, starts) if len(texts) else weights


def lengths(database: Database, texts: Numbers) -> Floats:
    """How many words each of some texts has."""
    import numpy as np  # noqa: PLC0415

    seen = _seen.of(database)
    highest = int(texts.max(initial=0))
    if seen.lengths is None or len(seen.lengths) <= highest:
        # No page of it takes memory before something is written there.
        longer = np.zeros(2 * highest + 1, dtype=np.int32)
        if seen.lengths is not None:
            longer[: len(seen.lengths)] = seen.lengths
        seen.lengths = longer
    found = seen.lengths[texts]
    if not found.all():
        new = np.sort(texts[found == 0])
        rows = database.rows(resources.query("recall_lengths"), {"texts": json.dumps(new.tolist())})
        seen.lengths[new] = np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=len(new))
        found = seen.lengths[texts]
    return np.asarray(found, dtype=float)


def totals(database: Database) -> tuple[int, int]:
    """How many texts there are, and how many words in all of them."""
    seen = _seen.of(database)
    if seen.totals is None:
        texts, words = database.rows("select texts, words from fts_total")[0]
        seen.totals = texts, words
    return seen.totals


__all__ = ["FIELD_WEIGHTS", "frequencies", "lengths", "postings", "totals"]
