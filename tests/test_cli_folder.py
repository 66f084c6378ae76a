"""init, sync, rebuild, reembed, stats, doctor, digest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memdb.store import Store
from tests.cli_support import make, memdb, write

pytestmark = pytest.mark.usefixtures("no_model")


def test_init_writes_nothing_outside_its_folder(tmp_path: Path) -> None:
    root = write(tmp_path / "notes", user__a="Hello.")
    answer = memdb("init", root, "--json")
    assert answer.json == {"root": str(root), "database": str(root / ".memdb" / "memory.db"), "created": True}
    assert sorted(path.name for path in root.iterdir()) == [".memdb", "user"]
    assert memdb("init", root, "--json").json["created"] is False


def test_init_says_what_to_do_next(tmp_path: Path) -> None:
    answer = memdb("init", tmp_path)
    assert answer.out == f"{tmp_path} is a memdb store now.\n"
    assert f"next: memdb sync --root {tmp_path}" in answer.err


def test_init_takes_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert memdb("init").code == 0
    assert (tmp_path / ".memdb" / "config.toml").is_file()
    assert memdb("list").code == 0


def test_init_refuses_the_inside_of_a_store(tmp_path: Path) -> None:
    memdb("init", tmp_path)
    answer = memdb("init", tmp_path / ".memdb" / "inside")
    assert answer.code == 4
    assert answer.err.endswith("hint: Name another folder.\n")
    assert not (tmp_path / ".memdb" / "inside").exists()


NO_DOCUMENTS = {
    "added": 0,
    "changed": 0,
    "moved": 0,
    "unchanged": 0,
    "missing": 0,
    "removed": 0,
    "chunks": 0,
    "behind": 0,
    "failed": [],
    "skipped": [],
    "memories": 0,
    "notes": [],
}


def test_sync_json_has_the_fixed_shape(tmp_path: Path) -> None:
    root = write(tmp_path, user__a="Hello.", user__b="---\ntitle: Foo: bar\ntags: [\n---\nBroken.", user__c="Bye.")
    (root / "picture.png").write_bytes(b"\x89PNG")
    memdb("init", root)
    report = memdb("sync", "--root", root, "--json").json
    problems = report.pop("problems")
    assert report.pop("embedder") == "Embeddings are switched off."
    assert report == {
        "added": 3,
        "changed": 0,
        "removed": 0,
        "renamed": 0,
        "unchanged": 0,
        "embedded": 0,
        "pending": 3,
        "ignored": [{"path": "picture.png", "reason": "not a Markdown file"}],
        "documents": NO_DOCUMENTS,
    }
    assert problems
    assert all(set(problem) == {"path", "line", "reason"} for problem in problems)
    assert {problem["path"] for problem in problems} == {"user/b.md"}


def test_sync_for_people_lists_each_problem_with_its_line(tmp_path: Path) -> None:
    root = write(tmp_path, user__a="Hello.", user__b="---\nname: x\nname: y\n---\n")
    memdb("init", root)
    answer = memdb("sync", "--root", root)
    first, *rest = answer.out.splitlines()
    assert first == "2 added"
    assert any(line.startswith("  user/b.md:") for line in rest)
    assert "note: 2 texts not embedded: Embeddings are switched off.\n" in answer.err


def test_sync_refuses_when_most_files_are_gone(tmp_path: Path) -> None:
    root = make(tmp_path, **{f"user__n{number}": f"Note {number}." for number in range(6)})
    for number in range(5):
        (root / "user" / f"n{number}.md").unlink()
    refused = memdb("sync", "--root", root, "--json")
    assert (refused.code, refused.json["error"]["code"]) == (4, "refused")
    assert memdb("sync", "--root", root, "--yes", "--json").json["removed"] == 5


def test_rebuild(tmp_path: Path) -> None:
    root = make(tmp_path)
    before = memdb("digest", "--root", root).out
    answer = memdb("rebuild", "--root", root, "--json").json
    assert (answer["reason"], answer["salvaged"], answer["report"]["added"]) == ("asked for", 0, 2)
    assert memdb("digest", "--root", root).out == before
    assert memdb("rebuild", "--root", root).out.startswith("The database is built anew; 0 vectors taken over.\n")


def test_a_damaged_database_is_rebuilt_and_said(tmp_path: Path) -> None:
    root = make(tmp_path)
    (root / ".memdb" / "memory.db").write_bytes(b"no database at all" * 100)
    answer = memdb("list", "--root", root, "--json")
    assert answer.code == 0
    assert [memory["id"] for memory in answer.json["memories"]] == [
        "feedback/prefers-tables",
        "feedback/response-style",
    ]
    assert answer.err.startswith("note: the database was rebuilt from the files: ")


def test_digest_prints_the_digest_alone(tmp_path: Path) -> None:
    root = make(tmp_path)
    shape = memdb("digest", "--root", root, "--json").json
    assert set(shape) == {"digest", "vectors", "decisions", "tables"}
    assert memdb("digest", "--root", root).out == shape["digest"] + "\n"
    assert len(shape["digest"]) == 64


def test_stats_have_the_fixed_keys(tmp_path: Path) -> None:
    root = make(tmp_path)
    found = memdb("stats", "--root", root, "--json").json
    fixed = ("documents", "chunks", "entities", "tags", "clusters", "nodes", "edges", "vectors", "dims", "model")
    assert set(fixed) <= set(found)
    assert found["memories"] == 2
    assert found["tags"] == 1
    assert found["embedder"]["state"] == "off"
    assert found["database"] == str(root / ".memdb" / "memory.db")
    lines = memdb("stats", "--root", root).out.splitlines()
    assert lines[0].split() == ["memories", "2"]
    assert f"{'root'.ljust(16)}  {root}" in lines


def test_doctor_is_content_with_a_sound_store(tmp_path: Path) -> None:
    root = make(tmp_path)
    answer = memdb("doctor", "--root", root, "--json")
    assert answer.code == 0
    assert answer.json["ok"] is True
    assert all(set(finding) == {"check", "state", "detail", "hint", "repair"} for finding in answer.json["findings"])


def test_doctor_ends_with_1_when_a_check_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memdb.services.health import inspection
    from memdb.services.health.inspection import Finding

    root = make(tmp_path)
    torn = [Finding("pages", "error", "torn", "Run `memdb rebuild`.")]
    monkeypatch.setattr(inspection, "doctor", lambda _, **options: torn)
    answer = memdb("doctor", "--root", root)
    assert (answer.code, answer.out) == (1, "error   pages  torn\n               Run `memdb rebuild`.\n")
    assert memdb("doctor", "--root", root, "--json").json["ok"] is False


def test_doctor_repairs_what_it_finds(tmp_path: Path) -> None:
    root = make(tmp_path)
    with Store.init(root) as store:
        store._run(lambda context: context.database.connection.execute("delete from neighbor"))
    assert memdb("doctor", "--root", root).code == 1
    answer = memdb("doctor", "--fix", "--root", root)
    assert answer.code == 0
    assert answer.out.startswith("repaired  rebuilt the database from the files and the journal: neighbours\n")
    assert memdb("doctor", "--deep", "--root", root, "--json").json["repaired"] == []
    assert memdb("doctor", "--root", root).code == 0


def test_reembed_without_a_model(tmp_path: Path) -> None:
    answer = memdb("reembed", "--root", make(tmp_path), "--json")
    assert (answer.code, answer.json["error"]["code"]) == (7, "model_unavailable")


@pytest.mark.parametrize("before", [True, False])
def test_root_db_and_json_before_or_after_the_command(before: bool, tmp_path: Path) -> None:
    root, database = write(tmp_path / "notes", user__a="Hello."), tmp_path / "elsewhere.db"
    place = ("--root", root, "--db", database, "--json")

    def call(*words: str) -> object:
        return memdb(*place, *words).json if before else memdb(*words, *place).json

    assert call("init") == {"root": str(root), "database": str(database), "created": True}
    call("sync")
    assert database.stat().st_size > 0
    assert not (root / ".memdb" / "memory.db").exists()
    assert call("list") == {
        "memories": [
            {
                "id": "user/a",
                "type": "user",
                "name": "a",
                "description": "",
                "tags": [],
                "file": "user/a.md",
                "superseded_by": [],
            }
        ]
    }


def test_the_place_after_the_command_wins(tmp_path: Path) -> None:
    one, two = make(tmp_path / "one", user__a="A."), make(tmp_path / "two", user__b="B.")
    answer = memdb("--root", one, "list", "--root", two, "--json").json
    assert [memory["id"] for memory in answer["memories"]] == ["user/b"]


@pytest.mark.skipif(os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_folder(tmp_path: Path) -> None:
    root = make(tmp_path / "notes")
    root.chmod(0o000)
    try:
        assert memdb("sync", "--root", root).code == 5
    finally:
        root.chmod(0o755)
