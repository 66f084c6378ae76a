"""What all groups share: how a call of theirs runs on the open store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from memdb.services.context import Context

Result = TypeVar("Result")


class Caller(Protocol):
    """Runs a service on the open store, once the index is up to the files."""

    def __call__(self, call: Callable[[Context], Result], /) -> Result: ...


class Group:
    """Methods of a store that belong to one noun."""

    def __init__(self, call: Caller) -> None:
        self._call = call
