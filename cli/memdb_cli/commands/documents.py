"""add, documents, chunks, open, remove: files of any kind that the store mirrors and cites."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

import typer

from memdb.errors import NotFound, UsageError
from memdb_cli import opener, screen, shapes
from memdb_cli.app import section
from memdb_cli.commands.folder import document_counts
from memdb_cli.hits import shortened
from memdb_cli.options import AsJson, Database, Document, Root, notes
from memdb_cli.session import open_store

if TYPE_CHECKING:
    from memdb import Store
    from memdb.services.answers import Citation
    from memdb.services.sync import SyncReport

commands = section()

FIRST_WORDS = 60
"""Columns of a chunk's text in a list: enough to know it again."""


@commands.command(
    epilog=notes(
        "memdb add handbook.pdf",
        "memdb add ~/runbooks notes/contracts",
        "memdb add src --no-embed",
        exits="1 when a file could not be read (the rest is kept), 2 for a URL, 3 when a path is not there.",
    )
)
def add(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files and folders.")],
    *,
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="Implied: a folder is always taken with all below it.")
    ] = False,
    embed: Annotated[bool, typer.Option("--embed/--no-embed", help="Embed what is new.")] = True,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Mirror files and folders: their text is recalled, with citations.

    The files stay where they are and as they are. What was added is remembered: every sync takes up what is new,
    changed or gone there.
    """
    for path in paths:
        if re.match(r"[a-z][a-z0-9+.-]+://", path, re.IGNORECASE):
            raise UsageError(
                f"{path} is a URL, and memdb reads no URLs yet.", hint="Save the page as a file and add that."
            )
    with open_store(root, database) as store:
        _refuse_memories(store, paths)
        with screen.progress() as progress:
            report = store.add(paths, embed=embed, progress=progress)
        if as_json:
            kept = {"embedded": report.embedded, "pending": report.pending, "embedder": report.embedder}
            screen.as_json({"documents": shapes.document_report(report.documents)} | kept)
        else:
            _print_added(report)
    if report.documents.failed:
        raise typer.Exit(1)


def _refuse_memories(store: Store, paths: list[str]) -> None:
    """Raise UsageError for a file that the store reads as a memory."""
    from memdb.base.files import is_memory_file

    for path in paths:
        whole = Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 (as the engine, a link stays one)
        if whole.is_file() and is_memory_file(whole.name) and whole.is_relative_to(store.place.root):
            raise UsageError(
                f"{path} lies in the store's folder, where Markdown files are memories.",
                hint="`memdb sync` reads it. Nothing was added.",
            )


def _print_added(report: SyncReport) -> None:
    found = report.documents
    said = document_counts(replace(found, skipped=[]))
    if report.embedded:
        said += f"{', ' if said else ''}{screen.counted(report.embedded, 'text')} embedded"
    screen.lines([[(said or "Nothing there that memdb reads.", "")]])
    if found.failed:
        screen.lines([[(f"{screen.counted(len(found.failed), 'file')} could not be read:", "bold yellow")]])
        for path, reason in found.failed:
            screen.lines([[("  " + screen.cell(path), "cyan"), (f"  {screen.cell(reason)}", "")]])
    if found.skipped:
        kinds = Counter(PurePosixPath(path).suffix.lower() or "no suffix" for path in found.skipped)
        listed = ", ".join(
            f"{kind} {count}" for kind, count in sorted(kinds.items(), key=lambda kind: (-kind[1], kind))
        )
        screen.note(f"note: {screen.counted(len(found.skipped), 'file')} of other formats passed over: {listed}")
    if report.pending:
        why = f": {report.embedder}" if report.embedder else "; `memdb reembed` does it."
        screen.note(f"note: {screen.counted(report.pending, 'text')} not embedded{why}")


@commands.command(epilog=notes("memdb documents", "memdb documents --json", exits="3 without a store."))
def documents(root: Root = None, database: Database = None, as_json: AsJson = False) -> None:
    """List the documents of the store."""
    with open_store(root, database) as store:
        listed = store.documents()
        if as_json:
            screen.as_json({"documents": [asdict(document) for document in listed]})
        elif listed:
            screen.table(
                ("id", "title", "format", "chunks", "state"),
                [
                    (document.id, document.title, document.format, str(document.chunks), document.state)
                    for document in listed
                ],
                right=("chunks",),
            )
        else:
            screen.note("There are no documents. `memdb add PATH` adds files and folders.")


@commands.command(
    epilog=notes("memdb chunks document:docs/guide.md", "memdb chunks docs/guide.md", exits="3 for no such document.")
)
def chunks(document: Document, root: Root = None, database: Database = None, as_json: AsJson = False) -> None:
    """List the chunks of a document, with their places."""
    with open_store(root, database) as store:
        listed = store.chunks(document)
        if as_json:
            screen.as_json({"chunks": [shapes.chunk(chunk) for chunk in listed]})
        elif listed:
            screen.table(
                ("id", "place", "begins"),
                [
                    (chunk.id, _place(chunk.citation), shortened(screen.cell(chunk.text), FIRST_WORDS))
                    for chunk in listed
                ],
            )
        else:
            screen.note(f"{document} has no text.")


def _place(citation: Citation) -> str:
    """Where a chunk stands in its document."""
    inside = str(replace(citation, document=""))
    return screen.arrows(inside.removeprefix(" › ").removeprefix(", "))


@commands.command(
    "open",
    epilog=notes(
        "memdb open document:docs/guide.md",
        "memdb open document:docs/guide.md --print",
        exits="1 when no program opens it, 3 for no such id or when the file is gone.",
    ),
)
def open_document(
    document: Annotated[
        str, typer.Argument(metavar="DOCUMENT", help="A document's id, as `memdb documents` lists it.")
    ],
    print_path: Annotated[bool, typer.Option("--print", help="Print the path of the file, and open nothing.")] = False,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Open a document with the program that the system has for it. Source code opens in a text editor.

    It takes an id alone: no path from elsewhere is ever opened.
    """
    with open_store(root, database) as store:
        path = store.open_path(document)
        if not print_path:
            opener.open_file(path)
        if as_json:
            screen.as_json({"document": document, "path": str(path), "opened": not print_path})
        elif print_path:
            screen.write(f"{path}\n")
        else:
            screen.note(f"opened {path}")


@commands.command(
    epilog=notes(
        "memdb remove document:docs/guide.md",
        "memdb remove ~/runbooks/old",
        exits="3 when it is no document, and nothing that was added.",
    )
)
def remove(
    document: Annotated[str, typer.Argument(metavar="PATH|ID", help="A document's id, a file or a folder.")],
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Stop mirroring a document, file or folder. The files stay as they are; their chunks leave the store."""
    with open_store(root, database) as store:
        path = _removed(store, document)
        if as_json:
            screen.as_json({"removed": path})
            return
        file = store.place.root / path
        stays = "its files stay" if file.is_dir() else "the file stays" if file.exists() else "the file was gone"
        screen.lines([[("removed ", "red"), (screen.cell(path), "cyan"), (f"  ({stays})", "dim")]])


def _removed(store: Store, written: str) -> str:
    """Remove what a path means from here, or else from the root."""
    try:
        return store.remove(written)
    except NotFound:
        if Path(written).is_absolute() or not written:
            raise
        try:
            return store.remove(str(store.place.root / written))
        except NotFound:
            pass
        raise
