"""import, export, backup and restore-backup: what people and programs see."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli_support import make, memdb, process
from tests.conftest import write_files
from tests.import_support import json_source, source, tree

pytestmark = pytest.mark.usefixtures("no_model")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make(tmp_path / "root")


def test_a_dry_run_shows_the_audit_and_writes_nothing(root: Path, tmp_path: Path) -> None:
    before = tree(root)
    answer = memdb("--root", root, "import", source("obsidian", tmp_path), "--dry-run")
    assert answer.code == 0
    assert answer.out.splitlines()[:2] == ["obsidian: 5 new, 1 empty, left out", "types: project 1, reference 4"]
    for line in (
        "links that lead nowhere:",
        "  Harbour.md, line 11  Nowhere",
        "little or nothing in it:",
        "  Untitled.md  empty",
        "left in the source:",
        "  .png  1",
    ):
        assert line in answer.out.splitlines()
    assert "note: 3 links written anew" in answer.err
    assert answer.err.endswith("note: nothing was written.\n")
    assert tree(root) == before


def test_it_asks_first(root: Path, tmp_path: Path) -> None:
    vault = source("obsidian", tmp_path)
    before = tree(root)
    answer = memdb("--root", root, "import", vault)
    assert answer.code == 4
    assert "5 files would be written" in answer.err
    assert "--yes" in answer.err
    assert tree(root) == before
    done = memdb("--root", root, "import", vault, "--yes")
    assert (done.code, done.out) == (0, "obsidian: 5 new, 1 empty, left out\n")
    again = memdb("--root", root, "import", vault)
    assert (again.code, again.out) == (0, "obsidian: 5 as they were, 1 empty, left out\n")


def test_json(root: Path, tmp_path: Path) -> None:
    answer = memdb("--root", root, "import", source("mem0.json", tmp_path), "--yes", "--json")
    shape = answer.json
    assert shape["kinds"] == ["mem0"]
    assert shape["counts"] == {"created": 3}
    assert shape["items"][0] == {
        "place": "mem0.json: record 1",
        "file": "reference/prefers-tea-over-coffee-in-the-morning.md",
        "action": "created",
        "reason": "",
    }
    assert shape["audit"]["left"] == {"records without a text": 1}
    assert shape["sync"]["added"] == 3
    dry = memdb("--root", root, "import", source("obsidian", tmp_path), "--dry-run", "--json").json
    assert dry["dry_run"] is True
    assert {"place": "Harbour.md", "line": 11, "target": "Nowhere"} in dry["audit"]["unresolved"]


def test_credentials_are_named_and_not_shown(root: Path, tmp_path: Path) -> None:
    token = "sk-" + "proj-" + "Zq8" * 14
    write_files(tmp_path / "notes", {"bad.md": f"line\nthe key: {token}\n", "good.md": "A good note.\n"})
    for words in (["--dry-run"], ["--yes"], ["--dry-run", "--json"]):
        answer = memdb("--root", root, "import", tmp_path / "notes", *words)
        assert answer.code == 0
        assert "bad.md" in answer.out
        assert "OpenAI key" in answer.out
        assert token not in answer.out + answer.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["nowhere"], 3, "There is no file or folder"),
        (["plain.txt"], 1, "nothing that memdb knows to import"),
        (["vault", "--from", "evernote"], 2, "no kind 'evernote'"),
        (["vault", "--to", "a/b"], 2, "'a/b' is no type"),
        (["torn.zip"], 4, "damaged archive"),
        (["broken.json", "--from", "mem0"], 1, "broken.json: Not valid JSON"),
        ([], 2, "Missing argument"),
    ],
)
def test_errors(root: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], code: int, said: str) -> None:
    tmp_path = root.parent
    write_files(
        tmp_path, {"plain.txt": "x", "vault/a.md": "A note.\n", "torn.zip": b"PK\x03\x04", "broken.json": "[{]"}
    )
    monkeypatch.chdir(tmp_path)
    answer = memdb("--root", root, "import", *words, "--yes")
    assert answer.code == code
    assert said in answer.err


def test_moving_house(root: Path, tmp_path: Path) -> None:
    digest = memdb("--root", root, "digest", "--json").json["digest"]
    packed = tmp_path / "all.zip"
    answer = memdb("--root", root, "export", packed)
    assert (answer.code, answer.out.startswith(f"wrote {packed}  (files 2, snapshots 0, bytes ")) == (0, True)
    assert memdb("--root", root, "export", packed).code == 4
    assert memdb("--root", root, "export", packed, "--yes", "--json").json["digest"] == digest
    new = tmp_path / "new"
    memdb("init", new)
    dry = memdb("--root", new, "import", packed, "--dry-run")
    assert dry.out == "A whole store: 2 files, 0 snapshots would come.\n"
    assert tree(new) == {}
    moved = memdb("--root", new, "import", packed, "--yes")
    assert moved.out.splitlines() == [
        "A whole store: 2 files, 0 snapshots.",
        "Its digest is that of the store that was exported.",
    ]
    assert memdb("--root", new, "digest", "--json").json["digest"] == digest


def test_export_formats(root: Path, tmp_path: Path) -> None:
    assert memdb("--root", root, "export", tmp_path / "a.jsonl").code == 0
    first = json.loads((tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert first["kind"] == "store"
    folder = memdb("--root", root, "export", tmp_path / "out")
    assert folder.out == f"wrote {tmp_path / 'out'}  (memories 2, documents 0, snapshots 0)\n"
    assert memdb("--root", root, "export", root / "out").code == 2
    assert memdb("--root", root, "export", tmp_path / "x", "--format", "tar").code == 2


def test_backup_and_restore(root: Path, tmp_path: Path) -> None:
    digest = memdb("--root", root, "digest", "--json").json["digest"]
    made = memdb("--root", root, "backup", tmp_path / "b.zip", "--json").json
    assert (made["digest"], made["files"], made["notes"]) == (digest, 2, [])
    assert memdb("--root", root, "backup", tmp_path / "b.zip").code == 4
    memdb("--root", root, "forget", "prefers-tables", "--yes")
    answer = memdb("--root", root, "restore-backup", tmp_path / "b.zip")
    assert answer.code == 0
    assert answer.out.startswith(f"restored {root}  (2 files, digest {digest[:12]})")
    assert f"note: what was there is in {root}.before-" in answer.err
    assert memdb("--root", root, "digest", "--json").json["digest"] == digest
    other = memdb("restore-backup", tmp_path / "b.zip", tmp_path / "other", "--json").json
    assert other["kept_aside"] is None
    assert memdb("restore-backup", tmp_path / "nowhere.zip", tmp_path / "x").code == 3


def test_an_own_backup_has_a_name(root: Path) -> None:
    answer = memdb("--root", root, "backup")
    assert answer.code == 0
    assert ".memdb" in answer.out
    assert len(list((root / ".memdb" / "backups").glob("memdb-*.zip"))) == 1


def test_as_a_process(root: Path, tmp_path: Path) -> None:
    value = [
        {"uuid": "k", "name": "Talk", "chat_messages": [{"uuid": "m", "sender": "human", "text": "Which bell rings?"}]}
    ]
    file = json_source(tmp_path, "conversations.json", value)
    assert process("--root", root, "import", file, "--yes").out == "claude: 1 new\n"
    found = process("--root", root, "recall", "which bell rings", "--json")
    assert json.loads(found.out)["hits"][0]["id"] == "document:conversations/claude/Talk.jsonl#m"
