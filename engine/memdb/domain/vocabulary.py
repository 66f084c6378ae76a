"""The closed lists of what an entity can be and how two can relate; a description is the rule of the extractor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from memdb.base.text import fold, name_key
from memdb.errors import UsageError

Kind = Literal["type", "predicate"]

NAME_LIMIT = 40
"""Characters of the name of a type or predicate: a name, not a sentence."""

DESCRIPTION_LIMIT = 300
"""Characters of a description: every one is part of every prompt."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One type of entity or one predicate; `description` tells the extractor when it applies.

    A type with `single_letters` lets in names of one letter (the language C). A predicate with `single_valued` holds
    for one object at a time, so that two different objects contradict one another.
    """

    kind: Kind
    name: str
    description: str
    origin: Literal["system", "user"] = "user"
    state: Literal["active", "disabled"] = "active"
    single_letters: bool = False
    single_valued: bool = False


def _type(name: str, description: str, *, single_letters: bool = False) -> Entry:
    return Entry("type", name, description, "system", single_letters=single_letters)


def _predicate(name: str, description: str, *, single_valued: bool = False) -> Entry:
    return Entry("predicate", name, description, "system", single_valued=single_valued)


# Only works_at is single-valued: who works somewhere else now has left the first place. Things lie in a city and in
# its country, have several makers, are part of nested wholes, and people attend, use and work on many things.
SYSTEM: tuple[Entry, ...] = (
    _type("person", "A human being called by name, handle or full name."),
    _type("organization", "A company, institution, team, band, party or public body that is named."),
    _type("project", "A named undertaking, product under development, code base, campaign or study."),
    _type("tool", "A named program, service, app, device or product that people use."),
    _type(
        "technology",
        "A programming language, protocol, format, framework, library, algorithm, model or standard.",
        single_letters=True,
    ),
    _type("place", "A named location: building, street, city, region, country, river, planet."),
    _type("event", "A named happening: meeting, conference, release, incident, battle, festival."),
    _type("concept", "A named idea, illness, substance, law, work or field; only when no other type fits."),
    _predicate("uses", "The subject uses, runs or relies on the object in its work."),
    _predicate("depends_on", "The subject cannot work without the object."),
    _predicate("part_of", "The subject is a member, component or section of the object."),
    _predicate("created_by", "The subject was made, written, founded or directed by the object."),
    _predicate("works_on", "The subject spends work on the object."),
    _predicate("works_at", "The subject is employed at the object now.", single_valued=True),
    _predicate("located_in", "The subject lies in or has its seat in the object."),
    _predicate("attended", "The subject took part in the object, an event or a school."),
)

LAST_RESORT = "concept"
"""The type of what has no other."""


def entry_key(kind: Kind, name: str) -> str:
    """The spelling by which names of entries are compared: the name key; in predicates words join with `_`."""
    return name_key(name) if kind == "type" else fold(name).replace(" ", "_")


def checked_name(kind: Kind, name: str) -> str:
    """The name of a new entry in its one spelling. Raises UsageError for what cannot be a name."""
    key = entry_key(kind, name)
    word = "type" if kind == "type" else "predicate"
    if not any(char.isalpha() for char in key) or not all(char.isalnum() or char in " _-" for char in key):
        raise UsageError(f"{name!r} is no name of a {word}.", hint="Use letters, digits, spaces, hyphens, underscores.")
    if len(key) > NAME_LIMIT:
        raise UsageError(f"The name of a {word} has at most {NAME_LIMIT} characters.", hint="Say the rest in its rule.")
    return key


class Vocabulary:
    """The entries in force. A later entry of the same kind and name replaces an earlier one, in its place.

    So `Vocabulary((*SYSTEM, *stored))` is the built-in lists with what a user changed and added.
    """

    def __init__(self, entries: Iterable[Entry] = SYSTEM) -> None:
        self._entries: dict[tuple[Kind, str], Entry] = {}
        for entry in entries:
            self._entries[entry.kind, entry_key(entry.kind, entry.name)] = entry

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, disabled ones too, in their order."""
        return tuple(self._entries.values())

    @property
    def types(self) -> tuple[Entry, ...]:
        """The active types, in their order; the last resort stands last."""
        active = [entry for entry in self._entries.values() if entry.kind == "type" and entry.state == "active"]
        return tuple(sorted(active, key=lambda entry: entry.name == LAST_RESORT))

    @property
    def predicates(self) -> tuple[Entry, ...]:
        """The active predicates, in their order."""
        return tuple(e for e in self._entries.values() if e.kind == "predicate" and e.state == "active")

    def find(self, kind: Kind, name: str) -> Entry | None:
        """The entry of that name in any spelling, active or disabled."""
        return self._entries.get((kind, entry_key(kind, name)))

    def knows(self, kind: Kind, name: str) -> bool:
        """Whether an active entry has that name."""
        entry = self.find(kind, name)
        return entry is not None and entry.state == "active"

    @property
    def single_letter_types(self) -> frozenset[str]:
        """The keys of the active types whose names may be one letter."""
        return frozenset(name_key(entry.name) for entry in self.types if entry.single_letters)
