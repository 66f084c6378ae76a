"""Vectors that a process compared already, as numbers of 16 bits: which passages are worth comparing exactly again.

To read a vector from the database takes ten times as long as to compare it. Of the many candidates that bits give, or
of all passages of a small store, the few nearest are found here; SQLite compares these exactly, and its word counts.
What is kept is kept until something is written, from the second question on: a process that asks one reads once.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from memdb.base.storage import Database
from memdb.services.index.signatures import Block

# numpy costs more than all of a `memdb list`: it is loaded where vectors are at work.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST = 131_072
"""Vectors that are kept: 100 MB of the default model's. What lies beyond is read each time."""

WHOLE = 32_767
"""What stands for 1: to make floats of whole numbers takes numpy a twentieth of what it takes of floats of 16 bits."""

FEW = 4_096
"""Of so many vectors the numbers are kept as floats, 6 MB of the default model's: to make them takes longer than to
compare."""

MARGIN = 2e-3
"""Two similarities that differ by more are in the right order here. Rounding moves that of two unit vectors by at most
sqrt(dims) / (2 * WHOLE), 0.0003 for 384 dimensions and 0.001 for 4,096; adding in single precision by much less."""

READ = """select passage.id, passage.node_id, embedding.vector
from json_each(?) cross join passage on passage.id = value
cross join embedding on embedding.text_sha256 = passage.text_sha256
    and embedding.model_id = (select model_id from embedding_model join meta on key = 'model' and value = model)"""


class Seen:
    """The vectors seen of one state of a store, in the order of their passages' ids; a node of 0: none."""

    def __init__(self, block: Block, dims: int) -> None:
        import numpy as np  # noqa: PLC0415

        self.block = block
        self.passages = np.sort(block.passages)
        self.nodes = np.zeros(len(block.passages), dtype=np.int64)
        # No page of it takes memory before something is written there.
        kind = np.float32 if len(block.passages) <= FEW else np.int16
        self.vectors = np.empty((len(block.passages), dims), dtype=kind)

    def add(self, database: Database, passages: NDArray[np.int64]) -> bool:
        """Read the vectors of passages; False where one of them has none of this width."""
        import numpy as np  # noqa: PLC0415

        rows = database.rows(READ, (json.dumps(passages.tolist()),))
        width = self.vectors.shape[1] * 4  # bytes of float32
        if len(rows) != len(passages) or any(len(vector) != width for _, _, vector in rows):
            return False
        found = np.searchsorted(self.passages, [passage for passage, _, _ in rows])
        whole = np.rint(np.frombuffer(b"".join(row[2] for row in rows), dtype="<f4").reshape(len(rows), -1) * WHOLE)
        if np.abs(whole).max(initial=0) > WHOLE:
            return False  # no unit vector
        self.vectors[found] = whole
        self.nodes[found] = [node for _, node, _ in rows]
        return True


_seen: WeakKeyDictionary[Database, Seen] = WeakKeyDictionary()


def best(
    database: Database, block: Block, vector: NDArray[np.float32], passages: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """Of some passages of a block those that can be the nearest of one of the `count` nearest nodes."""
    import numpy as np  # noqa: PLC0415

    if len(passages) <= count or len(block.passages) > MOST:
        return passages
    seen = _seen.get(database)
    if seen is None or seen.block is not block:
        seen = _seen[database] = Seen(block, len(vector))
        return passages
    at: slice | NDArray[np.int64] = slice(None)  # all as they lie, without a copy
    if len(passages) == len(seen.passages):
        passages = seen.passages
    else:
        at = np.searchsorted(seen.passages, passages)
    missing = seen.nodes[at] == 0
    if missing.any() and not seen.add(database, passages[missing]):
        return passages
    # Not `@`: for so few rows the threads that it wakes cost more than they do.
    similarities = np.einsum("ij,j->i", seen.vectors[at].astype(np.float32, copy=False), vector) / WHOLE
    nearest = np.argsort(-similarities, kind="stable")
    _, firsts = np.unique(seen.nodes[at][nearest], return_index=True)
    if len(firsts) <= count:
        return passages
    last = similarities[nearest[np.partition(firsts, count - 1)[count - 1]]]
    found: NDArray[np.int64] = passages[similarities >= last - MARGIN]
    return found
