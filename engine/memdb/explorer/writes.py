"""What the API changes: each function is one call of the store; all of them are taken back by `undo`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from memdb.errors import UsageError
from memdb.explorer.reads import entity_id
from memdb.services.decisions import Decision
from memdb.store import Store

Given = Mapping[str, Any]
Answer = dict[str, Any]


def _decided(decision: Decision) -> Answer:
    return {"decision": asdict(decision)}


def change_entity(store: Store, given: Given) -> Answer:
    """Give an entity another name, another type, or both in one decision."""
    if given["name"] is None and given["type"] is None:
        raise UsageError("Nothing is to be changed.", hint="Give a name, a type, or both.")
    key = entity_id(store, given["id"])
    return _decided(store.entities.change(key, given["name"], given["type"], why=given["why"]))


def delete_entity(store: Store, given: Given) -> Answer:
    """Take an entity out of the graph until it is restored."""
    return _decided(store.entities.delete(entity_id(store, given["id"]), why=given["why"]))


def merge_entity(store: Store, given: Given) -> Answer:
    """Make one entity of two; `into` keeps its name and type."""
    key = entity_id(store, given["id"])
    return _decided(store.entities.merge(key, given["into"], why=given["why"]))


def restore_entity(store: Store, given: Given) -> Answer:
    """Let an entity that was deleted be one again."""
    return _decided(store.entities.restore(given["id"], why=given["why"]))


def resolve(store: Store, given: Given) -> Answer:
    """Settle a conflict."""
    settled = store.conflicts.resolve(
        given["id"], given["choice"], keep=given["keep"], text=given["text"], why=given["why"]
    )
    return {"resolution": asdict(settled), "decision": {"id": settled.id}}


def revert(store: Store, given: Given) -> Answer:
    """Take a resolution back, by its id or its conflict."""
    return {"resolution": asdict(store.conflicts.revert(given["id"], why=given["why"], force=given["force"]))}


def answer_review(store: Store, given: Given) -> Answer:
    """Answer an item of the review queue by one of its choices."""
    answered = store.review.answer(given["item"], given["choice"], text=given["text"], why=given["why"])
    return {"answered": asdict(answered), "said": answered.said, "decision": answered.decision}


def undo(store: Store, given: Given) -> Answer:
    """Take a decision back; an undo can be undone."""
    return _decided(store.undo(given["decision"], why=given["why"]))


def change_schema(store: Store, given: Given) -> Answer:
    """Add, describe, disable, enable or delete an entry of the vocabulary."""
    kind, name, rule = given["kind"], given["name"], given["description"]
    if given["action"] in ("add", "describe") and not rule:
        raise UsageError("description is missing.", hint="It is the rule by which a model uses the entry.")
    flags = {"single_letters": given["single_letters"], "single_valued": given["single_valued"]}
    actions: dict[str, Callable[[], Any]] = {
        "add": lambda: store.schema.add(kind, name, rule, **flags),
        "describe": lambda: store.schema.describe(kind, name, rule),
        "disable": lambda: store.schema.disable(kind, name),
        "enable": lambda: store.schema.enable(kind, name),
        "delete": lambda: store.schema.delete(kind, name),
    }
    return {"entry": asdict(actions[given["action"]]())} | _latest(store, given)


def approve(store: Store, given: Given) -> Answer:
    """Make a proposal an entry of the vocabulary and link all evidence seen so far."""
    entry = store.proposals.approve(
        given["kind"], given["name"], description=given["description"], single_letters=given["single_letters"],
        single_valued=given["single_valued"], why=given["why"],
    )  # fmt: skip
    return {"entry": asdict(entry)} | _latest(store, given)


def dismiss(store: Store, given: Given) -> Answer:
    """Take a proposal off the list."""
    shown = store.proposals.dismiss(given["kind"], given["name"], why=given["why"])
    return {"proposal": asdict(shown)} | _latest(store, given)


def restore_proposal(store: Store, given: Given) -> Answer:
    """Take a dismissal back."""
    shown = store.proposals.restore(given["kind"], given["name"])
    return {"proposal": asdict(shown) if shown is not None else None} | _latest(store, given)


def _latest(store: Store, given: Given) -> Answer:
    """The decision that was just made, to be undone by."""
    found = store.log(limit=1, subject=f"{given['kind']}:{given['name']}")
    return {"decision": asdict(found[0])} if found else {}
