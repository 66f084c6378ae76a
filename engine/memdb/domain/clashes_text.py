"""The sentences of a memory that can claim something: no code, tables, quotes, logs, numbered steps or comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memdb.domain.clashes_words import LOGS

LONGEST = 300
"""Characters of a sentence that is read: what is longer says more than one thing."""

_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_BULLET = re.compile(r"(\s*)[-*+•]\s+(?!\[[ xX]\])")
_SKIPPED = re.compile(r"\s*(\d+[.)]\s|[-*+]\s+\[[ xX]\]|[|>]|<|\d{4}-\d\d|\d{1,2}[./:]\d\d|v?\d+\.\d+)")
_COMMENT = re.compile(r"<!--.*?(-->|\Z)", re.DOTALL)
_DATED = re.compile(r"[\W_]*(\d{4}-\d\d(-\d\d)?|\d{1,2}[./:]\d\d)\b")
_SENTENCE = re.compile(r".+?(?:[.!?…।॥؟]+[\"'”’)\]*]*(?=\s|$)|[。！？｡]+[」』”’）]*|$)")
_ABBREVIATION = re.compile(r"(?i)\b(e\.g|i\.e|etc|vs|approx|no|dr|mr|mrs|ms|st|cf|incl|resp)\.$")


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence on one line, with the headings above it from the outermost."""

    text: str
    headings: tuple[str, ...]


def passages(description: str, body: str) -> Iterator[Passage]:
    """The sentences of a description and of a Markdown text, in reading order."""
    yield from _sentences(description, ())
    headings: list[tuple[int, str]] = []
    for kind, text in _blocks(_COMMENT.sub("", body)):
        if kind:
            headings = [(level, title) for level, title in headings if level < kind] + [(kind, text)]
        elif not any(LOGS & set(re.findall(r"\w+", title.casefold())) or _DATED.match(title) for _, title in headings):
            yield from _sentences(text, tuple(title for _, title in headings))


def _sentences(text: str, headings: tuple[str, ...]) -> Iterator[Passage]:
    if _DATED.match(text):
        return  # an entry of a log
    joined = ""
    for match in _SENTENCE.finditer(" ".join(text.split())):
        joined += match[0]
        if _ABBREVIATION.search(joined):
            continue
        sentence, joined = joined.strip(), ""
        if len(sentence) <= LONGEST:
            yield Passage(sentence, headings)


def _blocks(body: str) -> Iterator[tuple[int, str]]:
    """Headings with their level, and paragraphs and items of lists with level 0, each on one line."""
    fence = ""
    lines: list[str] = []

    def rest() -> Iterator[tuple[int, str]]:
        if lines:
            yield 0, " ".join(lines)
            lines.clear()

    skipping = False
    for line in body.split("\n"):
        if fence:
            fence = "" if line.strip().startswith(fence) else fence
            continue
        opened = _FENCE.match(line)
        if opened:
            yield from rest()
            fence = opened[1]
        elif not line.strip():
            yield from rest()
            skipping = False
        elif heading := _HEADING.match(line):
            yield from rest()
            skipping = False
            yield len(heading[1]), heading[2]
        elif _SKIPPED.match(line) or (line.startswith(("    ", "\t")) and not lines and not _BULLET.match(line)):
            yield from rest()
            skipping = True
        elif bullet := _BULLET.match(line):
            yield from rest()
            rest_of_line = line[bullet.end() :]
            skipping = bool(_SKIPPED.match(rest_of_line))
            if not skipping:
                lines.append(rest_of_line.strip())
        elif not skipping:
            lines.append(line.strip())
    yield from rest()
