"""Speed and size, as ratios within one run: `python -m tests.bench.scale [--memories N,M] [--repeat N] [--json]`.

Absolute times say more of the machine than of memdb; a ratio to something that everyone can run says what memdb adds.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import numpy as np

import memdb
from memdb.store import Store
from tests.bench.synthetic import DIMS, SyntheticEmbedder, write_memories

Row = dict[str, Any]


def seconds(call: Callable[[], object]) -> float:
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def median(call: Callable[[], object], repeat: int) -> float:
    """Median seconds of several calls, after one that is not counted."""
    call()
    return statistics.median(seconds(call) for _ in range(repeat))


def row(figure: str, value: float, against: float | None, goal: float | None, note: str = "") -> Row:
    """One line of the table; `ratio` is value by against."""
    ratio = value / against if against else value
    return {"figure": figure, "ratio": ratio, "goal": goal, "value": value, "against": against, "note": note}


def process(*arguments: str, cwd: Path | None = None, **environment: str) -> Callable[[], object]:
    """A whole process, from start to end."""

    def run() -> object:
        return subprocess.run(
            arguments, cwd=cwd, env=os.environ | environment, check=True, capture_output=True, stdin=subprocess.DEVNULL
        )

    return run


class Bench:
    """A store of `count` memories in a temporary folder, and what is measured on it."""

    def __init__(self, base: Path, count: int, repeat: int) -> None:
        self.count, self.repeat = count, repeat
        self.root = base / f"store-{count}"
        self.root.mkdir()
        self.questions = write_memories(self.root, count)
        self.embedder = SyntheticEmbedder()
        self.store = Store.init(self.root, embedder=self.embedder)  # type: ignore[arg-type]
        self.index_seconds = seconds(self.store.sync)
        self.recall_times: list[float] = []
        self.save_seconds = 0.0

    def rows(self) -> list[Row]:
        return [*self.recall(), *self.save(), self.no_op_sync(), self.rebuild(), self.size()]

    def vectors(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """All vectors of the store, by passage."""
        with apsw.Connection(str(self.store.place.database), flags=apsw.SQLITE_OPEN_READONLY) as connection:
            blobs = [blob for (blob,) in connection.execute("select vector from embedding order by text_sha256")]
        return np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), DIMS)

    def recall(self) -> list[Row]:
        """Warm recall, all arms and the cascade, against numpy's exact product over the same vectors."""
        matrix = self.vectors()
        questions = self.questions[: max(20, self.repeat)]
        for question in questions:  # warm
            self.store.recall(question, sync_first=False)
        self.recall_times = [
            seconds(lambda question=question: self.store.recall(question, sync_first=False)) for question in questions
        ]
        exact = []
        for question in questions:
            query = self.embedder.embed_query(question)
            exact.append(seconds(lambda query=query: np.argpartition(matrix @ query, -10)[-10:]))
        p50, p95 = statistics.median(self.recall_times), sorted(self.recall_times)[int(len(questions) * 0.95) - 1]
        base = statistics.median(exact)
        return [
            row(f"warm recall p50, {self.count}", p50, base, None, "against numpy's exact product"),
            row(f"warm recall p95, {self.count}", p95, base, None, "against numpy's exact product"),
            row(
                f"vector arm recall@10, {self.count}",
                self.vector_recall(matrix, questions),
                None,
                0.99,
                "of the exact ten",
            ),
        ]

    def vector_recall(self, matrix: np.ndarray[Any, np.dtype[np.float32]], questions: list[str]) -> float:
        """The share of the exact ten nearest that the vector arm finds."""
        found = []
        for question in questions:
            similarities = matrix @ self.embedder.embed_query(question)
            tenth = np.sort(similarities)[-10]
            answer = self.store.recall(question, arms=("vector",), hops=0, limit=10, sync_first=False)
            found.append(
                sum(hit.arms["vector"].similarity >= tenth - 1e-5 for hit in answer.hits if "vector" in hit.arms) / 10
            )
        return statistics.mean(found)

    def save(self) -> list[Row]:
        """One save, against writing the same bytes with fsync."""
        numbers = iter(range(10_000))

        def save() -> None:
            self.store.save(f"user/new-{next(numbers)}", "a few words on topic3 and [[note-5]]", tags=["t3"])

        def write() -> None:
            with (self.root / "plain.txt").open("wb") as out:
                out.write(b"a few words on topic3 and [[note-5]]")
                out.flush()
                os.fsync(out.fileno())

        self.save_seconds = median(save, max(9, self.repeat))
        return [
            row(
                f"one save, {self.count}",
                self.save_seconds,
                median(write, max(9, self.repeat)),
                None,
                "against one fsync",
            )
        ]

    def no_op_sync(self) -> Row:
        """A sync with nothing changed, against `git status` on the same tree."""
        self.store.sync()
        time.sleep(2.1)  # files younger than that are read again, by memdb as by git
        self.store.sync()
        ours = median(self.store.sync, max(5, self.repeat))
        git = ["git", "-c", "core.fsmonitor=false", "-c", "gc.auto=0"]
        process(*git, "init", "-q", cwd=self.root)()
        process(*git, "add", "-A", cwd=self.root)()
        theirs = median(process(*git, "status", "--porcelain", cwd=self.root), max(5, self.repeat))
        shutil.rmtree(self.root / ".git")
        return row(f"sync with nothing changed, {self.count}", ours, theirs, 2.0, "against git status")

    def rebuild(self) -> Row:
        """A rebuild with vectors salvaged, against inserting the same rows with executemany."""
        ours = seconds(self.store.rebuild)
        source = apsw.Connection(str(self.store.place.database), flags=apsw.SQLITE_OPEN_READONLY)
        tables = (
            "source",
            "node",
            "memory",
            "link",
            "link_key",
            "memory_key",
            "edge",
            "neighbor",
            "embedding",
            "passage",
        )
        contents = {table: source.execute(f"select * from {table}").fetchall() for table in tables}
        words = source.execute("select rowid, name, description, tags, body, parts from fts").fetchall()
        schema = [
            sql
            for (sql,) in source.execute(
                "select sql from sqlite_schema where type = 'table' and sql like 'create table%'"
            )
        ]
        source.close()
        target = apsw.Connection(str(self.root / "rows.db"))
        target.pragma("journal_mode", "wal")
        for statement in schema:
            if any(f"table {table} (" in statement.lower() for table in tables):
                target.execute(statement)
        target.execute(
            "create virtual table fts using fts5 (name, description, tags, body, parts, tokenize = 'porter unicode61')"
        )

        def insert() -> None:
            with target:
                for table, rows in contents.items():
                    if rows:
                        target.executemany(f"insert into {table} values ({', '.join('?' * len(rows[0]))})", rows)
                target.executemany(
                    "insert into fts (rowid, name, description, tags, body, parts) values (?, ?, ?, ?, ?, ?)", words
                )

        theirs = seconds(insert)
        target.close()
        for suffix in ("", "-wal", "-shm"):
            (self.root / f"rows.db{suffix}").unlink(missing_ok=True)
        return row(
            f"rebuild, vectors salvaged, {self.count}", ours, theirs, 3.0, "against executemany of the same rows"
        )

    def size(self) -> Row:
        """The file, against the raw vectors and texts."""
        text = sum(file.stat().st_size for file in self.root.rglob("*.md"))
        self.store.close()
        raw = text + self.vectors().nbytes
        return row(
            f"file size, {self.count}",
            self.store.place.database.stat().st_size,
            raw,
            2.5,
            "against raw vectors and text",
        )


def cold_rows(base: Path, repeat: int) -> list[Row]:
    """What a command costs from start to end."""
    command = [sys.executable, "-m", "memdb_cli"]
    rows = [
        row(
            "memdb --help",
            median(process(*command, "--help"), repeat),
            median(process(sys.executable, "-c", "import typer"), repeat),
            1.5,
            "against import typer",
        )
    ]
    root = base / "cold"
    write_memories(root, 50)
    with Store.init(root) as store:
        if store.sync().embedder:
            return rows  # no model here: nothing cold to measure
        model = store.stats()["embedder"]["model"]
    script = (
        "from fastembed import TextEmbedding; from memdb.base import models;"
        f" m = TextEmbedding({model!r}, specific_model_path=str(models.locate({model!r})), local_files_only=True);"
        " list(m.embed(['what of topic3']))"
    )
    rows.append(
        row(
            "cold memdb recall",
            median(process(*command, "recall", "what of topic3", "--root", str(root)), repeat),
            median(process(sys.executable, "-c", script), repeat),
            1.3,
            "against loading the model and embedding one question",
        )
    )
    peak = subprocess.run(
        [
            sys.executable,
            "-c",
            "import resource, sys; from memdb_cli.main import main;"
            f" main(['recall', 'what of topic3', '--root', {str(root)!r}]);"
            " print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)",
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    lines = peak.stderr.split()
    if lines and lines[-1].isdigit():
        rows.append(row("peak memory of a recall, MiB", int(lines[-1]) / 1024, None, 400, "model included"))
    return rows


def main() -> None:
    """Run the bench and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", default="1000,10000", help="sizes of the stores, with commas between")
    parser.add_argument("--repeat", type=int, default=15, help="runs of each measurement")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    sizes = sorted(int(part) for part in arguments.memories.split(","))
    with tempfile.TemporaryDirectory(prefix="memdb-bench-") as folder:
        base = Path(folder)
        os.environ["MEMDB_HOME"] = str(base / "home")
        rows: list[Row] = []
        benches = []
        for size in sizes:
            bench = Bench(base, size, arguments.repeat)
            rows += bench.rows()
            benches.append(bench)
        small, large = benches[0], benches[-1]
        if small is not large:
            growth = statistics.median(large.recall_times) / statistics.median(small.recall_times)
            step = large.count / small.count
            rows.append(row(f"growth of warm recall for {step:.0f} times the data", growth, None, 4.0))
            rows.append(
                row(
                    f"one save at {large.count} against one at {small.count}",
                    large.save_seconds,
                    small.save_seconds,
                    1.3,
                )
            )
        rows += cold_rows(base, max(3, arguments.repeat // 3))
    if arguments.json:
        print(json.dumps({"version": memdb.__version__, "rows": rows}, indent=2))
        return
    print(f"{'figure':48} {'ratio':>8} {'goal':>6}  {'measured':>10}")
    for line in rows:
        goal = f"{line['goal']:.2f}" if line["goal"] else "-"
        measured = f"{line['value'] * 1000:.1f} ms" if line["against"] and "size" not in line["figure"] else ""
        print(f"{line['figure']:48} {line['ratio']:8.2f} {goal:>6}  {measured:>10}  {line['note']}")


if __name__ == "__main__":
    main()
