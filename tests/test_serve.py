"""The warm process: the same answers, found and believed only where it is the right one, and gone when it should be."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memdb.base import files, settings, warm
from memdb.base.place import Place
from memdb.errors import Busy, MemdbError
from memdb.services.files.following import Followed, Tell
from memdb.services.recall import wire
from memdb.serving.server import Server
from memdb.store import Store
from tests.cli_support import make, memdb, process, write

pytestmark = pytest.mark.usefixtures("no_model")

LONG = 30.0
"""Seconds until a test gives up waiting for what should take a fraction of one."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return settings.place(make(tmp_path / "notes"))


@contextmanager
def served(place: Place, **options: Any) -> Iterator[Server]:
    """A server of a place in a thread, ended at the end."""
    server = Server(place, **options)
    server.start()
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert server._ready.wait(LONG)
    try:
        yield server
    finally:
        server.stop()
        thread.join(LONG)
        server.close()
        assert not thread.is_alive()


def until(met: Callable[[], bool]) -> None:
    end = time.monotonic() + LONG
    while not met():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)


def recall_request(query: str, **options: Any) -> dict[str, Any]:
    filters = {"types": [], "tags": [], "kinds": []}
    return {"do": "recall", "query": query, "filters": filters, "options": options, "budget": None}


def ask(place: Place, request: dict[str, Any]) -> dict[str, Any]:
    return warm.ask(place, request, seconds=LONG)


# The same answers


COMMANDS = [
    ("recall", "tables for comparisons"),
    ("recall", "tables", "--json"),
    ("recall", "tables", "--explain", "-n", "1"),
    ("recall", "tables", "--format", "prompt"),
    ("recall", "tables", "--format", "prompt", "--budget", "300", "--json"),
    ("recall", "tables", "--format", "prompt", "--budget", "1"),
    ("recall", "tables", "--type", "project"),
    ("recall", "tables", "--tag", "style", "--no-entity", "--hops", "0", "--json"),
    ("recall", "quantum chromodynamics"),
    ("recall", "", "--json"),
    ("recall", "pumps", "--kind", "chunk", "--json"),
    ("recall", "pumps", "--document", "guide.md", "--json"),
    ("recall", "pumps", "--document", "no-such.md"),
    ("recall", "tables", "--since", "never"),
    ("recall", "tables", "-n", "0", "--json"),
    ("recall", "tables", "--sql"),
    ("recall", "tables \ud800 \x00", "--json"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_answers_the_same_with_and_without(place: Place, words: tuple[str, ...]) -> None:
    guide = place.root.parent / "guide.md"
    guide.write_text("# Pumps\n\nThe pumps of the house.\n")
    with Store(place) as store:
        store.add([guide])
    given = [word.replace("guide.md", str(guide)) for word in words]
    alone = memdb(*given, "--root", place.root)
    with served(place) as server:
        asked = memdb(*given, "--root", place.root)
        assert asked == alone
        assert server.answered == (0 if "--sql" in words else 1)


def test_answers_go_over_the_wire_unchanged(place: Place) -> None:
    with Store(place) as store:
        answer = store.recall("tables for comparisons")
    assert answer.hits
    assert wire.unpacked(json.loads(json.dumps(wire.packed(answer)))) == answer


def test_it_sees_what_changed_since(place: Place) -> None:
    with served(place):
        write(place.root, user__kettle="The kettle is red.\n")
        found = ask(place, recall_request("kettle"))["recall"]["hits"]
        assert [hit["id"] for hit in found] == ["user/kettle"]


def test_a_hook_is_answered_and_its_session_is_one_with_the_local_one(place: Place) -> None:
    payload = json.dumps({"prompt": "tables", "session_id": "1"}).encode()
    words = ("hook", "run", "--root", place.root, "--seconds", "50")
    with served(place) as server:
        assert "[feedback/prefers-tables]" in memdb(*words, stdin=payload).out
        assert server.answered == 1
        assert memdb(*words, stdin=payload).out == ""
    assert memdb(*words, stdin=payload).out == ""
    assert "[feedback/prefers-tables]" in memdb(*words, stdin=payload.replace(b'"1"', b'"2"')).out


def test_a_hook_does_not_look_at_the_files_while_they_are_read_for_the_first_time(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten thousand new notes are read by the one who follows them; a person's prompt does not wait for that."""
    is_asked, may_go_on = threading.Event(), threading.Event()

    def follow(_store: Store, tell: Tell, *, ended: threading.Event) -> None:
        assert may_go_on.wait(LONG)
        tell(Followed("failed", "The folder is gone."))
        is_asked.set()
        ended.wait(LONG)

    monkeypatch.setattr(Store, "follow", follow)
    request = {"do": "hook", "data": '{"prompt": "kettle"}', "budget": 4000}
    with served(place, watch=True):
        write(place.root, user__kettle="The kettle is red.\n")
        assert ask(place, request)["text"] == ""
        may_go_on.set()
        assert is_asked.wait(LONG)
        assert "[user/kettle]" in ask(place, request)["text"]  # nobody follows them: the hook looks itself


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_hook_looks_at_the_files_itself_once_nobody_follows_them(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the follower ended before it could say so."""

    def follow(*_: Any, **__: Any) -> None:
        raise MemdbError("The store cannot be opened.")

    monkeypatch.setattr(Store, "follow", follow)
    with served(place, watch=True) as server:
        assert server._follower is not None
        server._follower.join(LONG)
        write(place.root, user__kettle="The kettle is red.\n")
        request = {"do": "hook", "data": '{"prompt": "kettle"}', "budget": 4000}
        assert "[user/kettle]" in ask(place, request)["text"]


def test_a_hook_finds_what_changed_while_the_files_are_followed(place: Place) -> None:
    pytest.importorskip("watchfiles")
    with served(place, watch=True) as server:
        until(lambda: server._is_followed)
        write(place.root, user__kettle="The kettle is red.\n")

        def block() -> str:
            return str(ask(place, {"do": "hook", "data": '{"prompt": "kettle"}', "budget": 4000})["text"])

        until(lambda: "[user/kettle]" in block())


def test_while_the_model_loads_a_hook_is_answered_without_it(place: Place) -> None:
    with served(place) as server:
        server._ready.clear()
        with pytest.raises(warm.NoAnswer, match="being loaded"):
            ask(place, {"do": "hook", "data": '{"prompt": "x"}', "budget": 4000})


def test_other_settings_are_taken_up(place: Place) -> None:
    with served(place) as server:
        before = server.store
        settings.write_settings(place, settings.read_settings(place) | {"hook_bytes": "100"})
        assert ask(place, recall_request("tables"))["recall"]["hits"]
        assert server.store is not before


# Who is believed


def test_it_is_asked_only_by_who_knows_the_token(place: Place) -> None:
    with served(place) as server:
        assert server.info is not None
        with socket.create_connection((warm.HOST, server.info.port), LONG) as link:
            wired = warm.Wire(link, time.monotonic() + LONG)
            wired.send({"memdb": 1, "nonce": "n"})
            greeting = wired.receive()
            assert greeting["proof"] == warm.proof(server.info.token, "server", "n")
            wired.send({"proof": "0" * 64, "environment": {}, "request": {"do": "stop"}})
            with pytest.raises(OSError, match="closed"):
                wired.receive()
        # The proof of a server is none of a client.
        assert warm.proof("t", "server", "n") != warm.proof("t", "client", "n")
        assert not server._stop.is_set()


@pytest.mark.parametrize(
    "said",
    [b"", b"\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"{}\n{}\n", b"[]\n", b"\xff\n", b"{" * 100_000 + b"\n",
     b'{"nonce": "x"}\n{"proof": 1}\n'],
)  # fmt: skip
def test_nonsense_ends_its_connection_and_nothing_else(place: Place, said: bytes) -> None:
    with served(place) as server:
        assert server.info is not None
        with socket.create_connection((warm.HOST, server.info.port), LONG) as link:
            link.sendall(said)
            link.shutdown(socket.SHUT_WR)
            while link.recv(65536):
                pass
        assert ask(place, recall_request("tables"))["recall"]["hits"]


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"do": "dance"},
        {"do": "recall"},
        {"do": "hook", "budget": 1},
        recall_request("x", limit=0),
        {"do": "recall", "query": "x", "filters": {"no": 1}, "options": {}},
    ],
)
def test_a_request_that_cannot_be_answered_is_none(place: Place, request_: dict[str, Any]) -> None:
    with served(place):
        with pytest.raises(warm.NoAnswer):
            ask(place, request_)
        assert ask(place, recall_request("tables"))["recall"]["hits"]


def impostor(place: Place) -> tuple[socket.socket, list[bytes]]:
    """Another program behind the port of the file."""
    listening = socket.create_server((warm.HOST, 0))
    heard: list[bytes] = []

    def serve() -> None:
        link, _ = listening.accept()
        with link:
            heard.append(link.recv(65536))
            link.sendall(b'{"proof": "' + b"0" * 64 + b'", "nonce": "1"}\n')
            heard.append(link.recv(65536))

    threading.Thread(target=serve, daemon=True).start()
    warm.write_info(place, info_of(place)._replace(port=listening.getsockname()[1]))
    return listening, heard


def info_of(place: Place) -> warm.Info:
    import memdb as package

    return warm.Info(1, "token", os.getpid(), package.__version__, warm.PROTOCOL, str(place.database))


def test_another_program_on_its_port_learns_nothing(place: Place) -> None:
    listening, heard = impostor(place)
    with listening:
        answer = memdb("recall", "tables secretly", "--root", place.root)
    assert "feedback/prefers-tables" in answer.out
    assert b"secretly" not in b"".join(heard)
    assert b"token" not in b"".join(heard)


@pytest.mark.parametrize(
    "change",
    [{"port": 1}, {"port": 0}, {"port": 99_999}, {"version": "0.0.0"}, {"protocol": 99}],
    ids=json.dumps,
)
def test_a_stale_or_foreign_file_is_passed_over(place: Place, change: dict[str, Any]) -> None:
    alone = memdb("recall", "tables", "--root", place.root)
    warm.write_info(place, info_of(place)._replace(**change))
    assert memdb("recall", "tables", "--root", place.root) == alone
    with served(place):
        assert ask(place, recall_request("tables"))["recall"]["hits"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"port": "x"}', '{"port": 1}'])
def test_a_damaged_file_is_none(place: Place, content: str) -> None:
    place.served.parent.mkdir(exist_ok=True)
    place.served.write_text(content)
    assert warm.read_info(place) is None
    assert memdb("recall", "tables", "--root", place.root).code == 0


def test_a_server_that_hangs_is_not_waited_for_for_long(place: Place) -> None:
    with socket.create_server((warm.HOST, 0)) as hanging:
        warm.write_info(place, info_of(place)._replace(port=hanging.getsockname()[1]))
        begun = time.monotonic()
        with pytest.raises(warm.NoAnswer):
            warm.ask(place, {"do": "status"}, seconds=0.3)
        assert time.monotonic() - begun < 20


def test_other_settings_of_the_client_are_answered_by_itself(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    # The two sides are one process here: what differs is told apart by their words.
    with served(place):
        sides = iter([{"MEMDB_MODEL": "a"}, {"MEMDB_MODEL": "b"}])
        monkeypatch.setattr(warm, "environment", lambda: next(sides))
        with pytest.raises(warm.NoAnswer, match="other settings"):
            ask(place, recall_request("tables"))


def test_the_file_is_its_owner_s_alone_and_ignored_by_git(place: Place) -> None:
    with served(place):
        if os.name != "nt":
            assert place.served.stat().st_mode & 0o077 == 0
        assert "local/" in (place.home / ".gitignore").read_text().splitlines()
    assert not place.served.exists()


def test_one_process_serves_a_store(place: Place) -> None:
    with served(place):
        with pytest.raises(Busy, match="served already"):
            Server(place).start()
        assert ask(place, recall_request("tables"))["recall"]["hits"]
    with served(place):
        pass


def test_a_database_elsewhere_is_served_by_its_own(place: Place, tmp_path: Path) -> None:
    other = settings.place(place.root, tmp_path / "other.db")
    with served(place) as one, served(other) as two:
        assert place.served != other.served
        ask(other, recall_request("tables"))
        assert (one.answered, two.answered) == (0, 1)


# When it ends


def test_it_ends_when_nothing_is_asked(place: Place) -> None:
    server = Server(place, idle=0.2)
    server.start()
    assert server.run() == "idle"
    server.close()
    assert not place.served.exists()


def test_it_stays_while_a_writer_is_at_work(place: Place) -> None:
    write(place.root, user__kettle="The kettle is red.\n")
    with served(place), files.writer(place):
        block = ask(place, {"do": "hook", "data": '{"prompt": "tables"}', "budget": None})["text"]
        assert "[feedback/prefers-tables]" in block


def start(place: Place, *words: str) -> subprocess.Popen[bytes]:
    """The command as a process, serving."""
    command = [sys.executable, "-m", "memdb_cli", "serve", "--root", str(place.root), *words]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def answers() -> bool:
        assert started.poll() is None, started.communicate()
        try:
            return bool(warm.ask(place, {"do": "status"}, seconds=1.0)["warm"])
        except warm.NoAnswer:
            return False

    until(answers)
    return started


@pytest.mark.parametrize("how", ["term", pytest.param("interrupt", marks=pytest.mark.slow), "stop"])
def test_the_process_ends_as_it_is_told(place: Place, how: str) -> None:
    if os.name == "nt" and how != "stop":
        pytest.skip("Windows has no such signals for another process")
    started = start(place)
    try:
        status = memdb("serve", "--status", "--json", "--root", place.root).json
        assert (status["running"], status["pid"], status["warm"]) == (True, started.pid, True)
        assert process("recall", "tables", "--root", place.root).out.startswith("1  feedback/prefers-tables")
        assert warm.ask(place, {"do": "status"}, seconds=LONG)["answered"] == 1
        second = memdb("serve", "--root", place.root)
        assert (second.code, "served already" in second.err) == (8, True)
        if how == "stop":
            assert memdb("serve", "--stop", "--root", place.root).out == f"stopped: process {started.pid}\n"
        else:
            started.send_signal(signal.SIGTERM if how == "term" else signal.SIGINT)
        _, said = started.communicate(timeout=LONG)
        assert started.returncode == 0, said
        assert said.decode().splitlines()[-1] == "ended"
    finally:
        started.kill()
        started.wait()
    assert not place.served.exists()
    assert memdb("serve", "--status", "--root", place.root).code == 3
    assert memdb("serve", "--stop", "--root", place.root).code == 3


def test_a_killed_process_leaves_a_file_that_nobody_minds(place: Place) -> None:
    started = start(place)
    started.kill()
    started.communicate()
    assert place.served.exists()
    status = memdb("serve", "--status", "--json", "--root", place.root)
    assert (status.code, status.json["running"], status.json["stale"]) == (3, False, True)
    assert "feedback/prefers-tables" in memdb("recall", "tables", "--root", place.root).out
    with served(place):
        assert ask(place, recall_request("tables"))["recall"]["hits"]
    assert not place.served.exists()


def test_a_hook_starts_it(place: Place) -> None:
    words = [sys.executable, "-m", "memdb_cli", "hook", "run", "--serve", "--seconds", "50", "--root", str(place.root)]
    first = subprocess.run(words, input=b'{"prompt": "tables"}', capture_output=True, check=True, timeout=60)
    assert b"[feedback/prefers-tables]" in first.stdout
    until(place.served.exists)
    info = warm.read_info(place)
    assert info is not None
    try:

        def is_ready() -> bool:
            try:
                return bool(warm.ask(place, {"do": "status"}, seconds=1.0)["warm"])
            except warm.NoAnswer:
                return False

        until(is_ready)
        again = subprocess.run(words, input=b'{"prompt": "tables"}', capture_output=True, check=True, timeout=60)
        assert again.stdout == first.stdout
        assert warm.ask(place, {"do": "status"}, seconds=LONG)["answered"] == 1
    finally:
        memdb("serve", "--stop", "--root", place.root)
    assert not place.served.exists()


@pytest.mark.parametrize("words", [("--status",), ("--stop",), ()])
def test_without_a_store(tmp_path: Path, words: tuple[str, ...]) -> None:
    answer = memdb("serve", *words, "--root", tmp_path)
    assert answer.code == 3
    assert "memdb init" in answer.err


def test_many_ask_at_once(place: Place) -> None:
    with served(place):
        answers: list[int] = []

        def one() -> None:
            for _ in range(5):
                answers.append(len(ask(place, recall_request("tables"))["recall"]["hits"]))

        threads = [threading.Thread(target=one) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONG)
    assert len(answers) == 100
    assert len(set(answers)) == 1


@pytest.mark.model
def test_a_warm_process_has_the_model_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastembed")
    monkeypatch.delenv("MEMDB_EMBEDDER")
    place = settings.place(make(tmp_path / "notes"))
    alone = memdb("recall", "how to lay out options", "--json", "--root", place.root)
    with served(place) as server:
        assert server.store.is_warm
        assert memdb("recall", "how to lay out options", "--json", "--root", place.root) == alone
        assert server.answered == 1
    assert alone.json["arms"]["vector"]["state"] == "on"
