"""The explorer of a Datasette: which of its databases are stores, and where each store is."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from memdb.base.place import Place
from memdb.datasette_plugin import stores
from memdb.explorer.application import Explorer

_EXPLORERS: WeakKeyDictionary[Any, Explorer] = WeakKeyDictionary()
_PLACES: WeakKeyDictionary[Any, dict[Path, Place]] = WeakKeyDictionary()


def explorer_of(datasette: Any) -> Explorer:
    """The one explorer of a Datasette, however many apps it makes."""
    if datasette not in _EXPLORERS:
        # By a weak reference: what the table of explorers holds must not hold its own key.
        from weakref import ref  # noqa: PLC0415

        known = ref(datasette)
        _EXPLORERS[datasette] = Explorer(lambda route: _place(known(), route))
    return _EXPLORERS[datasette]


def put_place(datasette: Any, place: Place) -> None:
    """Say where the store of a database is, if it lies elsewhere than in its root."""
    _PLACES.setdefault(datasette, {})[place.database] = place


def _place(datasette: Any, route: str) -> Place | None:
    if datasette is None or not route:
        return None
    for name, database in datasette.databases.items():
        if database.route == route:
            file = stores.file_of(datasette, name)
            if file is None:
                return None
            resolved = file.resolve()
            root = stores.root_of(resolved)
            return _PLACES.get(datasette, {}).get(resolved) or (Place(root, resolved) if root is not None else None)
    return None
