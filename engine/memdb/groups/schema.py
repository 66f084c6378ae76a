"""The vocabulary of the entity graph: its types and predicates."""

from __future__ import annotations

from collections.abc import Sequence

from memdb.groups.group import Group
from memdb.services.entities import vocabulary
from memdb.services.entities.vocabulary import EntryListed


class Schema(Group):
    """The vocabulary of the entity graph: its types and predicates."""

    def list(self) -> Sequence[EntryListed]:
        """The vocabulary with its usage: types, then predicates, disabled ones too."""
        return self._call(lambda context: vocabulary.listed(context.database))

    def add(
        self, kind: str, name: str, description: str, *, single_letters: bool = False, single_valued: bool = False
    ) -> EntryListed:
        """Add a type or predicate; the description is the rule by which a model uses it. Links what is held for it.

        `single_letters` lets in names of one letter for a type, `single_valued` makes a second object of a predicate a
        conflict. Raises UsageError, SecretFound.
        """
        flags = {"single_letters": single_letters, "single_valued": single_valued}
        return self._call(lambda context: vocabulary.add(context, kind, name, description, **flags))

    def describe(self, kind: str, name: str, description: str) -> EntryListed:
        """Give a user entry another rule. Raises NotFound, UsageError, Refused for a system entry."""
        return self._call(lambda context: vocabulary.describe(context, kind, name, description))

    def disable(self, kind: str, name: str) -> EntryListed:
        """Take an entry out of the prompt; what it links already stays. Raises NotFound."""
        return self._call(lambda context: vocabulary.disable(context, kind, name))

    def enable(self, kind: str, name: str) -> EntryListed:
        """Put an entry back into the prompt, and link what was named by it meanwhile. Raises NotFound."""
        return self._call(lambda context: vocabulary.enable(context, kind, name))

    def delete(self, kind: str, name: str) -> EntryListed:
        """Delete a disabled user entry and return what it was; its evidence is held again. Raises NotFound, Refused."""
        return self._call(lambda context: vocabulary.delete(context, kind, name))
