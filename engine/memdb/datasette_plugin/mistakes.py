"""What Datasette answers to an address that it does not have, or to a question that it cannot read.

Its own answer prints each of them to the terminal with all values around it, texts of the store among them, and raises
where there is nothing to print: with `rich` installed, which memdb's own command brings, an unknown address is a fault.
"""

from __future__ import annotations

from typing import Any

from datasette import Response
from datasette.utils import add_cors_headers
from datasette.utils.asgi import Base400
from datasette.views.base import DatasetteError
from markupsafe import Markup


def is_mistake(exception: Exception) -> bool:
    """Whether who asked made it: anything else is a fault, and Datasette's own to tell of."""
    if isinstance(exception, DatasetteError):
        return int(exception.status) < 500
    return isinstance(exception, Base400)


async def answer(datasette: Any, request: Any, exception: Any) -> Any:
    """The same as Datasette's own, and nothing is printed."""
    status, info, title = exception.status, {}, None
    message: Any = str(exception.args[0]) if exception.args else str(exception)
    if isinstance(exception, DatasetteError):
        info, title = dict(exception.error_dict), exception.title
        message = Markup(exception.message) if exception.message_is_html else exception.message
    info |= {"ok": False, "error": message, "status": status, "title": title}
    headers: dict[str, str] = {}
    if datasette.cors:
        add_cors_headers(headers)
    if request.path.split("?")[0].endswith(".json"):
        return Response.json(info, status=status, headers=headers)
    template = datasette.jinja_env.select_template([f"{status}.html", "error.html"])
    page = info | {"urls": datasette.urls, "app_css_hash": datasette.app_css_hash(), "menu_links": list}
    return Response.html(await template.render_async(page), status=status, headers=headers)
