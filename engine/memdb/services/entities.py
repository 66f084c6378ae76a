"""Derive the entity graph: which entities there are, what they are called, and the edges that mention and relate them.

Everything here follows from the evidence in `mention` and `statement`, the vocabulary, and what people decided. The
evidence is never changed by it, so that each decision can be taken back exactly.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from memdb.base.storage import Database
from memdb.domain import gazetteer
from memdb.domain.memories import EDGE_WEIGHTS
from memdb.services import conflicts

ALL = 0
"""The node that stands for all texts in `entity_touched`."""

RELATION_CONFIDENCE = 0.7
"""A relation stated with less stays what its names are anyway: two mentions."""

IDENTIFIER_SHARE = 0.5
"""Of a mention edge's weight where the name is an identifier: files and flags are named in passing."""

GROUP = 500
"""Entities that are looked up together: one statement for each of them costs more than the rest of the work."""

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
class Found:
    """An entity before it is derived anew: its names with their standing spellings, and its row where it has one."""

    key: str
    spellings: dict[str, list[Spelling]]
    row: tuple[int, str, str | None, str] | None


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


def stands(states: dict[str, str], key: str | None, refused: int) -> bool:
    """Whether a type or predicate lets its evidence stand: known, and not disabled when and since it was given."""
    return not key or (key in states and (not refused or states[key] == "active"))


def settle(database: Database) -> None:
    """Bring entities and edges up to the evidence that changed, inside the caller's transaction."""
    touched = database.rows("select name_key, node_id from entity_touched")
    vocabulary = Vocabulary.of(database)
    if touched:
        database.connection.execute("delete from entity_touched")
        nodes = _by_entity(database, touched)
        keys = sorted(nodes)
        for begin in range(0, len(keys), GROUP):
            group = keys[begin : begin + GROUP]
            for found in _as_found(database, vocabulary, group):
                _settle_entity(database, vocabulary, found, nodes[found.key])
    stated = database.rows("select subject_key, predicate, object_key from statement_touched")
    edges = {(resolve(database, a), predicate, resolve(database, b)) for a, predicate, b in stated}
    if stated:
        database.connection.execute("delete from statement_touched")
        for subject, predicate, object_ in sorted(edges):
            _settle_relation(database, vocabulary, subject, predicate, object_)
    conflicts.settle(database, {subject for subject, _, _ in edges}, RELATION_CONFIDENCE)


def resolve(database: Database, name_key: str) -> str:
    """The key of the entity that a name means."""
    found = database.value("select entity_key from entity_alias where name_key = ?", (name_key,))
    return name_key if found is None else str(found)


def names_of(database: Database, entity_key: str) -> list[str]:
    """The name keys that mean an entity."""
    aliases = database.rows("select name_key from entity_alias where entity_key = ?", (entity_key,))
    own = database.value("select 1 from entity_alias where name_key = ?", (entity_key,)) is None
    return sorted({key for (key,) in aliases} | ({entity_key} if own else set()))


def _by_entity(database: Database, touched: list[tuple[str, int]]) -> dict[str, set[int]]:
    """The touched texts of each entity; where an alias changed, both its old and its new one are concerned, whole."""
    nodes: dict[str, set[int]] = defaultdict(set)
    for name_key in dict.fromkeys(name_key for name_key, node in touched if node == ALL):
        before = resolve(database, name_key)
        _settle_alias(database, name_key)
        nodes[before].add(ALL)
    names = list(dict.fromkeys(name_key for name_key, _ in touched))
    meant = dict(
        database.rows(
            "select name_key, entity_key from json_each(?) cross join entity_alias on name_key = value",
            (json.dumps(names, ensure_ascii=False),),
        )
    )
    for name_key, node in touched:
        nodes[meant.get(name_key, name_key)].add(node)
    return nodes


def _settle_alias(database: Database, name_key: str) -> None:
    """An alias that memories give a name counts where just one name is meant and nothing is called that itself."""
    named = database.value("select 1 from known_name where name_key = ? and source in ('memory', 'title')", (name_key,))
    meant = database.rows(
        "select entity_key, min(name) from known_name where name_key = ? and source = 'alias' group by entity_key",
        (name_key,),
    )
    made = database.value("select made_by from entity_alias where name_key = ?", (name_key,))
    if made not in (None, "memory"):
        return
    if named is None and len(meant) == 1 and meant[0][0] != name_key:
        database.connection.execute(
            "insert or replace into entity_alias values (?, ?, ?, 'memory')", (name_key, *meant[0])
        )
    elif made is not None:
        database.connection.execute("delete from entity_alias where name_key = ?", (name_key,))


def _as_found(database: Database, vocabulary: Vocabulary, keys: list[str]) -> list[Found]:
    """Some entities with what `names_of` gives, in the order of their keys."""
    given = (json.dumps(keys, ensure_ascii=False),)
    others = set()
    names: dict[str, set[str]] = {key: {key} for key in keys}
    for key, name_key in database.rows(
        "select entity_key, name_key from json_each(?) cross join entity_alias on entity_key = value", given
    ):
        names[key].add(name_key)
    for (key,) in database.rows("select name_key from json_each(?) cross join entity_alias on name_key = value", given):
        others.add(key)
    for key in others:
        names[key].discard(key)
    spellings: dict[str, list[Spelling]] = defaultdict(list)
    for name_key, *row, refused in database.rows(
        "select name_key, origin, source, name, spelling.type, uses, refused from json_each(?)"
        " cross join spelling on name_key = value",
        (json.dumps(sorted(set().union(*names.values())), ensure_ascii=False),),
    ):
        if stands(vocabulary.types, row[3], refused):
            spellings[name_key].append(Spelling(*row))
    rows = {
        key: (int(entity), name, type_, origin)
        for key, entity, name, type_, origin in database.rows(
            "select name_key, entity.id, name, entity.type, origin from json_each(?)"
            " cross join entity on name_key = value",
            given,
        )
    }
    return [Found(key, {name: spellings[name] for name in sorted(names[key])}, rows.get(key)) for key in keys]


def _settle_entity(database: Database, vocabulary: Vocabulary, found: Found, touched: set[int]) -> None:
    run = database.connection.execute
    entity_key, spellings, row = found.key, found.spellings, found.row
    names = list(spellings)
    wanted = _shape(database, [spelling for some in spellings.values() for spelling in some], names)
    if wanted is None:
        if row:
            # Its edges and known names go with it.
            run("delete from node where id = ?", (row[0],))
        return
    if row:
        entity, current = row[0], Shape(*row[1:])
    else:
        run("insert into node (kind, key, label) values ('entity', ?, ?)", (f"entity:{entity_key}", wanted.name))
        entity, current, touched = database.connection.last_insert_rowid(), None, {ALL}
    if ALL in touched and vocabulary.has_statements:
        _touch_statements(database, entity, names)
    if current != wanted:
        run(
            "insert into entity (id, name_key, name, type, origin) values (?, ?, ?, ?, ?) on conflict (id) do update"
            " set name = excluded.name, type = excluded.type, origin = excluded.origin",
            (entity, entity_key, wanted.name, wanted.type, wanted.origin),
        )
        run("update node set label = ? where id = ? and label <> ?", (wanted.name, entity, wanted.name))
    is_new = row is None
    _settle_known(database, entity, found, is_new=is_new)
    _settle_mentions(database, vocabulary, entity, names, touched, is_new=is_new)


def _shape(database: Database, spellings: list[Spelling], names: list[str]) -> Shape | None:
    """What the evidence makes of an entity; None where there is too little: only texts that bear the name themselves.

    What a model said first stays, else what is said most often. Two texts with one name are about one thing.
    """
    others = [spelling for spelling in spellings if spelling.source != "subject"]
    subjects = sum(spelling.uses for spelling in spellings) - sum(spelling.uses for spelling in others)
    if not others and (subjects < 2 or not any(gazetteer.is_matchable(one.name) for one in spellings)):
        return None
    origin = min((spelling.origin for spelling in spellings), key=ORIGINS.index)
    best = [spelling for spelling in spellings if spelling.origin == origin]
    if origin == "model":
        name, type_ = _first_said(database, names, best)
        return Shape(name, type_, origin)
    # A text's own name is how its author writes it.
    own = [spelling for spelling in best if spelling.source == "subject"] if origin == "names" else []
    name = _most(own or best, lambda spelling: spelling.name)
    typed = [spelling for spelling in best if spelling.type]
    return Shape(name, _most(typed, lambda spelling: spelling.type) if typed else None, origin)


def _most(spellings: list[Spelling], of: Callable[[Spelling], str]) -> str:
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


def _touch_statements(database: Database, entity: int, names: list[str]) -> None:
    """Have the relations of an entity derived anew, those that it has and those that could be its."""
    run = database.connection.execute
    for name in names:
        run(
            "insert or ignore into statement_touched select distinct subject_key, predicate, object_key from statement"
            " where subject_key = ?1 or object_key = ?1",
            (name,),
        )
    run(
        "insert or ignore into statement_touched select a.name_key, predicate, b.name_key from edge"
        " join entity as a on a.id = src join entity as b on b.id = dst"
        " where kind = 'relates' and (src = ?1 or dst = ?1)",
        (entity,),
    )


def _settle_known(database: Database, entity: int, found: Found, *, is_new: bool) -> None:
    """What texts or a model call an entity is looked for in all texts; the names that the store has are already."""
    wanted: dict[tuple[str, str], str] = {}
    for name_key, spellings in found.spellings.items():
        said = [spelling for spelling in spellings if spelling.origin != "names"]
        if said:
            name = _most(said, lambda spelling: spelling.name)
            if gazetteer.is_matchable(name):
                wanted[gazetteer.match_key(name), name_key] = name
    # What is new has no rows yet, and most entities are.
    rows = (
        []
        if is_new
        else database.rows(
            "select match_key, name_key, name from known_name where node_id = ? and source = 'entity'", (entity,)
        )
    )
    have = {(match_key, name_key): name for match_key, name_key, name in rows}
    # Another spelling can be another rule of upper and lower case: the name is looked for anew.
    for match_key, name_key in sorted(key for key, name in have.items() if wanted.get(key) != name):
        database.connection.execute(
            "delete from known_name where match_key = ? and name_key = ? and source = 'entity' and node_id = ?",
            (match_key, name_key, entity),
        )
    for (match_key, name_key), name in sorted(wanted.items()):
        if have.get((match_key, name_key)) != name:
            database.connection.execute(
                "insert into known_name (match_key, name_key, entity_key, source, node_id, name)"
                " values (?, ?, ?, 'entity', ?, ?)",
                (match_key, name_key, found.key, entity, name),
            )


def _settle_mentions(
    database: Database, vocabulary: Vocabulary, entity: int, names: list[str], touched: set[int], *, is_new: bool
) -> None:
    """Make the mention edges of the touched texts, or of all, those that have standing evidence."""
    whole = ALL in touched
    wanted_in = json.dumps(names)
    given = None if whole else json.dumps(sorted(touched))
    new: dict[int, tuple[str, float]] = {}
    for node, type_, refused, about, source in database.rows(
        "select mention.node_id, mention.type, mention.refused, about, source from json_each(?1) as wanted"
        " cross join mention on mention.name_key = wanted.value"
        " where ?2 is null"
        " union all select mention.node_id, mention.type, mention.refused, about, source from json_each(?2) as text"
        " cross join json_each(?1) as wanted"
        " cross join mention on mention.node_id = text.value and mention.name_key = wanted.value",
        (wanted_in, given),
    ):
        if stands(vocabulary.types, type_, refused):
            kind = "about" if about else "mentions"
            weight = EDGE_WEIGHTS[kind] * (IDENTIFIER_SHARE if source == "identifier" and not about else 1)
            new[node] = max(
                new.get(node, (kind, weight)), (kind, weight), key=lambda edge: (edge[0] == "about", edge[1])
            )
    wanted = {(node, *edge) for node, edge in new.items()}
    old: set[tuple[int, str, float]] = set()
    if not is_new:
        old.update(
            database.rows(
                "select src, kind, weight from edge where dst = ?1 and kind in ('mentions', 'about') and ?2 is null"
                " union all select src, kind, weight from json_each(?2) as text"
                " cross join edge on edge.src = text.value and edge.dst = ?1 and edge.kind in ('mentions', 'about')",
                (entity, given),
            )
        )
        database.connection.executemany(
            "delete from edge where src = ? and dst = ? and kind = ?",
            [(src, entity, kind) for src, kind, _ in sorted(old - wanted)],
        )
    database.connection.executemany(
        "insert into edge (src, dst, kind, weight) values (?, ?, ?, ?)",
        [(src, entity, kind, weight) for src, kind, weight in sorted(wanted - old)],
    )


def _settle_relation(database: Database, vocabulary: Vocabulary, subject: str, predicate: str, object_: str) -> None:
    """Make the edge of a relation stand where both its ends do and a standing statement is sure enough."""
    ends = [database.value("select id from entity where name_key = ?", (key,)) for key in (subject, object_)]
    if None in ends or ends[0] == ends[1]:
        return  # edges went with the entity
    rows = database.rows(
        "select confidence, refused from json_each(?1) as subject cross join json_each(?2) as object"
        " cross join statement on subject_key = subject.value and predicate = ?3 and object_key = object.value",
        (json.dumps(names_of(database, subject)), json.dumps(names_of(database, object_)), predicate),
    )
    confidence = max((sure for sure, refused in rows if stands(vocabulary.predicates, predicate, refused)), default=0.0)
    current = database.value(
        "select weight from edge where src = ? and dst = ? and kind = 'relates' and predicate = ?", (*ends, predicate)
    )
    if confidence >= RELATION_CONFIDENCE:
        if current is None:
            database.connection.execute(
                "insert into edge (src, dst, kind, predicate, weight) values (?, ?, 'relates', ?, ?)",
                (*ends, predicate, EDGE_WEIGHTS["relates"]),
            )
    elif current is not None:
        database.connection.execute(
            "delete from edge where src = ? and dst = ? and kind = 'relates' and predicate = ?", (*ends, predicate)
        )
