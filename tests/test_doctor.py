"""The doctor finds what is wrong, by kind of table, and says what to do."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from memdb.base.embedding import Embedder
from memdb.store import Store
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder

FILES: dict[str, str | bytes] = {
    "user/tea.md": "---\ntags: [drinks]\n---\nGreen tea. [[ferry]]\n",
    "project/ferry.md": "Leaves at nine.\n",
}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    write_files(tmp_path / "root", FILES)
    store = Store.init(tmp_path / "root", embedder=FakeEmbedder())
    store.sync()
    return store


def bad(store: Store) -> dict[str, str]:
    return {finding.check: finding.state for finding in store.doctor() if finding.state != "ok"}


def test_a_sound_store(store: Store) -> None:
    with store:
        assert bad(store) == {}
        assert all(finding.detail for finding in store.doctor())


@pytest.mark.parametrize(
    ("damage", "check"),
    [
        ("delete from fts where rowid = (select id from node where key = 'user/tea')", "keyword rows"),
        ("delete from fts_length where node_id = (select id from node where key = 'user/tea')", "keyword rows"),
        ("update fts_total set texts = 7", "keyword rows"),
        ("insert into fts (rowid, body) values (99, 'ghost')", "keyword rows"),
        ("update fts_data set block = x'00' where id = 10", "keyword index"),
        ("update node set degree = 9 where key = 'user/tea'", "degrees"),
        ("delete from neighbor where kind = 'links_to'", "neighbours"),
        ("insert into neighbor values (1, 2, 99, 'links_to', 0.7)", "neighbours"),
        ("update neighbor set weight = 0.1", "neighbours"),
        ("delete from embedding", "vectors"),
        ("delete from signature", "vector index"),
        ("insert into signature values (99, x'00')", "vector index"),
        ("update embedded set text_sha256 = ''", "vectors"),
        ("delete from passage", "vectors"),
        ("insert into edge (src, dst, kind, weight) values (1, 999, 'links_to', 0.7)", "foreign keys"),
        ("delete from source where path = 'user/tea.md'", "foreign keys"),
        ("delete from memory where base_key = 'user/tea'", "nodes"),
        ("insert into node (kind, key, label) values ('tag', 'tag:nobody', 'nobody')", "nodes"),
        ("insert into node (kind, key, label) values ('cluster', 'cluster:c-0', '')", "nodes"),
        ("delete from memory_key", "links"),
        ("delete from link_key", "links"),
        ("delete from edge where kind = 'links_to'", "links"),
        ("delete from edge where kind = 'has_tag'", "tags"),
        ("update memory set body = 'Another.' where base_key = 'user/tea'", "texts"),
        ("update embedding set vector = zeroblob(length(vector))", "unit vectors"),
    ],
)
def test_rows_that_belong_to_nothing_or_are_missing(store: Store, damage: str, check: str) -> None:
    with store:
        # By another program: the store's own connection holds parts of the keyword index in memory.
        other = apsw.Connection(str(store.place.database))
        other.pragma("foreign_keys", False)
        other.execute(damage)
        other.close()
        assert bad(store)[check] == "error"
        finding = next(finding for finding in store.doctor() if finding.check == check)
        assert "memdb doctor --fix" in (finding.hint or "")
        assert finding.repair == "rebuild"
        assert store.repair()[0].startswith("rebuilt the database from the files and the journal: ")
        assert bad(store) == {}


def test_changed_new_and_missing_files(store: Store) -> None:
    with store:
        write_files(store.place.root, {"user/tea.md": "Black tea now.\n", "user/new.md": "New.\n"})
        (store.place.root / "project/ferry.md").unlink()
        finding = next(finding for finding in store.doctor() if finding.check == "files")
        assert (finding.state, finding.hint) == ("warning", "Run `memdb sync`.")
        assert finding.detail == "3 files changed since the last sync"
        store.sync(yes=True)
        assert bad(store) == {}


def test_what_waits_to_be_embedded(store: Store) -> None:
    with store:
        write_files(store.place.root, {"user/tea.md": "Black tea now.\n"})
        store.sync(embed=False)
        assert bad(store) == {"embedded": "warning"}


def test_problems_in_the_files_are_counted(store: Store) -> None:
    with store:
        write_files(store.place.root, {"user/broken.md": "---\ntitle: {{title}}\n---\n"})
        store.sync()
        assert bad(store) == {"problems": "warning"}


def test_a_line_of_the_journal_that_cannot_be_read(store: Store) -> None:
    with store:
        write_files(store.place.root, {"user/tea.md": "Black tea now.\n"})
        store.sync()
        file = next(store.place.journal.glob("*.jsonl"))
        file.write_text("{torn\n" + file.read_text("utf-8"), "utf-8")
        assert bad(store)["journal"] == "warning"


def test_no_model(tmp_path: Path) -> None:
    write_files(tmp_path / "root", FILES)
    with Store.init(tmp_path / "root", embedder=Embedder(enabled=False)) as store:
        store.sync()
        assert bad(store) == {"model": "warning"}


def test_a_sound_store_is_not_repaired(store: Store) -> None:
    with store:
        before = store.digest()
        assert store.repair() == store.repair(deep=True) == []
        assert store.digest() == before


def test_rows_that_only_a_comparison_shows(store: Store) -> None:
    """A title follows from the file alone: no other table has to agree with it."""
    with store:
        live = store.digest()
        store._run(lambda context: context.database.connection.execute("update memory set title = 'Another'"))
        assert bad(store) == {}
        found = {one.check: one for one in store.doctor(deep=True)}
        assert (found["rows"].state, "memory" in found["rows"].detail) == ("error", True)
        assert store.repair(deep=True) == ["rebuilt the database from the files and the journal: memory differed"]
        assert [one.state for one in store.doctor(deep=True) if one.check == "rows"] == ["ok"]
        assert store.digest().tables == live.tables
        assert not list(store.place.home.glob(".memdb-doctor-*"))


def test_what_is_behind_is_brought_up(store: Store) -> None:
    with store:
        write_files(store.place.root, {"user/tea.md": "Black tea now.\n"})
        assert store.repair() == ["brought the index up to the files: files"]
        assert bad(store) == {}


def test_what_a_killed_process_left_is_found_and_removed(store: Store) -> None:
    with store:
        left = [store.place.home / "memory.db.rebuild", store.place.journal / ".memdb-abc.tmp"]
        for file in left:
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(b"half")
        assert bad(store) == {"leftovers": "warning"}
        assert store.repair() == ["removed 2 files that a process left unfinished"]
        assert bad(store) == {} and not any(file.exists() for file in left)


@pytest.mark.parametrize("touch", ["nothing", "times", "bytes", "bytes under the same times"])
def test_bytes_that_changed_while_the_store_was_closed(store: Store, touch: str) -> None:
    from memdb.services.health import checking

    live = store.digest()
    store.close()
    file = store.place.database
    data = bytearray(file.read_bytes())
    noted = checking._noted(store.place)
    assert noted is not None and noted.crc is not None
    if touch.startswith("bytes"):
        data[len(data) // 2 + 11] ^= 0x40
    if touch != "nothing":
        file.write_bytes(data)
    if touch == "bytes under the same times":
        stamp = checking._stamp(store.place)
        assert stamp is not None
        checking._write(store.place, noted._replace(stamp=stamp))
    with Store(store.place, FakeEmbedder()) as again:
        assert bool(again.damage) == touch.startswith("bytes")
        assert again.digest().tables == live.tables


def test_a_process_that_is_killed_before_the_note_leaves_no_damage(store: Store) -> None:
    """The log is folded in, the note of it is not written yet: the file is another one than was noted before."""
    from memdb.services.health import checking

    store.save("user/more", "More.\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checking, "note", lambda place: None)
        store.close()
    assert not store.place.checked.exists() and not store.place.log.exists()
    with Store(store.place, FakeEmbedder()) as again:
        assert again.damage is None
        assert again.stats()["memories"] == 3
