"""graph: what is connected with what, as the explorer draws it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from memdb.errors import NotFound
from memdb_cli import screen
from memdb_cli.app import section
from memdb_cli.options import AsJson, Database, Root, notes
from memdb_cli.session import open_store

if TYPE_CHECKING:
    from memdb import Store
    from memdb.services.graph_reading import Edge, Graph

commands = section()

MOST = 50
"""Nodes of a list that a person reads; the explorer draws a thousand."""


@commands.command(
    epilog=notes(
        "memdb graph",
        "memdb graph prefers-tables --hops 2",
        "memdb graph tag:style",
        "memdb graph --kind memory --kind entity --limit 200 --json",
        exits="2 for a kind that there is not and more than 3 hops, 3 for no such node, or without a store.",
    )
)
def graph(
    node: Annotated[
        str | None,
        typer.Argument(metavar="NODE", help="A memory, document:ID, entity:NAME, tag:NAME. [default: all]"),
    ] = None,
    *,
    hops: Annotated[int, typer.Option("--hops", metavar="N", help="Edges from the node.", min=0)] = 1,
    kinds: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help="Only memory, document, entity, tag, cluster or chunk; repeat."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="The most nodes.", min=1)] = MOST,
    root: Root = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List the edges between the most connected nodes, or around one. Documents stand for their chunks."""
    with open_store(root, database) as store:
        part = store.graph.part(
            kinds=kinds or (), limit=limit, around=None if node is None else _meant(store, node), hops=hops
        )
    if as_json:
        screen.as_json(asdict(part))
        return
    if part.edges:
        screen.table(("from", "edge", "weight", "to"), [_row(edge) for edge in part.edges], right=("weight",))
    else:
        screen.note("There are no edges." if part.around is None else f"{screen.cell(part.around)} has no edges.")
    if part.truncated:
        screen.note(f"note: {_rest(part)}; --limit shows more.")


def _meant(store: Store, written: str) -> str:
    """The id of a node, as written or of the memory that a person means. Raises NotFound, UsageError."""
    try:
        return store.graph.named(written).id
    except NotFound:
        return store.show(written).id


def _row(edge: Edge) -> tuple[str, str, str, str]:
    return edge.source, edge.predicate or edge.kind, f"{edge.weight:g}", edge.target


def _rest(part: Graph) -> str:
    nodes, edges = len(part.nodes), len(part.edges)
    return f"{nodes} of {part.total.nodes} nodes and {edges} of {part.total.edges} edges between them"
