"""The types and predicates that models want."""

from __future__ import annotations

from collections.abc import Sequence

from memdb.groups.group import Group
from memdb.services.entities import proposals
from memdb.services.entities.proposals import Proposal
from memdb.services.entities.vocabulary import EntryListed


class Proposals(Group):
    """The types and predicates that models want."""

    def list(self, *, states: Sequence[str] = ()) -> Sequence[Proposal]:
        """The types and predicates that models want; states are pending (two texts asked), waiting, dismissed."""
        return self._call(lambda context: proposals.listed(context.database, states))

    def approve(
        self,
        kind: str,
        name: str,
        *,
        description: str | None = None,
        single_letters: bool = False,
        single_valued: bool = False,
        why: str | None = None,
    ) -> EntryListed:
        """Make a proposal an entry and link all evidence seen so far, without a call; flags as for `schema_add`.

        Without a description the model's is the rule. Raises NotFound, UsageError, Refused where it was dismissed.
        """
        return self._call(
            lambda context: proposals.approve(
                context,
                kind,
                name,
                description=description,
                single_letters=single_letters,
                single_valued=single_valued,
                why=why,
            )
        )

    def dismiss(self, kind: str, name: str, *, why: str | None = None) -> Proposal:
        """Take a proposal off the list; no text that asks for it brings it back. Raises NotFound, UsageError."""
        return self._call(lambda context: proposals.dismiss(context, kind, name, why=why))

    def restore(self, kind: str, name: str) -> Proposal | None:
        """Take a dismissal back; None where no text asks for the name any more. Raises NotFound."""
        return self._call(lambda context: proposals.restore(context, kind, name))
