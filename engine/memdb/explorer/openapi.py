"""The API described: as OpenAPI 3.1 for programs, as a page for people; both from the table of routes."""

from __future__ import annotations

from html import escape
from typing import Any

from memdb import __version__
from memdb.explorer.answers import STATUSES
from memdb.explorer.routes import ROUTES, Route

ERROR = {
    "type": "object",
    "required": ["ok", "error", "hint", "code", "status"],
    "properties": {
        "ok": {"const": False},
        "error": {"type": "string"},
        "hint": {"type": ["string", "null"]},
        "code": {"type": "string"},
        "status": {"type": "integer"},
    },
}

GOOD = {"type": "object", "required": ["ok"], "properties": {"ok": {"const": True}}}

ITSELF = {"type": "object", "required": ["openapi", "info", "paths"]}

EVENTS = "server-sent events: `progress` (stage, done, total), then `done` or `error`; `change` (version)"

CONTENT = {"json": "application/json", "page": "text/html"}


def document(database: str) -> dict[str, Any]:
    """The OpenAPI document of one store."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(f"/{database}/{route.pattern.replace('*}', '}')}", {})[route.method.lower()] = _operation(
            route
        )
    return {
        "openapi": "3.1.0",
        "info": {"title": "memdb", "version": __version__, "description": ABOUT},
        "paths": paths,
        "components": {
            "schemas": {"Error": ERROR},
            "securitySchemes": {"token": {"type": "apiKey", "in": "header", "name": "X-Memdb-Token"}},
        },
    }


ABOUT = (
    "Reads are open to programs of this machine; writes take the token that `memdb ui` prints. Where Datasette has a"
    " page of the same path, a request that accepts text/html gets that page."
)


def _operation(route: Route) -> dict[str, Any]:
    content = CONTENT.get(route.answers)
    good: dict[str, Any] = {"description": "the answer"}
    if route.answers == "events":
        # What each event has is no part of OpenAPI 3.1.
        good = {"description": EVENTS, "content": {"text/event-stream": {}}}
    elif content is not None:
        shown = ITSELF if route.special == "openapi" else GOOD
        schema = shown if route.answers == "json" else {"type": "string"}
        good["content"] = {content: {"schema": schema}}
    bad = {
        "description": "an error",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
    statuses = sorted({*STATUSES.values(), 403, 405, 413, 415, 421, 500, 502} | ({401} if route.writes else set()))
    operation: dict[str, Any] = {
        "summary": route.about,
        "operationId": f"{route.method.lower()}_{route.pattern}".translate(str.maketrans("/-.", "___", "{}*")),
        "parameters": [
            {
                "name": one.name,
                "in": one.where,
                "description": one.about,
                "required": one.required,
                "schema": one.schema(),
            }
            | ({"explode": True} if one.form == "list" else {})
            for one in route.parameters
            if one.where != "body"
        ],
        "responses": {"200": good} | {str(status): bad for status in statuses},
    }
    if route.writes:
        body = [one for one in route.parameters if one.where == "body"]
        operation["security"] = [{"token": []}]
        shape = {
            "type": "object",
            "additionalProperties": False,
            "required": [one.name for one in body if one.required],
            "properties": {one.name: one.schema() | {"description": one.about} for one in body},
        }
        needed = any(one.required for one in body)
        operation["requestBody"] = {"required": needed, "content": {"application/json": {"schema": shape}}}
    return operation


def page(database: str) -> bytes:
    """The API for people."""
    rows = "".join(_row(route) for route in ROUTES)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>memdb: the HTTP API</title></head><body>'
        f"<h1>The HTTP API of <code>/{escape(database)}/</code></h1><p>{escape(ABOUT)}</p>"
        '<p>For programs: <a href="openapi.json">openapi.json</a></p>'
        f"<table><thead><tr><th>request<th>what it does<th>takes</tr></thead><tbody>{rows}</tbody></table>"
        "</body></html>"
    ).encode()


def _row(route: Route) -> str:
    takes = "".join(
        f"<li><code>{escape(one.name)}</code> ({one.where}{', required' if one.required else ''}): "
        f"{escape(one.about)}</li>"
        for one in route.parameters
    )
    name = escape(f"{route.method} {route.pattern.replace('*}', '}')}")
    return f"<tr><td><code>{name}</code><td>{escape(route.about)}<td><ul>{takes}</ul></tr>"
