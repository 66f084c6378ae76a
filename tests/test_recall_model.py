"""One model's vectors are never mixed with another's, and no text is embedded twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from memdb.base.embedding import Embedder
from memdb.errors import ModelUnavailable
from memdb.services.index import vectors
from memdb.store import Store
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder

TOOLS = ("ladder", "rake", "spade", "bucket", "hose", "barrow", "shears", "twine")
FILES: dict[str, str | bytes] = {f"user/{name}.md": f"The {name} is in the shed.\n" for name in TOOLS}


def models_of(store: Store) -> set[str]:
    database = store._context.database
    passages = {model for (model,) in database.rows("select distinct model from passage")}
    embedded = {model for (model,) in database.rows("select distinct model from embedded")}
    assert passages == embedded
    signatures = database.rows("select passage_id, bits from signature")
    vectors_of = (
        "select passage.id, vec_quantize_binary(vector) from passage join embedding_model using (model)"
        " join embedding using (model_id, text_sha256)"
    )
    assert sorted(signatures) == sorted(database.rows(vectors_of))
    return passages


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_files(tmp_path / "root", FILES)
    return tmp_path / "root"


def test_a_second_sync_embeds_nothing(root: Path) -> None:
    embedder = FakeEmbedder()
    with Store.init(root, embedder=embedder) as store:
        assert store.sync().embedded == 8
        assert store.sync().embedded == 0
    with Store.init(root, embedder=embedder) as store:
        assert store.sync().embedded == 0
    assert len(embedder.read) == 8


def test_changing_one_memory_embeds_one_text(root: Path) -> None:
    embedder = FakeEmbedder()
    with Store.init(root, embedder=embedder) as store:
        store.sync()
        write_files(root, {"user/rake.md": "The rake is broken.\n"})
        assert store.sync().embedded == 1
        write_files(root, {"user/rake.md": FILES["user/rake.md"]})
        assert store.sync().embedded == 0
        (root / "user/rake.md").rename(root / "user/rake-2.md")
        store.sync()
        assert embedder.read[8:] == ["rake\nThe rake is broken.", "rake-2\nThe rake is in the shed."]


def test_tags_and_dates_embed_nothing(root: Path) -> None:
    embedder = FakeEmbedder()
    with Store.init(root, embedder=embedder) as store:
        store.sync()
        write_files(root, {"user/rake.md": "---\ntags: [tools]\ncreated: 2026-01-01\n---\nThe rake is in the shed.\n"})
        assert store.sync().embedded == 0
        assert store.stats()["pending"] == 0


def test_a_rebuild_takes_the_vectors_over(root: Path) -> None:
    embedder = FakeEmbedder()
    with Store.init(root, embedder=embedder) as store:
        store.sync()
        assert store.rebuild().salvaged == 8
        assert store.recall("ladder").hits[0].arms["vector"].rank == 1
    assert len(embedder.read) == 8


@pytest.mark.parametrize("other", [FakeEmbedder("fake/words@2"), FakeEmbedder("fake/words@2", dims=304)],
                         ids=["same width", "another width"])  # fmt: skip
def test_another_model_is_said_and_never_mixed(root: Path, other: FakeEmbedder) -> None:
    with Store.init(root, embedder=FakeEmbedder()) as store:
        store.sync()
    with Store.init(root, embedder=other) as store:
        answer = store.recall("ladder", sync_first=False)
        assert answer.arms["vector"].state == "off"
        assert "fake/words@1" in (answer.arms["vector"].reason or "")
        assert "memdb sync" in (answer.arms["vector"].reason or "")
        assert answer.hits[0].id == "user/ladder"
        assert models_of(store) == {"fake/words@1"}
        report = store.sync()
        assert (report.embedded, report.pending) == (8, 0)
        assert models_of(store) == {"fake/words@2"}
        assert store.recall("ladder").arms["vector"].state == "on"
        assert store.stats()["model"] == "fake/words@2"
        assert store.stats()["dims"] == other.status.dims


def test_a_width_that_the_index_cannot_hold_is_said(root: Path) -> None:
    with Store.init(root, embedder=FakeEmbedder(dims=300)) as store:
        report = store.sync()
        assert report.embedder == "fake/words@1 gives 300 dimensions; the vector index needs a multiple of 8."
        assert store.recall("ladder").hits[0].id == "user/ladder"


def test_switching_back_costs_nothing(root: Path) -> None:
    first, second = FakeEmbedder(), FakeEmbedder("fake/words@2", dims=64)
    for embedder, cost in ((first, 8), (second, 8), (first, 0), (second, 0)):
        with Store.init(root, embedder=embedder) as store:
            assert store.sync().embedded == cost
            assert models_of(store) == {embedder.identity}
            assert store.recall("ladder", arms=("vector",)).hits[0].id == "user/ladder"
    assert (len(first.read), len(second.read)) == (8, 8)


def test_an_interrupted_change_goes_on_where_it_was(root: Path) -> None:
    with Store.init(root, embedder=FakeEmbedder()) as store:
        store.sync()
    stopping = FakeEmbedder("fake/words@2", fail_after=5)
    with Store.init(root, embedder=stopping) as store:
        report = store.sync()
        assert report.embedder == "The embedding model failed: out of memory"
        assert report.pending == 8
        assert models_of(store) == set()
        with pytest.raises(ModelUnavailable):
            store.reembed()
    going_on = FakeEmbedder("fake/words@2")
    with Store.init(root, embedder=going_on) as store:
        assert store.sync().embedded == 3
        assert models_of(store) == {"fake/words@2"}
    assert len({*stopping.read, *going_on.read}) == len(stopping.read) + len(going_on.read) == 8


def test_a_few_at_a_time(root: Path) -> None:
    embedder = FakeEmbedder()
    with Store.init(root, embedder=embedder) as store:
        store.sync(embed=False)
        for done, left in ((3, 5), (6, 2), (8, 0)):
            vectors.embed_pending(store._context, limit=3)
            assert (len(embedder.read), store.stats()["pending"]) == (done, left)
            answer = store.recall("the shed", sync_first=False, arms=("vector",), limit=20)
            assert answer.arms["vector"].candidates == done


def test_without_a_model_the_vectors_of_the_last_one_stay(root: Path) -> None:
    embedder = FakeEmbedder()
    with Store.init(root, embedder=embedder) as store:
        store.sync()
    with Store.init(root, embedder=Embedder(enabled=False)) as store:
        assert store.recall("ladder").arms["vector"].state == "off"
        write_files(root, {"user/rake.md": "The rake is broken.\n"})
        store.sync()
    with Store.init(root, embedder=embedder) as store:
        assert store.sync().embedded == 1
        assert models_of(store) == {"fake/words@1"}


def test_without_the_extension_keywords_answer_and_the_index_is_made_later(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = FakeEmbedder()
    with monkeypatch.context() as patch:
        patch.setattr("memdb.base.storage.find_spec", lambda name: None)
        with Store.init(root, embedder=embedder) as store:
            assert store.sync().embedded == 8
            answer = store.recall("ladder")
            assert answer.hits[0].id == "user/ladder"
            assert answer.arms["vector"].reason == "sqlite-vec cannot be loaded: it is not installed"
            write_files(root, {"user/rake.md": "The rake is broken.\n"})
            assert store.sync().embedded == 1
    with Store.init(root, embedder=embedder) as store:
        assert store.recall("ladder").arms["vector"].state == "on"
        assert models_of(store) == {"fake/words@1"}
    assert len(embedder.read) == 9


def test_a_text_with_a_secret_is_never_read_by_the_model(root: Path) -> None:
    embedder = FakeEmbedder()
    secret = "gho_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
    write_files(root, {"user/key.md": f"The token is {secret}\n"})
    with Store.init(root, embedder=embedder) as store:
        report = store.sync()
        assert (report.embedded, report.pending, len(report.problems)) == (8, 0, 1)
        assert not any(secret in text or "token" in text for text in embedder.read)
        assert store.recall("which token is it").hits[0].id == "user/key"
        assert secret not in repr(store.show("user/key"))


def test_the_last_sentence_of_a_long_note_is_found(root: Path) -> None:
    text = "\n\n".join(f"Paragraph {at} says that all is quiet." for at in range(2_000)) + "\n\nThe walrus sings.\n"
    write_files(root, {"project/log.md": text})
    with Store.init(root, embedder=FakeEmbedder(window=8)) as store:
        store.sync()
        for arm in ("vector", "keyword"):
            assert store.recall("the walrus sings", arms=(arm,)).hits[0].id == "project/log"
