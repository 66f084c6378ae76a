"""How a figure is taken: wall clocks, peaks of memory, and the row that it becomes."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MEGABYTE = 2**20


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. `value` and `against` are in `unit`; `ratio` is value by against, or value where there is no other.

    `size` is the number of `what` (chunks, memories, files, passages) that it was taken with, `goal` a limit of the
    ratio: an upper one, or, with `at_least`, a lower one.
    """

    figure: str
    size: int | None
    what: str
    value: float
    unit: str
    against: float | None
    baseline: str
    goal: float | None = None
    at_least: bool = False

    @property
    def ratio(self) -> float:
        return self.value / self.against if self.against else self.value

    @property
    def is_met(self) -> bool | None:
        """Whether the goal is reached; None where there is none."""
        if self.goal is None:
            return None
        return self.ratio >= self.goal if self.at_least else self.ratio <= self.goal

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"ratio": self.ratio, "is_met": self.is_met}


def seconds(call: Callable[[], object]) -> float:
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def median(call: Callable[[], object], repeat: int) -> float:
    """Median seconds of several calls, after one that is not counted."""
    call()
    return statistics.median(seconds(call) for _ in range(repeat))


def medians(one: Callable[[], object], other: Callable[[], object], repeat: int) -> tuple[float, float]:
    """Median seconds of two calls that take turns, so that a busy moment of the machine falls on both."""
    one()
    other()
    pairs = [(seconds(one), seconds(other)) for _ in range(repeat)]
    return statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)


def process(*arguments: str, cwd: Path | None = None, **environment: str) -> Callable[[], object]:
    """A whole process, from start to end."""

    def run() -> object:
        return subprocess.run(
            arguments, cwd=cwd, env=os.environ | environment, check=True, capture_output=True, stdin=subprocess.DEVNULL
        )

    return run


def peak_memory() -> float | None:
    """The most memory, in MiB, that this process has held at once; None where the system does not say.

    Linux's rusage of a child starts with what its parent held, so its own book is read there.
    """
    book = Path("/proc/self/status")
    if book.is_file():
        lines = book.read_text(encoding="ascii", errors="replace").splitlines()
        return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), None)
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / MEGABYTE if sys.platform == "darwin" else peak / 1024
