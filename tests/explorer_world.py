"""A served store in a browser, as the tests of the explorer use it, and the pictures that they leave behind."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from memdb.store import Store
from tests.browser import Seen, at_rest, browser, chromium, opened, served, until

TOKEN = "of-this-test"

PICTURES = "MEMDB_SCREENSHOTS"
"""Names the folder in which pictures stay; else they go where pytest keeps temporary files."""


class World:
    """A served store, a browser, where its files are, and where pictures of it go."""

    def __init__(self, root: Path, address: str, chrome: Any, pictures: Path) -> None:
        self.root, self.address, self.chrome, self.pictures = root, address, chrome, pictures
        self.page_address = f"{address}/memory/explorer?token={TOKEN}"

    @contextmanager
    def page(self, hash_: str = "", **options: Any) -> Iterator[tuple[Any, Seen]]:
        """A page of the store at rest, told of changes."""
        with opened(self.chrome, f"{self.page_address}{hash_}", **options) as (page, seen):
            at_rest(page)
            page.locator("#live-text", has_text=re.compile("^live$")).wait_for()
            yield page, seen

    def picture(self, page: Any, name: str) -> None:
        """Keep a picture of the window."""
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        page.screenshot(path=self.pictures / f"{name}.png")


def pictures_of(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures go."""
    named = os.environ.get(PICTURES)
    folder = Path(named) if named else tmp_path_factory.mktemp("pictures")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def world_of(
    tmp_path_factory: pytest.TempPathFactory, make: Callable[[Path], Store], *, chrome: Any = None
) -> Iterator[World]:
    """A store made by `make`, served without an embedding model, in a browser of its own or in a given one."""
    chromium()
    with pytest.MonkeyPatch.context() as patch, ExitStack() as last:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("MEMDB_EMBEDDER", "off")
        root = tmp_path_factory.mktemp("explored") / "notes"
        store = make(root)
        database = store.place.database
        store.close()
        started = chrome or last.enter_context(browser())
        address = last.enter_context(served(database, token=TOKEN))
        yield World(root, address, started, pictures_of(tmp_path_factory))


def search(page: Any, question: str) -> None:
    """Ask a question and wait for its answer."""
    page.fill("#search", question)
    page.press("#search", "Enter")
    page.wait_for_selector("#list .hit, #list .nothing:not(:has-text('Ask anything'))")


def count(page: Any, name: str) -> int:
    """How many nodes, edges or walks are drawn."""
    return int(page.get_attribute("#canvas", f"data-{name}"))


def open_node(page: Any, id_: str) -> None:
    """Show a node in the panel, by its address."""
    page.evaluate("(id) => { location.hash = new URLSearchParams({ node: id }).toString(); }", id_)
    until(lambda: page.evaluate("memdb.panel.node?.id") == id_, id_)


def title(page: Any) -> str:
    """What the panel shows."""
    shown = page.locator(".panel-title")
    return str(shown.inner_text()) if shown.count() else ""
