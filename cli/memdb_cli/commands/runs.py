"""runs, runs show: what the language model was asked, what came of it and what it cost."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from memdb_cli import screen
from memdb_cli.app import section
from memdb_cli.commands.index import spent
from memdb_cli.options import AsJson, Database, Root, notes
from memdb_cli.session import open_store

commands = section()

FAILURES = 5
"""Failed texts that are shown: the view has all of them."""

STATES = {"running": "cyan", "done": "green", "stopped": "yellow", "failed": "bold red"}


@commands.callback(
    invoke_without_command=True,
    epilog=notes("memdb runs", "memdb runs --limit 5 --json", "memdb runs show 3", exits="3 without a store."),
)
def runs(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="The most runs.")] = 20,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List the runs of the language model, with what they cost. The newest comes first; the last 100 are kept.

    Texts that failed and that no model has read since are named below, those that are given up first.
    """
    if context.invoked_subcommand is not None:
        return
    with open_store(root, database) as store:
        found, failures = store.runs.list(limit), store.runs.failures()
    if as_json:
        screen.as_json({"runs": [asdict(run) for run in found], "failures": [asdict(failure) for failure in failures]})
    elif found:
        screen.table(
            ("run", "state", "started", "model", "done", "skipped", "failed", "calls", "tokens", "cost", "message"),
            [
                (
                    str(run.id),
                    run.state,
                    run.started_at[:19].replace("T", " "),
                    run.model or "",
                    str(run.done),
                    str(run.skipped),
                    str(run.failed),
                    str(run.calls),
                    f"{run.input_tokens} + {run.output_tokens}",
                    "" if run.cost is None else f"{run.cost:g}",
                    run.message or "",
                )
                for run in found
            ],
            right=("run", "done", "skipped", "failed", "calls", "tokens", "cost"),
        )
    else:
        screen.note("note: there was no run yet; `memdb index` starts one.")
    if not as_json:
        for failure in failures[:FAILURES]:
            times = "once" if failure.times == 1 else f"{failure.times} times"
            again = "given up: `memdb index --rebuild`" if failure.state == "given up" else "the next run"
            screen.note(f"note: {failure.id} failed {times} ({failure.reason}); {again} tries it again.")
        if len(failures) > FAILURES:
            screen.note(f"note: {len(failures) - FAILURES} more failed; the view extraction_failures lists all.")


@commands.command(
    epilog=notes("memdb runs show 3", "memdb runs show 3 --json", exits="3 for no such run, or without a store.")
)
def show(
    number: Annotated[int, typer.Argument(metavar="N", help="The number of a run, as `memdb runs` lists it.")],
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show one run with what happened to each text: found, dropped with the reason, held, skipped, failed."""
    with open_store(root, database) as store:
        run, events = store.runs.show(number)
    if as_json:
        screen.as_json(asdict(run) | {"events": [asdict(event) for event in events]})
        return
    until = f" until {run.finished_at[:19].replace('T', ' ')}" if run.finished_at else ""
    screen.lines(
        [
            [(f"run {run.id}  ", "cyan"), (run.state, STATES[run.state]), (f"  {run.message or ''}", "")],
            [(f"  {run.started_at[:19].replace('T', ' ')}{until}, {run.model}", "")],
            [(f"  {run.done} indexed, {run.skipped} skipped, {run.failed} failed; {spent(run)}", "")],
        ]
    )
    if events:
        screen.table(("text", "what", "message"), [(event.source or "", event.kind, event.message) for event in events])
