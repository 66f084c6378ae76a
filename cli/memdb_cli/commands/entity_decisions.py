"""entities rename, retype, merge, unmerge, delete, restore, distinct: people correct the graph, and take it back."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from memdb.errors import NotFound, Refused
from memdb_cli import screen
from memdb_cli.app import section
from memdb_cli.decisions import print_decision
from memdb_cli.options import AsJson, Database, Entity, Root, Why, notes
from memdb_cli.session import open_store

if TYPE_CHECKING:
    from memdb import Store
    from memdb.services.decisions import Decision
    from memdb.services.entities.entity_reading import EntityShown

commands = section()


@commands.command(
    epilog=notes(
        'memdb entities rename "Quill Base" Quillbase',
        'memdb entities rename quillbase "Quillbase Inc." --why "its full name"',
        exits="3 for no such entity, 4 for a name that another entity has: that is a merge.",
    )
)
def rename(
    entity: Entity,
    new: Annotated[str, typer.Argument(metavar="NEW", help="What it is called from now on.")],
    *,
    why: Why = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Call an entity something else. The old name stays an alias, and texts are searched for the new one too."""
    with open_store(root, database) as store:
        before = store.entities.show(entity, limit=0)
        decision = store.entities.rename(entity, new, why=why)
        _print(store, decision, f"renamed {before.name} to {new}", new, as_json)


@commands.command(
    epilog=notes(
        'memdb entities retype "Quillbase" tool', exits="3 for no such entity, 4 for a type that cannot be given."
    )
)
def retype(
    entity: Entity,
    type_: Annotated[str, typer.Argument(metavar="TYPE", help="A type of the vocabulary: `memdb schema` lists them.")],
    *,
    why: Why = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Give an entity another type, whatever texts or models say of it."""
    with open_store(root, database) as store:
        before = store.entities.show(entity, limit=0)
        decision = store.entities.retype(entity, type_, why=why)
        words = f"retyped {before.name}: {decision.detail['type']}"
        more = {"entity": asdict(store.entities.show(entity, limit=0))}
        print_decision(decision, words, f"it was {before.type or 'not sure'}", as_json=as_json, more=more)


@commands.command(
    epilog=notes(
        'memdb entities merge "Quill Base" Quillbase',
        'memdb entities merge "System Admin" SystemAdmin --why "one role"',
        exits="2 where both are one already, 3 where one is no entity.",
    )
)
def merge(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="What becomes part of the other.")],
    into: Annotated[str, typer.Argument(metavar="INTO", help="What stays, with its name and type.")],
    *,
    why: Why = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Make one entity of two. What mentions or relates the first does so with the second, under its name and type."""
    with open_store(root, database) as store:
        ends = [store.entities.show(end, limit=0).name for end in (source, into)]
        decision = store.entities.merge(source, into, why=why)
        _print(store, decision, f"merged {ends[0]} into {ends[1]}", into, as_json)


@commands.command(
    epilog=notes(
        'memdb entities unmerge "Quill Base"', exits="2 where several could be meant, 3 for what is not merged."
    )
)
def unmerge(
    entity: Annotated[str, typer.Argument(metavar="NAME", help="A name of what was merged into another.")],
    *,
    why: Why = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Take a merge back, in whatever order merges were made. Texts that mention its name mention it again."""
    with open_store(root, database) as store:
        decision = store.entities.unmerge(entity, why=why)
        _print(store, decision, f"unmerged {entity}", entity, as_json)


@commands.command(
    epilog=notes(
        'memdb entities delete "Whiteboard"',
        'memdb entities delete "Whiteboard" --yes --why "a common word"',
        exits="3 for no such entity, 4 without --yes where nobody can be asked.",
    )
)
def delete(
    entity: Entity,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    why: Why = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Take an entity out of the graph, whatever texts mention it, until it is restored. The texts stay as they are."""
    with open_store(root, database) as store:
        before = store.entities.show(entity, limit=0)
        if not yes:
            _ask(before, as_json)
        decision = store.entities.delete(entity, why=why)
        print_decision(decision, f"deleted {before.name}", _went(before), as_json=as_json, more={"entity": None})


@commands.command(epilog=notes('memdb entities restore "Whiteboard"', exits="3 for what is not deleted."))
def restore(
    entity: Annotated[str, typer.Argument(metavar="NAME", help="A name of what was deleted.")],
    *,
    why: Why = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Let an entity that was deleted be one again. `memdb entities --deleted` lists them."""
    with open_store(root, database) as store:
        decision = store.entities.restore(entity, why=why)
        _print(store, decision, f"restored {entity}", entity, as_json)


@commands.command(
    epilog=notes(
        'memdb entities distinct "Opus" "Opus Dei"',
        exits="2 where both are one already, 3 where one is no entity.",
    )
)
def distinct(
    one: Annotated[str, typer.Argument(metavar="A", help="One of the two.")],
    other: Annotated[str, typer.Argument(metavar="B", help="The other.")],
    *,
    why: Why = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Say that two entities are two. Their merge is not suggested any more."""
    with open_store(root, database) as store:
        names = [store.entities.show(end, limit=0).name for end in (one, other)]
        decision = store.entities.distinct(one, other, why=why)
        print_decision(decision, f"distinct {names[0]} and {names[1]}", as_json=as_json)


def _print(store: Store, decision: Decision, words: str, name: str, as_json: bool) -> None:
    """Print a decision with what the entity is after it; where no text mentions it, it is none now."""
    entity: EntityShown | None = None
    with suppress(NotFound):
        entity = store.entities.show(name, limit=0)
    after = _usage(entity) if entity is not None else ""
    more = {"entity": asdict(entity) if entity is not None else None}
    print_decision(decision, words, after, as_json=as_json, more=more)


def _usage(entity: EntityShown) -> str:
    mentions = screen.counted(entity.mentions, "mention")
    return f"{mentions}, {screen.counted(len(entity.relations), 'relation')}"


def _went(entity: EntityShown) -> str:
    return f"{_usage(entity)} went with it"


def _ask(entity: EntityShown, as_json: bool) -> None:
    """Have the person confirm. Raises Refused where nobody can, or who is asked says no."""
    what = f"{entity.name} ({_usage(entity)})"
    if as_json or not sys.stdin.isatty():
        raise Refused(
            f"To delete {what} takes a yes.", hint="Add --yes to do it; `memdb entities restore` takes it back."
        )
    screen.note(f"This takes {what} out of the graph. The texts that mention it stay as they are.")
    print("Delete it? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Refused("Nothing was deleted.")
