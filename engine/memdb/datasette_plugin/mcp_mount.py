"""The Model Context Protocol on the explorer's server, where the extra `mcp` is installed: one port for both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from importlib.util import find_spec
from typing import TYPE_CHECKING

from memdb.serving.http_guard import App, Receive, Scope, Send

if TYPE_CHECKING:
    from memdb.store import Store

PATH = "/mcp"


def with_mcp(app: App, store: Callable[[], Store], hosts: Collection[str]) -> App:
    """An app that answers the protocol at `/mcp`, to those who know the store's token, and leaves the rest to another.

    The token is that of `memdb mcp --http`, so that a client is set up once. The store is opened at the start.
    """
    if find_spec("mcp") is None or find_spec("mcp_types") is None:
        return app
    from memdb.mcp_server import server  # noqa: PLC0415 (an extra, and a second to import)

    spoken: list[App] = []

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            opened = await asyncio.to_thread(store)
            token = await asyncio.to_thread(server.read_token, opened.place)
            mounted = server.http_app(opened, hosts=hosts, token=token, path=PATH)
            async with mounted.lifespan():
                spoken.append(mounted)
                await app(scope, receive, send)
        elif scope["type"] == "http" and scope["path"] == PATH and spoken:
            await spoken[0](scope, receive, send)
        else:
            await app(scope, receive, send)

    return answer
