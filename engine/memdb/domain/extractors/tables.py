"""CSV and TSV: one record for each row, with the names of its columns."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import chain, islice

from memdb.domain.extractors.blocks import Block, Extracted
from memdb.domain.extractors.fields import record_block
from memdb.domain.extractors.reading import Line, Source
from memdb.domain.extractors.text import paragraphs

# Lines that are looked at to tell the delimiter.
_SAMPLE_LINES = 50

# Comma first: of two delimiters that fit equally well the more usual one is taken.
_DELIMITERS = (",", "\t", ";", "|")

_NUMBER = re.compile(r"[-+]?[\d.,]*\d[\d.,%]*|\d{4}-\d\d-\d\d.*")


class Tables:
    """Rows of values with a delimiter; quotes, line ends inside cells and a missing header row are understood."""

    name, version = "table", 2
    suffixes = frozenset({".csv", ".tsv", ".tab", ".psv"})

    def accepts(self, name: str, head: bytes) -> bool:
        return False  # any text with commas could be one; the name decides

    def extract(self, source: Source) -> Extracted:
        extracted = Extracted(self.name, None, ())
        extracted.blocks = self._blocks(source, extracted.warnings)
        return extracted

    def _blocks(self, source: Source, warnings: list[str]) -> Iterator[Block]:
        lines = source.lines()
        sample = list(islice(lines, _SAMPLE_LINES))
        delimiter = delimiter_of([line.text for line in sample], source.suffix)
        names: list[str] | None = None
        rows = _Rows(chain(sample, lines), delimiter, warnings)
        for cells, start, end, raw in rows:
            if cells is None:
                yield from paragraphs(raw)
                continue
            if not any(cell.strip() for cell in cells):
                continue
            if names is None:
                names = column_names(cells)
                if names:
                    continue
            block = record_block(_named(cells, names), start, end, tell_id=True)
            if block is not None:
                yield block
        if rows.empty_below_header and names:
            yield Block(", ".join(names), start_line=1, end_line=1)


class _Rows:
    """The rows with their first and last line; of a row that cannot be read, its lines instead of cells."""

    def __init__(self, lines: Iterator[Line], delimiter: str, warnings: list[str]) -> None:
        self.lines = lines
        self.warnings = warnings
        self.held: list[Line] = []
        self.given = 0
        self.reader = csv.reader(self._feed(), delimiter=delimiter)

    @property
    def empty_below_header(self) -> bool:
        return self.given < 2

    def _feed(self) -> Iterator[str]:
        for line in self.lines:
            self.held.append(line)
            yield line.text + "\n"

    def __iter__(self) -> Iterator[tuple[list[str] | None, int, int, list[Line]]]:
        while True:
            self.held = []
            cells: list[str] | None = None
            try:
                cells = next(self.reader)
            except StopIteration:
                return
            except csv.Error as error:
                if self.held:
                    self.warnings.append(f"line {self.held[0].number}: not a readable row ({error}); kept as text")
            if self.held:
                self.given += bool(self.held[0].text.strip())
                yield cells, self.held[0].number, self.held[-1].number, self.held


def delimiter_of(lines: list[str], suffix: str) -> str:
    """The delimiter that cuts most rows into the same number of cells, more cells before fewer."""
    if suffix in (".tsv", ".tab"):
        return "\t"
    best, best_score = ",", 0.0
    for delimiter in _DELIMITERS:
        widths: list[int] = []
        try:
            widths.extend(len(row) for row in csv.reader((line + "\n" for line in lines), delimiter=delimiter) if row)
        except csv.Error:
            continue
        usual = max(set(widths), key=lambda width: (widths.count(width), width), default=1)
        agreeing = widths.count(usual) / len(widths) if widths else 0.0
        score = agreeing * min(usual - 1, 3)  # beyond four columns more of them prove nothing
        if score > best_score:
            best, best_score = delimiter, score
    return best


def column_names(first_row: list[str]) -> list[str]:
    """The names in the first row; empty when it is data: a cell is a number or a date, or no name is told twice."""
    names = [cell.strip() for cell in first_row]
    told = [name for name in names if name]
    is_header = bool(told) and len(set(told)) == len(told) and not any(map(_NUMBER.fullmatch, told))
    return [name or f"column {number}" for number, name in enumerate(names, 1)] if is_header else []


def _named(cells: list[str], names: list[str] | None) -> dict[str, str]:
    named = {}
    for number, cell in enumerate(cells):
        name = names[number] if names and number < len(names) else f"column {number + 1}"
        named[name] = cell.strip()
    return named
