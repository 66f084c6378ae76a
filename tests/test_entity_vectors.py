"""Vectors of what entities are called: which have one, that none is made twice, and what a question finds by them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memdb.base.embedding import Embedder
from memdb.base.models import BUNDLED, locate
from memdb.services.index import entity_vectors, vectors
from memdb.services.recall import arms
from memdb.store import Store
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder

MEANINGS = {"mama": "ottilie", "mum": "krahn"}

NOTES: dict[str, str | bytes] = {
    "episode/call.md": "The pump failed at noon, and Ottilie Krahn was called.\n",
    "episode/visit.md": "On Tuesday we met Ottilie Krahn at the gate, with a cake.\n",
    "project/keys.md": "Only Vera Lund has the keys. See deploy.sh for the rest.\n",
    "project/rest.md": "The script deploy.sh copies the garden plans.\n",
}


@pytest.fixture
def embedder() -> FakeEmbedder:
    return FakeEmbedder(meanings=MEANINGS)


@pytest.fixture
def store(tmp_path: Path, embedder: FakeEmbedder) -> Store:
    write_files(tmp_path / "root", NOTES)
    store = Store.init(tmp_path / "root", embedder=embedder)
    store.sync()
    return store


def names(store: Store) -> list[str]:
    """The names that have a vector."""
    return [
        name
        for (name,) in store._context.database.rows(
            "select name from entity_name join entity on entity.id = entity_id order by name"
        )
    ]


def found_by_entity(store: Store, question: str, **options: Any) -> dict[str, float]:
    hits = store.recall(question, hops=0, **options).hits
    return {hit.id: hit.arms["entity"].similarity for hit in hits if "entity" in hit.arms}


@pytest.mark.parametrize(
    ("name", "worth"),
    [
        ("Ottilie Krahn", True),
        ("PostgreSQL", True),
        ("C++", True),
        ("St. Maurice", True),
        ("O'Neil & Sons", True),
        ("Jean-Luc", True),
        ("Gdańsk", True),
        ("東京", True),
        ("pg_hba.conf", False),
        ("deploy.sh", False),
        ("--dry-run", False),
        ("heron.internal", False),
        ("src/main", False),
        ("A name of far too many words", False),
        ("", False),
    ],
)
def test_which_names_mean_something_to_a_model(name: str, worth: bool) -> None:
    assert entity_vectors.is_worth(name) is worth


@pytest.mark.parametrize(("floor", "name_floor"), [(0.18, 0.59), (0.45, 0.725), (0.0, None)])
def test_the_floor_lies_halfway_from_that_of_a_seed(floor: float, name_floor: float | None) -> None:
    assert entity_vectors.name_floor(floor) == name_floor


def test_names_in_which_texts_meet_are_embedded_after_the_texts(store: Store, embedder: FakeEmbedder) -> None:
    with store:
        assert names(store) == ["Ottilie Krahn"]
        assert len(embedder.read) == 5
        assert embedder.read[-1] == "Ottilie Krahn"


def test_no_name_is_embedded_twice(store: Store, embedder: FakeEmbedder) -> None:
    with store:
        embedder.read.clear()
        write_files(store.place.root, {"episode/again.md": "Ottilie Krahn came again.\n"})
        store.sync()
        assert [text for text in embedder.read if "\n" not in text] == []
        store.rebuild()
        assert len(embedder.read) == 1
        assert names(store) == ["Ottilie Krahn"]


def test_progress_counts_names(tmp_path: Path, embedder: FakeEmbedder) -> None:
    write_files(tmp_path / "root", NOTES)
    said: list[tuple[str, int, int]] = []
    with Store.init(tmp_path / "root", embedder=embedder) as store:
        report = store.sync(progress=lambda *step: said.append(step))
        assert (report.embedded, report.pending) == (4, 0)
    assert [step for step in said if step[0] == "embedding names"] == [("embedding names", 1, 1)]


def test_what_a_text_is_about_needs_no_vector_of_its_name(store: Store) -> None:
    with store:
        store.save("user/ottilie-krahn", "Lives by the harbour.", fields={"name": "Ottilie Krahn"})
        store.sync()
        assert names(store) == []


def test_a_rename_embeds_the_new_name(store: Store, embedder: FakeEmbedder) -> None:
    with store:
        embedder.read.clear()
        store.entities.rename("Ottilie Krahn", "Otti Berg")
        store.sync()
        assert (names(store), embedder.read) == (["Otti Berg"], ["Otti Berg"])
        assert store._context.database.value("select count(*) from entity_name") == 1


def test_a_question_that_names_nothing_finds_what_is_called_something_near(store: Store) -> None:
    with store:
        assert found_by_entity(store, "mama mum") == {"episode/call": 0.5, "episode/visit": 0.5}
        assert found_by_entity(store, "mama or mum today") == {"episode/call": 0.5, "episode/visit": 0.5}


def test_what_a_question_names_counts_alone(store: Store) -> None:
    with store:
        assert found_by_entity(store, "Ottilie Krahn") == {"episode/call": 1.0, "episode/visit": 1.0}
        assert set(found_by_entity(store, "deploy.sh, mama, mum")) == {"project/keys", "project/rest"}


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("mama mum", {"arms": ("keyword", "entity")}),
        ("mama mum", {"arms": ("entity",)}),
        ("mama went to the garden for an hour", {}),
    ],
)
def test_without_the_vector_arm_and_below_the_floor_nothing_is_near(
    store: Store, question: str, options: dict[str, Any]
) -> None:
    with store:
        assert found_by_entity(store, question, **options) == {}


def test_the_statement_can_be_run_by_hand(store: Store) -> None:
    with store:
        script = store.recall_sql("mama mum")
        assert script.count("-- Which ") == 4
        assert "from entity_name" in script
        assert "from entity_name" not in store.recall_sql("Ottilie Krahn")


def test_a_keyword_recall_embeds_nothing(tmp_path: Path, embedder: FakeEmbedder) -> None:
    write_files(tmp_path / "root", NOTES)
    with Store.init(tmp_path / "root", embedder=embedder) as store:
        store.recall("pump", arms=("keyword",))
        assert embedder.read == []


def test_a_pass_with_a_limit_embeds_no_more(tmp_path: Path, embedder: FakeEmbedder) -> None:
    two = "Ottilie Krahn and Vera Lund met Nils Aas.\n"
    write_files(tmp_path / "root", {"episode/a.md": two, "episode/b.md": f"Later, {two}"})
    with Store.init(tmp_path / "root", embedder=embedder) as store:
        store.sync(embed=False)
        for step, count in ((2, 0), (2, 2), (2, 3), (2, 3)):
            vectors.embed_pending(store._context, limit=step)
            assert len(names(store)) == count
        assert store._context.database.meta(entity_vectors.STALE) is None


def test_a_pass_with_a_limit_leaves_a_large_store(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with store:
        store._context.database.connection.execute("delete from entity_name")
        store._context.database.set_meta(entity_vectors.STALE, "1")
        monkeypatch.setattr(entity_vectors, "NAMES_LATER", 0)
        vectors.embed_pending(store._context, limit=10)
        assert names(store) == []
        vectors.embed_pending(store._context)
        assert names(store) == ["Ottilie Krahn"]


def test_in_a_large_store_only_those_have_a_vector_in_which_most_texts_meet(
    tmp_path: Path, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entity_vectors, "FEW_NAMES", 2)
    meeting = {"Ottilie Krahn": 4, "Vera Lund": 3, "Nils Aas": 3}
    notes: dict[str, str | bytes] = {
        f"episode/{name.split()[0].lower()}-{at}.md": f"On day {at} we met {name} there.\n"
        for name, texts in meeting.items()
        for at in range(texts)
    }
    write_files(tmp_path / "root", notes)
    with Store.init(tmp_path / "root", embedder=embedder) as store:
        store.sync()
        # Of the two with three texts each neither comes before the other.
        assert names(store) == ["Ottilie Krahn"]
        (store.place.root / "episode/nils-0.md").unlink()
        store.sync()
        assert names(store) == ["Ottilie Krahn", "Vera Lund"]
        live = store.digest()
        store.rebuild()
        assert store.digest() == live


def test_another_model_embeds_the_names_anew(store: Store) -> None:
    with store:
        store._context.set_embedder(FakeEmbedder("fake/words@2", meanings=MEANINGS))
        store.sync()
        assert names(store) == ["Ottilie Krahn"]
        assert store._context.database.value("select distinct model from entity_name") == "fake/words@2"


def test_a_forgotten_name_leaves_no_vector(store: Store) -> None:
    with store:
        for memory in ("episode/call", "episode/visit"):
            store.forget(memory)
        database = store._context.database
        assert names(store) == []
        assert database.value("select count(*) from embedding") == database.value("select count(*) from passage")


MakeStore = Callable[..., Store]

TRAINS: dict[str, str | bytes] = {
    "project/posters.md": "The printer needs the posters by Friday. Blue and white, on matte paper; Deutsche Bahn gets"
    " forty copies of the large size.\n",
    "reference/invoices.md": "Invoices go out on the first of the month. Deutsche Bahn pays after sixty days, everyone"
    " else after fourteen.\n",
    "project/garden.md": "Nine apple trees stand along the wall.\n",
    "user/coffee.md": "Two cups in the morning, none after noon.\n",
}


@pytest.mark.model
def test_a_question_that_is_answered_by_it(tmp_path: Path) -> None:
    if locate(BUNDLED) is None:
        pytest.skip("the bundled model is not installed")
    write_files(tmp_path / "root", TRAINS)
    with Store.init(tmp_path / "root", embedder=Embedder(BUNDLED)) as store:
        store.sync()
        question = "German railways"
        found = store.recall(question, arms=("vector", "entity"))
        by_entity = {hit.id for hit in found.hits if "entity" in hit.arms}
        assert by_entity == {"project/posters", "reference/invoices"}
        with_names = {hit.id: hit.score for hit in found.hits}
        store._context.database.connection.execute("delete from entity_name")
        without = {hit.id: hit.score for hit in store.recall(question, arms=("vector", "entity")).hits}
        assert all(with_names[memory] > without.get(memory, 0.0) for memory in by_entity)
        assert arms.NEAR_WEIGHT == 0.5
