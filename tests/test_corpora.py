"""Real folders, as people and agents have them: every file is indexed or listed, and not a byte of theirs changes."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from memdb.store import Store
from tests.fake_embedder import FakeEmbedder

CORPORA = Path(__file__).parents[2] / "shared" / "data" / "corpora"

pytestmark = [
    pytest.mark.corpora,
    pytest.mark.skipif(not CORPORA.is_dir(), reason="the reference corpora are not beside the repository"),
]


def checksums(root: Path) -> dict[str, str]:
    """The sha256 of every file outside `.memdb`."""
    return {
        file.relative_to(root).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(root.rglob("*"))
        if file.is_file() and ".memdb" not in file.relative_to(root).parts
    }


@pytest.mark.parametrize("name", [
    pytest.param("memories-a", marks=pytest.mark.slow),
    "memories-b",
    pytest.param("runbooks", marks=pytest.mark.slow),
    pytest.param("wikilinks", marks=pytest.mark.slow),
])  # fmt: skip
def test_a_real_folder_is_indexed_whole_and_left_alone(name: str, tmp_path: Path) -> None:
    root = tmp_path / name
    shutil.copytree(CORPORA / name, root, copy_function=shutil.copyfile)
    before = checksums(root)
    with Store.init(root, embedder=FakeEmbedder()) as store:
        first = store.sync()
        indexed = {memory.file for memory in store.list()}
        accounted = indexed | {problem.path for problem in first.problems} | {path for path, _ in first.ignored}
        assert set(before) - accounted == set()
        assert {path for path in before if path.endswith(".md")} - indexed == set()
        assert first.added == len(indexed)
        assert first.pending == 0
        second = store.sync()
        assert (second.added, second.changed, second.embedded) == (0, 0, 0)
        live = store.digest()
        assert [finding for finding in store.doctor() if finding.state == "error"] == []
    assert checksums(root) == before
    for part in ("", "-wal", "-shm"):
        (root / ".memdb" / f"memory.db{part}").unlink(missing_ok=True)
    with Store.init(root, embedder=FakeEmbedder()) as store:
        again = store.digest()
    assert (again.digest, again.vectors) == (live.digest, live.vectors)
