"""The explorer on a server: an ASGI app in front of Datasette that answers for the stores among its databases."""

from __future__ import annotations

import asyncio
import hmac
import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import apsw

from memdb.base import warm
from memdb.base.place import Place
from memdb.errors import MemdbError, UsageError
from memdb.explorer import answers, openapi, pages, parameters, routes, watching
from memdb.explorer.answers import HttpError, Receive, Scope, Send
from memdb.explorer.freshness import Freshness
from memdb.explorer.long_work import LongWork
from memdb.explorer.routes import Match, Route
from memdb.serving.http_guard import foreign, local_hosts
from memdb.store import Store

App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "::1", "localhost")

BODY_BYTES = 1_000_000
"""Of a request: a text that replaces two memories fits."""

QUIET = 15.0
"""Seconds after which a stream without events sends a comment: whoever stands between keeps it open."""

UNREADABLE = (apsw.Error, OSError)


class Served:
    """One store: opened once, with what goes on beside its calls."""

    def __init__(self, place: Place) -> None:
        self.store = Store(place)
        self.freshness = Freshness(self.store)
        self.watcher = watching.Watcher(self.store, self.freshness)
        self.work = LongWork(self.store)

    def close(self) -> None:
        """Stop watching and close the store."""
        self.watcher.close()
        self.freshness.close()
        self.store.close()


class Explorer:
    """Answers for the stores of one server. `place_of` says where the store of a database is, None of any other.

    Without a token nothing is written. `opener` shows a file to the person at this machine.
    """

    def __init__(self, place_of: Callable[[str], Place | None], *, token: str | None = None) -> None:
        self._place_of = place_of
        self.token = token
        self.opener: Callable[[Path], None] | None = None
        self._streams: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._served: dict[Place, Served] = {}
        self._guard = threading.Lock()

    def served(self, place: Place) -> Served:
        """The open store of a place. Raises what opening raises."""
        with self._guard:
            if place not in self._served:
                self._served[place] = Served(place)
            return self._served[place]

    def end_streams(self) -> None:
        """Have answers that never end end."""
        for loop, gone in list(self._streams):
            if not loop.is_closed():
                loop.call_soon_threadsafe(gone.set)

    def close(self) -> None:
        """Close all stores; the next request opens them again."""
        with self._guard:
            gone, self._served = list(self._served.values()), {}
        for one in gone:
            one.close()

    def around(self, app: App) -> App:
        """An app that answers what is the explorer's, and leaves the rest to another one."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan":
                await app(scope, self._noticing_end(receive), send)
            elif scope["type"] != "http" or not await self._answered(scope, receive, send):
                await app(scope, receive, send)

        return answer

    def _noticing_end(self, receive: Receive) -> Receive:
        async def noticing() -> Any:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                self.end_streams()
                await asyncio.to_thread(self.close)
            return message

        return noticing

    async def _answered(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Whether the request was the explorer's; then it is answered."""
        raw = scope.get("raw_path") or scope["path"].encode("utf-8")
        database, *segments = raw.decode("latin-1").partition("?")[0].split("/")[1:]
        place = self._place_of(database)
        if place is None or not segments:
            return False
        head = scope["method"] == "HEAD"
        try:
            found = routes.matches(_plain(segments))
            if not found or _is_for_datasette(scope, found):
                return False
            self._refuse_foreign(scope)
            match = _of_method(scope, found)
            await self._answer(Request(scope, receive, send, match=match, database=database, place=place))
        except MemdbError as error:
            await answers.send_error(send, error, head=head)
        except Exception as error:  # noqa: BLE001 (the last resort: one shape of errors, and the server lives on)
            fault = HttpError(500, "unexpected", f"Unexpected {type(error).__name__}: {error}",
                              hint="This is a fault of memdb. Please report it.")  # fmt: skip
            await answers.send_error(send, fault, head=head)
        return True

    def _refuse_foreign(self, scope: Scope) -> None:
        host, port = scope.get("server") or ("", None)
        if host not in LOOPBACK:
            raise HttpError(403, "not_local", "The explorer answers only on this machine.",
                            hint="Serve Datasette on 127.0.0.1, or run `memdb ui`.")  # fmt: skip
        hosts = local_hosts(port or 80)
        if port in (None, 80):
            hosts += tuple(name.rpartition(":")[0] for name in hosts)
        refused = foreign(scope, hosts)
        if refused is not None:
            raise HttpError(*refused)

    async def _answer(self, request: Request) -> None:
        route = request.match.route
        if route.writes:
            self._check_token(request)
        body = await request.body() if route.writes else {}
        given = parameters.values(route.parameters, request.match.path, request.query(), body)
        special: dict[str, Callable[[Request, Mapping[str, Any]], Awaitable[None]]] = {
            "page": self._page, "static": self._static, "alive": self._alive, "api": self._api,
            "openapi": self._openapi, "changes": self._changes, "open": self._open, "sync": self._long,
            "index": self._long,
        }  # fmt: skip
        if route.handler is None:
            await special[route.special](request, given)
            return
        value = await asyncio.to_thread(self._called, request.place, route, given)
        if route.pattern == "status":
            freshness = self.served(request.place).freshness
            value |= {"writes": self.token is not None, "followed": freshness.is_fresh(), "files": freshness.said}
        await request.send_json(value)

    def _called(self, place: Place, route: Route, given: Mapping[str, Any]) -> dict[str, Any]:
        assert route.handler is not None
        served = self.served(place)
        served.freshness.use()
        return {"ok": True} | route.handler(served.store, given)

    def _check_token(self, request: Request) -> None:
        if self.token is None:
            raise HttpError(403, "read_only", "This server only reads.", hint="`memdb ui` starts one that writes.")
        if not hmac.compare_digest(request.header("x-memdb-token"), self.token.encode()):
            raise HttpError(401, "no_token", "The token of this server is missing or another one.",
                            hint="Open the address that `memdb ui` printed; programs send X-Memdb-Token.")  # fmt: skip

    # What needs more than one call of the store

    async def _page(self, request: Request, given: Mapping[str, Any]) -> None:
        said = given["token"]
        knows = self.token is not None and said is not None and hmac.compare_digest(said.encode(), self.token.encode())
        await request.send(pages.page(self.token if knows else None), "text/html; charset=utf-8")

    async def _static(self, request: Request, given: Mapping[str, Any]) -> None:
        found = await asyncio.to_thread(pages.asset, given["name"])
        if found is None:
            raise HttpError(404, "not_found", "The page has no such file.")
        await request.send(*found)

    async def _alive(self, request: Request, given: Mapping[str, Any]) -> None:
        proof = None if self.token is None else warm.proof(self.token, "server", given["nonce"])
        await request.send_json({"ok": True, "proof": proof, "database": str(request.place.database)})

    async def _api(self, request: Request, given: Mapping[str, Any]) -> None:
        await request.send(openapi.page(request.database), "text/html; charset=utf-8")

    async def _openapi(self, request: Request, given: Mapping[str, Any]) -> None:
        await request.send_json(openapi.document(request.database))

    async def _open(self, request: Request, given: Mapping[str, Any]) -> None:
        if self.opener is None:
            raise HttpError(403, "read_only", "This server opens no files.", hint="`memdb ui` starts one that does.")
        opener = self.opener

        def shown() -> Path:
            file = self.served(request.place).store.documents.path(given["id"])
            opener(file)
            return file

        file = await asyncio.to_thread(shown)
        await request.send_json({"ok": True, "said": f"Opened {file.name}."})

    async def _changes(self, request: Request, given: Mapping[str, Any]) -> None:
        served = await asyncio.to_thread(self.served, request.place)
        if request.is_head:
            await request.send(b"", "text/event-stream; charset=utf-8")
            return
        await answers.begin_events(request.to)
        gone = asyncio.Event()
        stream = (asyncio.get_running_loop(), gone)
        self._streams.add(stream)
        leaving = asyncio.ensure_future(request.until_gone(gone))
        try:
            async for version in watching.versions(served.watcher, gone, QUIET):
                body = b": still here\n\n" if version is None else answers.event("change", {"version": version})
                await request.to({"type": "http.response.body", "body": body, "more_body": True})
        finally:
            self._streams.discard(stream)
            leaving.cancel()
        await request.to({"type": "http.response.body", "body": b""})

    async def _long(self, request: Request, given: Mapping[str, Any]) -> None:
        served = await asyncio.to_thread(self.served, request.place)
        events = served.work.start(request.match.route.special, given)
        await answers.begin_events(request.to)
        async for name, value in events:
            await request.to({"type": "http.response.body", "body": answers.event(name, value), "more_body": True})
        await request.to({"type": "http.response.body", "body": b""})


class Request:
    """One request that the explorer answers."""

    def __init__(self, scope: Scope, receive: Receive, to: Send, *, match: Match, database: str, place: Place) -> None:
        self.scope, self.receive, self.to = scope, receive, to
        self.match, self.database, self.place = match, database, place
        self.is_head = scope["method"] == "HEAD"

    def header(self, name: str) -> bytes:
        """A header's value; empty where there is none."""
        wanted = name.encode("ascii")
        return b" ".join(value for key, value in self.scope["headers"] if key.lower() == wanted)

    def query(self) -> dict[str, list[str]]:
        """The query's values by name. Raises UsageError."""
        try:
            text = (self.scope.get("query_string") or b"").decode("ascii")
            found = parse_qs(text, keep_blank_values=True, errors="strict", max_num_fields=100)
        except ValueError as error:
            raise UsageError("The query is not UTF-8, or has too many parts.") from error
        return found

    async def body(self) -> dict[str, Any]:
        """The JSON object that was sent; nothing is an empty one. Raises HttpError, UsageError."""
        data = bytearray()
        more = True
        while more:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise HttpError(400, "usage", "The request ended in its middle.")
            data += message.get("body", b"")
            if len(data) > BODY_BYTES:
                raise HttpError(413, "too_large", f"The body has more than {BODY_BYTES} bytes.")
            more = message.get("more_body", False)
        # Asked for even where there is no body: a form of another page cannot send this type.
        kind = self.header("content-type").partition(b";")[0].strip().lower()
        if kind != b"application/json" and (data or kind):
            raise HttpError(415, "not_json", "The body must be JSON.", hint="Send content-type: application/json.")
        if not data.strip():
            return {}
        try:
            found = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise UsageError("The body is no JSON.") from error
        if not isinstance(found, dict):
            raise UsageError("The body must be a JSON object.")
        return found

    async def until_gone(self, gone: asyncio.Event) -> None:
        """Set the event when the client goes."""
        while (await self.receive())["type"] != "http.disconnect":
            pass
        gone.set()

    async def send(self, body: bytes, content_type: str) -> None:
        """Answer with a file or a page."""
        await answers.send(self.to, 200, body, content_type, head=self.is_head)

    async def send_json(self, value: Any) -> None:
        """Answer with JSON."""
        await self.send(await asyncio.to_thread(answers.as_json, value), answers.JSON)


def _plain(segments: list[str]) -> list[str]:
    """The segments of a path, without tricks. Raises HttpError."""
    for place, segment in enumerate(segments):
        lower = segment.lower()
        empty = not segment and place < len(segments) - 1
        if empty or segment in (".", "..") or "%2e" in lower or "%00" in lower or "\\" in segment:
            raise HttpError(400, "bad_path", "The address has an empty, dotted or disguised part.",
                            hint="Percent-encode ids once, and leave dots as they are.")  # fmt: skip
    return segments


def _is_for_datasette(scope: Scope, found: list[Match]) -> bool:
    """Whether a browser asks for a page that Datasette has."""
    if scope["method"] not in ("GET", "HEAD") or not any(match.route.browsed for match in found):
        return False
    accepts = b",".join(value for name, value in scope["headers"] if name.lower() == b"accept")
    return b"text/html" in accepts.lower()


def _of_method(scope: Scope, found: list[Match]) -> Match:
    wanted = "GET" if scope["method"] == "HEAD" else scope["method"]
    for match in found:
        if match.route.method == wanted:
            return match
    allowed = sorted({match.route.method for match in found} | {"HEAD" for m in found if m.route.method == "GET"})
    error = HttpError(405, "bad_method", f"{scope['method']} is not for this address.",
                      hint=f"It takes {', '.join(allowed)}.")  # fmt: skip
    error.headers = {"allow": ", ".join(allowed)}
    raise error
