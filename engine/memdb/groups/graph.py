"""The graph for people to look at."""

from __future__ import annotations

from collections.abc import Sequence

from memdb.groups.group import Group
from memdb.services import graph_reading
from memdb.services.graph_reading import Around, DocumentHead, DocumentShown, Node
from memdb.services.graph_reading import Graph as Part


class Graph(Group):
    """The graph for people to look at: parts of it, and single nodes with their edges."""

    def part(
        self,
        *,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        q: str | None = None,
        limit: int = graph_reading.LIMIT,
        rollup: bool = True,
        around: str | None = None,
        hops: int = 1,
    ) -> Part:
        """The most connected nodes of some kinds and types whose name or id has `q`, or the nearest to one, with edges.

        `rollup` has documents stand for their chunks, `around` is the id of a node. Raises UsageError, NotFound.
        """
        return self._call(
            lambda context: graph_reading.graph(
                context, kinds=kinds, types=types, q=q, limit=limit, rollup=rollup, around=around, hops=hops
            )
        )

    def node(self, node: str) -> Around:
        """A node by its id with its edges by kind. Raises NotFound."""
        return self._call(lambda context: graph_reading.node(context, node))

    def document(self, document: str) -> DocumentShown:
        """One document by its exact id, with what it mentions most. Raises NotFound."""
        return self._call(lambda context: graph_reading.document(context, document))

    def document_head(self, document: str) -> DocumentHead:
        """What a passage of it shows of a document. Raises NotFound."""
        return self._call(lambda context: graph_reading.document_head(context, document))

    def named(self, node: str) -> Node:
        """A node as it is drawn, by its id, without its edges. Raises NotFound."""
        return self._call(lambda context: graph_reading.named(context, node))
