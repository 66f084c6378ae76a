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

from memdb.base import resources
from memdb.base.storage import Database

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

FIELDS = 8
"""A posting comes as so many times its text, and the number of its field."""

PLACES = 100
"""More than the words of a question: a posting goes as so many times its text, and the place of its word."""

WEIGHTS = ("name_weight", "description_weight", "tags_weight", "parts_weight")
"""What a word counts in fields 1 to 4; in a body, which is field 0, it counts once."""

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


def read(database: Database, terms: Sequence[str]) -> dict[str, Numbers]:
    """The postings of each of some words, FIELDS * text + field, by text."""
    import numpy as np  # noqa: PLC0415

    rows = database.rows(resources.query("recall_postings"), {"terms": json.dumps(terms)})
    return {term: np.fromstring(said or "", dtype=np.int64, sep=",") for term, (said,) in zip(terms, rows, strict=True)}


def texts_of(postings: Numbers) -> int:
    """In how many texts a word stands."""
    import numpy as np  # noqa: PLC0415

    return int(np.count_nonzero(np.diff(postings // FIELDS, prepend=-1)))


def pays(count: int) -> bool:
    """Whether it is worth while to look through so many postings here."""
    return count > FEW_POSTINGS or "numpy" in sys.modules


def telling(
    database: Database, known: Sequence[Term], by_term: dict[str, Numbers], values: dict[str, Any], near: Sequence[int]
) -> str:
    """The postings that the fusion has to group: how often a word counts in a text, by PLACES * text + place (JSON).

    `known` are the words of `values["terms"]`, `by_term` their postings, `near` the texts that the vector arm finds not
    far. A text is a candidate by the share of the question's words that it has, or by a part of the best text's BM25,
    which is bounded by what it would be in a text of no length. What mentions an entity whose whole name is one word of
    the question is told too: the fusion asks whether it has that word.
    """
    import numpy as np  # noqa: PLC0415

    found = _found(known, by_term, values)
    if not len(found.texts):
        return "{}"
    first = np.argsort(-found.bounds, kind="stable")[:BEST]
    tail = values["keyword_tail"] * float(found.bulks(database, first).max()) - ROUNDING
    least = min(values["keyword_weak"], values["keyword_alone"], values["keyword_strong"]) - ROUNDING
    may: Numbers = np.flatnonzero((found.shares >= least) | (found.bounds >= tail))
    is_near = np.isin(found.texts[may], np.array(near, dtype=np.int64)) | (not values["vector_on"])
    may = may[_ahead(database, found, may, is_near, values)]
    entities = [entity for entity, _, place in json.loads(values["entities"]) if place is not None]
    named = database.rows(MENTIONING, (json.dumps(entities), values["entity_degree"])) if entities else []
    wanted = np.isin(found.texts, [text for (text,) in named])
    wanted[may] = True
    these = wanted[found.at]
    numbers = found.texts[found.at[these]] * PLACES + found.places[these]
    return json.dumps(dict(zip(numbers.tolist(), found.often[these].tolist(), strict=True)))


def _ahead(database: Database, found: _Found, may: Numbers, is_near: Flags, values: dict[str, Any]) -> Flags:
    """Which of the texts `may` are candidates and among the first `pool`, or say how much the best text has."""
    import numpy as np  # noqa: PLC0415

    bulks, shares, words, pool = found.bulks(database, may), found.shares[may], found.words[may], values["pool"]
    least = np.where(words > 1, values["keyword_weak"], values["keyword_alone"])
    tail = values["keyword_tail"] * float(bulks.max())
    keep: Flags = (shares >= values["keyword_strong"] - ROUNDING) | (bulks >= tail - ROUNDING)
    keep |= is_near & (shares >= least - ROUNDING)
    sure = (shares >= values["keyword_strong"] + ROUNDING) | (is_near & (shares >= least + ROUNDING))
    if sure.any():
        sure |= bulks >= tail + ROUNDING
    # Of an earlier time, texts that are not among these may have the most.
    if int(sure.sum()) <= pool or values["past"] != "[]":
        return keep
    order = (words == values["words"]) * MORE_THAN_ANY + bulks
    last = float(np.partition(order[sure], -pool)[-pool])
    keep &= order >= last - ROUNDING
    # Texts of one length that have the same words are worth the same: of these the first by name are taken.
    same = sure & (order == last)
    places = pool - int((sure & (order > last)).sum())
    if int(same.sum()) > places:
        alike = found.texts[may]
        first = database.rows(FIRST, (json.dumps(alike[same].tolist()), places))
        keep &= ~same | np.isin(alike, [text for (text,) in first])
    keep[[int(bulks.argmax()), int(shares.argmax())]] = True
    return keep


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

        texts, words = database.rows("select texts, words from fts_total")[0]
        asked = {"texts": json.dumps(self.texts[wanted].tolist())}
        lengths = np.zeros(len(self.texts))
        lengths[np.sort(wanted)] = [length for (length,) in database.rows(resources.query("recall_lengths"), asked)]
        is_wanted = np.zeros(len(self.texts), dtype=bool)
        is_wanted[wanted] = True
        these = is_wanted[self.at]
        at, often = self.at[these], self.often[these]
        k1, b = self.values["k1"], self.values["b"]
        gains = self.idfs[these] * often * (k1 + 1) / (often + k1 * (1 - b + b * lengths[at] * texts / words))
        bulks: Floats = np.bincount(at, gains, len(self.texts))[wanted] / self.values["idf_total"]
        return bulks


def _found(known: Sequence[Term], by_term: dict[str, Numbers], values: dict[str, Any]) -> _Found:
    import numpy as np  # noqa: PLC0415

    fields = np.array([1.0] + [values[name] for name in WEIGHTS])
    texts: list[Numbers] = [np.zeros(0, dtype=np.int64)]
    frequencies: list[Floats] = [np.zeros(0)]
    for term, _, _ in known:
        of = by_term[term] // FIELDS
        starts = np.flatnonzero(np.diff(of, prepend=-1))
        texts.append(of[starts])
        frequencies.append(np.add.reduceat(fields[by_term[term] % FIELDS], starts))
    places = np.repeat(np.arange(len(known)), [len(one) for one in texts[1:]])
    of_all, often = np.concatenate(texts), np.concatenate(frequencies)
    if values["allowed"] is not None:
        there = np.isin(of_all, np.fromstring(values["allowed"].strip("[]"), dtype=np.int64, sep=","))
        of_all, often, places = of_all[there], often[there], places[there]
    idfs, weights = (np.array([term[part] for term in known])[places] for part in (1, 2))
    ids, at = np.unique(of_all, return_inverse=True)
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
