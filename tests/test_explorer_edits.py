"""The explorer's edits in a real browser: each is made by hand, seen in the store, and taken back by its Undo."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser import until
from tests.explorer_store import explorer_store
from tests.explorer_world import World, open_node, title, world_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_of(tmp_path_factory, lambda root: explorer_store(root).store) as made:
        yield made


@pytest.fixture
def page(world: World) -> Iterator[Any]:
    with world.page() as (found, seen):
        yield found
        seen.assert_quiet()


def asked(page: Any, *parts: str, **query: str) -> Any:
    """What the server says now."""
    return page.evaluate(
        "async ([parts, query]) => (await import('./-/static/api.js')).get(parts, query)", [list(parts), query]
    )


def entities(page: Any) -> dict[str, str | None]:
    return {one["name"]: one["type"] for one in asked(page, "entities", limit="200")["entities"]}


def press(page: Any, name: str, within: str = "#panel") -> None:
    page.locator(within).get_by_role("button", name=name, exact=True).click()


def confirm(page: Any) -> None:
    page.click("#dialog [type=submit]")


def undo(page: Any) -> None:
    page.locator(".toast .undo").last.click()
    page.locator(".toast", has_text="Undone.").last.wait_for()


def test_rename_an_entity_and_undo(page: Any) -> None:
    open_node(page, "entity:baltic star")
    press(page, "Rename")
    page.fill("#dialog input[name=name]", "Baltic Star II")
    confirm(page)
    until(lambda: title(page) == "Baltic Star II", "the new name")
    assert "also called Baltic Star" in page.inner_text("#panel")
    assert "baltic+star+ii" in page.url
    undo(page)
    until(lambda: title(page) == "Baltic Star", "the old name")
    page.click("#tab-log")
    page.locator("#list .state-undone").first.wait_for()


def test_retype_an_entity_and_undo(page: Any) -> None:
    open_node(page, "entity:harbour office")
    press(page, "Type")
    page.select_option("#dialog select[name=type]", "place")
    confirm(page)
    until(lambda: "place" in page.locator("#panel .tagged").all_inner_texts(), "the new type")
    assert entities(page)["Harbour Office"] == "place"
    undo(page)
    until(lambda: "organization" in page.locator("#panel .tagged").all_inner_texts(), "the old type")
    assert entities(page)["Harbour Office"] == "organization"


def test_merge_two_entities_and_undo(page: Any) -> None:
    before = entities(page)
    open_node(page, "entity:corvin works")
    press(page, "Merge")
    page.fill("#dialog input[name=into]", "Harbour Off")
    until(lambda: page.locator("#dialog option[value='Harbour Office']").count(), "the name completed")
    page.fill("#dialog input[name=into]", "Harbour Office")
    confirm(page)
    until(lambda: title(page) == "Harbour Office", "what it is part of")
    until(lambda: "also called Corvin Works" in page.inner_text("#panel"), "its name as an alias")
    assert "Corvin Works" not in entities(page)
    undo(page)
    until(lambda: title(page) == "Corvin Works", "the entity again")
    assert entities(page) == before


def test_delete_an_entity_and_undo(page: Any) -> None:
    before = entities(page)
    open_node(page, "entity:corvin works")
    press(page, "Delete")
    assert "are not touched" in page.inner_text("#dialog")
    confirm(page)
    until(lambda: page.is_hidden("#panel"), "its panel closed")
    assert "Corvin Works" not in entities(page)
    undo(page)
    until(lambda: title(page) == "Corvin Works", "the entity again")
    assert entities(page) == before


def test_restore_a_deleted_entity_from_the_list(page: Any) -> None:
    open_node(page, "entity:corvin works")
    press(page, "Delete")
    confirm(page)
    until(lambda: page.is_hidden("#panel"), "its panel closed")
    page.click("#tab-entities")
    page.get_by_label("deleted").check()
    press(page, "Restore", "#list .card")
    until(lambda: "Corvin Works" in entities(page), "the entity again")
    page.get_by_label("deleted").uncheck()
    page.locator("#list .row", has_text="Corvin Works").wait_for()


def test_a_question_that_is_closed_changes_nothing(page: Any) -> None:
    before = len(asked(page, "log")["decisions"])
    open_node(page, "entity:corvin works")
    for button in ("Rename", "Type", "Merge", "Delete"):
        press(page, button)
        until(lambda: page.is_visible("#dialog"), "the question")
        page.keyboard.press("Escape")
        until(lambda: page.is_hidden("#dialog"), "the dialog closed")
    assert len(asked(page, "log")["decisions"]) == before
    assert page.is_visible("#panel")


def test_approve_a_proposal_and_undo(page: Any, world: World) -> None:
    page.click("#tab-vocabulary")
    card = page.locator("[data-proposal=vessel]")
    card.wait_for()
    world.picture(page, "vocabulary")
    card.get_by_role("button", name="Approve").click()
    confirm(page)
    page.locator("[data-entry=vessel]").wait_for()
    undo(page)
    page.locator("[data-proposal=vessel]").wait_for()


def test_dismiss_a_proposal_and_undo(page: Any) -> None:
    page.click("#tab-vocabulary")
    page.locator("[data-proposal=vessel]").get_by_role("button", name="Dismiss").click()
    page.locator("[data-proposal=vessel]").get_by_role("button", name="Restore").wait_for()
    undo(page)
    page.locator("[data-proposal=vessel]").get_by_role("button", name="Approve").wait_for()


def test_disable_a_type_and_undo(page: Any) -> None:
    page.click("#tab-vocabulary")
    page.locator("[data-entry=event]").get_by_role("button", name="Disable").click()
    page.locator("[data-entry=event] .badge-off").wait_for()
    undo(page)
    until(lambda: page.locator("[data-entry=event] .badge-off").count() == 0, "the type enabled")


def entry(page: Any, name: str) -> dict[str, Any] | None:
    found = [one for one in asked(page, "schema")["entries"] if one["name"] == name]
    return found[0] if found else None


def test_the_vocabulary_is_added_to_described_and_deleted_each_with_its_undo(page: Any) -> None:
    page.click("#tab-vocabulary")
    page.locator("#list .section-head", has_text="Types").get_by_role("button", name="Add…").click()
    page.fill("#dialog input[name=name]", "vitamin")
    page.fill("#dialog textarea", "a vitamin by its letter")
    page.check("#dialog input[name=single_letters]")
    confirm(page)
    card = page.locator("[data-entry=vitamin]")
    card.wait_for()
    undo(page)
    until(lambda: page.locator("[data-entry=vitamin]").count() == 0, "the entry gone again")
    assert entry(page, "vitamin") is None
    page.evaluate(
        "import('./-/static/api.js').then(({ send }) => send('POST', ['schema'], { action: 'add', kind: 'type',"
        " name: 'vitamin', description: 'a vitamin by its letter', single_letters: true }))"
    )
    card.wait_for()
    card.get_by_role("button", name="Describe").click()
    page.fill("#dialog textarea", "a vitamin")
    confirm(page)
    until(lambda: (entry(page, "vitamin") or {})["description"] == "a vitamin", "the new rule")
    undo(page)
    until(lambda: (entry(page, "vitamin") or {})["description"] == "a vitamin by its letter", "the old rule")
    card.get_by_role("button", name="Disable").click()
    card.locator(".badge-off").wait_for()
    whole = entry(page, "vitamin")
    card.get_by_role("button", name="Delete").click()
    until(lambda: page.locator("[data-entry=vitamin]").count() == 0, "the entry deleted")
    undo(page)
    card.wait_for()
    assert entry(page, "vitamin") == whole  # disabled, with its flag
    assert whole is not None
    assert (whole["state"], whole["single_letters"]) == ("disabled", True)


def test_answer_a_conflict_from_the_queue_and_undo(page: Any, world: World) -> None:
    page.click("#tab-review")
    page.locator("#list .card").first.wait_for()
    world.picture(page, "review")
    card = page.locator("#list .card", has_text="Tomas Lind").first
    card.scroll_into_view_if_needed()
    world.picture(page, "conflict")
    item = card.get_attribute("data-item")
    card.locator("[data-choice=both], [data-choice=keep-both]").first.click()
    here = f'#list .card[data-item="{item}"]'
    until(lambda: page.locator(here).count() == 0, "the item settled")
    until(lambda: not page.locator("#list .loading").count(), "the list read again")
    world.picture(page, "resolved")
    undo(page)
    page.locator(here).wait_for()


def test_one_side_of_a_conflict_is_kept_and_that_is_undone(page: Any) -> None:
    page.click("#tab-review")
    card = page.locator("#list .card", has_text="Tomas Lind").first
    card.wait_for()
    item = card.get_attribute("data-item")
    opened = [one["id"] for one in asked(page, "conflicts")["conflicts"]]
    card.locator("[data-choice=keep-harbour-office]").click()
    here = f'#list .card[data-item="{item}"]'
    until(lambda: page.locator(here).count() == 0, "the item settled")
    assert [one["id"] for one in asked(page, "conflicts")["conflicts"]] != opened
    undo(page)
    page.locator(here).wait_for()
    assert [one["id"] for one in asked(page, "conflicts")["conflicts"]] == opened
