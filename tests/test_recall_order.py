"""The same files give the same answer, in whatever order they came."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memdb.base.embedding import Embedder
from memdb.store import Store
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder

MEANINGS = {"ferry": "boat", "ship": "boat", "tea": "drink", "coffee": "drink"}

FILES: dict[str, str] = {
    "user/tea.md": "---\ntags: [drinks, habits]\n---\nGreen tea in the morning, see [[ferry]].\n",
    "user/coffee.md": "---\ntags: [drinks]\n---\nNo coffee after four.\n",
    "project/ferry.md": "---\ntags: [travel]\n---\nThe ferry leaves at nine. [[tea]]\n",
    "project/ferry-2.md": "---\ntags: [travel]\nsupersedes: ferry\n---\nThe ferry leaves at ten.\n",
    "reference/ferry.md": "The ferry has a bar with tea and coffee.\n",
    "feedback/morning-a.md": "---\ntags: [habits]\n---\nNo calls in the morning.\n",
    "feedback/morning-b.md": "---\ntags: [habits]\n---\nNo calls in the morning.\n",
    "episode/ship.md": "The ship was late. [[Morning A]] [[nowhere]]\n",
}

QUESTIONS = ["when does the ferry leave in the morning", "coffee or tea on the boat", "no calls", "habits"]


def answers(order: Sequence[str], one_by_one: bool, *, model: bool) -> str:
    embedder = FakeEmbedder(meanings=MEANINGS) if model else Embedder(enabled=False)
    with TemporaryDirectory() as folder, Store.init(Path(folder) / "root", embedder=embedder) as store:
        for path in order:
            write_files(store.place.root, {path: FILES[path]})
            if one_by_one:
                # The clusters belong to the files and the journal; only the last sync makes them.
                store.sync(embed=False)
        store.sync()
        return json.dumps([asdict(store.recall(question, limit=20)) for question in QUESTIONS], sort_keys=True)


@pytest.mark.parametrize("model", [False, True], ids=["keywords", "model"])
def test_the_questions_have_answers(model: bool) -> None:
    found = json.loads(answers(list(FILES), False, model=model))
    assert [bool(answer["hits"]) for answer in found] == [True] * len(QUESTIONS)


@settings(max_examples=3, deadline=None)
@given(order=st.permutations(sorted(FILES)), model=st.booleans())
def test_any_order_of_the_same_files_gives_the_same_bytes(order: list[str], model: bool) -> None:
    assert answers(order, True, model=model) == answers(sorted(FILES), False, model=model)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(order=st.permutations(sorted(FILES)), model=st.booleans())
def test_many_orders_of_the_same_files_give_the_same_bytes(order: list[str], model: bool) -> None:
    assert answers(order, True, model=model) == answers(sorted(FILES), False, model=model)
