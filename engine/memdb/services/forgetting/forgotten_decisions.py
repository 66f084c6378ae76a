"""Which decisions about entities go with a text that is forgotten: those about what no other text names."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from functools import cache

from memdb.base.journal import Record
from memdb.base.storage import Database
from memdb.base.text import name_key
from memdb.domain.curation import ENTITY_ACTIONS, Curation, means
from memdb.services.entities import curation_tables

ELSEWHERE = """select exists (select 1 from mention where name_key = ?1
    and node_id not in (select value from json_each(?2)))
or exists (select 1 from known_name where name_key = ?1 and source in ('memory', 'alias', 'title')
    and node_id not in (select value from json_each(?2)))"""
"""Whether a text other than some names an entity, or bears its name itself."""


def moot(database: Database, nodes: Collection[int], texts: Iterable[str]) -> list[str]:
    """The refs of the decisions about an entity that `nodes` or `texts` name and that no other text does.

    What was merged into an entity, and what it was renamed to, keep the decisions about it as long as they are named.
    Decisions about the vocabulary stay.
    """
    curation = curation_tables.state(database)
    if not curation.verdicts:
        return []
    these = json.dumps(sorted(nodes))
    named = {
        key
        for (key,) in database.rows(
            "select name_key from mention where node_id in (select value from json_each(?))", (these,)
        )
    }
    said = name_key("\n".join(texts))

    @cache
    def is_elsewhere(key: str) -> bool:
        return bool(database.value(ELSEWHERE, (key, these)))

    @cache
    def is_gone(anchor: str) -> bool:
        keys = _keys(curation, anchor)
        here = any(key in named or re.search(rf"(?<!\w){re.escape(key)}(?!\w)", said) for key in keys)
        return here and not any(map(is_elsewhere, keys))

    gone: set[str] = set()
    for ref, verdict in curation.verdicts.items():
        of = set(means(verdict.record))
        if any(is_gone(curation.anchor(key)) for key in _about(verdict.record)) or (of and of <= gone):
            gone.add(ref)
    return sorted(gone)


def _keys(curation: Curation, anchor: str) -> set[str]:
    """The names of an entity and of all that was merged into it."""
    found, left = set(), [anchor]
    while left:
        one = left.pop()
        if one not in found:
            found.add(one)
            left += [part for part, into in curation.into.items() if into == one]
    return found | {key for key, owner in curation.owner.items() if owner in found}


def _about(record: Record) -> list[str]:
    """The name keys of the entities that a decision is about."""
    if record["kind"] != "curation":
        return []
    action = record["action"]
    if action == "distinct":
        return list(record["pair"])
    if action in ENTITY_ACTIONS:
        return [record["entity"], *([record["into"]] if action == "merge" else [])]
    if action == "resolve" and record["of"] == "relation":
        ends = [*record.get("keep", ()), *record.get("against", ())]
        return [*ends, *([record["subject"]] if isinstance(record.get("subject"), str) else [])]
    return []
