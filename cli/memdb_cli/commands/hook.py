"""hook: what an agent is given on each prompt, and the setting of the agent that makes it so."""

from __future__ import annotations

import difflib
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from memdb.errors import Refused
from memdb_cli import agents, screen
from memdb_cli.agents import Agent
from memdb_cli.app import section
from memdb_cli.options import AsJson, Database, Root, named_store, notes

commands = section()

AgentName = Annotated[
    str,
    typer.Option("--agent", metavar="AGENT", help=f"Whose settings: {', '.join(agents.AGENTS)}."),
]
Project = Annotated[
    Path | None,
    typer.Option(
        "--project",
        metavar="FOLDER",
        help="The settings of this project alone. [default: those of this user]",
        show_default=False,
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


@commands.callback(
    invoke_without_command=True,
    epilog=notes("memdb hook install", "memdb hook status", 'echo \'{"prompt": "how do we deploy"}\' | memdb hook run'),
)
def hook(
    context: typer.Context,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Give an agent what belongs to each of its prompts."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@commands.command(
    epilog=notes(
        'echo \'{"prompt": "how do we deploy", "session_id": "1"}\' | memdb hook run',
        "memdb hook run --root ~/notes --serve < prompt.json",
        exits="0 always: a hook never fails its agent. MEMDB_DEBUG=1 says on stderr why nothing was printed.",
    )
)
def run(
    *,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", help="Print nothing after so long. [default: hook_seconds, 2]", show_default=False),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option("--bytes", help="The most bytes of the block. [default: hook_bytes, 4096]", show_default=False),
    ] = None,
    serve: Annotated[bool, typer.Option("--serve", help="Start a warm process where there is none.")] = False,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Answer one prompt: read a JSON object with it from standard input, print the block or nothing.

    The store is that of --root, else the nearest one upward from the `cwd` of the object. What a session (`session_id`)
    was given is not given again unless it changed.
    """
    from memdb_cli import hooking

    words = ["--serve"] if serve else []
    for name, value in (("--seconds", seconds), ("--bytes", size), ("--root", root), ("--db", database)):
        words += [name, str(value)] if value is not None else []
    hooking.run(words)


@commands.command(
    epilog=notes(
        "memdb hook install",
        "memdb hook install --agent codex --project . --root ./notes --yes",
        "memdb hook install --store work --dry-run",
        exits="4 where nobody can be asked, without --yes, and where the settings are no JSON.",
    )
)
def install(
    context: typer.Context,
    *,
    name: AgentName = "claude-code",
    project: Project = None,
    serve: Annotated[
        bool, typer.Option("--serve/--no-serve", help="Have the hook start a warm process, which ends when idle.")
    ] = True,
    yes: Yes = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the change and make none.")] = False,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Have an agent run memdb on each prompt. Shows the change to the agent's settings, asks, and writes it.

    With --root the hook always asks that store, with --store NAME the one of that name wherever it is moved to, else
    the one of the folder that the agent works in.
    """
    from memdb.serving import hook as hooks

    which = agents.agent(name)
    place = root.expanduser().resolve() if root is not None else None
    store = named_store(context)
    if store is not None and database == store.place.home / "memory.db":
        database = None  # where every store has it
    line = agents.command(
        place,
        database.expanduser().resolve() if database is not None else None,
        serve,
        None if store is None else store.name,
    )
    now = agents.read(which.file(project))
    after = agents.installed(now.text, which, line, hooks.SECONDS)
    done = _change(now, after, yes or dry_run, dry_run, as_json)
    if as_json:
        entry = json.loads(agents.as_entry(which, line, hooks.SECONDS))
        screen.as_json({"agent": which.name, "file": str(now.file), "changed": done, "command": line, "entry": entry})
        return
    _say("installed in", which, now, done, dry_run)
    if which.note and not dry_run:
        screen.note(f"note: {which.note}")


@commands.command(
    epilog=notes("memdb hook remove", "memdb hook remove --agent gemini --project . --yes",
                 exits="4 where nobody can be asked, without --yes.")
)  # fmt: skip
def remove(
    *,
    name: AgentName = "claude-code",
    project: Project = None,
    yes: Yes = False,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Take memdb's hooks out of an agent's settings, and nothing else."""
    which = agents.agent(name)
    now = agents.read(which.file(project))
    done = _change(now, agents.removed(now.text), yes, False, as_json)
    if as_json:
        screen.as_json({"agent": which.name, "file": str(now.file), "changed": done})
        return
    if not done:
        screen.lines(
            [[(f"unchanged: nothing of memdb is in the settings of {which.title}", ""), (f"  ({now.file})", "dim")]]
        )
        return
    _say("removed from", which, now, done, False)


@commands.command(epilog=notes("memdb hook status", "memdb hook status --project . --json"))
def status(
    *,
    project: Project = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show in which agents' settings memdb's hooks are."""
    found = [agents.described(which, project) for which in agents.AGENTS.values()]
    if as_json:
        screen.as_json({"agents": found})
        return
    rows = []
    for one in found:
        state = "cannot be read" if one["problem"] else "yes" if one["installed"] else "no"
        if one["events"] and not one["installed"]:
            state = "in part"
        rows.append((one["agent"], state, one["file"]))
    screen.table(("agent", "installed", "settings"), rows)
    for one in found:
        if one["problem"]:
            screen.note(f"note: {one['problem']}")


def _change(now: agents.Settings, after: str, yes: bool, dry_run: bool, as_json: bool) -> bool:
    """Show a change of settings, ask, and make it; False where there is none. Raises Refused."""
    from memdb.base import files

    new = now.encoded(after)
    if new == now.data or (now.data is None and after == now.text):
        return False
    if not as_json:
        before = now.text if now.data is not None else ""
        shown = difflib.unified_diff(
            before.splitlines(), after.splitlines(), str(now.file), str(now.file), lineterm="", n=2
        )
        for line in shown:
            screen.note(line)
    if dry_run:
        return True
    if not yes:
        _ask(now, as_json)
    if agents.read(now.file).data != now.data:
        raise Refused(f"{now.file} changed meanwhile; it was not written.", hint="Run the command again.")
    files.write_whole(now.file, new)
    return True


def _ask(now: agents.Settings, as_json: bool) -> None:
    if as_json or not sys.stdin.isatty():
        raise Refused(f"{now.file} would be changed.", hint="Add --yes to do it.")
    print("Write it? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Refused("Nothing was written.")


def _say(what: str, which: Agent, now: agents.Settings, done: bool, dry_run: bool) -> None:
    state = "unchanged: " if not done else "would be " if dry_run else ""
    screen.lines([[(f"{state}{what} {which.title}", ""), (f"  ({now.file})", "dim")]])
