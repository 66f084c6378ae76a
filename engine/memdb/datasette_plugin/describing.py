"""What Datasette says of a store's tables and views: taken from the SQL files, which explain each column."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import Any

from memdb.base import resources

TITLE = "memdb: the memory of an agent"


def description(base: str) -> str:
    """What a store is and where to begin, as HTML with links below the address of its page."""
    memories, entities, documents, recall, explorer = (
        f'<a href="{escape(base)}/{name}">{name}</a>'
        for name in ("memories", "entities", "documents", "recall", "explorer")
    )
    return (
        "<p>Memories, documents and what they mention, in one SQLite file that follows from the files beside it. Begin"
        f" with the views {memories}, {entities}, {documents}, the query {recall}, or with the graph: {explorer}.</p>"
    )


SHOWN = {
    "memory": ("One row per memory file; the view memories reads easier.", "name", "type"),
    "document": ("Mirrored documents; the view documents reads easier.", "title", "title"),
    "chunk": ("Passages of documents, with search.", "id", "id"),
    "entity": ("Named things; the view entities has their usage.", "name", "name"),
    "node": ("Whatever the graph connects, by kind.", "key", "key"),
    "edge": ("What connects two nodes; the view graph_edges has their names.", "id", "id"),
    "link": ("Links as they are written in memories.", "raw", "id"),
    "memory_version": ("Earlier texts of memories.", "memory_key", "id"),
    "vocabulary": ("Types and predicates.", "name", "ordinal"),
    "run": ("Background work and its cost.", "id", "id"),
}
"""The tables that people look at: what each holds, its label column, and the column it is sorted by."""

FACETS = {
    "memories": ["type", "superseded"],
    "memory": ["type"],
    "documents": ["format", "state"],
    "entities": ["type", "origin"],
    "entity": ["type", "origin"],
    "graph_nodes": ["kind"],
    "graph_edges": ["kind", "predicate"],
    "node": ["kind"],
    "edge": ["kind"],
    "links": ["status", "kind"],
    "link": ["status", "kind"],
    "mentions": ["origin", "type"],
    "relations": ["predicate"],
    "problems": ["code"],
    "runs": ["state", "model"],
    "run": ["state", "model"],
    "vocabulary": ["kind", "state"],
    "vocabulary_usage": ["kind", "state"],
}

SORTED = {
    "memories": {"sort": "id"},
    "entities": {"sort_desc": "mentions"},
    "documents": {"sort": "id"},
    "hubs": {"sort_desc": "neighbours"},
    "tags": {"sort_desc": "memories"},
    "document_entities": {"sort_desc": "chunks"},
    "runs": {"sort_desc": "id"},
    "graph_nodes": {"sort_desc": "neighbours"},
    "vocabulary_usage": {"sort_desc": "uses"},
}

UNITS = {"documents": {"chunks": "passages"}, "extractions": {"input_tokens": "tokens", "output_tokens": "tokens"}}
"""Words that Datasette puts behind numbers."""

UNIT_DEFINITIONS = ["passages = [passage]", "tokens = [token]"]
"""The same words for the library that Datasette takes units from, which knows those of physics."""

SEARCHED = ("memory", "chunk")
"""Tables whose rows have the ids of the full-text index."""


@cache
def database() -> dict[str, Any]:
    """Datasette's metadata of a store."""
    tables: dict[str, dict[str, Any]] = {name: {"hidden": True} for name in _table_names() if name not in SHOWN}
    for name, (description, label, order) in SHOWN.items():
        tables[name] = {"description": description, "label_column": label, "sort": order}
    for name, statement in resources.views():
        tables[name] = {"description": resources.question(statement), "columns": resources.column_notes(statement)}
    for name in SEARCHED:
        tables[name] |= {"fts_table": "fts", "fts_pk": "id", "searchmode": "escaped"}
    for name, columns in FACETS.items():
        tables[name]["facets"] = columns
    for name, sorting in SORTED.items():
        tables[name] |= sorting
    for name, units in UNITS.items():
        tables[name]["units"] = units
    return {"title": TITLE, "tables": tables}


def _table_names() -> list[str]:
    """The tables that the migrations make."""
    import re  # noqa: PLC0415

    text = "\n".join(statements for _, statements in resources.migrations())
    return sorted(
        set(re.findall(r"^create (?:virtual )?table (\w+)", text, re.MULTILINE))
        | {"migration", "sqlite_sequence", "vec_passage"}
    )


RECALL = """select hit.value ->> 'id' as id,
       hit.value ->> 'kind' as kind,
       round(hit.value ->> 'score', 3) as score,
       hit.value ->> 'name' as name,
       hit.value ->> 'description' as description,
       (select group_concat(hop.value ->> 'node', ' → ') from json_each(hit.value ->> 'path') as hop) as path
from json_each(memdb_recall(:query)) as hit"""

SEARCH = """select node.key as id, node.kind, round(-bm25(fts, 4, 2, 2, 1, 1), 2) as score,
       coalesce(memory.description, substr(chunk.text, 1, 200)) as description
from fts
join node on node.id = fts.rowid
left join memory on memory.id = node.id
left join chunk on chunk.id = node.id
where fts match memdb_match(:query)
order by bm25(fts, 4, 2, 2, 1, 1), node.key
limit 20"""


def queries() -> dict[str, dict[str, Any]]:
    """The queries that stand beside the tables: recall, search, the recipes, by name."""
    found: dict[str, dict[str, Any]] = {
        "recall": {"sql": RECALL, "title": "Which texts belong in the next prompt?"},
        "search": {"sql": SEARCH, "title": "Which texts have these words?"},
    }
    for name, statement in resources.recipes():
        asked, _, sql = statement.partition("\n")
        found[name] = {"sql": sql.strip().removesuffix(";"), "title": asked.removeprefix("-- ")}
    return found
