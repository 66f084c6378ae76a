"""Which texts can the keyword arm give at all? Found in memory, from the postings of a question's words.

The statement of the fusion says by itself what each text is worth, at some five microseconds for each posting that it
groups. Of ten thousand postings of middling-rare words a few hundred belong to texts that can come into question: those
are told from the others in a few passes over arrays, and the statement is given them alone. What it says of them is
what it says where it is given none and reads all: no score is made here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memdb.base.storage import Database
from memdb.services.recall import seen_words

# numpy costs more than all of a `memdb list`: it is loaded where there are many postings.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

FEW_POSTINGS = 2_000
"""SQLite groups so many postings in a tenth of the time that it takes to load numpy."""

FEW_TEXTS = 2_000
"""In a store of so many the postings of a question's words are read at once: to ask first how rare each word is would
take as long."""

PLACES = 100
"""More than the words of a question: a posting goes as so many times its text, and the place of its word."""

BEST = 32
"""Texts that are measured exactly for the best one's BM25, those first that may have the most."""

ROUNDING = 1e-9
"""More than what sums of a few floats can differ by when they are added in another order."""

MORE_THAN_ANY = 1e3
"""No text has so much BM25, which is about 1 where it has each word once: added for a text that has all words."""

MENTIONING = """select neighbor.other_id
from json_each(?) cross join node on node.id = value and node.degree <= ?
cross join neighbor on neighbor.node_id = node.id and neighbor.kind in ('mentions', 'about')"""

FIRST = "select value from json_each(?) cross join node on node.id = value order by node.key limit ?"

Term = tuple[str, float, float]
"""A word as the index has it, its idf and its weight."""


@dataclass(frozen=True, slots=True)
class Postings:
    """In which texts each of some words stands: the text, the place of the word among `terms`, and how often it counts.

    One word's postings lie together, by text.
    """

    terms: Sequence[str]
    texts: Numbers
    places: Numbers
    often: Floats

    def frequencies(self) -> dict[str, int]:
        """In how many texts each word stands."""
        import numpy as np  # noqa: PLC0415

        counts = np.bincount(self.places, minlength=len(self.terms))
        return dict(zip(self.terms, counts.tolist(), strict=True))


def read(database: Database, terms: Sequence[str]) -> Postings:
    """The postings of some words."""
    import numpy as np  # noqa: PLC0415

    found = seen_words.postings(database, terms)
    none = np.zeros(0, dtype=np.int64)
    texts = np.concatenate([none, *(one for one, _ in found)])
    often = np.concatenate([none, *(one for _, one in found)], dtype=float)
    return Postings(terms, texts, np.repeat(np.arange(len(found)), [len(one) for one, _ in found]), often)


def pays(count: int) -> bool:
    """Whether it is worth while to look through so many postings here."""
    return count > FEW_POSTINGS or "numpy" in sys.modules


def telling(
    database: Database, known: Sequence[Term], all_: Postings, values: dict[str, Any], near: Sequence[int]
) -> str:
    """The postings that the fusion has to group: how often a word counts in a text, by PLACES * text + place (JSON).

    `known` are the words of `values["terms"]`, `all_` has their postings, `near` the texts that the vector arm finds
    not far. A text is a candidate by the share of the question's words that it has, or by a part of the best text's
    BM25, which is bounded by what it would be in a text of no length. What mentions an entity whose whole name is one
    word of the question is told too: the fusion asks whether it has that word.
    """
    import numpy as np  # noqa: PLC0415

    found = _found(known, all_, values)
    if not len(found.texts):
        return "{}"
    first = np.argsort(-found.bounds, kind="stable")[:BEST]
    tail = values["keyword_tail"] * float(found.bulks(database, first).max()) - ROUNDING
    least = np.where(found.words > 1, values["keyword_weak"], values["keyword_alone"])
    # What has less of the question has to be near, too, where that is known.
    if values["vector_on"]:
        least = np.where(_among(found.texts, near), least, values["keyword_strong"])
    least = np.minimum(least, values["keyword_strong"])
    may: Numbers = np.flatnonzero((found.shares >= least - ROUNDING) | (found.bounds >= tail))
    may = may[_ahead(database, found, may, least[may], values)]
    entities = [entity for entity, _, place in json.loads(values["entities"]) if place is not None]
    named = database.rows(MENTIONING, (json.dumps(entities), values["entity_degree"])) if entities else []
    wanted = _among(found.texts, [text for (text,) in named])
    wanted[may] = True
    wanted[int(found.shares.argmax())] = True  # by that the fusion tells whether the question is answered at all
    these = wanted[found.at]
    numbers = found.texts[found.at[these]] * PLACES + found.places[these]
    return json.dumps(dict(zip(numbers.tolist(), found.often[these].tolist(), strict=True)))


def _ahead(database: Database, found: _Found, may: Numbers, least: Floats, values: dict[str, Any]) -> Flags:
    """Which of the texts `may` are candidates and among the first `pool`, or say that there are any.

    With `least` of the question's words a text is a candidate, whatever its BM25.
    """
    import numpy as np  # noqa: PLC0415

    bulks, shares, words, pool = found.bulks(database, may), found.shares[may], found.words[may], values["pool"]
    tail = values["keyword_tail"] * float(bulks.max())
    keep: Flags = (shares >= least - ROUNDING) | (bulks >= tail - ROUNDING)
    sure: Flags = shares >= least + ROUNDING
    by_share = int(sure.argmax())
    if sure.any():
        sure |= bulks >= tail + ROUNDING
    # Of an earlier time, texts that are not among these may have the most.
    if int(sure.sum()) <= pool or values["past"] != "[]":
        return keep
    order = (words == values["words"]) * MORE_THAN_ANY + bulks
    # Not np.partition: many are the same, and it is slow then.
    last = float(np.sort(order[sure])[-pool])
    keep &= order >= last - ROUNDING
    # Texts of one length that have the same words are worth the same: of these the first by name are taken.
    same = sure & (order == last)
    places = pool - int((sure & (order > last)).sum())
    if int(same.sum()) > places:
        alike = found.texts[may]
        first = database.rows(FIRST, (json.dumps(alike[same].tolist()), places))
        keep &= ~same | _among(alike, [text for (text,) in first])
    # Whether there is an answer at all, and how much the best one has, is said by these.
    keep[[by_share, int(bulks.argmax()), int(shares.argmax())]] = True
    return keep


def _among(texts: Numbers, some: Sequence[int]) -> Flags:
    """Which of these texts, each greater than the one before, are among some others."""
    import numpy as np  # noqa: PLC0415

    found = np.zeros(len(texts), dtype=bool)
    others = np.array(some, dtype=np.int64)
    places = np.searchsorted(texts, others)
    is_there = places < len(texts)
    is_there[is_there] = texts[places[is_there]] == others[is_there]
    found[places[is_there]] = True
    return found


@dataclass(frozen=True, slots=True)
class _Found:
    """The texts that have words of a question: how many, which share of it, and the most BM25 that they can have.

    A posting is a text, by its place in `texts` (`at`), and a word, by its place in the question, with its idf and how
    often it counts there.
    """

    texts: Numbers
    words: Numbers
    shares: Floats
    bounds: Floats
    at: Numbers
    places: Numbers
    idfs: Floats
    often: Floats
    values: dict[str, Any]

    def bulks(self, database: Database, wanted: Numbers) -> Floats:
        """The BM25 of some of the texts, up to rounding."""
        import numpy as np  # noqa: PLC0415

        texts, words = seen_words.totals(database)
        lengths = np.zeros(len(self.texts))
        lengths[wanted] = seen_words.lengths(database, self.texts[wanted])
        is_wanted = np.zeros(len(self.texts), dtype=bool)
        is_wanted[wanted] = True
        these = is_wanted[self.at]
        at, often = self.at[these], self.often[these]
        k1, b = self.values["k1"], self.values["b"]
        gains = self.idfs[these] * often * (k1 + 1) / (often + k1 * (1 - b + b * lengths[at] * texts / words))
        bulks: Floats = np.bincount(at, gains, len(self.texts))[wanted] / self.values["idf_total"]
        return bulks


def _found(known: Sequence[Term], all_: Postings, values: dict[str, Any]) -> _Found:
    import numpy as np  # noqa: PLC0415

    texts, often = all_.texts, all_.often
    # The words that are looked up, by their places in the question; some that were read may not be.
    place_of = {term: place for place, (term, _, _) in enumerate(known)}
    moved = np.array([place_of.get(term, -1) for term in all_.terms], dtype=np.int64)
    places = moved[all_.places]
    there = places >= 0
    if values["allowed"] is not None:
        there &= np.isin(texts, np.fromstring(values["allowed"].strip("[]"), dtype=np.int64, sep=","))
    if not there.all():
        texts, often, places = texts[there], often[there], places[there]
    idfs, weights = (np.array([float(term[part]) for term in known], dtype=float)[places] for part in (1, 2))
    # As np.unique, in a fifth of the time: each word's texts ascend already, which a stable sort makes use of.
    order = np.argsort(texts, kind="stable")
    is_first = np.diff(texts[order], prepend=-1) > 0
    ids = texts[order][is_first]
    at = np.empty_like(texts)
    at[order] = np.cumsum(is_first) - 1
    most = idfs * often * (values["k1"] + 1) / (often + values["k1"] * (1 - values["b"]))
    return _Found(
        ids,
        np.bincount(at, minlength=len(ids)),
        np.bincount(at, weights, len(ids)) / values["weight_total"],
        np.bincount(at, most, len(ids)) / values["idf_total"],
        at,
        places,
        idfs,
        often,
        values,
    )
