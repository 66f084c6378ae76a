"""The words of a sentence that count for what it claims, folded and without their endings; numbers with their units."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from memdb.base.text import name_key
from memdb.domain import clashes_words as lists


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number or mark of a sentence, folded; `kind` is word, code, number, day, month, date, time, mark."""

    text: str
    kind: str
    raw: str
    unit: str = ""
    is_named: bool = False  # an article stands before it

    @property
    def is_slot(self) -> bool:
        return self.kind in ("number", "day", "month", "date", "time")


_TOKEN = re.compile(
    r"""(?P<word>(?!v\d|https?://)[^\W\d_](?:[\w'’./+\#&-]*[\w+\#])?)
    |(?P<code>`[^`\n]+`)
    |(?P<url>https?://\S+)
    |(?P<date>\d{4}-\d\d(?:-\d\d)?(?![\w-])|\d{1,2}[./]\d{1,2}[./]\d{4})
    |(?P<time>\d{1,2}:\d\d(?::\d\d)?(?![\w:]))
    |(?P<number>[€$£]?v?\d+(?:[.,]\d+)*(?:[-–]\d+(?:[.,]\d+)*)?
        (?=$|[\s%.,;:!?)\]"'’”]|(?:ms|s|min|h|d|[kmgt]i?b|[kmgt])\b|-[a-z]))
    |(?P<other>[^\W_](?:[\w'’./+\#&-]*[\w+\#])?)
    |(?P<mark>->|=>|==?|:|→)
    |(?P<hash>\#)""",
    re.VERBOSE | re.IGNORECASE,
)
"""Words come first, for most tokens are; `other` are words that begin with a digit."""

_LINK = re.compile(r"!?\[\[([^\]|\n]*\|)?([^\]\n]*)\]\]|!?\[([^\]\n]*)\]\([^)\s]*\)")
_CONTRACTIONS = re.compile(r"(?i)\b(ca|wo|is|are|was|were|do|does|did|has|have|had|should|must|could|would)n['’]t\b")
_EMPHASIS = re.compile(r"\*\*|__|~~|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")
_NOT = re.compile(r"(?i)\b(cannot|no longer)\b")
_WHOLE = {"ca": "can", "wo": "will"}
_PURE_NUMBER = re.compile(r"v?\d+(?:[.,]\d+)*")


LONGEST_BEFORE = 12
"""Characters of the longest word that tells how the next one is read."""

WORDS_KEPT = 20_000
"""Words whose reading is kept: texts repeat theirs."""


def tokens_of(text: str) -> list[Token]:
    """The words of a sentence that count, folded and without their endings; numbers with their units."""
    # To look for a sign is much faster than a pattern that needs it.
    if "[" in text:
        text = _LINK.sub(lambda found: found[2] or found[3] or "", text)
    if "*" in text or "_" in text or "~" in text:
        text = _EMPHASIS.sub("", text)
    if "'" in text or "’" in text:
        text = _CONTRACTIONS.sub(lambda found: f"{_WHOLE.get(found[1].lower(), found[1])} not", text)
    text = _NOT.sub(lambda found: "can not" if found[0][0] in "cC" else "not", text)
    found: list[Token] = []
    before = ""
    for match in _TOKEN.finditer(text):
        raw = match[0]
        token = _token(str(match.lastgroup), raw, before)
        if token is not None:
            found.append(token)
        before = _kind_before(raw) if len(raw) <= LONGEST_BEFORE else ""
    return _measured(found)


@lru_cache(maxsize=WORDS_KEPT)
def _token(group: str, raw: str, before: str) -> Token | None:  # noqa: PLR0911 (one for each kind of word)
    word = name_key(raw)
    if group == "code":
        inside = name_key(raw.strip("`"))
        return Token(inside, "number", raw) if _PURE_NUMBER.fullmatch(inside) else Token(inside, "code", raw)
    if group == "number":
        number = re.sub(r",(?=\d{3}\b)", "", word).lstrip("v").replace("–", "-")
        return Token(f"#{number}", "word", raw) if before == "counted" else Token(number, "number", raw)
    if group in ("date", "time", "mark"):
        return Token("=" if group == "mark" and word != ":" else word, group, raw)
    if group == "hash" or word in lists.DROPPED:
        return None
    is_named = before == "article"
    if word in lists.DAYS:
        return Token(lists.DAYS[word], "day", raw)
    if word in lists.MONTHS and (word != "may" or (raw == "May" and before == "preposition")):
        return Token(word, "month", raw)
    if word in lists.NUMBERS:
        return Token(lists.NUMBERS[word], "number", raw)
    return Token(_stem(word.removesuffix("'s").removesuffix("’s")), "word", raw, is_named=is_named)


def _kind_before(raw: str) -> str:
    """What of the word before matters for how a word is read."""
    word = raw.casefold().rstrip(".")
    if word == "#" or word in lists.COUNTED:
        return "counted"
    if word in ("the", "a", "an"):
        return "article"
    return "preposition" if word in ("in", "on", "of", "by", "since", "until") else ""


def _stem(word: str) -> str:
    if word in lists.OPPOSED or word in lists.AUXILIARIES:
        return word
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _measured(tokens: Sequence[Token]) -> list[Token]:
    """Numbers together with the unit behind them, as seconds or bytes where it is one of those."""
    result: list[Token] = []
    for token in tokens:
        last = result[-1] if result else None
        unit = lists.UNITS.get(token.text) or lists.UNITS.get(token.text.removesuffix("s"))
        if last is not None and last.kind == "number" and not last.unit and token.kind == "word" and unit:
            result[-1] = _in_unit(last, *unit)
        else:
            result.append(token)
    return result


def _in_unit(number: Token, unit: str, factor: float) -> Token:
    try:
        return replace(number, text=f"{float(number.text.lstrip('€$£')) * factor:g}", unit=f" {unit}")
    except ValueError:
        return number
