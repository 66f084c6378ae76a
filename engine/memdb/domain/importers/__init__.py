"""Where memories come from: which kind a source is, and the importer that reads it.

A new kind is one module like the others, and its place in `KINDS` and `recognise`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import Any

from memdb.base.archives import Tree
from memdb.base.json_stream import NotJson, elements
from memdb.domain.importers import chatgpt, claude, markdown_notes, mcp_memory, mem0
from memdb.domain.importers.records import CannotImport, Conversation, Importer, Item, Note
from memdb.errors import UsageError

__all__ = ["KINDS", "STORE", "CannotImport", "Conversation", "Importer", "Item", "Note", "importer"]

STORE = "memdb"
"""The kind of what `memdb export --format zip` wrote."""

MANIFEST = "memdb.json"
"""The entry by which it is known."""

NOTES: dict[str, type[markdown_notes.MarkdownNotes]] = {
    one.kind: one
    for one in (
        markdown_notes.ClaudeCode,
        markdown_notes.ObsidianVault,
        markdown_notes.BasicMemory,
        markdown_notes.MarkdownNotes,
    )
}

KINDS = (*NOTES, "mcp-memory", "mem0", "chatgpt", "claude", STORE)
"""What `memdb import --from` takes."""

SNIFFED = 20
"""So many records of a JSON file are looked at to tell what it is."""

_CHATS = re.compile(r"(?i)(^|/)conversations([-_]?\d+)?\.json$")
_JSON = re.compile(r"(?i)\.(json|jsonl|ndjson)$")


def importer(tree: Tree, kind: str | None = None) -> Importer | None:
    """The importer of a source, of the kind that a person names or that it looks like; None for a store's export.

    Raises UsageError for an unknown kind, CannotImport where it is none.
    """
    if kind is not None and kind not in KINDS:
        raise UsageError(f"There is no kind {kind!r} of source.", hint=f"One of {', '.join(KINDS)}.")
    if kind in (None, STORE) and MANIFEST in tree.entries:
        return None
    if kind == STORE:
        raise CannotImport(f"{tree.path} is no export of memdb.", hint="`memdb export FILE.zip` writes one.")
    if kind in NOTES:
        return NOTES[kind](tree)
    chats = [path for path in tree.entries if _CHATS.search(path)]
    files = chats or sorted((path for path in tree.entries if _JSON.search(path)), key=lambda path: path.count("/"))
    notes = markdown_notes.recognise(tree) if kind is None and not chats else None
    if notes is not None:
        return notes(tree)
    for path in files:
        found = kind or _recognise(tree, path)
        if found is not None:
            return _by_kind(found, tree, path, chats)
    raise CannotImport(
        f"{tree.path} is nothing that memdb knows to import.",
        hint=f"Name what it is with --from: {', '.join(KINDS)}; or `memdb add` it as documents.",
    )


def _by_kind(kind: str, tree: Tree, path: str, chats: list[str]) -> Importer:
    if kind == "chatgpt":
        return chatgpt.ChatGpt(tree, chats or [path])
    if kind == "claude":
        return claude.Claude(tree, chats or [path])
    return mcp_memory.McpMemory(tree, path) if kind == "mcp-memory" else mem0.Mem0(tree, path)


def _is_mcp(record: Any) -> bool:
    return mcp_memory.is_entity(record) or (mcp_memory.is_relation(record) and "relationType" in record)


def _is_mem0(record: Any) -> bool:
    if isinstance(record, dict) and isinstance(record.get("results"), list | dict):
        return True
    keys = {"id", "user_id", "agent_id", "hash", "created_at", "metadata", "payload"}
    return mem0.is_memory(record) and bool(keys & set(record))


_SIGNS: tuple[tuple[str, Callable[[Any], bool], tuple[str, ...]], ...] = (
    ("chatgpt", chatgpt.is_conversation, ("conversations",)),
    ("claude", claude.is_conversation, ("conversations",)),
    ("mcp-memory", _is_mcp, mcp_memory.LISTS),
    ("mem0", _is_mem0, mem0.LISTS),
)


def _recognise(tree: Tree, path: str) -> str | None:
    for kind, is_one, keys in _SIGNS:
        with tree.open(path) as stream, suppress(NotJson):
            if any(is_one(record) for record in islice(elements(stream, keys), SNIFFED)):
                return kind
    return None
