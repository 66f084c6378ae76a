"""A memory: its id, its type, and the fields that the store keeps of it. `memory_file` reads one from a file."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from memdb.base import text as texts
from memdb.domain.links import LinkEntry

if TYPE_CHECKING:
    from memdb.domain.frontmatter import Problem

TYPES = ("user", "feedback", "project", "reference", "episode")
"""The known types, in the order that breaks name ties; other folders are types too, after these, by name."""

DEFAULT_TYPE = "reference"

EDGE_WEIGHTS = {
    "has_tag": 0.8,
    "links_to": 0.7,
    "supersedes": 0.9,
    "replaces": 0.9,
    "in_cluster": 0.6,
    "next": 0.8,
    "mentions": 1.0,
    "about": 1.0,
    "relates": 0.6,
    "contradicts": 0.0,
    "distinct": 0.0,
}
"""How much of a score an edge passes on, before the decay of the hop."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link as written, before it is resolved."""

    kind: str  # wikilink, supersedes
    raw: str
    target: str
    heading: str | None
    block: str | None
    label: str | None
    embed: bool
    line: int | None


@dataclass(frozen=True, slots=True)
class Memory:
    """What one file says; `key` is the id that its path asks for, `type/name`."""

    path: str
    key: str
    type: str
    name: str
    title: str | None
    description: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    head: str
    body: str
    body_line: int
    frontmatter: str  # JSON
    created: str | None
    modified: str | None
    happened_at: str | None
    valid_from: str | None
    valid_to: str | None
    links: tuple[Link, ...]
    has_secret: bool
    problems: tuple[Problem, ...]

    @property
    def stem(self) -> str:
        return self.key.rpartition("/")[2]

    @property
    def embedded_text(self) -> str:
        """The text that the model reads, before it is cut into windows."""
        return "\n".join(part for part in (self.name, self.description, self.body.strip()) if part)

    @property
    def text_sha256(self) -> str:
        return texts.sha256_text(self.embedded_text)

    @property
    def graph_sha256(self) -> str:
        """Changes when an edge could: name, tags, aliases, supersedes and links, but not the prose around them."""
        written = [(link.kind, link.raw, link.line) for link in self.links]
        fields = [self.key, self.type, self.name, self.title, self.tags, self.aliases, written]
        return texts.sha256_text(json.dumps(fields, ensure_ascii=True))

    def entry(self, key: str | None = None) -> LinkEntry:
        """How links can mean this memory, under the key that it has in the store."""
        return LinkEntry(
            id=key or self.key, type=self.type, name=self.name, stem=self.stem, aliases=self.aliases, title=self.title
        )


def type_rank(kind: str) -> int:
    """The place of a type in the order that breaks name ties."""
    return TYPES.index(kind) if kind in TYPES else len(TYPES)


def split_path(path: str) -> tuple[str | None, str]:
    """The type that a file's folder gives, or None for a flat file, and the name: its path below that folder.

    `feedback/prefers-tables.md` is ('feedback', 'prefers-tables'). A `.claude/…/memory/` folder holds memories
    as a root does, so what stands before it says nothing.
    """
    bare = re.sub(r"(?i)\.(md|markdown)$", "", path)
    # A key stands on one line of output: a control character in a file name is written as its number.
    bare = re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\x{ord(match[0]):02x}", bare)
    parts = unicodedata.normalize("NFC", bare).split("/")
    if parts[0] == ".claude" and "memory" in parts[:-1]:
        parts = parts[parts.index("memory") + 1 :]
    return (parts[0], "/".join(parts[1:])) if len(parts) > 1 else (None, parts[0])


def clean_type(written: str | None) -> str:
    """A type from frontmatter as a folder could be named, without slash or control character; else the default."""
    kind = re.sub(r"[\s/\\\x00-\x1f:]+", "-", texts.name_key(written or "")).strip("-.")
    return kind[:64] or DEFAULT_TYPE


def unique_key(key: str, path: str) -> str:
    """The key of a memory whose wanted key another file has: the wanted one and six hex digits of its path's hash."""
    return f"{key}~{sha256(path.encode('utf-8')).hexdigest()[:6]}"


def key_order(path: str) -> tuple[int, str]:
    """Which of several files with one key keeps it: one in a type folder before a flat one, then by path."""
    return (0 if split_path(path)[0] else 1, path)
