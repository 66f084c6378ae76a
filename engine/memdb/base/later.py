"""Modules that are imported once something of them is used: a recall needs few of those that a changed file does.

A module stands for itself: `documents = Later("memdb.services.documents.documents")` in the place of an import of
`documents`, which is written beside it for those that only read the types.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Later:
    """A module of this name, from the first time that anything of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)
