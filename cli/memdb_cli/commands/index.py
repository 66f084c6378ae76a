"""index, auto-index: a language model reads what is new, on request or by itself."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from memdb_cli import screen
from memdb_cli.app import section
from memdb_cli.options import AsJson, Database, Root, notes
from memdb_cli.session import open_store

if TYPE_CHECKING:
    from memdb.services.extraction.extraction_plans import Plan
    from memdb.services.extraction.extraction_runs import RunReport

commands = section()

ASKED_FROM = 100
"""From so many calls on, a person says yes first: some minutes, and with a large model about a dollar."""


@commands.command(
    epilog=notes(
        "memdb index",
        "memdb index --limit 20",
        "memdb index --rebuild --yes",
        "memdb index --json",
        exits=f"4 for {ASKED_FROM} calls and more without --yes, 7 when there is no model or it fails, 8 when another"
        " process writes for long. Interrupted, the same command goes on.",
    )
)
def index(
    *,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild", help="Also what was read under another prompt, vocabulary or model, and what failed before."
        ),
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", metavar="N", min=0, help="Ask about N texts at most.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask, however many calls it takes.")] = False,
    background: Annotated[bool, typer.Option("--background", hidden=True)] = False,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Ask a language model what the texts mention that it has not read. Each text is asked about once.

    The model is MEMDB_LLM_MODEL at OPENAI_BASE_URL with OPENAI_API_KEY. Its answers are kept in the journal: a rebuild
    of the database costs no call. Memories that lie near to one another are compared too, in one call more for each at
    most, unless `judge` is off in the settings. Without a model, names are found by rules. Runs at once share the work.
    """
    if background:
        _work(root, database)
        return
    with open_store(root, database) as store:
        plan = store.index_plan(rebuild=rebuild)
        calls = plan.calls if limit is None else min(limit, plan.calls)
        if plan.off is None and calls >= ASKED_FROM and not yes:
            _ask_first(plan, calls)
        elif plan.off is None and calls and not as_json:
            screen.note(_said(plan, calls))
        with screen.progress() as progress:
            report = store.index(rebuild=rebuild, limit=limit, sync_first=False, progress=progress)
    if as_json:
        screen.as_json(_shape(report))
    else:
        _print(report)
    if report.state == "failed":
        from memdb.errors import LlmError

        raise typer.Exit(LlmError.exit_code)


def _work(root: Path | None, database: Path | None) -> None:
    """What auto-index starts; its end starts nothing further."""
    import memdb

    with memdb.open(root, db=database) as store:
        store.auto_index_work()


def _said(plan: Plan, calls: int) -> str:
    texts = "" if plan.texts == calls == plan.calls else f" for {screen.counted(plan.texts, 'text')}"
    if plan.judges:
        compared = "1 memory" if len(plan.judges) == 1 else f"{len(plan.judges)} memories"
        texts = f" at most, for {screen.counted(plan.texts, 'text')} and to compare {compared} with those near to them"
    return f"{screen.counted(calls, 'call')} of {plan.model} at {plan.endpoint}{texts}"


def _ask_first(plan: Plan, calls: int) -> None:
    from memdb.errors import Refused

    if screen.is_terminal(sys.stdin) and screen.is_terminal(sys.stderr):
        typer.confirm(f"This takes {_said(plan, calls)}. Go on?", abort=True, err=True)
        return
    raise Refused(f"This takes {_said(plan, calls)}; nothing was sent.", hint="Pass --yes, or bound it with --limit N.")


def _shape(report: RunReport) -> dict[str, Any]:
    shape = asdict(report)
    shape["given_up"] = [{"id": key, "reason": reason} for key, reason in report.given_up]
    error = {"code": shape.pop("code"), "message": report.message, "hint": shape.pop("hint")}
    shape.pop("retry_after")
    return shape | ({"error": error} if report.state == "failed" else {})


def _print(report: RunReport) -> None:
    """A run for people: what was done, what it cost, what stands still."""
    if report.id is None:
        screen.lines([[("Nothing waits: the model has read every text.", "")]])
    else:
        counts = [f"{screen.counted(report.done, 'text')} indexed"]
        counts += [f"{report.replayed} of them from the ledger"] if report.replayed else []
        counts += [f"{report.failed} failed"] if report.failed else []
        counts += [f"{report.left} waiting"] if report.left else []
        counts += [f"{report.elsewhere} taken by another run"] if report.elsewhere else []
        if report.compared:
            one = "1 memory" if report.compared == 1 else f"{report.compared} memories"
            counts.append(f"{one} compared with those near to them")
        screen.lines([[(f"run {report.id}: {', '.join(counts)}", "")], [(f"  {spent(report)}", "dim")]])
        if report.contradictions or report.restatements:
            found = [screen.counted(report.contradictions, "contradiction")] if report.contradictions else []
            found += [screen.counted(report.restatements, "restatement")] if report.restatements else []
            screen.note(f"note: {' and '.join(found)} found; `memdb review` shows them.")
    if report.skipped:
        screen.note(f"note: {screen.counted(report.skipped, 'text')} skipped (formulas or credentials).")
    for key, reason in report.given_up:
        screen.note(f"note: {key} failed too often ({reason}); `memdb index --rebuild` tries it again.")
    if report.failed:
        screen.note(f"note: `memdb runs show {report.id}` says what failed and why.")
    if report.state == "failed":
        screen.note(f"error: {' '.join((report.message or '').split())}")
        if report.hint:
            screen.note(f"hint: {report.hint}")


def spent(run: Any) -> str:
    """What a run used up: `12 calls, 3400 + 210 tokens, cost 0.0042`."""
    parts = [screen.counted(run.calls, "call"), f"{run.input_tokens} + {run.output_tokens} tokens"]
    if run.cost is not None:
        parts.append(f"cost {run.cost:.6f}".rstrip("0").rstrip("."))
    return ", ".join(parts)


@commands.command(
    "auto-index",
    epilog=notes(
        "memdb auto-index",
        "memdb auto-index on",
        "memdb auto-index off",
        exits="3 without a store, 6 when the settings take no write.",
    ),
)
def auto_index(
    switch: Annotated[
        Literal["on", "off"] | None, typer.Argument(metavar="on|off", help="Say which; without, show it.")
    ] = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Have what is written indexed without being asked to, or not. It is off until it is switched on.

    A few seconds after a save or an add, the texts that no model has read are sent to it, by a process of its own. What
    it does is in `memdb runs`; `memdb stats` shows whether it is on.
    """
    with open_store(root, database) as store:
        on = store.auto_index(None if switch is None else switch == "on")
        status = store.stats()["llm"]
        waiting = store.index_plan().calls if on and status["state"] == "on" else 0
    if as_json:
        screen.as_json({"auto_index": "on" if on else "off", "llm": status, "waiting": waiting})
        return
    screen.lines([[(f"auto-index is {'on' if on else 'off'}", "")]])
    if on and status["state"] == "off":
        screen.note(f"note: nothing is sent yet: {status['reason']}")
        screen.note(f"hint: {status['hint']}")
    elif waiting:
        screen.note(
            f"note: {screen.counted(waiting, 'text')} will be sent to {status['model']} at {status['endpoint']}."
        )
