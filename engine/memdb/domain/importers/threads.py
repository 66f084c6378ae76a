"""The order in which messages of a tree are read: the way that a conversation took, then the ways it left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Message:
    """A node of the tree; `order` tells which of several children is the later one."""

    id: str
    parent: str | None
    order: float
    value: dict[str, Any]


def main_line_and_branches(
    messages: Mapping[str, Message], leaf: str | None
) -> Iterator[tuple[Message, int, str | None]]:
    """Every message once: those on the way to `leaf` (else to the latest end), then the other branches, numbered.

    With each the number of its branch, 0 for the main one, and for the first of a branch the message it leaves from.
    Parents that are not there and loops end a way.
    """
    children: dict[str | None, list[Message]] = {}
    for message in messages.values():
        parent = message.parent if message.parent in messages and message.parent != message.id else None
        children.setdefault(parent, []).append(message)
    for listed in children.values():
        listed.sort(key=lambda message: message.order)  # stable: else as they are in the file
    end = leaf if leaf in messages else _latest(messages, children)
    line: list[Message] = []
    seen: set[str] = set()
    while end is not None and end in messages and end not in seen:
        seen.add(end)
        line.append(messages[end])
        end = messages[end].parent
    line.reverse()
    for message in line:
        yield message, 0, None
    branch = 0
    starts = [child for message in (None, *line) for child in children.get(message.id if message else None, [])]
    # What a loop keeps from being reached comes at last.
    pending = [*reversed([*starts, *messages.values()])]
    while pending:
        message = pending.pop()
        if message.id in seen:
            continue
        branch += 1
        way: Message | None = message
        after = message.parent if message.parent in messages else None
        while way is not None:
            seen.add(way.id)
            yield way, branch, after
            after = None
            further = [child for child in children.get(way.id, []) if child.id not in seen]
            pending += reversed(further[1:])
            way = further[0] if further else None


def _latest(messages: Mapping[str, Message], children: Mapping[str | None, list[Message]]) -> str | None:
    """The end of the tree that was written last."""
    ends = [message for message in messages.values() if not children.get(message.id)]
    last = max(enumerate(ends), key=lambda pair: (pair[1].order, pair[0]), default=None)
    return last[1].id if last else None
