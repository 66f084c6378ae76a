"""Change one place of a JSON text and keep every other byte: other programs' settings are edited, never rewritten."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_BLANK = re.compile(r"[ \t\r\n]*")
_read = json.JSONDecoder().raw_decode


@dataclass(slots=True)
class Node:
    """A value of the text: where it begins and ends, and the values in it. Of a member, `begin` is that of its key."""

    value: Any
    begin: int
    start: int
    end: int
    key: str | None = None
    children: list[Node] = field(default_factory=list)

    def member(self, key: str) -> Node | None:
        """The value of a key; of two the last, as JSON readers take it."""
        return next((child for child in reversed(self.children) if child.key == key), None)


def parse(text: str) -> Node:
    """The values of a JSON text with their places. Raises ValueError where it is none."""
    json.loads(text)
    return _value(text, _skip(text, 0))


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int) -> Node:
    if text[at] in "{[":
        return _container(text, at)
    value, end = _read(text, at)
    return Node(value, at, at, end)


def _container(text: str, at: int) -> Node:
    is_object = text[at] == "{"
    children: list[Node] = []
    here = _skip(text, at + 1)
    while text[here] not in "}]":
        if is_object:
            key, after = _read(text, here)
            child = _value(text, _skip(text, _skip(text, after) + 1))
            child.key, child.begin = key, here
        else:
            child = _value(text, here)
        children.append(child)
        here = _skip(text, child.end)
        if text[here] == ",":
            here = _skip(text, here + 1)
    value: Any = {c.key: c.value for c in children} if is_object else [c.value for c in children]
    return Node(value, at, at, here + 1, None, children)


def append(text: str, container: Node, value: Any, key: str | None = None) -> str:
    """The text with a value after the last one of an array, or under a new key of an object."""
    newline = "\r\n" if "\r\n" in text else "\n"
    name = f"{json.dumps(key, ensure_ascii=False)}: " if key is not None else ""
    last = container.children[-1] if container.children else None
    inside = text[container.start : container.end]
    if "\n" not in text or (last is not None and "\n" not in inside):
        at = last.end if last is not None else container.start + 1
        rendered = f"{name}{json.dumps(value, ensure_ascii=False)}"
        return f"{text[:at]}{', ' if last is not None else ''}{rendered}{text[at:]}"
    unit = _unit(text)
    outer = _indent(text, container.end - 1 if "\n" in inside else container.start)
    inner = _indent(text, last.begin) if last is not None else outer + unit
    rendered = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + inner)
    if last is not None:
        return f"{text[: last.end]},{newline}{inner}{name}{rendered}{text[last.end :]}"
    return f"{text[: container.start + 1]}{newline}{inner}{name}{rendered}{newline}{outer}{text[container.end - 1 :]}"


def without(text: str, container: Node, child: Node) -> str:
    """The text without one value of an array or object: what `append` added goes to the byte."""
    place = container.children.index(child)
    if place:
        return text[: container.children[place - 1].end] + text[child.end :]
    if len(container.children) > 1:
        return text[: child.begin] + text[container.children[1].begin :]
    return text[: container.start + 1] + text[container.end - 1 :]


def replaced(text: str, node: Node, value: Any) -> str:
    """The text with another scalar in the place of a value."""
    return text[: node.start] + json.dumps(value, ensure_ascii=False) + text[node.end :]


def _indent(text: str, at: int) -> str:
    """The blanks at the start of the line of a place."""
    start = text.rfind("\n", 0, at) + 1
    found = re.match(r"[ \t]*", text[start:at])
    return found[0] if found else ""


def _unit(text: str) -> str:
    """One step of indentation, as the text has it."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def walk(node: Node) -> Iterator[Node]:
    """A value and all that is in it."""
    yield node
    for child in node.children:
        yield from walk(child)
