"""A web server on loopback whose pages the tests write, and which counts what it is asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(slots=True)
class Page:
    """What is answered: with `pause`, that many seconds pass before each byte of the head and body."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    pause: float = 0.0
    cut: int | None = None  # bytes after which the answer breaks off


class Site:
    """Pages by path; `asked` has each path that was asked for, in order."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.pages: dict[str, Page] = {}
        self.asked: list[str] = []
        self.agents: list[dict[str, str]] = []

    def put(self, path: str, body: bytes | str, content_type: str = "text/html; charset=utf-8", **headers: str) -> str:
        """Serve a page; returns its address. `content_encoding="gzip"` is the header of that name."""
        data = body.encode() if isinstance(body, str) else body
        named = {name.replace("_", "-").title(): value for name, value in headers.items()}
        self.pages[path] = Page(data, headers={"Content-Type": content_type} | named if content_type else named)
        return self.address(path)

    def redirect(self, path: str, to: str, status: int = 302) -> str:
        self.pages[path] = Page(status=status, headers={"Location": to})
        return self.address(path)

    def address(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"


@contextmanager
def serving() -> Iterator[Site]:
    """A site that answers until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path
            site.asked.append(path)
            site.agents.append(dict(self.headers.items()))
            page = site.pages.get(path, Page(b"nothing here", 404))
            try:
                self.answer(page)
            except OSError:
                self.close_connection = True  # whoever asked has gone

        def answer(self, page: Page) -> None:
            if page.pause:
                drip = b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nX-Slow: " + b"x" * 400 + b"\r\n\r\n" + page.body
                for at in range(len(drip)):
                    self.wfile.write(drip[at : at + 1])
                    self.wfile.flush()
                    time.sleep(page.pause)
                return
            self.send_response(page.status)
            for name, value in page.headers.items():
                self.send_header(name, value)
            if "Transfer-Encoding" not in page.headers:
                self.send_header("Content-Length", str(len(page.body)))
            self.end_headers()
            self.wfile.write(page.body if page.cut is None else page.body[: page.cut])
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site = Site(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
