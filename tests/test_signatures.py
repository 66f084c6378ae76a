"""The vector arm's candidates by bits: as good as comparing every vector, in any order, and gone with their text."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from memdb.services.index import signatures, vectors
from memdb.services.recall import arms, vector_arm
from memdb.store import Store
from tests.bench.synthetic import TOPICS, SyntheticEmbedder
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder

NEAREST, QUESTIONS = 10, 20


def filled(root: Path, texts: Sequence[str]) -> Store:
    """A store of passages alone: the vector arm asks for no more."""
    store = Store.init(root, embedder=SyntheticEmbedder())
    database, identity = store._context.database, "synthetic@1"
    blobs = [vectors.to_blob(store._context.embedder.vector(text)) for text in texts]  # type: ignore[attr-defined]
    with database.write() as connection:
        database.set_meta("model", identity)
        many = connection.executemany
        many("insert into node (id, kind, key, label) values (?, 'memory', ?, '')", list(enumerate(texts, 1)))
        vectors.put_vectors(connection, [(identity, *row) for row in zip(texts, blobs, strict=True)])
        many(
            "insert into passage (id, node_id, ordinal, start, stop, model, text_sha256)"
            " values (?1, ?1, 0, 0, 1, ?2, ?3)",
            [(at, identity, text) for at, text in enumerate(texts, 1)],
        )
        signed = [(at, signatures.signature(blob)) for at, blob in enumerate(blobs, 1)]
        many("insert into signature values (?, ?)", signed)
    return store


def clustered(count: int) -> list[str]:
    return [f"topic{number % TOPICS} {number}" for number in range(count)]


def nearest(store: Store, question: str, allowed: str | None = None) -> list[tuple[str, float]]:
    return [
        (key, similarity)
        for key, similarity, _ in vector_arm.nearest_to(store._context, question, allowed, arms.POOL)[1]
    ]


@pytest.mark.parametrize("count", [1_000, 10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_the_ten_nearest_are_found(tmp_path: Path, count: int) -> None:
    texts = clustered(count)
    found = 0
    with filled(tmp_path / "r", texts) as store:
        embedder = store._context.embedder
        matrix = np.stack([embedder.vector(text) for text in texts])  # type: ignore[attr-defined]
        for number in range(QUESTIONS):
            question = f"what of topic{number * 3} there"
            exact = np.argsort(-(matrix @ embedder.embed_query(question)))[:NEAREST]
            by_bits = {key for key, _ in nearest(store, question)[:NEAREST]}
            found += len(by_bits & {texts[place] for place in exact})
    assert found >= 0.99 * NEAREST * QUESTIONS


def test_no_order_of_insertion_decides_at_the_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_arm, "EXACT_PASSAGES", 10)
    texts = clustered(600)
    # At most distances there are several: some of them are cut.
    for candidates in (20, 21, 22, 23, 24):
        monkeypatch.setattr(vector_arm, "BIT_CANDIDATES", candidates)
        found = []
        for name, order in (("up", texts), ("down", texts[::-1])):
            with filled(tmp_path / f"{name}{candidates}", order) as store:
                found.append(nearest(store, "what of topic5 there"))
        assert found[0] == found[1] != []
        assert len(found[0]) < candidates


def test_a_filter_is_applied_before_the_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_arm, "EXACT_PASSAGES", 10)
    monkeypatch.setattr(vector_arm, "BIT_CANDIDATES", 20)
    with filled(tmp_path / "r", clustered(600)) as store:
        rows = store._context.database.rows("select id from node where key like 'topic7 %' order by id")
        allowed = [node for (node,) in rows]
        hits = nearest(store, "what of topic5 there", json.dumps(allowed[:8]))
        assert sorted(key for key, _ in hits) == sorted(f"topic7 {7 + 64 * number}" for number in range(8))


@pytest.mark.parametrize(
    ("vector", "bits"),
    [
        ([1.0, -1.0, 0.5, 0.0, -0.0, 1e-30, -1e-30, 2.0], "a5"),
        ([-1.0] * 8, "00"),
        ([1.0] * 8, "ff"),
        ([1.0] + [-1.0] * 15, "0100"),
        ([-1.0] * 15 + [1.0], "0080"),
    ],
)
def test_a_signature_is_what_the_extension_makes_of_a_vector(tmp_path: Path, vector: list[float], bits: str) -> None:
    blob = vectors.to_blob(np.array(vector, dtype=np.float32))
    assert signatures.signature(blob).hex() == bits
    with Store.init(tmp_path / "r", embedder=FakeEmbedder()) as store:
        assert store._context.database.value("select hex(vec_quantize_binary(?))", (blob,)).lower() == bits


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_files(tmp_path / "r", {f"user/{name}.md": f"The {name} is in the shed.\n" for name in ("rake", "hose")})
    with Store.init(tmp_path / "r", embedder=FakeEmbedder()) as store:
        assert store.sync().embedded == 2
    return tmp_path / "r"


def count(store: Store, table: str) -> int:
    return int(store._context.database.value(f"select count(*) from {table}"))


def test_any_sqlite_deletes_a_signature_with_its_passage(root: Path) -> None:
    with closing(sqlite3.connect(root / ".memdb" / "memory.db")) as connection:
        connection.execute("pragma foreign_keys = on")
        connection.execute("delete from node where key = 'user/rake'")
        assert connection.execute("select count(*) from signature").fetchall() == [(1,)]


@pytest.mark.parametrize("has_extension", [True, False])
def test_a_store_of_an_earlier_memdb_gets_its_signatures(
    root: Path, monkeypatch: pytest.MonkeyPatch, has_extension: bool
) -> None:
    with Store.init(root, embedder=FakeEmbedder()) as store:
        database = store._context.database
        live = store.digest()
        with database.write() as connection:
            connection.execute("drop table signature")
            connection.execute("drop table vec_waiting")
            connection.execute("delete from migration where name = '0006_signatures'")
            connection.execute("delete from vec_passage where passage_id = 1")
    with monkeypatch.context() as patch:
        if not has_extension:
            patch.setattr("memdb.base.storage.find_spec", lambda name: None)
        with Store.init(root, embedder=FakeEmbedder()) as store:
            store.sync()
            assert count(store, "signature") == count(store, "passage") == 2
            assert count(store, "vec_passage_rowids") == (2 if has_extension else 1)
            assert store.digest() == live
    with Store.init(root, embedder=FakeEmbedder()) as store:
        store.sync()
        assert count(store, "vec_passage_rowids") == 2
        assert store._context.database.meta("vec_stale") is None
        assert store.recall("where is the rake", arms=("vector",)).hits[0].id == "user/rake"


def test_the_virtual_table_has_the_same_bits(root: Path) -> None:
    with Store.init(root, embedder=FakeEmbedder()) as store:
        database = store._context.database

        def differences() -> list[tuple[object, ...]]:
            return database.rows(
                "select * from (select passage_id, bits from signature union all select passage_id, signature"
                " from vec_passage) group by 1, 2 having count(*) <> 2"
            )

        store.sync()
        assert (count(store, "vec_passage_rowids"), differences()) == (2, [])
        store.save("user/rake", "The rake is in the cellar now.")
        store.sync()
        assert (count(store, "vec_passage_rowids"), differences()) == (2, [])
        [(passage, bits)] = database.rows("select passage_id, bits from signature order by passage_id limit 1")
        asked = "select passage_id from vec_passage where signature match vec_bit(?) and k = 1"
        assert database.rows(asked, (bits,)) == [(passage,)]
        store.forget("user/rake")
        assert (count(store, "vec_passage_rowids"), differences()) == (1, [])
        assert count(store, "vec_waiting") == 0
