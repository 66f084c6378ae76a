"""The graph for people to look at."""

from __future__ import annotations

from typing import Any

from memdb.groups.group import Group
from memdb.services import graph_reading
from memdb.services.graph_reading import Around, DocumentShown, Node
from memdb.services.graph_reading import Graph as Part


class Graph(Group):
    """The graph for people to look at: parts of it, and single nodes with their edges."""

    def part(self, **options: Any) -> Part:
        """The most connected nodes, or the nearest to one; takes kinds, types, q, limit, rollup, around and hops.

        Raises UsageError, NotFound.
        """
        return self._call(lambda context: graph_reading.graph(context, **options))

    def node(self, node: str) -> Around:
        """A node by its id with its edges by kind. Raises NotFound."""
        return self._call(lambda context: graph_reading.node(context, node))

    def document(self, document: str) -> DocumentShown:
        """One document by its exact id, with what it mentions most. Raises NotFound."""
        return self._call(lambda context: graph_reading.document(context, document))

    def named(self, node: str) -> Node:
        """A node as it is drawn, by its id, without its edges. Raises NotFound."""
        return self._call(lambda context: graph_reading.named(context, node))
