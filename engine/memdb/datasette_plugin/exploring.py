"""The explorer of a Datasette: which of its databases are stores, and where each store is."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, ref

from memdb.base.place import Place
from memdb.datasette_plugin import stores
from memdb.explorer.application import Explorer

_EXPLORERS: WeakKeyDictionary[Any, Explorer] = WeakKeyDictionary()
_PLACES: WeakKeyDictionary[Any, dict[Path, Place]] = WeakKeyDictionary()


def explorer_of(datasette: Any) -> Explorer:
    """The one explorer of a Datasette, however many apps it makes."""
    if datasette not in _EXPLORERS:
        # By a weak reference: what the table of explorers holds must not hold its own key.
        known = ref(datasette)
        _EXPLORERS[datasette] = Explorer(lambda route: _place(known(), route))
    return _EXPLORERS[datasette]


def recalling(datasette: Any, database: str) -> Callable[[str], str]:
    """The hits of a recall as JSON, for SQL.

    It asks the store that is open for the explorer. A store that was opened for one question would be closed after it,
    and SQLite would take the log for unused and delete it, since it knows nothing of the connections that Datasette has
    with a SQLite of its own (https://www.sqlite.org/howtocorrupt.html, 2.2): these would show the state of then for
    ever.
    """
    known = ref(datasette)  # a connection lives as long as its thread, which must not keep its Datasette

    def recall(text: str) -> str:
        of = known()
        place = _place(of, of.databases[database].route) if of is not None else None
        if place is None:
            reason = "The database lies outside of its store: recall needs the files."
            return json.dumps([{"id": None, "reason": reason}])
        answer = explorer_of(of).served(place).store.recall(text)
        return json.dumps([asdict(hit) for hit in answer.hits], ensure_ascii=False, default=str)

    return recall


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
