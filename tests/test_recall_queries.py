"""Any text is a valid question, and finds what it should: with a model and without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memdb.base.embedding import Embedder
from memdb.store import Store
from tests.conftest import copy_vault, write_files
from tests.fake_embedder import FakeEmbedder


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Store]]:
    """One store without and one with a model, over the same files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        folder = tmp_path_factory.mktemp("search")
        embedders: dict[str, Embedder] = {"keywords": Embedder(enabled=False), "model": FakeEmbedder()}
        made = {}
        for name, embedder in embedders.items():
            made[name] = Store.init(copy_vault("search", folder / name), embedder=embedder)
            made[name].sync()
        yield made
        for store in made.values():
            store.close()


@pytest.fixture(params=["keywords", "model"])
def store(request: pytest.FixtureRequest, stores: dict[str, Store]) -> Store:
    return stores[request.param]


def ids(store: Store, query: str, **options: object) -> list[str]:
    return [hit.id for hit in store.recall(query, sync_first=False, **options).hits]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("multi-agent", "project/multi-agent"),
        ("TODO: fix", "project/multi-agent"),
        ("multi", "project/multi-agent"),
        ("c:multi", "project/multi-agent"),
        ("don't", "reference/operators"),
        ("NEAR(", "reference/operators"),
        ("C++", "reference/languages"),
        ("c++ parser", "reference/languages"),
        ("C#", "reference/languages"),
        (".NET", "reference/languages"),
        ("a.b/path", "reference/languages"),
        ("GB/s", "project/release-notes"),
        ("help@harbour", "reference/prices"),
        ("$5", "reference/prices"),
        ("100%", "reference/prices"),
        ("#travel", "user/lighthouse"),
        ("-island", "user/lighthouse"),
        ('"lighthouse', "user/lighthouse"),
        ("lighthouse*", "user/lighthouse"),
        ("(ferry", "user/lighthouse"),
        ("1.2.3", "project/release-notes"),
        ("v1.2.3", "project/release-notes"),
        ("version 1.2", "project/release-notes"),
        ("pg_hba", "project/staging-database"),
        ("pg_hba.conf", "project/staging-database"),
        ("hba", "project/staging-database"),
        ("STAGING", "project/staging-database"),
        ("staging-database", "project/staging-database"),
        ("compilers", "reference/languages"),
        ("why is the deploy bot not replying", "project/deploy-bot"),
        ("what database do we use for staging", "project/staging-database"),
        ("what is due in May of 2027?", "project/release-notes"),
        ("悬空", "reference/chinese"),
        ("悬空引用", "reference/chinese"),
        ("空", "reference/chinese"),
        ("月曜日", "reference/japanese"),
        ("サーバー", "reference/japanese"),
        ("화요일", "reference/korean"),
        ("резервные КОПИИ", "reference/russian"),
        ("елка", "reference/russian"),
        ("เชียงใหม่", "reference/thai"),
        ("हिन्दी", "reference/hindi"),
        ("file", "reference/ligature"),
        ("cafe", "reference/ligature"),
        ("cafe\u0301", "reference/ligature"),
        ("🚀", "feedback/emoji"),
        ("Boris", "episode/thanks-b"),
        ("light\u200bhouse", "user/lighthouse"),
        ("lighthouse\0", "user/lighthouse"),
        ("\ud800 lighthouse", "user/lighthouse"),
    ],
)
def test_what_is_asked_for_comes_first(store: Store, query: str, first: str) -> None:
    assert ids(store, query)[:1] == [first]


def test_a_pasted_page_is_asked_by_its_beginning(store: Store) -> None:
    paste = "The lighthouse on the island; the ferry leaves with grandmother. " + "Lorem ipsum dolor sit. " * 2_500
    assert len(paste) > 50_000
    assert ids(store, paste)[0] == "user/lighthouse"


@pytest.mark.parametrize(
    "unit",
    [
        "x ",
        '"',
        "🚀",
        "a.b/",
        *(pytest.param(unit, marks=pytest.mark.slow) for unit in ("x", "\0", "(", "悬", "1.2.", "C++", "\n")),
    ],
)
def test_fifty_kilobytes_of_anything_raise_nothing(store: Store, unit: str) -> None:
    answer = store.recall((unit * 50_000)[:50_000])
    assert bool(answer.hits) != bool(answer.empty_because)


@pytest.mark.parametrize("query", ["", "   ", "\n\t", "\0"])
def test_nothing_asked_is_nothing_found(store: Store, query: str) -> None:
    answer = store.recall(query)
    assert (answer.hits, answer.empty_because) == ([], "empty_query")


@pytest.mark.parametrize("query", [*"*\"(#$…⁂'\ud800", "--", "?!", "AND", "''", "%%", "^a^"])
def test_signs_and_operators_raise_nothing(store: Store, query: str) -> None:
    answer = store.recall(query)
    assert answer.hits or answer.empty_because


def test_only_stopwords_still_ask_for_themselves(store: Store) -> None:
    assert "reference/operators" in ids(store, "NOT AND")
    assert "user/lighthouse" in ids(store, "with the at on nine")


@pytest.mark.parametrize("query", ["quantum lattice", "recipe for apple strudel", "ξενοδοχείο", "冷蔵庫"])
def test_a_question_about_nothing_here_has_no_answer(store: Store, query: str) -> None:
    answer = store.recall(query)
    assert answer.hits == []
    assert answer.empty_because == ("below_floor" if answer.arms["vector"].state == "on" else "arm_off")
    assert answer.empty_message


def test_one_word_of_many_is_no_answer_and_two_are(stores: dict[str, Store]) -> None:
    store = stores["keywords"]
    assert ids(store, "train from the island to Prague") == []
    assert ids(store, "the island of Prague") == ["user/lighthouse"]
    assert ids(store, "ferry from the island to Prague by bus") == ["user/lighthouse"]


def test_a_word_that_most_memories_have_still_counts_in_a_small_store(tmp_path: Path) -> None:
    root = tmp_path / "small"
    write_files(root, {f"project/{name}.md": f"The deploy bot of {name}.\n" for name in ("red", "blue", "green")})
    with Store.init(root, embedder=Embedder(enabled=False)) as store:
        assert len(store.recall("why is the deploy bot not replying").hits) == 3


def test_all_words_come_before_any_word(tmp_path: Path) -> None:
    root = tmp_path / "words"
    (root / "project").mkdir(parents=True)
    (root / "project" / "one.md").write_text("kettle kettle kettle kettle kettle kettle", encoding="utf-8")
    (root / "project" / "both.md").write_text(
        "The kettle, which is red and stands in the kitchen of the old house by the sea, whistles.", encoding="utf-8"
    )
    with Store.init(root, embedder=Embedder(enabled=False)) as store:
        hits = store.recall("kettle whistles").hits
        assert [(hit.id, hit.arms["keyword"].rank) for hit in hits] == [("project/both", 1), ("project/one", 2)]


def test_nearly_equal_texts_are_both_kept(store: Store) -> None:
    found = {hit.id for hit in store.recall("thanks").hits if "keyword" in hit.arms}
    assert found == {"episode/thanks-a", "episode/thanks-b"}


def test_each_hit_says_by_which_arms_it_was_found(stores: dict[str, Store]) -> None:
    answer = stores["model"].recall("deploy bot")
    hit = answer.hits[0]
    assert {name: found.rank for name, found in hit.arms.items()} == {"vector": 1, "keyword": 1}
    assert hit.arms["keyword"].share == 1.0
    assert hit.fused == hit.score > 0.5
    assert [hop.node for hop in hit.path] == ["project/deploy-bot"]
    assert answer.arms["vector"].state == answer.arms["keyword"].state == "on"
    assert answer.arms["entity"].state == "on"


@pytest.mark.parametrize(("asked", "off"), [(("keyword",), "vector"), (("vector",), "keyword")])
def test_one_arm_alone(stores: dict[str, Store], asked: tuple[str, ...], off: str) -> None:
    answer = stores["model"].recall("deploy bot", arms=asked)
    assert answer.hits[0].id == "project/deploy-bot"
    assert (answer.arms[off].state, answer.arms[off].reason) == ("off", "not asked for")
    assert off not in answer.hits[0].arms


@settings(max_examples=60, deadline=None)
@given(query=st.text(max_size=40))
def test_no_text_raises(stores: dict[str, Store], query: str) -> None:
    for store in stores.values():
        answer = store.recall(query, sync_first=False)
        assert bool(answer.hits) != bool(answer.empty_because)
        assert store.recall_sql(query)


def test_a_frequent_word_is_left_out_and_said_so(stores: dict[str, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memdb.services.recall.terms.POSTINGS", 3)
    answer = stores["keywords"].recall("thanks lighthouse server")
    assert answer.arms["keyword"].reason == "too frequent to search for: thank"
    assert {hit.id for hit in answer.hits} == {"user/lighthouse", "reference/ligature"}
