"""Which memories say the same: the one that a new text restates, and those that stand twice in the store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from memdb.base import files
from memdb.base.text import UndecodableText
from memdb.domain.memory_file import read_memory
from memdb.domain.restating import Way, compare, signs, words
from memdb.services.context import Context

MOST_COMPARED = 64
"""Memories with a sign of the text that are compared with it: of more, all say nearly the same, and one is as good."""

SAYING = 3
"""Words from which on a text says something that can be said again: fewer are a mark, wherever they stand."""

TELLING = 5
"""Words from which on two equal texts are suggested to be one: of shorter ones (`Thanks!`) each may have its place."""

MOST_SUGGESTED = 200
"""Pairs that are suggested at once: more than a person goes through."""

DATES = ("happened_at", "valid_from", "valid_to")
"""Fields that make two equal texts two facts."""

EVENTS = "episode"
"""The type whose memories tell of what happened: the same words of another time are another event."""


@dataclass(frozen=True, slots=True)
class Restated:
    """A memory that says what a new text says: its id, its file, and how the text says it."""

    id: str
    file: str
    way: Way


@dataclass(frozen=True, slots=True)
class Restatement:
    """Two memories that say the same, by their ids in order; `by` is exact, near (in words), or the model that said so
    last.

    `quotes` are the model's, from the one and from the other.
    """

    memories: tuple[str, str]
    by: str
    quotes: tuple[str, str] | None = None


CANDIDATES = """select node.key, path, body, type, happened_at, valid_from, valid_to
from (select memory_id, count(*) as shared from memory_sign where sign in (select value from json_each(?))
      group by memory_id)
join memory on memory.id = memory_id join node on node.id = memory_id join source on source.id = source_id
where not exists (select 1 from edge where dst = memory_id and kind in ('supersedes', 'replaces') and active)
order by shared desc, node.key limit ?"""


def restated(context: Context, kind: str, body: str, given: Mapping[str, object]) -> Restated | None:
    """The memory that a new one of a type would only say again: the same text before the same words, then by id.

    `given` are the fields of the new one. Replaced memories are left aside: who says again what was replaced means it.
    """
    found = signs(body) if len(words(body)) >= SAYING else []
    if not found:
        return None
    rows = context.database.rows(CANDIDATES, (json.dumps(found), MOST_COMPARED))
    said: dict[Way, list[tuple[str, str]]] = {"exact": [], "near": []}
    for key, path, text, type_, *dates in rows:
        if (EVENTS in (kind, type_) and dates[0] is None) or any(
            given.get(name) != date for name, date in zip(DATES, dates, strict=True)
        ):
            continue
        way = compare(body, text)
        if way is not None:
            said[way].append((key, path))
    for way, memories in said.items():
        for key, path in memories:
            if _said_now(context, path, body) == way:
                return Restated(key, path, way)
    return None


def _said_now(context: Context, path: str, body: str) -> Way | None:
    """How a text restates a file as it is now, which the index need not know yet."""
    there = files.stat_file(context.place.root, path)
    if there is None:
        return None
    try:
        return compare(body, read_memory(path, files.read(context.place.root, there)).body)
    except (OSError, UndecodableText):
        return None


PAIRS = """select first.key, second.key, a.body, b.body
from (select sign, min(node.key) as key from memory_sign join node on node.id = memory_id
      group by sign having count(*) > 1) as shared
join node as first on first.key = shared.key
join memory_sign on memory_sign.sign = shared.sign and memory_sign.memory_id <> first.id
join node as second on second.id = memory_sign.memory_id
join memory as a on a.id = first.id join memory as b on b.id = second.id
where a.happened_at is b.happened_at and a.valid_from is b.valid_from and a.valid_to is b.valid_to
  and 'episode' not in (a.type, b.type)
order by first.key, second.key"""

JUDGED = """select first.key, second.key, quote, other_quote, judgement.model
from judgement
join memory as a on a.text_sha256 = judgement.text_sha256 join memory as b on b.text_sha256 = judgement.other_sha256
join node as first on first.id = a.id join node as second on second.id = b.id
where verdict in ('same', 'restates') and a.id <> b.id
  and not exists (
      select 1 from judgement as later
      where later.at > judgement.at
        and ((later.text_sha256 = judgement.text_sha256 and later.other_sha256 = judgement.other_sha256)
          or (later.text_sha256 = judgement.other_sha256 and later.other_sha256 = judgement.text_sha256)))
order by judgement.at desc, first.key, second.key"""

SETTLED = """select older.key, newer.key
from edge join node as older on older.id = dst join node as newer on newer.id = src
where edge.kind in ('supersedes', 'replaces') and edge.active
union select kept, other from resolution_pair join resolution using (ref) where kind = 'memories' and counts"""


def restatements(context: Context, *, limit: int = MOST_SUGGESTED) -> list[Restatement]:
    """Pairs of memories that say the same, by their texts or as a model judged them; nothing is changed by it.

    Of many that say the same, each is paired with the first of them. Pairs of which one replaces the other, and those
    of which a person decided, are settled.
    """
    database = context.database
    settled = {tuple(sorted(pair)) for pair in database.rows(SETTLED)}
    found: dict[tuple[str, str], Restatement] = {}
    for one, other, text, same in database.connection.execute(PAIRS):
        pair = (min(one, other), max(one, other))
        if pair in found or pair in settled or len(words(text)) < TELLING:
            continue
        way = compare(text, same)
        if way is not None:
            found[pair] = Restatement(pair, way)
        if len(found) >= limit:
            break
    for one, other, quote, other_quote, model in database.connection.execute(JUDGED):
        pair, quotes = ((one, other), (quote, other_quote)) if one < other else ((other, one), (other_quote, quote))
        if pair not in found and pair not in settled:
            found[pair] = Restatement(pair, model, quotes if None not in quotes else None)
    return [found[pair] for pair in sorted(found)][:limit]
