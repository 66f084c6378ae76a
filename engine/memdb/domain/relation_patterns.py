"""Relations that a text states in so many words: the offline extractor's, which says nothing where it is not certain.

A sentence counts that begins with one name, goes on with one of few phrases and, right behind it, another name, and
says nothing that takes it back: no question, condition, doubt, quotation or list. Of all others no relation is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memdb.base.text import name_key
from memdb.domain.names import Name
from memdb.domain.names_words import GIVEN_NAMES, PEOPLES, is_common

CONFIDENCE = 0.8
"""Of every relation found by rules. Of 200 found in Wikipedia passages one was wrong; hardly any is in other texts."""

LONGEST_PHRASE = 200
"""Characters between two names."""

LONGEST_SENTENCE = 600
"""Characters in which what takes a statement back is looked for."""

PERSON, OTHER = "person", "other"


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between two names by their keys; `start` and `stop` bound the sentence up to its object."""

    subject: str
    predicate: str
    object: str
    confidence: float
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A phrase between two names; what the first and the second may be; `turned` where the object stands first."""

    phrase: re.Pattern[str]
    predicate: str
    first: str | None
    second: str | None
    turned: bool = False


_ROLES = (
    "accountant|administrator|analyst|architect|attorney|chemist|consultant|designer|developer|director|doctor|editor"
    "|engineer|journalist|lawyer|lecturer|librarian|manager|mechanic|nurse|photographer|physician|physicist|principal"
    "|producer|professor|programmer|reporter|researcher|scientist|secretary|surgeon|teacher|technician|tutor|writer"
)
_PLACES = (
    "airport|archipelago|borough|bridge|castle|cathedral|church|city|college|comarca|commune|community|county|district"
    "|hamlet|hospital|hotel|island|lake|library|locality|monastery|mountain|mountain range|municipality|museum"
    "|neighborhood|neighbourhood|palace|parish|park|peak|peninsula|province|region|river|settlement|school|stadium"
    "|suburb|theatre|town|township|university|valley|village|volcano|ward"
)
_WORKS = (
    "album|anime|application|ballet|book|cartoon|comedy|comic|comedy-drama|documentary|drama|essay|film|framework|game"
    "|language|library|manga|melodrama|movie|musical|novel|novella|opera|painting|play|poem|program|sculpture|series"
    "|serial|short story|single|song|story|symphony|thriller|tool|western"
)
_MADE = (
    "authored|built|co-created|co-designed|co-developed|co-directed|co-founded|co-written|composed|created|designed"
    "|developed|directed|founded|invented|made|painted|sculpted|written"
)
_MADE_BY = rf"(?:{_MADE})(?: and (?:{_MADE}|produced))? by"
# Words of a description in lower case, years, and peoples: "a 1960 Indian drama film".
_DESCRIBED = r"(?:[a-z0-9][\w'’\-]*,? |[A-Z][a-z]+(?:-language)? ){0,6}?"


def _phrase(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?: \([^()\n]{{1,120}}\))? (?:{words}) (?:the )?[`*_\"]{{0,2}}")


_PATTERNS = (
    _Pattern(_phrase(r"(?:currently |now )?works (?:at|for)"), "works_at", PERSON, OTHER),
    _Pattern(_phrase(r"is (?:currently |now )?employed (?:at|by)"), "works_at", PERSON, OTHER),
    _Pattern(_phrase(rf"(?:works as|is) an? (?:[a-z\-]+ ){{0,2}}(?:{_ROLES}) at"), "works_at", PERSON, OTHER),
    _Pattern(_phrase(r"works on|is (?:currently |now )?working on|maintains"), "works_on", PERSON, OTHER),
    _Pattern(_phrase(r"is (?:located|situated|headquartered) in"), "located_in", OTHER, OTHER),
    _Pattern(
        _phrase(rf"is an? {_DESCRIBED}(?:{_PLACES}) (?:located |situated )?in"), "located_in", OTHER, OTHER
    ),
    _Pattern(_phrase(r"depends on|relies on|is built on(?: top of)?"), "depends_on", OTHER, OTHER),
    _Pattern(_phrase(r"is (?:now )?(?:a )?part of"), "part_of", OTHER, OTHER),
    _Pattern(
        _phrase(r"is an? (?:[a-z\-]+ ){0,2}(?:component|department|division|module|section|subsidiary) of"),
        "part_of", OTHER, OTHER,
    ),
    _Pattern(_phrase(rf"(?:is|was) (?:[a-z]+ly )?{_MADE_BY}"), "created_by", OTHER, None),
    _Pattern(
        _phrase(rf"(?:is|was) an? {_DESCRIBED}(?:{_WORKS}) (?:{_MADE_BY}|by)"), "created_by", OTHER, None
    ),
    _Pattern(_phrase(r"founded|co-founded|invented"), "created_by", PERSON, OTHER, turned=True),
    _Pattern(_phrase(r"uses|is using"), "uses", None, OTHER),
    _Pattern(_phrase(r"attended|studied at|graduated from"), "attended", PERSON, OTHER),
)  # fmt: skip

# What a sentence may begin with before its first name.
_OPENING = re.compile(r"\s*(?:[-*+•>]+ |\d{1,3}[.)] )?[*_`]{0,3}(?:The )?(?:(?:Mr|Mrs|Ms|Dr|Prof)\.? )?[*_`]{0,3}\Z")
# After three letters or digits: "vs. Larry Flynt" and "St. Maurice" go on.
_BREAK = re.compile(r"(?<=\w\w\w)[.!?][)\]*_`]*\s|\n[ \t]*\n|\n(?=[ \t]*(?:[-*+•>]|\d{1,3}[.)]) )")

# What may follow the second name: the end of the clause, or a word that adds to what was said.
_FOLLOWING = re.compile(
    r"[`*_]{0,3}(?:\s*(?:[.;!)]|\Z)|\n[ \t]*(?:\n|[-*+•>])|,? \("
    r"|,\s+(?:an?|the|which|where|who|since|in|on|near|with|about|based|released|[a-z]+ing|[a-z]+ed)\b|\s+(?:as|at|for|from|in|since|near|on|to|with|through|under|who|which|where"
    r"|starring|about|during|every|today|by means|based|released|and (?:[a-z]+s|[a-z]+ed|is|was|has|starring))\b)"
)
_IN_A_PLACE = re.compile(r",\s+[A-Z]")

_TAKEN_BACK_WORDS = """
no not never nobody none nor neither without hardly barely scarcely cannot if unless whether until till when whenever
may might could would should must can will shall maybe perhaps possibly probably presumably apparently allegedly
reportedly supposedly seemingly likely unlikely rumored rumoured rumor rumour claim claims claimed said says say told
according think thinks thought believe believes believed suppose suspect guess guesses assume assumes hope hopes seem
seems seemed appear appears appeared want wants plan plans planned intend intends pretend pretends imagine imagines
imagined fictional fictitious hypothetical example instead formerly previously once former ex or either disputed
attributed unclear unknown uncertain wrong false fake joke kidding supposed longer
"""
_TAKEN_BACK = frozenset(_TAKEN_BACK_WORDS.split())
_WORD = re.compile(r"[a-z]+(?:['’]t\b)?")
_DOUBT = re.compile(r"[?\"“”„«»]|\bused to\b|n['’]t\b")


def relations_in(text: str, places: Sequence[Name], own: Sequence[str] = ()) -> tuple[Relation, ...]:
    """The relations that a text states between names at their places, in its order, each once.

    `own` are what the text is called itself: one of them is a name where the text begins with it.
    """
    at = {name.start: name for name in places}
    found: dict[tuple[str, str, str], Relation] = {}
    subject = _own_name(text, own)
    for first in (*([subject] if subject else ()), *places):
        if subject and first is not subject and first.start < subject.stop:
            continue
        for relation in _stated(text, first, at):
            found.setdefault((relation.subject, relation.predicate, relation.object), relation)
    return tuple(found.values())


def _own_name(text: str, own: Sequence[str]) -> Name | None:
    start = len(text) - len(text.lstrip())
    for name in sorted(own, key=len, reverse=True):
        stop = start + len(name)
        if name and text.startswith(name, start) and not text[stop : stop + 1].isalnum():
            return Name(name_key(name), name, None, "proper", start, stop)
    return None


def _stated(text: str, first: Name, at: dict[int, Name]) -> Iterator[Relation]:
    if not _opens(text, first.start):
        return
    begin = first.stop + len(text[first.stop : first.stop + 3]) - len(text[first.stop : first.stop + 3].lstrip("`*_"))
    window = text[begin : begin + LONGEST_PHRASE].replace("\n", " ")
    for pattern in _PATTERNS:
        phrase = pattern.phrase.match(window)
        second = at.get(begin + phrase.end()) if phrase else None
        if second is None or second.key == first.key or not second.key or not first.key:
            continue
        if not _is(first, pattern.first) or not _is(second, pattern.second) or not _goes_on(text, second, pattern):
            continue
        if _is_taken_back(text, begin, second.stop):
            return
        ends = (second, first) if pattern.turned else (first, second)
        yield Relation(ends[0].key, pattern.predicate, ends[1].key, CONFIDENCE, first.start, second.stop)
        return


def _opens(text: str, start: int) -> bool:
    """Whether a sentence or an item of a list begins at this place."""
    before = text[max(0, start - 40) : start]
    begin = 0
    for begun in _BREAK.finditer(before):
        begin = begun.end()
    if begin == 0 and start > 40:
        return False
    return _OPENING.match(before[begin:]) is not None


def _goes_on(text: str, second: Name, pattern: _Pattern) -> bool:
    rest = text[second.stop : second.stop + 40]
    return _FOLLOWING.match(rest) is not None or (
        pattern.predicate == "located_in" and _IN_A_PLACE.match(rest) is not None
    )


def _is_taken_back(text: str, start: int, stop: int) -> bool:
    end = _BREAK.search(text, stop, start + LONGEST_SENTENCE)
    # With the sign that ends it: a question is none of its own.
    sentence = text[start : end.start() + 1 if end else start + LONGEST_SENTENCE]
    return _DOUBT.search(sentence) is not None or not _TAKEN_BACK.isdisjoint(_WORD.findall(sentence))


def _is(name: Name, wanted: str | None) -> bool:
    """Whether a name may be what a phrase asks for: a person needs a sign of it, anything else none against it."""
    if wanted is None:
        return True
    words = name.name.split()
    is_plain = name.type is None and all(word.isalpha() and word[0].isupper() for word in words)
    is_person = name.type == PERSON or (is_plain and words[0].casefold() in GIVEN_NAMES)
    if wanted == OTHER:
        return not is_person and name.key not in PEOPLES
    # The phrase says the rest of two or three words that are no everyday ones.
    is_full_name = len(words) in (2, 3) and not any(is_common(word.casefold()) or word.isupper() for word in words)
    return is_person or (is_plain and is_full_name)
