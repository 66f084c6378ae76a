"""What a rebuild derives at once is what triggers derive row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from memdb.services import late
from memdb.services.health import rebuilding
from memdb.services.late import Derived
from memdb.store import Store
from tests.document_support import Shelf
from tests.histories import differing

FILES: dict[str, str | bytes] = {
    "guide.md": "# The Maple Guide\n\n"
    + "".join(
        f"## Part {number}\n\nVelkor Works runs PostgreSQL on birch-{number}. The Maple Guide says more.\n\n"
        for number in range(6)
    ),
    "notes.txt": "Maple Team met in the Oslo Office, says Ines Halloran.\n",
}
MEMORIES = {
    "maple-team": ("The Maples use PostgreSQL. See [[tea]] and [[oak]].", ["team", "oslo"]),
    "tea": ("Tea is drunk at five by Ines Halloran in the Oslo Office.", ["team"]),
    "oak": ("Velkor Works depends on Redis. The Maple Guide tells when.", []),
    "elm": ("Velkor works with Redis. @Maple-Team and the Elms agree.", ["oslo"]),
}
KEPT = ("neighbor", "fts_total", "spelling")
"""Tables that are kept up to others."""


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """A store with a history: texts that came, changed and went."""
    made = Shelf(tmp_path, FILES)
    for name, (text, tags) in MEMORIES.items():
        made.store.save(f"user/{name}", text, tags=tags)
    made.store.save("user/birch", "An alias of its own.", aliases=["Birches"])
    made.add()
    made.store.sync()
    made.store.save("user/elm", "The Elms disagree with Redis now.")
    made.store.forget("user/oak")
    made.put({"notes.txt": "Maple Team met in the Lisbon Office, says Ines Halloran.\n"})
    made.store.sync()
    return made


def tables(shelf: Shelf, *names: str) -> dict[str, list[tuple[Any, ...]]]:
    """Rows of tables, in order; of nodes the degrees."""
    found = {name: sorted(shelf.rows(f"select * from {name}"), key=repr) for name in names}
    return found | {"degrees": shelf.rows("select key, degree from node order by key")}


def triggers(shelf: Shelf) -> list[tuple[Any, ...]]:
    return shelf.rows("select name, sql from sqlite_schema where type = 'trigger' order by name")


@pytest.mark.parametrize("part", [late.NEIGHBORS, late.TOTALS, late.MENTIONS, late.MATCHES])
def test_a_statement_makes_what_triggers_kept(shelf: Shelf, part: Derived) -> None:
    before, rules = tables(shelf, *KEPT), triggers(shelf)
    assert all(before.values())
    database = shelf.store._context.database
    with late.late(database, part):
        assert not {name for name, _ in triggers(shelf)} & set(part.triggers)
        if part is late.MENTIONS:
            database.connection.execute("delete from spelling")
    assert tables(shelf, *KEPT) == before
    assert triggers(shelf) == rules


def test_rows_that_were_written_meanwhile_are_told_as_by_triggers(shelf: Shelf) -> None:
    """Which entities are to be settled, and which known names are new."""
    told = ("spelling", "entity_touched", "known_name_changed", "fts_total", "neighbor")
    written = (
        "insert into mention select node_id, name_key || '!', origin, source, name || '!', type, at, ordinal, refused,"
        " about from mention",
        "insert into known_name (match_key, name_key, entity_key, source, node_id, name)"
        " select match_key, name_key || '!', entity_key, source, node_id, name || '!' from known_name",
        "insert into edge (src, dst, kind, weight) select dst, src, 'next', 0.5 from edge where kind = 'has_tag'",
        "insert into fts_length select id, 7 from node where id not in (select node_id from fts_length)",
    )
    database = shelf.store._context.database
    rows = []
    for parts in ((), (late.NEIGHBORS, late.TOTALS, late.MENTIONS, late.KNOWN_NAMES)):
        database.connection.execute("savepoint before")
        # Of a database that is new everything is.
        for table in ("mention", "known_name"):
            database.connection.execute(f"create temp table old_{table} as select * from {table}")
            database.connection.execute(f"delete from {table}")
        for table in ("entity_touched", "known_name_changed"):
            database.connection.execute(f"delete from {table}")
        statements = [f"insert into {table} select * from old_{table}" for table in ("mention", "known_name")]
        _write(database, parts, [*statements, *written])
        rows.append(tables(shelf, *told))
        database.connection.execute("rollback to before")
        database.connection.execute("release before")
    assert rows[0] == rows[1]
    assert all(rows[0].values())


def _write(database: Any, parts: tuple[Derived, ...], statements: list[str]) -> None:
    connection = database.connection
    names = {name for part in parts for name in part.triggers}
    for name in names:
        connection.execute(f"drop trigger {name}")
    for statement in statements:
        connection.execute(statement)
    for part in parts:
        for statement in part.statements:
            connection.execute(statement)


def test_a_rebuilt_database_has_all_triggers_and_what_they_keep(shelf: Shelf) -> None:
    before, rules = tables(shelf, "fts_total", "spelling"), triggers(shelf)
    shelf.store.rebuild()
    assert triggers(shelf) == rules
    assert tables(shelf, "fts_total", "spelling") == before
    shelf.store.save("user/ash", "Velkor Works moved to the Oslo Office.", tags=["oslo"])
    shelf.store.sync()
    shelf.assert_rebuilds()


def test_a_rebuild_beside_a_reader_that_holds_on_to_the_log(shelf: Shelf) -> None:
    live = shelf.store.digest()
    reader = apsw.Connection(str(shelf.store.place.database), flags=apsw.SQLITE_OPEN_READONLY)
    reader.execute("begin")
    count = reader.execute("select count(*) from node").get
    shelf.store.save("user/pine", "Written after the reader began.")
    shelf.store.sync()
    with_pine = shelf.store.digest()
    shelf.store.rebuild()
    assert reader.execute("select count(*) from node").get == count
    reader.execute("rollback")
    assert reader.execute("select count(*) from memory where name = 'pine'").get == 1
    reader.close()
    assert differing(with_pine, shelf.store.digest()) == []
    assert differing(live, with_pine) != []


@pytest.mark.parametrize("place", [200, -200])
def test_a_copy_with_another_byte_is_none(shelf: Shelf, place: int) -> None:
    database = shelf.store.place.database
    shelf.store.close()
    other = database.with_name("other.db")
    data = bytearray(database.read_bytes())
    other.write_bytes(data)

    def is_copy() -> bool:
        with apsw.Connection(str(database)) as connection:
            return rebuilding._is_copy(connection, database, other)

    assert is_copy()
    data[place] ^= 1
    other.write_bytes(data)
    assert not is_copy()
    other.write_bytes(bytes(data[:-1]))
    assert not is_copy()
    Store.init(shelf.store.place.root).close()
