"""Stores that a scripted language model indexes, and what came of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from memdb.base.llm import Llm
from memdb.services.extraction.extraction_runs import RunReport
from memdb.services.index.digests import Digest
from memdb.store import Store
from tests.llm_server import LlmServer, Request

REPOSITORY = Path(__file__).parents[1]

INES = "Ines Okafor moved the tide gauges to Postgres."
SAILS = "Ines Okafor sails the Baltic Star out of Gdynia."

NAMES = {
    "Ines Okafor": "person",
    "Postgres": "tool",
    "Baltic Star": "vessel",
    "Gdynia": "place",
    "Grafana": "tool",
    "Harbour Office": "organization",
}
"""What the scripted model finds; `vessel` is no type of the vocabulary."""


def text_of(request: Request) -> str:
    """The fenced text of a request, also where the answer was asked for once more."""
    fenced = [message for message in request.messages if "=== text " in message["content"]]
    return Request(request.path, request.headers, {"messages": fenced}).text


def finds(request: Request) -> Mapping[str, Any]:
    """An answer that follows from the text alone: the names of NAMES in it, each working on the next."""
    text = text_of(request)
    found = [name for name in NAMES if name in text]
    return {
        "entities": [{"name": name, "type": NAMES[name]} for name in found],
        "relations": [
            {"subject": one, "predicate": "works_on", "object": other, "confidence": 0.9}
            for one, other in pairwise(found)
        ],
    }


class Indexed:
    """A store with a scripted endpoint; waits of the client are noted, not waited."""

    def __init__(self, store: Store, server: LlmServer, model: str = "tiny", **options: Any) -> None:
        self.store = store
        self.server = server
        self.waits: list[float] = []
        given = {"price_input": 1.0, "price_output": 4.0, "sleep": self.waits.append} | options
        self.llm = Llm(model, server.url, **given)
        self.report = RunReport()

    def index(self, **options: Any) -> RunReport:
        self.report = self.store.index(llm=self.llm, **options)
        return self.report

    @property
    def asked(self) -> int:
        """Requests that the endpoint got."""
        return len(self.server.requests)

    @property
    def events(self) -> list[tuple[str | None, str, str]]:
        """The log of the last run."""
        assert self.report.id is not None
        return [(event.source, event.kind, event.message) for event in self.store.runs.show(self.report.id)[1]]

    def said(self, kind: str) -> list[str]:
        """The messages of one kind."""
        return [message for _, what, message in self.events if what == kind]

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        return rows(self.store, statement)

    @property
    def mentions(self) -> list[tuple[Any, ...]]:
        """Which text mentions which entity, by the model."""
        return self.rows(
            "select source.key, goal.key from edge join node as source on source.id = src"
            " join node as goal on goal.id = dst where edge.kind = 'mentions' order by 1, 2"
        )

    @property
    def relations(self) -> list[tuple[Any, ...]]:
        return self.rows(
            "select source.key, predicate, goal.key from edge join node as source on source.id = src"
            " join node as goal on goal.id = dst where edge.kind = 'relates' order by 1, 2, 3"
        )


def rows(store: Store, statement: str) -> list[tuple[Any, ...]]:
    """The rows of a statement on a store's database."""
    return store._run(lambda context: context.database.rows(statement))


def rebuilt(store: Store) -> Digest:
    """The digest of a store whose database is deleted and built from files and journal; the endpoint is not asked."""
    store.close()
    for file in store.place.home.glob("memory.db*"):
        file.unlink()
    with Store(store.place) as anew:
        return anew.digest()


TIMELESS = {
    "mentions": "select node.key, name_key, origin, source, name, type, ordinal, refused from mention"
    " join node on node.id = node_id",
    "statements": "select node.key, subject_key, predicate, object_key, confidence from statement"
    " join node on node.id = node_id",
    "entities": "select name_key, name, type, origin from entity",
    "edges": "select a.key, b.key, edge.kind, predicate, weight, active from edge join node as a on a.id = src"
    " join node as b on b.id = dst",
    "ledger": "select text_sha256, prompt_sha256, model, output, refused from extraction",
    "waiting": "select node.key from memory join node using (id) where indexed_at is null",
}


def timeless(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """What a store says, without the times at which answers came."""
    return {name: sorted(rows(store, statement), key=repr) for name, statement in TIMELESS.items()}


def notes(number: int) -> dict[str, str | bytes]:
    """Short memories, each of other words, over the names of NAMES."""
    names = list(NAMES)
    return {
        f"project/note-{at:02}.md": f"{names[at % 6]} met {names[(at * 5 + 1) % 6]} at berth {at}.\n"
        for at in range(number)
    }


def indexing(root: Path, *words: str) -> subprocess.Popen[bytes]:
    """`memdb index` as a process."""
    return subprocess.Popen(
        [sys.executable, "-m", "memdb_cli", "index", "--root", str(root), *words],
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
