"""What the API sends: JSON, the one shape of errors, and the headers that every answer has."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from memdb.base import secrets
from memdb.errors import MemdbError

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

STATUSES = {
    "usage": 400,
    "not_found": 404,
    "refused": 409,
    "changed": 409,
    "secret": 422,
    "unreadable": 503,
    "newer_store": 503,
    "not_writable": 503,
    "model_unavailable": 503,
    "busy": 503,
    "llm_off": 409,
}
"""The status of each kind of error; what is not here is the fault of another server: 502."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing inline, nothing from elsewhere, in no frame."""

HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": POLICY,
}

JSON = "application/json; charset=utf-8"


class HttpError(MemdbError):
    """An error of the request itself, with its status."""

    def __init__(self, status: int, code: str, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status, self.code = status, code
        self.headers: dict[str, str] = {}


def status_of(error: MemdbError) -> int:
    """The status that an error has."""
    return error.status if isinstance(error, HttpError) else STATUSES.get(error.code, 502)


def error_shape(error: MemdbError) -> dict[str, Any]:
    """The one JSON shape of an error."""
    secrets.redact_error(error)
    return {
        "ok": False,
        "error": error.message,
        "hint": error.hint,
        "code": error.code,
        "status": status_of(error),
    }


async def send(
    send: Send,
    status: int,
    body: bytes,
    content_type: str,
    headers: dict[str, str] | None = None,
    *,
    head: bool = False,
) -> None:
    """Send a whole answer; of a HEAD request without its body."""
    given = {"content-type": content_type, "content-length": str(len(body)), "cache-control": "no-store"}
    await send(_start(status, given | HEADERS | (headers or {})))
    await send({"type": "http.response.body", "body": b"" if head else body})


async def send_json(to: Send, status: int, value: Any, *, head: bool = False, **headers: str) -> None:
    """Send a value as JSON."""
    await send(to, status, as_json(value), JSON, headers, head=head)


async def send_error(to: Send, error: MemdbError, *, head: bool = False) -> None:
    """Send an error."""
    headers = error.headers if isinstance(error, HttpError) else {}
    await send(to, status_of(error), as_json(error_shape(error)), JSON, headers, head=head)


async def refuse(to: Send, status: int, code: str, message: str) -> None:
    """Answer to whoever may not ask, before anything looks at what is asked."""
    await send_error(to, HttpError(status, code, message))


def as_json(value: Any) -> bytes:
    """A value as JSON. It is ASCII: file names that are no UTF-8 have halves of characters, which UTF-8 has not."""
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def _start(status: int, headers: dict[str, str]) -> Message:
    pairs = [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]
    return {"type": "http.response.start", "status": status, "headers": pairs}


async def begin_events(to: Send) -> None:
    """Begin an answer of server-sent events."""
    await to(_start(200, {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store"} | HEADERS))


def event(name: str, value: Any) -> bytes:
    """One server-sent event."""
    return b"event: " + name.encode("ascii") + b"\ndata: " + as_json(value) + b"\n\n"
