"""A quote: the sentence of a text that says how two names belong together."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memdb.domain.extraction_names import Occurrences

LONGEST = 240
"""Characters of a quote: two lines of a terminal."""

_SENTENCE = re.compile(r"[^\n]+?(?:[.!?…।॥؟]+[\"'”’)\]]*(?=\s)|[。！？｡]+[」』”’）]*|$)", re.MULTILINE)


def quote(text: str, subject: Sequence[str], object_: Sequence[str]) -> str | None:
    """The sentence that holds a name of both, else the first that holds one of the object, else such a line.

    On one line and at most LONGEST characters long, cut around the object's name; None where the text has none.
    """
    sentences = [found[0] for found in _SENTENCE.finditer(text)]
    holding = [sentence for sentence in sentences if _has(sentence, object_)]
    # A name with a full stop in it ends no sentence.
    holding = holding or [line for line in text.splitlines() if _has(line, object_)]
    both = (sentence for sentence in holding if _has(sentence, subject))
    best = next(both, holding[0] if holding else None)
    return None if best is None else _cut(" ".join(best.split()), object_)


def _has(sentence: str, names: Sequence[str]) -> bool:
    occurrences = Occurrences(sentence)
    return any(occurrences.has(name) for name in names)


def _cut(sentence: str, names: Sequence[str]) -> str:
    if len(sentence) <= LONGEST:
        return sentence
    places = [place for name in names if (place := sentence.lower().find(name.lower())) >= 0]
    start = min(max(0, min(places, default=0) - LONGEST // 2), len(sentence) - LONGEST)
    before, after = "..." if start else "", "..." if start + LONGEST < len(sentence) else ""
    return f"{before}{sentence[start + len(before) : start + LONGEST - len(after)]}{after}"
