"""Web pages: the main content without menus, footers and what is not shown.

The tree comes from selectolax (lexbor, an HTML5 parser: what a browser would see). Which part of it is the page's own
is read from its structure: `main`, roles, and the names that menus and footers go by. Extractors that weigh blocks by
their length drop short paragraphs, tables and the ends of pages; for a memory a menu too much is the smaller fault.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from typing import Any

from memdb.base import text as texts
from memdb.domain.extractors.blocks import Block, CannotExtract, Extracted, library
from memdb.domain.extractors.html_blocks import blocks_of, collapsed, is_hidden
from memdb.domain.extractors.reading import Source

# The tree takes about ten times the bytes of the page.
MAX_BYTES = 32_000_000

# A `main` with less than this share of the words outside menus is not the content, whatever it is called; and what is
# left beside menus is not, when it is this small a part of the page and has fewer words than these (an index page).
_LEAST_SHARE, _LEAST_WORDS = 0.3, 20

# A list or box with this share of its letters in at least so many links is a menu.
_LINK_SHARE, _LINKS = 0.8, 4

_BEGINS = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)
_CHARSET = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w.:-]+)", re.I)
_PAGE_FURNITURE = (
    "nav, footer, aside, [role=navigation], [role=banner], [role=contentinfo], [role=search], [role=complementary], "
    "[role=menu], [role=menubar], [role=toolbar], [role=dialog], [role=alertdialog]"
)
_FURNITURE_NAMES = re.compile(
    r"(?:^|[-_])(?:nav|navbar|navigation|menu|sidebar|side-bar|breadcrumbs?|footer|cookies?|consent|banner|advert\w*|"
    r"ads|sponsor\w*|share|sharing|social|newsletter|subscribe|related|pagination|pager|popup|modal|skip-?link)"
    r"(?:[-_]|$)",
    re.I,
)


class Html:
    """A web page or fragment of one."""

    name, version = "html", 1
    suffixes = frozenset({".html", ".htm", ".xhtml", ".shtml"})

    def accepts(self, name: str, head: bytes) -> bool:
        """A document type or an `html` element at the beginning."""
        plain = head.replace(b"\0", b"")[:4096]
        return _BEGINS.match(plain.removeprefix(b"\xef\xbb\xbf").removeprefix(b"\xff\xfe")) is not None

    def extract(self, source: Source) -> Extracted:
        markup = decode_page(source.read(MAX_BYTES))
        parser = library("selectolax.lexbor", "web pages").LexborHTMLParser
        tree = parser(markup)
        title = _title(tree)
        created = _meta(tree, "article:published_time") or _meta(tree, "date")
        if tree.body is None:
            return Extracted(self.name, title, [], created=created)
        try:
            blocks = _content(lambda: parser(markup))
        except RecursionError:
            text = collapsed(tree.body.text(separator=" "))
            blocks = [Block(text)] if text else []
        return Extracted(self.name, title, blocks, created=created)


def named_encoding(data: bytes) -> str | None:
    """The encoding that a page names, as Python calls it; None where it names none that there is."""
    named = _CHARSET.search(data[:4096])
    try:
        return codecs.lookup(named[1].decode("ascii")).name if named else None
    except LookupError:
        return None


def decode_page(data: bytes) -> str:
    """The text of a page: by its byte order mark, the encoding that it names, else as any other text.

    Raises CannotExtract.
    """
    named = _CHARSET.search(data[:4096])
    if named and not data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return data.decode(named[1].decode("ascii"))
        except (LookupError, UnicodeError):
            pass  # a wrong name is common; the bytes themselves decide below
    try:
        return texts.decode(data).text
    except texts.UndecodableText as error:
        raise CannotExtract(f"The page is not readable: {error.message}.", hint=error.hint) from error


def _content(parse: Callable[[], Any]) -> list[Block]:
    pruned = _without_furniture(parse().body)
    tree = parse()
    everything = blocks_of(tree.body)
    for pick in ("main, [role=main]", "article"):
        found = [node for node in tree.css(pick) if not is_hidden(node)]
        if len(found) == 1:
            _drop(found[0], _PAGE_FURNITURE)
            blocks = blocks_of(found[0])
            if blocks and _words(blocks) >= _LEAST_SHARE * _words(pruned):
                return blocks
    is_content = _words(pruned) >= min(_LEAST_WORDS, _LEAST_SHARE * _words(everything))
    return pruned if pruned and is_content else everything


def _without_furniture(body: Any) -> list[Block]:
    _drop(body, f"{_PAGE_FURNITURE}, body > header")
    for node in body.css("[class], [id]"):
        attributes = node.attributes
        names = [*(attributes.get("class") or "").split(), attributes.get("id") or ""]
        if node.tag not in ("body", "main", "article") and any(map(_FURNITURE_NAMES.search, names)):
            _remove(node)
    for node in body.css("ul, ol, div, table"):
        if _is_menu(node):
            _remove(node)
    return blocks_of(body)


def _drop(root: Any, selector: str) -> None:
    for node in root.css(selector):
        if node.css_first("main, [role=main], article") is None and node.mem_id != root.mem_id:
            _remove(node)


def _remove(node: Any) -> None:
    if node.parent is not None:
        node.remove()


def _is_menu(node: Any) -> bool:
    links = node.css("a[href]")
    if len(links) < _LINKS:
        return False
    letters = len("".join(node.text().split()))
    linked = sum(len("".join(link.text().split())) for link in links)
    return letters > 0 and linked >= _LINK_SHARE * letters


def _words(blocks: list[Block]) -> int:
    return sum(len(block.text.split()) for block in blocks)


def _title(tree: Any) -> str | None:
    named = _meta(tree, "og:title")
    if named:
        return named
    for pick in ("head > title", "title", "h1"):
        node = tree.css_first(pick)
        text = collapsed(node.text()) if node is not None else ""
        if text:
            return " ".join(text.split())
    return None


def _meta(tree: Any, name: str) -> str | None:
    node = tree.css_first(f'meta[property="{name}"], meta[name="{name}"]')
    value = (node.attributes.get("content") or "").strip() if node is not None else ""
    return value or None
