"""Which texts the model reads: a whole one while it fits, else windows that begin with the name."""

from __future__ import annotations

from pathlib import Path

import pytest

from memdb.store import Store
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder

NAME, WINDOW = "one two three", 16


@pytest.mark.parametrize(("words", "texts"), [(1, 1), (12, 1), (13, 1), (14, 2), (30, 3)])
def test_a_text_is_cut_only_when_the_model_cannot_read_it_whole(tmp_path: Path, words: int, texts: int) -> None:
    body = " ".join(f"word{number}" for number in range(words))
    write_files(tmp_path, {f"user/{NAME}.md": body})
    embedder = FakeEmbedder(window=WINDOW)
    with Store.init(tmp_path, embedder=embedder) as store:
        store.sync()
    assert len(embedder.read) == texts
    assert all(text.startswith(f"{NAME}\n") and embedder.count_tokens(text) <= WINDOW for text in embedder.read)
