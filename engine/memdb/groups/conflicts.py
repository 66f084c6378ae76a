"""Where texts contradict one another."""

from __future__ import annotations

from collections.abc import Sequence

from memdb.groups.group import Group
from memdb.services import conflicts
from memdb.services.conflicts import Conflict


class Conflicts(Group):
    """Where texts contradict one another."""

    def list(self) -> Sequence[Conflict]:
        """Where texts contradict one another: one subject and predicate with several objects, all of which stand."""
        return self._call(lambda context: conflicts.listed(context.database))

    def show(self, conflict: str) -> Conflict:
        """One conflict by its id or its subject, with a quote from each text. Raises NotFound, UsageError."""
        return self._call(lambda context: conflicts.show(context.database, conflict))
