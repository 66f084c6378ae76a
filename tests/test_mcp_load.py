"""The MCP server over HTTP, as a process: every tool, malformed calls, and a thousand calls without a leak."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("mcp")

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from memdb.base.place import Place
from memdb.mcp_server import server as mcp_server
from memdb.store import Store

pytestmark = pytest.mark.usefixtures("no_model")

CLIENTS, CALLS = 8, 125

ROUND: list[tuple[str, dict[str, Any]]] = [
    ("recall", {"q": "kettles"}),
    ("read", {"id": "note-7"}),
    ("remember", {"name": "user/kept", "content": "The kept kettle is blue.", "replace": True}),
    ("relate", {"source": "note-8", "target": "note-9"}),
    ("explain", {"query": "tea", "limit": 3}),
    ("review", {}),
    ("status", {}),
]
"""Every tool once, as agents call it."""

WRONG: list[tuple[str, dict[str, Any]]] = [
    ("read", {"id": "none"}),
    ("recall", {}),
    ("recall", {"query": "x", "limit": "many"}),
    ("remember", {"content": "x", "name": "../../etc/passwd"}),
    ("no_such_tool", {"a": [None, {"b": 1}]}),
]


class Served(NamedTuple):
    """A server that runs: its process, its address, its token."""

    process: subprocess.Popen[str]
    url: str
    token: str


@contextmanager
def served(place: Place) -> Iterator[Served]:
    command = [sys.executable, "-m", "memdb_cli", "mcp", "--http", "--root", str(place.root)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r"http://\S+", said)
        assert found, said
        yield Served(process, found[0], mcp_server.read_token(place))
    finally:
        process.terminate()
        out, err = process.communicate(timeout=30)
        assert (out, process.returncode) == ("", 0), err


@asynccontextmanager
async def client_of(server: Served) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {server.token}"}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http,
        Client(streamable_http_client(server.url, http_client=http)) as client,
    ):
        yield client


@pytest.fixture
def store(make_store: Callable[..., Store]) -> Store:
    return make_store({f"user/note-{n}.md": f"Note {n} about kettles and tea number {n}.\n" for n in range(40)})


def test_over_http_every_tool_answers_and_what_is_wrong_is_said(store: Store) -> None:
    async def run(server: Served) -> None:
        async with client_of(server) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == {tool for tool, _ in ROUND}
            for tool, arguments in ROUND:
                result = await client.call_tool(tool, arguments)
                assert not result.is_error, (tool, result)
                assert result.content and result.structured_content
            for tool, arguments in WRONG:
                result = await client.call_tool(tool, arguments)
                assert result.is_error, (tool, arguments)
                assert result.structured_content["error"]["hint"]
            assert len((await client.list_resources()).resources) == 41
            assert (await client.get_prompt("remembering")).messages
            with pytest.raises(MCPError):
                await client.read_resource("memdb://memory/user/none")

    with served(store.place) as server:
        anyio.run(run, server)
    assert (store.place.root / "user/kept.md").read_text().endswith("The kept kettle is blue.\n")


@contextmanager
def shown(place: Place) -> Iterator[Served]:
    """The server of `memdb ui`, which speaks the protocol too."""
    pytest.importorskip("datasette")
    command = [sys.executable, "-m", "memdb_cli", "ui", "--root", str(place.root), "--no-browser", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            line = process.stdout.readline()
            assert line, "it ended"
            text += line
        said = json.loads(text)
        yield Served(process, re.sub(r"(http://[^/]+)/.*", r"\1/mcp", said["url"]), mcp_server.read_token(place))
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_the_explorers_server_speaks_it_too(store: Store) -> None:
    async def run(server: Served) -> None:
        async with client_of(server) as client:
            for tool, arguments in ROUND:
                result = await client.call_tool(tool, arguments)
                assert not result.is_error, (tool, result)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with pytest.raises(urllib.error.HTTPError, match="401") as refused:
            opener.open(urllib.request.Request(server.url, b"{}", method="POST"), timeout=30)
        refused.value.close()
        with opener.open(server.url.replace("/mcp", "/memory/status"), timeout=30) as answer:
            assert answer.status == 200

    with shown(store.place) as server:
        anyio.run(run, server)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"this is no JSON", 400, -32700),
        (b"[]", 400, None),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 7}}', 200, -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "no/such/method", "params": {}}', 200, -32601),
        (b'{"id": 1}', 400, None),
    ],
)
def test_a_malformed_call_is_answered(served_once: Served, body: bytes, status: int, code: int | None) -> None:
    request = urllib.request.Request(
        served_once.url, body, method="POST",
        headers={
            "Authorization": f"Bearer {served_once.token}", "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        },
    )  # fmt: skip
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=30) as answer:
            got, said = answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            got, said = error.code, json.loads(error.read())
    assert (got // 100, said["error"]["code"] if code else None) == (status // 100, code), said


@pytest.fixture(scope="module")
def served_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_EMBEDDER", "off")
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        with Store.init(tmp_path_factory.mktemp("served")) as made:
            place = made.place
        with served(place) as server:
            yield server


class Held(NamedTuple):
    """What a process holds."""

    kilobytes: int
    threads: int
    files: int


def held(process: int) -> Held:
    book = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    said = {name: value for name, _, value in (line.partition(":") for line in book.splitlines())}
    files = len(list(Path(f"/proc/{process}/fd").iterdir()))
    return Held(int(said["VmRSS"].split()[0]), int(said["Threads"]), files)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="what a process holds is read from /proc")
def test_a_thousand_mixed_calls_from_eight_clients_leave_nothing(store: Store) -> None:
    mix = [(tool, arguments, False) for tool, arguments in ROUND] + [(*wrong, True) for wrong in WRONG]
    made = 0

    async def one(server: Served, number: int, calls: int) -> None:
        nonlocal made
        async with client_of(server) as client:
            for index in range(calls):
                tool, arguments, is_wrong = mix[(index + number) % len(mix)]
                result = await client.call_tool(tool, arguments)
                assert result.is_error is is_wrong, (tool, arguments, result)
                made += 1

    async def run(server: Served, calls: int) -> None:
        async with anyio.create_task_group() as group:
            for number in range(CLIENTS):
                group.start_soon(one, server, number, calls)

    with served(store.place) as server:
        anyio.run(run, server, len(mix))  # the first of each fills the caches
        time.sleep(1)
        before, made = held(server.process.pid), 0
        anyio.run(run, server, CALLS)
        time.sleep(1)
        after = held(server.process.pid)
    print(f"{made} calls from {CLIENTS} clients, no error; before {before}, after {after}")
    assert made == CLIENTS * CALLS == 1000
    assert after.kilobytes < before.kilobytes + 20_000
    assert after.threads <= before.threads + 2
    assert after.files <= before.files + 4
