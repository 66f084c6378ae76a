"""What contradicts what, and what people decide of it."""

from __future__ import annotations

from collections.abc import Sequence

from memdb.groups.group import Group
from memdb.services.conflicts import conflicts, resolving
from memdb.services.conflicts.conflicts import Conflict
from memdb.services.conflicts.resolving import Resolution


class Conflicts(Group):
    """What contradicts what, and what people decide of it."""

    def list(self) -> Sequence[Conflict]:
        """What is open: one subject and predicate with several objects, and memories that cannot all be right."""
        return self._call(lambda context: conflicts.listed(context.database))

    def show(self, conflict: str) -> Conflict:
        """One conflict by its id, its subject or a memory, with a quote from each text. Raises NotFound, UsageError."""
        return self._call(lambda context: conflicts.show(context.database, conflict))

    def resolutions(self) -> Sequence[Resolution]:
        """How conflicts were settled, the last first, those that were taken back too."""
        return self._call(lambda context: resolving.resolutions(context.database))

    def resolve(
        self,
        conflict: str,
        choice: str,
        *,
        keep: str | None = None,
        text: str | None = None,
        why: str | None = None,
    ) -> Resolution:
        """Settle a conflict: keep-new, keep-existing, keep (the side that `keep` names), keep-both or merge.

        keep-new and keep-existing go by the texts' own dates, else by when memdb saw them. A merge makes the objects of
        a relation one entity, and `text` the text of the memory that is kept, which replaces the others. Raises
        NotFound, UsageError, Refused where it is settled already.
        """
        return self._call(lambda context: resolving.resolve(context, conflict, choice, keep=keep, text=text, why=why))

    def revert(self, resolution: str, *, why: str | None = None, force: bool = False) -> Resolution:
        """Take a resolution back, by its id or its conflict: exactly what it made goes, a merged text too.

        Raises NotFound, UsageError, Refused where it was taken back already, or a merged text was changed since, unless
        `force` leaves that as it is.
        """
        return self._call(lambda context: resolving.revert(context, resolution, why=why, force=force))
