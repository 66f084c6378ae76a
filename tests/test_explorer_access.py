"""The explorer for everybody: audited by axe-core, its colours measured, its tasks done by keyboard alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser import at_rest, until
from tests.explorer_store import explorer_store
from tests.explorer_world import World, open_node, search, title, world_of

pytestmark = pytest.mark.slow

SCHEMES = ("light", "dark")
TABS = ("results", "review", "links", "entities", "vocabulary", "runs", "log")
NODES = ("project/ferry", "user/tomas", "entity:ines okafor", "tag:boats", "project/old-ferry")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_of(tmp_path_factory, lambda root: explorer_store(root).store) as made:
        yield made


def violations(page: Any) -> list[str]:
    """What axe-core finds, as `rule: element`, of every impact."""
    sync_playwright = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = sync_playwright.Axe().run(page).response["violations"]
    return [f"{one['impact']} {one['id']}: {node['html'][:160]}" for one in found for node in one["nodes"]]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", [(1400, 900), (420, 900)], ids=["wide", "narrow"])
def test_no_rule_is_broken_on_any_list(world: World, scheme: str, size: tuple[int, int]) -> None:
    with world.page(color_scheme=scheme, size=size) as (page, seen):
        found = violations(page)
        search(page, "barometer spring")
        found += violations(page)
        for tab in TABS[1:]:
            page.click(f"#tab-{tab}")
            page.locator("#list .card, #list .row, #list .nothing").first.wait_for()
            found += violations(page)
        if size[0] < 900:
            page.click("[data-to=graph]")
            at_rest(page)
            found += violations(page)
        assert sorted(set(found)) == []
        seen.assert_quiet()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_rule_is_broken_on_any_panel_dialog_or_toast(world: World, scheme: str) -> None:
    with world.page(color_scheme=scheme) as (page, seen):
        found = []
        document = page.evaluate("memdb.model.nodes.find((one) => one.kind === 'document').id")
        for node in (*NODES, document, f"{document}#3"):
            open_node(page, node)
            page.locator("#panel .loading").wait_for(state="detached")
            found += violations(page)
        search(page, "barometer spring")
        page.locator("#list .hit", has_text="ferry").first.click()
        page.locator("#walked li").first.wait_for()
        found += violations(page)
        open_node(page, "entity:ines okafor")
        for button in ("Rename", "Type", "Merge", "Delete"):
            page.locator("#panel").get_by_role("button", name=button, exact=True).click()
            until(lambda: page.is_visible("#dialog"), "the question")
            found += violations(page)
            page.keyboard.press("Escape")
        page.click("#help-button")
        found += violations(page)
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Copy id").click()
        page.locator(".toast").first.wait_for()
        found += violations(page)
        page.locator("#panel").get_by_role("button", name="Rename", exact=True).click()
        page.fill("#dialog input[name=name]", "Baltic Star")
        page.click("#dialog [type=submit]")
        page.locator(".toast-error").wait_for()
        found += violations(page)
        assert sorted(set(found)) == []
        seen.assert_quiet("409")


LUMINANCE = """(name) => {
  const probe = document.createElement('canvas').getContext('2d');
  probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  probe.fillRect(0, 0, 1, 1);
  const part = (one) => (one /= 255) <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4;
  const [r, g, b] = [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3).map(part);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}"""
"""Relative luminance by WCAG 2.2."""


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_colours_of_the_canvas_stand_out(world: World, scheme: str) -> None:
    """What axe-core cannot see: 3 to 1 for shapes, 4.5 to 1 for text (WCAG 2.2, 1.4.11 and 1.4.3)."""
    with world.page(color_scheme=scheme) as (page, _):

        def contrast(one: str, other: str) -> float:
            low, high = sorted(page.evaluate(LUMINANCE, f"--{name}") for name in (one, other))
            return float((high + 0.05) / (low + 0.05))

        shapes = ("memory", "document", "chunk", "entity", "tag", "cluster", "walk", "focus")
        assert {name: contrast(name, "ground") for name in shapes if contrast(name, "ground") < 3} == {}
        texts = ("text", "faint", "walk")
        assert {name: contrast(name, "ground") for name in texts if contrast(name, "ground") < 4.5} == {}


def focused(page: Any) -> str:
    return str(page.evaluate("document.activeElement.id || document.activeElement.className || 'body'"))


def tab_to(page: Any, name: str) -> None:
    """Press Tab until a button of that name has the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent.trim()") == name:
            return
    raise AssertionError(f"no Tab leads to {name}")


def test_the_main_tasks_by_keyboard_alone(world: World) -> None:
    with world.page() as (page, seen):
        page.mouse.move(0, 0)
        # Search, choose an answer, read it.
        page.keyboard.type("barometer spring")
        page.keyboard.press("Enter")
        page.wait_for_selector("#list .hit")
        page.keyboard.press("ArrowDown")
        until(lambda: "hit" in focused(page), "a result with focus")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        until(lambda: title(page), "the panel")
        # Go on to an entity by the panel's own buttons, and rename it.
        page.keyboard.press("Escape")
        until(lambda: page.is_hidden("#panel"), "the panel closed")
        assert "hit" in focused(page)  # back where one was
        open_node(page, "entity:baltic star")
        page.locator("#panel").focus()
        tab_to(page, "Rename")
        page.keyboard.press("Enter")
        until(lambda: page.is_visible("#dialog"), "the question")
        page.keyboard.press("Control+a")
        page.keyboard.type("Baltic Star II")
        page.keyboard.press("Enter")
        until(lambda: title(page) == "Baltic Star II", "the new name")
        tab_to(page, "Undo")
        page.keyboard.press("Enter")
        until(lambda: title(page) == "Baltic Star", "the old name")
        # The tabs, a proposal, and the log.
        page.locator("#tab-results").focus()
        for tab in TABS[1:5]:
            page.keyboard.press("ArrowRight")
            until(lambda tab=tab: page.get_attribute(f"#tab-{tab}", "aria-selected") == "true", tab)
        page.locator("[data-proposal=vessel]").wait_for()
        tab_to(page, "Approve")
        page.keyboard.press("Enter")
        until(lambda: page.is_visible("#dialog"), "the question")
        page.keyboard.press("Escape")
        until(lambda: page.is_hidden("#dialog"), "nothing approved")
        # The graph: neighbours by arrows, a document by Enter, the zoom, and out of it.
        page.keyboard.press("Escape")
        page.keyboard.press("g")
        assert focused(page) == "canvas"
        page.keyboard.press("ArrowRight")
        first = until(lambda: page.get_attribute("#canvas", "data-selected"), "a node chosen")
        walked = set()
        for arrow in ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"):
            page.keyboard.press(arrow)
            walked.add(page.get_attribute("#canvas", "data-selected"))
        assert walked - {first}
        until(lambda: page.inner_text("#said"), "what is chosen said aloud")
        page.keyboard.press("?")
        assert page.is_visible("#help")
        page.keyboard.press("Escape")
        assert page.is_hidden("#help")
        zoom = page.evaluate("memdb.graph.scene.view.k")
        page.keyboard.press("+")
        until(lambda: page.evaluate("memdb.graph.scene.view.k") > zoom, "the zoom")
        page.keyboard.press("/")
        assert focused(page) == "search"
        seen.assert_quiet()


def test_what_has_the_focus_is_seen(world: World) -> None:
    """Each stop of the Tab key has an outline or a border of its own."""
    with world.page() as (page, _):
        stops = []
        for _stop in range(40):
            page.keyboard.press("Tab")
            name, seen = page.evaluate(
                "(() => { const one = document.activeElement; const style = getComputedStyle(one);"
                " return [one === document.body ? 'body' : one.id || one.textContent.slice(0, 30) || one.tagName,"
                " style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2]; })()"
            )
            stops.append((name, seen))
        assert len({name for name, _ in stops}) > 15
        assert [name for name, seen in stops if not seen and name != "body"] == []
