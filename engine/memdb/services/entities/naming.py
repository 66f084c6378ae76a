"""Which entities does a question name? By any name that is known of them, or by one that is spelled nearly so.

Where it names none, those come into question whose name is near to it in meaning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

from memdb.base import words
from memdb.base.storage import Database
from memdb.domain import gazetteer
from memdb.services.entities.matching import HEARD
from memdb.services.index import entity_vectors

NAMESAKES = 20
"""A title that more texts bear asks for none of them: less than one in ten."""

BRACKETED = 1_000
"""Texts of one name whose brackets are compared with those of the question."""

_BRACKETS = re.compile(r"\s{0,3}[(（\[][^()（）\[\]]{1,200}[)）\]]")
"""What follows a name in brackets."""

CLOSE_LETTERS = 6
"""Shorter words are one letter from too many others."""

CLOSE_RATIO = 0.88
"""Of difflib's likeness: one letter more, less or other in eight, or two neighbours that changed places."""

CLOSE_WORDS = 12
"""Words of a question that are looked for nearly so: it names few things, and a pasted page is no question."""

CLOSE_CANDIDATES = 200
"""Known names that are compared with each: those that begin with the same two letters and are about as long."""


def named(database: Database, query: str) -> tuple[dict[int, set[str]], list[tuple[int, float]]]:
    """The ids of the entities that a question names, in their order, each with its names as they stand there.

    Then the ids of the texts that bear a name in it which is no entity's, since no text mentions it, each with the
    share of its evidence: all for one or two texts, 2 / n for n. Texts whose title goes on in brackets, as the question
    does (`Possession (1922 film)`), are asked for before all others of that name. Upper and lower case say nothing in a
    question, but for a title of function words.
    """
    text = query[: words.QUERY_CAP]
    found: dict[int, set[str]] = {}
    titled: dict[int, float] = {}
    for match in gazetteer.find(text, lambda keys: _known(database, keys)):
        if gazetteer.says_nothing(match.key) and not _is_spelled_so(database, match):
            continue
        entities = _entities(database, match.key)
        for entity in entities:
            found.setdefault(entity, set()).add(match.name)
        bearers = [] if entities else _bearers(database, match.key)
        for node in bearers:
            titled[node] = max(titled.get(node, 0.0), min(1.0, 2 / len(bearers)))
        alike = _bracketed(database, match, text)
        titled |= dict.fromkeys(alike, min(1.0, 2 / max(1, len(alike))))
    if not found:
        found = {entity: set() for key in _nearly(database, text) for entity in _entities(database, key)}
    return dict(sorted(found.items())), sorted(titled.items())


def near_values(database: Database, vector: bytes, floor: float) -> dict[str, Any] | None:
    """The values of `recall_names` for a question's vector; None where no name can be near.

    Only for a question that names nothing: beside what it names, the nearest names are those of others (of one earl the
    next one), of which 1 in 5 leads to an answer.
    """
    least = entity_vectors.name_floor(floor)
    if least is None or database.value("select 1 from entity_name limit 1") is None:
        return None
    return {
        "vector": vector,
        "candidates": entity_vectors.CANDIDATES,
        "floor": least,
        "nearest": entity_vectors.NEAREST,
    }


def _known(database: Database, keys: Collection[str]) -> Collection[str]:
    rows = database.rows(
        "select distinct match_key from json_each(?) as wanted join known_name on match_key = wanted.value"
        f" where {HEARD}",
        (json.dumps(sorted(keys), ensure_ascii=False),),
    )
    return {key for (key,) in rows}


def _entities(database: Database, match_key: str) -> list[int]:
    rows = database.rows(
        "select distinct entity.id from known_name left join entity_alias using (name_key)"
        " join entity on entity.name_key = coalesce(entity_alias.entity_key, known_name.name_key) where match_key = ?",
        (match_key,),
    )
    return [entity for (entity,) in rows]


def _bearers(database: Database, match_key: str) -> list[int]:
    """The texts that are called so; none where they are too many to be asked for."""
    rows = database.rows(
        "select distinct node_id from known_name where match_key = ? and source in ('memory', 'title') limit ?",
        (match_key, NAMESAKES + 1),
    )
    return [node for (node,) in rows] if len(rows) <= NAMESAKES else []


def _bracketed(database: Database, match: gazetteer.Match, text: str) -> list[int]:
    """The texts of a name whose title goes on in brackets as the text does behind it; none where they are too many."""
    brackets = _BRACKETS.match(text, match.stop)
    if brackets is None:
        return []
    rows = database.rows(
        "select distinct node_id, coalesce(chunk.title, document.title)"
        " from known_name join chunk on chunk.id = node_id join document on document.id = document_id"
        " where match_key = ? and source = 'title' limit ?",
        (match.key, BRACKETED),
    )
    wanted = gazetteer.match_key(match.name + brackets[0])
    # A document that lost its title has its name until its texts are read again.
    alike = [node for node, title in rows if title is not None and gazetteer.match_key(title) == wanted]
    return alike if len(alike) <= NAMESAKES else []


def _is_spelled_so(database: Database, match: gazetteer.Match) -> bool:
    names = database.rows("select distinct name from known_name where match_key = ?", (match.key,))
    return any(gazetteer.agrees(name, match.name) for (name,) in names)


def _nearly(database: Database, text: str) -> Iterator[str]:
    """Known names that a word or two words of the text nearly are."""
    from difflib import get_close_matches  # noqa: PLC0415 (seldom used)
    from itertools import pairwise  # noqa: PLC0415

    asked = gazetteer.match_key(text).split(" ")[:CLOSE_WORDS]
    pairs = [f"{first} {second}" for first, second in pairwise(asked)]
    for window in [*pairs, *asked]:
        if len(window) < CLOSE_LETTERS:
            continue
        candidates = [
            key
            for (key,) in database.rows(
                "select distinct match_key from known_name where match_key >= ?1 and match_key < ?1 || char(1114111)"
                " and length(match_key) between ?2 - 2 and ?2 + 2 order by match_key limit ?3",
                (window[:2], len(window), CLOSE_CANDIDATES),
            )
        ]
        yield from get_close_matches(window, candidates, n=1, cutoff=CLOSE_RATIO)
