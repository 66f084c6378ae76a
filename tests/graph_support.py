"""Graphs made by SQL, for tests of the walk alone."""

from __future__ import annotations

from collections.abc import Iterable

from memdb.base.storage import Database
from memdb.domain.memories import EDGE_WEIGHTS

Edge = tuple[str, str, str] | tuple[str, str, str, float]


def add_nodes(database: Database, keys: Iterable[str]) -> None:
    """Insert nodes: `tag:…` and `cluster:…` relay, every other key is a memory without text."""
    run = database.connection.execute
    for key in keys:
        kind = key.partition(":")[0] if ":" in key else "memory"
        run("insert into node (kind, key, label) values (?, ?, ?)", (kind, key, key))
        if kind != "memory":
            continue
        node = database.connection.last_insert_rowid()
        run(
            "insert into source (path, kind, size, mtime_ns, ctime_ns, sha256, state)"
            " values (?, 'memory', 0, 0, 0, '', 'seen')",
            (f"{key}.md",),
        )
        run(
            "insert into memory (id, source_id, base_key, type, name, description, head, body, body_line, frontmatter,"
            " tags, aliases, graph_sha256, text_sha256, has_secret)"
            " values (?, ?, ?, ?, ?, '', '', '', 1, '{}', '[]', '[]', '', '', 0)",
            (node, database.connection.last_insert_rowid(), key, key.partition("/")[0], key.rpartition("/")[2]),
        )


def add_edges(database: Database, edges: Iterable[Edge]) -> None:
    """Insert edges `(source, kind, target)` with the weight of their kind, or with a fourth value as their weight."""
    for source, kind, target, *weight in edges:
        database.connection.execute(
            "insert into edge (src, dst, kind, weight) values"
            " ((select id from node where key = ?), (select id from node where key = ?), ?, ?)",
            (source, target, kind, weight[0] if weight else EDGE_WEIGHTS[kind]),
        )


def add_graph(database: Database, edges: Iterable[Edge], more: Iterable[str] = ()) -> None:
    """Insert edges and every node that they name."""
    edges = list(edges)
    add_nodes(database, dict.fromkeys([*more, *(edge[0] for edge in edges), *(edge[2] for edge in edges)]))
    add_edges(database, edges)
