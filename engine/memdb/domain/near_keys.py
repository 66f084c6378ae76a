"""Keys under which names meet, and what those that meet under one key have in common.

What follows from one key follows from the names under it alone: a name that comes or goes changes what it shares a key
with, and nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from memdb.base.text import fold
from memdb.domain import near_letters, near_shapes
from memdb.domain.names_words import is_common
from memdb.domain.near_shapes import Shape, may_be_one

RULES = "1"
"""The version of all that follows from names here: another, where any name has other keys or reasons than before."""

MOST_ALIKE = 12
"""Names under one key: where more meet, what they share says nothing, and all pairs would be a square."""

SHORTEST_PART = 3
"""Letters of a name that stands for a longer one."""

THINGS = frozenset(("project", "tool", "technology", "concept"))
"""Types that are easily confused."""


class Reason(NamedTuple):
    """Why two names may be one, in words, and how often that is so, from 0 to 1."""

    words: str
    score: float


class Spelling(NamedTuple):
    """A name of an entity: whose it is, the entity's type where that is sure, and the place among its names."""

    owner: str
    place: int
    shape: Shape
    type: str | None


Key = tuple[int, str]
"""What names share: the kind of key and its text."""


class Meeting(NamedTuple):
    """Two entities that may be one, the lesser key first. Of ways to be spelled alike the one of least `rank` counts.

    `OTHER_RANK` is of reasons that count beside any other.
    """

    a: str
    b: str
    rank: int
    reason: Reason


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

LETTERS = 0
REDUCED = range(1, len(REDUCTIONS) + 1)
SLIP, SHORTER, INITIAL, SHORT, NUMBER, PART = range(REDUCED.stop, REDUCED.stop + 6)
"""Kinds of keys: the letters, those of each reduction, names of one length and one letter shorter, and other forms."""

BESIDE = dict.fromkeys(REDUCED, LETTERS) | {SLIP: SHORTER}
"""Kinds whose names meet also those under the same text of another kind."""

OTHER_RANK = 100

SLIPS = {
    "doubled": Reason("one letter doubled", 0.75),
    "swapped": Reason("two letters swapped", 0.7),
    "missing": Reason("one letter more", 0.65),
    "sound": Reason("one letter differs", 0.6),
    "other": Reason("one letter differs", 0.45),
}

LONE = 0.4
"""A slip in a name of one word: Granada and Grenada, Iceland and Ireland are as frequent as true ones."""

LONE_PLURAL = Reason("singular and plural", 0.45)
"""In a name of one word with a capital, whose type is not sure: Soviets, but Roberts."""

LONE_WITHOUT_ARTICLE = Reason("same but for the article", 0.6)
TURNED = Reason("same words in another order", 0.55)
"""Without a comma or `of`: Dan Iosif and Iosif Dan, but Lloyd George and George Lloyd."""

IDENTIFIERS = SAME_LETTERS._replace(score=0.7)
"""Two identifiers of the same letters: `userName` and `user_name` are often one thing in two languages, or two."""

INITIALS = Reason("initials", 0.75)
ACRONYM = Reason("acronym", 0.7)
NUMERONYM = Reason("the number stands for letters", 0.7)
PART_OF_A_PERSON = Reason("part of the person's name", 0.55)
PART_OF_A_COMPANY = Reason("part of the company's name", 0.45)
"""Too little by itself: Dutch and Dutch West India Company."""

Found = Iterator[tuple[Spelling, Spelling, Reason]]


def spellings(owner: str, names: Iterable[str], type_: str | None) -> list[Spelling]:
    """What is compared of an entity that is called so: its names, without those that hardly have a letter."""
    written = [spelling for name in dict.fromkeys(names) for spelling in near_shapes.spellings(name)]
    shapes = [Shape(spelling) for spelling in written]
    return [
        Spelling(owner, place, shape, type_)
        for place, shape in enumerate(shapes)
        if sum(map(str.isalpha, shape.squashed)) > 1
    ]


def keys(spelling: Spelling) -> Collection[Key]:
    """All keys of a name; of a reduction where it makes another thing of the letters."""
    return dict.fromkeys(_keys(spelling))


def _keys(spelling: Spelling) -> Iterator[Key]:
    shape, words = spelling.shape, spelling.shape.words
    yield LETTERS, shape.squashed
    for kind, (_, reduce) in zip(REDUCED, REDUCTIONS, strict=True):
        reduced = reduce(shape)
        if reduced and reduced != shape.squashed:
            yield kind, reduced
    compared = near_letters.letters(shape)
    if compared:
        yield SLIP, f"{compared[0]}{compared[-1]}{len(compared)}"
        yield SHORTER, f"{compared[0]}{compared[-1]}{len(compared) + 1}"
    if len(words) > 1 and len(words[-1]) > 1:
        yield INITIAL, f"{words[-1]} {words[0][0]}"
    if shape.is_acronym:
        yield SHORT, shape.squashed
    # Of the first letters of people's names no word is made.
    for short in near_shapes.acronyms(shape) if spelling.type != "person" else ():
        yield SHORT, short
    number = near_shapes.numeronym(shape)
    if number:
        yield NUMBER, " ".join(number)
    for word in (words[0],) if len(words) == 1 else _wholes(spelling):
        yield PART, word


def met(every: Iterable[tuple[Spelling, Collection[Key]]]) -> Iterator[tuple[Key, Meeting]]:
    """What some names with their keys have in common, with the keys under which it was found."""
    first: dict[Key, Spelling] = {}
    # Most keys are met once: a list for each would be most of the memory.
    more: dict[Key, list[Spelling]] = {}
    for spelling, some in every:
        for key in some:
            before = first.setdefault(key, spelling)
            if before is not spelling:
                more.setdefault(key, [before]).append(spelling)

    def under(key: Key) -> Sequence[Spelling]:
        return more.get(key) or ((first[key],) if key in first else ())

    for key in first:
        kind, text = key
        own, beside = under(key), under((BESIDE[kind], text)) if kind in BESIDE else ()
        if len(own) + len(beside) > 1:
            yield from ((key, meeting) for meeting in meetings(kind, own, beside))


def meetings(kind: int, own: Sequence[Spelling], beside: Sequence[Spelling] = ()) -> Iterator[Meeting]:
    """What the names under one key have in common; `beside` has those under the same text of the kind in `BESIDE`."""
    if not own:
        return
    if kind in REDUCED:
        _, reduce = REDUCTIONS[kind - 1]
        text = reduce(own[0].shape)
        beside = [spelling for spelling in beside if reduce(spelling.shape) == text]
    named = sorted((*own, *beside), key=lambda spelling: spelling[:2])
    if len(named) < 2 or kind == SHORTER:
        return
    if kind == LETTERS or kind in REDUCED:
        found = _reduced(named, SAME_LETTERS if kind == LETTERS else REDUCTIONS[kind - 1][0])
    else:
        found = FINDERS[kind](named)
    for one, other, reason in found:
        if one.owner != other.owner:
            rank = kind if kind <= SLIP else OTHER_RANK
            yield Meeting(min(one.owner, other.owner), max(one.owner, other.owner), rank, reason)


def _met(named: Sequence[Spelling]) -> Iterator[tuple[Spelling, Spelling]]:
    if len(named) <= MOST_ALIKE:
        for a, b in combinations(named, 2):
            if a.owner != b.owner and may_be_one(a.shape, b.shape):
                yield a, b


def _reduced(named: Sequence[Spelling], reason: Reason) -> Found:
    for a, b in _met(named):
        yield a, b, _weighed(reason, a, b)


def _weighed(reason: Reason, *both: Spelling) -> Reason:
    """A reason as it counts for two names: of one word, of code, or in another order it says less."""
    a, b = (spelling.shape for spelling in both)
    is_lone = any(len(shape.words) == 1 for shape in (a, b))
    if (a.is_identifier or b.is_identifier) and reason.score > IDENTIFIERS.score:
        is_file = "." in a.name or "/" in a.name
        return reason if fold(a.name) == fold(b.name) and not is_file else IDENTIFIERS
    if reason.words == LONE_PLURAL.words:
        types = {spelling.type for spelling in both}
        is_thing = types <= THINGS or any(shape.name[0].islower() or _has_inner_capital(shape) for shape in (a, b))
        return LONE_PLURAL if "person" in types or (is_lone and not is_thing) else reason
    if reason.words == LONE_WITHOUT_ARTICLE.words and is_lone:
        return LONE_WITHOUT_ARTICLE
    if reason.words == TURNED.words and not any("," in shape.name or "of" in shape.words for shape in (a, b)):
        return TURNED
    return reason


def _has_inner_capital(shape: Shape) -> bool:
    return any(map(str.isupper, shape.written[-1][1:]))


def _mistyped(named: Sequence[Spelling]) -> Found:
    """Of names of one length, those that have the same rest without a letter, and that which is such a rest."""
    compared = [near_letters.letters(spelling.shape) for spelling in named]
    longest = max(map(len, compared))
    under_rest: dict[str, list[Spelling]] = defaultdict(list)
    for spelling, letters in zip(named, compared, strict=True):
        rests = (rest for rest in near_letters.slip_keys(letters) if len(rest) == longest - 1)
        for rest in dict.fromkeys(rests) if len(letters) == longest else (letters,):
            under_rest[rest].append(spelling)
    for some in under_rest.values():
        for a, b in _met(some) if len(some) > 1 else ():
            kind = near_letters.slip(a.shape, b.shape)
            if kind:
                is_lone = len(a.shape.words) == len(b.shape.words) == 1
                yield a, b, SLIPS[kind]._replace(score=LONE) if is_lone else SLIPS[kind]


def _initialled(named: Sequence[Spelling]) -> Found:
    """`J. Smith` and `John Smith`, `John F. Kennedy` and `John Kennedy`."""
    if not any(spelling.shape.has_initial for spelling in named):
        return
    for short in named[:MOST_ALIKE]:
        fits = {
            one.owner: one
            for one in named
            if one.owner != short.owner and _is_shorter(short.shape, one.shape) and may_be_one(short.shape, one.shape)
        }
        if len(fits) == 1:
            yield short, next(iter(fits.values())), INITIALS


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


def _abbreviated(named: Sequence[Spelling]) -> Found:
    """`LREC` and `Language Resources and Evaluation Conference`."""
    short = [spelling for spelling in named if spelling.shape.is_acronym]
    fits = {spelling.owner: spelling for spelling in named if not spelling.shape.is_acronym}
    # Spelled in two ways it is still one meaning.
    if short and len({near_shapes.singular(one.shape) or one.shape.squashed for one in fits.values()}) == 1:
        yield from ((one, other, ACRONYM) for one in short for other in fits.values())


def _numbered(named: Sequence[Spelling]) -> Found:
    """`k8s` and `Kubernetes`."""
    short, long = (
        {one.owner: one for one in named if one.shape.squashed.isalpha() is is_word} for is_word in (False, True)
    )
    if len(short) == len(long) == 1:
        yield next(iter(short.values())), next(iter(long.values())), NUMERONYM


def _wholes(spelling: Spelling) -> Sequence[str]:
    """The words by which one may call what has a longer name: of a company the first, of a person the last too."""
    words = spelling.shape.words
    if len(words) > 2 and words[-1] in near_shapes.LEGAL_FORMS:
        return words[:1]
    # What may be a person too keeps a first name from being told.
    return (words[0], words[-1]) if spelling.type in ("person", None) else ()


def _parts(named: Sequence[Spelling]) -> Found:
    """`Mirela` and the only Mirela Dovrak, `Quill` and the only Quill Base Inc."""
    fits = {spelling.owner: spelling for spelling in named if len(spelling.shape.words) > 1}
    if len(fits) != 1:
        return
    [whole] = fits.values()
    is_company = len(whole.shape.words) > 2 and whole.shape.words[-1] in near_shapes.LEGAL_FORMS
    if not is_company and whole.type != "person":
        return
    for part in named:
        squashed = part.shape.squashed
        if len(part.shape.words) == 1 and len(squashed) >= SHORTEST_PART and not is_common(squashed):
            yield part, whole, PART_OF_A_COMPANY if is_company else PART_OF_A_PERSON


FINDERS: dict[int, Callable[[Sequence[Spelling]], Found]] = {
    SLIP: _mistyped,
    INITIAL: _initialled,
    SHORT: _abbreviated,
    NUMBER: _numbered,
    PART: _parts,
}
