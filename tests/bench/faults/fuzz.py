"""Random input at every door: parsers, the question, importers, HTTP and MCP.

`python -m tests.bench.faults --only fuzz --seconds 600` searches for ten minutes a door. `python -m
tests.bench.faults.fuzz DOOR --atheris` lets the coverage-guided fuzzer of the package `atheris` choose, until Ctrl-C.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.bench.faults import doors
from tests.bench.faults.doors import Door
from tests.bench.faults.trials import Asked, Found

ROUND = 100
"""Inputs of one search; the next starts elsewhere."""

QUICK_SECONDS, SECONDS = 4.0, 60.0
"""For each door, unless said."""


@dataclass
class Search:
    """What one door was given: how many inputs, and the smallest that failed, with what it raised."""

    executions: int = 0
    failure: str | None = None


def search(
    door: Door, *, start: int, examples: int = ROUND, rounds: int | None = None, seconds: float | None = None
) -> Search:
    """Try a door with random input, for a number of rounds of so many examples or a time, until something fails."""
    done, last = Search(), ""
    until = time.monotonic() + seconds if seconds is not None else None
    number = 0
    while done.failure is None and (rounds is None or number < rounds):
        if until is not None and time.monotonic() >= until:
            break

        @seed(start + number)
        @settings(
            max_examples=examples,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            print_blob=False,
            report_multiple_bugs=False,
        )
        @given(door.inputs)
        def one(value: Any) -> None:
            nonlocal last
            done.executions += 1
            try:
                door.enter(value)
            except BaseException:
                last = repr(value)
                raise

        try:
            one()
        except Exception as error:  # noqa: BLE001 - whatever it raises is the find, and is reported
            done.failure = f"{door.name} raised {type(error).__name__}: {str(error)[:300]} for {last[:600]}"
        number += 1
    return done


def run(asked: Asked) -> Found:
    """Search at every door; figures are inputs tried."""
    found = Found()
    seconds = asked.seconds if asked.seconds is not None else (QUICK_SECONDS if asked.quick else SECONDS)
    with ExitStack() as stack:
        for door in doors.opened(asked.folder, stack):
            done = search(door, start=asked.seed, seconds=seconds)
            found.count(f"inputs at {door.name}", done.executions)
            found.count("inputs", done.executions)
            if done.failure:
                found.failures.append(done.failure)
    return found


def guided(door: Door, arguments: list[str]) -> None:
    """Let atheris choose the input: it watches which branches are taken. Ends with the process."""
    atheris = import_module("atheris")

    @settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(door.inputs)
    def one(value: Any) -> None:
        door.enter(value)

    feed: Callable[[bytes], bytes | None] = one.hypothesis.fuzz_one_input  # type: ignore[attr-defined]
    atheris.instrument_all()
    atheris.Setup([sys.argv[0], *arguments], feed)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.faults.fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("door", choices=doors.DOORS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--atheris", action="store_true", help="guided by coverage; further options go to libFuzzer")
    given_, more = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="memdb-fuzz-") as folder, ExitStack() as stack:
        door = next(door for door in doors.opened(Path(folder), stack) if door.name == given_.door)
        if given_.atheris:
            guided(door, more)
        done = search(door, start=given_.seed, seconds=given_.seconds)
    print(f"{done.executions} inputs at {door.name}")
    print(done.failure or "no failure")
    return 1 if done.failure else 0


if __name__ == "__main__":
    sys.exit(main())
