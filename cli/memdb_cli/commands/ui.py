"""ui: the explorer in the browser, on a server of this machine."""

from __future__ import annotations

import webbrowser
from typing import TYPE_CHECKING, Annotated

import typer

from memdb.errors import UsageError
from memdb_cli import opener, screen
from memdb_cli.app import section
from memdb_cli.options import AsJson, Database, Root, notes
from memdb_cli.session import open_store

if TYPE_CHECKING:
    from memdb.datasette_plugin.serving import Info

commands = section()


@commands.command(
    epilog=notes(
        "memdb ui",
        "memdb ui --root ~/notes --no-browser",
        "memdb ui --port 8080",
        exits="0 when ended by Ctrl-C or where one runs already, 2 where the extra `ui` is missing.",
    )
)
def ui(
    *,
    port: Annotated[
        int | None, typer.Option("--port", metavar="PORT", help="[default: the first free one from 4097 on]", min=0,
                                 max=65535, show_default=False)
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """See and edit the store in the browser.

    Shows the graph, searches with the paths that were walked, what waits for review, and the tables behind it all. It
    listens on 127.0.0.1 until Ctrl-C; the address that it prints has the token for edits. Where one runs for this store
    already, its address is printed.
    """
    try:
        from memdb.datasette_plugin import serving
    except ImportError as error:
        raise UsageError(
            f"The explorer needs a package that is not here: {error.name}.", hint="pip install 'memdb-engine[ui]'"
        ) from error
    with open_store(root, database) as store:
        place = store.place
    server = serving.start_or_find(place, port=port, open_file=opener.open_file)
    if isinstance(server, serving.Info):
        _tell(server, running=True, browser=browser, as_json=as_json)
        return
    from memdb_cli.commands.serve import _ending

    try:
        _tell(server.info, running=False, browser=browser, as_json=as_json)
        with _ending(server.stop):
            server.run()
    finally:
        server.close()


def _tell(info: Info, *, running: bool, browser: bool, as_json: bool) -> None:
    if as_json:
        screen.as_json({"url": info.url, "port": info.port, "pid": info.pid, "token": info.token, "running": running})
    else:
        screen.write(f"{info.url}\n")
        screen.note("running already" if running else "Ctrl-C ends it; the address lets whoever has it edit")
    screen.flush()
    if browser:
        webbrowser.open(info.url)
