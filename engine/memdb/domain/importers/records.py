"""What a source gives, whatever it is: notes that become memories, and conversations that become documents."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from memdb.base.archives import Tree
from memdb.base.text import plain
from memdb.errors import MemdbError

MILLISECONDS_FROM = 1e11
"""A time above it counts milliseconds: as seconds it would be the year 5138."""


class CannotImport(MemdbError):
    """The source is of no kind that memdb reads, or is not what it should be."""

    code = "cannot_import"


@dataclass(frozen=True, slots=True)
class Note:
    """A text that becomes a memory file; `data` are the file's bytes as the source has or implies them."""

    id: str  # its identity, the same in a later export: a path with its folder's name, or an id of a record
    place: str  # for people: the file, or the file and the record in it
    path: str  # the wanted path below the folder of its type, without suffix
    data: bytes
    type: str | None = None  # where the source says one that memdb knows
    mtime_ns: int | None = None
    names: tuple[str, ...] = ()  # by which links of the source mean it, beside path and file name


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. `branch` counts the ways that a conversation took beside its main one, from 1."""

    id: str
    role: str
    text: str
    created: str | None = None
    branch: int = 0
    after: str | None = None  # the message that a branch leaves from
    files: tuple[str, ...] = ()  # names of what was attached


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation, its messages in their order."""

    id: str
    place: str
    title: str
    created: str | None
    modified: str | None
    turns: tuple[Turn, ...]
    about: dict[str, str] = field(default_factory=dict)  # model, project and the like


Item = Note | Conversation


class Importer(Protocol):
    """A kind of source. Its items can be given more than once; `left` counts what of the source was not taken."""

    kind: str
    tree: Tree
    left: Counter[str]

    def items(self) -> Iterator[Item]:
        """What the source has, always in the same order. Raises CannotImport, StoreUnreadable."""
        ...


def iso_time(value: Any) -> str | None:
    """A time as ISO 8601: seconds or milliseconds since 1970 as UTC, a text as it is; None for what is no time."""
    if isinstance(value, str):
        return plain(value).strip() or None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    seconds = value / 1000 if abs(value) > MILLISECONDS_FROM else value
    try:
        moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=int(seconds))
    except (OverflowError, ValueError):
        return None
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def text_of(value: Any) -> str:
    """A field that should be text; nothing for null, a number as it is written."""
    if value is None or isinstance(value, bool | dict | list):
        return ""
    return plain(str(value))


def is_given(value: Any) -> bool:
    """Whether a field says anything."""
    return value not in (None, "", [], {}, False)
