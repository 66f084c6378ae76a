"""Derive at once what triggers derive row by row, where a database is filled that nobody reads yet.

A rebuild writes hundreds of thousands of rows; a statement over all of them takes a fraction of what a trigger for each
does, and writes each page once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from memdb.base.storage import Database


class Derived(NamedTuple):
    """What some triggers keep up, and the statements that make all of it."""

    triggers: tuple[str, ...]
    statements: tuple[str, ...] = ()


NEIGHBORS = Derived(
    ("edge_inserted", "edge_deleted", "edge_updated", "neighbor_inserted", "neighbor_deleted"),
    (
        "delete from neighbor",
        "update node set degree = 0 where degree <> 0",
        # In the order of the table's key.
        """insert into neighbor (node_id, other_id, edge_id, kind, weight)
        select * from (
            select src, dst, id, kind, weight from edge
            where active and weight > 0 and src <> dst and kind <> 'contradicts'
            union all
            select dst, src, id, kind, weight from edge
            where active and weight > 0 and src <> dst and kind <> 'contradicts'
        ) order by 1, 2, 3""",
        """update node set degree = counted.others
        from (select node_id, count(distinct other_id) as others from neighbor group by node_id) as counted
        where node.id = counted.node_id and degree <> counted.others""",
    ),
)
"""The neighbours of all nodes and how many they are."""

TOTALS = Derived(
    ("fts_length_inserted", "fts_length_deleted"),
    ("""update fts_total set (texts, words) = (select count(*), coalesce(sum(words), 0) from fts_length)""",),
)
"""How many texts there are, and how many words in all of them."""

WAITING = Derived(
    ("extract_memory_inserted", "extract_chunk_inserted", "embed_memory_inserted", "embed_chunk_inserted"),
    ("insert or ignore into embed_waiting select id from memory union all select id from chunk order by 1",),
)
"""Which texts are to be embedded and read for names: of a new database all are, and are read without being told."""


def _mentions(which: str) -> Derived:
    return Derived(
        ("mention_inserted", "mention_deleted"),
        (
            f"delete from spelling where {which}",
            f"""insert into spelling (name_key, origin, source, name, type, refused, uses)
            select name_key, origin, source, name, coalesce(type, ''), refused, count(*)
            from mention where {which} group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6""",
            f"insert or ignore into entity_touched select name_key, node_id from mention where {which} order by 1, 2",
        ),
    )


MENTIONS = _mentions("true")
"""How each name is spelled, and that the entities of all mentions are to be settled."""

MATCHES = _mentions("source = 'known'")
"""The same where mentions of known names alone came or went."""

KNOWN_NAMES = Derived(
    ("known_name_inserted", "known_name_deleted"),
    (
        """insert into known_name_changed (match_key, name_key, name, balance)
        select match_key, name_key, name, count(*) from known_name where true group by 1, 2, 3 order by 1, 2, 3
        on conflict do update set balance = excluded.balance""",
        "insert or ignore into entity_touched select distinct name_key, 0 from known_name where source = 'alias'",
    ),
)
"""Which known names are new, and that entities by such an alias are to be settled."""


@contextmanager
def late(database: Database, *parts: Derived) -> Iterator[None]:
    """Leave what triggers derive alone inside, which must not ask for it, then make all of it.

    After a failure the database has no such triggers any more: it is thrown away.
    """
    names = {name for part in parts for name in part.triggers}
    with database.write() as connection:
        triggers = [
            (name, statement)
            for name, statement in database.rows("select name, sql from sqlite_schema where type = 'trigger'")
            if name in names
        ]
        for name, _ in triggers:
            connection.execute(f"drop trigger {name}")
    yield
    with database.write() as connection:
        for part in parts:
            for statement in part.statements:
                connection.execute(statement)
        for _, statement in triggers:
            connection.execute(statement)
