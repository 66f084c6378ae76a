"""What the explorer's graph costs: `python -m tests.bench.explorer [--chunks N] [--documents N] [--repeat N] [--json]`.

A store of documents that mention names, without a model. Of each answer of the HTTP API its bytes and the CPU time that
the server takes for it, from the call of the store to the JSON; goals are what a page waits for and a browser reads.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from memdb.base.embedding import Embedder
from memdb.explorer import answers, parameters, reads
from memdb.explorer.routes import ROUTES
from memdb.store import Store
from tests.bench.measuring import MEGABYTE, Row

CHUNKS, DOCUMENTS, REPEAT, NAMES = 100_000, 500, 3, 4_000

GRAPH_SECONDS, GRAPH_BYTES = 2.0, 4 * MEGABYTE
"""Of the first view, and of the most that can be asked for: a person waits, a browser lays out."""

NODE_SECONDS, NODE_BYTES = 0.1, MEGABYTE / 4


def build(root: Path, chunks: int, documents: int) -> Store:
    """A synced store of so many documents with about so many chunks in all."""
    pick = random.Random(1)
    names = [f"Tarn{number} Veld{number}" for number in range(NAMES)]
    shelf = root.parent / "shelf"
    shelf.mkdir(parents=True)
    for number in range(documents):
        parts = [f"# Report {number}\n"]
        for part in range(chunks // documents):
            said = " and ".join(names[int(pick.paretovariate(0.7)) % NAMES] for _ in range(2))
            parts.append(f"## Part {part}\n\nOn day {pick.randrange(10_000)} we saw {said} in hall {part}.\n")
        (shelf / f"report{number}.md").write_text("\n".join(parts), encoding="utf-8", newline="\n")
    store = Store.init(root, embedder=Embedder(enabled=False))
    store.add([shelf], embed=False)
    return store


def asked(store: Store, handler: Callable[[Store, Mapping[str, Any]], dict[str, Any]], **given: Any) -> bytes:
    """The answer of a route as it is sent; what is not given has its default."""
    [route] = [route for route in ROUTES if route.handler is handler]
    query = {name: [str(value)] for name, value in given.items() if name != "id"}
    path = {"id": given["id"]} if "id" in given else {}
    return answers.as_json({"ok": True} | handler(store, parameters.values(route.parameters, path, query, {})))


def rows(store: Store, repeat: int) -> Iterator[Row]:
    """The figures of one store."""
    size = store.stats()["chunks"]
    store.followed_by(lambda: True)
    document = store.documents.list()[0].id
    for name, handler, given, most_seconds, most_bytes in (
        ("graph, rolled up", reads.graph, {}, GRAPH_SECONDS, GRAPH_BYTES),
        ("graph, rolled up, 20000 nodes", reads.graph, {"limit": 20_000}, GRAPH_SECONDS, 2 * GRAPH_BYTES),
        ("graph around a document", reads.graph, {"around": document}, GRAPH_SECONDS, GRAPH_BYTES),
        ("chunks of a document", reads.chunks, {"id": document}, GRAPH_SECONDS, GRAPH_BYTES),
        ("a document", reads.node, {"id": document}, NODE_SECONDS, NODE_BYTES),
        ("a chunk", reads.node, {"id": f"{document}#1"}, NODE_SECONDS, NODE_BYTES),
        ("entities, the first 100", reads.entities, {}, GRAPH_SECONDS, NODE_BYTES),
    ):
        taken = []
        for _ in range(repeat):
            start = time.process_time()
            body = asked(store, handler, **given)
            taken.append(time.process_time() - start)
        yield Row(name, size, "chunks", statistics.median(taken), "s of CPU", None, "", most_seconds)
        yield Row(f"{name}, bytes", size, "chunks", len(body), "bytes", None, "", most_bytes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--repeat", type=int, default=REPEAT)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ["MEMDB_HOME"] = str(Path(folder) / "home")
        with build(Path(folder) / "root", given.chunks, given.documents) as store:
            found = list(rows(store, given.repeat))
    if given.json:
        print(json.dumps({"rows": [row.as_json() for row in found]}, indent=2))
        return
    for row in found:
        met = "met" if row.is_met else "missed"
        print(f"{row.figure:38} {row.value:12,.3f} {row.unit:8} (goal {row.goal:,.1f})  {met}")


if __name__ == "__main__":
    main()
