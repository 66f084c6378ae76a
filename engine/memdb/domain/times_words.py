"""The English spellings of times: what each pattern finds, before anything is counted.

Patterns are tried at every place; the longest of those that begin first wins. A month, weekday or season alone is a
time only where a word before it says so, because may, march, fall, spring and April mean other things too.
"""

from __future__ import annotations

import re

MAY_HOLD = re.compile(
    r"(?i)(?<!\d)(?:19|20)\d\d(?!\d)|\b(?:ago|yesterday|today|tomorrow|tonight|last|past|previous|this|next|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec|"
    r"january|february|march|april|june|july|august|september|october|november|december|"
    r"spring|summer|autumn|fall|winter|q[1-4]|[5-9]0s|mon|tue|wed|thu|fri)\b"
)
"""Any word that a time in English could hold; most questions have none."""

MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
)
WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
SEASON = r"(?:spring|summer|autumn|fall|winter)"
YEAR = r"(?:19|20)\d\d"
UNIT = r"(?:day|week|month|year)"
NUMBER = (
    r"(?:\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty"
    r"|(?:an?\s+)?(?:couple(?:\s+of)?|few|dozen)|several)"
)
ORDINAL = r"(?:st|nd|rd|th)"
D = rf"(?P<d>\d{{1,2}}){ORDINAL}?"
D_TO_D = rf"{D}\s?(?:-|–|to|and)\s?(?P<e>\d\d?){ORDINAL}?"

# A date, version, path or identifier goes on at these signs.
_BEGIN = r"(?:(?<=mid-)|(?<![\w./:\-#@$€£]))"
_END = r"(?![\w/\-%@]|\.\w|:\d)"

COUNTS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "couple": 2, "few": 3,
    "several": 4, "dozen": 12,
}  # fmt: skip

# One absolute or relative day or time, without what stands before it. The name says how it is counted.
PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(rf"(?i){_BEGIN}(?:{pattern}){_END}"))
    for kind, pattern in (
        ("iso", r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)(?:T\d\d:\d\d[\d:.]*Z?)?"),
        ("iso", r"(?P<y>\d{4})/(?P<m>\d\d?)/(?P<d>\d\d?)"),
        ("iso", rf"(?P<d>\d\d?)\.\s?(?P<m>\d\d?)\.\s?(?P<y>{YEAR})"),
        ("slashed", rf"(?P<a>\d\d?)/(?P<b>\d\d?)/(?P<y>{YEAR})"),
        ("iso_month", rf"(?P<y>{YEAR})-(?P<m>\d\d)"),
        ("iso_week", rf"(?P<y>{YEAR})-?W(?P<w>\d\d)"),
        ("day", rf"(?:the\s+)?{D}(?:\s+of)?\s+(?P<month>{MONTH})(?:,?\s+(?P<y>{YEAR}))?"),
        ("day", rf"(?P<month>{MONTH})\s+(?:the\s+)?{D}(?:,?\s+(?P<y>{YEAR}))?"),
        ("days", rf"(?:the\s+)?{D_TO_D}(?:\s+of)?\s+(?P<month>{MONTH})(?:,?\s+(?P<y>{YEAR}))?"),
        ("days", rf"(?P<month>{MONTH})\s+{D_TO_D}(?:,?\s+(?P<y>{YEAR}))?"),
        ("month", rf"(?P<month>{MONTH}),?(?:\s+of)?(?:\s+(?P<y>{YEAR})|\s+(?P<which>last|this|next)\s+year)"),
        ("month", rf"(?P<which>last|previous|this|next)\s+(?P<month>{MONTH})"),
        ("bare_month", rf"(?P<month>{MONTH})"),
        ("season", rf"(?P<season>{SEASON})(?:\s+of|,)?(?:\s+(?P<y>{YEAR})|\s+(?P<which>last|this|next)\s+year)"),
        ("season", rf"(?P<which>last|previous|past|this|next)\s+(?P<season>{SEASON})"),
        ("bare_season", rf"(?P<season>{SEASON})"),
        ("quarter", rf"q(?P<q>[1-4])(?:\s+of|\s*[/\-'])?\s*(?P<y>{YEAR})"),
        ("quarter", rf"(?P<y>{YEAR})[\s\-]?q(?P<q>[1-4])"),
        ("quarter", rf"(?:the\s+)?(?P<q>first|second|third|fourth|last)\s+quarter\s+of\s+(?P<y>{YEAR})"),
        ("bare_quarter", r"q(?P<q>[1-4])"),
        ("half", rf"(?:the\s+)?(?P<q>first|second)\s+half\s+of\s+(?P<y>{YEAR})"),
        ("half", rf"h(?P<q>[12])\s+(?P<y>{YEAR})"),
        ("unit", r"(?P<which>last|previous|this|next)\s+(?P<unit>week|month|quarter|year|weekend|decade)"),
        ("unit", r"(?P<which>last)\s+(?P<unit>night)"),
        ("trailing", rf"(?:the\s+)?(?:last|past|previous)\s+(?P<n>{NUMBER})\s+(?P<unit>{UNIT})s?"),
        ("trailing", rf"(?:the\s+)?past\s+(?P<unit>{UNIT})"),
        ("ago", rf"(?:about\s+|around\s+|some\s+)?(?P<n>{NUMBER})\s+(?P<unit>{UNIT})s?\s+ago"),
        ("ago", r"(?P<n>half\s+a)\s+(?P<unit>year)\s+ago"),
        ("ago", r"(?P<n>a)\s+(?P<unit>fortnight)\s+ago"),
        ("hours", r"(?:\d+|an?|one|two|three|few|a\s+few)\s+(?:hour|minute)s?\s+ago"),
        ("daybefore", r"the\s+day\s+(?P<which>before\s+yesterday|after\s+tomorrow)"),
        ("word", r"(?P<word>yesterday|today|tomorrow|tonight|this\s+(?:morning|afternoon|evening))"),
        ("weekday", rf"(?P<which>last|past|this\s+past|this|next)\s+(?P<weekday>{WEEKDAY}|mon|tue|wed|thu|fri)"),
        ("bare_weekday", rf"(?P<weekday>{WEEKDAY})"),
        ("year", rf"(?:the\s+)?year\s+(?P<y>{YEAR})"),
        ("bare_year", rf"(?P<y>{YEAR})"),
        ("decade", r"the\s+(?P<y>(?:19|20)\d0)s"),
        ("decade", r"the\s+[’']?(?P<short>[5-9]0)s"),
    )
)  # fmt: skip

BEFORE_MONTH = re.compile(
    r"(?i)\b(?:in|since|during|before|after|until|till|through|throughout|over|as\s+of|(?:early|mid|late)(?:\s+in|-)?"
    r"|(?:beginning|start|middle|end)\s+of)\s*\Z"
)
"""What says that a month or a weekday's name is one."""

BEFORE_SEASON = re.compile(
    r"(?i)\b(?:in|during|since|until|till|over|throughout|early|late)\s+(?:the\s+)?\Z|\b(?:before|after)\s+\Z"
)

BEFORE_QUARTER = re.compile(r"(?i)\b(?:in|since|during|before|after|until|till|for|of|end\s+of)\s+\Z")

BEFORE_WEEKDAY = re.compile(r"(?i)\b(?:on|since|before|after|until|till)\s+\Z")

BEFORE_YEAR = re.compile(
    r"(?i)\b(?:in|since|during|before|after|until|till|throughout|prior\s+to|(?:early|mid|late)(?:\s+in|-)?"
    r"|(?:beginning|start|middle|end|rest|most|course)\s+of)\s*\Z"
)

LEADING = re.compile(
    r"(?i)\b(?P<word>before|prior\s+to|earlier\s+than|after|later\s+than|since|until|till|up\s+to|starting\s+(?:in|from))\s+"
    r"(?:the\s+|about\s+|around\s+)?\Z"
)
"""What makes an open range of a time."""

PART = re.compile(
    r"(?i)\b(?:in\s+)?(?:the\s+)?(?P<part>early|mid|late|beginning\s+of|start\s+of|middle\s+of|end\s+of)[\s\-]*(?:in\s+)?(?:the\s+)?\Z"
)

ANCHORED = re.compile(
    rf"(?i)\b(?P<span>(?:the\s+)?(?:(?P<n>{NUMBER})\s+)?(?P<unit>{UNIT}|weekend|{WEEKDAY})s?"
    rf"|(?:the\s+)?last\s+(?P<last>{UNIT}|weekend|{WEEKDAY})|the\s+night)\s+(?P<word>before|after|prior\s+to)\s+\Z"
)
"""`two weeks before`, `the Friday after`, `last weekend before`: counted from the time that follows."""

BETWEEN = re.compile(r"(?i)\b(?P<word>between|from)\s+(?:the\s+)?\Z")
AND = re.compile(r"(?i)\s*(?:and|to|until|till|through|-|–|—)\s*(?:the\s+)?\Z")

# What may follow a bare year: anything else makes of it a number of things (`in 2000 lines`).
_AFTER_YEAR = re.compile(
    r"(?:'s)?\s*(?:\Z|[.,;:!?)\]\"”]|[–—-]\s*(?:19|20)\d\d|[–—-]\s|"
    r"\b(?i:and|or|did|was|were|is|are|has|have|had|does|do|will|would|can|could|for|with|about|to|at|on|by|from|when|"
    r"while|that|which|who|what|where|why|how|as|but|than|before|after|because|between|until|compared|versus|vs|in|of|"
    r"i|we|he|she|it|they|you|the|a|an|my|our|his|her|their|your|this|there)\b"
    r"|[A-Z][a-z]{2,})"
)

_MEASURE = re.compile(r"\s+(?:Hz|MB|GB|KB|TB|MHz|GHz|Ohm|Watt|Euro|Dollar)")

# Words that make something else of a season or month before them.
_OTHER_THING = re.compile(
    r"(?i)\s+(?:boot|framework|security|data|cloud|batch|beans?|mvc|webflux|config|context|profiles?|apps?|applications?"
    r"|cleaning|rolls?|water|loaded|school|camp|under|into|back|apart|within|short|off|over|through|behind|out|madness"
    r"|guy|line|of\s+(?!(?:19|20)\d\d))\b"
)
_NAME_FOLLOWS = re.compile(r"\s+(?!(?:I|Q[1-4])\b)[A-Z]\w*")
_POSSESSIVE = re.compile(r"[’']s\b")
_WOULD_BE_VERB = re.compile(
    r"(?i)\b(?:do|does|did|will|would|can|could|should|may|might|must|shall|if|when|that|how|why|where)\s+\Z"
)


def is_month(found: re.Match[str], text: str) -> bool:
    """Whether a month's name without a year means the month: `may`, `march` and short forms can be other words."""
    word = found["month"]
    before, after = text[: found.start("month")], text[found.end("month") :]
    doubtful = word.casefold() in ("may", "march", "mar", "dec", "jan", "sep", "jun")
    if found.re.groupindex.get("d") is not None:
        # "7 may" and "may 3" in small letters are as well a verb with a number.
        lead = text[: found.start()]
        return not (doubtful and word.islower()) or bool(
            re.search(r"(?i)\b(?:on|since|before|after|until|by|of)\s+(?:the\s+)?\Z", lead)
        )
    if "which" in found.re.groupindex:
        return not word.islower() or word.casefold() not in ("may", "march")
    if not BEFORE_MONTH.search(before) or _NAME_FOLLOWS.match(after) or _OTHER_THING.match(after):
        return False
    return not (
        len(word.rstrip(".")) <= 3 and word.casefold() != "may" and (word.islower() or _POSSESSIVE.match(after))
    )


def is_season(found: re.Match[str], text: str) -> bool:
    """Whether a season's name means the season, and not a fall, a framework or a verb."""
    word = found["season"]
    before, after = text[: found.start()], text[found.end() :]
    if _OTHER_THING.match(after) or (_NAME_FOLLOWS.match(after) and word[0].isupper()):
        return False
    if "which" in found.re.groupindex:
        fallen = word.casefold() in ("fall", "spring") and (found["which"] or "").casefold() == "this"
        return not (fallen and _WOULD_BE_VERB.search(before)) and not re.search(r"(?i)\bthe\s+\Z", before)
    if word[0].isupper() or not BEFORE_SEASON.search(before):
        return False
    return word != "fall" or not re.search(r"(?i)\b(?:before|after|since|until|till)\s+(?:the\s+)?\Z", before)


def follows_year(text: str, at: int) -> bool:
    """Whether what follows a number at a place lets it be a year."""
    return _AFTER_YEAR.match(text, at) is not None and not _MEASURE.match(text, at)


def is_year(found: re.Match[str], text: str, last: int) -> bool:
    """Whether a number alone is a year: a word before it says so, and nothing that could be counted follows."""
    return (
        1900 <= int(found["y"]) <= last
        and BEFORE_YEAR.search(text[: found.start()]) is not None
        and follows_year(text, found.end())
    )


def is_weekday(found: re.Match[str], text: str) -> bool:
    """Whether a weekday's name means one day, and not every such day or a name."""
    if "which" in found.re.groupindex:
        return len(found["weekday"]) > 3 or found["weekday"][0].isupper()
    after = text[found.end() :]
    return bool(BEFORE_WEEKDAY.search(text[: found.start()])) and not _NAME_FOLLOWS.match(after)


def is_whole(found: re.Match[str], text: str) -> bool:
    """Whether `last year` and the like are not a part of something: `the last year of school`."""
    after = text[found.end() :]
    if re.match(r"(?i)\s+of\s+(?!(?:19|20)\d\d)", after):
        return False
    return not (found["which"].casefold() == "last" and re.match(r"(?i)[\s-]+(?:mile|final)", after))
