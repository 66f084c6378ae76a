"""Whatever comes and goes, the entity graph is the one that a rebuild makes."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memdb.base.embedding import Embedder
from memdb.services.entities import mentions
from memdb.store import Store

NAMES = ("harbour-lamp", "Ottilie Krahn", "krahn-archive", "harbour-lamp-keeper", "Grafana", "QB")
SENTENCES = (
    "We met Ottilie Krahn at the gate.",
    "The harbour lamp is out again.",
    "Ask the harbour lamp keeper, or QB.",
    "The Krahn archive moved; Grafana shows when.",
    "Nothing is named here.",
    "It runs on db1.internal.example with --no-cache.",
)

steps = st.lists(
    st.tuples(
        st.sampled_from(("save", "save", "save", "delete", "forget", "small")),
        st.sampled_from(NAMES),
        st.lists(st.sampled_from(SENTENCES), max_size=3),
        st.lists(st.sampled_from(NAMES), max_size=1),
    ),
    min_size=1,
    max_size=8,
)


def run(store: Store, root: Path, step: tuple[str, str, list[str], list[str]]) -> None:
    action, name, sentences, aliases = step
    file = root / "project" / f"{name}.md"
    if action == "save":
        store.save(f"project/{name}", "\n".join(sentences), aliases=aliases)
        store.sync(yes=True)
    elif action == "delete":
        file.unlink(missing_ok=True)
        store.sync(yes=True)
    elif action == "forget" and file.exists():
        store.forget(f"project/{name}")
    elif action == "small":
        # A refresh that reads one text and leaves the rest waits for the next.
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{line}\n" for line in sentences), encoding="utf-8", newline="\n")
        context = store._context
        mentions.refresh(context, limit=1)


def holds(given_steps: list[tuple[str, str, list[str], list[str]]]) -> None:
    """What was kept up is what a rebuild gives."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        with Store.init(root, embedder=Embedder(enabled=False)) as store:
            for step in given_steps:
                run(store, root, step)
            live = store.digest()
            store.rebuild()
            rebuilt = store.digest()
            assert {name: rebuilt.tables[name] for name in live.tables} == live.tables
            # A rebuild takes over what its checksums vouch for; from nothing it is the same.
            store.close()
            for file in store.place.home.glob("memory.db*"):
                file.unlink()
            assert store.digest().tables == rebuilt.tables
            assert not mentions.is_behind(store._context.database)


@settings(max_examples=8, deadline=None)
@given(steps)
def test_names_that_come_and_go(given_steps: list[tuple[str, str, list[str], list[str]]]) -> None:
    holds(given_steps)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(steps)
def test_many_names_that_come_and_go(given_steps: list[tuple[str, str, list[str], list[str]]]) -> None:
    holds(given_steps)
