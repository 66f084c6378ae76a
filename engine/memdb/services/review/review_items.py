"""What a review shows: items with both sides and their quotes, the choices that each takes, and what an answer did."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple
from urllib.parse import quote, unquote

from memdb.base.text import expose_hidden
from memdb.errors import UsageError
from memdb.services import decisions
from memdb.services.context import Context

Role = Literal["side", "source", "quote", "fact", "hint"]
"""Of a line: what can stand, a text that says so, its words, a remark, and what a person can do beside the choices."""

RESERVED = frozenset("subvq?")
"""Keys that mean the same for every item: skip, undo, back, view all, quit, help."""

NAME_LENGTH = 40
"""Letters of a thing's name in the name of a choice: it is typed, and stands in a line of a batch file."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an item's detail: stored text as it is, for whoever shows it to expose hidden characters."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer; `asks` names the text that goes with it, `required` says that there is none without.

    `draft` is what that text begins as. `here` is False for what only a person at an editor can do.
    """

    key: str
    name: str
    does: str
    asks: str | None = None
    required: bool = False
    draft: str = ""
    here: bool = True


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """Something that waits for a person. `id` is the kind and a key without spaces, the same for as long as it waits.

    `since` is an ISO time where it is known, `file` the memory file that the choice `edit` opens.
    """

    id: str
    kind: str
    title: str
    detail: tuple[Line, ...]
    choices: tuple[Choice, ...]
    since: str | None = None
    file: str | None = None

    def choice(self, word: str) -> Choice:
        """The choice of that name or key. Raises UsageError with those that there are."""
        for choice in self.choices:
            if word in (choice.name, choice.key):
                return choice
        names = ", ".join(f"{choice.name} ({choice.key})" for choice in self.choices)
        raise UsageError(
            f"{self.id} does not take the answer {expose_hidden(word)!r}.",
            hint=f"It takes: {names}" if names else "It can only be skipped; its detail says what to do.",
        )


@dataclass(frozen=True, slots=True)
class Answered:
    """What an answer did, in a sentence; `decision` is the id to undo it by, None where nothing was decided."""

    item: str
    choice: str
    said: str
    decision: str | None


class Done(NamedTuple):
    """What a kind's answer gives back: the sentence and the decision."""

    said: str
    decision: str | None


Find = Callable[[Context, str, "ReviewItem | None"], "ReviewItem | None"]
"""Takes the key, and the item as it was shown before, where it was: what cost much to find out need not be again."""

Apply = Callable[[Context, str, Choice, "str | None", "str | None"], Done]


class Source(NamedTuple):
    """Where the items of a kind come from, in their order; how one is found by its key; what an answer calls."""

    kind: str
    items: Callable[[Context], Iterable[ReviewItem]]
    find: Find
    answer: Apply


def item_id(kind: str, *parts: str) -> str:
    """The id of an item: its kind and what it is about, each part written so that it has no space and no `+`."""
    return f"{kind}:{'+'.join(_plain(part) for part in parts)}"


def _plain(part: str) -> str:
    # A batch file and a command line part words at spaces; letters of other scripts can be read and stay.
    return "".join(
        char if _is_readable(char) else quote(char.encode("utf-8", "surrogatepass"), safe="") for char in part
    )


def _is_readable(char: str) -> bool:
    if char.isascii():
        return char.isalnum() or char in "-._~/:"
    return not char.isspace() and char.isprintable() and expose_hidden(char) == char


def parts_of(key: str) -> list[str]:
    """The parts of an item's key as they were."""
    return [unquote(part, errors="surrogatepass") for part in key.split("+")]


def choice_names(prefix: str, labels: Sequence[str]) -> list[str]:
    """A name for a choice about each of some things, of letters and digits: the same whatever stands beside it.

    Where two would be alike (`C`, `C++`), they get numbers in their order.
    """
    slugs = [re.sub(r"[\W_]+", "-", label.casefold()).strip("-")[:NAME_LENGTH].strip("-") or "it" for label in labels]
    names = []
    for place, slug in enumerate(slugs):
        same = slugs.count(slug) > 1
        names.append(f"{prefix}-{slug}-{slugs[: place + 1].count(slug)}" if same else f"{prefix}-{slug}")
    return names


def newest(context: Context, subject: str) -> str | None:
    """The id of the latest decision about a subject: the one that was just made."""
    found = decisions.log(context, limit=1, subject=subject)
    return found[0].id if found else None


def numbered(place: int) -> str:
    """The key of the choice at a place, from 0: a digit, then a capital letter."""
    return str(place + 1) if place < 9 else chr(ord("A") + place - 9)


MOST_NUMBERED = 35
"""Choices that `numbered` has keys for."""

__all__ = [
    "MOST_NUMBERED",
    "RESERVED",
    "Answered",
    "Choice",
    "Done",
    "Line",
    "ReviewItem",
    "Source",
    "choice_names",
    "item_id",
    "newest",
    "numbered",
    "parts_of",
]
