"""What becomes of a store under faults: `python -m tests.bench.faults [--quick] [--json] [--only crash,corruption]`.

Prints the figures of every kind of fault and all failures; ends with 1 where there was one. Not for Windows: trials are
forks.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.faults import scripted, trials
from tests.bench.faults.registry import KINDS, kind
from tests.bench.faults.trials import Asked, Found


def measured(name: str, asked: Asked) -> Found:
    """Run one kind, with the time that it took among its figures."""
    started = time.monotonic()
    asked.folder.mkdir(parents=True, exist_ok=True)
    found = kind(name)(asked)
    found.figures["seconds"] = round(time.monotonic() - started, 1)
    found.figures["failures"] = len(found.failures)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.faults", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="samples; below ten minutes on two cores")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", default=",".join(KINDS), help="kinds, with commas between: " + ", ".join(KINDS))
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="trials at once")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--seconds", type=float, help="of load")
    parser.add_argument("--log", type=Path, help="a file to which failures are written as they happen")
    given = parser.parse_args()
    names = [name for name in given.only.split(",") if name]
    for name in names:
        if name not in KINDS:
            parser.error(f"{name} is no kind of fault; there are {', '.join(KINDS)}")
    if sys.platform == "win32":
        parser.error("trials are forks of a process, which Windows does not have")
    results: dict[str, Found] = {}
    with (
        tempfile.TemporaryDirectory(prefix="memdb-faults-", dir=trials.scratch(), ignore_cleanup_errors=True) as folder,
        scripted.endpoint(Path(folder)),
    ):
        for name in names:
            results[name] = measured(
                name, Asked(given.quick, Path(folder) / name, given.jobs, given.seed, given.seconds, given.log)
            )
            if not given.json:
                shown(name, results[name])
    if given.json:
        print(json.dumps({name: {"figures": one.figures, "failures": one.failures} for name, one in results.items()}))
    return 1 if any(found.failures for found in results.values()) else 0


def shown(name: str, found: Found) -> None:
    """Print the figures of one kind."""
    print(name)
    for figure, value in found.figures.items():
        print(f"  {value!s:>10}  {figure}")
    for failure in found.failures:
        print(f"  FAILED: {failure}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
