"""show, list, links, history: what the store holds, looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from memdb.errors import NotFound, Refused, UsageError
from memdb_cli import screen
from memdb_cli.app import section
from memdb_cli.options import AsJson, Database, Memory, Root, Shown, Tags, Types, notes
from memdb_cli.passages import Around, find_passage, print_chunk, print_document
from memdb_cli.session import open_bytes, open_store

if TYPE_CHECKING:
    from memdb import Store
    from memdb.services.memories.reading import PastText, Written
    from memdb.services.memories.reading import Shown as ShownMemory

commands = section()


@commands.command(
    epilog=notes(
        "memdb show feedback/prefers-tables",
        "memdb show prefers-tables --raw > copy.md",
        "memdb show document:docs/guide.md",
        "memdb show document:docs/guide.md#3 --around 2",
        exits="2 when a name means several memories, 3 for no such thing, 4 for a credential with --raw.",
    )
)
def show(
    hit: Shown,
    *,
    raw: Annotated[bool, typer.Option("--raw", help="Print the bytes of a memory's file.")] = False,
    around: Annotated[
        int, typer.Option("--around", metavar="N", help="Chunks shown before and after a chunk.", min=0)
    ] = 1,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show one memory, document or chunk with all that is around it.

    A memory with its tags, links and marks; a document with its outline; a chunk with its citation and its neighbours.
    Hidden characters are shown, credentials are not.
    """
    if raw and as_json:
        raise UsageError("--raw prints bytes, --json prints JSON.", hint="Leave one of them out.")
    with open_store(root, database) as store:
        found = find_passage(store, hit, around)
        if found is None:
            _show_memory(store, hit, raw, as_json)
        elif raw:
            raise UsageError(
                "--raw prints the file of a memory.", hint="`memdb open ID --print` prints a document's path."
            )
        elif isinstance(found, Around):
            print_chunk(found, as_json)
        else:
            print_document(store, found, as_json)


def _show_memory(store: Store, memory: str, raw: bool, as_json: bool) -> None:
    shown = store.show(memory)
    if raw:
        screen.write_bytes(open_bytes(store, shown.file))
    elif as_json:
        screen.as_json(asdict(shown))
    else:
        _print_memory(shown)


def _print_memory(shown: ShownMemory) -> None:
    links = [
        screen.cell(link.id or f"[[{link.target}]] ({link.status})")
        for link in shown.links
        if link.kind != "supersedes"
    ]
    facts = {
        "name": shown.name if shown.name != shown.id.rpartition("/")[2] else "",
        "file": shown.file,
        "tags": ", ".join(shown.tags),
        "aliases": ", ".join(shown.aliases),
        "cluster": shown.cluster or "",
        "links to": ", ".join(dict.fromkeys(links)),
        "linked from": ", ".join(shown.linked_from),
        "supersedes": ", ".join(shown.supersedes),
        "superseded by": ", ".join(shown.superseded_by),
        "contradicts": ", ".join(shown.contradicts),
        "earlier texts": str(shown.versions) if shown.versions else "",
        "embedded": "" if shown.embedded else "not yet",
        "problems": "; ".join(shown.problems),
        "beware": ", ".join(shown.suspect),
    }
    warn = ("superseded by", "contradicts", "problems", "beware")
    screen.lines([[(screen.cell(shown.id), "bold cyan")]])
    if shown.description:
        screen.lines([[(screen.cell(shown.description), "italic")]])
    column = max(len(name) for name, value in facts.items() if value)
    screen.lines(
        [
            [(f"  {name.ljust(column)}  ", "dim"), (screen.cell(value), "yellow" if name in warn else "")]
            for name, value in facts.items()
            if value
        ]
    )
    if shown.body.strip():
        screen.write("\n" + screen.body(shown.body.strip("\n")))


@commands.command(
    "list",
    epilog=notes(
        "memdb list",
        "memdb list --type feedback --tag style",
        "memdb list --json",
        exits="3 without a store.",
    ),
)
def list_memories(
    types: Types = None,
    tags: Tags = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List the memories of the index, by type and name."""
    with open_store(root, database) as store:
        listed = store.list(types=types or (), tags=tags or ())
        if as_json:
            screen.as_json({"memories": [asdict(memory) for memory in listed]})
        elif listed:
            screen.table(
                ("id", "description", "tags"),
                [
                    (
                        memory.id,
                        (memory.description or memory.name) + (" (superseded)" if memory.superseded_by else ""),
                        ", ".join(memory.tags),
                    )
                    for memory in listed
                ],
            )
        else:
            wanted = types or tags
            screen.note("No memory fits." if wanted else "The index is empty. `memdb sync` reads the folder's files.")


@commands.command(
    epilog=notes("memdb links", "memdb links --unresolved", "memdb links project/plan", exits="3 for no such memory.")
)
def links(
    memory: Annotated[str | None, typer.Argument(metavar="MEMORY", help="Only the links that it writes.")] = None,
    *,
    unresolved: Annotated[bool, typer.Option("--unresolved", help="Only those that lead nowhere.")] = False,
    ambiguous: Annotated[bool, typer.Option("--ambiguous", help="Only those that can mean several memories.")] = False,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List links as written, with what became of each."""
    wanted = (("unresolved", unresolved), ("ambiguous", ambiguous))
    statuses = [status for status, asked in wanted if asked]
    with open_store(root, database) as store:
        found = store.links(memory, statuses=statuses)
        if as_json:
            screen.as_json({"links": [asdict(link) for link in found]})
        elif found:
            screen.table(
                ("from", "line", "written", "status", "leads to"),
                [(link.source, str(link.line or ""), _written(link), link.status, _goal(link)) for link in found],
                right=("line",),
            )
        else:
            screen.note(f"There are no {' or '.join(statuses)} links." if statuses else "There are no links.")


def _written(link: Written) -> str:
    return f"supersedes: {link.raw}" if link.kind == "supersedes" else link.raw


def _goal(link: Written) -> str:
    return link.id or ", ".join(link.candidates)


@commands.command(
    epilog=notes(
        "memdb history project/plan",
        "memdb history project/plan --show 2",
        "memdb history project/plan --diff 2",
        exits="3 for no such memory or version, 4 for a text that was withheld.",
    )
)
def history(
    memory: Memory,
    *,
    show: Annotated[
        int | None, typer.Option("--show", metavar="N", help="Print version N as it was.", show_default=False)
    ] = None,
    diff: Annotated[
        int | None,
        typer.Option("--diff", metavar="N", help="Print what came after version N.", show_default=False),
    ] = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List, show or compare earlier texts of a memory. Those of a deleted file are kept too."""
    if show is not None and diff is not None:
        raise UsageError("--show and --diff ask for two things.", hint="Leave one of them out.")
    with open_store(root, database) as store:
        versions = store.history(memory)
        if diff is not None:
            _print_difference(store, memory, versions, diff, as_json)
        elif show is not None and not as_json:
            screen.write(screen.body(_text(_version(memory, versions, show))))
        elif as_json:
            chosen = versions if show is None else [_version(memory, versions, show)]
            screen.as_json({"versions": [asdict(version) for version in chosen]})
        elif versions:
            screen.table(
                ("version", "replaced at", "because it was", "characters", "sha256"),
                [
                    (
                        str(version.number),
                        version.at,
                        version.reason,
                        "withheld" if version.text is None else str(len(version.text)),
                        version.sha256[:12],
                    )
                    for version in versions
                ],
                right=("version", "characters"),
            )
        else:
            screen.note(f"{memory} has no earlier texts.")


def _version(memory: str, versions: Sequence[PastText], number: int) -> PastText:
    if not 1 <= number <= len(versions):
        known = f"Its earlier texts are numbered 1 to {len(versions)}." if versions else "It has none."
        raise NotFound(f"{memory} has no version {number}.", hint=known)
    return versions[number - 1]


def _text(version: PastText) -> str:
    if version.text is None:
        raise Refused(
            f"Version {version.number} was not kept: {version.withheld or 'withheld'}.",
            hint="memdb keeps no text that looks like a credential.",
        )
    return version.text


def _print_difference(store: Store, memory: str, versions: Sequence[PastText], number: int, as_json: bool) -> None:
    import difflib

    before = _text(_version(memory, versions, number))
    if number < len(versions):
        name, after = f"version {number + 1}", _text(versions[number])
    else:
        name, after = "now", _current_text(store, memory)
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), f"version {number}", name, lineterm="")
    text = "".join(f"{line}\n" for line in lines)
    if as_json:
        screen.as_json({"version": number, "against": name, "diff": text})
    elif text:
        screen.write(screen.body(text))
    else:
        screen.note(f"Version {number} and {name} are equal but for their newlines or encoding.")


def _current_text(store: Store, memory: str) -> str:
    """The file's text now; empty where the file is gone."""
    from memdb.base.text import decode

    try:
        file = store.show(memory).file
    except NotFound:
        return ""
    return decode(open_bytes(store, file)).text
