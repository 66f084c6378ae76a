"""Requests made up from the OpenAPI page: whatever is asked or sent, the answer is one that the page declares."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from memdb.explorer import openapi
from memdb.explorer.parameters import TEXT_LIMIT
from memdb.explorer.routes import ROUTES, Route
from tests.test_http_api import TOKEN, Server, make

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]

NEVER_ENDS = "changes"

TRUE_WORDS: dict[str, tuple[str, ...]] = {
    "id": ("entity:ada wren", "ada wren", "Corvin Works", "user/ada", "document:docs/guide.html", "tag:people",
           "1", "7"),  # no id with a #: what makes requests here leaves it bare, and no client sends what is behind one
    "number": ("1", "0"),
    "name": ("ship", "person", "app.js", "boat", "Ada Wren", "works_at"),
    "into": ("Ada Wren", "entity:bryn lowe", "nobody"),
    "item": ("proposal:type+ship", "problem:x", "merge:a+b"),
    "choice": ("dismiss", "approve", "keep-both", "keep"),
    "around": ("entity:ada wren", "document:docs/guide.html", "user/ada"),
    "q": ("ferries", "Ada Wren", 'C++ "don', "\x00"),
    "subject": ("entity:ada wren", "type:ship", "predicate:works_at", "conflict:x"),
    "type": ("person", "ship", "concept"),
    "memory": ("user/ada", "corvin"),
}  # fmt: skip
"""What the store has: of words that are made up alone, none names anything."""

READS = [route for route in ROUTES if not route.writes and route.pattern != NEVER_ENDS]
WRITES = [route for route in ROUTES if route.writes]


def name_of(route: Route) -> str:
    return f"{route.method} {route.pattern}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("MEMDB_EMBEDDER", "off")
        world = make(tmp_path_factory.mktemp("fuzzed"))
        world.store.close()
        yield world.root


@pytest.fixture(scope="module")
def server(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A throw-away store, on which all requests of this file follow one another."""
    root = tmp_path_factory.mktemp("copy") / "root"
    shutil.copytree(made, root)
    serving = Server(root / ".memdb" / "memory.db", TOKEN)
    serving.explorer.opener = lambda _file: None
    yield serving
    serving.explorer.close()


EXAMPLES = pytest.mark.parametrize("examples", [4, pytest.param(20, marks=pytest.mark.slow)], ids=["few", "many"])


@cache
def described() -> Any:
    # Texts of the whole length that is allowed take most of the time to make up, and an address cannot hold them.
    text = json.dumps(openapi.document("memory")).replace(f'"maxLength": {TEXT_LIMIT}', '"maxLength": 60')
    return schemathesis.openapi.from_dict(json.loads(text))


def operation_of(route: Route) -> Any:
    return described()[f"/memory/{route.pattern.replace('*}', '}')}"][route.method]


def with_true_words(case: Case, data: st.DataObject) -> None:
    """Put what the store has in the place of some of what was made up."""
    for held in (case.path_parameters, case.query, case.body):
        for name in sorted(TRUE_WORDS.keys() & held.keys()) if isinstance(held, dict) else ():
            if data.draw(st.booleans(), label=f"a true {name}"):
                held[name] = data.draw(st.sampled_from(TRUE_WORDS[name]), label=name)


def asks(server: Server, route: Route, examples: int) -> None:
    """Ask what fits the description, and what does not."""
    for mode in GenerationMode if route.parameters else (GenerationMode.POSITIVE,):
        asks_so(server, route, mode, examples)


def asks_so(server: Server, route: Route, mode: GenerationMode, examples: int) -> None:
    @settings(
        max_examples=examples, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(operation_of(route).as_strategy(generation_mode=mode), st.data())
    def ask(case: Case, data: st.DataObject) -> None:
        if mode is GenerationMode.POSITIVE:
            with_true_words(case, data)
        sent = case.as_transport_kwargs(base_url="http://127.0.0.1:4097")
        made_up = dict(sent.get("headers") or {}).items()
        own = ("host", "accept-encoding", "x-memdb-token")
        headers = {name: value for name, value in made_up if name.lower() not in own}
        more = {key: sent[key] for key in ("params", "json", "content") if sent.get(key) is not None}
        if sent.get("data") is not None:
            more["content"] = sent["data"]
        response = server(sent["method"], sent["url"], headers=headers, **more)
        case.validate_response(response, checks=CHECKS)

    ask()


@pytest.mark.parametrize("route", READS, ids=name_of)
@EXAMPLES
def test_any_question_has_a_declared_answer(server: Server, route: Route, examples: int) -> None:
    asks(server, route, examples)


@pytest.mark.parametrize("route", WRITES, ids=name_of)
@EXAMPLES
def test_any_change_has_a_declared_answer(server: Server, route: Route, examples: int) -> None:
    asks(server, route, examples)
