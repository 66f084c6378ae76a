"""Times and people of a question as evidence: what was said then, or by whom the question names, is likelier an answer.

Evidence multiplies the odds of what the arms found: three times as likely makes 0.5 of 0.25, and 0.93 of 0.8. So it
decides between texts that are about as good, takes nothing away, and a much better text stays above.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from memdb.base import kept, resources, words
from memdb.base.storage import Database
from memdb.base.text import name_key
from memdb.domain import gazetteer, times, times_languages
from memdb.domain.names_words import FUNCTION_WORDS, is_common
from memdb.domain.times import Event, TimeRange
from memdb.errors import UsageError
from memdb.services.context import Context

DATED = 3.0
"""How many times as likely an answer is that is of the time in the question. On the tuning questions of LoCoMo, R@5 is
67.7 without, 68.9 with 2 and 69.1 with 4."""

SPOKEN = 1.5
"""The same of what the person said whom the question names: half of what is said of a person others say."""

DEPTH = 400
"""Candidates, the best first, that are looked at: what ranks lower is not lifted into the answers."""

LISTED = 0.25
"""The score of what is of a time, for a question that has nothing else than it: as of a text with few of its words."""

MOST_LISTED = 50
"""How many of these come into question, the newest."""

ARCHIVE_DAYS = 366
"""A store in which nothing is newer than so many days is a record of its time: `yesterday` is counted from its end."""

NAMES = 48
"""Words of a question that are looked up as names of people."""

_ROLES = frozenset({"user", "assistant", "human", "system", "ai", "agent", "bot", "model", "customer", "tool"})
_ROLE = re.compile(
    r"(?i)\b(user|assistant|human|system|ai|agent|bot|model|customer|tool)\s+"
    r"(?:say|said|ask(?:ed)?|tell|told|mention(?:ed)?|suggest(?:ed)?|proposed?|answer(?:ed)?|want(?:ed)?|wrote|write|report(?:ed)?)\b"
)
_NAME = re.compile(r"[^\W\d_][^\W_]*(?:[-’'.][^\W\d_][^\W_]*)*")
_POSSESSIVE = re.compile(r"[’']s?\Z")
_DAYS = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")
_FILLERS = frozenset(
    "happen happened happening happens do did done doing go going went gone new news event events thing things work"  # noqa: SIM905
    " worked working note notes noted memory memories learn learned talk talked discuss discussed say said tell"
    " told show list summary summarize remember write wrote written anything everything something".split()
)
"""Words with which a question asks for a time and nothing else: `what happened last week`."""


@dataclass(slots=True)
class Seen:
    """What was made of a question's times and names: reasons by hit, and what a person should know."""

    reasons: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def weigh(
    context: Context, query: str, found: dict[str, float], *, now: str | None = None, allowed: str | None = None
) -> tuple[dict[str, float], Seen]:
    """The pool's scores, by key, with the evidence of times and speakers in them, best first, and what was seen.

    Raises UsageError for a `now` that is no day.
    """
    database = context.database
    seen = Seen()
    given = _day(now)
    ranges = _ranges(database, query, given, seen)
    speakers = _speakers(database, query)
    if not ranges and not speakers:
        return found, seen
    if ranges and _asks_nothing_else(query, ranges):
        found = found | {key: LISTED for key in _listed(database, ranges, allowed) if key not in found}
    keys = json.dumps(sorted(found, key=lambda key: (-found[key], key))[:DEPTH])
    odds: dict[str, float] = {}
    told: set[str] = set()
    for key, one, reason in _in_time(database, keys, ranges):
        odds[key] = DATED
        told.add(one.words)
        seen.reasons.setdefault(key, []).append(f"{reason}, within {one}")
    # A date that is written out needs no word where nothing is of it.
    plain = [one for one in ranges if not one.relative and (one.words in told or one.is_event)]
    seen.notes += [f"{one.words!r} was read as {one.days}." for one in plain]
    for key, speaker in _spoken(database, keys, speakers):
        odds[key] = odds.get(key, 1.0) * SPOKEN
        seen.reasons.setdefault(key, []).append(f"said by {speaker}")
    if odds:
        scored = {key: likelier(score, odds.get(key, 1.0)) for key, score in found.items()}
        found = dict(sorted(scored.items(), key=lambda one: (-one[1], one[0])))
    return found, seen


def likelier(score: float, times_: float) -> float:
    """A score with its odds multiplied, by Bayes' rule; to twelve digits, as the arms' scores are."""
    return round(score * times_ / (1 + score * (times_ - 1)), 12)


# times


def _day(now: str | None) -> date | None:
    if now is None:
        return None
    try:
        return date.fromisoformat(now[:10] if re.match(r"\d{4}-\d\d-\d\dT", now) else now)
    except ValueError as error:
        raise UsageError(
            f"now is {now!r}; it has to be a day.", hint="Write it as 2026-05-01; words as `yesterday` count from it."
        ) from error


def _ranges(database: Database, query: str, given: date | None, seen: Seen) -> list[TimeRange]:
    """The times in a question, with a note how each was read."""
    today = given or datetime.now(UTC).date()
    ranges = times.read(query, today)
    foreign = times_languages.phrases(query, ranges)
    if foreign and not times_languages.is_installed():
        said = ", ".join(f"'{one.time}'" for one in foreign)
        seen.notes.append(f"{said} may be a time, but dateparser is not installed; {times_languages.HINT}.")
        foreign = []
    from_ = "" if given is None else f", counted from {today}"
    if given is None and (foreign or any(one.relative for one in ranges)):
        newest = _newest(database, today)
        if newest is not None and today - newest > timedelta(days=ARCHIVE_DAYS):
            today = newest
            from_ = f", counted from {today}, the newest day in the store (--now DATE counts from another)"
            ranges = times.read(query, today)
    ranges += times_languages.read(query, foreign, today)
    ranges = [one for one in ranges if one.doubtful is None or not _is_somebody(database, one.doubtful)]
    ranges += list(_events(database, query, ranges))
    ranges.sort(key=lambda one: one.begin)
    seen.notes += [f"{one.words!r} was read as {one.days}{from_}." for one in ranges if one.relative]
    return ranges


def _newest(database: Database, today: date) -> date | None:
    after = (today + timedelta(days=1)).isoformat()
    newest = _span(database.value(resources.query("newest_day"), {"after": after}))
    return date.fromisoformat(newest[0]) if newest is not None else None


def _is_somebody(database: Database, name: str) -> bool:
    """Whether the store knows a person, or one who said something, by the name of a month."""
    known = (
        "select 1 from entity where name_key = ?1 and type = 'person' union all select 1 from speaker where name = ?1"
    )
    return database.value(known + " limit 1", (name,)) is not None


def _events(database: Database, query: str, taken: list[TimeRange]) -> Iterable[TimeRange]:
    for event in times.events(query, taken):
        found = _bearer(database, event)
        if found is not None:
            at, first, last = found
            yield times.event_range(event, at, first, last, query)


def _bearer(database: Database, event: Event) -> tuple[int, str, str] | None:
    """The place of the name in an event that one thing in the store bears, and its first and last day."""
    keys = [(at, gazetteer.match_key(name), name_key(name)) for at, name in enumerate(event.names)]
    rows = database.rows(resources.query("event_days"), {"names": json.dumps([key for key in keys if key[1]])})
    for at in sorted({place for place, *_ in rows}):
        bearers = [(first, last) for place, _, first, last in rows if place == at]
        days = _lasted(*bearers[0]) if len(bearers) == 1 else None
        return (at, *days) if days is not None else None
    for at, name in enumerate(event.names):
        # Part of a name will do where the phrase ends: "before the migration" of "Postgres migration".
        following = event.names[at - 1][len(name) :].split() if at else []
        if name[-2:] in ("'s", "’s") or (following and following[0].casefold() not in FUNCTION_WORDS):
            continue
        asked = words.content_words(words.query_words(name))
        terms = sorted({stem for stems in words.stems(database.connection, asked) for stem in stems})
        if terms and all(word.casefold() not in FUNCTION_WORDS for word in (name.split()[0], name.split()[-1])):
            found = database.rows(resources.query("event_words"), {"terms": json.dumps(terms)})
            days = _lasted(*found[0][1:]) if len(found) == 1 else None
            if found:
                return (at, *days) if days is not None else None
    return None


def _lasted(first: str | None, last: str | None) -> tuple[str, str] | None:
    begin, end = _span(first), _span(last)
    if begin is None:
        return None
    return begin[0], end[1] if end is not None and end[1] >= begin[1] else begin[1]


def _span(written: Any) -> tuple[str, str] | None:
    """The first and last day of what a file says: a day, a month or a year in ISO 8601; None for anything else."""
    found = _DAYS.match(written) if isinstance(written, str) else None
    if found is None:
        return None
    year, month, day = found.groups()
    try:
        first = date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return None
    if day:
        return first.isoformat(), first.isoformat()
    end = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1) if month else first.replace(month=12, day=31)
    return first.isoformat(), end.isoformat()


def _in_time(database: Database, keys: str, ranges: list[TimeRange]) -> Iterable[tuple[str, TimeRange, str]]:
    """The texts that are of one of the times, each with the time and the day of the text."""
    if not ranges:
        return
    for key, *days in database.rows(resources.query("recall_days"), {"keys": keys}):
        for one in ranges:
            reason = _dated(one, days)
            if reason is not None:
                yield key, one, reason
                break


def _dated(one: TimeRange, days: list[str | None]) -> str | None:
    happened, modified, created, valid_from, valid_to, day, name = days
    for said, written in (("dated", day), ("happened", happened)):
        if written is not None and _span(written) is not None:
            return f"{said} {_said_date(written)}" if _overlaps(one, _span(written)) else None
    if _overlaps(one, _span(name)):
        return f"dated {_said_date(name)}"
    begin, end = _span(valid_from), _span(valid_to)
    if begin is not None and _overlaps(one, (begin[0], end[1] if end is not None else "9999-12-31")):
        return f"valid {valid_from} to {valid_to}" if end is not None else f"valid from {valid_from}"
    for said, written in (("created", created), ("changed", modified)):
        if _overlaps(one, _span(written)):
            return f"{said} {_said_date(written)}"
    return None


def _said_date(written: str | None) -> str:
    """The day, month or year that something written begins with: `2026-05` of a memory `2026-05-outage`."""
    found = _DAYS.match(written or "")
    return found[0] if found is not None else ""


def _overlaps(one: TimeRange, span: tuple[str, str] | None) -> bool:
    if span is None:
        return False
    return (one.end is None or span[0] < one.end) and (one.start is None or span[1] >= one.start)


def _asks_nothing_else(query: str, ranges: list[TimeRange]) -> bool:
    """Whether a question has no word of its own beside its times."""
    rest = query
    for one in sorted(ranges, key=lambda one: -one.begin):
        rest = rest[: one.begin] + " " + rest[one.stop :]
    asked = {word.casefold() for word in words.content_words(words.query_words(rest))}
    return asked <= _FILLERS | FUNCTION_WORDS


def _listed(database: Database, ranges: list[TimeRange], allowed: str | None) -> list[str]:
    """The newest texts of the times, of those that filters let through."""
    found: list[str] = []
    for one in ranges:
        values = {"start": one.start or "", "end": one.end or "9999", "most": MOST_LISTED, "allowed": allowed}
        found += [key for (key,) in database.rows(resources.query("recall_dated"), values)]
    return found[:MOST_LISTED]


# speakers


def _speakers(database: Database, query: str) -> list[str]:
    """The names, as they stand there, under which the person whom a question names first said something."""
    if kept.value(database, "select 1 from speaker limit 1") is None:
        return []
    names = _names(query[: times.QUESTION_CAP])
    rows = database.rows(
        resources.query("recall_speakers"), {"names": json.dumps([(at, n, name_key(n)) for at, n in names])}
    )
    roles = {match.start(1) for match in _ROLE.finditer(query)}
    said: dict[int, set[str]] = {}
    for at, name, asked in rows:
        # A common word is a name only where it is written as one; a role is meant only where it says something.
        is_role = asked.casefold() in _ROLES
        written = query[at : at + 1].isupper() and at > 0
        if at in roles if is_role else " " in asked or written or not is_common(asked.casefold()):
            said.setdefault(at, set()).add(name)
    return sorted(said[min(said)]) if said else []


def _names(text: str) -> list[tuple[int, str]]:
    """What may be a name of a person in a question, with its place: words, and runs of up to three with capitals."""
    # "Dr" begins a name, "the" does not.
    found = [
        match
        for match in _NAME.finditer(text)
        if match[0].casefold() not in FUNCTION_WORDS or (match.start() and match[0][0].isupper())
    ][:NAMES]
    names = []
    for at, match in enumerate(found):
        names.append((match.start(), _POSSESSIVE.sub("", match[0])))
        for following in found[at + 1 : at + 3]:
            whole = text[match.start() : following.end()]
            if not following[0][0].isupper() or len(whole.split(" ")) > 3:
                break
            names.append((match.start(), _POSSESSIVE.sub("", whole)))
    return names


def _spoken(database: Database, keys: str, speakers: list[str]) -> Iterable[tuple[str, str]]:
    if not speakers:
        return []
    values = {"keys": keys, "speakers": json.dumps(speakers)}
    return [(key, name) for key, name in database.rows(resources.query("recall_spoken"), values)]


__all__ = ["Seen", "likelier", "weigh"]
