"""A record (a JSONL line, a JSON object, a table row) as one passage with its field names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from memdb.base.text import plain
from memdb.domain.extractors.blocks import Block
from memdb.domain.times_calendar import written_day

# Read as the record's own id, title, text and time, the first that is there; all other fields are "field: value".
_ID, _TITLE, _TEXT, _CREATED = ("id", "_id", "uuid"), ("title",), ("text",), ("created", "created_at")

# Where none of these has a time, the first of these that is a day for sure is the record's; it is told as a field too.
_DATES = ("date", "datetime", "timestamp", "sent_at", "time", "ts")

# What the records of one conversation, thread or chapter have in common: their heading path, outermost first. So
# that neighbours within one are known as such.
_GROUPS = (
    *("collection", "channel", "conv", "conversation", "conversation_id", "thread", "thread_id"),
    *("session", "session_id", "chapter", "section"),
)

_YEAR_FIRST = re.compile(r"\d{4}(-\d\d(?!\d)|\Z)")

# Deeper values are written as they are: a path of more names says nothing to a reader.
_DEEPEST = 8


def record_block(record: Mapping[str, Any], start_line: int, end_line: int, *, tell_id: bool = False) -> Block | None:
    """One atomic block; None for a record without a value.

    Its text is `text` and then the other fields; without any, the title, else the id. `tell_id` writes the id as a
    field too.
    """
    left = {name: value for name, value in record.items() if value not in (None, "", [], {})}
    record_id, title, created = _take(left, _ID), _take(left, _TITLE), _take(left, _CREATED)
    created = _created(created, left)
    main = _take(left, _TEXT)
    heading_path = tuple(_group_name(name, left.pop(name)) for name in _GROUPS if _is_plain(left.get(name)))
    parts = [main] if main else []
    parts.extend(f"{name}: {value}" for name, value in flattened(left))
    if tell_id and record_id and parts:
        parts.insert(0, f"{next(name for name in _ID if name in record)}: {record_id}")
    text = "\n".join(parts).strip() or title or record_id
    if not text:
        return None
    return Block(
        text=plain(text),
        heading_path=heading_path,
        start_line=start_line,
        end_line=end_line,
        record_id=record_id,
        title=title,
        created=created,
        atomic=True,
    )


def flattened(value: Any, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """The leaves of nested objects as (`outer.inner`, text); lists of plain values are one leaf; empty ones none."""
    if isinstance(value, Mapping) and depth < _DEEPEST:
        for name, inner in value.items():
            yield from flattened(inner, f"{prefix}.{name}" if prefix else str(name), depth + 1)
    elif isinstance(value, list) and depth < _DEEPEST and not all(_is_plain(item) for item in value):
        for number, inner in enumerate(value):
            yield from flattened(inner, f"{prefix}.{number}" if prefix else str(number), depth + 1)
    else:
        shown = spelled(value)
        if shown.strip():
            yield prefix, shown


def spelled(value: Any) -> str:
    """A leaf as text, with JSON's own words for true and false; nothing for null."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(filter(None, map(spelled, value)))
    return value if isinstance(value, str) else str(value)


def _is_plain(value: Any) -> bool:
    return value is not None and not isinstance(value, (Mapping, list))


def _take(record: dict[str, Any], names: tuple[str, ...]) -> str | None:
    for name in names:
        if _is_plain(record.get(name)):
            return plain(spelled(record.pop(name))).strip() or None
    return None


def _created(created: str | None, record: Mapping[str, Any]) -> str | None:
    """The time of a record: as written where it begins with a year, else as a day of ISO 8601 where it is one."""
    given = [created] if created else [spelled(record[name]).strip() for name in _DATES if _is_plain(record.get(name))]
    for text in given:
        if _YEAR_FIRST.match(text):
            return text
        if (day := written_day(text)) is not None:
            return day
    return created


def _group_name(field: str, value: Any) -> str:
    """A name stands for itself; a bare number is told with its field ("session 3")."""
    shown = plain(spelled(value)).strip()
    return f"{field} {shown}" if shown.isdigit() else shown
