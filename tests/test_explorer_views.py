"""What the explorer shows where there is more than fits: long lists, narrow windows, a search beside an open panel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memdb.store import Store
from tests.browser import at_rest, opened, until
from tests.conftest import write_files
from tests.explorer_store import explorer_store
from tests.explorer_world import World, open_node, search, title, world_of

pytestmark = pytest.mark.slow

LOOSE = 130
"""Links to memories that are not written: more than one list shows at once."""

CRANE = '''"""The crane."""


def lift(load: int) -> int:
    # no heading
    return __import__("math").floor(load * 2 * 3)
'''


def full_store(root: Path) -> Store:
    """The small store with a memory of many loose links, a document of many sections, and a source file."""
    store = explorer_store(root).store
    sections = "".join(f"## Berth {number}\n\nBerth {number} has {number} bollards.\n\n" for number in range(1, 31))
    write_files(root, {"project/plans.md": " ".join(f"[[plan-{number}]]" for number in range(LOOSE)) + "\n"})
    shelf = root.parent / "shelf"
    write_files(shelf, {"berths.md": f"# Berths\n\n{sections}", "crane.py": CRANE})
    store.sync()
    store.add([shelf / "berths.md", shelf / "crane.py"])
    return store


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_of(tmp_path_factory, full_store) as made:
        yield made


@pytest.fixture
def page(world: World) -> Iterator[Any]:
    with world.page() as (found, seen):
        yield found
        seen.assert_quiet()


def document(page: Any, title_: str) -> str:
    """The id of a document by its title."""
    find = "(title) => memdb.model.nodes.find((node) => node.kind === 'document' && node.label === title).id"
    return str(page.evaluate(find, title_))


def place(page: Any, id_: str) -> dict[str, float]:
    """Where a node is on the canvas, in px of the window."""
    return dict(
        page.evaluate(
            "(id) => { const { byId, view } = memdb.graph.scene; const { x, y } = byId.get(id);"
            " const box = document.getElementById('canvas').getBoundingClientRect();"
            " return { x: box.left + x * view.k + view.x, y: box.top + y * view.k + view.y }; }",
            id_,
        )
    )


# Long lists


def test_loose_links_are_counted_all_and_listed_in_steps(page: Any) -> None:
    total = LOOSE + 1  # the small store has one of its own
    until(lambda: page.inner_text("#tab-links .tab-count") == str(total), "the number of links")
    page.click("#tab-links")
    page.get_by_text(f"{total} links without one target.").wait_for()
    assert page.locator("#list .row").count() == 100
    assert f"100 of {total}" in page.inner_text("#list")
    page.get_by_role("button", name="Show more").click()
    until(lambda: page.locator("#list .row").count() == total, "all of them")
    assert page.get_by_role("button", name="Show more").count() == 0


def test_the_queue_goes_on_beyond_its_first_items(page: Any) -> None:
    def many(route: Any) -> None:
        limit = int(route.request.url.rpartition("limit=")[2])
        items = [
            {"id": f"problem:{n}", "kind": "problem", "title": f"File {n}", "detail": [], "choices": []}
            for n in range(60)
        ]
        route.fulfill(json={"ok": True, "items": items[:limit], "total": 60})

    page.route("**/memory/review?*", many)
    page.click("#tab-review")
    page.get_by_text("60 items", exact=True).wait_for()
    assert page.locator("#list .card").count() == 50
    page.get_by_role("button", name="Show more").click()
    until(lambda: page.locator("#list .card").count() == 60, "the whole queue")


def test_a_long_list_of_the_panel_shows_its_beginning(page: Any) -> None:
    open_node(page, document(page, "Berths"))
    rows = page.locator("#panel [data-part=chunks] li")
    until(lambda: rows.count() == 13, "the first of them")
    rows.last.get_by_role("button", name="All 30").click()
    until(lambda: rows.count() == 30, "all of them")


def test_messages_do_not_pile_up(page: Any) -> None:
    page.evaluate(
        "import('./-/static/edit.js').then(({ toast }) => [1, 2, 3, 4, 5].forEach((n) => toast(`told ${n}`)))"
    )
    until(lambda: "told 5" in page.inner_text("#toasts"), "the last message")
    assert page.locator(".toast > div").all_inner_texts() == ["told 3", "told 4", "told 5"]


def test_a_list_that_is_read_again_behind_a_question_gives_the_focus_back(page: Any) -> None:
    page.click("#tab-vocabulary")
    page.get_by_role("button", name="Approve").click()
    until(lambda: page.is_visible("#dialog"), "the question")
    page.evaluate("void memdb.changed()")  # as another process has it
    page.wait_for_timeout(1_000)
    page.keyboard.press("Escape")
    until(lambda: page.is_hidden("#dialog"), "no question")
    page.wait_for_timeout(500)
    assert page.evaluate("document.activeElement.textContent") == "Approve"


# Passages


def test_a_passage_without_a_heading_has_a_name_and_its_lines(page: Any) -> None:
    id_ = f"{document(page, 'crane.py')}#1"
    open_node(page, id_)
    until(lambda: title(page) == "crane.py#1", "a name")
    until(lambda: page.get_attribute("#canvas", "data-selected") == id_, "the passage on the canvas")
    assert page.evaluate("memdb.graph.scene.selected.short") == "crane.py#1"
    page.get_by_role("button", name="Next →").click()
    text = page.locator("#panel .body pre", has_text="def lift")
    text.wait_for()
    assert '\n    # no heading\n    return __import__("math")' in text.inner_text()


def test_a_passage_that_was_found_stands_beside_its_document(page: Any) -> None:
    search(page, "bollards of berth 7")
    hit = page.locator("#list .hit").first.get_attribute("data-id")
    joined = page.evaluate(
        "(id) => memdb.model.edges.filter((one) => one.source.id === id && one.kind === 'in_document')"
        ".map((one) => one.target.id)",
        hit,
    )
    assert joined == [document(page, "Berths")]


def test_a_long_name_of_a_passage_keeps_its_own_heading(page: Any) -> None:
    search(page, "bollards of berth 7")
    page.evaluate(
        "memdb.model.known.get(document.querySelector('.hit').dataset.id).label = `${'x'.repeat(60)} › Berth 7`"
    )
    page.evaluate("memdb.redraw(0)")
    name = page.evaluate("memdb.graph.scene.byId.get(document.querySelector('.hit').dataset.id).short")
    assert name.startswith("…")
    assert name.endswith("› Berth 7")


# Walks


def test_the_walk_says_how_the_score_of_its_answer_comes_about(page: Any) -> None:
    line = page.locator("#walked .walk-sum")

    def told(id_: str) -> str:
        hit = page.locator(f"#list .hit[data-id='{id_}']")
        hit.click()
        until(lambda: page.locator("#walked .walk-node").count(), "the walk")
        return f"{line.text_content()} / {hit.locator('.score').inner_text()}" if line.count() else ""

    search(page, "Tomas Lind works at Corvin Works")
    said, _, shown = told("user/tomas").partition(" / ")
    assert said == f"and a way that leads to it from other texts: {shown}"
    search(page, "who sails the ferry out of Gdynia")
    assert told("project/ferry") == ""  # its score is where its walk ends
    said, _, shown = told("project/old-ferry").partition(" / ")
    assert said == f"less, for what replaces it: {shown}"


def test_a_search_lets_go_of_what_was_open(page: Any) -> None:
    open_node(page, "tag:instruments")
    until(lambda: title(page) == "instruments", "the panel")
    search(page, "who sails the ferry")
    until(lambda: page.is_hidden("#panel"), "the panel closed")
    assert "node=" not in page.url
    assert page.get_attribute("#canvas", "data-selected") == ""
    page.locator("#list .hit").first.click()
    until(lambda: title(page), "an answer")
    first = title(page)
    search(page, "who sails the ferry today")
    assert title(page) == first  # it answers this too


HOOK = """() => {
  const { prototype } = CanvasRenderingContext2D;
  const { roundRect, fillText, clearRect } = prototype;
  globalThis.painted = { pills: [], texts: [] };
  const hooked = (call, note) => function (...values) { note(values); return call.apply(this, values); };
  prototype.clearRect = hooked(clearRect, () => Object.assign(painted, { pills: [], texts: [] }));
  prototype.roundRect = hooked(roundRect, (values) => painted.pills.push(values.slice(0, 4)));
  prototype.fillText = hooked(fillText, ([text]) => painted.texts.push(text));
  memdb.graph.paint();
}"""
"""Notes the labels of each picture."""


def painted(page: Any) -> dict[str, Any]:
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return dict(page.evaluate("globalThis.painted"))


def test_what_a_hop_weighs_covers_no_score(world: World) -> None:
    with world.page(size=(1024, 768)) as (page, seen):
        search(page, "who sails the ferry out of Gdynia")
        page.evaluate(HOOK)
        walks = page.evaluate("memdb.search.answer.hits.filter(({ path }) => path.length > 2).map(({ id }) => id)")
        assert walks
        for id_ in walks:
            page.click(f"#list .hit[data-id='{id_}']")
            at_rest(page)
            # As near as nodes of one walk may come: only few pixels are left for its hops.
            page.evaluate(
                "memdb.graph.scene.active.forEach(({ node }, at) =>"
                " Object.assign(memdb.graph.scene.byId.get(node), { x: at * 40, y: at * 5 }));"
                "memdb.graph.fitTo(memdb.graph.scene.active.map(({ node }) => node), false)"
            )
            boxes = painted(page)["pills"]
            assert len(boxes) >= page.evaluate("memdb.graph.scene.active.length")  # each node has its score
            for at, (x, y, wide, high) in enumerate(boxes):
                for other_x, other_y, other_wide, other_high in boxes[at + 1 :]:
                    apart = x + wide <= other_x or other_x + other_wide <= x
                    assert apart or y + high <= other_y or other_y + other_high <= y, boxes
        seen.assert_quiet()


def test_the_most_connected_has_its_name_among_many(page: Any) -> None:
    most = page.evaluate("memdb.graph.scene.nodes[0].short")
    page.evaluate(HOOK)
    # All others close around it, as in a store whose every text mentions one name.
    page.evaluate(
        "(() => { const { nodes } = memdb.graph.scene; nodes.forEach((node, at) => {"
        " const [turn, far] = [at * 2.4, Math.sqrt(at) * 7];"
        " node.x = Math.cos(turn) * far; node.y = Math.sin(turn) * far; });"
        " memdb.graph.fit(false); memdb.graph.paint(); })()"
    )
    assert most in painted(page)["texts"]


# Windows


def test_what_is_chosen_lies_on_the_canvas_that_the_panel_leaves(world: World) -> None:
    with world.page(size=(1100, 800)) as (page, seen):
        outermost = page.evaluate("memdb.model.nodes.reduce((one, other) => (other.x > one.x ? other : one)).id")
        page.evaluate("(id) => memdb.choose(id)", outermost)
        until(lambda: title(page), "the panel")
        assert place(page, outermost)["x"] < page.locator("#canvas").bounding_box()["width"] + 320 - 60
        seen.assert_quiet()


def test_on_a_phone_the_panel_leaves_what_is_chosen_in_sight(world: World) -> None:
    with world.page(size=(390, 844), has_touch=True, is_mobile=True) as (page, seen):
        page.click("[data-to=graph]")
        at_rest(page)
        lowest = page.evaluate("memdb.model.nodes.reduce((one, other) => (other.y > one.y ? other : one)).id")
        page.evaluate("(id) => memdb.choose(id)", lowest)
        until(lambda: title(page), "the panel")
        assert place(page, lowest)["y"] < page.locator("#panel").bounding_box()["y"]
        # A search takes the panel away, which would lie over its answers.
        search(page, "who sails the ferry")
        until(lambda: page.is_hidden("#panel"), "the answers")
        seen.assert_quiet()


def test_an_address_chooses_its_node_also_where_the_graph_comes_before_it(world: World) -> None:
    with opened(world.chrome, world.page_address) as (page, seen):
        at_rest(page)
        held: list[Any] = []
        page.route("**/memory/node/*", lambda route: held.extend([route]))  # it takes no method of a list itself
        page.goto(f"{world.address}/memory/explorer#node=user%2Ftomas")
        page.reload()
        at_rest(page)
        until(lambda: held, "the node asked for")
        for route in held:
            route.continue_()
        until(lambda: page.get_attribute("#canvas", "data-selected") == "user/tomas", "the choice")
        seen.assert_quiet()
