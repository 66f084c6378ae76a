"""The explorer in a real browser: what a person sees, does, undoes, and reaches by keyboard alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import Seen, at_rest, browser, chromium, opened, served, until
from tests.explorer_store import explorer_store

pytestmark = pytest.mark.slow

TOKEN = "of-this-test"


class World:
    """A served store, a browser, and where its files are."""

    def __init__(self, root: Path, address: str, chrome: Any) -> None:
        self.root, self.address, self.chrome = root, address, chrome
        self.page_address = f"{address}/memory/explorer?token={TOKEN}"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    chromium()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("MEMDB_EMBEDDER", "off")
        root = tmp_path_factory.mktemp("explored") / "notes"
        made = explorer_store(root)
        database = made.store.place.database
        made.store.close()
        with browser() as chrome, served(database, token=TOKEN) as address:
            yield World(root, address, chrome)


@pytest.fixture
def page(world: World) -> Iterator[Any]:
    """The page of the store. No test of it leaves a complaint, or a request to anywhere else."""
    with opened(world.chrome, world.page_address) as (found, seen):
        at_rest(found)
        yield found
        assert_quiet(seen, world)


def assert_quiet(seen: Seen, world: World) -> None:
    assert seen.complaints == []
    assert [url for url in seen.asked if not url.startswith((world.address, "data:"))] == []


def search(page: Any, question: str) -> None:
    page.fill("#search", question)
    page.press("#search", "Enter")
    page.wait_for_selector("#list .hit, #list .nothing")


def count(page: Any, name: str) -> int:
    return int(page.get_attribute("#canvas", f"data-{name}"))


def open_node(page: Any, id_: str) -> None:
    page.evaluate("(id) => { location.hash = new URLSearchParams({ node: id }).toString(); }", id_)
    until(lambda: page.locator(".panel-title").count(), id_)


def test_first_view(page: Any) -> None:
    assert page.evaluate("document.activeElement.id") == "search"
    assert count(page, "nodes") > 10
    assert page.inner_text(".nothing-title") == "Ask anything."
    assert page.inner_text("#live-text") == "live"
    kinds = page.locator(".kinds button").all_inner_texts()
    assert kinds == ["memories", "documents", "entities", "tags"]
    assert "No embedding model" in page.inner_text("#notices")


def test_the_address_keeps_no_token_and_a_reload_still_writes(page: Any) -> None:
    assert "token" not in page.url
    page.reload()
    at_rest(page)
    assert page.is_hidden("#write-state")


def test_search_draws_the_walk_with_its_scores(page: Any) -> None:
    search(page, "barometer spring")
    hits = page.locator("#list .hit")
    walked = page.locator("#list .hit:has(.badge-walk)").first
    assert "words #1" in hits.first.inner_text()
    assert count(page, "walks") == hits.count()
    walked.click()
    steps = [text.split("\n") for text in page.locator("#walked .walk-node").all_inner_texts()]
    assert len(steps) >= 2
    scores = [float(step[-1]) for step in steps]
    assert scores == sorted(scores, reverse=True)
    drawn = page.get_attribute("#canvas", "data-walk").split("\n")
    assert [round(float(hop.rpartition("=")[2]), 2) for hop in drawn] == [round(one, 2) for one in scores]
    assert "×" in page.inner_text("#walked .walk-edge >> nth=0")
    assert "words" in page.inner_text("#walked li >> nth=0")  # the arm that found the seed
    page.keyboard.press("Escape")
    until(lambda: page.is_hidden("#walked"), "the walk let go")


def test_an_empty_answer_says_why(page: Any) -> None:
    search(page, "zzzqqq")
    assert page.locator("#list .nothing-title").inner_text() != ""
    assert page.locator("#list .hit").count() == 0


def test_a_document_expands_into_its_chunks_and_folds(page: Any) -> None:
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
    assert [text for text in page.locator(".crumbs li").all_inner_texts()][-2:] == ["Fuel", "chunk 3"]
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


def test_rename_an_entity_and_undo(page: Any) -> None:
    open_node(page, "entity:baltic star")
    page.get_by_role("button", name="Rename").click()
    page.fill("#dialog input[name=name]", "Baltic Star II")
    page.click("#dialog .primary")
    until(lambda: page.inner_text(".panel-title") == "Baltic Star II", "the new name")
    page.locator(".toast .undo").click()
    until(lambda: page.inner_text(".panel-title") == "Baltic Star", "the old name")
    page.click("#tab-log")
    page.locator("#list .state-undone").first.wait_for()


def test_approve_a_proposal_and_undo(page: Any) -> None:
    page.click("#tab-vocabulary")
    card = page.locator("[data-proposal=vessel]")
    card.get_by_role("button", name="Approve").click()
    page.click("#dialog .primary")
    page.locator("[data-entry=vessel]").wait_for()
    page.locator(".toast .undo").click()
    page.locator("[data-proposal=vessel]").wait_for()


def test_disable_a_type_and_undo(page: Any) -> None:
    page.click("#tab-vocabulary")
    page.locator("[data-entry=event]").get_by_role("button", name="Disable").click()
    page.locator("[data-entry=event] .badge-off").wait_for()
    page.locator(".toast .undo").click()
    until(lambda: page.locator("[data-entry=event] .badge-off").count() == 0, "the type enabled")


def test_answer_a_conflict_from_the_queue_and_undo(page: Any) -> None:
    page.click("#tab-review")
    page.locator("#list .card").first.wait_for()
    card = page.locator("#list .card", has_text="Tomas Lind").first
    item = card.get_attribute("data-item")
    card.locator("[data-choice=both], [data-choice=keep-both]").first.click()
    here = f'#list .card[data-item="{item}"]'
    until(lambda: page.locator(here).count() == 0, "the item settled")
    page.locator(".toast .undo").click()
    page.locator(here).wait_for()


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
    with opened(world.chrome, world.page_address) as (page, seen):
        at_rest(page)
        refused_rename(page, seen)


def refused_rename(page: Any, seen: Seen) -> None:
    open_node(page, "entity:baltic star")
    page.get_by_role("button", name="Rename").click()
    page.fill("#dialog input[name=name]", "Ines Okafor")
    page.click("#dialog .primary")
    said = page.locator(".toast-error")
    said.wait_for()
    assert "merge" in said.inner_text().lower()
    # The browser itself notes a request that was refused; nothing else may be noted.
    complaints = [text for text in seen.complaints if "409" not in text]
    assert complaints == []


def test_without_a_token_nothing_can_be_written(world: World) -> None:
    with opened(world.chrome, f"{world.address}/memory/explorer") as (page, seen):
        at_rest(page)
        assert page.is_visible("#write-state")
        open_node(page, "entity:baltic star")
        button = page.get_by_role("button", name="Rename")
        assert button.is_disabled()
        assert "memdb ui" in button.get_attribute("title")
        assert_quiet(seen, world)


def test_a_narrow_dark_window(world: World) -> None:
    with opened(world.chrome, world.page_address, size=(420, 900), color_scheme="dark") as (page, seen):
        page.locator(".nothing-title").wait_for()
        search(page, "barometer spring")
        page.click("[data-to=graph]")
        at_rest(page)
        assert page.is_visible("#canvas")
        assert page.evaluate("document.documentElement.scrollWidth") <= 420
        assert_quiet(seen, world)
