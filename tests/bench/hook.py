"""How long an agent waits for `memdb hook run` with a warm process: `python -m tests.bench.hook`.

The hook runs as an agent runs it, by the installed command. It takes turns with a bare Python that does nothing, so
that a busy moment of the machine falls on both: the ratio says what memdb adds. CPU seconds are those of the process
itself. With --json, one object comes, as from `tests.bench.scale`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import memdb
from memdb.base import asking, warm
from memdb.base.place import Place
from memdb.services.files.following import Followed
from memdb.serving import hook
from memdb.serving.server import Server
from memdb.store import Store
from memdb_cli import agents
from tests.bench.measuring import Row, seconds
from tests.bench.scale import HEAD, line
from tests.bench.synthetic import SyntheticEmbedder, write_memories

MEMORIES, RUNS = 10_000, 30

READY_SECONDS = 120.0
"""That the server may take until it is warm, and as long again until it follows the files."""

BARE = (sys.executable, "-c", "pass")


class Run(NamedTuple):
    """One process: the seconds that it was waited for, and those that it computed (None where nobody counts them)."""

    wall: float
    cpu: float | None
    out: bytes


def timed(arguments: Sequence[str], data: bytes) -> Run:
    """Run a process with some standard input."""
    said: list[bytes] = []
    before = _children()
    wall = seconds(lambda: said.append(subprocess.run(arguments, input=data, check=True, capture_output=True).stdout))
    after = _children()
    return Run(wall, None if before is None or after is None else after - before, said[0])


def _children() -> float | None:
    """The CPU seconds of all processes that this one started and that ended."""
    if sys.platform == "win32":
        return None
    import resource

    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def p95(values: Sequence[float]) -> float:
    """The value that nineteen of twenty do not exceed."""
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.95))]


def rows_of(place: Place, questions: Sequence[str], size: int, runs: int) -> Iterator[Row]:
    """The figures of one store that is served."""
    command = shlex.split(agents.command(place.root, None, serve=False))
    asked = [json.dumps({"prompt": question, "session_id": f"s{at}"}).encode() for at, question in enumerate(questions)]
    hooks, bare = [], []
    for at in range(runs + 1):
        ours, theirs = timed(command, asked[at % len(asked)]), timed(BARE, b"")
        if at:  # the first of each warms the caches of the system
            hooks.append(ours)
            bare.append(theirs)
    answered = sum(bool(run.out) for run in hooks)
    about = f"python -c pass, in turns; {answered} of {runs} with a block"
    row = partial(Row, size=size, what="memories", unit="s")
    median = statistics.median
    cpu = [[run.cpu for run in every if run.cpu is not None] for every in (hooks, bare)]
    if cpu[0]:
        yield row("hook, CPU, median", value=median(cpu[0]), against=median(cpu[1]), baseline=about, goal=1.5)
    walls = [[run.wall for run in every] for every in (hooks, bare)]
    yield row("hook, waited for, median", value=median(walls[0]), against=median(walls[1]), baseline=about)
    yield row("hook, waited for, p95", value=p95(walls[0]), against=p95(walls[1]), baseline=about)
    yield row("hook, p95", value=p95(walls[0]), against=0.1, baseline="100 ms on a quiet machine", goal=1.0)
    ask = partial(asking.ask, str(place.served), seconds=60)
    inside = [seconds(partial(ask, {"do": "hook", "data": data.decode()})) for data in asked[:runs]]
    yield row("asked over the socket, median", value=median(inside), against=None, baseline="within the server")


class SyntheticServer(Server):
    """A warm process whose model costs nothing. The event `watching` is set once it has read the files."""

    def __init__(self, place: Place) -> None:
        super().__init__(place, idle=0, watch=True)
        self.watching = threading.Event()

    def _note(self, event: Followed) -> None:
        super()._note(event)
        if event.kind == "watching":
            self.watching.set()

    def _opened(self) -> Store:
        super()._opened().close()
        return Store(self.place, SyntheticEmbedder())


def measure(base: Path, size: int, runs: int) -> Iterator[Row]:
    """Build a store, serve it from here, and measure."""
    root = base / "notes"
    questions = write_memories(root, size)
    embedder = SyntheticEmbedder()
    with Store.init(root, embedder=embedder) as store:
        store.sync()
        place = store.place
    server = SyntheticServer(place)
    server.start()
    serving = threading.Thread(target=server.run)
    serving.start()
    try:
        assert server._ready.wait(READY_SECONDS)
        assert server.watching.wait(READY_SECONDS)
        assert warm.read_info(place) is not None
        yield from rows_of(place, questions, size, runs)
    finally:
        server.stop()
        serving.join()
        server.close()
    yield cold_row(place, questions, size, max(3, runs // 6))


def cold_row(place: Place, questions: Sequence[str], size: int, runs: int) -> Row:
    """How long an agent waits where no process is warm: no longer than the hook's limit, whatever it then has."""
    command = shlex.split(agents.command(place.root, None, serve=False))
    asked = [json.dumps({"prompt": question}).encode() for question in questions[:runs]]
    done = [timed(command, data) for data in asked]
    about = f"its limit; {sum(bool(run.out) for run in done)} of {len(done)} with a block"
    longest = max(run.wall for run in done)
    return Row("hook cold, longest", size, "memories", longest, "s", hook.SECONDS, about, goal=1.1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench and print it."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.hook", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memories", type=int, default=MEMORIES)
    parser.add_argument("--runs", type=int, default=RUNS, help="processes of each kind")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    # An installed program is compiled once. Where that is forbidden, each run would be measured with the compiler.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory(prefix="memdb-bench-") as folder:
        os.environ["MEMDB_HOME"] = str(Path(folder) / "home")
        rows = list(measure(Path(folder), options.memories, options.runs))
    if options.json:
        about = {"version": memdb.__version__, "python": platform.python_version(), "system": platform.system()}
        print(json.dumps(about | {"rows": [row.as_json() for row in rows]}, indent=2))
    else:
        print(HEAD, *map(line, rows), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
