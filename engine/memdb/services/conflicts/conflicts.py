"""Look at conflicts: one subject with two objects by a predicate that holds for one, or memories that say other things.

All sides stand until someone decides; see `resolving`.
"""

from __future__ import annotations

import difflib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memdb.base.storage import Database
from memdb.base.text import expose_hidden, id_begin, name_key
from memdb.domain.quotes import quote
from memdb.errors import NotFound, UsageError


@dataclass(frozen=True, slots=True)
class SideSource:
    """A text that states one side; `quote` is where it says so, where it was asked for and found.

    `confidence` is 0 to 1; None where rules compared memories.
    """

    id: str
    confidence: float | None
    quote: str | None = None


@dataclass(frozen=True, slots=True)
class ConflictSide:
    """One of the objects, or of the memories that agree, with the texts that state it, the surest first.

    `object` is the id of an entity, or of the first of the memories.
    """

    object: str
    object_name: str
    sources: tuple[SideSource, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two sides or more that cannot all be true; `subject` is the id of an entity, None between memories."""

    id: str
    subject: str | None
    subject_name: str | None
    predicate: str | None
    sides: tuple[ConflictSide, ...]
    kind: str = "relation"  # relation, memories
    origin: str = "model"  # model, rules

    @property
    def title(self) -> str:
        """What it is about, on one line."""
        if self.kind == "relation":
            return f"{self.subject_name} {self.predicate}"
        return " / ".join(", ".join(source.id for source in side.sources) for side in self.sides)


def listed(database: Database) -> list[Conflict]:
    """All open conflicts: relations by subject and predicate, then memories by their ids, with the quotes of these."""
    return _conflicts(database, None)


def show(database: Database, written: str) -> Conflict:
    """A conflict by its id, the beginning of it, its subject or a memory in it, with a quote from each text.

    Raises NotFound, UsageError where several are meant.
    """
    [conflict] = _conflicts(database, find(database, written))
    if conflict.kind == "memories":
        return conflict
    subject = str(conflict.subject)
    sides = tuple(
        ConflictSide(
            side.object,
            side.object_name,
            tuple(
                SideSource(source.id, source.confidence, _quote(database, source.id, subject, side.object))
                for source in side.sources
            ),
        )
        for side in conflict.sides
    )
    return Conflict(
        conflict.id, conflict.subject, conflict.subject_name, conflict.predicate, sides, "relation", conflict.origin
    )


NAMES = """select conflict.key, coalesce(entity.name_key, ''), coalesce(predicate, ''),
       coalesce((select group_concat(key, ' / ') from (
           select node.key from conflict_side join node on node.id = node_id
           where conflict_key = conflict.key and subject_id is null order by node.key)), '')
from conflict left join entity on entity.id = subject_id
order by entity.name_key is null, entity.name_key, predicate, conflict.key"""


def against(found: Sequence[Conflict], memory: str) -> list[str]:
    """The ids of the texts on other sides of those conflicts in which a memory takes part."""
    others: set[str] = set()
    for conflict in found:
        sides = [{source.id for source in side.sources} for side in conflict.sides]
        if any(memory in side for side in sides):
            others.update(*(side for side in sides if memory not in side))
    return sorted(others)


def find(database: Database, written: str) -> str:
    """The id that a person means. Raises NotFound, UsageError where several are meant."""
    subject = name_key(written.removeprefix("entity:"))
    rows = database.rows(NAMES)
    alias = database.value("select entity_key from entity_alias where name_key = ?", (subject,))
    found = [row for row in rows if row[1] and row[1] in (subject, alias)]
    found = found or [row for row in rows if written and written in row[3].split(" / ")]
    begin = id_begin(written)
    found = found or [row for row in rows if begin and row[0].startswith(begin)]
    if len(found) == 1:
        return str(found[0][0])
    if found:
        meant = ", ".join(f"{key} ({memories or f'{about} {predicate}'})" for key, about, predicate, memories in found)
        raise UsageError(
            f"{expose_hidden(written)!r} can mean {len(found)} conflicts.", hint=f"Give the id: {expose_hidden(meant)}"
        )
    names = [row[1] for row in rows if row[1]] + [memory for row in rows if row[3] for memory in row[3].split(" / ")]
    near = difflib.get_close_matches(subject, names, n=3)
    hint = f"Did you mean {', '.join(dict.fromkeys(near))}?" if near else "`memdb conflicts` lists them."
    raise NotFound(f"There is no conflict {expose_hidden(written)!r}.", hint=hint)


def _conflicts(database: Database, key: str | None) -> list[Conflict]:
    relations = _relations(database, key)
    memories = _memories(database, key)
    return [*relations, *sorted(memories, key=lambda conflict: (conflict.title, conflict.id))]


def _relations(database: Database, key: str | None) -> list[Conflict]:
    rows = database.rows(
        "select conflict, origin, subject, subject_name, predicate, object, object_name, sources from open_conflicts"
        " where kind = 'relation' and (?1 is null or conflict = ?1) order by subject, predicate, object",
        (key,),
    )
    heads: dict[str, tuple[str, str, str]] = {}
    origins: dict[str, str] = {}
    sides: dict[str, list[ConflictSide]] = defaultdict(list)
    for conflict, origin, subject, subject_name, predicate, object_, object_name, sources in rows:
        heads[conflict] = (subject, subject_name, predicate)
        origins[conflict] = origin
        stating = sorted(json.loads(sources).items(), key=lambda source: (-source[1], source[0]))
        sides[conflict].append(ConflictSide(object_, object_name, tuple(SideSource(*source) for source in stating)))
    return [
        Conflict(conflict, *head, tuple(sides[conflict]), "relation", origins[conflict])
        for conflict, head in heads.items()
    ]


def _memories(database: Database, key: str | None) -> Iterable[Conflict]:
    by_value: dict[str, dict[str, list[tuple[SideSource, str]]]] = defaultdict(lambda: defaultdict(list))
    origins: dict[str, str] = {}
    for conflict, origin, value, memory, name, confidence, said in database.rows(
        "select conflict.key, origin, value, node.key, label, confidence, quote from conflict"
        " join conflict_side on conflict_key = conflict.key join node on node.id = node_id"
        " where conflict.kind = 'memories' and (?1 is null or conflict.key = ?1) order by node.key",
        (key,),
    ):
        origins[conflict] = origin
        by_value[conflict][value].append((SideSource(memory, confidence, said), name))
    return [
        Conflict(
            conflict,
            None,
            None,
            None,
            tuple(
                ConflictSide(stating[0][0].id, stating[0][1], tuple(source for source, _ in stating))
                for stating in sides.values()
            ),
            "memories",
            origins[conflict],
        )
        for conflict, sides in by_value.items()
    ]


def _quote(database: Database, source: str, subject: str, object_: str) -> str | None:
    """Where a text says that two entities are related; secrets are redacted in what the tables have."""
    text = database.value(
        "select coalesce(description || char(10) || body || char(10) || memory.name, text || char(10) || prefix)"
        " from node left join memory on memory.id = node.id left join chunk on chunk.id = node.id where node.key = ?",
        (source,),
    )
    return quote(str(text or ""), _names(database, source, subject), _names(database, source, object_))


def _names(database: Database, source: str, entity: str) -> list[str]:
    """What a text calls an entity, else what the entity is called."""
    key = entity.removeprefix("entity:")
    said = database.rows(
        "select mention.name from mention join node on node.id = node_id where node.key = ?1 and"
        " (name_key = ?2 or name_key in (select name_key from entity_alias where entity_key = ?2)) order by 1",
        (source, key),
    )
    named = database.rows("select name from entity where name_key = ?", (key,))
    return [name for (name,) in said or named]
