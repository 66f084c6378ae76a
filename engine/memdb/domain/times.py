"""Times in a question, as ranges of days: "last spring", "on 7 May", "two weeks before August 11, 2023".

English is read here, by patterns and the calendar: what a month, a season or a week is, no library says. Other
languages are read by dateparser, where it is installed (`times_languages`). What may be something else than a time is
none: a missed one costs a little, a wrong one misleads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import NamedTuple

from memdb.domain import times_calendar as calendar
from memdb.domain import times_days as reading
from memdb.domain import times_words as spelled
from memdb.domain.times_calendar import Days

QUESTION_CAP = 2_000
"""Characters of a question that are read for times: a pasted page is no question."""

MOST = 4
"""Times that are read in one question."""

EVENT_WORDS = 6
"""Words of a name after `before` and the like that are looked up."""


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A time in a question: the words that say it, and the ISO days from `start` on and before `end`; None is open.

    `relative` is true where it depends on the day of the question; `doubtful` is a word that could be a person's name.
    """

    words: str
    start: str | None
    end: str | None
    relative: bool
    begin: int = 0  # where the words stand: question[begin:stop]
    stop: int = 0
    doubtful: str | None = None
    is_event: bool = False  # told by the name of something that the store knows

    def __str__(self) -> str:
        """As a person writes it: `'last spring' (2023-03-01 to 2023-06-01)`."""
        return f"'{self.words}' ({self.days})"

    @property
    def days(self) -> str:
        """The days as a person writes them; the end of a range is the first day after it."""
        if self.start is None or self.end is None:
            return f"before {self.end}" if self.start is None else f"since {self.start}"
        first, end = date.fromisoformat(self.start), date.fromisoformat(self.end)
        return self.start if calendar.later(first, 1) == end else f"{self.start} to {self.end}"


class Event(NamedTuple):
    """A name that a time is told by: `before`, and the words after it, longest first."""

    word: str
    names: tuple[str, ...]
    begin: int
    stops: tuple[int, ...]


class _Atom(NamedTuple):
    kind: str
    found: re.Match[str]
    days: Days
    relative: bool
    sure: bool  # by itself, without another time beside it

    @property
    def begin(self) -> int:
        return self.found.start()

    @property
    def stop(self) -> int:
        return self.found.end()


def read(question: str, today: date) -> list[TimeRange]:
    """The times of a question in English, in their order; relative ones are counted from `today`."""
    text = question[:QUESTION_CAP]
    if not spelled.MAY_HOLD.search(text):
        return []
    atoms = list(_apart(_atoms(text, today)))
    found: list[TimeRange] = []
    at = 0
    while at < len(atoms) and len(found) < MOST:
        pair = _pair(text, atoms[at], atoms[at + 1], today) if at + 1 < len(atoms) else None
        if pair is not None:
            found.append(pair)
            at += 2
            continue
        if atoms[at].sure:
            new = _ranged(text, atoms[at])
            # "Last weekend before April 10": the first of the two is a part of the second.
            while found and found[-1].stop > new.begin:
                found.pop()
            found.append(new)
        at += 1
    return found


def _atoms(text: str, today: date) -> Iterator[_Atom]:
    for kind, pattern in spelled.PATTERNS:
        for found in pattern.finditer(text):
            days = reading.days(kind, found, today)
            if days is not None:
                yield _Atom(
                    kind, found, days, reading.is_relative(kind, found), reading.is_sure(kind, found, text, today)
                )
            elif kind in ("day", "days"):
                # "30 February 2023" is not the February of 2023 either.
                yield _Atom("none", found, (today, today), False, False)


def _apart(atoms: Iterator[_Atom]) -> Iterator[_Atom]:
    """Of those that overlap the first, the longest of these, the sure one of these."""
    stop = 0
    for atom in sorted(atoms, key=lambda atom: (atom.begin, -atom.stop, not atom.sure)):
        if atom.begin >= stop:
            yield atom
            stop = atom.stop


def _pair(text: str, first: _Atom, second: _Atom, today: date) -> TimeRange | None:
    """`between March and May 2023`, `from 2019 to 2021`, `March–May 2023`; the first has the year of the second."""
    between = spelled.BETWEEN.search(text[: first.begin])
    if "none" in (first.kind, second.kind) or not spelled.AND.match(text[first.stop : second.begin]):
        return None
    joined = text[first.stop : second.begin].strip().casefold()
    if between is None and (joined in ("and", "until", "till") or first.kind.removeprefix("bare_") != "month"):
        return None
    if "year" in second.kind and (
        not calendar.FIRST_YEAR <= second.days[0].year <= today.year + calendar.YEARS_AHEAD
        or not spelled.follows_year(text, second.stop)
    ):
        return None
    if between is None and not (second.sure and second.found.groupdict().get("y")):
        return None
    begin, end = first.days[0], second.days[1]
    if first.relative and "month" in first.found.groupdict():
        begin = calendar.months_later(begin, 12 * (second.days[0].year - begin.year))
        if begin > second.days[0]:
            begin = calendar.months_later(begin, -12)
    if begin >= end:
        return None
    start = between.start() if between is not None else first.begin
    relative = second.relative or (first.relative and "month" not in first.found.groupdict())
    return TimeRange(text[start : second.stop], begin.isoformat(), end.isoformat(), relative, start, second.stop)


def _ranged(text: str, atom: _Atom) -> TimeRange:
    """A time with what is said before it: a part of it, a count from it, before it or after it."""
    begin, days = atom.begin, atom.days
    part = spelled.PART.search(text[:begin])
    if part is not None and (days[1] - days[0]).days > 7:
        begin, days = part.start(), calendar.third(days, _PARTS[part["part"].split()[0].casefold()])
    doubtful = atom.found["month"].casefold() if atom.kind == "bare_month" else None
    new = TimeRange("", days[0].isoformat(), days[1].isoformat(), atom.relative, begin, atom.stop, doubtful)
    if anchored := spelled.ANCHORED.search(text[:begin]):
        first, end = _counted(anchored, days)
        new = replace(new, begin=anchored.start(), start=first.isoformat(), end=end.isoformat(), doubtful=None)
    elif leading := spelled.LEADING.search(text[:begin]):
        word = leading["word"].casefold()
        new = replace(new, begin=leading.start())
        if word in ("before", "prior to", "earlier than"):
            new = replace(new, start=None, end=days[0].isoformat())
        elif word in ("until", "till", "up to"):
            new = replace(new, start=None)
        else:
            new = replace(new, start=days[word in ("after", "later than")].isoformat(), end=None)
    return replace(new, words=text[new.begin : new.stop].strip())


_PARTS = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}


def _counted(anchored: re.Match[str], days: Days) -> Days:
    """From a count before a time to its end, or from it to a count after it: it is told of up to that day."""
    unit = (anchored["last"] or anchored["unit"] or "day").casefold()
    back = anchored["word"].casefold() != "after"
    if unit == "weekend" or (unit.endswith("day") and unit != "day"):
        name, which = ("saturday" if unit == "weekend" else unit), ("last" if back else "next")
        at = reading.weekday(name, which, days[0] if back else calendar.later(days[1], -1))
        return (at, days[1]) if back else (days[0], calendar.later(at, 2 if unit == "weekend" else 1))
    count = reading.count(anchored["n"])
    if back:
        return calendar.back(days[0], count, unit), days[1]
    return days[0], calendar.back(days[1], -count, unit)


_EVENT = re.compile(
    r"(?i)\b(before|after|since|until|till|during)\s+((?:the|our|my|your|his|her|their|that|this)\s+)?(?=\w)"
)
_NAME_WORD = re.compile(r"\s*([^\s?!,;:()\"“”]+)")


def events(question: str, taken: list[TimeRange]) -> list[Event]:
    """What may be a name after `before`, `after`, `since`, `until` and `during`, where no time was read there."""
    text = question[:QUESTION_CAP]
    found = []
    for lead in _EVENT.finditer(text):
        if any(one.begin < lead.end() and lead.start() < one.stop for one in taken):
            continue
        names: list[tuple[str, int]] = []
        at = lead.end()
        while len(names) < EVENT_WORDS and (word := _NAME_WORD.match(text, at)):
            at = word.end()
            names.append((text[lead.end() : at].strip().rstrip(".'’"), at))
        if names:
            names.reverse()
            found.append(
                Event(lead[1].casefold(), tuple(n for n, _ in names), lead.start(), tuple(s for _, s in names))
            )
    return found[:MOST]


def event_range(event: Event, at: int, first: str, last: str, question: str) -> TimeRange:
    """The range that an event makes, which went on from the first to the last day of these."""
    end = calendar.later(date.fromisoformat(last), 1).isoformat()
    start: str | None = first
    stop: str | None = end
    if event.word in ("before", "until", "till"):
        start, stop = None, first if event.word == "before" else end
    elif event.word in ("after", "since"):
        start, stop = first if event.word == "since" else end, None
    words = question[event.begin : event.stops[at]].rstrip(".'’")
    return TimeRange(words, start, stop, False, event.begin, event.stops[at], is_event=True)
