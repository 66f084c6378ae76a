"""Options and help texts that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from memdb.errors import UsageError

if TYPE_CHECKING:
    from memdb.base.named import Named
    from memdb.base.place import Place

EXIT_CODES = {
    0: "done",
    1: "an error, or a check that failed",
    2: "the command line does not fit",
    3: "no such memory, version or store",
    4: "refused, to keep something safe",
    5: "the folder or the database cannot be read",
    6: "the folder or the disk takes no write",
    7: "the embedding model or the language model is not available, or fails",
    8: "another process holds the store",
    130: "interrupted with Ctrl-C",
}
"""What the exit codes of `memdb.errors` mean, as the help of the program lists them."""


def notes(*examples: str, exits: str = "") -> str:
    """The end of a command's help: an example block, and its exit codes where they matter."""
    # A line of "\b" alone keeps the lines below it from being wrapped.
    blocks = ["\b\nExamples:\n" + "\n".join(f"  {example}" for example in examples)]
    if exits:
        blocks.append(f"Exit codes: {exits}")
    return "\n\n".join(blocks)


def exit_code_list() -> str:
    """All exit codes as a block of help."""
    return "\b\nExit codes:\n" + "\n".join(f"  {code:>3}  {meaning}" for code, meaning in EXIT_CODES.items())


def list_by_default(commands: typer.Typer, listing: Callable[..., None], *, help: str, epilog: str) -> None:
    """Have a group that is called without a command run its `listing`, with the options of that one, declared once."""
    hints = get_type_hints(listing, include_extras=True)
    own = [given.replace(annotation=hints[given.name]) for given in signature(listing).parameters.values()]
    context_ = Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)

    def group(context: typer.Context, **given: Any) -> None:
        if context.invoked_subcommand is None:
            listing(**given)

    group.__signature__ = Signature([context_, *own])  # type: ignore[attr-defined]
    group.__annotations__ = {"context": typer.Context, **hints}
    commands.callback(invoke_without_command=True, help=help, epilog=epilog)(group)


def with_store(command: Any, option: Any) -> None:
    """Let a command, and the commands of a group, take --store wherever it takes --root; some have one of their own."""
    names = [parameter.name for parameter in command.params]
    if "root" in names and not any("--store" in parameter.opts for parameter in command.params):
        command.params.insert(names.index("root"), option)
    for below in getattr(command, "commands", {}).values():
        with_store(below, option)


def _or_before(context: typer.Context, name: str, value: object) -> object:
    """The option as given after the command, else as given before it or before its group."""
    outer = context.parent
    while not value and outer is not None:
        value, outer = outer.params.get(name), outer.parent
    return value


_STORE = "memdb.store"
"""Under which the store that --store names is kept, once it was read, for all commands of one command line."""


def _store(context: typer.Context, value: str | None) -> None:
    if value:
        context.meta[_STORE] = value


def _stores(context: typer.Context, value: list[str] | None) -> object:
    # One is the store of the command, as everywhere; several are the command's own business.
    context.meta[_STORE] = value[0] if value and len(value) == 1 else None if value else context.meta.get(_STORE)
    return value


def several(stores: list[str] | None, all_stores: bool, root: Path | None, database: Path | None) -> bool:
    """Whether a command line asks for several stores. Raises UsageError where it names one in another way too."""
    if not all_stores and len(stores or ()) < 2:
        return False
    if all_stores and stores:
        raise UsageError("--all-stores and --store exclude one another.", hint="Leave one of them out.")
    if root is not None or database is not None:
        raise UsageError("--root and --db name one store.", hint="`memdb stores` says where the named ones are.")
    return True


def _chosen(context: typer.Context) -> Place | None:
    """The place of the store that --store names. Raises NotFound."""
    from memdb.base import named
    from memdb.base.place import Place

    written = context.meta.get(_STORE)
    if written is not None and not isinstance(written, Place) and not context.resilient_parsing:
        written = context.meta[_STORE] = named.place(written)
    return written if isinstance(written, Place) else None


def named_store(context: typer.Context) -> Named | None:
    """The store that --store names by a name, rather than by a folder; None where there is none."""
    from memdb.base import named

    place = _chosen(context)
    return next((one for one in named.read().values() if one.place == place), None) if place is not None else None


def _root(context: typer.Context, value: Path | None) -> object:
    if context.meta.get(_STORE) is None:
        return _or_before(context, "root", value)
    if value:
        raise UsageError("--store and --root both name the store.", hint="Leave one of them out.")
    chosen = _chosen(context)
    return None if chosen is None else chosen.root


def _database(context: typer.Context, value: Path | None) -> object:
    if context.meta.get(_STORE) is None:
        return _or_before(context, "database", value)
    chosen = _chosen(context)
    return value or (None if chosen is None else chosen.database)


def _as_json(context: typer.Context, value: bool) -> object:
    return bool(_or_before(context, "as_json", value))


Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="STORE",
        help="The store by its name (`memdb stores`), or its folder. [default: MEMDB_STORE]",
        callback=_store,
        show_default=False,
        is_eager=True,  # known before --root and --db are
        expose_value=False,
    ),
]
Stores = Annotated[
    list[str] | None,
    typer.Option(
        "--store",
        metavar="STORE",
        help="A store by its name (`memdb stores`) or its folder; repeat for several. [default: MEMDB_STORE]",
        callback=_stores,
        show_default=False,
        is_eager=True,
    ),
]
AllStores = Annotated[bool, typer.Option("--all-stores", help="All stores that have a name.")]

Root = Annotated[
    Path | None,
    typer.Option(
        "--root",
        metavar="FOLDER",
        help="The store's folder. [default: MEMDB_ROOT, the nearest one upward with .memdb, one of yours]",
        callback=_root,
        show_default=False,
    ),
]
Database = Annotated[
    Path | None,
    typer.Option(
        "--db",
        metavar="FILE",
        help="The database file. [default: MEMDB_DB, .memdb/memory.db in the root]",
        callback=_database,
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.", callback=_as_json)]

Memory = Annotated[str, typer.Argument(metavar="MEMORY", help="An id (type/name), a name, an alias or a path.")]
Shown = Annotated[
    str, typer.Argument(metavar="HIT", help="A memory (id, name, alias or path), a document or a chunk (id).")
]
Document = Annotated[str, typer.Argument(metavar="DOCUMENT", help="A document's id, or the path of its file.")]
Types = Annotated[
    list[str] | None,
    typer.Option("--type", metavar="TYPE", help="Only this type; repeat for any of several."),
]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", metavar="TAG", help="Only with this tag; repeat for all of several."),
]
Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", help="The most results.")]
Hops = Annotated[int, typer.Option("--hops", metavar="N", help="Edges that the walk may follow.")]

Body = Annotated[
    str | None,
    typer.Option("--body", metavar="TEXT", help="The text; - reads it from standard input.", show_default=False),
]
BodyFile = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="Take the text from this file.", show_default=False),
]
Description = Annotated[
    str | None,
    typer.Option("--description", metavar="TEXT", help="What the memory says, in a line.", show_default=False),
]
NewTags = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="Its tags, in place of those it has; repeat.")
]
Supersedes = Annotated[
    list[str] | None,
    typer.Option("--supersedes", metavar="MEMORY", help="The memories that this one replaces; repeat."),
]
Aliases = Annotated[
    list[str] | None,
    typer.Option("--alias", metavar="NAME", help="Its other names, in place of those it has; repeat."),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set any other frontmatter key; repeat."),
]
Unset = Annotated[list[str] | None, typer.Option("--unset", metavar="KEY", help="Remove a frontmatter key; repeat.")]
Expect = Annotated[
    str | None,
    typer.Option(
        "--expect",
        metavar="SHA256",
        help="Refuse if the file's bytes are not these any more.",
        show_default=False,
    ),
]

Kind = Annotated[str, typer.Argument(metavar="KIND", help="`type` (of an entity) or `predicate` (between two).")]
EntryName = Annotated[str, typer.Argument(metavar="NAME", help="Its name in any spelling.")]
SingleLetters = Annotated[
    bool, typer.Option("--single-letters", help="Of a type: let in names of one letter, such as C.")
]
SingleValued = Annotated[
    bool, typer.Option("--single-valued", help="Of a predicate: two objects of one subject are a conflict.")
]

Entity = Annotated[str, typer.Argument(metavar="NAME", help="A name or an alias in any spelling, or an id.")]
Why = Annotated[str | None, typer.Option("--why", metavar="TEXT", help="The reason, for the log.", show_default=False)]
