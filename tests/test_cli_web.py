"""add of addresses and of standard input, and what show, open and remove make of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memdb.errors import MemdbError
from memdb_cli import opener
from tests.cli_support import make, memdb
from tests.web_support import Site, serving

pytest.importorskip("httpx")

PAGE = (
    "<html><head><title>Handbook</title></head><body><h1>Pumps</h1><p>Bolt the pump to the plinth.</p>"
    "<h2>Care</h2><p>Grease it every month.</p></body></html>"
)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    with serving() as served:
        yield served


@pytest.fixture
def root(tmp_path: Path, no_model: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The worked example without a model, named by MEMDB_ROOT."""
    monkeypatch.setenv("MEMDB_ROOT", str(tmp_path / "notes"))
    return make(tmp_path / "notes")


def test_add_show_and_remove_a_page(root: Path, site: Site) -> None:
    at = site.put("/handbook", PAGE)
    answer = memdb("add", at)
    assert (answer.code, answer.out) == (0, "1 added, 2 chunks written\n")
    assert memdb("documents").out.splitlines()[1].split() == [f"document:{at}", "Handbook", "html", "2", "seen"]
    assert (
        memdb("recall", "grease every month", "--kind", "chunk").out.splitlines()[0].endswith(f"  {at} › Pumps › Care")
    )
    hit = memdb("recall", "grease every month", "--kind", "chunk", "--json").json["hits"][0]
    assert (hit["file"], hit["citation"]["link"]) == (at, at)
    assert memdb("show", f"document:{at}#2").out.startswith(f"{at} › Pumps › Care\n  document:{at}#2\n  not embedded\n")
    shown = memdb("show", at).out
    assert shown.startswith(f"document:{at}\n  title   Handbook\n  format  html\n  link    {at}\n  places  {at}\n")
    assert memdb("add", at).out == "1 unchanged\n"
    assert memdb("remove", at).out == f"removed {at}  (its snapshot is deleted)\n"
    assert memdb("remove", at).code == 3
    assert memdb("documents", "--json").json == {"documents": []}


def test_add_tells_where_a_page_led(root: Path, site: Site) -> None:
    end = site.put("/new", PAGE)
    at = site.redirect("/old", "/new")
    answer = memdb("add", at)
    assert answer.err.splitlines()[0] == f"note: {at} leads to {end}"
    assert memdb("add", at, "--json").json["documents"]["notes"] == [f"{at} leads to {end}"]
    assert f"\n  {end}\n" in memdb("show", f"document:{at}#1").out


def test_one_bad_address_keeps_no_other_back(root: Path, site: Site, tmp_path: Path) -> None:
    at, nowhere = site.put("/handbook", PAGE), site.address("/nowhere")
    answer = memdb("add", nowhere, at)
    assert answer.code == 1
    assert answer.out.splitlines() == [
        "1 added, 2 chunks written, 1 failed",
        "1 page could not be read:",
        f"  {nowhere}  There is no page at {nowhere} (404 Not Found). Check the address.",
    ]
    assert memdb("add", nowhere, tmp_path / "nothing").out.splitlines()[1] == "2 files and pages could not be read:"


@pytest.mark.parametrize(
    ("url", "code", "kind"),
    [
        ("http://127.0.0.1:1/", 1, "cannot_fetch"),
        ("file:///etc/hosts", 2, "usage"),
        ("http://" + "me:" + "Zq8Zq8Zq8@127.0.0.1/", 4, "secret"),
    ],
)
def test_a_single_bad_address_is_an_error(root: Path, site: Site, url: str, code: int, kind: str) -> None:
    answer = memdb("add", url, "--json")
    assert (answer.code, answer.json["error"]["code"]) == (code, kind)
    assert answer.json["error"]["hint"]
    assert "Zq8" not in answer.out + answer.err
    assert memdb("documents", "--json").json == {"documents": []}


def test_open_a_page(root: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    links: list[str] = []
    paths: list[Path] = []
    monkeypatch.setattr(opener, "open_link", links.append)
    monkeypatch.setattr(opener, "open_file", paths.append)
    at = site.put("/handbook", PAGE)
    memdb("add", at)
    answer = memdb("open", f"document:{at}")
    assert (answer.code, answer.err, links, paths) == (0, f"opened {at}\n", [at], [])
    assert memdb("open", f"document:{at}", "--print").out == f"{at}\n"
    assert memdb("open", f"document:{at}", "--snapshot").code == 0
    assert (len(links), paths[0].suffix, paths[0].read_bytes()) == (1, ".html", PAGE.encode())
    assert memdb("open", f"document:{at}", "--snapshot", "--print").out == f"{paths[0]}\n"
    for written in (at, f"document:{at}#1", "document:" + site.address("/other")):
        assert memdb("open", written).code == 3
    assert len(links) == len(paths) == 1


@pytest.mark.parametrize("link", ["file:///etc/hosts", "javascript:alert(1)", "-x", "ftp://a", "", "httpx://a"])
def test_nothing_but_a_web_address_is_opened(link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opener, "run", lambda _: pytest.fail("opened"))
    with pytest.raises(MemdbError, match="no other is opened"):
        opener.open_link(link)


@pytest.mark.parametrize(("platform", "program"), [("linux", "xdg-open"), ("darwin", "open")])
def test_a_link_goes_to_the_browser(platform: str, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(opener, "run", commands.append)
    monkeypatch.setattr(opener.sys, "platform", platform)
    opener.open_link("https://example.org/a?b=c")
    assert commands == [[program, "https://example.org/a?b=c"]]


def test_add_standard_input(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = memdb("add", "-", "--name", "plan.md", stdin=b"# Plan\n\nThe quokkabird sings.\n")
    assert (answer.code, answer.out) == (0, "1 added, 1 chunk written\n")
    hit = memdb("recall", "quokkabird", "--json").json["hits"][0]
    assert hit["citation"]["text"] == "upload://plan.md › Plan, line 3"
    opened: list[Path] = []
    monkeypatch.setattr(opener, "open_file", opened.append)
    assert memdb("open", "document:upload://plan.md").code == 0
    assert (opened[0].suffix, opened[0].read_bytes()) == (".md", b"# Plan\n\nThe quokkabird sings.\n")
    assert memdb("add", "-", "--name", "plan.md", stdin=b"# Plan\n\nThe quokkabird sings.\n").out == "1 unchanged\n"
    removed = memdb("remove", "document:upload://plan.md")
    assert removed.out == "removed upload://plan.md  (its snapshot is deleted)\n"


@pytest.mark.parametrize(
    ("words", "stdin", "code"),
    [
        (("-",), b"text", 2),
        (("-", "a.txt", "--name", "b.txt"), b"text", 2),
        (("a.txt", "--name", "b.txt"), b"text", 2),
        (("-", "--name", "../a.txt"), b"text", 2),
        (("-", "--name", "a.txt"), b"", 1),
        (("-", "--name", "a.png"), b"\x89PNG\r\n\x1a\n\0\0", 1),
    ],
)
def test_standard_input_that_is_not_taken(root: Path, words: tuple[str, ...], stdin: bytes, code: int) -> None:
    answer = memdb("add", *words, "--json", stdin=stdin)
    assert answer.code == code
    assert answer.json["error"]["hint"] or code == 1
    assert memdb("documents", "--json").json == {"documents": []}
