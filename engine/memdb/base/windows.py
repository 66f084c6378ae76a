"""Cutting a long text into passages that an embedding model can read whole.

Where a passage ends depends on the text around the cut and not on what came long before it, so an edit
changes the passages near it and leaves the others, with their vectors, as they were.
"""

from __future__ import annotations

import re
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

Span = tuple[int, int]
OffsetsOf = Callable[[str], Sequence[Span]]

# Prose has 4 to 5 characters per token and indented code about 6. A text with more is one that the tokenizer
# cannot read (base64 of any length is a single unknown token), and only this cap cuts it.
MAX_CHARACTERS_PER_TOKEN = 8

# A cut is looked for in the last half of a full window: there is a choice, and passages stay well filled.
MIN_FILL = 0.5

# Tokenizers slow down or take much memory on one huge string; a slab of this size is read in about 15 ms.
SLAB_CHARACTERS = 8192

_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\r|\n)|[^\r\n]++")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
# The look-behind keeps a megabyte of dots linear: without it each dot would start a run of its own.
_SENTENCE_END = re.compile(r"(?<![.!?…।॥؟])[.!?…।॥؟]++[\"'”’)\]]*+(?=\s)|[。！？｡]++[」』”’）]*+")
_NOT_SPACE = re.compile(r"\S")

# How natural a place is for a cut, best first.
_PARAGRAPH, _LINE_BREAK, _SENTENCE, _WORD, _HARD = range(5)


class _Unit(NamedTuple):
    """A stretch of text that is not cut any further; `level` says how natural a cut before it is."""

    start: int
    end: int
    tokens: int
    level: int


def windows(text: str, max_tokens: int, offsets_of: OffsetsOf) -> list[Span]:
    """The passages of `text` as (start, end) in characters, in order, disjoint, all non-space text covered.

    A text that fits is one passage. A longer one is cut at every markdown heading, then within a section at
    paragraphs, lines, sentences and words, in that order of preference, and inside a word when nothing else
    is left. `offsets_of` gives the (start, end) of each token of a string, without special tokens; these are
    what `max_tokens` counts. No passage is longer than `MAX_CHARACTERS_PER_TOKEN * max_tokens` characters.
    Raises ValueError when `max_tokens` is less than 1.
    """
    if max_tokens < 1:
        raise ValueError(f"max_tokens must be at least 1, got {max_tokens}")
    whole = _trim(text, 0, len(text))
    if whole is None:
        return []
    cutter = _Cutter(text, max_tokens, offsets_of)
    if cutter.fits(*whole):
        return [whole]
    passages: list[Span] = []
    for start, end in _sections(text):
        passages.extend(cutter.passages(start, end))
    return passages


def _trim(text: str, start: int, end: int) -> Span | None:
    """The span without the white space around it; None when nothing else is in it."""
    first = _NOT_SPACE.search(text, start, end)
    if first is None:
        return None
    while text[end - 1].isspace():
        end -= 1
    return first.start(), end


def _sections(text: str) -> list[Span]:
    """The text cut before each heading outside fenced code; a heading without a body joins the next one."""
    cuts = [0]
    fence = ""
    has_body = False
    for line in _LINE.finditer(text):
        mark = _FENCE.match(text, line.start(), line.end())
        info = text[mark.end() : line.end()] if mark else ""
        if fence:
            if mark and mark[1].startswith(fence) and not info.strip():
                fence = ""
        elif mark and not (mark[1][0] == "`" and "`" in info):
            fence, has_body = mark[1], True
        elif _HEADING.match(text, line.start(), line.end()):
            if has_body:
                cuts.append(line.start())
            has_body = False
        elif not line[0].isspace():
            has_body = True
    return list(pairwise([*cuts, len(text)]))


class _Cutter:
    """Cuts the sections of one text."""

    def __init__(self, text: str, max_tokens: int, offsets_of: OffsetsOf) -> None:
        self.text = text
        self.max_tokens = max_tokens
        self.max_characters = max_tokens * MAX_CHARACTERS_PER_TOKEN
        self.offsets_of = offsets_of

    def fits(self, start: int, end: int) -> bool:
        """Whether the model reads all of this span."""
        return end - start <= self.max_characters and self.count(start, end) <= self.max_tokens

    def count(self, start: int, end: int) -> int:
        return len(self.offsets_of(self.text[start:end]))

    def passages(self, start: int, end: int) -> Iterator[Span]:
        """The passages of one section."""
        units = list(self._paragraph_units(start, end))
        for first, last in self._packed(units):
            yield from self._verified(units[first:last])

    def _verified(self, units: list[_Unit]) -> Iterator[Span]:
        """One passage, or several where the tokens of the parts do not add up to the tokens of the whole."""
        span = _trim(self.text, units[0].start, units[-1].end)
        if span is None:
            return
        if self.fits(*span):
            yield span
        elif len(units) > 1:
            middle = len(units) // 2
            yield from self._verified(units[:middle])
            yield from self._verified(units[middle:])
        elif span[1] - span[0] > 1:
            half = (span[0] + span[1]) // 2
            for start, end in ((span[0], half), (half, span[1])):
                yield from self._verified([_Unit(start, end, 0, _HARD)])
        else:
            # One character of several tokens (an emoji in a byte-level model) is more than the window holds.
            yield span

    def _packed(self, units: list[_Unit]) -> Iterator[Span]:
        """Groups of units (first, last + 1) that fit together."""
        first = 0
        while first < len(units):
            tokens = characters = 0
            last = first
            choices: list[int] = []
            while last < len(units):
                unit = units[last]
                tokens += unit.tokens
                characters += unit.end - unit.start
                if last > first and (tokens > self.max_tokens or characters > self.max_characters):
                    break
                last += 1
                full = max(tokens / self.max_tokens, characters / self.max_characters)
                if full >= MIN_FILL and last < len(units):
                    choices.append(last)
            if last < len(units):
                last = min(choices or [last], key=lambda at: (*self._preference(units[at]), -at))
            yield first, last
            first = last

    def _preference(self, unit: _Unit) -> tuple[int, int]:
        """Order of places to cut: the most natural, then by a checksum of the text that follows.

        The checksum makes two runs that start at different places agree on the same cut as soon as both see
        it (content-defined chunking), which is what keeps an edit local.
        """
        following = self.text[unit.start : unit.end]
        return unit.level, zlib.crc32(following.encode("utf-8", "surrogatepass"))

    def _paragraph_units(self, start: int, end: int) -> Iterator[_Unit]:
        for span in self._groups_of_lines(start, end):
            yield from self._units(*span, _PARAGRAPH)

    def _groups_of_lines(self, start: int, end: int) -> Iterator[Span]:
        """Paragraphs: lines up to and including the blank lines that follow them."""
        begin, blank = start, False
        for line in _LINE.finditer(self.text, start, end):
            if line[0].isspace():
                blank = True
            elif blank:
                yield begin, line.start()
                begin, blank = line.start(), False
        if begin < end:
            yield begin, end

    def _units(self, start: int, end: int, level: int) -> Iterator[_Unit]:
        """The span as one unit when it fits, else its parts of the next finer level."""
        if end - start <= self.max_characters:
            tokens = self.count(start, end)
            if tokens <= self.max_tokens:
                yield _Unit(start, end, tokens, level)
                return
        if level == _SENTENCE:
            yield from self._word_units(start, end)
            return
        pattern = _LINE if level == _PARAGRAPH else _SENTENCE_END
        cuts = [match.end() for match in pattern.finditer(self.text, start, end)]
        for number, (part_start, part_end) in enumerate(pairwise(_bounds(start, cuts, end))):
            for unit in self._units(part_start, part_end, level + 1):
                # A cut before the first part is as natural as one before the unit that it begins.
                is_first = number == 0 and unit.start == start
                yield unit._replace(level=level) if is_first else unit

    def _word_units(self, start: int, end: int) -> Iterator[_Unit]:
        """Words, and parts of a word where a single one is larger than the window."""
        is_first = True
        for slab_start, slab_end in self._slabs(start, end):
            offsets = self.offsets_of(self.text[slab_start:slab_end])
            starts = [slab_start + offset[0] for offset in offsets]
            cuts = [at for at in starts if at > slab_start and self.text[at - 1].isspace()]
            for word_start, word_end in pairwise(_bounds(slab_start, cuts, slab_end)):
                low, high = bisect_left(starts, word_start), bisect_left(starts, word_end)
                level = _SENTENCE if is_first else _WORD
                is_first = False
                if high - low <= self.max_tokens and word_end - word_start <= self.max_characters:
                    yield _Unit(word_start, word_end, high - low, level)
                else:
                    yield from self._hard_units(word_start, word_end, starts[low:high], level)

    def _hard_units(self, start: int, end: int, token_starts: list[int], level: int) -> Iterator[_Unit]:
        """A text without spaces, cut before its tokens, or at the character cap where a token is larger."""
        for piece_start, piece_end in pairwise(_bounds(start, token_starts, end)):
            for at in range(piece_start, piece_end, self.max_characters):
                yield _Unit(at, min(at + self.max_characters, piece_end), 1, level)
                level = _HARD

    def _slabs(self, start: int, end: int) -> Iterator[Span]:
        """Stretches of at most `SLAB_CHARACTERS`, ending after white space where there is any."""
        while end - start > SLAB_CHARACTERS:
            cut = start + SLAB_CHARACTERS
            while cut > start + SLAB_CHARACTERS // 2 and not self.text[cut - 1].isspace():
                cut -= 1
            if not self.text[cut - 1].isspace():
                cut = start + SLAB_CHARACTERS
            yield start, cut
            start = cut
        yield start, end


def _bounds(start: int, cuts: Sequence[int], end: int) -> list[int]:
    """The cuts with both ends, each once, in order."""
    bounds = [start]
    for cut in cuts:
        if bounds[-1] < cut < end:
            bounds.append(cut)
    bounds.append(end)
    return bounds
