"""Derive the entity graph: which entities there are, what they are called, and the edges that mention and relate them.

Everything here follows from the evidence in `mention` and `statement`, the vocabulary, and what people decided. The
evidence is never changed by it, so that each decision can be taken back exactly.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable

from memdb.base.storage import Database
from memdb.domain import gazetteer
from memdb.domain.memories import EDGE_WEIGHTS
from memdb.services.conflicts import conflict_tables
from memdb.services.entities.entity_shapes import Decided, Found, Shape, Spelling, Vocabulary, most_said, shape_of

ALL = 0
"""The node that stands for all texts in `entity_touched`."""

RELATION_CONFIDENCE = 0.7
"""A relation stated with less stays what its names are anyway: two mentions."""

IDENTIFIER_SHARE = 0.5
"""Of a mention edge's weight where the name is an identifier: files and flags are named in passing."""

GROUP = 500
"""Entities that are looked up together: one statement for each of them costs more than the rest of the work."""


def stands(states: dict[str, str], key: str | None, refused: int) -> bool:
    """Whether a type or predicate lets its evidence stand: known, and not disabled when and since it was given."""
    return not key or (key in states and (not refused or states[key] == "active"))


def settle(database: Database) -> None:
    """Bring entities and edges up to the evidence that changed, inside the caller's transaction."""
    touched = database.rows("select name_key, node_id from entity_touched")
    vocabulary = Vocabulary.of(database)
    if touched:
        database.connection.execute("delete from entity_touched")
        database.set_meta("entity_names_stale", "1")
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
    conflict_tables.settle(database, {subject for subject, _, _ in edges}, RELATION_CONFIDENCE)


def resolve(database: Database, name_key: str) -> str:
    """The key of the entity that a name means."""
    found = database.value("select entity_key from entity_alias where name_key = ?", (name_key,))
    return name_key if found is None else str(found)


def anchor_of(database: Database, entity_key: str) -> str:
    """The first key that an entity had, by which decisions mean it whatever it is called."""
    found = database.value("select anchor from entity_decision where entity_key = ? and part_of is null", (entity_key,))
    return entity_key if found is None else str(found)


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
        # What was an entity by this name may be called otherwise, or be a part of another, since someone decided so.
        nodes[name_key].add(ALL)
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
    """An alias that memories give a name counts where just one name is meant and nothing is called that itself.

    What a person decided of a name counts more.
    """
    made = database.value("select made_by from entity_alias where name_key = ?", (name_key,))
    if made not in (None, "memory"):
        return
    named = database.value("select 1 from known_name where name_key = ? and source in ('memory', 'title')", (name_key,))
    meant: dict[str, str] = {}
    for stated, name in database.rows(
        "select entity_key, min(name) from known_name where name_key = ? and source = 'alias' group by entity_key",
        (name_key,),
    ):
        key = _decided_key(database, stated)
        meant[key] = min(name, meant.get(key, name))
    is_own = named is not None or len(meant) != 1 or name_key in meant or _is_decided(database, name_key)
    before, after = resolve(database, name_key), name_key if is_own else next(iter(meant))
    if not is_own:
        database.connection.execute(
            "insert or replace into entity_alias values (?, ?, ?, 'memory')", (name_key, after, meant[after])
        )
    elif made is not None:
        database.connection.execute("delete from entity_alias where name_key = ?", (name_key,))
    if before != after and _is_deleted(database, before) != _is_deleted(database, after):
        look_again(database, [name_key])


def _decided_key(database: Database, name_key: str) -> str:
    """The entity that decisions have a name mean; else the name."""
    found = database.value(
        "select entity_key from entity_alias where name_key = ? and made_by <> 'memory'", (name_key,)
    )
    return name_key if found is None else str(found)


def _is_decided(database: Database, entity_key: str) -> bool:
    """Whether people named an entity, merged into it or deleted it: its name is no alias of something else then."""
    return bool(
        database.value(
            "select 1 from entity_decision where entity_key = ?"
            " and (name is not null or deleted or part_of is not null)",
            (entity_key,),
        )
    )


def _is_deleted(database: Database, entity_key: str) -> bool:
    return bool(database.value("select 1 from entity_decision where entity_key = ? and deleted", (entity_key,)))


def look_again(database: Database, name_keys: Iterable[str]) -> None:
    """Have the texts that contain some known names searched again."""
    database.connection.execute(
        "insert or ignore into known_name_changed select distinct match_key, '', '', 1 from json_each(?)"
        " cross join known_name on name_key = value",
        (json.dumps(sorted(name_keys), ensure_ascii=False),),
    )


def _as_found(database: Database, vocabulary: Vocabulary, keys: list[str]) -> list[Found]:
    """Some entities with what `names_of` gives, in the order of their keys."""
    given = (json.dumps(keys, ensure_ascii=False),)
    others = set()
    names: dict[str, set[str]] = {key: {key} for key in keys}
    parts: dict[str, set[str]] = defaultdict(set)
    memories: dict[str, list[str]] = defaultdict(list)
    for key, name_key, made_by in database.rows(
        "select entity_key, name_key, made_by from json_each(?) cross join entity_alias on entity_key = value", given
    ):
        names[key].add(name_key)
        if made_by == "merge":
            parts[key].add(name_key)
        elif made_by == "memory":
            memories[key].append(name_key)
    for key in parts.keys() & memories.keys():
        parts[key].update(name for name in memories[key] if _is_of_part(database, name, parts[key]))
    decided = _decided(database, given)
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
    return [
        Found(
            key,
            {name: spellings[name] for name in sorted(names[key])},
            rows.get(key),
            frozenset(parts.get(key, ())),
            decided.get(key, Decided()),
        )
        for key in keys
    ]


def _is_of_part(database: Database, alias: str, parts: set[str]) -> bool:
    """Whether an alias that memories give is one of what was merged, and not of what it was merged into."""
    rows = database.rows("select distinct entity_key from known_name where name_key = ? and source = 'alias'", (alias,))
    return all(stated in parts for (stated,) in rows)


def _decided(database: Database, given: tuple[str]) -> dict[str, Decided]:
    rows: dict[str, list[tuple[str | None, str | None, str | None, int]]] = defaultdict(list)
    for key, *row in database.rows(
        "select entity_key, part_of, name, entity_decision.type, deleted from json_each(?)"
        " cross join entity_decision on entity_key = value order by anchor",
        given,
    ):
        rows[key].append((row[0], row[1], row[2], row[3]))
    found = {}
    for key, all_ in rows.items():
        whole = [row for row in all_ if row[0] is None]
        found[key] = Decided(
            next((name for _, name, _, _ in whole if name), None),
            tuple(type_ for _, _, type_, _ in whole if type_),
            tuple(type_ for part_of, _, type_, _ in all_ if type_ and part_of is not None),
            any(deleted for _, _, _, deleted in whole),
        )
    return found


def _settle_entity(database: Database, vocabulary: Vocabulary, found: Found, touched: set[int]) -> None:
    run = database.connection.execute
    entity_key, spellings, row = found.key, found.spellings, found.row
    names = list(spellings)
    wanted = shape_of(database, vocabulary, found)
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
            name = most_said(said, lambda spelling: spelling.name)
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
