"""Conflicts: where texts give one subject two objects by a predicate that holds for one. Nothing is changed by itself.

A conflict follows from what texts state, like the edges that disagree, and goes when they agree again.
"""

from __future__ import annotations

import difflib
import json
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from hashlib import sha256

from memdb.base import resources
from memdb.base.storage import Database
from memdb.base.text import expose_hidden, name_key
from memdb.domain.quotes import quote
from memdb.errors import NotFound, UsageError

KEY_DIGITS = 12
"""Of the name of a conflict, in hex: 48 bits keep a million conflicts apart."""

Side = tuple[int, int, float]
"""Ids of the object and of a text that states it, and the confidence."""


@dataclass(frozen=True, slots=True)
class SideSource:
    """A text that states one side; `quote` is where it says so, where it was asked for and found."""

    id: str
    confidence: float
    quote: str | None = None


@dataclass(frozen=True, slots=True)
class ConflictSide:
    """One of the objects, with the texts that state it, the surest first."""

    object: str
    object_name: str
    sources: tuple[SideSource, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """A subject and a predicate with two objects or more; `subject` and `object` are ids of entities."""

    id: str
    subject: str
    subject_name: str
    predicate: str
    sides: tuple[ConflictSide, ...]


# Deriving


def settle(database: Database, subject_keys: Collection[str], confidence: float) -> None:
    """Make the conflicts of some entities those that standing statements make, inside the caller's transaction.

    Entities that gained or lost a relation are among them by themselves. `confidence` is the least that counts.
    """
    touched = {subject for (subject,) in database.rows("select subject_id from conflict_touched")}
    database.connection.execute("delete from conflict_touched")
    rows = database.rows(
        "select entity.id, name_key from json_each(?1) as wanted cross join entity on name_key = wanted.value"
        " union select entity.id, name_key from json_each(?2) as wanted cross join entity on entity.id = wanted.value",
        (json.dumps(sorted(subject_keys), ensure_ascii=False), json.dumps(sorted(touched))),
    )
    for subject, entity_key in sorted(rows, key=lambda row: str(row[1])):
        _settle_subject(database, subject, str(entity_key), confidence)


def _settle_subject(database: Database, subject: int, entity_key: str, confidence: float) -> None:
    stated: dict[str, set[Side]] = defaultdict(set)
    for predicate, *side in database.rows(
        resources.query("conflict_sides"), {"subject": subject, "confidence": confidence}
    ):
        stated[predicate].add((side[0], side[1], side[2]))
    wanted = {predicate: sides for predicate, sides in stated.items() if len({side[0] for side in sides}) > 1}
    have: dict[str, tuple[str, set[Side]]] = {}
    for key, predicate in database.rows("select key, predicate from conflict where subject_id = ?", (subject,)):
        rows = database.rows("select object_id, node_id, confidence from conflict_side where conflict_key = ?", (key,))
        have[predicate] = (key, set(rows))
    run, run_many = database.connection.execute, database.connection.executemany
    for predicate in sorted(have.keys() - wanted.keys()):
        run("delete from conflict where key = ?", (have[predicate][0],))
    for predicate in sorted(wanted):
        key, old = have.get(predicate, (_key(entity_key, predicate), set()))
        if predicate not in have:
            run("insert into conflict values (?, ?, ?)", (key, subject, predicate))
        run_many(
            "delete from conflict_side where conflict_key = ? and object_id = ? and node_id = ?",
            [(key, *side[:2]) for side in sorted(old - wanted[predicate])],
        )
        run_many(
            "insert into conflict_side values (?, ?, ?, ?)",
            [(key, *side) for side in sorted(wanted[predicate] - old)],
        )


def _key(entity_key: str, predicate: str) -> str:
    return sha256(json.dumps([entity_key, predicate]).encode()).hexdigest()[:KEY_DIGITS]


# Looking


def listed(database: Database) -> list[Conflict]:
    """All conflicts by subject and predicate, without quotes."""
    return _conflicts(database, None)


def show(database: Database, written: str) -> Conflict:
    """A conflict by its id, the beginning of it, or its subject, with a quote from each text.

    Raises NotFound, UsageError where several are meant.
    """
    [conflict] = _conflicts(database, find(database, written))
    sides = tuple(
        ConflictSide(
            side.object,
            side.object_name,
            tuple(
                SideSource(source.id, source.confidence, _quote(database, source.id, conflict.subject, side.object))
                for source in side.sources
            ),
        )
        for side in conflict.sides
    )
    return Conflict(conflict.id, conflict.subject, conflict.subject_name, conflict.predicate, sides)


def find(database: Database, written: str) -> str:
    """The id that a person means. Raises NotFound, UsageError where several are meant."""
    subject = name_key(written.removeprefix("entity:"))
    rows = database.rows(
        "select conflict.key, entity.name_key, predicate from conflict join entity on entity.id = subject_id"
        " order by entity.name_key, predicate"
    )
    alias = database.value("select entity_key from entity_alias where name_key = ?", (subject,))
    found = [row for row in rows if row[1] in (subject, alias)]
    found = found or [row for row in rows if written and row[0].startswith(written.casefold())]
    if len(found) == 1:
        return str(found[0][0])
    if found:
        raise UsageError(
            f"{expose_hidden(written)!r} can mean {len(found)} conflicts.",
            hint="Give the id: " + ", ".join(f"{key} ({about} {predicate})" for key, about, predicate in found),
        )
    near = difflib.get_close_matches(subject, [about for _, about, _ in rows], n=3)
    hint = f"Did you mean {', '.join(dict.fromkeys(near))}?" if near else "`memdb conflicts` lists them."
    raise NotFound(f"There is no conflict {expose_hidden(written)!r}.", hint=hint)


def _conflicts(database: Database, key: str | None) -> list[Conflict]:
    rows = database.rows(
        "select conflict, subject, subject_name, predicate, object, object_name, sources from open_conflicts"
        " where ?1 is null or conflict = ?1 order by subject, predicate, object",
        (key,),
    )
    heads: dict[str, tuple[str, str, str]] = {}
    sides: dict[str, list[ConflictSide]] = defaultdict(list)
    for conflict, subject, subject_name, predicate, object_, object_name, sources in rows:
        heads[conflict] = (subject, subject_name, predicate)
        stating = sorted(json.loads(sources).items(), key=lambda source: (-source[1], source[0]))
        sides[conflict].append(ConflictSide(object_, object_name, tuple(SideSource(*source) for source in stating)))
    return [Conflict(conflict, *head, tuple(sides[conflict])) for conflict, head in heads.items()]


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
