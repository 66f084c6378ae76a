"""demo: the newcomer's first minute; model: which one there is and which one is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from memdb.base import models
from memdb_cli.commands import demo
from tests.cli_support import make, memdb


def first(recalls: list[dict[str, object]], number: int) -> object:
    hits = recalls[number]["hits"]
    assert isinstance(hits, list)
    return hits[0]["id"]


def check_recalls(recalls: list[dict[str, object]]) -> None:
    """A direct hit, texts that are reached through what they mention, an old note that gives way."""
    assert [recall["query"] for recall in recalls] == [question for _, question in demo.QUESTIONS]
    assert first(recalls, 0) == "feedback/prefers-tables"
    assert first(recalls, 1) == "episode/2026-03-outage"
    assert first(recalls, 2) == "project/staging-database"
    by_walk = [hit for recall in recalls for hit in recall["hits"] if not hit["arms"]]  # type: ignore[attr-defined]
    edges = {hop["edge"] for hit in by_walk for hop in hit["path"]}
    assert {"mentions", "about"} <= edges
    old = {hit["id"]: hit for hit in recalls[2]["hits"]}["project/staging-on-sqlite"]  # type: ignore[attr-defined]
    assert old["superseded_by"] == ["project/staging-database"]


def test_the_demo_without_a_model(no_model: None, tmp_path: Path) -> None:
    shape = memdb("demo", "--keep", tmp_path / "sample", "--json").json
    assert shape["embedder"]["state"] == "off"
    assert (shape["sync"]["added"], shape["sync"]["problems"]) == (12, [])
    check_recalls(shape["recalls"])


@pytest.mark.model
def test_the_demo_with_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastembed")
    monkeypatch.setenv("MEMDB_DB", str(tmp_path / "mine.db"))  # the demo never touches a store of the person's
    answer = memdb("demo", "--keep", tmp_path / "sample", "--json")
    assert (answer.code, answer.err) == (0, "")
    assert answer.json["sync"]["embedded"] == 12
    check_recalls(answer.json["recalls"])
    assert not (tmp_path / "mine.db").exists()


def test_what_the_demo_shows(no_model: None, tmp_path: Path) -> None:
    root = tmp_path / "my sample"
    answer = memdb("demo", "--keep", root)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(
        f"12 sample memories are in {root}\nIndexed without a model: recall uses keywords and the graph.\n"
    )
    assert answer.out.count("$ memdb recall ") == 3
    assert "   superseded by project/staging-database\n" in answer.out
    assert f'memdb --root "{root}" show staging-database\n' in answer.out
    assert memdb("show", "staging-database", "--root", root).code == 0
    assert memdb("links", "--unresolved", "--root", root, "--json").json == {"links": []}


def test_the_demo_makes_a_fresh_folder(no_model: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    one, two = memdb("demo", "--json").json["root"], memdb("demo", "--json").json["root"]
    assert one != two
    assert Path(one).parent == tmp_path.resolve()


def test_the_demo_never_mixes_with_files(no_model: None, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    answer = memdb("demo", "--keep", tmp_path)
    assert (answer.code, answer.out) == (4, "")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


# model


def test_model_list(tmp_path: Path) -> None:
    listed = memdb("model", "list", "--root", tmp_path, "--json").json["models"]
    assert [model["id"] for model in listed] == [card.id for card in models.catalogue()]
    assert set(listed[0]) >= {"id", "dims", "size_mb", "description", "bundled", "path", "used", "problem"}
    used = [model["id"] for model in listed if model["used"]]
    assert used == ([models.default_model()] if models.default_model() else [])
    lines = memdb("model", "list", "--root", tmp_path).out.splitlines()
    assert lines[2].split() == ["BAAI/bge-small-en-v1.5", "384", "dims", "67", "MB"]
    assert lines[3].startswith("    English. ")


@pytest.mark.model
def test_model_path_prints_the_folder(tmp_path: Path) -> None:
    pytest.importorskip("fastembed")
    folder = Path(memdb("model", "path", "all-MiniLM-L6-v2", "--root", tmp_path).out.strip())
    assert folder.is_dir()
    answer = memdb("model", "pull", "all-MiniLM-L6-v2", "--json")  # nothing to fetch
    assert answer.json == {"model": models.BUNDLED, "path": str(folder)}


def test_model_path_of_a_model_that_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "locate", lambda _: None)
    answer = memdb("model", "path", "bge-small-en-v1.5", "--root", tmp_path, "--json")
    assert (answer.code, answer.json["error"]["code"]) == (7, "model_unavailable")
    assert "memdb model pull BAAI/bge-small-en-v1.5" in answer.json["error"]["hint"]


@pytest.mark.model
def test_a_model_is_switched_off_and_on(tmp_path: Path) -> None:
    pytest.importorskip("fastembed")
    root = make(tmp_path)
    assert memdb("model", "use", "off", "--root", root, "--json").json == {"model": None, "embedded": 0}
    assert memdb("stats", "--root", root, "--json").json["embedder"]["state"] == "off"
    assert not any(model["used"] for model in memdb("model", "list", "--root", root, "--json").json["models"])
    assert memdb("model", "path", "--root", root).code == 7
    back = memdb("model", "use", "all-MiniLM-L6-v2", "--root", root, "--json").json
    # Nothing is computed twice: the vectors are still there.
    assert back == {"model": models.BUNDLED, "embedded": 0}
    refused = memdb("model", "use", "no-such-model", "--root", root)
    assert refused.code == 7
    assert memdb("stats", "--root", root, "--json").json["embedder"]["model"] == models.BUNDLED


@pytest.mark.model
def test_reembed_goes_on_where_a_sync_left_off(tmp_path: Path) -> None:
    pytest.importorskip("fastembed")
    root = make(tmp_path)
    memdb("save", "user/new", "--body", "Not embedded yet.", "--root", root)
    assert memdb("sync", "--no-embed", "--root", root, "--json").json["pending"] == 1
    answer = memdb("reembed", "--root", root, "--json").json
    assert (answer["embedded"], answer["pending"]) == (1, 0)
    assert memdb("reembed", "--root", root).out == "0 texts embedded, 0 texts waiting.\n"


def test_pull_reports_what_arrives(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def pull(model: str, progress: object) -> Path:
        assert callable(progress)
        progress(1, 2)
        seen.append((1, 2))
        return tmp_path / model

    monkeypatch.setattr(models, "pull", pull)
    answer = memdb("model", "pull", "bge-small-en-v1.5")
    assert answer == (0, f"{tmp_path / 'BAAI/bge-small-en-v1.5'}\n", "next: memdb model use BAAI/bge-small-en-v1.5\n")
    assert seen == [(1, 2)]
