"""How an item of the review looks on a terminal of any width, with or without colours."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from memdb_cli import screen
from memdb_cli.screen import Part

if TYPE_CHECKING:
    from memdb.services.review.review_items import Answered, Choice, Line, ReviewItem

WIDEST = 100
"""Columns that a line of text takes at most: longer ones are hard to read."""

NARROWEST = 20
"""Columns below which lines are no longer fitted: a word has to stand somewhere."""

INDENTS = {"side": 2, "source": 4, "quote": 6, "fact": 2, "hint": 2}
STYLES = {"side": "yellow", "source": "cyan", "quote": "", "fact": "", "hint": "dim"}

KEYS = (
    ("s", "skip"),
    ("b", "back"),
    ("u", "undo"),
    ("v", "view all"),
    ("?", "help"),
    ("q", "quit"),
)
"""What the keys do for every item."""

HELP = (
    ("s", "skip", "leave the item for another time"),
    ("b", "back", "show the item before this one again"),
    ("u", "undo", "take back the last answer of this review, and show its item again"),
    ("v", "view all", "show the item in full, where it is cut"),
    ("q", "quit", "stop here; what was answered stays answered"),
)

FRAME_LINES = 8
"""Lines of a screen that an item needs beside its detail: heading, keys, question."""


def columns() -> int:
    """Columns for a line of text."""
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size().columns - 1))


def rows() -> int:
    """Lines of detail that fit on a screen together with the choices."""
    return max(4, shutil.get_terminal_size().lines - FRAME_LINES)


def wrapped(text: str, width: int, indent: int = 0, hang: int | None = None) -> list[str]:
    """A text in lines of at most so many columns, at spaces where it has some; `hang` indents all but the first."""
    first, rest = (" " * min(spaces, width // 2) for spaces in (indent, indent if hang is None else hang))
    lines: list[str] = []
    line = ""
    for word in filter(None, text.split(" ")):
        for number, piece in enumerate(_pieces(word, width - max(len(first), len(rest)))):
            gap = " " if line and number == 0 else ""
            room = width - len(rest if lines else first)
            if line and screen.width(line + gap + piece) > room:
                lines.append((rest if lines else first) + line)
                line, gap = "", ""
            line += gap + piece
    return [*lines, (rest if lines else first) + line]


def _pieces(word: str, width: int) -> Iterator[str]:
    """A word, or the parts of one that is wider than a line."""
    piece, taken = "", 0
    for char in word:
        wide = screen.width(char)
        if piece and taken + wide > width:
            yield piece
            piece, taken = "", 0
        piece += char
        taken += wide
    yield piece


def detail(lines: Sequence[Line], width: int) -> list[list[Part]]:
    """The detail of an item, fitted to a width; hidden characters are written out and nothing is obeyed."""
    found: list[list[Part]] = []
    for line in lines:
        text = screen.cell(line.text)
        quoted = f'"{text}"' if line.role == "quote" else text
        indent = INDENTS[line.role]
        found += [[(one, STYLES[line.role])] for one in wrapped(quoted, width, indent, indent + 1)]
    return found


def item(shown: ReviewItem, place: int, total: int, *, whole: bool = False) -> None:
    """Write an item with its choices; without `whole`, as much of its detail as a screen takes."""
    screen.lines([[("", "")]])
    _head(shown, f"{place} of {total}")
    fitted = detail(shown.detail, columns())
    most = max(4, rows() - len(shown.choices))
    cut = 0 if whole else max(0, len(fitted) - most)
    screen.lines(fitted[: len(fitted) - cut])
    if cut:
        screen.lines([[(f"  {screen.counted(cut, 'line')} more: press v", "dim")]])
    screen.lines([[("", "")]])
    for choice in shown.choices:
        _choice(choice)
    # A key stays on the line of its name.
    keys = " ".join(f"{key}\xa0{name}\xa0".replace(" ", "\xa0") for key, name in KEYS)
    screen.lines([[(line.replace("\xa0", " "), "dim")] for line in wrapped(keys, columns(), 1)])


def shown(item: ReviewItem) -> None:
    """Write an item in full, outside of a review."""
    _head(item, item.id)
    screen.lines(detail(item.detail, columns()))
    for choice in item.choices:
        _choice(choice)


def answered(done: Answered) -> None:
    """Write what an answer did, and what takes it back, whole on its line: it is copied from here."""
    said = wrapped(screen.cell(done.said), columns())
    back = f"undo: memdb undo {done.decision}" if done.decision else ""
    fits = screen.width(said[-1]) + 3 + len(back) <= columns() or not screen.is_terminal(sys.stdout)
    screen.lines([[(line, "green")] for line in said[:-1]])
    screen.lines([[(said[-1], "green"), (f"   {back}" if fits else "", "dim")]])
    if not fits:
        screen.lines([[(f"  {back}", "dim")]])


def _head(item: ReviewItem, first: str) -> None:
    since = f"since {item.since[:10]}" if item.since else ""
    screen.lines([[(f"{screen.dot()} ".join(part for part in (first, item.kind, since) if part), "dim")]])
    screen.lines([[(line, "bold")] for line in wrapped(screen.cell(item.title), columns())])


def _choice(choice: Choice) -> None:
    width, indent = columns(), 3
    head = [(f"{choice.key:>{indent - 1}} ", "bold green")]
    told = wrapped(f"{choice.name}: {screen.cell(choice.does)}", width - indent)
    for number, line in enumerate(told):
        parts = head if number == 0 else [(" " * indent, "")]
        screen.lines([[*parts, (line, "")]])


def help_text(shown: ReviewItem) -> None:
    """Write what every key does for this item."""
    width = columns()
    screen.lines([[("", "")]])
    for choice in shown.choices:
        _choice(choice)
        if choice.asks:
            screen.lines([[(one, "dim")] for one in wrapped(f"asks for a text: {choice.asks}", width, 6)])
    for key, name, does in HELP:
        told = wrapped(f"{name}: {does}", width - 3)
        screen.lines([[(f"{key:>2} ", "bold green"), (told[0], "")]])
        screen.lines([[(f"   {line}", "")] for line in told[1:]])
    screen.lines(
        [[(one, "dim")] for one in wrapped("One key each, no Enter. Every answer can be undone: memdb undo ID.", width)]
    )


def plain(items: Sequence[ReviewItem]) -> None:
    """Write the queue as a list: what waits, and how it can be answered."""
    screen.table(
        ("id", "what waits", "answers"),
        [(item.id, item.title, ", ".join(choice.name for choice in item.choices if choice.here)) for item in items],
    )
