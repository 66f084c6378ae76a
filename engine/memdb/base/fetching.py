"""Fetch one page of the web, whole or not at all: bounded in size, in time and in redirects."""

from __future__ import annotations

import re
import threading
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from memdb.base.later import Later
from memdb.errors import MemdbError, Refused, SecretFound, UsageError

if TYPE_CHECKING:
    import httpx

    from memdb.base import secrets
else:
    secrets = Later("memdb.base.secrets")

MAX_BYTES = 32_000_000
"""The most that is taken of a page, unpacked: as much as is read of an HTML file."""

MAX_REDIRECTS = 5
"""What a person's link needs (http to https, to the host's full name, to a mirror) with room to spare."""

CONNECT_SECONDS = 10.0
READ_SECONDS = 15.0
"""Between two pieces of an answer."""

TOTAL_SECONDS = 60.0
"""For all of it: the look-up of the name and all redirects too. The largest page at half a megabyte a second."""

DEFAULT_PORTS = {"http": 80, "https": 443}

# What an address may hold as it is; the rest is %-escaped. A `%` stays, so that what is escaped is not escaped again.
_PATH, _QUERY = "%/:@!$&'()*+,;=~-._", "%/?:@!$&'()*+,;=~-._[]"

_REDIRECTS = (301, 302, 303, 307, 308)

SAVE = "Open it in a browser, save it as a file, and add the file."


class CannotFetch(MemdbError):
    """An address did not give a page; nothing was kept."""

    code = "cannot_fetch"


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page: the address that answered, its bytes unpacked, and what the server called them, in lower case."""

    address: str
    data: bytes
    content_type: str | None
    charset: str | None


def is_address(written: str) -> bool:
    """Whether a text begins as a URL does, of whatever scheme."""
    return re.match(r"\s*[a-z][a-z0-9+.-]*://", written, re.IGNORECASE) is not None


def shown(written: str) -> str:
    """An address as it may be shown: without a name and password, and with every credential redacted."""
    return secrets.redact(re.sub(r"(?<=://)[^/?#]*@", "", written))


def address(written: str) -> str:
    """An address in the one spelling by which it is known: scheme and host in lower case, without `#` and what follows.

    Raises UsageError for what is no http or https address, SecretFound where it holds a password or another credential.
    """
    text = written.strip()
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{shown(text)} is no address: {error}.", hint="Write https://host/path.") from error
    if parts.scheme.lower() not in DEFAULT_PORTS:
        raise UsageError(
            f"{shown(text)} is no http or https address, and only those are fetched.",
            hint="A file of this machine is added by its path.",
        )
    host = parts.hostname
    if not host or re.search(r"[\s%\\]", host):
        raise UsageError(f"{shown(text)} names no host.", hint="Write https://host/path.")
    if "@" in parts.netloc:
        raise SecretFound(
            f"The address of {host} holds a name or password, and memdb keeps those out.",
            hint=f"Leave out what stands before the @. {SAVE}",
        )
    scheme = parts.scheme.lower()
    netloc = f"[{host}]" if ":" in host else host
    if port is not None and port != DEFAULT_PORTS[scheme]:
        netloc += f":{port}"
    whole = urlunsplit((scheme, netloc, quote(parts.path or "/", _PATH), quote(parts.query, _QUERY), ""))
    found = secrets.find_secrets(whole)
    if found:
        raise SecretFound(
            f"{secrets.redact(whole)} looks like it holds a credential ({found[0].category}).",
            hint=f"Use an address without it. {SAVE}",
        )
    return whole


def fetch(
    wanted: str,
    *,
    max_bytes: int = MAX_BYTES,
    connect: float = CONNECT_SECONDS,
    read: float = READ_SECONDS,
    total: float = TOTAL_SECONDS,
) -> Fetched:
    """The page at an address that `address` gave, through at most MAX_REDIRECTS redirects; times in seconds.

    Raises CannotFetch with the reason.
    """
    _library()
    outcome: list[Fetched | CannotFetch] = []
    call = _Call(max_bytes, connect, read, time.monotonic() + total, outcome)
    # No timeout of a socket covers the look-up of a name, nor a server that sends one byte at a time.
    worker = threading.Thread(target=call.run, args=(wanted,), daemon=True, name="memdb-fetch")
    worker.start()
    worker.join(total)
    if not outcome:
        call.deadline = 0
        if worker.is_alive():
            raise _late(wanted, total)
        raise CannotFetch(f"{wanted} could not be fetched.", hint=SAVE)
    if isinstance(outcome[0], CannotFetch):
        raise outcome[0]
    return outcome[0]


@dataclass(slots=True)
class _Call:
    """One page on its way, in a thread of its own."""

    max_bytes: int
    connect: float
    read: float
    deadline: float  # of time.monotonic
    outcome: list[Fetched | CannotFetch]

    def run(self, wanted: str) -> None:
        """Leave the page, or why there is none, in `outcome`."""
        import httpx  # noqa: PLC0415

        try:
            self.outcome.append(self._follow(wanted))
        except CannotFetch as error:
            self.outcome.append(error)
        except httpx.TimeoutException as error:
            slow = self.connect if isinstance(error, httpx.ConnectTimeout) else self.read
            self.outcome.append(_late(wanted, slow))
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            reason = str(error).rstrip(".") or type(error).__name__
            self.outcome.append(
                CannotFetch(
                    f"{wanted} cannot be fetched: {secrets.redact(reason)}.",
                    hint="Check the address and the network, then add it again.",
                )
            )

    def _follow(self, wanted: str) -> Fetched:
        import httpx  # noqa: PLC0415

        # One encoding, which is unpacked here piece by piece: others, and several at once, can swell without bound.
        headers = {"User-Agent": "memdb", "Accept-Encoding": "gzip", "Accept": "text/html, */*;q=0.8"}
        timeout = httpx.Timeout(self.read, connect=self.connect)
        at = wanted
        with httpx.Client(headers=headers, timeout=timeout, follow_redirects=False) as client:
            for _ in range(MAX_REDIRECTS + 1):
                with client.stream("GET", at) as response:
                    location = response.headers.get("location")
                    if response.status_code not in _REDIRECTS or not location:
                        return self._page(response, at)
                at = self._next(at, location)
        raise CannotFetch(
            f"{wanted} leads through more than {MAX_REDIRECTS} redirects, the last one to {at}.",
            hint="Open it in a browser and add the address that it ends at.",
        )

    def _next(self, at: str, location: str) -> str:
        try:
            return address(urljoin(at, location))
        except (UsageError, Refused) as error:
            raise CannotFetch(f"{at} leads elsewhere, and that is not followed: {error.message}", hint=SAVE) from error

    def _page(self, response: httpx.Response, at: str) -> Fetched:
        status = response.status_code
        if not 200 <= status < 300:
            raise _refusal(at, status, response.reason_phrase)
        data = b"".join(self._pieces(response, at))
        if not data:
            raise CannotFetch(f"{at} gave an empty page.", hint=SAVE)
        content_type, *parameters = (
            part.strip().lower() for part in response.headers.get("content-type", "").split(";")
        )
        charsets = [value for value in parameters if value.startswith("charset=")]
        charset = charsets[0].removeprefix("charset=").strip("\"' ") if charsets else None
        return Fetched(at, data, content_type or None, charset or None)

    def _pieces(self, response: httpx.Response, at: str) -> Iterator[bytes]:
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise CannotFetch(f"{at} is packed in a way that was not asked for ({encoding}).", hint=SAVE)
        packed = encoding.endswith("gzip")
        length = response.headers.get("content-length", "")
        if not packed and length.isdigit() and int(length) > self.max_bytes:
            raise self._too_large(at)
        size = 0
        unpack = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS) if packed else None
        for piece in response.iter_raw():
            if time.monotonic() > self.deadline:
                raise _late(at, None)
            data = piece if unpack is None else _unpacked(unpack, piece, self.max_bytes + 1 - size, at)
            size += len(data)
            if size > self.max_bytes:
                raise self._too_large(at)
            yield data
        if unpack is not None and (not unpack.eof or unpack.unused_data):
            raise CannotFetch(f"{at} broke off before its end, or goes on behind it.", hint="Add it again.")

    def _too_large(self, at: str) -> CannotFetch:
        return CannotFetch(
            f"{at} has more than {self.max_bytes / 1_000_000:g} MB, the most that is taken of a page.",
            hint="Download it and add the file.",
        )


def _unpacked(unpack: Any, piece: bytes, at_most: int, at: str) -> bytes:
    try:
        return bytes(unpack.decompress(piece, at_most))
    except zlib.error as error:
        raise CannotFetch(f"{at} is said to be packed, and cannot be unpacked: {error}.", hint=SAVE) from error


def _late(at: str, seconds: float | None) -> CannotFetch:
    within = "in time" if seconds is None else f"within {seconds:g} seconds"
    return CannotFetch(f"{at} did not answer {within}.", hint="Check the network, then add it again.")


def _refusal(at: str, status: int, phrase: str) -> CannotFetch:
    said = f"{status} {phrase}".strip()
    if status in (401, 402, 403, 407, 451):
        return CannotFetch(f"{at} is not given to programs ({said}).", hint=SAVE)
    if status in (404, 410):
        return CannotFetch(f"There is no page at {at} ({said}).", hint="Check the address.")
    return CannotFetch(f"{at} gave no page ({said}).", hint="Add it again later.")


def _library() -> None:
    try:
        import httpx  # noqa: F401, PLC0415
    except ModuleNotFoundError as missing:
        raise CannotFetch(
            "Fetching pages needs the package httpx, which is not installed.",
            hint="Install the extra: pip install 'memdb-engine[files]'.",
        ) from missing
