"""What waits for a person: one queue over contradicting decisions, conflicts, merges, proposals and problems."""

from __future__ import annotations

from collections.abc import Sequence

from memdb.groups.group import Group
from memdb.services.review import review
from memdb.services.review.review_items import Answered, ReviewItem


class Review(Group):
    """What waits for a person, in one queue."""

    def list(self, *, kinds: Sequence[str] = (), limit: int | None = None) -> Sequence[ReviewItem]:
        """All that waits, or some kinds of it, the most important first; see `memdb.services.review.review.KINDS`.

        Raises UsageError for a kind that there is not.
        """
        return self._call(lambda context: review.review(context, kinds, limit))

    def show(self, item: str, *, seen: ReviewItem | None = None) -> ReviewItem:
        """One item by its id as it is now; with what was shown of it before, it is cheaper. Raises NotFound."""
        return self._call(lambda context: review.find(context, item, seen))

    def answer(
        self,
        item: str,
        choice: str,
        *,
        text: str | None = None,
        why: str | None = None,
        seen: ReviewItem | None = None,
    ) -> Answered:
        """Answer an item by the name or key of one of its choices; `store.undo` takes the decision back.

        `seen` is the item as it was shown: one that changed meanwhile is not answered. Raises NotFound where it waits
        no more, UsageError for what does not fit, Changed, Refused.
        """
        return self._call(lambda context: review.answer(context, item, choice, text=text, why=why, seen=seen))

    def undo(self, answered: Answered, *, why: str | None = None) -> None:
        """Take an answer back. Raises NotFound, Refused where it was undone already."""
        self._call(lambda context: review.undo(context, answered, why=why))
