"""eval: how well the store answers questions with known answers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memdb.errors import UsageError
from memdb_cli import screen
from memdb_cli.app import section
from memdb_cli.options import AsJson, Database, Root, notes
from memdb_cli.session import open_store

if TYPE_CHECKING:
    from memdb.services.recall.evaluation import Evaluation, Miss, Score

commands = section()


@commands.command(
    "eval",
    epilog=notes(
        "memdb eval questions.jsonl",
        "memdb eval questions.jsonl --k 1,5 --json",
        exits="2 for a line that does not fit or a bad k, 3 without a store or file.",
    ),
)
def evaluate(
    questions: Annotated[
        Path, typer.Argument(metavar="QUERIES.jsonl", help="A line is {question, gold: [ids], id, category, filter}.")
    ],
    *,
    k: Annotated[str, typer.Option("--k", metavar="N,N", help="Places to count gold down to.")] = "2,5,10,20",
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Measure how well the store answers questions with known answers.

    Gold holds ids of memories, documents, chunks or records; it is [] where nothing should come. Each arm is measured
    alone, then their fusion, then fusion and graph walk: R@k (share of gold found), all gold in five, nDCG, MRR, and
    the share of questions without gold that are rightly left unanswered, with 95 % bootstrap intervals.
    """
    with open_store(root, database) as store, screen.progress() as progress:
        found = store.evaluate(questions, k=parse_k(k), progress=progress)
    if as_json:
        shape = asdict(found)
        shape["unknown_gold"] = [{"line": line, "id": name} for line, name in found.unknown_gold]
        screen.as_json(shape)
    else:
        print_evaluation(found)


def parse_k(written: str) -> list[int]:
    """Split `2,5,10`. Raises UsageError."""
    try:
        return [int(part) for part in written.split(",")]
    except ValueError:
        raise UsageError(f"--k is {written!r}.", hint="Write numbers with commas, for example --k 2,5,10,20.") from None


def print_evaluation(found: Evaluation) -> None:
    """Write the figures in percent, the categories, the worst misses, and remarks."""
    on = {name: scores for name, scores in found.configurations.items() if scores.state == "on"}
    figures = list(dict.fromkeys(name for scores in on.values() for name in scores.scores))
    rows = [[figure, *(shown(scores.scores[figure]) for scores in on.values())] for figure in figures]
    screen.table(["figure", *on], rows, right=list(on))
    categories = list(dict.fromkeys(name for scores in on.values() for name in scores.categories))
    if categories:
        figure = f"R@{max((k for k in found.k if k <= 5), default=found.k[0])}"
        screen.write("\n")
        parts = [(name, [scores.categories[name] for scores in on.values()]) for name in categories]
        screen.table(
            [f"{figure} by category", "questions", *on],
            [
                [name, str(part[0].questions), *(percent(category.scores.get(figure)) for category in part)]
                for name, part in parts
            ],
            right=["questions", *on],
        )
    if found.misses:
        screen.write("\nWorst misses, with what came instead:\n")
        for miss in found.misses:
            print_miss(miss)
    for name, scores in found.configurations.items():
        if scores.state == "off":
            screen.note(f"{name} is off: {scores.reason}")
    for line, name in found.unknown_gold[:10]:
        screen.note(f"line {line}: the store has no {name}")
    if len(found.unknown_gold) > 10:
        screen.note(f"and {len(found.unknown_gold) - 10} more ids that the store does not have")
    for note in found.notes:
        screen.note(note)
    count = screen.counted(found.questions, "question")
    screen.note(f"{count}, {found.without_gold} of them without gold; 95 % intervals in brackets.")


def print_miss(miss: Miss) -> None:
    """Write a question, what is missing, and the answers."""
    screen.lines([[(f"line {miss.line}", "cyan"), (f"  {screen.cell(miss.question)}", "bold")]])
    screen.lines([[("  missing  ", ""), (screen.cell(", ".join(miss.missing)), "yellow")]])
    for hit in miss.returned:
        screen.lines(
            [[(f"  {hit.score:.2f}     ", ""), (screen.cell(hit.id), ""), (f"  {screen.cell(hit.name)}", "dim")]]
        )
    if not miss.returned:
        screen.lines([[("  nothing came", "")]])


def shown(score: Score) -> str:
    """A score in percent with its interval."""
    return f"{percent(score.value)} ({percent(score.low)}-{percent(score.high)})"


def percent(value: float | None) -> str:
    """A share in percent, to one digit; a dash for none."""
    return "-" if value is None else f"{100 * value:.1f}"
