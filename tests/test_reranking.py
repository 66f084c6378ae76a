"""A cross encoder orders the answers anew; without its files recall answers all the same and says so."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest

import memdb
from memdb.base import reranking as base
from memdb.base.reranking import Reranker
from memdb.errors import ModelUnavailable
from memdb.services.recall import reranking
from memdb.store import Store

MakeStore = Callable[..., Store]

NOTES = {
    "project/pump.md": "The pump failed. The pump failed again. The pump stood still.\n",
    "project/cause.md": "A worn seal is why the pump stopped.\n",
}


def fake(question: str, texts: Sequence[str]) -> list[float]:
    """Knows one thing: a text with "why" in it answers."""
    return [3.0 if "why" in text else -3.0 for text in texts]


@pytest.fixture
def store(make_store: MakeStore, no_model: None) -> Store:
    return make_store(NOTES)


def test_answers_are_ordered_by_the_reranker(store: Store) -> None:
    assert [hit.id for hit in store.recall("pump failed").hits] == ["project/pump", "project/cause"]
    reranking.use(store._context, Reranker("fake", lambda model: fake))
    answer = store.recall("pump failed")
    assert [(hit.id, round(hit.score, 3)) for hit in answer.hits] == [("project/cause", 0.953), ("project/pump", 0.047)]
    assert answer.notes == []
    assert [hit.id for hit in store.recall("pump failed", limit=1).hits] == ["project/cause"]


def test_a_question_without_answers_is_not_reranked(store: Store) -> None:
    def never(question: str, texts: Sequence[str]) -> list[float]:
        raise AssertionError("asked")

    reranking.use(store._context, Reranker("fake", lambda model: never))
    assert store.recall("violins").hits == []


def test_without_its_files_recall_answers_and_says_so(
    make_store: MakeStore, no_model: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fastembed", reason="the extra `local` is not installed")
    plain = make_store(NOTES)
    expected = plain.recall("pump failed").hits
    monkeypatch.setenv("MEMDB_RERANKER", "Xenova/ms-marco-MiniLM-L-6-v2")
    with memdb.open(plain.place.root) as store:
        start = time.process_time()
        answer = store.recall("pump failed")
        assert time.process_time() - start < 5
        again = store.recall("pump failed")
    assert answer.hits == again.hits == expected
    assert (
        answer.notes
        == again.notes
        == [
            "The answers were not reranked: The files of Xenova/ms-marco-MiniLM-L-6-v2 are not on this machine."
            " Fetch it once while online: memdb model pull Xenova/ms-marco-MiniLM-L-6-v2"
        ]
    )


def test_the_setting_can_switch_it_off(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMDB_RERANKER", "off")
    assert reranking.reranker(store._context) is None


@pytest.mark.parametrize("given", [[1.0], [float("nan"), 1.0]])
def test_numbers_that_do_not_fit_are_an_error(given: list[float]) -> None:
    with pytest.raises(ModelUnavailable, match="numbers for 2 texts"):
        Reranker("fake", lambda model: lambda question, texts: given).scores("why", ["a", "b"])


def test_a_failure_that_may_pass_is_tried_again() -> None:
    failures = [RuntimeError("out of memory")]

    def flaky(question: str, texts: Sequence[str]) -> list[float]:
        if failures:
            raise failures.pop()
        return [0.0]

    model = Reranker("fake", lambda name: flaky)
    with pytest.raises(ModelUnavailable, match="out of memory"):
        model.scores("why", ["a"])
    assert model.scores("why", ["a"]) == [0.5]


def test_a_missing_model_is_looked_for_once() -> None:
    looked = []

    def load(model: str) -> base.Scorer:
        looked.append(model)
        raise ModelUnavailable("not here")

    model = Reranker("fake", load)
    for _ in range(2):
        with pytest.raises(ModelUnavailable, match="not here"):
            model.scores("why", ["a"])
    assert looked == ["fake"]
