"""The states of the explorer in a real browser: empty, loading, a server that is gone, no model, no graph library."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from memdb.base.embedding import Embedder
from memdb.store import Store
from tests.browser import at_rest, browser, opened, served, until
from tests.conftest import write_files
from tests.explorer_store import explorer_store
from tests.explorer_world import TOKEN, World, count, open_node, pictures_of, search, title, world_of

pytestmark = pytest.mark.slow

GONE = "net::ERR_"
"""How the browser itself notes that a server is gone."""


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory, chrome: Any) -> Iterator[World]:
    def make(root: Path) -> Store:
        root.mkdir()
        return Store.init(root, embedder=Embedder(enabled=False))

    with world_of(tmp_path_factory, make, chrome=chrome) as made:
        yield made


def test_an_empty_store_says_how_to_fill_it_and_fills(empty: World) -> None:
    with opened(empty.chrome, empty.page_address) as (page, seen):
        page.locator("#list .nothing-title", has_text="The store is empty.").wait_for()
        assert "memdb save" in page.inner_text("#list")
        assert "memdb add" in page.inner_text("#list")
        until(lambda: "Nothing to draw yet" in page.inner_text("#cover"), "the empty graph")
        assert page.is_hidden("#filters .kinds")  # nor the frame of a legend of nothing
        empty.picture(page, "empty")
        page.fill("#search", "first")
        page.press("#search", "Enter")
        until(lambda: page.locator("#list .nothing").count() == 1 and not page.locator(".loading").count(), "an answer")
        assert "memdb save" in page.inner_text("#list")
        write_files(empty.root, {"project/first.md": "The first memory.\n"})
        until(lambda: int(page.get_attribute("#canvas", "data-nodes") or 0) > 0, "the first memory")
        assert page.is_hidden("#cover")
        until(lambda: "first" in page.inner_text("#list .hit"), "the answer to the question")
        seen.assert_quiet()


@pytest.mark.parametrize(("tab", "says"), [
    ("review", "Nothing waits for you."),
    ("links", "Every link leads somewhere."),
    ("entities", "No entities yet."),
    ("runs", "No run yet."),
    ("log", "Nothing was decided yet."),
])  # fmt: skip
def test_a_list_without_rows_says_what_would_be_there(tmp_path: Path, empty: World, tab: str, says: str) -> None:
    with opened(empty.chrome, empty.page_address) as (page, seen):
        page.click(f"#tab-{tab}")
        page.locator("#list .nothing-title", has_text=says).wait_for()
        assert page.locator("#list .nothing p").count() >= 2
        seen.assert_quiet()


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory, chrome: Any) -> Iterator[World]:
    with world_of(tmp_path_factory, lambda root: explorer_store(root).store, chrome=chrome) as made:
        yield made


def holding(held: list[Any]) -> Callable[[Any], None]:
    """Keeps requests until they are let go."""

    def hold(route: Any) -> None:
        held.append(route)

    return hold


def test_while_it_loads_it_says_so(full: World) -> None:
    with opened(full.chrome, "about:blank") as (page, _):
        waiting: list[Any] = []
        page.context.unroute_all()
        page.route(re.compile(r"/memory/(graph|search)\?"), holding(waiting))
        page.goto(full.page_address)
        until(lambda: waiting, "the question for the graph")
        assert page.inner_text("#cover") == "Reading the graph…"
        full.picture(page, "loading")
        page.fill("#search", "barometer")
        page.press("#search", "Enter")
        page.locator("#list .loading", has_text="Searching…").wait_for()
        until(lambda: len(waiting) == 2, "the search")
        for route in waiting:
            route.continue_()
        page.wait_for_selector("#list .hit")
        at_rest(page)
        assert page.is_hidden("#cover")


def test_a_store_that_changes_all_the_time_still_answers(full: World) -> None:
    """A change while a search is under way does not give it up; it is asked once more afterwards."""
    with full.page() as (page, seen):
        held: list[Any] = []
        page.route("**/memory/search?*", holding(held))
        page.fill("#search", "barometer spring")
        page.press("#search", "Enter")
        until(lambda: len(held) == 1, "the question")
        for _ in range(3):
            page.evaluate("memdb.changed()")
        assert len(held) == 1
        held[0].continue_()
        page.wait_for_selector("#list .hit")
        until(lambda: len(held) == 2, "the question once more")
        held[1].continue_()
        page.unroute_all()
        seen.assert_quiet()


def test_a_graph_that_fails_is_tried_again(full: World) -> None:
    with opened(full.chrome, "about:blank") as (page, _):
        page.context.unroute_all()
        busy = {"ok": False, "error": "The store is busy.", "hint": "Wait a moment.", "code": "busy", "status": 503}
        page.route("**/memory/graph?*", lambda route: route.fulfill(status=503, json=busy))
        page.goto(full.page_address)
        page.locator("#cover", has_text="The store is busy.").wait_for()
        assert "Wait a moment." in page.inner_text("#cover")
        full.picture(page, "error")
        page.unroute_all()
        page.get_by_role("button", name="Try again").click()
        at_rest(page)
        assert count(page, "nodes") > 10


def test_without_a_model_each_search_says_what_is_off(full: World) -> None:
    with full.page() as (page, seen):
        said = page.inner_text("#notices")
        assert "words and names, not by meaning" in said
        assert "Unset MEMDB_EMBEDDER" in said  # what to do next
        search(page, "barometer spring")
        assert page.locator("#list .arms .badge-off").inner_text() == "meaning off"
        assert "Without meaning: Embeddings are switched off." in page.inner_text("#list")
        assert page.locator("#list .hit").count() > 0
        seen.assert_quiet()


def test_a_server_that_ends_and_comes_back(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, chrome: Any
) -> None:
    with pytest.MonkeyPatch.context() as patch, ExitStack() as last:
        patch.setenv("MEMDB_EMBEDDER", "off")
        made = explorer_store(tmp_path / "notes")
        database = made.store.place.database
        made.store.close()
        first = ExitStack()
        address = first.enter_context(served(database, token=TOKEN))
        page, seen = last.enter_context(opened(chrome, f"{address}/memory/explorer?token={TOKEN}"))
        world = World(tmp_path / "notes", address, chrome, pictures_of(tmp_path_factory))
        at_rest(page)
        before = count(page, "nodes")
        first.close()
        page.locator(".note-offline").wait_for()
        assert "memdb ui" in page.inner_text(".note-offline")
        until(lambda: page.inner_text("#live-text") == "reconnecting", "the word for it")
        search(page, "barometer")
        assert page.inner_text("#list .nothing-title") == "The server does not answer."
        assert "memdb ui" in page.inner_text("#list .nothing")
        world.picture(page, "offline")
        write_files(world.root, {"project/while-away.md": "Written while no server ran.\n"})
        # Another one has another token: reading goes on, and a write says what to do.
        last.enter_context(served(database, token="another", port=urlsplit(address).port or 0))
        until(lambda: page.locator(".note-offline").count() == 0, "the server back")
        until(lambda: page.inner_text("#live-text") == "live", "being told of changes again")
        until(lambda: count(page, "nodes") > before, "what was written meanwhile")
        until(lambda: page.locator("#list .hit").count(), "the search answered")
        open_node(page, "entity:ines okafor")
        page.get_by_role("button", name="Delete").click()
        page.click("#dialog [type=submit]")
        assert "memdb ui" in page.locator(".toast-error").inner_text()
        page.wait_for_selector("#write-state", state="visible")
        seen.assert_quiet(GONE, "401")


@pytest.mark.parametrize("lack", [
    "from pathlib import Path; from memdb.explorer import pages; pages.D3 = Path('nowhere.js')",
    "from memdb.explorer import pages; pages.D3_SHA256 = '0' * 64",
], ids=["missing", "another"])  # fmt: skip
def test_without_the_graph_library_the_lists_work(
    tmp_path_factory: pytest.TempPathFactory, full: World, lack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMDB_EMBEDDER", "off")
    with ExitStack() as last:
        address = last.enter_context(served(full.root / ".memdb" / "memory.db", token=TOKEN, before=lack))
        page, seen = last.enter_context(opened(full.chrome, f"{address}/memory/explorer?token={TOKEN}"))
        page.locator("#list .starts .row").first.wait_for()
        said = page.inner_text("#cover")
        assert "cannot be drawn" in said
        assert "pip install 'memdb-engine[ui]'" in said
        full.picture(page, "without-library")
        search(page, "barometer spring")
        page.locator("#list .hit").first.click()
        until(lambda: title(page) == "barometer", "the panel")
        for tab in ("review", "links", "entities", "vocabulary", "runs", "log"):
            page.click(f"#tab-{tab}")
            page.locator("#list .card, #list .row, #list .nothing").first.wait_for()
        page.locator("#tab-entities").click()
        page.locator("#list .row", has_text="Ines Okafor").click()
        until(lambda: title(page) == "Ines Okafor", "the entity")
        page.keyboard.press("Escape")
        until(lambda: page.is_hidden("#panel"), "the panel closed")
        seen.assert_quiet("404", "d3.js")  # of the library itself


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory, chrome: Any) -> Iterator[World]:
    def make(root: Path) -> Store:
        sentences = {"one": "Mirela Dovrak works at Harrowgate Labs.\n", "two": "Mirela Dovrak works at Quill Works.\n"}
        write_files(root, {f"user/{name}.md": text for name, text in sentences.items()})
        store = Store.init(root, embedder=Embedder(enabled=False))
        store.sync()
        store.conflicts.resolve("Mirela Dovrak", "keep", keep="Quill Works")
        return store

    with world_of(tmp_path_factory, make, chrome=chrome) as made:
        yield made


def test_a_text_that_states_what_was_decided_against_says_so(settled: World) -> None:
    with opened(settled.chrome, settled.page_address) as (page, seen):
        search(page, "Where does Mirela Dovrak work")
        badges = page.locator("#list .hit .badge-mark")
        badges.first.wait_for()
        assert badges.all_inner_texts() == ["decided against: Mirela Dovrak works_at Harrowgate Labs"]
        settled.picture(page, "decided against")
        seen.assert_quiet()
