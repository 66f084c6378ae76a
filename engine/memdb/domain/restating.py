"""When a text says again what another one says: the same words but for case, punctuation and small typos.

What could be another fact never counts as the same: numbers, versions, names, dates, paths, signs, questions and any
word more or less. So two texts that restate one another have the same number of words in the same order, and can be
found by a few hashes (`signs`), however many texts there are.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Literal, NamedTuple

from memdb.domain.names_words import is_common

Way = Literal["exact", "near"]
"""How a text restates another: with the same words and signs, or with the same words."""

WORDS_PER_TYPO = 8
"""A typo is overlooked for so many words of a text; in a shorter one, a word may be the whole message."""

MOST_TYPOS = 3
"""Typos that are overlooked in a text of any length: each takes one more hash."""

TYPO_LENGTH = 6
"""Letters from which on a word can have a typo: of shorter ones, most neighbours are words themselves."""

_CLAMPED = "\"'`*()[]{}\u201c\u201d\u2018\u2019\u00ab\u00bb\u300c\u300d\u300e\u300f\u3010\u3011\u300a\u300b,;:!"
_OPENING = _CLAMPED
_CLOSING = _CLAMPED + "?.\u3002\u3001-\u2013\u2014"
"""Signs around a word that change nothing of what it says; a leading dot or hyphen does (`.env`, `-5`, `--force`)."""

_ENDS = re.compile(r"[.!?:;\u3002\u2026][\"'`*)\]}\u201d\u2019\u00bb\u300d\u300f]*$")
_JOINT = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])|\u2014|\.{3,}|\u2026")
_JOINING = re.compile(r"-|\u2014|\.{3}|\u2026")
_MARKUP = re.compile(r"#{1,6}|[-+|\u2013\u2014\u2022]+|={2,}")
"""What stands alone and is layout: headings, list items, rules, table bars."""

_AMBIGUOUS = frozenset(
    ["it", "us", "who", "can", "may", "march", "august", "polish", "turkey", "will", "mark", "bill", "rust", "go"]
)
"""Words that mean another thing with capitals."""


class Word(NamedTuple):
    """A word or sign of a text; `starts` says that a capital letter there says nothing."""

    text: str
    starts: bool


def compare(new: str, old: str) -> Way | None:
    """How the first text restates the second, if it does; texts without a word restate nothing."""
    if not signs(new):
        return None
    if folded(new) == folded(old):
        return "exact"
    ours, theirs = words(new), words(old)
    if len(ours) != len(theirs):
        return None
    shouted = new.upper() == new or old.upper() == old
    typos = 0
    for one, other in zip(ours, theirs, strict=True):
        if one.text == other.text or (_is_word(one.text) and _differs_in_case(one, other, shouted=shouted)):
            continue
        if not is_typo(one.text, other.text):
            return None
        typos += 1
    return "near" if typos <= _allowed(len(ours)) else None


def folded(text: str) -> str:
    """A text with every run of blanks and newlines as one space, and composed letters."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def signs(text: str) -> tuple[int, ...]:
    """Hashes (63 bits) of which texts that restate one another share at least one; none for a text without words.

    With k typos allowed, the words that can have one are dealt into k + 1 hands. Each hash is over the words of one
    hand and those that can have none, so that k typos leave one of them untouched.
    """
    found = [word.text.casefold() for word in words(text)]
    if not any(char.isalnum() for word in found for char in word):
        return ()
    soft = [place for place, word in enumerate(found) if len(word) >= TYPO_LENGTH and word.isalpha()]
    typos = _allowed(len(found)) if soft else 0
    if not typos:
        return (_hash(found),)
    hands = {place: order % (typos + 1) for order, place in enumerate(soft)}
    return tuple(
        dict.fromkeys(
            _hash([word if hands.get(place, hand) == hand else "\0" for place, word in enumerate(found)], hand)
            for hand in range(typos + 1)
        )
    )


def _hash(found: list[str], hand: int = 0) -> int:
    whole = f"{len(found)} {hand}\n" + "\n".join(found)
    return int.from_bytes(hashlib.sha256(whole.encode("utf-8", "surrogatepass")).digest()[:8], "big") >> 1


def _allowed(count: int) -> int:
    return min(MOST_TYPOS, count // WORDS_PER_TYPO)


def words(text: str) -> list[Word]:
    """The words and telling signs of a text in order; a question mark is one of its own."""
    found: list[Word] = []
    for line in (text if text.isascii() else unicodedata.normalize("NFKC", text)).splitlines():
        starts = True
        for written in (_JOINT.sub(" ", line) if _JOINING.search(line) else line).split():
            if written.isalnum():  # most words
                found.append(Word(written, starts))
                starts = False
                continue
            if _MARKUP.fullmatch(written):
                continue
            opened = written.lstrip(_OPENING)
            bare = opened.rstrip(_CLOSING)
            if bare:
                found.append(Word(bare.replace("\u2019", "'"), starts))
                starts = False
            if "?" in opened[len(bare) :]:
                found.append(Word("?", starts=False))
            starts = starts or _ENDS.search(written) is not None
    return found


def _is_word(text: str) -> bool:
    return text.replace("'", "").isalpha()


def _differs_in_case(one: Word, other: Word, *, shouted: bool) -> bool:
    """Whether two words are one, written with other capitals, and mean the same."""
    if one.text.casefold() != other.text.casefold():
        return False
    if shouted:
        return True
    capital = one if one.text[0].isupper() else other
    ambiguous = len(capital.text) == 1 or capital.text.casefold() in _AMBIGUOUS
    return not ambiguous or (capital.starts and (capital.text[1:].islower() or len(capital.text) == 1))


def is_typo(one: str, other: str) -> bool:
    """Whether two words are one common word and a slip in it: inside, a letter more, less or other, or two swapped.

    Of two common words both are meant (charging, changing), and of two uncommon ones either may be a name; so is
    what has a capital letter.
    """
    if not (one.isalpha() and other.isalpha() and one.islower() and other.islower()):
        return False
    if min(len(one), len(other)) < TYPO_LENGTH or abs(len(one) - len(other)) > 1 or is_common(one) == is_common(other):
        return False
    head = 0
    while head < min(len(one), len(other)) and one[head] == other[head]:
        head += 1
    tail = 0
    while tail < min(len(one), len(other)) - head and one[-1 - tail] == other[-1 - tail]:
        tail += 1
    # The first two letters and the last tell words apart: upload and unload, server and servers.
    if head < 2 or tail < 1:
        return False
    rest = one[head : len(one) - tail], other[head : len(other) - tail]
    longest = max(map(len, rest))
    return longest == 1 or (longest == 2 and rest[0] == rest[1][::-1])
