"""Speed and size, as ratios within one run: `python -m tests.bench.scale [--chunks N,M] [--memories N,M] [--json]`.

Absolute times say more of the machine than of memdb; a ratio to something that everyone can run says what memdb adds.
A figure decides no test: it is printed with its goal.

With --chunks, stores of documents of these sizes are built; then, unless their options say 0, folders of many files and
the real model are measured too. With --memories, stores of memories. With --json, one object comes: `version`,
`python`, `system`, and `rows`, a flat list of figures, each with

- `figure`, `size` and `what`: its name, and how many chunks, memories or files it was taken with (null: none);
- `value`, `against` and `unit`: what was measured, and what it is held against (null: nothing), which `baseline` names;
- `ratio`: value by against; where there is no other, the value;
- `goal`, `at_least` and `is_met`: the limit of the ratio (null: none), whether it is a lower one, whether it is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import memdb
from tests.bench import commands, folders
from tests.bench.measuring import Row
from tests.bench.stores import ChunkBench, StoreBench

FILES, FOLDER, PASSAGES = 10_000, 6_000, 300

COLD_SHARE = 3
"""A process is started so many times less often than other calls are made: it takes seconds."""

LEAST_STARTS = 3


def store_rows(base: Path, kind: type[StoreBench], sizes: Sequence[int], repeat: int, *, cold: bool) -> Iterator[Row]:
    """The figures of stores of one kind, and how they grow."""
    benches: list[StoreBench] = []
    for size in sizes:
        progress(f"{size} {kind.what}")
        bench = kind(base, size, repeat)
        yield from bench.rows()
        if cold:
            yield from commands.cold_rows(bench.root, size, kind.what, starts(repeat))
        bench.discard()
        benches.append(bench)
    for small, large in pairwise(benches):
        yield from large.growth(small)
    if len(benches) > 2:
        yield benches[-1].save_growth(benches[0])


def starts(repeat: int) -> int:
    """How often a process is started."""
    return max(LEAST_STARTS, repeat // COLD_SHARE)


def progress(text: str) -> None:
    """Say on the terminal what is being measured; the table and the JSON go to standard output."""
    print(f"… {text}", file=sys.stderr, flush=True)


def sizes_of(text: str) -> list[int]:
    """Sizes with commas between, in order."""
    return sorted(int(part) for part in text.split(",") if part)


def measure(base: Path, options: argparse.Namespace) -> Iterator[Row]:
    """All figures that were asked for, each as soon as it was taken: a large store takes a while."""
    repeat, has_model = options.repeat, commands.has_model()
    yield from store_rows(base, StoreBench, options.memories, repeat, cold=False)
    yield from store_rows(base, ChunkBench, options.chunks, repeat, cold=has_model)
    if options.files:
        progress(f"a sync of {options.files} files")
        yield from folders.no_op_sync(base, options.files, repeat)
    if options.folder:
        progress(f"a folder of {options.folder} files")
        yield from folders.memory_over_a_folder(base, options.folder)
    if options.passages and has_model:
        progress(f"ingest of {options.passages} passages")
        yield commands.ingest_row(base, options.passages)
    progress("commands")
    yield commands.help_row(starts(repeat))
    if has_model and not options.chunks:
        yield from commands.cold_rows(commands.small_store(base), commands.SMALL, "memories", starts(repeat))


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line; without sizes, memories are measured."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.scale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chunks", type=sizes_of, default=[], help="sizes of stores of documents, with commas between")
    parser.add_argument("--memories", type=sizes_of, default=[], help="sizes of stores of memories")
    parser.add_argument("--files", type=int, help=f"files of a sync with nothing changed ({FILES} with --chunks)")
    parser.add_argument("--folder", type=int, help=f"files of a folder that is added ({FOLDER} with --chunks)")
    parser.add_argument("--passages", type=int, help=f"passages for the real model ({PASSAGES} with --chunks)")
    parser.add_argument("--repeat", type=int, default=15, help="runs of each measurement")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    if not options.chunks and not options.memories:
        options.memories = [1_000, 10_000]
    for name, default in (("files", FILES), ("folder", FOLDER), ("passages", PASSAGES)):
        if getattr(options, name) is None:
            setattr(options, name, default if options.chunks else 0)
    return options


HEAD = f"{'figure':38} {'of':>20} {'ratio':>8} {'goal':>7}    {'measured':>15}  against"


def line(row: Row) -> str:
    """A figure as a line of the table."""
    of = "" if row.size is None else f"{row.size} {row.what}"
    goal = "" if row.goal is None else f"{'>=' if row.at_least else '<='}{row.goal:g}"
    mark = {True: "ok", False: "no", None: ""}[row.is_met]
    return f"{row.figure:38} {of:>20} {row.ratio:8.2f} {goal:>7} {mark:>2} {measured(row):>15}  {row.baseline}"


def measured(row: Row) -> str:
    """A value with its unit, as people say it."""
    if row.unit == "s":
        return f"{row.value * 1000:.1f} ms"
    if row.unit == "bytes":
        return f"{row.value / 1e6:.1f} MB"
    return f"{row.value:.3g} {row.unit}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench and print it."""
    options = parse(arguments)
    rows: list[Row] = []
    if not options.json:
        print(HEAD)
    with tempfile.TemporaryDirectory(prefix="memdb-bench-") as folder:
        base = Path(folder)
        os.environ["MEMDB_HOME"] = str(base / "home")
        for row in measure(base, options):
            rows.append(row)
            if not options.json:
                print(line(row), flush=True)
    if options.json:
        about = {"version": memdb.__version__, "python": platform.python_version(), "system": platform.system()}
        print(json.dumps(about | {"rows": [row.as_json() for row in rows]}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
