"""The arms of a recall: which memories each finds for a question, and the fusion that makes one ranking of them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memdb.base import kept, resources, words
from memdb.base.models import ModelCard
from memdb.base.storage import Database
from memdb.base.text import name_key
from memdb.errors import UsageError
from memdb.services.context import Context
from memdb.services.entities import naming
from memdb.services.recall import past, postings
from memdb.services.recall.answers import Arm, Filters, Found
from memdb.services.recall.seen_words import FIELD_WEIGHTS
from memdb.services.recall.terms import Terms, looked_up
from memdb.services.recall.vector_arm import Near, nearest_to

POOL = 200
"""Candidates that each arm gives."""

K1, B = 0.9, 0.4
"""BM25's saturation and length normalisation, as Robertson et al. (1994) name them; values of Trotman et al. (2014)."""

KEYWORD_STRONG = 0.5
"""A text that holds this share of the question's words, weighed by how rare they are, is a candidate by that alone."""

KEYWORD_WHOLE = 0.9
"""Of many texts, one answers by its words alone if it holds this share of the question's."""

ANSWER_WORDS, ANSWER_NAMED = 0.36, 0.12
"""How much nearer to the answer of a large store a question comes by all its words, against half of them, and by naming
what few texts mention, as parts of what lies between the model's floor and 1.

Measured with MiniLM on stores of chats, 2Wiki, MuSiQue and SciFact: of 170 to 510 questions to others, 99, 53, 70
and 96 % are left unanswered (96, 38, 45 and 81 where the nearest text, half of the words and a name each were
enough), and of 755 own questions 4 (1)."""

KEYWORD_WEAK = 0.25
"""One that holds less, down to this share, is a candidate unless the vector arm is on and finds it far away."""

KEYWORD_ALONE = 0.4
"""The least share of one word alone: of a question of three words or more, one seldom says what it is about."""

KEYWORD_TAIL = 0.35
"""Where one text is a candidate, others are down to this part of its BM25: they add recall, and rank below it.

0.3 is better on passages that are found by paths, and 0.4 on abstracts: less than a point each."""

VECTOR_WEAK = 0.5
"""Far is below this part of the model's floor."""

VECTOR_SHARE = 0.45
"""Of the vector arm in the mix, measured on chat, abstracts and passages: 0.4 suits chat better, 0.5 passages."""

ENTITY_WEIGHT = 0.5
"""What it says for a text that it is about what the question names."""

NEAR_WEIGHT = 0.5
"""Of an entity whose name is near to a question in meaning, or nearly spelled there: half as sure as one it names."""

TITLE_WEIGHT = 0.8
"""What it says for a text in a large store that the question has its whole title, which no other text mentions."""

ENTITY_TELLING = 0.5
"""Of a name that up to four texts mention: one of these may answer, however little else it has of the question."""

NAMES_TAKEN = True
"""Whether the words of a name that a text bears say nothing for others: those are found by what else they have."""

ENTITY_DEGREE = 200
"""An entity that more texts mention says nothing for each of them: less than one in a hundred."""

SURPRISE = 4.75
"""Deviations above the other candidates at which a text is as likely an answer as not."""

SCALE = 1.25
"""Mean absolute deviations in a standard deviation, if values are normally distributed: sqrt(pi / 2)."""

CLOSENESS, CLOSE_ENOUGH = 0.4, 0.5
"""Logarithm of what a path's odds are multiplied by for each deviation that the text it leads to lies nearer to the
question than others, up to so many. 0.3 is as good; without a bound, what the vector arm found counts twice."""

FACTOR_DIGITS = 9
"""Decimals of such a factor: beyond these, processors may differ in the exponential function."""

POOL_TEXTS = 200
"""From so many candidates on, a similarity is measured against the others alone; below, for its share, as it is."""

SPREAD_TEXTS = 30
"""Unrelated texts that count as candidates as well, with these means and mean deviations of similarity; the vector
arm's mean lies one deviation below the model's floor. 40 and more suit chats and chains better, and abstracts less."""

KEYWORD_MEAN = KEYWORD_DEVIATION = 0.1
VECTOR_DEVIATION = 0.08

NOT_ASKED = "not asked for"
"""Why an arm is off that the caller left out."""


PLACES, NODE = {"vector": 2, "keyword": 4, "entity": 7}, 9
"""The columns of a row of the fusion that have a text's place in the ranking of each arm, and its node."""

Statement = tuple[str, dict[str, Any]]
"""The name of a query file and the values for it."""


@dataclass(slots=True)
class Pool:
    """What the arms found: the fused score of each memory, best first; `rows` says what each arm says of it.

    `statements` are those that ran; `nearest` is the best similarity of the vector arm and `floor` its model's floor.
    """

    found: dict[str, float]
    arms: dict[str, Arm] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    allowed: str | None = None  # JSON: the ids that the filters let through
    nearest: float = 0.0
    floor: float = 0.0
    largeness: float = 0.0  # for what share the scores are measured against the other candidates
    closeness: list[tuple[str, float]] = field(default_factory=list)  # by what a path's odds are multiplied, by key
    distant: float = 1.0  # the same for a text that the vector arm did not find
    then: past.Then | None = None  # of a recall as of a time
    gone: list[past.Row] = field(default_factory=list)  # earlier texts of memories that are not there any more
    rows: dict[str, tuple[Any, ...]] = field(default_factory=dict)  # of the fusion, by key

    def said(self, key: str) -> dict[str, Found]:
        """What each arm says of a text; nothing of one that none of them found."""
        return _found(self.rows[key]) if key in self.rows else {}


def run(database: Database, statement: Statement) -> list[tuple[Any, ...]]:
    """The rows of a query file with its values."""
    name, values = statement
    return database.rows(resources.query(name), values)


def find(context: Context, query: str, filters: Filters, arms: Sequence[str]) -> Pool:
    """Run the arms and the fusion. Raises UsageError for a date that is none."""
    database = context.database
    within = _allowed(database, filters)
    then = past.standing(database, filters.as_of) if filters.as_of is not None else None
    gone: list[past.Row] = []
    # Of a recall as of a time, arms that know today's texts search those that were the same then.
    within, allowed = past.split(then, within)
    report = {
        "vector": Arm("off", 0, NOT_ASKED),
        "keyword": Arm("off", 0, NOT_ASKED),
        "entity": Arm("off", 0, NOT_ASKED),
    }
    statements: list[tuple[str, dict[str, Any]]] = []
    values: dict[str, Any] = {
        "terms": "[]",
        "words": 0,
        "idf_total": 1.0,
        "weight_total": 1.0,
        "allowed": allowed,
        "past": "[]",
        "vector_hits": "[]",
        "vector_on": 0,
        "vector_floor": 0.0,
        "answer_floor": 0.0,
        "answer_words": 0.0,
        "answer_named": 0.0,
        "entity_telling": ENTITY_TELLING,
        "vector_weak": 0.0,
        "keyword_strong": KEYWORD_STRONG,
        "keyword_whole": KEYWORD_WHOLE,
        "keyword_weak": KEYWORD_WEAK,
        "keyword_alone": KEYWORD_ALONE,
        "keyword_tail": KEYWORD_TAIL,
        "keyword_on": int("keyword" in arms),
        "k1": K1,
        "b": B,
        "pool": POOL,
        "vector_share": 0.0,
        "postings": None,
        "entities": "[]",
        "bearers": "[]",
        "titled": "[]",
        "title_weight": TITLE_WEIGHT,
        "entity_weight": ENTITY_WEIGHT,
        "entity_degree": ENTITY_DEGREE,
        "surprise": SURPRISE,
        "pool_texts": POOL_TEXTS,
        "spread_texts": SPREAD_TEXTS,
        "scale": SCALE,
        "keyword_mean": KEYWORD_MEAN,
        "keyword_deviation": KEYWORD_DEVIATION,
        "vector_mean": 0.0,
        "vector_deviation": VECTOR_DEVIATION,
        **FIELD_WEIGHTS,
    }
    found = words.content_words(words.query_words(query))
    floor = nearest = 0.0
    vector: bytes | None = None
    hits: list[Near] = []
    terms = Terms([], [], 0, 1.0, 1.0, [])
    if "keyword" in arms:
        terms = looked_up(database, found, filtered=allowed is not None)
        values |= {"terms": json.dumps(terms.known), "words": terms.count}
        values |= {"idf_total": terms.idf_total, "weight_total": terms.weight_total}
        if then is not None and within is not None:
            edited, gone = past.matches(database, then, within, values | {"terms": json.dumps(terms.asked)})
            values["past"] = json.dumps(edited)
    if "vector" in arms:
        bound, hits, reason = nearest_to(context, query, allowed, POOL)
        report["vector"] = Arm("off", 0, reason)
        if bound is not None:
            statements.append(("recall_vector", bound))
            vector = bound["vector"]
            floor = context.embedder.card.floor
            nearest = max((similarity for _, similarity, _ in hits), default=0.0)
            values |= _vector_values(context.embedder.card, hits)
            values["vector_share"] = VECTOR_SHARE if "keyword" in arms else 1.0
    if "entity" in arms:
        has_any = kept.value(database, "select 1 from entity limit 1") is not None
        report["entity"] = Arm("on" if has_any else "off", 0, None if has_any else "the store has no entities yet")
        if has_any:
            values |= _name_values(
                database, _asked_for(database, query, vector, floor, statements), terms.known, values
            )
    statements.append(("recall_fusion", values))
    # The statement by itself says the same, and takes longer.
    near = [node for _, similarity, node in hits if similarity >= values["vector_weak"]]
    told = _told(database, terms, values, near)
    rows = {row[0]: row for row in run(database, ("recall_fusion", values | {"postings": told}))}
    largeness = _largeness(rows, hits) if values["vector_share"] == VECTOR_SHARE else 0.0
    floor += largeness * (values["answer_floor"] - floor)
    on = {"vector": values["vector_on"], "keyword": "keyword" in arms, "entity": report["entity"].state == "on"}
    for name in [name for name, is_on in on.items() if is_on]:
        report[name] = Arm("on", sum(1 for row in rows.values() if row[PLACES[name]] is not None))
    if values["vector_on"]:
        report["vector"] = replace(report["vector"], model=context.embedder.identity)
    if terms.left_out:
        report["keyword"] = replace(
            report["keyword"], reason=f"too frequent to search for: {', '.join(terms.left_out)}"
        )
    close = closeness([(key, similarity) for key, similarity, _ in hits], largeness, values["vector_mean"])
    scores = {key: row[1] for key, row in rows.items()}
    return Pool(scores, report, statements, found, within, nearest, floor, largeness, *close, then, gone, rows)


def _largeness(rows: dict[str, tuple[Any, ...]], hits: Sequence[Near]) -> float:
    """For what share the two arms' scores are measured against the other candidates, as the fusion has it."""
    candidates = {key for key, _, _ in hits}
    candidates |= {key for key, row in rows.items() if row[PLACES["keyword"]] is not None}
    return min(1.0, len(candidates) / POOL_TEXTS)


def closeness(
    hits: Sequence[tuple[str, float]], largeness: float, unrelated: float
) -> tuple[list[tuple[str, float]], float]:
    """By what the odds of a path to each of the vector arm's hits are multiplied, and of one to any other text.

    exp(CLOSENESS * z) with z the deviations of its similarity above the mean of the hits, and of SPREAD_TEXTS of the
    similarity `unrelated`, as the fusion has it, but no more than CLOSE_ENOUGH: what lies nearer was found by the arm
    itself. Any other text is no nearer than the last hit; where the hits are all that is embedded, it is not known.
    """
    if not hits or not largeness:
        return [], 1.0
    count = len(hits) + SPREAD_TEXTS
    mean = (math.fsum(similarity for _, similarity in hits) + SPREAD_TEXTS * unrelated) / count
    spread = math.fsum(abs(similarity - mean) for _, similarity in hits) + SPREAD_TEXTS * VECTOR_DEVIATION
    deviation = SCALE * spread / count
    factors = []
    for key, similarity in hits:
        above = min(CLOSE_ENOUGH, (similarity - mean) / deviation)
        factors.append((key, round(math.exp(CLOSENESS * largeness * above), FACTOR_DIGITS)))
    return factors, factors[-1][1] if len(hits) == POOL else 1.0


def _vector_values(card: ModelCard, hits: Sequence[Near]) -> dict[str, Any]:
    """What the fusion has to know of the vector arm: its hits, and what a similarity of this model means."""
    return {
        "vector_hits": json.dumps([(node, similarity) for _, similarity, node in hits]),
        "vector_on": 1,
        "vector_floor": card.floor,
        "answer_words": ANSWER_WORDS * (1 - card.floor),
        "answer_named": ANSWER_NAMED * (1 - card.floor),
        "answer_floor": card.answer_floor,
        "vector_weak": card.floor * VECTOR_WEAK,
        "vector_mean": card.floor - VECTOR_DEVIATION,
    }


AskedFor = tuple[list[tuple[int, float, str | None]], dict[str, list[int]], list[tuple[int, float]]]


def _name_values(
    database: Database, asked_for: AskedFor, known: Sequence[tuple[str, float, float]], values: dict[str, Any]
) -> dict[str, Any]:
    """What the fusion has to know of the names in a question: the entities, their bearers, and the words taken."""
    entities, names, titled = asked_for
    bound = {"entities": json.dumps([entity for entity, _, _ in entities]), "entity_degree": values["entity_degree"]}
    bearers = database.rows(resources.query("recall_bearers"), bound) if names and NAMES_TAKEN else []
    taken = {entity for entity, _ in bearers}
    places = {term[0]: place for place, term in enumerate(known)}
    return {
        "entities": json.dumps([(entity, weight, places.get(word or "")) for entity, weight, word in entities]),
        "titled": json.dumps(titled),
        "bearers": json.dumps(sorted({node for _, node in bearers})),
        "terms": json.dumps([(*term, int(not taken.isdisjoint(names.get(term[0], ())))) for term in known]),
    }


def _asked_for(
    database: Database, query: str, vector: bytes | None, floor: float, statements: list[Statement]
) -> AskedFor:
    """The entities that a question names, else those called something near to it, and the words of their names.

    An entity comes with its weight and the word that is its whole name, if one is. Words are as the index has them.
    The texts whose title the question has, where that is no entity's name, come last, with what it says for each.
    """
    named, titled = naming.named(database, query)
    near = naming.near_values(database, vector, floor) if vector is not None and not named else None
    if near is not None:
        statements.append(("recall_names", near))
        return [(entity, NEAR_WEIGHT, None) for entity, _ in run(database, statements[-1])], {}, titled
    entities: list[tuple[int, float, str | None]] = []
    by_word: dict[str, list[int]] = {}
    for entity, names in named.items():
        spelled = [words.content_words(words.query_words(name)) for name in sorted(names)]
        stems = {stem for one in spelled for found in words.stems(database.connection, one) for stem in found}
        entities.append((entity, 1.0 if names else NEAR_WEIGHT, min(stems) if len(stems) == 1 else None))
        for stem in stems:
            by_word.setdefault(stem, []).append(entity)
    return entities, by_word, titled


def _told(database: Database, terms: Terms, values: dict[str, Any], near: Sequence[int]) -> str | None:
    """The postings that the fusion has to look at, as JSON; None for all."""
    if not postings.pays(terms.reach):
        return None
    read = terms.found or postings.read(database, [term for term, _, _ in terms.known])
    return postings.telling(database, terms.known, read, values, near)


def _found(row: tuple[Any, ...]) -> dict[str, Found]:
    vector_place, vector_similarity, keyword_place, keyword_similarity, share, entity_place, entity_similarity = row[
        2:9
    ]
    by = {}
    if vector_place is not None:
        by["vector"] = Found(vector_place, vector_similarity)
    if keyword_place is not None:
        by["keyword"] = Found(keyword_place, keyword_similarity, share)
    if entity_place is not None:
        by["entity"] = Found(entity_place, entity_similarity)
    return by


def _allowed(database: Database, filters: Filters) -> str | None:
    if not filters.active:
        return None
    for name, value in (("since", filters.since), ("until", filters.until), ("as-of", filters.as_of)):
        if value is not None and not re.fullmatch(r"\d{4}(-\d\d(-\d\d)?)?", value):
            raise UsageError(f"{name} is {value!r}; write a date as 2026, 2026-05 or 2026-05-01.")
    bound = {
        "types": json.dumps(filters.types) if filters.types else None,
        "tags": json.dumps([name_key(tag.removeprefix("#")) for tag in filters.tags]) if filters.tags else None,
        "path": filters.path,
        "since": filters.since,
        "until": filters.until,
        "as_of": filters.as_of,
        "kinds": json.dumps(filters.kinds) if filters.kinds else None,
        "document": filters.document,
    }
    return json.dumps([node for (node,) in database.rows(resources.query("recall_allowed"), bound)])
