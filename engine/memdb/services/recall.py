"""Answer a question: which memories belong in the next prompt, by which arms and which path each was found."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import apsw

from memdb.base import resources, words
from memdb.base.storage import Database
from memdb.base.text import name_key
from memdb.domain.memories import EDGE_WEIGHTS
from memdb.errors import ModelUnavailable, NotFound, UsageError
from memdb.services import vectors
from memdb.services.context import Context

LIMIT = 8
"""Results of a recall."""

SEEDS = 10
"""Nodes of the pool from which the cascade walks."""

HOPS = 2
"""Hops of the cascade: one reaches a hub, two reach its members."""

DECAY = 0.7
"""What a score keeps at each hop, beside the edge's weight."""

HUB_DEGREE = 50
"""A node with more neighbours than this relays only to nodes that the arms found too."""

POOL = 200
"""Candidates that each arm gives."""

WALK_FLOOR = 0.01
"""A path whose score falls below this is not followed: it could not come near any answer."""

K1, B = 0.9, 0.4
"""BM25's saturation and length normalisation, as Robertson et al. (1994) name them; values of Trotman et al. (2014)."""

FIELD_WEIGHTS = {"name_weight": 3.0, "description_weight": 2.0, "tags_weight": 2.0, "parts_weight": 0.5}
"""How often a word in a field counts, as in BM25F; a word of the body counts once."""

KEYWORD_STRONG = 0.5
"""A text that holds this share of the question's words, weighed by how rare they are, is a candidate by that alone."""

KEYWORD_WEAK = 0.25
"""One that holds less, down to this share, is a candidate unless the vector arm is on and finds it far from the question."""

VECTOR_WEAK = 0.5
"""Far is below this part of the model's floor."""

POSTINGS = 20_000
"""Postings that one question may read: beyond it, its most frequent words are left out. Bounds the keyword arm."""

EXACT_PASSAGES = 4096
"""Up to this many passages every vector is compared exactly; it is also the most that sqlite-vec gives."""

VECTOR_CANDIDATES = 800
"""Bit candidates beyond that: 0.998 of the exact ten best on 13,891 passages of real text."""

SUCCESSION_LIMIT = 16
"""How many memories may replace one another in a row."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What a recall is limited to, inside the arms. Dates are ISO (`2026`, `2026-05`, `2026-05-01`)."""

    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # all of them
    path: str | None = None  # a glob over paths relative to the root
    since: str | None = None
    until: str | None = None
    as_of: str | None = None  # valid on that day

    @property
    def active(self) -> bool:
        return any((self.types, self.tags, self.path, self.since, self.until, self.as_of))


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of a path: the node, the edge that led to it (None at the seed), its weight, the score there."""

    node: str
    edge: str | None
    weight: float | None
    score: float


@dataclass(frozen=True, slots=True)
class Found:
    """What an arm says of a hit: its place in the arm's ranking, from 1, and its similarity, 0 to 1.

    `share` is, for the keyword arm, the part of the question's words that the text holds, weighed by how rare they are.
    """

    rank: int
    similarity: float
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer; `score` is 0 to 1, `path` leads from the seed to it."""

    id: str
    kind: str
    score: float
    name: str
    type: str
    description: str
    file: str
    path: tuple[Hop, ...]
    arms: dict[str, Found]
    fused: float | None
    superseded_by: tuple[str, ...]
    contradicts: tuple[str, ...]
    stale: bool


@dataclass(frozen=True, slots=True)
class Arm:
    """Whether an arm was on, how many candidates it gave, and why it was off."""

    state: str  # on, off
    candidates: int
    reason: str | None = None


@dataclass(slots=True)
class Recall:
    """The answer to a question; `empty_because` is a code when there are no hits, `empty_message` says it in words."""

    query: str
    hits: list[Hit]
    arms: dict[str, Arm]
    empty_because: str | None = None
    empty_message: str | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Prepared:
    """The statements of a recall, each with its values, in the order in which they run; and what the arms say."""

    statements: list[tuple[str, dict[str, Any]]]
    pool: dict[str, tuple[float, dict[str, Found]]]
    arms: dict[str, Arm]
    words: list[str]
    allowed: str | None
    best_below: float = 0.0
    floor: float = 0.0


def recall(
    context: Context,
    query: str,
    *,
    limit: int = LIMIT,
    filters: Filters | None = None,
    hops: int = HOPS,
    arms: Sequence[str] = ("vector", "keyword"),
) -> Recall:
    """The best memories for any text, most relevant first. Never raises for what the text holds."""
    filters = filters or Filters()
    with context.database.read():
        prepared = prepare(context, query, filters=filters, limit=limit, hops=hops, arms=arms)
        rows = _run(context.database, prepared.statements[-1])
        result = Recall(query, [_hit(row, prepared.pool) for row in rows], prepared.arms)
        if not result.hits:
            _explain_empty(context, result, prepared, filters)
    return result


def recall_sql(
    context: Context,
    query: str,
    *,
    limit: int = LIMIT,
    filters: Filters | None = None,
    hops: int = HOPS,
    arms: Sequence[str] = ("vector", "keyword"),
) -> str:
    """The statements of a recall with their values written in, to be run by hand.

    The first, which needs sqlite-vec, gives the vector arm's hits; the second mixes them with the keyword arm, the third walks the
    graph. Each has the result of the one before written in, and the last two run in any SQLite.
    """
    with context.database.read():
        prepared = prepare(context, query, filters=filters or Filters(), limit=limit, hops=hops, arms=arms)
    return "\n".join(with_values(resources.query(name), values) for name, values in prepared.statements)


def cascade(context: Context, seeds: Sequence[tuple[str, float]], *, limit: int = LIMIT, hops: int = HOPS) -> Recall:
    """The walk alone, from given seeds. Raises NotFound for a seed that is no node, UsageError for a score outside 0 to 1."""
    database = context.database
    off = Arm("off", 0, "the seeds were given")
    with database.read():
        for key, score in seeds:
            if not 0 < score <= 1:
                raise UsageError(f"The score of {key} is {score}; scores lie above 0 and up to 1.")
            if database.value("select 1 from node where key = ?", (key,)) is None:
                raise NotFound(f"There is no node {key}.", hint="`memdb list` shows the memories; a tag is `tag:NAME`.")
        pool: dict[str, tuple[float, dict[str, Found]]] = {
            key: (score, {}) for key, score in sorted(seeds, key=lambda seed: (-seed[1], seed[0]))
        }
        walk = _cascade_values(pool, None, limit=limit, hops=hops, seeds=max(SEEDS, len(pool)))
        hits = [_hit(row, pool) for row in _run(database, ("cascade", walk))]
    result = Recall("", hits, {"vector": off, "keyword": off, "entity": off})
    if not hits:
        result.empty_because, result.empty_message = "no_match", "The walk reached no memory from these seeds."
    return result


def _run(database: Database, statement: tuple[str, dict[str, Any]]) -> list[tuple[Any, ...]]:
    name, values = statement
    return database.rows(resources.query(name), values)


def _cascade_values(
    pool: dict[str, tuple[float, dict[str, Found]]], allowed: str | None, *, limit: int, hops: int, seeds: int = SEEDS
) -> dict[str, Any]:
    if limit < 1 or hops < 0:
        raise UsageError(f"The limit must be 1 or more and the hops 0 or more, not {limit} and {hops}.")
    step = EDGE_WEIGHTS["supersedes"] * DECAY
    return {
        "pool": json.dumps([(key, score) for key, (score, _) in pool.items()]),
        "allowed": allowed,
        "seeds": seeds,
        "hops": hops,
        "decay": DECAY,
        "hub_degree": HUB_DEGREE,
        "walk_floor": WALK_FLOOR,
        "succession_limit": SUCCESSION_LIMIT,
        "supersession_steps": json.dumps([step**distance for distance in range(SUCCESSION_LIMIT + 1)]),
        "limit": limit,
    }


def prepare(
    context: Context,
    query: str,
    *,
    filters: Filters,
    limit: int = LIMIT,
    hops: int = HOPS,
    arms: Sequence[str] = ("vector", "keyword"),
) -> Prepared:
    """Run the arms and the fusion, and collect the statements with their values; the last, the cascade, is left to run."""
    database = context.database
    allowed = _allowed(database, filters)
    report = {
        "vector": Arm("off", 0, "not asked for"),
        "keyword": Arm("off", 0, "not asked for"),
        "entity": Arm("off", 0, "the store has no entities yet"),
    }
    statements: list[tuple[str, dict[str, Any]]] = []
    values: dict[str, Any] = {
        "terms": "[]",
        "idf_total": 1.0,
        "allowed": allowed,
        "vector_hits": "[]",
        "vector_on": 0,
        "vector_floor": 0.0,
        "vector_weak": 0.0,
        "keyword_strong": KEYWORD_STRONG,
        "keyword_weak": KEYWORD_WEAK,
        "k1": K1,
        "b": B,
        "pool": POOL,
        **FIELD_WEIGHTS,
    }
    found = words.content_words(words.query_words(query))
    floor = below = 0.0
    left_out: list[str] = []
    if "keyword" in arms:
        terms, values["idf_total"], left_out = _terms(database, found)
        values["terms"] = json.dumps(terms)
    if "vector" in arms:
        nearest, hits, reason = _vector_arm(context, query, allowed)
        report["vector"] = Arm("off", 0, reason)
        if nearest is not None:
            statements.append(("recall_vector", nearest))
            floor = context.embedder.card.floor
            below = max((similarity for _, similarity in hits), default=0.0)
            values |= {"vector_hits": json.dumps(hits), "vector_on": 1, "vector_floor": floor}
            values["vector_weak"] = floor * VECTOR_WEAK
    statements.append(("recall_fusion", values))
    pool = {row[0]: (row[1], _found(row)) for row in _run(database, statements[-1])}
    if "keyword" in arms:
        reason = f"too frequent to search for: {', '.join(left_out)}" if left_out else None
        report["keyword"] = Arm("on", sum(1 for _, by in pool.values() if "keyword" in by), reason)
    if values["vector_on"]:
        report["vector"] = Arm("on", sum(1 for _, by in pool.values() if "vector" in by))
    statements.append(("cascade", _cascade_values(pool, allowed, limit=limit, hops=hops)))
    return Prepared(statements, pool, report, found, allowed, below, floor)


def _found(row: tuple[Any, ...]) -> dict[str, Found]:
    _, _, vector_place, vector_similarity, keyword_place, keyword_similarity, share = row
    by = {}
    if vector_place is not None:
        by["vector"] = Found(vector_place, vector_similarity)
    if keyword_place is not None:
        by["keyword"] = Found(keyword_place, keyword_similarity, share)
    return by


def _allowed(database: Database, filters: Filters) -> str | None:
    if not filters.active:
        return None
    for name, value in (("since", filters.since), ("until", filters.until), ("as-of", filters.as_of)):
        if value is not None and not re.fullmatch(r"\d{4}(-\d\d(-\d\d)?)?", value):
            raise UsageError(f"--{name} is {value!r}; write a date as 2026, 2026-05 or 2026-05-01.")
    bound = {
        "types": json.dumps(filters.types) if filters.types else None,
        "tags": json.dumps([name_key(tag.removeprefix("#")) for tag in filters.tags]) if filters.tags else None,
        "path": filters.path,
        "since": filters.since,
        "until": filters.until,
        "as_of": filters.as_of,
    }
    return json.dumps([node for (node,) in database.rows(resources.query("recall_allowed"), bound)])


def _terms(database: Database, found: Sequence[str]) -> tuple[list[tuple[str, float]], float, list[str]]:
    """The terms to look up with their idf, the sum over all terms of the question, and the words left out as too frequent.

    idf is ln(1 + (N - df + 0.5) / (df + 0.5)), Lucene's variant of Robertson and Spärck Jones: never negative.
    """
    terms = dict.fromkeys(stem for stems in words.stems(database.connection, found) for stem in stems)
    texts = int(database.value("select texts from fts_total"))
    frequency = dict(database.rows(resources.query("recall_terms"), {"terms": json.dumps(list(terms))}))
    weighed = sorted((frequency.get(term, 0), term) for term in terms)
    kept: list[tuple[str, float]] = []
    total, read = 0.0, 0
    left_out = []
    for documents, term in weighed:
        idf = math.log(1 + (texts - documents + 0.5) / (documents + 0.5))
        if read + documents > POSTINGS and kept:
            left_out.append(term)
            continue
        total += idf
        if documents:
            kept.append((term, idf))
            read += documents
    return kept, total or 1.0, left_out


def _vector_arm(
    context: Context, query: str, allowed: str | None
) -> tuple[dict[str, Any] | None, list[tuple[str, float]], str | None]:
    """The statement's values, the hits as (key, similarity), and why the arm is off, if it is."""
    database = context.database
    if not query.strip():
        return None, [], "the question is empty"
    status = context.embedder.status
    if status.state == "off":
        return None, [], status.reason
    if database.vector_reason is not None:
        return None, [], database.vector_reason
    if not database.connection.table_exists(None, "vec_passage"):
        return None, [], "nothing is embedded yet; `memdb sync` does it"
    if database.meta("model") != status.identity:
        return (
            None,
            [],
            f"the store was embedded by {database.meta('model')}; `memdb sync` embeds it again by {status.identity}",
        )
    passages = int(database.value("select count(*) from passage"))
    try:
        vector = context.embedder.embed_query(query)
    except ModelUnavailable as error:
        return None, [], error.message
    values = {
        "vector": vectors.to_blob(vector),
        "candidates": EXACT_PASSAGES if passages <= EXACT_PASSAGES else VECTOR_CANDIDATES,
        "allowed": allowed,
        "pool": POOL,
    }
    hits = database.rows(resources.query("recall_vector"), values)
    return values, [(key, similarity) for key, similarity in hits], None


def _hit(row: tuple[Any, ...], pool: dict[str, tuple[float, dict[str, Found]]]) -> Hit:
    key, score, trail, name, kind, description, file, superseded_by, contradicts, valid_to = row
    fused, by = pool.get(key, (None, {}))
    stale = bool(valid_to) and re.match(r"\d{4}", valid_to) is not None and valid_to[:10] < date.today().isoformat()
    return Hit(
        id=key,
        kind="memory",
        score=score,
        name=name,
        type=kind,
        description=description,
        file=file,
        path=_path(trail),
        arms=by,
        fused=fused,
        superseded_by=tuple(json.loads(superseded_by)),
        contradicts=tuple(json.loads(contradicts)),
        stale=stale,
    )


def _path(trail: str) -> tuple[Hop, ...]:
    """The hops of a trail: `node, score` of the seed, then a line `edge, weight, score, node` a hop, with tabs between."""
    first, *rest = trail.split("\n")
    seed, score = first.split("\t")
    hops = [Hop(seed, None, None, float(score))]
    for line in rest:
        edge, weight, at, node = line.split("\t")
        hops.append(Hop(node, edge, float(weight), float(at)))
    return tuple(hops)


def _explain_empty(context: Context, result: Recall, prepared: Prepared, filters: Filters) -> None:
    """Say which kind of nothing this is."""
    database = context.database
    total = int(database.value("select count(*) from memory"))
    if not prepared.words and not result.query.strip():
        code, message = "empty_query", "The question has no words."
    elif total == 0:
        code, message = (
            "no_data",
            "The store has no memories. `memdb save` writes one; `memdb sync` reads a folder of them.",
        )
    elif prepared.allowed == "[]":
        code, message = "filtered_out", f"The filters let none of {total} memories through."
    elif filters.active and _answers_without(context, result.query, prepared):
        code, message = "filtered_out", "There are answers, but the filters leave them out."
    else:
        vector = result.arms["vector"]
        if vector.state == "off":
            code = "arm_off"
            message = f"No memory has enough of the question's words, and the vector arm is off: {vector.reason}."
        elif vectors.pending_count(context):
            code = "index_behind"
            message = (
                f"Nothing found, but {vectors.pending_count(context)} memories are not embedded yet; run `memdb sync`."
            )
        else:
            code = "below_floor"
            message = (
                f"Nothing in the store is close enough: the nearest similarity is {prepared.best_below:.2f},"
                f" the floor is {prepared.floor:.2f}."
            )
    result.empty_because, result.empty_message = code, message


def _answers_without(context: Context, query: str, prepared: Prepared) -> bool:
    on = [name for name in ("vector", "keyword") if prepared.arms[name].state == "on"]
    again = prepare(context, query, filters=Filters(), limit=1, arms=on)
    return bool(_run(context.database, again.statements[-1]))


def with_values(statement: str, values: dict[str, Any]) -> str:
    """A statement with its values written in, as it runs by hand."""

    def literal(match: re.Match[str]) -> str:
        name = match[1]
        return apsw.format_sql_value(values[name]) if name in values else match[0]

    lines = []
    for line in statement.splitlines():
        code, mark, comment = line.partition("--")
        lines.append(re.sub(r"(?<![:\w]):([a-z]\w*)", literal, code) + mark + comment)
    return "\n".join(lines) + "\n"
