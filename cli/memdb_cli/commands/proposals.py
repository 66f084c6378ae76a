"""proposals, proposals approve, dismiss, restore: types and predicates that models want, for a person to decide."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from memdb_cli import screen
from memdb_cli.app import section
from memdb_cli.commands.schema import print_entry
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

commands = section()

States = Annotated[
    list[str] | None,
    typer.Option("--state", metavar="STATE", help="pending, waiting or dismissed; repeat. [default: pending]"),
]
Everything = Annotated[bool, typer.Option("--all", help="Those of every state.")]


@commands.command(
    "list",
    epilog=notes(
        "memdb proposals list",
        "memdb proposals list --all",
        "memdb proposals list --state dismissed --json",
        exits="2 for no such state, 3 without a store.",
    ),
)
def list_proposals(
    *,
    states: States = None,
    everything: Everything = False,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List what at least two different texts asked for; with --all, what one did and what was dismissed too."""
    with open_store(root, database) as store:
        found = store.proposals.list(states=() if everything else states or ("pending",))
        if as_json:
            screen.as_json({"proposals": [asdict(proposal) for proposal in found]})
        elif found:
            screen.table(
                ("name", "kind", "state", "texts", "examples", "rule"),
                [(p.name, p.kind, p.state, str(p.texts), ", ".join(p.examples), p.description or "") for p in found],
                right=("texts",),
            )
        elif everything or states:
            screen.note("There are no such proposals.")
        else:
            screen.note("Nothing waits for a decision. `memdb proposals --all` lists what one text alone asked for.")


list_by_default(
    commands,
    list_proposals,
    help="""List or decide on types and predicates that models want.

    The vocabulary lacks them. Without a command it lists what at least two different texts asked for.
    """,
    epilog=notes(
        "memdb proposals",
        "memdb proposals --all",
        "memdb proposals approve type protocol",
        exits="2 for no such state, 3 without a store.",
    ),
)


@commands.command(
    epilog=notes(
        "memdb proposals approve type protocol",
        'memdb proposals approve predicate reports_to -d "The object is the boss of the subject." --single-valued',
        exits="2 where no rule is known or the name is taken, 3 when no text asked for it, 4 when it was dismissed.",
    )
)
def approve(
    kind: Kind,
    name: EntryName,
    *,
    description: Annotated[
        str | None,
        typer.Option("--description", "-d", metavar="TEXT", help="The rule. [default: what the model said]"),
    ] = None,
    single_letters: SingleLetters = False,
    single_valued: SingleValued = False,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Make it part of the vocabulary, and link all texts that asked for it so far. No model is called."""
    with open_store(root, database) as store:
        entry = store.proposals.approve(
            kind, name, description=description, single_letters=single_letters, single_valued=single_valued
        )
        print_entry(entry, "approved", as_json)


@commands.command(
    epilog=notes(
        "memdb proposals dismiss type vibe", exits="2 for what the vocabulary has, 3 when no text asked for it."
    )
)
def dismiss(kind: Kind, name: EntryName, root: Root = None, database: Database = None, as_json: AsJson = False) -> None:
    """Take it off the list, whoever asks for it again."""
    with open_store(root, database) as store:
        proposal = store.proposals.dismiss(kind, name)
        if as_json:
            screen.as_json({"proposal": asdict(proposal)})
        else:
            screen.lines([[("dismissed ", "red"), (f"{proposal.kind} {screen.cell(proposal.name)}", "cyan")]])


@commands.command(epilog=notes("memdb proposals restore type vibe", exits="3 for what was not dismissed."))
def restore(kind: Kind, name: EntryName, root: Root = None, database: Database = None, as_json: AsJson = False) -> None:
    """Take a dismissal back."""
    with open_store(root, database) as store:
        proposal = store.proposals.restore(kind, name)
        if as_json:
            screen.as_json({"proposal": asdict(proposal) if proposal else None})
            return
        asked = f"{screen.counted(proposal.texts, 'text')} asked for it" if proposal else "no text asks for it now"
        screen.lines([[("restored ", "green"), (screen.cell(f"{kind} {name}"), "cyan"), (f"  ({asked})", "dim")]])
