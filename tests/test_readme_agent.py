"""The README's way from the install to an agent that remembers, as it is written."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.test_readme import block

REPOSITORY = Path(__file__).parents[1]

LINES = [line for line in block("agent").splitlines() if not line.startswith(("```", "<!--"))]


def steps() -> list[tuple[str, list[str]]]:
    """The commands, each with what the README shows under it."""
    found: list[tuple[str, list[str]]] = []
    for line in LINES:
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    return found


def run(words: Sequence[str], folder: Path, data: bytes = b"") -> str:
    """Run a command and return what it prints."""
    done = subprocess.run(words, cwd=folder, input=data, capture_output=True, check=False, timeout=1200)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8").replace("\r\n", "\n")


def walk(memdb: Sequence[str], folder: Path) -> None:
    """Every command of the README but the install, with `memdb` as given; then what the agent itself would run."""
    for line, shown in steps():
        if line.startswith("pip "):
            continue
        said, _, command = line.rpartition(" | ")
        data = shlex.split(said)[1].encode() if said else b""
        words = [*memdb, *shlex.split(command)[1:]]
        printed = run(words, folder, data).rstrip("\n")
        if shown:
            assert printed == "\n".join(shown).strip("\n"), line
    hooks = json.loads((folder / ".claude/settings.local.json").read_text(encoding="utf-8"))["hooks"]
    [entry] = hooks["UserPromptSubmit"][0]["hooks"]
    asked = json.dumps({"prompt": "on which host does staging run?", "session_id": "2"}).encode()
    done = subprocess.run(
        entry["command"].removesuffix(" --serve"), shell=True, cwd=folder, input=asked, capture_output=True,
        check=True, timeout=120,
    )  # fmt: skip
    assert b"Staging runs on the host birch." in done.stdout


AGENT = """
import sys, anyio
from mcp import Client, StdioServerParameters, stdio_client

async def session(talk):
    server = StdioServerParameters(command=sys.executable, args=["-m", "memdb_cli", "mcp", "--root", "notes"])
    async with Client(stdio_client(server)) as client:
        return await talk(client)

async def first(client):
    await client.call_tool("remember", {"content": "Ines reviews what goes to staging.", "name": "user/ines"})

async def later(client):
    return (await client.call_tool("recall", {"query": "who reviews staging"})).content[0].text

anyio.run(session, first)
print(anyio.run(session, later))
"""


def remembers(python: str, folder: Path) -> None:
    """One session of an agent saves by the protocol, a later one recalls it, and so does the hook."""
    assert "Ines reviews what goes to staging." in run([python, "-c", AGENT], folder)
    asked = json.dumps({"prompt": "who reviews what goes to staging?", "session_id": "3"}).encode()
    words = [python, "-m", "memdb_cli", "hook", "run", "--root", "notes", "--seconds", "60"]
    assert "Ines reviews what goes to staging." in run(words, folder, asked)


def test_from_the_install_to_an_agent_that_remembers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mcp")
    monkeypatch.setenv("MEMDB_EMBEDDER", "off")
    monkeypatch.setenv("MEMDB_HOOK_SECONDS", "60")
    walk([sys.executable, "-m", "memdb_cli"], tmp_path)
    remembers(sys.executable, tmp_path)


@pytest.mark.slow
def test_the_same_from_the_install_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an environment of its own, by the README's own line: it fetches packages from the index."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("MEMDB_HOOK_SECONDS", "60")
    venv.create(tmp_path / "env", with_pip=True)
    programs = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    python = str(programs / "python")
    [install] = [line for line, _ in steps() if line.startswith("pip ")]
    run([python, "-m", "pip", "install", "--quiet", *shlex.split(install)[2:]], REPOSITORY)
    folder = tmp_path / "project"
    folder.mkdir()
    walk([str(programs / "memdb")], folder)
    remembers(python, folder)
    entry = (folder / ".claude/settings.local.json").read_text(encoding="utf-8")
    assert re.search(r"env.+memdb_cli.+start\.py hook run", entry)
