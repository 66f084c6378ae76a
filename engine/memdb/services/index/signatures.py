"""The signatures of a store in one block of memory, so that all of them are compared with a question's in a few passes.

SQLite hands them to sqlite-vec one by one, at half a microsecond each; of a hundred thousand, that is longer than all
else that a recall does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import apsw

from memdb.base.storage import Database

# numpy costs more than all of a `memdb list`: it is loaded where vectors are at work.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORD = 8
"""Bytes of a signature that are compared at once; a signature of another length is left to SQLite."""

MIRROR = """select rowids, validity, vectors
from vec_passage_chunks join vec_passage_vector_chunks00 as packed on packed.rowid = chunk_id order by chunk_id"""
"""sqlite-vec keeps the vectors of 1,024 rows in one blob, their ids in another: by these tables of its own it is read a
hundred times faster than row by row."""

CHANGED = "select passage_id, bits from vec_waiting left join signature using (passage_id)"
"""Signatures that came, changed or went since `vec_passage` was brought up to them."""


@dataclass(frozen=True, slots=True)
class Block:
    """All signatures of a store as it was at a `state`: `bits` has a column of 64-bit words for each of `passages`."""

    state: tuple[int, int]
    passages: NDArray[np.int64]
    bits: NDArray[np.uint64]

    def nearest(self, signature: bytes, count: int) -> NDArray[np.int64] | None:
        """The passages nearest by Hamming distance, as many as `count` less those that lie as far as the last of them.

        All of them where there are no more. None where they all lie equally far: which of them come is SQLite's to say.
        """
        import numpy as np  # noqa: PLC0415

        if len(self.passages) <= count:
            return self.passages
        distances = hamming(self.bits, np.frombuffer(signature, dtype=np.uint64))
        # How many lie nearer than each distance, or as far.
        within = np.cumsum(np.bincount(distances))
        last = int(np.searchsorted(within, count))
        if int(distances.min()) == last:
            return None
        return np.sort(self.passages[distances < last])


def hamming(words: NDArray[np.uint64], word: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """In how many bits each column differs from another one."""
    import numpy as np  # noqa: PLC0415

    if hasattr(np, "bitwise_count"):  # numpy 2
        counts = np.zeros(words.shape[1], dtype=np.uint16)
        for row, one in zip(words, word, strict=True):  # a row at a time stays in the processor's cache
            counts += np.bitwise_count(row ^ one)
        return counts
    differing = np.ascontiguousarray((words ^ word[:, None]).T).view(np.uint8)
    return np.asarray(np.unpackbits(differing, axis=1).sum(axis=1, dtype=np.uint16))


_held: WeakKeyDictionary[Database, Block] = WeakKeyDictionary()


def block(database: Database, total: int | None = None) -> Block | None:
    """The signatures of a store, read anew after any write; None where only SQLite can compare them.

    That is where sqlite-vec cannot be loaded or has no table yet. Call it inside a read transaction, with
    the `total` of signatures where it was counted there.
    """
    connection = database.connection
    if total is None:
        total = int(database.value("select count(*) from signature"))  # the transaction begins with it
    state = connection.data_version(), connection.total_changes()
    held = _held.get(database)
    if held is None or held.state != state:
        held = None if database.vector_reason is not None else _read(database, state)
        if held is not None:
            _held[database] = held
    return held if held is not None and len(held.passages) == total else None


def _read(database: Database, state: tuple[int, int]) -> Block | None:
    import numpy as np  # noqa: PLC0415

    dims = int(database.meta("dims") or 0)
    if not dims or dims % (8 * WORD) or not database.connection.table_exists(None, "vec_passage_chunks"):
        return None
    try:
        rows = database.rows(MIRROR)
    except apsw.SQLError:
        return None  # a sqlite-vec with other tables
    changed = dict(database.rows(CHANGED))
    words = dims // 8 // WORD
    ids: list[NDArray[np.int64]] = []
    bits: list[NDArray[np.uint64]] = []
    for rowids, validity, vectors in rows:
        here = np.frombuffer(rowids, dtype="<i8")
        if len(vectors) != len(here) * dims // 8:
            return None
        valid = np.unpackbits(np.frombuffer(validity, dtype=np.uint8), bitorder="little")[: len(here)].astype(bool)
        if changed:
            valid &= ~np.isin(here, np.array(list(changed), dtype=np.int64))
        ids.append(here[valid])
        bits.append(np.frombuffer(vectors, dtype=np.uint64).reshape(len(here), words)[valid])
    fresh: list[tuple[int, Any]] = [(passage, one) for passage, one in changed.items() if one is not None]
    ids.append(np.array([passage for passage, _ in fresh], dtype=np.int64))
    bits.append(np.frombuffer(b"".join(one for _, one in fresh), dtype=np.uint64).reshape(len(fresh), words))
    # By columns: a pass over one word of all is three times as fast as one over all words of each.
    return Block(state, np.concatenate(ids), np.ascontiguousarray(np.concatenate(bits).T))
