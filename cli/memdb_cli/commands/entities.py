"""entities, entities show: what the texts mention, and what they say of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from memdb_cli import screen
from memdb_cli.app import section
from memdb_cli.options import AsJson, Database, Root, notes
from memdb_cli.session import open_store

if TYPE_CHECKING:
    from memdb.services.entity_reading import EntityShown

commands = section()

MOST_LISTED = 50
"""Rows of the list: two screens; a store has thousands of entities."""

EntityTypes = Annotated[
    list[str] | None, typer.Option("--type", metavar="TYPE", help="Only of this type; repeat for any of several.")
]
Part = Annotated[
    str | None, typer.Option("--name", metavar="TEXT", help="Only with this in the name or an alias, in any spelling.")
]
Origins = Annotated[
    list[str] | None,
    typer.Option("--origin", metavar="ORIGIN", help="Only known from this: model, rules, names; repeat."),
]
Sort = Annotated[str, typer.Option("--sort", metavar="KEY", help="mentions or name.")]
Most = Annotated[int, typer.Option("--limit", "-n", metavar="N", help="The most rows.", min=1)]


@commands.callback(
    invoke_without_command=True,
    epilog=notes(
        "memdb entities",
        "memdb entities --type person --sort name",
        'memdb entities show "Quillbase"',
        exits="2 for an unknown origin or sort, 3 without a store.",
    ),
)
def entities(
    context: typer.Context,
    *,
    types: EntityTypes = None,
    name: Part = None,
    origins: Origins = None,
    sort: Sort = "mentions",
    limit: Most = MOST_LISTED,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List or show the named things that texts mention.

    Without a command it lists them, the most mentioned first, with how many memories and documents mention each.
    """
    if context.invoked_subcommand is None:
        list_entities(
            types=types,
            name=name,
            origins=origins,
            sort=sort,
            limit=limit,
            root=root,
            database=database,
            as_json=as_json,
        )


@commands.command(
    "list",
    epilog=notes(
        "memdb entities list --limit 10",
        "memdb entities list --type tool --type technology --json",
        exits="2 for an unknown origin or sort, 3 without a store.",
    ),
)
def list_entities(
    *,
    types: EntityTypes = None,
    name: Part = None,
    origins: Origins = None,
    sort: Sort = "mentions",
    limit: Most = MOST_LISTED,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List the named things that texts mention, the most mentioned first."""
    with open_store(root, database) as store:
        found = store.entities.list(types=types or (), name=name, origins=origins or (), sort=sort, limit=limit + 1)
        shown = found[:limit]
        if as_json:
            screen.as_json({"entities": [asdict(entity) for entity in shown], "more": len(found) > limit})
        elif shown:
            screen.table(
                ("name", "type", "mentions", "memories", "documents", "known from", "aliases"),
                [
                    (
                        entity.name,
                        entity.type or "",
                        str(entity.mentions),
                        str(entity.memories),
                        str(entity.documents),
                        entity.origin,
                        ", ".join(entity.aliases),
                    )
                    for entity in shown
                ],
                right=("mentions", "memories", "documents"),
            )
            if len(found) > limit:
                screen.note(f"note: there are more; --limit {2 * limit} shows twice as many.")
        else:
            screen.note("No entity fits." if types or name or origins else "No text mentions a name so far.")


@commands.command(
    epilog=notes(
        'memdb entities show "Quillbase"',
        "memdb entities show quillbase --limit 100 --json",
        exits="3 when no text mentions it.",
    )
)
def show(
    entity: Annotated[str, typer.Argument(metavar="NAME", help="A name or an alias in any spelling, or an id.")],
    *,
    limit: Annotated[int | None, typer.Option("--limit", "-n", metavar="N", help="The most mentions.", min=0)] = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show an entity: its aliases and relations, and the memories and documents that mention it."""
    with open_store(root, database) as store:
        shown = store.entities.show(entity, limit=limit)
        if as_json:
            screen.as_json(asdict(shown))
        else:
            _print_entity(shown)


def _print_entity(shown: EntityShown) -> None:
    memories = screen.counted(shown.memories, "memory", "memories")
    facts = {
        "type": shown.type or "not sure",
        "known from": shown.origin,
        "aliases": ", ".join(shown.aliases),
        "mentioned by": f"{memories}, {screen.counted(shown.documents, 'document')}",
    }
    screen.lines([[(screen.cell(shown.name), "bold cyan"), (f"  {screen.cell(shown.id)}", "dim")]])
    column = max(len(fact) for fact, value in facts.items() if value)
    screen.lines(
        [[(f"  {fact.ljust(column)}  ", "dim"), (screen.cell(value), "")] for fact, value in facts.items() if value]
    )
    if shown.relations:
        screen.lines([[("relations", "bold")]])
        for relation in shown.relations:
            said = f"  {relation.subject_name} {relation.predicate} {relation.object_name}"
            by = f"  {relation.confidence:.2f}  {', '.join(relation.sources)}"
            screen.lines([[("  " + screen.cell(said), ""), ("  " + screen.cell(by), "dim")]])
    if shown.mention_list:
        screen.lines([[("mentions", "bold")]])
        screen.lines(
            [
                [
                    ("  " + screen.cell(mention.source), "cyan"),
                    (f"  {screen.cell(mention.name)}", ""),
                    (f"  {'about it' if mention.about else mention.origin}", "dim"),
                ]
                for mention in shown.mention_list
            ]
        )
    if len(shown.mention_list) < shown.mentions:
        screen.note(f"note: {len(shown.mention_list)} of {shown.mentions} texts are shown; --limit shows more.")
