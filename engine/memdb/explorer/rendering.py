"""Markdown of the store as HTML that nothing in it can abuse."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.token import Token

from memdb.base.text import expose_hidden

CHARACTERS = 200_000
"""Of a text that is shown as a page: a whole report, and no more than a browser lays out at once."""

PROSE = ("markdown", "html", "docx", "pdf", "notebook")
"""Formats whose passages are read as Markdown; of others, the lines and signs are what they are."""

LINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")
"""A link as it is written in a text."""


@cache
def _markdown() -> MarkdownIt:
    # Raw HTML of a text is shown, never obeyed; no image is fetched from where a text says.
    made = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    made.add_render_rule("text", _text)
    return made


def html(text: str, most: int = CHARACTERS, *, links: Mapping[str, str] | None = None) -> str:
    """A text as HTML, its first `most` characters; `links` has the addresses of what stands in `[[` and `]]`."""
    shown = text if len(text) <= most else text[:most] + "\n\n…"
    return str(_markdown().render(expose_hidden(shown), {"links": links or {}}))


def _text(_renderer: object, tokens: Sequence[Token], at: int, _options: object, env: Mapping[str, Any]) -> str:
    """Plain words of a text; no code, whose brackets are no links."""
    found, last, content = [], 0, tokens[at].content
    for link in LINK.finditer(content):
        address = env["links"].get(link[1])
        if address is not None:
            found += [escapeHtml(content[last : link.start()]), '<a href="', escapeHtml(address), '">']
            found += [escapeHtml(link[0]), "</a>"]
            last = link.end()
    return "".join([*found, escapeHtml(content[last:])])
