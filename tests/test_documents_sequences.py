"""Rebuild equals live with documents, after any history of files."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from memdb.errors import MemdbError
from tests.document_support import Shelf

NAMES = (
    "a.md",
    "b.md",
    "log.txt",
    "log.1.txt",
    "sub/a.md",
    "sub/deep/t.csv",
    "sub/turns.jsonl",
    "page.html",
    "x#1.txt",
)

TEXTS = (
    "# Pump\n\nThe pump stands in the east hall.\n\n## Care\n\nGrease it every month.\n",
    "# Pump\n\nThe pump stands in the west hall.\n\n## Care\n\nGrease it every month.\n",
    "Title\n=====\n\n" + "Water rises in the well, slowly and without a sound. " * 30 + "\n",
    "name,price\nhose,12\nvalve,30\n",
    '{"id": "one", "text": "The first turn."}\n{"id": "two", "text": "The second turn."}\n',
    '{"id": "one", "text": "The first turn."}\n{"id": "one", "text": "A turn that has its id too."}\n',
    "<html><head><title>Page</title></head><body><h1>Page</h1><p>Ferries leave at noon.</p></body></html>",
    "",
    "A line.\n\nAnother line, and the same again.\n",
)

BINARY = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def secret_text() -> str:
    return "# Keys\n\nThe key is " + "sk-" + "proj-" + "Zq8" * 14 + "\n\n## Other\n\nNothing here.\n"


class Player:
    """Takes one step after another, by the numbers of a random generator."""

    def __init__(self, shelf: Shelf, seed: int) -> None:
        self.shelf = shelf
        self.random = random.Random(seed)
        self.bin: list[tuple[str, bytes]] = []

    def files(self) -> list[Path]:
        return sorted(file for file in self.shelf.docs.rglob("*") if file.is_file())

    def write(self) -> None:
        choices: list[str | bytes] = [*TEXTS, secret_text(), BINARY]
        self.shelf.put({self.random.choice(NAMES): self.random.choice(choices)})

    def touch(self) -> None:
        for file in self.files()[:1]:
            file.touch()

    def rename(self) -> None:
        if files := self.files():
            target = self.shelf.docs / self.random.choice(NAMES)
            target.parent.mkdir(parents=True, exist_ok=True)
            self.random.choice(files).replace(target)

    def swap(self) -> None:
        files = self.files()
        if len(files) > 1:
            one, other = self.random.sample(files, 2)
            data = one.read_bytes()
            one.write_bytes(other.read_bytes())
            other.write_bytes(data)

    def copy(self) -> None:
        if files := self.files():
            data = self.random.choice(files).read_bytes()
            self.shelf.put({self.random.choice(NAMES): data})

    def delete(self) -> None:
        if files := self.files():
            file = self.random.choice(files)
            self.bin.append((file.relative_to(self.shelf.docs).as_posix(), file.read_bytes()))
            file.unlink()

    def restore(self) -> None:
        if self.bin:
            path, data = self.bin.pop()
            self.shelf.put({path: data})

    def add(self) -> None:
        path = self.random.choice(["", "sub", "a.md", "sub/deep", "nowhere"])
        if (self.shelf.docs / path).exists():
            self.shelf.add(path)

    def remove(self) -> None:
        path = self.random.choice(["", "sub", "a.md", "sub/deep"])
        self.forget_path(str(self.shelf.docs / path))

    def remove_by_id(self) -> None:
        keys = [key for (key,) in self.shelf.rows("select key from node where kind = 'document' order by key")]
        if keys:
            self.forget_path(self.random.choice(keys))

    def forget_path(self, written: str) -> None:
        try:
            self.shelf.store.remove(written)
        except MemdbError as error:
            assert error.code == "not_found"

    def drop_folder(self) -> None:
        shutil.rmtree(self.shelf.docs / "sub", ignore_errors=True)

    def sync(self) -> None:
        self.shelf.store.sync(embed=self.random.random() < 0.7)

    def reopen(self) -> None:
        self.shelf.reopen()

    def rebuild(self) -> None:
        self.shelf.store.rebuild()

    def step(self) -> str:
        steps = [self.write] * 5 + [self.sync] * 5 + [self.rename, self.swap, self.copy] * 2
        steps += [self.delete, self.restore, self.touch, self.add, self.remove, self.remove_by_id]
        steps += [self.add, self.drop_folder, self.reopen, self.rebuild]
        chosen = self.random.choice(steps)
        chosen()
        return chosen.__name__


@pytest.mark.parametrize("seed", range(12))
def test_any_history_is_what_a_rebuild_makes_of_it(tmp_path: Path, seed: int) -> None:
    shelf = Shelf(tmp_path, {"a.md": TEXTS[0], "sub/turns.jsonl": TEXTS[4]})
    shelf.add()
    player = Player(shelf, seed)
    for _ in range(25):
        player.step()
    shelf.assert_rebuilds()
