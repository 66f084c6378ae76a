"""Names that the store already knows, found in a text in one pass: the extractor that costs no model.

A name is looked up by its match key: its words, folded and joined by one space. So `staging-database` and `Staging
Database` are one, while `C`, `C++` and `C#` stay apart. Scripts without spaces count each character as a
word, so their names are found inside a run. Where the names are kept (a table, a set) is the caller's business: `find`
asks for the few keys that the text could hold.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from memdb.domain.names_words import FUNCTION_WORDS, GENERIC_ACRONYMS, is_common

MAX_WORDS = 10
"""Most words of a name that is matched; longer titles are sentences, which no text repeats."""

MAX_UNSPACED = 16
"""Most characters of a name in a script without spaces."""

MIN_LETTERS = 4
"""Fewest letters of a one-word name: shorter words mean too many things. Acronyms may have one less."""

# What stands before the name of a person; in some texts it is a part of the name, in others not.
_RANK_WORDS = """
admiral archbishop archduchess archduke baron baroness bishop captain cardinal chancellor colonel count countess czar
dame doctor don dr duchess duke earl emir emperor empress general governor grand imam infanta infante judge kaiser king
lady lord major marchioness marquess marquis mayor minister miss mr mrs ms pope president prime prince princess prof
professor queen rabbi saint senator shah sheikh sir st sultan tsar tsarina viscount
"""
_RANKS = frozenset(_RANK_WORDS.split())

# Words whose windows are looked up together: bounds the memory that a text of any size takes.
_BATCH = 4096

# Signs that belong to the letter before them: loose accents, vowel signs of Indic and South-East Asian scripts.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0e31"
    "\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u102b-\u103e\u17b4-\u17d3"
) + "".join(
    f"{chr(block)}-{chr(block + 3)}{chr(block + 0x3A)}-{chr(block + 0x4F)}{chr(block + 0x62)}{chr(block + 0x63)}"
    for block in range(0x0900, 0x0E00, 0x80)
)
_WORD = re.compile(rf"[^\W_](?:[^\W_]|[{_MARKS}])*(?:\+\+|#)?")
_LETTER = re.compile(rf"[^{_MARKS}][{_MARKS}]*")

# First and last code point of scripts without spaces between words, and of Korean, whose particles join the name.
_UNSPACED = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1100, 0x11FF), (0x1780, 0x17FF), (0x2E80, 0x2FDF), (0x3005, 0x3007),
    (0x3021, 0x3029), (0x3041, 0x30FF), (0x3105, 0x318F), (0x31A0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF),
    (0xA960, 0xA97F), (0xAC00, 0xD7FF), (0xF900, 0xFAFF), (0xFF66, 0xFFDC), (0x20000, 0x3FFFF),
)  # fmt: skip
_UNSPACED_STARTS = tuple(first for first, _ in _UNSPACED)

# What may stand between two words of one name: at most three signs, no end of a sentence, no empty line.
_GAP = re.compile(r"(?!\n[ \t]*\n)[\s\-‐‑–_./\\'’`,&:@()\[\]\"“”*]{0,3}\Z")
_SENTENCE_END = re.compile(r"\.\s")
# "St. Maurice" and "J. Smith" go on after a full stop; "... the end. Then" does not.
_ABBREVIATION = 2

_TRAILING_BRACKETS = re.compile(r"\s*[(（\[][^()（）\[\]]*[)）\]]\s*\Z")


@dataclass(frozen=True, slots=True)
class Match:
    """A known name in a text: its match key, where it stands (`text[start:stop]`), and as it is spelled there."""

    key: str
    start: int
    stop: int
    name: str


@lru_cache(maxsize=4096)
def match_key(name: str) -> str:
    """The spelling by which known names are found in texts: folded words joined by one space; empty without a word."""
    return " ".join(word.key for word in _words(name))


def title_name(title: str) -> str:
    """The name that a title gives its subject: without a trailing part in brackets, "Ran (film)" is "Ran"."""
    short = _TRAILING_BRACKETS.sub("", title).strip()
    return short or title.strip()


def title_names(title: str) -> tuple[str, ...]:
    """The names by which a text of this title may be asked for: its subject's, and the whole where that is too common.

    "Possession (1922 film)" is told by its brackets alone from what the word means elsewhere.
    """
    name, whole = title_name(title), title.strip()
    return (name, whole) if name != whole and not is_matchable(name) and is_matchable(whole) else (name,)


def is_matchable(name: str) -> bool:
    """True when finding the name in a text says that the text is about it.

    One-word names need `MIN_LETTERS` letters and must be no common English word, no number and no everyday acronym;
    longer ones need an uncommon word, or two that carry meaning, or the capitals of a title (all of them where no word
    carries any: `I Like Only You`); at most `MAX_WORDS` words.
    """
    words = match_key(name).split(" ")
    if not words[0]:
        return False
    if any(_is_unspaced(word[0]) for word in words):
        return 2 <= len(words) <= MAX_UNSPACED
    if len(words) == 1:
        return _is_specific(words[0], name)
    if len(words) > MAX_WORDS:
        return False
    return _is_telling(words) or _is_title(name)


def agrees(name: str, found: str) -> bool:
    """True when a known name may be meant by the spelling found in a text: the rule for upper and lower case.

    A one-word name that is written with a capital must have one in the text as well (`Bramble` is no bramble), an
    acronym all of them, and so must the one telling word of a longer name (`The Pledge` is not the pledge). A title of
    everyday words alone (`Changed It`) is found only as it is spelled. All other names match in any case.
    """
    words, there = _spelled(name), _spelled(found)
    if len(words) != len(there):
        return True
    if len(words) > 1 and not _is_telling([_fold(word) for word in words]):
        return words == there
    telling = [at for at, word in enumerate(words) if _tells(_fold(word))]
    if len(words) > 1 and len(telling) > 1:
        return True
    return all(_case_agrees(words[at], there[at]) for at in telling)


def find(
    text: str,
    known: Callable[[Collection[str]], Collection[str]],
    starts: Callable[[Collection[str]], Mapping[str, int]] | None = None,
) -> tuple[Match, ...]:
    """The known names in a text, in its order: the longest of those that begin at a word, none overlapping.

    Behind a rank at its beginning a name may be known too (`King Eric XIV of Sweden`): it comes after the whole one, in
    which it lies, where it has two words or more. `known` is given match keys, at most `MAX_WORDS` for a word of the
    text, and answers which of them exist. `starts`, where given, is asked first: for words, the most words of a known
    name that begins with each (0 or absent: none).
    """
    words = _words(text)
    matches: list[Match] = []
    free = 0
    for begin in range(0, len(words), _BATCH):
        block = range(begin, min(begin + _BATCH, len(words)))
        firsts = [words[at].first for at in block]
        reach = None if starts is None else starts(set(firsts))
        windows = {
            at: keys
            for at, first in zip(block, firsts, strict=True)
            if (most := MAX_UNSPACED if reach is None else reach.get(first, 0)) and (keys := _windows(words, at, most))
        }
        there = known({key for keys in windows.values() for key in keys})
        if not there:
            continue
        for at, keys in windows.items():
            if at < free:
                continue
            longest = next((size for size in range(len(keys), 0, -1) if keys[size - 1] in there), 0)
            if longest:
                start, stop = words[at].start, words[at + longest - 1].stop
                matches.append(Match(keys[longest - 1], start, stop, text[start:stop]))
                free = at + longest
                for inner in range(at + 1, free - 1):
                    if words[inner - 1].key not in _RANKS:
                        break
                    rest = windows.get(inner, [])[: free - inner]
                    if len(rest) == free - inner and rest[-1] in there:
                        start = words[inner].start
                        matches.append(Match(rest[-1], start, stop, text[start:stop]))
                        break
    return tuple(matches)


class Gazetteer:
    """Known names in memory: `find` gives those that a text holds, with the case rule of `agrees` applied."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        """Keep the matchable ones of `names`."""
        self._names: dict[str, list[str]] = {}
        self._reach: dict[str, int] = {}
        for name in names:
            self.add(name)

    def add(self, name: str) -> bool:
        """Keep one more name; false when it is not matchable."""
        if not is_matchable(name):
            return False
        key = match_key(name)
        words = key.split(" ")
        self._names.setdefault(key, []).append(name)
        self._reach[words[0]] = max(self._reach.get(words[0], 0), len(words))
        return True

    def find(self, text: str) -> tuple[Match, ...]:
        """The names in a text, as `find` does."""
        found = find(text, self._names.keys().__and__, self._starts)
        return tuple(match for match in found if any(agrees(name, match.name) for name in self._names[match.key]))

    def _starts(self, words: Collection[str]) -> Mapping[str, int]:
        return self._reach


class _Piece(NamedTuple):
    text: str
    start: int
    stop: int
    unspaced: bool


class _Word(NamedTuple):
    key: str
    start: int
    stop: int
    joins_next: bool
    unspaced: bool

    @property
    def first(self) -> str:
        """What its key begins with: one sign can be several words, as a half is."""
        return self.key if " " not in self.key else self.key.partition(" ")[0]


def _words(text: str) -> list[_Word]:
    if text.isascii():
        return _ascii_words(text)
    pieces = list(_pieces(text))
    words = [
        _Word(_fold(one.text), one.start, one.stop, _joins(text, one.start, one.stop, after.start), one.unspaced)
        for one, after in pairwise(pieces)
    ]
    if pieces:
        last = pieces[-1]
        words.append(_Word(_fold(last.text), last.start, last.stop, False, last.unspaced))
    return words


def _ascii_words(text: str) -> list[_Word]:
    """The same for a text in which one character is one, folded or not: most are, and each is read in full."""
    folded = text.lower()
    spans = [word.span() for word in _WORD.finditer(text)]
    words = [
        _Word(folded[start:stop], start, stop, _joins(text, start, stop, after), False)
        for (start, stop), (after, _) in pairwise(spans)
    ]
    if spans:
        start, stop = spans[-1]
        words.append(_Word(folded[start:stop], start, stop, False, False))
    return words


def _pieces(text: str) -> Iterable[_Piece]:
    if text.isascii():
        return [_Piece(word.group(), *word.span(), False) for word in _WORD.finditer(text)]
    return _all_pieces(text)


def _all_pieces(text: str) -> Iterator[_Piece]:
    for word in _WORD.finditer(text):
        spelled, start = word.group(), word.start()
        if spelled.isascii() or not any(map(_is_unspaced, spelled)):
            yield _Piece(spelled, start, word.end(), False)
            continue
        begin = 0
        for letter in _LETTER.finditer(spelled):
            if _is_unspaced(letter.group()[0]):
                if begin < letter.start():
                    yield _Piece(spelled[begin : letter.start()], start + begin, start + letter.start(), False)
                begin = letter.end()
                yield _Piece(letter.group(), start + letter.start(), start + begin, True)
        if begin < len(spelled):
            yield _Piece(spelled[begin:], start + begin, word.end(), False)


def _spelled(name: str) -> list[str]:
    return [piece.text for piece in _pieces(name)]


def _is_unspaced(letter: str) -> bool:
    if letter < "\u0e00":
        return False
    at = bisect_right(_UNSPACED_STARTS, ord(letter)) - 1
    return at >= 0 and ord(letter) <= _UNSPACED[at][1]


def _joins(text: str, begin: int, start: int, stop: int) -> bool:
    """Whether a word at text[begin:start] can be of one name with the next one, at `stop`."""
    if stop - start == 1 and text[start] == " ":
        return True
    if stop - start > 3:
        return False
    gap = text[start:stop]
    if gap in (" ", "-", "_", ""):
        return True
    if _GAP.match(gap) is None:
        return False
    return _SENTENCE_END.search(gap) is None or start - begin <= _ABBREVIATION


def _windows(words: list[_Word], at: int, most: int) -> list[str]:
    """The match keys of the names of at most so many words that can begin at a word, shortest first."""
    first = words[at]
    limit = min(MAX_UNSPACED if first.unspaced else MAX_WORDS, most)
    keys: list[str] = []
    key = first.key
    while len(keys) < limit:
        keys.append(key)
        last = words[at + len(keys) - 1]
        if not last.joins_next:
            break
        key = f"{key} {words[at + len(keys)].key}"
    return keys


def _fold(word: str) -> str:
    if word.isascii():
        return word.lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())
    return " ".join(_WORD.findall(folded))  # a fraction or a ligature may fold to several words


def _tells(word: str) -> bool:
    return len(word) > 1 and not word.isdigit() and word not in FUNCTION_WORDS


def says_nothing(key: str) -> bool:
    """True for a match key of function words alone: such a title (`I Like Only You`) is one only as it is spelled."""
    return not any(_tells(word) for word in key.split(" "))


def _is_telling(words: Collection[str]) -> bool:
    telling = [word for word in words if _tells(word)]
    return len(telling) >= 2 or any(not is_common(word) for word in telling)


def _is_title(name: str) -> bool:
    words = _spelled(name)
    if not (words[0][0].isupper() and words[-1][0].isupper()):
        return False
    if any(_tells(_fold(word)) for word in words):
        return True
    return len(words) > 2 and all(word[0].isupper() for word in words)


def _case_agrees(known: str, found: str) -> bool:
    if known.isupper() and len(known) > 1:
        return found.isupper()
    if known[0].isupper() and known[1:].islower():
        return found[0].isupper()
    return True


def _is_specific(word: str, name: str) -> bool:
    letters = sum(letter.isalpha() for letter in word)
    if not letters:
        return False
    if word.endswith(("++", "#")):
        return True
    if word in GENERIC_ACRONYMS or is_common(word):
        return False
    return letters >= MIN_LETTERS or (letters >= MIN_LETTERS - 1 and (name.isupper() or letters < len(word)))
