"""A warm process of several stores: each is found and asked as that of one store is, and few are open at once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memdb.base import named, settings, warm
from memdb.base.place import Place
from memdb.errors import NotFound
from memdb.serving import server as serving
from memdb.serving.server import Server
from memdb.serving.several import Servers
from memdb.store import Store
from tests.cli_support import make, memdb

pytestmark = pytest.mark.usefixtures("no_model")

LONG = 30.0


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Place]:
    """Three named stores."""
    for name in ("home", "lab", "work"):
        named.add(name, make(tmp_path / name, user__kettle=f"The kettle at {name} is red.\n"))
    return {name: one.place for name, one in named.read().items()}


@contextmanager
def served(places: dict[str, Place], **options: Any) -> Iterator[Servers]:
    servers = Servers(places, **options)
    servers.start()
    thread = threading.Thread(target=servers.run, daemon=True)
    thread.start()
    try:
        yield servers
    finally:
        servers.stop()
        thread.join(LONG)
        servers.close()
        assert not thread.is_alive()


def until(met: Callable[[], bool]) -> None:
    end = time.monotonic() + LONG
    while not met():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)


def test_each_store_is_answered_as_by_itself_and_few_are_open(places: dict[str, Place]) -> None:
    alone = {name: memdb("recall", "kettle", "--store", name) for name in places}
    together = memdb("recall", "kettle", "--all-stores", "--json")
    with served(places, most=2) as servers:
        assert servers.pool.open == []
        for name in ("home", "lab", "work", "home"):
            assert memdb("recall", "kettle", "--store", name) == alone[name]
        assert servers.pool.open == ["work", "home"]
        assert [servers._servers[name].answered for name in places] == [2, 1, 1]
        assert memdb("recall", "kettle", "--all-stores", "--json") == together
        assert sum(server.answered for server in servers._servers.values()) == 7
    assert not any(place.served.exists() for place in places.values())


def test_a_hook_is_answered_once_its_store_is_ready(places: dict[str, Place]) -> None:
    with served(places) as servers:
        payload = json.dumps({"prompt": "kettle", "session_id": "1"}).encode()
        words = ("hook", "run", "--root", places["lab"].root, "--seconds", "50")
        assert "The kettle at lab is red." in memdb(*words, stdin=payload).out  # opened here: the model is being loaded
        until(servers._servers["lab"]._ready.is_set)
        other = json.dumps({"prompt": "kettle", "session_id": "2"}).encode()
        assert "The kettle at lab is red." in memdb(*words, stdin=other).out
        assert servers._servers["lab"].answered == 2
        assert servers.pool.open == ["lab"]


def test_one_is_stopped_alone_and_the_last_ends_the_process(places: dict[str, Place]) -> None:
    servers = Servers(places)
    servers.start()
    thread = threading.Thread(target=servers.run, daemon=True)
    thread.start()
    assert memdb("serve", "--stop", "--store", "lab").code == 0
    assert not places["lab"].served.exists()
    assert memdb("serve", "--status", "--store", "work").code == 0
    said = memdb("serve", "--status", "--all-stores", "--json").json["stores"]
    assert [(one["name"], one["running"]) for one in said] == [("home", True), ("lab", False), ("work", True)]
    assert memdb("serve", "--stop", "--all-stores").out.count("stopped") == 2
    thread.join(LONG)
    assert not thread.is_alive()
    servers.close()
    assert (
        memdb("serve", "--stop", "--all-stores").code == memdb("serve", "--status", "--all-stores", "--json").code == 3
    )


def test_what_cannot_be_served_keeps_no_other_back(places: dict[str, Place], tmp_path: Path) -> None:
    (tmp_path / "lab").rename(tmp_path / "gone")
    with served({"work": places["work"]}), served(places) as servers:
        assert {name: error.code for name, error in servers.failed.items()} == {"lab": "not_found", "work": "busy"}
        assert list(servers._servers) == ["home"]
    with pytest.raises(NotFound):
        Servers({"lab": places["lab"]}).start()


def test_it_ends_when_nothing_is_asked(places: dict[str, Place]) -> None:
    servers = Servers(places, idle=0.1)
    servers.start()
    assert servers.run() == "idle"
    servers.close()


def test_the_process_serves_all_named_stores_and_ends_as_it_is_told(places: dict[str, Place]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "memdb_cli", "serve", "--all-stores", "--no-watch", "--json"], stdout=subprocess.PIPE,
        creationflags=subprocess.CREATE_NEW_PROCESS_GROUP if sys.platform == "win32" else 0,
    )  # fmt: skip
    try:
        until(lambda: all(place.served.exists() for place in places.values()))
        assert warm.ask(places["work"], {"do": "status"}, seconds=LONG)["pid"] == process.pid
        process.send_signal(signal.CTRL_BREAK_EVENT if sys.platform == "win32" else signal.SIGTERM)
        out, _ = process.communicate(timeout=LONG)
    finally:
        process.kill()
    assert process.returncode == 0
    assert [one["name"] for one in json.loads(out)["stores"]] == ["home", "lab", "work"]


# A folder that was moved while it is served


@pytest.mark.skipif(sys.platform == "win32", reason="there a folder with open files cannot be moved")
def test_a_process_that_nobody_finds_any_more_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "GONE_SECONDS", 0.1)
    place = settings.place(make(tmp_path / "before"))
    server = Server(place)
    server.start()
    threading.Timer(0.3, lambda: place.root.rename(tmp_path / "after")).start()
    assert server.run() == "gone"
    server.close()
    moved = Server(settings.place(tmp_path / "after"))
    moved.start()
    moved.close()


@pytest.mark.skipif(sys.platform == "win32", reason="there a folder with open files cannot be moved")
def test_the_warm_process_of_the_old_place_is_not_asked_from_the_new_one(tmp_path: Path) -> None:
    place = settings.place(make(tmp_path / "before", user__kettle="The kettle is red.\n"))
    server = Server(place)
    server.start()
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        until(server._ready.is_set)
        place.root.rename(tmp_path / "after")
        moved = settings.place(tmp_path / "after")
        with pytest.raises(warm.NoAnswer) as error:
            warm.ask(moved, {"do": "status"}, seconds=LONG)
        assert "moved or copied" in str(error.value)
        (tmp_path / "after/user/kettle.md").write_text("The kettle is blue now.\n", encoding="utf-8")
        assert memdb("recall", "kettle", "--root", moved.root).code == 0
        with Store(moved) as store:
            assert store.show("user/kettle").body == "The kettle is blue now.\n"
        payload = json.dumps({"prompt": "kettle"}).encode()
        said = memdb("hook", "run", "--root", moved.root, "--seconds", "50", stdin=payload)
        assert "The kettle is blue now." in said.out
        assert server.answered == 0
        # It can still be told to end.
        assert warm.ask(moved, {"do": "stop"}, seconds=LONG, any_version=True)["pid"]
    finally:
        server.stop()
        thread.join(LONG)
        server.close()
