"""Times in questions of other languages than English, read by dateparser where it is installed.

The library reads a phrase well and a sentence badly: in one it takes articles and numbers for dates. So the phrases are
found here, by words that only a time has, and only they are given to it, with the language that they are of. What it
does not read stays plain words. It takes 0.2 s to import and 0.3 s for the first phrase: it is not touched before.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

from memdb.domain import times_calendar as calendar
from memdb.domain.times import MOST, QUESTION_CAP, TimeRange
from memdb.domain.times_calendar import Days

HINT = "memdb-engine[time] installs what reads them"


class Language(NamedTuple):
    """The phrases of a language, its words for before, after, since and until, and the phrases that mean something in
    other languages too, with words of which the question has to hold one.
    """

    phrases: str
    leading: dict[str, str]
    shared: str | None = None
    evidence: str = ""


_DE = "januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember"
_FR = "janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre"
_ES = "enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
_IT = "gennaio|febbraio|marzo|aprile|maggio|giugno|luglio|agosto|settembre|ottobre|novembre|dicembre"
_PT = "janeiro|fevereiro|março|abril|maio|junho|julho|agosto|setembro|outubro|novembro|dezembro"
_NL = "januari|februari|maart|april|mei|juni|juli|augustus|september|oktober|november|december"
_RU = "января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря"
_Y = r"(?:19|20)\d\d"

LANGUAGES = {
    "de": Language(
        rf"vorgestern|gestern|heute|letzte[nsr]?\s+(?:woche|monat|jahr)"
        r"|vor\s+(?:\d+|eine[rm]|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn)"
        r"\s+(?:tag(?:en)?|wochen?|monat(?:en)?|jahr(?:en)?)"
        rf"|\d\d?\.\s?(?:{_DE})(?:\s+{_Y})?|(?:{_DE})\s+{_Y}",
        {"vor": "before", "vor dem": "before", "nach": "after", "nach dem": "after", "seit": "since",
         "seit dem": "since",
         "bis": "until", "bis zum": "until"},
    ),
    "fr": Language(
        rf"avant-hier|hier|aujourd['’]hui|la\s+semaine\s+dernière|le\s+mois\s+dernier|l['’]an(?:née)?\s+derni(?:er|ère)"
        r"|il\s+y\s+a\s+(?:\d+|une?|deux|trois|quatre|cinq|six)\s+(?:jours?|semaines?|mois|ans?)"
        rf"|\d\d?(?:er)?\s+(?:{_FR})(?:\s+{_Y})?|(?:{_FR})\s+{_Y}",
        {"avant": "before", "avant le": "before", "après": "after", "après le": "after", "depuis": "since",
         "depuis le": "since", "jusqu'à": "until", "jusqu'au": "until"},
        rf"hier|mars\s+{_Y}",
        r"qu|que|quoi|quel|quelle|est|avons|avez|ont|nous|vous|ils|elle|avec|pour|dans|le|les|des|du|sur|où|comment|il",
    ),
    "es": Language(
        rf"anteayer|ayer|hoy|la\s+semana\s+pasada|el\s+mes\s+pasado|el\s+año\s+pasado"
        r"|hace\s+(?:\d+|una?)\s+(?:días?|semanas?|mes(?:es)?|años?)"
        rf"|\d\d?\s+de\s+(?:{_ES})(?:\s+(?:de|del)\s+{_Y})?|(?:{_ES})\s+(?:de\s+|del\s+)?{_Y}",
        {"antes de": "before", "antes del": "before", "después de": "after", "después del": "after", "desde": "since",
         "desde el": "since", "hasta": "until", "hasta el": "until"},
    ),
    "it": Language(
        rf"ieri|oggi|la\s+settimana\s+scorsa|il\s+mese\s+scorso|l['’]anno\s+scorso"
        r"|\d+\s+(?:giorn[oi]|settiman[ae]|mes[ei]|ann[oi])\s+fa"
        rf"|\d\d?\s+(?:{_IT})(?:\s+{_Y})?|(?:{_IT})\s+{_Y}",
        {"prima di": "before", "prima del": "before", "dopo": "after", "dopo il": "after", "da": "since",
         "dal": "since",
         "fino a": "until", "fino al": "until"},
    ),
    "pt": Language(
        rf"anteontem|ontem|hoje|(?:na\s+|a\s+)?semana\s+passada|(?:no\s+|o\s+)?mês\s+passado|(?:no\s+|o\s+)?ano\s+passado"
        r"|há\s+(?:\d+|uma?)\s+(?:dias?|semanas?|mês|meses|anos?)"
        rf"|\d\d?\s+de\s+(?:{_PT})(?:\s+de\s+{_Y})?|(?:{_PT})\s+(?:de\s+)?{_Y}",
        {"antes de": "before", "depois de": "after", "desde": "since", "até": "until"},
    ),
    "nl": Language(
        rf"eergisteren|gisteren|vandaag|vorige\s+(?:week|maand)|vorig\s+jaar|\d+\s+(?:dag(?:en)?|we(?:ek|ken)|maand(?:en)?|jaar)\s+geleden"
        rf"|\d\d?\s+(?:{_NL})(?:\s+{_Y})?|(?:{_NL})\s+{_Y}",
        {"voor": "before", "na": "after", "sinds": "since", "tot": "until"},
    ),
    "ru": Language(
        rf"позавчера|вчера|сегодня|(?:\d+\s+|две\s+|два\s+|три\s+)?(?:день|дня|дней|неделю|недели|недель|месяца?|месяцев|года?|лет)\s+назад"
        rf"|на\s+прошлой\s+неделе|\d\d?\s+(?:{_RU})(?:\s+{_Y})?",
        {"до": "before", "после": "after", "с": "since"},
    ),
    "ja": Language(r"一昨日|昨日|今日|先週|先月|去年|\d{4}年\d\d?月(?:\d\d?日)?", {}),
    "zh": Language(r"前天|昨天|今天|上周|上个月|去年|\d{4}年\d\d?月(?:\d\d?日)?", {}),
}  # fmt: skip
"""Which phrases are looked for; that the library reads each kind of them is tested."""


_UNSPACED = ("ja", "zh")
"""Written without spaces, and so without edges of words."""


@cache
def _pattern(codes: tuple[str, ...]) -> re.Pattern[str]:
    any_of = "|".join(f"(?P<{code}>{LANGUAGES[code].phrases})" for code in codes)
    return re.compile(rf"(?i)(?<!\d)(?:{any_of})" if codes == _UNSPACED else rf"(?i)(?<![\w.-])(?:{any_of})(?![\w-])")


_SPACED = tuple(code for code in LANGUAGES if code not in _UNSPACED)


@cache
def _leading(code: str) -> re.Pattern[str]:
    words = "|".join(sorted(map(re.escape, LANGUAGES[code].leading), key=len, reverse=True))
    return re.compile(rf"(?i)(?<!\w)(?P<lead>{words or '(?!)'})\s+\Z")


class Phrase(NamedTuple):
    """A phrase in a question: its language, its text, what it says of before and after, and where all that stands."""

    code: str
    time: str
    leading: str | None
    begin: int
    stop: int


def phrases(question: str, taken: list[TimeRange]) -> list[Phrase]:
    """The phrases of other languages in a question, outside of the times that were read."""
    text = question[:QUESTION_CAP]
    found: list[Phrase] = []
    for codes in (_SPACED,) if text.isascii() else (_SPACED, _UNSPACED):
        for match in _pattern(codes).finditer(text):
            begin, stop, code = match.start(), match.end(), match.lastgroup or ""
            is_taken = any(one.begin < stop and begin < one.stop for one in taken)
            if is_taken or any(one.begin < stop and begin < one.stop for one in found) or not _is_of(code, match, text):
                continue
            word, begin = _led(code, match[0], text[:begin])
            found.append(Phrase(code, match[0], word, begin, stop))
    return sorted(found, key=lambda one: one.begin)[:MOST]


def _led(code: str, phrase: str, before: str) -> tuple[str | None, int]:
    """What is said before a phrase, and where that begins, in its language or another one that says the same phrase."""
    for other in (code, *LANGUAGES):
        found = _leading(other).search(before)
        if found is not None and (other == code or re.fullmatch(rf"(?i){LANGUAGES[other].phrases}", phrase)):
            return LANGUAGES[other].leading[re.sub(r"\s+", " ", found["lead"].casefold())], found.start()
    return None, len(before)


def _is_of(code: str, match: re.Match[str], text: str) -> bool:
    """Whether a phrase that could be of another language is of this one, by the rest of the question."""
    language = LANGUAGES[code]
    if language.shared is None or not re.fullmatch(rf"(?i){language.shared}", match[0]):
        return True
    rest = text[: match.start()] + " " + text[match.end() :]
    return re.search(rf"(?i)(?<!\w)(?:{language.evidence})(?!\w)", rest) is not None


def is_installed() -> bool:
    """Whether dateparser is there; nothing is imported for that."""
    return find_spec("dateparser") is not None


def read(question: str, found: list[Phrase], today: date) -> list[TimeRange]:
    """The phrases that the library reads, as ranges, relative ones counted from `today`."""
    ranges = []
    for one in found:
        days, is_relative = _parsed(one.code, one.time, today)
        if days is None:
            continue
        start: str | None = days[0].isoformat()
        end: str | None = days[1].isoformat()
        if one.leading in ("before", "until"):
            start, end = None, start if one.leading == "before" else end
        elif one.leading in ("after", "since"):
            start, end = start if one.leading == "since" else end, None
        ranges.append(TimeRange(question[one.begin : one.stop], start, end, is_relative, one.begin, one.stop))
    return ranges


def _parsed(code: str, phrase: str, today: date) -> tuple[Days | None, bool]:
    """The days of a phrase and whether they depend on today. A month or year is read as a whole one."""
    for_today = _date(code, phrase, today)
    if for_today is None:
        return None, False
    at, period = for_today
    return _PERIODS.get(period, calendar.one)(at), re.search(r"(?:19|20)\d\d", phrase) is None


_PERIODS: dict[str, Callable[[date], Days]] = {
    "week": calendar.week,
    "month": lambda at: calendar.month(at.year, at.month),
    "year": lambda at: calendar.year(at.year),
}


def _date(code: str, phrase: str, today: date) -> tuple[date, str] | None:
    parser = _parser(code, today)
    plain = re.sub(r"\s+", " ", phrase.replace("’", "'")).casefold()
    # It knows some phrases only without their article or in another ending.
    for spelling in dict.fromkeys((plain, _ARTICLE.sub("", plain), plain.replace("letzten jahr", "letztes jahr"))):
        found: Any = parser.get_date_data(spelling)
        if found.date_obj is not None and found.date_obj.year >= calendar.FIRST_YEAR:
            return found.date_obj.date(), found.period
    return None


_ARTICLE = re.compile(r"^(?:la|le|il|na|no|o|a|el|l')\s*(?=\w)")


@cache
def _parser(code: str, today: date) -> Any:
    from dateparser.date import DateDataParser  # noqa: PLC0415 (0.2 s, for questions that need it)

    return DateDataParser(
        languages=[code],
        settings={
            "RELATIVE_BASE": datetime(today.year, today.month, today.day, 12),
            "PREFER_DATES_FROM": "past",
            "PREFER_DAY_OF_MONTH": "first",
            "DATE_ORDER": "DMY" if code not in ("ja", "zh") else "YMD",
            "RETURN_AS_TIMEZONE_AWARE": False,
        },
    )
