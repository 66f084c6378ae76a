"""Keep the clusters up to the vectors: computed again only when a vector came, went or changed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from memdb.base import files
from memdb.base.text import sha256_text
from memdb.domain import history
from memdb.domain.memories import EDGE_WEIGHTS
from memdb.services.context import Context
from memdb.services.index import vectors

if TYPE_CHECKING:
    from memdb.domain.clusters import Cluster


def refresh(context: Context, *, at_most: int | None = None, wait: float = files.LOCK_SECONDS) -> bool:
    """Cluster the memories again where their vectors changed; True when it did.

    With `at_most`, a store of more texts than that is left for a later sync; `wait` is in seconds, for another
    writer.
    """
    database = context.database
    if database.meta("clusters_stale") is None:
        return False
    # Half of the vectors would give half of the clusters, and take their identity from the rest.
    if context.embedder.status.identity is None or vectors.pending_count(context):
        return False
    if at_most is not None and database.value("select texts from fts_total") > at_most:
        return False
    # numpy is loaded where vectors are at work, and never to list or show.
    from memdb.domain import clusters  # noqa: PLC0415

    with files.writer(context.place, wait):
        keys, texts, matrix = vectors.memory_vectors(database)
        anchors: dict[str, list[str]] = json.loads(database.meta("cluster_anchors") or "{}")
        mark = _mark(keys, matrix, anchors)
        found: list[Cluster] = []
        if database.meta("clusters") != mark:
            found = clusters.build(keys, matrix, texts, anchors)
        with database.write():
            if database.meta("clusters") != mark:
                _journal(context, found, anchors)
                _write(context, found)
                after = json.loads(database.meta("cluster_anchors") or "{}")
                mark = _mark(keys, matrix, after)
            database.set_meta("clusters", mark)
            database.set_meta("clusters_stale", None)
    return True


def _mark(keys: list[str], matrix: vectors.Vector, anchors: dict[str, list[str]]) -> str:
    """Changes when the clusters could."""
    from memdb.domain import clusters  # noqa: PLC0415

    return sha256_text(clusters.fingerprint(keys, matrix) + json.dumps(anchors, sort_keys=True))


def _journal(context: Context, found: list[Cluster], before: dict[str, list[str]]) -> None:
    """Record the anchors that changed: a rebuild finds the same clusters by them and gives them the same keys."""
    now = {cluster.key: list(cluster.anchors) for cluster in found}
    changed = {key: value for key, value in now.items() if before.get(key) != value}
    gone = before.keys() - now.keys()
    if changed or gone:
        context.append(history.clusters_record(changed, gone))


def _write(context: Context, found: list[Cluster]) -> None:
    database = context.database
    run = database.connection.execute
    ids = {key: node for node, key in database.rows("select id, key from node where kind = 'memory'")}
    old = {key: node for node, key in database.rows("select id, key from node where kind = 'cluster'")}
    for cluster in found:
        key = f"cluster:{cluster.key}"
        node = old.pop(key, None)
        if node is None:
            run("insert into node (kind, key, label) values ('cluster', ?, ?)", (key, cluster.label))
            node = database.connection.last_insert_rowid()
        else:
            run("update node set label = ? where id = ?", (cluster.label, node))
        run("insert or replace into cluster values (?, ?)", (node, json.dumps(cluster.anchors, ensure_ascii=False)))
        before = {
            src for (src,) in database.rows("select src from edge where dst = ? and kind = 'in_cluster'", (node,))
        }
        after = {ids[member] for member in cluster.members}
        for src in sorted(before - after):
            run("delete from edge where src = ? and dst = ? and kind = 'in_cluster'", (src, node))
        for src in sorted(after - before):
            run(
                "insert into edge (src, dst, kind, weight) values (?, ?, 'in_cluster', ?)",
                (src, node, EDGE_WEIGHTS["in_cluster"]),
            )
    for node in old.values():
        run("delete from node where id = ?", (node,))
