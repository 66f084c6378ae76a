"""recall and cascade: which memories and chunks belong in the next prompt, and why."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memdb.errors import UsageError
from memdb_cli import screen, shapes
from memdb_cli.app import section
from memdb_cli.hits import print_answer, remarks
from memdb_cli.options import AllStores, AsJson, Database, Hops, Limit, Root, Stores, Tags, Types, notes, several
from memdb_cli.session import open_store, read_question
from memdb_cli.warmth import ask_many, ask_warm

if TYPE_CHECKING:
    from memdb.services.recall.answers import Recall

commands = section()


class Format(StrEnum):
    """For people, for programs, for a prompt."""

    table = "table"
    json = "json"
    prompt = "prompt"


class Kind(StrEnum):
    """What a recall may answer with."""

    memory = "memory"
    chunk = "chunk"


DATE = "a date as 2026, 2026-05 or 2026-05-01"
Since = Annotated[
    str | None,
    typer.Option(metavar="DATE", help=f"Only what is of that time or later; {DATE}.", show_default=False),
]
Until = Annotated[
    str | None, typer.Option(metavar="DATE", help="Only what is of that time or earlier.", show_default=False)
]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="DATE",
        help="As memories stood at the end of it, in UTC: with their texts of that time, and only what was valid.",
        show_default=False,
    ),
]

Now = Annotated[
    str | None,
    typer.Option(
        metavar="DATE",
        help="The day from which words like yesterday are counted; today, or an old store's newest day.",
        show_default=False,
    ),
]


@commands.command(
    epilog=notes(
        'memdb recall "which database do we use for staging"',
        'memdb recall "how do we deploy" --type project --since 2026 --explain',
        'memdb recall "style of answers" --format prompt --budget 2000',
        'memdb recall "how is the database restored" --kind chunk',
        'memdb recall "which database do we use" --as-of 2026-03-31',
        'memdb recall "what did Caroline say last spring" --now 2023-10-22 --explain',
        'memdb recall "how do we deploy" --store work --store home',
        "memdb recall - < question.txt",
        "memdb recall -- -Xmx heap size",
        exits="0 also when nothing was found (it says why), 2 for a bad date or limit, 3 without a store or document.",
    )
)
def recall(
    question: Annotated[
        list[str], typer.Argument(metavar="QUESTION", help="Any text; - reads it from standard input.")
    ],
    *,
    limit: Limit = 8,
    types: Types = None,
    tags: Tags = None,
    path: Annotated[
        str | None, typer.Option("--path", metavar="GLOB", help="Only files that match, as 'project/*'.")
    ] = None,
    kind: Annotated[
        Kind | None, typer.Option("--kind", help="Only memories, or only chunks of documents.", show_default=False)
    ] = None,
    document: Annotated[
        str | None, typer.Option("--document", metavar="ID", help="Only chunks of this document.", show_default=False)
    ] = None,
    since: Since = None,
    until: Until = None,
    as_of: AsOf = None,
    now: Now = None,
    hops: Hops = 2,
    vector: Annotated[bool, typer.Option("--vector/--no-vector", help="Search by meaning.")] = True,
    keyword: Annotated[bool, typer.Option("--keyword/--no-keyword", help="Search by words.")] = True,
    entity: Annotated[bool, typer.Option("--entity/--no-entity", help="Search by what the question names.")] = True,
    sync: Annotated[bool, typer.Option("--sync/--no-sync", help="Bring the index up to the files first.")] = True,
    sql: Annotated[bool, typer.Option("--sql", help="Print the SQL with its values, to run by hand.")] = False,
    format: Annotated[Format, typer.Option("--format", help="How to print the answer.")] = Format.table,
    budget: Annotated[int, typer.Option("--budget", metavar="BYTES", help="The most bytes of --format prompt.")] = 4096,
    explain: Annotated[bool, typer.Option("--explain", help="Show all figures and the path of every hit.")] = False,
    stores: Stores = None,
    all_stores: AllStores = False,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Find what answers a question, and why it was found.

    Every hit says which arms found it, or the path from one that they found. Of several stores each answers alone, and
    hits say which one they are of. A time in the question ("last spring", "before the migration") and the name of
    someone who speaks in the store count for what is of it; how a time was read is said below the answer.
    """
    from memdb.services.recall.answers import Filters

    query = read_question() if question == ["-"] else " ".join(question)
    arms = [name for name, wanted in (("vector", vector), ("keyword", keyword), ("entity", entity)) if wanted]
    kinds = (kind.value,) if kind is not None else ()
    filters = Filters(tuple(types or ()), tuple(tags or ()), path, since, until, as_of, kinds, document, now)
    size = budget if format is Format.prompt and not as_json else None
    options: dict[str, Any] = {"limit": limit, "hops": hops, "arms": arms, "sync_first": sync}
    if several(stores, all_stores, root, database):
        if sql:
            raise UsageError("--sql prints the statements of one store.", hint="Name it with --store.")
        _print(
            *ask_many(stores, query=query, filters=filters, options=options, budget=size),
            Format.json if as_json else format,
            budget,
            explain,
        )
        return
    warm = None if sql else ask_warm(root, database, query=query, filters=filters, options=options, budget=size)
    if warm is not None:
        answer, block = warm
        _print(answer, block, Format.json if as_json else format, budget, explain)
        return
    with open_store(root, database) as store:
        if document is not None:
            filters = replace(filters, document=store.documents.find(document))
        if sql:
            statement = store.recall_sql(query, limit=limit, filters=filters, hops=hops, arms=arms)
            if as_json:
                screen.as_json({"sql": statement})
            else:
                screen.write(statement)
            return
        answer = store.recall(query, limit=limit, filters=filters, hops=hops, arms=arms, sync_first=sync)
        block = store.prompt_block(answer, size) if size is not None else None
        _print(answer, block, Format.json if as_json else format, budget, explain)


def _print(answer: Recall, block: str | None, format: Format, budget: int, explain: bool) -> None:
    if format is Format.json:
        screen.as_json(shapes.recall(answer))
    elif format is Format.prompt:
        if block:
            screen.write(block.rstrip("\n") + "\n")
        else:
            screen.note(answer.empty_message or f"Nothing fits into {budget} bytes.")
        for remark in remarks(answer):
            screen.note(remark)
    else:
        print_answer(answer, explain)


@commands.command(
    epilog=notes(
        "memdb cascade --seed feedback/prefers-tables=0.71",
        "memdb cascade --seed tag:style=1 --hops 1",
        exits="2 for a seed that is not ID=SCORE with a score of 0 to 1, 3 for an id that is not there.",
    )
)
def cascade(
    seeds: Annotated[
        list[str],
        typer.Option("--seed", metavar="ID=SCORE", help="Where the walk starts; repeat for several."),
    ],
    *,
    limit: Limit = 8,
    hops: Hops = 2,
    explain: Annotated[bool, typer.Option("--explain", help="Show the path of every hit.")] = False,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Walk the graph alone, from nodes with given scores. Tags are tag:NAME, memories type/name."""
    given = dict(parse_seed(seed) for seed in seeds)
    with open_store(root, database) as store:
        answer = store.cascade(given, limit=limit, hops=hops)
        if as_json:
            screen.as_json(shapes.recall(answer))
        else:
            print_answer(answer, explain, quiet=True)


def parse_seed(written: str) -> tuple[str, float]:
    """Split `ID=SCORE` at the last `=`: an id may hold one. Raises UsageError."""
    key, equals, score = written.rpartition("=")
    try:
        if not equals or not key:
            raise ValueError
        return key, float(score)
    except ValueError:
        raise UsageError(
            f"--seed is {written!r}.",
            hint="Write --seed ID=SCORE, for example --seed feedback/prefers-tables=0.71.",
        ) from None
