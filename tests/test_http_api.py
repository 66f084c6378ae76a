"""The HTTP API of the explorer: every route, every error, and who may ask what."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from datasette.app import Datasette

from memdb.datasette_plugin import exploring
from memdb.explorer import answers, openapi, pages
from memdb.explorer.routes import ROUTES
from memdb.serving.http_guard import Guard
from memdb.store import Store
from tests.answer_support import Answered, answer

pytestmark = pytest.mark.usefixtures("no_model")

TOKEN = "the-token-of-this-test"

TEXTS = {
    "user/ada.md": "---\ntags: [people]\n---\n# Ada\n\nAda Wren **works** at Corvin Works. <script>alert(1)</script>\n",
    "project/corvin.md": "---\nsupersedes: old\n---\nCorvin Works makes ferries, the Moth too. See [[nowhere]].\n",
    "project/old.md": "An older text, don't read it.\n",
    "project/bryn.md": "Bryn Lowe visits Corvin Works on the Tern.\n",
}

GUIDE = """<title>Ferries</title><h1>Ferries</h1><p>Ferries of Corvin Works.</p>
<h2>Engines</h2><p>Ada Wren builds engines.</p>"""


def make(root: Path) -> Answered:
    world = Answered(root, TEXTS)
    (root / "docs").mkdir()
    (root / "docs" / "guide.html").write_text(GUIDE, encoding="utf-8")
    world.store.add([root / "docs" / "guide.html"], embed=False)
    said = (("Ada Wren", "works_at", "Corvin Works"),)
    world.put("user/ada", answer(("Ada Wren", "person"), ("Corvin Works", "organization"), said=said))
    ship = {"ship": "a named vessel"}
    world.put("project/corvin", answer(("Corvin Works", "organization"), ("Moth", "ship"), new_types=ship))
    world.put("project/bryn", answer(("Bryn Lowe", "person"), ("Tern", "ship"), new_types=ship))
    world.store.sync(embed=False)
    return world


class Server:
    """A Datasette over one store, asked in process as from a browser of this machine."""

    def __init__(self, database: Path, token: str | None) -> None:
        self.datasette = Datasette([str(database)])
        self.explorer = exploring.explorer_of(self.datasette)
        self.explorer.token = token
        self.app = self.datasette.app()

    def __call__(
        self, method: str, path: str, *, host: str = "127.0.0.1:4097", json_body: Any = None, **options: Any
    ) -> httpx.Response:
        headers = {"host": host} | dict(options.pop("headers", {}))
        if method not in ("GET", "HEAD", "OPTIONS") and options.pop("with_token", True):
            headers = {"x-memdb-token": TOKEN} | headers
        if json_body is not None:
            options["content"] = json.dumps(json_body)
            headers = {"content-type": "application/json"} | headers

        async def ask() -> httpx.Response:
            await self.datasette.invoke_startup()
            transport = httpx.ASGITransport(app=self.app)  # type: ignore[arg-type]
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:4097") as client:
                return await client.request(method, path, headers=headers, **options)

        return asyncio.run(ask())

    def get(self, path: str, status: int = 200, **options: Any) -> Any:
        response = self("GET", f"/memory/{path}", **options)
        assert response.status_code == status, response.text
        return response.json()

    def write(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        response = self(method, f"/memory/{path}", json_body={} if body is None else body)
        assert response.status_code == status, response.text
        return response.json()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("MEMDB_EMBEDDER", "off")
        world = make(tmp_path_factory.mktemp("explored"))
        world.store.close()
        yield world.root


@pytest.fixture(scope="module")
def server(made: Path) -> Iterator[Server]:
    """For questions: nothing is changed in it."""
    serving = Server(made / ".memdb" / "memory.db", TOKEN)
    yield serving
    serving.explorer.close()


@pytest.fixture
def writing(made: Path, tmp_path: Path, no_model: None) -> Iterator[Server]:
    """For changes: a store of its own."""
    root = tmp_path / "copy"
    shutil.copytree(made, root)
    serving = Server(root / ".memdb" / "memory.db", TOKEN)
    yield serving
    serving.explorer.close()


# Questions


def test_the_graph_has_documents_for_their_chunks(server: Server) -> None:
    graph = server.get("graph")
    assert {node["kind"] for node in graph["nodes"]} == {"memory", "document", "entity", "tag"}
    degrees = [node["degree"] for node in graph["nodes"]]
    assert degrees == sorted(degrees, reverse=True)
    edges = {(edge["source"], edge["target"], edge["kind"]): edge for edge in graph["edges"]}
    rolled = edges["document:docs/guide.html", "entity:corvin works", "mentions"]
    assert (rolled["weight"], rolled["chunks"]) == (1, 1)
    assert edges["user/ada", "tag:people", "has_tag"]["weight"] == 0.8
    assert edges["entity:ada wren", "entity:corvin works", "relates"]["predicate"] == "works_at"
    shown = {node["id"] for node in graph["nodes"]}
    assert all(edge["source"] in shown and edge["target"] in shown for edge in graph["edges"])
    assert graph["total"]["nodes"] == len(shown)
    assert graph["total"]["kinds"]["chunk"] == 2
    assert graph["truncated"] is False


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("kinds=tag", {"tag:people"}),
        ("kinds=tag,document", {"tag:people", "document:docs/guide.html"}),
        ("kinds=tag&kinds=document", {"tag:people", "document:docs/guide.html"}),
        ("kinds=memory&types=user", {"user/ada"}),
        ("kinds=entity&types=person", {"entity:ada wren", "entity:bryn lowe"}),
        ("q=WREN", {"entity:ada wren"}),
        ("kinds=chunk&rollup=0", {"document:docs/guide.html#1", "document:docs/guide.html#2"}),
        ("kinds=chunk", set()),
        ("around=tag%3Apeople", {"tag:people", "user/ada"}),
        ("around=tag%3Apeople&hops=0", {"tag:people"}),
        ("around=document%3Adocs%2Fguide.html&rollup=0",
         {"document:docs/guide.html", "document:docs/guide.html#1", "document:docs/guide.html#2"}),
    ],
)  # fmt: skip
def test_what_the_graph_is_limited_to(server: Server, query: str, expected: set[str]) -> None:
    assert {node["id"] for node in server.get(f"graph?{query}")["nodes"]} == expected


def test_the_most_connected_come_first_and_the_rest_is_counted(server: Server) -> None:
    graph = server.get("graph?limit=1")
    assert [node["id"] for node in graph["nodes"]] == ["entity:corvin works"]
    assert graph["truncated"] is True
    assert graph["total"]["nodes"] == len(server.get("graph")["nodes"])


def test_a_search_has_paths_arms_and_the_names_of_what_it_passed(server: Server) -> None:
    found = server.get("search?q=ferries&limit=5")
    first = found["hits"][0]
    assert first["id"] in {"project/corvin", "document:docs/guide.html#1"}
    assert found["arms"]["vector"]["state"] == "off"
    assert first["arms"]["keyword"]["rank"] == 1
    passed = {hop["node"] for hit in found["hits"] for hop in hit["path"]}
    assert passed <= set(found["nodes"])
    assert found["seeds"]
    chunk = next(hit for hit in found["hits"] if hit["kind"] == "chunk")
    assert chunk["citation"]["text"].startswith("docs/guide.html › Ferries")


@pytest.mark.parametrize("text", ["C++", 'AND "unbal', "NEAR(", "", "*", "\U0001f6a2", "日本"])
def test_any_text_is_a_question(server: Server, text: str) -> None:
    assert server.get(f"search?q={quote(text)}")["query"] == text


def test_a_memory(server: Server) -> None:
    node = server.get("node/user%2Fada")
    assert node == node | {"id": "user/ada", "kind": "memory", "label": "ada", "type": "user", "file": "user/ada.md"}
    assert "<strong>works</strong>" in node["html"]
    assert "<script>" not in node["html"]
    assert [step["label"] for step in node["breadcrumb"]] == ["user", "ada"]
    others = {(edge["kind"], edge["direction"], edge["other"]["id"]) for edge in node["edges"]}
    assert {("has_tag", "out", "tag:people"), ("mentions", "out", "entity:corvin works")} <= others
    assert node["edge_counts"]["has_tag"] == 1
    assert server.get("node/user/ada") == node
    assert server.get(f"node/{node['number']}") == node


def test_a_chunk_stands_in_its_document_and_section(server: Server) -> None:
    node = server.get("node/document%3Adocs%2Fguide.html%232")
    assert [step["label"] for step in node["breadcrumb"]] == ["Ferries", "Engines", "chunk 2"]
    assert node["breadcrumb"][0]["id"] == node["document"] == "document:docs/guide.html"
    assert node["previous"] == "document:docs/guide.html#1"
    assert node["next"] is None
    assert "Ada Wren builds engines." in node["text"]


def test_a_passage_of_lines_is_no_markdown_and_has_a_name(writing: Server, tmp_path: Path) -> None:
    (tmp_path / "access.log").write_text("GET /_health_ 200\n# Ada Wren asks\n", encoding="utf-8")
    store = writing.explorer.served(exploring._place(writing.datasette, "memory")).store
    store.add([tmp_path / "access.log"], embed=False)
    [listed] = [one for one in store.documents.list() if one.title == "access.log"]
    node = writing.get(f"node/{quote(f'{listed.id}#1', safe='')}")
    assert (node["label"], node["html"]) == ("access.log#1", None)
    assert node["text"] == "GET /_health_ 200\n# Ada Wren asks"
    edges = writing.get("node/entity%3Aada%20wren")["edges"]
    assert "access.log#1" in {edge["other"]["label"] for edge in edges}


def test_a_document_an_entity_and_a_tag(server: Server) -> None:
    document = server.get("node/document%3Adocs%2Fguide.html")
    assert (document["chunk_count"], document["file"], document["marks"]) == (2, "docs/guide.html", {"stale": False})
    assert {"id": "entity:ada wren", "label": "Ada Wren", "chunks": 1} in document["entities"]
    entity = server.get("node/entity%3Aada%20wren")
    assert (entity["name"], entity["type"], entity["usage"]["mentions"]) == ("Ada Wren", "person", 2)
    assert [(one["document"], one["label"]) for one in entity["documents"]] == [("document:docs/guide.html", "Ferries")]
    tag = server.get("node/tag%3Apeople")
    assert [(edge["direction"], edge["other"]["id"]) for edge in tag["edges"]] == [("in", "user/ada")]


def test_entities_come_in_pages(server: Server) -> None:
    every = server.get("entities")
    assert every["total"] == len(every["entities"])
    assert every["next_offset"] is None
    page = server.get("entities?limit=1&offset=1")
    assert page["entities"] == every["entities"][1:2]
    assert (page["total"], page["next_offset"]) == (every["total"], 2)
    assert [one["id"] for one in server.get("entities?q=wren")["entities"]] == ["entity:ada wren"]
    assert [one["id"] for one in server.get("entities?type=person&sort=name")["entities"]] == [
        "entity:ada wren",
        "entity:bryn lowe",
    ]


@pytest.mark.parametrize("written", ["ada%20wren", "entity%3Aada%20wren", "Ada%20Wren"])
def test_an_entity_by_any_of_its_names(server: Server, written: str) -> None:
    assert server.get(f"entities/{written}")["id"] == "entity:ada wren"


def test_an_entity_by_its_number(server: Server) -> None:
    number = server.get("node/entity%3Aada%20wren")["number"]
    assert server.get(f"entities/{number}")["id"] == "entity:ada wren"


def test_the_lists(server: Server) -> None:
    schema = server.get("schema")
    assert "person" in {entry["name"] for entry in schema["entries"]}
    assert [one["name"] for one in schema["proposals"]] == ["ship"]
    assert [one["name"] for one in server.get("proposals?state=pending")["proposals"]] == ["ship"]
    assert [one["id"] for one in server.get("documents")["documents"]] == ["document:docs/guide.html"]
    assert server.get("runs") == {"ok": True, "runs": []}
    assert server.get("conflicts") == {"ok": True, "conflicts": [], "resolutions": []}
    assert "proposal:type+ship" in {item["id"] for item in server.get("review")["items"]}
    assert [one["raw"] for one in server.get("links?status=unresolved")["links"]] == ["[[nowhere]]"]
    assert server.get("log") == {"ok": True, "decisions": []}
    status = server.get("status")
    assert status["writes"] is True
    assert status["store"]["memories"] == 4


def test_the_chunks_of_a_document_have_their_edges(server: Server) -> None:
    found = server.get("documents/document%3Adocs%2Fguide.html/chunks")
    assert [chunk["label"] for chunk in found["chunks"]] == ["Ferries", "Engines"]
    assert ("document:docs/guide.html#2", "entity:ada wren") in {(e["source"], e["target"]) for e in found["edges"]}
    assert "entity:ada wren" in {node["id"] for node in found["nodes"]}
    assert found["total"] == 2


# Errors


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "node/user%2Fnobody", 404, "not_found"),
        ("GET", "node/999999999", 404, "not_found"),
        ("GET", "entities/nobody", 404, "not_found"),
        ("GET", "runs/7", 404, "not_found"),
        ("GET", "runs/x", 400, "usage"),
        ("GET", "conflicts/abcdef", 404, "not_found"),
        ("GET", "conflicts/user/ada", 404, "not_found"),
        ("POST", "conflicts/user/ada/revert", 404, "not_found"),
        ("GET", "documents/nothing/chunks", 404, "not_found"),
        ("GET", "-/static/nothing.js", 404, "not_found"),
        ("GET", "search", 400, "usage"),
        ("GET", "graph?limit=0", 400, "usage"),
        ("GET", "graph?limit=x", 400, "usage"),
        ("GET", "graph?limit=1&limit=2", 400, "usage"),
        ("GET", "graph?kinds=planet", 400, "usage"),
        ("GET", "graph?rollup=perhaps", 400, "usage"),
        ("GET", "graph?around=nothing", 404, "not_found"),
        ("GET", "graph?nonsense=1", 400, "usage"),
        ("GET", "search?q=%FF", 400, "usage"),
        ("GET", "node/%FF", 400, "usage"),
        ("GET", "review?kinds=planets", 400, "usage"),
        ("GET", "-/alive", 400, "usage"),
        ("PUT", "entities/ada", 405, "bad_method"),
        ("POST", "graph", 405, "bad_method"),
        ("GET", "undo", 405, "bad_method"),
        ("GET", "node//ada", 400, "bad_path"),
        ("GET", "node/../memory", 400, "bad_path"),
        ("GET", "node/%2e%2e/x", 400, "bad_path"),
        ("GET", "node/%2E", 400, "bad_path"),
        ("GET", "node/a%00b", 400, "bad_path"),
        ("GET", "-/static/..%5capplication.py", 404, "not_found"),
        ("GET", "-/static/..%2fapplication.py", 404, "not_found"),
        ("GET", "-/static/%2fetc%2fpasswd", 404, "not_found"),
        ("GET", "-/static/%2e%2e%2fapplication.py", 400, "bad_path"),
        ("GET", "node/%252e%252e", 404, "not_found"),
    ],
)
def test_errors_have_one_shape(server: Server, method: str, path: str, status: int, code: str) -> None:
    response = raw(server, method, f"/memory/{path}")
    assert (response[0], response[2]["code"], response[2]["status"]) == (status, code, status)
    assert set(response[2]) == {"ok", "error", "hint", "code", "status"}
    assert response[2]["ok"] is False
    assert response[1]["content-type"] == "application/json; charset=utf-8"


def raw(
    server: Server, method: str, path: str, headers: dict[str, str] | None = None, body: bytes = b""
) -> tuple[int, dict[str, str], Any]:
    """Ask with exactly this path: a client would tidy it up."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    async def ask() -> None:
        await server.datasette.invoke_startup()
        before, _, query = path.partition("?")
        named = {"host": "127.0.0.1:4097", "x-memdb-token": TOKEN} | (headers or {})
        scope = {
            "type": "http", "method": method, "path": before, "raw_path": before.encode(), "scheme": "http",
            "query_string": query.encode(), "server": ("127.0.0.1", 4097), "http_version": "1.1",
            "headers": [(name.encode(), value.encode()) for name, value in named.items()],
        }  # fmt: skip
        await server.app(scope, receive, send)

    asyncio.run(ask())
    data = b"".join(message.get("body", b"") for message in sent[1:])
    headers_sent = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    is_json = headers_sent.get("content-type", "").startswith("application/json")
    return sent[0]["status"], headers_sent, json.loads(data) if is_json and data else data


def test_an_error_of_memdb_itself_keeps_the_shape(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr(Store, "stats", broken)
    assert server.get("status", 500)["code"] == "unexpected"


def test_what_a_method_is_not_for_says_what_is(server: Server) -> None:
    status, headers, _ = raw(server, "PUT", "/memory/entities/ada")
    assert (status, headers["allow"]) == (405, "DELETE, GET, HEAD, PATCH")


# Who may ask


@pytest.mark.parametrize("host", ["evil.example", "evil.example:4097", "127.0.0.1:80", "127.0.0.1", ""])
def test_a_foreign_host_gets_nothing(server: Server, host: str) -> None:
    for path in ("graph", "explorer", "-/static/app.js", "schema", "changes"):
        status, _, said = raw(server, "GET", f"/memory/{path}", {"host": host})
        assert (status, said["code"]) == (421, "foreign_host")


@pytest.mark.parametrize("host", ["127.0.0.1:4097", "localhost:4097", "[::1]:4097", "LOCALHOST:4097"])
def test_this_machine_is_answered(server: Server, host: str) -> None:
    assert raw(server, "GET", "/memory/log", {"host": host})[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:4097", "http://127.0.0.1:4098"])
def test_another_origin_gets_nothing_and_changes_nothing(writing: Server, origin: str) -> None:
    assert raw(writing, "GET", "/memory/log", {"origin": origin})[2]["code"] == "foreign_origin"
    headers = {"origin": origin, "content-type": "application/json"}
    refused = raw(writing, "PATCH", "/memory/entities/ada%20wren", headers, b'{"name": "Eve"}')
    assert (refused[0], refused[2]["code"]) == (403, "foreign_origin")
    assert writing.get("log")["decisions"] == []


def test_the_own_origin_may(server: Server) -> None:
    assert raw(server, "GET", "/memory/log", {"origin": "http://127.0.0.1:4097"})[0] == 200


WRITES = [route for route in ROUTES if route.method != "GET"]


def path_of(pattern: str) -> str:
    return f"/memory/{pattern.replace('{id*}', 'x').replace('{id}', 'x').replace('{number}', '1')}"


@pytest.mark.parametrize("route", WRITES, ids=lambda route: f"{route.method} {route.pattern}")
def test_every_write_needs_the_token(server: Server, route: Any) -> None:
    path = path_of(route.pattern)
    for token in ("", "another", TOKEN + "x"):
        headers = {"x-memdb-token": token, "content-type": "application/json"}
        status, _, said = raw(server, route.method, path, headers, b"{}")
        assert (status, said["code"]) == (401, "no_token")


def test_without_a_token_of_its_own_a_server_only_reads(made: Path) -> None:
    plain = Server(made / ".memdb" / "memory.db", None)
    for route in WRITES:
        status, _, said = raw(plain, route.method, path_of(route.pattern), {"content-type": "application/json"}, b"{}")
        assert (status, said["code"]) == (403, "read_only")
    assert plain.get("status")["writes"] is False
    assert b'name="memdb-token" content=""' in raw(plain, "GET", "/memory/explorer?token=")[2]
    plain.explorer.close()


def test_a_server_for_other_machines_has_no_explorer(server: Server) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {
        "type": "http", "method": "GET", "path": "/memory/graph", "raw_path": b"/memory/graph", "query_string": b"",
        "server": ("192.0.2.7", 80), "headers": [(b"host", b"192.0.2.7")], "scheme": "http",
    }  # fmt: skip
    asyncio.run(server.app(scope, receive, send))
    assert sent[0]["status"] == 403


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("text/plain", b'{"decision": "x"}', 415),
        ("application/x-www-form-urlencoded", b"decision=x", 415),
        ("application/json", b"{", 400),
        ("application/json", b"[]", 400),
        ("application/json", b"\xff", 400),
        ("application/json", b"[" * 100_000, 400),
        ("application/json", b'{"decision": 7}', 400),
        ("application/json", b'{"decision": "x", "more": 1}', 400),
        ("application/json", b'{"decision": "\\ud800"}', 400),
        ("application/json", b"{}", 400),
        ("application/json; charset=utf-8", b'{"decision": "abcdef"}', 404),
        ("application/json", b'{"decision": "' + b"x" * 1_000_001 + b'"}', 413),
    ],
)
def test_what_a_body_must_be(server: Server, kind: str, body: bytes, status: int) -> None:
    assert raw(server, "POST", "/memory/undo", {"content-type": kind}, body)[0] == status


# Changes


def test_a_rename_and_its_undo(writing: Server) -> None:
    done = writing.write("PATCH", "entities/ada%20wren", {"name": "Ada Lark", "why": "she said so"})
    assert writing.get("entities/ada%20lark")["name"] == "Ada Lark"
    assert [one["why"] for one in writing.get("log")["decisions"]] == ["she said so"]
    writing.write("POST", "undo", {"decision": done["decision"]["id"]})
    assert writing.get("entities/ada%20wren")["name"] == "Ada Wren"
    # The log says what was taken back, also where it lists only the last decision.
    renamed = "renamed Ada Wren to Ada Lark"
    undone = f"undid {done['decision']['id']}: {renamed}"
    assert [one["words"] for one in writing.get("log")["decisions"]] == [undone, renamed]
    assert [one["words"] for one in writing.get("log?limit=1")["decisions"]] == [undone]


def test_a_retype_and_nothing(writing: Server) -> None:
    writing.write("PATCH", "entities/ada%20wren", {"type": "concept"})
    assert writing.get("entities/ada%20wren")["type"] == "concept"
    assert writing.write("PATCH", "entities/ada%20wren", {}, 400)["code"] == "usage"
    assert writing.write("PATCH", "entities/ada%20wren", {"type": "planet"}, 404)["ok"] is False


def test_a_merge_a_deletion_and_a_restoration(writing: Server) -> None:
    merged = writing.write("POST", "entities/bryn%20lowe/merge", {"into": "Ada Wren"})
    assert writing.get("entities/bryn%20lowe")["id"] == "entity:ada wren"
    writing.write("POST", "undo", {"decision": merged["decision"]["id"]})
    assert writing.get("entities/bryn%20lowe")["id"] == "entity:bryn lowe"
    writing.write("DELETE", "entities/bryn%20lowe")
    assert "deleted" in writing.get("entities/bryn%20lowe", 404)["error"]
    assert [one["id"] for one in writing.get("entities?deleted=1")["entities"]] == ["entity:bryn lowe"]
    writing.write("POST", "entities/bryn%20lowe/restore")
    assert writing.get("entities/bryn%20lowe")["name"] == "Bryn Lowe"


def test_a_rename_onto_another_entity_is_refused(writing: Server) -> None:
    assert writing.write("PATCH", "entities/ada%20wren", {"name": "Corvin Works"}, 409)["code"] == "refused"


def test_a_proposal_is_approved_and_that_is_undone(writing: Server) -> None:
    done = writing.write("POST", "proposals/approve", {"kind": "type", "name": "ship"})
    assert writing.get("entities/moth")["type"] == "ship"
    writing.write("POST", "undo", {"decision": done["decision"]["id"]})
    assert [one["name"] for one in writing.get("proposals")["proposals"]] == ["ship"]
    writing.write("POST", "proposals/dismiss", {"kind": "type", "name": "ship"})
    assert [one["state"] for one in writing.get("proposals")["proposals"]] == ["dismissed"]
    writing.write("POST", "proposals/restore", {"kind": "type", "name": "ship"})
    assert [one["state"] for one in writing.get("proposals")["proposals"]] == ["pending"]


def test_the_review_queue_is_answered(writing: Server) -> None:
    item = next(one for one in writing.get("review?kinds=proposal")["items"])
    said = writing.write("POST", "review/answer", {"item": item["id"], "choice": "dismiss"})
    assert said["decision"]
    assert writing.get("review?kinds=proposal")["items"] == []
    assert writing.write("POST", "review/answer", {"item": item["id"], "choice": "dismiss"}, 404)["ok"] is False


def test_the_vocabulary_is_edited(writing: Server) -> None:
    def change(action: str, status: int = 200, **more: Any) -> Any:
        return writing.write("POST", "schema", {"action": action, "kind": "type", "name": "boat"} | more, status)

    change("add", 400)
    assert change("add", description="a boat with a name")["entry"]["state"] == "active"
    assert change("describe", description="a small boat")["entry"]["description"] == "a small boat"
    change("delete", 409)
    assert change("disable")["entry"]["state"] == "disabled"
    assert change("enable")["entry"]["state"] == "active"
    change("disable")
    change("delete")
    assert "boat" not in {one["name"] for one in writing.get("schema")["entries"]}


def test_a_conflict_is_resolved_and_reverted(writing: Server, made: Path) -> None:
    store = exploring.explorer_of(writing.datasette)._served
    writing.write("POST", "schema", {"action": "add", "kind": "predicate", "name": "moored_at",
                                     "description": "where a ship lies", "single_valued": True})  # fmt: skip
    root = next(iter(store)).root
    world = object.__new__(Answered)
    world.root, world.store = root, Store.init(root)
    for key, place in (("user/log", "Port Ash"), ("project/log", "Port Elm")):
        world.write({f"{key}.md": f"Ferry Gull lies in {place}.\n"})
        world.store.sync(embed=False)
        world.put(key, answer(("Ferry Gull", "concept"), (place, "place"), said=(("Ferry Gull", "moored_at", place),)))
    world.store.close()
    [conflict] = writing.get("conflicts")["conflicts"]
    shown = writing.get(f"conflicts/{conflict['id']}")["conflict"]
    assert {side["object_name"] for side in shown["sides"]} == {"Port Ash", "Port Elm"}
    path = f"conflicts/{conflict['id']}"
    writing.write("POST", f"{path}/resolve", {"choice": "perhaps"}, 400)
    settled = writing.write("POST", f"{path}/resolve", {"choice": "keep", "keep": "Port Ash"})
    assert writing.get("conflicts")["conflicts"] == []
    writing.write("POST", f"conflicts/{settled['resolution']['id']}/revert")
    assert [one["id"] for one in writing.get("conflicts")["conflicts"]] == [conflict["id"]]


def test_a_document_is_opened_by_its_id_alone(writing: Server) -> None:
    path = "documents/document%3Adocs%2Fguide.html/open"
    assert writing.write("POST", path, status=403)["code"] == "read_only"
    opened: list[Path] = []
    writing.explorer.opener = opened.append
    assert writing.write("POST", path)["said"] == "Opened guide.html."
    assert [file.name for file in opened] == ["guide.html"]
    for other in ("docs%2Fguide.html", "%2Fetc%2Fpasswd", "document%3A%2Fetc%2Fpasswd"):
        writing.write("POST", f"documents/{other}/open", status=404)
    assert len(opened) == 1


# Events


def events(data: bytes) -> list[tuple[str, Any]]:
    found = []
    for block in data.decode().strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n"))
        found.append((lines["event"], json.loads(lines["data"])))
    return found


def test_a_sync_tells_how_far_it_is(writing: Server) -> None:
    root = next(iter([writing.get("status")]))["store"]
    assert root["memories"] == 4
    status, headers, data = raw(writing, "POST", "/memory/sync", {"content-type": "application/json"}, b"{}")
    assert (status, headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    name, said = events(data)[-1]
    assert (name, said["ok"], said["said"]) == ("done", True, "Synced: nothing to do.")
    assert said["report"]["unchanged"] == 4


def test_work_that_fails_says_so_in_the_shape_of_errors(writing: Server) -> None:
    _, _, data = raw(writing, "POST", "/memory/index", {"content-type": "application/json"}, b"{}")
    name, said = events(data)[-1]
    assert (name, said["code"], said["ok"]) == ("error", "llm_off", False)


def listen(server: Server, change: Callable[[], None], *, seconds: float = 10.0) -> list[int]:
    """The versions that `/changes` tells: the first, then those after a change, until there is one."""
    told: list[int] = []

    async def go() -> None:
        await server.datasette.invoke_startup()
        gone, second = asyncio.Event(), asyncio.Event()

        async def receive() -> Any:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.body" and message.get("body", b"").startswith(b"event: change"):
                told.append(events(message["body"])[0][1]["version"])
                if len(told) == 2:
                    second.set()

        scope = {
            "type": "http", "method": "GET", "path": "/memory/changes", "raw_path": b"/memory/changes",
            "query_string": b"", "server": ("127.0.0.1", 4097), "headers": [(b"host", b"127.0.0.1:4097")],
            "scheme": "http",
        }  # fmt: skip
        stream = asyncio.ensure_future(server.app(scope, receive, send))
        while not told:
            await asyncio.sleep(0.02)
        await asyncio.sleep(1.0)  # the first look of the watcher, and what the follower does at its start
        del told[1:]
        second.clear()
        await asyncio.to_thread(change)
        with suppress(TimeoutError):
            await asyncio.wait_for(second.wait(), seconds)
        gone.set()
        await asyncio.wait_for(stream, 5)

    asyncio.run(go())
    return told


def test_what_another_process_changes_is_told(writing: Server) -> None:
    root = Path(writing.datasette.get_database("memory").path).parent.parent

    def change() -> None:
        with Store.init(root) as other:
            other.entities.rename("Ada Wren", "Ada Lark")

    first, then = listen(writing, change)[:2]
    assert then > first


def test_a_file_that_is_edited_is_told(writing: Server) -> None:
    root = Path(writing.datasette.get_database("memory").path).parent.parent
    told = listen(writing, lambda: (root / "user" / "new.md").write_text("A new text.\n", encoding="utf-8") and None)
    assert len(told) >= 2
    assert writing.get("node/user%2Fnew")["label"] == "new"


def test_to_look_is_no_change(writing: Server) -> None:
    """Else a page that looks again whenever it is told of a change would never rest."""
    paths = ("graph", "entities", "review", "log", "node/user%2Fada", "search?q=ferries", "runs", "status")
    for path in paths:
        writing.get(path)

    def look() -> None:
        for path in paths:
            raw_in_thread(writing, path)

    assert len(listen(writing, look, seconds=1.5)) == 1


def raw_in_thread(server: Server, path: str) -> None:
    assert raw(server, "GET", f"/memory/{path}")[0] == 200


# The page, and Datasette's own


def test_the_page_has_a_strict_policy_and_nothing_inline(server: Server) -> None:
    status, headers, page = raw(server, "GET", "/memory/explorer")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    text = page.decode()
    assert "<style" not in text
    assert " style=" not in text
    assert "://" not in text
    assert all("src=" in tag for tag in text.split("<script")[1:])
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(("query", "carries"), [(f"?token={TOKEN}", True), ("", False), ("?token=another", False)])
def test_only_the_page_of_the_printed_address_carries_the_token(server: Server, query: str, carries: bool) -> None:
    page = raw(server, "GET", f"/memory/explorer{query}")[2]
    assert (TOKEN.encode() in page) is carries
    assert pages.TOKEN_PLACE.encode() not in page


def test_what_the_page_asks_for_is_served(server: Server) -> None:
    page = raw(server, "GET", "/memory/explorer")[2].decode()
    names = [part.split('"')[0] for part in page.split("-/static/")[1:]]
    assert names
    for name in names:
        status, headers, data = raw(server, "GET", f"/memory/-/static/{name}")
        assert status == 200 or (name == "d3.js" and pages.d3() is None), name
        if status == 200:
            assert headers["content-type"].startswith(("text/javascript", "text/css"))
            assert data


def test_without_the_known_graph_library_none_is_served(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "d3", lambda: None)
    assert server.get("-/static/d3.js", 404)["code"] == "not_found"


def test_another_file_than_the_known_one_is_no_graph_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "D3_SHA256", "0" * 64)
    assert pages.d3.__wrapped__() is None


@pytest.mark.parametrize("path", [route.pattern for route in ROUTES if route.browsed and "{" not in route.pattern])
def test_a_browser_gets_the_pages_of_datasette(server: Server, path: str) -> None:
    response = server("GET", f"/memory/{path}", headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/html")
    suffix = "?q=x" if path == "search" else ""
    for accept in ("*/*", "application/json"):
        assert server.get(f"{path}{suffix}", headers={"accept": accept})["ok"] is True


@pytest.mark.parametrize("path", ["/memory/memories", "/memory", "/", "/memory/entities.json", "/memory/node/1"])
def test_what_is_not_the_explorers_is_datasettes(server: Server, path: str) -> None:
    assert server("GET", path, headers={"accept": "text/html"}).status_code == 200


def test_a_head_has_no_body(server: Server) -> None:
    for path in ("graph", "explorer", "changes", "node/nothing"):
        status, headers, data = raw(server, "HEAD", f"/memory/{path}")
        assert status == (404 if path == "node/nothing" else 200)
        assert data == b""
        assert "content-type" in headers


def test_the_server_proves_that_it_knows_the_token(server: Server) -> None:
    from memdb.base import warm

    said = server.get("-/alive?nonce=abc")
    assert said["proof"] == warm.proof(TOKEN, "server", "abc")
    assert TOKEN not in json.dumps(said)


# The description


def test_the_description_has_every_route_and_no_other(server: Server) -> None:
    described = server.get("openapi.json")
    assert described == openapi.document("memory")
    assert {(method.upper(), path) for path, found in described["paths"].items() for method in found} == {
        (route.method, f"/memory/{route.pattern.replace('*}', '}')}") for route in ROUTES
    }
    names = [operation["operationId"] for found in described["paths"].values() for operation in found.values()]
    assert len(names) == len(set(names)) == len(ROUTES)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.pattern}")
def test_a_route_takes_what_its_path_names(route: Any) -> None:
    named = {part.strip("{}*") for part in route.pattern.split("/") if part.startswith("{")}
    assert {one.name for one in route.parameters if one.where == "path"} == named
    assert not [one for one in route.parameters if one.where == "body" and route.method == "GET"]
    assert (route.handler is None) != (route.special == "")


def test_the_description_for_people_has_every_route(server: Server) -> None:
    page = raw(server, "GET", "/memory/api")[2].decode()
    for route in ROUTES:
        assert f"<code>{route.method} {route.pattern.replace('*}', '}')}</code>" in page


def test_the_guard_of_all_pages_passes_on_what_is_of_this_machine(server: Server) -> None:
    guarded = Server.__new__(Server)
    guarded.datasette, guarded.explorer = server.datasette, server.explorer
    guarded.app = Guard(server.app, hosts=("127.0.0.1:4097",), token=None, refuse=answers.refuse)
    assert raw(guarded, "GET", "/memory/memories")[0] == 200
    status, _, said = raw(guarded, "GET", "/memory/memories", {"host": "evil.example"})
    # As the routes of the API say it, so that a program reads one shape of errors.
    assert (status, said["ok"], said["code"], said["status"]) == (421, False, "foreign_host", 421)
