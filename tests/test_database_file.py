"""A look at the file of a database takes no lock from a connection of this process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import apsw
import pytest

from memdb.base import blank, database_file
from memdb.base.storage import page_size_of
from memdb.datasette_plugin import stores
from memdb.services.health import checking
from memdb.store import Store

ALONE = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
"""
"""What another process does to be alone with a database, where SQLite keeps its shared locks."""


def test_bytes(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"abc\0\0" * 3)
    assert database_file.head(file, 5) == b"abc\0\0"
    assert database_file.head(file, 99) == b"abc\0\0" * 3
    assert list(database_file.blocks(file, 10)) == [b"abc\0\0abc\0\0", b"abc\0\0"]
    (tmp_path / "empty").touch()
    assert database_file.head(tmp_path / "empty", 9) == b""
    assert list(database_file.blocks(tmp_path / "empty", 9)) == []


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        database_file.head(tmp_path / "none", 9)


@pytest.mark.skipif(sys.platform == "win32", reason="locks of Windows belong to the opened file")
def test_a_look_at_the_file_keeps_the_locks_of_an_open_store(tmp_path: Path) -> None:
    def is_alone(file: Path) -> bool:
        ended = subprocess.run([sys.executable, "-c", ALONE, str(file)], check=False, stderr=subprocess.DEVNULL)
        return ended.returncode == 0

    with Store.init(tmp_path) as store:
        store.sync()
        place = store.place
        stamp = checking._stamp(place)
        assert stamp is not None
        datasette = SimpleNamespace(databases={"memory": SimpleNamespace(path=str(place.database))})
        assert stores.file_of(datasette, "memory") == place.database
        assert checking._sum(place, stamp) is not None
        page_size_of(place.database)
        assert not is_alone(place.database)
        with place.database.open("rb"):
            pass
        assert is_alone(place.database)


def test_a_store_that_is_all_in_its_log_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blank, "_kept", {})  # a copy of another new database is no log
    with Store.init(tmp_path) as store:
        file = store.place.database
        assert database_file.head(file, 72)[68:] != stores.APPLICATION_ID
        assert stores._is_marked(file)
    with apsw.Connection(str(tmp_path / "other.db")) as connection:
        connection.execute("create table t (x)")
    assert not stores._is_marked(tmp_path / "other.db")
