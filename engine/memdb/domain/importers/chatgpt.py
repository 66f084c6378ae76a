"""ChatGPT's data export: `conversations.json`, a list of conversations whose messages form a tree."""

from __future__ import annotations

from collections import Counter
from typing import Any

from memdb.domain.importers.chats import Chats
from memdb.domain.importers.records import Conversation, Turn, is_given, iso_time, text_of
from memdb.domain.importers.threads import Message, main_line_and_branches

UNSPOKEN = {
    "thoughts": "thoughts of the model",
    "reasoning_recap": "thoughts of the model",
    "user_editable_context": "custom instructions, repeated in every conversation",
    "model_editable_context": "notes of the model to itself",
    "tether_browsing_display": "pages as the browsing tool drew them",
}
"""Content that is no part of what was said, by its type; it is counted, not kept."""

_ABOUT = {"default_model_slug": "model", "gizmo_id": "gpt", "conversation_template_id": "project"}
_KNOWN = {"id", "conversation_id", "title", "create_time", "update_time", "mapping", "current_node", *_ABOUT}


class ChatGpt(Chats):
    """Conversations of ChatGPT."""

    kind = "chatgpt"

    def conversation(self, record: dict[str, Any], place: str) -> Conversation | None:
        mapping = record.get("mapping")
        if not isinstance(mapping, dict):
            self.left["conversations without messages"] += 1
            return None
        messages = {}
        for key, node in mapping.items():
            if isinstance(node, dict):
                message = node.get("message")
                parent = node.get("parent")
                created = message.get("create_time") if isinstance(message, dict) else None
                messages[str(key)] = Message(str(key), str(parent) if parent else None, _order(created), node)
        turns = []
        for message, branch, after in main_line_and_branches(messages, text_of(record.get("current_node")) or None):
            turn = self._turn(message, branch, after)
            if turn is not None:
                turns.append(turn)
        self.left.update(f"conversation field {key}" for key in record if key not in _KNOWN and is_given(record[key]))
        id_ = text_of(record.get("conversation_id")) or text_of(record.get("id")) or place
        return Conversation(
            id_,
            place,
            text_of(record.get("title")).strip(),
            iso_time(record.get("create_time")),
            iso_time(record.get("update_time")),
            tuple(turns),
            {name: text_of(record[key]) for key, name in _ABOUT.items() if text_of(record.get(key))},
        )

    def _turn(self, node: Message, branch: int, after: str | None) -> Turn | None:
        message = node.value.get("message")
        if not isinstance(message, dict):
            return None  # the root of the tree
        content = message.get("content")
        author = message.get("author")
        role = text_of(author.get("role")) if isinstance(author, dict) else ""
        name = text_of(author.get("name")) if isinstance(author, dict) else ""
        given = message.get("metadata")
        metadata: dict[str, Any] = given if isinstance(given, dict) else {}
        content = content if isinstance(content, dict) else {"parts": [content]}
        unspoken = UNSPOKEN.get(text_of(content.get("content_type")))
        if unspoken is not None:
            self.left[unspoken] += 1
            return None
        if metadata.get("is_visually_hidden_from_conversation"):
            self.left["hidden messages"] += 1
            return None
        text, pictures = _text(content)
        attached = metadata.get("attachments")
        listed = attached if isinstance(attached, list) else []
        files = [text_of(one.get("name")) for one in listed if isinstance(one, dict)]
        if not text.strip() and not pictures and not any(files):
            self.left["empty messages"] += 1
            return None
        self.left["pictures and sounds, named in their message"] += len(pictures)
        return Turn(
            text_of(message.get("id")) or node.id,
            f"tool {name}".strip() if role == "tool" else role or "unknown",
            "\n\n".join([*filter(None, [text.strip()]), *pictures]),
            iso_time(message.get("create_time")),
            branch,
            after,
            tuple(filter(None, files)),
        )


def is_conversation(record: Any) -> bool:
    """Whether a JSON value is a conversation of ChatGPT."""
    return isinstance(record, dict) and isinstance(record.get("mapping"), dict)


def _order(created: Any) -> float:
    return float(created) if isinstance(created, int | float) and not isinstance(created, bool) else 0.0


def _text(content: dict[str, Any]) -> tuple[str, list[str]]:
    """The text of a message, and a mark for each part that is none."""
    said: list[str] = []
    marks: Counter[str] = Counter()
    parts = content.get("parts")
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, dict):
            spoken = text_of(part.get("text"))
            if spoken:
                said.append(spoken)
            else:
                marks[f"[{_picture(text_of(part.get('content_type')))}]"] += 1
        elif text_of(part):
            said.append(text_of(part))
    for key in ("text", "result"):
        if text_of(content.get(key)):
            written = text_of(content[key])
            is_code = content.get("content_type") == "code"
            said.append(f"```{_language(content)}\n{written}\n```" if is_code else written)
    if text_of(content.get("url")):
        said.insert(0, " ".join(filter(None, (text_of(content.get("title")), text_of(content["url"])))))
    return "\n\n".join(said), list(marks.elements())


def _language(content: dict[str, Any]) -> str:
    language = text_of(content.get("language"))
    return "" if language == "unknown" else language


def _picture(kind: str) -> str:
    return next((name for name in ("image", "audio", "video") if name in kind), kind or "attachment")
