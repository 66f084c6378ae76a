"""What each part of recall adds: the cascade again, each time without one of its parts.

A part is left out of the store (the edges of a kind are taken out inside a transaction that is rolled back) or of the
rules (a constant that switches it off), so that the product has no switch that only a bench would use.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from memdb.services.recall import arms, dating, evaluation
from memdb.services.recall import recall as recalling
from memdb.store import Store


@dataclass(frozen=True, slots=True)
class Part:
    """A part of recall: the kinds of edges it is, or the constants that switch it off, as (module, name, value)."""

    name: str
    kinds: tuple[str, ...] = ()
    constants: tuple[tuple[Any, str, Any], ...] = ()
    paths: str = "evidence"


PARTS = (
    Part("neighbouring passages (`next`)", ("next",)),
    Part("entity relays (`mentions`, `about`, `relates`)", ("mentions", "about", "relates")),
    Part("links, tags and clusters", ("links_to", "has_tag", "in_cluster", "supersedes", "replaces")),
    Part("paths as evidence (the best one instead)", paths="best"),
    Part("a text's own closeness", constants=((arms, "CLOSENESS", 0.0),)),
    Part("paths by an entity as a third of the evidence", constants=((recalling, "BY_ENTITY", 1.0),)),
    Part("paths within a record as none", constants=((recalling, "BY_RECORD", 1.0),)),
    Part("damping by document frequency", constants=((recalling, "RELAYED", 1e9),)),
    Part("what the question names, in fusion", constants=((arms, "ENTITY_WEIGHT", 0.0),)),
    Part("whole titles in the question", constants=((arms, "TITLE_WEIGHT", 0.0),)),
    Part("words of a borne name asking for its text", constants=((arms, "NAMES_TAKEN", False),)),
    Part("times in the question", constants=((dating, "DATED", 1.0),)),
    Part("names of speakers", constants=((dating, "SPOKEN", 1.0),)),
)


def absent(store: Store) -> set[str]:
    """The names of the parts that a store has no edges of: without them it answers the same."""
    there = {kind for (kind,) in store._context.database.rows("select distinct kind from neighbor")}
    return {part.name for part in PARTS if part.kinds and there.isdisjoint(part.kinds)}


@contextmanager
def cascade_alone() -> Iterator[None]:
    """Evaluations of the whole recall only, while the block runs."""
    with patch.object(evaluation, "CONFIGURATIONS", {"cascade": evaluation.CONFIGURATIONS["cascade"]}):
        yield


@contextmanager
def without(store: Store, part: Part) -> Iterator[None]:
    """Recall of this store without a part, while the block runs; the store is as it was afterwards."""
    database = store._context.database
    with ExitStack() as undo:
        for module, name, value in part.constants:
            undo.enter_context(patch.object(module, name, value))
        if part.paths != "evidence":
            asked = recalling.recall
            undo.enter_context(
                patch.object(evaluation, "recall", lambda *given, **named: asked(*given, paths=part.paths, **named))
            )
        undo.enter_context(cascade_alone())
        if part.kinds:
            database.connection.execute("begin")
            undo.callback(database.connection.execute, "rollback")
            database.connection.execute(
                "delete from neighbor where kind in (select value from json_each(?))", (json.dumps(part.kinds),)
            )
        yield
