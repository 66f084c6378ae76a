"""`memdb ui`: a real server on a port of this machine, for one store, found again and ended by its process id."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memdb.base.place import Place
from memdb.datasette_plugin import serving
from memdb.errors import UsageError
from memdb.store import Store
from memdb_cli.main import run
from tests.conftest import write_files

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(url: str, **headers: str) -> tuple[int, bytes]:
    try:
        with OPENER.open(urllib.request.Request(url, headers=headers), timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


@pytest.fixture
def root(tmp_path: Path, no_model: None) -> Path:
    write_files(tmp_path / "notes", {"user/ada.md": "Ada Wren sails.\n"})
    with Store.init(tmp_path / "notes") as store:
        store.sync()
    return tmp_path / "notes"


def test_without_the_extra_it_says_how_to_get_it(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "memdb.datasette_plugin.serving")
    monkeypatch.delattr("memdb.datasette_plugin.serving")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert run(["ui", "--root", str(root), "--json"]) == 2
    assert "memdb-engine[ui]" in json.loads(capsys.readouterr().out)["error"]["hint"]


def test_a_port_that_is_taken_is_walked_past_and_not_taken_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"The port {port} cannot be used"):
            serving.open_port(port)
        monkeypatch.setattr(serving, "FIRST_PORT", port)
        with serving.open_port(None) as found:
            assert port < found.getsockname()[1] < port + serving.PORTS
        monkeypatch.setattr(serving, "PORTS", 1)
        with pytest.raises(UsageError, match="is free"):
            serving.open_port(None)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"port": "x"}', "{}"])
def test_a_damaged_file_is_no_server(root: Path, content: str) -> None:
    place = Place(root, root / ".memdb" / "memory.db")
    file = serving.info_file(place)
    file.parent.mkdir(exist_ok=True)
    file.write_text(content, encoding="utf-8")
    assert serving.running(place) is None


def test_a_dead_servers_port_is_not_believed(root: Path) -> None:
    place = Place(root, root / ".memdb" / "memory.db")
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.close()
    info = serving.Info(9, 1, "a-token", str(place.database), "memory")
    serving.info_file(place).parent.mkdir(exist_ok=True)
    serving.info_file(place).write_text(json.dumps(info._asdict()), encoding="utf-8")
    assert serving.running(place) is None


@pytest.fixture
def started(root: Path) -> Iterator[dict[str, Any]]:
    words = [sys.executable, "-m", "memdb_cli", "ui", "--root", str(root), "--no-browser", "--json"]
    flags = subprocess.CREATE_NEW_PROCESS_GROUP if sys.platform == "win32" else 0
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, creationflags=flags)
    assert process.stdout is not None
    text = ""
    while not text.rstrip().endswith("}"):
        line = process.stdout.readline()
        assert line, "it ended"
        text += line
    yield {"process": process, "said": json.loads(text)}
    if process.poll() is None:
        process.kill()
    process.wait(20)
    process.stdout.close()


@pytest.mark.slow
def test_a_server_serves_is_found_again_and_ends(
    root: Path, started: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    said, process = started["said"], started["process"]
    assert said["running"] is False
    assert (said["pid"], said["port"] >= 4097) == (process.pid, True)
    end = time.monotonic() + 20
    place = Place(root.resolve(), root.resolve() / ".memdb" / "memory.db")
    while serving.running(place) is None and time.monotonic() < end:
        time.sleep(0.1)
    status, page = ask(said["url"])
    assert (status, said["token"].encode() in page) == (200, True)
    base = said["url"].partition("/explorer")[0]
    assert said["token"].encode() not in ask(f"{base}/explorer")[1]
    assert json.loads(ask(f"{base}/node/user%2Fada")[1])["label"] == "ada"
    assert ask(f"{base}/memories", Accept="text/html")[0] == 200
    for path in ("/memories", "/graph", "/explorer"):
        assert ask(f"{base}{path}", Host="evil.example")[0] == 421
    file = serving.info_file(place)
    if os.name == "posix":
        assert file.stat().st_mode & 0o077 == 0
    assert run(["ui", "--root", str(root), "--no-browser", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["running"], again["url"], again["pid"]) == (True, said["url"], process.pid)
    process.send_signal(signal.CTRL_BREAK_EVENT if sys.platform == "win32" else signal.SIGINT)
    assert process.wait(20) == 0
    assert not file.exists()


@pytest.mark.slow
def test_an_open_stream_does_not_keep_it_from_ending(root: Path, started: dict[str, Any]) -> None:
    base = started["said"]["url"].partition("/explorer")[0]
    with OPENER.open(f"{base}/changes", timeout=20) as stream:
        assert stream.readline() == b"event: change\n"
        started["process"].send_signal(signal.CTRL_BREAK_EVENT if sys.platform == "win32" else signal.SIGINT)
        began = time.monotonic()
        assert started["process"].wait(20) == 0
        assert time.monotonic() - began < 10
