"""stores, stores add, remove, rename, path: the stores that have a name."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memdb_cli import screen
from memdb_cli.app import section
from memdb_cli.options import AsJson, list_by_default, notes

if TYPE_CHECKING:
    from memdb.base.named import Named

commands = section()

STATES = {
    "missing": "is not there. Opened where it is now, it keeps its name.",
    "replaced": "is another store now. Where the old one is opened, its name follows it.",
    "unreadable": "has settings that cannot be read.",
    "damaged": "has a damaged database. `memdb rebuild` builds it from the files.",
}

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of a store.")]


@commands.command(
    "list",
    epilog=notes("memdb stores list", "memdb stores list --json", exits="2 where the list itself is damaged."),
)
def list_stores(as_json: AsJson = False) -> None:
    """List the stores that have a name, with what is at their paths. The list is a file of yours, not of any store."""
    from memdb.services import named_stores

    found = named_stores.listed()
    if as_json:
        screen.as_json({"stores": [asdict(store) for store in found]})
        return
    if not found:
        screen.note("No store has a name. `memdb stores add NAME FOLDER` gives one.")
        return
    screen.table(
        ("name", "state", "memories", "opened", "id", "path"),
        [
            (
                store.name,
                store.state,
                "" if store.memories is None else str(store.memories),
                (store.opened or "")[:16].replace("T", " "),
                store.id or "",
                store.path,
            )
            for store in found
        ],
        right=("memories",),
    )
    for store in found:
        if store.state in STATES:
            screen.note(f"note: {store.name}: {store.path} {STATES[store.state]}")
        if store.copies:
            screen.note(f"note: {store.name}: a copy or clone with its id is at {', '.join(store.copies)}.")


list_by_default(
    commands,
    list_stores,
    help="""List the stores that have a name, or change their names.

    A name stands for a store in --store, in MEMDB_STORE and in recalls over several stores.
    """,
    epilog=notes(
        "memdb stores",
        "memdb stores add team ~/notes/team",
        "memdb --store team list",
        'memdb recall "how do we deploy" --all-stores',
        exits="2 where the list itself is damaged.",
    ),
)


@commands.command(
    epilog=notes(
        "memdb stores add team ~/notes/team",
        "memdb stores add lab . --database ~/lab.db",
        exits="2 for a bad name, 3 where the folder is no store, 4 for a name in use, 6 where the list takes no write.",
    )
)
def add(
    name: Name,
    path: Annotated[Path, typer.Argument(metavar="FOLDER", help="The store's folder.")],
    *,
    database: Annotated[
        Path | None,
        typer.Option("--database", metavar="FILE", help="Its database, where that lies elsewhere.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Give a store a name."""
    from memdb.base import named

    _tell(named.add(name, path, database), "is", as_json)


@commands.command(epilog=notes("memdb stores remove work", exits="3 where no store has the name."))
def remove(name: Name, as_json: AsJson = False) -> None:
    """Forget a name. No file of the store is touched."""
    from memdb.base import named

    _tell(named.remove(name), "is no longer the name of", as_json)


@commands.command(
    epilog=notes("memdb stores rename work office", exits="2 for a bad name, 3 for no such one, 4 for one in use.")
)
def rename(
    name: Name, new: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")], as_json: AsJson = False
) -> None:
    """Give a store another name."""
    from memdb.base import named

    _tell(named.rename(name, new), "is", as_json)


@commands.command(
    epilog=notes("memdb stores path work", "cd $(memdb stores path work)", exits="3 where there is no such store.")
)
def path(name: Name, as_json: AsJson = False) -> None:
    """Print the folder of a store."""
    from memdb.base import named

    found = named.find(name)
    named.check(found)
    if as_json:
        screen.as_json(_shape(found))
    else:
        screen.write(f"{found.root}\n")


def _tell(one: Named, what: str, as_json: bool) -> None:
    if as_json:
        screen.as_json(_shape(one))
    else:
        screen.lines([[(screen.cell(one.name), "cyan"), (f" {what} {screen.cell(str(one.root))}", "")]])


def _shape(one: Named) -> dict[str, str | None]:
    return {"name": one.name, "path": str(one.root), "id": one.id, "database": str(one.place.database)}
