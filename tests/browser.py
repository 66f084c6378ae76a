"""A real browser on a real server: headless Chromium by playwright, Datasette with the explorer on loopback."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

REPOSITORY = Path(__file__).parents[1]

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
"""Programs that are Chromium; `MEMDB_TEST_CHROMIUM` names another one."""

WAIT = 30.0
"""Seconds that anything may take on a busy machine."""

SERVER = """
import sys, uvicorn
from datasette.app import Datasette
from memdb.datasette_plugin import exploring
database, port, token, before = sys.argv[1:]
exec(before)
datasette = Datasette([database])
explorer = exploring.explorer_of(datasette)
if token:
    explorer.token = token
    explorer.opener = lambda file: print("opened", file, flush=True)
uvicorn.run(datasette.app(), host="127.0.0.1", port=int(port), log_level="warning")
"""


def chromium() -> str:
    """The browser's program; skips where there is none."""
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    named = os.environ.get("MEMDB_TEST_CHROMIUM")
    found = named or next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None:
        pytest.skip("no Chromium on this machine")
    return found


@contextmanager
def served(database: Path, *, token: str = "", port: int = 0, before: str = "") -> Iterator[str]:
    """Serve a store as `memdb ui` does; gives the address of the server. Without a token nothing is written.

    `before` is Python that the server runs first: what this machine lacks.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        port = probe.getsockname()[1]
    paths = os.pathsep.join([str(REPOSITORY / "engine"), str(REPOSITORY / "cli"), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(database), str(port), token, before], env=os.environ | {"PYTHONPATH": paths}
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{address}/memory/status", process)
        yield address
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)
        process.kill()
        process.wait()


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        assert process.poll() is None, "the server ended"
        try:
            with opener.open(address, timeout=WAIT):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    raise AssertionError("the server does not answer")


@dataclass
class Seen:
    """What a page did beside what it shows: complaints, and addresses of other hosts that it asked for."""

    complaints: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def assert_quiet(self, *expected: str) -> None:
        """Nothing was complained of but what has one of these words, and nobody else was asked for anything."""
        assert [text for text in self.complaints if not any(word in text for word in expected)] == []
        assert self.foreign == []


@contextmanager
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    program = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield started
        finally:
            started.close()


@contextmanager
def opened(
    started: Any, address: str, *, size: tuple[int, int] = (1400, 900), **options: Any
) -> Iterator[tuple[Any, Seen]]:
    """A page in a profile of its own, and what is seen of it."""
    context = started.new_context(viewport={"width": size[0], "height": size[1]}, reduced_motion="reduce", **options)
    page = context.new_page()
    page.set_default_timeout(WAIT * 1000)
    seen = Seen()
    page.on("console", lambda said: seen.complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    # Requests to anywhere else are noted and do not leave.
    own = (f"{urlsplit(address).scheme}://{urlsplit(address).netloc}/", "data:", "blob:")
    context.route(lambda url: not url.startswith(own), lambda route: _refused(route, seen))
    page.add_init_script(
        "document.addEventListener('securitypolicyviolation',"
        " (event) => console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI))"
    )
    try:
        page.goto(address)
        yield page, seen
    finally:
        context.close()


def _refused(route: Any, seen: Seen) -> None:
    seen.foreign.append(route.request.url)
    route.abort()


def until(check: Callable[[], Any], what: str = "it") -> Any:
    """Ask until the answer is true, and give it."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        found = check()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what} did not come about in {WAIT:.0f} s")


def at_rest(page: Any) -> None:
    """Wait until what the page asks first is answered and the graph stands still."""
    page.evaluate("globalThis.memdbReady")
    until(lambda: page.get_attribute("#canvas", "data-resting") == "true", "a graph at rest")
