"""Folders of Markdown notes: Claude Code's memories, Obsidian vaults, basic-memory projects, and any other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from memdb.base import files
from memdb.base import text as texts
from memdb.base.archives import Tree
from memdb.base.files import AGENT_FOLDER
from memdb.domain import frontmatter
from memdb.domain.importers.records import Item, Note
from memdb.domain.memories import TYPES

INDEX = "MEMORY.md"
"""Claude Code's list of its memories."""

SNIFFED = 40
"""So many notes are looked at to tell what a folder is."""

_BY_NAME = re.compile(rf"(?i)^({'|'.join(TYPES)})[-_]")
_OBSERVATION = re.compile(r"^- \[[^\]\n]{2,40}\] \S", re.MULTILINE)
_RELATION = re.compile(r"^- [\w ,'-]{2,40} \[\[[^\]\n]+\]\]", re.MULTILINE)


class MarkdownNotes:
    """The notes of a folder, each with its bytes as they are."""

    kind = "markdown"

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.left: Counter[str] = Counter()

    def items(self) -> Iterator[Item]:
        self.left = Counter()
        for path, entry in self.tree.entries.items():
            if not files.is_memory_file(PurePosixPath(path).name):
                self.left[PurePosixPath(path).suffix.lower() or "without a suffix"] += 1
                continue
            if entry.size > files.MAX_FILE_BYTES:
                self.left["larger than a memory can be"] += 1
                continue
            yield self._note(path, self.tree.read(path), entry.mtime_ns)

    def _note(self, path: str, data: bytes, mtime_ns: int | None) -> Note:
        parsed = _parsed(data)
        title = [str(parsed.frontmatter[key]) for key in ("title", "permalink") if _is_text(parsed, key)]
        kind, rest = self._type(path, parsed)
        return Note(self._id(path), path, _without_suffix(rest), data, kind, mtime_ns, (*title, *parsed.aliases))

    def _id(self, path: str) -> str:
        """A note's identity: its path below the folder, with the folder's name, wherever that lies."""
        return f"{self.tree.name}/{path}"

    def _type(self, path: str, parsed: frontmatter.MemoryText) -> tuple[str | None, str]:
        """The type of a note, and its path below the type's folder."""
        top, slash, rest = path.partition("/")
        if slash and top in TYPES:
            return top, rest
        return (parsed.type if parsed.type in TYPES else None), path


class ObsidianVault(MarkdownNotes):
    """An Obsidian vault; attachments and `.obsidian` stay where they are."""

    kind = "obsidian"


class BasicMemory(MarkdownNotes):
    """A basic-memory project: observations and relations are text and links, which memdb reads as they are."""

    kind = "basic-memory"


class ClaudeCode(MarkdownNotes):
    """Memory folders of Claude Code: flat files whose frontmatter or name tells the type."""

    kind = "claude-code"

    def items(self) -> Iterator[Item]:
        inside = any(_memory_folder(path) is not None for path in self.tree.entries)
        for item in super().items():
            # Beside memories, `.claude` holds plans, skills and sessions.
            if isinstance(item, Note) and inside and _memory_folder(item.place) is None:
                self.left["Markdown outside of a memory folder"] += 1
                continue
            yield item

    def _type(self, path: str, parsed: frontmatter.MemoryText) -> tuple[str | None, str]:
        name = path.rpartition("/")[2]
        folder = _memory_folder(path)
        below = path if folder is None else path[len(folder) :].lstrip("/")
        top, slash, rest = below.partition("/")
        if slash and top in TYPES:
            return top, rest
        if parsed.type in TYPES:
            return parsed.type, below
        by_name = _BY_NAME.match(name)
        return (by_name[1].lower() if by_name else None), below

    def _id(self, path: str) -> str:
        """Its project and its path there, whether one project is imported or all."""
        folder = _memory_folder(path)
        if folder is None:
            return super()._id(path)
        above = [part for part in folder.split("/")[:-1] if part != AGENT_FOLDER]
        return f"{above[-1] if above else self.tree.name}/memory{path[len(folder) :]}"


def recognise(tree: Tree) -> type[MarkdownNotes] | None:
    """Which of these a source is; None where it has no notes."""
    notes = [path for path in tree.entries if files.is_memory_file(PurePosixPath(path).name)]
    if not notes:
        return None
    if ".obsidian" in tree.hidden:
        return ObsidianVault
    names = {path.rpartition("/")[2] for path in notes}
    if tree.path.name == "memory" or any(_memory_folder(path) is not None for path in notes) or INDEX in names:
        return ClaudeCode
    sample = [_parsed(tree.read(path)) for path in notes[:SNIFFED] if tree.entries[path].size <= files.MAX_FILE_BYTES]
    told = sum("permalink" in one.frontmatter for one in sample)
    spoken = sum(bool(_OBSERVATION.search(one.body) and _RELATION.search(one.body)) for one in sample)
    return BasicMemory if told or 2 * spoken > len(sample) else MarkdownNotes


def _memory_folder(path: str) -> str | None:
    """The folder `memory` of Claude Code that a path lies in: below `.claude`, or of one of its projects."""
    parts = path.split("/")[:-1]
    if "memory" not in parts:
        return None
    at = parts.index("memory")
    before = parts[:at]
    known = ".claude" in before or "projects" in before or (at == 1 and before[0].startswith("-"))
    return "/".join(parts[: at + 1]) if known else None


def _parsed(data: bytes) -> frontmatter.MemoryText:
    try:
        return frontmatter.parse(texts.plain(texts.decode(data).text))
    except texts.UndecodableText:
        return frontmatter.parse("")


def _is_text(parsed: frontmatter.MemoryText, key: str) -> bool:
    value = parsed.frontmatter.get(key)
    return isinstance(value, str) and bool(value.strip())


def _without_suffix(path: str) -> str:
    return re.sub(r"(?i)\.(md|markdown)$", "", path)
