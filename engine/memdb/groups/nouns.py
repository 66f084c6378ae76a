"""The nouns of a store: each is a group of methods, `store.entities.merge(...)`, and is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memdb.opened import Opened

if TYPE_CHECKING:
    from memdb.groups.conflicts import Conflicts
    from memdb.groups.documents import Documents
    from memdb.groups.entities import Entities
    from memdb.groups.graph import Graph
    from memdb.groups.proposals import Proposals
    from memdb.groups.review import Review
    from memdb.groups.runs import Runs
    from memdb.groups.schema import Schema


class Nouns(Opened):
    """An open store with its groups of methods."""

    @property
    def entities(self) -> Entities:
        """The entities that texts mention, and what people decide of them."""
        from memdb.groups.entities import Entities  # noqa: PLC0415

        return Entities(self._fresh)

    @property
    def schema(self) -> Schema:
        """The vocabulary of the entity graph: its types and predicates."""
        from memdb.groups.schema import Schema  # noqa: PLC0415

        return Schema(self._fresh)

    @property
    def proposals(self) -> Proposals:
        """The types and predicates that models want."""
        from memdb.groups.proposals import Proposals  # noqa: PLC0415

        return Proposals(self._fresh)

    @property
    def conflicts(self) -> Conflicts:
        """Where texts contradict one another."""
        from memdb.groups.conflicts import Conflicts  # noqa: PLC0415

        return Conflicts(self._fresh)

    @property
    def review(self) -> Review:
        """What waits for a person: contradicting decisions, conflicts, suggested merges, proposals, problems."""
        from memdb.groups.review import Review  # noqa: PLC0415

        return Review(self._fresh)

    @property
    def runs(self) -> Runs:
        """The runs of the language model."""
        from memdb.groups.runs import Runs  # noqa: PLC0415

        return Runs(self._fresh)

    @property
    def documents(self) -> Documents:
        """The documents that the store mirrors, and their chunks."""
        from memdb.groups.documents import Documents  # noqa: PLC0415

        return Documents(self._fresh)

    @property
    def graph(self) -> Graph:
        """The graph for people to look at: parts of it, and single nodes with their edges."""
        from memdb.groups.graph import Graph  # noqa: PLC0415

        return Graph(self._fresh)
