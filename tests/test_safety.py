"""What cannot be read or written is said, recall still answers, and nothing of the user's is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

import memdb.store
from memdb.base import files
from memdb.errors import Busy, NotWritable
from memdb.store import Store
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder
from tests.histories import anew, differing
from tests.test_invariants import contents_of

Make = Callable[..., Store]

pytestmark = [
    pytest.mark.usefixtures("no_model"),
    pytest.mark.skipif(sys.platform == "win32", reason="permissions and signals of POSIX"),
]

NOBODY = 65534
"""A user without rights: root is bound by no permission."""

FILES: dict[str, str | bytes] = {f"user/m{number}.md": f"Memory {number} on maple {number}.\n" for number in range(5)}


def as_nobody(call: Callable[[], None]) -> None:
    """Run a check in a process whose user owns nothing; its failure is ours."""
    import faulthandler

    # That user may not be able to read where Python is: what is loaded when it is needed is loaded before.
    for module in ("memdb.services.forgetting.forgetting", "memdb.services.health.rebuilding"):
        import_module(module)
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        return
    code = 1
    try:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        call()
        code = 0
    except BaseException:  # noqa: BLE001 (told to the parent)
        import traceback

        traceback.print_exc()
    finally:
        faulthandler.disable()
        os._exit(code)


@pytest.fixture
def shared(tmp_path: Path, make_store: Make) -> Path:
    """A closed store whose folders everyone may enter."""
    store = make_store(FILES, root=tmp_path / "r")
    store.close()
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid() and str(folder).startswith(str(tmp_path.parents[2])):
            folder.chmod(folder.stat().st_mode | 0o055)
    return tmp_path / "r"


def read_only(root: Path) -> None:
    for folder, _, names in os.walk(root):
        Path(folder).chmod(0o555)
        for name in names:
            Path(folder, name).chmod(0o444)


def test_a_read_only_store_still_answers(shared: Path) -> None:
    read_only(shared)

    def check() -> None:
        with Store.init(shared) as store:
            answer = store.recall("maple 3")
            assert answer.hits[0].id == "user/m3"
            assert len(store.list()) == 5
            assert store.show("user/m1").body.startswith("Memory 1")
            assert store.sync().unchanged == 5
            for call in (lambda: store.save("user/new", "x"), lambda: store.forget("user/m1"), store.rebuild):
                with pytest.raises(NotWritable) as error:
                    call()
                assert error.value.hint

    as_nobody(check)


def test_a_read_only_store_that_is_behind_says_so(shared: Path) -> None:
    (shared / "user/m1.md").write_text("Changed meanwhile.\n")
    read_only(shared)

    def check() -> None:
        with Store.init(shared) as store:
            answer = store.recall("maple 3")
            assert answer.hits[0].id == "user/m3"
            assert "not brought up" in answer.notes[0]

    as_nobody(check)


def test_a_read_only_store_that_a_killed_process_left_is_read_whole(shared: Path) -> None:
    code = (
        "import os, sys, memdb.store as m\n"
        "s = m.Store.init(sys.argv[1])\n"
        "s.save('user/late', 'The periwinkle text.')\n"
        "os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(shared)], check=False)
    assert (shared / ".memdb/memory.db-wal").stat().st_size > 0
    read_only(shared)

    def check() -> None:
        with Store.init(shared) as store:
            assert store.recall("periwinkle").hits[0].id == "user/late"

    as_nobody(check)


def test_a_root_that_may_not_be_read_keeps_its_index(shared: Path) -> None:
    before = Store.init(shared)
    count = before.stats()["memories"]
    before.close()
    (shared / "user").chmod(0)

    def check() -> None:
        from memdb.errors import MemdbError

        with Store.init(shared) as store:
            with suppress(MemdbError):
                store.sync()
            assert store.stats()["memories"] == count
            assert store.recall("maple 3").hits[0].id == "user/m3"

    # The index itself may be written.
    for folder, _, names in os.walk(shared / ".memdb"):
        Path(folder).chmod(0o777)
        for name in names:
            Path(folder, name).chmod(0o666)
    (shared / ".memdb").chmod(0o777)
    try:
        as_nobody(check)
    finally:
        (shared / "user").chmod(0o755)
    with Store.init(shared) as store:
        assert store.sync().unchanged == count


def test_a_folder_that_may_not_be_read_keeps_its_memories(shared: Path) -> None:
    write_files(shared, {"project/deep/x.md": "The periwinkle text.\n"})
    with Store.init(shared) as store:
        store.sync()
    for folder, _, names in os.walk(shared):
        Path(folder).chmod(0o777)
        for name in names:
            Path(folder, name).chmod(0o666)
    (shared / "user/m1.md").write_text("Another maple.\n")
    (shared / "project").chmod(0)

    def check() -> None:
        with Store.init(shared) as store:
            report = store.sync()
            assert (report.removed, report.changed) == (0, 1)
            assert [(one.path, "cannot be read" in one.reason) for one in report.problems] == [("project", True)]
            assert store.recall("periwinkle").hits[0].id == "project/deep/x"

    as_nobody(check)
    (shared / "project").chmod(0o755)
    with Store.init(shared) as store:
        report = store.sync()
        assert (report.removed, report.added, report.problems) == (0, 0, [])
        assert store.history("user/m1")[0].text == "Memory 1 on maple 1.\n"


def test_a_file_that_may_not_be_read_is_a_problem_and_comes_back(shared: Path) -> None:
    for folder, _, names in os.walk(shared):
        Path(folder).chmod(0o777)
        for name in names:
            Path(folder, name).chmod(0o666)
    (shared / "user/m1.md").write_text("Another maple.\n")
    (shared / "user/m1.md").chmod(0)

    def check() -> None:
        with Store.init(shared) as store:
            report = store.sync()
            assert [(one.path, "cannot be read" in one.reason) for one in report.problems] == [("user/m1.md", True)]
            assert store.stats()["memories"] == 5
            assert store.show("user/m1").body == "Memory 1 on maple 1.\n"

    as_nobody(check)
    (shared / "user/m1.md").chmod(0o644)
    with Store.init(shared) as store:
        assert store.sync().problems == []
        assert store.show("user/m1").body == "Another maple.\n"


def test_a_full_disk_is_said_and_the_store_is_as_it_was(make_store: Make) -> None:
    store = make_store(FILES)
    live = store.digest()
    before = contents_of(store.place.root)
    store.close()
    size = max(file.stat().st_size for file in store.place.home.rglob("*") if file.is_file())

    def check() -> None:
        import resource
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        with Store(store.place) as again:
            with pytest.raises(NotWritable) as error:
                for number in range(200):
                    again.save(f"user/n{number}", f"text {number} " * 400)
            assert error.value.hint
            assert again.recall("maple 3").hits[0].id == "user/m3"

    child = os.fork()
    if child == 0:
        try:
            check()
            os._exit(0)
        except BaseException:  # noqa: BLE001 (told to the parent)
            import traceback

            traceback.print_exc()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    after = contents_of(store.place.root)
    assert {path: digest for path, digest in after.items() if path in before} == before
    with Store(store.place) as again:
        again.sync()
        assert again.stats()["memories"] == len(after)
        for path in set(after) - set(before):
            (store.place.root / path).unlink()
        again.sync(yes=True)
        past = ("memory_version", "memory_birth", "version_fts")
        tables = [name for name in differing(live, again.digest()) if name not in past]
        assert tables == []


HOLD = """
import sys, time
from memdb.base import files, settings
with files.writer(settings.place(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""

LOCK_SQLITE = """
import sys, time, apsw
connection = apsw.Connection(sys.argv[1] + "/.memdb/memory.db")
connection.execute("begin immediate")
print("held", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("how", [HOLD, LOCK_SQLITE], ids=["the writer lock", "a write transaction"])
@pytest.mark.parametrize("model", [False, True])
def test_recall_answers_while_another_process_writes(
    make_store: Make, monkeypatch: pytest.MonkeyPatch, how: str, model: bool
) -> None:
    assert memdb.store.RECALL_WAIT <= 2
    monkeypatch.setattr(memdb.store, "RECALL_WAIT", 0.3)
    store = make_store(FILES)
    if model:
        store._context.set_embedder(FakeEmbedder())
    write_files(store.place.root, {"user/late.md": "The periwinkle text.\n"})
    holder = subprocess.Popen([sys.executable, "-c", how, str(store.place.root)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "held\n"
        started = time.monotonic()
        answer = store.recall("maple 3")
        assert time.monotonic() - started < 20  # of the 30 seconds that a writer waits
        assert answer.hits[0].id == "user/m3"
        assert answer.notes == [
            "The index was not brought up to the files: another memdb process is writing. 1 file is newer."
        ]
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    assert store.recall("periwinkle").hits[0].id == "user/late"


def test_a_writer_that_waits_too_long_is_told(make_store: Make) -> None:
    store = make_store(FILES)
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(store.place.root)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(Busy) as error, files.writer(store.place, 0.2):
            pass
        assert error.value.hint
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    # The lock of a process that was killed holds no one up.
    assert store.save("user/a", "x").changed


LOOP = """
import os, random, sys
import memdb.store as m
from memdb.errors import MemdbError
root, seed = sys.argv[1], int(sys.argv[2])
rng = random.Random(seed)
store = m.Store.init(root)
out = os.open(sys.argv[3], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
number = 0
while True:
    number += 1
    what = rng.choice(["save", "save", "save", "sync", "edit", "rebuild", "forget", "reopen"])
    name = f"user/k{rng.randrange(6)}"
    try:
        if what == "save":
            text = f"text {seed} {number} on [[k{rng.randrange(6)}]]\\n"
            store.save(name, text)
            os.write(out, f"saved {name} {text}".encode())
        elif what == "edit":
            with open(os.path.join(root, name + ".md"), "w") as file:
                file.write(f"by hand {seed} {number}\\n")
            os.write(out, f"edited {name} -\\n".encode())
        elif what == "forget":
            os.write(out, f"forgetting {name} -\\n".encode())
            store.forget(name)
        elif what == "reopen":
            store.close()
            store = m.Store.init(root)
        else:
            getattr(store, what)()
    except MemdbError as error:
        if error.code not in ("not_found", "refused"):
            raise
"""


@pytest.mark.slow
def test_kill_at_any_moment_loses_nothing_that_was_confirmed(make_store: Make, tmp_path: Path) -> None:
    import random

    rng = random.Random(int(os.environ.get("MEMDB_TEST_SEED", "5")))
    store = make_store(FILES)
    root = store.place.root
    store.close()
    for seed in range(int(os.environ.get("MEMDB_TEST_KILLS", "25"))):
        log = tmp_path / f"log-{seed}"
        errors = tmp_path / f"errors-{seed}"
        with errors.open("wb") as stderr:
            child = subprocess.Popen([sys.executable, "-c", LOOP, str(root), str(seed), str(log)], stderr=stderr)
            while not log.exists():
                time.sleep(0.01)
                assert child.poll() is None, errors.read_text()
            time.sleep(rng.random() * 0.8)
            child.kill()
            child.wait()
        assert errors.read_text() == ""
        confirmed: dict[str, str] = {}
        for line in log.read_text().splitlines():
            verb, name, text = line.split(" ", 2)
            confirmed[name] = f"{text}\n" if verb == "saved" else ""
        with Store.init(root) as again:
            again.sync(yes=True)
            assert all(finding.state != "error" for finding in again.doctor())
            for name, text in confirmed.items():
                if not text:
                    continue
                file = root / f"{name}.md"
                now = file.read_text() if file.exists() else ""
                # What was going on when the process was killed may have overtaken it.
                past = [] if now.endswith(text) else [str(one.text) for one in again.history(name)]
                assert now.endswith(text) or any(one.endswith(text) for one in past), (seed, name)
            live = again.digest()
        assert differing(live, anew(root, model=False)) == [], seed
        assert not list((root / "user").glob(".memdb-*"))
