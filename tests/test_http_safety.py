"""Who may ask what, of every route in the table: another origin, another host, no token, and addresses with tricks."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from memdb.explorer.routes import ROUTES, Route
from tests.test_http_api import TOKEN, Server, make, raw

pytestmark = pytest.mark.usefixtures("no_model")

REAL = {"id": "entity%3Aada%20wren", "number": "1", "name": "app.js"}
"""What stands for the names of a path: things that are there, so that a request that is let through does something."""

BODIES = {
    "PATCH entities/{id*}": b'{"name": "Eve"}',
    "POST entities/{id*}/merge": b'{"into": "Corvin Works"}',
    "POST schema": b'{"action": "add", "kind": "type", "name": "boat", "description": "a boat with a name"}',
    "POST proposals/approve": b'{"kind": "type", "name": "ship"}',
    "POST proposals/dismiss": b'{"kind": "type", "name": "ship"}',
    "POST review/answer": b'{"item": "proposal:type+ship", "choice": "approve"}',
}


def name_of(route: Route) -> str:
    return f"{route.method} {route.pattern}"


def path_of(route: Route) -> str:
    """A path of the route as a client would write it."""
    parts = []
    for part in route.pattern.split("/"):
        parts.append(REAL[part.strip("{}*")] if part.startswith("{") else part)
    return "/memory/" + "/".join(parts)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("MEMDB_EMBEDDER", "off")
        world = make(tmp_path_factory.mktemp("made"))
        world.store.close()
        root = tmp_path_factory.mktemp("copy") / "root"
        shutil.copytree(world.root, root)
        serving = Server(root / ".memdb" / "memory.db", TOKEN)
        serving.explorer.opener = opened.append
        yield serving
        serving.explorer.close()


opened: list[Path] = []


def state(server: Server) -> object:
    """What a person decided, and what there is."""
    store = server.explorer.served(next(iter(server.explorer._served))).store if server.explorer._served else None
    return None if store is None else (store.log(), store.digest(), list(opened))


@pytest.fixture(autouse=True)
def unchanged(server: Server) -> Iterator[None]:
    """After every refused request the store is what it was."""
    raw(server, "GET", "/memory/log")
    before = state(server)
    yield
    assert state(server) == before


def refused(server: Server, route: Route, headers: dict[str, str], path: str | None = None) -> tuple[int, str]:
    more = {"content-type": "application/json"} if route.writes else {}
    sent, _, said = raw(server, route.method, path or path_of(route), more | headers, BODIES.get(name_of(route), b"{}"))
    assert set(said) == {"ok", "error", "hint", "code", "status"}, said
    assert said["ok"] is False
    return sent, str(said["code"])


@pytest.mark.parametrize("route", ROUTES, ids=name_of)
def test_another_origin_gets_nothing_of_any_route(server: Server, route: Route) -> None:
    for origin in ("http://evil.example", "null", "https://127.0.0.1:4097", "http://127.0.0.1:4098"):
        assert refused(server, route, {"origin": origin}) == (403, "foreign_origin")


@pytest.mark.parametrize("route", ROUTES, ids=name_of)
def test_a_foreign_host_gets_nothing_of_any_route(server: Server, route: Route) -> None:
    for host in ("evil.example", "evil.example:4097", "127.0.0.1:80", "127.0.0.1.evil.example:4097", ""):
        assert refused(server, route, {"host": host}) == (421, "foreign_host")
        # To name the own origin beside it does not help.
        both = {"host": host, "origin": "http://127.0.0.1:4097"}
        assert refused(server, route, both)[0] in (403, 421)


TRICKS = ("//{0}", "%2e%2e/{0}", "%2E/{0}", "./{0}", "../{0}", "{0}%00", "{0}/%2e%2e/x", "{0}%5c..%5cx\\y")
"""Ways to write a path that is not what it seems: empty, dotted and disguised parts, a NUL, a backslash."""


@pytest.mark.parametrize("trick", TRICKS)
@pytest.mark.parametrize("route", ROUTES, ids=name_of)
def test_no_route_is_reached_by_a_trick(server: Server, route: Route, trick: str) -> None:
    path = "/memory/" + trick.format(path_of(route).removeprefix("/memory/"))
    assert refused(server, route, {}, path) == (400, "bad_path")


LEADING = ("..%2f..%2f{0}", "%2fetc%2fpasswd", "..%252f{0}", "%c0%ae%c0%ae%2f{0}", "{0}%ff")
"""Encoded slashes, dots that are encoded twice or too long, and bytes that are no UTF-8, in the place of a name."""

NAMED = [route for route in ROUTES if "{" in route.pattern]


@pytest.mark.parametrize("written", LEADING)
@pytest.mark.parametrize("route", NAMED, ids=name_of)
def test_what_a_path_names_is_looked_up_and_never_opened(server: Server, route: Route, written: str) -> None:
    parts = [
        written.format("passwd") if part.startswith("{") else part for part in f"/memory/{route.pattern}".split("/")
    ]
    status, code = refused(server, route, {}, "/".join(parts))
    assert (status, code) in {(404, "not_found"), (400, "usage"), (400, "bad_path"), (409, "refused")}
    assert opened == []


@pytest.mark.parametrize("route", [route for route in ROUTES if route.writes], ids=name_of)
def test_no_change_without_the_token(server: Server, route: Route) -> None:
    for token in ("", "another", TOKEN.upper(), f"{TOKEN} "):
        assert refused(server, route, {"x-memdb-token": token}) == (401, "no_token")


@pytest.mark.parametrize("route", [route for route in ROUTES if route.writes], ids=name_of)
def test_a_form_of_another_page_changes_nothing(server: Server, route: Route) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert refused(server, route, {"content-type": kind}) == (415, "not_json")
