"""Folders of many files: what it costs to see that nothing changed, and whether memory stays flat as they are read."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import apsw

from memdb.base.embedding import Embedder
from memdb.services.files.sync import RACY_NS
from memdb.store import Store
from tests.bench.measuring import MEGABYTE, Row, medians, peak_memory, process
from tests.bench.synthetic import SyntheticEmbedder, write_memories, write_notes

GIT = ("git", "-c", "core.fsmonitor=false", "-c", "gc.auto=0")

LEAST_SYNCS = 7

SETTLING = RACY_NS / 1e9 + 0.1
"""Seconds: files younger than that are read again, by memdb as by git."""

FLAT = 1.15
"""Memory is flat where six times the files raise its peak by no more than an allocator's own slack."""

OWN = "without SQLite's page cache (at most 64 MB), "


def no_op_sync(base: Path, files: int, repeat: int) -> list[Row]:
    """A sync with nothing changed, of memories and of documents, against `git status` on the same tree."""
    memories, notes = base / f"files-{files}", base / f"notes-{files}"
    write_memories(memories, files)
    write_notes(notes / "shelves", files)
    rows = []
    for what, root, added in (("memory files", memories, []), ("document files", notes, [notes / "shelves"])):
        with Store.init(root, embedder=SyntheticEmbedder()) as store:
            store.add(added) if added else store.sync()
            time.sleep(SETTLING)
            store.sync()
            process(*GIT, "init", "-q", cwd=root)()
            (root / ".git" / "info" / "exclude").write_text(".memdb/\n", encoding="utf-8")
            process(*GIT, "add", "-A", cwd=root)()
            status = process(*GIT, "status", "--porcelain", cwd=root)
            ours, theirs = medians(store.sync, status, max(LEAST_SYNCS, repeat))
        rows.append(Row("sync with nothing changed", files, what, ours, "s", theirs, "git status", goal=2.0))
        shutil.rmtree(root)
    return rows


def memory_over_a_folder(base: Path, files: int) -> list[Row]:
    """The peaks of memory after a sixth, half and all of the files of one `add`, in a process of its own."""
    folder, root = base / f"folder-{files}", base / f"folder-store-{files}"
    # A run that was broken off leaves a store that has them already.
    shutil.rmtree(root, ignore_errors=True)
    write_notes(folder, files)
    marks = [max(1, files // 6), max(1, files // 2), files]
    run = subprocess.run(
        [sys.executable, "-m", __name__, str(root), str(folder), json.dumps(marks)],
        check=True,
        capture_output=True,
        text=True,
    )
    found = json.loads(run.stdout)
    shutil.rmtree(folder)
    if not found:
        return []
    first, after = found[0], f"the peak after {marks[0]} files"
    taken = [("reading", marks[1]), ("reading", files), ("adding", files)]
    rows = [
        Row(f"peak memory of {what}", count, "files", peak - cache, "MiB", first[0] - first[1], OWN + after, goal=FLAT)
        for (what, count), (peak, cache) in zip(taken, found[1:], strict=True)
    ]
    rows.append(Row("peak memory of adding, with the cache", files, "files", found[-1][0], "MiB", first[0], after))
    return rows


def add_and_watch(root: Path, folder: Path, marks: list[int]) -> list[tuple[float, float]]:
    """Add a folder and return, once so many files were read, and at the end of all, the peaks of memory in MiB.

    Of each, the process's and within it SQLite's own. Empty where the system does not say.
    """
    found: list[tuple[float, float]] = []

    def look() -> None:
        peak = peak_memory()
        if peak is not None:
            found.append((peak, apsw.memory_high_water() / MEGABYTE))

    def watch(what: str, done: int, _total: int) -> None:
        if what.startswith("reading") and len(found) < len(marks) and done >= marks[len(found)]:
            look()

    with Store.init(root, embedder=SyntheticEmbedder(Embedder())) as store:
        store.add([folder], progress=watch)
        look()
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(add_and_watch(Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3]))))
