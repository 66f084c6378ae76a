"""An OpenAI-compatible endpoint on loopback that answers from a script, over real sockets."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NOTHING: dict[str, Any] = {"entities": [], "relations": []}


@dataclass
class Reply:
    """One reply: the status and JSON body, or something that goes wrong on the way."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    hang: float = 0.0
    drip: float = 0.0
    drop: bool = False


Step = Reply | Callable[["Request"], Reply]


@dataclass
class Request:
    """What a client sent."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, str]]:
        return list(self.body["messages"])

    @property
    def prompt(self) -> str:
        """The last message."""
        return self.messages[-1]["content"]

    @property
    def text(self) -> str:
        """The fenced text of an extraction prompt."""
        _, fence, rest = self.prompt.partition("=== text ")
        marker, _, body = rest.partition(" ===\n")
        return body.rpartition(f"\n{fence}{marker} ===")[0]

    @property
    def form(self) -> str | None:
        """The type of `response_format`, None where there is none."""
        wanted = self.body.get("response_format")
        return wanted["type"] if wanted else None


def says(
    content: str | None, *, finish: str = "stop", tokens: tuple[int, int] | None = (100, 20), refusal: str | None = None
) -> Reply:
    """A completion with this text."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "finish_reason": finish, "message": message, "logprobs": None}],
    }
    if tokens is not None:
        prompt, completion = tokens
        body["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }
    return Reply(body=body)


def gives(output: Mapping[str, Any], **options: Any) -> Reply:
    """A completion with this JSON object."""
    return says(json.dumps(output), **options)


def fails(status: int, message: str = "", *, code: str | None = None, **headers: str) -> Reply:
    """An error in the shape that OpenAI's API has; header names with `_` for `-`."""
    body = {"error": {"message": message, "type": code, "code": code, "param": None}}
    return Reply(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


RATE_LIMITED = fails(429, "Rate limit reached for requests", code="rate_limit_exceeded", retry_after="2")
QUOTA = fails(429, "You exceeded your current quota, please check your plan.", code="insufficient_quota")
NO_MODEL = fails(404, "The model does not exist or you do not have access to it.", code="model_not_found")
BAD_KEY = fails(401, "Incorrect API key provided.", code="invalid_api_key")
HANG = Reply(hang=30.0)
DROP = Reply(drop=True)


def without_forms(*missing: str, then: Callable[[Request], Reply]) -> Callable[[Request], Reply]:
    """An endpoint that rejects these types of `response_format` with HTTP 400."""

    def answer(request: Request) -> Reply:
        if request.form in missing:
            return fails(400, f"response_format type {request.form} is not supported")
        return then(request)

    return answer


class LlmServer:
    """Replies are taken from `script` in turn; where it is empty, `answer` computes one from the request."""

    def __init__(self, *script: Step, answer: Callable[[Request], Reply] | None = None) -> None:
        self.script = list(script)
        self.answer = answer or (lambda request: gives(NOTHING))
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        self._ending = threading.Event()
        outer = self

        class Handler(_Handler):
            owner = outer

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """For OPENAI_BASE_URL."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> LlmServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def reply_to(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            step = self.script.pop(0) if self.script else self.answer
        return step if isinstance(step, Reply) else step(request)

    def wait(self, seconds: float) -> None:
        """Wait, unless the server is ended."""
        self._ending.wait(seconds)

    @property
    def ended(self) -> bool:
        return self._ending.is_set()


@contextmanager
def answering(answer: Callable[[Request], Mapping[str, Any]]) -> Iterator[LlmServer]:
    """A server whose answers are a function of the request."""
    with LlmServer(answer=lambda request: gives(answer(request))) as server:
        yield server


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    owner: LlmServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.owner.reply_to(Request(self.path, headers, body))
        if reply.hang:
            self.owner.wait(reply.hang)
        if reply.drop or reply.hang:
            self.close_connection = True
            return
        data = reply.body.encode() if isinstance(reply.body, str) else json.dumps(reply.body).encode()
        kind = "text/html" if isinstance(reply.body, str) else "application/json"
        self.send_response(reply.status)
        for name, value in {"Content-Type": kind, **reply.headers}.items():
            self.send_header(name, value)
        if reply.drip:
            self._drip(reply.drip)
            return
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _drip(self, seconds: float) -> None:
        """A blank every twentieth of a second, as some gateways send to keep a connection open."""
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        end = time.monotonic() + seconds
        with suppress(OSError):
            while time.monotonic() < end and not self.owner.ended:
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.05)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""
