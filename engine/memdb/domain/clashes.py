"""What the sentences of a memory claim, so cut that two which cannot both be true meet: same form, other value.

A form is a sentence with one thing taken out: a number, a date, a day, what is negated or opposed, or what stands
behind `is`. That thing is the value. Precision comes before recall: a sentence that speaks of what stood before it, of
something past, of an example, or of one of several things makes no claim here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

from memdb.base.text import name_key
from memdb.base.words import STOPWORDS
from memdb.domain import clashes_words as lists
from memdb.domain.clashes_text import Passage, passages
from memdb.domain.clashes_tokens import Token, tokens_of

FORM_BYTES = 8
"""Of the number of a form: 64 bits keep a billion sentences apart."""

FEWEST_WORDS, FEWEST_LABEL_WORDS = 2, 3
"""Words of its own that a sentence has beside its value, and that a line without a verb has (`Deploy port: 8080`)."""

_DATED = re.compile(r"(19|20)\d\d[-_.]?[01]\d[-_.]?[0-3]\d")
"""A day in the name of a memory."""

MOST_TOKENS = 40
"""A longer sentence says more than one thing."""

MOST_NUMBERS = 3
"""A sentence with more numbers is a row of a log or a table."""

MOST_PREDICATE_WORDS = 4
"""Of what stands behind `is`: more of them describe."""


class Claim(NamedTuple):
    """One sentence without its value; `form` is a digest, `value` is comparable by `disagree`, `quote` the sentence."""

    form: int
    value: str
    quote: str


def claims_in(name: str, description: str, body: str, when: Sequence[str | None] = ()) -> list[Claim]:
    """What a memory claims, in reading order, each form once; a form with two values in one text is none.

    A memory with a date in its name tells of that day and claims nothing. `when` are the dates from and to which it
    holds: what is true at different times does not meet.
    """
    if _DATED.search(name):
        return []
    scope = _places(name)
    dates = [date or "" for date in when] if any(when) else []
    found: dict[int, Claim] = {}
    ambiguous: set[int] = set()
    for passage in passages(description, body):
        where = scope | _places(" ".join(passage.headings))
        for claim in _claims_of(passage, where, dates):
            known = found.setdefault(claim.form, claim)
            if known.value != claim.value:
                ambiguous.add(claim.form)
    return [claim for claim in found.values() if claim.form not in ambiguous]


def disagree(a: str, b: str) -> bool:
    """Whether two values of one form cannot both be right: neither is the other, more exactly (`3` and `3.11`)."""
    kind, _, left = a.partition(" ")
    other, _, right = b.partition(" ")
    if kind != other or left == right:
        return False
    if kind == "number":
        return not (left.startswith(f"{right}.") or right.startswith(f"{left}."))
    if kind in ("date", "time"):
        return not (left.startswith(right) or right.startswith(left))
    if kind == "is":
        few, many = sorted((set(left.split()), set(right.split())), key=len)
        return not few <= many
    return True


def _places(text: str) -> frozenset[str]:
    """The words of a name or heading that say which of several worlds is meant, and its numbers."""
    return frozenset(word for word in _pieces(text) if word in lists.PLACES or word.isdigit())


def _pieces(name: str) -> list[str]:
    return [name_key(piece) for piece in re.findall(r"[^\W\d_]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])|\d+", name)]


def siblings(a: str, b: str) -> bool:
    """Whether two names are of two of a kind (`HighLoadWarning85`, `HighLoadWarning95`): each has its own facts."""
    left, right = set(_pieces(a)), set(_pieces(b))
    shared = left & right
    return (
        len(shared) > 1 and bool(left - right) and bool(right - left) and 2 * len(shared) >= min(len(left), len(right))
    )


# Sentences


def _claims_of(passage: Passage, places: frozenset[str], dates: Sequence[str]) -> Iterator[Claim]:
    if passage.text.split(" ", 1)[0].casefold() in _LEADS_BACK or passage.text.endswith("?"):
        return
    tokens = tokens_of(passage.text)
    if not _is_claim(passage, tokens):
        return
    said = {token.text for token in tokens}
    scope = sorted(places | (said & lists.PLACES))
    marks = [token.text for token in tokens]

    def claim(kind: str, form: Sequence[str], value: str) -> Claim:
        digest = sha256("\x1f".join([kind, *dates, "", *scope, "", *form]).encode("utf-8", "replace")).digest()
        return Claim(int.from_bytes(digest[:FORM_BYTES], "big", signed=True), f"{kind} {value}", passage.text)

    start = _predicate_start(tokens)
    least = FEWEST_WORDS if start is not None and tokens[start - 1].kind != "mark" else FEWEST_LABEL_WORDS
    if start is None:
        return
    is_past = _is_past(tokens)
    for place, token in enumerate(tokens):
        if not token.is_slot or place < start or (is_past and not _is_once(tokens, token)):
            continue
        rest = [*marks[:place], f"<{token.kind}{token.unit}>", *marks[place + 1 :]]
        if _content(tokens, without=place) >= least:
            yield claim(token.kind, rest, token.text)
    if is_past:
        return
    if _content(tokens) >= least:
        for polarity in _polarities(tokens, start):
            yield claim("polarity", *polarity)
    predicate = _predicate(tokens)
    if predicate is not None:
        yield claim("is", *predicate)


def _is_claim(passage: Passage, tokens: Sequence[Token]) -> bool:
    if not 3 <= len(tokens) <= MOST_TOKENS or passage.text.rstrip("\"'”’)").endswith("?"):
        return False
    if sum(token.is_slot for token in tokens) > MOST_NUMBERS or tokens[0].is_slot or tokens[0].kind == "mark":
        return False
    first, second = tokens[0].text, tokens[1].text
    words = {token.text for token in tokens}
    if tokens[0].is_named and words & lists.ONCE and _is_verb(tokens[1]):
        return False  # `the museum was founded in 1924`: which one, the text said before
    return (first not in lists.BACKWARD or (first == "there" and second in ("is", "are"))) and not words & lists.UNSURE


def _content(tokens: Sequence[Token], without: int = -1) -> int:
    """How many different words say what the sentence is about."""
    return len(
        {
            token.text
            for place, token in enumerate(tokens)
            if place != without
            and token.kind in ("word", "code")
            and token.text not in STOPWORDS
            and token.text not in lists.AUXILIARIES
            and token.text not in lists.OPPOSED
            and len(token.text) > 1
        }
    )


def _predicate_start(tokens: Sequence[Token]) -> int | None:
    """The place behind the first verb, or behind a mark such as `:`; None where there is neither."""
    for place, token in enumerate(tokens):
        if token.kind == "mark":
            return place + 1
        if _is_verb(token):
            return place + 1
        if token.kind == "word" and place and _is_participle(token.text):
            return place + 1
    return None


def _is_verb(token: Token) -> bool:
    """Whether a word can be a verb where it stands: behind an article it is none."""
    if token.kind != "word" or token.is_named:
        return False
    return token.text in lists.VERBS or token.text in lists.PAST or token.text in lists.VERB_SIDES


def _is_participle(word: str) -> bool:
    return len(word) > 4 and word.endswith("ed") and word not in lists.NOT_PAST


def _is_past(tokens: Sequence[Token]) -> bool:
    """Whether something is told that happened: it may have happened otherwise another time."""
    present = False
    for place, token in enumerate(tokens):
        after = tokens[place + 1] if place + 1 < len(tokens) else None
        if token.text in lists.AUXILIARIES or token.kind == "mark":
            present = True
        elif present or token.kind != "word":
            continue
        elif token.text in lists.PAST or (
            _is_participle(token.text)
            and (
                # Before a noun it says of which kind that is: nested tables.
                after is None or after.is_slot or after.is_named or after.text in STOPWORDS
            )
        ):
            return True
    return False


def _is_once(tokens: Sequence[Token], token: Token) -> bool:
    return token.kind in ("date", "month", "number") and any(other.text in lists.ONCE for other in tokens)


_LEADS_BACK = lists.BACKWARD - {"there"}


# Opposites


def _polarities(tokens: Sequence[Token], start: int) -> Iterator[tuple[list[str], str]]:
    """The sentence without its negations, and without each opposed word in it, with what was taken out."""
    form: list[str] = []
    negated: list[int] = []
    for place, token in enumerate(tokens):
        if token.kind == "word" and (token.text in lists.NEGATIONS or token.text == "avoid"):
            negated.append(len(form))
        if token.text == "avoid":
            form.append("use")
        elif token.text not in lists.NEGATIONS and token.text != "always":
            form.append(token.text)
        opposed = _opposed(tokens, place, start)
        if opposed is not None:
            group, side = opposed
            before, after = [one.text for one in tokens[:place]], [one.text for one in tokens[place + 1 :]]
            if before and before[-1] in lists.NEGATIONS:
                before.pop()
                side = "-" if side == "+" else "+"
            yield [*before, f"<{group}>", *after], side
    if len(negated) < 2:
        yield form, f"not {negated[0]}" if negated else ""


def _opposed(tokens: Sequence[Token], place: int, start: int) -> tuple[str, str] | None:
    """The group and side of a word that has a contrary where it stands; `start` is where the predicate begins."""
    word, before = tokens[place].text, tokens[place - 1].text if place else ""
    if tokens[place].kind != "word":
        return None
    if word in lists.ADVERB_SIDES or (word in lists.VERB_SIDES and place < start):
        return lists.ADVERB_SIDES.get(word) or lists.VERB_SIDES[word]
    is_last = place + 1 == len(tokens)
    if word in lists.PREPOSITION_SIDES:
        return lists.PREPOSITION_SIDES[word] if place >= start and not is_last else None
    says_what_it_is = before in lists.AUXILIARIES or before in lists.NEGATIONS or before in (":", "=")
    if place < start or not (says_what_it_is or (is_last and before in lists.SWITCHED)):
        return None
    is_setting = word in lists.ADJECTIVE_SIDES and (word not in ("on", "off") or is_last)
    return lists.ADJECTIVE_SIDES[word] if is_setting else _prefixed(word)


def _prefixed(word: str) -> tuple[str, str] | None:
    for prefix in lists.PREFIXES:
        rest = word.removeprefix(prefix)
        if rest != word and len(rest) > 3 and rest.endswith(lists.PREFIXED_ENDS):
            return f"un-{rest}", "-"
    return (f"un-{word}", "+") if len(word) > 3 and word.endswith(lists.PREFIXED_ENDS) else None


# What something is


def _predicate(tokens: Sequence[Token]) -> tuple[list[str], str] | None:
    """The sentence up to `is`, and what stands behind it, where that is the name of one thing or a setting's value."""
    place = next((place for place, one in enumerate(tokens) if one.kind == "mark" or one.text in lists.COPULAS), None)
    if place is None:
        return None
    subject, rest = tokens[:place], tokens[place + 1 :]
    words = {one.text for one in subject if one.kind == "word"}
    is_unique = bool(words & lists.UNIQUE)
    names_one_thing = is_unique or (tokens[place].text != "are" and all(_is_name(one) for one in rest))
    if not names_one_thing or not _is_subject(subject, words) or not _is_value(rest):
        return None
    return [*(one.text for one in subject), "="], " ".join(one.text for one in rest)


def _is_subject(subject: Sequence[Token], words: set[str]) -> bool:
    is_verb = any(_is_verb(one) and one.text not in lists.UNIQUE for one in subject)
    return not is_verb and not words & lists.NEGATIONS and len(words - STOPWORDS) >= FEWEST_WORDS


def _is_value(rest: Sequence[Token]) -> bool:
    """Whether some words name something, and do not describe it."""
    if not 1 <= len(rest) <= MOST_PREDICATE_WORDS:
        return False
    if any(one.kind == "mark" or one.is_slot or one.text in _NO_VALUES for one in rest):
        return False
    last = rest[0].text
    describes = _is_participle(last) or last.endswith("ing") or last in lists.OPPOSED
    return len(rest) > 1 or not describes


_NO_VALUES = STOPWORDS | lists.NEGATIONS | lists.VERBS


def _is_name(token: Token) -> bool:
    return token.kind == "code" or (token.kind == "word" and token.raw[:1].isupper() and not token.raw.isupper())
