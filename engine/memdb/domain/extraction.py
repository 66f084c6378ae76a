"""What a model may answer about a text, and what of its answer is believed. Pure: the model is asked elsewhere."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from memdb.base.secrets import find_secrets, redact
from memdb.base.text import name_key
from memdb.domain.extraction_math import skip_reason
from memdb.domain.extraction_names import MOST_WORDS, Occurrences, cleaned, is_formula, unfit
from memdb.domain.extraction_prompt import ANSWER_SCHEMA, MOST_ENTITIES, messages, prompt_sha256
from memdb.domain.vocabulary import DESCRIPTION_LIMIT, LAST_RESORT, NAME_LIMIT, Kind, entry_key

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = [
    "ANSWER_SCHEMA",
    "MOST_ENTITIES",
    "Dropped",
    "Extracted",
    "Mentioned",
    "Proposed",
    "Stated",
    "answer_model",
    "messages",
    "prompt_sha256",
    "read_answer",
    "skip_reason",
]

MOST_RELATIONS = 10
"""Relations of one answer: as many as there are pairs of five entities."""

MOST_PROPOSALS = 3
"""Proposals of one answer and kind."""

LONGEST_SHOWN = 80
"""Characters of a dropped name that are kept to explain why it was dropped."""


@dataclass(frozen=True, slots=True)
class Mentioned:
    """A name that the text mentions, in the model's spelling, with the key of its type, known or not."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Stated:
    """A relation that the text states between two mentioned names; `confidence` lies in 0..1."""

    subject: str
    predicate: str
    object: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Proposed:
    """A type or predicate that the model misses in the vocabulary."""

    kind: Kind
    name: str
    description: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """Something in the answer that is not believed.

    `reason` is one of: absent, duplicate, formula, fragment, hidden, letters, malformed, secret, too many, unknown end,
    self-relation. A secret's `name` is blotted out.
    """

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Extracted:
    """What an answer is worth after the checks."""

    mentions: tuple[Mentioned, ...] = ()
    relations: tuple[Stated, ...] = ()
    proposals: tuple[Proposed, ...] = ()
    dropped: tuple[Dropped, ...] = ()


@cache
def answer_model() -> type[BaseModel]:
    """The answer as a pydantic model, lenient in all that `read_answer` checks better; imports pydantic.

    The schema that an endpoint sees is `ANSWER_SCHEMA`: flat, with bounds that keep a small model from rambling.
    """
    from pydantic import BaseModel, ConfigDict  # noqa: PLC0415 - importing this module stays cheap

    lenient = ConfigDict(coerce_numbers_to_str=True, extra="ignore")

    class Entity(BaseModel):
        model_config = lenient
        name: str
        type: str = ""

    class Relation(BaseModel):
        model_config = lenient
        subject: str
        predicate: str
        object: str
        confidence: float | None = None

    class Proposal(BaseModel):
        model_config = lenient
        name: str
        description: str = ""

    class Extraction(BaseModel):
        model_config = lenient
        entities: list[Entity]
        relations: list[Relation] = []
        new_types: list[Proposal] = []
        new_predicates: list[Proposal] = []

        @classmethod
        def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
            return ANSWER_SCHEMA

    # pydantic resolves the annotations of classes inside a function by these names.
    Extraction.model_rebuild(_types_namespace={"Entity": Entity, "Relation": Relation, "Proposal": Proposal})
    return Extraction


def read_answer(output: Mapping[str, Any], text: str, *, single_letters: Collection[str] = ()) -> Extracted:
    """Check a model's answer about a text, name by name. Any mapping is read; nothing is raised.

    `single_letters` are the keys of the types whose names may be one letter. Types and predicates are brought to the
    spelling of their keys and kept, known or not. Of more than five entities the first five that pass stay.
    """
    dropped: list[Dropped] = []
    mentions = _mentions(output, text, frozenset(name_key(name) for name in single_letters), dropped)
    relations = _relations(output, mentions, dropped)
    proposals = [*_proposals(output, "new_types", "type", dropped)]
    proposals += _proposals(output, "new_predicates", "predicate", dropped)
    return Extracted(tuple(mentions), tuple(relations), tuple(proposals), tuple(dropped))


def _mentions(
    output: Mapping[str, Any], text: str, single_letters: frozenset[str], dropped: list[Dropped]
) -> list[Mentioned]:
    occurrences = Occurrences(text)
    found: dict[str, Mentioned] = {}
    for item in _items(output, "entities"):
        raw = item.get("name")
        name = cleaned(raw) if isinstance(raw, str) else ""
        if not name:
            dropped.append(_dropped(raw, "malformed"))
            continue
        kind = _type_key(item.get("type"))
        reason = unfit(name, single_letter=kind in single_letters)
        if reason is None and not occurrences.has(name):
            reason = "absent"
        if reason is None and name_key(name) in found:
            reason = "duplicate"
        if reason is None and len(found) >= MOST_ENTITIES:
            reason = "too many"
        if reason is None:
            found[name_key(name)] = Mentioned(name, kind)
        else:
            dropped.append(_dropped(name, reason))
    return list(found.values())


def _relations(output: Mapping[str, Any], mentions: list[Mentioned], dropped: list[Dropped]) -> list[Stated]:
    names = {name_key(mention.name): mention.name for mention in mentions}
    found: dict[tuple[str, str, str], Stated] = {}
    for item in _items(output, "relations"):
        ends = [item.get("subject"), item.get("object")]
        predicate = item.get("predicate")
        key = _predicate_key(predicate)
        shown = " ".join(str(part) for part in (ends[0], predicate, ends[1]))
        subject, target = (names.get(name_key(cleaned(end))) if isinstance(end, str) else None for end in ends)
        if key is None:
            reason = "malformed"
        elif subject is None or target is None:
            reason = "unknown end"
        elif subject == target:
            reason = "self-relation"
        elif (name_key(subject), key, name_key(target)) in found:
            reason = "duplicate"
        elif len(found) >= MOST_RELATIONS:
            reason = "too many"
        else:
            stated = Stated(subject, key, target, _confidence(item.get("confidence")))
            found[name_key(subject), key, name_key(target)] = stated
            continue
        dropped.append(_dropped(shown, reason))
    return list(found.values())


def _proposals(output: Mapping[str, Any], field: str, kind: Kind, dropped: list[Dropped]) -> Iterator[Proposed]:
    seen: set[str] = set()
    for item in _items(output, field):
        raw = item.get("name")
        key = _entry_name(kind, raw)
        if key is None:
            dropped.append(_dropped(raw, "malformed"))
        elif key in seen:
            dropped.append(_dropped(key, "duplicate"))
        elif len(seen) >= MOST_PROPOSALS:
            dropped.append(_dropped(key, "too many"))
        else:
            seen.add(key)
            description = item.get("description")
            words = " ".join(description.split()) if isinstance(description, str) else ""
            yield Proposed(kind, key, redact(words)[:DESCRIPTION_LIMIT])


def _items(output: Mapping[str, Any], field: str) -> Iterator[Mapping[str, Any]]:
    value = output.get(field)
    if isinstance(value, list | tuple):
        yield from (item for item in value if isinstance(item, Mapping))


def _entry_name(kind: Kind, raw: object) -> str | None:
    """The key of a type or predicate, or None for what cannot name one."""
    if not isinstance(raw, str):
        return None
    key = entry_key(kind, raw)
    words = key.replace("_", " ").split()
    fits = 0 < len(key) <= NAME_LIMIT and len(words) <= MOST_WORDS and sum(char.isalpha() for char in key) >= 2
    plain = all(char.isalnum() or char in " _-/" for char in key)
    return key if fits and plain and not is_formula(key) and not find_secrets(key) else None


def _type_key(raw: object) -> str:
    """The key of a mention's type; what names no type at all is a case for the last resort."""
    return _entry_name("type", raw) or LAST_RESORT


def _predicate_key(raw: object) -> str | None:
    return _entry_name("predicate", raw)


def _confidence(raw: object) -> float:
    """The confidence, or 0 for what is none.

    42 is on no scale that the prompt names. To clamp it to 1 would give the most trust to the answer that followed
    the instructions least; at 0 the relation stays as two mentions.
    """
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        return 0.0
    try:
        value = float(raw)
    except (ValueError, OverflowError):
        return 0.0
    return value if math.isfinite(value) and 0.0 <= value <= 1.0 else 0.0


def _dropped(raw: object, reason: str) -> Dropped:
    shown = raw if isinstance(raw, str) else repr(raw)
    shown = shown if len(shown) <= LONGEST_SHOWN else shown[:1_000]
    return Dropped(redact(shown)[:LONGEST_SHOWN], reason)
