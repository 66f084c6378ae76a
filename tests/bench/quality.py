"""How good the answers are, by arm: `python -m tests.bench.quality [--suite scifact,locomo,…] [--json] [--keep DIR]`.

`--ablation` asks again without each part of recall, and questions that no text of the store answers; `--write` puts the
figures into `quality.json` beside this file and the tables into QUALITY.md and the README, which are made from it.

Each suite becomes JSONL documents that a store mirrors, and `Store.evaluate` asks its questions: the front door, as a
user has it. The corpora lie beside the repository, or where MEMDB_BENCH_DATA says; a suite without them is passed over.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memdb.base import files
from memdb.domain import history
from memdb.services.recall import evaluation
from memdb.services.recall.evaluation import Evaluation, Score
from memdb.store import Store
from tests.bench import ablation as ablating
from tests.bench import quality_tables

Row = dict[str, Any]

DATA = Path(os.environ.get("MEMDB_BENCH_DATA", Path(__file__).parents[3] / "shared" / "data"))

FIGURES = ("R@2", "R@5", "R@10", "R@20", "nDCG@10", "all-gold@5", "MRR")

CORPUS, QUESTIONS = "corpus.jsonl", "questions.jsonl"


@dataclass(frozen=True, slots=True)
class Part:
    """One store of a suite: its documents and its questions."""

    name: str
    records: list[Row]
    questions: list[Row]
    extractions: dict[str, Row] | None = None  # by the id of a record: what a model would have answered


def read(file: Path) -> list[Row]:
    """The objects of a JSONL file."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def write(file: Path, rows: Iterable[Row]) -> Path:
    """Write a JSONL file, unless it says that already: a file that was not touched is not read again."""
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8")
    if not file.is_file() or file.read_bytes() != data:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return file


def passages(folder: Path) -> Iterator[Part]:
    """2WikiMultihopQA and MuSiQue: one store of titled passages."""
    records = [{"id": row["id"], "title": row["title"], "text": row["text"]} for row in read(folder / CORPUS)]
    yield Part("all", records, read(folder / "queries.jsonl"))


def scifact(folder: Path) -> Iterator[Part]:
    """Abstracts, and claims with those that speak of them, as BEIR has them: relevance above zero counts."""
    records = [{"id": row["_id"], "title": row["title"], "text": row["text"]} for row in read(folder / CORPUS)]
    gold: dict[str, list[str]] = defaultdict(list)
    for line in (folder / "qrels_test.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, relevance = line.split("\t")
        if int(relevance) > 0:
            gold[query].append(document)
    claims = [row for row in read(folder / "queries.jsonl") if row["_id"] in gold]
    yield Part(
        "all",
        records,
        [{"id": row["_id"], "question": row["text"], "gold": gold[row["_id"]]} for row in claims],
    )


def locomo(folder: Path) -> Iterator[Part]:
    """One store for each conversation; the turns of a session are neighbours by their heading path."""
    turns, questions = read(folder / CORPUS), read(folder / "queries.jsonl")
    for conversation in sorted({row["conv"] for row in turns}):
        yield Part(
            conversation,
            [turn(row) for row in turns if row["conv"] == conversation],
            [row for row in questions if row["conv"] == conversation],
        )


def turn(row: Row) -> Row:
    """A turn of a chat, as it would be logged: when, who, what, and what the picture shows."""
    caption = f" [{row['caption']}]" if row.get("caption") else ""
    return {
        "id": row["id"],
        "text": f"{row['date']}\n{row['speaker']}: {row['text']}{caption}",
        "created": datetime.strptime(row["date"], "%I:%M %p on %d %B, %Y").isoformat(),
        "conv": row["conv"],
        "session": row["session"],
    }


def musique_given(folder: Path) -> Iterator[Part]:
    """MuSiQue with the entities and triples that come with it, put into the journal as a model's answers."""
    for part in passages(folder):
        given = {row["id"]: answer(row) for row in read(folder / "openie.jsonl")}
        yield Part(part.name, part.records, part.questions, given)


def answer(row: Row) -> Row:
    """Entities and triples in the words of memdb's own schema."""
    return {
        "entities": [{"name": name, "type": "concept"} for name in row["entities"]],
        "relations": [
            {"subject": subject, "predicate": predicate, "object": object_, "confidence": 1.0}
            for subject, predicate, object_ in (triple for triple in row["triples"] if len(triple) == 3)
        ],
    }


def put_in(store: Store, extractions: dict[str, Row]) -> int:
    """Journal answers for the chunks of the records that have none yet; returns how many."""
    context = store._context
    texts = context.database.rows(
        "select node.key, record_id, text_sha256 from chunk join node using (id)"
        " where not exists (select 1 from extraction where extraction.text_sha256 = chunk.text_sha256)"
    )
    records = [
        history.extraction_record(key, text_sha256, "given", "given", extractions[record])
        for key, record, text_sha256 in texts
        if record in extractions
    ]
    with files.writer(context.place), context.database.write():
        context.append(*records)
    return len(records)


SUITES: dict[str, Callable[[Path], Iterator[Part]]] = {
    "scifact": scifact,
    "locomo": locomo,
    "2wiki": passages,
    "musique": passages,
    "musique-given": musique_given,
}


@dataclass(slots=True)
class Measured:
    """What the stores of a suite reached: whole, without each part of recall, and on questions that nothing answers."""

    found: list[Evaluation]
    without: dict[str, list[Evaluation]]
    refusals: list[tuple[int, float, int, float]]  # of each store: foreign questions, share refused, own, share refused


def measure(suite: str, home: Path, say: Callable[[str], object], *, ablation: bool = False) -> Measured:
    """Build the stores of a suite under a folder, or bring those that are there up to date, and ask."""
    found = []
    without: dict[str, list[Evaluation]] = defaultdict(list)
    refusals = []
    absent: list[set[str]] = []
    for part in SUITES[suite](folder_of(suite)):
        root = home / suite if part.name == "all" else home / suite / part.name
        corpus = write(root / CORPUS, part.records)
        questions = write(root.with_name(f"{root.name}-{QUESTIONS}"), part.questions)
        with Store.init(root) as store:
            start = time.perf_counter()
            report = store.add([corpus], progress=reporter(say, f"{suite} {part.name}"))
            if part.extractions and put_in(store, part.extractions):
                store.sync(progress=reporter(say, f"{suite} {part.name}"))
            say(f"{suite} {part.name}: {len(part.records)} records in {time.perf_counter() - start:.0f} s\n")
            if report.pending:
                say(f"{suite} {part.name}: {report.pending} chunks are not embedded: {report.embedder}\n")
            start = time.perf_counter()
            found.append(store.evaluate(questions, progress=reporter(say, f"{suite} {part.name}")))
            say(f"{suite} {part.name}: {len(part.questions)} questions in {time.perf_counter() - start:.0f} s\n")
            if ablation:
                asked = evaluation.read_questions(questions)
                absent.append(ablating.absent(store))
                for one in ablating.PARTS:
                    if one.name in absent[-1]:
                        without[one.name].append(found[-1])
                        continue
                    with ablating.without(store, one):
                        without[one.name].append(evaluation.evaluate(store._context, asked))
                    say(f"{suite} {part.name}: without {one.name}\n")
                refusals.append(refused(store, suite, part.questions))
    everywhere = set.intersection(*absent) if absent else set()
    return Measured(found, {name: ones for name, ones in without.items() if name not in everywhere}, refusals)


def refused(store: Store, suite: str, own: list[Row]) -> tuple[int, float, int, float]:
    """How many questions of other suites, and of the store's own, were asked, and what share of each got no answer.

    None of those on which the answer floor was set.
    """
    others = [name for name in SUITES if folder_of(name) != folder_of(suite) and (folder_of(name) / CORPUS).is_file()]
    asked_there = [part.questions for name in others for part in SUITES[name](folder_of(name))]
    foreign = [row for questions in asked_there for row in spread(unseen(questions), 12)]
    shares: list[float] = []
    own = spread(unseen(own), 60)
    for rows in (foreign, own):
        asked = [evaluation.question({"question": row["question"], "gold": []}, at) for at, row in enumerate(rows, 1)]
        with ablating.cascade_alone():
            scores = evaluation.evaluate(store._context, asked).configurations["cascade"].scores if asked else {}
        shares.append(scores["unanswered"].value if scores else 0.0)
    return len(foreign), shares[0], len(own), shares[1]


def unseen(rows: list[Row]) -> list[Row]:
    """The rows without those on which the answer floor was set: 50 of each suite's own and 25 of others, evenly."""
    seen = {row["id"] if "id" in row else row["question"] for count in (25, 50) for row in spread(rows, count)}
    return [row for row in rows if (row["id"] if "id" in row else row["question"]) not in seen]


def spread(rows: list[Row], count: int) -> list[Row]:
    """So many of the rows, evenly over all."""
    return rows[:: max(1, len(rows) // count)][:count]


def folder_of(suite: str) -> Path:
    """Where the corpus of a suite lies."""
    return DATA / suite.removesuffix("-given")


def reporter(say: Callable[[str], object], what: str) -> Callable[[str, int, int], None]:
    """A progress that speaks every ten seconds."""
    last = time.monotonic()

    def show(doing: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= 10:
            last = time.monotonic()
            say(f"{what}: {doing} {done} of {total}\n")

    return show


def combined(found: list[Evaluation]) -> dict[str, dict[str, Any]]:
    """The figures of each configuration over all stores of a suite, every question counting the same."""
    table: dict[str, dict[str, Any]] = {}
    for name in found[0].configurations:
        parts = [(one.questions - one.without_gold, one.configurations[name]) for one in found]
        if any(scores.state == "off" for _, scores in parts):
            table[name] = {"off": next(scores.reason for _, scores in parts if scores.state == "off")}
            continue
        total = sum(count for count, _ in parts)
        table[name] = {
            figure: sum(count * scores.scores[figure].value for count, scores in parts) / total for figure in FIGURES
        }
        table[name]["intervals"] = {
            figure: interval([(count / total, scores.scores[figure]) for count, scores in parts]) for figure in FIGURES
        }
        categories: dict[str, list[tuple[int, dict[str, float]]]] = defaultdict(list)
        for _, scores in parts:
            for category, one in scores.categories.items():
                categories[category].append((one.questions, one.scores))
        table[name]["categories"] = {
            category: {
                "questions": sum(count for count, _ in ones),
                **{
                    figure: sum(count * scores[figure] for count, scores in ones) / sum(count for count, _ in ones)
                    for figure in FIGURES
                },
            }
            for category, ones in sorted(categories.items())
        }
    return table


def interval(parts: list[tuple[float, Score]]) -> tuple[float, float]:
    """Of the mean over stores with their shares of the questions: theirs, added as of independent ones."""
    mean = sum(share * score.value for share, score in parts)
    low = math.hypot(*(share * (score.value - score.low) for share, score in parts))
    high = math.hypot(*(share * (score.high - score.value) for share, score in parts))
    return mean - low, mean + high


def tabled(suite: str, table: dict[str, dict[str, Any]]) -> str:
    """A suite as text: a row for each configuration, in percent, then the categories of the last one."""
    lines = [f"{suite:<24}" + "".join(f"{figure:>12}" for figure in FIGURES)]
    for name, figures in table.items():
        said = "  off: " + figures["off"] if "off" in figures else "".join(f"{100 * figures[f]:12.1f}" for f in FIGURES)
        lines.append(f"{name:<24}{said}")
    for category, figures in table["cascade"].get("categories", {}).items():
        label = f"  {category} ({figures['questions']})"
        lines.append(f"{label:<24}" + "".join(f"{100 * figures[f]:12.1f}" for f in FIGURES))
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Run the suites that were asked for; 1 where none could be."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.quality", description=__doc__)
    parser.add_argument("--suite", default=",".join(SUITES), help="which, with commas (default: all)")
    parser.add_argument("--json", action="store_true", help="print JSON, with intervals and misses")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the stores there; a later run embeds nothing")
    parser.add_argument("--ablation", action="store_true", help="also without each part, and unanswerable questions")
    parser.add_argument("--write", action="store_true", help="write the figures and the tables that are made of them")
    given = parser.parse_args(arguments)
    suites = [name.strip() for name in given.suite.split(",") if name.strip()]
    unknown = [name for name in suites if name not in SUITES]
    if unknown:
        parser.error(f"there is no suite {', '.join(unknown)}; there are {', '.join(SUITES)}")
    done: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="memdb-quality-") as temporary:
        for suite in suites:
            if not (folder_of(suite) / CORPUS).is_file():
                sys.stderr.write(
                    f"{suite}: passed over, there is no {folder_of(suite) / CORPUS} (set MEMDB_BENCH_DATA)\n"
                )
                continue
            measured = measure(suite, given.keep or Path(temporary), sys.stderr.write, ablation=given.ablation)
            table = combined(measured.found)
            done[suite] = {"table": table, "stores": [asdict(one) for one in measured.found]}
            if given.ablation:
                done[suite]["without"] = {name: combined(ones)["cascade"] for name, ones in measured.without.items()}
                done[suite]["refusals"] = {
                    name: sum(one[at] * one[at + 1] for one in measured.refusals)
                    / sum(one[at] for one in measured.refusals)
                    for at, name in ((0, "unanswerable"), (2, "answerable"))
                    if any(one[at] for one in measured.refusals)
                }
            if given.write:
                quality_tables.write(done)
            if not given.json:
                sys.stdout.write(tabled(suite, table) + "\n")
                sys.stdout.flush()
    if given.json:
        sys.stdout.write(json.dumps(done, ensure_ascii=False, indent=2) + "\n")
    return 0 if done else 1


if __name__ == "__main__":
    raise SystemExit(main())
