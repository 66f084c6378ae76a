"""Claude's data export: `conversations.json`, a list of conversations with their messages in order, and projects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memdb.domain.importers import claude_projects
from memdb.domain.importers.chats import Chats
from memdb.domain.importers.records import Conversation, Item, Turn, is_given, iso_time, text_of
from memdb.domain.importers.threads import Message, main_line_and_branches

ROLES = {"human": "user"}
"""How others call who speaks."""

NO_PARENT = "00000000-0000-4000-8000-000000000000"
"""What stands as the parent of a first message."""

_KNOWN = {"uuid", "name", "created_at", "updated_at", "chat_messages", "current_leaf_message_uuid", "model", "summary"}
_QUIET = {"account", "settings", "is_starred"}


class Claude(Chats):
    """Conversations of Claude."""

    kind = "claude"
    beside = claude_projects.FILES

    def items(self) -> Iterator[Item]:
        yield from super().items()
        yield from claude_projects.notes(self.tree, self.left)

    def conversation(self, record: dict[str, Any], place: str) -> Conversation | None:
        given = record.get("chat_messages")
        if not isinstance(given, list):
            self.left["conversations without messages"] += 1
            return None
        messages: dict[str, Message] = {}
        before: str | None = None
        for number, one in enumerate(message for message in given if isinstance(message, dict)):
            id_ = text_of(one.get("uuid")) or f"message-{number + 1}"
            parent = text_of(one.get("parent_message_uuid")) or before
            messages[id_] = Message(id_, None if parent == NO_PARENT else parent, float(number), one)
            before = id_
        turns: list[Turn] = []
        leaf = text_of(record.get("current_leaf_message_uuid")) or before
        for message, branch, after in main_line_and_branches(messages, leaf):
            turns += self._turns(message, branch, after)
        known = _KNOWN | _QUIET
        self.left.update(f"conversation field {key}" for key in record if key not in known and is_given(record[key]))
        about = {key: text_of(record[key]) for key in ("model", "summary") if text_of(record.get(key))}
        return Conversation(
            text_of(record.get("uuid")) or place,
            place,
            text_of(record.get("name")).strip(),
            iso_time(record.get("created_at")),
            iso_time(record.get("updated_at")),
            tuple(turns),
            about,
        )

    def _turns(self, message: Message, branch: int, after: str | None) -> Iterator[Turn]:
        value = message.value
        sender = text_of(value.get("sender")) or text_of(value.get("role")) or "unknown"
        role, created = ROLES.get(sender, sender), iso_time(value.get("created_at"))
        files = [
            text_of(one.get("file_name"))
            for key in ("attachments", "files", "files_v2")
            for one in _list(value.get(key))
            if isinstance(one, dict)
        ]
        text = self._text(value).strip()
        names = tuple(dict.fromkeys(filter(None, files)))
        if text or names:
            yield Turn(message.id, role, text, created, branch, after, names)
        else:
            self.left["empty messages"] += 1
        for number, one in enumerate(_list(value.get("attachments")), start=1):
            content = text_of(one.get("extracted_content")).strip() if isinstance(one, dict) else ""
            if content:
                name = text_of(one.get("file_name"))
                yield Turn(
                    f"{message.id}/{number}", f"{role} (file)", content, created, branch, None, (name,) if name else ()
                )

    def _text(self, value: dict[str, Any]) -> str:
        said = []
        for block in _list(value.get("content")):
            if not isinstance(block, dict):
                said.append(text_of(block))
            elif block.get("type") in (None, "text"):
                said.append(text_of(block.get("text")))
            elif block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
                # What Claude wrote into an artifact is a part of its answer.
                written = text_of(block["input"].get("content"))
                said.append(written)
                self.left["uses of tools"] += not written
            elif is_given(block):
                self.left[f"blocks of type {text_of(block.get('type'))}"] += 1
        joined = "\n\n".join(part.strip() for part in said if part.strip())
        return joined or text_of(value.get("text"))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def is_conversation(record: Any) -> bool:
    """Whether a JSON value is a conversation of Claude."""
    return isinstance(record, dict) and isinstance(record.get("chat_messages"), list)
