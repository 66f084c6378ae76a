"""A database of every earlier version becomes one of this version, and says what a fresh one says."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from memdb.base import resources
from memdb.base.storage import schema_of
from memdb.errors import NewerStore
from memdb.store import Store
from tests.histories import differing
from tests.upgrade_support import FOLDER, VERSIONS, embedder, folder, old_store


@pytest.mark.parametrize("version", VERSIONS)
def test_a_database_of_every_version_is_migrated_and_says_what_a_fresh_one_says(tmp_path: Path, version: int) -> None:
    with old_store(version, tmp_path / "old") as store:
        assert store.damage is None
        assert store.recall("what is drunk at five").hits[0].id == "user/tea"
        live = store.digest()
        assert [one.detail for one in store.doctor() if one.state == "error"] == []
        embedded = store._context.embedder.read  # type: ignore[attr-defined]
        # Vectors are kept: what was embedded under an earlier version is not embedded again.
        assert not any("drunk at five" in text for text in embedded)
    with Store.init(folder(tmp_path / "fresh"), embedder=embedder()) as fresh:
        assert differing(live, fresh.digest()) == []
    migrated = apsw.Connection(str(tmp_path / "old/.memdb/memory.db"))
    made = apsw.Connection(str(tmp_path / "fresh/.memdb/memory.db"))
    assert schema_of(migrated) == schema_of(made)
    migrated.close()
    made.close()


def test_every_migration_has_its_rows() -> None:
    names = {name for name, _ in resources.migrations()}
    assert {file.stem for file in FOLDER.glob("*.sql")} == names


@pytest.mark.parametrize("version", [1, 6, VERSIONS[-1]])
def test_an_older_memdb_refuses_what_a_newer_one_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    with old_store(VERSIONS[-1], tmp_path / "r") as store:
        store.sync()
    connection = apsw.Connection(str(tmp_path / "r/.memdb/memory.db"))
    connection.execute("insert into migration values ('9999_of_the_future', '2100-01-01T00:00:00Z')")
    connection.close()
    (tmp_path / "r/.memdb/local/checked.json").unlink()
    before = (tmp_path / "r/.memdb/memory.db").read_bytes()
    older = resources.migrations()[:version]
    monkeypatch.setattr(resources, "migrations", lambda: older)
    with pytest.raises(NewerStore) as error:
        Store.init(tmp_path / "r", embedder=embedder())
    assert "9999_of_the_future" in error.value.message and error.value.hint
    assert (tmp_path / "r/.memdb/memory.db").read_bytes() == before


@pytest.mark.parametrize(
    ("was", "became"),
    [
        ("'chunk', 'entity', 'tag', 'cluster')", "'chunk', 'tag')"),
        ("check (state in ('seen', 'error'))", "check (state = 'seen')"),
        ("unique (src, dst, kind, predicate)", "unique (src, dst, kind)"),
        ("degree = degree + 1", "degree = degree + 2"),
        ("create index edge_dst on edge (dst);", ""),
    ],
)
def test_a_database_of_an_unfinished_memdb_is_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was: str, became: str
) -> None:
    """The same names of tables and migrations, other constraints: they would show when a row does not fit."""
    original = resources.migrations()
    assert was in original[0][1]
    with monkeypatch.context() as patch:
        changed = ((original[0][0], original[0][1].replace(was, became)), *original[1:])
        patch.setattr(resources, "migrations", lambda: changed)
        folder(tmp_path / "r")
        with Store.init(tmp_path / "r", embedder=embedder()) as store:
            store.stats()
    with Store.init(tmp_path / "r", embedder=embedder()) as store:
        assert store.damage is not None and "other tables" in store.damage
        live = store.digest()
        assert [one.detail for one in store.doctor() if one.state == "error"] == []
    with Store.init(folder(tmp_path / "fresh"), embedder=embedder()) as fresh:
        assert differing(live, fresh.digest()) == []


def test_tables_that_a_person_added_stay(tmp_path: Path) -> None:
    with old_store(VERSIONS[-1], tmp_path / "r") as store:
        store.sync()
        store._run(lambda context: context.database.connection.execute("create table mine (x)"))
        store._run(lambda context: context.database.set_meta("schema", None))
    with Store.init(tmp_path / "r", embedder=embedder()) as store:
        assert store.damage is None
        assert store._run(lambda context: context.database.rows("select count(*) from mine")) == [(0,)]
