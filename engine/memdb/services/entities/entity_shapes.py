"""What an entity is: its name, type and origin, as texts, models and people's decisions make them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from memdb.base.storage import Database
from memdb.domain import gazetteer

ORIGINS = ("model", "rules", "names")
"""Where a mention comes from, the surest first: it decides what an entity is called."""


class Spelling(NamedTuple):
    """How often a name is mentioned in one way."""

    origin: str
    source: str
    name: str
    type: str
    uses: int


@dataclass(frozen=True, slots=True)
class Shape:
    """What an entity is: derived, or as the table has it."""

    name: str
    type: str | None
    origin: str


@dataclass(frozen=True, slots=True)
class Decided:
    """What people decided of an entity: its name, its types from the surest on, and whether it is to be there."""

    name: str | None = None
    types: tuple[str, ...] = ()
    part_types: tuple[str, ...] = ()  # of what was merged into it
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """An entity before it is derived anew: its names with their standing spellings, and its row where it has one.

    `parts` are those of its names that come from what was merged into it.
    """

    key: str
    spellings: dict[str, list[Spelling]]
    row: tuple[int, str, str | None, str] | None
    parts: frozenset[str] = frozenset()
    decided: Decided = Decided()


@dataclass(slots=True)
class Vocabulary:
    """The states of types and predicates by their keys."""

    types: dict[str, str] = field(default_factory=dict)
    predicates: dict[str, str] = field(default_factory=dict)
    has_statements: bool = False

    @classmethod
    def of(cls, database: Database) -> Vocabulary:
        found = cls(has_statements=database.value("select 1 from statement limit 1") is not None)
        for kind, key, state in database.rows("select kind, name_key, state from vocabulary"):
            (found.types if kind == "type" else found.predicates)[key] = state
        return found


def shape_of(database: Database, vocabulary: Vocabulary, found: Found) -> Shape | None:
    """What the evidence and the decisions make of an entity; None where it is deleted, or there is too little.

    Texts that bear the name themselves are too little, unless two of them are about one thing. What was merged into it
    says what it is called, and of which type, only where its own names do not.
    """
    said = [spelling for some in found.spellings.values() for spelling in some]
    others = [spelling for spelling in said if spelling.source != "subject"]
    subjects = sum(spelling.uses for spelling in said) - sum(spelling.uses for spelling in others)
    if found.decided.deleted:
        return None
    if not others and (subjects < 2 or not any(gazetteer.is_matchable(one.name) for one in said)):
        return None
    own = _said(database, {name: some for name, some in found.spellings.items() if name not in found.parts})
    parts = _said(database, {name: some for name, some in found.spellings.items() if name in found.parts})
    first = own or parts
    assert first is not None  # something was said
    types = (
        *(type_ for type_ in found.decided.types if vocabulary.types.get(type_) == "active"),
        own.type if own else None,
        *(type_ for type_ in found.decided.part_types if vocabulary.types.get(type_) == "active"),
        parts.type if parts else None,
    )
    origin = min((shape.origin for shape in (own, parts) if shape), key=ORIGINS.index)
    return Shape(found.decided.name or first.name, next((type_ for type_ in types if type_), None), origin)


def _said(database: Database, spellings: dict[str, list[Spelling]]) -> Shape | None:
    """What texts make of some names: what a model said first stays, else what is said most often."""
    said = [spelling for some in spellings.values() for spelling in some]
    if not said:
        return None
    origin = min((spelling.origin for spelling in said), key=ORIGINS.index)
    best = [spelling for spelling in said if spelling.origin == origin]
    if origin == "model":
        name, type_ = _first_said(database, list(spellings), best)
        return Shape(name, type_, origin)
    # A text's own name is how its author writes it.
    own = [spelling for spelling in best if spelling.source == "subject"] if origin == "names" else []
    name = most_said(own or best, lambda spelling: spelling.name)
    typed = [spelling for spelling in best if spelling.type]
    return Shape(name, most_said(typed, lambda spelling: spelling.type) if typed else None, origin)


def most_said(spellings: list[Spelling], of: Callable[[Spelling], str]) -> str:
    """What most mentions have, such as a name; of several, the first in the alphabet."""
    uses: dict[str, int] = defaultdict(int)
    for spelling in spellings:
        uses[of(spelling)] += spelling.uses
    return min(uses, key=lambda value: (-uses[value], value))


def _first_said(database: Database, names: list[str], standing: list[Spelling]) -> tuple[str, str | None]:
    said = {(spelling.name, spelling.type) for spelling in standing}
    first = []
    for name_key in names:
        # In the order of the index: a name with many mentions is not read to its end.
        rows = database.connection.execute(
            "select at, ordinal, name, coalesce(type, '') from mention where name_key = ? and origin = 'model'"
            " order by at, ordinal, name",
            (name_key,),
        )
        first += [row for row in rows if (row[2], row[3]) in said][:1]
    _, _, name, type_ = min(first)
    return name, type_ or None
