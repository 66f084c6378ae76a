"""The tables of quality, made from the figures that the bench keeps: `quality.json` to QUALITY.md and the README."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

FIGURES_FILE, TABLES_FILE, README = HERE / "quality.json", HERE / "QUALITY.md", HERE.parents[1] / "README.md"

BEGIN, END = "<!-- quality: made by tests.bench.quality --write -->", "<!-- end of quality -->"

COMMAND = "python -m tests.bench.quality --write"

SUITES = {
    "locomo": "LoCoMo, chat turns",
    "2wiki": "2WikiMultihopQA",
    "musique": "MuSiQue",
    "musique-given": "MuSiQue, given entities",
    "scifact": "SciFact",
}

KEPT = ("R@2", "R@5", "R@10", "nDCG@10", "all-gold@5")

COMPARED = ("vector", "keyword", "fusion", "cascade")
"""What stands beside one another in README and by category; the entity arm alone answers few questions."""

IN_CATEGORY = ("R@5", "R@10", "nDCG@10")

Figures = dict[str, dict[str, Any]]


def write(done: dict[str, Any]) -> None:
    """Put what was measured into the file of figures, beside that of other suites, and make the tables anew."""
    figures = read()
    for suite, measured in done.items():
        one = {"questions": sum(store["questions"] for store in measured["stores"])}
        one["configurations"] = {name: kept(table) for name, table in measured["table"].items()}
        one["categories"] = {
            category: {
                "questions": of_cascade["questions"],
                "configurations": {
                    name: kept(table.get("categories", {}).get(category, {}))
                    for name, table in measured["table"].items()
                },
            }
            for category, of_cascade in measured["table"]["cascade"].get("categories", {}).items()
        }
        if "without" in measured:
            one["without"] = {name: kept(table) for name, table in measured["without"].items()}
            one["refusals"] = {name: percent(share) for name, share in measured["refusals"].items()}
        figures[suite] = one
    ordered = {suite: figures[suite] for suite in SUITES if suite in figures}
    FIGURES_FILE.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
    TABLES_FILE.write_text(page(ordered), encoding="utf-8", newline="\n")
    text = README.read_text(encoding="utf-8")
    if BEGIN in text:
        before, rest = text.split(BEGIN, 1)
        _, after = rest.split(END, 1)
        README.write_text(before + section(ordered) + after, encoding="utf-8", newline="\n")


def read() -> Figures:
    """The figures of the last runs, by suite; empty where there are none."""
    return json.loads(FIGURES_FILE.read_text(encoding="utf-8")) if FIGURES_FILE.is_file() else {}


def kept(table: dict[str, Any]) -> dict[str, Any]:
    """The figures that are told, in percent, with their intervals if there are any; empty where it was off."""
    figures: dict[str, Any] = {figure: percent(table[figure]) for figure in KEPT if figure in table}
    if "intervals" in table:
        figures["intervals"] = {figure: [percent(end) for end in table["intervals"][figure]] for figure in KEPT}
    return figures


def cell(table: dict[str, Any], figure: str) -> str:
    """A figure as it stands in QUALITY.md, with its interval."""
    if figure not in table:
        return "off"
    if "intervals" not in table:
        return f"{table[figure]:.1f}"
    low, high = table["intervals"][figure]
    return f"{table[figure]:.1f} ({low:.1f}–{high:.1f})"


def percent(share: float) -> float:
    """A share as percent to one digit."""
    return round(100 * share, 1)


def by_category(categories: dict[str, Any]) -> str:
    """The table of a suite's categories: of each arm, the fusion and the cascade what IN_CATEGORY names."""
    lines = [f"| {' / '.join(IN_CATEGORY)} | {' | '.join(COMPARED)} |", "|---" * (len(COMPARED) + 1) + "|"]
    for category, one in categories.items():
        cells = (" / ".join(cell(one["configurations"][name], figure) for figure in IN_CATEGORY) for name in COMPARED)
        lines.append(f"| {category} ({one['questions']}) | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def section(figures: Figures) -> str:
    """The README's table, between its marks: the cascade of each suite beside its arms, by the suite's main figure."""
    lines = ["| | vector | keyword | fusion | with the cascade |", "|---|---|---|---|---|"]
    for suite, one in figures.items():
        for figure in TOLD[suite]:
            tables = [one["configurations"][name] for name in COMPARED]
            row = (f"{table[figure]:.1f}" if figure in table else "off" for table in tables)
            lines.append(f"| {SUITES[suite]}, {figure} | {' | '.join(row)} |")
    return "\n".join([BEGIN, *lines, END])


TOLD = {
    "locomo": ("R@5", "R@10", "nDCG@10"),
    "2wiki": ("R@2", "R@5", "all-gold@5"),
    "musique": ("R@5", "R@10"),
    "musique-given": ("R@5", "R@10"),
    "scifact": ("nDCG@10",),
}


NOT_SEEN = "on none of them the answer floor was set, on some what words and names count beside it"

ASKED = {
    "unanswerable": "questions that no text answers (those of other suites)",
    "answerable": "the suite's own",
}
"""Of which questions the refusals are measured."""


def page(figures: Figures) -> str:
    """QUALITY.md: of each suite the arms, the fusion and the cascade, by category, without each part, and refusals."""
    said = "in percent with 95 % bootstrap intervals, on the tuning part of each suite."
    parts = [f"# Quality\n\nMade by `{COMMAND}`, {said}\n"]
    for suite, one in figures.items():
        rows = [*one["configurations"].items()]
        rows += [(f"cascade without {name}", table) for name, table in one.get("without", {}).items()]
        lines = [f"| | {' | '.join(KEPT)} |", "|---" * (len(KEPT) + 1) + "|"]
        for name, table in rows:
            lines.append(f"| {name} | {' | '.join(cell(table, figure) for figure in KEPT)} |")
        parts.append(f"## {SUITES[suite]}: {one['questions']} questions\n\n" + "\n".join(lines) + "\n")
        if one["categories"]:
            parts.append(by_category(one["categories"]))
        refusals = one.get("refusals", {})
        asked = [f"{refusals[name]:.1f} % of {what}" for name, what in ASKED.items() if name in refusals]
        if asked:
            parts.append(f"Left unanswered: {', '.join(asked)}; {NOT_SEEN}.\n")
    return "\n".join(parts)
