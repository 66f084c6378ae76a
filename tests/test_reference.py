"""The page of views and recipes says what the files say, every column is explained, and each recipe answers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memdb.base.resources import question
from memdb.store import Store
from tests import reference
from tests.answer_support import Answered, answer

RECIPES = reference.files("recipes")
OWN_SQLITE = pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 40), reason="this Python's SQLite is older than 3.40")

TEXTS = {
    "user/ada.md": "---\ntags: [people, work]\ncreated: 2026-03-01\n---\n"
    "Ada Wren works at Corvin Works. [[harbour]] [[gone]]\n",
    "user/later.md": "---\ntags: [people, work]\ncreated: 2026-05-01\n---\n"
    "Ada Wren works at Bree Labs now. [[harbour]]\n",
    "project/harbour.md": "---\nvalid_to: 2020-01-01\n---\nThe harbour opens at nine.\n",
    "project/harbour-2.md": "---\nsupersedes: harbour\n---\nThe harbour opens at ten.\n",
    "episode/alone.md": "Nothing here.\n",
    "episode/broken.md": "---\ntitle: {{title}}\n---\nA torn head.\n",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        world = Answered(tmp_path_factory.mktemp("recipes"), TEXTS)
        guide = tmp_path_factory.mktemp("shelf") / "guide.md"
        guide.write_text("# Firms\n\nCorvin Works is old.\n", encoding="utf-8")
        world.store.add([guide])
        person = ("Ada Wren", "person")
        for memory, firm in (("user/ada", "Corvin Works"), ("user/later", "Bree Labs")):
            world.put(memory, answer(person, (firm, "organization"), said=(("Ada Wren", "works_at", firm),)))
        (world.root / "episode/alone.md").write_text("Nothing at all.\n", encoding="utf-8")
        world.store.sync(embed=False)
        yield world.store
        world.store.close()


def run(store: Store, recipe: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(store.place.database.as_uri() + "?mode=ro", uri=True)) as connection:
        return connection.execute(recipe.read_text(encoding="utf-8"), {"name": "Ada Wren"}).fetchall()


def test_the_page_is_what_the_files_say() -> None:
    assert reference.PAGE.read_text(encoding="utf-8") == reference.page(), "run: python -m tests.reference"


@pytest.mark.parametrize("view", reference.files("views"), ids=lambda file: file.stem)
def test_every_column_is_explained(store: Store, view: Path) -> None:
    assert [name for name, comment in reference.columns(store._context.database, view) if not comment] == []


def test_there_are_twenty_recipes_and_each_asks_a_question() -> None:
    assert len(RECIPES) >= 20
    asked = [question(file.read_text(encoding="utf-8")) for file in RECIPES]
    assert [one for one in asked if not one.endswith("?")] == []
    assert len(set(asked)) == len(asked)


@OWN_SQLITE
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda file: file.stem)
def test_each_recipe_runs_in_another_sqlite(store: Store, recipe: Path) -> None:
    rows = run(store, recipe)
    assert bool(rows) == (recipe.stem not in EMPTY)


EMPTY = {"cost_by_model", "withheld_texts"}
"""Recipes that have nothing to show in this store: no model was called, and it has no secret."""

ANSWERS: dict[str, list[tuple[Any, ...]]] = {
    "about_a_name": [("user/ada", "Ada Wren", 0), ("user/later", "Ada Wren", 0)],
    "relations_of_a_name": [
        ("entity:ada wren", "works_at", "entity:bree labs", 0.9, '["user/later"]'),
        ("entity:ada wren", "works_at", "entity:corvin works", 0.9, '["user/ada"]'),
    ],
    "bridges": [("entity:corvin works", "Corvin Works", 1, 1)],
    "expired_memories": [("project/harbour", "2020-01-01", "")],
    "replaced_memories": [("project/harbour", "project/harbour-2", "")],
    "most_linked": [("project/harbour", 3)],
    "broken_links": [("gone", 1, '["user/ada"]')],
    "tags_together": [("tag:people", "tag:work", 2)],
}


@OWN_SQLITE
@pytest.mark.parametrize("name", ANSWERS)
def test_what_a_recipe_answers(store: Store, name: str) -> None:
    recipe = next(file for file in RECIPES if file.stem == name)
    assert run(store, recipe) == ANSWERS[name]
