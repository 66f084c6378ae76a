"""SPEED.md and the plot of growth, made from the figures that the bench keeps in `speed.json`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

IN_UNITS = 100
"""A goal from here on is no ratio."""

COMMAND = "python -m tests.bench.scale --chunks {sizes} --write"

FIGURES, PAGE, PLOT = "speed.json", "SPEED.md", "speed.svg"

MAY_OUTGROW = ("rebuild, vectors salvaged", "indexing")
"""Figures that may grow faster than the data, by their first words."""

DIGITS = 4
"""Significant digits that are kept: no figure is measured to more."""

ROOM = 1.02
"""Growth up to this part of the data's is no faster than it: nobody measures a time more closely."""

Figure = Mapping[str, Any]


def write(said: Mapping[str, Any], folder: Path = HERE) -> None:
    """Keep the figures of a run, and make the page and the plot anew."""
    rows = [{name: rounded(value) for name, value in row.items()} for row in said["rows"]]
    text = json.dumps({**said, "rows": rows}, indent=1, ensure_ascii=False) + "\n"
    for name, content in ((FIGURES, text), (PAGE, page(rows)), (PLOT, plot(growth(rows)))):
        (folder / name).write_text(content, encoding="utf-8", newline="\n")


def rounded(value: object) -> object:
    """A number as far as it was measured."""
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def page(rows: Sequence[Figure]) -> str:
    """SPEED.md: every figure as a ratio, with its goal, and how each grows with the store."""
    sizes_made = sorted({row["size"] for row in rows if row["what"] == "chunks"})
    command = COMMAND.format(sizes=",".join(map(str, sizes_made)))
    lines = [
        "# Speed and size",
        "",
        f"Made by `{command}`, on one machine: a ratio tells what memdb adds to what anyone can run there.",
        "",
        "| figure | of | ratio | goal | | measured against |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        if row["figure"].startswith("growth of") or (row["goal"] is None and row["against"] is None):
            continue
        of = "" if row["size"] is None else f"{row['size']:,} {row['what']}"
        goal = "" if row["goal"] is None else f"{'≥' if row['at_least'] else '≤'} {row['goal']:.3g}"
        if row["goal"] is not None and row["goal"] >= IN_UNITS:
            goal = f"≤ {row['goal']:.0f} {row['unit']}"
        met = {True: "yes", False: "no", None: ""}[row["is_met"]]
        ratio = f"{row['ratio']:.2f}" if row["against"] is not None else f"{row['value']:.0f} {row['unit']}"
        lines.append(f"| {row['figure']} | {of} | {ratio} | {goal} | {met} | {row['baseline']} |")
    grown = growth(rows)
    for what, figures in grown.items():
        sizes = sorted({size for values in figures.values() for size in values})
        lines += [
            "",
            f"## Growth with the {what}",
            "",
            f"How many times what it is at {sizes[0]:,} {what}. {verdict(figures)}",
            "",
            f"| | {' | '.join(f'{size:,}' for size in sizes)} |",
            "|---" * (len(sizes) + 1) + "|",
        ]
        for figure, values in figures.items():
            told = (f"{values[size]:.2f}" if size in values else "" for size in sizes)
            lines.append(f"| {figure} | {' | '.join(told)} |")
    if grown:
        lines += ["", f"![Growth of each figure with the store, both on a logarithmic scale]({PLOT})"]
    return "\n".join(lines) + "\n"


def growth(rows: Sequence[Figure]) -> dict[str, dict[str, dict[int, float]]]:
    """Of each unit of size, of each figure that was taken at several sizes: by size, how often the smallest's value."""
    values: dict[str, dict[str, dict[int, float]]] = {}
    for row in rows:
        if row["figure"].startswith("growth of") or row["size"] is None or row["unit"] == "share":
            continue
        values.setdefault(row["what"], {}).setdefault(row["figure"], {})[row["size"]] = row["value"]
    found: dict[str, dict[str, dict[int, float]]] = {}
    for what, figures in values.items():
        for figure, by_size in figures.items():
            first = by_size[min(by_size)]
            if len(by_size) > 1 and first:
                found.setdefault(what, {})[figure] = {size: by_size[size] / first for size in sorted(by_size)}
    return found


def outgrown(figures: Mapping[str, Mapping[int, float]]) -> list[str]:
    """The figures that grow faster than the data and should not."""
    return [
        figure
        for figure, values in figures.items()
        if not figure.startswith(MAY_OUTGROW)
        and any(value > ROOM * size / min(values) for size, value in values.items())
    ]


def verdict(figures: Mapping[str, Mapping[int, float]]) -> str:
    """In words, whether something grows faster than the data."""
    faster = outgrown(figures)
    return f"Faster than the data: {', '.join(faster)}." if faster else "Nothing grows faster than the data."


WIDTH, HEIGHT, MARGIN, LEGEND = 640, 400, 48, 210
COLOURS = ("#1b6ca8", "#c0392b", "#27864a", "#8e44ad", "#b9770e", "#117a8b", "#6c4f3d", "#555f6b")


def plot(grown: Mapping[str, Mapping[str, Mapping[int, float]]]) -> str:
    """An SVG of growth against size, both logarithmic: a straight dashed line is the data's own."""
    curves = [
        (
            f"{figure} ({what})" if len(grown) > 1 else figure,
            {size / min(values): value for size, value in values.items()},
        )
        for what, figures in grown.items()
        for figure, values in figures.items()
    ]
    most = max((step for _, values in curves for step in values), default=10.0)
    top = max([most, *(value for _, values in curves for value in values.values())])
    low = min([1.0, *(value for _, values in curves for value in values.values())])

    def at(step: float, value: float) -> str:
        x = MARGIN + (WIDTH - 2 * MARGIN) * math.log(step) / math.log(most)
        y = HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * math.log(value / low) / math.log(top / low)
        return f"{x:.1f},{y:.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + LEGEND} {HEIGHT}" font-family="sans-serif"'
        ' font-size="12">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        line((at(1, 1), at(most, most)), "#999", 'stroke-dasharray="6 4"'),
    ]
    for power in range(int(math.log10(most)) + 1):
        x, y = at(10.0**power, low).split(",")
        parts.append(f'<text x="{x}" y="{float(y) + 20:.1f}" text-anchor="middle">×{10**power:,}</text>')
    for power in range(math.ceil(math.log10(low)), int(math.log10(top)) + 1):
        x, y = at(1, 10.0**power).split(",")
        parts.append(f'<text x="{float(x) - 6:.1f}" y="{y}" text-anchor="end">×{10.0**power:,g}</text>')
    for number, (name, values) in enumerate([("the data", {}), *curves]):
        colour = "#999" if not number else COLOURS[(number - 1) % len(COLOURS)]
        if values:
            parts.append(line([at(step, value) for step, value in sorted(values.items())], colour))
        down = MARGIN + 20 * number
        parts.append(f'<rect x="{WIDTH - 20}" y="{down - 9}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{WIDTH}" y="{down + 1}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def line(points: Sequence[str], colour: str, more: str = "") -> str:
    """A line through points."""
    return f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="2" {more}/>'
