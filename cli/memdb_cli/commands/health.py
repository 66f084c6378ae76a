"""stats, doctor, digest: what there is, whether it is sound, and whether two stores are equal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from memdb_cli import screen
from memdb_cli.app import section
from memdb_cli.options import AsJson, Database, Root, notes
from memdb_cli.session import open_store

commands = section()


class What(StrEnum):
    """What is looked for in place of all checks."""

    secrets = "secrets"


STATES = {"ok": "green", "warning": "yellow", "error": "bold red"}


@commands.command(epilog=notes("memdb stats", "memdb stats --json", exits="3 without a store."))
def stats(root: Root = None, database: Database = None, as_json: AsJson = False) -> None:
    """Show counts, folder, database and model."""
    with open_store(root, database) as store:
        found = store.stats()
        if as_json:
            screen.as_json(found)
            return
        rows = []
        for key, value in found.items():
            if isinstance(value, dict):
                said = ", ".join(str(part) for part in value.values() if part).replace("., ", ". ")
            else:
                said = "" if value is None else str(value)
            rows.append((key.replace("_", " "), said))
        column = max(len(key) for key, _ in rows)
        screen.lines([[(f"{key.ljust(column)}  ", "cyan"), (screen.cell(value), "")] for key, value in rows])


@commands.command(
    epilog=notes(
        "memdb doctor",
        "memdb doctor --fix",
        "memdb doctor --deep --json",
        "memdb doctor secrets",
        exits="0 when no check failed (warnings may stand), 1 else.",
    )
)
def doctor(
    what: Annotated[
        What | None,
        typer.Argument(metavar="[secrets]", help="`secrets` lists credentials on disk, without showing them."),
    ] = None,
    *,
    root: Root = None,
    database: Database = None,
    fix: Annotated[bool, typer.Option("--fix", help="Repair what can be repaired, then check again.")] = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="Also build the database once more, aside, and compare every row.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check everything, and say what to do where a check fails.

    The program, the model, the database, the journal and the files. `memdb doctor secrets` lists what looks like a
    credential in memories, mirrored documents and what memdb keeps: file, line and kind, with its line around it and
    nothing of itself; it ends with 1 where there is one.
    """
    if what is not None:
        _secrets(root, database, as_json)
        return
    repaired: Sequence[str] = ()
    with open_store(root, database) as store:
        with screen.progress() as progress:
            if fix:
                repaired = store.repair(deep=deep, progress=progress)
            findings = store.doctor(deep=deep, progress=progress)
        if store.damage:
            repaired = [f"rebuilt the database when it was opened: {store.damage}", *repaired]
    sound = all(finding.state != "error" for finding in findings)
    if as_json:
        screen.as_json({"findings": [asdict(finding) for finding in findings], "ok": sound, "repaired": list(repaired)})
    else:
        for said in repaired:
            screen.lines([[("repaired  ", "cyan"), (screen.cell(said), "")]])
        column = max(len(finding.check) for finding in findings)
        for finding in findings:
            screen.lines(
                [
                    [
                        (finding.state.ljust(8), STATES[finding.state]),
                        (finding.check.ljust(column), "cyan"),
                        (f"  {screen.cell(finding.detail)}", ""),
                    ]
                ]
            )
            if finding.hint and finding.state != "ok":
                screen.lines([[(" " * (10 + column) + screen.cell(finding.hint), "dim")]])
    if not sound:
        raise typer.Exit(1)


def _secrets(root: Path | None, database: Path | None, as_json: bool) -> None:
    """List the credentials on disk. Exits with 1 where there is one."""
    with open_store(root, database) as store, screen.progress() as progress:
        found = store.secrets(progress=progress)
    if as_json:
        screen.as_json({"secrets": [asdict(one) for one in found], "ok": not found})
    elif not found:
        screen.note("No text looks like a credential.")
    else:
        lines = ["" if one.line is None else str(one.line) for one in found]
        rows = [(one.file, line, one.kind, one.text) for one, line in zip(found, lines, strict=True)]
        screen.table(("FILE", "LINE", "KIND", "AROUND IT"), rows, right=("LINE",))
        for hint in dict.fromkeys(one.hint for one in found):
            screen.note(f"note: {hint}")
    if found:
        raise typer.Exit(1)


@commands.command(epilog=notes("memdb digest", "memdb digest --json", exits="5 when the folder cannot be read."))
def digest(root: Root = None, database: Database = None, as_json: AsJson = False) -> None:
    """Print one sha256 over what the store says. It syncs first; equal files give equal digests."""
    with open_store(root, database) as store:
        found = store.digest()
        if as_json:
            screen.as_json(asdict(found))
        else:
            screen.write(found.digest + "\n")
