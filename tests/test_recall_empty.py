"""No answer is explained: each reason is another one, and says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from memdb.base.embedding import Embedder
from memdb.errors import UsageError
from memdb.services.recall.recall import Filters
from memdb.store import Store
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder

FILES: dict[str, str | bytes] = {
    "user/tea.md": "---\ntags: [drinks]\n---\nLikes green tea.\n",
    "project/ferry.md": "The ferry leaves at nine.\n",
}


def store_of(root: Path, embedder: Embedder, files: dict[str, str | bytes] | None = None) -> Store:
    write_files(root, FILES if files is None else files)
    return Store.init(root, embedder=embedder)


@pytest.mark.parametrize("embedder", [FakeEmbedder(), Embedder(enabled=False)], ids=["model", "keywords"])
def test_no_data(tmp_path: Path, embedder: Embedder) -> None:
    with store_of(tmp_path / "a", embedder, {}) as store:
        answer = store.recall("green tea")
        assert (answer.hits, answer.empty_because) == ([], "no_data")
        assert "memdb save" in (answer.empty_message or "")


@pytest.mark.parametrize("embedder", [FakeEmbedder(), Embedder(enabled=False)], ids=["model", "keywords"])
def test_filtered_out(tmp_path: Path, embedder: Embedder) -> None:
    with store_of(tmp_path / "a", embedder) as store:
        none_pass = store.recall("green tea", filters=Filters(types=("episode",)))
        assert (none_pass.hits, none_pass.empty_because) == ([], "filtered_out")
        assert none_pass.empty_message == "The filters let none of 2 memories through."
        others_pass = store.recall("green tea", filters=Filters(types=("project",)))
        assert (others_pass.hits, others_pass.empty_because) == ([], "filtered_out")
        assert others_pass.empty_message == "There are answers, but the filters leave them out."


def test_below_the_floor(tmp_path: Path) -> None:
    with store_of(tmp_path / "a", FakeEmbedder()) as store:
        answer = store.recall("quantum chromodynamics")
        assert (answer.hits, answer.empty_because) == ([], "below_floor")
        assert "the floor is 0.25" in (answer.empty_message or "")


def test_a_filter_is_not_blamed_for_what_is_nowhere(tmp_path: Path) -> None:
    with store_of(tmp_path / "a", FakeEmbedder()) as store:
        answer = store.recall("quantum chromodynamics", filters=Filters(types=("project",)))
        assert answer.empty_because == "below_floor"


def test_an_arm_is_off(tmp_path: Path) -> None:
    with store_of(tmp_path / "a", Embedder(enabled=False)) as store:
        answer = store.recall("quantum chromodynamics")
        assert (answer.hits, answer.empty_because) == ([], "arm_off")
        assert answer.arms["vector"].reason == "Embeddings are switched off."
        assert "Embeddings are switched off" in (answer.empty_message or "")
        assert ".." not in (answer.empty_message or "")


def test_an_arm_that_was_not_asked_for_is_off_too(tmp_path: Path) -> None:
    with store_of(tmp_path / "a", FakeEmbedder()) as store:
        answer = store.recall("quantum chromodynamics", arms=("keyword",))
        assert answer.empty_because == "arm_off"
        answer = store.recall("quantum chromodynamics", arms=())
        assert answer.empty_because == "arm_off"


def test_the_index_is_behind(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    with store_of(tmp_path / "a", embedder) as store:
        store.sync()
        write_files(store.place.root, {"user/new.md": "Prefers window seats.\n"})
        store.sync(embed=False)
        answer = store.recall("quantum chromodynamics", sync_first=False)
        assert (answer.hits, answer.empty_because) == ([], "index_behind")
        assert "1 text is not embedded" in (answer.empty_message or "")


def test_nothing_is_embedded_yet(tmp_path: Path) -> None:
    with store_of(tmp_path / "a", FakeEmbedder()) as store:
        store.sync(embed=False)
        answer = store.recall("quantum chromodynamics", sync_first=False)
        assert answer.arms["vector"].state == "off"
        assert answer.empty_because == "index_behind"
        assert store.recall("green tea", sync_first=False).hits[0].id == "user/tea"


def test_a_model_that_fails_on_the_way(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    with store_of(tmp_path / "a", embedder) as store:
        store.sync()
        embedder.off = "The embedding model failed: out of memory"
        answer = store.recall("green tea")
        assert answer.hits[0].id == "user/tea"
        assert answer.arms["vector"].reason == "The embedding model failed: out of memory"


@pytest.mark.parametrize("query", ["", " ", "\0", "?!", "--"])
def test_the_question_is_empty(tmp_path: Path, query: str) -> None:
    with store_of(tmp_path / "a", FakeEmbedder()) as store:
        answer = store.recall(query)
        assert (answer.hits, answer.empty_because) == ([], "empty_query")


def test_an_answer_has_no_such_reason(tmp_path: Path) -> None:
    with store_of(tmp_path / "a", FakeEmbedder()) as store:
        answer = store.recall("green tea")
        assert (len(answer.hits), answer.empty_because, answer.empty_message, answer.notes) == (1, None, None, [])


def test_no_arm_at_all(tmp_path: Path) -> None:
    with store_of(tmp_path / "a", FakeEmbedder()) as store:
        answer = store.recall("green tea", arms=())
        assert (answer.hits, answer.empty_because) == ([], "arm_off")
        assert answer.empty_message == "Nothing was looked for by words or by meaning: both arms are off."


def test_an_arm_that_there_is_not_is_refused_and_one_alone_is_one(tmp_path: Path) -> None:
    with store_of(tmp_path / "a", FakeEmbedder()) as store:
        with pytest.raises(UsageError) as error:
            store.recall("green tea", arms=["keywords"])
        assert error.value.message == "There is no arm 'keywords'."
        with pytest.raises(UsageError):
            store.recall_sql("green tea", arms=["keywords"])
        assert list(store.recall("green tea", arms="keyword").hits[0].arms) == ["keyword"]


def test_a_date_that_is_none_is_named_as_any_surface_calls_it(tmp_path: Path) -> None:
    with store_of(tmp_path / "a", FakeEmbedder()) as store, pytest.raises(UsageError) as error:
        store.recall("tea", filters=Filters(since="soon"))
    assert error.value.message == "since is 'soon'; write a date as 2026, 2026-05 or 2026-05-01."
