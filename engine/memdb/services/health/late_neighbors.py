"""Derive the neighbours of all nodes at once, where a database is filled that nobody reads yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from memdb.base.storage import Database

TRIGGERS = "'edge_inserted', 'edge_deleted', 'edge_updated', 'neighbor_inserted', 'neighbor_deleted'"
"""Which keep `neighbor` and the degree of nodes up to the edges, one by one."""

NEIGHBORS = """insert into neighbor (node_id, other_id, edge_id, kind, weight)
select * from (
    select src, dst, id, kind, weight from edge where active and weight > 0 and src <> dst and kind <> 'contradicts'
    union all
    select dst, src, id, kind, weight from edge where active and weight > 0 and src <> dst and kind <> 'contradicts'
) order by 1, 2, 3"""
"""In the order of the table's key: each page is written once."""

DEGREES = """update node set degree = counted.others
from (select node_id, count(distinct other_id) as others from neighbor group by node_id) as counted
where node.id = counted.node_id and degree <> counted.others"""


@contextmanager
def late_neighbors(database: Database) -> Iterator[None]:
    """Leave neighbours and degrees alone while texts are read, which asks for neither, then make all of them."""
    with database.write() as connection:
        triggers = database.rows(f"select name, sql from sqlite_schema where type = 'trigger' and name in ({TRIGGERS})")
        for name, _ in triggers:
            connection.execute(f"drop trigger {name}")
    yield
    with database.write() as connection:
        connection.execute("delete from neighbor")
        connection.execute("update node set degree = 0 where degree <> 0")
        connection.execute(NEIGHBORS)
        connection.execute(DEGREES)
        for _, statement in triggers:
            connection.execute(statement)
