"""What a person reads in the file: each view works in any SQLite, without extensions, and shows what is."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memdb.services.recall import HUB_DEGREE
from memdb.store import Store
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder

VIEWS = sorted((Path(__file__).parents[1] / "sql" / "views").glob("*.sql"))
OWN_SQLITE = pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 40), reason="this Python's SQLite is older than 3.40")

FILES: dict[str, str | bytes] = {
    "user/tea.md": "---\ndescription: What she drinks\ntags: [drinks, habits]\ncreated: 2026-01-02\n---\n"
    "Green tea. [[ferry]] [[gone]]\n",
    "project/ferry.md": "---\ntags: [travel]\n---\nLeaves at nine.\n",
    "project/ferry-2.md": "---\nsupersedes: ferry\n---\nLeaves at ten.\n",
    "episode/alone.md": "Nothing else.\n",
    "episode/broken.md": "---\ntitle: {{title}}\n---\nBroken head.\n",
    "episode/latin.md": b"\xff\xfe\x00",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        root = tmp_path_factory.mktemp("views")
        write_files(root, FILES)
        with Store.init(root, embedder=FakeEmbedder()) as made:
            made.sync()
            write_files(root, {"episode/alone.md": "Nothing more.\n"})
            made.sync(embed=False)
            yield made


def rows(store: Store, statement: str) -> list[tuple[Any, ...]]:
    return store._context.database.rows(statement)


@pytest.mark.parametrize("file", VIEWS, ids=lambda file: file.stem)
def test_each_view_is_one_plain_view(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert re.match(r"-- [A-Z].*\?.*\ncreate view ", text)
    assert f"create view {file.stem} as" in text
    assert not re.search(r"vec_|fts\b|match", text)


@pytest.mark.parametrize("file", VIEWS, ids=lambda file: file.stem)
def test_each_view_selects_here(store: Store, file: Path) -> None:
    assert len(rows(store, f"select * from {file.stem}")) >= 0


@OWN_SQLITE
@pytest.mark.parametrize("file", VIEWS, ids=lambda file: file.stem)
def test_each_view_selects_the_same_in_another_sqlite(store: Store, file: Path) -> None:
    with closing(sqlite3.connect(store.place.database.as_uri() + "?mode=ro", uri=True)) as connection:
        assert connection.execute(f"select * from {file.stem}").fetchall() == rows(store, f"select * from {file.stem}")


def test_every_view_of_the_file_has_a_file(store: Store) -> None:
    names = rows(store, "select name from sqlite_schema where type = 'view' order by name")
    assert [name for (name,) in names] == [file.stem for file in VIEWS]


EXPECTED: dict[str, list[tuple[Any, ...]]] = {
    "select id, file, superseded, neighbours from memories order by id": [
        ("episode/alone", "episode/alone.md", 0, 0),
        ("episode/broken", "episode/broken.md", 0, 0),
        ("project/ferry", "project/ferry.md", 1, 3),
        ("project/ferry-2", "project/ferry-2.md", 0, 1),
        ("user/tea", "user/tea.md", 0, 3),
    ],
    "select description, tags, created, has_secret, body from memories where id = 'user/tea'": [
        ("What she drinks", '["drinks", "habits"]', "2026-01-02", 0, "Green tea. [[ferry]] [[gone]]\n")
    ],
    "select id, superseded_by from superseded": [("project/ferry", "project/ferry-2")],
    "select tag, memories from tags order by tag": [("drinks", 1), ("habits", 1), ("travel", 1)],
    "select source, raw, status, candidates from unresolved_links": [("user/tea", "[[gone]]", "unresolved", "[]")],
    "select source, kind, status, target from links order by source, raw": [
        ("project/ferry-2", "supersedes", "resolved", "project/ferry"),
        ("user/tea", "wikilink", "resolved", "project/ferry"),
        ("user/tea", "wikilink", "unresolved", None),
    ],
    "select source, kind, target, weight from graph_edges order by source, kind, target": [
        ("project/ferry", "has_tag", "tag:travel", 0.8),
        ("project/ferry-2", "supersedes", "project/ferry", 0.9),
        ("user/tea", "has_tag", "tag:drinks", 0.8),
        ("user/tea", "has_tag", "tag:habits", 0.8),
        ("user/tea", "links_to", "project/ferry", 0.7),
    ],
    "select id from orphans order by id": [("episode/alone",), ("episode/broken",)],
    "select kind, count(*) from graph_nodes group by kind": [("memory", 5), ("tag", 3)],
    "select id, vectors, passages from index_status order by id limit 3": [
        ("episode/alone", "waiting", 0),
        ("episode/broken", "embedded", 1),
        ("project/ferry", "embedded", 1),
    ],
    "select id, version, reason, text from memory_versions": [("episode/alone", 1, "edited", "Nothing else.\n")],
    "select path from problems where code = 'unreadable' or line is not null order by path": [
        ("episode/broken.md",),
        ("episode/latin.md",),
    ],
    "select * from hubs": [],
    "select * from clusters": [],
}


@pytest.mark.parametrize("statement", EXPECTED, ids=lambda statement: statement.partition(" from ")[2].split()[0])
def test_what_a_view_shows(store: Store, statement: str) -> None:
    assert rows(store, statement) == EXPECTED[statement]


def test_an_edge_that_no_longer_stands_is_in_the_twin_alone(store: Store) -> None:
    connection = store._context.database.connection
    connection.execute("begin; update edge set active = 0 where kind = 'links_to'")
    try:
        assert rows(store, "select count(*) from graph_edges where kind = 'links_to'") == [(0,)]
        assert rows(store, "select count(*), sum(active) from graph_edges_all where kind = 'links_to'") == [(1, 0)]
    finally:
        connection.execute("rollback")


def test_the_view_of_hubs_has_the_number_of_the_walk() -> None:
    view = next(file for file in VIEWS if file.stem == "hubs").read_text(encoding="utf-8")
    assert f"degree > {HUB_DEGREE};" in view


def test_a_hub_is_listed(store: Store) -> None:
    connection = store._context.database.connection
    connection.execute("begin; update node set degree = 51 where key = 'tag:drinks'")
    try:
        assert rows(store, "select id, neighbours from hubs") == [("tag:drinks", 51)]
    finally:
        connection.execute("rollback")
