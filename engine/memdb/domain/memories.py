"""A memory: one Markdown file, its id, its type, and the fields that the store keeps of it."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from hashlib import sha256

from memdb.base import secrets as secret_finder
from memdb.base import text as texts
from memdb.domain import frontmatter, markdown
from memdb.domain.frontmatter import Problem
from memdb.domain.links import LinkEntry

TYPES = ("user", "feedback", "project", "reference", "episode")
"""The known types, in the order that breaks name ties; other folders are types too, after these, by name."""

DEFAULT_TYPE = "reference"

EDGE_WEIGHTS = {"has_tag": 0.8, "links_to": 0.7, "supersedes": 0.9, "in_cluster": 0.6, "contradicts": 0.0}
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
    """A type from frontmatter as a folder could be named: no slash, no control character; the default where nothing is left."""
    kind = re.sub(r"[\s/\\\x00-\x1f:]+", "-", texts.name_key(written or "")).strip("-.")
    return kind[:64] or DEFAULT_TYPE


def read_memory(path: str, data: bytes) -> Memory:
    """The memory in a file's bytes. Raises text.UndecodableText where they are no text; every other flaw is a problem."""
    whole = texts.plain(texts.decode(data).text)
    problems: list[Problem] = []
    found = secret_finder.find_secrets(whole)
    for secret in found:
        problems.append(
            Problem(secret.line, f"looks like a credential ({secret.category}): redacted and not embedded; "
                    f"{secret_finder.advice(secret.category)}")
        )  # fmt: skip
    if found:
        whole = secret_finder.redact(whole)
    parsed = frontmatter.parse(whole)
    folder_type, rest = split_path(path)
    kind = folder_type or clean_type(parsed.type)
    stem = rest.rpartition("/")[2]
    return Memory(
        path=path,
        key=f"{kind}/{rest}",
        type=kind,
        name=parsed.name or stem,
        title=parsed.h1,
        description=parsed.description,
        tags=parsed.tags,
        aliases=parsed.aliases,
        head=whole[: len(whole) - len(parsed.body)] if parsed.body else whole,
        body=parsed.body,
        body_line=parsed.body_line,
        frontmatter=json.dumps(parsed.frontmatter, ensure_ascii=False, sort_keys=False),
        created=parsed.created,
        modified=parsed.modified,
        happened_at=parsed.happened_at,
        valid_from=parsed.valid_from,
        valid_to=parsed.valid_to,
        links=_links(parsed),
        has_secret=bool(found),
        problems=(*parsed.problems, *problems),
    )


def _links(parsed: frontmatter.MemoryText) -> tuple[Link, ...]:
    written = [
        Link("wikilink", link.raw, link.written, link.heading, link.block, link.label, link.embed, link.line)
        for link in markdown.wiki_links(parsed.body, parsed.body_line)
        if link.target
    ]
    replaced = [Link("supersedes", target, target, None, None, None, False, None) for target in parsed.supersedes]
    return (*written, *replaced)


def unique_key(key: str, path: str) -> str:
    """The key of a memory whose wanted key another file has: the wanted one and six hex digits of its path's hash."""
    return f"{key}~{sha256(path.encode('utf-8')).hexdigest()[:6]}"


def key_order(path: str) -> tuple[int, str]:
    """Which of several files with one key keeps it: one in a type folder before a flat one, then by path."""
    return (0 if split_path(path)[0] else 1, path)
