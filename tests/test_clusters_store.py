"""Clusters in the store: they connect what shares no tag, keep their identity, and change only with the vectors."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from memdb.domain import clusters
from memdb.services.index import clustering
from memdb.store import Store
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder

TOPICS = {
    "boats": ["ferry", "ship", "harbour", "anchor", "sail"],
    "drinks": ["tea", "coffee", "cup", "kettle", "cocoa"],
    "tools": ["rake", "spade", "ladder", "hammer", "saw"],
}
MEANINGS = {word: topic for topic, words in TOPICS.items() for word in words}
FILES: dict[str, str | bytes] = {
    f"user/{word}.md": f"{word} {topic} {word} {topic}\n" for topic, words in TOPICS.items() for word in words
}


def make(root: Path, files: dict[str, str | bytes] | None = None) -> Store:
    write_files(root, FILES if files is None else files)
    store = Store.init(root, embedder=FakeEmbedder(meanings=MEANINGS))
    store.sync()
    return store


def members(store: Store) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for cluster, memory in store._context.database.rows("select cluster, memory from clusters"):
        found.setdefault(cluster, set()).add(memory)
    return found


def labels(store: Store) -> dict[str, str]:
    return dict(store._context.database.rows("select cluster, label from clusters"))


def journal_records(store: Store) -> list[dict[str, object]]:
    lines = [line for file in store.place.journal.glob("*.jsonl") for line in file.read_text("utf-8").splitlines()]
    return [record for record in map(json.loads, lines) if record["kind"] == "clusters"]


def test_related_memories_without_a_tag_lie_together(tmp_path: Path) -> None:
    with make(tmp_path / "a") as store:
        assert sorted(map(sorted, members(store).values())) == sorted(
            sorted(f"user/{word}" for word in words) for words in TOPICS.values()
        )
        assert sorted(labels(store).values())[0].startswith("boats")
        assert store.show("user/ferry").cluster in members(store)
        assert store.stats()["clusters"] == 3


def test_a_cluster_relays(tmp_path: Path) -> None:
    with make(tmp_path / "a") as store:
        answer = store.cascade({"user/ferry": 1.0})
        assert [hit.id for hit in answer.hits] == [
            "user/ferry",
            "user/anchor",
            "user/harbour",
            "user/sail",
            "user/ship",
        ]
        assert {hit.score for hit in answer.hits[1:]} == {0.1764}  # (0.6 x 0.7)²
        assert [hop.edge for hop in answer.hits[1].path] == [None, "in_cluster", "in_cluster"]
        assert answer.hits[1].path[1].node.startswith("cluster:c-")


def test_one_more_memory_leaves_every_key_as_it_was(tmp_path: Path) -> None:
    with make(tmp_path / "a", dict(list(FILES.items())[:14])) as store:
        before = members(store)
        write_files(store.place.root, {"user/barge.md": "ferry boats barge boats\n"})
        store.sync()
        after = members(store)
        assert after.keys() == before.keys()
        assert sum(len(now - before[key]) for key, now in after.items()) == 1
        assert sum(len(was - after[key]) for key, was in before.items()) == 0


def test_the_database_can_go_and_the_keys_come_back(tmp_path: Path) -> None:
    with make(tmp_path / "a", dict(list(FILES.items())[:8])) as store:
        # A history, so that the keys are not those that the present files would be given.
        for path, text in list(FILES.items())[8:]:
            write_files(store.place.root, {path: text})
            store.sync()
        for path in ("user/ferry.md", "user/kettle.md"):
            (store.place.root / path).unlink()
            store.sync()
        before, told = members(store), labels(store)
        database = store.place.database
    database.unlink()
    with make(tmp_path / "a", {}) as store:
        assert (members(store), labels(store)) == (before, told)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_insertion_says_nothing(tmp_path: Path, seed: int) -> None:
    order = list(FILES.items())
    random.Random(seed).shuffle(order)
    with make(tmp_path / "a") as first, make(tmp_path / "b", dict(order[:1])) as second:
        for path, text in order[1:]:
            write_files(second.place.root, {path: text})
            second.sync(embed=False)
        second.sync()
        assert members(first) == members(second)
        assert labels(first) == labels(second)


def test_the_journal_has_few_records(tmp_path: Path) -> None:
    with make(tmp_path / "a") as store:
        assert len(journal_records(store)) == 1
        for _ in range(3):
            store.sync()
        store.recall("ferry")
        assert len(journal_records(store)) == 1
        write_files(store.place.root, {"user/ferry.md": "---\ntags: [t]\n---\nferry boats ferry boats\n"})
        store.sync()
        assert len(journal_records(store)) == 1


def test_nothing_is_computed_where_no_vector_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with make(tmp_path / "a") as store:
        computed = []
        monkeypatch.setattr(clusters, "compute", lambda *a, **k: computed.append(a) or [])
        assert clustering.refresh(store._context) is False
        write_files(store.place.root, {"user/ferry.md": "---\ntags: [t]\n---\nferry boats ferry boats\n"})
        store.sync()
        # The vectors were touched and are the same: the fingerprint says so.
        store._context.database.set_meta("clusters_stale", "1")
        clustering.refresh(store._context)
        assert computed == []


def test_an_edge_that_stays_keeps_its_row(tmp_path: Path) -> None:
    with make(tmp_path / "a", dict(list(FILES.items())[:14])) as store:
        rows = "select id, src, dst from edge where kind = 'in_cluster'"
        before = set(store._context.database.rows(rows))
        write_files(store.place.root, {"user/barge.md": "ferry boats barge boats\n"})
        store.sync()
        assert before < set(store._context.database.rows(rows))


def test_a_cluster_of_which_too_little_is_left_goes(tmp_path: Path) -> None:
    with make(tmp_path / "a") as store:
        for path in list(FILES)[:12]:
            (store.place.root / path).unlink()
        store.sync(yes=True)
        assert members(store) == {}
        assert store.stats()["clusters"] == 0
        assert store._context.database.value("select count(*) from node where kind = 'cluster'") == 0


def test_few_memories_have_no_clusters(tmp_path: Path) -> None:
    with make(tmp_path / "a", dict(list(FILES.items())[:5])) as store:
        assert members(store) == {}
        assert journal_records(store) == []
