"""What makes a recall fast changes no answer: signatures compared in memory, postings passed over, statements kept."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from memdb.base import kept, resources
from memdb.services.index import mirroring, seen_vectors, signatures, vectors
from memdb.services.recall import arms, postings, recall, seen_words, vector_arm
from memdb.services.recall.arms import Pool
from memdb.services.recall.recall import Filters
from memdb.store import Store
from tests.bench.synthetic import DIMS, SyntheticEmbedder, write_documents

QUESTIONS = 12


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    base = tmp_path_factory.mktemp("speed")
    questions = write_documents(base / "documents", 400, base / "r")
    with Store.init(base / "r", embedder=SyntheticEmbedder()) as store:
        store.add([base / "documents"])
    questions = questions[: QUESTIONS * 4 : 4]
    (base / "questions.json").write_text(json.dumps(questions), encoding="utf-8")
    return base / "r", questions


@pytest.fixture
def store(shelf: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(vector_arm, "EXACT_PASSAGES", 10)
    monkeypatch.setattr(vector_arm, "BIT_CANDIDATES", 60)
    with Store(Store.init(shelf[0]).place, SyntheticEmbedder()) as opened:
        yield opened


def pool(store: Store, question: str, **filters: Any) -> Pool:
    with store._context.database.read():
        return arms.find(store._context, question, Filters(**filters), ("vector", "keyword", "entity"))


def held(store: Store) -> signatures.Block | None:
    with store._context.database.read():
        return signatures.block(store._context.database)


def nearest(block: signatures.Block, blob: bytes) -> list[int]:
    found = block.nearest(blob, 60, 60)
    return [] if found is None else found.tolist()


def by_sql(store: Store, blob: bytes, count: int) -> list[int]:
    """The same candidates as SQLite gives them, each distance whole."""
    rows = store._context.database.rows(
        "select passage_id, vec_distance_hamming(vec_bit(bits), vec_quantize_binary(?)) from signature order by 2",
        (blob,),
    )
    return sorted(passage for passage, distance in rows if distance < rows[count - 1][1])


def test_the_block_gives_the_candidates_that_sqlite_gives(store: Store) -> None:
    block = held(store)
    assert block is not None
    assert block.bits.shape == (DIMS // 64, 401)
    for number in range(QUESTIONS):
        blob = vectors.to_blob(SyntheticEmbedder().vector(f"what of topic{number}"))
        assert nearest(block, blob) == by_sql(store, blob, 60) != []


def test_the_block_follows_every_write(store: Store, shelf: tuple[Path, list[str]]) -> None:
    database = store._context.database
    blob = vectors.to_blob(SyntheticEmbedder().vector("what of topic3"))
    first = held(store)
    assert first is held(store)
    first_of_all = by_sql(store, blob, 60)[0]
    with database.write() as connection:
        connection.execute("delete from signature where passage_id = ?", (first_of_all,))
        connection.execute("update signature set bits = zeroblob(48) where passage_id = ?", (first_of_all + 1,))
        connection.execute("insert or ignore into vec_waiting values (?)", (first_of_all + 1,))
    second = held(store)
    assert second is not None
    assert second is not first
    assert sorted(second.passages) == [one for (one,) in database.rows("select passage_id from signature order by 1")]
    assert nearest(second, blob) == by_sql(store, blob, 60)
    with apsw.Connection(str(database.path)) as other:
        other.execute("update signature set bits = (select bits from vec_waiting join signature using (passage_id))")
        other.execute("insert or ignore into vec_waiting select passage_id from signature")
    third = held(store)
    assert third is not None
    assert third.nearest(blob, 60, 60) is None  # all lie equally far: SQLite says which come
    with database.write() as connection:
        connection.execute("insert or replace into meta values ('vec_stale', '1')")
        connection.execute("delete from signature")
        connection.execute("delete from vec_waiting")
    assert held(store) is None  # the virtual table is behind and nothing says by what
    mirroring.repair(database)
    mirroring.mirror(database)
    again = held(store)
    assert again is not None
    assert nearest(again, blob) == by_sql(store, blob, 60)


@pytest.mark.parametrize(("exact", "few"), [(10, 0), (10_000, 0), (10, 10_000), (10_000, 10_000)])
def test_vectors_that_were_seen_change_no_answer(
    store: Store, shelf: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch, exact: int, few: int
) -> None:
    monkeypatch.setattr(seen_vectors, "FEW", few)
    monkeypatch.setattr(vector_arm, "EXACT_PASSAGES", exact)
    monkeypatch.setattr(vector_arm, "BIT_CANDIDATES", 60)
    monkeypatch.setattr(arms, "POOL", 11)
    compared: list[int] = []
    best = seen_vectors.best

    def watched(*given: Any) -> Any:
        compared.append(len(best(*given)))
        return best(*given)

    def asked() -> list[Any]:
        with store._context.database.read():
            return [vector_arm.nearest_to(store._context, question, None, arms.POOL)[1] for question in shelf[1]]

    monkeypatch.setattr(seen_vectors, "best", watched)
    ours = [asked(), asked()]
    assert max(compared[2:]) < 30
    store.save("user/newest", "topic3 and no more")
    store.sync()
    later = [asked(), asked()]
    monkeypatch.setattr(seen_vectors, "best", lambda _database, _block, _vector, passages, _count: passages)
    assert later == [asked(), asked()]
    monkeypatch.setattr(signatures, "block", lambda *_: None)
    assert later == [asked(), asked()]
    assert all(len(hits) == 11 for hits in [*ours[0], *later[0]])
    store.forget("user/newest")


def test_of_all_passages_the_nearest_are_found(store: Store) -> None:
    block = held(store)
    assert block is not None
    vector = SyntheticEmbedder().vector("what of topic3")
    with store._context.database.read():
        found = [
            seen_vectors.best(store._context.database, block, vector, block.passages, 11).tolist() for _ in range(2)
        ]
        nearest_ = store._context.database.rows(
            "select passage.id from passage join embedding using (text_sha256)"
            " order by vec_distance_cosine(vector, ?) limit 11",
            (vectors.to_blob(vector),),
        )
    assert found[0] == block.passages.tolist()  # what is asked first is not compared
    assert {passage for (passage,) in nearest_} <= set(found[1])
    assert len(found[1]) < 30


@pytest.mark.parametrize("dims", [8, DIMS, 4_096])
def test_numbers_of_16_bits_keep_two_similarities_in_order_that_differ_by_the_margin(dims: int) -> None:
    rng = np.random.default_rng(5)
    made = rng.normal(size=(200, dims))
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    # All values lie half way between two numbers, and the question adds up what each is moved by: the worst there is.
    worst = (np.floor(made * seen_vectors.WHOLE) + 0.499) / seen_vectors.WHOLE
    question = np.full(dims, dims**-0.5, dtype=np.float32)
    kept_ = np.rint(worst * seen_vectors.WHOLE).astype(np.float32)
    moved = np.abs(np.einsum("ij,j->i", kept_, question) / seen_vectors.WHOLE - worst @ question.astype(float))
    assert moved.max() < seen_vectors.margin(dims) / 2
    assert moved.max() > seen_vectors.margin(dims) / 4


def test_the_walk_looks_up_what_the_arms_found_by_number(store: Store, shelf: tuple[Path, list[str]]) -> None:
    database = store._context.database
    found = pool(store, shelf[1][0])
    with database.read():
        name, values = recall._walk(database, found, limit=8, hops=2)
    by_key = dict(database.rows("select key, id from node"))
    assert json.loads(values["pool"]) == {str(by_key[key]): score for key, score in found.found.items()}
    # What an arm did not find, as a day's texts or the seeds of `memdb cascade`, is looked up by its key once.
    found.found |= {"reference/velkor-works": 0.25}
    assert "reference/velkor-works" not in found.rows
    with database.read():
        _, values = recall._walk(database, found, limit=8, hops=2)
    assert json.loads(values["pool"])[str(by_key["reference/velkor-works"])] == 0.25
    plan = database.rows("explain query plan " + resources.query(name), values)
    assert [row[-1] for row in plan if row[-1].startswith("SEARCH node USING") and "key=?" in row[-1]] == []


def test_a_write_takes_away_the_vectors_of_what_it_changed_alone(
    store: Store, shelf: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the number of a passage that is gone is given to another one."""
    monkeypatch.setattr(vector_arm, "EXACT_PASSAGES", 10_000)
    monkeypatch.setattr(arms, "POOL", 11)
    read: list[int] = []
    add = seen_vectors.Seen.add

    def watched(seen: seen_vectors.Seen, database: Any, at: Any) -> bool:
        read.append(len(at))
        return add(seen, database, at)

    monkeypatch.setattr(seen_vectors.Seen, "add", watched)
    database = store._context.database

    def asked() -> list[Any]:
        with database.read():
            return [vector_arm.nearest_to(store._context, question, None, arms.POOL)[1] for question in shelf[1][:3]]

    asked()
    assert read == [401]
    numbers = []
    for name in ("first", "second"):
        store.save(f"user/{name}", f"{shelf[1][0]} {name}")
        store.sync()
        numbers.append(database.value("select max(id) from passage"))
        ours = asked()
        assert any(key == f"user/{name}" for key, _, _ in ours[0])
        with monkeypatch.context() as without:
            without.setattr(seen_vectors, "best", lambda _database, _block, _vector, passages, _count: passages)
            assert ours == asked()
        store.forget(f"user/{name}")
    assert numbers[0] == numbers[1]
    assert read == [401, 1, 1]


def test_where_no_more_vectors_can_be_kept_they_are_read_anew(
    store: Store, shelf: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seen_vectors, "MOST", 90)  # a question has nearly 60 candidates
    monkeypatch.setattr(arms, "POOL", 11)
    database = store._context.database

    def asked() -> list[Any]:
        with database.read():
            return [vector_arm.nearest_to(store._context, question, None, arms.POOL)[1] for question in shelf[1]]

    ours = [asked(), asked()]
    assert 0 < len(seen_vectors._seen[database].free) < 90
    monkeypatch.setattr(seen_vectors, "best", lambda _database, _block, _vector, passages, _count: passages)
    assert ours == [asked(), asked()]


def test_by_two_bits_few_candidates_have_the_nearest() -> None:
    """A hundred by two bits, among half of all, have nearly all of the ten nearest; a hundred by one bit have half."""
    rng = np.random.default_rng(11)
    made = rng.normal(size=(4_000, DIMS)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    questions = rng.normal(size=(30, DIMS)).astype(np.float32)
    packed = [
        np.packbits(made > 0, axis=1, bitorder="little").tobytes(),
        b"".join(signatures.large([row.tobytes() for row in made], DIMS)),
    ]
    bits, large = (np.frombuffer(plane, dtype=np.uint64).reshape(len(made), -1).T.copy() for plane in packed)
    block = signatures.Block((0, 0), np.arange(len(made)), bits, large)
    found = {100: 0, 2_000: 0}
    for question in questions / np.linalg.norm(questions, axis=1, keepdims=True):
        exact = set(np.argsort(-(made @ question))[:10].tolist())
        for first in found:
            passages = block.nearest(question.tobytes(), first, 100)
            assert passages is not None
            assert len(passages) <= 100
            found[first] += len(exact & set(passages.tolist()))
    assert found[2_000] >= 0.97 * 300
    assert found[100] <= 0.6 * 300


def test_in_a_large_store_the_statement_has_the_candidates_by_two_bits(
    store: Store, shelf: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_arm, "FIRST_SHARE", 2)
    monkeypatch.setattr(vector_arm, "BIT_CANDIDATES", 30)
    database = store._context.database
    for question in shelf[1]:
        with database.read():
            values, hits, _ = vector_arm.nearest_to(store._context, question, None, arms.POOL)
            assert values is not None
            rows = database.rows(resources.query("recall_vector"), values)
        assert [(key, similarity, node) for key, similarity, node in rows] == hits
        assert 20 < len(json.loads(values["known"])) <= 30
    assert "union all\n    select value from json_each('[" in recall.recall_sql(store._context, shelf[1][0])


def test_an_estimate_is_the_product_with_what_two_bits_stand_for() -> None:
    rng = np.random.default_rng(12)
    made, question = rng.normal(size=(50, 128)).astype(np.float32), rng.normal(size=128).astype(np.float32)
    positive, large = made > 0, np.abs(made) > 1
    planes = [np.packbits(plane, axis=1, bitorder="little").view(np.uint64).T.copy() for plane in (positive, large)]
    stands_for = np.where(positive, 1, -1) * np.where(large, signatures.LARGE_MEAN, signatures.SMALL_MEAN)
    step = (question.max() - question.min()) / 15
    rounded = np.rint((question - question.min()) / step) * step + question.min()
    expected = stands_for @ rounded / np.linalg.norm(stands_for, axis=1)
    assert signatures.estimated(*planes, question) == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert np.isfinite(signatures.estimated(*planes, np.full(128, 0.25, dtype=np.float32))).all()


def test_the_virtual_table_of_an_earlier_memdb_is_made_anew(store: Store) -> None:
    database = store._context.database
    store.sync()
    before = held(store)
    assert before is not None
    with database.write() as connection:
        connection.execute("drop table vec_passage")
        connection.execute(
            f"create virtual table vec_passage using vec0 (passage_id integer primary key, signature bit[{DIMS}])"
        )
        connection.execute("insert into vec_passage select passage_id, vec_bit(bits) from signature")
    assert held(store) is None
    store.sync()
    after = held(store)
    assert after is not None
    assert (before.bits == after.bits).all()
    assert (before.large == after.large).all()
    assert after.large.any()


def test_without_the_extension_there_is_no_block(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store._context.database, "vector_reason", "it is not there")
    assert held(store) is None


@pytest.mark.parametrize("columns", [1, 5, 64])
def test_bits_are_counted_by_numpy_1_as_by_numpy_2(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    words = rng.integers(0, 2**63, size=(6, columns), dtype=np.uint64)
    other = rng.integers(0, 2**63, size=6, dtype=np.uint64)
    expected = [sum(int(one ^ word).bit_count() for one, word in zip(column, other, strict=True)) for column in words.T]
    assert signatures.hamming(words, other).tolist() == expected
    monkeypatch.setattr(signatures, "PART", 2)
    assert signatures.hamming(words, other).tolist() == expected
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    assert signatures.hamming(words, other).tolist() == expected


def texts_told(found: str) -> int:
    """How many texts the postings are of that the fusion looks at."""
    return len({int(one) // postings.PLACES for one in json.loads(found)})


@pytest.mark.parametrize("filters", [{}, {"kinds": ("chunk",)}, {"as_of": "2020-01-01"}])
@pytest.mark.parametrize(("limit", "few_texts"), [(200, 0), (7, 2_000), (2, 0)])
def test_postings_that_are_passed_over_change_no_answer(
    store: Store, monkeypatch: pytest.MonkeyPatch, filters: dict[str, Any], limit: int, few_texts: int
) -> None:
    """Also where many more texts could be candidates than are taken."""
    asked = json.loads((store.place.root.parent / "questions.json").read_text(encoding="utf-8"))
    questions = [
        *asked,
        "what of the Velkor Works",
        "topic3",
        "topic3 topic4",
        "topic3 topic4 topic5",
        "mi",
        "kaka loka",
        "",
    ]
    # Each has a third of the words, and is an answer where another text, with less BM25, is near.
    questions += [f"topic{number} topic{number + 1} topic{number + 2}" for number in range(QUESTIONS)]
    told: list[str] = []
    telling = postings.telling

    def watched(*given: Any) -> str:
        told.append(telling(*given))
        return told[-1]

    monkeypatch.setattr(arms, "POOL", limit)
    monkeypatch.setattr(postings, "FEW_TEXTS", few_texts)
    monkeypatch.setattr(postings, "telling", watched)
    ours = [pool(store, question, **filters).rows for question in questions]
    assert len(told) >= QUESTIONS
    if limit == 7 and not filters:
        assert max(map(texts_told, told)) < 60
    monkeypatch.setattr(postings, "pays", lambda _: False)
    monkeypatch.setattr(signatures, "block", lambda *_: None)
    assert [pool(store, question, **filters).rows for question in questions] == ours
    assert any(ours)


def test_what_was_read_of_words_is_read_anew_after_a_write(store: Store) -> None:
    database = store._context.database
    text = "select node.id from node join memory using (id) where key = ?"

    def read() -> tuple[dict[str, int], list[int], list[float], tuple[int, int], Any]:
        with database.read():
            counts = seen_words.frequencies(database, ["topic3", "velkor", "zzz"])
            velkor = postings.read(database, ["zzz", "velkor", "topic3"])
            assert velkor.frequencies() == counts
            texts = velkor.texts[velkor.places == 1]
            lengths = seen_words.lengths(database, texts).tolist()
            seen = kept.value(database, "select count(*) from fts_length")
            return counts, texts.tolist(), lengths, seen_words.totals(database), seen

    first = read()
    assert first == read()
    assert first[0]["velkor"] == len(first[1]) > 150
    assert first[0]["zzz"] == 0
    assert first[3][0] == first[4]
    store.save("user/newest", "zzz at Velkor")
    counts, texts, lengths, totals, seen = read()
    newest = database.value(text, ("user/newest",))
    assert counts == first[0] | {"velkor": first[0]["velkor"] + 1, "zzz": 1}
    assert (texts, lengths[-1] > 0) == ([*first[1], newest], True)
    assert totals == (first[3][0] + 1, first[3][1] + lengths[-1])
    assert seen == first[4] + 1
    # Another process writes: only the next transaction tells.
    with apsw.Connection(str(database.path)) as other:
        other.execute("update fts_length set words = words + 1 where node_id = ?", (newest,))
    assert read()[2] == [*lengths[:-1], lengths[-1] + 1]
    with apsw.Connection(str(database.path)) as other:
        other.execute("update fts_length set words = words - 1 where node_id = ?", (newest,))
    store.forget("user/newest")
    assert read() == first


def test_a_word_in_several_fields_counts_as_often_as_they_weigh(store: Store) -> None:
    store.save("user/velkor-notes", "velkor and velkor", description="Velkor")
    database = store._context.database
    with database.read():
        read = postings.read(database, ["velkor", "zzz", "and"])
    newest = database.value("select id from node where key = 'user/velkor-notes'")
    assert read.often[(read.texts == newest) & (read.places == 0)].tolist() == [2 * 1.0 + 3.0 + 2.0]
    assert read.frequencies()["zzz"] == 0
    store.forget("user/velkor-notes")


def test_of_many_postings_those_asked_for_last_are_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    database = store._context.database
    texts = [len(one[0]) for one in seen_words.postings(database, ["topic1", "topic2", "topic3"])]
    monkeypatch.setattr(seen_words, "MOST_POSTINGS", sum(texts) + 1)
    seen_words.postings(database, ["topic1"])
    assert list(seen_words._seen.of(database).postings) == ["topic2", "topic3", "topic1"]
    seen_words.postings(database, ["topic4"])
    assert list(seen_words._seen.of(database).postings)[-2:] == ["topic1", "topic4"]
    kept_ = seen_words._seen.of(database)
    assert kept_.postings_kept == sum(len(one[0]) for one in kept_.postings.values()) <= sum(texts) + 1
    monkeypatch.setattr(seen_words, "MOST_POSTINGS", 0)
    assert [len(one[0]) for one in seen_words.postings(database, ["topic3", "topic2"])] == [texts[2], texts[1]]
    assert list(kept_.postings) == ["topic3", "topic2"]


def test_where_numpy_is_not_loaded_sqlite_looks_through_few_postings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert postings.pays(1)
    monkeypatch.delitem(sys.modules, "numpy")
    assert not postings.pays(postings.FEW_POSTINGS)
    assert postings.pays(postings.FEW_POSTINGS + 1)


def test_other_questions_prepare_no_statement_anew(store: Store, shelf: tuple[Path, list[str]]) -> None:
    for question in shelf[1][:2]:
        store.recall(question, sync_first=False)
    anew: list[str] = []

    def look(event: dict[str, Any]) -> None:
        if event["stmt_status"]["SQLITE_STMTSTATUS_REPREPARE"]:
            anew.append(event["sql"])

    connection = store._context.database.connection
    connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, look)
    for question in shelf[1]:
        store.recall(question, sync_first=False)
    connection.trace_v2(0)
    assert anew == []
