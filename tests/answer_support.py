"""A store whose texts get answers of a model put into the journal, without a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memdb.base import files
from memdb.base.embedding import Embedder
from memdb.domain import history
from memdb.services.index.digests import Digest
from memdb.store import Store
from tests.conftest import write_files

Named = tuple[str, str]
"""A name and its type."""

Said = tuple[str, str, str] | tuple[str, str, str, float]
"""A subject, a predicate and an object, with the confidence where it is not 0.9."""


def answer(*named: Named, said: tuple[Said, ...] = (), **wanted: dict[str, str]) -> dict[str, Any]:
    """What a model says of a text; `new_types` and `new_predicates` are descriptions by name."""
    output: dict[str, Any] = {"entities": [{"name": name, "type": kind} for name, kind in named]}
    output["relations"] = [
        {"subject": a, "predicate": p, "object": b, "confidence": sure[0] if sure else 0.9} for a, p, b, *sure in said
    ]
    for field, names in wanted.items():
        output[field] = [{"name": name, "description": rule} for name, rule in names.items()]
    return output


class Answered:
    """A store of `{path: text}` without an embedding model."""

    def __init__(self, root: Path, texts: dict[str, str]) -> None:
        self.root = root
        self.write(texts)
        self.store = Store.init(root, embedder=Embedder(enabled=False))
        self.store.sync()

    def write(self, texts: dict[str, str]) -> None:
        write_files(self.root, dict(texts))

    def put(self, key: str, output: dict[str, Any], *, model: str = "m", refused: tuple[str, ...] = ()) -> None:
        """Journal a model's answer about the present text of a memory or chunk."""
        context = self.store._context
        digest = context.database.value(
            "select coalesce(memory.text_sha256, chunk.text_sha256) from node left join memory on memory.id = node.id"
            " left join chunk on chunk.id = node.id where key = ?",
            (key,),
        )
        with files.writer(context.place), context.database.write():
            context.append(history.extraction_record(key, digest, "0" * 64, model, output, refused=refused))
        self.store.sync()

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self.store._context.database.rows(statement)

    def mentions(self) -> set[tuple[str, str]]:
        """Which text mentions which entity, by an edge."""
        return set(
            self.rows(
                "select a.key, substr(b.key, 8) from edge join node as a on a.id = src join node as b on b.id = dst"
                " where edge.kind in ('mentions', 'about') and active"
            )
        )

    def digest(self) -> Digest:
        return self.store.digest()

    def rebuilt(self) -> Digest:
        """The digest after the database was deleted; the store goes on with the new one."""
        self.store.close()
        for file in (self.root / ".memdb").glob("memory.db*"):
            file.unlink()
        return self.store.digest()
