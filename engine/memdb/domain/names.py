"""Names in a text, by rules alone: the offline extractor, which prefers to miss a name over inventing one.

`names_in` is a pure function of one text: identifiers by their shape, proper names by their capitals. What the
store knows already is found by `memdb.domain.gazetteer`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from memdb.base.text import name_key
from memdb.domain.names_identifiers import identifiers
from memdb.domain.names_proper import proper_names
from memdb.domain.names_spans import Span, without_code

Source = Literal["identifier", "proper"]


@dataclass(frozen=True, slots=True)
class Name:
    """A name that a text mentions: its key, its spelling, its place, and a type where that is sure.

    `name` is `text[start:stop]`, with single spaces where the text has a line break.
    """

    key: str
    name: str
    type: str | None
    source: Source
    start: int
    stop: int


def names_in(text: str) -> tuple[Name, ...]:
    """The names that a text mentions, in its order, each key once, at its first place; linear in the text's length.

    `type` is `person`, `organization` or `technology` where a cue is sure (a title, a legal form, `C++`), else None.
    """
    prose = without_code(text)
    found = identifiers(prose)
    spans = [*found.names, *proper_names(prose, taken=found.taken)]
    return tuple(_once(text, sorted(spans, key=lambda span: (span.start, -span.stop))))


def _once(text: str, spans: Iterable[Span]) -> Iterable[Name]:
    names: dict[str, Name] = {}
    end = 0
    for span in spans:
        if span.start < end:
            continue
        end = span.stop
        spelled = " ".join(text[span.start : span.stop].split())
        key = name_key(spelled)
        known = names.get(key)
        if known is None:
            names[key] = Name(key, spelled, span.type, span.source, span.start, span.stop)
        elif known.type is None and span.type is not None:
            names[key] = Name(key, known.name, span.type, known.source, known.start, known.stop)
    return names.values()
