"""The MCP server of several stores: each call names one, or means the first; results say which; any may be missing."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

import anyio
import httpx2
import mcp_types as types
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from memdb.base import named, settings
from memdb.mcp_server import server as mcp_server
from memdb.mcp_server.tools import tools
from memdb.store import Store
from memdb.stores import Stores, open_all
from tests.cli_support import make

pytestmark = pytest.mark.usefixtures("no_model")


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    """Two named stores, work and home; work is the first."""
    named.add("work", make(tmp_path / "work", user__kettle="The kettle of the office is red.\n"))
    named.add("home", make(tmp_path / "home", user__kettle="The kettle is blue.\n", user__a_b="The lamp is green.\n"))
    (tmp_path / "guide.txt").write_text("The boiler is serviced in May.\n", encoding="utf-8")
    with Store(named.find("home").place) as store:
        store.add([tmp_path / "guide.txt"])
    with open_all(["work", "home"]) as found:
        yield found


def drive(served: Stores, talk: Callable[[Client], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with Client(mcp_server.server(served)) as client:
            return await talk(client)

    return anyio.run(run)


def call(served: Stores, tool: str, **arguments: Any) -> types.CallToolResult:
    result = drive(served, lambda client: client.call_tool(tool, arguments))
    assert isinstance(result, types.CallToolResult)
    return result


def text(result: types.CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, types.TextContent)
    return content.text


def found(result: types.CallToolResult) -> list[tuple[str, str]]:
    assert not result.is_error, text(result)
    return [(hit["store"], hit["id"]) for hit in result.structured_content["hits"]]


def test_every_tool_takes_a_store_and_no_name_of_a_parameter_means_two(stores: Stores) -> None:
    shown = drive(stores, lambda client: client.list_tools()).tools
    assert len(shown) == 7
    for tool in shown:
        about = tool.input_schema["properties"]["store"]["description"]
        assert about.startswith("Which store: work, home; work if not given")
        assert ("all for all" in about) is (tool.name == "recall")
        assert "store" not in tool.input_schema["required"]
    for tool in tools(stores):
        names = [name for parameter in tool.parameters for name in (parameter.name, *parameter.others)]
        assert len(names) == len(set(names)), tool.name


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, [("work", "user/kettle")]),
        ({"store": "work"}, [("work", "user/kettle")]),
        ({"store": "Home"}, [("home", "user/kettle")]),
        ({"store_name": "home"}, [("home", "user/kettle")]),
        ({"store": "all"}, [("home", "user/kettle"), ("work", "user/kettle")]),
        ({"store": "*", "limit": 1}, [("home", "user/kettle")]),
    ],
)
def test_a_recall_asks_the_first_a_named_one_or_all(
    stores: Stores, arguments: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    result = call(stores, "recall", query="kettle blue", **arguments)
    assert found(result) == expected
    if arguments.get("store") in ("all", "*"):
        assert "(store home)" in text(result)
    else:
        assert result.structured_content["store"] == expected[0][0]
        assert text(result).endswith(f"Store: {expected[0][0]}")


def test_reading_writing_and_relating_stay_in_their_store(stores: Stores) -> None:
    assert "office" in text(call(stores, "read", id="user/kettle"))
    assert "blue" in text(call(stores, "read", id="user/kettle", store="home"))
    saved = call(stores, "remember", content="The cup is white.", name="user/cup", store="home")
    assert (saved.structured_content["store"], saved.structured_content["id"]) == ("home", "user/cup")
    assert (named.find("home").root / "user/cup.md").exists()
    assert not (named.find("work").root / "user/cup.md").exists()
    related = call(stores, "relate", source="user/cup", target="user/kettle", store="home")
    assert not related.is_error
    assert found(call(stores, "explain", query="kettle", store="home", limit=1)) == [("home", "user/kettle")]
    assert call(stores, "review", store="home").structured_content["store"] == "home"
    status = call(stores, "status")
    assert "; there are work, home, and work is the default" in text(status)
    assert [(one["name"], one["default"]) for one in status.structured_content["stores"]] == [
        ("work", True),
        ("home", False),
    ]


def test_an_unknown_and_a_missing_store_are_said(stores: Stores) -> None:
    unknown = call(stores, "recall", query="kettle", store="nowhere")
    assert (unknown.is_error, text(unknown).splitlines()[-1]) == (True, "There are work, home.")
    root = named.find("work").root
    stores.close()
    root.rename(root.with_name("gone"))
    with open_all(["work", "home"]) as again:
        assert call(again, "recall", query="kettle").is_error
        result = call(again, "recall", query="kettle", store="all")
        assert found(result) == [("home", "user/kettle")]
        assert "work: There is no store any more at" in text(result)


def test_to_decide_needs_the_leave_of_the_store_that_is_meant(stores: Stores) -> None:
    place = named.find("work").place
    settings.write_settings(place, settings.read_settings(place) | {"mcp_curation": "on"})
    assert call(stores, "review", forget="user/kettle", store="home").structured_content["error"]["code"] == "refused"
    assert not call(stores, "review", forget="user/kettle", store="work").is_error


def test_resources_of_all_stores_have_addresses(stores: Stores) -> None:
    async def talk(client: Client) -> tuple[list[str], list[str]]:
        uris = [str(one.uri) for one in (await client.list_resources()).resources]
        return uris, [(await client.read_resource(uri)).contents[0].text for uri in uris]

    uris, texts = drive(stores, talk)
    assert uris[:3] == [
        "memdb://memory/user/kettle",
        "memdb://memory/user/a-b?store=home",
        "memdb://memory/user/kettle?store=home",
    ]
    assert uris[3].startswith("memdb://document/document%3A") and uris[3].endswith("?store=home")
    assert texts == [
        "The kettle of the office is red.\n",
        "The lamp is green.\n",
        "The kettle is blue.\n",
        "The boiler is serviced in May.",
    ]


def test_the_command_serves_several_over_stdio(stores: Stores, tmp_path: Path) -> None:
    stores.close()
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "memdb_cli", "mcp", "--store", "work", "--store", str(tmp_path / "home"), "--no-watch"],
        env=dict(os.environ),
    )

    async def run() -> Any:
        async with Client(stdio_client(server)) as client:
            return await client.call_tool("recall", {"query": "kettle", "store": "all"})

    assert sorted(found(anyio.run(run))) == [("home", "user/kettle"), ("work", "user/kettle")]


def test_over_http_the_token_of_several_is_the_users(stores: Stores) -> None:
    serving = mcp_server.HttpServer(stores)
    assert serving.token_file == settings.user_folder() / "mcp-token"
    thread = threading.Thread(target=serving.run, daemon=True)
    thread.start()
    token = mcp_server.read_token(None)

    async def run() -> Any:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, trust_env=False) as http,
            Client(streamable_http_client(serving.url, http_client=http)) as client,
        ):
            return await client.call_tool("recall", {"query": "kettle", "store": "home"})

    try:
        assert found(anyio.run(run)) == [("home", "user/kettle")]
    finally:
        serving.stop()
        thread.join(30)
    assert not thread.is_alive()
