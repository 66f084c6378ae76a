"""graph: the edges between nodes, for a person and as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli_support import make, memdb

pytestmark = pytest.mark.usefixtures("no_model")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEMDB_ROOT", str(tmp_path / "notes"))
    return make(tmp_path / "notes")


def edges(*words: str) -> list[list[str]]:
    return [line.split() for line in memdb("graph", *words).out.splitlines()[1:]]


def test_what_lies_around_a_memory_that_is_meant_by_its_name(root: Path) -> None:
    around = edges("prefers-tables")
    assert ["feedback/prefers-tables", "has_tag", "0.8", "tag:style"] in around
    assert all("feedback/prefers-tables" in (first, last) for first, _, _, last in around)
    assert len(edges("prefers-tables", "--hops", "2")) > len(around)
    assert edges("tag:style", "--kind", "memory", "--kind", "tag") == sorted(edges("tag:style"))


def test_json_is_that_of_the_library(root: Path) -> None:
    whole = memdb("graph", "--json").json
    assert set(whole) == {"nodes", "edges", "total", "truncated", "rollup", "around"}
    assert (whole["truncated"], whole["around"]) == (False, None)
    assert set(whole["edges"][0]) == {"source", "target", "kind", "predicate", "weight", "chunks"}


def test_what_was_just_written_is_there(root: Path) -> None:
    (root / "user").mkdir(exist_ok=True)
    (root / "user" / "new.md").write_text("See [[prefers-tables]].\n")
    assert ["user/new", "links_to", "0.7", "feedback/prefers-tables"] in edges("user/new")


def test_nothing_and_too_much_are_said(root: Path) -> None:
    assert memdb("graph", "--limit", "1").err.startswith("There are no edges.\nnote: 1 of ")
    memdb("save", "user/alone", "--body", "by itself")
    assert memdb("graph", "user/alone").err == "user/alone has no edges.\n"
    assert memdb("graph", "--kind", "book").code == 2
    assert memdb("graph", "--hops", "9").code == 2
    assert memdb("graph", "nowhere").code == 3
