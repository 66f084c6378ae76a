"""How values look in Datasette's tables: bodies as pages, lists as lists, ids as links."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from markupsafe import Markup, escape

from memdb.base.text import expose_hidden
from memdb.domain.formats import FORMATS
from memdb.explorer.rendering import PROSE, html

BODIES = {("memories", "body"), ("memory", "body"), ("chunks", "text"), ("chunk", "text")}
"""Cells that hold Markdown; a query's own columns stay as they are."""

CELL_CHARACTERS = 2_000
"""Of a body, that a list shows: rows stay scannable."""

LISTS = {"aliases", "tags", "sources", "places", "candidates", "notes", "heading_path", "refused"}

IDS = {
    "entity": "entities",
    "document": "documents",
    "memory": "memories",
    "superseded_by": "memories",
    "subject": "entities",
    "object": "entities",
}
"""Columns with ids, and the view that has a row for each."""

ID_OF = {
    "memories": "memories",
    "entities": "entities",
    "documents": "documents",
    "chunks": "chunks",
    "orphans": "memories",
}
"""Views whose column `id` has the id of what they list."""


LINES = {suffix for name, (_, suffixes) in FORMATS.items() if name not in PROSE for suffix in suffixes.split()}
"""Extensions of documents whose passages are no Markdown: code, tables, logs."""


def as_lines(value: Any, document: Any) -> Markup | None:
    """A passage of a document as it is written, which Datasette shows line by line; None where it is Markdown."""
    if not isinstance(value, str) or not str(document).endswith(tuple(LINES)):
        return None
    shown = value if len(value) <= CELL_CHARACTERS else value[:CELL_CHARACTERS] + "\n\n…"
    return escape(expose_hidden(shown))


def is_linked(value: Any, column: str, table: str | None) -> bool:
    """Whether a cell is the text of a memory with `[[links]]`, which lead to what they name."""
    return column == "body" and (table, column) in BODIES and isinstance(value, str) and "[[" in value


def linked(value: str, targets: Mapping[str, str], base: str) -> Markup:
    """The text of a memory with its links; `targets` has the memory's id by the link as it is written, in brackets."""
    return _body(value, {raw[2:-2]: f"{base}/memories?id__exact={quote(key, safe='')}" for raw, key in targets.items()})


def render(value: Any, column: str, table: str | None, base: str) -> Markup | None:
    """A cell as HTML; None leaves it to Datasette."""
    if not isinstance(value, str) or not value:
        return None
    if (table, column) in BODIES:
        return _body(value)
    if column in LISTS and value.startswith("["):
        return _list(value, base)
    view = view_of(value, column, table)
    return _link(value, view, base) if view else None


def view_of(value: str, column: str, table: str | None) -> str | None:
    """The view that has a row for an id."""
    if column == "id" and table in ID_OF:
        return ID_OF[table]
    if column in IDS:
        return IDS[column]
    if column in ("source", "target", "id", "other") or column.endswith("_id"):
        return kind_of(value)
    return None


def kind_of(value: str) -> str | None:
    """The view of the rows that an id is of, by how it begins."""
    if value.startswith("entity:"):
        return "entities"
    if value.startswith("document:"):
        return "chunks" if "#" in value else "documents"
    return "memories" if "/" in value and ":" not in value and " " not in value.partition("/")[0] else None


def _link(value: str, view: str, base: str) -> Markup:
    return Markup('<a href="{}/{}?id__exact={}">{}</a>').format(base, view, quote(value, safe=""), expose_hidden(value))


def _list(value: str, base: str) -> Markup | None:
    try:
        items = json.loads(value)
    except ValueError:
        return None
    if not isinstance(items, list):
        return None
    parts = []
    for item in items:
        view = kind_of(item) if isinstance(item, str) else None
        parts.append(_link(item, view, base) if view else escape(expose_hidden(str(item))))
    return Markup(", ").join(parts)


def _body(value: str, links: Mapping[str, str] | None = None) -> Markup:
    return Markup('<div class="memdb-body">{}</div>').format(Markup(html(value, CELL_CHARACTERS, links=links)))
