"""What the tests of documents share: a store beside a folder of documents, and questions to its tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from memdb.services.files.sync import SyncReport
from memdb.services.index.digests import Digest
from memdb.store import Store
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder
from tests.histories import differing

OLD = 1_700_000_000
"""A time at which no file is young any more (2023, in seconds)."""


class Shelf:
    """A store in `root` that mirrors the folder `docs` beside it."""

    def __init__(self, where: Path, files: dict[str, str | bytes] | None = None, *, window: int = 64) -> None:
        self.where = where
        self.docs = where / "docs"
        self.window = window
        self.put(files or {})
        self.embedder = FakeEmbedder(window=window)
        self.store = Store.init(where / "root", embedder=self.embedder)

    @classmethod
    def opened(cls, where: Path, root: Path) -> Shelf:
        """A shelf over a store that is there already."""
        shelf = cls.__new__(cls)
        shelf.where, shelf.docs, shelf.window = where, where / "docs", 64
        shelf.embedder = FakeEmbedder(window=64)
        shelf.store = Store.init(root, embedder=shelf.embedder)
        return shelf

    def put(self, files: dict[str, str | bytes]) -> None:
        self.docs.mkdir(parents=True, exist_ok=True)
        write_files(self.docs, files)

    def add(self, *paths: str) -> SyncReport:
        return self.store.add([self.docs / path for path in paths or ("",)])

    def key(self, path: str) -> str:
        return f"document:{(self.docs / path).as_posix()}"

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        return self.store._context.database.rows(statement, values)

    def nodes(self, path: str) -> dict[str, int]:
        """The chunks of a document by their text."""
        return {
            text: node
            for node, text in self.rows(
                "select chunk.id, text from chunk join node on node.id = document_id where node.key = ?",
                self.key(path),
            )
        }

    def reopen(self) -> None:
        self.store.close()
        self.store = Store(self.store.place, self.embedder)

    def anew(self) -> Digest:
        """The digest after the database was deleted."""
        self.store.close()
        for file in (self.where / "root" / ".memdb").glob("memory.db*"):
            file.unlink()
        with Store.init(self.where / "root", embedder=FakeEmbedder(window=self.window)) as store:
            return store.digest()

    def assert_rebuilds(self) -> None:
        """Rebuild equals live, and nothing hangs in the air."""
        assert [finding for finding in self.store.doctor() if finding.state == "error"] == []
        live = self.store.digest()
        again = self.anew()
        assert differing(live, again) == []
        assert live == again


def age(*files: Path) -> None:
    """Make files old enough for their times to be relied on."""
    for file in files:
        os.utime(file, (OLD, OLD))
