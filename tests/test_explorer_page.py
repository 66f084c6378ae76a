"""The explorer in a real browser: what a person sees, does, undoes, and reaches by keyboard alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser import REPOSITORY, Seen, at_rest, opened, until
from tests.explorer_store import LONG, explorer_store
from tests.explorer_world import World, count, open_node, search, title, world_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_of(tmp_path_factory, lambda root: explorer_store(root).store) as made:
        yield made


@pytest.fixture
def page(world: World) -> Iterator[Any]:
    """The page of the store. No test of it leaves a complaint, or a request to anywhere else."""
    with world.page() as (found, seen):
        yield found
        seen.assert_quiet()


def test_first_view(page: Any, world: World) -> None:
    assert page.evaluate("document.activeElement.id") == "search"
    assert count(page, "nodes") > 10
    assert page.inner_text(".nothing-title") == "Ask anything."
    assert page.inner_text("#live-text") == "live"
    kinds = page.locator(".kinds button").all_inner_texts()
    assert kinds == ["memories", "documents", "entities", "tags"]
    assert page.inner_text("#totals") == f"{count(page, 'nodes')} nodes"
    world.picture(page, "first-view-light")
    starts = page.locator("#list .starts .row")
    assert starts.count() == 10
    starts.first.click()
    until(lambda: title(page), "the most connected node")


def test_the_address_keeps_no_token_and_a_reload_still_writes(page: Any) -> None:
    assert "token" not in page.url
    page.reload()
    at_rest(page)
    assert page.is_hidden("#write-state")


def test_search_draws_the_walk_with_its_scores(page: Any, world: World) -> None:
    search(page, "barometer spring")
    hits = page.locator("#list .hit")
    assert "words #1" in hits.first.inner_text()
    assert count(page, "walks") == hits.count()
    assert "project/barometer=words #1" in page.get_attribute("#canvas", "data-seeds")
    at_rest(page)
    world.picture(page, "search")
    hits.filter(has_text="ferry").filter(has=page.locator(".badge-walk")).first.click()
    until(lambda: page.locator("#walked .walk-node").count() >= 3, "a walk over a hub")
    assert page.locator("#walked .walk-node .shape-entity").count() == 1  # the hub between two memories
    steps = [text.split("\n") for text in page.locator("#walked .walk-node").all_inner_texts()]
    scores = [float(step[-1]) for step in steps]
    assert scores == sorted(scores, reverse=True)
    drawn = page.get_attribute("#canvas", "data-walk").split("\n")
    assert [round(float(hop.rpartition("=")[2]), 2) for hop in drawn] == [round(one, 2) for one in scores]
    assert "×" in page.inner_text("#walked .walk-edge >> nth=0")
    assert "words" in page.inner_text("#walked li >> nth=0")  # the arm that found the seed
    at_rest(page)
    world.picture(page, "search-path")
    page.keyboard.press("Escape")
    until(lambda: page.is_hidden("#walked"), "the walk let go")


def test_an_empty_answer_says_why(page: Any) -> None:
    search(page, "zzzqqq")
    assert page.locator("#list .nothing-title").inner_text() != ""
    assert page.locator("#list .hit").count() == 0


def test_a_document_expands_into_its_chunks_and_folds(page: Any, world: World) -> None:
    handbook = page.evaluate(
        "fetch('graph').then((r) => r.json()).then((a) => a.nodes.find((n) => n.kind === 'document').id)"
    )
    before = count(page, "nodes"), count(page, "edges")
    open_node(page, handbook)
    page.get_by_role("button", name="Show chunks").click()
    until(lambda: count(page, "nodes") == before[0] + 3, "three chunks")
    assert count(page, "edges") != before[1]
    page.locator("#panel .link", has_text="Fuel").click()
    until(lambda: "Fuel" in page.inner_text(".panel-title"), "the chunk")
    assert "orders fuel" in page.inner_text("#panel .body")
    assert page.locator(".crumbs li").all_inner_texts() == ["Harbour handbook", "Fuel", "chunk 3"]
    at_rest(page)
    world.picture(page, "chunk-of-an-open-document")
    page.locator(".crumbs .link").click()
    page.get_by_role("button", name="Fold chunks").click()
    until(lambda: (count(page, "nodes"), count(page, "edges")) == before, "the diamond alone")
    page.get_by_role("button", name="Open file").click()
    page.get_by_text("Opened handbook.md.").wait_for()


def test_a_click_on_the_diamond_expands_it(page: Any) -> None:
    before = count(page, "nodes")
    box = page.locator("#canvas").bounding_box()
    for kind in ("memories", "entities", "tags"):
        page.get_by_role("button", name=kind, exact=True).click()
    at_rest(page)
    page.click("#zoom-all")
    page.mouse.click(box["x"] + box["width"] / 2 - 40, box["y"] + box["height"] / 2 + 25)
    until(lambda: "document" in page.inner_text("#panel .badges"), "the document's panel")
    until(lambda: count(page, "nodes") == 4, "the document and three chunks")
    assert before > 4


def test_unresolved_links_lead_to_their_memory(page: Any) -> None:
    page.click("#tab-links")
    row = page.locator("#list .row", has_text="logbook")
    assert "project/barometer" in row.inner_text()
    row.click()
    until(lambda: "barometer" in page.inner_text(".panel-title"), "the memory")
    assert "logbook" in page.inner_text('#panel [data-part="links"]')


def test_hidden_characters_are_seen_and_no_markup_of_a_text_is_obeyed(page: Any) -> None:
    open_node(page, "user/tomas")
    shown = page.inner_text("#panel .body")
    assert "\u202e" not in shown
    assert "202e" in shown.lower()
    assert "<img src=x" in shown
    assert page.locator("#panel img").count() == 0


def test_hidden_characters_are_seen_in_lists_and_details(page: Any) -> None:
    search(page, "hours of high water")
    page.locator("#list .hit", has_text="tides").click()
    until(lambda: title(page) == "tides", "the memory")
    shown = page.inner_text("body")
    assert "Hours of <U+202E>high<U+202C> water" in page.inner_text("#list .hit >> nth=0")
    assert "Hours of <U+202E>high<U+202C> water" in page.inner_text("#panel .panel-description")
    assert "wa<U+200B>ter" in page.inner_text('#panel [data-part="edge Tags"]')
    assert not {"\u202e", "\u202c", "\u200b"} & set(shown)


def test_a_long_name_stays_in_its_column(page: Any, world: World) -> None:
    open_node(page, f"reference/{LONG}")
    search(page, "crane greased on Mondays")
    for place in ("#list", "#panel", "html"):
        wide, room = page.evaluate(
            "(one) => { const it = document.querySelector(one); return [it.scrollWidth, it.clientWidth]; }", place
        )
        assert wide <= room
    world.picture(page, "long-name")


def test_links_of_a_text_lead_on(page: Any, world: World) -> None:
    (world.root / "project" / "ropes.md").write_text("Ropes: [[barometer|the glass]], `[[barometer]]`, [[nowhere]].\n")
    try:
        page.reload()
        address = f"{world.address}/memory/node/project%2Fropes"  # asked beside the page, which complains of each 404
        until(lambda: page.request.get(address).ok, "the new memory")
        at_rest(page)
        open_node(page, "project/ropes")
        assert page.text_content("#panel .body").strip() == "Ropes: the glass, [[barometer]], [[nowhere]]."
        page.click("#panel .body .link")
        until(lambda: title(page) == "barometer", "what the link leads to")
    finally:
        (world.root / "project" / "ropes.md").unlink()


def test_superseded_is_marked(page: Any) -> None:
    open_node(page, "project/old-ferry")
    assert "superseded by ferry" in page.inner_text("#panel .badges")


def test_a_change_on_disk_shows_and_the_choice_stays(page: Any, world: World) -> None:
    open_node(page, "project/barometer")
    before = count(page, "nodes")
    (world.root / "project" / "logbook.md").write_text("---\ntags: [instruments]\n---\nThe logbook of the station.\n")
    try:
        until(lambda: count(page, "nodes") > before, "the new memory")
        assert page.get_attribute("#canvas", "data-selected") == "project/barometer"
        until(lambda: page.locator('#panel [data-part="links"]').count() == 0, "the link resolved")
    finally:
        (world.root / "project" / "logbook.md").unlink()
        until(lambda: count(page, "nodes") == before, "the memory gone")


def elsewhere(world: World, *arguments: str) -> None:
    """Run a command on the store in a process of its own."""
    command = [sys.executable, "-m", "memdb_cli", "--root", str(world.root), *arguments]
    paths = os.pathsep.join([str(REPOSITORY / "engine"), str(REPOSITORY / "cli"), os.environ.get("PYTHONPATH", "")])
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"PYTHONPATH": paths})


def test_what_another_process_decides_shows(page: Any, world: World) -> None:
    open_node(page, "project/old-ferry")
    mentioned = page.locator('#panel [data-part="edge Mentions"]')
    assert "Wind Rose" in mentioned.inner_text()
    elsewhere(world, "entities", "rename", "Wind Rose", "Wind Rose of Gdynia")
    until(lambda: "Wind Rose of Gdynia" in mentioned.inner_text(), "the new name in the panel")
    until(lambda: "Wind Rose of Gdynia" in page.evaluate("memdb.model.nodes.map(({ label }) => label)"), "in the graph")
    elsewhere(world, "entities", "rename", "Wind Rose of Gdynia", "Wind Rose")
    until(lambda: "of Gdynia" not in mentioned.inner_text(), "the old name again")
    assert title(page) == "old-ferry"


def test_by_keyboard_alone(page: Any) -> None:
    page.keyboard.type("barometer spring")
    page.keyboard.press("Enter")
    page.wait_for_selector("#list .hit")
    page.keyboard.press("ArrowDown")
    until(lambda: page.evaluate("document.activeElement.classList.contains('hit')"), "a result with focus")
    page.keyboard.press("Enter")
    until(lambda: page.locator(".panel-title").count(), "the panel")
    page.keyboard.press("Escape")
    until(lambda: page.is_hidden("#panel"), "the panel closed")
    page.keyboard.press("g")
    assert page.evaluate("document.activeElement.id") == "canvas"
    page.keyboard.press("ArrowRight")
    first = until(lambda: page.get_attribute("#canvas", "data-selected"), "a node chosen")
    walked = set()
    for arrow in ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"):
        page.keyboard.press(arrow)
        walked.add(page.get_attribute("#canvas", "data-selected"))
    assert walked - {first}
    page.keyboard.press("+")
    page.keyboard.press("0")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    page.locator("#tab-results").focus()
    page.keyboard.press("ArrowRight")
    until(lambda: page.get_attribute("#tab-review", "aria-selected") == "true", "the next tab")
    page.keyboard.press("?")
    assert page.is_visible("#help")
    page.keyboard.press("Escape")
    assert page.is_hidden("#help")


def test_filters_hide_kinds(page: Any) -> None:
    before = count(page, "nodes")
    page.get_by_role("button", name="entities", exact=True).click()
    assert count(page, "nodes") < before
    page.get_by_role("button", name="entities", exact=True).click()
    assert count(page, "nodes") == before


def test_an_error_is_said_with_what_to_do(world: World) -> None:
    with world.page() as (page, seen):
        refused_rename(page, seen)
        world.picture(page, "refused")


def refused_rename(page: Any, seen: Seen) -> None:
    open_node(page, "entity:baltic star")
    page.get_by_role("button", name="Rename").click()
    page.fill("#dialog input[name=name]", "Ines Okafor")
    page.click("#dialog .primary")
    said = page.locator(".toast-error")
    said.wait_for()
    assert "merge" in said.inner_text().lower()
    seen.assert_quiet("409")  # the browser itself notes a request that was refused


def test_without_a_token_nothing_can_be_written(world: World) -> None:
    with opened(world.chrome, f"{world.address}/memory/explorer") as (page, seen):
        at_rest(page)
        assert page.is_visible("#write-state")
        open_node(page, "entity:baltic star")
        button = page.get_by_role("button", name="Rename")
        assert button.is_disabled()
        assert "memdb ui" in button.get_attribute("title")
        seen.assert_quiet()


def test_a_dark_window(world: World) -> None:
    with world.page(color_scheme="dark") as (page, seen):
        world.picture(page, "first-view-dark")
        open_node(page, "entity:ines okafor")
        at_rest(page)
        world.picture(page, "panel-dark")
        seen.assert_quiet()


def test_a_narrow_window(world: World) -> None:
    with world.page(size=(420, 900), color_scheme="dark") as (page, seen):
        page.locator(".nothing-title").wait_for()
        world.picture(page, "narrow-first")
        search(page, "barometer spring")
        world.picture(page, "narrow-search")
        page.click("[data-to=graph]")
        at_rest(page)
        assert page.is_visible("#canvas")
        assert page.evaluate("document.documentElement.scrollWidth") <= 420
        # What was walked lies on the canvas, which was not there when it was searched.
        places = page.evaluate(
            "[...memdb.graph.scene.lit].map((id) => memdb.graph.scene.byId.get(id))"
            ".map(({ x }) => x * memdb.graph.scene.view.k + memdb.graph.scene.view.x)"
        )
        assert min(places) > 0
        assert max(places) < 420
        world.picture(page, "narrow-graph")
        page.click("[data-to=lists]")
        page.locator("#list .hit").first.click()
        until(lambda: title(page), "the panel")
        world.picture(page, "narrow-panel")
        seen.assert_quiet()


# Addresses


def test_an_address_opens_a_search_and_the_walk_to_its_node(world: World) -> None:
    with world.page("#q=barometer+spring&node=project%2Fferry") as (page, seen):
        until(lambda: page.locator("#walked .walk-node").count() >= 3, "the walk")
        assert page.input_value("#search") == "barometer spring"
        until(lambda: title(page) == "ferry", "the node")
        assert page.get_attribute('#list .hit[data-id="project/ferry"]', "aria-current") == "true"
        assert page.title() == "ferry · barometer spring · memdb explorer"
        seen.assert_quiet()


def test_an_address_of_what_is_gone_says_so(world: World) -> None:
    with world.page("#node=project%2Fnowhere") as (page, seen):
        page.locator("#panel .nothing-title", has_text="nowhere is not in the store.").wait_for()
        seen.assert_quiet("404")


def test_the_back_button_goes_back(page: Any) -> None:
    open_node(page, "project/barometer")
    page.locator("#panel .link", has_text="Ines Okafor").first.click()
    until(lambda: title(page) == "Ines Okafor", "the entity")
    search(page, "ferry")
    until(lambda: "q=ferry" in page.url, "the search in the address")
    page.go_back()
    until(lambda: page.input_value("#search") == "" and "q=" not in page.url, "no search")
    until(lambda: title(page) == "Ines Okafor", "what was open before the search")
    page.go_back()
    until(lambda: title(page) == "barometer", "the memory")
    page.go_back()
    until(lambda: page.is_hidden("#panel"), "the first view")
    page.go_forward()
    until(lambda: title(page) == "barometer", "the memory again")
    assert page.url.endswith("#node=project%2Fbarometer")


def test_the_id_is_copied(page: Any, world: World) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=world.address)
    open_node(page, "entity:ines okafor")
    page.get_by_role("button", name="Copy id").click()
    page.get_by_text("Copied entity:ines okafor").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "entity:ines okafor"
