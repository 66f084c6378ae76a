"""What the tests of moving in and out share: a store, sources as they lie in `vaults/import`, and what a folder has."""

from __future__ import annotations

import datetime
import hashlib
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

from memdb.services.transfer.importing import Imported
from memdb.store import Store
from tests.conftest import VAULTS
from tests.fake_embedder import FakeEmbedder

SOURCES = VAULTS / "import"
TODAY = datetime.date(2026, 6, 1)


def opened(root: Path) -> Store:
    """A store at a root, with the fast embedder."""
    return Store.init(root, embedder=FakeEmbedder())


def source(name: str, where: Path) -> Path:
    """A copy of a source, to be edited."""
    found = SOURCES / name
    if found.is_dir():
        return Path(shutil.copytree(found, where / found.name))
    where.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copyfile(found, where / found.name))


def json_source(where: Path, name: str, value: Any) -> Path:
    """A JSON file."""
    where.mkdir(parents=True, exist_ok=True)
    file = where / name
    file.write_text(json.dumps(value), encoding="utf-8")
    return file


def zipped(file: Path, entries: dict[str, bytes | str]) -> Path:
    """A zip of these entries."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return file


def outcome(done: Imported) -> dict[str, str]:
    """What became of each place."""
    return {item.place: item.action for item in done.items}


def files_of(done: Imported) -> dict[str, str]:
    """The file of each place."""
    return {item.place: item.file for item in done.items}


def tree(root: Path) -> dict[str, str]:
    """The sha256 of every file of the user's below a root."""
    return {
        file.relative_to(root).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(root.rglob("*"))
        if file.is_file() and ".memdb" not in file.relative_to(root).parts
    }


def lines(file: Path) -> list[dict[str, Any]]:
    """The records of a JSONL file."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def kept_lines(file: Path) -> str:
    """A text with the newlines that it has on disk."""
    return file.read_bytes().decode("utf-8")
