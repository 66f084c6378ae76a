"""The entities that texts mention, and what people decide of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memdb.groups.group import Group
from memdb.services import entity_reading
from memdb.services.entity_reading import EntityListed, EntityShown


class Entities(Group):
    """The entities that texts mention, and what people decide of them."""

    def list(self, **options: Any) -> Sequence[EntityListed]:
        """The entities that texts mention, with usage; takes types, name, origins, sort (mentions, name) and limit.

        `name` is a part of a name or alias in any spelling. Raises UsageError.
        """
        return self._call(lambda context: entity_reading.listed(context.database, **options))

    def show(self, entity: str, *, limit: int | None = None) -> EntityShown:
        """One entity by its name, an alias or its id, with relations, documents and up to `limit` mentions.

        Raises NotFound with the names that come near.
        """
        most = entity_reading.MOST_MENTIONS if limit is None else limit
        return self._call(lambda context: entity_reading.show(context.database, entity, limit=most))
