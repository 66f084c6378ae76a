"""Names that differ by one slip of the pen: found among many in one pass, judged one pair at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from memdb.domain.names_words import is_common
from memdb.domain.near_shapes import ALPHABETIC_END, Shape, without_accents

SHORTEST = 7
"""Letters of a name that can be another one mistyped: shorter names are one letter from too many others."""

LONGEST = 48
"""Letters of a name that is compared in this way: longer ones are sentences, and each letter costs a key."""

SHORTEST_WORD = 5
"""Letters of the word in which the slip is."""

SHORTEST_JOINED = 10
"""Letters of a name in which a slip and a space differ."""

Slip = Literal["swapped", "doubled", "missing", "sound", "other"]
"""Two neighbours changed places, a letter was doubled (or not), one is missing, one sounds alike, or is another."""

_SOUNDS = ("aeiouy", "ckqgx", "szc", "vwf", "bp", "dt", "mn", "jyi")


def letters(shape: Shape) -> str:
    """What is compared; empty where a slip cannot be told from another name."""
    compared = without_accents(shape.squashed)
    is_read = SHORTEST <= len(compared) <= LONGEST and max(compared) < ALPHABETIC_END and not shape.is_identifier
    return compared if is_read else ""


def slip_keys(compared: str) -> Iterator[str]:
    """The keys under which two names meet that are one slip apart, between their first and last letters.

    Each is the name less one letter, as in symmetric deletion: names that meet share such a rest.
    """
    yield compared
    for index in range(1, len(compared) - 1):
        # In a run of one letter it does not matter which of them is left out.
        if index == 1 or compared[index] != compared[index - 1]:
            yield compared[:index] + compared[index + 1 :]


def slip(a: Shape, b: Shape) -> Slip | None:
    """How two names differ where it is by one slip inside a word, else None.

    The first and last letters of a name carry its grammar (`typical`, `atypical`; `Maria`, `Mario`; `Russia`,
    `Russian`): there, another letter is another name.
    """
    one, other = sorted((letters(a), letters(b)), key=lambda text: (len(text), text))
    if not one or one == other or one[0] != other[0] or one[-1] != other[-1] or not _is_slip_of_a_word(a, b):
        return None
    start = next(index for index, letter in enumerate(other) if index >= len(one) or one[index] != letter)
    if len(other) == len(one) + 1 and one[start:] == other[start + 1 :]:
        return "doubled" if other[start] in (other[start - 1], *other[start + 1 : start + 2]) else "missing"
    if len(other) > len(one):
        return None
    if one[start + 1 :] == other[start + 1 :]:
        return "sound" if any(one[start] in some and other[start] in some for some in _SOUNDS) else "other"
    changed = other[start + 1] + other[start] + other[start + 2 :]
    return "swapped" if one[start:] == changed else None


def _is_slip_of_a_word(a: Shape, b: Shape) -> bool:
    """Whether the slip can be one: in a word that is long enough, and not between two words that both exist."""
    if len(a.words) != len(b.words):
        one_initial = a.has_initial or b.has_initial
        return min(len(a.squashed), len(b.squashed)) >= SHORTEST_JOINED and not one_initial
    differing = [(one, other) for one, other in zip(a.words, b.words, strict=True) if one != other]
    if len(differing) != 1:
        return False
    [(one, other)] = differing
    if min(len(one), len(other)) < SHORTEST_WORD or not (one.isalpha() and other.isalpha()):
        return False
    if one[0] != other[0] or one[-1] != other[-1]:
        return False
    return not (is_common(one) and is_common(other))
