"""What the journal has to know of memories that came to be or got other ids: their births, and where texts follow."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from memdb.base.journal import Record
from memdb.base.storage import Database
from memdb.domain import history

if TYPE_CHECKING:
    from memdb.services.index.indexing import Rekeyed

READ_WHOLE = "read_whole"
"""The stamp of a store whose folder was read to its end once: what is found after that is new."""

PENDING = "rekeyed"
"""The stamp of a sync that goes on: what its batches changed and the journal does not say yet, as JSON."""


class Changes:
    """The ids that memories had before a sync and have after it, over all its batches.

    The journal says it in one record, since ids may be exchanged. Until then each batch keeps it in the database, in
    its own transaction: a sync that is killed between two of them is gone on with by the next one.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._before: dict[int, str | None] = {}
        self._after: dict[int, str] = {}
        self._keeps_births = database.meta(READ_WHOLE) is not None
        for memory, old, new in json.loads(database.meta(PENDING) or "[]"):
            self._before[memory], self._after[memory] = old, new

    def note(self, rekeyed: Rekeyed) -> None:
        """Take note of what a batch changed, within its transaction."""
        for memory, (old, new) in rekeyed.items():
            self._before.setdefault(memory, old)
            self._after[memory] = new
        if rekeyed and (kept := self._kept()):
            self._database.set_meta(PENDING, json.dumps(kept))

    def records(self) -> list[Record]:
        """The journal records: by which earlier texts follow, and of memories that are new to the index."""
        there = "select exists (select 1 from memory where id = ?)"  # it may have gone since a sync that was killed
        came = [
            memory for memory, old in self._before.items() if old is None and self._database.value(there, (memory,))
        ]
        fresh = sorted(self._after[memory] for memory in came)
        renamed = rename_records({memory: (old, self._after[memory]) for memory, old in self._before.items()})
        return [*renamed, *birth_records(self._database, fresh)]

    def end(self) -> None:
        """The journal has the records: nothing is pending, once the transaction is over."""
        self._database.set_meta(PENDING, None)

    def _kept(self) -> list[tuple[int, str | None, str]]:
        return [
            (memory, old, self._after[memory])
            for memory, old in self._before.items()
            if (self._keeps_births if old is None else old != self._after[memory])
        ]


def is_pending(database: Database) -> bool:
    """Whether a sync was killed before the journal had what its batches changed."""
    return database.meta(PENDING) is not None


def birth_records(database: Database, keys: Iterable[str], *, made: bool = False) -> list[Record]:
    """The journal records of memories that came to be: those that memdb made, and those that a later sync finds.

    What the first reading of a folder finds may be of any age. A memory that another machine saw first has its record.
    """
    if not made and database.meta(READ_WHOLE) is None:
        return []
    return [history.created_record(key) for key in keys if not is_born(database, key)]


def is_born(database: Database, key: str) -> bool:
    """Whether a memory came to be since it was deleted last."""
    return bool(
        database.value(
            "select exists (select 1 from memory_birth where memory_key = ?1 and at > coalesce("
            "(select max(at) from memory_version where memory_key = ?1 and reason = 'deleted'), ''))",
            (key,),
        )
    )


def rename_records(rekeyed: Rekeyed) -> list[Record]:
    """The journal record by which the earlier texts of memories follow them to other ids, or none."""
    moves = {old: new for old, new in rekeyed.values() if old is not None and old != new}
    return [history.rename_record(moves)] if moves else []
