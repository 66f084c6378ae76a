"""Markdown of the store as HTML that nothing in it can abuse."""

from __future__ import annotations

from functools import cache

from markdown_it import MarkdownIt

from memdb.base.text import expose_hidden

CHARACTERS = 200_000
"""Of a text that is shown as a page: a whole report, and no more than a browser lays out at once."""


@cache
def _markdown() -> MarkdownIt:
    # Raw HTML of a text is shown, never obeyed; no image is fetched from where a text says.
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


def html(text: str, most: int = CHARACTERS) -> str:
    """A text as HTML, its first `most` characters."""
    shown = text if len(text) <= most else text[:most] + "\n\n…"
    return str(_markdown().render(expose_hidden(shown)))
