"""What the journal says of the past: earlier texts, renames, what was forgotten, and the identity of clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    additions: dict[str, bool] = field(default_factory=dict)  # path: whether it is excluded


KINDS = ("version", "rename", "forget", "clusters", "add", "remove")
"""The kinds of journal record that are read here."""


def version_record(key: str, digest: str, reason: str, text: str | None, withheld: str | None = None) -> Record:
    """An earlier text, written before the new one takes its place."""
    record: Record = {"kind": "version", "id": key, "sha256": digest, "reason": reason}
    return record | ({"withheld": withheld} if withheld else {"text": text})


def rename_record(moves: Mapping[str, str]) -> Record:
    """Memories that have another id now, all at once: their history goes with them."""
    return {"kind": "rename", "moves": dict(sorted(moves.items()))}


def forget_record(key: str) -> Record:
    """A memory that was forgotten: a mark without its name."""
    return {"kind": "forget", "id_sha256": key_digest(key)}


def clusters_record(changed: dict[str, list[str]], gone: Iterable[str]) -> Record:
    """The clusters whose anchors changed and those that are no more."""
    return {"kind": "clusters", "set": changed, "gone": sorted(gone)}


def add_record(path: str) -> Record:
    """A file or folder whose documents the store mirrors from now on."""
    return {"kind": "add", "path": path}


def remove_record(path: str) -> Record:
    """A file or folder that it no longer mirrors."""
    return {"kind": "remove", "path": path}


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies in it; the empty path is the root."""
    if not folder:
        return not is_outside(path)
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def is_outside(path: str) -> bool:
    """Whether a stored path is absolute, and so outside of the root; on Windows it begins with a drive or `//`."""
    return path.startswith("/") or path[1:3] == ":/"


def with_addition(additions: Mapping[str, bool], record: Record) -> dict[str, bool]:
    """The additions after one more record: what lies below its path is decided by it alone."""
    path = record["path"]
    kept = {other: excluded for other, excluded in additions.items() if not is_below(other, path)}
    if record["kind"] == "add":
        return kept | {path: False}
    covered = [other for other, excluded in kept.items() if not excluded and is_below(path, other)]
    return kept | {path: True} if covered else kept


def key_digest(key: str) -> str:
    """The mark of a forgotten memory."""
    return sha256(key.encode("utf-8", "replace")).hexdigest()


def is_whole(record: Record) -> bool:
    """Whether a record of one of KINDS has what its kind needs; others are passed over."""
    kind = record["kind"]
    if kind == "version":
        return isinstance(record.get("id"), str) and isinstance(record.get("sha256"), str)
    if kind == "rename":
        moves = record.get("moves")
        return isinstance(moves, dict) and all(isinstance(new, str) for new in moves.values())
    if kind == "forget":
        return isinstance(record.get("id_sha256"), str)
    if kind in ("add", "remove"):
        return isinstance(record.get("path"), str)
    return kind == "clusters" and isinstance(record.get("set"), dict) and isinstance(record.get("gone", []), list)


def replay(records: Iterable[Record]) -> Past:
    """The past that a journal tells. What was written of a memory before it was forgotten is not told."""
    past = Past()
    for record in filter(is_whole, records):
        kind = record["kind"]
        if kind == "version":
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
        elif kind == "rename":
            past.versions = [_renamed(version, record["moves"]) for version in past.versions]
        elif kind == "forget":
            mark = record["id_sha256"]
            past.versions = [version for version in past.versions if key_digest(version.memory_key) != mark]
            past.anchors = {key: [a for a in found if key_digest(a) != mark] for key, found in past.anchors.items()}
            past.tombstones[mark] = record["t"]
        elif kind in ("add", "remove"):
            past.additions = with_addition(past.additions, record)
        else:
            for key in record.get("gone", []):
                past.anchors.pop(key, None)
            past.anchors.update(record["set"])
    return past


def _renamed(version: Version, moves: Mapping[str, str]) -> Version:
    new = moves.get(version.memory_key)
    if new is None:
        return version
    return Version(new, version.at, version.sha256, version.reason, version.text, version.withheld)


def remains(records: list[Record]) -> dict[int, Record | None]:
    """What the records still tell of memories that were forgotten after them, by the record's place in the list.

    The value is what the record is to become, None where nothing of it stays. A memory is followed through its renames,
    so that what was written under an earlier id goes too. Texts come back this way when another machine's journal is
    merged.
    """
    attached: dict[str, list[tuple[int, str]]] = {}  # id: places of its records, each with the id that stands in it
    seen: list[int] = []  # places of cluster records
    result: dict[int, Record | None] = {}
    for place, record in enumerate(records):
        if not is_whole(record):
            continue
        kind = record["kind"]
        if kind == "version":
            attached.setdefault(record["id"], []).append((place, record["id"]))
        elif kind == "rename":
            taken = {old: attached.pop(old, []) for old in record["moves"]}
            for old, new in record["moves"].items():
                attached.setdefault(new, []).extend([*taken[old], (place, old)])
        elif kind == "clusters":
            seen.append(place)
        elif kind == "forget":
            mark = record["id_sha256"]
            names = {key for key in attached if key_digest(key) == mark}
            for key in list(names):
                for at, old in attached.pop(key):
                    names.add(old)
                    _take_out(result, records, at, old)
            for at in seen:
                _strip_anchors(result, records, at, names, mark)
    return result


def _take_out(result: dict[int, Record | None], records: list[Record], place: int, old: str) -> None:
    record = records[place]
    now = result.get(place, record)
    if record["kind"] == "version" or now is None:
        result[place] = None
        return
    moves = {key: new for key, new in now["moves"].items() if key != old}
    result[place] = {**now, "moves": moves} if moves else None


def _strip_anchors(
    result: dict[int, Record | None], records: list[Record], place: int, names: set[str], mark: str
) -> None:
    now = result.get(place, records[place])
    if now is None:
        return
    kept = {
        cluster: [anchor for anchor in anchors if anchor not in names and key_digest(anchor) != mark]
        for cluster, anchors in now["set"].items()
    }
    if kept != now["set"]:
        result[place] = {**now, "set": kept}
