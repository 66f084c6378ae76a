"""Following the files: every change is found, however it was made, and what cannot be synced is told and outlived."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memdb.base import settings
from memdb.services.files.following import Followed, Follower
from memdb.store import Store
from tests.cli_support import make, write
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder, Vector

pytestmark = pytest.mark.usefixtures("no_model")

LONG = 60.0
"""Seconds until a test gives up waiting for what should take about one."""

pytest.importorskip("watchfiles")


class Events:
    """What was told, and a way to wait for more."""

    def __init__(self) -> None:
        self.all: list[Followed] = []
        self._news = threading.Condition()

    def __call__(self, event: Followed) -> None:
        with self._news:
            self.all.append(event)
            self._news.notify_all()

    def wait(self, met: Callable[[], bool]) -> None:
        """Wait until something is so, looking after each event and now and then."""
        end = time.monotonic() + LONG
        with self._news:
            while not met():
                assert time.monotonic() < end, [(event.kind, event.message) for event in self.all]
                self._news.wait(0.2)

    def kinds(self) -> list[str]:
        return [event.kind for event in self.all]


@contextmanager
def followed(store: Store, **options: Any) -> Iterator[Events]:
    """Follow a store in a thread while the block lasts; walks alone come too seldom to find anything."""
    events, ended = Events(), threading.Event()
    pace = {"walk": 3600.0, "poll": 0.2} | options
    thread = threading.Thread(target=store.follow, args=(events,), kwargs={"ended": ended, **pace}, daemon=True)
    thread.start()
    try:
        events.wait(lambda: "watching" in events.kinds())
        yield events
    finally:
        ended.set()
        thread.join(LONG)
        assert not thread.is_alive()
    assert events.kinds()[-1] == "stopped"


def indexed(store: Store) -> set[str]:
    """The ids in the index as it is, without a sync."""
    return {str(key) for (key,) in store._run(lambda c: c.database.rows("select key from node where kind = 'memory'"))}


def bodies(store: Store) -> list[str]:
    return [str(text) for (text,) in store._run(lambda c: c.database.rows("select body from memory order by body"))]


BOTH = pytest.mark.parametrize("notices", [True, False], ids=["notices", "walks"])


@BOTH
def test_files_that_come_change_move_and_go(make_store: Callable[..., Store], notices: bool) -> None:
    store = make_store({"user/one.md": "one\n", "user/two.md": "two\n", "user/three.md": "three\n"})
    root = store.place.root
    with followed(store, notices=notices) as events:
        assert all(event.notices is notices for event in events.all)
        write_files(root, {"user/new.md": "new\n", "deep/below/it.md": "deep\n"})
        events.wait(lambda: {"user/new", "deep/below/it"} <= indexed(store))
        (root / "user/one.md").write_text("one, changed\n")
        events.wait(lambda: "one, changed\n" in bodies(store))
        (root / "user/two.md").rename(root / "user/second.md")
        events.wait(lambda: "user/second" in indexed(store) and "user/two" not in indexed(store))
        (root / "user/three.md").unlink()
        events.wait(lambda: "user/three" not in indexed(store))
    reports = [event.report for event in events.all if event.report is not None]
    assert sum(report.renamed for report in reports) == 1
    assert sum(report.removed for report in reports) == 1


@BOTH
def test_an_atomic_rename_is_a_change(make_store: Callable[..., Store], notices: bool) -> None:
    store = make_store({"user/one.md": "one\n"})
    root = store.place.root
    with followed(store, notices=notices) as events:
        for number in range(3):
            aside = root / "user/.one.md.tmp"
            aside.write_text(f"one, version {number}\n")
            aside.replace(root / "user/one.md")
            events.wait(lambda number=number: bodies(store) == [f"one, version {number}\n"])  # type: ignore[misc]
    assert not any(event.kind in ("failed", "refused") for event in events.all)


class Halting(FakeEmbedder):
    """A model that waits, after its first batch, until it may go on."""

    def __init__(self) -> None:
        super().__init__(window=64)
        self.halted, self.may_go_on = threading.Event(), threading.Event()

    def embed_passages(self, texts: Sequence[str], progress: object = None) -> Iterator[Vector]:
        yield from super().embed_passages(texts)
        self.halted.set()
        assert self.may_go_on.wait(LONG)


def test_the_embedder_of_the_store_is_used_and_a_long_sync_ends_between_two_batches(tmp_path: Path) -> None:
    write_files(tmp_path, {f"user/m{n}.md": f"Memory number {n}.\n" for n in range(100)})
    embedder, ended = Halting(), threading.Event()
    with Store.init(tmp_path, embedder=embedder) as store:
        events = Events()
        thread = threading.Thread(target=store.follow, args=(events,), kwargs={"ended": ended}, daemon=True)
        thread.start()
        assert embedder.halted.wait(LONG)
        ended.set()
        embedder.may_go_on.set()
        thread.join(LONG)
        assert not thread.is_alive()
        read = len(embedder.read)
        assert 0 < read < 100
        assert events.kinds() == ["stopped"]
        report = store.sync()  # and the next one does the rest
        assert (report.embedded, report.pending) == (100 - read, 0)


def test_what_is_already_behind_is_synced_at_the_start(make_store: Callable[..., Store]) -> None:
    store = make_store({"user/one.md": "one\n"}, sync=False)
    with followed(store) as events:
        assert events.kinds()[:2] == ["synced", "watching"]
        assert events.all[0].report is not None
        assert events.all[0].report.added == 1


@BOTH
def test_a_root_that_goes_and_comes_back(make_store: Callable[..., Store], notices: bool) -> None:
    store = make_store({"user/one.md": "one\n"})
    root, away = store.place.root, store.place.root.with_name("away")
    with followed(store, notices=notices) as events:
        root.rename(away)
        events.wait(lambda: "unreadable" in events.kinds())
        time_of = len(events.all)
        write_files(away, {"user/two.md": "two\n"})
        away.rename(root)
        events.wait(lambda: "user/two" in indexed(store))
        events.wait(lambda: "synced" in events.kinds()[time_of:])
        # Notices come from the new folder too.
        write_files(root, {"user/three.md": "three\n"})
        events.wait(lambda: "user/three" in indexed(store))
    assert events.kinds().count("unreadable") <= 2
    assert indexed(store) == {"user/one", "user/two", "user/three"}


@BOTH
def test_a_folder_that_goes_and_comes_back(make_store: Callable[..., Store], notices: bool) -> None:
    store = make_store({"keep/a.md": "a\n", "keep/b.md": "b\n", "user/one.md": "one\n"})
    root = store.place.root
    with followed(store, notices=notices) as events:
        shutil.rmtree(root / "user")
        events.wait(lambda: indexed(store) == {"keep/a", "keep/b"})
        write_files(root, {"user/one.md": "one again\n"})
        events.wait(lambda: "user/one" in indexed(store))
        write_files(root, {"user/one.md": "one, third time\n"})
        events.wait(lambda: "one, third time\n" in bodies(store))


def test_too_much_that_is_gone_is_refused_once_and_followed_on(make_store: Callable[..., Store]) -> None:
    store = make_store({f"user/note-{n}.md": f"{n}\n" for n in range(10)})
    root = store.place.root
    with followed(store) as events:
        for number in range(8):
            (root / f"user/note-{number}.md").unlink()
        events.wait(lambda: "refused" in events.kinds())
        assert len(indexed(store)) >= 5
        for number in range(8):
            (root / f"user/note-{number}.md").write_text(f"{number}\n")
        write_files(root, {"user/more.md": "more\n"})
        events.wait(lambda: "user/more" in indexed(store))
    assert len(indexed(store)) == 11


@BOTH
def test_documents_are_followed_where_they_lie(make_store: Callable[..., Store], tmp_path: Path, notices: bool) -> None:
    store = make_store({"user/one.md": "one\n"})
    folder, alone = tmp_path / "guides", tmp_path / "elsewhere" / "alone.txt"
    write_files(tmp_path, {"guides/a.md": "# A\n\nalpha\n", "elsewhere/alone.txt": "first\n"})

    def chunks() -> str:
        return " ".join(text for (text,) in store._run(lambda c: c.database.rows("select text from chunk")))

    with followed(store, notices=notices) as events:
        store.add([folder, alone])
        events.wait(lambda: notices is False or any(str(folder) in event.folders for event in events.all))
        (folder / "b.md").write_text("# B\n\nbeta\n")
        events.wait(lambda: "beta" in chunks())
        aside = alone.with_suffix(".new")
        aside.write_text("second\n")
        aside.replace(alone)
        events.wait(lambda: "second" in chunks())
        # What lies around a file that was added alone is nobody's business.
        assert not any(str(alone.parent) in event.folders for event in events.all)


def test_settings_of_another_model_are_taken_up(make_store: Callable[..., Store]) -> None:
    store = make_store({"user/one.md": "one\n"})
    with followed(store) as events:
        settings.write_settings(store.place, settings.read_settings(store.place) | {"model": "off"})
        write_files(store.place.root, {"user/two.md": "two\n"})
        events.wait(lambda: "user/two" in indexed(store))


def test_a_walk_finds_what_no_notice_told_of(make_store: Callable[..., Store], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Follower, "concerns", lambda *_: False)
    store = make_store({"user/one.md": "one\n"})
    with followed(store, walk=0.5) as events:
        write_files(store.place.root, {"user/two.md": "two\n"})
        events.wait(lambda: "user/two" in indexed(store))


def test_where_the_system_gives_no_notices_files_are_walked(
    make_store: Callable[..., Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    import watchfiles

    def fail(*_: object, **__: object) -> None:
        raise OSError("OS file watch limit reached.")

    monkeypatch.setattr(watchfiles, "watch", fail)
    store = make_store({"user/one.md": "one\n"})
    with followed(store) as events:
        write_files(store.place.root, {"user/two.md": "two\n"})
        events.wait(lambda: "user/two" in indexed(store))
    [failed] = [event for event in events.all if event.kind == "failed"]
    assert failed.message == "The system gives no notices (OS file watch limit reached.); the files are walked."


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("user/one.md", True),
        ("user", True),
        ("guide.pdf", True),
        (".memdb/journal/abc.jsonl", True),
        (".memdb/memory.db-wal", False),
        (".memdb/local/serve.json", False),
        (".memdb", False),
        ("user/one.md.tmp", False),
        ("user/.one.md.swp", False),
        ("user/one.md~", False),
        ("user/.memdb-abc.tmp", False),
        (".git/index", False),
        ("node_modules/x/readme.md", False),
        ("/elsewhere/doc.md", True),
    ],
)
def test_what_concerns_a_store(make_store: Callable[..., Store], path: str, expected: bool) -> None:
    store = make_store({})
    follower = Follower(lambda: Store(store.place), lambda _: None)
    try:
        whole = path if path.startswith("/") else str(store.place.root / path)
        assert follower.concerns(None, whole) is expected
    finally:
        follower._store.close()


# As a process


def lines_of(started: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert started.stdout is not None
    for line in started.stdout:
        yield json.loads(line)


@contextmanager
def watching(root: Path, *words: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "memdb_cli", "watch", "--root", str(root), *words]
    started = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", **options
    )
    # A hang must not hang the test.
    guard = threading.Timer(LONG, started.kill)
    guard.start()
    try:
        yield started
    finally:
        guard.cancel()
        started.kill()
        started.communicate()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals for another process")
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_the_command_tells_in_json_and_ends_on_a_signal(tmp_path: Path, kind: signal.Signals) -> None:
    root = make(tmp_path / "notes")
    with watching(root, "--json") as started:
        events = lines_of(started)
        assert next(events)["event"] == "watching"
        write(root, user__kettle="The kettle is red.\n")
        synced = next(events)
        assert (synced["event"], synced["report"]["added"]) == ("synced", 1)
        started.send_signal(kind)
        assert [event["event"] for event in events] == ["stopped"]
        assert started.wait(LONG) == 0


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals for another process")
def test_the_command_tells_people_on_stderr(tmp_path: Path) -> None:
    root = make(tmp_path / "notes")
    with watching(root, "--no-notices", "--poll", "0.1") as started:
        assert started.stderr is not None
        assert started.stderr.readline() == f"watching by walks: {root}\n"
        write(root, user__kettle="The kettle is red.\n")
        assert started.stderr.readline().startswith("synced: 1 added (")
        started.send_signal(signal.SIGTERM)
        assert started.wait(LONG) == 0
        assert started.stdout is not None
        assert started.stdout.read() == ""


CHANGES = """
import os, sys
from pathlib import Path
root, count = Path(sys.argv[1]), int(sys.argv[2])
for n in range(count):
    file = root / "user" / f"note-{n:04}.md"
    aside = root / "user" / f".note-{n:04}.md.tmp"
    aside.write_text(f"Note {n} about kettles.\\n")
    os.replace(aside, file)
for n in range(0, count, 4):
    (root / "user" / f"note-{n:04}.md").rename(root / "user" / f"moved-{n:04}.md")
for n in range(1, count, 4):
    (root / "user" / f"note-{n:04}.md").unlink()
for n in range(2, count, 4):
    (root / "user" / f"note-{n:04}.md").write_text(f"Note {n} about teapots.\\n")
"""


def burst(store: Store, count: int) -> None:
    """Another process writes, renames, changes and deletes files while recalls run; the end equals a sync."""
    root = store.place.root
    (root / "user").mkdir(exist_ok=True)
    with followed(store) as events:
        changing = subprocess.Popen([sys.executable, "-c", CHANGES, str(root), str(count)])
        try:
            asked = 0
            while changing.poll() is None or asked < 3:
                answer = store.recall("kettles", sync_first=asked % 2 == 0)
                assert answer.query == "kettles"
                asked += 1
            assert changing.returncode == 0
        finally:
            changing.kill()
            changing.wait()
        expected = {f"user/moved-{n:04}" for n in range(0, count, 4)}
        expected |= {f"user/note-{n:04}" for n in range(count) if n % 4 in (2, 3)}
        events.wait(lambda: indexed(store) == expected and f"Note {count - 2} about teapots.\n" in bodies(store))
    live = store.digest()
    store.rebuild()
    assert store.digest() == live
    assert len(bodies(store)) == len(expected)


def test_a_burst_by_another_process(make_store: Callable[..., Store]) -> None:
    burst(make_store({}), 120)


@pytest.mark.slow
def test_two_thousand_files_by_another_process(make_store: Callable[..., Store]) -> None:
    burst(make_store({}), 2_000)
