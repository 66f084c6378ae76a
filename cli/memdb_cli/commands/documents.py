"""add, documents, chunks, open, remove: files of any kind that the store mirrors and cites."""

from __future__ import annotations

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
from memdb_cli.session import open_store, stdin_bytes

if TYPE_CHECKING:
    from memdb import Store
    from memdb.services.files.sync import SyncReport
    from memdb.services.recall.answers import Citation

commands = section()

STDIN = "-"

MOST_NOTES = 10
"""Remarks on single documents that an add prints: a folder of damaged exports would fill the screen."""

FIRST_WORDS = 60
"""Columns of a chunk's text in a list: enough to know it again."""


@commands.command(
    epilog=notes(
        "memdb add handbook.pdf",
        "memdb add ~/runbooks notes/contracts",
        "memdb add src --no-embed",
        "memdb add https://example.org/handbook",
        "pdftotext plan.pdf - | memdb add - --name plan.txt",
        exits="1 when something could not be read (the rest is kept). For a single path or address: 1 for a page that"
        " cannot be fetched, 2 for a memory, a device and an address of another kind, 3 when it is not there, 4 for an"
        " address with a credential.",
    )
)
def add(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH|URL...", help="Files, folders and addresses; - is standard input.")
    ],
    *,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What standard input is called, such as report.pdf.")
    ] = None,
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
    changed or gone there. A page is fetched once, and again when it is added again; it and what comes from standard
    input are kept in the store, 32 MB of each at most.
    """
    if STDIN in paths and paths != [STDIN]:
        raise UsageError("Standard input is added alone.", hint="Add the other paths with a command of their own.")
    if (paths == [STDIN]) != (name is not None):
        raise UsageError(
            "Standard input and --name go together.", hint="For example: memdb add - --name report.pdf < report.pdf"
        )
    with open_store(root, database) as store:
        with screen.progress() as progress:
            if name is not None:
                report = store.add_bytes(name, stdin_bytes(), embed=embed, progress=progress)
            else:
                report = store.add(paths, embed=embed, progress=progress)
        if as_json:
            kept = {"embedded": report.embedded, "pending": report.pending, "embedder": report.embedder}
            screen.as_json({"documents": shapes.document_report(report.documents)} | kept)
        else:
            _print_added(report)
    if report.documents.failed:
        raise typer.Exit(1)


def _print_added(report: SyncReport) -> None:
    found = report.documents
    said = document_counts(replace(found, skipped=[]))
    if report.embedded:
        said += f"{', ' if said else ''}{screen.counted(report.embedded, 'text')} embedded"
    screen.lines([[(said or "Nothing there that memdb reads.", "")]])
    if found.failed:
        pages = sum("://" in path for path, _ in found.failed)
        count = screen.counted(len(found.failed), "page" if pages == len(found.failed) else "file")
        mixed = f"{len(found.failed)} files and pages" if 0 < pages < len(found.failed) else count
        screen.lines([[(f"{mixed} could not be read:", "bold yellow")]])
        for path, reason in found.failed:
            screen.lines([[("  " + screen.cell(path), "cyan"), (f"  {screen.cell(reason)}", "")]])
    if found.skipped:
        kinds = Counter(PurePosixPath(path).suffix.lower() or "no suffix" for path in found.skipped)
        listed = ", ".join(
            f"{kind} {count}" for kind, count in sorted(kinds.items(), key=lambda kind: (-kind[1], kind))
        )
        screen.note(f"note: {screen.counted(len(found.skipped), 'file')} of other formats passed over: {listed}")
    for remark in found.notes[:MOST_NOTES]:
        screen.note(f"note: {screen.cell(remark)}")
    if len(found.notes) > MOST_NOTES:
        screen.note(f"note: and {len(found.notes) - MOST_NOTES} more; --json lists them.")
    if found.memories:
        screen.note(
            f"note: {screen.counted(found.memories, 'Markdown file')} there in the store's own folder: memories, no"
            " documents; `memdb list` shows them."
        )
    if report.pending:
        why = f": {report.embedder}" if report.embedder else "; `memdb reembed` does it."
        screen.note(f"note: {screen.counted(report.pending, 'text')} not embedded{why}")


@commands.command(epilog=notes("memdb documents", "memdb documents --json", exits="3 without a store."))
def documents(root: Root = None, database: Database = None, as_json: AsJson = False) -> None:
    """List the documents of the store."""
    with open_store(root, database) as store:
        listed = store.documents.list()
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
        listed = store.documents.chunks(document)
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
        "memdb open document:https://example.org/handbook --snapshot",
        exits="1 when no program opens it, 3 for no such id or when the file is gone.",
    ),
)
def open_document(
    document: Annotated[
        str, typer.Argument(metavar="DOCUMENT", help="A document's id, as `memdb documents` lists it.")
    ],
    *,
    print_path: Annotated[bool, typer.Option("--print", help="Print the path or address, and open nothing.")] = False,
    snapshot: Annotated[
        bool, typer.Option("--snapshot", help="Of a page: what was kept of it, not the address.")
    ] = False,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Open a document with the program that the system has for it. Source code opens in a text editor.

    A page opens at its address, with --snapshot as it was kept. It takes an id alone: no path from elsewhere is ever
    opened.
    """
    with open_store(root, database) as store:
        link = store.documents.link(document)
        path = store.documents.path(document) if link is None or snapshot else None
        if print_path:
            pass
        elif path is not None:
            opener.open_file(path)
        elif link is not None:
            opener.open_link(link)
        if as_json:
            shown = None if path is None else str(path)
            screen.as_json({"document": document, "path": shown, "link": link, "opened": not print_path})
        elif print_path:
            screen.write(f"{path or link}\n")
        else:
            screen.note(f"opened {path or link}")


@commands.command(
    epilog=notes(
        "memdb remove document:docs/guide.md",
        "memdb remove ~/runbooks/old",
        exits="3 when it is no document, and nothing that was added.",
    )
)
def remove(
    document: Annotated[
        str, typer.Argument(metavar="PATH|URL|ID", help="A document's id, a file, a folder or an address.")
    ],
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Stop mirroring a document, file, folder or page.

    The files stay as they are; their chunks leave the store. What was kept of a page or an upload is deleted.
    """
    with open_store(root, database) as store:
        path = _removed(store, document)
        if as_json:
            screen.as_json({"removed": path})
            return
        file = store.place.root / path
        if "://" in path:
            screen.lines([[("removed ", "red"), (screen.cell(path), "cyan"), ("  (its snapshot is deleted)", "dim")]])
            return
        stays = "its files stay" if file.is_dir() else "the file stays" if file.exists() else "the file was gone"
        screen.lines([[("removed ", "red"), (screen.cell(path), "cyan"), (f"  ({stays})", "dim")]])


def _removed(store: Store, written: str) -> str:
    """Remove what a path means from here, or else from the root."""
    try:
        return store.remove(written)
    except NotFound:
        if Path(written).is_absolute() or not written or "://" in written:
            raise
        try:
            return store.remove(str(store.place.root / written))
        except NotFound:
            pass
        raise
