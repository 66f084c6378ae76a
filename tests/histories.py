"""Histories of a folder of memories: steps that people and programs take, and what must hold after any of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memdb.base.embedding import Embedder
from memdb.services.index.digests import Digest
from memdb.store import Store
from tests.fake_embedder import FakeEmbedder

PATHS = (
    "user/a.md",
    "user/A.md",
    "user/b.md",
    "feedback/a.md",
    "reference/a.md",
    "reference/c.md",
    "a.md",
    "c.md",
    "d.markdown",
    "user/caf\u00e9.md",
    "user/cafe\u0301.md",
    "notes/deep/er.md",
    ".claude/agent/memory/user/a.md",
    "project/my_note.md",
    "project/My Note.md",
)
"""Few enough that names meet: two spellings of one letter, flat files beside folders, one name in several types."""

HEADS = (
    "",
    "---\ntype: user\n---\n",
    "---\ntype: feedback\ntags: [style, x]\n---\n",
    "---\nname: a\ntags: style\n---\n",
    "---\nname: my note\naliases: [b, other]\n---\n",
    "---\nsupersedes: user/a\ndescription: newer\n---\n",
    "---\nsupersedes: [reference/a, c]\ntags: [Style, '#y']\n---\n",
    "---\nname: Foo: bar\ntags: [#broken\n---\n",
)

BODIES = (
    "",
    "Tables are preferred to prose.\n",
    "See [[a]] and [[user/b]].\n",
    "See [[My Note]] and [[my_note|that]].\n",
    "# Other\n\nWe deploy with [[feedback/a]] on Fridays, never on Mondays.\r\n",
    "Self [[reference/c]] and [[caf\u00e9]] and [[nowhere]].\n",
    "The staging database is called maple and moved in March.\n",
    "Lemon cake needs four eggs and a quiet oven. " * 12,
)

UNREADABLE = b"\xff\xfe\x00\x01\x02\x03\x04\x05\x06\x07\x08" * 9


def secret() -> str:
    """A line that looks like a credential; put together here so that no file holds it."""
    return "key: " + "sk-" + "proj-" + "Zq8" * 14


class World:
    """A store in a folder, with the model that can be switched on and off."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.model = True
        self.store = Store.init(root, embedder=self.embedder())

    def embedder(self) -> Embedder:
        return FakeEmbedder(window=24) if self.model else Embedder(enabled=False)

    def files(self) -> list[Path]:
        return [self.root / path for path in PATHS if (self.root / path).is_file()]

    def write(self, path: str, data: bytes) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)

    def rename(self, old: str, new: str) -> None:
        (self.root / new).parent.mkdir(parents=True, exist_ok=True)
        (self.root / old).replace(self.root / new)

    def swap(self, one: str, other: str) -> None:
        self.rename(one, "swapping.tmp")
        self.rename(other, one)
        self.rename("swapping.tmp", other)

    def switch_model(self) -> None:
        self.model = not self.model
        self.store._context.set_embedder(self.embedder())

    def reopen(self) -> None:
        self.store.close()
        self.store = Store(self.store.place, self.embedder())

    def finish(self) -> Digest:
        """The digest of the store, with the model on, as it came to be."""
        if not self.model:
            self.switch_model()
        self.store.sync(yes=True)
        found = self.store.digest()
        self.store.close()
        return found


def anew(root: Path, *, model: bool = True, window: int = 24) -> Digest:
    """The digest of a folder whose database is deleted and built again."""
    for file in (root / ".memdb").glob("memory.db*"):
        file.unlink()
    with Store.init(root, embedder=FakeEmbedder(window=window) if model else Embedder(enabled=False)) as store:
        return store.digest()


def copied(root: Path, target: Path, *, window: int = 24) -> Digest:
    """The digest of a copy of a folder, indexed in another order of files."""
    shutil.copytree(root, target)
    with backward():
        return anew(target, window=window)


@contextmanager
def backward() -> Iterator[None]:
    """Folders are listed from their end."""
    listed = os.scandir

    class Backward:
        def __init__(self, path: str) -> None:
            with listed(path) as entries:
                self.entries = sorted(entries, key=lambda entry: entry.name, reverse=True)

        def __enter__(self) -> list[os.DirEntry[str]]:
            return self.entries

        def __exit__(self, *_: object) -> None:
            return None

    os.scandir = Backward  # type: ignore[assignment]
    try:
        yield
    finally:
        os.scandir = listed


def differing(one: Digest, other: Digest) -> list[str]:
    """The tables in which two stores differ."""
    return [name for name in one.tables if one.tables[name] != other.tables[name]]
