"""Proper names, by their capitals: runs of capitalised words that are not just the start of a sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile

from memdb.domain.names_spans import Span
from memdb.domain.names_tokens import Case, Reading, Word, read
from memdb.domain.names_words import (
    CALENDAR,
    FUNCTION_WORDS,
    GENERIC_ACRONYMS,
    GIVEN_NAMES,
    PAST_FORMS,
    PEOPLES,
    is_common,
    is_verb_form,
)

MAX_NAME_WORDS = 10
"""Longest run of words that is a name; longer ones are headlines."""

# Small words inside names, between capitals.
_PARTICLE_WORDS = """
de da do dos das del della di du des van von der den ter ten la le el al bin ibn ben bint abu y e zu af av
"""
_PARTICLES = frozenset(_PARTICLE_WORDS.split())
_LINKS = frozenset({"of", "for", "on", "and", "the", "de"})

# A name with one of these goes on after "of" and "for": University of X, Association for Y, Duke of Z.
_HEAD_WORDS = """
academy agency archbishop archdiocese archduke army assembly association bank baron battle bay bishop board book
bureau cape cathedral center centre chamber chapter church city coast college commission committee confederation
conference congress council count countess county court daughters department dictionary diocese district division
duchess duchy duke earl emperor empire encyclopedia faculty federation foundation fund gulf hall head history house
institute institution isle journal king kingdom knights laboratory lady league library lord marquess ministry minister
museum office order organisation organization our palace parliament party patriarch port president prince princess
principality proceedings province queen register republic royal ruler school sea secretary sheriff siege society sons
state statue strait sultan symposium synod theatre tower town transactions treaty union university valley war workshop
"""
_HEADS = frozenset(_HEAD_WORDS.split())

_PERSON_TITLES = frozenset({"mr", "mrs", "ms", "mx", "dr", "prof"})
_RANKS = frozenset({"sir", "rev", "fr", "sr", "capt", "captain", "lt", "col", "sgt", "gen", "sen", "gov", "professor"})
_TITLES = _PERSON_TITLES | _RANKS

_NOT_NAMES = """
e.g. i.e. p.s. a.m. p.m. ph.d. m.sc. b.sc. m.d. m.a. b.a. b.s. m.s. u.s. u.k.
"""
_ABBREVIATIONS = frozenset(_NOT_NAMES.split())

_LEGAL_FORMS = """
inc ltd llc llp plc gmbh ag corp corporation oy oyj bv nv sarl srl sro kft pty
"""
_BODIES = """
university institute foundation association ministry committee commission council society academy company college
"""
_ORGANIZATION_ENDS = frozenset(f"{_LEGAL_FORMS} {_BODIES}".split())
_ORGANIZATION_STARTS = frozenset(_BODIES.split()) | {"department", "bureau", "federation"}

# Words that open a sentence and are neither verbs nor function words.
_OPENERS = frozenset({"later", "earlier", "next"})

# What follows a subject, and neither an order ("Escalate to") nor a plain noun.
_AUXILIARY_WORDS = """
is was has had will would can could should may might must does did isn wasn hasn hadn won wouldn couldn doesn didn and
or also then just never always still now already who whose from says put set cut let hit read ran cost shut spread
split quit
"""
_AUXILIARIES = frozenset(_AUXILIARY_WORDS.split())

_HYPHEN = re.compile("[-‐‑]")
# A letter with a number: a key, an error, a place in a list.
_CODE = re.compile(r"[^\W\d_]\d+")
# A number with letters among its digits: a colour, a hash.
_HEXADECIMAL = re.compile(r"(?=\D*\d)[0-9A-F]{6,}")

# Ends of words that are made from other words; a capital at the start of a sentence says nothing about them.
_ENDS = """
tion sion ment ness ity ence ance ism tions ments ities ing ings ized ed ly
"""
_DERIVED = tuple(_ENDS.split())

# Everyday words that are the names of products whenever they have a capital inside a sentence.
_PRODUCTS = frozenset({"windows", "apple"})

# A text that writes so many everyday words in capitals does it with other words too: then only short ones are acronyms.
_STRESSING = 2
_SHORT_ACRONYM = 5

_SPEAKER = re.compile(
    r"^[ \t>*_-]{0,6}(?P<name>[^\W\d_][\w.'’-]{0,30}(?: [^\W\d_][\w.'’-]{0,30}){0,2})[*_]{0,2}:[*_]{0,2}[ \t]+\S",
    re.M,
)
_QUOTED = re.compile(r"(?<!\w)[\"“«„](?P<title>[^\W\d_][^\"“”«»„\n\\]{2,78}[^\s\"“”«»„\n\\.,;:])[\"”»“](?!\w)")
_LONGEST_TITLE = 8
# Most small words between two capitals of one name: "of the", "de la".
_SMALL_WORDS = 3
# In a title, words up to this many letters may be in lower case.
_SMALL_WORD = 4


def proper_names(prose: str, taken: Sequence[tuple[int, int]]) -> list[Span]:
    """The proper names of a text without its code blocks; nothing that touches the `taken` places.

    A word that is the first or the last one of a longer name in the same text stands for that name, and is left out.
    """
    text = read(prose, taken)
    stressing = sum(_is_stressed(word) for word in text.words if word.case is Case.UPPER) >= _STRESSING
    spans = [span for run, following in _runs(text.words) for span in _named(run, following, text, stressing)]
    spans = [*_speakers(prose), *_titles(prose), *spans]
    parts = {part for span in spans for part in _ends(prose[span.start : span.stop])}
    return [span for span in spans if prose[span.start : span.stop].casefold() not in parts]


def _ends(name: str) -> tuple[str, ...]:
    first, _, rest = name.casefold().partition(" ")
    return (first, rest.rpartition(" ")[2]) if rest else ()


def _speakers(prose: str) -> Iterator[Span]:
    """Labels of who speaks, at the start of lines: a person where the same one speaks again, else without a type."""
    labels = [match for match in _SPEAKER.finditer(prose) if _is_speaker(match["name"])]
    turns = Counter(label["name"] for label in labels)
    for label in labels:
        yield Span(*label.span("name"), "proper", "person" if turns[label["name"]] > 1 else None)


def _titles(prose: str) -> Iterator[Span]:
    """Titles of works, in quotation marks: from two to eight words, each but the small ones with a capital."""
    for quoted in _QUOTED.finditer(prose):
        words = quoted["title"].split()
        small = [word for word in words if not word[0].isupper()]
        if 2 <= len(words) <= _LONGEST_TITLE and words[-1][0].isupper() and words[0][0].isupper():
            ordinary = all(word.isupper() for word in words if word.isalpha())
            if all(len(word) <= _SMALL_WORD for word in small) and not ordinary:
                yield Span(*quoted.span("title"), "proper")


def _is_speaker(label: str) -> bool:
    words = label.split(" ")
    return all(word[0].isupper() and word[1:].islower() and not is_common(word.casefold()) for word in words)


def _runs(words: Sequence[Word]) -> Iterator[tuple[list[Word], Word | None]]:
    """Runs of capitalised words with the small words between them, each with the word after it."""
    at = 0
    while at < len(words):
        if words[at].case in (Case.LOWER, Case.NUMBER):
            at += 1
            continue
        run = [words[at]]
        at += 1
        while at < len(words) and not run[-1].closes and len(run) < 4 * MAX_NAME_WORDS:
            bridge = _bridge(run, words, at)
            if bridge == 0:
                break
            run.extend(words[at : at + bridge])
            at += bridge
        yield run, words[at] if at < len(words) else None


def _bridge(run: Sequence[Word], words: Sequence[Word], at: int) -> int:
    """How many of the words at this place belong to the run: 0 ends it."""
    following = words[at]
    if not following.joins or (following.opens and not _is_initial(run[-1].text)):
        return 0
    if following.case in (Case.CAPITAL, Case.UPPER, Case.MIXED):
        return 0 if _is_stressed(following) or _is_stressed(run[-1]) else 1
    small = list(takewhile(lambda word: word.case is Case.LOWER and word.joins, words[at : at + _SMALL_WORDS]))
    after = words[at + len(small)] if at + len(small) < len(words) else None
    if not small or after is None or not after.joins or after.opens or after.case in (Case.LOWER, Case.NUMBER):
        return 0
    return len(small) + 1 if _links(run, [word.folded for word in small], after) else 0


def _links(run: Sequence[Word], small: Sequence[str], after: Word) -> bool:
    """True when these small words go on with the name: particles always, "of" after a head, "and" after an "of"."""
    if all(word in _PARTICLES for word in small):
        return True
    if not all(word in _LINKS for word in small) or not any(word.folded in _HEADS for word in run):
        return False
    return "and" not in small or (len(small) == 1 and _holds_link(run) and after.folded not in _HEADS)


def _is_stressed(word: Word) -> bool:
    """True for an everyday word in capitals (NEVER), which is no acronym."""
    return (
        word.case is Case.UPPER
        and len(word.text) >= 3
        and word.folded not in GENERIC_ACRONYMS
        and (is_common(word.folded) or (len(word.text) > 6 and word.folded.endswith(_DERIVED)))
    )


def _holds_link(run: Sequence[Word]) -> bool:
    return any(word.folded in ("of", "for", "on") for word in run)


def _is_initial(word: str) -> bool:
    return word.endswith(".")


def _named(run: Sequence[Word], following: Word | None, text: Reading, stressing: bool) -> Iterator[Span]:
    kind: str | None = None
    words = list(run)
    while words:
        first = words[0]
        if first.folded.rstrip(".") in _TITLES and len(words) > 1:
            if first.folded.rstrip(".") in _PERSON_TITLES:
                kind = "person"
        elif not _is_leading_noise(words, text):
            break
        words.pop(0)
    while words and (words[-1].case is Case.LOWER or _is_noise(words[-1])):
        words.pop()
    if not words or len(words) > MAX_NAME_WORDS:
        return
    if _is_initial(words[-1].text):
        words[-1] = words[-1]._replace(stop=words[-1].stop - 1)
    if kind is None:
        kind = _organization(words)
    if (len(words) > 1 and _is_run(words, text)) or (
        len(words) == 1 and (kind == "person" or _is_single(words[0], following, text, stressing))
    ):
        yield Span(words[0].start, words[-1].stop, "proper", kind)


def _is_leading_noise(words: Sequence[Word], text: Reading) -> bool:
    first = words[0]
    if first.case is Case.LOWER or _is_noise(first):
        return True
    if len(words) == 1 or not first.opens:
        return False
    if first.folded in CALENDAR and first.case is Case.CAPITAL:
        return True
    if first.folded in text.capital or (text.english and first.folded in GIVEN_NAMES):
        return False
    return (
        not text.english
        or first.folded in text.lower
        or first.folded in _OPENERS
        or is_verb_form(first.folded)
        or _looks_inflected(first.folded)
    )


def _is_noise(word: Word) -> bool:
    if word.folded in FUNCTION_WORDS or word.folded in _ABBREVIATIONS:
        return True
    return word.case is Case.UPPER and word.folded in GENERIC_ACRONYMS


def _looks_inflected(word: str) -> bool:
    return len(word) >= 5 and word.endswith(("ed", "ing", "ly"))


def _organization(words: Sequence[Word]) -> str | None:
    last, first = words[-1].folded.rstrip("."), words[0].folded
    if len(words) > 1 and (
        last in _ORGANIZATION_ENDS or (first in _ORGANIZATION_STARTS and words[1].folded in ("of", "for"))
    ):
        return "organization"
    return None


def _is_run(words: Sequence[Word], text: Reading) -> bool:
    if all(word.case is Case.UPPER for word in words) or all(len(word.text) == 1 for word in words):
        return False
    if text.shouting:
        return any(word.case is Case.MIXED for word in words)
    if all(word.opens for word in words):  # a heading
        return all(word.folded in text.capital for word in words)
    return not all(word.folded in CALENDAR or word.folded in PEOPLES for word in words)


def _is_single(word: Word, following: Word | None, text: Reading, stressing: bool) -> bool:
    if word.case is Case.MIXED:
        return _is_mixed_name(word.text)
    if text.shouting or len(word.text) < 2 or _is_everybodys(word.folded) or _CODE.fullmatch(word.text):
        return False
    if word.case is Case.UPPER:
        return _is_acronym(word) and (len(word.text) <= _SHORT_ACRONYM or not stressing)
    if _is_ordinary(word):
        return False
    return not word.opens or _is_opening_name(word, following, text)


def _is_everybodys(word: str) -> bool:
    return word in FUNCTION_WORDS or word in CALENDAR or word in PEOPLES or word.endswith(("ish", "ese"))


def _is_opening_name(word: Word, following: Word | None, text: Reading) -> bool:
    if word.folded in text.capital or word.folded in text.lower:
        return word.folded not in text.lower
    derived = len(word.folded) >= 5 and word.folded.endswith(_DERIVED)
    return text.english and not derived and _acts(word, following)


def _is_acronym(word: Word) -> bool:
    if len(word.text) < 3 or word.folded.removesuffix("s") in GENERIC_ACRONYMS or _is_stressed(word):
        return False
    return not _HEXADECIMAL.fullmatch(word.text) and not _CODE.fullmatch(word.text)


def _is_mixed_name(word: str) -> bool:
    """True for inner capitals that are no unit or measure: `iOS` and `gRPC`, not `pH` or `kHz`."""
    if word[0].isdigit() or word.removesuffix("s").casefold() in GENERIC_ACRONYMS:
        return False
    return len(word) >= 4 or (word[0].islower() and word[1:].isupper() and len(word) > 2)


def _is_ordinary(word: Word) -> bool:
    """True for an everyday word, or a compound of such whose later parts have no capital (`Twenty-three`)."""
    if word.folded in _PRODUCTS:
        return False
    parts = _HYPHEN.split(word.text)
    if len(parts) > 1:
        return all(is_common(part.casefold()) for part in parts) and all(part.islower() for part in parts[1:])
    return is_common(word.folded)


def _acts(word: Word, following: Word | None) -> bool:
    """True when what follows the first word of a sentence makes it the subject: "Vera called", "Vera, who"."""
    if word.possessive:
        return True
    if following is None or following.case is not Case.LOWER:
        return False
    if not following.joins:
        return following.comma
    verb = following.folded
    return (
        verb in _AUXILIARIES
        or verb in PAST_FORMS
        or (verb.endswith("ed") and len(verb) > 4)
        or (verb.endswith("s") and is_verb_form(verb))
    )
