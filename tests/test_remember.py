"""What a save that says nothing new is told: by the tool `remember`, and by the command `memdb save`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("mcp")

from memdb.mcp_server import tools
from memdb.mcp_server.calls import Outcome
from memdb.store import Store
from tests.cli_support import memdb

pytestmark = pytest.mark.usefixtures("no_model")

TEA = "She drinks green tea in the morning.\n"
FILES: dict[str, str | bytes] = {
    "user/tea.md": f"---\ndescription: Green tea\ntags: [drinks]\n---\n{TEA}",
    "project/port.md": "The staging gateway listens on port 8443.\n",
}


@pytest.fixture
def store(make_store: Callable[..., Store]) -> Store:
    return make_store(FILES)


def remember(store: Store, **arguments: Any) -> Outcome:
    outcome = tools.call(store, "remember", arguments)
    assert not outcome.is_error, outcome.text
    return outcome


def test_a_restatement_is_a_version_and_says_so(store: Store) -> None:
    said = remember(store, name="user/morning", content="She drinks Green Tea, in the morning", tags="tea")
    assert said.text == (
        "Changed: user/tea (user/tea.md)\n"
        "user/tea says this already, so no second memory was made: its text before is a version now."
        " It keeps its own tags. Call again with apart if it is another fact."
    )
    assert (said.data["id"], said.data["restates"], said.data["created"]) == ("user/tea", "user/tea", False)
    assert said.data["left_out"] == ("tags",)
    assert [past.text for past in store.history("user/tea")] == [FILES["user/tea.md"]]
    assert [one.id for one in store.list()] == ["user/tea", "project/port"]


def test_the_same_words_write_nothing_and_say_so(store: Store) -> None:
    said = remember(store, name="user/morning", content=TEA.strip())
    assert said.text.startswith("Known already: user/tea (user/tea.md)\nuser/tea says this already")
    assert "nothing was written" in said.text
    assert store.history("user/tea") == []


@pytest.mark.parametrize("name", ["apart", "separate", "force_new", "allow_duplicate"])
def test_apart_makes_a_memory_of_its_own_and_says_so(store: Store, name: str) -> None:
    said = remember(store, name="user/morning", content=TEA, **{name: True})
    assert said.text == (
        "Remembered: user/morning (user/morning.md)\n"
        "user/tea says the same; this one stands apart from it, as you asked."
    )
    assert (said.data["created"], said.data["restates"], said.data["apart_from"]) == (True, None, "user/tea")


def test_another_number_is_kept_apart_and_says_so(store: Store) -> None:
    said = remember(store, name="project/gateway", content="The staging gateway listens on port 9443.")
    assert said.data["created"]
    assert said.data["contradicts"] == ["project/port"]
    assert "kept apart from what says something else, and both stand: project/port. A person decides." in said.text


def test_a_new_fact_says_nothing_more(store: Store) -> None:
    said = remember(store, name="user/dog", content="Her dog is called Pepper.", apart=True)
    assert said.text == "Remembered: user/dog (user/dog.md)"
    assert (said.data["restates"], said.data["apart_from"], said.data["contradicts"]) == (None, None, [])


def test_the_command_says_the_same(store: Store) -> None:
    root = store.place.root
    apart = memdb("save", "user/morning", "--apart", "--body", TEA, "--root", root)
    assert apart.out.startswith("created user/morning")
    assert "note: user/tea says the same; this one stands apart, as you asked." in apart.err
    shape = memdb("save", "user/noon", "--apart", "--body", TEA, "--root", root, "--json").json
    assert (shape["apart_from"], shape["restates"]) == ("user/morning", None)
    again = memdb("save", "user/evening", "--body", "She drinks green tea in the morning!", "--root", root)
    assert again.out.startswith("updated user/morning")
    assert "note: this is what user/morning says already: its text before is a version now." in again.err
    assert "`--apart` makes a memory of its own of it" in again.err
