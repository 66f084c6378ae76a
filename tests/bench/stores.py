"""Stores of one size: what a recall, a save and a rebuild cost there, and how large the file is."""

from __future__ import annotations

import json
import math
import os
import shutil
import statistics
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from memdb.base.embedding import Embedder
from memdb.store import Store
from tests.bench.measuring import Row, medians, seconds
from tests.bench.synthetic import DIMS, SyntheticEmbedder, write_documents, write_memories

Matrix = np.ndarray[Any, np.dtype[np.float32]]

NEAREST = 10
"""Of a question, the vector arm is to find so many of the nearest passages."""

ROUNDING = 1e-5
"""Two ways to add up float32 products differ by less."""

WORTH_MEASURING = 1_000
"""Below this size a file is mostly the first page of each of its tables."""

WARM_GOALS = {1_000_000: 0.5, 100_000: 1.0}
"""What a warm recall may take of numpy's time from so many texts on."""

MOST_REBUILT = 200_000
"""Of a larger store no rebuild is measured: what it is held against has all rows in memory."""

LEAST_QUESTIONS = 20
LEAST_SAVES = 9

ORDINARY_TABLES = """select name, (select group_concat('"' || name || '"') from pragma_table_info(tables.name))
from pragma_table_list as tables
where schema = 'main' and type = 'table' and name not like 'sqlite_%' and name not like 'vec_passage%' order by name"""
"""With their columns, but for those that SQLite makes of others."""

STATEMENTS = f"""select sql from sqlite_schema
where sql is not null and (
    type = 'index' and tbl_name not like 'vec_passage%' or sql like 'create virtual table%using fts5%'
    or name in (select name from ({ORDINARY_TABLES})))
order by type = 'index'"""
"""What makes the tables, then the indexes."""

VECTORS = (
    "select vector from passage join embedding_model using (model)"
    " join embedding using (model_id, text_sha256) order by passage.id"
)

KEYWORD_ROWS = "select rowid, name, description, tags, body, parts from fts"
KEYWORDS = "insert into fts (rowid, name, description, tags, body, parts) values (?, ?, ?, ?, ?, ?)"


class StoreBench:
    """A store of `size` memories or chunks in a temporary folder, and what is measured on it."""

    what = "memories"

    def __init__(self, base: Path, size: int, repeat: int) -> None:
        self.base, self.size, self.repeat = base, size, repeat
        self.root = base / f"{self.what}-{size}"
        self.embedder = SyntheticEmbedder(Embedder())
        # Written last: with it, a folder that is kept has the whole store.
        note = base / f"{self.what}-{size}.json"
        if note.is_file():
            built = json.loads(note.read_text(encoding="utf-8"))
            self.questions, self.index_seconds = built["questions"], built["seconds"]
            self.store = Store.init(self.root, embedder=self.embedder)
            return
        self.discard()
        self.root.mkdir()
        self.questions = self.write()
        self.store = Store.init(self.root, embedder=self.embedder)
        self.index_seconds = seconds(self.fill)
        # What was written is in the log and in the connection: a store that is new is measured as one that is kept.
        self.store.close()
        self.store = Store.init(self.root, embedder=self.embedder)
        built = {"questions": self.questions, "seconds": self.index_seconds}
        note.write_text(json.dumps(built), encoding="utf-8")

    def write(self) -> list[str]:
        """Write the files and return the questions."""
        return write_memories(self.root, self.size)

    def fill(self) -> None:
        """Index the files."""
        self.store.sync()

    def text_bytes(self) -> int:
        """The files of the store."""
        return sum(file.stat().st_size for file in self.root.rglob("*.md"))

    def row(
        self, figure: str, value: float, unit: str, against: float | None = None, baseline: str = "", **goal: Any
    ) -> Row:
        """One figure of this store."""
        return Row(figure, self.size, self.what, value, unit, against, baseline, **goal)

    def rows(self) -> Iterator[Row]:
        """All figures of this store."""
        yield from self.recall()
        for take in (self.save, self.index, self.file_size):
            yield take()
        if self.size <= MOST_REBUILT:
            yield self.rebuild()

    def vectors(self) -> Matrix:
        """All vectors of the store, by passage."""
        with apsw.Connection(str(self.store.place.database), flags=apsw.SQLITE_OPEN_READONLY) as connection:
            blobs = [blob for (blob,) in connection.execute(VECTORS)]
        return np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), DIMS)

    def recall(self) -> list[Row]:
        """Warm recall, all arms and the cascade, against numpy's exact product over the same vectors.

        Of questions that were not asked before, and once more of the same: a process that stays has their vectors.
        Other questions warm the process: what memdb keeps of one helps the next as far as they are alike.
        """
        matrix = self.vectors()
        count = min(max(LEAST_QUESTIONS, self.repeat), len(self.questions) // 2)
        questions = self.questions[:count]
        for question in self.questions[count : 2 * count]:
            self.store.recall(question, sync_first=False)
        ours, again, exact = [], [], []
        for times in (ours, again):
            for question in questions:
                times.append(seconds(partial(self.store.recall, question, sync_first=False)))
                query = self.embedder.embed_query(question)
                exact.append(seconds(partial(nearest, matrix, query)))
        p50, p95 = statistics.median(ours), np.quantile(ours, 0.95)
        base, baseline = statistics.median(exact), "numpy's exact product over the same vectors"
        goal = next((goal for size, goal in WARM_GOALS.items() if self.size >= size), None)
        found = self.vector_recall(matrix, questions)
        return [
            self.row("warm recall p50", p50, "s", base, baseline, goal=goal),
            self.row("warm recall p95", float(p95), "s", base, baseline, goal=goal),
            self.row("warm recall p50, asked again", statistics.median(again), "s", base, baseline),
            self.row("vector arm recall@10", found, "share", 1.0, "the exact ten", goal=0.99, at_least=True),
        ]

    def vector_recall(self, matrix: Matrix, questions: list[str]) -> float:
        """The share of the exact ten nearest, of those above the model's floor, that the vector arm finds."""
        found = wanted = 0
        for question in questions:
            similarities = matrix @ self.embedder.embed_query(question)
            tenth = np.sort(similarities)[-min(NEAREST, len(similarities))]
            limit = max(float(tenth), self.embedder.card.floor) - ROUNDING
            answer = self.store.recall(question, arms=("vector",), hops=0, limit=NEAREST, sync_first=False)
            found += sum(hit.arms["vector"].similarity >= limit for hit in answer.hits if "vector" in hit.arms)
            wanted += min(NEAREST, int((similarities >= limit).sum()))
        return found / max(1, wanted)

    def save(self) -> Row:
        """One save, against writing the same bytes with fsync."""
        numbers = count(len(list(self.root.glob("user/new-*"))))

        def save() -> None:
            self.store.save(f"user/new-{next(numbers)}", "a few words on topic3 and [[note-5]]", tags=["t3"])

        def write() -> None:
            with (self.base / "plain.txt").open("wb") as out:
                out.write(b"a few words on topic3 and [[note-5]]")
                out.flush()
                os.fsync(out.fileno())

        ours, plain = medians(save, write, max(LEAST_SAVES, self.repeat))
        return self.row("one save", ours, "s", plain, "writing and syncing the same bytes")

    def index(self) -> Row:
        """What it took to index everything, a model's time left out."""
        return self.row(f"indexing a thousand {self.what}", self.index_seconds / self.size * 1000, "s")

    def file_size(self) -> Row:
        """The file, against the raw vectors and texts."""
        self.store.sync()
        self.store.close()
        raw = self.text_bytes() + self.vectors().nbytes
        size = self.store.place.database.stat().st_size
        goal = 2.5 if self.size >= WORTH_MEASURING else None
        return self.row("file size", size, "bytes", raw, "raw vectors and texts", goal=goal)

    def rebuild(self) -> Row:
        """A rebuild with vectors salvaged, against inserting the same rows with executemany."""
        ours = seconds(self.store.rebuild)
        theirs = insert_again(self.store.place.database, self.base / "rows.db")
        return self.row("rebuild, vectors salvaged", ours, "s", theirs, "executemany of the same rows", goal=3.0)

    def discard(self) -> None:
        """Delete the files: the next store is larger."""
        shutil.rmtree(self.root, ignore_errors=True)


class ChunkBench(StoreBench):
    """A store of chunks: documents beside one memory, which half of the chunks name."""

    what = "chunks"

    @property
    def documents(self) -> Path:
        """The folder that is added."""
        return self.base / f"documents-{self.size}"

    def write(self) -> list[str]:
        return write_documents(self.documents, self.size, self.root)

    def fill(self) -> None:
        self.store.add([self.documents])

    def discard(self) -> None:
        super().discard()
        shutil.rmtree(self.documents, ignore_errors=True)

    def text_bytes(self) -> int:
        return super().text_bytes() + sum(file.stat().st_size for file in self.documents.rglob("*.*"))


def growth_rows(rows: Sequence[Row]) -> Iterator[Row]:
    """How warm recall, indexing and saving grow from each size of one kind of store to the next larger one."""
    by_size: dict[int, dict[str, Row]] = {}
    for row in rows:
        if row.size is not None:
            by_size.setdefault(row.size, {})[row.figure] = row
    sizes = sorted(size for size, figures in by_size.items() if "one save" in figures)
    for small, large in pairwise(sizes):
        # The goal of 4 is for ten times the data.
        goals = {"warm recall p50": 4 ** math.log10(large / small), "one save": 1.3}
        for figure, row in by_size[large].items():
            if figure in goals or figure.startswith("indexing"):
                yield grown(row, by_size[small][figure], goals.get(figure))
    if len(sizes) > 2:
        yield grown(by_size[sizes[-1]]["one save"], by_size[sizes[0]]["one save"], 1.3)


def grown(large: Row, small: Row, goal: float | None) -> Row:
    """A figure against the same in a smaller store."""
    name = f"growth of {large.figure.removesuffix(' p50')}"
    return Row(name, large.size, large.what, large.value, "s", small.value, f"the same at {small.size}", goal=goal)


def nearest(matrix: Matrix, query: Matrix) -> object:
    """The rows nearest to a query, in no order."""
    return np.argpartition(matrix @ query, -min(NEAREST, len(matrix)))[-NEAREST:]


def insert_again(database: Path, into: Path) -> float:
    """Seconds of inserting all rows of a database into an empty one of the same tables and indexes, no triggers."""
    source = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    target = apsw.Connection(str(into))
    try:
        target.pragma("journal_mode", "wal")
        target.pragma("synchronous", 1)  # as the store's own
        for (sql,) in source.execute(STATEMENTS).fetchall():
            target.execute(str(sql))
        contents: list[tuple[str, list[tuple[Any, ...]]]] = []
        for name, columns in source.execute(ORDINARY_TABLES).fetchall():
            marks = ", ".join("?" * len(str(columns).split(",")))
            rows = source.execute(f"select {columns} from {name}").fetchall()
            contents.append((f"insert into {name} ({columns}) values ({marks})", rows))
        contents.append((KEYWORDS, source.execute(KEYWORD_ROWS).fetchall()))

        def insert() -> None:
            with target:
                for statement, rows in contents:
                    target.executemany(statement, rows)

        return seconds(insert)
    finally:
        source.close()
        target.close()
        for suffix in ("", "-wal", "-shm"):
            into.with_name(into.name + suffix).unlink(missing_ok=True)
