"""serve, watch, mcp: processes that stay, for agents and for files that change."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memdb.errors import NotFound, UsageError
from memdb_cli import screen, shapes
from memdb_cli.app import section
from memdb_cli.options import AllStores, AsJson, Database, Root, Stores, notes, several
from memdb_cli.session import open_store

if TYPE_CHECKING:
    from memdb import Store
    from memdb import Stores as ManyStores
    from memdb.base.place import Place
    from memdb.services.files.following import Followed

commands = section()

STOP_SECONDS = 10.0
"""How long `serve --stop` waits for the process to be gone."""

TAKEOVER_SECONDS = 5.0
"""How long a new version waits for the old one's warm process to end."""

Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing.")]
Watch = Annotated[bool, typer.Option("--watch/--no-watch", help="Follow the files meanwhile.")]


@commands.command(
    epilog=notes(
        "memdb serve",
        "memdb serve --idle 0 --root ~/notes",
        "memdb serve --status",
        "memdb serve --stop",
        "memdb serve --all-stores",
        exits="0 when stopped, 3 for --status and --stop where none runs, 8 where one runs already.",
    )
)
def serve(
    *,
    status: Annotated[bool, typer.Option("--status", help="Say whether one runs, and stop.")] = False,
    stop: Annotated[bool, typer.Option("--stop", help="End the one that runs.")] = False,
    idle: Annotated[float, typer.Option("--idle", metavar="MINUTES", help="End after so long unasked; 0: never.")] = 30,
    port: Annotated[
        int, typer.Option("--port", metavar="PORT", help="[default: any free one]", show_default=False)
    ] = 0,
    watch: Watch = True,
    quiet: Quiet = False,
    stores: Stores = None,
    all_stores: AllStores = False,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Keep a store open and warm, so that hooks and recalls are answered at once.

    Its model stays loaded for the other processes of this machine. It listens on 127.0.0.1, and answers only those who
    can read .memdb/local/serve.json. Without it every command gives the same answers, a little later. Of several stores
    at most 16 are open at once; a store is opened when it is first asked.
    """
    from memdb.base import settings

    if several(stores, all_stores, root, database):
        from memdb.stores import places

        many = places(stores)
        if status or stop:
            _ask_each(many, "stop" if stop else "status", as_json)
        else:
            _serve_several(many, idle=max(0.0, idle) * 60, port=port, watch=watch, quiet=quiet, as_json=as_json)
        return
    place = settings.place(root, database)
    settings.require(place)
    if status or stop:
        (_stop if stop else _status)(place, as_json)
        return
    _serve(place, idle=max(0.0, idle) * 60, port=port, watch=watch, quiet=quiet, as_json=as_json)


def _status(place: Place, as_json: bool) -> None:
    from memdb.base import warm

    info = warm.read_info(place)
    said: dict[str, Any] = {"running": False, "stale": info is not None}
    try:
        said = {"running": True} | warm.ask(place, {"do": "status"}, seconds=2.0, any_version=True)
    except warm.NoAnswer as error:
        said["reason"] = str(error)
    if as_json:
        screen.as_json(said)
    elif said["running"]:
        model = "loaded" if said["warm"] else "being loaded"
        counted = screen.counted(said["answered"], "question")
        state = f"running: process {said['pid']}, memdb {said['version']}, the model is {model}"
        screen.lines([[(f"{state}, {counted} in {said['seconds']:.0f} seconds", "")]])
    if not said["running"]:
        if as_json:
            raise typer.Exit(NotFound.exit_code)
        was = " The last one ended without notice." if said["stale"] else ""
        raise NotFound(f"No warm process answers for {place.root}.{was}", hint="`memdb serve` starts one.")


def _stop(place: Place, as_json: bool) -> None:
    from memdb.base import warm

    try:
        pid = warm.ask(place, {"do": "stop"}, seconds=2.0, any_version=True)["pid"]
    except warm.NoAnswer as error:
        raise NotFound(f"No warm process answers for {place.root}.", hint="There is nothing to stop.") from error
    ended = _until(lambda: warm.read_info(place) is None, STOP_SECONDS)
    if as_json:
        screen.as_json({"stopped": ended, "pid": pid})
    else:
        screen.lines([[(f"{'stopped' if ended else 'asked to stop'}: process {pid}", "")]])


def _ask_each(places: Mapping[str, Place], what: str, as_json: bool) -> None:
    """Ask the warm processes of several stores, or have them end. Raises NotFound where none runs."""
    from memdb.base import warm

    said: dict[str, dict[str, Any]] = {}
    for name, place in places.items():
        try:
            said[name] = warm.ask(place, {"do": what}, seconds=2.0, any_version=True)
        except warm.NoAnswer:
            continue
        if what == "stop":
            _until(lambda where=place: warm.read_info(where) is None, STOP_SECONDS)  # type: ignore[misc]
    if as_json:
        screen.as_json({"stores": [{"name": name, "running": name in said} | said.get(name, {}) for name in places]})
    for name, answer in said.items() if not as_json else ():
        screen.lines([[(f"{name}: {'stopped' if what == 'stop' else 'running'}: process {answer['pid']}", "")]])
    if not said:
        if as_json:
            raise typer.Exit(NotFound.exit_code)
        raise NotFound("No warm process answers for any of them.", hint="`memdb serve` starts one.")


def _serve_several(
    places: Mapping[str, Place], *, idle: float, port: int, watch: bool, quiet: bool, as_json: bool
) -> None:
    from memdb.serving.several import Servers

    if port:
        raise UsageError("--port is that of one store.", hint="Of several, each has a port of its own.")
    servers = Servers(places, idle=idle, watch=watch)
    infos = servers.start()
    if not quiet:
        if as_json:
            started = [
                {"name": name, "root": str(places[name].root), "port": info.port} for name, info in infos.items()
            ]
            screen.as_json({"pid": next(iter(infos.values())).pid, "stores": started})
        for name, info in infos.items() if not as_json else ():
            screen.note(f"serving {name} ({places[name].root}) on 127.0.0.1:{info.port}")
        for name, error in servers.failed.items():
            screen.note(f"note: {name} is not served: {error.message}")
        screen.flush()
    try:
        with _ending(servers.stop):
            why = servers.run()
    finally:
        servers.close()
    if not quiet and not as_json:
        screen.note("ended: nothing was asked for long" if why == "idle" else "ended")


def _until(met: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not met():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def _serve(place: Place, *, idle: float, port: int, watch: bool, quiet: bool, as_json: bool) -> None:
    from memdb import __version__
    from memdb.base import warm
    from memdb.serving.server import Server

    before = warm.read_info(place)
    if before is not None and before.version != __version__:
        # The old version's process would answer nobody any more.
        try:
            warm.ask(place, {"do": "stop"}, seconds=1.0, any_version=True)
            _until(lambda: warm.read_info(place) is None, TAKEOVER_SECONDS)
        except warm.NoAnswer:
            pass
    server = Server(place, idle=idle, port=port, watch=watch)
    info = server.start()
    if not quiet:
        if as_json:
            screen.as_json({"pid": info.pid, "port": info.port, "root": str(place.root)})
        else:
            screen.note(f"serving {place.root} on 127.0.0.1:{info.port} (process {info.pid}); Ctrl-C ends it")
        screen.flush()
    try:
        with _ending(server.stop):
            why = server.run()
    finally:
        server.close()
    if not quiet and not as_json:
        screen.note("ended: nothing was asked for long" if why == "idle" else "ended")


@contextmanager
def _ending(end: Callable[[], None]) -> Iterator[None]:
    """Call `end` for SIGTERM and Ctrl-C while the block lasts, instead of what they do else."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kinds = [signal.SIGINT, signal.SIGTERM]
    if sys.platform == "win32":
        kinds.append(signal.SIGBREAK)
    before = [(kind, signal.signal(kind, lambda _number, _frame: end())) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in before:
            signal.signal(kind, handler)


@contextmanager
def _followed(store: Store, ended: threading.Event, wanted: bool) -> Iterator[None]:
    """Follow the files in a thread while the block lasts; what happens there is not told."""
    if not wanted:
        yield
        return
    thread = threading.Thread(
        target=store.follow, args=(lambda _event: None,), kwargs={"ended": ended}, daemon=True, name="memdb-follow"
    )
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(STOP_SECONDS)


@commands.command(
    epilog=notes(
        "memdb watch",
        "memdb watch --json | while read -r event; do echo $event; done",
        "memdb watch --poll 10 --no-notices",
        exits="0 when ended by Ctrl-C or SIGTERM.",
    )
)
def watch(
    *,
    walk: Annotated[float, typer.Option("--walk", metavar="SECONDS", help="Walk all files so often anyway.")] = 60.0,
    poll: Annotated[float, typer.Option("--poll", metavar="SECONDS", help="The same without notices.")] = 2.0,
    notices: Annotated[
        bool, typer.Option("--notices/--no-notices", help="Use the system's notices of changes.")
    ] = True,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Follow the files: what changes is indexed a moment later.

    Ctrl-C ends it. Lines on stderr say what was synced; --json prints an object a line on standard output instead.
    Notices of the system need the extra `watch`; without it all files are walked every two seconds.
    """
    if walk <= 0 or poll <= 0:
        raise UsageError("--walk and --poll are seconds above 0.")
    ended = threading.Event()
    with open_store(root, database) as store, _ending(ended.set):
        tell = _print_event if as_json else _note_event
        worker = threading.Thread(
            target=store.follow,
            args=(tell,),
            kwargs={"ended": ended, "walk": walk, "poll": poll, "notices": notices},
            daemon=True,
        )
        worker.start()
        # A wait without an end is not interrupted by signals on Windows.
        while worker.is_alive() and not ended.wait(0.5):
            pass
        worker.join()


def _print_event(event: Followed) -> None:
    import json

    said: dict[str, Any] = {"event": event.kind, "notices": event.notices}
    if event.message:
        said["message"] = event.message
    if event.kind == "watching":
        said["folders"] = list(event.folders)
    if event.report is not None:
        said |= {"seconds": event.seconds, "report": shapes.sync_report(event.report)}
    screen.write(json.dumps(said) + "\n")
    screen.flush()


def _note_event(event: Followed) -> None:
    from memdb_cli.commands.folder import document_counts

    if event.report is not None:
        names = ("added", "changed", "removed", "renamed", "embedded")
        said = [f"{getattr(event.report, name)} {name}" for name in names if getattr(event.report, name)]
        counted = document_counts(event.report.documents)
        said += [f"documents: {counted}"] if counted else []
        waits = event.report.pending and not event.report.embedder
        said += [f"{screen.counted(event.report.pending, 'text')} not embedded"] if waits else []
        screen.note(f"synced: {', '.join(said) or 'nothing to do'} ({event.seconds:.1f} s)")
    elif event.kind == "watching":
        how = "notices" if event.notices else "walks"
        screen.note(f"watching by {how}: {', '.join(event.folders) or 'nothing is there'}")
    elif event.kind != "stopped":
        screen.note(f"{event.kind}: {event.message}")


@commands.command(
    epilog=notes(
        "memdb mcp --root ~/notes",
        "claude mcp add memdb -- memdb mcp --root ~/notes",
        "memdb mcp --http --port 8765",
        "memdb mcp --store work --store home",
        exits="0 when the client goes, 2 where the extra `mcp` is missing.",
    )
)
def mcp(
    *,
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP on 127.0.0.1, instead of stdio.")] = False,
    port: Annotated[int, typer.Option("--port", metavar="PORT", help="Of --http. [default: any free one]",
                                      show_default=False)] = 0,
    watch: Watch = True,
    stores: Stores = None,
    all_stores: AllStores = False,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Serve the store, or several, to an agent by the Model Context Protocol.

    It has seven tools. Over stdio it ends when the agent goes. Over HTTP the agent needs the token of
    .memdb/local/mcp-token as its bearer token. To delete, merge or resolve stays with people, unless the setting
    mcp_curation is on. Of several stores the tools take the name of one, the first if none is given; at most 16 are
    open at once, and their token is in memdb's own folder.
    """
    try:
        from memdb.mcp_server import server as mcp_server
    except ImportError as error:
        raise UsageError(
            f"The MCP server needs a package that is not here: {error.name}.",
            hint="pip install 'memdb-engine[mcp]'",
        ) from error
    ended = threading.Event()
    with ExitStack() as held:
        served: Store | ManyStores
        if several(stores, all_stores, root, database):
            from memdb.stores import open_all

            served = held.enter_context(open_all(stores, watch=watch))
        else:
            served = held.enter_context(open_store(root, database))
            held.enter_context(_followed(served, ended, watch))
        if http:
            serving = mcp_server.HttpServer(served, port=port)
            screen.note(f"serving {serving.url} with the token of {serving.token_file}; Ctrl-C ends it")
            with _ending(serving.stop):
                serving.run()
        else:
            mcp_server.run_stdio(served)
