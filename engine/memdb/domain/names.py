"""Names in a text, by rules alone: the offline extractor, which prefers to miss a name over inventing one.

`places_in` is a pure function of one text: identifiers by their shape, proper names by their capitals; `once` makes one
of each name of them. What the store knows already is found by `memdb.domain.gazetteer`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
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


def places_in(text: str) -> tuple[Name, ...]:
    """Each place where a text mentions a name, in its order; linear in the text's length.

    `type` is `person`, `organization` or `technology` where a cue is sure (a title, a legal form, `C++`), else None.
    """
    prose = without_code(text)
    found = identifiers(prose)
    spans = [*found.names, *proper_names(prose, taken=found.taken)]
    return tuple(_placed(text, sorted(spans, key=lambda span: (span.start, -span.stop))))


def names_in(text: str) -> tuple[Name, ...]:
    """The names that a text mentions, in its order, each key once, at its first place; see `places_in`."""
    return once(places_in(text))


def once(places: Sequence[Name]) -> tuple[Name, ...]:
    """Of each key the first place, with the type that is sure at any of them."""
    names: dict[str, Name] = {}
    for name in places:
        known = names.get(name.key)
        if known is None:
            names[name.key] = name
        elif known.type is None and name.type is not None:
            names[name.key] = replace(known, type=name.type)
    return tuple(names.values())


def _placed(text: str, spans: Iterable[Span]) -> Iterator[Name]:
    end = 0
    for span in spans:
        if span.start < end:
            continue
        end = span.stop
        spelled = " ".join(text[span.start : span.stop].split())
        yield Name(name_key(spelled), spelled, span.type, span.source, span.start, span.stop)
