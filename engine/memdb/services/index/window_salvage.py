"""Take over where texts were cut for the embedding model, from the database that a rebuild replaces."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence

from memdb.services.index.vectors import Chosen, Window, windows_sum
from memdb.services.salvage import Salvage

EMBEDDED = """select embedded.text_sha256, windows_sum, node_id from (
    select memory.id from json_each(?1) cross join memory on text_sha256 = value
    union all select chunk.id from json_each(?1) cross join chunk on text_sha256 = value) as text
cross join embedded on node_id = text.id where model = ?2 and windows_sum is not null order by node_id desc"""

WINDOWS = """select node_id, start, stop, text_sha256 from passage where node_id in (select value from json_each(?))
order by node_id, ordinal"""


def taken(salvage: Salvage, identity: str, batch: Sequence[Chosen]) -> dict[int, tuple[list[Window], int]]:
    """The windows that nodes with the same texts had under a model, and their checksum, where they are sure."""
    olds = {
        text: (said, node)
        for text, said, node in salvage.rows(EMBEDDED, (json.dumps(sorted({row[4] for row in batch})), identity))
    }
    windows: dict[int, list[Window]] = defaultdict(list)
    for node, start, stop, text in salvage.rows(WINDOWS, (json.dumps(sorted({node for _, node in olds.values()})),)):
        windows[node].append((start, stop, text))
    found = {}
    for row in batch:
        said, node = olds.get(row[4], (None, 0))
        if said is not None and windows_sum(identity, row, windows[node]) == said:
            found[row[0]] = windows[node], said
    return found
