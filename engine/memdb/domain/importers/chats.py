"""What exports of chats have in common: JSON files of conversations, each written as one JSON object a message."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from memdb.base.archives import Tree
from memdb.base.json_stream import NotJson, elements
from memdb.domain.importers.naming import safe_name
from memdb.domain.importers.records import CannotImport, Conversation, Item

LISTS = ("conversations",)
"""Where an object has the conversations."""


class Chats(ABC):
    """Conversations from JSON files; a broken file ends with an error, after all that stood before the break."""

    kind = "chats"
    beside: tuple[str, ...] = ()  # other files of the export that are read

    def __init__(self, tree: Tree, paths: Sequence[str]) -> None:
        self.tree, self.paths = tree, tuple(paths)
        self.left: Counter[str] = Counter()

    def items(self) -> Iterator[Item]:
        self.left = Counter()
        self._count_others()
        seen: set[str] = set()
        for path in self.paths:
            with self.tree.open(path) as stream:
                try:
                    for number, record in enumerate(elements(stream, LISTS), start=1):
                        found = self.conversation(record, f"{path}: {number}") if isinstance(record, dict) else None
                        if found is None:
                            continue
                        if found.id in seen:
                            self.left["conversations that are in the export twice"] += 1
                            continue
                        seen.add(found.id)
                        if found.turns:
                            yield found
                        else:
                            self.left["conversations without a message"] += 1
                except NotJson as error:
                    raise CannotImport(
                        f"{path}: {error.message}", hint="Export it again, or unpack it anew."
                    ) from error

    @abstractmethod
    def conversation(self, record: dict[str, Any], place: str) -> Conversation | None:
        """One conversation; None, counted in `left`, for what is none."""

    def _count_others(self) -> None:
        for path in self.tree.entries:
            if path not in self.paths and path not in self.beside:
                self.left[f"files {path}" if "/" not in path else f"files in {path.partition('/')[0]}/"] += 1


def file_name(conversation: Conversation) -> str:
    """What a conversation's file is called, without suffix: its day and its title."""
    day = (conversation.created or "")[:10]
    title = safe_name(conversation.title) if conversation.title else "untitled"
    return f"{day} {title}" if len(day) == 10 and day[:4].isdigit() else title


def lines(conversation: Conversation, kind: str) -> bytes:
    """A conversation as JSONL: one line about it, then one a message, with the ids, times and names of the source.

    A message is a passage of its own, so that a hit cites it, and a later export adds passages and changes none.
    """
    title = conversation.title or "untitled"
    head: dict[str, Any] = {"id": conversation.id, "conversation": title, "text": title}
    head |= {"created": conversation.created, "modified": conversation.modified}
    head |= {"imported_from": kind, **conversation.about}
    records = [head]
    for turn in conversation.turns:
        record: dict[str, Any] = {"id": turn.id, "conversation": title, "role": turn.role, "created": turn.created}
        record |= {"branch": turn.branch or None, "after": turn.after, "files": list(turn.files), "text": turn.text}
        records.append(record)
    return b"".join(_line(record) for record in records)


def _line(record: dict[str, Any]) -> bytes:
    given = {key: value for key, value in record.items() if value not in (None, "", [])}
    return json.dumps(given, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
