"""What stands in a language model's answer: the JSON object of the form asked for, or what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from memdb.base.llm_faults import shown
from memdb.base.secrets import redact

if TYPE_CHECKING:
    from pydantic import BaseModel

LONGEST_CONTENT = 200_000
"""Characters of an answer that are searched for a JSON object."""

OBJECT_TRIES = 50
"""Braces of a text at which a JSON object is looked for: each costs the rest of the text."""


def complaint(problem: Any, key: str | None) -> str:
    """What a parser says, for the model and for people: which fields, and why."""
    errors = getattr(problem, "errors", None)
    if callable(errors):
        found = errors(include_url=False, include_context=False, include_input=False)
        parts = [f"{'.'.join(map(str, one['loc'])) or 'the answer'}: {one['msg']}" for one in found[:3]]
        return shown("; ".join(parts), key)
    return "it holds no JSON object of the right form" if problem is None else shown(str(problem), key)


def found_object(content: str, schema: type[BaseModel]) -> dict[str, Any] | None:
    """The last JSON object in a text that has the form of the schema, with its credentials blotted out.

    The last, because a model that thinks aloud repeats what it was given before it answers.
    """
    for candidate in reversed(list(_objects(content[:LONGEST_CONTENT]))):
        try:
            checked = schema.model_validate(candidate)
        except ValueError:  # pydantic's ValidationError is one
            continue
        output: dict[str, Any] = _blotted(checked.model_dump(mode="json", exclude_unset=True))
        return output
    return None


def _objects(content: str) -> Iterator[dict[str, Any]]:
    """The outermost JSON objects in a text, in order."""
    decoder = json.JSONDecoder()
    position, tries = content.find("{"), 0
    while position >= 0 and tries < OBJECT_TRIES:
        tries += 1
        try:
            value, end = decoder.raw_decode(content, position)
        except (ValueError, RecursionError):
            end = position + 1
        else:
            if isinstance(value, dict):
                yield value
        position = content.find("{", end)


def _blotted(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_blotted(item) for item in value]
    return {key: _blotted(item) for key, item in value.items()} if isinstance(value, dict) else value
