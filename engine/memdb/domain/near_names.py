"""Pairs of names that may be one thing under two spellings: to ask a person, never to merge.

A name meets others only under keys (its letters, its letters less one, its words without a legal form, …), so that the
work grows with the number of names and not with its square. Where a short name fits two long ones, nobody can tell
which is meant, and neither is asked.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import NamedTuple

from memdb.base.text import fold
from memdb.domain import near_letters, near_shapes
from memdb.domain.names_words import is_common
from memdb.domain.near_shapes import Shape, may_be_one

WORTH_ASKING = 0.5
"""The least score of a pair: below it, most pairs are two things."""

MOST_ALIKE = 12
"""Names under one key: where more meet, what they share says nothing, and all pairs would be a square."""

OTHER_TYPES = 0.6
"""Of the score where two types are sure and far apart: models confuse them, people seldom."""

SURE_AS_SPELLED = 0.9
"""A pair of this score may be one thing even where one is a person and the other is not: somebody gave a wrong type."""

_THINGS = frozenset(("project", "tool", "technology", "concept"))


@dataclass(frozen=True, slots=True)
class Named:
    """What is compared: the key, the names with what it is called first, the type where that is sure, the mentions."""

    key: str
    names: tuple[str, ...]
    type: str | None = None
    mentions: int = 1


class Reason(NamedTuple):
    """Why two names may be one, in words, and how often that is so, from 0 to 1."""

    words: str
    score: float


@dataclass(frozen=True, slots=True)
class Near:
    """Two keys, the lesser first, why they may be one, and from 0 to 1 how likely it is."""

    a: str
    b: str
    reasons: tuple[Reason, ...]
    score: float


SAME_LETTERS = Reason("same letters", 0.95)

REDUCTIONS: tuple[tuple[Reason, Callable[[Shape], str]], ...] = (
    (Reason("same but for accents", 0.9), near_shapes.unaccented),
    (Reason("same but for accents", 0.85), near_shapes.transcribed),
    (Reason("same but for the way a number is written", 0.85), near_shapes.in_figures),
    (Reason("same but for the article", 0.85), near_shapes.without_article),
    (Reason("same but for the legal form", 0.85), near_shapes.without_legal_form),
    (Reason("same but for an abbreviation", 0.8), near_shapes.written_out),
    (Reason("same but for the title", 0.8), near_shapes.without_title),
    (Reason("singular and plural", 0.75), near_shapes.singular),
    (Reason("same words in another order", 0.75), near_shapes.in_order),
    (Reason("same but for the kind of thing", 0.6), near_shapes.without_kind),
    (Reason("same but for the maker", 0.6), near_shapes.without_maker),
)
"""Two names are near where one of these makes them equal; the first reason that does counts."""

SLIPS = {
    "doubled": Reason("one letter doubled", 0.75),
    "swapped": Reason("two letters swapped", 0.7),
    "missing": Reason("one letter more", 0.65),
    "sound": Reason("one letter differs", 0.6),
    "other": Reason("one letter differs", 0.45),
}

LONE = 0.4
"""A slip in a name of one word: Granada and Grenada, Iceland and Ireland are as frequent as true ones."""

LONE_AND_SELDOM = 0.55
"""The same with a letter doubled or two swapped, where one is mentioned at most once in `OFTEN` times the other."""

OFTEN = 5

LONE_PLURAL = Reason("singular and plural", 0.45)
"""In a name of one word with a capital, whose type is not sure: Soviets, but Roberts."""

LONE_WITHOUT_ARTICLE = Reason("same but for the article", 0.6)
TURNED = Reason("same words in another order", 0.55)
"""Without a comma or `of`: Dan Iosif and Iosif Dan, but Lloyd George and George Lloyd."""

IDENTIFIERS = SAME_LETTERS._replace(score=0.7)
"""Two identifiers of the same letters: `userName` and `user_name` are often one thing in two languages, or two."""

SHORTEST_PART = 3
"""Letters of a name that stands for a longer one."""

INITIALS = Reason("initials", 0.75)
ACRONYM = Reason("acronym", 0.7)
NUMERONYM = Reason("the number stands for letters", 0.7)
PART_OF_A_PERSON = Reason("part of the person's name", 0.55)
PART_OF_A_COMPANY = Reason("part of the company's name", 0.45)
"""Too little by itself: Dutch and Dutch West India Company."""

Spelling = tuple[int, Shape]
"""A name with the index of the entity that has it."""

Found = Iterator[tuple[int, int, Reason]]
"""Indexes of two entities, and why they are near."""


def near(
    entities: Iterable[Named], known: Iterable[tuple[str, str, Reason]] = (), floor: float = WORTH_ASKING
) -> list[Near]:
    """The pairs of a score of `floor` or more, the likeliest first, then by their keys.

    `known` has pairs of keys that are near for another reason than their names. About linear in the number of names:
    none is compared with more than `MOST_ALIKE` under one key.
    """
    named = sorted(entities, key=lambda entity: entity.key)
    place_of = {entity.key: place for place, entity in enumerate(named)}
    every = [
        (owner, Shape(spelling))
        for owner, entity in enumerate(named)
        for name in dict.fromkeys(entity.names)
        for spelling in near_shapes.spellings(name)
    ]
    every = [(owner, shape) for owner, shape in every if sum(map(str.isalpha, shape.squashed)) > 1]
    reasons: dict[tuple[int, int], list[Reason]] = defaultdict(list)
    for finder in (_reduced, _mistyped, _initialled, _abbreviated, _numbered, _parts):
        for one, other, reason in finder(named, every):
            pair = (min(one, other), max(one, other))
            # Of two ways to be spelled alike the surer one says it all.
            if one != other and not (finder in (_reduced, _mistyped) and reasons[pair]):
                reasons[pair].append(reason)
    for a, b, reason in known:
        if a != b and a in place_of and b in place_of:
            one, other = sorted((place_of[a], place_of[b]))
            reasons[one, other].append(reason)
    found = []
    for (one, other), some in reasons.items():
        why = tuple(sorted(set(some), key=lambda reason: (-reason.score, reason.words)))
        if why:
            types = _of_types(named[one].type, named[other].type, why[0].score)
            score = likelihood(reason.score for reason in why) * types
            found.append(Near(named[one].key, named[other].key, why, round(score, 2)))
    return sorted((pair for pair in found if pair.score >= floor), key=lambda pair: (-pair.score, pair.a, pair.b))


def likelihood(scores: Iterable[float]) -> float:
    """Of several reasons together: one less what all of them leave open, at most 0.99."""
    return min(0.99, 1 - math.prod(1 - score for score in scores))


def _of_types(a: str | None, b: str | None, surest: float) -> float:
    """The factor of two types: a person is nothing else, things are easily confused."""
    if a is None or b is None or a == b or (a in _THINGS and b in _THINGS):
        return 1.0
    if "person" in (a, b) and surest < SURE_AS_SPELLED:
        return 0.0
    return OTHER_TYPES


def _met(every: Sequence[Spelling], keyed: Iterable[tuple[str, int]]) -> Iterator[tuple[Spelling, Spelling]]:
    """The pairs of spellings that share a key and belong to two entities; `keyed` has keys and places in `every`."""
    first: dict[str, int] = {}
    # Most keys are met once: a list for each would be most of the memory.
    more: dict[str, list[int]] = {}
    for key, place in keyed:
        before = first.setdefault(key, place)
        if before != place:
            more.setdefault(key, [before]).append(place)
    for places in more.values():
        if len(places) <= MOST_ALIKE:
            for a, b in combinations([every[place] for place in places], 2):
                if a[0] != b[0] and may_be_one(a[1], b[1]):
                    yield a, b


def _reduced(named: Sequence[Named], every: Sequence[Spelling]) -> Found:
    whole: dict[str, list[int]] = defaultdict(list)
    for place, (_, shape) in enumerate(every):
        whole[shape.squashed].append(place)
    for (one, a), (other, b) in _met(every, ((key, place) for key, places in whole.items() for place in places)):
        yield one, other, _weighed(SAME_LETTERS, (named[one], a), (named[other], b))
    for reason, reduce in REDUCTIONS:
        # Most names are what they were: they are looked at where another one was reduced to them.
        shorter = [
            (key, place) for place, (_, shape) in enumerate(every) if (key := reduce(shape)) and key != shape.squashed
        ]
        same = (
            (key, place)
            for key in dict.fromkeys(key for key, _ in shorter)
            for place in whole.get(key, ())
            if reduce(every[place][1]) == key
        )
        for (one, a), (other, b) in _met(every, chain(shorter, same)):
            yield one, other, _weighed(reason, (named[one], a), (named[other], b))


def _weighed(reason: Reason, *both: tuple[Named, Shape]) -> Reason:
    """A reason as it counts for two names: of one word, of code, or in another order it says less."""
    (_, a), (_, b) = both
    is_lone = any(len(shape.words) == 1 for _, shape in both)
    if (a.is_identifier or b.is_identifier) and reason.score > IDENTIFIERS.score:
        is_file = "." in a.name or "/" in a.name
        return reason if fold(a.name) == fold(b.name) and not is_file else IDENTIFIERS
    if reason.words == LONE_PLURAL.words:
        types = {entity.type for entity, _ in both}
        is_thing = types <= _THINGS or any(shape.name[0].islower() or _has_inner_capital(shape) for _, shape in both)
        return LONE_PLURAL if "person" in types or (is_lone and not is_thing) else reason
    if reason.words == LONE_WITHOUT_ARTICLE.words and is_lone:
        return LONE_WITHOUT_ARTICLE
    if reason.words == TURNED.words and not any("," in shape.name or "of" in shape.words for _, shape in both):
        return TURNED
    return reason


def _has_inner_capital(shape: Shape) -> bool:
    return any(map(str.isupper, shape.written[-1][1:]))


def _mistyped(named: Sequence[Named], every: Sequence[Spelling]) -> Found:
    keyed = (
        (key, place)
        for place, (_, shape) in enumerate(every)
        for key in near_letters.slip_keys(near_letters.letters(shape))
    )
    for (one, a), (other, b) in _met(every, keyed):
        kind = near_letters.slip(a, b)
        if kind and len(a.words) == len(b.words) == 1:
            seldom, often = sorted((named[one].mentions, named[other].mentions))
            is_seldom = kind in ("doubled", "swapped") and seldom * OFTEN <= often
            yield one, other, SLIPS[kind]._replace(score=LONE_AND_SELDOM if is_seldom else LONE)
        elif kind:
            yield one, other, SLIPS[kind]


def _initialled(named: Sequence[Named], every: Sequence[Spelling]) -> Found:
    """`J. Smith` and `John Smith`, `John F. Kennedy` and `John Kennedy`."""
    under: dict[tuple[str, str], list[Spelling]] = defaultdict(list)
    wanted = {(shape.words[-1], shape.words[0][0]) for _, shape in every if shape.has_initial}
    for owner, shape in every:
        key = (shape.words[-1], shape.words[0][0])
        if len(shape.words) > 1 and len(shape.words[-1]) > 1 and key in wanted:
            under[key].append((owner, shape))
    for some in under.values():
        for one, short in some[:MOST_ALIKE]:
            fits = {
                other: shape
                for other, shape in some
                if other != one and _is_shorter(short, shape) and may_be_one(short, shape)
            }
            if len(fits) == 1:
                yield one, next(iter(fits)), INITIALS


def _is_shorter(short: Shape, long: Shape) -> bool:
    """Whether a person's name is another one with given names cut to a letter, or with middle letters left out."""
    if not (short.has_initial or long.has_initial):
        return False
    a, b = short.words[:-1], long.words[:-1]
    if len(a) == len(b):
        fits = all(x == y or (len(x) == 1 and y.startswith(x)) for x, y in zip(a, b, strict=True))
        return fits and a != b
    if len(a) != 1 or len(b) < 2:
        return False
    middle_is_cut = all(len(word) == 1 for word in b[1:])
    return (a[0] == b[0] and middle_is_cut) or (len(a[0]) == 1 and b[0].startswith(a[0]))


def _abbreviated(named: Sequence[Named], every: Sequence[Spelling]) -> Found:
    """`LREC` and `Language Resources and Evaluation Conference`."""
    short: dict[str, list[Spelling]] = defaultdict(list)
    for owner, shape in every:
        if shape.is_acronym:
            short[shape.squashed].append((owner, shape))
    long: dict[str, dict[int, Shape]] = defaultdict(dict)
    for owner, shape in every:
        # Of the first letters of people's names no word is made.
        for key in () if named[owner].type == "person" else near_shapes.acronyms(shape):
            if key in short:
                long[key][owner] = shape
    for key, fits in long.items():
        # Spelled in two ways it is still one meaning.
        if len({near_shapes.singular(shape) or shape.squashed for shape in fits.values()}) == 1:
            for one, _ in short[key]:
                yield from ((one, other, ACRONYM) for other in fits if other != one)


def _numbered(named: Sequence[Named], every: Sequence[Spelling]) -> Found:
    """`k8s` and `Kubernetes`."""
    under: dict[tuple[str, str, str], tuple[set[int], set[int]]] = defaultdict(lambda: (set(), set()))
    for owner, shape in every:
        key = near_shapes.numeronym(shape)
        if key:
            under[key][shape.squashed.isalpha()].add(owner)
    for short, long in under.values():
        if len(short) == len(long) == 1:
            yield min(short), min(long), NUMERONYM


def _parts(named: Sequence[Named], every: Sequence[Spelling]) -> Found:
    """`Mirela` and the only Mirela Dovrak, `Quill` and the only Quill Base Inc."""
    whole: dict[str, dict[int, Reason | None]] = defaultdict(dict)
    for owner, shape in every:
        words, type_ = shape.words, named[owner].type
        if len(words) > 2 and words[-1] in near_shapes.LEGAL_FORMS:
            whole[words[0]][owner] = PART_OF_A_COMPANY
        elif len(words) > 1 and type_ in ("person", None):
            # What may be a person too keeps a first name from being told.
            for word in (words[0], words[-1]):
                whole[word][owner] = PART_OF_A_PERSON if type_ == "person" else None
    for owner, shape in every:
        fits = whole.get(shape.words[0], {}) if len(shape.words) == 1 else {}
        if len(fits) == 1 and len(shape.squashed) >= SHORTEST_PART and not is_common(shape.squashed):
            [(other, reason)] = fits.items()
            if reason:
                yield owner, other, reason
