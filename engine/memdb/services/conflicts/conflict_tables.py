"""Derive the conflicts: what texts state of relations and memories claim, less what people decided of it.

A relation that lost is inactive, its evidence stays; a memory that lost has an edge `replaces` from what was kept. All
of it follows from the texts and the decisions that stand, so that a decision taken back leaves nothing behind.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import combinations
from typing import Any

from memdb.base import resources
from memdb.base.storage import Database
from memdb.base.text import name_key
from memdb.domain.memories import EDGE_WEIGHTS
from memdb.services.conflicts import clashes

KEY_DIGITS = 12
"""Of the name of a conflict, in hex: 48 bits keep a million conflicts apart."""

Pair = tuple[str, str]
"""Two anchors of entities or two ids of memories, the lesser one first."""

SideRow = tuple[int | None, str, int, float | None, str | None]
"""Of `conflict_side`, all but the conflict: object_id, value, node_id, confidence, quote."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A conflict as it should be."""

    kind: str
    origin: str
    subject_id: int | None
    predicate: str | None
    sides: frozenset[SideRow]


@dataclass(slots=True)
class Settled:
    """What decisions say of the objects that an entity has by one predicate, as keys of entities."""

    lost: set[str] = field(default_factory=set)
    distinct: set[frozenset[str]] = field(default_factory=set)


def settle(database: Database, subject_keys: Collection[str], confidence: float) -> None:
    """Make the conflicts those of the texts, inside the caller's transaction.

    Entities that gained or lost a relation are looked at by themselves; `subject_keys` are others whose statements
    changed. `confidence` is the least that counts of a relation.
    """
    run = database.connection.execute
    if database.value("select 1 from conflict_stale"):
        _show_resolutions(database)
    touched = {subject for (subject,) in database.rows("select subject_id from conflict_touched")}
    run("delete from conflict_touched")
    _settle_relations(database, subject_keys, touched, confidence)
    clashes.settle(database)
    if database.value("select 1 from conflict_stale"):
        _write(database, "memories", None, _memory_conflicts(database))
        run("delete from conflict_stale")


def is_behind(database: Database) -> bool:
    """Whether anything waits to be derived."""
    return bool(
        database.value("select exists (select 1 from sentence_touched) or exists (select 1 from conflict_stale)")
    )


# What people decided


def meant(database: Database, anchor: str) -> str:
    """The key of the entity that an anchor means now."""
    return str(
        database.value(
            "select coalesce((select entity_key from entity_decision where anchor = ?1),"
            " (select entity_key from entity_alias where name_key = ?1), ?1)",
            (anchor,),
        )
    )


def anchor_of(database: Database, entity_key: str) -> str:
    """The anchor by which decisions mean an entity, whatever it is called later."""
    found = database.value(
        "select anchor from entity_decision where entity_key = ? and part_of is null order by anchor", (entity_key,)
    )
    return entity_key if found is None else str(found)


def _show_resolutions(database: Database) -> None:
    """Make the tables show the resolutions that stand, the edges between memories included."""
    wanted, pairs = _resolutions(database)
    have = {row[0]: tuple(row[1:]) for row in database.rows("select * from resolution")}
    had = {row for row in database.rows("select ref, kept, other, effect, counts from resolution_pair")}
    changed = {ref for ref in have.keys() | wanted.keys() if have.get(ref) != wanted.get(ref)}
    changed |= {row[0] for row in had ^ pairs}
    run_many = database.connection.executemany
    run_many("delete from resolution where ref = ?", [(ref,) for ref in sorted(changed)])
    run_many(
        "insert into resolution values (?, ?, ?, ?, ?, ?)", [(r, *wanted[r]) for r in sorted(changed & wanted.keys())]
    )
    run_many("insert into resolution_pair values (?, ?, ?, ?, ?)", sorted(row for row in pairs if row[0] in changed))
    subjects = {
        rows[ref][3] for rows in (have, wanted) for ref in changed if ref in rows and rows[ref][1] == "relation"
    }
    run_many(
        "insert into conflict_touched select id from entity where name_key = ? on conflict do nothing",
        [(meant(database, subject),) for subject in sorted(subjects)],
    )
    _show_edges(database)


def _resolutions(database: Database) -> tuple[dict[str, tuple[str, ...]], set[tuple[str, str, str, str, int]]]:
    wanted: dict[str, tuple[str, ...]] = {}
    latest: dict[tuple[str, str, str, Pair], tuple[str, str, str, str]] = {}
    every = []
    for ref, text in database.rows(
        "select ref, detail from decision where action = 'resolve' and state = 'standing' order by ref"
    ):
        detail = json.loads(text)
        subject, predicate = (str(detail.get(name) or "") for name in ("subject", "predicate"))
        wanted[ref] = (detail["conflict"], detail["of"], detail["choice"], subject, predicate)
        for kept, other, effect in _effects(detail):
            row = (ref, kept, other, effect)
            every.append(row)
            one, two = sorted((kept, other))
            latest[detail["of"], subject, predicate, (one, two)] = row
    counting = set(latest.values())
    return wanted, {(*row, int(row in counting)) for row in every}


def _effects(detail: Mapping[str, Any]) -> Iterable[tuple[str, str, str]]:
    keep, against = list(dict.fromkeys(detail.get("keep", ()))), list(dict.fromkeys(detail.get("against", ())))
    if detail["choice"] == "keep-both":
        return [(one, other, "distinct") for one, other in combinations(sorted(keep), 2)]
    effect = "replaces" if detail["of"] == "memories" else "merges" if detail["choice"] == "merge" else "retires"
    return [(kept, other, effect) for kept in keep for other in against if kept != other]


def _show_edges(database: Database) -> None:
    """Make the belief edges between memories those that the resolutions say, where both ends are there."""
    wanted = set(
        database.rows(
            "select newer.id, older.id, effect from resolution_pair join resolution using (ref)"
            " join node as newer on newer.key = kept and newer.kind = 'memory'"
            " join node as older on older.key = other and older.kind = 'memory'"
            " where resolution.kind = 'memories' and counts and newer.id <> older.id"
        )
    )
    have = set(database.rows("select src, dst, kind from edge where kind in ('replaces', 'distinct')"))
    database.connection.executemany("delete from edge where src = ? and dst = ? and kind = ?", sorted(have - wanted))
    database.connection.executemany(
        "insert into edge (src, dst, kind, weight) values (?, ?, ?, ?)",
        [(*row, EDGE_WEIGHTS[row[2]]) for row in sorted(wanted - have)],
    )


def _settled_relations(database: Database) -> dict[tuple[str, str], Settled]:
    """By subject and predicate, both as they are called now; a predicate that holds for many settles nothing."""
    found: dict[tuple[str, str], Settled] = defaultdict(Settled)
    for subject, predicate, kept, other, effect in database.rows(
        "select subject, predicate, kept, other, effect from resolution_pair join resolution using (ref)"
        " join vocabulary on vocabulary.kind = 'predicate' and vocabulary.name_key = predicate and single_valued"
        " where resolution.kind = 'relation' and counts order by ref, kept, other"
    ):
        settled = found[meant(database, subject), predicate]
        one, two = meant(database, kept), meant(database, other)
        if one == two:
            continue  # they are one entity now
        if effect == "retires":
            settled.lost.add(two)
        elif effect == "distinct":
            settled.distinct.add(frozenset((one, two)))
    return found


# Relations


def _settle_relations(
    database: Database, subject_keys: Collection[str], touched: Collection[int], confidence: float
) -> None:
    rows = database.rows(
        "select entity.id, name_key from json_each(?1) as wanted cross join entity on name_key = wanted.value"
        " union select entity.id, name_key from json_each(?2) as wanted cross join entity on entity.id = wanted.value",
        (json.dumps(sorted(subject_keys), ensure_ascii=False), json.dumps(sorted(touched))),
    )
    if not rows:
        return
    settled = _settled_relations(database)
    for subject, entity_key in sorted(rows, key=lambda row: str(row[1])):
        _retire(database, subject, entity_key, settled)
        wanted = _relation_conflicts(database, subject, entity_key, settled, confidence)
        _write(database, "relation", subject, wanted)


def _retire(database: Database, subject: int, entity_key: str, settled: Mapping[tuple[str, str], Settled]) -> None:
    """Have the relations that lost stand no more, and those that were let go stand again."""
    for edge, predicate, object_key, active in database.rows(
        "select edge.id, predicate, name_key, active from edge join entity on entity.id = dst"
        " where src = ? and edge.kind = 'relates'",
        (subject,),
    ):
        about = settled.get((entity_key, predicate))
        stands = int(about is None or object_key not in about.lost)
        if stands != active:
            database.connection.execute("update edge set active = ? where id = ?", (stands, edge))


def _relation_conflicts(
    database: Database,
    subject: int,
    entity_key: str,
    settled: Mapping[tuple[str, str], Settled],
    confidence: float,
) -> dict[str, Wanted]:
    stated: dict[str, dict[int, set[SideRow]]] = defaultdict(lambda: defaultdict(set))
    keys: dict[int, str] = {}
    origins: dict[str, set[str]] = defaultdict(set)
    for predicate, object_, object_key, node, sure, origin in database.rows(
        resources.query("conflict_sides"), {"subject": subject, "confidence": confidence}
    ):
        stated[predicate][object_].add((object_, "", node, sure, None))
        keys[object_] = object_key
        origins[predicate].add(origin)
    wanted = {}
    for predicate, objects in stated.items():
        about = settled.get((entity_key, predicate)) or Settled()
        open_: set[int] = set()
        for pair in combinations(objects, 2):
            if frozenset(keys[one] for one in pair) not in about.distinct:
                open_.update(pair)
        if open_:
            sides = frozenset(row for object_ in open_ for row in objects[object_])
            origin = "model" if "model" in origins[predicate] else "rules"
            key = conflict_key(anchor_of(database, entity_key), predicate)
            wanted[key] = Wanted("relation", origin, subject, predicate, sides)
    return wanted


# Memories


def _memory_conflicts(database: Database) -> dict[str, Wanted]:
    """What memories claim against one another: by rules in whole groups, by a model in pairs, each pair once."""
    distinct = {frozenset(pair) for pair in database.rows("select src, dst from edge where kind = 'distinct'")}
    merged: dict[frozenset[tuple[int, int]], list[tuple[str, dict[int, clashes.Side]]]] = defaultdict(list)
    for form, sides, pairs in clashes.groups(database):
        merged[frozenset(pairs)].append((conflict_key("memories", form), sides))
    found: dict[str, Wanted] = {}
    ruled: set[frozenset[int]] = set()
    for pairs_, groups in merged.items():
        ruled.update(map(frozenset, pairs_))
        left = {node for pair in pairs_ if frozenset(pair) not in distinct for node in pair}
        if left:
            key, sides = min(groups, key=lambda group: group[0])
            rows = frozenset((None, sides[node][0], node, None, sides[node][1] or None) for node in left)
            found[key] = Wanted("memories", "rules", None, None, rows)
    for one, other, quotes, names in _judged(database):
        pair = frozenset((one, other))
        if pair in ruled or pair in distinct:
            continue
        ruled.add(pair)
        said = sorted(name_key(quote) for quote in quotes if quote)
        key = conflict_key("memories", *(said if len(said) == 2 else sorted(names)))
        rows = frozenset(
            (None, name, node, None, quote) for node, name, quote in zip((one, other), names, quotes, strict=True)
        )
        known = found.get(key)
        found[key] = Wanted("memories", "model", None, None, rows | (known.sides if known else frozenset()))
    return found


JUDGED = """select one.id, other.id, one_node.key, other_node.key, judgement.quote, other_quote
from judgement
join memory as one on one.text_sha256 = judgement.text_sha256
join memory as other on other.text_sha256 = judgement.other_sha256
join node as one_node on one_node.id = one.id
join node as other_node on other_node.id = other.id
where judgement.verdict = 'contradicts' and one.id <> other.id
  and not exists (
      select 1 from judgement as later
      where later.text_sha256 = judgement.text_sha256 and later.other_sha256 = judgement.other_sha256
        and later.at > judgement.at)
  and not exists (
      select 1 from judgement as later
      where later.text_sha256 = judgement.other_sha256 and later.other_sha256 = judgement.text_sha256
        and later.at > judgement.at)
  and not exists (
      select 1 from edge
      where edge.dst in (one.id, other.id) and edge.kind in ('supersedes', 'replaces') and edge.active)
order by judgement.at, one_node.key, other_node.key"""
"""Pairs that a model judged to contradict, and no later judgement of the same texts takes back."""


def _judged(database: Database) -> list[tuple[int, int, tuple[str | None, str | None], tuple[str, str]]]:
    return [
        (one, other, (quote, other_quote), (name, other_name))
        for one, other, name, other_name, quote, other_quote in database.rows(JUDGED)
    ]


def conflict_key(*parts: str | int) -> str:
    """The name of a conflict: of a relation from the anchor of its subject and the predicate."""
    return sha256(json.dumps(parts).encode()).hexdigest()[:KEY_DIGITS]


# Writing


def _write(database: Database, kind: str, subject: int | None, wanted: Mapping[str, Wanted]) -> None:
    """Make the conflicts of a kind, of one subject where it is given, those that are wanted, touching what differs."""
    have = {
        key: Wanted(kind, origin, subject_id, predicate, _sides(database, key))
        for key, origin, subject_id, predicate in database.rows(
            "select key, origin, subject_id, predicate from conflict"
            " where kind = ?1 and (?2 is null or subject_id = ?2)",
            (kind, subject),
        )
    }
    run, run_many = database.connection.execute, database.connection.executemany
    for key in sorted(key for key in have if key not in wanted or _head(have[key]) != _head(wanted[key])):
        run("delete from conflict where key = ?", (key,))
        del have[key]
    for key in sorted(wanted):
        new = wanted[key]
        if key not in have:
            # A key that another subject had: that one is not called so any more.
            run("insert or replace into conflict values (?, ?, ?, ?, ?)", (key, *_head(new)))
        old = have[key].sides if key in have else frozenset()
        run_many(
            "delete from conflict_side where conflict_key = ? and coalesce(object_id, 0) = ? and node_id = ?",
            [(key, row[0] or 0, row[2]) for row in old - new.sides],
        )
        run_many("insert into conflict_side values (?, ?, ?, ?, ?, ?)", [(key, *row) for row in new.sides - old])


def _head(conflict: Wanted) -> tuple[str, str, int | None, str | None]:
    return conflict.kind, conflict.origin, conflict.subject_id, conflict.predicate


def _sides(database: Database, key: str) -> frozenset[SideRow]:
    return frozenset(
        database.rows(
            "select object_id, value, node_id, confidence, quote from conflict_side where conflict_key = ?", (key,)
        )
    )
