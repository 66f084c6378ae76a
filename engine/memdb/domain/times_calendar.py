"""Days and ranges of days: months, seasons, weeks, quarters, and counting back from a day.

A range is a pair of days, the second of which is not in it any more.
"""

from __future__ import annotations

import re
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, timedelta

Days = tuple[date, date]
"""The first day, and the first one after the last."""

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The first month of a season of the northern half of the earth; each has three, a winter goes into the next year."""

FIRST_YEAR, YEARS_AHEAD = 1900, 10
"""A number of four digits is a year from this one on, and up to so many after the day from which is counted."""

_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_DAY_FIRST = re.compile(rf"(?i)(?<!\d)(\d{{1,2}})(?:st|nd|rd|th)?\s+{_MONTH}\.?,?\s+(\d{{4}})(?!\d)")
_MONTH_FIRST = re.compile(rf"(?i)(?<![a-z]){_MONTH}\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})(?!\d)")
_ISO = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?!\d)")
_EPOCH = re.compile(r"\d{10}(?:\d{3})?(?:\.\d+)?")


def day(year: int, month: int, number: int) -> date | None:
    """A day of the calendar; None for what is none."""
    try:
        return date(year, month, number)
    except ValueError:
        return None


def one(at: date) -> Days:
    """The range of a single day."""
    return at, later(at, 1)


def later(at: date, days: int) -> date:
    """So many days later, or earlier, within what a calendar can hold."""
    try:
        return at + timedelta(days=days)
    except OverflowError:
        return date.max if days > 0 else date.min


def month_number(word: str) -> int:
    """1 to 12 for an English month, by its first three letters."""
    return next(at for at, name in enumerate(MONTHS, start=1) if name.startswith(word[:3].casefold()))


def months_later(at: date, months: int) -> date:
    """The same day so many months later or earlier, or the last one of a month that is shorter."""
    year, month = divmod(at.year * 12 + at.month - 1 + months, 12)
    if not MINYEAR <= year <= MAXYEAR:
        return date.max if months > 0 else date.min
    return next(found for number in range(at.day, 27, -1) or [at.day] if (found := day(year, month + 1, number)))


def month(year: int, number: int, count: int = 1) -> Days:
    """So many months from one on."""
    first = date(year, number, 1)
    return first, months_later(first, count)


def year(number: int) -> Days:
    """A calendar year."""
    return month(number, 1, 12)


def season(number: int, name: str) -> Days:
    """The season that begins in a year."""
    return month(number, SEASONS[name], 3)


def week(at: date) -> Days:
    """The week from Monday to Sunday that a day is in, by ISO 8601."""
    first = later(at, -at.weekday())
    return first, later(first, 7)


def weekend(at: date) -> Days:
    """Saturday and Sunday of the week that a day is in."""
    first, end = week(at)
    return later(first, 5), end


def latest(days: Days, today: date) -> Days:
    """The same part of a year in the latest year in which it has begun by today."""
    first, end = days
    shift = today.year - first.year
    while months_later(first, 12 * shift) > today:
        shift -= 1
    return months_later(first, 12 * shift), months_later(end, 12 * shift)


def third(days: Days, place: int) -> Days:
    """The first, middle or last third (0, 1, 2) of a range."""
    first, end = days
    length = (end - first).days
    return later(first, length * place // 3), later(first, -(-length * (place + 1) // 3))


def ago(today: date, count: int, unit: str) -> Days:
    """The time about so many days, weeks, months or years ago: the count says no more than half a unit to each side."""
    if unit == "day":
        return one(later(today, -count))
    if unit == "week":
        at = later(today, -7 * count)
        return later(at, -3), later(at, 4)
    if unit == "month":
        at = months_later(today, -count)
        return later(at, -15), later(at, 16)
    return year(max(MINYEAR, today.year - count))


def back(today: date, count: int, unit: str) -> date:
    """The day so many units before another."""
    if unit in ("day", "week"):
        return later(today, -count * (7 if unit == "week" else 1))
    return months_later(today, -count * (12 if unit == "year" else 1))


def written_day(text: str) -> str | None:
    """The ISO day of a date as records write it; None where it is not sure.

    ISO 8601, `2023/05/08`, seconds or milliseconds since 1970, and English spellings with day, month and year, such as
    `1:56 pm on 8 May, 2023` and `Mon, 08 May 2023 13:56:00 GMT`.
    """
    text = text.strip()
    if _EPOCH.fullmatch(text):
        seconds = float(text) / (1000 if len(text.partition(".")[0]) == 13 else 1)
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    if found := _ISO.match(text):
        at = day(int(found[1]), int(found[2]), int(found[3]))
    elif found := _DAY_FIRST.search(text):
        at = day(int(found[3]), month_number(found[2]), int(found[1]))
    elif found := _MONTH_FIRST.search(text):
        at = day(int(found[3]), month_number(found[1]), int(found[2]))
    else:
        return None
    return at.isoformat() if at is not None else None
