"""What a person should know of an import before anything is written: doubles, junk, secrets, stale texts, links."""

from __future__ import annotations

import datetime
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from memdb.base import secrets
from memdb.domain import frontmatter

STALE_DAYS = 730
"""A text that was last changed two years ago may not hold any more."""

SKETCH = 32
"""Hashes that stand for a text: of so many, the share in common is the likeness within about a tenth."""

SHINGLE = 4
"""Words of a piece: fewer make all prose alike, more miss what was lightly edited."""

NEAR = 0.8
"""From this share of common pieces on, two texts are near doubles."""

COMMON = 40
"""A piece in more texts than these is a formula, and pairs none."""

FEW_WORDS = 2
"""A text of fewer words says nothing by itself."""

TEMPLATE_WORDS = 8
"""With fewer words of its own for each blank, a text with blanks is a form and not a note about one."""

_WORD = re.compile(r"\w+")
_TEMPLATE = re.compile(r"\{\{[^{}\n]*\}\}|<%.*?%>")
_FILLER = re.compile(r"(?i)lorem ipsum|^(new note|untitled( \d+)?|todo|tbd|test)\W*$")
_OUTDATED = re.compile(r"(?i)^(archived?|deprecated|obsolete|superseded|outdated|cancell?ed|inactive)$")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s.*$", re.MULTILINE)
_TAG = re.compile(r"(?<![\w#/&])#[^\W\d][\w/-]*")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SecretPlace:
    """Where something looks like a credential, which is shown nowhere."""

    place: str
    line: int
    category: str


@dataclass(slots=True)
class Audit:
    """What an import is made of; every place is a file of the source, or a record in it."""

    types: dict[str, int] = field(default_factory=dict)
    conversations: int = 0
    messages: int = 0
    exact: list[list[str]] = field(default_factory=list)
    known: list[tuple[str, str]] = field(default_factory=list)  # place, and the memory that has the same bytes
    near: list[tuple[str, str, float]] = field(default_factory=list)
    junk: list[tuple[str, str]] = field(default_factory=list)
    secrets: list[SecretPlace] = field(default_factory=list)
    stale: list[tuple[str, str]] = field(default_factory=list)
    unresolved: list[tuple[str, int, str]] = field(default_factory=list)
    relinked: int = 0
    clashes: list[tuple[str, str]] = field(default_factory=list)  # the wanted path, and the one that it became
    inline_tags: int = 0
    left: dict[str, int] = field(default_factory=dict)
    passed: list[tuple[str, str]] = field(default_factory=list)


def secret_places(place: str, text: str) -> list[SecretPlace]:
    """The credentials in a text, without themselves."""
    return [SecretPlace(place, found.line, found.category) for found in secrets.find_secrets(text)]


def junk(parsed: frontmatter.MemoryText) -> str | None:
    """Why a note is worth little; None where it is not."""
    body = parsed.body.strip()
    prose = _HEADING.sub("", body).strip()
    if not body:
        return "empty"
    if not prose:
        return "headings without a text"
    if _FILLER.search(prose):
        return "filler"
    bare, marks = _TEMPLATE.subn(" ", prose)
    if marks and len(_WORD.findall(bare)) < TEMPLATE_WORDS * marks:
        return "a template"
    words = _WORD.findall(prose)
    # Scripts without spaces say much in what counts as one word here.
    if len(words) < FEW_WORDS and prose.isascii():
        return "one word" if words else "no words"
    return None


def stale(parsed: frontmatter.MemoryText, changed: str | None, today: datetime.date) -> str | None:
    """Why a note may not hold any more; None where nothing tells. `changed` stands in for a date of its own."""
    until = _day(parsed.valid_to)
    if until is not None and until < today:
        return f"valid until {until}"
    status = parsed.frontmatter.get("status")
    if isinstance(status, str) and _OUTDATED.match(status.strip()):
        return f"its status is {status.strip()}"
    if str(parsed.frontmatter.get("archived", "")).lower() in ("true", "yes"):
        return "archived"
    last = next(filter(None, map(_day, (parsed.modified, parsed.happened_at, parsed.created, changed))), None)
    if last is not None and (today - last).days > STALE_DAYS:
        return f"last changed {last}"
    return None


def _day(written: str | None) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat((written or "").strip()[:10])
    except ValueError:
        return None


def inline_tags(body: str) -> int:
    """How many `#tags` stand in a text outside of code."""
    return len(_TAG.findall(_CODE.sub("", body)))


def sketch(text: str) -> tuple[int, ...]:
    """The smallest hashes of a text's pieces (bottom-k sketch, Cohen and Kaplan 2007); empty for a short text."""
    words = [word.lower() for word in _WORD.findall(text)]
    if len(words) < 2 * SHINGLE:
        return ()
    pieces = {" ".join(words[at : at + SHINGLE]) for at in range(len(words) - SHINGLE + 1)}
    hashes = sorted(int.from_bytes(blake2b(piece.encode(), digest_size=8).digest(), "big") for piece in pieces)
    return tuple(hashes[:SKETCH])


def near_doubles(sketches: Mapping[str, tuple[int, ...]]) -> list[tuple[str, str, float]]:
    """Pairs of places whose texts are nearly the same, with their likeness, the most alike first."""
    where: defaultdict[int, list[str]] = defaultdict(list)
    for place, found in sketches.items():
        for piece in found:
            where[piece].append(place)
    shared: Counter[tuple[str, str]] = Counter()
    for places in where.values():
        if 1 < len(places) <= COMMON:
            for at, first in enumerate(places):
                shared.update((first, second) for second in places[at + 1 :])
    pairs = []
    for first, second in shared:
        likeness = _likeness(sketches[first], sketches[second])
        if likeness >= NEAR:
            pairs.append((first, second, round(likeness, 2)))
    return sorted(pairs, key=lambda pair: (-pair[2], pair[0], pair[1]))


def _likeness(first: Iterable[int], second: Iterable[int]) -> float:
    one, other = set(first), set(second)
    smallest = set(sorted(one | other)[:SKETCH])
    return len(smallest & one & other) / len(smallest)
