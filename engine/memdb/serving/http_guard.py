"""Who may speak HTTP to a server of this machine: whoever knows its token, and no page of a browser that came by."""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Refuse = Callable[[Send, int, str, str], Awaitable[None]]
"""Sends a refusal: its status, code and message."""


def local_hosts(port: int) -> tuple[str, ...]:
    """What a Host header of this machine says for a port."""
    return f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"


def foreign(scope: Scope, hosts: Collection[str]) -> tuple[int, str, str] | None:
    """Why a request comes from elsewhere, as status, code and message; None where it names one of the hosts, as its
    Origin does, if it has one.
    """
    headers: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.lower(), []).append(value)
    named = [value.decode("latin-1").casefold() for value in headers.get(b"host", [])]
    if len(named) != 1 or named[0] not in hosts:
        return 421, "foreign_host", "This server answers only to the name of this machine."
    origins = [value.decode("latin-1").casefold() for value in headers.get(b"origin", [])]
    if any(origin not in {f"http://{host}" for host in hosts} for origin in origins):
        return 403, "foreign_origin", "Pages of other sites may not ask this server."
    return None


class Guard:
    """An ASGI app around another one: 421 for a foreign Host, 403 for a foreign Origin, 401 without the token.

    A page that has its own name resolve to this machine sends its name as Host, and every page sends its own Origin.
    `refuse` says it in the shape that errors of the app have.
    """

    def __init__(self, app: App, *, hosts: Collection[str], token: str | None, refuse: Refuse | None = None) -> None:
        self._app, self._token, self._refuse = app, token, refuse or _answer
        self._hosts = {host.casefold() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may come in."""
        if scope["type"] == "http":
            refusal = self._refusal(scope)
            if refusal is not None:
                await self._refuse(send, *refusal)
                return
        elif scope["type"] != "lifespan":
            return  # nothing here speaks websockets
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str, str] | None:
        refused = foreign(scope, self._hosts)
        if refused is not None:
            return refused
        if self._token is not None:
            given = b" ".join(value for name, value in scope["headers"] if name.lower() == b"authorization")
            if not hmac.compare_digest(given, b"Bearer " + self._token.encode()):
                return 401, "no_token", "Give the token of this server as `Authorization: Bearer TOKEN`."
        return None


async def _answer(send: Send, status: int, code: str, message: str) -> None:
    body = json.dumps({"error": {"code": code, "message": message, "hint": None}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
