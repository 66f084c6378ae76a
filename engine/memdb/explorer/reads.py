"""What the API answers to questions: each function is one call of the store and the shape of its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from memdb.base.text import expose_hidden
from memdb.domain import injection
from memdb.errors import NotFound
from memdb.explorer.rendering import CHARACTERS, PROSE, html
from memdb.services.decision_words import in_words, undone_by
from memdb.services.graph_reading import MOST_OF_A_KIND, Around
from memdb.services.memories.reading import ChunkListed
from memdb.services.recall.answers import Citation
from memdb.store import Store

Given = Mapping[str, Any]
Answer = dict[str, Any]

MOST_CHUNK_NEIGHBOURS = 2_000
"""Nodes that are drawn around the chunks of one document."""


def status(store: Store, given: Given) -> Answer:
    """Counts of everything, the model, and whether the index is behind."""
    return {"store": store.stats()}


def schema(store: Store, given: Given) -> Answer:
    """The vocabulary with its usage, and what models want to add."""
    entries = [asdict(entry) for entry in store.schema.list()]
    return {"entries": entries, "proposals": [asdict(one) for one in store.proposals.list()]}


def proposals(store: Store, given: Given) -> Answer:
    """The types and predicates that models want."""
    return {"proposals": [asdict(one) for one in store.proposals.list(states=given["state"] or ())]}


def entities(store: Store, given: Given) -> Answer:
    """A page of the entities, with how many fit in all."""
    found = store.entities.list(
        name=given["q"] or None,
        types=given["type"] or (),
        origins=given["origin"] or (),
        deleted=given["deleted"],
        sort=given["sort"],
    )
    start, limit = given["offset"], given["limit"]
    more = start + limit < len(found)
    page = [asdict(one) for one in found[start : start + limit]]
    return {"entities": page, "total": len(found), "next_offset": start + limit if more else None}


def entity(store: Store, given: Given) -> Answer:
    """One entity with its mentions, relations and documents, and what was decided of it."""
    shown = store.entities.show(entity_id(store, given["id"]), limit=given["limit"])
    decided = store.log(subject=shown.id)
    return asdict(shown) | {"decisions": [asdict(one) for one in decided]}


def entity_id(store: Store, written: str) -> str:
    """The id of an entity by its key, a name, or the number of its node; what is none is left as it is."""
    if written.isascii() and written.isdigit():
        try:
            return store.entities.show(written, limit=0).id
        except NotFound:
            found = store.graph.node(written).node
            if found.kind == "entity":
                return found.id
            raise
    return written


def graph(store: Store, given: Given) -> Answer:
    """The most connected part of the graph, or what lies around a node."""
    part = store.graph.part(
        kinds=given["kinds"] or (),
        types=given["types"] or (),
        q=given["q"] or None,
        limit=given["limit"],
        rollup=given["rollup"],
        around=given["around"] or None,
        hops=given["hops"],
    )
    return {
        # By hand: to take thousands of objects apart takes longer than to find them.
        "nodes": [
            {"id": n.id, "kind": n.kind, "label": n.label, "type": n.type, "degree": n.degree}
            | ({"chunks": n.chunks} if n.chunks is not None else {})
            for n in part.nodes
        ],
        "edges": [
            {"source": e.source, "target": e.target, "kind": e.kind, "weight": e.weight}
            | ({"predicate": e.predicate} if e.predicate else {})
            | ({"chunks": e.chunks} if e.chunks is not None else {})
            for e in part.edges
        ],
        "total": asdict(part.total),
        "truncated": part.truncated,
        "rollup": part.rollup,
        "around": part.around,
    }


def search(store: Store, given: Given) -> Answer:
    """A recall: hits with their paths and arms, the nodes that the paths pass, and the seeds."""
    answer = store.recall(given["q"], limit=given["limit"], hops=given["hops"], now=given["now"] or None)
    shape = asdict(answer)
    for hit, found in zip(shape["hits"], answer.hits, strict=True):
        hit["citation"] = _citation(found.citation) if found.citation is not None else None
    passed = {hop.node for hit in answer.hits for hop in hit.path} | {hit.id for hit in answer.hits}
    nodes = {}
    for key in sorted(passed):
        try:
            node = store.graph.named(key)
        except NotFound:
            continue  # an earlier text's, or forgotten since
        nodes[key] = {"label": node.label, "kind": node.kind, "type": node.type}
    by_id = {hit.id: hit for hit in answer.hits}
    seeds = sorted({hit.path[0].node: hit.path[0].score for hit in answer.hits if hit.path}.items())
    shape["seeds"] = [
        {
            "id": key,
            "score": score,
            "arms": {name: asdict(arm) for name, arm in by_id[key].arms.items()} if key in by_id else {},
        }
        for key, score in sorted(seeds, key=lambda seed: (-seed[1], seed[0]))
    ]
    return shape | {"nodes": nodes}


def _citation(place: Citation) -> Answer:
    return asdict(place) | {"text": str(place)}


def documents(store: Store, given: Given) -> Answer:
    """A page of the documents that the store mirrors."""
    found = store.documents.list()
    start, limit = given["offset"], given["limit"]
    return {"documents": [asdict(one) for one in found[start : start + limit]], "total": len(found)}


def chunks(store: Store, given: Given) -> Answer:
    """The chunks of a document in its order, with the edges that they have and the nodes to which these lead."""
    key = store.documents.find(given["id"])
    listed = store.documents.chunks(key)
    page = listed[given["offset"] : given["offset"] + given["limit"]]
    part = store.graph.part(
        around=key, hops=2, rollup=False, limit=min(20_000, len(listed) + 1 + MOST_CHUNK_NEIGHBOURS)
    )
    shown = {chunk.id for chunk in page}
    edges = [edge for edge in part.edges if edge.source in shown or edge.target in shown]
    ends = {edge.source for edge in edges} | {edge.target for edge in edges}
    return {
        "document": key,
        "chunks": [_chunk(chunk) for chunk in page],
        "nodes": [asdict(node) for node in part.nodes if node.id in ends and node.kind != "chunk" and node.id != key],
        "edges": [asdict(edge) for edge in edges if edge.kind != "part_of"],
        "total": len(listed),
        "truncated": part.truncated or len(page) < len(listed),
    }


def _chunk(chunk: ChunkListed) -> Answer:
    place = chunk.citation
    return {
        "id": chunk.id,
        "label": expose_hidden(_chunk_name(place)),
        "text": chunk.text,
        "heading_path": list(place.heading_path),
        "page": place.page,
        "citation": _citation(place),
        "embedded": chunk.embedded,
    }


def _chunk_name(place: Citation) -> str:
    """What a passage is called beside others of its document: its last heading, else where it stands."""
    if place.heading_path:
        return place.heading_path[-1]
    return str(place).partition(", ")[2] or place.document.removeprefix("document:")


def runs(store: Store, given: Given) -> Answer:
    """The runs of the language model, the newest first."""
    return {"runs": [asdict(run) for run in store.runs.list(given["limit"])]}


def run(store: Store, given: Given) -> Answer:
    """One run with what happened to each text."""
    shown, events = store.runs.show(given["number"])
    return {"run": asdict(shown), "events": [asdict(event) for event in events]}


def conflicts(store: Store, given: Given) -> Answer:
    """The open conflicts, and how others were settled."""
    return {
        "conflicts": [asdict(one) | {"title": one.title} for one in store.conflicts.list()],
        "resolutions": [asdict(one) for one in store.conflicts.resolutions()],
    }


def conflict(store: Store, given: Given) -> Answer:
    """One conflict with a quote from each text."""
    shown = store.conflicts.show(given["id"])
    return {"conflict": asdict(shown) | {"title": shown.title}}


def review(store: Store, given: Given) -> Answer:
    """What waits for a person, the most important first."""
    found = store.review.list(kinds=given["kinds"] or ())
    return {"items": [asdict(item) for item in found[: given["limit"]]], "total": len(found)}


def links(store: Store, given: Given) -> Answer:
    """Links as they are written in memories."""
    found = store.links(given["memory"] or None, statuses=given["status"] or ())
    return {"links": [asdict(link) for link in found[: given["limit"]]], "total": len(found)}


def log(store: Store, given: Given) -> Answer:
    """What people decided, the newest first."""
    found = store.log(limit=given["limit"], subject=given["subject"] or None, states=given["state"] or ())
    by_id = {one.id: one for one in found}
    if any(not by_id.keys() >= set(undone_by(one)) for one in found if one.action in ("undo", "confirm")):
        by_id = {one.id: one for one in store.log()}
    return {"decisions": [asdict(one) | {"words": in_words(one, by_id)} for one in found]}


# One node


def node(store: Store, given: Given) -> Answer:
    """What the panel shows of a node of any kind."""
    around = store.graph.node(given["id"])
    shown = {"memory": _memory, "chunk": _passage, "document": _document, "entity": _entity}.get(around.node.kind)
    return _common(around) | (shown(store, around.node.id) if shown is not None else {})


def _common(around: Around) -> Answer:
    counts: dict[str, int] = {}
    for group in around.edges:
        counts[group.kind] = counts.get(group.kind, 0) + group.count
    return asdict(around.node) | {
        "number": around.number,
        "chunks": None,
        "breadcrumb": [{"id": None, "label": around.node.kind}, {"id": around.node.id, "label": around.node.label}],
        "edges": [
            {
                "kind": group.kind,
                "direction": group.direction,
                "predicate": edge.predicate or None,
                "weight": edge.weight,
                "other": asdict(edge.node),
            }
            for group in around.edges
            for edge in group.edges
        ],
        "edge_counts": counts,
        "marks": {},
    }


def _text(text: str, *, prose: bool = True) -> Answer:
    return {"text": text[:CHARACTERS], "html": html(text) if prose else None, "cut": len(text) > CHARACTERS}


def _memory(store: Store, key: str) -> Answer:
    shown = store.show(key)
    past = store.history(key)
    return _text(shown.body) | {
        "description": shown.description,
        "type": shown.type,
        "tags": shown.tags,
        "aliases": shown.aliases,
        "file": shown.file,
        "frontmatter": shown.frontmatter,
        "breadcrumb": [{"id": None, "label": shown.type}, {"id": key, "label": expose_hidden(shown.name)}],
        "links": [asdict(link) for link in shown.links],
        "linked_from": shown.linked_from,
        "versions": [asdict(version) for version in past],
        "problems": shown.problems,
        "marks": {
            "superseded_by": shown.superseded_by,
            "supersedes": shown.supersedes,
            "contradicts": shown.contradicts,
            "embedded": shown.embedded,
            "suspect": shown.suspect,
        },
    }


def _passage(store: Store, key: str) -> Answer:
    around = store.documents.chunk(key)
    at = next(place for place, chunk in enumerate(around) if chunk.id == key)
    chunk = around[at]
    place = chunk.citation
    document = store.graph.document_head(place.document)
    # A title that is the first heading stands there once.
    headings = place.heading_path[1 if place.heading_path[:1] == (document.title,) else 0 :]
    return _text(chunk.text, prose=document.format in PROSE) | {
        "document": place.document,
        "citation": _citation(place),
        "file": document.place,
        "breadcrumb": [
            {"id": place.document, "label": expose_hidden(document.title)},
            *({"id": None, "label": expose_hidden(heading)} for heading in headings),
            {"id": key, "label": f"chunk {key.rpartition('#')[2]}"},
        ],
        "previous": around[at - 1].id if at else None,
        "next": around[at + 1].id if at + 1 < len(around) else None,
        "marks": {
            "embedded": chunk.embedded,
            "stale": document.state == "missing",
            "suspect": injection.marks(chunk.text),
        },
    }


def _document(store: Store, key: str) -> Answer:
    shown = store.graph.document(key)
    return {
        "format": shown.format,
        "file": shown.places[0] if shown.places else None,
        "places": shown.places,
        "notes": shown.notes,
        "link": shown.link,
        "chunk_count": shown.chunks,
        "entities": [
            {"id": id_, "label": expose_hidden(label), "chunks": count} for id_, label, count in shown.entities
        ],
        "breadcrumb": [{"id": None, "label": "document"}, {"id": key, "label": expose_hidden(shown.title)}],
        "marks": {"stale": shown.state == "missing"},
    }


def _entity(store: Store, key: str) -> Answer:
    shown = store.entities.show(key)
    documents = [
        asdict(one) | {"label": store.graph.named(one.document).label} for one in shown.document_list[:MOST_OF_A_KIND]
    ]
    return {
        "name": shown.name,
        "type": shown.type,
        "origin": shown.origin,
        "aliases": [asdict(alias) for alias in shown.alias_list],
        "usage": {"mentions": shown.mentions, "memories": shown.memories, "documents": shown.documents},
        "mentions": [asdict(mention) for mention in shown.mention_list],
        "relations": [asdict(relation) for relation in shown.relations],
        "documents": documents,
        "decided": shown.decided,
        "breadcrumb": [{"id": None, "label": shown.type or "entity"}, {"id": key, "label": expose_hidden(shown.name)}],
        "marks": {},
    }
