"""Whether the tables of a store fit together: nothing that hangs on nothing, nothing missing that should follow."""

from __future__ import annotations

import json
from collections.abc import Callable

import apsw

from memdb.base.storage import DAMAGE, UNREADABLE_VALUES, Database
from memdb.base.text import name_key, sha256_text
from memdb.services.health.rebuilding import is_unit

RELAYS = "active and weight > 0 and src <> dst and kind <> 'contradicts'"
"""The edges that a walk may take, as the triggers on `edge` have it."""

LINKED = "memory_id, target_id, case kind when 'wikilink' then 'links_to' else kind end"
"""The edge that a resolved link makes: source, target, kind."""

SEARCHED = "select id from memory union all select id from chunk"
"""What the keyword index holds."""

STATEMENTS: dict[str, tuple[str, ...]] = {
    "keyword rows": (
        f"select node.key from node where id in ({SEARCHED}) and id not in (select rowid from fts)",
        f"select node.key from node where id in ({SEARCHED}) and id not in (select node_id from fts_length)",
        f"select 'text ' || rowid from fts where rowid not in ({SEARCHED})",
        f"select 'text ' || node_id from fts_length where node_id not in ({SEARCHED})",
        "select 'the totals' from fts_total where (texts, words) <> (select count(*), total(words) from fts_length)",
    ),
    "nodes": (
        "select key from node where kind = 'memory' and id not in (select id from memory)",
        "select key from node where kind <> 'memory' and id in (select id from memory)",
        "select key from node where kind = 'tag' and id not in (select dst from edge where kind = 'has_tag')",
        "select key from node where (kind = 'cluster') <> (id in (select id from cluster))",
        "select key from node where (kind = 'document') <> (id in (select id from document))",
        "select key from node where (kind = 'chunk') <> (id in (select id from chunk))",
    ),
    "degrees": (
        "select key from node"
        " where degree <> (select count(distinct other_id) from neighbor where node_id = node.id)",
    ),
    "neighbours": (
        f"select 'edge ' || id from edge where {RELAYS} and 2 <> (select count(*) from neighbor where edge_id = edge.id"
        " and (node_id, other_id) in (values (edge.src, edge.dst), (edge.dst, edge.src))"
        " and neighbor.kind = edge.kind and neighbor.weight = edge.weight)",
        f"select 'edge ' || edge_id from neighbor where edge_id not in (select id from edge where {RELAYS})",
    ),
    "links": (
        "select node.key from node join memory using (id) where id not in (select memory_id from memory_key)",
        "select raw from link where trim(target) <> '' and id not in (select link_id from link_key)",
        f"select 'edge ' || id from edge where kind in ('links_to', 'supersedes') and (src, dst, kind) not in"
        f" (select {LINKED} from link where status = 'resolved')",
        f"select raw from link where status = 'resolved' and ({LINKED}) not in (select src, dst, kind from edge)",
    ),
    "vectors": (
        "select text_sha256 from passage where (model, text_sha256)"
        " not in (select model, text_sha256 from embedding_model join embedding using (model_id))",
        "select node.key from embedded join memory on memory.id = node_id join node on node.id = node_id"
        " where trim(name || description || body) <> '' and node_id not in (select node_id from passage)",
        "select node.key from passage join node on node.id = node_id"
        " where node_id not in (select node_id from embedded)",
        "select node.key from embedded join node on node.id = node_id left join memory using (id)"
        " left join chunk using (id) where embedded.text_sha256 <> coalesce(memory.text_sha256, chunk.text_sha256)",
        "select key from node where kind in ('memory', 'chunk') and id not in (select node_id from embed_waiting)"
        " and id not in (select node_id from embedded where model = (select value from meta where key = 'model'))",
        "select text_sha256 from embedding join embedding_model using (model_id)"
        " join meta as model on model.key = 'model' and model.value = embedding_model.model"
        " join meta as dims on dims.key = 'dims' where length(vector) <> 4 * dims.value",
    ),
    "vector index": (
        "select node.key from passage join node on node.id = node_id"
        " where passage.id not in (select passage_id from signature)"
        " and not exists (select 1 from meta where key = 'vec_stale')",
        "select 'passage ' || passage_id from signature where passage_id not in (select id from passage)",
    ),
}  # fmt: skip
"""For each check, statements whose rows are what is wrong; the first column names it."""


def check(database: Database) -> dict[str, str | None]:
    """What is wrong with each group of tables, in words, or None. Reads every row."""
    checks: dict[str, Callable[[], str | None]] = {
        "pages": lambda: database.check(whole=True),
        "foreign keys": lambda: _first(database, "select \"table\" || ' ' || rowid from pragma_foreign_key_check"),
        "keyword index": lambda: _keyword_index(database),
    }
    for name, statements in STATEMENTS.items():
        checks[name] = lambda statements=statements: _any(database, statements)  # type: ignore[misc]
    checks["tags"] = lambda: _tags(database)
    checks["texts"] = lambda: _texts(database)
    checks["unit vectors"] = lambda: _unit_vectors(database)
    found: dict[str, str | None] = {}
    for name, look in checks.items():
        try:
            found[name] = look()
        except (*DAMAGE, *UNREADABLE_VALUES, apsw.SQLError) as error:
            found[name] = str(error)
    return found


def _any(database: Database, statements: tuple[str, ...]) -> str | None:
    return next((wrong for statement in statements if (wrong := _first(database, statement))), None)


def _first(database: Database, statement: str) -> str | None:
    row = database.connection.execute(statement).fetchone()
    return f"first of them: {row[0]}" if row else None


def _keyword_index(database: Database) -> str | None:
    # FTS5 takes its integrity check as an insert, though it writes nothing.
    if not database.read_only:
        database.connection.execute("insert into fts (fts, rank) values ('integrity-check', 1)")
    return None


def _tags(database: Database) -> str | None:
    edges: dict[int, set[str]] = {}
    tagged = "select src, key from edge join node on node.id = dst where edge.kind = 'has_tag'"
    for memory, key in database.rows(tagged):
        edges.setdefault(memory, set()).add(key)
    for memory, key, tags in database.rows("select id, key, tags from memory join node using (id)"):
        if edges.get(memory, set()) != {f"tag:{label}" for tag in json.loads(tags) if (label := name_key(tag))}:
            return f"first of them: {key}"
    return None


def _texts(database: Database) -> str | None:
    """Whether the texts that are searched are those whose hashes stand beside them."""
    memories = "select node.key, text_sha256, name, description, body from memory join node using (id)"
    for key, digest, *parts in database.connection.execute(memories):
        if digest != sha256_text("\n".join(part for part in (*parts[:2], parts[2].strip()) if part)):
            return f"first of them: {key}"
    chunks = "select node.key, text_sha256, prefix, text from chunk join node using (id)"
    for key, digest, prefix, text in database.connection.execute(chunks):
        if digest != sha256_text("\n".join(part for part in (prefix, text.strip()) if part)):
            return f"first of them: {key}"
    return None


def _unit_vectors(database: Database) -> str | None:
    rows = database.connection.execute("select text_sha256, vector from embedding")
    return next((f"first of them: {digest}" for digest, vector in rows if not is_unit(vector)), None)
