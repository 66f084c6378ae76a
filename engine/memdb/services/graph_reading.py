"""The graph for people to look at: its most connected part, or what lies around one node.

Documents stand for their chunks where it is rolled up: an edge of a document then counts the chunks that have it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from memdb.base.storage import Database
from memdb.base.text import expose_hidden
from memdb.errors import NotFound, UsageError
from memdb.services.context import Context

KINDS = ("memory", "document", "chunk", "entity", "tag", "cluster")

LIMIT = 1_000
"""Nodes that are shown by default: as many as a person can tell apart."""

MOST_NODES = 20_000

MOST_EDGES = 40_000
"""The heaviest edges, of which a picture of the most nodes has at most so many: about 4 MB."""

MOST_HOPS = 3

HUB = 1_000
"""A node with more neighbours than that is not walked through: what lies behind it is near to everything."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node as it is drawn; `type` is of a memory or an entity, or the format of a document.

    `degree` is what nodes are ranked by: neighbours, of a document those of all its chunks. `chunks` is of a document.
    """

    id: str
    kind: str
    label: str
    type: str | None
    degree: int
    chunks: int | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge as it is drawn; `chunks` says how many chunks an edge of a document stands for, then also its weight."""

    source: str
    target: str
    kind: str
    predicate: str
    weight: float
    chunks: int | None = None


@dataclass(slots=True)
class Totals:
    """What there is beyond what is shown: nodes by kind and by type, and how many nodes and edges fit the filters."""

    nodes: int = 0
    edges: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    types: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass(slots=True)
class Graph:
    """A part of the graph: the heaviest nodes first, the heaviest edges first, only edges between these nodes."""

    nodes: list[Node]
    edges: list[Edge]
    total: Totals
    truncated: bool
    rollup: bool
    around: str | None = None


def graph(
    context: Context,
    *,
    kinds: Sequence[str] = (),
    types: Sequence[str] = (),
    q: str | None = None,
    limit: int = LIMIT,
    rollup: bool = True,
    around: str | None = None,
    hops: int = 1,
) -> Graph:
    """The most connected nodes of some kinds and types whose name or id has `q`, or the nearest to one, with edges.

    A type is of a memory, an entity or a document; nodes of kinds that have none are left as they are. With `around`
    hubs are not walked through. Raises UsageError, NotFound.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"There is no kind of node {kind!r}.", hint=f"Kinds are {', '.join(KINDS)}.")
    if not 1 <= limit <= MOST_NODES:
        raise UsageError(f"The limit is {limit}.", hint=f"Give 1 to {MOST_NODES}.")
    if not 0 <= hops <= MOST_HOPS:
        raise UsageError(f"{hops} hops are too many.", hint=f"Give 0 to {MOST_HOPS}.")
    database = context.database
    with database.read():
        given = {
            "kinds": json.dumps(sorted(set(kinds))) if kinds else None,
            "types": json.dumps(sorted(set(types)), ensure_ascii=False) if types else None,
            "part": q.casefold() if q else None,
            "rollup": rollup,
            "limit": limit,
        }
        if around is None:
            rows = database.rows(PICKED, given | {"picked": None})
            matched = rows[0][-1] if rows else 0
        else:
            picked, more = _around(database, number_of(database, around), hops, limit, rollup)
            rows = database.rows(PICKED, given | {"picked": json.dumps(picked)})
            matched = (rows[0][-1] if rows else 0) + more
        nodes = {row[0]: _node(row) for row in rows}
        edges, counted = _edges(database, nodes, rollup)
        total = Totals(matched, counted, *_counts(database))
    return Graph(list(nodes.values()), edges, total, len(nodes) < matched or len(edges) < counted, rollup, around)


PICKED = """with documented as materialized (
    select chunk.document_id as id, sum(node.degree) as degree, count(*) as chunks
    from chunk join node on node.id = chunk.id
    where :picked is null or chunk.document_id in (select value from json_each(:picked))
    group by chunk.document_id
),
fitting as (
    select node.id, node.key, node.kind, node.label, coalesce(memory.type, entity.type, document.format) as type,
           node.degree + iif(:rollup, coalesce(documented.degree, 0), 0) as degree, documented.chunks
    from node
    left join memory on memory.id = node.id
    left join entity on entity.id = node.id
    left join document on document.id = node.id
    left join documented on documented.id = node.id
    where (:picked is null or node.id in (select value from json_each(:picked)))
      and (not :rollup or node.kind <> 'chunk')
      and (:kinds is null or node.kind in (select value from json_each(:kinds)))
      and (:types is null or node.kind in ('chunk', 'tag', 'cluster')
           or coalesce(memory.type, entity.type, document.format) in (select value from json_each(:types)))
      and (:part is null or instr(lower(node.label), :part) or instr(lower(node.key), :part))
)
select id, key, kind, label, type, degree, chunks, count(*) over () from fitting
order by degree desc, key limit :limit"""


def _node(row: Sequence[Any]) -> Node:
    _, key, kind, label, type_, degree, chunks, *_ = row
    return Node(key, kind, expose_hidden(label or _place_of(key)), type_, degree, chunks)


def _place_of(key: str) -> str:
    """What to call a passage without a heading: its document's file and its number, `access.log#12`."""
    document, mark, passage = key.rpartition("#")
    return f"{document.rpartition('/')[2]}{mark}{passage}"


def number_of(database: Database, key: str) -> int:
    """The number of a node by its id, or by that number itself. Raises NotFound."""
    found = database.value("select id from node where key = ?", (key,))
    if found is None and key.isascii() and key.isdigit() and len(key) < 19:
        found = database.value("select id from node where id = ?", (int(key),))
    if found is None:
        raise NotFound(f"There is no node {expose_hidden(key)!r}.", hint="It may be gone: look it up by a search.")
    return int(found)


def _around(database: Database, start: int, hops: int, limit: int, rollup: bool) -> tuple[list[int], int]:
    """The nodes nearest to one, itself first, at most `limit`; and how many more were met."""
    if rollup:
        start = database.value("select document_id from chunk where id = ?", (start,)) or start
    seen, frontier, more = [start], [start], 0
    for _ in range(hops):
        values = {"frontier": json.dumps(frontier), "seen": json.dumps(seen), "rollup": rollup}
        found = database.rows(NEXT, values)
        room = limit - len(seen)
        more += max(0, len(found) - room)
        seen += [number for number, _ in found[:room]]
        frontier = [number for number, degree in found[:room] if degree <= HUB]
        if not frontier or room <= len(found):
            break
    return seen, more


NEXT = """with frontier as materialized (
    select value as id from json_each(:frontier)
    union
    select chunk.id from chunk where :rollup and document_id in (select value from json_each(:frontier))
),
met (id, weight) as (
    select edge.dst, edge.weight from frontier cross join edge on edge.src = frontier.id where edge.active
    union all
    select edge.src, edge.weight from frontier cross join edge on edge.dst = frontier.id where edge.active
    union all
    select chunk.document_id, 1.0 from frontier cross join chunk on chunk.id = frontier.id where not :rollup
    union all
    select chunk.id, 1.0 from frontier cross join chunk on chunk.document_id = frontier.id where not :rollup
),
shown as (
    select iif(:rollup, coalesce(chunk.document_id, met.id), met.id) as id, max(weight) as weight, count(*) as edges
    from met left join chunk on chunk.id = met.id group by 1
)
select node.id, node.degree from shown join node using (id)
where node.id not in (select value from json_each(:seen))
order by shown.weight desc, shown.edges desc, node.degree desc, node.key"""


def _edges(database: Database, nodes: dict[int, Node], rollup: bool) -> tuple[list[Edge], int]:
    """The heaviest edges between nodes, and how many there are."""
    values = {"picked": json.dumps(sorted(nodes)), "rollup": rollup, "most": MOST_EDGES}
    rows = database.rows(EDGES, values)
    edges = [
        Edge(nodes[source].id, nodes[target].id, kind, predicate, weight, chunks)
        for source, target, kind, predicate, weight, chunks, _ in rows
    ]
    edges.sort(key=lambda edge: (-edge.weight, edge.source, edge.target, edge.kind, edge.predicate))
    return edges, rows[0][-1] if rows else 0


EDGES = """with picked as materialized (select value as id from json_each(:picked)),
drawn as (
    select src, dst, kind, predicate, weight, null as chunks from picked
    cross join edge on edge.src = picked.id
    where active and +dst in (select id from picked)
    union all
    select chunk.document_id, other_id, neighbor.kind, '', count(*), count(*) from picked
    cross join chunk on chunk.document_id = picked.id
    cross join neighbor on neighbor.node_id = chunk.id
    where :rollup and +other_id in (select id from picked)
    group by chunk.document_id, other_id, neighbor.kind
    union all
    select chunk.id, chunk.document_id, 'part_of', '', 1.0, null from picked
    cross join chunk on chunk.id = picked.id
    where not :rollup and +chunk.document_id in (select id from picked)
)
select drawn.src, drawn.dst, drawn.kind, predicate, weight, chunks, count(*) over ()
from drawn join node as a on a.id = drawn.src join node as b on b.id = drawn.dst
order by weight desc, a.key, b.key, drawn.kind, predicate limit :most"""
# The plus keeps a test of membership from being a loop over all that was picked, which is what an index is used for.


def _counts(database: Database) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    kinds = dict(database.rows("select kind, count(*) from node group by kind order by kind"))
    types: dict[str, dict[str, int]] = {}
    for kind, type_, count in database.rows(TYPES):
        types.setdefault(kind, {})[type_] = count
    return kinds, types


TYPES = """select 'memory', type, count(*) from memory group by type
union all select 'entity', type, count(*) from entity where type is not null group by type
union all select 'document', format, count(*) from document group by format
order by 1, 3 desc, 2"""


# One node

MOST_OF_A_KIND = 50
"""Edges of one kind and direction that a node's detail has: the heaviest; it says how many there are."""


@dataclass(frozen=True, slots=True)
class EdgeShown:
    """An edge of a node and what is at its other end."""

    predicate: str
    weight: float
    node: Node


@dataclass(frozen=True, slots=True)
class EdgesShown:
    """The edges of one kind in one direction: `out` leads away from the node, `in` to it. `edges` has the heaviest."""

    kind: str
    direction: str
    count: int
    edges: tuple[EdgeShown, ...]


@dataclass(frozen=True, slots=True)
class Around:
    """A node, its number in this file, and its edges by kind."""

    node: Node
    number: int
    edges: tuple[EdgesShown, ...]


def node(context: Context, written: str) -> Around:
    """A node by its id with its edges; what it costs depends on how many it has, not on the size of the graph."""
    database = context.database
    with database.read():
        number = number_of(database, written)
        [shown] = _nodes(database, [number])
        groups: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
        for row in database.rows(EDGES_OF, {"node": number, "most": MOST_OF_A_KIND}):
            groups.setdefault((row[0], row[1]), []).append(row)
        others = {row[4] for rows in groups.values() for row in rows}
        at = dict(zip(sorted(others), _nodes(database, sorted(others)), strict=True))
    return Around(
        shown,
        number,
        tuple(
            EdgesShown(kind, direction, rows[0][5], tuple(EdgeShown(row[2], row[3], at[row[4]]) for row in rows))
            for (kind, direction), rows in groups.items()
        ),
    )


def named(context: Context, written: str) -> Node:
    """A node by its id, without its edges. Raises NotFound."""
    [shown] = _nodes(context.database, [number_of(context.database, written)])
    return shown


EDGES_OF = """select kind, direction, predicate, weight, other, total from (
    select found.kind, direction, predicate, weight, other, node.key,
           count(*) over (partition by found.kind, direction) as total,
           row_number() over (partition by found.kind, direction order by weight desc, node.key, predicate) as place
    from (
        select kind, 'out' as direction, predicate, weight, dst as other from edge where src = :node and active
        union all
        select kind, 'in', predicate, weight, src from edge where dst = :node and active
    ) as found join node on node.id = other
)
where place <= :most
order by kind, direction desc, place"""


def _nodes(database: Database, numbers: Collection[int]) -> Iterable[Node]:
    """Some nodes, by their numbers in order."""
    return [_node(row) for row in database.rows(NODES, (json.dumps(list(numbers)),))]


NODES = """select node.id, node.key, node.kind, node.label, coalesce(memory.type, entity.type, document.format),
       node.degree, iif(node.kind = 'document', (select count(*) from chunk where document_id = node.id), null)
from json_each(?) as wanted
cross join node on node.id = wanted.value
left join memory on memory.id = node.id
left join entity on entity.id = node.id
left join document on document.id = node.id
order by node.id"""


@dataclass(frozen=True, slots=True)
class DocumentShown:
    """A document: where it lies, what a reader should know, what it mentions most as `(id, name, chunks)`."""

    id: str
    title: str
    format: str
    state: str
    chunks: int
    places: tuple[str, ...]
    notes: tuple[str, ...]
    link: str | None
    entities: tuple[tuple[str, str, int], ...]


@dataclass(frozen=True, slots=True)
class DocumentHead:
    """A document's title, its format, its state (seen, missing), and the first of the paths where it lies."""

    title: str
    format: str
    state: str
    place: str | None


def document(context: Context, key: str) -> DocumentShown:
    """One document by its exact id. Raises NotFound."""
    database = context.database
    rows = database.rows(DOCUMENT, (key,))
    if not rows:
        raise NotFound(f"There is no document {expose_hidden(key)!r}.", hint="`memdb documents` lists them.")
    number, title, kind, state, chunks, places, notes, link = rows[0]
    mentioned = database.rows(DOCUMENT_ENTITIES, (number, MOST_OF_A_KIND))
    return DocumentShown(
        key, title, kind, state, chunks, tuple(json.loads(places)), tuple(json.loads(notes)), link, tuple(mentioned)
    )


def document_head(context: Context, key: str) -> DocumentHead:
    """What a passage of it shows of a document: nothing that depends on how many others it has. Raises NotFound."""
    rows = context.database.rows(DOCUMENT_HEAD, (key,))
    if not rows:
        raise NotFound(f"There is no document {expose_hidden(key)!r}.", hint="`memdb documents` lists them.")
    return DocumentHead(*rows[0])


DOCUMENT_HEAD = """select node.label, format, state, (select min(path) from place where document_id = document.id)
from node join document on document.id = node.id where node.key = ?"""

DOCUMENT = """select document.id, node.label, format, state,
    (select count(*) from chunk where document_id = document.id),
    (select json_group_array(path) from (select path from place where document_id = document.id order by path)),
    notes, (select min(link) from place join snapshot using (path) where place.document_id = document.id)
from node join document on document.id = node.id where node.key = ?"""

DOCUMENT_ENTITIES = """select node.key, node.label, count(distinct chunk.id)
from chunk cross join edge on edge.src = chunk.id and edge.kind in ('mentions', 'about') and edge.active
join node on node.id = edge.dst where chunk.document_id = ?1
group by node.id order by 3 desc, node.key limit ?2"""
