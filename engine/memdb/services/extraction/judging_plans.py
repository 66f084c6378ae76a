"""Which memories a model has not compared with those near to them, and which those are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from memdb.base import resources
from memdb.base.settings import setting, switched_off
from memdb.domain import judging
from memdb.services.context import Context
from memdb.services.recall import arms, vector_arm
from memdb.services.recall.answers import Filters

MOST_TRIES = 3
"""Runs in which a comparison may fail before it is left alone; `rebuild` tries it again."""

NEAR_POOL = 50
"""Memories near to one that are looked through for those that it can be compared with."""

QUESTION_REACH = 1_000
"""Characters of a text by which its neighbours are looked for, where there are no vectors: the beginning says what it
is about."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A memory as it is compared: its node, id, text and the text's sha256."""

    node: int
    key: str
    text: str
    text_sha256: str


TEXT = """name || char(10) || iif(description = '', '', description || char(10)) || trim(body, char(9, 10, 13, 32))"""

WAITING = """select memory.id
from memory join node using (id)
where (:nodes is null or memory.id in (select value from json_each(:nodes)))
  and not has_secret and trim(body, char(9, 10, 13, 32)) <> ''
  and not exists (select 1 from edge where dst = memory.id and edge.kind in ('supersedes', 'replaces') and active)
  and not exists (select 1 from judgement where judgement.text_sha256 = memory.text_sha256
                  and (not :rebuild or (prompt_sha256 = :prompt and model = :model)))
  and not exists (select 1 from judged_alone
                  where memory_id = memory.id and judged_alone.text_sha256 = memory.text_sha256
                  and (not :rebuild or (prompt_sha256 = :prompt and model = :model)))
  and (:rebuild or not exists (select 1 from failure where failure.text_sha256 = memory.text_sha256
                               and prompt_sha256 = :prompt and model = :model and times >= :tries))
order by node.key"""


def is_on(context: Context) -> bool:
    """Whether memories are compared where there is a model: by the setting `judge`, which is on unless switched off."""
    return not switched_off(setting(context.place, "judge", "on"))


def waiting(context: Context, model: str, *, rebuild: bool = False, nodes: Sequence[int] | None = None) -> list[int]:
    """The memories, all or some, that no model has compared with those near to them; each costs one call, or none.

    With `rebuild`, also those that were compared under another prompt or by another model, and those that failed.
    """
    database = context.database
    if database.value("select count(*) < 2 from (select 1 from memory limit 2)"):
        return []
    values = {
        "prompt": judging.prompt_sha256(),
        "model": model,
        "rebuild": rebuild,
        "tries": MOST_TRIES,
        "nodes": None if nodes is None else json.dumps(list(nodes)),
    }
    return [node for (node,) in database.rows(WAITING, values)]


def compared(context: Context, nodes: Sequence[int]) -> list[Compared]:
    """Memories as they are compared, in the order of the ids given; without those with a secret or without a text."""
    rows = context.database.rows(
        f"select memory.id, node.key, {TEXT}, text_sha256 from json_each(?) join memory on memory.id = value"
        " join node on node.id = memory.id where not has_secret and trim(body, char(9, 10, 13, 32)) <> ''"
        " order by json_each.key",
        (json.dumps(list(nodes)),),
    )
    return [Compared(*row) for row in rows]


def neighbours(context: Context, one: Compared, model: str, *, rebuild: bool = False) -> list[Compared]:
    """The memories nearest to one with which it is yet to be compared, nearest first, at most as one question takes.

    By vectors where it has any, else by the words and entities that they share. Of two memories of which one replaces
    the other, or that a person settled, nothing is asked.
    """
    near = _by_vectors(context, one)
    keys = _by_words(context, one) if near is None else near
    if not keys:
        return []
    values = {
        "keys": json.dumps(keys),
        "node": one.node,
        "key": one.key,
        "text": one.text_sha256,
        "prompt": judging.prompt_sha256(),
        "model": model,
        "rebuild": rebuild,
        "most": judging.MOST_OTHERS,
    }
    return compared(context, [node for (node,) in context.database.rows(COMPARABLE, values)])


COMPARABLE = """select memory.id
from json_each(:keys) as near
join node on node.key = near.value
join memory on memory.id = node.id
where memory.id <> :node and not has_secret and trim(body, char(9, 10, 13, 32)) <> '' and memory.text_sha256 <> :text
  and not exists (select 1 from edge where dst = memory.id and edge.kind in ('supersedes', 'replaces') and active)
  and not exists (select 1 from edge where edge.kind in ('supersedes', 'replaces') and active
                  and src = memory.id and dst = :node)
  and not exists (select 1 from resolution_pair join resolution using (ref)
                  where resolution.kind = 'memories' and counts
                    and ((kept = :key and other = node.key) or (kept = node.key and other = :key)))
  and not exists (select 1 from judgement where (not :rebuild or (prompt_sha256 = :prompt and model = :model))
                  and judgement.text_sha256 = :text and judgement.other_sha256 = memory.text_sha256)
  and not exists (select 1 from judgement where (not :rebuild or (prompt_sha256 = :prompt and model = :model))
                  and judgement.text_sha256 = memory.text_sha256 and judgement.other_sha256 = :text)
order by near.key
limit :most"""


def _by_vectors(context: Context, one: Compared) -> list[str] | None:
    """The ids near to a memory in meaning; None where it has no vector, or none can be compared."""
    database = context.database
    vector = database.value(
        "select vector from passage join embedding_model using (model)"
        " join embedding using (model_id, text_sha256) where node_id = ?"
        " order by ordinal limit 1",
        (one.node,),
    )
    status = context.embedder.status
    if vector is None or database.vector_reason is not None or status.identity != database.meta("model"):
        return None
    few = vector_arm.EXACT_PASSAGES
    passages = int(database.value("select count(*) from (select 1 from passage limit ?)", (few + 1,)))
    documents = database.value("select 1 from chunk limit 1") is not None
    memories = json.dumps([node for (node,) in database.rows("select id from memory")]) if documents else None
    values = {
        "vector": vector,
        "exact": int(passages <= few),
        "candidates": vector_arm.BIT_CANDIDATES,
        "allowed": memories,
        "known": None,
        "pool": NEAR_POOL,
    }
    floor = context.embedder.card.floor
    hits = database.rows(resources.query("recall_vector"), values)
    return [key for key, similarity, _ in hits if similarity >= floor]


def _by_words(context: Context, one: Compared) -> list[str]:
    """The ids of what shares words and entities with a memory."""
    filters = Filters(kinds=("memory",))
    pool = arms.find(context, one.text[:QUESTION_REACH], filters, ("keyword", "entity"))
    return list(pool.found)[:NEAR_POOL]
