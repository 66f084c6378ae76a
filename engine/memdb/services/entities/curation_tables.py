"""Show decisions in the tables: the log of them, what they make of entities, and the names that they give.

Only what differs is written, and what depends on it is noted in `entity_touched`, so that a decision costs as much as
the entities that it is about.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from weakref import WeakKeyDictionary

from memdb.base.journal import Record
from memdb.base.kept import state_of
from memdb.base.storage import Database
from memdb.domain import gazetteer, history
from memdb.domain.curation import OWN_FIELDS, Curation, Verdict, id_of, means, replay
from memdb.services.entities import entities

Row = tuple[Any, ...]

NO_NODE = 0
"""The node of a known name that a decision gave, whatever texts there are."""

SILENT = """select entity_key from entity_decision where deleted
union select name_key from entity_alias where entity_key in (select entity_key from entity_decision where deleted)"""
"""The names of deleted entities: no text is searched for them."""


def stored(database: Database) -> list[Record]:
    """The decisions that the tables have, as records in their order."""
    rows = database.rows("select ref, writer, by, kind, action, detail, why, seen from decision")
    rows.sort(key=lambda row: (row[0].partition("/")[0], row[1], row[0]))
    return [_record(row) for row in rows]


def _record(row: Row) -> Record:
    ref, writer, by, kind, action, detail, why, seen = row
    found = {"t": ref.partition("/")[0], "w": writer, "kind": kind, "action": action, **json.loads(detail)}
    given = {"by": by or None, "why": why, "on": None if seen is None else json.loads(seen)}
    return found | {name: value for name, value in given.items() if value is not None}


def state(database: Database) -> Curation:
    """What the decisions that the tables have come to; replayed again only when the database was written to."""
    stamp = state_of(database)
    held = _held.get(database)
    if held is None or held[0] != stamp:
        held = _held[database] = stamp, replay(stored(database))
    return held[1]


_held: WeakKeyDictionary[Database, tuple[tuple[int, int], Curation]] = WeakKeyDictionary()


def add(database: Database, records: Iterable[Record]) -> None:
    """Show more decisions, the newest of all, inside the caller's transaction."""
    show(database, [*(verdict.record for verdict in state(database).verdicts.values()), *records])


def move(database: Database, moves: Mapping[str, str]) -> None:
    """Have decisions name memories by the ids that they have now, inside the caller's transaction."""
    before = stored(database)
    after = [history.with_moves(record, moves) for record in before]
    if after != before:
        show(database, after)


def show(database: Database, records: Sequence[Record]) -> None:
    """Make the tables show these decisions and no other ones, inside the caller's transaction."""
    from memdb.services.entities import vocabulary  # noqa: PLC0415 (each shows what the other keeps)

    curation = replay(records)
    _show_log(database, curation)
    _show_entities(database, curation)
    vocabulary.show(database, curation.vocabulary)


# The log


def _show_log(database: Database, curation: Curation) -> None:
    """Write what differs; all but the verdict follows from the record, and a record seldom changes."""
    have = {
        ref: (tuple(verdict), (detail, why))
        for ref, detail, why, *verdict in database.rows(f"select ref, detail, why, {VERDICT} from decision")
    }
    gone = [(ref,) for ref in sorted(have.keys() - curation.verdicts.keys())]
    database.connection.executemany("delete from decision where ref = ?", gone)
    fresh = [
        verdict
        for ref, verdict in curation.verdicts.items()
        if ref not in have or have[ref] != (_verdict_row(curation, verdict), _record_row(verdict.record))
    ]
    database.connection.executemany(
        f"insert or replace into decision (ref, id, at, writer, by, kind, action, seen, detail, why, {VERDICT})"
        f" values ({', '.join('?' * 14)})",
        [_log_row(curation, verdict) for verdict in fresh],
    )


VERDICT = "subject, state, reason, contradicts"
"""The columns of `decision` that other decisions may change."""


def _verdict_row(curation: Curation, verdict: Verdict) -> Row:
    contradicts = json.dumps(verdict.contradicts) if verdict.contradicts else "[]"
    return _subject(curation, verdict), verdict.state, verdict.reason, contradicts


def _record_row(record: Record) -> Row:
    detail = {name: value for name, value in record.items() if name not in OWN_FIELDS}
    return _as_json(detail), record.get("why")


_as_json = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode


def _log_row(curation: Curation, verdict: Verdict) -> Row:
    record = verdict.record
    seen = record.get("on")
    return (
        verdict.ref,
        id_of(verdict.ref),
        _moment(record["t"]),
        record["w"],
        str(record.get("by", "")),
        record["kind"],
        record["action"],
        None if seen is None else json.dumps(seen),
        *_record_row(record),
        *_verdict_row(curation, verdict),
    )


def _subject(curation: Curation, verdict: Verdict) -> str:
    """What a decision is about; of one about another decision, what that is about."""
    seen = set()
    while not verdict.about and verdict.ref not in seen:
        seen.add(verdict.ref)
        of = [ref for ref in means(verdict.record) if ref in curation.verdicts]
        if not of:
            return ""
        verdict = curation.verdicts[of[0]]
    kind, _, key = verdict.about[0].partition(":") if verdict.about else ("", "", "")
    return f"entity:{curation.anchor(key)}" if kind == "entity" else "".join(verdict.about[:1])


def _moment(logical: str) -> str:
    """The wall clock of a journal's time; what is none stays as it is."""
    try:
        moment = datetime.fromtimestamp(int(logical.partition("-")[0]) / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return logical
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


# Entities


def _show_entities(database: Database, curation: Curation) -> None:
    silent = {key for (key,) in database.rows(SILENT)}
    wanted = _entity_rows(curation)
    aliases = _alias_rows(curation)
    had = {
        anchor: tuple(row)
        for anchor, *row in database.rows(
            "select anchor, entity_key, part_of, name, type, deleted from entity_decision"
        )
    }
    had_aliases = {
        key: tuple(row)
        for key, *row in database.rows(
            "select name_key, entity_key, name, made_by from entity_alias where made_by <> 'memory'"
        )
    }
    changed = _differing(had, wanted)
    changed_aliases = _differing(had_aliases, aliases)
    touched: set[str] = set(changed) | set(changed_aliases)
    for rows in (had, wanted):
        touched.update(rows[anchor][0] for anchor in changed if anchor in rows)
    for rows in (had_aliases, aliases):
        touched.update(rows[key][0] for key in changed_aliases if key in rows)
    _write(database, "entity_decision", "anchor", changed, wanted)
    _write(database, "entity_alias", "name_key", changed_aliases, aliases)
    _show_distinct(database, curation)
    _show_known(database, curation)
    if touched:
        _touch(database, touched)
        for anchor in changed:
            _rekey(database, anchor, had.get(anchor), wanted.get(anchor))
    now_silent = {key for (key,) in database.rows(SILENT)}
    entities.look_again(database, silent ^ now_silent)


def _entity_rows(curation: Curation) -> dict[str, Row]:
    return {
        anchor: (
            curation.key_of(curation.root(anchor)),
            curation.into.get(anchor),
            curation.called.get(anchor),
            curation.types.get(anchor),
            int(anchor in curation.deleted),
        )
        for anchor in curation.known
    }


def _alias_rows(curation: Curation) -> dict[str, Row]:
    rows = {}
    for key, anchor in curation.names():
        root = curation.root(anchor)
        entity_key = curation.key_of(root)
        if key != entity_key:
            rows[key] = (entity_key, curation.spelling(key), "rename" if anchor == root else "merge")
    return rows


def _differing(have: Mapping[str, Row], wanted: Mapping[str, Row]) -> list[str]:
    return sorted(key for key in have.keys() | wanted.keys() if have.get(key) != wanted.get(key))


def _write(database: Database, table: str, column: str, keys: Sequence[str], rows: Mapping[str, Row]) -> None:
    database.connection.executemany(f"delete from {table} where {column} = ?", [(key,) for key in keys])
    places = ", ".join("?" * (1 + max((len(row) for row in rows.values()), default=0)))
    # An alias that memories give yields to one that a person decided.
    database.connection.executemany(
        f"insert or replace into {table} values ({places})", [(key, *rows[key]) for key in keys if key in rows]
    )


def _show_distinct(database: Database, curation: Curation) -> None:
    have = set(database.rows("select one, other from entity_distinct"))
    database.connection.executemany(
        "delete from entity_distinct where one = ? and other = ?", sorted(have - curation.distinct)
    )
    database.connection.executemany("insert into entity_distinct values (?, ?)", sorted(curation.distinct - have))


def _show_known(database: Database, curation: Curation) -> None:
    """The names that people gave are known, but for those of what they deleted."""
    wanted = {(key, name) for key, name in curation.claimed.items() if curation.resolve(key) not in curation.deleted}
    have = set(database.rows("select name_key, name from known_name where node_id = ?", (NO_NODE,)))
    database.connection.executemany(
        "delete from known_name where node_id = ? and name_key = ?",
        [(NO_NODE, key) for key, _ in sorted(have - wanted)],
    )
    database.connection.executemany(
        "insert into known_name (match_key, name_key, entity_key, source, node_id, name)"
        " values (?1, ?2, ?2, 'decided', ?4, ?3)",
        [
            (gazetteer.match_key(name), key, name, NO_NODE)
            for key, name in sorted(wanted - have)
            if gazetteer.is_matchable(name)
        ],
    )


def _touch(database: Database, keys: set[str]) -> None:
    """Have the entities of some names derived anew, and the aliases that memories give for one of the names."""
    given = json.dumps(sorted(keys), ensure_ascii=False)
    database.connection.execute("insert or ignore into entity_touched select value, 0 from json_each(?)", (given,))
    database.connection.execute(
        "insert or ignore into entity_touched select distinct name_key, 0 from json_each(?)"
        " cross join known_name on entity_key = value and source = 'alias'",
        (given,),
    )


def _rekey(database: Database, anchor: str, before: Row | None, after: Row | None) -> None:
    """Give the row of an entity that is called otherwise its new key: its edges stay as they are."""
    old, new = (row[0] if row else anchor for row in (before, after))
    if old == new or any(row and row[1] for row in (before, after)):
        return
    entity = database.value("select id from entity where name_key = ?", (old,))
    if entity is None or database.value("select 1 from entity where name_key = ?", (new,)):
        return
    run = database.connection.execute
    run("update entity set name_key = ? where id = ?", (new, entity))
    run("update node set key = ? where id = ?", (f"entity:{new}", entity))
    run("update known_name set entity_key = ? where node_id = ? and source = 'entity'", (new, entity))
