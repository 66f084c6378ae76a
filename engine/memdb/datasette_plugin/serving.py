"""The server of `memdb ui`: Datasette with the explorer on a port of this machine, which a file of the store names.

It speaks the Model Context Protocol at `/mcp` too.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import ProxyHandler, build_opener

import filelock
import uvicorn
from datasette.app import Datasette
from datasette.utils import tilde_encode

from memdb.base import warm
from memdb.base.place import Place
from memdb.datasette_plugin import exploring
from memdb.datasette_plugin.mcp_mount import with_mcp
from memdb.errors import Busy, NotWritable, UsageError
from memdb.explorer import answers
from memdb.serving.http_guard import Guard, local_hosts

FIRST_PORT = 4097
PORTS = 200
"""How many ports are tried, from the first one on."""

ASK_SECONDS = 2.0
"""That a running server may take to prove itself."""

START_SECONDS = 5.0
"""That another process may take from claiming the store to answering."""


class Info(NamedTuple):
    """What the file of a running server says."""

    port: int
    pid: int
    token: str
    database: str
    route: str

    @property
    def base(self) -> str:
        """The address of the store."""
        return f"http://127.0.0.1:{self.port}/{self.route}"

    @property
    def url(self) -> str:
        """The address of the page, with the token."""
        return f"{self.base}/explorer?token={quote(self.token, safe='')}"


def info_file(place: Place) -> Path:
    """Where a running server says where it is: beside that of the warm process, one for each database."""
    return place.served.with_name(place.served.name.replace("serve", "ui", 1))


def read_info(place: Place) -> Info | None:
    """What the file says; None where there is none or it is damaged."""
    try:
        said = json.loads(info_file(place).read_text(encoding="utf-8"))
        return Info(int(said["port"]), int(said["pid"]), str(said["token"]), str(said["database"]), str(said["route"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def running(place: Place) -> Info | None:
    """The server of a store that runs now; one that took the port of a dead server cannot prove that it is it."""
    info = read_info(place)
    if info is None or info.database != str(place.database):
        return None
    nonce = secrets.token_hex(16)
    try:
        # The way to this machine leads through no proxy.
        with build_opener(ProxyHandler({})).open(f"{info.base}/-/alive?nonce={nonce}", timeout=ASK_SECONDS) as answer:
            said = json.loads(answer.read(65_536))
    except (OSError, URLError, ValueError):
        return None
    proof = str(said.get("proof")) if isinstance(said, dict) else ""
    return info if hmac.compare_digest(proof.encode(), warm.proof(info.token, "server", nonce).encode()) else None


def start_or_find(place: Place, *, port: int | None = None, open_file: Callable[[Path], None]) -> UiServer | Info:
    """A server that is ready to run, or where the one is that runs already.

    Raises Busy where another process claims the store and does not answer, UsageError for a port that cannot be used,
    NotWritable.
    """
    file = info_file(place)
    lock = filelock.FileLock(str(file.with_suffix(".lock")), thread_local=False)
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=0)
            return UiServer(place, lock, port=port, open_file=open_file)
        except filelock.Timeout:
            found = running(place)
            if found is not None:
                return found
        except OSError as error:
            raise NotWritable(f"{place.home} takes no write: {error.strerror or error}.") from error
        if time.monotonic() > end:
            raise Busy(f"Another process serves {place.root}, and does not answer.", hint="End it, then try again.")
        time.sleep(0.1)


class UiServer:
    """Datasette with the explorer on a port that is open already; `run` serves until `stop`."""

    def __init__(self, place: Place, lock: Any, *, port: int | None, open_file: Callable[[Path], None]) -> None:
        self._place, self._lock = place, lock
        try:
            self._socket = open_port(port)
        except UsageError:
            lock.release()
            raise
        datasette = Datasette([str(place.database)])
        exploring.put_place(datasette, place)
        self._explorer = exploring.explorer_of(datasette)
        self._explorer.token, self._explorer.opener = secrets.token_urlsafe(32), open_file
        at = int(self._socket.getsockname()[1])
        # Datasette's own pages too are for this machine alone.
        with_agents = with_mcp(datasette.app(), lambda: self._explorer.served(place).store, local_hosts(at))
        app: Any = Guard(with_agents, hosts=local_hosts(at), token=None, refuse=answers.refuse)
        config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=2)
        self._server = uvicorn.Server(config)
        route = tilde_encode(place.database.stem)
        self.info = Info(at, os.getpid(), self._explorer.token, str(place.database), route)
        self._write()

    def _write(self) -> None:
        """Write the file, readable by its owner alone."""
        file = info_file(self._place)
        aside = file.with_suffix(".tmp")
        aside.unlink(missing_ok=True)
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
            json.dump(self.info._asdict(), out)
        os.replace(aside, file)  # noqa: PTH105

    def run(self) -> None:
        """Serve until `stop`."""
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Have `run` return; from any thread and from a signal's handler."""
        self._explorer.end_streams()
        self._server.should_exit = True

    def close(self) -> None:
        """Close the port and the store, and take the file away."""
        self._socket.close()
        self._explorer.close()
        with suppress(OSError):
            info_file(self._place).unlink(missing_ok=True)
        self._lock.release()


def open_port(port: int | None) -> socket.socket:
    """The port that was asked for, else the first free one from 4097 on. Raises UsageError."""
    if port is not None:
        try:
            return socket.create_server(("127.0.0.1", port))
        except OSError as error:
            raise UsageError(f"The port {port} cannot be used: {error.strerror or error}.") from error
    for one in range(FIRST_PORT, FIRST_PORT + PORTS):
        with suppress(OSError):
            return socket.create_server(("127.0.0.1", one))
    raise UsageError(f"No port from {FIRST_PORT} to {FIRST_PORT + PORTS - 1} is free.", hint="Give one: --port.")
