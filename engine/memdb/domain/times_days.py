"""Which days the English spellings of times mean, and whether words that could be something else are times."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Any

from memdb.domain import times_calendar as calendar
from memdb.domain import times_words as spelled
from memdb.domain.times_calendar import Days

Said = dict[str, Any]
"""The named parts of a match, as written; None for those that are not there."""


def days(kind: str, found: re.Match[str], today: date) -> Days | None:
    """The days that a match names, relative ones counted from today; None where there are none such in the calendar."""
    said = found.groupdict() | {"all": found[0].casefold()}
    said["y"] = int(said["y"]) if said.get("y") else None
    said["which"] = (said.get("which") or "").casefold().removeprefix("this ")
    return _READERS[kind.removeprefix("bare_")](said, today)


def is_relative(kind: str, found: re.Match[str]) -> bool:
    """Whether the days depend on the day of the question."""
    return kind not in ("iso", "iso_month", "iso_week", "slashed", "decade") and found.groupdict().get("y") is None


def is_sure(kind: str, found: re.Match[str], text: str, today: date) -> bool:
    """Whether a match is a time by itself, by the words around it."""
    kind = kind.removeprefix("bare_") if kind not in ("bare_quarter", "bare_year") else kind
    check = _CHECKS.get(kind)
    return check is None or check(found, text, today)


def _has_year(found: re.Match[str]) -> bool:
    return found.groupdict().get("y") is not None


def _is_today(found: re.Match[str], text: str) -> bool:
    """Not in "A Better Tomorrow" and "USA Today", which are titles in the middle of a question."""
    before = text[: found.start()]
    is_title = found["word"][0].isupper() and re.search(r"\w[\w'’]*\s+\Z", before) is not None
    return not is_title and re.search(r"(?i)\bas of\s+\Z", before) is None


_CHECKS: dict[str, Callable[[re.Match[str], str, date], bool]] = {
    "day": lambda found, text, _: _has_year(found) or spelled.is_month(found, text),
    "days": lambda found, text, _: _has_year(found) or spelled.is_month(found, text),
    "month": lambda found, text, _: _has_year(found) or spelled.is_month(found, text),
    "season": lambda found, text, _: _has_year(found) or spelled.is_season(found, text),
    "bare_quarter": lambda found, text, _: spelled.BEFORE_QUARTER.search(text[: found.start()]) is not None,
    "bare_year": lambda found, text, today: spelled.is_year(found, text, today.year + calendar.YEARS_AHEAD),
    "weekday": lambda found, text, _: spelled.is_weekday(found, text),
    "unit": lambda found, text, _: spelled.is_whole(found, text),
    "trailing": lambda found, text, _: re.match(r"(?i)\s+of\b", text[found.end() :]) is None,
    "word": lambda found, text, _: _is_today(found, text),
}


def count(words: str | None) -> int:
    """The number that words say, one where they say none."""
    words = re.sub(r"(?i)^an?\s+(?=\w)|\s+of$", "", (words or "one").strip()).casefold()
    return int(words) if words.isdigit() else spelled.COUNTS.get(words, 1)


def weekday(name: str, which: str, today: date) -> date:
    """A day of this week, or the nearest one before or after today."""
    number = next(at for at, known in enumerate(calendar.WEEKDAYS) if known.startswith(name[:3].casefold()))
    if which == "this":
        return calendar.later(today, number - today.weekday())
    if which == "next":
        return calendar.later(today, (number - today.weekday() - 1) % 7 + 1)
    return calendar.later(today, -((today.weekday() - number - 1) % 7 + 1))


def _day(said: Said, today: date) -> Days | None:
    """A day, or several in a row, of a month; without a year the latest that has come."""
    month, year, last = calendar.month_number(said["month"]), said["y"], said.get("e")
    for candidate in [year] if year else range(today.year, max(0, today.year - 9), -1):
        first = calendar.day(candidate, month, int(said["d"]))
        if first is not None and (year or first <= today):
            end = calendar.day(candidate, month, int(last)) if last else first
            return (first, calendar.later(end, 1)) if end is not None and end >= first else None
    return None


def _iso(said: Said, today: date) -> Days | None:
    at = calendar.day(said["y"], int(said["m"]), int(said["d"]))
    return calendar.one(at) if at is not None and at.year >= calendar.FIRST_YEAR else None


def _slashed(said: Said, today: date) -> Days | None:
    """`25/12/2023` and `12/25/2023`; one that could be read both ways is none."""
    first, second = int(said["a"]), int(said["b"])
    if first != second and first <= 12 and second <= 12:
        return None
    at = calendar.day(said["y"], min(first, second), max(first, second))
    return calendar.one(at) if at is not None else None


def _iso_month(said: Said, today: date) -> Days | None:
    return calendar.month(said["y"], int(said["m"])) if 1 <= int(said["m"]) <= 12 else None


def _iso_week(said: Said, today: date) -> Days | None:
    try:
        return calendar.week(date.fromisocalendar(said["y"], int(said["w"]), 1))
    except ValueError:
        return None


_STEPS = {"last": -1, "previous": -1, "past": -1, "this": 0, "next": 1}


def _year_of(said: Said, today: date) -> int | None:
    """The year that stands beside a month or season: `2023`, `last year`."""
    if said["y"] is None and said["all"].endswith("year"):
        return today.year + _STEPS[said["which"]]
    year: int | None = said["y"]
    return year


def _month(said: Said, today: date) -> Days:
    year = _year_of(said, today)
    whole = calendar.month(year or today.year, calendar.month_number(said["month"]))
    return whole if year else _which(whole, said["which"], today)


def _season(said: Said, today: date) -> Days:
    name, year = said["season"].casefold(), _year_of(said, today)
    if name == "winter" and said["which"] == "this" and today.month < 3:
        return calendar.season(today.year - 1, name)
    whole = calendar.season(year or today.year, name)
    return whole if year else _which(whole, said["which"], today)


def _which(days: Days, which: str, today: date) -> Days:
    """The one of a thing that comes every year that is last, this, next, or else the latest."""
    if which == "this":
        return days
    found = calendar.latest(days, today)
    step = -12 if _STEPS.get(which) == -1 and found[1] > today else 12 if which == "next" else 0
    return calendar.months_later(found[0], step), calendar.months_later(found[1], step)


_PLACES = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": 4}


def _part_of_year(months: int) -> Callable[[Said, date], Days | None]:
    def read(said: Said, today: date) -> Days:
        place = _PLACES.get(said["q"].casefold()) or int(said["q"])
        whole = calendar.month(said["y"] or today.year, months * (place - 1) + 1, months)
        return whole if said["y"] else calendar.latest(whole, today)

    return read


def _unit(said: Said, today: date) -> Days:
    unit, step = said["unit"].casefold(), _STEPS[said["which"]]
    if unit == "night":
        return calendar.one(calendar.later(today, -1))
    if unit in ("week", "weekend"):
        at = calendar.later(today, 7 * step)
        return calendar.week(at) if unit == "week" else calendar.weekend(at)
    months = {"month": 1, "quarter": 3, "year": 12, "decade": 120}[unit]
    first = {
        "month": today.replace(day=1),
        "quarter": date(today.year, (today.month - 1) // 3 * 3 + 1, 1),
        "year": date(today.year, 1, 1),
        "decade": date(max(1, today.year // 10 * 10), 1, 1),
    }[unit]
    first = calendar.months_later(first, months * step)
    return first, calendar.months_later(first, months)


def _trailing(said: Said, today: date) -> Days:
    return calendar.back(today, count(said.get("n")), said["unit"].casefold()), calendar.later(today, 1)


def _ago(said: Said, today: date) -> Days:
    number, unit = said["n"].casefold(), said["unit"].casefold()
    if number.startswith("half"):
        return calendar.ago(today, 6, "month")
    if unit == "fortnight":
        return calendar.ago(today, 2, "week")
    if re.search("few|several|couple", number):
        # About so many: one less to two more.
        return calendar.back(today, count(number) + 2, unit), calendar.later(
            calendar.back(today, count(number) - 1, unit), 1
        )
    return calendar.ago(today, count(number), unit)


def _named(said: Said, today: date) -> Days:
    return calendar.one(calendar.later(today, {"yesterday": -1, "tomorrow": 1}.get(said["word"].casefold(), 0)))


def _decade(said: Said, today: date) -> Days:
    first = said["y"] or 1900 + int(said["short"])
    return date(first, 1, 1), date(first + 10, 1, 1)


_READERS: dict[str, Callable[[Said, date], Days | None]] = {
    "day": _day,
    "days": _day,
    "iso": _iso,
    "slashed": _slashed,
    "iso_month": _iso_month,
    "iso_week": _iso_week,
    "month": _month,
    "season": _season,
    "quarter": _part_of_year(3),
    "half": _part_of_year(6),
    "unit": _unit,
    "trailing": _trailing,
    "ago": _ago,
    "hours": lambda said, today: calendar.one(today),
    "daybefore": lambda said, today: calendar.one(calendar.later(today, -2 if "before" in said["which"] else 2)),
    "word": _named,
    "weekday": lambda said, today: calendar.one(weekday(said["weekday"], said["which"], today)),
    "year": lambda said, today: calendar.year(said["y"]),
    "decade": _decade,
}
