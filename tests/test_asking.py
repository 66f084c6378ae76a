"""The client that a hook asks with: the same JSON, proofs, places and settings as everyone's, of fewer imports."""

from __future__ import annotations

import hmac
import json
import os
import subprocess
import sys
import threading
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memdb_cli
from memdb.base import asking, settings
from memdb.base.place import at
from memdb.serving import hook, light
from memdb.serving.server import Server
from memdb_cli import prompt
from tests.cli_support import make

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.sampled_from(["", " ", "\n\t", "\r\n"]))
def test_json_is_read_and_written_as_by_json(value: Any, blank: str) -> None:
    assert asking.dumps(value) == json.dumps(value)
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=2)):
        assert asking.loads(f"{blank}{text}{blank}") == value


@pytest.mark.parametrize(
    "text", ["", " ", "{", "[1", '{"a" 1}', "nul", "{} {}", "'a'", "[1,]", '"\n"', "\ufeff{}", "{}x", "01", "-"]
)
def test_what_is_no_json(text: str) -> None:
    with pytest.raises(ValueError):
        json.loads(text)
    with pytest.raises(ValueError):
        asking.loads(text)


def test_what_cannot_be_json() -> None:
    with pytest.raises(TypeError):
        asking.dumps({"a": b"bytes"})
    assert asking.loads("[1e400, Infinity, -Infinity]") == json.loads("[1e400, Infinity, -Infinity]")


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=200), st.sampled_from(["server", "client"]))
def test_a_proof_is_an_hmac(token: str, side: str) -> None:
    expected = hmac.new(token.encode(), f"{side} n".encode(), sha256).hexdigest()
    assert asking.proof(token, side, "n") == expected


@pytest.mark.parametrize("database", [None, "elsewhere.db", ".memdb/memory.db", "dähm.db"])
def test_the_file_of_a_warm_process_is_that_of_the_place(tmp_path: Path, database: str | None) -> None:
    place = at(tmp_path, tmp_path / database if database else None)
    assert asking.file_of(str(place.home), str(place.database)) == str(place.served)


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({}, "project/src/deep"),
        ({}, "project"),
        ({}, "elsewhere"),
        ({}, "no/such/folder"),
        ({}, None),
        ({"MEMDB_ROOT": "named"}, "project"),
        ({"MEMDB_HOME": "home"}, "elsewhere"),
        ({"XDG_DATA_HOME": "data"}, "elsewhere"),
    ],
)
def test_the_folder_is_that_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], folder: str | None
) -> None:
    for name in ("MEMDB_ROOT", "MEMDB_HOME", "MEMDB_STORE", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    for one in ("project/src/deep", "project/.memdb", "elsewhere"):
        (tmp_path / one).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "elsewhere")
    start = tmp_path / folder if folder else None
    found = light.root_of(str(start) if start else None)
    expected = settings.find_root(start if start is not None and start.is_dir() else Path.cwd())
    assert found is None or Path(found).expanduser() == expected
    assert found is not None or os.name != "posix"
    monkeypatch.setenv("MEMDB_STORE", "work")
    assert light.root_of(None) is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('hook_seconds = "3.5"', "3.5"),
        ("hook_seconds=4", "4"),
        ('hook_seconds = "3" # why', "3"),
        ("# hook_seconds = 3", None),
        ("", None),
    ],
)
def test_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, expected: str | None) -> None:
    (tmp_path / "config.toml").write_text(f'id = "x"\n{line}\nother = "1"\n')
    assert light.setting(str(tmp_path / "config.toml"), "hook_seconds") == expected
    assert light.setting(str(tmp_path / "none.toml"), "hook_seconds") is None
    monkeypatch.setenv("MEMDB_HOOK_SECONDS", "9")
    assert light.setting(str(tmp_path / "none.toml"), "hook_seconds") == "9"


HEAVY = ("json", "socket", "pathlib", "typing", "re", "hashlib", "hmac", "threading", "memdb.store", "memdb.base.place")


def test_a_warm_hook_imports_next_to_nothing(tmp_path: Path, no_model: None) -> None:
    root = make(tmp_path / "notes")
    server = Server(at(root), idle=0)
    server.start()
    serving = threading.Thread(target=server.run)
    serving.start()
    try:
        server._ready.wait(20)
        file = Path(memdb_cli.__file__).with_name("start.py")
        words = ["hook", "run", "--root", str(root), "--seconds", "50"]
        done = subprocess.run(
            [sys.executable, "-S", "-X", "importtime", str(file), *words],
            input=b'{"prompt": "tables"}', capture_output=True, check=True, timeout=60,
        )  # fmt: skip
    finally:
        server.stop()
        serving.join()
        server.close()
    assert b"[feedback/prefers-tables]" in done.stdout
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert "memdb.base.asking" in imported
    assert imported.isdisjoint(HEAVY)
    assert server.answered == 1


@pytest.mark.parametrize("data", [b"", b"no json", b"[]", b"{", b'"x"'])
def test_what_is_no_question_asks_nobody(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "ask", lambda *_, **__: pytest.fail("it asks"))
    monkeypatch.setattr(prompt, "_slowly", lambda *_: pytest.fail("it looks"))
    assert prompt.run([], data) == 0


def test_what_goes_wrong_is_done_the_slow_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow: list[bytes | None] = []
    monkeypatch.setattr(prompt, "_slowly", lambda words, data, started: slow.append(data) or 0)
    monkeypatch.setattr(asking, "ask", lambda *_, **__: 1 / 0)
    assert prompt.run(["--root", str(tmp_path)], b'{"prompt": "x"}') == 0
    assert slow == [b'{"prompt": "x"}']
    assert hook.read(slow[0] or b"") is not None
