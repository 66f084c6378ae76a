"""The small store that faults meet, and what is done to it: memories, documents, an upload, entities, decisions."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memdb.base.llm import Llm
from memdb.services.index import digests
from memdb.store import Store
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder

FILES: dict[str, str | bytes] = {
    "user/ines.md": "---\ndescription: who Ines is\ntags: [people]\n---\nInes Okafor sails far. See [[tea]].\n",
    "user/tea.md": "---\ntags: [drinks]\naliases: [sencha]\n---\nGreen tea is drunk at four.\n",
    "feedback/tables.md": "---\nsupersedes: feedback/lists\n---\nOptions go into a table, one row each.\n",
    "feedback/lists.md": "Options go into a list.\n",
    "project/gauges.md": "Harbour Office keeps gauges in Postgres; Grafana draws. See [[user/ines]], [[nowhere]].\n",
    "project/ferry.md": "# Ferry\n\nThe ferry to Gdynia leaves at nine.\n",
    "reference/long.md": "The berth log. " + "Berth nine was dredged before the frost came in. " * 60 + "\n",
    "episode/storm.md": "---\nhappened_at: 2026-02-03\n---\nA storm broke the north pier.\n",
    "docs/guide.txt": "Quay guide\n\nShips of the Harbour Office moor at berth nine.\n\nInes Okafor keeps the list.\n"
    * 3,
    "docs/list.csv": "ship,berth\nBaltic Star,9\nHeron,4\n",
    "docs/deep/notes.txt": "Soundings are taken on the first of the month.\n",
}

MORE: dict[str, str | bytes] = {
    "more/tide.txt": "The tide turns at six.\n",
    "more/rope.txt": "Ropes are changed in May by the Harbour Office.\n",
}

STAMP = re.compile(r"\d{13}-\d{5}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
"""Times: when something was done is no part of what was done."""

REFERENCE = re.compile(r"(?<![\w-])[0-9a-f]{10}(?:[0-9a-f]{2})?(?!\w)")
"""Ids of decisions and writers, which follow from times and machines."""

TIMELESS = {
    "extracted": f"select node.key, skip from extracted join node on node.id = node_id where node_id not in"
    f" ({digests.LENT})",
}
"""In place of statements of the digest: of what an output was derived from, the time is a part."""

Content = dict[str, frozenset[tuple[Any, ...]]]

Step = Callable[[Store], object]

LLM_URL = "MEMDB_BENCH_LLM"
"""The variable that says where the scripted language model answers."""


@dataclass(frozen=True)
class Operation:
    """What is done to a store: `before` changes files outside of memdb, each step is one confirmed call.

    An `atomic` step leaves the store as before it or as after it; of others a part may be there, and a sync, or the
    same step again, does the rest.
    """

    name: str
    steps: tuple[Step, ...]
    before: Callable[[Path], None] = lambda root: None
    atomic: bool = True
    embedder: str = "fake/words@1"


def opened(root: Path, embedder: str = "fake/words@1") -> Store:
    """The store at a root, opened with a model that costs nothing."""
    return Store.init(root, embedder=FakeEmbedder(embedder))


def settle(root: Path) -> None:
    """Give all files a time at which none is young any more, so that no sync reads them twice."""
    old = time.time() - 3600
    for file in root.rglob("*"):
        if file.is_file() and ".memdb" not in file.parts:
            os.utime(file, (old, old))


def build(root: Path) -> None:
    """Make the store: what all operations start from."""
    write_files(root, FILES)
    settle(root)
    with opened(root) as store:
        store.sync()
        store.add([root / "docs"])
        store.add_bytes("upload.txt", b"An upload about the north pier and the Heron.\n")
        store.index(llm=llm())
        store.save("user/tea", "Green tea is drunk at five.\n")
        store.entities.rename("Postgres", "PostgreSQL")
        store.index(llm=llm())
        store.sync()
    settle(root)
    with opened(root) as store:
        store.sync()


def llm() -> Llm:
    """The scripted language model."""
    return Llm("tiny", os.environ[LLM_URL], price_input=1.0, price_output=4.0, sleep=lambda seconds: None)


def content(store: Store) -> Content:
    """What the store says, table by table, without times and without what is named by them."""
    store.sync(yes=True)
    statements = digests.CONTENT | digests.VECTORS | digests.DECISIONS

    def look(context: Any) -> Content:
        with context.database.read():
            return {
                name: frozenset(tuple(map(_timeless, row)) for row in context.database.connection.execute(statement))
                for name, statement in (statements | TIMELESS).items()
            }

    return store._run(look)


def _timeless(value: Any) -> Any:
    return REFERENCE.sub("ID", STAMP.sub("TIME", value)) if isinstance(value, str) else value


def differing(one: Content, other: Content) -> list[str]:
    """The tables in which two contents differ, each with one row that only one of them has."""
    found = []
    for name in one:
        if one[name] != other[name]:
            lacking, more = one[name] - other[name], other[name] - one[name]
            row = next(iter(lacking or more))
            said = ", ".join(str(value)[:40] for value in row)
            found.append(f"{name} ({len(lacking)} only before, {len(more)} only after, such as {said})")
    return found


def _edit(root: Path) -> None:
    write_files(
        root,
        {
            "user/tea.md": "---\ntags: [drinks, hot]\n---\nBlack tea now. See [[ferry]].\n",
            "user/new.md": "A new note about the Harbour Office.\n",
            "docs/guide.txt": "Quay guide\n\nShips moor at berth ten.\n",
        },
    )
    (root / "feedback/lists.md").unlink()
    (root / "project/ferry.md").rename(root / "project/boat.md")
    settle(root)


def _more(root: Path) -> None:
    write_files(root, MORE)
    settle(root)


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "save",
        (
            lambda store: store.save("user/tea", "White tea, with [[ferry]].\n", tags=["white"]),
            lambda store: store.save("project/crane", "The crane of the Harbour Office is out of order.\n"),
            lambda store: store.save("plan/pier", "The south pier is to be mended in June.\n"),
        ),
    ),
    Operation("sync", (lambda store: store.sync(),), _edit, atomic=False),
    Operation("add", (lambda store: store.add([store.place.root / "more"]),), _more, atomic=False),
    Operation("upload", (lambda store: store.add_bytes("upload.txt", b"Another text about the south pier.\n"),)),
    Operation("index", (lambda store: store.index(llm=llm()),), _edit, atomic=False),
    Operation(
        "curate",
        (
            lambda store: store.entities.rename("Grafana", "Grafana Labs"),
            lambda store: store.entities.merge("ines", "Ines Okafor"),
            lambda store: store.entities.delete("Harbour Office"),
            lambda store: store.schema.add("type", "vessel", "A ship or a boat that has a name."),
        ),
    ),
    Operation("rebuild", (lambda store: store.rebuild(),)),
    Operation("reembed", (lambda store: store.reembed(),), atomic=False, embedder="fake/other@1"),
    Operation("backup", (lambda store: store.backup(),)),
    Operation("forget", (lambda store: store.forget("episode/storm"),), atomic=False),
)
