"""Conversations come as documents of one passage a message: in order, with their branches, ids and times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memdb.domain.importers.chatgpt import is_conversation
from memdb.domain.importers.threads import Message, main_line_and_branches
from memdb.services.transfer import importing
from memdb.store import Store
from tests.import_support import SOURCES, files_of, json_source, lines, opened, source, tree, zipped


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return opened(tmp_path / "root")


def spoken(file: Path) -> list[tuple[str, str, int]]:
    """Role, text and branch of each message."""
    return [(record["role"], record.get("text", ""), record.get("branch", 0)) for record in lines(file)[1:]]


def test_chatgpt(store: Store, tmp_path: Path) -> None:
    done = store.import_from([source("chatgpt-conversations.json", tmp_path)])
    assert done.kinds == ["chatgpt"]
    root = store.place.root
    files = sorted(files_of(done).values())
    assert files[0] == "conversations/chatgpt/2023-11-14 Knots- wet-dry.jsonl"
    assert files[1].startswith("conversations/chatgpt/2023-11-14 Knots- wet-dry~")
    assert files[2] == "conversations/chatgpt/untitled.jsonl"
    assert lines(root / files[0])[0] == {
        "id": "c-1",
        "conversation": "Knots: wet/dry",
        "text": "Knots: wet/dry",
        "created": "2023-11-14T22:13:20Z",
        "modified": "2023-11-14T22:14:20Z",
        "imported_from": "chatgpt",
        "model": "model-x",
    }
    assert spoken(root / files[0]) == [
        ("user", "Which knot holds a wet rope?", 0),
        ("assistant", "The sheet bend, for two ropes.", 0),
        ("user", "What is this one?\n\n[image]", 0),
        ("assistant", "```python\nprint('reef knot')\n```", 0),
        ("tool python", "reef knot", 0),
        ("assistant", "The bowline.", 1),
        ("user", "And with gloves on?", 1),
    ]
    image = lines(root / files[0])[3]
    assert (image["id"], image["created"], image["files"]) == ("u2", "2023-11-14T22:13:50Z", ["knot.jpg"])
    assert lines(root / files[0])[6]["after"] == "u1"
    assert {text for _, text, _ in spoken(root / files[2])} == {"Loop one", "Loop two"}
    assert done.audit.conversations == 3
    assert done.audit.left == {
        "conversation field plugin_ids": 1,
        "conversations without a message": 1,
        "conversations without messages": 1,
        "empty messages": 1,
        "pictures and sounds, named in their message": 1,
        "thoughts of the model": 1,
    }


def test_claude(store: Store, tmp_path: Path) -> None:
    done = store.import_from([source("claude-conversations.json", tmp_path)])
    assert done.kinds == ["claude"]
    root = store.place.root / "conversations" / "claude"
    assert spoken(root / "2025-03-01 Timetable.jsonl") == [
        ("user", "When does the ferry leave?", 0),
        ("user (file)", "nine and noon", 0),
        ("assistant", "At nine.\n\n# Timetable\nnine, noon", 0),
        ("user", "", 0),
    ]
    assert lines(root / "2025-03-01 Timetable.jsonl")[4]["files"] == ["photo.png"]
    assert spoken(root / "2025-03-02 untitled.jsonl") == [
        ("user", "First try", 0),
        ("assistant", "Answer one", 0),
        ("assistant", "Answer two", 1),
    ]
    assert done.audit.left == {
        "blocks of type thinking": 1,
        "blocks of type tool_result": 1,
        "conversation field project_uuid": 1,
        "conversations without a message": 1,
        "empty messages": 1,
    }


def test_what_claude_remembers_and_projects(store: Store, tmp_path: Path) -> None:
    talks = json.loads((SOURCES / "claude-conversations.json").read_text(encoding="utf-8"))
    json_source(tmp_path / "export", "conversations.json", talks)
    memories = [
        {"conversations_memory": "**Work**\n\nMarit keeps a ferry.", "project_memories": {"p1-uuid-x": "Of oak."}}
    ]
    json_source(tmp_path / "export", "memories.json", memories)
    docs = [
        {"uuid": "d1", "filename": "quay.md", "content": "The quay.", "created_at": "2025-01-01"},
        {"content": None},
    ]
    project = {
        "uuid": "p1",
        "name": "Quay/pier",
        "description": "Mend it",
        "prompt_template": "Be brief.",
        "docs": docs,
    }
    json_source(tmp_path / "export", "projects.json", [project])
    json_source(tmp_path / "export", "users.json", [{"email_address": "m"}])
    done = store.import_from([tmp_path / "export"])
    assert done.counts == {"created": 6}
    assert {path for path in files_of(done).values() if path.endswith(".md")} == {
        "user/claude/memory.md",
        "project/claude/memory of p1-uuid-.md",
        "project/claude/Quay-pier.md",
        "reference/claude/Quay-pier/quay.md",
    }
    assert store.show("project/claude/Quay-pier").body == "Mend it\n\nBe brief.\n"
    assert [key for key in done.audit.left if key.startswith("files")] == ["files users.json"]
    memories[0]["conversations_memory"] = "Marit keeps two ferries."
    json_source(tmp_path / "export", "memories.json", memories)
    assert store.import_from([tmp_path / "export"]).counts == {"unchanged": 5, "updated": 1}


def test_messages_are_cited(store: Store, tmp_path: Path) -> None:
    store.import_from([source("chatgpt-conversations.json", tmp_path)])
    hit = store.recall("which knot holds a wet rope").hits[0]
    assert hit.id.endswith("Knots- wet-dry.jsonl#u1")
    assert hit.citation is not None
    assert "Knots: wet/dry" in str(hit.citation)
    assert store.list() == []
    live = store.digest()
    store.rebuild()
    assert store.digest() == live


def test_a_later_export_adds_messages_and_changes_no_other(store: Store, tmp_path: Path) -> None:
    file = source("claude-conversations.json", tmp_path)
    store.import_from([file])
    before = dict(store._context.database.rows("select text, id from chunk"))
    value = json.loads(file.read_text(encoding="utf-8"))
    value[0]["chat_messages"].append(
        {"uuid": "m9", "sender": "human", "text": "And on Sundays?", "created_at": "2025-03-03"}
    )
    value[0]["name"] = "The new timetable"
    done = store.import_from([json_source(tmp_path / "later", "conversations.json", value)])
    assert done.counts == {"unchanged": 1, "updated": 1}
    # Renamed there, it stays the same file here.
    assert "conversations/claude/2025-03-01 Timetable.jsonl" in files_of(done).values()
    after = dict(store._context.database.rows("select text, id from chunk"))
    kept = {text for text in before if after.get(text) == before[text]}
    assert "role: human" not in "".join(kept)
    assert any("And on Sundays?" in text for text in after.keys() - before.keys())
    assert store.import_from([file]).counts == {"unchanged": 1, "updated": 1}


def test_twice_changes_nothing(store: Store, tmp_path: Path) -> None:
    file = source("chatgpt-conversations.json", tmp_path)
    store.import_from([file])
    before, digest, journal = tree(store.place.root), store.digest(), store._context.journal.state()
    assert store.import_from([file]).counts == {"unchanged": 3}
    assert (tree(store.place.root), store.digest(), store._context.journal.state()) == (before, digest, journal)


def test_an_import_that_was_killed_before_its_folder_was_added(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = source("claude-conversations.json", tmp_path)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(importing.additions, "add", killed)
    with pytest.raises(KeyboardInterrupt):
        store.import_from([file])
    monkeypatch.undo()
    assert store.import_from([file]).counts == {"unchanged": 2}
    assert len(store.documents.list()) == 2
    store.remove("document:conversations/claude/2025-03-02 untitled.jsonl")
    store.import_from([file])
    assert len(store.documents.list()) == 1


@pytest.mark.parametrize("top", ["", "export-2025/"])
def test_an_export_in_a_zip(store: Store, tmp_path: Path, top: str) -> None:
    text = (SOURCES / "chatgpt-conversations.json").read_text(encoding="utf-8")
    entries: dict[str, bytes | str] = {
        "conversations.json": text,
        "user.json": "{}",
        "chat.html": "<p>",
        "dalle/1.png": b"x",
    }
    packed = zipped(tmp_path / "export.zip", {top + name: data for name, data in entries.items()})
    done = store.import_from([packed])
    assert done.counts == {"created": 3}
    assert {key: count for key, count in done.audit.left.items() if key.startswith("files")} == {
        "files chat.html": 1,
        "files in dalle/": 1,
        "files user.json": 1,
    }
    assert store.import_from([source("chatgpt-conversations.json", tmp_path / "x")]).counts == {"unchanged": 3}


def test_an_export_in_parts(store: Store, tmp_path: Path) -> None:
    value = json.loads((SOURCES / "chatgpt-conversations.json").read_text(encoding="utf-8"))
    for number, part in enumerate((value[:2], value[1:3])):
        json_source(tmp_path / "export", f"conversations-00{number}.json", part)
    done = store.import_from([tmp_path / "export"])
    assert done.counts == {"created": 3}
    assert done.audit.left["conversations that are in the export twice"] == 1


def test_credentials_are_cut_out_of_conversations(store: Store, tmp_path: Path) -> None:
    token = "sk-" + "proj-" + "Zq8" * 14
    message = {"uuid": "m1", "sender": "human", "text": f"first line\nmy key is {token}", "created_at": "2025-01-01"}
    value = [{"uuid": "k", "name": f"about {token}", "chat_messages": [message]}]
    done = store.import_from([json_source(tmp_path, "conversations.json", value)])
    assert done.counts == {"created": 1}
    assert [(one.place, one.line) for one in done.audit.secrets] == [
        ("conversations.json: 1", 1),
        ("conversations.json: 1: message m1", 2),
    ]
    assert token not in repr(done)
    store.close()
    assert all(token.encode() not in file.read_bytes() for file in store.place.root.rglob("*") if file.is_file())
    assert all(token not in str(file) for file in store.place.root.rglob("*"))


def test_more_conversations_than_a_batch_of_one_name(store: Store, tmp_path: Path) -> None:
    def talk(number: int) -> dict[str, Any]:
        message = {"id": f"m{number}", "author": {"role": "user"}, "content": {"parts": [f"Text of talk {number}."]}}
        return {"id": f"c{number}", "title": "New chat", "create_time": 1.7e9, "mapping": {"m": {"message": message}}}

    done = store.import_from([json_source(tmp_path, "conversations.json", [talk(n) for n in range(120)])], embed=False)
    assert done.counts == {"created": 120}
    assert len(set(files_of(done).values())) == 120


def test_what_is_a_conversation() -> None:
    assert is_conversation({"mapping": {}})
    assert not is_conversation({"mapping": None})
    assert not is_conversation([])


IDS = st.sampled_from([f"n{number}" for number in range(7)])


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(IDS, IDS | st.none(), max_size=7), IDS | st.none())
def test_every_message_of_any_tree_comes_once(parents: dict[str, str | None], leaf: str | None) -> None:
    messages = {id_: Message(id_, parent, 0.0, {}) for id_, parent in parents.items()}
    found = list(main_line_and_branches(messages, leaf))
    assert sorted(message.id for message, _, _ in found) == sorted(parents)
    branches = [branch for _, branch, _ in found]
    assert branches == sorted(branches)
    if leaf in messages:
        assert [message.id for message, branch, _ in found if branch == 0][-1] == leaf
