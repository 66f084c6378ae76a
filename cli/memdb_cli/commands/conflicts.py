"""conflicts, conflicts show, resolve, revert: what contradicts what, and how a person settles it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from memdb_cli import screen
from memdb_cli.app import section
from memdb_cli.options import AsJson, Database, Root, Why, list_by_default, notes
from memdb_cli.session import open_store, read_stdin

if TYPE_CHECKING:
    from memdb.services.conflicts.conflicts import Conflict
    from memdb.services.conflicts.resolving import Resolution

commands = section()

LONGEST_QUOTE = 60
"""Characters of a quote in the list."""

ConflictName = Annotated[
    str, typer.Argument(metavar="CONFLICT", help="Its id, the name of its subject, or a memory in it.")
]


@commands.command(
    "list",
    epilog=notes(
        "memdb conflicts list",
        "memdb conflicts list --all --json",
        exits="3 without a store.",
    ),
)
def list_conflicts(
    *,
    everything: Annotated[bool, typer.Option("--all", help="Those that were settled too.")] = False,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List what contradicts what; with --all, how others were settled too."""
    with open_store(root, database) as store:
        found = store.conflicts.list()
        settled = store.conflicts.resolutions() if everything else []
        if as_json:
            data: dict[str, object] = {"conflicts": [asdict(conflict) for conflict in found]}
            if everything:
                data["resolutions"] = [asdict(resolution) for resolution in settled]
            screen.as_json(data)
            return
        if found:
            screen.table(
                ("id", "subject", "predicate", "objects"),
                [
                    (conflict.id, conflict.subject_name or "memories", conflict.predicate or "", _sides(conflict))
                    for conflict in found
                ],
            )
        else:
            screen.note("No texts contradict one another.")
        if settled:
            screen.table(
                ("decision", "conflict", "choice", "state", "what follows"),
                [(one.id, one.conflict, one.choice, one.state, _effects(one)) for one in settled],
            )


list_by_default(
    commands,
    list_conflicts,
    help="""List, show or settle what contradicts what.

    A conflict is one subject that has two objects by a predicate that holds for one at a time, such as works_at, or
    memories that cannot all be right. All sides stand until you settle it: nothing is decided by itself.
    """,
    epilog=notes(
        "memdb conflicts",
        'memdb conflicts show "Mirela Dovrak"',
        "memdb conflicts resolve reference/ports keep-new",
        exits="3 without a store.",
    ),
)


@commands.command(
    epilog=notes(
        "memdb conflicts show 3f0c2a91d7b4",
        'memdb conflicts show "Mirela Dovrak" --json',
        exits="2 when several are meant, 3 for no such conflict.",
    )
)
def show(
    conflict: ConflictName,
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
        title = f"{found.subject_name} {found.predicate}" if found.kind == "relation" else "memories"
        screen.lines([[(screen.cell(title), "bold cyan"), (f"  {found.id}", "dim")]])
        for side in found.sides:
            if found.kind == "relation":
                screen.lines([[("  " + screen.cell(side.object_name), "yellow")]])
            for source in side.sources:
                sure = "" if source.confidence is None else f"  {source.confidence:.2f}"
                indent = "    " if found.kind == "relation" else "  "
                screen.lines([[(indent + screen.cell(source.id), "cyan"), (sure, "dim")]])
                if source.quote:
                    screen.lines([[(f'{indent}  "{screen.cell(source.quote)}"', "")]])


@commands.command(
    epilog=notes(
        "memdb conflicts resolve reference/ports keep-new --why 'moved in March'",
        'memdb conflicts resolve "Mirela Dovrak" keep --keep "Quill Works"',
        "memdb conflicts resolve 3f0c2a91d7b4 merge --text 'The port is 9090, in the lab 8080.'",
        exits="2 where it cannot be told which is newer, 3 for no such conflict, 4 where it is settled already.",
    )
)
def resolve(
    conflict: ConflictName,
    choice: Annotated[str, typer.Argument(metavar="CHOICE", help="keep-new, keep-existing, keep, keep-both or merge.")],
    *,
    keep: Annotated[
        str | None,
        typer.Option("--keep", metavar="SIDE", help="What is kept: the name of an object, or a memory."),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option("--text", metavar="TEXT", help="For `merge`: what the kept memory says then; - reads it."),
    ] = None,
    why: Why = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Settle a conflict.

    keep-new and keep-existing go by the texts' own dates, else by when memdb saw them come. keep-both lets all stand,
    and asks no more. merge makes the objects of a relation one entity, and --text the text of a memory that replaces
    the others. What loses stays in the store: a relation stands no more, a memory is demoted and marked.
    """
    with open_store(root, database) as store:
        given = read_stdin() if text == "-" else text
        _print(store.conflicts.resolve(conflict, choice, keep=keep, text=given, why=why), "settled", as_json)


@commands.command(
    epilog=notes(
        "memdb conflicts revert reference/ports",
        "memdb conflicts revert 9b1c03d2aa --why 'it was the lab'",
        exits="2 when several are meant, 3 for no such resolution, 4 where it was taken back or a text changed since.",
    )
)
def revert(
    resolution: Annotated[
        str, typer.Argument(metavar="RESOLUTION", help="The id of the decision, or the conflict that it settled.")
    ],
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Leave a merged text that was changed since as it is now.")
    ] = False,
    why: Why = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Take a resolution back: exactly what it made goes, and the conflict is open again where it still is one."""
    with open_store(root, database) as store:
        _print(store.conflicts.revert(resolution, why=why, force=force), "taken back", as_json)


def _print(resolution: Resolution, what: str, as_json: bool) -> None:
    if as_json:
        screen.as_json({"resolution": asdict(resolution)})
        return
    screen.lines(
        [
            [
                (f"{what} ", "green"),
                (resolution.conflict, "cyan"),
                (f"  {resolution.choice}", ""),
                (f"  ({_effects(resolution)})" if resolution.effects else "", "dim"),
            ],
            [(f"decision {resolution.id}", "dim")],
        ]
    )


WORDS = {"retires": "over", "replaces": "replaces", "distinct": "beside", "merges": "is also"}
"""What an effect says between what is kept and the other."""


def _effects(resolution: Resolution) -> str:
    return screen.cell(", ".join(f"{one.kept_name} {WORDS[one.effect]} {one.other_name}" for one in resolution.effects))


def _sides(conflict: Conflict) -> str:
    if conflict.kind == "relation":
        return ", ".join(f"{side.object_name} ({screen.counted(len(side.sources), 'text')})" for side in conflict.sides)
    return ", ".join(
        " and ".join(source.id for source in side.sources) + _said(side.sources[0].quote) for side in conflict.sides
    )


def _said(quote: str | None) -> str:
    if not quote:
        return ""
    return f' "{quote if len(quote) <= LONGEST_QUOTE else quote[: LONGEST_QUOTE - 3] + "..."}"'
