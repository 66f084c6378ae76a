"""The entities that texts mention, and what people decide of them."""

from __future__ import annotations

from collections.abc import Sequence

from memdb.groups.group import Group
from memdb.services.decisions import Decision
from memdb.services.entities import curation, entity_reading, suggestions
from memdb.services.entities.entity_reading import EntityListed, EntityShown
from memdb.services.entities.suggestions import Suggestion


class Entities(Group):
    """The entities that texts mention, and what people decide of them."""

    def list(
        self,
        *,
        types: Sequence[str] = (),
        name: str | None = None,
        origins: Sequence[str] = (),
        within: str | None = None,
        deleted: bool = False,
        sort: str = "mentions",
        limit: int | None = None,
    ) -> Sequence[EntityListed]:
        """The entities that texts mention, with usage: all, or those of any of some types or origins.

        `name` is a part of the name or alias in any spelling, `within` a memory or document that mentions them; `sort`
        is mentions, memories, documents, relations or name; `deleted` ones are those that people took out. Raises
        UsageError, NotFound.
        """
        return self._call(
            lambda context: entity_reading.listed(
                context,
                types=types,
                name=name,
                origins=origins,
                within=within,
                deleted=deleted,
                sort=sort,
                limit=limit,
            )
        )

    def show(self, entity: str, *, limit: int | None = None) -> EntityShown:
        """One entity by its name, an alias or its id, with relations, documents and up to `limit` mentions.

        Raises NotFound with the names that come near.
        """
        most = entity_reading.MOST_MENTIONS if limit is None else limit
        return self._call(lambda context: entity_reading.show(context.database, entity, limit=most))

    def rename(self, entity: str, new: str, *, why: str | None = None) -> Decision:
        """Call an entity something else; the old name stays an alias, and texts are searched for the new one.

        Raises NotFound, UsageError, SecretFound, Refused where the name is another entity's: that is a merge.
        """
        return self._call(lambda context: curation.rename(context, entity, new, why=why))

    def retype(self, entity: str, type: str, *, why: str | None = None) -> Decision:
        """Give an entity another type of the vocabulary. Raises NotFound, Refused for a type that is disabled."""
        return self._call(lambda context: curation.retype(context, entity, type, why=why))

    def change(
        self, entity: str, new: str | None = None, type: str | None = None, *, why: str | None = None
    ) -> Decision:
        """Rename and retype in one decision: both or neither. Raises what `rename` and `retype` raise."""
        return self._call(lambda context: curation.change(context, entity, new=new, type_=type, why=why))

    def merge(self, source: str, into: str, *, why: str | None = None) -> Decision:
        """Make one entity of two: `into` keeps its name and type, the names of `source` become aliases of it.

        Raises NotFound, UsageError where both are one already.
        """
        return self._call(lambda context: curation.merge(context, source, into, why=why))

    def unmerge(self, entity: str, *, why: str | None = None) -> Decision:
        """Take a merge back, by a name of what was merged. Raises NotFound, UsageError where several could be meant."""
        return self._call(lambda context: curation.unmerge(context, entity, why=why))

    def delete(self, entity: str, *, why: str | None = None) -> Decision:
        """Take an entity out of the graph, whatever texts say, until it is restored. Raises NotFound."""
        return self._call(lambda context: curation.delete(context, entity, why=why))

    def restore(self, entity: str, *, why: str | None = None) -> Decision:
        """Let an entity that was deleted be one again. Raises NotFound."""
        return self._call(lambda context: curation.restore(context, entity, why=why))

    def distinct(self, one: str, other: str, *, why: str | None = None) -> Decision:
        """Say that two entities are two: their merge is not suggested any more. Raises NotFound, UsageError."""
        return self._call(lambda context: curation.distinct(context, one, other, why=why))

    def suggest(self, *, limit: int | None = suggestions.MOST_SUGGESTED) -> Sequence[Suggestion]:
        """Pairs of entities that may be one under two names, with reasons, the likeliest first; nothing is merged.

        Raises UsageError for a limit below 1.
        """
        return self._call(lambda context: suggestions.suggest(context, limit=limit))
