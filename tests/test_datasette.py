"""`datasette memory.db` just works: it starts, explains, searches, asks, and obeys no text that it shows."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
import sqlite_vec
from datasette.app import Datasette

from memdb.base import resources
from memdb.datasette_plugin import cells, describing, exploring, stores
from memdb.store import Store
from tests.answer_support import Answered, answer
from tests.browser import REPOSITORY
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder

TEXTS = {
    "user/ada.md": "---\ntags: [people]\n---\n# Ada\n\nAda Wren **works** at Corvin Works. <script>alert(1)</script>\n",
    "project/corvin.md": "---\nsupersedes: old\n---\nCorvin Works makes `C++` ferries. ![spy](https://example.invalid/x.png)\n",
    "project/old.md": "An older text, don't read it.\n",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("MEMDB_EMBEDDER", "off")
        world = Answered(tmp_path_factory.mktemp("browsed"), TEXTS)
        world.store.close()
        with Store.init(world.root, embedder=FakeEmbedder()) as embedding:
            embedding.sync()
        said = (("Ada Wren", "works_at", "Corvin Works"),)
        world.put("user/ada", answer(("Ada Wren", "person"), ("Corvin Works", "organization"), said=said))
        yield world.store
        world.store.close()


def get(store: Store, *paths: str) -> list[Any]:
    async def ask() -> list[Any]:
        datasette = Datasette([str(store.place.database)])
        await datasette.invoke_startup()
        browser = {"accept": "text/html"}
        return [await datasette.client.get(path, headers=browser) for path in paths]

    return asyncio.run(ask())


def page(store: Store, path: str) -> str:
    [response] = get(store, path)
    assert response.status_code == 200, response.text
    return str(response.text)


def test_it_starts_on_a_store_that_has_vectors(store: Store) -> None:
    with closing(sqlite3.connect(store.place.database)) as connection:
        assert connection.execute("select count(*) from sqlite_schema where sql like '%using vec0%'").fetchone() == (1,)

    async def check() -> None:
        datasette = Datasette([str(store.place.database)])
        await datasette.invoke_startup()
        from datasette.utils import check_connection

        await datasette.get_database("memory").execute_fn(check_connection)

    asyncio.run(check())


def test_internals_are_hidden_and_views_are_not(store: Store) -> None:
    listed = json.loads(page(store, "/memory.json"))
    shown = {table["name"] for table in listed["tables"] if not table["hidden"]}
    assert shown == set(describing.SHOWN)
    views = [view["name"] if isinstance(view, dict) else view for view in listed["views"]]
    assert set(views) == {name for name, _ in resources.views()}


def test_each_view_has_a_page_that_says_what_it_answers(store: Store) -> None:
    views = resources.views()
    pages = get(store, *(f"/memory/{name}" for name, _ in views))
    for (name, statement), response in zip(views, pages, strict=True):
        asked = resources.question(statement)
        assert response.status_code == 200, name
        assert asked.replace("'", "&#39;") in response.text or asked in response.text, name


def test_each_query_has_a_page_with_its_question(store: Store) -> None:
    names = sorted(describing.queries())
    pages = get(store, *(f"/memory/{name}.json?_shape=array&query=ferries&name=Ada%20Wren" for name in names))
    for name, response in zip(names, pages, strict=True):
        assert response.status_code == 200, (name, response.text)
        assert isinstance(response.json(), list), name


def test_the_query_recall_gives_the_answer_of_the_store(store: Store) -> None:
    [response] = get(store, "/memory/recall.json?_shape=array&query=Corvin%20Works")
    assert [row["id"] for row in response.json()] == [hit.id for hit in store.recall("Corvin Works").hits]
    assert response.json()[0]["path"]


@pytest.mark.parametrize("text", ["C++", "don't", 'AND "unbal', "NEAR(", "", "*", "\x00"])
def test_any_text_can_be_searched_for(store: Store, text: str) -> None:
    from urllib.parse import quote

    found = get(
        store,
        f"/memory/search.json?_shape=array&query={quote(text)}",
        f"/memory/memory.json?_shape=array&_search={quote(text)}",
        f"/memory/recall.json?_shape=array&query={quote(text)}",
    )
    assert [response.status_code for response in found] == [200, 200, 200]


def test_a_search_finds_what_has_the_words(store: Store) -> None:
    found = get(
        store, "/memory/search.json?_shape=array&query=C%2B%2B", "/memory/memory.json?_shape=array&_search=ferries"
    )
    assert [row["id"] for row in found[0].json()] == ["project/corvin"]
    assert [row["name"] for row in found[1].json()] == ["corvin"]


def test_bodies_are_pages_and_nothing_in_them_is_obeyed(store: Store) -> None:
    text = page(store, "/memory/memories")
    assert "<strong>works</strong>" in text
    assert "<script>alert" not in text
    assert "<img" not in text.replace('<img class="', "")


@pytest.mark.parametrize(
    ("value", "column", "table", "expected"),
    [
        ("user/ada", "id", "memories", '<a href="/m/memories?id__exact=user%2Fada">user/ada</a>'),
        ("entity:c++", "entity", "mentions", '<a href="/m/entities?id__exact=entity%3Ac%2B%2B">entity:c++</a>'),
        ("document:a#2", "source", "mentions", '<a href="/m/chunks?id__exact=document%3Aa%232">document:a#2</a>'),
        ("document:a", "target", "graph_edges", '<a href="/m/documents?id__exact=document%3Aa">document:a</a>'),
        ('["user/ada", "<b>"]', "sources", "relations",
         '<a href="/m/memories?id__exact=user%2Fada">user/ada</a>, &lt;b&gt;'),
        ("no list [", "aliases", "entities", None),
        ("free text / with a slash", "id", "x", None),
        ("a\u202eb/c", "id", "memories", '<a href="/m/memories?id__exact=a%E2%80%AEb%2Fc">a&lt;U+202E&gt;b/c</a>'),
        (7, "id", "memories", None),
        ("", "body", "memories", None),
        ("*x*", "body", "memories", '<div class="memdb-body"><p><em>x</em></p>\n</div>'),
        ("*x*", "body", None, None),
        ("[x](javascript:alert(1))", "body", "memories",
         '<div class="memdb-body"><p>[x](javascript:alert(1))</p>\n</div>'),
    ],
)  # fmt: skip
def test_how_a_cell_looks(value: object, column: str, table: str | None, expected: str | None) -> None:
    assert cells.render(value, column, table, "/m") == expected


def test_what_is_saved_after_a_recall_shows(tmp_path: Path, no_model: None) -> None:
    write_files(tmp_path / "notes", TEXTS)
    with Store.init(tmp_path / "notes") as made:
        made.sync()
    datasette = Datasette([str(made.place.database)])

    def rows(path: str) -> list[Any]:
        return list(asyncio.run(datasette.client.get(f"/memory/{path}&_shape=array")).json())

    asyncio.run(datasette.invoke_startup())
    assert len(rows("memories.json?_size=100")) == len(TEXTS)
    assert rows("recall.json?query=Corvin%20Works")
    words = [
        sys.executable,
        "-m",
        "memdb_cli",
        "save",
        "user/cleo",
        "--body",
        "Cleo sails.",
        "--root",
        str(tmp_path / "notes"),
    ]
    paths = os.pathsep.join([str(REPOSITORY / "engine"), str(REPOSITORY / "cli"), os.environ.get("PYTHONPATH", "")])
    subprocess.run(words, check=True, capture_output=True, env=os.environ | {"PYTHONPATH": paths})
    assert len(rows("memories.json?_size=100")) == len(TEXTS) + 1
    assert "user/cleo" in {row["id"] for row in rows("recall.json?query=who%20is%20Cleo")}
    exploring.explorer_of(datasette).close()


def test_passages_of_code_keep_their_signs(tmp_path: Path, no_model: None) -> None:
    (tmp_path / "crane.py").write_text("def __init__(self):\n    # <b>no</b> heading\n    pass\n", encoding="utf-8")
    (tmp_path / "notes").mkdir()
    with Store.init(tmp_path / "notes") as made:
        made.add([tmp_path / "crane.py"])
        text = page(made, "/memory/chunks")
    assert "def __init__(self):\n    # &lt;b&gt;no&lt;/b&gt; heading\n    pass" in text


def test_another_database_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("create table memory (id text, body text)")
        connection.execute("insert into memory values ('user/ada', '*x*')")
        connection.commit()

    async def ask() -> Any:
        datasette = Datasette([str(file)])
        await datasette.invoke_startup()
        return await datasette.client.get("/other/memory")

    text = asyncio.run(ask()).text
    assert "*x*" in text
    assert "memories?id__exact" not in text


@pytest.mark.parametrize("vectors_come", ["before", "while it is open"])
def test_without_the_extension_an_empty_table_stands_for_each_vec0_table(tmp_path: Path, vectors_come: str) -> None:
    file = tmp_path / "vectors.db"
    with closing(apsw.Connection(str(file))) as made:
        made.execute("create table memory (id text)")
        reader = sqlite3.connect(file.as_uri() + "?mode=ro", uri=True)
        if vectors_come != "before":
            stores.hide_vec_tables(reader)
        made.enable_load_extension(True)
        made.load_extension(sqlite_vec.loadable_path())
        made.execute("create virtual table vec_passage using vec0 (passage_id integer primary key, signature bit[8])")
    with closing(reader) as connection:
        if vectors_come == "before":
            stores.hide_vec_tables(connection)
        assert connection.execute("select count(*) from vec_passage").fetchone() == (0,)
        assert connection.execute("select count(*) from main.vec_passage_chunks").fetchone() == (0,)


def test_what_the_pages_name_is_there(store: Store) -> None:
    columns = {
        name: {column for (column,) in store._context.database.rows("select name from pragma_table_info(?)", (name,))}
        for name in describing.database()["tables"]
    }
    for name, said in describing.database()["tables"].items():
        order = {said[key] for key in ("sort", "sort_desc", "label_column") if key in said}
        assert (set(said.get("facets", [])) | order | set(said.get("units", {}))) <= columns[name], name
