"""A tree of HTML elements as blocks: headings to heading paths, lists and tables as text, code as it is."""

from __future__ import annotations

import re
from typing import Any

from memdb.domain.extractors.blocks import Block

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_LISTS = frozenset({"ul", "ol", "menu"})
_NEVER = frozenset(
    {"script", "style", "noscript", "template", "svg", "head", "iframe", "object", "canvas", "audio", "video"}
    | {"button", "select", "datalist", "input", "textarea", "map", "dialog"}
)
# Everything else is inline: its text runs on in the paragraph around it.
_BLOCKS = frozenset(
    {"p", "div", "section", "article", "main", "header", "footer", "aside", "nav", "form", "fieldset", "figure"}
    | {"figcaption", "blockquote", "address", "details", "summary", "dl", "dt", "dd", "li", "body", "html", "center"}
    | {"tbody", "thead", "tfoot", "tr", "td", "th", "caption", "hr", "hgroup", "search"}
)
# What cannot be told on one line of a list or in one cell.
_TEARS_A_LINE = "pre, table, h1, h2, h3, h4, h5, h6"
_SPACE = re.compile(r"[ \t\r\n\f]+")
# What documentation tools hang on a heading as the link to it.
_PERMALINK = re.compile(r"\s*[§¶🔗]+$|^[§¶🔗]+\s*")
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_HIDDEN_CLASSES = frozenset({"hidden", "d-none", "is-hidden", "visually-hidden", "sr-only", "screen-reader-text"})
# "hidden md:block", "d-none d-lg-block": left out on a telephone only.
_SHOWN_ON_WIDE = re.compile(r"(?::|d-\w+-)(?:block|flex|grid|inline|table|contents)")


def is_hidden(node: Any) -> bool:
    """Whether a browser shows nothing of this element."""
    if node.tag in _NEVER:
        return True
    attributes = node.attributes
    return bool(attributes) and (
        "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or _HIDDEN_STYLE.search(attributes.get("style") or "") is not None
        or _hides(attributes.get("class") or "")
    )


def _hides(classes: str) -> bool:
    return not _HIDDEN_CLASSES.isdisjoint(classes.split()) and _SHOWN_ON_WIDE.search(classes) is None


def blocks_of(root: Any) -> list[Block]:
    """The visible text of an element (a selectolax node) in reading order."""
    walker = _Walker()
    walker.walk(root)
    walker.finish()
    return walker.blocks


class _Walker:
    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.headings: list[tuple[int, str]] = []
        self.inline: list[str] = []
        self.begins = False

    def walk(self, node: Any) -> None:
        """Read the children of an element, depth first."""
        child = node.child
        while child is not None:
            if child.is_text_node:
                self.inline.append(child.text_content or "")
            elif not child.is_comment_node and not is_hidden(child):
                self._element(child)
            child = child.next

    def finish(self) -> None:
        """Close the last paragraph and the last heading."""
        self._flush()
        self._close_headings(0)

    def _element(self, node: Any) -> None:
        tag = node.tag
        if tag in _HEADINGS:
            self._flush()
            self._heading(int(tag[1]), _PERMALINK.sub("", line_of(node)))
        elif tag == "pre":
            self._flush()
            self._add(node.text(deep=True).strip("\n"))
        elif tag in _LISTS and node.css_first(_TEARS_A_LINE) is None:
            self._flush()
            self._add("\n".join(_list_lines(node, 0)))
        elif tag == "table" and (rows := _table_rows(node)):
            self._flush()
            self._table(node, rows)
        elif tag == "br":
            self.inline.append("\n\0")  # a NUL keeps this newline apart from those of the source
        elif tag == "img":
            self.inline.append(f" {node.attributes.get('alt') or ''} ")
        elif tag in _BLOCKS or tag in _LISTS or tag == "table":
            self._flush()
            self.walk(node)
            self._flush()
        else:
            self.walk(node)

    def _heading(self, level: int, text: str) -> None:
        if not text:
            return
        self._close_headings(level)
        self.headings.append((level, text))
        self.begins = True

    def _close_headings(self, level: int) -> None:
        """Leave the headings that end here; one with nothing below it is itself the text of its place."""
        if self.begins and self.headings and self.headings[-1][0] >= level:
            self._add(self.headings[-1][1])
        self.headings = [outer for outer in self.headings if outer[0] < level]

    def _flush(self) -> None:
        text = collapsed("".join(self.inline))
        self.inline = []
        self._add(text)

    def _table(self, node: Any, rows: list[list[str]]) -> None:
        caption = node.css_first("caption")
        lines = [" | ".join(row) for row in rows]
        if caption is not None:
            self._add(line_of(caption))
        has_head = node.css_first("th") is not None and len(lines) > 1
        self._add("\n".join(lines), table_head=lines[0] if has_head else "")

    def _add(self, text: str, table_head: str = "") -> None:
        if not text.strip():
            return
        path = tuple(heading for _, heading in self.headings)
        self.blocks.append(Block(text, path, starts_section=self.begins, table_head=table_head))
        self.begins = False


def collapsed(text: str) -> str:
    """Runs of white space as one space, `<br>` as newlines."""
    lines = (_SPACE.sub(" ", line).strip() for line in text.replace("\n\0", "\0").split("\0"))
    return "\n".join(lines).strip()


def line_of(node: Any) -> str:
    """The visible text of an element on one line."""
    return _SPACE.sub(" ", "".join(_pieces(node)).replace("\0", " ")).strip()


def _pieces(node: Any, skip: frozenset[str] = frozenset()) -> list[str]:
    pieces: list[str] = []
    child = node.child
    while child is not None:
        if child.is_text_node:
            pieces.append(child.text_content or "")
        elif not child.is_comment_node and child.tag not in skip and not is_hidden(child):
            if child.tag == "img":
                pieces.append(f" {child.attributes.get('alt') or ''} ")
            edge = " " if child.tag in _BLOCKS or child.tag == "br" else ""
            pieces.extend((edge, *_pieces(child, skip), edge))
        child = child.next
    return pieces


def _list_lines(node: Any, depth: int) -> list[str]:
    lines: list[str] = []
    number = 0
    child = node.child
    while child is not None:
        if child.tag == "li" and not is_hidden(child):
            number += 1
            mark = f"{number}." if node.tag == "ol" else "-"
            text = _SPACE.sub(" ", "".join(_pieces(child, _LISTS))).strip()
            if text:
                lines.append(f"{'  ' * depth}{mark} {text}")
            for inner in _inner_lists(child):
                lines.extend(_list_lines(inner, depth + 1))
        elif child.tag in _LISTS and not is_hidden(child):
            lines.extend(_list_lines(child, depth + 1))
        elif not child.is_comment_node and not is_hidden(child):
            stray = _SPACE.sub(" ", (child.text_content or "") if child.is_text_node else line_of(child)).strip()
            lines.extend([f"{'  ' * depth}{stray}"] if stray else [])
        child = child.next
    return lines


def _inner_lists(node: Any) -> list[Any]:
    found: list[Any] = []
    child = node.child
    while child is not None:
        if child.tag in _LISTS and not is_hidden(child):
            found.append(child)
        elif child.is_element_node and not is_hidden(child):
            found.extend(_inner_lists(child))
        child = child.next
    return found


def _table_rows(table: Any) -> list[list[str]]:
    """The rows of a table of data; none of one that lays out a page: its cells hold headings, code or tables."""
    if any(cell.css_first(_TEARS_A_LINE) is not None for cell in table.css("td")):
        return []
    rows = [[line_of(cell) for cell in row.css("td, th")] for row in table.css("tr") if not is_hidden(row)]
    return [row for row in rows if any(row)]
