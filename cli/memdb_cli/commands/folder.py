"""init, sync, rebuild, reembed: a folder of files becomes a store and stays one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memdb_cli import screen, shapes
from memdb_cli.app import section
from memdb_cli.options import AsJson, Database, Root, notes
from memdb_cli.session import open_store

if TYPE_CHECKING:
    from memdb.services.documents.documents import DocumentReport
    from memdb.services.files.sync import SyncReport

commands = section()


@commands.command(
    epilog=notes("memdb init", "memdb init ~/notes", exits="4 inside the .memdb folder of a store, 6 not writable.")
)
def init(
    folder: Annotated[Path | None, typer.Argument(metavar="FOLDER", help="[default: --root, else here]")] = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Make a folder a store. What memdb keeps goes into FOLDER/.memdb; no other file is touched."""
    from memdb import Store
    from memdb.base import settings
    from memdb.base.place import FOLDER
    from memdb.errors import Refused

    place = settings.place(folder or root or Path.cwd(), database)
    if FOLDER in place.root.parts:
        raise Refused(f"{place.root} lies inside the {FOLDER} folder of a store.", hint="Name another folder.")
    created = not place.config.exists()
    with Store.init(place.root, db=database) as store:
        status = {"root": str(store.place.root), "database": str(store.place.database), "created": created}
    if as_json:
        screen.as_json(status)
        return
    screen.lines([[(f"{place.root} {'is a memdb store now' if created else 'was a memdb store already'}.", "")]])
    where = "" if folder is None and root is None else f" --root {quoted(place.root)}"
    screen.note(f"next: memdb sync{where}   reads the Markdown files of the folder")
    screen.note(f'      memdb recall "QUESTION"{where}')


def quoted(path: Path) -> str:
    """A path as it is typed in a shell."""
    text = str(path)
    return f'"{text}"' if " " in text else text


@commands.command(
    epilog=notes(
        "memdb sync",
        "memdb sync --no-embed",
        "memdb sync --json",
        exits="4 when more than half of the files are gone, without --yes; 5 for an unreadable folder.",
    )
)
def sync(
    yes: Annotated[bool, typer.Option("--yes", help="Go on though more than half of the files are gone.")] = False,
    embed: Annotated[bool, typer.Option("--embed/--no-embed", help="Embed what is new.")] = True,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Bring the index up to the files. Only what changed is read, embedded and linked again."""
    with open_store(root, database) as store:
        with screen.progress() as progress:
            report = store.sync(yes=yes, embed=embed, progress=progress)
        if as_json:
            screen.as_json(shapes.sync_report(report))
        else:
            print_report(report)


def print_report(report: SyncReport) -> None:
    """A sync for people: the counts, each problem, and what is still behind."""
    counts = ("added", "changed", "removed", "renamed", "unchanged", "embedded")
    said = [f"{getattr(report, name)} {name}" for name in counts if getattr(report, name)]
    screen.lines([[(", ".join(said) or "The folder has no memories.", "")]])
    counted = document_counts(report.documents)
    if counted:
        screen.lines([[(f"documents: {counted}", "")]])
    if report.problems:
        screen.lines([[("", "")], [(f"{screen.counted(len(report.problems), 'problem')}:", "bold yellow")]])
        for problem in report.problems:
            where = problem.path if problem.line is None else f"{problem.path}:{problem.line}"
            screen.lines([[("  " + screen.cell(where), "cyan"), (f"  {screen.cell(problem.reason)}", "")]])
    if report.ignored:
        left = "1 other file or folder" if len(report.ignored) == 1 else f"{len(report.ignored)} other files or folders"
        screen.note(f"note: {left} left out; --json lists them.")
    if report.pending:
        why = f": {report.embedder}" if report.embedder else "; `memdb reembed` does it."
        screen.note(f"note: {screen.counted(report.pending, 'text')} not embedded{why}")


def document_counts(report: DocumentReport) -> str:
    """What became of documents, in a line; empty where there are none."""
    counts = ("added", "changed", "moved", "removed", "missing", "unchanged")
    said = [f"{getattr(report, name)} {name}" for name in counts if getattr(report, name)]
    if report.chunks:
        said.append(f"{screen.counted(report.chunks, 'chunk')} written")
    if report.behind:
        said.append(f"{report.behind} not read yet")
    if report.failed:
        said.append(f"{len(report.failed)} failed")
    if report.skipped:
        said.append(f"{len(report.skipped)} of no format that memdb reads")
    return ", ".join(said)


@commands.command(
    epilog=notes("memdb rebuild", exits="5 when the folder cannot be read, 7 when the store's model is broken."),
)
def rebuild(root: Root = None, database: Database = None, as_json: AsJson = False) -> None:
    """Build the database anew from the files and the journal. The old one goes when the new one is whole."""
    with open_store(root, database) as store:
        with screen.progress() as progress:
            built = store.rebuild(progress=progress)
        if as_json:
            shape = asdict(built)
            shape["report"] = shapes.sync_report(built.report)
            screen.as_json(shape)
            return
        screen.lines([[(f"The database is built anew; {screen.counted(built.salvaged, 'vector')} taken over.", "")]])
        print_report(built.report)


@commands.command(epilog=notes("memdb reembed", exits="7 when there is no model."))
def reembed(root: Root = None, database: Database = None, as_json: AsJson = False) -> None:
    """Embed what waits under the store's model. Interrupted, it goes on where it was."""
    with open_store(root, database) as store:
        with screen.progress() as progress:
            embedded = store.reembed(progress=progress)
        stats = store.stats()
        if as_json:
            screen.as_json({"embedded": embedded, "pending": stats["pending"], "model": stats["model"]})
            return
        waiting = screen.counted(stats["pending"], "text")
        screen.lines([[(f"{screen.counted(embedded, 'text')} embedded, {waiting} waiting.", "")]])
