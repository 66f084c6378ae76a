"""Ask the warm process of a store, with what every interpreter has built in: an agent waits for it at each prompt.

`json`, `hmac`, `socket`, `pathlib` and `typing` take longer to import than the question and its answer take together.
So this uses the modules in C under them, and where an interpreter lacks one of those, the usual ones.
"""

from __future__ import annotations

import os
import time

from memdb.version import __version__

try:
    from _json import encode_basestring_ascii, make_encoder, make_scanner
    from _operator import _compare_digest as same
    from _socket import AF_INET, SOCK_STREAM
    from _socket import socket as Link

    try:
        from _sha2 import sha256  # type: ignore[import-not-found]
    except ImportError:  # before Python 3.12
        from _sha256 import sha256  # type: ignore[import-not-found]
    IS_LIGHT = True
except ImportError:
    from hashlib import sha256
    from hmac import compare_digest as same  # type: ignore[no-redef]
    from socket import AF_INET, SOCK_STREAM
    from socket import socket as Link  # type: ignore[assignment]

    IS_LIGHT = False

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HOST = "127.0.0.1"

PROTOCOL = 2
"""Raised when a request or an answer changes its meaning."""

LINE_BYTES = 16 * 1024 * 1024
"""The longest line that either side reads: a question may be a pasted page, an answer holds some texts."""

CONNECT_SECONDS = 0.25
"""How long a connection to a port of this machine may take: a server that hangs is not waited for."""

ENVIRONMENT = ("MEMDB_MODEL", "MEMDB_EMBEDDER", "MEMDB_CACHE_DIR", "MEMDB_HOME")
"""Variables by which the answers of two processes could differ: a server with others is not asked."""

BLOCK_BYTES = 64
"""Of SHA-256, by which an HMAC pads its key (RFC 2104)."""


class NoAnswer(Exception):
    """There is no warm process that could answer, or it did not in time."""


# JSON


class _Rules:
    """How the scanner of `json` reads."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int
    parse_constant = float


def loads(text: str) -> Any:
    """A JSON text as `json.loads` reads it. Raises ValueError."""
    if not IS_LIGHT:
        import json  # noqa: PLC0415

        return json.loads(text)
    blank = " \t\n\r"
    try:
        value, end = _scan(text, len(text) - len(text.lstrip(blank)))
    except StopIteration as error:
        raise ValueError("it is no JSON") from error
    if text[end:].strip(blank):
        raise ValueError("more follows the JSON")
    return value


def dumps(value: Any) -> str:
    """A value as JSON, in ASCII. Raises TypeError."""
    if not IS_LIGHT:
        import json  # noqa: PLC0415

        return json.dumps(value)
    return "".join(_encode(value, 0))


def _refuse(value: object) -> Any:
    raise TypeError(f"{type(value).__name__} is not JSON")


if IS_LIGHT:
    _scan = make_scanner(_Rules)  # type: ignore[arg-type]
    _encode = make_encoder(None, _refuse, encode_basestring_ascii, None, ": ", ", ", False, False, True)


# The conversation


def file_of(home: str, database: str) -> str:
    """Where the warm process of a store says where it is; a database outside of `home` has one of its own."""
    if database == os.path.join(home, "memory.db"):  # noqa: PTH118
        return os.path.join(home, "local", "serve.json")  # noqa: PTH118
    mark = sha256(database.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return os.path.join(home, "local", f"serve-{mark}.json")  # noqa: PTH118


def read_file(file: str) -> dict[str, Any]:
    """What the file of a warm process says; empty where there is none or it is damaged."""
    try:
        with open(file, encoding="utf-8") as source:  # noqa: PTH123
            said = loads(source.read())
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def environment() -> dict[str, str]:
    """This process's values of the variables that change answers."""
    return {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}


def proof(token: str, side: str, nonce: str) -> str:
    """What only one who knows the token can say of the other side's nonce: an HMAC with SHA-256."""
    key = token.encode()
    key = (sha256(key).digest() if len(key) > BLOCK_BYTES else key).ljust(BLOCK_BYTES, b"\0")
    inner = sha256(bytes(byte ^ 0x36 for byte in key) + f"{side} {nonce}".encode()).digest()
    return str(sha256(bytes(byte ^ 0x5C for byte in key) + inner).hexdigest())


def _is_of(file: str, database: str) -> bool:
    """Whether a file that says where a process is lies where that process wrote it, in `.memdb/local` of its root."""
    if os.path.basename(file) != "serve.json":  # noqa: PTH119
        return True  # of a database elsewhere, by whose path the file is called
    home, name = os.path.split(os.path.dirname(os.path.dirname(file)))  # noqa: PTH120
    return os.path.join(os.path.realpath(home), name, "memory.db") == database  # noqa: PTH118


def ask(file: str, request: dict[str, Any], *, seconds: float, any_version: bool = False) -> dict[str, Any]:
    """The answer of the warm process of a file to a request, within some seconds in all. Raises NoAnswer.

    It is asked only if it runs the same version with the same settings, unless `any_version`.
    """
    end = time.monotonic() + seconds
    info = read_file(file)
    try:
        port, token, version = int(info["port"]), str(info["token"]), (info["version"], info["protocol"])
    except (KeyError, ValueError, TypeError) as error:
        raise NoAnswer("there is no warm process") from error
    if not any_version and version != (__version__, PROTOCOL):
        raise NoAnswer(f"the warm process is memdb {version[0]}")
    if not any_version and not _is_of(file, str(info.get("database"))):
        raise NoAnswer("the warm process serves the folder from which this one was moved or copied")
    link = Link(AF_INET, SOCK_STREAM)
    try:
        link.settimeout(min(CONNECT_SECONDS, max(0.01, seconds)))
        link.connect((HOST, port))
        wire = Wire(link, end)
        mine = os.urandom(16).hex()
        wire.send({"memdb": PROTOCOL, "nonce": mine})
        greeting = wire.receive()
        if not same(str(greeting.get("proof")).encode(), proof(token, "server", mine).encode()):
            raise NoAnswer("another program has the port of the warm process")
        theirs = proof(token, "client", str(greeting.get("nonce")))
        wire.send({"proof": theirs, "environment": environment(), "request": request})
        answer = wire.receive()
    except (OSError, ValueError, OverflowError) as error:
        raise NoAnswer(f"the warm process does not answer: {error}") from error
    finally:
        link.close()
    if "answer" not in answer or not isinstance(answer["answer"], dict):
        raise NoAnswer(str(answer.get("refused", "the warm process gave no answer")))
    return dict(answer["answer"])


class Wire:
    """One JSON object a line over a socket, until a moment of the monotonic clock."""

    def __init__(self, link: Link, end: float) -> None:
        self._link, self._end, self._held = link, end, bytearray()

    def send(self, message: dict[str, Any]) -> None:
        """Send one object. Raises OSError."""
        self._patience()
        self._link.sendall(dumps(message).encode("ascii") + b"\n")

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
        line = self._held[:cut].decode("utf-8")
        del self._held[: cut + 1]
        said = loads(line)
        if not isinstance(said, dict):
            raise ValueError("no object")
        return said

    def _patience(self) -> None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("no answer in time")
        self._link.settimeout(left)
