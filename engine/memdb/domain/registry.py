"""The vocabulary as people decided it: the system's entries, what was added, changed, disabled, and what nobody wants.

Each decision is a journal record. One that does not apply (any more) changes nothing, so that two machines which
decided apart come to the same registry once their journals meet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from memdb.base.journal import Record
from memdb.domain.vocabulary import SYSTEM, Entry, Kind, entry_key

ACTIONS = ("add", "describe", "disable", "enable", "delete", "approve", "dismiss", "restore")
"""`approve` makes a proposal an entry, `dismiss` blocks it, `restore` takes the dismissal back."""

Key = tuple[Kind, str]


@dataclass(slots=True)
class Registry:
    """Entries by kind and key, and dismissed names with the time of the decision."""

    entries: dict[Key, Entry] = field(
        default_factory=lambda: {(entry.kind, entry_key(entry.kind, entry.name)): entry for entry in SYSTEM}
    )
    dismissed: dict[Key, tuple[str, str]] = field(default_factory=dict)  # name, time


def replay(records: Iterable[Record]) -> Registry:
    """The registry after all decisions, in their order."""
    registry = Registry()
    for record in records:
        decide(registry, record)
    return registry


def decide(registry: Registry, record: Record) -> None:
    """Change the registry by one decision, where it applies."""
    kind: Kind = record["list"]
    key, action = (kind, entry_key(kind, record["name"])), record["action"]
    entry = registry.entries.get(key)
    if action in ("add", "approve"):
        if entry is None:
            registry.entries[key] = Entry(
                kind,
                key[1],
                str(record.get("description", "")),
                single_letters=record.get("single_letters") is True,
                single_valued=record.get("single_valued") is True,
            )
        registry.dismissed.pop(key, None)
    elif action == "dismiss":
        if entry is None:
            registry.dismissed[key] = (key[1], record["t"])
    elif action == "restore":
        registry.dismissed.pop(key, None)
    elif entry is None:
        return
    elif action == "describe":
        if entry.origin == "user":
            registry.entries[key] = replace(entry, description=str(record.get("description", "")))
    elif action in ("disable", "enable"):
        registry.entries[key] = replace(entry, state="disabled" if action == "disable" else "active")
    elif action == "delete" and entry.origin == "user" and entry.state == "disabled":
        del registry.entries[key]
