"""schema, schema add, describe, disable, enable, delete: the types and predicates of the entity graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memdb_cli import screen
from memdb_cli.app import section
from memdb_cli.options import (
    AsJson,
    Database,
    EntryName,
    Kind,
    Root,
    SingleLetters,
    SingleValued,
    list_by_default,
    notes,
)
from memdb_cli.session import open_store

if TYPE_CHECKING:
    from memdb import Store
    from memdb.services.entities.vocabulary import EntryListed

commands = section()

Rule = Annotated[
    str, typer.Option("--description", "-d", metavar="TEXT", help="When it applies: the rule of the extractor.")
]


@commands.command("list", epilog=notes("memdb schema list", "memdb schema list --json", exits="3 without a store."))
def list_entries(root: Root = None, database: Database = None, as_json: AsJson = False) -> None:
    """List types and predicates, each with its rule and how often it is used."""
    with open_store(root, database) as store:
        found = store.schema.list()
        if as_json:
            screen.as_json({"entries": [asdict(entry) for entry in found]})
            return
        screen.table(
            ("name", "kind", "state", "origin", "uses", "evidence", "rule"),
            [
                (e.name, e.kind, e.state, e.origin, str(e.uses), str(e.evidence), e.description + _flags(e))
                for e in found
            ],
            right=("uses", "evidence"),
        )


list_by_default(
    commands,
    list_entries,
    help="""List or change the types of entities and the predicates between them.

    Without a command it lists them, each with its rule and how often it is used.
    """,
    epilog=notes(
        "memdb schema",
        'memdb schema add type protocol -d "A named agreement on how programs talk to one another."',
        "memdb schema disable type concept",
        exits="3 without a store.",
    ),
)


def _flags(entry: EntryListed) -> str:
    flags = [("one letter may be a name", entry.single_letters), ("one object at a time", entry.single_valued)]
    shown = ", ".join(words for words, is_set in flags if is_set)
    return f" ({shown})" if shown else ""


@commands.command(
    epilog=notes(
        'memdb schema add type protocol -d "A named agreement on how programs talk to one another."',
        'memdb schema add predicate reports_to -d "The object is the boss of the subject." --single-valued',
        exits="2 for a bad name or rule and for a name that is taken, 4 for a rule that looks like a credential.",
    )
)
def add(
    kind: Kind,
    name: EntryName,
    *,
    description: Rule,
    single_letters: SingleLetters = False,
    single_valued: SingleValued = False,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Add a type or predicate of your own. What texts named by it already is linked, without a call."""

    def decide(store: Store) -> EntryListed:
        return store.schema.add(kind, name, description, single_letters=single_letters, single_valued=single_valued)

    _decide(root, database, as_json, decide, "added")


@commands.command(
    epilog=notes(
        'memdb schema describe type protocol -d "A named wire format."',
        exits="2 for a bad rule, 3 for no such entry, 4 for a built-in one.",
    )
)
def describe(
    kind: Kind,
    name: EntryName,
    *,
    description: Rule,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Give an entry of your own another rule."""
    _decide(root, database, as_json, lambda store: store.schema.describe(kind, name, description), "described")


@commands.command(epilog=notes("memdb schema disable type concept", exits="3 for no such entry."))
def disable(kind: Kind, name: EntryName, root: Root = None, database: Database = None, as_json: AsJson = False) -> None:
    """Take an entry out of the prompt. What it links already stays."""
    _decide(root, database, as_json, lambda store: store.schema.disable(kind, name), "disabled")


@commands.command(epilog=notes("memdb schema enable type concept", exits="3 for no such entry."))
def enable(kind: Kind, name: EntryName, root: Root = None, database: Database = None, as_json: AsJson = False) -> None:
    """Put an entry back into the prompt, and link what was named by it meanwhile."""
    _decide(root, database, as_json, lambda store: store.schema.enable(kind, name), "enabled")


@commands.command(
    epilog=notes(
        "memdb schema delete type protocol",
        exits="3 for no such entry, 4 for a built-in one and for one that is not disabled.",
    )
)
def delete(kind: Kind, name: EntryName, root: Root = None, database: Database = None, as_json: AsJson = False) -> None:
    """Delete a disabled entry of your own. What it linked is held, and comes back when it is added again."""
    _decide(root, database, as_json, lambda store: store.schema.delete(kind, name), "deleted")


def _decide(
    root: Path | None, database: Path | None, as_json: bool, decide: Callable[[Store], EntryListed], done: str
) -> None:
    with open_store(root, database) as store:
        print_entry(decide(store), done, as_json)


def print_entry(entry: EntryListed, done: str, as_json: bool) -> None:
    """Print what became of an entry, with its usage."""
    if as_json:
        screen.as_json({"entry": asdict(entry)})
        return
    of_kind = ("entity", "entities") if entry.kind == "type" else ("relation", "relations")
    uses = screen.counted(entry.uses, *of_kind)
    screen.lines([[(f"{done} ", "green"), (f"{entry.kind} {screen.cell(entry.name)}", "cyan"), (f"  ({uses})", "dim")]])
