"""Answer a question: which memories belong in the next prompt, by which arms and which path each was found."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import apsw

from memdb.base import resources
from memdb.base.storage import Database
from memdb.base.words import QUERY_CAP
from memdb.domain.memories import EDGE_WEIGHTS
from memdb.errors import NotFound, UsageError
from memdb.services.context import Context
from memdb.services.index import vectors
from memdb.services.recall import dating, past, reranking, suspecting
from memdb.services.recall.answers import Arm, Citation, Filters, Hit, Hop, Recall
from memdb.services.recall.arms import KEYWORD_ALONE, KEYWORD_WEAK, NODE, NOT_ASKED, Pool, Statement, find, run

ARMS = ("vector", "keyword", "entity")
"""The arms of a recall, unless fewer are asked for."""

PATHS = ("evidence", "best")
"""How a path counts for what the arms found too: as evidence beside its own score, or only where it is better."""

LIMIT = 8
"""Results of a recall."""

SEEDS = 10
"""Nodes of the pool from which the cascade walks."""

HOPS = 2
"""Hops of the cascade: one reaches a hub, two reach its members."""

DECAY = 0.7
"""What a score keeps at each hop, beside the edge's weight."""

RELAYED = 3.0
"""An entity passes on this over the number of its neighbours and one: all of it where two texts share it."""

BY_ENTITY, BY_RECORD = 0.35, 0.0
"""As evidence for what a large store's arms found, a path by an entity is a third of a reason, within a record none."""

HUB_DEGREE = 50
"""A node with more neighbours than this relays only to nodes that the arms found too."""

HUB_POOL = 100
"""To how many of them, the best first: what ranks lower is not lifted into the answers by one more path."""

CONFIDENT, CONFIDENT_ALONE = 0.1, 0.6
"""From this score on a seed walks with all of it, below with its square over this: it keeps the neighbours of weak
seeds from crowding out what has some of the question's words. Where scores are similarities, more of them are high."""

WALK_FLOOR = 0.01
"""A path whose score falls below this is not followed: it could not come near any answer."""

WALK_ROWS = 30_000
"""Steps that are followed, best first: two hops from ten seeds over nodes of up to 50 neighbours are 25,510."""

DEEP_WALK_ROWS = 5_000
"""The same for walks of more hops: about a second of work in the densest graph, and more than any answer needs."""

DIGITS = 12
"""Decimals of a score: beyond these stands only in which order its factors were multiplied."""

SUCCESSION_LIMIT = 16
"""How many memories may replace one another in a row."""

NODES = "select key, id from node where key in (select value from json_each(?))"


def recall(
    context: Context,
    query: str,
    *,
    limit: int = LIMIT,
    filters: Filters | None = None,
    hops: int = HOPS,
    arms: Sequence[str] = ARMS,
    paths: str = "evidence",
) -> Recall:
    """The best memories for any text, most relevant first. Never raises for what the text holds."""
    filters = filters or Filters()
    with context.database.read():
        pool = find(context, query, filters, _asked(arms))
        pool.found, seen = dating.weigh(context, query, pool.found, now=filters.now, allowed=pool.allowed)
        deep = limit if reranking.reranker(context) is None else max(limit, reranking.DEPTH)
        rows = run(context.database, _walk(context.database, pool, limit=deep, hops=hops, paths=paths))
        result = Recall(query, [_hit(row, pool, seen) for row in rows], pool.arms, notes=seen.notes)
        if pool.then is not None:
            _as_of(context, result, pool, filters, deep)
        if not result.hits:
            _explain_empty(context, result, pool, filters)
        result.hits, remark = reranking.reranked(context, query[:QUERY_CAP], result.hits)
        result.notes += [remark] if remark else []
        result.hits = suspecting.marked(context, result.hits[:limit])
    if len(query) > QUERY_CAP:
        result.notes.append(f"The question has {len(query):,} characters; its first {QUERY_CAP:,} were asked.")
    return result


def recall_sql(
    context: Context,
    query: str,
    *,
    limit: int = LIMIT,
    filters: Filters | None = None,
    hops: int = HOPS,
    arms: Sequence[str] = ARMS,
    paths: str = "evidence",
) -> str:
    """The statements of a recall with their values written in, to be run by hand.

    The first, which needs sqlite-vec, gives the vector arm's hits; for a question that names nothing, another one the
    entities that are called something near to it. The last but one mixes them with the keyword arm, the last walks the
    graph from what it found, with the evidence of times and speakers in the scores. Each has the results of those
    before written in, and the last two run in any SQLite.
    """
    with context.database.read():
        filters = filters or Filters()
        pool = find(context, query, filters, _asked(arms))
        pool.found, _ = dating.weigh(context, query, pool.found, now=filters.now, allowed=pool.allowed)
        walk = _walk(context.database, pool, limit=limit, hops=hops, paths=paths)
    statements = (*pool.statements, walk)
    return "\n".join(with_values(resources.query(name), values) for name, values in statements)


def cascade(context: Context, seeds: Sequence[tuple[str, float]], *, limit: int = LIMIT, hops: int = HOPS) -> Recall:
    """The walk alone, from given seeds; `notes` name the hubs on its way that relay only to the seeds.

    Raises NotFound for a seed that is no node, UsageError for a score that does not lie above 0 and up to 1.
    """
    database = context.database
    off = Arm("off", 0, "the seeds were given")
    with database.read():
        for key, score in seeds:
            if not 0 < score <= 1:
                raise UsageError(f"The score of {key} is {score}; scores lie above 0 and up to 1.")
            if database.value("select 1 from node where key = ?", (key,)) is None:
                raise NotFound(f"There is no node {key}.", hint="`memdb list` shows the memories; a tag is `tag:NAME`.")
        pool = Pool({key: round(score, DIGITS) for key, score in sorted(seeds, key=lambda seed: (-seed[1], seed[0]))})
        walk = _walk(database, pool, limit=limit, hops=hops, seeds=max(SEEDS, len(pool.found)))
        hits = suspecting.marked(context, [_hit(row, pool) for row in run(database, walk)])
        hubs = database.rows(resources.query("cascade_hubs"), walk[1]) if hops else []
    result = Recall("", hits, {"vector": off, "keyword": off, "entity": off})
    result.notes = [f"{key} has {degree} neighbours and relays only to the seeds." for key, degree in hubs]
    if not hits:
        result.empty_because, result.empty_message = "no_match", "The walk reached no memory from these seeds."
    return result


def _asked(arms: Sequence[str]) -> Sequence[str]:
    """The arms that are asked for, or the one. Raises UsageError for one that there is not: nothing would be found."""
    asked = [arms] if isinstance(arms, str) else arms
    for name in asked:
        if name not in ARMS:
            raise UsageError(f"There is no arm {name!r}.", hint=f"Arms are {', '.join(ARMS)}.")
    return asked


def at(filters: Filters | None, now: str | None) -> Filters | None:
    """The filters with the day of the question, if one is given."""
    return filters if now is None else replace(filters or Filters(), now=now)


def _walk(
    database: Database, pool: Pool, *, limit: int, hops: int, seeds: int = SEEDS, paths: str = "best"
) -> Statement:
    """The cascade from a pool, with its values. Raises UsageError for a limit below 1 and hops below 0."""
    if paths not in PATHS:
        raise UsageError(f"There is no rule {paths!r} for paths; there are {' and '.join(PATHS)}.")
    if limit < 1 or hops < 0:
        raise UsageError(f"The limit must be 1 or more and the hops 0 or more, not {limit} and {hops}.")
    # By their ids they are found in pages that the fusion read; by its key each takes another one of a large index.
    nodes = {key: row[NODE] for key, row in pool.rows.items()}
    others = [key for key in pool.found if key not in nodes]
    if others:
        nodes |= dict(database.rows(NODES, (json.dumps(others),)))
    step = EDGE_WEIGHTS["supersedes"] * DECAY
    confident = CONFIDENT_ALONE + pool.largeness * (CONFIDENT - CONFIDENT_ALONE)
    values = {
        "pool": json.dumps({nodes[key]: score for key, score in pool.found.items() if key in nodes}),
        "allowed": pool.allowed,
        "seeds": seeds,
        "hops": hops,
        "decay": DECAY,
        "hub_degree": HUB_DEGREE,
        "hub_pool": max(HUB_POOL, seeds),
        "walk_floor": WALK_FLOOR,
        "add_evidence": int(paths == "evidence"),
        "relayed": RELAYED,
        "by_entity": 1 - pool.largeness * (1 - BY_ENTITY),
        "by_record": 1 - pool.largeness * (1 - BY_RECORD),
        "closeness": json.dumps(dict(pool.closeness) if paths == "evidence" else {}),
        "distant": pool.distant if paths == "evidence" else 1.0,
        "passes_about": 1 + pool.largeness * (1 / DECAY - 1) if paths == "evidence" else 1.0,
        # Seeds that the caller gave are as sure as he says.
        "confident": confident if paths == "evidence" else 1e-12,
        "walk_rows": WALK_ROWS if hops <= HOPS else DEEP_WALK_ROWS,
        "succession_limit": SUCCESSION_LIMIT,
        "supersession_steps": json.dumps([step**distance for distance in range(SUCCESSION_LIMIT + 1)]),
        "limit": limit,
    }
    return "cascade", values


def _hit(row: tuple[Any, ...], pool: Pool, seen: dating.Seen | None = None) -> Hit:
    key, kind, score, trail, name, type_, description, file, superseded_by, contradicts, conflicts, retired = row[:12]
    valid_to, document, heading_path, page, start_line, end_line, record_id, is_missing, link = row[12:]
    headings = tuple(json.loads(heading_path)) if document else ()
    return Hit(
        id=key,
        kind=kind,
        score=round(score, DIGITS),
        name=name,
        type=type_,
        description=description,
        file=file,
        path=_path(trail),
        arms=pool.said(key),
        fused=pool.found.get(key),
        superseded_by=tuple(json.loads(superseded_by)),
        contradicts=tuple(json.loads(contradicts)),
        conflicts=tuple(json.loads(conflicts)),
        retired=tuple(json.loads(retired)),
        stale=_is_over(valid_to) or bool(is_missing),
        citation=Citation(document, headings, page, start_line, end_line, record_id, link) if document else None,
        reasons=tuple(seen.reasons.get(key, ())) if seen is not None else (),
    )


def _as_of(context: Context, result: Recall, pool: Pool, filters: Filters, limit: int) -> None:
    """Show each memory as it stood then, those too that are not there any more."""
    database, then = context.database, pool.then
    if then is None:
        return
    hits = [past.dressed(database, hit, then) for hit in result.hits]
    telling = [row for row in pool.gone if row[3] >= (KEYWORD_WEAK if row[1] > 1 else KEYWORD_ALONE)]
    similarities = [round(math.tanh(row[4]), DIGITS) for row in telling]
    hits += past.gone_hits(database, telling, filters, similarities)
    result.hits = sorted(hits, key=lambda hit: (-hit.score, hit.id))[:limit]
    result.notes += past.remarks(database, then, vectors=pool.arms["vector"].state == "on", kinds=filters.kinds)


def _is_over(day: str | None) -> bool:
    """Whether a last day of validity, or a last month or year, has passed, by the calendar of UTC."""
    written = re.match(r"\d{4}(-\d\d(-\d\d)?)?", day or "")
    return written is not None and written[0] < datetime.now(UTC).date().isoformat()[: len(written[0])]


def _path(trail: str) -> tuple[Hop, ...]:
    """The hops of a trail: `node, score` of the seed, then a line `edge, weight, score, node` a hop, tabs between.

    The last may have two more: by what the odds of the score were multiplied, and the score that came of it.
    """
    first, *rest = trail.split("\n")
    seed, score = first.split("\t")
    hops = [Hop(seed, None, None, round(float(score), DIGITS))]
    for line in rest:
        edge, weight, at, node, *weighed = line.split("\t")
        factor, after = weighed or (None, at)
        hops.append(
            Hop(node, edge, float(weight), round(float(after), DIGITS), None if factor is None else float(factor))
        )
    return tuple(hops)


def _explain_empty(context: Context, result: Recall, pool: Pool, filters: Filters) -> None:
    """Say which kind of nothing this is."""
    database = context.database
    total = int(database.value("select (select count(*) from memory) + (select count(*) from chunk)"))
    if not pool.words:
        code, message = "empty_query", "The question has no words."
    elif total == 0:
        code, message = (
            "no_data",
            "The store has no memories. `memdb save` writes one; `memdb sync` reads a folder of them.",
        )
    elif pool.allowed == "[]":
        code, message = "filtered_out", f"The filters let none of {total} memories through."
    elif filters.active and _answers_without(context, result.query, pool):
        code, message = "filtered_out", "There are answers, but the filters leave them out."
    else:
        vector = result.arms["vector"]
        waiting = vectors.pending_count(context) if context.embedder.status.state != "off" else 0
        if waiting and vector.reason != NOT_ASKED:
            code = "index_behind"
            wait = "1 text is" if waiting == 1 else f"{waiting} texts are"
            message = f"Nothing found, but {wait} not embedded yet; run `memdb sync`."
        elif vector.state == "off":
            code = "arm_off"
            reason = (vector.reason or "").rstrip(".")
            message = f"No memory has enough of the question's words, and the vector arm is off: {reason}."
            if result.arms["keyword"].state == "off":
                message = "Nothing was looked for by words or by meaning: both arms are off."
        else:
            code = "below_floor"
            below = (
                f"the floor is {pool.floor:.2f}"
                if pool.nearest < pool.floor
                else f"and no text holds enough of the question's words to answer it (floor {pool.floor:.2f})"
            )
            message = f"Nothing in the store is close enough: the nearest similarity is {pool.nearest:.2f}, {below}."
    result.empty_because, result.empty_message = code, message


def _answers_without(context: Context, query: str, pool: Pool) -> bool:
    on = [name for name in ARMS if pool.arms[name].state == "on"]
    return bool(find(context, query, Filters(), on).found)


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


__all__ = [
    "HOPS",
    "LIMIT",
    "Arm",
    "Citation",
    "Filters",
    "Hit",
    "Hop",
    "Recall",
    "at",
    "cascade",
    "recall",
    "recall_sql",
    "with_values",
]
