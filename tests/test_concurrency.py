"""Many processes and threads on one store: nothing is lost and no one is told of a lock."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from memdb.base import files, locks
from memdb.services.context import Context
from memdb.services.entities import mentions
from memdb.services.recall.recall import Recall
from memdb.store import Store
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder
from tests.histories import anew, differing

Make = Callable[..., Store]

pytestmark = pytest.mark.usefixtures("no_model")

SAVES = """
import sys, memdb.store as m
with m.Store.init(sys.argv[1]) as store:
    for number in range(int(sys.argv[3])):
        store.save(f"user/p{sys.argv[2]}-{number}", f"Text {number} of process {sys.argv[2]}, see [[p0-{number}]].")
"""

READS = """
import sys, time, memdb.store as m
with m.Store.init(sys.argv[1]) as store:
    end = time.monotonic() + float(sys.argv[2])
    asked = 0
    while time.monotonic() < end:
        store.recall("text of process 3")
        asked += 1
    assert asked
"""

SYNCS = """
import sys, memdb.store as m
with m.Store.init(sys.argv[1]) as store:
    for _ in range(5):
        store.sync()
"""


def together(*calls: tuple[str, ...]) -> None:
    """Run programs at once; each must end well."""
    running = [
        subprocess.Popen([sys.executable, "-c", *call], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for call in calls
    ]
    for process in running:
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize(
    ("processes", "saves"), [(3, 8), pytest.param(8, 50, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_every_save_of_every_process_is_there(make_store: Make, processes: int, saves: int) -> None:
    store = make_store()
    root = str(store.place.root)
    store.close()
    writers = [(SAVES, root, str(number), str(saves)) for number in range(processes)]
    together(*writers, *[(READS, root, "1.5" if saves < 20 else "10")] * 2)
    with Store(store.place) as again:
        assert again.damage is None
        assert again.stats()["memories"] == processes * saves
        report = again.sync()
        assert (report.added, report.changed, report.removed, report.problems) == (0, 0, 0, [])
        live = again.digest()
        assert all(finding.state != "error" for finding in again.doctor())
    assert differing(live, anew(store.place.root, model=False)) == []


def test_two_processes_sync_one_folder_at_once(make_store: Make) -> None:
    store = make_store()
    store.close()
    write_files(
        store.place.root, {f"user/m{number}.md": f"Text {number}, [[m{number + 1}]].\n" for number in range(300)}
    )
    together(*[(SYNCS, str(store.place.root))] * 3)
    with Store(store.place) as again:
        assert again.stats()["memories"] == 300
        live = again.digest()
    assert differing(live, anew(store.place.root, model=False)) == []


def test_processes_that_make_one_store_at_once(make_store: Make, tmp_path: object) -> None:
    store = make_store(sync=False)
    root = store.place.root.with_name("fresh")
    write_files(root, {f"user/m{number}.md": f"Text {number}.\n" for number in range(20)})
    together(*[(SYNCS, str(root))] * 4)
    with Store.init(root) as again:
        assert again.stats()["memories"] == 20


def test_saves_of_one_memory_by_many_processes_are_all_in_its_history(make_store: Make) -> None:
    store = make_store()
    store.close()
    code = (
        "import sys, memdb.store as m\n"
        "with m.Store.init(sys.argv[1]) as store:\n"
        "    for number in range(10): store.save('user/a', f'text {sys.argv[2]} {number}')\n"
    )
    together(*[(code, str(store.place.root), str(number)) for number in range(3)])
    with Store(store.place) as again:
        now = again.show("user/a").body
        texts = [str(past.text) for past in again.history("user/a")]
    found = [text.rpartition("text ")[2].strip() for text in [*texts, now]]
    assert sorted(found) == sorted(f"{process} {number}" for process in range(3) for number in range(10))


def test_one_store_in_many_threads(make_store: Make) -> None:
    store = make_store({f"user/m{number}.md": f"Maple {number}.\n" for number in range(10)})
    store._context.set_embedder(FakeEmbedder())
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(5):
                store.save(f"user/t{number}-{turn}", f"Text {turn} of thread {number}.")
                assert store.recall("maple").hits
                store.list()
                store.sync()
        except BaseException as error:  # noqa: BLE001 (told to the test)
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert store.stats()["memories"] == 40


def test_two_stores_of_one_process_in_threads(make_store: Make) -> None:
    stores = [make_store({"user/a.md": "a"})]
    stores.append(Store(stores[0].place))
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(8):
                stores[number].save(f"user/s{number}-{turn}", f"Text {turn} of {number}.")
        except BaseException as error:  # noqa: BLE001 (told to the test)
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert stores[0].stats()["memories"] == stores[1].stats()["memories"] == 17
    stores[1].close()


def test_recalls_go_on_while_another_process_rebuilds(make_store: Make) -> None:
    store = make_store({f"user/m{number}.md": f"Maple {number}.\n" for number in range(50)})
    code = "import sys, memdb.store as m\nwith m.Store.init(sys.argv[1]) as s:\n    for _ in range(4): s.rebuild()\n"
    process = subprocess.Popen([sys.executable, "-c", code, str(store.place.root)], stderr=subprocess.PIPE, text=True)
    answers: list[Recall] = []
    while process.poll() is None:
        answers.append(store.recall("maple 7"))
        time.sleep(0.01)
    assert (process.returncode, process.communicate()[1]) == (0, "")
    assert answers and all(answer.hits[0].id == "user/m7" for answer in answers)
    store.save("user/after", "periwinkle")
    with Store(store.place) as other:
        assert other.recall("periwinkle").hits[0].id == "user/after"
    assert store.damage is None


HOLDS = """
import sys
from pathlib import Path
from memdb.base import files
from memdb.base.place import at
place, count = at(Path(sys.argv[1])), Path(sys.argv[2])
turn = 0
while not count.with_name("stop").exists():
    with files.writer(place):
        turn += 1
        count.write_text(str(turn))
"""


def test_who_waits_for_the_writer_lock_is_the_next_to_get_it(make_store: Make, tmp_path: Path) -> None:
    """A process that takes the lock again as soon as it let it go has it some five hundred times otherwise."""
    store = make_store()
    count = tmp_path / "count"
    busy = subprocess.Popen([sys.executable, "-c", HOLDS, str(store.place.root), str(count)])
    try:
        while not count.exists():
            time.sleep(0.01)
        waited = []
        for _ in range(10):
            before = int(count.read_text() or 0)
            with files.writer(store.place):
                waited.append(int(count.read_text()) - before)
    finally:
        (tmp_path / "stop").touch()
        busy.wait(60)
    # Between the count and the place in line, the other one has a few turns.
    assert sorted(waited)[len(waited) // 2] < 50


@pytest.mark.skipif(sys.platform == "win32", reason="there filelock does all of it")
def test_the_place_in_line_is_the_same_lock_whoever_takes_it(make_store: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A free one is taken by the system's bare calls, one that is held is waited for by filelock."""
    place, reads = make_store({"user/ines.md": "Ines.\n"}).place, []
    with files.writer(place):
        pass
    line = FileLock(str(place.next_lock))
    take = locks.taken_at_once
    monkeypatch.setattr(locks, "taken_at_once", lambda path: reads.append(take(path)) or reads[-1])
    with files._next_in_line(place, 1.0):
        with pytest.raises(Timeout):
            line.acquire(timeout=0)
        with pytest.raises(Timeout), files._next_in_line(place, 0.05):
            pass
    with line.acquire(timeout=0), pytest.raises(Timeout), files._next_in_line(place, 0.05):
        pass
    with files._next_in_line(place, 0.0), pytest.raises(Timeout):
        line.acquire(timeout=0)
    line.acquire(timeout=0)
    line.release()
    place.next_lock.unlink()
    with files._next_in_line(place, 1.0), pytest.raises(Timeout):
        line.acquire(timeout=0)
    assert [one is None for one in reads] == [False, True, True, False, True]


def test_names_are_read_though_others_change_them_meanwhile(make_store: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read over and over and never written is read with the lock held then."""
    store = make_store({"user/ines.md": "Ines Okafor knows Quillbase.\n"})
    lock, reads = FileLock(str(store.place.lock), is_singleton=True), []
    read_batch = mentions._read_batch

    def changed_meanwhile(context: Context, texts: list[mentions.Text]) -> object:
        holds, write = read_batch(context, texts)
        reads.append(lock.is_locked)
        return (holds if lock.is_locked else lambda: False), write

    monkeypatch.setattr(mentions, "_read_batch", changed_meanwhile)
    monkeypatch.setattr(mentions, "state_of", lambda database: object())  # as if others wrote without a pause
    write_files(store.place.root, {"user/ines.md": "Ines Okafor knows Quillbase and Ravenscar.\n"})
    store.sync()
    assert reads == [False, True]
    assert not mentions.is_behind(store._context.database)
