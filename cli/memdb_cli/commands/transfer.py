"""import, export, backup, restore-backup: moving in, moving out, and being safe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memdb.errors import Refused
from memdb_cli import screen, shapes
from memdb_cli.app import section
from memdb_cli.options import AsJson, Database, Root, notes
from memdb_cli.session import open_store

if TYPE_CHECKING:
    from memdb.services.transfer.importing import Imported

commands = section()

LISTED = 10
"""Lines of each list of an audit; --json has all."""

SAID = {
    "created": "new",
    "updated": "changed in the source",
    "unchanged": "as they were",
    "edited": "edited here, left alone",
    "gone": "removed here, left out",
    "forgotten": "forgotten here, left out",
    "refused": "with a credential, left out",
    "empty": "empty, left out",
    "unreadable": "not readable, left out",
}
"""What became of items, in the words of a summary."""


@commands.command(
    "import",
    epilog=notes(
        "memdb import ~/vault --dry-run",
        "memdb import ~/.claude/projects",
        "memdb import chatgpt-export.zip --yes",
        "memdb import memory.jsonl --from mcp-memory --to reference",
        "memdb --root copy import everything.zip",
        exits="1 for a source of no known kind, 3 for one that is not there, 4 without --yes where nobody can be asked,"
        " and for an archive that is damaged or hostile.",
    ),
)
def import_(
    sources: Annotated[list[Path], typer.Argument(metavar="SOURCE...", help="Folders, zips and JSON files.")],
    *,
    kind: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="KIND",
            help="claude-code, obsidian, basic-memory, markdown, mcp-memory, mem0, chatgpt, claude or memdb."
            " [default: told by the content]",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="TYPE",
            help="The type, and so the folder, of all that comes."
            " [default: what the source says, else reference; conversations in conversations/]",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would come, and write nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    embed: Annotated[bool, typer.Option("--embed/--no-embed", help="Embed what is new.")] = True,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Take over notes, memories and conversations from other tools.

    Notes become memory files, conversations documents of one passage a message. The sources stay as they are. Run again
    with a newer export, it writes what changed there, and nothing that you edited here. Memories of Claude Code need no
    import: `memdb init` makes their folder a store as it is.
    """
    with open_store(root, database) as store:
        if dry_run or not yes:
            with screen.progress() as progress:
                planned = store.import_from(sources, kind=kind, to=to, dry_run=True, progress=progress)
            if dry_run:
                _print(planned, as_json)
                return
            _ask(planned, as_json)
        with screen.progress() as progress:
            done = store.import_from(sources, kind=kind, to=to, embed=embed, progress=progress)
        _print(done, as_json)


def _ask(planned: Imported, as_json: bool) -> None:
    """Have the person confirm what would be written. Raises Refused where nobody can, or who is asked says no."""
    if not planned.writes:
        return
    what = f"{screen.counted(planned.writes, 'file')} would be written"
    if as_json or not sys.stdin.isatty():
        raise Refused(f"{what}.", hint="Look at them with --dry-run, then add --yes.")
    _audit(planned)
    print(f"{what}. Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Refused("Nothing was imported.")


def _print(done: Imported, as_json: bool) -> None:
    if as_json:
        shape = asdict(done) | {"counts": done.counts}
        shape["audit"] = _audit_shape(done)
        shape["sync"] = shapes.sync_report(done.sync) if done.sync else None
        screen.as_json(shape)
        return
    if done.store is not None:
        _print_store(done)
        return
    if done.dry_run:
        _audit(done)
        screen.note("note: nothing was written.")
        return
    screen.lines([[(_summary(done), "")]])
    for action in ("edited", "gone", "forgotten", "refused", "unreadable"):
        found = [(item.place, item.reason) for item in done.items if item.action == action]
        _list(f"{screen.counted(len(found), 'item')} {SAID[action]}", found)
    _list(
        f"{screen.counted(len(done.audit.secrets), 'credential')} found, none of them written",
        [(f"{found.place}, line {found.line}", found.category) for found in done.audit.secrets],
    )
    if done.sync is not None and done.sync.pending:
        why = f": {done.sync.embedder}" if done.sync.embedder else "; `memdb reembed` does it."
        screen.note(f"note: {screen.counted(done.sync.pending, 'text')} not embedded{why}")


def _print_store(done: Imported) -> None:
    came = done.store
    if came is None:
        return
    counts = f"{screen.counted(came.files, 'file')}, {screen.counted(came.snapshots, 'snapshot')}"
    would = " would come" if done.dry_run else ""
    screen.lines([[(f"A whole store: {counts}{would}.", "")]])
    if came.same:
        screen.lines([[("Its digest is that of the store that was exported.", "")]])
    elif came.same is not None:
        screen.note(
            "note: the digest differs from the exported store's: documents outside of its folder are not here, or it"
            " was written by another version of memdb."
        )


def _summary(done: Imported) -> str:
    said = [f"{count} {SAID[action]}" for action, count in done.counts.items()]
    order = list(SAID.values())
    said.sort(key=lambda text: order.index(text.partition(" ")[2]))
    return f"{', '.join(done.kinds)}: {', '.join(said) or 'nothing to import'}"


def _audit(done: Imported) -> None:
    """What would come, and what a person should know of it."""
    if done.store is not None:
        _print_store(done)
        return
    found = done.audit
    screen.lines([[(_summary(done), "bold")]])
    if found.types:
        screen.lines([[("types: " + ", ".join(f"{kind} {count}" for kind, count in found.types.items()), "")]])
    if found.conversations:
        many = screen.counted(found.conversations, "conversation")
        screen.lines([[(f"{many} with {screen.counted(found.messages, 'message')}", "")]])
    _list("secrets (left out of notes, cut out of conversations)", [
        (f"{one.place}, line {one.line}", one.category) for one in found.secrets
    ])  # fmt: skip
    _list("the same text", [(places[0], ", ".join(places[1:])) for places in found.exact])
    _list("in the store already", found.known)
    _list("nearly the same text", [(one, f"{other} ({likeness:.2f})") for one, other, likeness in found.near])
    _list("little or nothing in it", found.junk)
    _list("perhaps stale", found.stale)
    _list("links that lead nowhere", [(f"{place}, line {line}", target) for place, line, target in found.unresolved])
    _list("names that are taken", [(wanted, f"becomes {path}") for wanted, path in found.clashes])
    _list("not looked at", found.passed)
    _list("left in the source", [(what, str(count)) for what, count in found.left.items()])
    for action in ("edited", "gone", "forgotten", "unreadable", "empty"):
        _list(SAID[action], [(item.place, item.reason) for item in done.items if item.action == action])
    if found.relinked:
        screen.note(f"note: {screen.counted(found.relinked, 'link')} written anew, so that they lead to the same note.")
    if found.inline_tags:
        screen.note(f"note: {screen.counted(found.inline_tags, 'tag')} in texts stay words there; only those in the"
                    " frontmatter are tags.")  # fmt: skip


def _list(heading: str, found: Sequence[tuple[str, str]]) -> None:
    if not found:
        return
    screen.lines([[(f"{heading}:", "bold yellow")]])
    for place, reason in found[:LISTED]:
        screen.lines([[("  " + screen.cell(place), "cyan"), (f"  {screen.cell(reason)}", "")]])
    if len(found) > LISTED:
        screen.lines([[(f"  and {len(found) - LISTED} more (--json lists all)", "dim")]])


def _audit_shape(done: Imported) -> dict[str, Any]:
    """The audit with names for the parts of its pairs."""
    found = done.audit
    return asdict(found) | {
        "known": [{"place": place, "file": file} for place, file in found.known],
        "near": [{"place": one, "other": other, "likeness": likeness} for one, other, likeness in found.near],
        "junk": [{"place": place, "reason": reason} for place, reason in found.junk],
        "stale": [{"place": place, "reason": reason} for place, reason in found.stale],
        "unresolved": [{"place": place, "line": line, "target": target} for place, line, target in found.unresolved],
        "clashes": [{"wanted": wanted, "file": file} for wanted, file in found.clashes],
        "passed": [{"path": path, "reason": reason} for path, reason in found.passed],
    }


@commands.command(
    epilog=notes(
        "memdb export notes.zip",
        "memdb export memories.jsonl",
        "memdb export ~/readable --format folder",
        exits="2 for a folder inside the store, 4 for what is there already, without --yes; 6 where it takes no write.",
    )
)
def export(
    target: Annotated[Path, typer.Argument(metavar="DEST", help="The folder or file to write.")],
    *,
    form: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="FORMAT", help="folder, jsonl or zip. [default: told by the name]", show_default=False
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Write over what is there.")] = False,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Write the store to a folder, a JSONL file or a zip.

    A folder has the memories as they are, the documents' texts and the snapshots; JSONL a line for each memory, link,
    document, chunk, entity, mention and relation; a zip all from which the store comes back: `memdb import` it into an
    empty one. What was forgotten is in none of them.
    """
    with open_store(root, database) as store:
        with screen.progress() as progress:
            done = store.export(target, form=form, yes=yes, progress=progress)
        if as_json:
            screen.as_json(asdict(done))
            return
        counts = ", ".join(f"{name} {count}" for name, count in done.counts.items()) or "nothing"
        screen.lines([[("wrote ", "green"), (screen.cell(done.target), "cyan"), (f"  ({counts})", "dim")]])
        for remark in done.notes:
            screen.note(f"note: {screen.cell(remark)}")


@commands.command(
    epilog=notes(
        "memdb backup",
        "memdb backup /mnt/disk/notes.zip",
        exits="4 for a file that is there already, without --yes; 6 where it takes no write; 8 when another process"
        " holds the store.",
    )
)
def backup(
    target: Annotated[
        Path | None,
        typer.Argument(metavar="[DEST]", help="A file or a folder. [default: .memdb/backups]", show_default=False),
    ] = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Write over a file that is there.")] = False,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Write a checked zip of the whole store while others use it.

    It has the files that the store reads below its folder, the journal, snapshots, settings and the database with its
    vectors. `memdb forget` deletes the older backups in .memdb/backups; it reaches none elsewhere.
    """
    with open_store(root, database) as store:
        with screen.progress() as progress:
            done = store.backup(target, yes=yes, progress=progress)
        if as_json:
            screen.as_json(asdict(done))
            return
        said = f"{screen.counted(done.files, 'file')}, {done.bytes:,} bytes, digest {done.digest[:12]}"
        screen.lines([[("wrote ", "green"), (screen.cell(done.file), "cyan"), (f"  ({said})", "dim")]])
        for remark in done.notes:
            screen.note(f"note: {screen.cell(remark)}")


@commands.command(
    "restore-backup",
    epilog=notes(
        "memdb restore-backup notes.zip ~/notes",
        "memdb --root ~/notes restore-backup notes.zip",
        exits="1 and 4 for a damaged backup, 3 for one that is not there, 6 where the folder cannot be replaced.",
    ),
)
def restore_backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A zip that `memdb backup` wrote.")],
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[FOLDER]", help="The store's folder. [default: that of --root]", show_default=False),
    ] = None,
    *,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Bring a store back from a backup. What the folder has is kept whole, under another name beside it."""
    from memdb import Store
    from memdb.base import settings

    where = folder or settings.place(root, database).root
    with screen.progress() as progress:
        done = Store.restore_backup(file, where, progress=progress)
    if as_json:
        screen.as_json(asdict(done))
        return
    said = f"{screen.counted(done.files, 'file')}, digest {done.digest[:12]}"
    screen.lines([[("restored ", "green"), (screen.cell(done.root), "cyan"), (f"  ({said})", "dim")]])
    if done.kept_aside:
        screen.note(f"note: what was there is in {done.kept_aside}")
