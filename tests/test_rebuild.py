"""Rebuild: aside, whole, with what was paid for taken over; and what a damaged database becomes."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import apsw
import pytest

import memdb
from memdb.base.storage import Database, page_size_of
from memdb.errors import MemdbError, ModelUnavailable, NewerStore, NotWritable, StoreUnreadable
from memdb.services.health import rebuilding
from memdb.store import Store
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder, Vector
from tests.histories import differing

Make = Callable[..., Store]

FILES: dict[str, str | bytes] = {
    "user/a.md": "---\ntags: [style]\n---\nSee [[b]].\n",
    "user/b.md": "Tables are preferred.\n",
    "feedback/c.md": "---\nsupersedes: user/a\n---\nMaple is the staging database.\n",
    "project/d.md": "Deploy on Fridays. " * 20,
    **{f"reference/r{number}.md": f"Reference number {number}.\n" for number in range(4)},
}


def make(root: Path) -> Store:
    """A store with history, tags, links, clusters."""
    write_files(root, FILES)
    store = Store.init(root, embedder=FakeEmbedder())
    store.sync()
    store.save("user/b", "Tables, always.\n")
    store.sync()
    return store


def test_nothing_is_embedded_again(tmp_path: Path) -> None:
    store = make(tmp_path / "r")
    live = store.digest()
    fake = FakeEmbedder()
    store._context.set_embedder(fake)
    done = store.rebuild()
    assert (done.salvaged, done.report.embedded, fake.read) == (10, 0, [])
    assert differing(live, store.digest()) == []
    assert not list(store.place.home.glob("*.rebuild*"))
    assert all(finding.state != "error" for finding in store.doctor())
    store.close()


def test_the_cache_of_another_model_is_taken_over(tmp_path: Path) -> None:
    store = make(tmp_path / "r")
    other = FakeEmbedder("fake/other@1", dims=32)
    store._context.set_embedder(other)
    store.sync()
    assert store.stats()["dims"] == 32
    read = len(other.read)
    store.rebuild()
    store._context.set_embedder(first := FakeEmbedder())
    store.sync()
    assert (len(other.read), first.read) == (read, [])
    assert store.stats()["dims"] == first.status.dims
    assert store.recall("Tables").hits[0].id == "user/b"
    store.close()


@pytest.mark.parametrize("other_dims", [128, 64])
def test_models_are_never_mixed(tmp_path: Path, other_dims: int) -> None:
    store = make(tmp_path / "r")
    store.close()
    fake = FakeEmbedder("fake/other@2", dims=other_dims)
    with Store(store.place, fake) as again:
        report = again.sync()
        assert report.embedded == 9
        rows = again._context.database.rows("select distinct model from passage")
        assert rows == [("fake/other@2",)]
        assert again.recall("Tables always").arms["vector"]
        assert all(finding.state != "error" for finding in again.doctor())


class Broken(FakeEmbedder):
    def __init__(self) -> None:
        super().__init__("fake/words@2", off="out of memory")


def test_a_broken_model_leaves_the_old_database(tmp_path: Path) -> None:
    store = make(tmp_path / "r")
    live = store.digest()
    store._context.set_embedder(Broken())
    before = store.place.database.stat().st_ino
    with pytest.raises(ModelUnavailable) as error:
        store.rebuild()
    assert "stays" in error.value.message and error.value.hint
    assert store.place.database.stat().st_ino == before
    assert not list(store.place.home.glob("*.rebuild*"))
    store._context.set_embedder(FakeEmbedder())
    assert differing(live, store.digest()) == []
    store.close()


def test_a_broken_model_and_a_damaged_database_still_give_a_store(tmp_path: Path) -> None:
    store = make(tmp_path / "r")
    store.close()
    store.place.database.write_bytes(b"damaged" * 1000)
    with Store(store.place, Broken()) as again:
        assert again.damage
        assert again.recall("Tables").hits[0].id == "user/b"


def test_an_unreadable_root_leaves_the_old_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memdb.base import files

    store = make(tmp_path / "r")
    live = store.digest()

    def refuse(root: Path, *_: object) -> files.Walk:
        raise files.unreadable(root, PermissionError(13, "Permission denied"))

    with monkeypatch.context() as patch:
        patch.setattr(files, "walk", refuse)
        with pytest.raises(StoreUnreadable):
            store.rebuild()
    assert differing(live, store.digest()) == []
    store.close()


@pytest.mark.parametrize("damage", [False, True])
def test_another_open_store_sees_the_new_database(tmp_path: Path, damage: bool) -> None:
    store = make(tmp_path / "r")
    other = Store(store.place, FakeEmbedder())
    assert other.recall("Tables").hits
    if damage:
        # The whole file is another one, as after a restore.
        store.close()
        store.place.database.with_name("x").write_bytes(b"x" * 5000)
        store.place.database.with_name("x").replace(store.place.database)
    store.rebuild()
    store.save("user/new", "A wholly new text on periwinkle.\n")
    assert other.recall("periwinkle").hits[0].id == "user/new"
    other.save("user/newer", "And marzipan.\n")
    assert store.recall("marzipan").hits[0].id == "user/newer"
    assert differing(store.digest(), other.digest()) == []
    other.close()
    store.close()
    with Store(store.place, FakeEmbedder()) as again:
        assert again.damage is None
        assert again.stats()["memories"] == 10


def test_a_database_that_is_deleted_under_an_open_store_comes_back(tmp_path: Path) -> None:
    store = make(tmp_path / "r")
    live = store.digest()
    for file in store.place.home.glob("memory.db*"):
        file.unlink()
    assert store.recall("Tables").hits[0].id == "user/b"
    assert differing(live, store.digest()) == []
    store.close()


# Damage


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A store that was closed, to be copied, and its digests by table."""
    os.environ["MEMDB_HOME"] = str(tmp_path_factory.mktemp("home"))
    store = make(tmp_path_factory.mktemp("closed") / "r")
    live = store.digest()
    store.close()
    return store.place.root, live.tables


def damaged(closed: tuple[Path, dict[str, str]], target: Path, change: Callable[[Path], None]) -> None:
    """Damage a closed store: it opens, with all memories and the same content, or says why it cannot."""
    shutil.copytree(closed[0], target)
    # A store of this place, as memdb left it.
    with Store.init(target, embedder=FakeEmbedder()) as first:
        first.sync()
    change(target / ".memdb" / "memory.db")
    with Store.init(target, embedder=FakeEmbedder()) as store:
        assert store.recall("Tables").hits[0].id == "user/b"
        assert store.stats()["memories"] == 8
        assert store.digest().tables == closed[1]
        assert all(finding.state != "error" for finding in store.doctor())
    with Store.init(target, embedder=FakeEmbedder()) as again:
        assert again.damage is None


@pytest.mark.parametrize("share", [0, 1, 15, 16, 50, 99, 100, 4095, 4096, 4097, 0.3, 0.5, 0.9, 0.999])
def test_a_truncated_database_is_rebuilt(closed: tuple[Path, dict[str, str]], tmp_path: Path, share: float) -> None:
    def cut(file: Path) -> None:
        size = file.stat().st_size
        os.truncate(file, int(size * share) if isinstance(share, float) else share)

    damaged(closed, tmp_path / "r", cut)


@pytest.mark.parametrize("seed", range(3))
def test_random_bytes_are_rebuilt(closed: tuple[Path, dict[str, str]], tmp_path: Path, seed: int) -> None:
    damaged(closed, tmp_path / "r", lambda file: file.write_bytes(random.Random(seed).randbytes(40_000)))


@pytest.mark.parametrize(
    "table", ["memory", "node", "fts", "edge", "meta", "source", "migration", "passage", "memory_version"]
)
def test_a_missing_table_is_rebuilt(closed: tuple[Path, dict[str, str]], tmp_path: Path, table: str) -> None:
    def drop(file: Path) -> None:
        connection = apsw.Connection(str(file))
        connection.execute(f"drop table {table}")
        connection.close()

    damaged(closed, tmp_path / "r", drop)


def test_rows_that_another_program_deleted_are_rebuilt(closed: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    def delete(file: Path) -> None:
        connection = apsw.Connection(str(file))
        connection.execute("update memory set body = 'changed by hand' where id = 1")
        connection.execute("delete from link")
        connection.close()

    damaged(closed, tmp_path / "r", delete)


def test_a_foreign_database_in_the_folder_of_the_store_is_rebuilt(
    closed: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    def foreign(file: Path) -> None:
        file.unlink()
        connection = sqlite3.connect(file)
        connection.execute("create table t (x)")
        connection.commit()
        connection.close()

    damaged(closed, tmp_path / "r", foreign)


FLIPS = 997


@pytest.mark.slow
def test_a_flipped_byte_anywhere_is_noticed_or_harmless(closed: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    root = tmp_path / "r"
    shutil.copytree(closed[0], root)
    with Store.init(root, embedder=FakeEmbedder()) as first:
        first.sync()
    file = root / ".memdb" / "memory.db"
    for at in range(0, file.stat().st_size, FLIPS):
        place = min(at, file.stat().st_size - 1)
        with file.open("r+b") as data:
            data.seek(place)
            byte = data.read(1)[0]
            data.seek(place)
            data.write(bytes([byte ^ 0xFF]))
        with Store.init(root, embedder=FakeEmbedder()) as store:
            assert store.damage, at
            assert store.stats()["memories"] == 8
            assert store.digest().tables == closed[1], at


@pytest.mark.parametrize("at", [0, 20, 40, 60, 100, 2000, 4100, 9000, 30_000, 60_000])
def test_a_flipped_byte_is_noticed(closed: tuple[Path, dict[str, str]], tmp_path: Path, at: int) -> None:
    def flip(file: Path) -> None:
        data = bytearray(file.read_bytes())
        data[at] ^= 0xFF
        file.write_bytes(data)

    damaged(closed, tmp_path / "r", flip)


def test_a_byte_flipped_while_the_store_is_open_never_shows_fewer_memories(tmp_path: Path) -> None:
    store = make(tmp_path / "r")
    live = store.digest()
    store.close()
    store.stats()
    pages = store.place.database.stat().st_size // 4096
    for page in range(pages):
        with store.place.database.open("r+b") as data:
            data.seek(page * 4096)
            data.write(b"\xff" * 64)
    store._context.database.connection.execute("pragma shrink_memory")
    store.close()
    with Store(store.place, FakeEmbedder()) as again:
        assert again.damage
        assert differing(live, again.digest()) == []


def test_a_newer_database_is_refused_and_not_touched(tmp_path: Path) -> None:
    store = make(tmp_path / "r")
    store.close()
    connection = apsw.Connection(str(store.place.database))
    connection.execute("insert into migration values ('9999_of_the_future', '2100-01-01T00:00:00Z')")
    connection.close()
    # As a newer memdb leaves it, with its own note.
    (store.place.home / "local" / "checked.json").unlink()
    before = store.place.database.read_bytes()
    for _ in range(2):
        with pytest.raises(NewerStore) as error:
            Store(store.place, FakeEmbedder())
        assert "pip install --upgrade" in str(error.value.hint)
        assert store.place.database.read_bytes() == before


@pytest.mark.parametrize("content", ["sqlite", "text", "empty"])
@pytest.mark.parametrize("how", ["argument", "variable"])
def test_a_foreign_file_named_by_the_user_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, how: str
) -> None:
    write_files(tmp_path / "r", FILES)
    file = tmp_path / "mine.db"
    if content == "sqlite":
        connection = sqlite3.connect(file)
        connection.execute("create table t (x)")
        connection.commit()
        connection.close()
    else:
        file.write_text("dear diary" if content == "text" else "")
    before = file.read_bytes()
    if how == "variable":
        monkeypatch.setenv("MEMDB_DB", str(file))
    named = file if how == "argument" else None
    if content == "empty":
        with Store.init(tmp_path / "r", db=named, embedder=FakeEmbedder()) as store:
            assert store.sync().added == 8
        return
    for _ in range(2):
        with pytest.raises(StoreUnreadable):
            Store.init(tmp_path / "r", db=named, embedder=FakeEmbedder())
        assert file.read_bytes() == before
        assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.db", "r"]


def test_a_damaged_database_elsewhere_is_rebuilt_when_it_is_ours(tmp_path: Path) -> None:
    write_files(tmp_path / "r", FILES)
    with Store.init(tmp_path / "r", db=tmp_path / "other" / "m.db", embedder=FakeEmbedder()) as store:
        store.sync()
        live = store.digest()
    file = tmp_path / "other" / "m.db"
    data = bytearray(file.read_bytes())
    data[5000:5100] = b"\xff" * 100
    file.write_bytes(data)
    with Store.init(tmp_path / "r", db=file, embedder=FakeEmbedder()) as again:
        assert again.damage
        assert differing(live, again.digest()) == []


def test_a_copy_of_the_folder_is_opened_without_a_rebuild(closed: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    shutil.copytree(closed[0], tmp_path / "copy")
    with Store.init(tmp_path / "copy", embedder=FakeEmbedder()) as store:
        assert store.damage is None
        assert store.digest().tables == closed[1]


def test_a_program_that_ends_without_closing_is_no_damage(closed: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    shutil.copytree(closed[0], tmp_path / "r")
    code = (
        "import sys, memdb.store as m\n"
        "s = m.Store.init(sys.argv[1])\n"
        "print(s.damage)\n"
        "s.save('user/n', 'text ' + sys.argv[2])\n"
    )
    for number in range(3):
        found = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "r"), str(number)],
            env=os.environ | {"MEMDB_EMBEDDER": "off"}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert found.stdout == "None\n"


def test_a_reader_with_another_program_is_no_damage(closed: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    shutil.copytree(closed[0], tmp_path / "r")
    with Store.init(tmp_path / "r", embedder=FakeEmbedder()) as store:
        store.sync()
    connection = sqlite3.connect(tmp_path / "r" / ".memdb" / "memory.db")
    assert connection.execute("select count(*) from memories").fetchone() == (8,)
    connection.close()
    with Store.init(tmp_path / "r", embedder=FakeEmbedder()) as again:
        assert again.damage is None


def test_a_full_disk_leaves_the_old_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = make(tmp_path / "r")
    live = store.digest()

    def full(*_: object, **__: object) -> None:
        raise apsw.FullError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(rebuilding, "_salvage", full)
        with pytest.raises(MemdbError) as error:
            store.rebuild()
        assert isinstance(error.value, NotWritable)
    assert differing(live, store.digest()) == []
    assert not list(store.place.home.glob("*.rebuild*"))
    store.close()


def test_a_rebuild_that_is_killed_leaves_the_old_database(tmp_path: Path) -> None:
    store = make(tmp_path / "r")
    live = store.digest()
    store.close()
    code = (
        "import sys, memdb.store as m, os\n"
        "from memdb.services.health import rebuilding\n"
        "rebuilding._copy_over = lambda *a: os._exit(9)\n"
        "m.Store.init(sys.argv[1]).rebuild()\n"
    )
    environment = os.environ | {"MEMDB_EMBEDDER": "off"}
    done = subprocess.run([sys.executable, "-c", code, str(store.place.root)], env=environment, check=False)
    assert done.returncode == 9
    started = time.process_time()
    with Store(store.place, FakeEmbedder()) as again:
        assert again.damage is None
        assert differing(live, again.digest()) == []
        again.rebuild()
    assert time.process_time() - started < 10
    assert not list(store.place.home.glob("*.rebuild*"))


class Interrupted(FakeEmbedder):
    """Ctrl-C after some texts."""

    def embed_passages(self, texts: Sequence[str], progress: object = None) -> Iterator[Vector]:
        for text in texts:
            if len(self.read) == 20:
                raise KeyboardInterrupt
            yield from super().embed_passages([text], progress)


def test_an_interrupted_rebuild_keeps_the_vectors_that_it_computed(tmp_path: Path) -> None:
    write_files(tmp_path / "notes", {f"user/n{number}.md": f"Note {number} of many.\n" for number in range(40)})
    with Store.init(tmp_path / "notes", embedder=FakeEmbedder(off="away")) as store:
        store.sync()
    with memdb.open(tmp_path / "notes", embedder=Interrupted()) as store, pytest.raises(KeyboardInterrupt):
        store.rebuild()
    embedder = FakeEmbedder()
    with memdb.open(tmp_path / "notes", embedder=embedder) as store:
        assert store.rebuild().salvaged == 20
    assert len(embedder.read) == 20


def test_a_killed_rebuild_leaves_its_vectors_to_the_next(tmp_path: Path) -> None:
    write_files(tmp_path / "notes", {f"user/n{number}.md": f"Note {number} of many.\n" for number in range(40)})
    with Store.init(tmp_path / "notes", embedder=FakeEmbedder()) as store:
        store.sync()
    home = tmp_path / "notes" / ".memdb"
    shutil.copyfile(home / "memory.db", home / "memory.db.rebuild")
    with (
        memdb.open(tmp_path / "notes", embedder=FakeEmbedder()) as store,
        store._context.database.write() as connection,
    ):
        connection.execute("delete from embedding")
    embedder = FakeEmbedder()
    with memdb.open(tmp_path / "notes", embedder=embedder) as store:
        assert store.rebuild().salvaged == 40
    assert embedder.read == []
    assert not (home / "memory.db.rebuild").exists()


def test_damage_is_mended_before_all_is_embedded_again(tmp_path: Path) -> None:
    write_files(tmp_path / "notes", {f"user/n{number}.md": f"Note {number} of many.\n" for number in range(40)})
    with Store.init(tmp_path / "notes", embedder=FakeEmbedder()) as store:
        store.sync()
    (tmp_path / "notes" / ".memdb" / "memory.db").write_bytes(b"no database at all " * 500)
    embedder = FakeEmbedder()
    with memdb.open(tmp_path / "notes", embedder=embedder) as store:
        assert store.damage is not None
        assert len(embedder.read) == rebuilding.HEAL_EMBEDS
        assert len(store.list()) == 40
        assert store.sync().embedded == 40 - rebuilding.HEAL_EMBEDS


def test_a_store_keeps_the_page_size_that_it_has(tmp_path: Path) -> None:
    write_files(tmp_path, FILES)
    file = tmp_path / ".memdb" / "memory.db"
    with Store.init(tmp_path, embedder=FakeEmbedder()) as store:
        store.sync()
        assert page_size_of(file) == 8192
    for part in file.parent.glob("memory.db*"):
        part.unlink()
    Database(file, page_size=4096).close()
    with Store.init(tmp_path, embedder=FakeEmbedder()) as store, Store.init(tmp_path, embedder=FakeEmbedder()) as other:
        store.sync()
        assert other.recall("maple").hits[0].id == "feedback/c"
        write_files(tmp_path, {"feedback/c.md": "Willow is the staging database now.\n"})
        store.rebuild()
        assert page_size_of(file) == 4096
        # It has the same file open, in which the new content is.
        assert other.recall("willow", sync_first=False).hits[0].id == "feedback/c"


@pytest.mark.parametrize(
    ("header", "size"),
    [
        (b"SQLite format 3\0\x10\x00", 4096),
        (b"SQLite format 3\0\x00\x01", 65_536),
        (b"SQLite format 3\0\x02\x00", 512),
        (b"SQLite format 3\0\x02\x01", 8192),
        (b"SQLite format 3\0\x01\x00", 8192),
        (b"SQLite format 4\0\x10\x00", 8192),
        (b"", 8192),
    ],
)
def test_what_a_header_says_of_the_page_size(tmp_path: Path, header: bytes, size: int) -> None:
    (tmp_path / "x.db").write_bytes(header)
    assert page_size_of(tmp_path / "x.db") == size
    assert page_size_of(tmp_path / "absent.db") == 8192
