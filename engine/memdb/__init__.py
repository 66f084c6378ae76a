"""memdb: the long-term memory of an AI agent in one SQLite file."""

from __future__ import annotations

from memdb.version import __version__

TYPE_CHECKING = False  # as `typing` has it, which takes longer to import than a hook may
if TYPE_CHECKING:
    from typing import Any

    from memdb.async_store import AsyncStore, open_async
    from memdb.async_stores import AsyncStores, open_all_async
    from memdb.store import Filters, Hit, MemdbError, Recall, Store, open
    from memdb.stores import Stores, open_all

__all__ = [
    "AsyncStore",
    "AsyncStores",
    "Filters",
    "Hit",
    "MemdbError",
    "Recall",
    "Store",
    "Stores",
    "__version__",
    "open",
    "open_all",
    "open_all_async",
    "open_async",
]


def __getattr__(name: str) -> Any:
    # Reading the version or an error class must not load the engine.
    if name in ("open", "Store", "Filters", "Hit", "MemdbError", "Recall"):
        from memdb import store  # noqa: PLC0415

        return getattr(store, name)
    if name in ("open_async", "AsyncStore"):
        from memdb import async_store  # noqa: PLC0415

        return getattr(async_store, name)
    if name in ("open_all_async", "AsyncStores"):
        from memdb import async_stores  # noqa: PLC0415

        return getattr(async_stores, name)
    if name in ("open_all", "Stores"):
        from memdb import stores  # noqa: PLC0415

        return getattr(stores, name)
    raise AttributeError(f"module 'memdb' has no attribute {name!r}")
