"""Find and ask the warm process of a store: it keeps the store open and the model loaded, on a port of this machine.

`.memdb/local/serve.json` says where it is, and has a secret that both sides prove to have and neither sends: a program
that took the port of a dead server learns nothing and is not believed. Both sides write one JSON object a line. Asking
costs a few milliseconds and imports no HTTP.
"""

from __future__ import annotations

import hmac
import json
import os
import socket
import time
from contextlib import closing
from hashlib import sha256
from typing import Any, NamedTuple

from memdb.base.place import Place
from memdb.version import __version__

HOST = "127.0.0.1"

PROTOCOL = 1
"""Raised when a request or an answer changes its meaning."""

LINE_BYTES = 16 * 1024 * 1024
"""The longest line that either side reads: a question may be a pasted page, an answer holds some texts."""

CONNECT_SECONDS = 0.25
"""How long a connection to a port of this machine may take: a server that hangs is not waited for."""

ENVIRONMENT = ("MEMDB_MODEL", "MEMDB_EMBEDDER", "MEMDB_CACHE_DIR", "MEMDB_HOME")
"""Variables by which the answers of two processes could differ: a server with others is not asked."""


class Info(NamedTuple):
    """What the file of a warm process says."""

    port: int
    token: str
    pid: int
    version: str
    protocol: int
    database: str


class NoAnswer(Exception):
    """There is no warm process that could answer, or it did not in time."""


def read_info(place: Place) -> Info | None:
    """What the file says; None where there is none or it is damaged."""
    try:
        said = json.loads(place.served.read_text(encoding="utf-8"))
        return Info(
            int(said["port"]),
            str(said["token"]),
            int(said["pid"]),
            str(said["version"]),
            int(said["protocol"]),
            str(said["database"]),
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write_info(place: Place, info: Info) -> None:
    """Write the file, readable by its owner alone."""
    file = place.served
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_suffix(".tmp")
    aside.unlink(missing_ok=True)
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
        json.dump(info._asdict(), out)
    os.replace(aside, file)  # noqa: PTH105


def environment() -> dict[str, str]:
    """This process's values of the variables that change answers."""
    return {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}


def proof(token: str, side: str, nonce: str) -> str:
    """What only one who knows the token can say of the other side's nonce."""
    return hmac.new(token.encode(), f"{side} {nonce}".encode(), sha256).hexdigest()


def ask(place: Place, request: dict[str, Any], *, seconds: float, any_version: bool = False) -> dict[str, Any]:
    """The answer of the warm process to a request, within some seconds in all. Raises NoAnswer.

    It is asked only if it runs the same version with the same settings, unless `any_version`.
    """
    end = time.monotonic() + seconds
    info = read_info(place)
    if info is None:
        raise NoAnswer("there is no warm process")
    if not any_version and (info.version, info.protocol) != (__version__, PROTOCOL):
        raise NoAnswer(f"the warm process is memdb {info.version}")
    try:
        # create_connection would look the name up, which takes longer than the answer.
        with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as link:
            link.settimeout(min(CONNECT_SECONDS, max(0.01, seconds)))
            link.connect((HOST, info.port))
            wire = Wire(link, end)
            mine = os.urandom(16).hex()
            wire.send({"memdb": PROTOCOL, "nonce": mine})
            greeting = wire.receive()
            if not hmac.compare_digest(str(greeting.get("proof")), proof(info.token, "server", mine)):
                raise NoAnswer("another program has the port of the warm process")
            theirs = proof(info.token, "client", str(greeting.get("nonce")))
            wire.send({"proof": theirs, "environment": environment(), "request": request})
            answer = wire.receive()
    except (OSError, ValueError, OverflowError) as error:
        raise NoAnswer(f"the warm process does not answer: {error}") from error
    if "answer" not in answer or not isinstance(answer["answer"], dict):
        raise NoAnswer(str(answer.get("refused", "the warm process gave no answer")))
    return dict(answer["answer"])


class Wire:
    """One JSON object a line over a socket, until a moment of the monotonic clock."""

    def __init__(self, link: socket.socket, end: float) -> None:
        self._link, self._end, self._held = link, end, bytearray()

    def send(self, message: dict[str, Any]) -> None:
        """Send one object. Raises OSError."""
        self._patience()
        self._link.sendall(json.dumps(message).encode("ascii") + b"\n")

    def receive(self) -> dict[str, Any]:
        """The next object. Raises OSError, ValueError for what is none."""
        while (cut := self._held.find(b"\n")) < 0:
            self._patience()
            more = self._link.recv(65536)
            if not more:
                raise ConnectionError("the other side closed the connection")
            self._held += more
            if len(self._held) > LINE_BYTES:
                raise ValueError("the line is too long")
        line = bytes(self._held[:cut])
        del self._held[: cut + 1]
        said = json.loads(line)
        if not isinstance(said, dict):
            raise ValueError("no object")
        return said

    def _patience(self) -> None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("no answer in time")
        self._link.settimeout(left)
