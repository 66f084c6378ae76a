"""model list, use, pull, path: which embedding model there is and which one the store uses."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memdb.errors import ModelUnavailable
from memdb_cli import screen
from memdb_cli.app import section
from memdb_cli.options import AsJson, Database, Root, notes
from memdb_cli.session import open_store

if TYPE_CHECKING:
    from memdb.base.models import ModelCard

commands = section()

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model's id, or the part of it after the slash.")]


@commands.callback(invoke_without_command=True, epilog=notes("memdb model list", "memdb model use bge-small-en-v1.5"))
def model(context: typer.Context) -> None:
    """List, use, fetch and find embedding models. Without one, recall answers from keywords and the graph."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@commands.command("list", epilog=notes("memdb model list", "memdb model list --json"))
def list_models(root: Root = None, database: Database = None, as_json: AsJson = False) -> None:
    """List the models, which files are here and which one is used."""
    from memdb.base import models

    used = _used(root, database)
    found = [_described(card, used) for card in models.catalogue()]
    if as_json:
        screen.as_json({"models": found})
        return
    column = max(len(entry["id"]) for entry in found)
    for entry in found:
        size = f"{entry['size_mb']:g} MB" if entry["size_mb"] else ""
        state = ", ".join(word for word, true in (("used", entry["used"]), ("here", entry["path"])) if true)
        screen.lines(
            [
                [
                    (entry["id"].ljust(column), "cyan"),
                    (f"  {entry['dims'] or '':>4} dims  {size:>7}  ", ""),
                    (state, "green"),
                ],
                [(f"    {screen.cell(entry['problem'] or entry['description'])}", "dim")],
            ]
        )
    if used is None:
        screen.note("note: no model is used; recall answers from keywords and the graph.")


def _described(card: ModelCard, used: str | None) -> dict[str, Any]:
    from memdb.base import models

    path, problem = None, None
    try:
        path = models.locate(card.id)
    except ModelUnavailable as error:
        problem = error.message
    return asdict(card) | {"path": str(path) if path else None, "used": card.id == used, "problem": problem}


def _used(root: Path | None, database: Path | None) -> str | None:
    """The id of the model that the store uses, or that a store would where none is open."""
    from memdb.base import models, settings

    place = settings.place(root, database)
    named = settings.setting(place, "model") if place.config.exists() else None
    if named is None:
        return models.default_model()
    return None if settings.switched_off(named) else models.card(named).id


@commands.command(
    epilog=notes(
        "memdb model use bge-small-en-v1.5",
        "memdb model use off",
        exits="3 without a store, 7 when the model cannot be used; the store then keeps the one it has.",
    )
)
def use(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model's id, or `off` for none.")],
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Make a model the store's own and embed every memory with it. Interrupted, the next sync goes on."""
    from memdb.base import settings

    wanted = None if settings.switched_off(model) else model
    with open_store(root, database) as store:
        with screen.progress() as progress:
            embedded = store.use_model(wanted, progress=progress)
        status = store.stats()["embedder"]
        if as_json:
            screen.as_json({"model": status["model"] if wanted else None, "embedded": embedded})
        elif wanted is None:
            screen.lines([[("Embeddings are off; recall answers from keywords and the graph.", "")]])
        else:
            screen.lines(
                [[(f"The store uses {status['model']} now; {screen.counted(embedded, 'text')} embedded.", "")]]
            )


@commands.command(
    epilog=notes(
        "memdb model pull bge-small-en-v1.5",
        exits="7 when the model is unknown or the hub cannot be reached.",
    )
)
def pull(model: Model, as_json: AsJson = False) -> None:
    """Fetch a model's files, once, while online. This is the only command that uses the network."""
    from memdb.base import models

    card = models.card(model)
    with screen.progress() as progress:
        folder = models.pull(card.id, lambda done, total: progress(f"fetching {card.id}, bytes", done, total))
    if as_json:
        screen.as_json({"model": card.id, "path": str(folder)})
    else:
        screen.write(f"{folder}\n")
        screen.note(f"next: memdb model use {card.id}")


@commands.command(
    epilog=notes("memdb model path", "memdb model path bge-small-en-v1.5", exits="7 when its files are not here.")
)
def path(
    model: Annotated[str | None, typer.Argument(metavar="MODEL", help="[default: the one in use]")] = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Print the folder that holds a model's files."""
    from memdb.base import models

    wanted = model or _used(root, database)
    if wanted is None:
        raise ModelUnavailable("No model is used.", hint="`memdb model list` shows what there is.")
    card = models.card(wanted)
    folder = models.locate(card.id)
    if folder is None:
        raise models.missing(card)
    if as_json:
        screen.as_json({"model": card.id, "path": str(folder)})
    else:
        screen.write(f"{folder}\n")
