"""review, review list, show, answer: one queue of all that waits for a person."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memdb.errors import MemdbError, UsageError
from memdb_cli import keys, review_screen, screen
from memdb_cli.app import section
from memdb_cli.options import AsJson, Database, Root, notes
from memdb_cli.session import open_store, read_stdin, read_text

if TYPE_CHECKING:
    from memdb import Store
    from memdb.services.review.review_items import ReviewItem
    from memdb_cli.review_file import Outcome

commands = section()

Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="Only these: contradiction, held, conflict, merge, restatement, proposal, problem; repeat.",
    ),
]
Most = Annotated[int | None, typer.Option("--limit", "-n", metavar="N", help="The most items.", min=1)]
Why = Annotated[str | None, typer.Option("--why", metavar="TEXT", help="The reason, noted with each decision.")]
Item = Annotated[str, typer.Argument(metavar="ITEM", help="The id of an item, as `memdb review` lists it.")]


@commands.callback(
    invoke_without_command=True,
    epilog=notes(
        "memdb review",
        "memdb review --kind conflict --limit 10",
        "memdb review --json",
        "memdb review --edit",
        exits="1 when some lines of a file were not applied, 2 when a line is not right, 3 without a store.",
    ),
)
def review(
    context: typer.Context,
    *,
    kinds: Kinds = None,
    limit: Most = None,
    edit: Annotated[bool, typer.Option("--edit", help="Answer in a file, in $VISUAL or $EDITOR.")] = False,
    apply: Annotated[
        str | None,
        typer.Option("--apply", metavar="FILE", help="Apply a file that --edit left; - reads standard input."),
    ] = None,
    why: Why = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Go through all that waits for you: conflicts, suggested merges, proposals, problems.

    On a terminal it shows one item at a time and takes one key for each; elsewhere it lists them. Every answer is a
    decision like those of the other commands, and `memdb undo` takes it back.
    """
    if context.invoked_subcommand is not None:
        return
    if edit and apply is not None:
        raise UsageError("--edit and --apply both name a file.", hint="Leave one of them out.")
    with open_store(root, database) as store:
        if apply is not None:
            _apply(store, Path(apply), why, as_json)
            return
        items = store.review.list(kinds=kinds or (), limit=limit)
        if edit and items:
            _edit(store, items, why, as_json)
        elif items and not as_json and keys.at_terminal():
            from memdb_cli.reviewing import Session

            Session(store, items, why).run()
        else:
            _print_list(items, as_json)


@commands.command(
    "list",
    epilog=notes(
        "memdb review list", "memdb review list --kind merge --json", exits="2 for no such kind, 3 without a store."
    ),
)
def list_items(
    kinds: Kinds = None,
    limit: Most = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List all that waits, the most important first, and ask nothing."""
    with open_store(root, database) as store:
        _print_list(store.review.list(kinds=kinds or (), limit=limit), as_json)


def _print_list(items: Sequence[ReviewItem], as_json: bool) -> None:
    if as_json:
        screen.as_json({"items": [asdict(item) for item in items]})
    elif items:
        review_screen.plain(items)
    else:
        screen.note("Nothing waits for you.")


@commands.command(
    epilog=notes(
        "memdb review show proposal:type+protocol",
        "memdb review show conflict:3f0c2a91d7b4 --json",
        exits="3 for what waits no more.",
    )
)
def show(item: Item, root: Root = None, database: Database = None, as_json: AsJson = False) -> None:
    """Show one item in full, with the answers that it takes."""
    with open_store(root, database) as store:
        shown = store.review.show(item)
        if as_json:
            screen.as_json(asdict(shown))
        else:
            review_screen.shown(shown)


@commands.command(
    epilog=notes(
        "memdb review answer proposal:type+protocol approve",
        'memdb review answer proposal:predicate+reports_to approve --text "The object is the boss of the subject."',
        exits="2 for an answer or a text that does not fit, 3 for what waits no more, 4 when it is refused.",
    )
)
def answer(
    item: Item,
    choice: Annotated[str, typer.Argument(metavar="CHOICE", help="The name or the key of one of its answers.")],
    *,
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="The text that goes with it; - reads standard input.")
    ] = None,
    why: Why = None,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Answer one item, and print the decision to undo it by."""
    said = read_stdin() if text == "-" else text
    with open_store(root, database) as store:
        answered = store.review.answer(item, choice, text=said, why=why)
        if as_json:
            screen.as_json(asdict(answered))
        else:
            review_screen.answered(answered)


def _edit(store: Store, items: Sequence[ReviewItem], why: str | None, as_json: bool) -> None:
    """Have the person answer in a file, which is kept where something in it is not done."""
    from memdb_cli import editor, review_file

    folder = Path(tempfile.mkdtemp(prefix="memdb-review-"))
    file = folder / "review.txt"
    before = review_file.written(items)
    _write(file, before)
    try:
        editor.edit_draft(file)
        text = read_text(file)
        orders = review_file.read(text, items)
    except MemdbError as error:
        if file.exists() and read_text(file) != before:
            error.hint = f"{error.hint or ''} Your answers are kept: {_again(file)}".strip()
        else:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    outcome = review_file.apply(store, orders, why)
    if outcome.failed:
        _write(file, review_file.left(text, outcome))
    else:
        shutil.rmtree(folder, ignore_errors=True)
    _report(outcome, as_json, file)


def _apply(store: Store, file: Path, why: str | None, as_json: bool) -> None:
    from memdb_cli import review_file

    given = str(file) == "-"
    text = read_stdin() if given else read_text(file)
    outcome = review_file.apply(store, review_file.read(text, store.review.list()), why)
    if not given and (outcome.answered or outcome.failed):
        _write(file, review_file.left(text, outcome))
    _report(outcome, as_json, None if given else file)


def _again(file: Path) -> str:
    return f'memdb review --apply "{file}"' if " " in str(file) else f"memdb review --apply {file}"


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="\n")


def _report(outcome: Outcome, as_json: bool, file: Path | None) -> None:
    """Print what was done and what was not. Raises MemdbError where something was not."""
    if as_json:
        screen.as_json(outcome.as_dict() | {"file": str(file) if outcome.failed and file else None})
        if outcome.failed:
            raise typer.Exit(MemdbError.exit_code)
        return
    for _, answered in outcome.answered:
        review_screen.answered(answered)
    for line, _, error in outcome.failed:
        screen.note(f"line {line}: {error.message}{f' {error.hint}' if error.hint else ''}")
    if outcome.failed:
        total = len(outcome.failed) + len(outcome.answered)
        raise MemdbError(
            f"{len(outcome.failed)} of {screen.counted(total, 'answer')} could not be applied.",
            hint=f"What is left is kept: {_again(file)}" if file else None,
        )
    if not outcome.answered:
        screen.note("Nothing was answered.")
