"""Vectors that a process compared already, as numbers of 16 bits: which passages are worth comparing exactly again.

To read a vector from the database takes ten times as long as to compare it. Of the many candidates that bits give, or
of all passages of a small store, the few nearest are found here; SQLite compares these exactly, and its word counts.
It begins with the second question: a process that asks one reads once. A write takes nothing away but the vectors of
what it changed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from memdb.base import kept
from memdb.base.storage import Database
from memdb.services.index.signatures import Block

# numpy costs more than all of a `memdb list`: it is loaded where vectors are at work.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

MOST = 131_072
"""Vectors that are kept: 100 MB of the default model's. Where there is no room for more, all are read anew."""

WHOLE = 32_767
"""What stands for 1: to make floats of whole numbers takes numpy a twentieth of what it takes of floats of 16 bits."""

FEW = 4_096
"""Of so many vectors the numbers are kept as floats, 6 MB of the default model's: to make them takes longer than to
compare."""

ROOM = 1.25
"""A store grows: there is room for so many times its vectors, which takes no memory before it is used."""

READ = """select passage.id, passage.node_id, embedding.vector
from json_each(?) cross join passage on passage.id = value
cross join embedding on embedding.text_sha256 = passage.text_sha256
    and embedding.model_id = (select model_id from embedding_model join meta on key = 'model' and value = model)"""


class Seen:
    """The vectors seen of the passages of a block: `slots` says where in `vectors` each is kept; -1: not yet."""

    def __init__(self, block: Block, dims: int) -> None:
        import numpy as np  # noqa: PLC0415

        count = len(block.passages)
        self.block = block
        self.slots = np.full(count, -1, dtype=np.int64)
        # No page of it takes memory before something is written there.
        kind = np.float32 if count <= FEW else np.int16
        self.vectors = np.empty((min(MOST, int(count * ROOM) + 1), dims), dtype=kind)
        self.nodes = np.zeros(len(self.vectors), dtype=np.int64)
        self.free = np.arange(len(self.vectors))

    def follow(self, block: Block) -> bool:
        """Go on with the block of a later state; False where there is no room for it.

        A passage keeps its vector where its signature is the same in all bits: the number of one that is gone may be
        given again, but not to a text that says as good as the same.
        """
        import numpy as np  # noqa: PLC0415

        before, is_few = self.block, self.vectors.dtype == np.float32
        has_room = len(self.vectors) >= min(MOST, len(block.passages))
        if not has_room or (len(block.passages) <= FEW) != is_few or len(block.bits) != len(before.bits):
            return False
        common = min(len(before.passages), len(block.passages))
        old: slice | Numbers = slice(common)
        new: slice | Numbers = slice(common)
        # Where passages only came or went at the end, the others stand where they stood.
        if not np.array_equal(before.passages[old], block.passages[new]):
            _, old, new = np.intersect1d(before.passages, block.passages, assume_unique=True, return_indices=True)
        same = (before.bits[:, old] == block.bits[:, new]).all(axis=0)
        slots = np.full(len(block.passages), -1, dtype=np.int64)
        slots[new] = np.where(same, self.slots[old], -1)
        self.block, self.slots = block, slots
        is_free = np.ones(len(self.vectors), dtype=bool)
        is_free[slots[slots >= 0]] = False
        self.free = np.flatnonzero(is_free)
        return True

    def add(self, database: Database, at: Numbers) -> bool:
        """Read the vectors of the passages `at` these places; False where one of them has none of this width."""
        import numpy as np  # noqa: PLC0415

        rows = database.rows(READ, (json.dumps(self.block.passages[at].tolist()),))
        width = self.vectors.shape[1] * 4  # bytes of float32
        if len(rows) != len(at):
            return False
        passages, nodes, blobs = zip(*rows, strict=True)
        if set(map(len, blobs)) != {width}:
            return False
        whole = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(rows), -1) * WHOLE
        np.rint(whole, out=whole)
        if whole.max() > WHOLE or whole.min() < -WHOLE:
            return False  # no unit vector
        found = np.searchsorted(self.block.passages, passages)
        slots, self.free = self.free[: len(rows)], self.free[len(rows) :]
        self.vectors[slots] = whole
        self.nodes[slots] = nodes
        self.slots[found] = slots
        return True


_seen: WeakKeyDictionary[Database, Seen] = WeakKeyDictionary()


def best(database: Database, block: Block, vector: NDArray[np.float32], passages: Numbers, count: int) -> Numbers:
    """Of some passages of a block those that can be the nearest of one of the `count` nearest nodes."""
    import numpy as np  # noqa: PLC0415

    if len(passages) <= count or kept.is_writing(database):
        return passages
    seen = _seen.get(database)
    if seen is None or (seen.block is not block and not seen.follow(block)):
        _seen[database] = Seen(block, len(vector))
        return passages
    at = np.arange(len(passages)) if len(passages) == len(block.passages) else np.searchsorted(block.passages, passages)
    missing = at[seen.slots[at] < 0]
    if len(missing) > len(seen.free):
        _seen[database] = Seen(block, len(vector))
        return passages
    if len(missing) and not seen.add(database, missing):
        return passages
    slots = seen.slots[at]
    # All of a small store lie in one row, and are compared without a copy.
    vectors = seen.vectors[: len(slots)] if (slots == np.arange(len(slots))).all() else seen.vectors[slots]
    # Not `@`: for so few rows the threads that it wakes cost more than they do.
    similarities = np.einsum("ij,j->i", vectors.astype(np.float32, copy=False), vector) / WHOLE
    nearest = np.argsort(-similarities, kind="stable")
    _, firsts = np.unique(seen.nodes[slots][nearest], return_index=True)
    if len(firsts) <= count:
        return passages
    last = similarities[nearest[np.partition(firsts, count - 1)[count - 1]]]
    found: Numbers = block.passages[at[similarities >= last - margin(len(vector))]]
    return found


def margin(dims: int) -> float:
    """Two similarities that differ by more are in the right order here.

    Rounding moves that of two unit vectors by at most sqrt(dims) / (2 * WHOLE), 0.0003 for 384 dimensions; adding in
    single precision, which SQLite does too, by at most dims * 2**-24.
    """
    return float(dims**0.5 / WHOLE + dims * 2.0**-22)
