"""How well does a store answer questions whose answers are known? Measured by arm, for their fusion and the walk."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memdb.errors import NotFound, UsageError
from memdb.services.context import Context, Progress, silent
from memdb.services.recall.answers import Filters, Hit
from memdb.services.recall.recall import HOPS, recall

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memdb.base.embedding import Embedder, Vector

KS = (2, 5, 10, 20)
"""Places down to which the share of gold is counted."""

MOST = 100
"""The largest such place: half of what an arm gives."""

DEPTH = 10
"""Places that nDCG looks at, and at least so many answers are asked for."""

ALL_WITHIN = 5
"""Places within which all gold has to be for all-gold@5: about what goes into a prompt."""

SPARE = 3
"""So many times the answers are asked for: a long record is several chunks, and counts once, at the first."""

RESAMPLES = 1_000
"""Bootstrap samples: enough for the 2.5th and 97.5th percentile to one digit (Efron and Tibshirani 1993)."""

SEED = 20_240_229
"""Of the resampling: the same questions have the same intervals in every run."""

MISSES = 10
"""Misses that are told, worst first, each with the first ALL_WITHIN answers."""

ARMS = ("vector", "keyword", "entity")

CONFIGURATIONS: dict[str, tuple[tuple[str, ...], int]] = {
    **{arm: ((arm,), 0) for arm in ARMS},
    "fusion": (ARMS, 0),
    "cascade": (ARMS, HOPS),
}
"""What is compared: arms and hops of each recall."""

LIST_FILTERS = ("types", "tags", "kinds")
TEXT_FILTERS = ("path", "since", "until", "as_of", "document")
"""What a line's `filter` may hold: lists of texts, and single texts."""

DAY = re.compile(r"\d{4}-\d\d-\d\d")
"""What a line's `now` is: the day on which its question was asked."""


@dataclass(frozen=True, slots=True)
class Question:
    """One line: what is asked and the ids that should come; `line` counts from 1."""

    line: int
    text: str
    gold: tuple[str, ...]
    id: str | None = None
    category: str | None = None
    filters: Filters = field(default_factory=Filters)


@dataclass(frozen=True, slots=True)
class Score:
    """A mean over questions, 0 to 1, with the ends of its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Category:
    """The means over the questions of one category."""

    questions: int
    scores: dict[str, float]


@dataclass(frozen=True, slots=True)
class Scores:
    """What one configuration reached; without scores, `reason` says why it was off.

    The names are `R@k`, `all-gold@5`, `nDCG@10`, `MRR` over the questions with gold and `unanswered` over the others.
    """

    state: str  # on, off
    reason: str | None
    scores: dict[str, Score]
    categories: dict[str, Category]


@dataclass(frozen=True, slots=True)
class Returned:
    """An answer that came instead."""

    id: str
    name: str
    score: float


@dataclass(frozen=True, slots=True)
class Miss:
    """A question of which some gold is not among the first answers of the whole recall."""

    line: int
    id: str | None
    category: str | None
    question: str
    ndcg: float
    missing: tuple[str, ...]
    returned: tuple[Returned, ...]


@dataclass(slots=True)
class Evaluation:
    """The comparison; `unknown_gold` are ids, with their line, that the store does not have."""

    questions: int
    without_gold: int
    k: tuple[int, ...]
    configurations: dict[str, Scores]
    misses: list[Miss]
    unknown_gold: list[tuple[int, str]]
    notes: list[str] = field(default_factory=list)


def questions(asked: Path | str | Sequence[Mapping[str, Any]]) -> list[Question]:
    """The questions of a JSONL file, or those that are given as mappings. Raises NotFound, UsageError."""
    if isinstance(asked, (str, Path)):
        return read_questions(Path(asked))
    return [question(value, line) for line, value in enumerate(asked, start=1)]


def read_questions(file: Path) -> list[Question]:
    """The questions of a JSONL file. Raises NotFound, UsageError with the line that does not fit."""
    try:
        with file.open(encoding="utf-8-sig") as source:
            found = [_parsed(line, number, file.name) for number, line in enumerate(source, start=1) if line.strip()]
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {file}.", hint="Give a JSONL file with one question a line.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}.", hint="It has to be a JSONL file in UTF-8.") from error
    if not found:
        raise UsageError(f"{file} has no questions.", hint=EXAMPLE)
    return found


EXAMPLE = (
    'A line is {"question": "how do we deploy", "gold": ["project/deploys"]}; gold is [] where nothing should come.'
)


def _parsed(line: str, number: int, file: str) -> Question:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise UsageError(f"Line {number} of {file} is not JSON: {reason}.", hint=EXAMPLE) from error
    if not isinstance(value, dict):
        raise UsageError(f"Line {number} of {file} is no object.", hint=EXAMPLE)
    return question(value, number, file)


def question(value: Mapping[str, Any], line: int, source: str = "the questions") -> Question:
    """A question from its fields. Raises UsageError with the line and what does not fit."""

    def wrong(what: str) -> UsageError:
        return UsageError(f"Line {line} of {source}: {what}.", hint=EXAMPLE)

    text, gold = value.get("question"), value.get("gold")
    if not isinstance(text, str) or not text.strip():
        raise wrong("`question` has to be a text")
    gold = [gold] if isinstance(gold, str) else gold
    if not isinstance(gold, list) or not all(isinstance(one, (str, int)) and one != "" for one in gold):
        raise wrong("`gold` has to be a list of ids")
    category = value.get("category", value.get("type"))
    name = value.get("id")
    filters = _filters(value.get("filter") or {}, wrong)
    if (now := value.get("now")) is not None:
        if not isinstance(now, str) or not DAY.fullmatch(now):
            raise wrong("`now` has to be a day as 2026-05-01")
        filters = replace(filters, now=now)
    return Question(
        line,
        text,
        tuple(dict.fromkeys(str(one) for one in gold)),
        None if name is None else str(name),
        None if category is None else str(category),
        filters,
    )


def _filters(value: Any, wrong: Callable[[str], UsageError]) -> Filters:
    if not isinstance(value, dict):
        raise wrong("`filter` has to be an object")
    given: dict[str, Any] = {}
    for name, wanted in value.items():
        if name in LIST_FILTERS:
            wanted_list = [wanted] if isinstance(wanted, str) else wanted
            if not isinstance(wanted_list, list) or not all(isinstance(one, str) for one in wanted_list):
                raise wrong(f"`{name}` of `filter` has to be a list of texts")
            given[name] = tuple(wanted_list)
        elif name not in TEXT_FILTERS:
            raise wrong(f"`filter` has no `{name}`; it has {', '.join((*LIST_FILTERS, *TEXT_FILTERS))}")
        elif wanted is not None and not isinstance(wanted, str):
            raise wrong(f"`{name}` of `filter` has to be a text")
        else:
            given[name] = wanted
    return Filters(**given)


def evaluate(
    context: Context, questions: Sequence[Question], *, k: Iterable[int] = KS, progress: Progress = silent
) -> Evaluation:
    """Ask every question of every configuration, on the same budget. Raises UsageError for a bad k or no questions."""
    ks = tuple(sorted(set(k)))
    if not ks or ks[0] < 1 or ks[-1] > MOST:
        raise UsageError(f"k is {', '.join(map(str, ks)) or 'empty'}; give numbers from 1 to {MOST}.")
    if not questions:
        raise UsageError("There are no questions.", hint=EXAMPLE)
    depth = max(ks[-1], DEPTH)
    measured: dict[str, list[dict[str, float]]] = {name: [] for name in CONFIGURATIONS}
    reasons: dict[str, set[str]] = {name: set() for name in CONFIGURATIONS}
    worked: set[str] = set()
    misses: list[Miss] = []
    with _embedding_once(context):
        for done, asked in enumerate(questions, start=1):
            for name, (arms, hops) in CONFIGURATIONS.items():
                answer = recall(context, asked.text, limit=depth * SPARE, filters=asked.filters, hops=hops, arms=arms)
                if any(answer.arms[arm].state == "on" for arm in arms):
                    worked.add(name)
                else:
                    reasons[name].update(filter(None, (answer.arms[arm].reason for arm in arms)))
                ranking = _ranking(answer.hits, asked.gold)[:depth]
                figures = metrics([new for _, new in ranking], asked.gold, ks)
                measured[name].append(figures)
                if name == "cascade" and figures.get("all-gold@5") == 0:
                    misses.append(_miss(asked, ranking, figures["nDCG@10"]))
            progress("asking", done, len(questions))
    misses.sort(key=lambda miss: (miss.ndcg, miss.line))
    return Evaluation(
        len(questions),
        sum(1 for asked in questions if not asked.gold),
        ks,
        {
            name: Scores("on", None, _means(figures), _by_category(questions, figures))
            if name in worked
            else Scores("off", "; ".join(sorted(reasons[name])), {}, {})
            for name, figures in measured.items()
        },
        misses[:MISSES],
        _unknown(context, questions),
    )


class _Once:
    """An embedder that keeps the vector of the last question: every configuration asks for it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._last: tuple[str, Vector] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed_query(self, text: str) -> Vector:
        if self._last is None or self._last[0] != text:
            self._last = text, self._embedder.embed_query(text)
        return self._last[1]


@contextmanager
def _embedding_once(context: Context) -> Iterator[None]:
    embedder = context.embedder
    context.set_embedder(cast("Embedder", _Once(embedder)))
    try:
        yield
    finally:
        context.set_embedder(embedder)


def _ranking(hits: Sequence[Hit], gold: Sequence[str]) -> list[tuple[Hit, frozenset[str]]]:
    """The hits with the gold that each is the first to bring.

    What the gold names counts once: of the chunks of a record, or of a document where documents are asked for, the
    first stands for all.
    """
    wanted = set(gold)
    whole_documents = any(hit.citation is not None and hit.citation.document in wanted for hit in hits)
    seen: set[object] = set()
    brought: set[str] = set()
    ranking = []
    for hit in hits:
        names, unit = {hit.id}, cast("object", hit.id)
        if hit.citation is not None:
            names |= {hit.citation.document, *filter(None, [hit.citation.record_id])}
            if whole_documents:
                unit = hit.citation.document
            elif hit.citation.record_id is not None and hit.id not in wanted:
                unit = hit.citation.document, hit.citation.record_id
        new = frozenset(names & wanted - brought)
        if new or unit not in seen:
            ranking.append((hit, new))
        seen.add(unit)
        brought |= new
    return ranking


def metrics(found: Sequence[frozenset[str]], gold: Sequence[str], ks: Sequence[int]) -> dict[str, float]:
    """The figures of one question, 0 to 1; `found` has, for each place of the ranking, the gold that is new there.

    nDCG is that of Järvelin and Kekäläinen (2002) with binary gains, discounted by log2(place + 1).
    """
    if not gold:
        return {"unanswered": float(not found)}
    places = [place for place, new in enumerate(found, start=1) for _ in new]
    figures = {f"R@{k}": sum(place <= k for place in places) / len(gold) for k in ks}
    figures["all-gold@5"] = float(sum(place <= ALL_WITHIN for place in places) == len(gold))
    gained = sum(1 / math.log2(place + 1) for place in set(places) if place <= DEPTH)
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(len(gold), DEPTH) + 1))
    figures["nDCG@10"] = gained / ideal
    figures["MRR"] = 1 / places[0] if places else 0.0
    return figures


def _miss(asked: Question, ranking: Sequence[tuple[Hit, frozenset[str]]], ndcg: float) -> Miss:
    first = ranking[:ALL_WITHIN]
    brought = {name for _, new in first for name in new}
    return Miss(
        asked.line,
        asked.id,
        asked.category,
        asked.text,
        round(ndcg, 6),
        tuple(name for name in asked.gold if name not in brought),
        tuple(Returned(hit.id, hit.name, hit.score) for hit, _ in first),
    )


def _means(measured: Sequence[dict[str, float]]) -> dict[str, Score]:
    """The mean of each figure over the questions that have it, with its percentile bootstrap interval."""
    import numpy as np  # noqa: PLC0415

    scores: dict[str, Score] = {}
    for names, rows in _columns(measured):
        values = np.array(rows, dtype=np.float64)
        random = np.random.default_rng(SEED)
        samples = np.stack(
            [values[random.integers(0, len(values), len(values))].mean(axis=0) for _ in range(RESAMPLES)]
        )
        low, high = np.percentile(samples, (2.5, 97.5), axis=0)
        for name, mean, least, most in zip(names, values.mean(axis=0), low, high, strict=True):
            scores[name] = Score(round(float(mean), 6), round(float(least), 6), round(float(most), 6))
    return scores


def _columns(measured: Sequence[dict[str, float]]) -> Iterator[tuple[list[str], list[list[float]]]]:
    """The figures with gold, then those without, each as names and a row for each question."""
    for without in (False, True):
        part = [figures for figures in measured if ("unanswered" in figures) is without]
        if part:
            yield list(part[0]), [list(figures.values()) for figures in part]


def _by_category(questions: Sequence[Question], measured: Sequence[dict[str, float]]) -> dict[str, Category]:
    parts: dict[str, list[dict[str, float]]] = defaultdict(list)
    for asked, figures in zip(questions, measured, strict=True):
        if asked.category is not None:
            parts[asked.category].append(figures)
    categories = {}
    for category, part in sorted(parts.items()):
        scores = {
            name: round(sum(row[place] for row in rows) / len(rows), 6)
            for names, rows in _columns(part)
            for place, name in enumerate(names)
        }
        categories[category] = Category(len(part), scores)
    return categories


def _unknown(context: Context, questions: Sequence[Question]) -> list[tuple[int, str]]:
    """Gold that is neither a node nor a record: most often a slip in the file of questions."""
    gold = json.dumps(sorted({name for asked in questions for name in asked.gold}))
    unknown = {
        name
        for (name,) in context.database.rows(
            "select value from json_each(?) where value not in (select key from node)"
            " and value not in (select record_id from chunk where record_id is not null)",
            (gold,),
        )
    }
    return [(asked.line, name) for asked in questions for name in asked.gold if name in unknown]
