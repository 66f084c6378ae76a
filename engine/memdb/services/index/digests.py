"""One sha256 over what a store says, whatever ids, order or machine it was built with."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from memdb.base.storage import Database

LENT = (
    "select id from document where state = 'missing'"
    " union all select chunk.id from chunk join document on document.id = document_id where state = 'missing'"
)
"""Documents whose files are all gone, with their chunks: kept, but no rebuild could bring them back, so not counted."""

REPLACED = """(reason = 'deleted' or exists (
    select 1 from memory_version as later
    where later.memory_key = memory_version.memory_key and later.id > memory_version.id
) or not exists (
    select 1 from node join memory using (id) join source on source.id = source_id
    where node.key = memory_key and node.kind = 'memory' and source.sha256 = memory_version.sha256
))"""
"""What tells an earlier text from one that is still the memory's: it is journaled before another one takes its place,
and a process may be killed in between."""

CONTENT = {
    "memory": "select node.key, label, base_key, type, name, title, description, head, body, body_line, frontmatter,"
    " tags, aliases, created, modified, happened_at, valid_from, valid_to, graph_sha256, text_sha256, has_secret,"
    " indexed_at, source.path, source.size, source.sha256, source.state from memory join node on node.id = memory.id"
    " join source on source.id = source_id",
    "source": "select path, kind, size, sha256, state from source",
    "problem": "select path, line, code, reason from problem",
    "node": f"select kind, key, label from node where kind <> 'cluster' and id not in ({LENT})",
    "addition": "select path, excluded from addition",
    "snapshot": "select path, link, sha256, suffix, content_type, fetched_at from snapshot",
    "place": "select path, case place.state when 'seen' then node.key end, size, sha256, place.state from place"
    " left join node on node.id = document_id"
    " where place.state <> 'missing'",
    "document": "select node.key, sha256, suffix, format, title, created, extractor, cutter, notes, state from document"
    " join node using (id) where state <> 'missing'",
    "chunk": "select node.key, ordinal, heading_path, prefix, text, page, start_line, end_line, record_id, title,"
    " created,"
    f" identity, text_sha256, has_secret, indexed_at from chunk join node using (id) where id not in ({LENT})",
    "speaker": f"select node.key, name from speaker join node on node.id = chunk_id where chunk_id not in ({LENT})",
    "memory_key": "select memory_key.key, node.key from memory_key join node on node.id = memory_id",
    "memory_version": f"select memory_key, at, sha256, reason, text, withheld from memory_version where {REPLACED}",
    "memory_birth": "select memory_key, at from memory_birth",
    "memory_sign": "select node.key, sign from memory_sign join node on node.id = memory_id",
    "version_fts": "select memory_key, at, name, description, tags, body, parts, words from version_fts"
    " join memory_version on memory_version.id = version_fts.rowid"
    f" join version_length on version_id = memory_version.id where {REPLACED}",
    "judgement": "select text_sha256, other_sha256, prompt_sha256, model, at, verdict, quote, other_quote,"
    " input_tokens, output_tokens, cost from judgement",
    "vocabulary": "select kind, name_key, name, description, origin, state, single_letters, single_valued, ordinal"
    " from vocabulary",
    "dismissal": "select kind, name_key, name, at from dismissal",
    "extraction": "select text_sha256, prompt_sha256, model, at, output, refused, input_tokens, output_tokens, cost"
    " from extraction",
    "extracted": "select node.key, input_sha256, skip from extracted join node on node.id = node_id"
    f" where node_id not in ({LENT})",
    "known_name": "select match_key, name_key, entity_key, source, node.key, name from known_name"
    " left join node on node.id = node_id",
    "mention": "select node.key, name_key, origin, source, name, type, at, ordinal, refused, about from mention"
    " join node on node.id = node_id",
    "spelling": "select name_key, origin, source, name, type, refused, uses from spelling",
    "statement": "select node.key, subject_key, predicate, object_key, origin, confidence, at, refused from statement"
    " join node on node.id = node_id",
    "proposal_evidence": "select node.key, proposal_evidence.kind, name_key, name, description, at"
    " from proposal_evidence join node on node.id = node_id",
    "entity": "select name_key, name, type, origin from entity",
    "entity_alias": "select name_key, entity_key, name, made_by from entity_alias",
    "entity_decision": "select anchor, entity_key, part_of, name, type, deleted from entity_decision",
    "entity_distinct": "select one, other from entity_distinct",
    "sentence": "select node.key, form, value, mark from sentence join node on node.id = node_id",
    "clash": "select form, node.key, value, quote from clash join node on node.id = node_id",
    "conflict": "select conflict.key, conflict.kind, origin, subject.key, predicate, object.key, value, text.key,"
    " confidence, quote from conflict join conflict_side on conflict_key = conflict.key"
    " left join node as subject on subject.id = subject_id left join node as object on object.id = object_id"
    " join node as text on text.id = node_id",
    "resolution": "select ref, conflict, kind, choice, subject, predicate from resolution",
    "resolution_pair": "select ref, kept, other, effect, counts from resolution_pair",
    "tombstone": "select key_sha256, at from tombstone",
    "link": "select node.key, link.kind, raw, target, heading, block, link.label, embed, line, status, goal.key, how,"
    " candidates from link join node on node.id = memory_id left join node as goal on goal.id = target_id",
    "edge": "select a.key, b.key, edge.kind, predicate, weight, active from edge join node as a on a.id = src"
    " join node as b on b.id = dst where edge.kind <> 'in_cluster'"
    f" and src not in ({LENT})",
    "neighbor": "select a.key, b.key, neighbor.kind, weight from neighbor join node as a on a.id = node_id"
    " join node as b on b.id = other_id where neighbor.kind <> 'in_cluster'"
    f" and node_id not in ({LENT})",
    "fts": "select node.key, fts.name, fts.description, fts.tags, fts.body, fts.parts, words from fts"
    f" join node on node.id = fts.rowid join fts_length on node_id = fts.rowid where fts.rowid not in ({LENT})",
}
"""What follows from the files and the journal alone: every row but surrogate ids and stamps of time."""

VECTORS = {
    "passage": "select node.key, ordinal, start, stop, model, text_sha256 from passage join node on node.id = node_id"
    f" where node_id not in ({LENT})",
    "embedded": "select node.key, model, text_sha256 from embedded join node on node.id = node_id"
    f" where node_id not in ({LENT})",
    "entity_name": "select node.key, model, text_sha256 from entity_name join node on node.id = entity_id",
    "cluster": "select node.key, label, anchors from cluster join node on node.id = cluster.id",
    "in_cluster": "select a.key, b.key, weight, active from edge join node as a on a.id = src"
    " join node as b on b.id = dst where edge.kind = 'in_cluster'",
}
"""What follows from those and a model: which windows were embedded, and the clusters."""


DECISIONS = {
    "decision": "select ref, id, at, writer, by, kind, action, subject, detail, why, seen, state, reason, contradicts"
    " from decision",
}
"""What was decided, what was taken back and what does not apply too: an operation and its undo leave the content."""


@dataclass(frozen=True, slots=True)
class Digest:
    """`digest` covers the content, `vectors` windows and clusters, `decisions` the log of what people decided.

    `tables` has one digest for each table.
    """

    digest: str
    vectors: str
    tables: dict[str, str]
    decisions: str


def digest(database: Database) -> Digest:
    """The digests of a store as it stands."""
    with database.read():
        tables = {name: _of(database, statement) for name, statement in (CONTENT | VECTORS | DECISIONS).items()}
    content, vectors, decisions = (
        _all({name: tables[name] for name in group}) for group in (CONTENT, VECTORS, DECISIONS)
    )
    return Digest(content, vectors, tables, decisions)


def _of(database: Database, statement: str) -> str:
    # Rows are hashed one by one and the hashes sorted: no order of SQLite's, no collation, no machine matters.
    rows = sorted(
        hashlib.sha256(json.dumps(row, ensure_ascii=True, separators=(",", ":")).encode()).digest()
        for row in database.connection.execute(statement)
    )
    return hashlib.sha256(b"".join(rows)).hexdigest()


def _all(tables: dict[str, str]) -> str:
    return hashlib.sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest()
