"""log, undo, confirm: what people decided, how a decision is taken back, and how one that is held takes effect."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from memdb_cli import screen
from memdb_cli.app import section
from memdb_cli.decisions import print_decision, remarks, state_of
from memdb_cli.options import AsJson, Database, Root, Why, notes
from memdb_cli.session import open_store

if TYPE_CHECKING:
    from memdb.services.decisions import Decision

commands = section()

DecisionId = Annotated[str, typer.Argument(metavar="ID", help="The id of a decision, as `memdb log` lists it.")]

MOST_LISTED = 20
"""Decisions of the list: a screen."""

MINUTES = 16
"""Characters of an ISO time up to its minutes."""


@commands.command(
    epilog=notes(
        "memdb log",
        'memdb log "Quillbase" --json',
        "memdb log --state held --state undone --limit 100",
        exits="2 for no such state, 3 without a store.",
    )
)
def log(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="An entity, or type:NAME, predicate:NAME, conflict:ID. [default: all]",
            show_default=False,
        ),
    ] = None,
    *,
    states: Annotated[
        list[str] | None,
        typer.Option("--state", metavar="STATE", help="Only those that are standing, held or undone; repeat."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="The most decisions.", min=1)] = MOST_LISTED,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List what people decided, the newest first: of entities, the vocabulary and conflicts. Who, when and why is said.

    A decision is standing, held (it does not apply now, and takes effect when it is confirmed, or what holds it is
    undone) or undone. Those that contradict what another machine decided are marked.
    """
    from memdb.services.decision_words import in_words, undone_by

    with open_store(root, database) as store:
        found = store.log(limit=limit + 1, subject=name, states=states or ())
        shown, by_id = found[:limit], {decision.id: decision for decision in found}
        if any(one.action == "undo" and not by_id.keys() >= set(undone_by(one)) for one in shown):
            by_id = {decision.id: decision for decision in store.log()}
        if as_json:
            decisions = [asdict(decision) | {"words": in_words(decision, by_id)} for decision in shown]
            screen.as_json({"decisions": decisions, "more": len(found) > limit})
        elif shown:
            screen.table(
                ("id", "when", "who", "what", "state", "why"),
                [
                    (
                        decision.id,
                        decision.at[:MINUTES].replace("T", " "),
                        decision.by,
                        in_words(decision, by_id),
                        state_of(decision) + ("!" if decision.contradicts else ""),
                        decision.why or "",
                    )
                    for decision in shown
                ],
            )
            for decision in shown:
                if decision.contradicts or decision.state == "held":
                    screen.note(f"note: {decision.id}: {'; '.join(remarks(decision))}.")
            if len(found) > limit:
                screen.note(f"note: there are more; --limit {2 * limit} shows twice as many.")
        else:
            screen.note("There are no such decisions." if name or states else "Nobody decided anything so far.")


@commands.command(
    epilog=notes(
        "memdb undo 3f0c2a91d7",
        'memdb undo 3f0c2a91d7 --why "they are two products"',
        exits="3 for no such decision, 4 where it is undone already.",
    )
)
def undo(
    decision: DecisionId,
    *,
    why: Why = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Take a decision back. It counts for nothing, and all that followed from it goes. An undo can be undone, too."""
    from memdb.services.decision_words import in_words, undone_by

    with open_store(root, database) as store:
        undone = store.undo(decision, why=why)
        by_id = {one.id: one for one in store.log()}
        ids = undone_by(undone) if undone.changed else [undone.id]
        words = "; ".join(in_words(by_id[one], by_id) for one in ids if one in by_id)
        print_decision(undone, f"undid: {words}", as_json=as_json, already="it is undone already")


@commands.command(
    epilog=notes(
        "memdb confirm 3f0c2a91d7",
        'memdb confirm 3f0c2a91d7 --why "ines knows them both"',
        exits="3 for no such decision, 4 where it is undone or cannot take effect.",
    )
)
def confirm(
    decision: DecisionId,
    *,
    why: Why = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Say that a decision holds: one that is held takes effect. What is in its way is taken back.

    Of decisions that contradict one another, what stands stands, and the question is closed. `memdb undo` takes it
    back.
    """
    from memdb.services.decision_words import in_words, undone_by

    with open_store(root, database) as store:
        said = store.confirm(decision, why=why)
        by_id = {one.id: one for one in store.log()}
        held = said.detail.get("holds")
        wanted = next((one for one in by_id.values() if one.ref == held), by_id.get(said.id, said))
        gone = "; ".join(in_words(by_id[one], by_id) for one in undone_by(said)) if held else ""
        print_decision(
            said,
            f"confirmed: {in_words(wanted, by_id)}" if held else f"confirmed {', '.join(_confirmed(said))}",
            f"taken back: {gone}" if gone else "",
            as_json=as_json,
            already="it stands, and nothing contradicts it",
        )


def _confirmed(decision: Decision) -> list[str]:
    from memdb.services.decision_words import undone_by

    return undone_by(decision) if decision.action == "confirm" else [decision.id]
