"""Whole commands from start to end, and the real model at work: what memdb adds to what any program would pay."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memdb.base import models
from memdb.base.embedding import Embedder, Progress
from memdb.store import Store
from tests.bench.measuring import Row, medians, process, seconds
from tests.bench.synthetic import passage, write_memories, write_text

Vector = NDArray[np.float32]

COMMAND = (sys.executable, "-m", "memdb_cli")

QUESTION = "what of topic3"

MEMORY_GOAL = 400, 100_000
"""MiB that a recall may hold, of so many texts at most."""

SMALL = 50
"""Memories of the store that a cold start is measured on where no other is asked for."""

ONE_QUESTION = """
from fastembed import TextEmbedding
model = TextEmbedding({model!r}, specific_model_path={folder!r}, cache_dir={folder!r}, local_files_only=True)
list(model.embed([{question!r}]))
"""

RECALL_AND_WATCH = """
import sys
from memdb_cli.main import run
from tests.bench.measuring import peak_memory
run(["recall", {question!r}, "--root", {root!r}])
print(peak_memory(), file=sys.stderr)
"""


def help_row(repeat: int) -> Row:
    """`memdb --help`, against importing what it is written with."""
    ours, theirs = medians(process(*COMMAND, "--help"), process(sys.executable, "-c", "import typer"), repeat)
    return Row("memdb --help", None, "", ours, "s", theirs, "import typer", goal=1.5)


def has_model() -> bool:
    """Whether there is a model on this machine."""
    return Embedder().status.state != "off"


def small_store(base: Path) -> Path:
    """A store of few memories, embedded by the real model."""
    root = base / "cold"
    write_memories(root, SMALL)
    with Store.init(root) as store:
        store.sync()
    return root


def cold_rows(root: Path, size: int, what: str, repeat: int) -> list[Row]:
    """A recall of a process that starts for it, and the most memory that it holds."""
    model = Embedder().card.id
    script = ONE_QUESTION.format(model=model, folder=str(models.locate(model)), question=QUESTION)
    ours, theirs = medians(
        process(*COMMAND, "recall", QUESTION, "--root", str(root)), process(sys.executable, "-c", script), repeat
    )
    baseline = "loading the model and embedding one question"
    rows = [Row("cold memdb recall", size, what, ours, "s", theirs, baseline, goal=1.3)]
    run = subprocess.run(
        [sys.executable, "-c", RECALL_AND_WATCH.format(question=QUESTION, root=str(root))],
        check=True,
        capture_output=True,
        text=True,
    )
    peak = run.stderr.split()[-1]
    if peak != "None":
        goal = MEMORY_GOAL[0] if size <= MEMORY_GOAL[1] else None
        rows.append(Row("peak memory of a recall", size, what, float(peak), "MiB", None, "model included", goal=goal))
    return rows


class TimedEmbedder(Embedder):
    """Counts the time that the model takes for passages."""

    seconds = 0.0

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Iterator[Vector]:
        vectors = super().embed_passages(texts, progress)
        while True:
            start = time.perf_counter()
            vector = next(vectors, None)
            self.seconds += time.perf_counter() - start
            if vector is None:
                return
            yield vector


def ingest_row(base: Path, count: int) -> Row:
    """Passages a second of adding a JSONL file, against the embedder alone on the same texts, in the same run.

    Two runs, one after the other, would tell more of what else the machine did meanwhile.
    """
    embedder = TimedEmbedder()
    embedder.embed_query(QUESTION)  # loads the model
    file = base / "ingested" / "passages.jsonl"
    write_text(
        file, "".join(json.dumps({"id": str(number), "text": passage(number)}) + "\n" for number in range(count))
    )
    with Store.init(base / "ingest", embedder=embedder) as store:
        taken = seconds(partial(store.add, [file]))
        done = int(store.stats()["vectors"])
    return Row(
        figure="ingest",
        size=done,
        what="passages",
        value=done / taken,
        unit="per second",
        against=done / embedder.seconds,
        baseline="the embedder alone on the same texts",
        goal=0.9,
        at_least=True,
    )
