"""The words of a page, with their boxes, as paragraphs in the order in which a person reads them.

A PDF draws words in any order. The page is cut into columns and bands at the white space between them (the recursive
XY cut of Nagy and Seth, 1984); where it has no columns, lines go from top to bottom.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from statistics import median
from typing import NamedTuple


class Word(NamedTuple):
    """A word and its box in points, from the lower left corner of the page."""

    text: str
    left: float
    bottom: float
    right: float
    top: float


@dataclass(slots=True)
class Line:
    """Words on one height without a gap as wide as a gutter between them."""

    words: list[Word]

    @property
    def left(self) -> float:
        return self.words[0].left

    @property
    def right(self) -> float:
        return max(word.right for word in self.words)

    @property
    def top(self) -> float:
        return max(word.top for word in self.words)

    @property
    def bottom(self) -> float:
        return min(word.bottom for word in self.words)

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)


# In line heights. The space between words is about a quarter of one, also in loosely justified text below one; the
# white space between columns is one and a half and more.
_GUTTER = 1.4

# Lines on each side that make white space a gutter between columns. Fewer are a table or a letterhead.
_COLUMN_LINES = 4

# Words in an ordinary line of a column of prose; the cells of a table have fewer, and are read row by row.
_COLUMN_WORDS = 3.5

# A gap between two lines this much larger than the ordinary one begins a paragraph.
_PARAGRAPH_GAP = 1.35

# In line heights: the gap that begins a paragraph whatever the ordinary one. Lines with double spacing are near it.
_LARGEST_GAP = 1.2

# Stretches of a page that are tried for columns: a page of 60 lines with a title and a foot needs about 100, and this
# many take 0.2 s on one that is all table.
_MOST_STRETCHES = 500

# Nesting of columns and bands; a magazine page has three.
_DEEPEST = 8


def paragraphs(words: Sequence[Word], marks: Sequence[float] = ()) -> list[tuple[str, float]]:
    """The paragraphs in reading order, each with the bottom of its first line; words cut at line ends are whole.

    A paragraph never runs over one of the heights in `marks`: a heading of the outline begins there.
    """
    found: list[tuple[str, float]] = []
    for group in _ordered(lines_of(words), 0):
        rows = _rows(group)
        gaps = [above.bottom - below.top for above, below in pairwise(rows)]
        height = median(row.top - row.bottom for row in rows)
        # The lower quarter: on a page of short paragraphs most gaps are those between them.
        usual = max(sorted(gaps)[len(gaps) // 4], 0.0) if gaps else 0.0
        limit = min(usual * _PARAGRAPH_GAP + 0.15 * height, _LARGEST_GAP * height)
        begin = 0
        for number, gap in enumerate([*gaps, float("inf")]):
            marked = number + 1 < len(rows) and any(
                is_below(rows[number + 1].bottom, mark) and not is_below(rows[number].bottom, mark) for mark in marks
            )
            if gap > limit or marked:
                part = rows[begin : number + 1]
                found.append((_joined([row.text for row in part]), part[0].bottom))
                begin = number + 1
    return found


def is_below(bottom: float, mark: float) -> bool:
    """Whether a line belongs to the heading that a bookmark at height `mark` points to.

    Bookmarks point above their heading or, in print made from DocBook and TeX, at its baseline.
    """
    return bottom <= mark + 2.0


def lines_of(words: Sequence[Word]) -> list[Line]:
    """Words of one height together, left to right, cut where a gutter may run."""
    lines: list[list[Word]] = []
    for word in sorted(words, key=lambda word: (-(word.top + word.bottom) / 2, word.left)):
        for line in lines[-3:]:
            if _on_one_height(line[0], word):
                line.append(word)
                if word.top - word.bottom > line[0].top - line[0].bottom:
                    line[0], line[-1] = word, line[0]  # the tallest stands for the line
                break
        else:
            lines.append([word])
    found: list[Line] = []
    for line in lines:
        line.sort(key=lambda word: word.left)
        height = max(word.top - word.bottom for word in line)
        part = [line[0]]
        for before, word in pairwise(line):
            if word.left - before.right > _GUTTER * height:
                found.append(Line(part))
                part = []
            part.append(word)
        found.append(Line(part))
    return found


def _on_one_height(one: Word | Line, other: Word | Line) -> bool:
    """Whether at least half of the lower of two boxes is beside the other: an asterisk is beside its word."""
    shared = min(one.top, other.top) - max(one.bottom, other.bottom)
    return shared >= 0.5 * min(one.top - one.bottom, other.top - other.bottom)


def _ordered(lines: list[Line], depth: int) -> Iterator[list[Line]]:
    """The lines in groups that are read one after the other."""
    if not lines:
        return
    columns = _columns(lines) if depth < _DEEPEST else []
    if columns:
        for column in columns:
            yield from _ordered(column, depth + 1)
        return
    bands = _bands(lines) if depth < _DEEPEST else []
    if not bands:
        yield lines
        return
    for band in bands:
        yield from _ordered(band, depth + 1)


def _columns(lines: list[Line]) -> list[list[Line]]:
    """Two groups with white space between them from top to bottom; none when they are not columns of prose."""
    height = median(line.top - line.bottom for line in lines)
    for gutter_left, gutter_right in _white(sorted((line.left, line.right) for line in lines)):
        if gutter_right - gutter_left < _GUTTER / 2 * height:
            continue
        left = [line for line in lines if line.right <= gutter_left + 0.01]
        right = [line for line in lines if line.left >= gutter_right - 0.01]
        if all(_is_prose(side) for side in (left, right)):
            return [left, right]
    return []


def _is_prose(lines: list[Line]) -> bool:
    return len(lines) >= _COLUMN_LINES and _is_wordy(median(len(line.words) for line in lines))


def _is_wordy(words: float) -> bool:
    return words >= _COLUMN_WORDS


def _bands(lines: list[Line]) -> list[list[Line]]:
    """What stands above columns, the columns, and what stands below them; empty when there are none.

    Of all stretches between two horizontal cuts the topmost that has columns is taken, as long as it can be.
    """
    tops = sorted((top for _, top in _white(sorted((line.bottom, line.top) for line in lines))), reverse=True)
    bands: list[list[Line]] = [[] for _ in range(len(tops) + 1)]
    for line in lines:
        bands[bisect_left(tops, -line.middle, key=lambda top: -top)].append(line)
    beside = [len(_rows(band)) < len(band) and any(_is_wordy(len(line.words)) for line in band) for band in bands]
    ends = [end for end in range(len(bands), 0, -1) if beside[end - 1]]
    stretches = ((first, end) for first in range(len(bands)) if beside[first] for end in ends if end > first)
    for first, end in islice(stretches, _MOST_STRETCHES):
        middle = list(chain.from_iterable(bands[first:end]))
        if (first or end < len(bands)) and _columns(middle):
            parts = (list(chain.from_iterable(bands[:first])), middle, list(chain.from_iterable(bands[end:])))
            return [part for part in parts if part]
    return []


def _white(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The gaps that no span covers, between the first and the last; spans are sorted."""
    gaps: list[tuple[float, float]] = []
    reach = spans[0][1] if spans else 0.0
    for start, end in spans:
        if start > reach:
            gaps.append((reach, start))
        reach = max(reach, end)
    return gaps


def _rows(lines: list[Line]) -> list[Line]:
    """Lines of one height as one: the cells of a table's row, left to right."""
    rows: list[Line] = []
    for line in sorted(lines, key=lambda line: (-line.middle, line.left)):
        if rows and _on_one_height(rows[-1], line):
            rows[-1].words.extend(line.words)
            rows[-1].words.sort(key=lambda word: word.left)
        else:
            rows.append(Line(list(line.words)))
    return rows


def _joined(lines: list[str]) -> str:
    """Lines one below the other; a word that a soft hyphen cuts (U+0002 or U+00AD, as PDFium marks it) is whole."""
    text = lines[0]
    for line in lines[1:]:
        cut = text.endswith(("\x02", "\xad", "\ufffe"))
        text = text[:-1] + line if cut else f"{text}\n{line}"
    return text.rstrip("\x02\xad\ufffe").replace("\x02", "-").replace("\ufffe", "-")
