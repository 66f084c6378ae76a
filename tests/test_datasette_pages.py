"""Every page that Datasette has of a store, with the vector extension and without: listed from the database itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from datasette.app import Datasette
from datasette.utils import tilde_encode
from datasette.utils.sqlite import sqlite3

from memdb.datasette_plugin import exploring, stores
from memdb.store import Store
from tests.explorer_store import explorer_store
from tests.fake_embedder import FakeEmbedder

MOST = 1_000
"""Rows that Datasette gives at once."""

FILLED = {
    "memories", "chunks", "documents", "document_entities", "entities", "mentions", "relations", "graph_nodes",
    "graph_edges", "links", "unresolved_links", "tags", "superseded", "pending_proposals", "open_conflicts",
    "conflicts", "index_status", "extractions", "vocabulary_usage", "proposals", "clusters",
}  # fmt: skip
"""Views of which the store of this file has rows, so that an empty page shows."""

ASKED = {"query": "Baltic Star", "name": "Ines Okafor"}
"""What queries are asked with."""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("MEMDB_EMBEDDER", "off")
        world = explorer_store(tmp_path_factory.mktemp("browsed") / "root")
        world.store.close()
        for name, text in (("gauge", "Read at noon.\n"), ("pointer", "See [[gauge|the gauge]] and `[[gauge]]`.\n")):
            (world.root / "reference").mkdir(exist_ok=True)
            (world.root / "reference" / f"{name}.md").write_text(text, encoding="utf-8")
        with Store.init(world.root, embedder=FakeEmbedder()) as embedding:
            embedding.sync()
        yield world.root / ".memdb" / "memory.db"


class Browsed:
    """A Datasette over the store, and a connection as Datasette's own are."""

    def __init__(self, database: Path) -> None:
        self.datasette = Datasette([str(database)])
        self.connection = sqlite3.connect(database.as_uri() + "?mode=ro", uri=True)
        self.connection.row_factory = sqlite3.Row
        stores.prepare(self.connection, exploring.recalling(self.datasette, "memory"))

    def get(self, paths: list[str], accept: str = "text/html") -> list[Any]:
        async def ask() -> list[Any]:
            await self.datasette.invoke_startup()
            return [await self.datasette.client.get(path, headers={"accept": accept}) for path in paths]

        return asyncio.run(ask())

    def names(self, kind: str) -> list[str]:
        rows = self.connection.execute("select name from main.sqlite_schema where type = ? order by name", (kind,))
        return [row["name"] for row in rows]

    def rows(self, statement: str, values: Any = ()) -> list[dict[str, Any]]:
        return [dict(row) for row in self.connection.execute(statement, values)]


@pytest.fixture(scope="module", params=["with the extension", pytest.param("without", marks=pytest.mark.slow)])
def browsed(request: pytest.FixtureRequest, database: Path) -> Iterator[Browsed]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "without":
            patch.setattr(stores, "_load_vec", lambda _connection: False)
        elif not hasattr(sqlite3.Connection, "enable_load_extension"):
            pytest.skip("this Python loads no extensions")
        one = Browsed(database)
        with closing(one.connection):
            yield one


def counted(rows: list[dict[str, Any]]) -> list[str]:
    """Rows in an order of their own."""
    return sorted(json.dumps(row) for row in rows)


def test_every_view_has_a_page_with_its_rows(browsed: Browsed) -> None:
    views = browsed.names("view")
    assert set(views) >= FILLED
    pages = browsed.get([f"/memory/{name}" for name in views])
    assert [(name, page.status_code) for name, page in zip(views, pages, strict=True)] == [(n, 200) for n in views]
    told = browsed.get([f"/memory/{name}.json?_shape=array&_size=max" for name in views])
    filled = set()
    for name, said, page in zip(views, told, pages, strict=True):
        expected = browsed.rows(f"select * from [{name}] limit {MOST}")
        assert counted(said.json()) == counted(expected), name
        assert ("0 records" in page.text) == (not expected), name
        filled |= {name} if expected else set()
    assert filled >= FILLED


def test_every_table_has_a_page(browsed: Browsed) -> None:
    tables = browsed.names("table")
    assert {"memory", "chunk", "vec_passage", "fts", "meta", "near_key"} <= set(tables)
    pages = browsed.get([f"/memory/{tilde_encode(name)}" for name in tables])
    assert [(name, page.status_code) for name, page in zip(tables, pages, strict=True)] == [(n, 200) for n in tables]


def test_every_row_of_what_is_shown_has_a_page(browsed: Browsed) -> None:
    paths = [f"/memory/memory/{row['id']}" for row in browsed.rows("select id from memory")]
    paths += [f"/memory/chunk/{row['id']}" for row in browsed.rows("select id from chunk")]
    paths += [f"/memory/entity/{row['id']}" for row in browsed.rows("select id from entity")]
    pages = browsed.get(paths)
    assert {page.status_code for page in pages} == {200}
    assert any("<em>" in page.text or "memdb-body" in page.text for page in pages)


def test_the_links_of_a_text_lead_to_what_they_name(browsed: Browsed) -> None:
    links = browsed.rows("select source, raw, target from links where kind = 'wikilink' and target is not null")
    assert links
    for link in links:
        [number] = browsed.rows("select id from node where key = :key", {"key": link["source"]})
        paths = [f"/memory/memory/{number['id']}", f"/memory/memories?id__exact={quote(link['source'], safe='')}"]
        for page in browsed.get(paths):
            assert f'memories?id__exact={quote(link["target"], safe="")}">{escape(link["raw"])}</a>' in page.text
    [loose] = browsed.rows("select source, raw from links where status = 'unresolved' limit 1")
    [page] = browsed.get([f"/memory/memories?id__exact={quote(loose['source'], safe='')}"])
    assert escape(loose["raw"]) in page.text and f"{escape(loose['raw'])}</a>" not in page.text


def test_every_query_gives_its_rows(browsed: Browsed) -> None:
    [said] = browsed.get(["/memory.json"])
    queries = {query["name"]: query["sql"] for query in said.json()["queries"]}
    assert {"recall", "search", "bridges", "together", "broken_links"} <= set(queries)
    asked = "&".join(f"{name}={quote(value)}" for name, value in ASKED.items())
    pages = browsed.get([f"/memory/{name}?{asked}" for name in queries])
    assert [(name, page.status_code) for name, page in zip(queries, pages, strict=True)] == [(n, 200) for n in queries]
    told = browsed.get([f"/memory/{name}.json?_shape=array&_size=max&{asked}" for name in queries])
    filled = set()
    for (name, sql), answer in zip(queries.items(), told, strict=True):
        expected = browsed.rows(sql, ASKED)
        assert counted(answer.json()) == counted(expected), name
        filled |= {name} if expected else set()
    assert {"recall", "search", "together", "about_a_name", "broken_links", "memories_by_type"} <= filled


def test_the_page_of_the_store_speaks_of_no_attached_database(browsed: Browsed) -> None:
    [page] = browsed.get(["/memory"])
    assert "attached to this connection" not in page.text
    for name in ("memories", "entities", "documents", "recall", "explorer"):
        assert f'<a href="/memory/{name}">{name}</a>' in page.text


def test_without_the_extension_views_have_their_rows_too(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "_load_vec", lambda _connection: False)
    one = Browsed(database)
    with closing(one.connection):
        for name in ("memories", "entities", "vec_passage"):
            page, told = one.get([f"/memory/{name}", f"/memory/{name}.json?_shape=array&_size=max"])
            assert page.status_code == 200, name
            assert counted(told.json()) == counted(one.rows(f"select * from [{name}] limit {MOST}")), name


@pytest.mark.parametrize("path", ["/memory/nothing", "/memory/a/b/c", "/memory/runs/1/2", "/a/b/c/d"])
def test_an_unknown_address_is_no_fault_and_prints_nothing(
    browsed: Browsed, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page, said = browsed.get([path, f"{path}.json"])
    assert (page.status_code, said.status_code) == (404, 404)
    assert said.json()["ok"] is False
    assert capsys.readouterr() == ("", "")
