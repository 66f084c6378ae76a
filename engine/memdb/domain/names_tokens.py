"""A text as words with their case and place: what the rules for proper names look at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from memdb.domain.names_words import is_common

# Abbreviations that take their full stop with them: "Dr. Weiss" is one run of words.
_ABBREVIATED = r"(?:M[rsx]|Mrs|Dr|Prof|St|Sr|Jr|Lt|Col|Sgt|Capt|Gen|Rev|Sen|Gov|Mt|Ft)\.(?=\s[^\W\d_a-z])"
_INITIALS = r"(?:[^\W\d_]{1,2}\.){2,}|[^\W\d_a-z]\.(?=\s|-|,)"
_ACCENTS = "\u0300-\u036f"
# An apostrophe joins what follows in lower case (Vera's) or after one or two letters (O'Neil); elsewhere it quotes.
_JOINT = r"(?:[-‐‑&]|['’](?![A-Z])|(?<=\b[A-Z])['’]|(?<=\b[A-Z][a-z])['’])"
_WORD = re.compile(rf"{_ABBREVIATED}|{_INITIALS}|[^\W_]+(?:[{_ACCENTS}][^\W_]*)*(?:{_JOINT}[^\W_]+)*")
_PARTS = re.compile(r"[-‐‑'’&]")
# Signs between the parts of a module, a path, an address; an empty string is none of them.
_DOTS = frozenset("._\\@")
_POSSESSIVE = re.compile(r"['’][sS]\Z")
_CONTRACTION = re.compile(r"['’](?:m|d|ll|re|ve|t)\Z", re.I)

# Before a word that opens a sentence, a line, a quotation or a table cell.
_START = re.compile(r"[.!?…:;|•\n\"“”«„][\s\"“”'‘’(\[*_>#~\-–—|+•✓✗☐✅❌→]*(?:\d{1,3}[.)]\s+)?\Z")
_LINE_BREAK = re.compile(r" ?\n[ \t]*")
# Lines of wrapped prose have at least this many characters; shorter ones end where their author ended them.
_WRAPPED_LINE = 60
# What stands between two words is read up to this many characters back.
_LONGEST_GAP = 40

# Found often in English, and hardly in other languages; and the other way round.
_ENGLISH_WORDS = """
the of and with that it you as by this are from not or we they their has were which have would been will can your his
her
"""
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_FOREIGN_WORDS = """
und ist nicht eine mit auf que los las una para est les une dans pour che sono del jest się że ale het een voor niet att
som och det jak nie por con sich oder wird
"""
_FOREIGN = frozenset(_FOREIGN_WORDS.split())
# Share of capitals inside sentences above which they tell nothing: headlines, and languages that write nouns with them.
_HEADLINE_SHARE = 0.6
_NOUN_SHARE = 0.25
# Fewest words inside sentences for these shares to mean something.
_LEAST_INNER = 12


class Case(Enum):
    """How a word is written."""

    LOWER = 0
    CAPITAL = 1
    UPPER = 2
    MIXED = 3
    NUMBER = 4


class Word(NamedTuple):
    """One word with its place.

    `opens` when it may have its capital from its place in the sentence alone; `joins` when one space parts it from the
    word before, `comma` when a comma does; `closes` when no name goes on after it.
    """

    text: str
    folded: str
    start: int
    stop: int
    case: Case
    opens: bool
    joins: bool
    comma: bool
    possessive: bool
    closes: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """The words of a text, which of them it has in lower case and with a capital inside a sentence, and its manner.

    `shouting` when capitals tell nothing: headlines, and languages that write every noun with one.
    """

    words: Sequence[Word]
    lower: frozenset[str]
    capital: frozenset[str]
    english: bool
    shouting: bool


def read(prose: str, taken: Sequence[tuple[int, int]]) -> Reading:
    """The words of a text that do not touch the `taken` places."""
    words = list(_words(prose, sorted(taken)))
    plain = [word for word in words if word.case is not Case.NUMBER]
    low = [word.folded for word in plain if word.case is Case.LOWER]
    inner = [word for word in plain if not word.opens]
    high = [word.folded for word in inner if word.case is not Case.LOWER]
    lower, capital = frozenset(low), frozenset(high)
    folded = [word.folded for word in plain]
    hits, foreign = sum(map(_ENGLISH.__contains__, folded)), sum(map(_FOREIGN.__contains__, folded))
    english = hits > foreign if hits + foreign else prose.isascii()
    list_of_names = english and sum(word.comma for word in inner) * 4 > len(high)
    share = _HEADLINE_SHARE if english else _NOUN_SHARE
    shouting = len(inner) >= _LEAST_INNER and len(high) > share * len(inner) and not list_of_names
    return Reading(words, lower, capital, english, shouting)


def _words(prose: str, taken: Sequence[tuple[int, int]]) -> Iterator[Word]:
    blocked = iter([*taken, (len(prose) + 1, len(prose) + 1)])
    begin, end = next(blocked)
    before = 0
    heading_until = -1
    for match in _WORD.finditer(prose):
        start, stop = match.span()
        while end <= start:
            begin, end = next(blocked)
        if (start < end and stop > begin) or (
            (prose[stop : stop + 1] in _DOTS or prose[start - 1 : start] in _DOTS) and _is_dotted(prose, start, stop)
        ):
            before = stop
            continue
        spelled = match.group()
        if before and start - before == 1 and prose[before] == " " and spelled.isalpha():
            # Most words: what follows, for a word of letters alone behind a space.
            case = Case.LOWER if spelled.islower() else _case(spelled)
            opens = start < heading_until
            yield Word(spelled, spelled.casefold(), start, stop, case, opens, True, False, False, False)
            before = stop
            continue
        gap = _gap(prose, before, start)
        closes = possessive = False
        if not spelled.isalpha():
            spelled, closes, possessive = _trimmed(spelled)
        if (before == 0 or "\n" in gap) and "#" in gap.rpartition("\n")[2]:
            line_end = prose.find("\n", start)
            heading_until = len(prose) if line_end < 0 else line_end
        opens = start < heading_until or before == 0 or (gap != " " and _START.search(gap) is not None)
        joins = gap in (" ", "  ")
        case = _case(spelled)
        end_of_word = start + len(spelled)
        folded = spelled.casefold()
        yield Word(spelled, folded, start, end_of_word, case, opens, joins, gap == ", ", possessive, closes)
        before = stop


def _is_dotted(prose: str, start: int, stop: int) -> bool:
    """True for one part of `Meta.exclude` or `a_b` that is no identifier as a whole."""
    if prose[stop : stop + 1] in _DOTS and prose[stop + 1 : stop + 2].isalnum():
        return True
    if start < 2 or prose[start - 1] not in _DOTS or not prose[start - 2].isalnum():
        return False
    return start < 3 or not prose[start - 3].isspace()  # "J.Weiss" is a name


def _gap(prose: str, before: int, start: int) -> str:
    """What stands between two words; one space where a long line of prose goes on in the next."""
    gap = prose[max(before, start - _LONGEST_GAP) : start]
    if gap != " " and _LINE_BREAK.fullmatch(gap) and before - prose.rfind("\n", 0, before) > _WRAPPED_LINE:
        return " "
    return gap


def _trimmed(word: str) -> tuple[str, bool, bool]:
    """A word without its ending, whether that closes a name, and whether it was a possessive.

    The name in a compound with an everyday word goes without that: `Linux-based` is Linux.
    """
    head, hyphen, tail = word.rpartition("-")
    if hyphen and head[:1].isupper() and tail.islower() and is_common(tail):
        return head, True, False
    possessive = _POSSESSIVE.search(word)
    if possessive:
        return word[: possessive.start()], True, True
    return _CONTRACTION.sub("", word), False, False


def _case(word: str) -> Case:
    if word[0].isupper() and word[1:].islower() and word.isalpha():
        return Case.CAPITAL
    if word[0].isdigit():
        return Case.NUMBER
    if word.islower() or ("-" in word and word.partition("-")[0].islower()):
        return Case.LOWER
    if word.isupper():
        return Case.UPPER if sum(map(str.isalpha, word)) > 1 else Case.CAPITAL
    if not word[0].isupper():
        # Scripts without case are neither; `iPhone` is mixed.
        return Case.MIXED if any(map(str.isupper, word)) else Case.LOWER
    parts = _PARTS.split(word)
    return Case.CAPITAL if all(part[1:].islower() or len(part) < 2 for part in parts) else Case.MIXED
