"""Inputs that broke other systems, by their kinds: each has tests by name, and what was given literally stands in them.

`inputs.toml` is the list. A test that is renamed or goes shows here.
"""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path

import pytest

from memdb.base.embedding import Embedder
from memdb.store import Store
from tests.conftest import write_files

TESTS = Path(__file__).parent
INPUTS = tomllib.loads((TESTS / "inputs.toml").read_text(encoding="utf-8"))


@cache
def source(file: str) -> str:
    return (TESTS / file).read_text(encoding="utf-8")


@cache
def names_in(file: str) -> frozenset[str]:
    found = ast.parse(source(file)).body
    return frozenset(node.name for node in found if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_number_is_listed() -> None:
    assert set(INPUTS) == {str(number) for number in range(1, 38)} | {"30a", "30b"}


@pytest.mark.parametrize("number", INPUTS)
def test_every_input_has_tests_by_name(number: str) -> None:
    tests = [test.split("::") for test in INPUTS[number]["tests"]]
    assert [(file, name) for file, name in tests if name not in names_in(file)] == []
    literals = INPUTS[number].get("literals", [])
    assert [literal for literal in literals if not any(literal in source(file) for file, _ in tests)] == []
    assert tests


DIGITS = {
    "project/port.md": "The lantern service listens on port 8443 behind the proxy.\n",
    "project/move.md": "In 2024 the ferry office moved to the north pier.\n",
    "project/third.md": "Version 3 of the gate firmware reads badges twice.\n",
}


@pytest.mark.parametrize(
    ("question", "memory"),
    [
        ("which service listens on 8443?", "project/port"),
        ("where did the ferry office move in 2024", "project/move"),
        ("what does version 3 of the gate firmware do", "project/third"),
        ("8443", "project/port"),
    ],
)
def test_a_question_with_a_digit_is_answered(tmp_path: Path, question: str, memory: str) -> None:
    write_files(tmp_path, DIGITS)
    with Store.init(tmp_path, embedder=Embedder(enabled=False)) as store:
        assert store.recall(question).hits[0].id == memory


def test_the_keyword_arm_does_not_read_every_text(tmp_path: Path) -> None:
    """Counted in steps of SQLite's machine: three texts have the words, however many do not."""
    steps = {}
    for number in (100, 1000):
        root = tmp_path / str(number)
        texts = {f"project/note-{at}.md": f"Plain words about the harbour, number {at}.\n" for at in range(number)}
        write_files(root, {**texts, **DIGITS})
        with Store.init(root, embedder=Embedder(enabled=False)) as store:
            store.sync()
            counted = 0

            def count() -> bool:
                nonlocal counted
                counted += 1
                return False

            connection = store._context.database.connection
            connection.set_progress_handler(count, 10)
            assert store.recall("gate firmware badges", sync_first=False, arms=("keyword",)).hits
            connection.set_progress_handler(None)
            steps[number] = counted
    assert steps[1000] < 1.5 * steps[100]
