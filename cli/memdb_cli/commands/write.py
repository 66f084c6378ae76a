"""save, edit, restore, forget: the commands that change a user's file, one at a time and only when asked."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memdb.errors import NotFound, Refused
from memdb_cli import screen
from memdb_cli.app import section
from memdb_cli.options import (
    Aliases,
    AsJson,
    Body,
    BodyFile,
    Database,
    Description,
    Expect,
    Memory,
    NewTags,
    Root,
    Set,
    Supersedes,
    Unset,
    notes,
)
from memdb_cli.session import given_body, given_fields, open_store

if TYPE_CHECKING:
    from memdb import Store
    from memdb.services.memories.saving import Saved

commands = section()


def _print_saved(store: Store, saved: Saved, as_json: bool) -> None:
    from memdb.services.conflicts import conflicts

    others = conflicts.against(store.conflicts.list(), saved.id) if saved.changed else []
    if as_json:
        screen.as_json(asdict(saved) | {"contradicts": others})
        return
    what = "created" if saved.created else "updated" if saved.changed else "unchanged"
    screen.lines([[(f"{what} ", "green" if saved.changed else ""), (screen.cell(saved.id), "cyan"),
                   (f"  ({screen.cell(saved.file)})", "dim")]])  # fmt: skip
    if others:
        screen.note(
            f"note: it contradicts {', '.join(map(screen.cell, others))}; `memdb conflicts` shows and settles it."
        )
    links = store.links(saved.id, statuses=("unresolved", "ambiguous")) if saved.changed else []
    lost = [screen.cell(link.target) for link in links if link.kind == "supersedes"]
    if lost:
        screen.note(f"note: it supersedes nothing yet: {', '.join(lost)} is no memory, or can mean several.")
    if saved.apart_from is not None:
        screen.note(f"note: {screen.cell(saved.apart_from)} says the same; this one stands apart, as you asked.")
    if saved.restates is None:
        return
    became = "its text before is a version now" if saved.changed else "nothing was written"
    screen.note(f"note: this is what {screen.cell(saved.restates)} says already: {became}.")
    if saved.left_out:
        screen.note(f"note: it keeps its own {', '.join(saved.left_out)}.")
    screen.note("hint: `--apart` makes a memory of its own of it.")


@commands.command(
    epilog=notes(
        'memdb save feedback/prefers-tables --tag style --body "Tables for comparisons."',
        "memdb save project/plan --file plan.md --supersedes project/old-plan",
        "git log -1 | memdb save episode/last-commit --body -",
        'memdb save user/tea-too --apart --body "Likes green tea."',
        exits="2 for an id that cannot be a file name, 4 for a text that looks like a credential or a file"
        " that changed since --expect, 6 when the folder takes no write.",
    )
)
def save(
    memory: Annotated[str, typer.Argument(metavar="TYPE/NAME", help="The memory's id; TYPE is its folder.")],
    *,
    body: Body = None,
    file: BodyFile = None,
    description: Description = None,
    tags: NewTags = None,
    supersedes: Supersedes = None,
    aliases: Aliases = None,
    fields: Set = None,
    removed: Unset = None,
    expect: Expect = None,
    apart: Annotated[
        bool, typer.Option("--apart", help="Make a memory of its own also of what another one says already.")
    ] = False,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Make a memory, or change one. What is not given stays as it is.

    A new memory that says what another one says, but for capitals, punctuation or a typo, becomes a version of that one
    and keeps its type, tags and description; `restates` of the JSON names it. Standard input is read with `--body -`
    alone, never for being there.
    """
    text = given_body(body, file)
    changed = given_fields(fields, removed)
    with open_store(root, database) as store:
        saved = store.save(
            memory,
            text,
            description=description,
            tags=tags or None,
            supersedes=supersedes or None,
            aliases=aliases or None,
            fields=changed,
            expected_sha256=expect,
            apart=apart,
        )
        _print_saved(store, saved, as_json)
        if saved.created and text is None and description is None and not as_json:
            screen.note(
                f"note: it has no text; `memdb edit {screen.cell(saved.id)}` writes one, `--body -` reads a pipe."
            )


@commands.command(
    epilog=notes(
        "memdb edit prefers-tables",
        "memdb edit feedback/prefers-tables --set valid_to=2026-12-31 --unset draft",
        exits="3 for no such memory, 4 when the file changed meanwhile (your edit is kept, it says where).",
    )
)
def edit(
    memory: Memory,
    *,
    body: Body = None,
    file: BodyFile = None,
    description: Description = None,
    tags: NewTags = None,
    supersedes: Supersedes = None,
    aliases: Aliases = None,
    fields: Set = None,
    removed: Unset = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Edit a memory in $VISUAL or $EDITOR, or by options. It never replaces a file that changed meanwhile."""
    text = given_body(body, file)
    changes: dict[str, Any] = {
        "description": description,
        "tags": tags or None,
        "supersedes": supersedes or None,
        "aliases": aliases or None,
        "fields": given_fields(fields, removed) or None,
    }
    with open_store(root, database) as store:
        shown = store.show(memory)
        if text is None and not any(value is not None for value in changes.values()):
            from memdb_cli.editor import edit_file

            saved = edit_file(store, shown)
        else:
            saved = store.save(shown.id, text, **changes)
        _print_saved(store, saved, as_json)


@commands.command(
    epilog=notes(
        "memdb restore project/plan 2",
        "memdb history project/plan --diff 2",
        exits="3 for no such memory or version, 4 for a text that was withheld or a file that changed since --expect.",
    )
)
def restore(
    memory: Memory,
    version: Annotated[int, typer.Argument(metavar="VERSION", help="Its number in `memdb history`.")],
    *,
    expect: Expect = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Bring an earlier text of a memory back. What it says now is kept as a version.

    A file that was deleted comes back too, by the id that it had; what was forgotten does not.
    """
    with open_store(root, database) as store:
        saved = store.restore(memory, version, expected_sha256=expect)
        _print_saved(store, saved, as_json)


@commands.command(
    epilog=notes(
        "memdb forget project/old-plan",
        "memdb forget project/old-plan --yes",
        "memdb forget https://example.org/guide --yes",
        exits="3 for no such memory or document, 4 without --yes where nobody can be asked.",
    )
)
def forget(
    memory: Annotated[
        str,
        typer.Argument(
            metavar="MEMORY", help="An id, name, alias or path; or a document, folder or address that was added."
        ),
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Delete a memory or document for good. A memory's file goes, and every trace of the text in the store.

    The file of a document stays where it is; what was fetched or uploaded goes. With it go what a language model said
    of it, decisions about names that nothing else has, and the older backups in .memdb/backups. This cannot be
    undone. Copies that other programs made (version control, backups, synced folders) are not reached.
    """
    with open_store(root, database) as store:
        if not yes:
            _ask(store, memory, as_json)
        gone = store.forget(memory)
        if as_json:
            screen.as_json(asdict(gone))
            return
        counts = [screen.counted(gone.vectors, "vector")]
        if gone.kind == "memory":
            counts = [gone.file or "no file", screen.counted(gone.versions, "earlier text"), *counts]
        counts += [screen.counted(gone.decisions, "decision")] if gone.decisions else []
        counts += [screen.counted(gone.backups, "backup")] if gone.backups else []
        went = ", ".join(counts)
        screen.lines([[("forgot ", "red"), (screen.cell(gone.id), "cyan"), (f"  ({screen.cell(went)})", "dim")]])
        if gone.unresolved:
            screen.note(f"note: these link to it and lead nowhere now: {', '.join(gone.unresolved)}")
        for file in gone.kept:
            screen.note(f"note: its file is yours and still there: {screen.cell(file)}")
        if gone.waits:
            screen.note("note: another process reads the old state; the next sync cleans the database of it.")
        screen.note("note: copies in version control, backups or synced folders are not reached.")


def _ask(store: Store, memory: str, as_json: bool) -> None:
    """Have the person confirm. Raises Refused where nobody can, or who is asked says no."""
    try:
        shown = store.show(memory)
        what = f"{shown.id} ({shown.file}, {screen.counted(shown.versions, 'earlier text')})"
    except NotFound:
        what = _what(store, memory)
    if as_json or not sys.stdin.isatty():
        raise Refused(f"Forgetting {what} cannot be undone.", hint="Add --yes to do it.")
    screen.note(f"This deletes {what} and cannot be undone.")
    screen.note("Copies in version control, backups or synced folders are not reached.")
    print("Forget it? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Refused("Nothing was forgotten.")


def _what(store: Store, written: str) -> str:
    """What is no memory that has a file: a document or several, or the earlier texts of one. Raises NotFound."""
    mirrored = store.documents.meant(written)
    if mirrored:
        return mirrored[0] if len(mirrored) == 1 else f"{len(mirrored)} documents of {written}"
    versions = len(store.history(written))  # raises where there never was one
    return f"{written} ({screen.counted(versions, 'earlier text')})"
