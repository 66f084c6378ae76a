"""The signatures of a store in one block of memory, so that all of them are compared with a question's in a few passes.

SQLite hands them to sqlite-vec one by one, at half a microsecond each; of a hundred thousand, that is longer than all
else that a recall does. A signature says of each dimension whether the value is positive; a second bit, which only
`vec_passage` has, whether it is large. By one bit many can be told from the far ones, by both few from the many.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import apsw

from memdb.base import kept
from memdb.base.storage import Database

# numpy costs more than all of a `memdb list`: it is loaded where vectors are at work.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORD = 8
"""Bytes of a signature that are compared at once; a signature of another length is left to SQLite."""

LARGE = 0.9816
"""A value is large beyond this times 1 / sqrt(dims), the deviation of a unit vector's values: with the two means below
the least error for a normal distribution in two bits (Max, Quantizing for minimum distortion, 1960)."""

SMALL_MEAN, LARGE_MEAN = 0.4528, 1.510
"""What small and large values are taken for, in the same measure."""

QUERY_BITS = 4
"""Bits of a question's value in each dimension: with 6 the same are found (0.995 of the ten nearest of a million)."""

PART = 65_536
"""Signatures that are compared at a time: what is counted of so many stays in the processor's cache. A million are
compared in a third of the time that they take at once."""

MIRROR = """select rowids, validity, signs.vectors, larges.vectors
from vec_passage_chunks join vec_passage_vector_chunks00 as signs on signs.rowid = chunk_id
join vec_passage_vector_chunks01 as larges on larges.rowid = chunk_id order by chunk_id"""
"""sqlite-vec keeps the vectors of 1,024 rows in one blob, their ids in another: by these tables of its own it is read a
hundred times faster than row by row."""

CHANGED = "select passage_id, bits from vec_waiting left join signature using (passage_id)"
"""Signatures that came, changed or went since `vec_passage` was brought up to them."""


def signature(blob: bytes) -> bytes:
    """One bit per dimension of a vector in a blob, as sqlite-vec's vec_quantize_binary packs them."""
    import numpy as np  # noqa: PLC0415

    return np.packbits(np.frombuffer(blob, dtype="<f4") > 0, bitorder="little").tobytes()


def large(blobs: Sequence[bytes | None], dims: int) -> list[bytes]:
    """Which values of each vector are large, packed as a signature; none where no vector of so many is there."""
    import numpy as np  # noqa: PLC0415

    size = dims * np.dtype(np.float32).itemsize
    whole = [blob if blob is not None and len(blob) == size else bytes(size) for blob in blobs]
    matrix = np.frombuffer(b"".join(whole), dtype="<f4").reshape(len(whole), dims)
    return [row.tobytes() for row in np.packbits(np.abs(matrix) > LARGE / dims**0.5, axis=1, bitorder="little")]


@dataclass(frozen=True, slots=True)
class Block:
    """All signatures of a store as it was at a `state`: a column of 64-bit words for each of `passages`, which ascend.

    `bits` says which values are positive, `large` which are large.
    """

    state: tuple[int, int]
    passages: NDArray[np.int64]
    bits: NDArray[np.uint64]
    large: NDArray[np.uint64]

    def nearest(self, blob: bytes, first: int, count: int) -> NDArray[np.int64] | None:
        """The passages nearest to a vector: of the `first` by one bit the `count` by two.

        None where by one bit all lie equally far: which of them come is SQLite's to say.
        """
        places = self._nearest(blob, first)
        if places is None:
            return None
        return self.passages[places if len(places) <= count else self._nearer(places, blob, count)]

    def _nearest(self, blob: bytes, count: int) -> NDArray[np.int64] | None:
        """The places nearest by Hamming distance, as many as `count` less those that lie as far as the last of them.

        All of them where there are no more, None where they all lie equally far.
        """
        import numpy as np  # noqa: PLC0415

        if len(self.passages) <= count:
            return np.arange(len(self.passages))
        distances = hamming(self.bits, np.frombuffer(signature(blob), dtype=np.uint64))
        # How many lie nearer than each distance, or as far.
        within = np.cumsum(np.bincount(distances))
        last = int(np.searchsorted(within, count))
        return None if not last or not within[last - 1] else np.flatnonzero(distances < last)

    def _nearer(self, places: NDArray[np.int64], blob: bytes, count: int) -> NDArray[np.int64]:
        """Of some places those nearest by both bits, as many as `count` less those as near as the next one.

        All of them where they all lie equally near.
        """
        import numpy as np  # noqa: PLC0415

        vector = np.frombuffer(blob, dtype="<f4")
        # Word by word: numpy takes columns out of a block ten times as slowly.
        bits, large = (np.stack([row[places] for row in plane]) for plane in (self.bits, self.large))
        similarities = estimated(bits, large, vector)
        found: NDArray[np.int64] = places[similarities > np.partition(similarities, -count - 1)[-count - 1]]
        return found if len(found) else places


def estimated(bits: NDArray[np.uint64], large: NDArray[np.uint64], vector: NDArray[np.float32]) -> NDArray[np.float64]:
    """The similarity to a vector of what each column of two bits stands for, but for a factor that all of them have.

    The vector's values are rounded to QUERY_BITS, so that the sums are counts of bits (Gao and Long, RaBitQ, 2024): the
    same on every processor.
    """
    import numpy as np  # noqa: PLC0415

    lowest = float(vector.min())
    step = (float(vector.max()) - lowest) / (2**QUERY_BITS - 1) or 1.0
    whole = np.rint((vector - lowest) / step).astype(np.uint8)
    planes = [np.packbits(whole >> place & 1, bitorder="little").view(np.uint64) for place in range(QUERY_BITS)]

    # Of a signature, of the large values and of those large ones that are positive side by side.
    words = np.hstack((bits, large, bits & large))
    counts = ones(words).astype(float)
    sums = lowest * counts
    for place, plane in enumerate(planes):
        sums += step * 2**place * ones(map(np.bitwise_and, words, plane))
    positive, of_large, of_both = np.split(sums, 3)
    larges = np.split(counts, 3)[1]
    dims = len(vector)
    total = lowest * dims + step * int(whole.sum())
    # Of values with a sign, those that are not positive count as negative.
    signs = 2 * positive - total
    signs_of_large = 2 * of_both - of_large
    lengths = np.sqrt(SMALL_MEAN**2 * (dims - larges) + LARGE_MEAN**2 * larges)
    found: NDArray[np.float64] = (SMALL_MEAN * signs + (LARGE_MEAN - SMALL_MEAN) * signs_of_large) / lengths
    return found


def hamming(words: NDArray[np.uint64], word: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """In how many bits each column differs from another one."""
    import numpy as np  # noqa: PLC0415

    found = np.empty(words.shape[1], dtype=np.uint16)
    for start in range(0, len(found), PART):
        part = words[:, start : start + PART]
        found[start : start + PART] = ones(row ^ one for row, one in zip(part, word, strict=True))
    return found


def ones(rows: Iterable[NDArray[np.uint64]]) -> NDArray[np.uint16]:
    """How many bits are set in each column, a row at a time: so much stays in the processor's cache."""
    import numpy as np  # noqa: PLC0415

    counts: NDArray[np.uint16] | None = None
    for row in rows:
        if hasattr(np, "bitwise_count"):  # numpy 2
            here = np.bitwise_count(row)
        else:
            here = np.unpackbits(row.view(np.uint8).reshape(-1, WORD), axis=1).sum(axis=1, dtype=np.uint8)
        counts = here.astype(np.uint16) if counts is None else np.add(counts, here, out=counts)
    assert counts is not None
    return counts


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
        if held is not None and not kept.is_writing(database):
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
    packed: list[tuple[NDArray[np.uint64], NDArray[np.uint64]]] = []
    for rowids, validity, *planes in rows:
        here = np.frombuffer(rowids, dtype="<i8")
        if any(len(plane) != len(here) * dims // 8 for plane in planes):
            return None
        valid = np.unpackbits(np.frombuffer(validity, dtype=np.uint8), bitorder="little")[: len(here)].astype(bool)
        if changed:
            valid &= ~np.isin(here, np.array(list(changed), dtype=np.int64))
        wanted = slice(None) if valid.all() else valid
        ids.append(here[wanted])
        signs, larges = (np.frombuffer(plane, dtype=np.uint64).reshape(len(here), words)[wanted] for plane in planes)
        packed.append((signs, larges))
    # What is not in the virtual table yet is told by one bit.
    fresh: list[tuple[int, Any]] = [(passage, one) for passage, one in changed.items() if one is not None]
    ids.append(np.array([passage for passage, _ in fresh], dtype=np.int64))
    signs = np.frombuffer(b"".join(one for _, one in fresh), dtype=np.uint64).reshape(len(fresh), words)
    packed.append((signs, np.zeros_like(signs)))
    passages = np.concatenate(ids)
    # By columns: a pass over one word of all is three times as fast as one over all words of each.
    bits, large = np.empty((2, words, len(passages)), dtype=np.uint64)
    start = 0
    for signs, larges in packed:  # a part at a time stays in the processor's cache
        bits[:, start : start + len(signs)], large[:, start : start + len(signs)] = signs.T, larges.T
        start += len(signs)
    if (np.diff(passages) < 0).any():
        # Nearly all of them stand where they belong: of a stable sort, and of `take`, that costs a sixth.
        order = np.argsort(passages, kind="stable")
        passages, bits, large = passages[order], np.take(bits, order, axis=1), np.take(large, order, axis=1)
    return Block(state, passages, bits, large)
