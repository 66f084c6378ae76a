"""conflicts, conflicts show: where texts contradict one another."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from memdb_cli import screen
from memdb_cli.app import section
from memdb_cli.options import AsJson, Database, Root, notes
from memdb_cli.session import open_store

commands = section()


@commands.callback(
    invoke_without_command=True,
    epilog=notes("memdb conflicts", 'memdb conflicts show "Mirela Dovrak"', exits="3 without a store."),
)
def conflicts(context: typer.Context, root: Root = None, database: Database = None, as_json: AsJson = False) -> None:
    """List or show where texts contradict one another.

    A conflict is one subject that has two objects by a predicate that holds for one at a time, such as works_at. All
    stand: nothing is decided by itself.
    """
    if context.invoked_subcommand is None:
        _print_list(root, database, as_json)


@commands.command(
    "list", epilog=notes("memdb conflicts list", "memdb conflicts list --json", exits="3 without a store.")
)
def list_conflicts(root: Root = None, database: Database = None, as_json: AsJson = False) -> None:
    """List all conflicts, each with what the texts say."""
    _print_list(root, database, as_json)


def _print_list(root: Path | None, database: Path | None, as_json: bool) -> None:
    with open_store(root, database) as store:
        found = store.conflicts.list()
        if as_json:
            screen.as_json({"conflicts": [asdict(conflict) for conflict in found]})
        elif found:
            screen.table(
                ("id", "subject", "predicate", "objects"),
                [
                    (
                        conflict.id,
                        conflict.subject_name,
                        conflict.predicate,
                        ", ".join(
                            f"{side.object_name} ({screen.counted(len(side.sources), 'text')})"
                            for side in conflict.sides
                        ),
                    )
                    for conflict in found
                ],
            )
        else:
            screen.note("No texts contradict one another.")


@commands.command(
    epilog=notes(
        "memdb conflicts show 3f0c2a91d7b4",
        'memdb conflicts show "Mirela Dovrak" --json',
        exits="2 when several are meant, 3 for no such conflict.",
    )
)
def show(
    conflict: Annotated[str, typer.Argument(metavar="CONFLICT", help="Its id, or the name of its subject.")],
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show a conflict with a quote from each text."""
    with open_store(root, database) as store:
        found = store.conflicts.show(conflict)
        if as_json:
            screen.as_json(asdict(found))
            return
        screen.lines(
            [[(screen.cell(f"{found.subject_name} {found.predicate}"), "bold cyan"), (f"  {found.id}", "dim")]]
        )
        for side in found.sides:
            screen.lines([[("  " + screen.cell(side.object_name), "yellow")]])
            for source in side.sources:
                screen.lines([[("    " + screen.cell(source.id), "cyan"), (f"  {source.confidence:.2f}", "dim")]])
                if source.quote:
                    screen.lines([[(f'      "{screen.cell(source.quote)}"', "")]])
