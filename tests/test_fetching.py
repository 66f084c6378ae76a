"""Fetching a page: whole or not at all, in bounded time and size, with a reason that says what to do."""

from __future__ import annotations

import gzip
import socket
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from memdb.base import fetching
from memdb.base.fetching import CannotFetch, address, fetch
from memdb.errors import SecretFound, UsageError
from tests.web_support import Page, Site, serving

pytest.importorskip("httpx")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as served:
        yield served


@pytest.mark.parametrize(
    ("written", "known"),
    [
        ("https://example.org", "https://example.org/"),
        ("  HTTPS://Example.ORG:443/A?b=C#part ", "https://example.org/A?b=C"),
        ("http://example.org:80/", "http://example.org/"),
        ("http://example.org:8080/a", "http://example.org:8080/a"),
        ("https://example.org/a b/ü?q=x y", "https://example.org/a%20b/%C3%BC?q=x%20y"),
        ("https://example.org/a%20b%2Fc", "https://example.org/a%20b%2Fc"),
        ("http://[::1]:8080/a", "http://[::1]:8080/a"),
        ("https://example.org/#top", "https://example.org/"),
        ("https://example.org?x=1", "https://example.org/?x=1"),
    ],
)
def test_an_address_has_one_spelling(written: str, known: str) -> None:
    assert address(written) == known
    assert address(known) == known


@pytest.mark.parametrize(
    "written",
    ["file:///etc/hosts", "ftp://example.org/a", "https://", "https:///a", "http://[::1", "https://a:port/", "x://y"],
)
def test_what_is_no_web_address(written: str) -> None:
    with pytest.raises(UsageError) as caught:
        address(written)
    assert caught.value.hint


def secret_addresses() -> list[str]:
    word = "Zq8" * 7
    return [
        "https://" + "user:" + word + "@example.org/a",
        "https://" + word + "@example.org/a",
        "https://example.org/a?api_" + "key=" + word,
        "https://example.org/a?access_" + "token=" + word,
    ]


@pytest.mark.parametrize("number", range(4))
def test_an_address_with_a_credential_is_refused_and_not_shown(number: int) -> None:
    with pytest.raises(SecretFound) as caught:
        address(secret_addresses()[number])
    assert "Zq8" not in caught.value.message
    assert "Zq8" not in fetching.shown(secret_addresses()[number])
    assert caught.value.hint


@pytest.mark.parametrize(
    ("written", "is_one"),
    [
        ("https://a", True),
        ("FILE:///a", True),
        ("c:/a", False),
        ("a/b", False),
        ("document:a", False),
        ("a b://c", False),
    ],
)
def test_what_looks_like_an_address(written: str, is_one: bool) -> None:
    assert fetching.is_address(written) is is_one


def test_a_page_with_its_type_and_encoding(site: Site) -> None:
    page = fetch(site.put("/a", "<p>Größe</p>".encode("latin-1"), 'Text/HTML; Charset="ISO-8859-1"'))
    assert page == fetching.Fetched(site.address("/a"), "<p>Größe</p>".encode("latin-1"), "text/html", "iso-8859-1")
    assert site.agents[0]["User-Agent"] == "memdb"
    assert fetch(site.put("/b", b"x", "")) == fetching.Fetched(site.address("/b"), b"x", None, None)


def test_a_packed_page_is_unpacked(site: Site) -> None:
    packed = gzip.compress(b"text " * 9000, mtime=0)
    assert fetch(site.put("/a", packed, content_encoding="gzip")).data == b"text " * 9000


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed(site: Site, status: int) -> None:
    site.put("/three/end", "<p>The end.</p>")
    site.redirect("/two", "three/end", status)
    page = fetch(site.redirect("/one", "//127.0.0.1:" + f"{site.port}/two#part", status))
    assert (page.address, page.data) == (site.address("/three/end"), b"<p>The end.</p>")
    assert site.asked == ["/one", "/two", "/three/end"]


def test_five_redirects_are_followed_and_six_are_not(site: Site) -> None:
    site.put("/0", "The end.")
    for number in range(1, 7):
        site.redirect(f"/{number}", f"/{number - 1}")
    assert fetch(site.address("/5")).address == site.address("/0")
    with pytest.raises(CannotFetch, match="more than 5 redirects"):
        fetch(site.address("/6"))


def test_a_redirect_in_a_circle_ends(site: Site) -> None:
    site.redirect("/a", "/b")
    with pytest.raises(CannotFetch, match="more than 5 redirects"):
        fetch(site.redirect("/b", "/a"))
    assert len(site.asked) == 6


@pytest.mark.parametrize("to", ["file:///etc/hosts", "ftp://127.0.0.1/a", "http://" + "me:" + "Zq8Zq8Zq8@127.0.0.1/a"])
def test_a_redirect_to_elsewhere_is_not_followed(site: Site, to: str) -> None:
    with pytest.raises(CannotFetch, match="not followed") as caught:
        fetch(site.redirect("/a", to))
    assert "Zq8" not in caught.value.message
    assert site.asked == ["/a"]


@pytest.mark.parametrize(
    ("status", "said"),
    [(404, "no page at"), (410, "no page at"), (401, "not given to programs"), (403, "not giv"), (500, "gave no page"),
     (503, "gave no page"), (304, "gave no page"), (302, "gave no page")],
)  # fmt: skip
def test_a_page_that_is_not_given(site: Site, status: int, said: str) -> None:
    site.pages["/a"] = Page(b"<p>Not this.</p>", status)
    with pytest.raises(CannotFetch, match=said) as caught:
        fetch(site.address("/a"))
    assert str(status) in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("body", [b"", gzip.compress(b"", mtime=0)])
def test_an_empty_page(site: Site, body: bytes) -> None:
    encoding = {"content_encoding": "gzip"} if body else {}
    with pytest.raises(CannotFetch, match="empty page"):
        fetch(site.put("/a", body, "text/html", **encoding))


@pytest.mark.parametrize("case", ["named", "unnamed", "packed"])
def test_a_page_that_is_too_large(site: Site, case: str) -> None:
    body = b"word " * 300
    encoding: dict[str, str] = {}
    if case == "unnamed":
        body, encoding = b"5dc\r\n" + body + b"\r\n0\r\n\r\n", {"transfer_encoding": "chunked"}
    if case == "packed":
        body, encoding = gzip.compress(body, mtime=0), {"content_encoding": "gzip"}
    at = site.put("/a", body, "text/plain", **encoding)
    with pytest.raises(CannotFetch, match=r"more than 0\.001 MB") as caught:
        fetch(at, max_bytes=1000)
    assert caught.value.hint == "Download it and add the file."
    assert len(fetch(at, max_bytes=1500).data) == 1500


def test_a_packed_page_that_swells_is_never_unpacked_whole(site: Site) -> None:
    import tracemalloc

    at = site.put("/a", gzip.compress(b"\0" * 200_000_000, 9, mtime=0), content_encoding="gzip")
    tracemalloc.start()
    with pytest.raises(CannotFetch, match="more than 1 MB"):
        fetch(at, max_bytes=1_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


@pytest.mark.parametrize(
    ("body", "encoding", "said"),
    [
        (gzip.compress(b"text " * 9000, mtime=0)[:-20], "gzip", "broke off"),
        (b"no gzip", "gzip", "cannot be unpacked"),
        (gzip.compress(b"a", mtime=0) + gzip.compress(b"b", mtime=0), "gzip", "broke off"),
        (b"text", "br", "not asked for"),
        (gzip.compress(gzip.compress(b"text", mtime=0), mtime=0), "gzip, gzip", "not asked for"),
    ],
)
def test_a_badly_packed_page(site: Site, body: bytes, encoding: str, said: str) -> None:
    with pytest.raises(CannotFetch, match=said):
        fetch(site.put("/a", body, content_encoding=encoding))


def test_a_page_that_breaks_off(site: Site) -> None:
    site.pages["/a"] = Page(b"<p>Half of it.</p>", cut=7)
    with pytest.raises(CannotFetch, match="cannot be fetched"):
        fetch(site.address("/a"))


def test_a_server_that_says_nothing(site: Site) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        started = time.monotonic()
        with pytest.raises(CannotFetch, match=r"did not answer within 0\.2 seconds"):
            fetch(f"http://127.0.0.1:{listening.getsockname()[1]}/", read=0.2)
        assert time.monotonic() - started < 20


def test_a_server_that_speaks_a_byte_at_a_time(site: Site) -> None:
    site.pages["/a"] = Page(b"text", pause=0.05)
    started = time.monotonic()
    with pytest.raises(CannotFetch, match=r"within 0\.5 seconds"):
        fetch(site.address("/a"), read=0.4, total=0.5)
    assert time.monotonic() - started < 20


def test_no_server(site: Site) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(CannotFetch, match="cannot be fetched") as caught:
        fetch(f"http://127.0.0.1:{port}/")
    assert caught.value.hint == "Check the address and the network, then add it again."


def test_no_such_host(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> object:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(CannotFetch, match="Name or service not known"):
        fetch("http://nowhere.example/")


def test_a_look_up_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def slow(*_: object, **__: object) -> object:
        ended.wait(30)
        raise socket.gaierror(-3, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    try:
        with pytest.raises(CannotFetch, match=r"within 0\.3 seconds"):
            fetch("http://nowhere.example/", total=0.3)
        assert not ended.is_set()
    finally:
        ended.set()


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(CannotFetch, match="needs the package httpx") as caught:
        fetch("http://127.0.0.1/")
    assert caught.value.hint == "Install the extra: pip install 'memdb-engine[files]'."


def test_importing_it_loads_no_http_library() -> None:
    import subprocess

    said = subprocess.run(
        [sys.executable, "-c", "import sys, memdb.base.fetching; print('httpx' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "False\n"
