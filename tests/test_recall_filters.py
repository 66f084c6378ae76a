"""Filters work inside the arms: what few memories pass is found among thousands that do not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memdb.base.files import Found
from memdb.errors import UsageError
from memdb.services.files import sync
from memdb.services.index import indexing, vectors
from memdb.services.recall.recall import Filters
from memdb.store import Store
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder

MANY = 5_000
"""More than are compared exactly, and than sqlite-vec gives at once (4,096)."""

RARE = {
    "ritual/harvest.md": "---\ntags: [Rare]\nhappened_at: 2024-03-05\n---\nThe garden report for number 7 is due.\n",
    "project/old.md": "---\ntags: [rare, second]\ncreated: 2023-11-30\nvalid_to: 2024-01-31\n---\n"
    "A garden report for number 8.\n",
    "project/deep/nested.md": "---\nvalid_from: 2024-05-10\nmodified: 2024-05\n---\nGarden report number nine.\n",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        made = Store.init(tmp_path_factory.mktemp("many"), embedder=FakeEmbedder(dims=256))
        files = {f"project/note-{at:04}.md": f"The garden report for number {at}." for at in range(MANY)} | RARE
        readings = [sync.reading_of(Found(path, 0, 1, 1, path), text.encode()) for path, text in files.items()]
        with made._context.database.write():
            indexing.apply(made._context.database, readings, [], {})
        vectors.embed_pending(made._context)
        yield made
        made.close()


def ids(store: Store, filters: Filters | None, **options: object) -> list[str]:
    answer = store.recall("garden report for number 7", filters=filters, sync_first=False, **options)  # type: ignore[arg-type]
    return sorted(hit.id for hit in answer.hits)


HARVEST, OLD, NESTED = "ritual/harvest", "project/old", "project/deep/nested"


@pytest.mark.parametrize("arms", [("vector",), ("keyword",), ("vector", "keyword")], ids="+".join)
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(types=("ritual",)), [HARVEST]),
        (Filters(types=("ritual", "episode")), [HARVEST]),
        (Filters(tags=("rare",)), [OLD, HARVEST]),
        (Filters(tags=("#RARE",)), [OLD, HARVEST]),
        (Filters(tags=("rare", "second")), [OLD]),
        (Filters(path="project/deep/*"), [NESTED]),
        (Filters(path="ritual/*.md"), [HARVEST]),
        (Filters(since="2024-01-01"), [NESTED, HARVEST]),
        (Filters(since="2024", until="2024-03"), [HARVEST]),
        (Filters(until="2023"), [OLD]),
        (Filters(since="2024-05"), [NESTED]),
        (Filters(tags=("rare",), types=("project",), as_of="2024-01"), [OLD]),
        (Filters(tags=("rare",), as_of="2024-02"), [HARVEST]),
        (Filters(path="project/deep/*", as_of="2024-05-09"), []),
        (Filters(path="project/deep/*", as_of="2024-05"), [NESTED]),
        (Filters(types=("nothing",)), []),
    ],
    ids=str,
)
def test_what_few_memories_pass_is_found(
    store: Store, filters: Filters, expected: list[str], arms: tuple[str, ...]
) -> None:
    assert ids(store, filters, arms=arms) == expected


def test_a_filter_holds_for_what_the_walk_reaches_too(store: Store) -> None:
    # Both have the tag `rare`; the filter lets one through.
    assert ids(store, Filters(types=("ritual",)), hops=3) == [HARVEST]


def test_the_best_are_the_same_as_by_comparing_every_vector(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def best() -> list[str]:
        hits = store.recall("number 4321", arms=("vector",), sync_first=False, hops=0).hits
        return [hit.id for hit in hits]

    by_bits = best()
    assert by_bits[0] == "project/note-4321"
    wanted = store._context.embedder.embed_query("number 4321")
    rows = store._context.database.rows(
        "select node.key, vector from passage join embedding_model using (model)"
        " join embedding using (model_id, text_sha256) join node on node.id = node_id"
    )
    exact = sorted((-round(float(vectors.from_blob(blob) @ wanted), 6), key) for key, blob in rows)
    assert by_bits[:1] == [key for _, key in exact[:1]]


@pytest.mark.parametrize(
    "filters",
    [Filters(until="2024-1-1"), Filters(as_of="5.3.2024"), Filters(since="2024-03-05T10:00")],
)
def test_a_date_that_is_none_is_refused(store: Store, filters: Filters) -> None:
    with pytest.raises(UsageError):
        store.recall("garden", filters=filters)


@pytest.mark.parametrize(("limit", "hops"), [(0, 2), (-1, 2), (5, -1)])
def test_a_senseless_limit_is_refused(store: Store, limit: int, hops: int) -> None:
    with pytest.raises(UsageError):
        store.recall("garden", limit=limit, hops=hops, sync_first=False)


def test_a_thousand_equal_texts_do_not_hide_one_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memdb.services.recall.vector_arm.EXACT_PASSAGES", 10)
    monkeypatch.setattr("memdb.services.recall.vector_arm.BIT_CANDIDATES", 8)
    with Store.init(tmp_path / "equal", embedder=FakeEmbedder()) as store:
        write_files(store.place.root, {f"episode/{at:02}/thanks.md": "Thanks!\n" for at in range(20)})
        store.sync()
        assert len(store.recall("thanks", arms=("vector",)).hits) == 8


def test_the_limit_counts_answers(store: Store) -> None:
    for limit in (1, 8, 30):
        assert len(store.recall("garden report", limit=limit, sync_first=False).hits) == limit
