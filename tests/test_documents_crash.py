"""Folders of documents under several processes, under processes that are killed, and in large numbers."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memdb.store import Store
from tests.conftest import write_files
from tests.document_support import Shelf
from tests.histories import differing

REPOSITORY = Path(__file__).parents[1]

ADD = (
    "import sys; from memdb.store import Store; from tests.fake_embedder import FakeEmbedder\n"
    "with Store.init(sys.argv[1], embedder=FakeEmbedder()) as store:\n"
    "    report = store.add([sys.argv[2]])\n"
    "    assert report.documents.failed == [], report.documents.failed\n"
)


def folder(number: int) -> dict[str, str | bytes]:
    return {
        f"part-{at % 7}/note-{at}.md": f"# Note {at}\n\nLantern {at} hangs in hall {at % 13}.\n\n"
        f"## More\n\nIt was lit by warden {at * 7 % 31}.\n"
        for at in range(number)
    }


def adding(root: Path, docs: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", ADD, str(root), str(docs)], cwd=REPOSITORY)


def test_two_processes_add_the_same_folder_at_once(tmp_path: Path) -> None:
    write_files(tmp_path / "docs", folder(60))
    processes = [adding(tmp_path / "root", tmp_path / "docs") for _ in range(2)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    shelf = Shelf(tmp_path)
    shelf.store.sync()
    assert shelf.rows("select count(*) from document") == [(60,)]
    assert shelf.rows("select count(*) from chunk") == [(120,)]
    shelf.assert_rebuilds()


@pytest.mark.slow
def test_a_folder_ingest_that_is_killed_at_any_moment_goes_on(tmp_path: Path) -> None:
    files = folder(250)
    write_files(tmp_path / "docs", files)
    undisturbed = Shelf(tmp_path)
    undisturbed.add()
    expected = undisturbed.store.digest()
    undisturbed.store.close()
    chance = random.Random(5)
    started = time.monotonic()
    assert adding(tmp_path / "whole", tmp_path / "docs").wait() == 0
    whole = time.monotonic() - started
    cut = round_ = 0
    while cut < 20:
        root = tmp_path / f"killed-{round_}"
        round_ += 1
        assert round_ < 100
        process = adding(root, tmp_path / "docs")
        time.sleep(chance.uniform(0.15, 1.0) * whole)
        if process.poll() is None:
            cut += 1
        else:
            whole *= 0.9  # the machine has less to do than when it was measured
        process.kill()
        process.wait()
        assert adding(root, tmp_path / "docs").wait() == 0
        shelf = Shelf.opened(tmp_path, root)
        assert [finding for finding in shelf.store.doctor() if finding.state == "error"] == []
        live = shelf.store.digest()
        assert differing(live, expected) == []
        shelf.store.close()


def test_the_work_for_a_file_does_not_grow_with_their_number(tmp_path: Path) -> None:
    """Counted in steps of SQLite's machine, which no other load on the computer changes."""
    steps = {}
    for number in (50, 400):
        where = tmp_path / str(number)
        shelf = Shelf(where, folder(number))
        shelf.store.sync()
        database = shelf.store._context.database
        counted = 0

        def count() -> bool:
            nonlocal counted
            counted += 1
            return False

        database.connection.set_progress_handler(count, 100)
        shelf.store.add([shelf.docs])
        database.connection.set_progress_handler(None)
        steps[number] = counted / number
        shelf.store.close()
    assert steps[400] < 2 * steps[50]


PEAK = (
    "import sys, tracemalloc; from pathlib import Path\n"
    "from tests.document_support import Shelf; from tests.test_documents_crash import folder\n"
    "Shelf(Path(sys.argv[1]) / 'warm', folder(20)).store.add([Path(sys.argv[1]) / 'warm' / 'docs'], embed=False)\n"
    "shelf = Shelf(Path(sys.argv[1]) / 'measured', folder(int(sys.argv[2])))\n"
    "tracemalloc.start()\n"
    "shelf.store.add([shelf.docs], embed=False)\n"
    "print(tracemalloc.get_traced_memory()[1])\n"
)


def peak_of_adding(where: Path, number: int) -> int:
    """Return the most bytes held while a folder is added, in a process of its own."""
    command = [sys.executable, "-c", PEAK, str(where), str(number)]
    return int(subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, timeout=300).stdout)


@pytest.mark.slow
def test_memory_stays_flat_over_a_large_folder(tmp_path: Path) -> None:
    peaks = {number: peak_of_adding(tmp_path / str(number), number) for number in (500, 2000)}
    # What is held of each file is its path, times and digest.
    assert peaks[2000] - peaks[500] < 1500 * 2000


def test_a_recall_reads_a_few_documents_and_says_what_it_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = Shelf(tmp_path, {"a.md": "The gate is green.\n"})
    shelf.add()
    shelf.put({"b.md": "The hut is red.\n"})
    answer = shelf.store.recall("red hut")
    assert (len(answer.hits), answer.notes) == (1, [])
    monkeypatch.setattr("memdb.opened.RECALL_READS", 1000)
    shelf.put({f"c{at}.md": f"The red hut {at}.\n\n" + "word " * 60 for at in range(9)})
    answer = shelf.store.recall("red hut")
    assert answer.notes == ["6 documents are not read yet; `memdb sync` does it."]
    assert len(shelf.store.documents.list()) > 5
    shelf.store.sync()
    assert len(shelf.store.documents.list()) == 11


def test_a_long_ingest_lets_others_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memdb.domain import documents

    shelf = Shelf(tmp_path, folder(5))
    other = Store(shelf.store.place, shelf.embedder)
    read = documents.read
    saved: list[object] = []

    def slowly(*args: object, **options: object) -> object:
        # While a file is read, another process's save goes through.
        with other:
            saved.append(other.save(f"user/note-{len(saved)}", f"Note {len(saved)}."))
        return read(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(documents, "read", slowly)
    shelf.add()
    assert len(saved) == 5
    assert shelf.rows("select count(*) from document") == [(5,)]
