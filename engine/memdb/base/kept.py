"""What a process keeps of a store's content until something is written there, by itself or by another process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import apsw

from memdb.base.storage import Database

T = TypeVar("T")

State = tuple[int, int]
"""Changes with every write of this connection or of another one, as SQLite counts them."""


class Kept(Generic[T]):
    """One thing for each database, made anew after any write; what it holds may grow meanwhile."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._kept: WeakKeyDictionary[Database, tuple[State, T]] = WeakKeyDictionary()

    def of(self, database: Database) -> T:
        """What is kept of the state that the current read transaction sees."""
        if is_writing(database):
            return self._make()
        state = state_of(database)
        kept = self._kept.get(database)
        if kept is None or kept[0] != state:
            kept = self._kept[database] = state, self._make()
        return kept[1]


def is_writing(database: Database) -> bool:
    """Whether this connection writes just now: what it reads meanwhile may be taken back, and is not to be kept."""
    return bool(database.connection.txn_state("main") == apsw.SQLITE_TXN_WRITE)


def state_of(database: Database) -> State:
    """The state that the current read transaction sees; it begins here if no statement began it."""
    connection = database.connection
    if connection.txn_state("main") == apsw.SQLITE_TXN_NONE:
        # After a bare `begin` nothing is read yet, and the number of the last transaction's state would come.
        connection.execute("select 1 from sqlite_schema limit 1").fetchall()
    return connection.data_version(), connection.total_changes()


_values: Kept[dict[str, Any]] = Kept(dict)


def value(database: Database, sql: str) -> Any:
    """The first column of the first row of a statement without values, or None; asked anew after a write."""
    known = _values.of(database)
    if sql not in known:
        known[sql] = database.value(sql)
    return known[sql]


__all__ = ["Kept", "State", "is_writing", "state_of", "value"]
