"""The doors at which input comes in, each with what it is given and what must hold of what becomes of it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import unicodedata
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import quote, unquote

from hypothesis import strategies as st

from memdb.base.embedding import Embedder
from memdb.base.secrets import find_secrets, redact
from memdb.base.text import decode_exact, name_key
from memdb.domain import clashes, markdown, restating
from memdb.domain.chunking import chunks, estimate_offsets
from memdb.domain.extraction import read_answer
from memdb.domain.extractors import extract
from memdb.domain.frontmatter import edit_bytes, parse
from memdb.domain.memory_file import read_memory
from memdb.domain.names import places_in
from memdb.domain.relation_patterns import relations_in
from memdb.errors import MemdbError
from memdb.store import Store

DEEP = 20_000
"""Brackets within brackets: more than any reader's stack holds."""

FRAGMENTS = [
    *(
        "---\n",
        "---",
        "...\n",
        "name: ",
        "tags: [a, ",
        "description: |\n  x\n",
        "metadata:\n",
        "  type: t\n",
        "supersedes: ",
    ),
    *(
        "[[",
        "]]",
        "[[a]]",
        "|",
        "#",
        "^",
        "![[",
        "`",
        "```\n",
        "~~~\n",
        "<!--",
        "-->",
        "\\",
        "[x](y.md)",
        "# H\n",
        "> ",
        "- ",
    ),
    *(
        "\n",
        "\r\n",
        "\r",
        "\t",
        "\0",
        "\ufeff",
        "\u200b",
        "\u202e",
        "\u2028",
        "\x85",
        "\x1c",
        "é",
        "e\u0301",
        "ﬁ",
        "İ",
        "ß",
    ),
    *(
        "悬空",
        "引用",
        "ก็",
        "क्ष",
        "👩‍👩‍👧",
        "🇩🇪",
        "\U000e0041",
        "Ada Wren",
        "Corvin Works",
        "C++",
        "x86-64",
        "v1.2.3",
        "a.b/c",
    ),
    *(
        '"',
        "'",
        "(",
        ")",
        "*",
        ":",
        "AND ",
        "NEAR(",
        "%",
        "$(x)",
        "{{t}}",
        "&amp;",
        "<b>",
        "</b>",
        "<script>",
        "null",
        "NaN",
    ),
    *(
        "password = ",
        "Authorization: Bearer ",
        "token=",
        "://u:p@h/",
        "-----BEGIN ",
        "0123",
        "1e999",
        "2024-13-45",
        "12:30",
    ),
    *("is ", "is not ", "uses ", "was ", "every day ", "ignore previous instructions ", "\n\n", " ", ", ", ". "),
]
TEXT = st.lists(
    st.sampled_from(FRAGMENTS) | st.text(max_size=12) | st.sampled_from(FRAGMENTS).map(lambda piece: piece * 300),
    max_size=30,
).map("".join) | st.sampled_from(["[" * DEEP, '{"a":' * DEEP, "> " * 500, "- [" * 500, "*a " * 2000])
WRITABLE = TEXT.map(lambda text: text.encode("utf-8", "replace"))
BYTES = WRITABLE | st.binary(max_size=200) | TEXT.map(lambda text: text.encode("utf-16", "replace"))

NAMES = (
    *(
        "id",
        "key",
        "name",
        "text",
        "title",
        "type",
        "kind",
        "content",
        "role",
        "mapping",
        "message",
        "parts",
        "author",
        "on",
    ),
    *(
        "entityType",
        "observations",
        "relationType",
        "from",
        "to",
        "memory",
        "metadata",
        "created_at",
        "create_time",
        "parent",
    ),
    *(
        "children",
        "chat_messages",
        "uuid",
        "sender",
        "query",
        "question",
        "prompt",
        "gold",
        "filters",
        "item",
        "choice",
    ),
    *("entities", "relations", "subject", "predicate", "object", "confidence", "tags", "body", "description", "limit"),
    *(
        "into",
        "why",
        "by",
        "fields",
        "t",
        "w",
        "decision",
        "subjects",
        "session_id",
        "cwd",
        "hook_event_name",
        "results",
    ),
)
SCALARS = st.none() | st.booleans() | st.floats() | st.integers() | TEXT
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=4), inner, max_size=6)
    ),
    max_leaves=20,
)
OBJECT = st.dictionaries(st.sampled_from(NAMES), JSON, max_size=8)


@dataclass(frozen=True)
class Door:
    """A door: what it is given, and a function that raises where something does not hold."""

    name: str
    inputs: st.SearchStrategy[Any]
    enter: Callable[[Any], None]


def frontmatter(text: str) -> None:
    read = parse(text)
    assert read.body_line >= 1
    assert text.replace("\r\n", "\n").replace("\r", "\n").endswith(read.body)
    assert all(isinstance(value, str) for value in (read.name, read.description, *read.tags, *read.aliases) if value)


def edits(given: tuple[bytes, str, str]) -> None:
    data, key, value = given
    try:
        edited = edit_bytes(data, {key: value})
    except MemdbError:
        return
    before, after = parse(decode_exact(data).text), parse(decode_exact(edited).text)
    assert after.body == before.body
    assert all(after.frontmatter.get(other) == text for other, text in before.frontmatter.items() if other != key)


def memories(given: tuple[str, bytes]) -> None:
    name, data = given
    with suppress(MemdbError):
        read = read_memory(f"user/{name}.md", data)
        assert read == read_memory(f"user/{name}.md", data)


def links(text: str) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    for link in markdown.wiki_links(text):
        assert 1 <= link.line <= lines
        assert link.target or link.heading or link.block
    markdown.parse_links(text)
    markdown.sections(text)


def name_keys(text: str) -> None:
    key = name_key(text)
    assert name_key(key) == key
    assert name_key(unicodedata.normalize("NFD", text)) == name_key(unicodedata.normalize("NFC", text))


def names(text: str) -> None:
    found = places_in(text)
    for name in found:
        assert " ".join(text[name.start : name.stop].split()) == " ".join(name.name.split())
    relations_in(text, found)


def documents(given: tuple[str, bytes]) -> None:
    name, data = given
    with suppress(MemdbError):
        blocks = list(extract(data, name).blocks)
        assert all(block.text for block in blocks)
        cut = list(chunks(blocks, max_tokens=40, offsets_of=estimate_offsets))
        assert [chunk.ordinal for chunk in cut] == list(range(len(cut)))


def credentials(text: str) -> None:
    end = 0
    for secret in find_secrets(text):
        assert end <= secret.start < secret.end <= len(text)
        end = secret.end
    assert find_secrets(redact(text)) == []


def restatements(given: tuple[str, str]) -> None:
    one, other = given
    assert restating.compare(one, other) == restating.compare(one, other)
    clashes.claims_in("a", one, other)


def answers(given: tuple[dict[str, Any], str]) -> None:
    output, text = given
    read = read_answer(output, text)
    assert len(read.mentions) <= 5
    assert all(0.0 <= relation.confidence <= 1.0 for relation in read.relations)


class Inside:
    """Doors of a store: one of few memories, asked by every way in."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.root = folder / "root"
        (self.root / "user").mkdir(parents=True)
        for number, text in enumerate(
            ("Ada Wren works at Corvin Works.", "The lantern hangs in hall 7.", "Use [[m0]].")
        ):
            (self.root / "user" / f"m{number}.md").write_text(f"---\ntags: [t]\n---\n{text}\n", encoding="utf-8")
        self.store = stack.enter_context(Store.init(self.root, embedder=Embedder(enabled=False)))
        self.store.sync()

    def question(self, text: str) -> None:
        first = self.store.recall(text, sync_first=False)
        assert first.hits or first.empty_because
        again = self.store.recall(text, sync_first=False)
        assert [(hit.id, hit.score) for hit in first.hits] == [(hit.id, hit.score) for hit in again.hits]
        self.store.prompt_block(first, 512)

    def imports(self, given: tuple[str, Any]) -> None:
        name, value = given
        source = self.folder / "source"
        shutil.rmtree(source, ignore_errors=True)
        source.mkdir()
        if name.endswith(".zip"):
            with zipfile.ZipFile(source / name, "w") as archive:
                archive.writestr("conversations.json", written(value))
        else:
            (source / name).write_bytes(
                value if isinstance(value, bytes) else written(value).encode("utf-8", "replace")
            )
        with suppress(MemdbError):
            self.store.import_from([source / name], dry_run=True)

    def questions(self, value: Any) -> None:
        file = self.folder / "questions.jsonl"
        file.write_text(written(value), encoding="utf-8", errors="replace")
        with suppress(MemdbError):
            self.store.evaluate(file)

    def mcp(self, given: tuple[str, dict[str, Any]]) -> None:
        from memdb.mcp_server import tools

        tool, arguments = given
        outcome = tools.call(self.store, tool, arguments)
        json.dumps(outcome.data)
        assert isinstance(outcome.text, str)

    def hook(self, data: bytes) -> None:
        from memdb.serving import hook

        question = hook.read(data)
        if question is not None and question.prompt:
            hook.answer(self.store, question, sync_first=False)

    def journal(self, records: list[Any]) -> None:
        folder = self.folder / "journalled"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.root / "user", folder / "user")
        with Store.init(folder, embedder=Embedder(enabled=False)) as store:
            store.sync()
            lines = [record if isinstance(record, str) else written(record) for record in records]
            foreign = "\n".join(line.replace("\n", " ") for line in lines) + "\n"
            journal = folder / ".memdb" / "journal"
            journal.mkdir(exist_ok=True)
            (journal / "other.jsonl").write_bytes(foreign.encode("utf-8", "replace"))
            store.sync()
            store.rebuild()
            assert len(store.list()) == 3
            store.doctor()


def written(value: Any) -> str:
    """JSON, and what only looks like it: a text stands for itself."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else json.dumps(value)


KINDS = (
    "save",
    "edit",
    "delete",
    "forget",
    "rename",
    "curation",
    "vocabulary",
    "extraction",
    "judgement",
    "created",
    "import",
)
RECORD = st.builds(
    lambda kind, time, more: {**more, "kind": kind, "t": time, "w": "other"},
    st.sampled_from(KINDS) | TEXT,
    st.sampled_from(["2026-01-01T00:00:00.000000Z-0001", "2026-01-01T00:00:00.000Z", "9999", ""]) | TEXT,
    OBJECT
    | st.dictionaries(st.sampled_from(["action", "memory", "path", "text", "sha256", "on", "entity", "fields"]), JSON),
)


class Http:
    """The explorer's server, asked in process with its token."""

    def __init__(self, database: Path) -> None:
        from datasette.app import Datasette

        from memdb.datasette_plugin import exploring

        self.loop = asyncio.new_event_loop()
        self.datasette = Datasette([str(database)])
        exploring.explorer_of(self.datasette).token = "fuzz"
        self.loop.run_until_complete(self.datasette.invoke_startup())
        self.app = self.datasette.app()

    def close(self) -> None:
        from memdb.datasette_plugin import exploring

        close = getattr(exploring.explorer_of(self.datasette), "close", None)
        if close is not None:
            close()
        self.loop.close()

    def enter(self, given: tuple[str, str, str, dict[str, Any] | bytes]) -> None:
        method, path, query, body = given
        data = body if isinstance(body, bytes) else json.dumps(body).encode("utf-8", "replace")
        headers = [(b"host", b"127.0.0.1:4097"), (b"x-memdb-token", b"fuzz"), (b"content-type", b"application/json")]
        raw = quote(path.encode("utf-8", "replace"), safe="/%~!$&'()*+,;=:@").encode("ascii")  # as any client sends it
        scope = {
            **{"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http"},
            **{
                "path": unquote(raw.decode("ascii")),
                "raw_path": raw,
                "query_string": query.encode("utf-8", "replace"),
                "headers": headers,
            },
            **{"client": ("127.0.0.1", 5), "server": ("127.0.0.1", 4097), "root_path": ""},
        }
        statuses: list[int] = []
        gone = asyncio.Event()

        async def receive() -> dict[str, Any]:
            if statuses:
                await gone.wait()
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": data, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            elif message["type"] == "http.response.body" and message.get("body"):
                gone.set()  # of a stream, the first event is enough

        async def ask() -> None:
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.app(scope, receive, send), timeout=20)

        self.loop.run_until_complete(ask())
        assert statuses, "no answer within 20 seconds"
        assert statuses[0] < 500, f"status {statuses[0]}"


def _request() -> st.SearchStrategy[tuple[str, str, str, Any]]:
    from memdb.explorer.routes import ROUTES

    segment = st.sampled_from(["user%2Fm0", "user/m0", "entity:ada wren", "1", "..", "%2e%2e", "\0", "a" * 300]) | TEXT

    def path(pattern: str, filled: str) -> str:
        return "/memory/" + re.sub(r"\{[^}]*\}", lambda _: filled, pattern.lstrip("/"))

    # Work in the background and opening a program of this machine are not for random input.
    able = [route for route in ROUTES if route.answers == "json" and not route.pattern.endswith("open")]
    known = st.builds(lambda route, filled: (route.method, path(route.pattern, filled)), st.sampled_from(able), segment)
    anything = st.tuples(st.just("GET"), TEXT.map(lambda text: f"/memory/{text}"))
    query = st.lists(
        st.tuples(st.sampled_from([*NAMES, "q", "kinds", "offset", "around", "sort", "hops"]), TEXT), max_size=4
    )
    return st.builds(
        lambda line, pairs, body: (*line, "&".join(f"{key}={value}" for key, value in pairs), body),
        known | known | known | anything,
        query,
        OBJECT | st.dictionaries(st.sampled_from(["name", "type", "into", "why", "kind", "description"]), TEXT) | BYTES,
    )


FILES = (
    "a.md",
    "a.txt",
    "a.html",
    "a.csv",
    "a.tsv",
    "a.json",
    "a.jsonl",
    "a.ipynb",
    "a.py",
    "a.js",
    "a.c",
    "a.pdf",
    "a.docx",
    "a",
)
SOURCES = ("memory.json", "memory.jsonl", "conversations.json", "export.zip", "note.md", "a.json")
KEYS = ("name", "description", "tags", "type", "zeta", "created", "aliases")

NAMES_OF_PURE: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], None]]] = {
    "frontmatter": (TEXT.map(lambda text: f"---\n{text}") | TEXT, frontmatter),
    "frontmatter edit": (st.tuples(WRITABLE.map(lambda data: b"---\n" + data), st.sampled_from(KEYS), TEXT), edits),
    "memory file": (st.tuples(st.sampled_from(["a", "CON", "é", "-x"]), BYTES), memories),
    "links": (TEXT, links),
    "name key": (TEXT, name_keys),
    "names and relations": (TEXT, names),
    "document": (
        st.tuples(st.sampled_from(FILES), BYTES | JSON.map(lambda value: written(value).encode("utf-8", "replace"))),
        documents,
    ),
    "secrets": (TEXT, credentials),
    "restating and clashes": (st.tuples(TEXT, TEXT), restatements),
    "model answer": (st.tuples(OBJECT, TEXT), answers),
}
NAMES_OF_STORE = ("question", "import", "questions file", "mcp", "hook", "journal", "http")
DOORS = (*NAMES_OF_PURE, *NAMES_OF_STORE)


def opened(folder: Path, stack: ExitStack) -> Iterator[Door]:
    """All doors, over a store in `folder` that the stack closes."""
    for name, (inputs, enter) in NAMES_OF_PURE.items():
        yield Door(name, inputs, enter)
    # Random input is read, not embedded: no door needs the model.
    stack.enter_context(patch.dict(os.environ, {"MEMDB_EMBEDDER": "off"}))
    inside = Inside(folder, stack)
    tools = st.sampled_from(["recall", "read", "remember", "relate", "explain", "review", "status", "x"])
    asked = OBJECT.map(lambda value: written(value).encode("utf-8", "replace"))
    yield Door("question", TEXT | TEXT.map(lambda text: text * 50), inside.question)
    yield Door(
        "import", st.tuples(st.sampled_from(SOURCES), st.lists(OBJECT, max_size=4) | JSON | BYTES), inside.imports
    )
    yield Door("questions file", JSON | TEXT, inside.questions)
    yield Door("mcp", st.tuples(tools | TEXT, OBJECT), inside.mcp)
    yield Door("hook", asked | BYTES, inside.hook)
    yield Door("journal", st.lists(RECORD | TEXT, min_size=1, max_size=6), inside.journal)
    http = Http(inside.root / ".memdb" / "memory.db")
    stack.callback(http.close)
    yield Door("http", _request(), http.enter)
