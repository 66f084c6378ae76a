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

With --keep DIR, the stores and what was measured stay there: a run that was broken off goes on where it was, and once
DIR/figures.json is deleted the next one measures the same stores again. With --write, the figures go into `speed.json`
beside this file, and SPEED.md and the plot of growth are made from them. Of a million chunks no rebuild is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import memdb
from tests.bench import commands, folders, scale_tables
from tests.bench.measuring import Row
from tests.bench.stores import ChunkBench, StoreBench, growth_rows

FILES, FOLDER, PASSAGES = 10_000, 6_000, 300

COLD_SHARE = 3
"""A process is started so many times less often than other calls are made: it takes seconds."""

LEAST_STARTS = 3


FIGURES = "figures.json"
"""What was measured so far, by its part, where --keep says."""

Part = tuple[str, Callable[[], Iterable[Row]]]
"""A name that says all of what is measured, and how."""


def store_rows(
    base: Path, kind: type[StoreBench], size: int, options: argparse.Namespace, *, cold: bool
) -> Iterator[Row]:
    """The figures of one store."""
    bench = kind(base, size, options.repeat)
    yield from bench.rows()
    if cold:
        yield from commands.cold_rows(bench.root, size, kind.what, starts(options.repeat))
    bench.store.close()
    if options.keep is None:
        bench.discard()


def starts(repeat: int) -> int:
    """How often a process is started."""
    return max(LEAST_STARTS, repeat // COLD_SHARE)


def progress(text: str) -> None:
    """Say on the terminal what is being measured; the table and the JSON go to standard output."""
    print(f"… {text}", file=sys.stderr, flush=True)


def sizes_of(text: str) -> list[int]:
    """Sizes with commas between, in order."""
    return sorted(int(part) for part in text.split(",") if part)


def parts(base: Path, options: argparse.Namespace) -> Iterator[Part]:
    """All that was asked for."""
    repeat, has_model = options.repeat, commands.has_model()
    for kind, sizes in ((StoreBench, options.memories), (ChunkBench, options.chunks)):
        cold = has_model and kind is ChunkBench
        for size in sizes:
            yield f"{size} {kind.what}", partial(store_rows, base, kind, size, options, cold=cold)
    if options.files:
        yield f"a sync of {options.files} files", partial(folders.no_op_sync, base, options.files, repeat)
    if options.folder:
        yield f"a folder of {options.folder} files", partial(folders.memory_over_a_folder, base, options.folder)
    if options.passages and has_model:
        yield f"ingest of {options.passages} passages", lambda: [commands.ingest_row(base, options.passages)]
    yield "commands", lambda: [commands.help_row(starts(repeat))]
    if has_model and not options.chunks:
        small = partial(commands.small_store, base)
        yield "a cold start", lambda: commands.cold_rows(small(), commands.SMALL, "memories", starts(repeat))


def measure(base: Path, options: argparse.Namespace) -> Iterator[Row]:
    """All figures that were asked for, each as soon as it was taken: a large store takes a while.

    What was measured before, in a folder that is kept, is taken from there.
    """
    kept = base / FIGURES
    known: dict[str, list[dict[str, Any]]] = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
    done: list[Row] = []
    for name, take in parts(base, options):
        if name in known:
            rows: Iterable[Row] = [row_of(said) for said in known[name]]
        else:
            progress(name)
            rows = take()
        taken = []
        for row in rows:
            taken.append(row)
            yield row
        known[name] = [row.as_json() for row in taken]
        if options.keep is not None:
            kept.write_text(json.dumps(known, indent=1), encoding="utf-8")
        done += taken
    for what in (StoreBench.what, ChunkBench.what):
        yield from growth_rows([row for row in done if row.what == what])


def row_of(said: dict[str, Any]) -> Row:
    """A row as it was kept."""
    return Row(**{field.name: said[field.name] for field in fields(Row)})


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
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep stores and figures, and go on from them")
    parser.add_argument("--write", action="store_true", help=f"make {scale_tables.PAGE} and its plot anew")
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
    with ExitStack() as stack:
        base = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memdb-bench-")))
        base = base.absolute()
        base.mkdir(parents=True, exist_ok=True)
        os.environ["MEMDB_HOME"] = str(base / "home")
        for row in measure(base, options):
            rows.append(row)
            if not options.json:
                print(line(row), flush=True)
    about = {"version": memdb.__version__, "python": platform.python_version(), "system": platform.system()}
    said = about | {"rows": [row.as_json() for row in rows]}
    if options.json:
        print(json.dumps(said, indent=2))
    if options.write:
        scale_tables.write(said)
    return 0


if __name__ == "__main__":
    sys.exit(main())
