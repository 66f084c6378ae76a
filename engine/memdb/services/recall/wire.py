"""Answers as JSON and back, for a process that asks another one: what comes out equals what went in."""

from __future__ import annotations

from dataclasses import asdict, fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from memdb.services.recall.answers import Recall


def packed(answer: Recall) -> dict[str, Any]:
    """A recall as JSON has it. Floats keep every bit."""
    return asdict(answer)


def unpacked(said: dict[str, Any]) -> Recall:
    """The recall that was packed. Raises ValueError, TypeError, KeyError for what is none."""
    built = _built(Recall, said)
    if not isinstance(built, Recall):
        raise ValueError("no answer of a recall")
    return built


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _built(kind: Any, said: Any) -> Any:
    """A value of a type from its JSON: dataclasses, tuples, lists, mappings and optional values of these."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return None if said is None else _built(next(part for part in parts if part is not NoneType), said)
    if origin is tuple:
        each = [parts[0]] * len(said) if parts[1:] == (Ellipsis,) else parts
        return tuple(_built(part, value) for part, value in zip(each, said, strict=True))
    if origin is list:
        return [_built(parts[0], value) for value in said]
    if origin is dict:
        return {key: _built(parts[1], value) for key, value in said.items()}
    if hasattr(kind, "__dataclass_fields__"):
        hints = _hints(kind)
        return kind(**{each.name: _built(hints[each.name], said[each.name]) for each in fields(kind)})
    return said
