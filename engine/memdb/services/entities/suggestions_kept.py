"""What the names of a store have in common, kept in its tables: only entities that changed are compared anew.

Triggers note which entities those are (migration 0012). The tables follow from the entities and their aliases alone,
and what they give is what a comparison of all names gives.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b

from memdb.base.storage import Database
from memdb.domain import near_keys
from memdb.domain.near_keys import BESIDE, LETTERS, REDUCED, SHORTER, SLIP, Key, Meeting, Reason, Spelling
from memdb.errors import Busy, NotWritable

KIND_BITS = 5
"""Of a stored key: there are fewer than 32 kinds."""

ALL_ANEW = 4
"""Where more than one in so many entities changed, all are compared: that is one pass without a look-up."""

PATIENCE = 0.5
"""Seconds that are waited for another writer; then all names are compared, and nothing is kept."""

KeyRow = tuple[int, int, int]
MeetingRow = tuple[int, int, int, int, str, float]
"""Rows of `near_key` and `near_meeting`."""

WAKES = {LETTERS: tuple(REDUCED), SHORTER: (SLIP,)}
"""Kinds under whose keys the names of another kind are looked at too."""


def meetings(database: Database) -> list[Meeting]:
    """What names have in common, by the keys of the entities, as they are now."""
    if database.value("select 1 from near_changed limit 1") is not None or _is_of_other_rules(database):
        try:
            _refresh(database)
        except (Busy, NotWritable):
            return computed(database)
    rows = database.rows(
        "select distinct one.name_key, other.name_key, rank, words, score from near_meeting"
        " join entity as one on one.id = a join entity as other on other.id = b"
    )
    return [Meeting(min(a, b), max(a, b), rank, Reason(words, score)) for a, b, rank, words, score in rows]


def drop(database: Database) -> None:
    """Keep nothing where a name went: its hash would stay until the next list, and who guesses it could check that.

    The caller is in a write transaction.
    """
    if database.value("select 1 from near_changed limit 1") is not None:
        database.connection.execute("delete from near_key")
        database.connection.execute("delete from near_meeting")
        database.set_meta("near_rules", None)


def computed(database: Database) -> list[Meeting]:
    """The same by a comparison of all names."""
    keyed = _keyed(_spellings(database, None))
    found = near_keys.met((spelling, keys) for _, spelling, keys in keyed)
    return list({meeting: None for _, meeting in found})


def _refresh(database: Database) -> None:
    version = database.connection.pragma("data_version")
    # All names are compared before others have to wait for it.
    rows = _all_rows(database) if _is_much(database) else None
    run = database.connection.execute
    with database.patience(PATIENCE), database.write():
        if rows is not None and database.connection.pragma("data_version") != version:
            rows = _all_rows(database)
        if rows is not None:
            run("delete from near_key")
            run("delete from near_meeting")
            _insert(database, *rows)
        else:
            _keep(database, [entity for (entity,) in database.rows("select entity_id from near_changed")])
        run("delete from near_changed")
        database.set_meta("near_rules", near_keys.RULES)


def _is_of_other_rules(database: Database) -> bool:
    return database.meta("near_rules") != near_keys.RULES


def _is_much(database: Database) -> bool:
    if _is_of_other_rules(database):
        return True
    changed, every = database.rows("select (select count(*) from near_changed), (select count(*) from entity)")[0]
    return bool(changed * ALL_ANEW > every)


def _all_rows(database: Database) -> tuple[list[KeyRow], list[MeetingRow]]:
    with database.read():
        named = _spellings(database, None)
    keyed = _keyed(named)
    found = near_keys.met((spelling, keys) for _, spelling, keys in keyed)
    return _key_rows(keyed), _meeting_rows(_ids(named), ((_stored(key), meeting) for key, meeting in found))


def _keep(database: Database, changed: Collection[int]) -> None:
    """Compare some entities anew: whatever shares a key with what they were or are."""
    given = (json.dumps(sorted(changed)),)
    where = "where entity_id in (select value from json_each(?))"
    looked_at = {key for (key,) in database.rows(f"select distinct near_key.key from near_key {where}", given)}
    database.connection.execute(f"delete from near_key {where}", given)
    keys = _key_rows(_keyed(_spellings(database, changed)))
    looked_at |= {key for key, _, _ in keys}
    looked_at |= {key - _kind(key) + kind for key in looked_at for kind in WAKES.get(_kind(key), ())}
    _insert(database, keys, [])
    given = (json.dumps(sorted(looked_at)),)
    database.connection.execute("delete from near_meeting where key in (select value from json_each(?))", given)
    _insert(database, [], _compared(database, looked_at))


def _compared(database: Database, looked_at: Collection[int]) -> list[MeetingRow]:
    """What the names under some keys have in common."""
    beside = {key: key - _kind(key) + BESIDE[_kind(key)] for key in looked_at if _kind(key) in BESIDE}
    under: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for key, entity, place in database.rows(
        "select near_key.key, entity_id, place from json_each(?) cross join near_key on near_key.key = value",
        (json.dumps(sorted({*looked_at, *beside.values()})),),
    ):
        under[key].append((entity, place))
    both = {key: (under[key], under.get(beside[key], []) if key in beside else []) for key in looked_at if key in under}
    # Most keys are of one name.
    met = {key: places for key, places in both.items() if sum(map(len, places)) > 1}
    named = _spellings(database, {entity for places in met.values() for some in places for entity, _ in some})
    at = {(entity, one.place): one for entity, some in named.items() for one in some}
    found = (
        (key, meeting)
        for key, (own, others) in met.items()
        for meeting in near_keys.meetings(_kind(key), [at[one] for one in own], [at[one] for one in others])
    )
    return _meeting_rows(_ids(named), found)


def _spellings(database: Database, entities: Collection[int] | None) -> dict[int, list[Spelling]]:
    """What is compared of some entities, or of all, by their ids."""
    chosen = None if entities is None else json.dumps(sorted(entities))
    some = ":chosen is null or entity.id in (select value from json_each(:chosen))"
    aliases: dict[int, list[str]] = defaultdict(list)
    for entity, name in database.rows(
        f"select entity.id, entity_alias.name from entity join entity_alias on entity_key = entity.name_key"
        f" where {some} order by entity_alias.name_key",
        {"chosen": chosen},
    ):
        aliases[entity].append(name)
    rows = database.rows(f"select id, name_key, name, type from entity where {some}", {"chosen": chosen})
    return {
        entity: near_keys.spellings(name_key, (name, *aliases.get(entity, ())), type_)
        for entity, name_key, name, type_ in rows
    }


def _keyed(named: Mapping[int, Iterable[Spelling]]) -> list[tuple[int, Spelling, Collection[Key]]]:
    return [(entity, spelling, near_keys.keys(spelling)) for entity, some in named.items() for spelling in some]


def _ids(named: Mapping[int, Sequence[Spelling]]) -> dict[str, int]:
    return {some[0].owner: entity for entity, some in named.items() if some}


def _key_rows(keyed: Iterable[tuple[int, Spelling, Collection[Key]]]) -> list[KeyRow]:
    return sorted((_stored(key), entity, spelling.place) for entity, spelling, keys in keyed for key in keys)


def _meeting_rows(ids: Mapping[str, int], found: Iterable[tuple[int, Meeting]]) -> list[MeetingRow]:
    return sorted({(key, ids[a], ids[b], rank, reason.words, reason.score) for key, (a, b, rank, reason) in found})


def _insert(database: Database, keys: Iterable[KeyRow], met: Iterable[MeetingRow]) -> None:
    database.connection.executemany("insert into near_key values (?, ?, ?)", keys)
    database.connection.executemany("insert into near_meeting values (?, ?, ?, ?, ?, ?)", met)


def _stored(key: Key) -> int:
    """A key as a number: those of one text differ in the last bits only, which are the kind."""
    kind, text = key
    digest = int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big", signed=True)
    return (digest >> KIND_BITS << KIND_BITS) + kind


def _kind(key: int) -> int:
    return key & ((1 << KIND_BITS) - 1)
