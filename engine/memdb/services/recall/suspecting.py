"""Mark the answers of a recall whose texts order a model about, hide something, or imitate a prompt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from memdb.domain import injection
from memdb.services.context import Context
from memdb.services.memories import reading
from memdb.services.recall.answers import Hit

REACH = 100_000
"""Characters of a text that are looked at, 30 ms: a longer one is given to no prompt as a whole."""


def marked(context: Context, hits: Sequence[Hit]) -> list[Hit]:
    """The hits, each with the marks of its name, description and text (`memdb.domain.injection`)."""
    texts = dict(
        context.database.rows(
            "select key, substr(coalesce(head || char(10) || body, prefix || char(10) || chunk.text), 1, ?)"
            " from node left join memory using (id) left join chunk on chunk.id = node.id"
            " where key in (select value from json_each(?))",
            (REACH, json.dumps([hit.id for hit in hits if hit.version is None])),
        )
    )
    return [_marked(context, hit, texts.get(hit.id)) for hit in hits]


def _marked(context: Context, hit: Hit, text: str | None) -> Hit:
    if hit.version is not None:
        text = (reading.body_of(context, hit.id, hit.version) or "")[:REACH]
    found = injection.marks(f"{hit.id}\n{hit.name}\n{hit.description}\n\n{text or ''}")
    return replace(hit, suspect=found) if found else hit
