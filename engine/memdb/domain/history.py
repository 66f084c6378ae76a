"""What the journal says of the past: earlier texts, renames, what was forgotten, and the identity of clusters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256

from memdb.base.journal import Record


@dataclass(frozen=True, slots=True)
class Version:
    """An earlier text of a memory."""

    memory_key: str
    at: str
    sha256: str
    reason: str  # saved, edited, deleted
    text: str | None
    withheld: str | None


@dataclass(slots=True)
class Past:
    """All that the journal says, replayed in order."""

    versions: list[Version] = field(default_factory=list)
    tombstones: dict[str, str] = field(default_factory=dict)
    anchors: dict[str, list[str]] = field(default_factory=dict)


KINDS = ("version", "rename", "forget", "clusters")
"""The kinds of journal record that are read here."""


def version_record(key: str, digest: str, reason: str, text: str | None, withheld: str | None = None) -> Record:
    """An earlier text, written before the new one takes its place."""
    record: Record = {"kind": "version", "id": key, "sha256": digest, "reason": reason}
    return record | ({"withheld": withheld} if withheld else {"text": text})


def rename_record(old: str, new: str) -> Record:
    """A memory whose file moved: its history goes with it."""
    return {"kind": "rename", "id": old, "to": new}


def forget_record(key: str) -> Record:
    """A memory that was forgotten: a mark without its name."""
    return {"kind": "forget", "id_sha256": key_digest(key)}


def clusters_record(changed: dict[str, list[str]], gone: Iterable[str]) -> Record:
    """The clusters whose anchors changed and those that are no more."""
    return {"kind": "clusters", "set": changed, "gone": sorted(gone)}


def key_digest(key: str) -> str:
    """The mark of a forgotten memory."""
    return sha256(key.encode("utf-8", "replace")).hexdigest()


def replay(records: Iterable[Record]) -> Past:
    """The past that a journal tells; records that lack what they need are passed over."""
    past = Past()
    for record in records:
        kind = record["kind"]
        if kind == "version" and isinstance(record.get("id"), str) and isinstance(record.get("sha256"), str):
            past.versions.append(
                Version(
                    record["id"],
                    record["t"],
                    record["sha256"],
                    str(record.get("reason", "edited")),
                    record.get("text"),
                    record.get("withheld"),
                )
            )
        elif kind == "rename" and isinstance(record.get("id"), str) and isinstance(record.get("to"), str):
            past.versions = renamed(past.versions, record["id"], record["to"])
        elif kind == "forget" and isinstance(record.get("id_sha256"), str):
            past.tombstones[record["id_sha256"]] = record["t"]
        elif kind == "clusters" and isinstance(record.get("set"), dict):
            for key in record.get("gone", []):
                past.anchors.pop(key, None)
            past.anchors.update(record["set"])
    return past


def renamed(versions: list[Version], old: str, new: str) -> list[Version]:
    """The versions with those of one memory under its new key."""
    return [Version(new, v.at, v.sha256, v.reason, v.text, v.withheld) if v.memory_key == old else v for v in versions]
