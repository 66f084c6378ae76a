"""The Datasette plugin: `datasette memory.db` shows a store with names, explanations, search, recipes and links.

Datasette finds it by its entry point once memdb is installed beside it (extra `ui`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from datasette import hookimpl

from memdb.datasette_plugin import cells, describing, exploring, mistakes, stores

LINKED = """select raw, target from links where target is not null
and source in (select key from node where ? in (key, id))"""
"""The links of a memory as written, with where they lead: of its id in the views, or of its row's number."""


@hookimpl(trylast=True)  # after Datasette's own, one of whose functions is replaced
def prepare_connection(conn: sqlite3.Connection, database: str, datasette: Any) -> None:
    """Let a store open: with sqlite-vec where this Python loads extensions, without its tables where it does not."""
    file = stores.file_of(datasette, database)
    if file is not None:
        stores.prepare(conn, exploring.recalling(datasette, database))


@hookimpl
def get_metadata(datasette: Any, key: str | None, database: str | None, table: str | None) -> dict[str, Any]:
    """Titles, explanations, label columns, facets, sort orders, search, and which tables are internal."""
    names = [database] if database else list(datasette.databases)
    found = {
        name: describing.database() | {"description_html": describing.description(datasette.urls.database(name))}
        for name in names
        if stores.file_of(datasette, name) is not None
    }
    return {"databases": found, "custom_units": describing.UNIT_DEFINITIONS} if found else {}


@hookimpl
def canned_queries(datasette: Any, database: str) -> dict[str, dict[str, Any]]:
    """Recall and search by `:query`, and the recipes."""
    return describing.queries() if stores.file_of(datasette, database) is not None else {}


@hookimpl
def render_cell(  # noqa: PLR0917 (as Datasette gives them)
    row: Any, value: Any, column: str, table: str | None, database: str, datasette: Any
) -> Any:
    """Markdown as a page, JSON lists as lists, and ids and `[[links]]` as links to their rows."""
    if stores.file_of(datasette, database) is None:
        return None
    if (table, column) == ("chunks", "text") and (lines := cells.as_lines(value, row["document"])) is not None:
        return lines
    base = datasette.urls.database(database)
    if not cells.is_linked(value, column, table):
        return cells.render(value, column, table, base)

    async def with_links() -> Any:
        # Where Datasette shows the label of what a row's id refers to, it has both.
        key = row["id"]["value"] if isinstance(row["id"], dict) else row["id"]
        found = await datasette.get_database(database).execute(LINKED, [key])
        return cells.linked(value, {raw: key for raw, key in found}, base)

    return with_links()


@hookimpl
def asgi_wrapper(datasette: Any) -> Any:
    """The explorer and its API, before Datasette's own pages."""
    return exploring.explorer_of(datasette).around


@hookimpl
def extra_template_vars(datasette: Any, database: str | None, view_name: str) -> dict[str, Any]:
    """Keep from the page of a store the note on attached databases: what hides its vec0 tables looks like one."""
    hidden = view_name == "database" and stores.file_of(datasette, database) is not None
    return {"attached_databases": []} if hidden else {}


@hookimpl(hookwrapper=True)
def handle_exception(datasette: Any, request: Any, exception: Exception) -> Iterator[None]:
    """Answer to mistakes of whoever asks without printing what the store holds, in place of Datasette's own answer."""
    outcome: Any = yield
    if mistakes.is_mistake(exception) and any(stores.file_of(datasette, name) for name in datasette.databases):
        outcome.force_result([mistakes.answer(datasette, request, exception)])


@hookimpl
def database_actions(datasette: Any, actor: Any, database: str) -> list[dict[str, str]]:
    """The way from Datasette's page of a store to the explorer."""
    if stores.file_of(datasette, database) is None:
        return []
    return [
        {"href": datasette.urls.path(f"{datasette.urls.database(database)}/explorer"), "label": "Explore the graph"}
    ]
