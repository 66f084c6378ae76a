"""The figures of a store."""

from __future__ import annotations

from pathlib import Path

from memdb.base.embedding import Embedder
from memdb.store import Store
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder


def test_every_figure(tmp_path: Path) -> None:
    write_files(
        tmp_path / "root",
        {
            "user/tea.md": "---\ntags: [drinks, habits]\n---\nGreen tea. [[ferry]] [[gone]] [[alone]]\n",
            "project/ferry.md": "---\nsupersedes: alone\ntags: [drinks]\n---\nLeaves at nine.\n",
            "episode/alone.md": "word " * 100,
            "episode/broken.md": "---\ntitle: {{title}}\n---\n",
        },
    )
    with Store.init(tmp_path / "root", embedder=FakeEmbedder(window=64, dims=64)) as store:
        store.sync()
        write_files(store.place.root, {"user/tea.md": "---\ntags: [drinks]\n---\nBlack tea. [[ferry]] [[gone]]\n"})
        store.sync(embed=False)
        stats = store.stats()
    expected = {
        "memories": 4,
        "documents": 0,
        "chunks": 0,
        "entities": 1,  # one memory names another
        "tags": 1,
        "clusters": 0,
        "nodes": 6,
        "edges": 6,  # two has_tag, one links_to, one supersedes, one mentions, one about
        "links": 3,
        "unresolved_links": 1,
        "versions": 1,
        "vectors": 4,  # two windows of `alone`; `tea` waits
        "pending": 1,
        "dims": 64,
        "model": "fake/words@1",
    }
    assert {name: stats[name] for name in expected} == expected
    assert stats["problems"] >= 1
    assert stats["embedder"] == {"state": "ready", "model": "fake/words", "reason": None}
    assert stats["root"] == str(tmp_path / "root")
    assert stats["bytes"] > 0


def test_without_a_model(tmp_path: Path) -> None:
    with Store.init(tmp_path / "root", embedder=Embedder(enabled=False)) as store:
        stats = store.stats()
    assert (stats["memories"], stats["vectors"], stats["pending"], stats["dims"]) == (0, 0, 0, None)
    assert stats["embedder"]["state"] == "off"
    assert stats["embedder"]["reason"] == "Embeddings are switched off."
