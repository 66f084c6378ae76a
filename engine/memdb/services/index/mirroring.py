"""Keep the signatures of the passages whole, and sqlite-vec's virtual table of them up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memdb.base.storage import Database
from memdb.services.index import signatures

if TYPE_CHECKING:
    import apsw

PART = 1_000
"""Passages read at a time: their vectors take a megabyte and a half."""

TABLE = "vec_passage"

SECOND_BITS = "vec_passage_vector_chunks01"
"""The table of sqlite-vec's own with the second column; one that an earlier memdb made has none."""

MISSING = """select passage.id, vector from passage
join embedding_model using (model) join embedding using (model_id, text_sha256)
where passage.id > ? and passage.id not in (select passage_id from signature) order by passage.id limit ?"""

SIGNED = """select signature.passage_id, signature.bits, vector from {table} as wanted
cross join signature on signature.passage_id = wanted.passage_id
cross join passage on passage.id = signature.passage_id left join embedding_model using (model)
left join embedding using (model_id, text_sha256)
where wanted.passage_id > ? order by wanted.passage_id limit ?"""
ALL, WAITING = SIGNED.format(table="signature"), SIGNED.format(table="vec_waiting")


def repair(database: Database) -> None:
    """Make the signatures that are missing, and drop the virtual table, which `mirror` makes anew."""
    if database.read_only or database.meta("vec_stale") is None:
        return
    with database.write() as connection:
        last = 0
        while rows := database.rows(MISSING, (last, PART)):
            signed = [(passage, signatures.signature(vector)) for passage, vector in rows]
            connection.executemany("insert into signature values (?, ?)", signed)
            last = rows[-1][0]
        connection.execute("delete from signature where passage_id not in (select id from passage)")
        if connection.table_exists(None, TABLE):
            if database.vector_reason is not None:
                return  # only sqlite-vec can drop its tables: a process that has it does
            connection.execute(f"drop table {TABLE}")
        database.set_meta("vec_stale", None)


def mirror(database: Database) -> None:
    """Bring sqlite-vec's virtual table up to the signatures: for whoever asks the file by `match`, in any program."""
    dims = database.meta("dims")
    if database.read_only or database.vector_reason is not None or dims is None:
        return
    connection = database.connection
    exists = connection.table_exists(None, TABLE)
    is_ours = connection.table_exists(None, SECOND_BITS)
    if is_ours and database.value("select 1 from vec_waiting limit 1") is None:
        return
    with database.write():
        if is_ours:
            # One by one: sqlite-vec looks at every row to find those of a list.
            waiting = database.rows("select passage_id from vec_waiting")
            connection.executemany(f"delete from {TABLE} where passage_id = ?", waiting)
        elif exists:
            connection.execute(f"drop table {TABLE}")
        if not is_ours:
            bits = f"bit[{int(dims)}]"
            connection.execute(
                f"create virtual table {TABLE}"
                f" using vec0 (passage_id integer primary key, signature {bits}, large {bits})"
            )
        _fill(database, connection, int(dims), WAITING if is_ours else ALL)
        connection.execute("delete from vec_waiting")


def _fill(database: Database, connection: apsw.Connection, dims: int, signed: str) -> None:
    """Put in the signatures that a statement gives, with the second bit of each value."""
    last = 0
    while rows := database.rows(signed, (last, PART)):
        larges = signatures.large([vector for _, _, vector in rows], dims)
        connection.executemany(
            f"insert into {TABLE} (passage_id, signature, large) values (?, vec_bit(?), vec_bit(?))",
            [(passage, bits, large) for (passage, bits, _), large in zip(rows, larges, strict=True)],
        )
        last = rows[-1][0]


__all__ = ["mirror", "repair"]
