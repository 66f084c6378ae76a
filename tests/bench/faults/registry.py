"""The kinds of faults: each is a function of what was asked for, and gives figures and failures."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from tests.bench.faults.trials import Asked, Found

Kind = Callable[[Asked], Found]

KINDS = ("crash", "power", "corruption", "concurrency", "upgrade", "fuzz", "forget", "secrets", "injection")
"""Each is a module here with a function `run`."""


def kind(name: str) -> Kind:
    """The function of a kind."""
    found: Kind = import_module(f"tests.bench.faults.{name}").run
    return found
