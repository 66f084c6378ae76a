"""Give every memory its vectors: what changed is embedded, what was embedded before comes from the cache."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from memdb.base.kept import state_of
from memdb.base.storage import Database
from memdb.base.sums import sum_of
from memdb.base.text import sha256_text
from memdb.base.windows import MAX_CHARACTERS_PER_TOKEN, Span, windows
from memdb.errors import ModelUnavailable
from memdb.services.context import Context, Progress, silent
from memdb.services.index import mirroring

# numpy costs more than all of a `memdb list`: it is loaded where vectors are at work.
if TYPE_CHECKING:
    import apsw
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

State = tuple[int, int, str]
"""A database's content, as versions that SQLite counts, and the model's identity."""

BATCH = 32
"""Memories per round: their texts are embedded outside of any transaction, then written in one."""

BITS_PER_BYTE = 8
"""A signature packs one bit of each dimension into whole bytes."""

KEEP = 64
"""Vectors written at a time: what a crash costs at most, a second or two of work."""

PART = 1_000
"""Nodes at a time whose windows are taken over."""

TEXTS = """select id, name, description, trim(body, char(9, 10, 13, 32)) as body, text_sha256, has_secret from memory
union all
select id, prefix, '', text, text_sha256, has_secret from chunk"""
"""Everything that is embedded: of a chunk, its headings stand where a memory has its name."""

WAITING = """select id from {candidates} as node
where not exists (select 1 from embedded where node_id = node.id and model = ?)
and not exists (select 1 from memory where memory.id = node.id and has_secret)
and not exists (select 1 from chunk where chunk.id = node.id and has_secret)
order by id"""
FEW_WAITING = WAITING.format(candidates="(select node_id as id from embed_waiting)")
ALL_WAITING = WAITING.format(candidates="(select id from node where kind in ('memory', 'chunk'))")
"""Which texts have no windows under a model: of the store's own triggers tell it, else all are looked at."""

CHOSEN = f"""select id, name, description, body, text_sha256
from ({TEXTS}) where id in (select value from json_each(:nodes)) and has_secret = 0 order by id"""


def to_blob(vector: Vector) -> bytes:
    """A vector as SQLite stores it: float32, little endian, as sqlite-vec reads it."""
    import numpy as np  # noqa: PLC0415

    return np.asarray(vector, dtype="<f4").tobytes()


def from_blob(blob: bytes) -> Vector:
    """The vector in a blob."""
    import numpy as np  # noqa: PLC0415

    return np.frombuffer(blob, dtype="<f4")


_nothing_waits: WeakKeyDictionary[Database, State] = WeakKeyDictionary()


def _state(database: Database, identity: str) -> State:
    """Changes with every write of this connection or of another one."""
    return *state_of(database), identity


def pending_count(context: Context) -> int:
    """How many memories and chunks wait to be embedded under the current model; all of them where there is no model."""
    database, identity = context.database, context.embedder.status.identity or ""
    state = _state(database, identity)
    # Under another model the answer takes a look at every text; a recall asks for it several times.
    if _nothing_waits.get(database) == state:
        return 0
    count = int(database.value(f"select count(*) from ({_waiting(database, identity)})", (identity,)))
    if not count:
        _nothing_waits[database] = state
    return count


def _waiting(database: Database, identity: str) -> str:
    """The statement that gives the texts that wait under a model."""
    return FEW_WAITING if database.meta("model") == identity else ALL_WAITING


def embed_pending(context: Context, *, limit: int | None = None, progress: Progress = silent) -> int:
    """Embed what waits and return how many texts the model read; texts in the cache cost nothing.

    With a `limit` it stops once the model has read so many. Names of entities come last and are not counted.

    No transaction is open while the model works. Interrupted, it goes on where it was.
    Raises ModelUnavailable where there is no model or it fails.
    """
    from memdb.services.index import entity_vectors  # noqa: PLC0415 (it embeds by this module)

    mirroring.repair(context.database)
    embedded = _embed_waiting(context, limit, progress)
    mirroring.mirror(context.database)
    entity_vectors.embed_waiting(context, limit=None if limit is None else limit - embedded, progress=progress)
    return embedded


def _embed_waiting(context: Context, limit: int | None, progress: Progress) -> int:
    database, embedder = context.database, context.embedder
    identity = embedder.status.identity or ""
    state = _state(database, identity)
    if _nothing_waits.get(database) == state:
        return 0
    # Of what waits, only the ids are held: the texts of a shelf of books would fill the memory.
    nodes = [node for (node,) in database.rows(_waiting(database, identity), (identity,))]
    if not nodes:
        _nothing_waits[database] = state
        return 0
    if not identity:
        raise ModelUnavailable(embedder.status.reason or "There is no embedding model.")
    _prepare(database, identity)
    if context.salvage is not None:
        nodes = _take_over(context, identity, nodes)
    embedded = done = 0
    while done < len(nodes) and (limit is None or embedded < limit):
        # What is in the cache costs nothing and does not count.
        batch = nodes[done : done + (BATCH if limit is None else min(BATCH, limit - embedded))]
        values = {"nodes": json.dumps(batch)}
        embedded += _embed_batch(context, identity, database.rows(CHOSEN, values))
        done += len(batch)
        progress("embedding", done, len(nodes))
    return embedded


def passages_of(context: Context, name: str, description: str, body: str) -> list[tuple[int, int, str]]:
    """The windows of a memory as `(start, stop, exact text to embed)`; windows after the first repeat the name."""
    text = "\n".join(part for part in (name, description, body) if part)
    embedder = context.embedder
    room = embedder.window_tokens
    whole = embedder.token_offsets(text) if len(text) <= room * MAX_CHARACTERS_PER_TOKEN else None
    if whole is None or len(whole) > room:
        # The name is put before each later window.
        room = max(room // 2, room - embedder.count_tokens(name) - 2)

    def offsets_of(part: str) -> Sequence[Span]:
        # Most texts are one window: they are read by the tokenizer once.
        return whole if whole is not None and part == text else embedder.token_offsets(part)

    cuts = windows(text, room, offsets_of)
    return [(start, stop, text[start:stop] if start == 0 else f"{name}\n{text[start:stop]}") for start, stop in cuts]


def _embed_batch(context: Context, identity: str, batch: Sequence[tuple[int, str, str, str, str]]) -> int:
    database = context.database
    cuts: dict[int, list[Window]] = {}
    wanted = {}
    for node, name, description, body, _ in batch:
        plan = [(*window, sha256_text(window[2])) for window in passages_of(context, name, description, body)]
        cuts[node] = [(start, stop, digest) for start, stop, _, digest in plan]
        wanted.update({digest: text for _, _, text, digest in plan})
    missing = embed_texts(context, identity, wanted)
    with database.write():
        # The memory may have changed or gone while the model was at work.
        now = _texts_now(database, [row[0] for row in batch])
        _write_windows(
            database,
            identity,
            [
                (row, cuts[row[0]], windows_sum(identity, row, cuts[row[0]]))
                for row in batch
                if now.get(row[0]) == row[4]
            ],
        )
        database.set_meta("clusters_stale", "1")
    return missing


def _take_over(context: Context, identity: str, nodes: list[int]) -> list[int]:
    """Take over windows from the database that a rebuild replaces; returns the nodes that still wait."""
    from memdb.services.index import window_salvage  # noqa: PLC0415 (of a rebuild alone)

    database, left = context.database, []
    for begin in range(0, len(nodes), PART):
        part = nodes[begin : begin + PART]
        batch = database.rows(CHOSEN, {"nodes": json.dumps(part)})
        assert context.salvage is not None
        found = window_salvage.taken(context.salvage, identity, batch)
        cached = vectors_known(database, identity, {window[2] for cuts, _ in found.values() for window in cuts})
        found = {node: (cuts, said) for node, (cuts, said) in found.items() if all(cut[2] in cached for cut in cuts)}
        with database.write():
            _write_windows(database, identity, [(row, *found[row[0]]) for row in batch if row[0] in found])
            database.set_meta("clusters_stale", "1")
        left += [node for node in part if node not in found]
    return left


def _texts_now(database: Database, nodes: Sequence[int]) -> dict[int, str]:
    """The sha256 of the text that each node has; one that is gone has none."""
    return dict(
        database.rows(
            "select id, text_sha256 from memory where id in (select value from json_each(?1))"
            " union all select id, text_sha256 from chunk where id in (select value from json_each(?1))",
            (json.dumps(nodes),),
        )
    )


def embed_texts(context: Context, identity: str, texts: dict[str, str]) -> int:
    """Put the vectors of texts, by their sha256, into the cache, and return how many were not there yet.

    What was done before a failure stays done. Raises ModelUnavailable.
    """
    known = vectors_known(context.database, identity, texts)
    missing = {digest: text for digest, text in texts.items() if digest not in known}
    done: list[tuple[str, str, bytes]] = []
    try:
        for digest, vector in zip(missing, context.embedder.embed_passages(list(missing.values())), strict=True):
            if len(vector) % BITS_PER_BYTE:
                raise ModelUnavailable(
                    f"{identity} gives {len(vector)} dimensions; the vector index needs a multiple of {BITS_PER_BYTE}.",
                    hint="`memdb model list` names other models.",
                )
            done.append((identity, digest, to_blob(vector)))
            if len(done) == KEEP:
                _keep(context.database, done)
    finally:
        _keep(context.database, done)
    return len(missing)


def _keep(database: Database, done: list[tuple[str, str, bytes]]) -> None:
    if done:
        with database.write() as connection:
            put_vectors(connection, done)
        done.clear()


def vector_of(database: Database, model: str, text_sha256: str) -> bytes | None:
    """The blob of a text's vector in the cache, or None."""
    found: bytes | None = database.value(
        "select vector from embedding_model join embedding using (model_id) where model = ? and text_sha256 = ?",
        (model, text_sha256),
    )
    return found


def put_vectors(connection: apsw.Connection, rows: Sequence[tuple[str, str, bytes]]) -> None:
    """Put vectors, given as (model, sha256 of the text, vector), into the cache, where they are not there yet."""
    connection.executemany(
        "insert or ignore into embedding_model (model) values (?)",
        [(model,) for model in sorted({row[0] for row in rows})],
    )
    connection.executemany(
        "insert or ignore into embedding (model_id, text_sha256, vector)"
        " select model_id, ?2, ?3 from embedding_model where model = ?1",
        rows,
    )


def vectors_known(database: Database, model: str, texts: Iterable[str]) -> set[str]:
    """Those of some sha256 of texts whose vectors are in the cache."""
    return {
        digest
        for (digest,) in database.rows(
            "select text_sha256 from embedding where model_id = (select model_id from embedding_model where model = ?)"
            " and text_sha256 in (select value from json_each(?))",
            (model, json.dumps(sorted(texts))),
        )
    }


Chosen = tuple[int, str, str, str, str]
"""A node that is embedded: a row of CHOSEN."""

Window = tuple[int, int, str]
"""Where a window starts and stops in a node's text, and the sha256 of what is embedded."""


def windows_sum(identity: str, row: Chosen, cuts: Sequence[Window]) -> int:
    """The checksum over what a node's windows are cut from, and the windows."""
    return sum_of("windows", identity, tuple(row[1:]), list(cuts))


def _write_windows(database: Database, identity: str, plans: Sequence[tuple[Chosen, Sequence[Window], int]]) -> None:
    """Write windows of nodes with their checksums, in place of those they had; their vectors are in the cache."""
    import numpy as np  # noqa: PLC0415

    run = database.connection.executemany
    run("delete from passage where node_id = ?", [(row[0],) for row, *_ in plans])
    windows_ = [
        (row[0], ordinal, start, stop, identity, digest)
        for row, cuts, _ in plans
        for ordinal, (start, stop, digest) in enumerate(cuts)
    ]
    if windows_:
        first = int(database.value("select coalesce(max(id), 0) from passage")) + 1
        vectors = dict(
            database.rows(
                "select text_sha256, vector from embedding where text_sha256 in (select value from json_each(?))"
                " and model_id = (select model_id from embedding_model where model = ?)",
                (json.dumps(sorted({window[-1] for window in windows_})), identity),
            )
        )
        blobs = [vectors[window[-1]] for window in windows_]
        bits = np.packbits(
            np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), -1) > 0, axis=1, bitorder="little"
        )
        run(
            "insert into passage (id, node_id, ordinal, start, stop, model, text_sha256) values (?, ?, ?, ?, ?, ?, ?)",
            [(first + place, *window) for place, window in enumerate(windows_)],
        )
        run("insert into signature values (?, ?)", [(first + place, row.tobytes()) for place, row in enumerate(bits)])
        if database.meta("dims") is None:
            database.set_meta("dims", str(len(blobs[0]) // struct.calcsize("f")))
    run(
        "insert or replace into embedded (node_id, model, text_sha256, windows_sum) values (?, ?, ?, ?)",
        [(row[0], identity, row[4], said) for row, _, said in plans],
    )


def _prepare(database: Database, identity: str) -> None:
    """Take note of the model; another one's passages leave the index, its vectors stay in the cache."""
    if database.meta("model") == identity:
        return
    with database.write() as connection:
        if database.vector_reason is None:
            connection.execute("drop table if exists vec_passage")
        else:
            database.set_meta("vec_stale", "1")
        connection.execute("delete from passage where model <> ?", (identity,))
        connection.execute("delete from embedded where model <> ?", (identity,))
        connection.execute("delete from entity_name where model <> ?", (identity,))
        database.set_meta("entity_names_stale", "1")
        database.set_meta("model", identity)
        database.set_meta("dims", None)
        database.set_meta("clusters_stale", "1")


def memory_vectors(database: Database) -> tuple[list[str], list[str], Vector]:
    """Keys, texts and one unit vector each of all embedded memories, by key: the mean of a memory's passages."""
    import numpy as np  # noqa: PLC0415

    rows = database.rows(
        "select node.key, name || char(10) || description || char(10) || body, vector from memory"
        " cross join embedded on embedded.node_id = memory.id join node on node.id = memory.id"
        " join passage on passage.node_id = memory.id"
        " join embedding_model using (model) join embedding using (model_id, text_sha256)"
        " order by node.key, passage.ordinal"
    )
    rows = [(key, text, from_blob(blob)) for key, text, blob in rows]
    keys: list[str] = []
    texts: list[str] = []
    sums: list[NDArray[np.float64]] = []
    for key, text, vector in rows:
        if not keys or keys[-1] != key:
            keys.append(key)
            texts.append(text)
            sums.append(np.zeros(len(vector), dtype=np.float64))
        sums[-1] += vector
    if not keys:
        return [], [], np.zeros((0, 0), dtype=np.float32)
    matrix = np.stack(sums)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return keys, texts, (matrix / np.where(lengths == 0, 1, lengths)).astype(np.float32)
