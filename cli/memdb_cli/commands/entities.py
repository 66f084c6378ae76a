"""entities list, show, suggest: what the texts mention, what they say of it, and what may be one under two names."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from memdb_cli import screen
from memdb_cli.app import section
from memdb_cli.commands import entity_decisions
from memdb_cli.options import AsJson, Database, Entity, Root, list_by_default, notes
from memdb_cli.session import open_store

if TYPE_CHECKING:
    from memdb.services.entities.entity_reading import EntityListed, EntityShown

commands = section()
# `memdb entities` shows what is there and decides about it; each half has its own file.
commands.registered_commands += entity_decisions.commands.registered_commands

MOST_LISTED = 50
"""Rows of the list: two screens; a store has thousands of entities."""

MOST_SUGGESTED = 20
"""Pairs of suggested merges: what a person decides in a few minutes."""

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
Sort = Annotated[str, typer.Option("--sort", metavar="KEY", help="mentions, memories, documents, relations or name.")]
Within = Annotated[str | None, typer.Option("--in", metavar="TEXT", help="Only what this memory or document mentions.")]
Most = Annotated[int, typer.Option("--limit", "-n", metavar="N", help="The most rows.", min=1)]


@commands.command(
    "list",
    epilog=notes(
        "memdb entities list --limit 10",
        "memdb entities list --type tool --type technology --sort relations",
        "memdb entities list --in project/roadmap --json",
        "memdb entities list --deleted",
        exits="2 for an unknown origin or sort, 3 without a store.",
    ),
)
def list_entities(
    *,
    types: EntityTypes = None,
    name: Part = None,
    origins: Origins = None,
    within: Within = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Those that people deleted instead.")] = False,
    sort: Sort = "mentions",
    limit: Most = MOST_LISTED,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List the named things that texts mention, the most mentioned first."""
    with open_store(root, database) as store:
        found = store.entities.list(
            types=types or (),
            name=name,
            origins=origins or (),
            within=within,
            deleted=deleted,
            sort=sort,
            limit=limit + 1,
        )
        shown = found[:limit]
        if as_json:
            screen.as_json({"entities": [asdict(entity) for entity in shown], "more": len(found) > limit})
        elif shown:
            screen.table(
                ("name", "type", "mentions", "memories", "documents", "relations", "known from", "aliases"),
                [
                    (
                        entity.name,
                        entity.type or "",
                        str(entity.mentions),
                        str(entity.memories),
                        str(entity.documents),
                        str(entity.relations),
                        entity.origin,
                        ", ".join(entity.aliases),
                    )
                    for entity in shown
                ],
                right=("mentions", "memories", "documents", "relations"),
            )
            if len(found) > limit:
                screen.note(f"note: there are more; --limit {2 * limit} shows twice as many.")
        elif deleted:
            screen.note("No entity is deleted.")
        else:
            filtered = types or name or origins or within
            screen.note("No entity fits." if filtered else "No text mentions a name so far.")


list_by_default(
    commands,
    list_entities,
    help="""List, show or correct the named things that texts mention.

    Without a command it lists them, the most mentioned first, with how many memories and documents mention each.
    """,
    epilog=notes(
        "memdb entities",
        "memdb entities --type person --sort name",
        'memdb entities show "Quillbase"',
        "memdb entities suggest",
        'memdb entities merge "Quill Base" Quillbase',
        exits="2 for an unknown origin or sort, 3 without a store.",
    ),
)


@commands.command(
    epilog=notes(
        'memdb entities show "Quillbase"',
        "memdb entities show quillbase --limit 100 --json",
        exits="3 for no such entity.",
    )
)
def show(
    entity: Entity,
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


@commands.command(
    epilog=notes(
        "memdb entities suggest",
        "memdb entities suggest --limit 50 --json",
        exits="3 without a store.",
    )
)
def suggest(
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="The most pairs.", min=1)] = MOST_SUGGESTED,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List pairs of entities that may be one under two names, with the reasons. It merges nothing.

    `memdb entities merge` makes one of a pair, `memdb entities distinct` ends the question.
    """
    with open_store(root, database) as store:
        found = store.entities.suggest(limit=limit + 1)
        shown = found[:limit]
        if as_json:
            screen.as_json({"suggestions": [asdict(suggestion) for suggestion in shown], "more": len(found) > limit})
        elif shown:
            screen.table(
                ("source", "mentions", "into", "mentions ", "score", "reasons"),
                [
                    (
                        _typed(one.source),
                        str(one.source.mentions),
                        _typed(one.into),
                        str(one.into.mentions),
                        f"{one.score:.2f}",
                        ", ".join(one.reasons),
                    )
                    for one in shown
                ],
                right=("mentions", "mentions ", "score"),
            )
            from memdb.services.decisions import quoted

            first = f"{quoted(shown[0].source.name)} {quoted(shown[0].into.name)}"
            screen.note(f"note: `memdb entities merge {first}` makes one of the first two, and can be undone;")
            screen.note(f"note: `memdb entities distinct {first}` says that they are two, and ends the question.")
            if len(found) > limit:
                screen.note(f"note: there are more; --limit {2 * limit} shows twice as many.")
        else:
            screen.note("No two entities look like one.")


def _typed(entity: EntityListed) -> str:
    return f"{entity.name} ({entity.type})" if entity.type else entity.name


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
