"""Auto-index: what is written is indexed some seconds later, by one worker, and only where it is switched on."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memdb.services.context import Context
from memdb.services.extraction import auto_index
from memdb.services.extraction.auto_index import Due
from memdb.store import Store
from memdb_cli import background
from tests.cli_support import memdb
from tests.index_support import INES, SAILS, finds, notes, rows
from tests.llm_server import BAD_KEY, LlmServer, Reply, Request, fails, gives

pytest.importorskip("instructor", reason="the extra `llm` is not installed")

pytestmark = pytest.mark.usefixtures("no_model", "quick")

MakeStore = Callable[..., Store]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pause in writing is over sooner."""
    monkeypatch.setattr(auto_index, "QUIET", 0.15)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    """The endpoint of the settings."""
    with LlmServer(answer=lambda request: gives(finds(request))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("MEMDB_LLM_MODEL", "tiny")
        yield server


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that would be started, which are not."""
    commands: list[list[str]] = []
    monkeypatch.setattr(background, "spawn", commands.append)
    return commands


def until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it does not come to be"
        time.sleep(0.02)


def test_it_is_off_until_it_is_switched_on(make_store: MakeStore, server: LlmServer) -> None:
    store = make_store()
    assert store.auto_index() is False
    store.save("user/a", INES)
    time.sleep(0.5)
    assert (server.requests, auto_index.due(store.place), store._worker) == ([], None, None)
    assert store.stats()["auto_index"] == "off"
    assert store.auto_index(True) is True
    assert store.stats()["auto_index"] == "on"
    until(lambda: len(server.requests) == 1)  # what waited already
    assert store.auto_index(False) is False


def test_the_environment_wins(make_store: MakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store = make_store()
    monkeypatch.setenv("MEMDB_AUTO_INDEX", "on")
    assert store.auto_index() is True
    monkeypatch.setenv("MEMDB_AUTO_INDEX", "off")
    assert store.auto_index(True) is False


def test_saves_in_a_long_lived_program_are_indexed_as_one_run(make_store: MakeStore, server: LlmServer) -> None:
    store = make_store()
    store.auto_index(True)
    for at in range(5):
        store.save(f"user/note-{at}", f"{INES} For the {at}th time.")
    until(lambda: len(server.requests) == 5 and auto_index.due(store.place) is None)
    until(lambda: [run.state for run in store.runs.list()] == ["done"])
    assert rows(store, "select count(*) from memory where indexed_at is null") == [(0,)]
    store.save("user/later", SAILS)
    until(lambda: [run.done for run in store.runs.list()] == [1, 5])


def test_a_recall_changes_nothing_and_wakes_nobody(make_store: MakeStore, server: LlmServer) -> None:
    store = make_store(dict(notes(2)))
    time.sleep(2.1)
    store.sync()  # past the time in which files are read again
    store.auto_index(True)
    until(lambda: store._worker is not None and len(server.requests) == 2 and auto_index.due(store.place) is None)
    store.sync()
    until(lambda: auto_index.due(store.place) is None)
    store.recall("berth")
    assert auto_index.due(store.place) is None


def test_closing_waits_for_no_model(make_store: MakeStore, server: LlmServer) -> None:
    asked = threading.Event()

    def hanging(request: Request) -> Reply:
        asked.set()
        return Reply(hang=20.0)

    server.answer = hanging
    store = make_store()
    store.auto_index(True)
    store.save("user/a", INES)
    assert asked.wait(20)
    began = time.monotonic()
    store.close()
    assert time.monotonic() - began < 15  # of the 20 seconds that the endpoint hangs


def work(store: Store) -> bool:
    return auto_index.work(Context(store.place))


def test_what_fails_is_tried_again_after_a_growing_rest(make_store: MakeStore, server: LlmServer) -> None:
    store = make_store(dict(notes(2)))
    auto_index.switch(store.place, True)
    server.answer = lambda request: BAD_KEY
    rests = []
    for _ in range(3):
        auto_index.want(store.place, Due(rest=rests[-1] if rests else 0.0))
        assert work(store)
        waits = auto_index.due(store.place)
        assert waits is not None and waits.at > time.time() + 200
        rests.append(waits.rest)
        assert not auto_index.is_due(store.place)
    assert rests == [300.0, 600.0, 1200.0]
    auto_index.want(store.place)  # a save does not shorten it
    assert not auto_index.is_due(store.place)
    # A clock that was set back by years keeps nothing waiting.
    auto_index.want(store.place, Due(time.time() + 1e8, 300.0))
    assert auto_index.is_due(store.place)


def test_an_endpoint_that_asks_for_an_hour_gets_it(make_store: MakeStore, server: LlmServer) -> None:
    store = make_store(dict(notes(1)))
    auto_index.switch(store.place, True)
    auto_index.want(store.place)
    server.answer = lambda request: fails(429, "slow down", retry_after="3600")
    assert work(store)
    waits = auto_index.due(store.place)
    assert waits is not None and 3500 < waits.at - time.time() <= 3600


def test_one_worker_at_a_time(make_store: MakeStore, server: LlmServer) -> None:
    store = make_store(dict(notes(1)))
    auto_index.switch(store.place, True)
    auto_index.want(store.place)
    assert auto_index.is_due(store.place)
    with auto_index._taken(store.place) as mine:
        assert mine
        assert not auto_index.is_due(store.place)
        assert work(store) is False
    assert server.requests == []
    assert work(store) is True
    assert (len(server.requests), auto_index.due(store.place)) == (1, None)


def test_what_is_written_during_the_work_is_done_too(make_store: MakeStore, server: LlmServer) -> None:
    store = make_store(dict(notes(1)))
    auto_index.switch(store.place, True)

    def writing(request: Request) -> Reply:
        if len(server.requests) == 1:
            (store.place.root / "user").mkdir()
            (store.place.root / "user" / "new.md").write_text(SAILS, encoding="utf-8")
            auto_index.want(store.place)
        return gives(finds(request))

    server.answer = writing
    auto_index.want(store.place)
    assert work(store)
    assert (len(server.requests), [run.done for run in store.runs.list()]) == (2, [1, 1])


@pytest.mark.parametrize("variable", ["MEMDB_LLM_MODEL", "OPENAI_BASE_URL"])
def test_without_a_model_nothing_is_started(
    make_store: MakeStore, server: LlmServer, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    store = make_store(dict(notes(1)))
    auto_index.switch(store.place, True)
    auto_index.want(store.place)
    monkeypatch.delenv(variable)
    assert not auto_index.is_due(store.place)
    assert work(store)
    assert store.runs.list() == []


@pytest.mark.parametrize("text", ["", "{", '{"at": "soon"}', "[]", "null"])
def test_a_torn_note_still_says_that_there_is_work(make_store: MakeStore, server: LlmServer, text: str) -> None:
    store = make_store()
    (store.place.home / "local" / "auto-index.json").write_text(text, encoding="utf-8")
    assert auto_index.due(store.place) == Due()
    assert auto_index.is_due(store.place)


# After a command


def test_a_command_starts_the_worker_where_something_was_written(
    tmp_path: Path, server: LlmServer, spawned: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMDB_ROOT", str(tmp_path / "notes"))
    memdb("init", tmp_path / "notes")
    assert memdb("save", "user/a", "--body", INES).code == 0
    assert spawned == []
    assert memdb("auto-index", "on").out == "auto-index is on\n"
    root = (tmp_path / "notes").resolve()
    command = ["index", "--background", "--root", str(root), "--db", str(root / ".memdb" / "memory.db")]
    assert spawned == [[sys.executable, "-m", "memdb_cli", *command]]
    assert memdb(*command).code == 0
    assert (len(server.requests), len(spawned)) == (1, 1)
    spawned.clear()
    assert memdb("save", "user/b", "--body", SAILS).code == 0
    assert len(spawned) == 1
    memdb(*command)
    assert [run["done"] for run in memdb("runs", "--json").json["runs"]] == [1, 1]
    memdb("auto-index", "off")
    spawned.clear()
    memdb("save", "user/c", "--body", "Another.")
    assert spawned == []


def test_the_process_is_its_own(make_store: MakeStore, server: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    store = make_store(dict(notes(1)))
    auto_index.switch(store.place, True)
    auto_index.want(store.place)
    background.start(store.place)
    until(lambda: [run.state for run in store.runs.list()] == ["done"], 60)
    assert len(server.requests) == 1
    until(lambda: not auto_index._is_taken(store.place))


def test_a_program_that_is_not_there_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(subprocess, "Popen", missing)
    background.spawn(["nothing"])


def test_where_it_is_off_a_command_loads_nothing_for_it() -> None:
    code = (
        "import sys, pathlib\n"
        "from memdb.base.place import Place\n"
        "from memdb_cli import background\n"
        "background.start(Place(pathlib.Path('nowhere'), pathlib.Path('nowhere/memory.db')))\n"
        "seldom = ('memdb.services.extraction.auto_index', 'memdb.base.llm', 'openai')\n"
        "print([name for name in seldom if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
