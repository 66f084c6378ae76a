"""stats, doctor, digest: what there is, whether it is sound, and whether two stores are equal."""

from __future__ import annotations

from dataclasses import asdict

import typer

from memdb_cli import screen
from memdb_cli.app import section
from memdb_cli.options import AsJson, Database, Root, notes
from memdb_cli.session import open_store

commands = section()

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
                said = ", ".join(str(part) for part in value.values() if part)
            else:
                said = "" if value is None else str(value)
            rows.append((key.replace("_", " "), said))
        column = max(len(key) for key, _ in rows)
        screen.lines([[(f"{key.ljust(column)}  ", "cyan"), (screen.cell(value), "")] for key, value in rows])


@commands.command(
    epilog=notes("memdb doctor", "memdb doctor --json", exits="0 when no check failed (warnings may stand), 1 else.")
)
def doctor(root: Root = None, database: Database = None, as_json: AsJson = False) -> None:
    """Check everything, and say what to do where a check fails.

    The program, the model, the database, the journal and the files.
    """
    with open_store(root, database) as store:
        findings = store.doctor()
    sound = all(finding.state != "error" for finding in findings)
    if as_json:
        screen.as_json({"findings": [asdict(finding) for finding in findings], "ok": sound})
    else:
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


@commands.command(epilog=notes("memdb digest", "memdb digest --json", exits="5 when the folder cannot be read."))
def digest(root: Root = None, database: Database = None, as_json: AsJson = False) -> None:
    """Print one sha256 over what the store says. It syncs first; equal files give equal digests."""
    with open_store(root, database) as store:
        found = store.digest()
        if as_json:
            screen.as_json(asdict(found))
        else:
            screen.write(found.digest + "\n")
