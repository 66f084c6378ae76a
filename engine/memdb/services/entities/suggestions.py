"""Which entities may be one under two names? Pairs to ask a person about, with reasons; nothing is merged here.

Names say most of it. What the store knows beside them raises or lowers a pair: the texts that mention both, what texts
state between them, aliases that memories give, and vectors of names, which never make a pair by themselves.
"""

from __future__ import annotations

import json
import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import mul

from memdb.base.storage import Database
from memdb.domain.near_keys import Meeting, Reason
from memdb.domain.near_names import WORTH_ASKING, Named, Near, judged, likelihood
from memdb.errors import UsageError
from memdb.services.context import Context
from memdb.services.entities import entity_reading, suggestions_kept
from memdb.services.entities.entity_reading import EntityListed
from memdb.services.index.entity_vectors import name_floor

MOST_SUGGESTED = 20
"""Pairs that are given by default: what a person decides in a few minutes."""

CANDIDATE = 0.35
"""From which score of the names alone a pair is looked at: what speaks for it can raise it to `WORTH_ASKING`."""

FEW_TEXTS = 200
"""Of the less mentioned name: for a hub, all texts in which both could stand are not looked through."""

SHARED_ALIAS = Reason("two memories give both the same alias", 0.6)
OWN_ALIAS = Reason("the name of one is an alias of the other", 0.8)
TOGETHER = Reason("the same texts mention both", 0.3)
MEANING = Reason("close in meaning", 0.25)

SHORT_FORMS = frozenset(("acronym", "initials", "part of the person's name", "part of the company's name"))
"""Reasons by which one name is short for another: a text that has both is likely to say so."""

SLIPS = frozenset(("one letter doubled", "two letters swapped", "one letter more", "one letter differs"))
"""Reasons by which one name is the other mistyped: a text that has both is likely to mean both."""

APART = 0.7
"""Of the score of a slip where one text has both spellings."""

Pair = tuple[str, str]
"""Two name keys, the lesser first."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Two entities that may be one: `source` would become part of `into`, which more texts mention.

    `reasons` are words, the surest first; `score` is from 0 to 1.
    """

    source: EntityListed
    into: EntityListed
    reasons: tuple[str, ...]
    score: float


def suggest(context: Context, *, limit: int | None = MOST_SUGGESTED) -> list[Suggestion]:
    """The pairs of entities that are worth asking about, the likeliest first, then the most mentioned.

    A pair that was said to be two is left out, one between whose ends a text states a relation, and one that the pairs
    before it would make one already. Raises UsageError for a limit below 1.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"A limit of {limit} shows nothing.", hint="Give 1 or more.")
    database = context.database
    meetings = suggestions_kept.meetings(database)
    known = list(_aliases(database))
    named = _named(database, meetings, known)
    pairs = judged(named, meetings, known, floor=CANDIDATE)
    left_out = _settled(database) | _related(database, pairs)
    pairs = [pair for pair in pairs if (pair.a, pair.b) not in left_out]
    pairs = _with_texts(database, named, pairs)
    pairs = _with_meaning(context, named, pairs)

    def order(pair: Near) -> tuple[float, int, str, str]:
        return -pair.score, -named[pair.a].mentions - named[pair.b].mentions, pair.a, pair.b

    ordered = sorted((pair for pair in pairs if pair.score >= WORTH_ASKING), key=order)
    chosen = list(islice(_joining(ordered), limit))
    usage = entity_reading.usage(database, {key for pair in chosen for key in (pair.a, pair.b)})
    return [_suggestion(pair, usage) for pair in chosen]


def _joining(pairs: Iterable[Near]) -> Iterator[Near]:
    """The pairs that join what those before them do not: three spellings of one name are two questions."""
    whole: dict[str, str] = {}

    def root(key: str) -> str:
        while key in whole:
            key = whole[key]
        return key

    for pair in pairs:
        a, b = root(pair.a), root(pair.b)
        if a != b:
            whole[a] = b
            yield pair


def _suggestion(pair: Near, usage: dict[str, EntityListed]) -> Suggestion:
    into, source = sorted((usage[pair.a], usage[pair.b]), key=lambda entity: (-entity.mentions, entity.id))
    return Suggestion(source, into, tuple(dict.fromkeys(reason.words for reason in pair.reasons)), pair.score)


def _named(
    database: Database, meetings: Iterable[Meeting], known: Iterable[tuple[str, str, Reason]]
) -> dict[str, Named]:
    """The entities of some pairs by their keys; the uses of their spellings count their mentions without the edges."""
    wanted = {key for a, b, *_ in (*meetings, *known) for key in (a, b)}
    given = (json.dumps(sorted(wanted), ensure_ascii=False),)
    rows = database.rows(
        "select name_key, name, entity.type from json_each(?) cross join entity on name_key = value", given
    )
    mentions = dict(
        database.rows(
            "with called as materialized (select value as entity_key, value as name_key from json_each(?1)"
            " union select entity_key, name_key from json_each(?1) cross join entity_alias on entity_key = value)"
            " select entity_key, sum(uses) from called cross join spelling using (name_key) group by entity_key",
            given,
        )
    )
    return {key: Named(key, (name,), type_, mentions.get(key, 0)) for key, name, type_ in rows}


def _aliases(database: Database) -> Iterator[tuple[str, str, Reason]]:
    """Pairs that memories' aliases make: an alias that two have, or that is what another entity is called itself."""
    meant = dict(database.rows("select name_key, entity_key from entity_alias"))
    holders: dict[str, set[str]] = defaultdict(set)
    for name_key, key in database.rows("select distinct name_key, entity_key from known_name where source = 'alias'"):
        holders[name_key].add(meant.get(key, key))
    for name_key, keys in sorted(holders.items()):
        first, *rest = sorted(keys)
        # An alias of two tells neither from the other: it is the two that are asked about.
        yield from ((first, key, SHARED_ALIAS) for key in rest)
        if not rest:
            yield meant.get(name_key, name_key), first, OWN_ALIAS


def _settled(database: Database) -> set[Pair]:
    """The pairs that people said are two, as they are now."""
    rows = database.rows(
        "select coalesce(a.entity_key, one), coalesce(b.entity_key, other) from entity_distinct"
        " left join entity_decision as a on a.anchor = one left join entity_decision as b on b.anchor = other"
    )
    return {(min(pair), max(pair)) for pair in rows}


def _rows_of(database: Database, pairs: Sequence[Near], statement: str) -> list[tuple[str, str]]:
    """The pairs for which a statement holds; it reads `pair (a, b)` with ids of entities, and `key_a`, `key_b`."""
    given = json.dumps([[pair.a, pair.b] for pair in pairs], ensure_ascii=False)
    return database.rows(
        "with pair as materialized ("
        "select a.id as a, b.id as b, a.name_key as key_a, b.name_key as key_b from json_each(?)"
        " cross join entity as a on a.name_key = json_extract(value, '$[0]')"
        " cross join entity as b on b.name_key = json_extract(value, '$[1]'))"
        f" select key_a, key_b from pair where {statement}",
        (given,),
    )


def _related(database: Database, pairs: Sequence[Near]) -> set[Pair]:
    """The pairs that a text relates: it says of one what it says of another."""
    one_way = "exists (select 1 from edge where src = {} and dst = {} and kind = 'relates' and active)"
    return set(_rows_of(database, pairs, f"{one_way.format('a', 'b')} or {one_way.format('b', 'a')}"))


def _with_texts(database: Database, named: dict[str, Named], pairs: Sequence[Near]) -> list[Near]:
    """The pairs, weighed by whether one text mentions both."""
    seldom = []
    for pair in pairs:
        a, b = sorted((pair.a, pair.b), key=lambda key: (named[key].mentions, key))
        if named[a].mentions <= FEW_TEXTS and _words(pair) & (SHORT_FORMS | SLIPS):
            seldom.append(replace(pair, a=a, b=b))
    mentions = "edge.kind in ('mentions', 'about') and edge.active"
    both = _rows_of(
        database,
        seldom,
        f"exists (select 1 from edge where edge.dst = a and {mentions} and exists"
        " (select 1 from edge as other where other.src = edge.src and other.dst = b"
        " and other.kind in ('mentions', 'about') and other.active))",
    )
    together = {(min(pair), max(pair)) for pair in both}
    return [_weighed(pair) if (pair.a, pair.b) in together else pair for pair in pairs]


def _weighed(pair: Near) -> Near:
    if _words(pair) & SHORT_FORMS:
        return _raised(pair, TOGETHER)
    return replace(pair, score=round(pair.score * APART, 2))


def _words(pair: Near) -> set[str]:
    return {reason.words for reason in pair.reasons}


def _raised(pair: Near, hint: Reason) -> Near:
    score = round(likelihood((pair.score, hint.score)), 2)
    return replace(pair, reasons=(*pair.reasons, hint), score=score)


def _with_meaning(context: Context, named: dict[str, Named], pairs: Sequence[Near]) -> list[Near]:
    """The pairs, raised where both names have vectors that are near."""
    identity = context.embedder.status.identity
    floor = name_floor(context.embedder.card.floor) if identity is not None else None
    if floor is None:
        return list(pairs)
    keys = json.dumps(sorted({key for pair in pairs for key in (pair.a, pair.b)}), ensure_ascii=False)
    rows = context.database.rows(
        "select name_key, vector from json_each(?) cross join entity on name_key = value"
        " join entity_name on entity_id = entity.id join embedding_model using (model)"
        " join embedding using (model_id, text_sha256) where model = ?",
        (keys, identity),
    )
    vectors = {key: array("f", vector) for key, vector in rows}
    # Two names that are spelled alike are near: 0.80 for MiniLM, above which 9 of 10 candidates from 47,000 real names
    # were one thing (Katharine, Katherine), and below it 5 of 10 (Colombia and Columbia are at 0.77).
    least = (1 + floor) / 2
    return [
        _raised(pair, MEANING)
        if pair.a in vectors and pair.b in vectors and _cosine(vectors[pair.a], vectors[pair.b]) >= least
        else pair
        for pair in pairs
    ]


def _cosine(a: array[float], b: array[float]) -> float:
    return math.fsum(map(mul, a, b))
