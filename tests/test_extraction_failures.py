"""Texts that a model failed to read: the view, the command and the method say how often, why, and what comes next."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from memdb.services.extraction.extraction_plans import MOST_TRIES
from memdb.store import Store
from tests.answer_support import Answered
from tests.cli_support import memdb

VIEW = Path(__file__).parents[1] / "sql" / "views" / "extraction_failures.sql"

TEXTS = {"user/a.md": "Ines Okafor sails.\n", "user/b.md": "Vera Lund sings.\n", "user/c.md": "Nils Aas swims.\n"}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Answered]:
    world = Answered(tmp_path / "root", TEXTS)
    with world.store._context.database.write() as connection:
        for memory, times, reason in (("user/a", 1, "no answer"), ("user/b", MOST_TRIES, "broken answer")):
            digest = connection.execute(
                "select text_sha256 from memory join node using (id) where key = ?", (memory,)
            ).get
            connection.execute("insert into failure values (?, 'p', 'tiny', ?, ?)", (digest, times, reason))
    yield world
    world.store.close()


def test_what_the_view_shows(world: Answered) -> None:
    shown = "select id, model, prompt_sha256, times, reason, indexed_at, state from extraction_failures order by id"
    assert world.rows(shown) == [
        ("user/a", "tiny", "p", 1, "no answer", None, "tried again"),
        ("user/b", "tiny", "p", MOST_TRIES, "broken answer", None, "given up"),
    ]
    world.put("user/a", {"entities": [], "relations": []})
    assert [row[6] for row in world.rows(shown)] == ["read since", "given up"]


def test_the_view_has_the_number_of_the_runs() -> None:
    assert re.search(rf"failure\.times >= {MOST_TRIES} then 'given up'", VIEW.read_text(encoding="utf-8"))


def test_what_failed_and_is_not_read_yet(world: Answered) -> None:
    store: Store = world.store
    assert [(one.id, one.times, one.state) for one in store.runs.failures()] == [
        ("user/b", MOST_TRIES, "given up"),
        ("user/a", 1, "tried again"),
    ]
    world.put("user/b", {"entities": [], "relations": []})
    assert [one.id for one in store.runs.failures()] == ["user/a"]


def test_the_command_says_it_below_the_runs(world: Answered) -> None:
    world.store.close()
    said = memdb("runs", "--root", str(world.root)).err.splitlines()
    assert said[1:] == [
        "note: user/b failed 3 times (broken answer); given up: `memdb index --rebuild` tries it again.",
        "note: user/a failed once (no answer); the next run tries it again.",
    ]
    shown = memdb("runs", "--root", str(world.root), "--json").out
    assert [one["id"] for one in json.loads(shown)["failures"]] == ["user/b", "user/a"]
