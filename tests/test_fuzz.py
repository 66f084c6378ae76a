"""Random input at every door: a little with every run, more with the long tests, and what was found as cases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.bench.faults import doors, fuzz
from tests.bench.faults.doors import DEEP, Door

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

SEED = 20260101

CASES: list[tuple[str, Any]] = [
    # door and input, as they were found
    ("hook", b"[" * DEEP),
    ("hook", b'{"prompt": ' + b"[" * DEEP),
    ("journal", ["[" * DEEP]),
    ("journal", ['{"a":' * DEEP]),
    ("http", ("POST", "/memory/undo", "", {})),
    ("http", ("POST", "/memory/undo", "", b"[" * DEEP)),
    ("http", ("GET", "/memory/entities/user/m0", "", {})),
    ("mcp", ("recall", {"arguments": "{" + '"a":' * DEEP})),
]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Door]]:
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("MEMDB_EMBEDDER", "off")
        yield {door.name: door for door in doors.opened(tmp_path_factory.mktemp("fuzz"), stack)}


def test_every_door_is_there(found: dict[str, Door]) -> None:
    assert tuple(found) == doors.DOORS


@pytest.mark.parametrize("door", doors.DOORS)
def test_random_input_keeps_every_promise(found: dict[str, Door], door: str) -> None:
    examples = 3 if door == "journal" else 10
    done = fuzz.search(found[door], start=SEED, examples=examples, rounds=1)
    assert done.failure is None, done.failure
    assert done.executions >= examples


@pytest.mark.slow
@pytest.mark.parametrize("door", doors.DOORS)
def test_more_random_input_keeps_every_promise(found: dict[str, Door], door: str) -> None:
    done = fuzz.search(found[door], start=SEED + 1, examples=30 if door == "journal" else 200, rounds=1)
    assert done.failure is None, done.failure


@pytest.mark.parametrize(("door", "value"), CASES, ids=[f"{door}-{number}" for number, (door, _) in enumerate(CASES)])
def test_what_was_found(found: dict[str, Door], door: str, value: Any) -> None:
    found[door].enter(value)


def test_a_failure_is_told_with_its_smallest_input(found: dict[str, Door]) -> None:
    def short(text: str) -> None:
        assert len(text) < 5

    done = fuzz.search(Door("short", doors.TEXT, short), start=SEED, rounds=5)
    assert done.failure is not None
    assert done.failure.startswith("short raised AssertionError")
