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
        assert "memdb rebuild" in (finding.hint or "")
        store.rebuild()
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
