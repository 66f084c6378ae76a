"""The words of a question as the keyword arm looks them up: how rare each is, and which say too little to be read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from memdb.base import words
from memdb.base.storage import Database
from memdb.services.recall import postings, seen_words

TELLING_WORDS = 12
"""A question says what it is about in so many words; of a longer text the rarest ones count as the whole."""

POSTINGS = 20_000
"""Postings that one question may read: beyond it, its most frequent words are left out. Bounds the keyword arm."""

NEGLIGIBLE = 0.05
"""The most frequent words are not looked up either while all of them together make up no more of the question's idf."""

FEW_POSTINGS = 1_000
"""A word that so few texts have is looked up however little it says: it costs nothing."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The words of a question as the index has them.

    `known` holds (term, idf, weight) of those that some text has, `asked` of all that are looked up; the totals are
    over the TELLING_WORDS heaviest.
    """

    known: list[tuple[str, float, float]]
    asked: list[tuple[str, float, float]]
    count: int
    idf_total: float
    weight_total: float
    left_out: list[str]
    reach: int = 0  # postings of all words that are looked up
    found: postings.Postings | None = None  # of all words that are asked for, where they were read on the way


def looked_up(database: Database, found: Sequence[str], *, filtered: bool) -> Terms:
    """Look up how rare each word is; among the few texts that filters let through, a frequent word may be all there is.

    idf is ln(1 + (N - df + 0.5) / (df + 0.5)), Lucene's variant of Robertson and Spärck Jones: never negative. The
    weight, by which a text's share of the question is measured, is ln(2 + N / (df + 1)): in a small store, where idf
    makes nothing of a word that most texts have, it still counts.
    """
    terms = dict.fromkeys(stem for stems in words.stems(database.connection, found) for stem in stems)
    texts = seen_words.totals(database)[0]
    all_ = None
    if texts <= postings.FEW_TEXTS and postings.pays(0):
        all_ = postings.read(database, list(terms))
        frequency = all_.frequencies()
    else:
        frequency = seen_words.frequencies(database, terms)
    known: list[tuple[str, float, float]] = []
    asked: list[tuple[str, float, float]] = []
    idfs: list[float] = []
    weights: list[float] = []
    left_out: list[str] = []
    read = 0
    rarest = sorted((frequency[term], term) for term in terms)
    idf_of = {term: math.log(1 + (texts - documents + 0.5) / (documents + 0.5)) for documents, term in rarest}
    needed = math.inf if filtered else (1 - NEGLIGIBLE) * sum(idf_of.values())
    for documents, term in rarest:
        if documents > FEW_POSTINGS and known and sum(idfs) >= needed:
            break
        if read + documents > POSTINGS and known:
            left_out.append(term)
            continue
        read += documents
        idfs.append(idf_of[term])
        weights.append(math.log(2 + texts / (documents + 1)))
        asked.append((term, idfs[-1], weights[-1]))
        if documents:
            known.append(asked[-1])
    # The rarest come first, so these are the heaviest.
    totals = sum(idfs[:TELLING_WORDS]) or 1.0, sum(weights[:TELLING_WORDS]) or 1.0
    return Terms(known, asked, len(idfs), *totals, left_out, read, all_)
