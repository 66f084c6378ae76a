"""memdb: the long-term memory of an AI agent in one SQLite file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memdb.version import __version__

if TYPE_CHECKING:
    from memdb.store import Store, open

__all__ = ["Store", "__version__", "open"]


def __getattr__(name: str) -> Any:
    # Reading the version or an error class must not load the engine.
    if name in ("open", "Store"):
        from memdb import store  # noqa: PLC0415

        return getattr(store, name)
    raise AttributeError(f"module 'memdb' has no attribute {name!r}")
