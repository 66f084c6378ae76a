"""Every kind of source: imported, exported whole and imported elsewhere, the digest is the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memdb.domain import importers
from tests.conftest import write_files
from tests.import_support import json_source, opened, outcome, source, tree

ODD_NOTES: dict[str, str | bytes] = {
    "Quay.md": "---\nid: 0123\nstatus: NO\ntitle: Foo: bar\naliases: [quay]\nlayout: {a: 1}\n---\nOf oak. [[Old]]\n",
    "deep/Quay.md": "---\ntags: a, b\n---\nAnother of that name.\n",
    "Untimed.md": "No head, no time, no last newline",
    "crlf.md": b"\xef\xbb\xbf---\r\nupdated: 2024-05-02\r\n---\r\nLines of Windows.\r\n",
    "empty.md": "",
}
"""Foreign frontmatter, a title twice, no times, a byte-order mark with CRLF, an empty file."""


def plain(where: Path) -> Path:
    write_files(where / "plain", ODD_NOTES)
    return where / "plain"


def odd_vault(where: Path) -> Path:
    vault = source("obsidian", where)
    write_files(vault, {f"more/{name}": text for name, text in ODD_NOTES.items()})
    return vault


def odd_memory(where: Path) -> Path:
    file = source("memory.jsonl", where)
    more: list[dict[str, Any]] = [
        {"type": "entity", "name": "Untimed", "entityType": None, "observations": None},
        {"type": "entity", "name": "ferry SITE", "entityType": "place", "observations": ["", "In other letters"]},
        {"type": "relation", "from": "Untimed", "to": "Nowhere at all", "relationType": "near"},
    ]
    with file.open("a", encoding="utf-8") as out:
        out.writelines(json.dumps(one) + "\n" for one in more)
    return file


def odd_mem0(where: Path) -> Path:
    records = [
        {"id": "1", "memory": "Rows on Tuesdays", "created_at": None, "updated_at": None, "categories": None},
        {"id": "2", "memory": None, "created_at": "2024-09-04T10:00:00Z"},
        {"id": "3", "memory": "Rows on Tuesdays", "metadata": {"type": "user", "deep": {"a": [1]}}},
        {"memory": "Has no id", "created_at": "yesterday"},
    ]
    return json_source(where, "odd-mem0.json", {"results": records})


def message(key: str, parent: str | None, text: Any, time: float | None, *children: str) -> dict[str, Any]:
    author = {"role": "user" if key.startswith("u") else "assistant"}
    content = {"content_type": "text", "parts": [text]}
    said = {"id": key, "author": author, "create_time": time, "content": content}
    return {"id": key, "parent": parent, "children": list(children), "message": said}


def odd_chatgpt(where: Path) -> Path:
    tree_of = {
        "root": {"id": "root", "parent": None, "children": ["u1"], "message": None},
        "u1": message("u1", "root", "Which rope?", None, "a1", "a2"),
        "a1": message("a1", "u1", None, 1_700_000_000.5),
        "a2": message("a2", "u1", "The old one.", 1_700_000_001, "u2"),
        "u2": message("u2", "a2", "And in rain?", None),
    }
    chat = {"title": None, "create_time": None, "update_time": None, "mapping": tree_of, "current_node": "u2"}
    same = [{**chat, "title": "Ropes", "id": f"c-{n}", "create_time": 1_700_000_000} for n in range(2)]
    return json_source(where, "conversations.json", [chat | {"id": "c-0"}, *same])


def odd_claude(where: Path) -> Path:
    said = [
        {"uuid": "m1", "sender": "human", "text": "Which rope?", "created_at": None},
        {"uuid": "m2", "sender": "assistant", "text": None, "content": [{"type": "text", "text": "The old one."}]},
        {"uuid": "m3", "sender": "assistant", "text": "", "content": []},
    ]
    chats = [{"uuid": f"c{n}", "name": "Ropes", "created_at": None, "chat_messages": said} for n in range(2)]
    return json_source(where, "conversations.json", [*chats, {"uuid": "c9", "name": None, "chat_messages": None}])


SOURCES: list[tuple[str, Callable[[Path], Path]]] = [
    ("claude-code", lambda where: source("claude-code", where)),
    ("obsidian", lambda where: source("obsidian", where)),
    ("obsidian", odd_vault),
    ("basic-memory", lambda where: source("basic-memory", where)),
    ("markdown", plain),
    ("mcp-memory", lambda where: source("memory.jsonl", where)),
    ("mcp-memory", odd_memory),
    ("mem0", lambda where: source("mem0.json", where)),
    ("mem0", odd_mem0),
    ("chatgpt", lambda where: source("chatgpt-conversations.json", where)),
    ("chatgpt", odd_chatgpt),
    ("claude", lambda where: source("claude-conversations.json", where)),
    ("claude", odd_claude),
]


def test_every_kind_is_here() -> None:
    assert {kind for kind, _ in SOURCES} == set(importers.KINDS) - {importers.STORE}


@pytest.mark.parametrize(("kind", "made"), SOURCES, ids=[f"{kind}-{at}" for at, (kind, _) in enumerate(SOURCES)])
def test_import_export_import(tmp_path: Path, kind: str, made: Callable[[Path], Path]) -> None:
    given = made(tmp_path / "source")
    before = tree(given) if given.is_dir() else given.read_bytes()
    with opened(tmp_path / "one") as one, opened(tmp_path / "two") as two:
        done = one.import_from([given])
        assert done.kinds == [kind]
        assert done.writes > 0
        assert (tree(given) if given.is_dir() else given.read_bytes()) == before
        again = one.import_from([given])
        assert again.writes == 0
        one.export(tmp_path / "all.zip")
        assert two.import_from([tmp_path / "all.zip"]).store is not None
        live = one.digest()
        assert two.digest() == live
        assert tree(two.place.root) == tree(one.place.root)
        # What was imported there is known here too.
        assert outcome(two.import_from([given])) == outcome(again)
        assert two.digest() == live
        one.rebuild()
        assert one.digest() == live
