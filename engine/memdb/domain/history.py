"""What the journal says of the past: earlier texts, renames, decisions, what was forgotten, who clusters are."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Any

from memdb.base.journal import Record
from memdb.domain import curation


@dataclass(frozen=True, slots=True)
class Version:
    """An earlier text of a memory."""

    memory_key: str
    at: str
    sha256: str
    reason: str  # saved, edited, deleted, restated, restored
    text: str | None
    withheld: str | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was fetched or uploaded under a path: its bytes are kept under their sha256."""

    path: str  # the address that was asked for, or `upload://` and a name
    link: str | None  # the address that answered; None of an upload
    sha256: str
    suffix: str  # by which the bytes are read
    content_type: str | None
    fetched_at: str


@dataclass(slots=True)
class Past:
    """All that the journal says, replayed in order."""

    versions: list[Version] = field(default_factory=list)
    tombstones: dict[str, str] = field(default_factory=dict)
    anchors: dict[str, list[str]] = field(default_factory=dict)
    additions: dict[str, bool] = field(default_factory=dict)  # path: whether it is excluded
    snapshots: dict[str, Snapshot] = field(default_factory=dict)
    replaced: set[str] = field(default_factory=set)  # sha256 of snapshots that gave way or were removed
    extractions: list[Record] = field(default_factory=list)
    births: dict[str, list[str]] = field(default_factory=dict)  # times at which each memory came to be
    judgements: list[Record] = field(default_factory=list)
    decisions: list[Record] = field(default_factory=list)  # of the kinds vocabulary and curation

    @property
    def unwanted(self) -> set[str]:
        """The snapshots that no path has any more."""
        return self.replaced - {snapshot.sha256 for snapshot in self.snapshots.values()}


KINDS = (
    "version", "rename", "forget", "clusters", "add", "remove", "snapshot", "extraction", "vocabulary", "curation",
    "created", "judgement",
)  # fmt: skip
"""The kinds of journal record that are read here."""

DECISIONS = ("vocabulary", "curation")
"""Of those, the ones that say what a person decided."""

ATTACHED = ("extraction", "created", "judgement")
"""Those that say something of a text, and go with it when it is forgotten."""

SIDES = ("keep", "against")
"""Fields of a resolution between memories that name them."""

DOCUMENT = "document:"
"""What the id of a document begins with."""


def version_record(key: str, digest: str, reason: str, text: str | None, withheld: str | None = None) -> Record:
    """An earlier text, written before the new one takes its place."""
    record: Record = {"kind": "version", "id": key, "sha256": digest, "reason": reason}
    return record | ({"withheld": withheld} if withheld else {"text": text})


def rename_record(moves: Mapping[str, str]) -> Record:
    """Memories that have another id now, all at once: their history goes with them."""
    return {"kind": "rename", "moves": dict(sorted(moves.items()))}


def forget_record(key: str, decisions: Iterable[str] = ()) -> Record:
    """A memory or document that was forgotten: a mark without its name, and the refs of decisions that went with it."""
    refs = sorted(decisions)
    return {"kind": "forget", "id_sha256": key_digest(key)} | ({"decisions": refs} if refs else {})


def clusters_record(changed: dict[str, list[str]], gone: Iterable[str]) -> Record:
    """The clusters whose anchors changed and those that are no more."""
    return {"kind": "clusters", "set": changed, "gone": sorted(gone)}


def add_record(path: str) -> Record:
    """A file or folder whose documents the store mirrors from now on."""
    return {"kind": "add", "path": path}


def remove_record(path: str) -> Record:
    """A file, folder, page or upload that it no longer mirrors."""
    return {"kind": "remove", "path": path}


def snapshot_record(snapshot: Snapshot) -> Record:
    """What was fetched or uploaded; the bytes are a file of their own."""
    return {
        "kind": "snapshot",
        "path": snapshot.path,
        "link": snapshot.link,
        "sha256": snapshot.sha256,
        "suffix": snapshot.suffix,
        "content_type": snapshot.content_type,
        "fetched_at": snapshot.fetched_at,
    }


def snapshot_of(record: Record) -> Snapshot:
    """What a whole record of the kind `snapshot` says."""
    return Snapshot(
        record["path"],
        record.get("link"),
        record["sha256"],
        record["suffix"],
        record.get("content_type"),
        str(record.get("fetched_at") or record["t"]),
    )


def is_snapshot(path: str) -> bool:
    """Whether a stored path is that of a page or an upload: no file's has two slashes behind a colon."""
    return "://" in path


def extraction_record(
    key: str,
    text_sha256: str,
    prompt_sha256: str,
    model: str,
    output: Mapping[str, Any],
    *,
    refused: Iterable[str] = (),
    input_tokens: int | None = None,
    output_tokens: int | None = None,
    cost: float | None = None,
) -> Record:
    """A model's output for the text of a memory or chunk: what was paid for once is never asked for again.

    `refused` are the types and predicates, as `type:NAME` and `predicate:NAME`, that were disabled when it was asked.
    """
    return {
        "kind": "extraction",
        "id": key,
        "text_sha256": text_sha256,
        "prompt_sha256": prompt_sha256,
        "model": model,
        "output": dict(output),
        "refused": sorted(refused),
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "cost": cost,
    }


def created_record(key: str) -> Record:
    """A memory that came to be: memdb saved it, or found it in a store that had been read whole before."""
    return {"kind": "created", "id": key}


def judgement_record(
    pair: tuple[str, str],
    digests: tuple[str, str],
    prompt_sha256: str,
    model: str,
    verdict: str,
    *,
    quotes: tuple[str, str] | None = None,
    input_tokens: int | None = None,
    output_tokens: int | None = None,
    cost: float | None = None,
) -> Record:
    """What a model said of a memory and another one near to it: of the same two texts it is never asked again.

    `pair` has their ids, `digests` the sha256 of their texts, `quotes` words of the one and of the other. What the
    question took stands in the first of its records.
    """
    return {
        "kind": "judgement",
        "id": pair[0],
        "other": pair[1],
        "text_sha256": digests[0],
        "other_sha256": digests[1],
        "prompt_sha256": prompt_sha256,
        "model": model,
        "verdict": verdict,
        "quotes": list(quotes) if quotes else None,
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "cost": cost,
    }


VERDICTS = ("same", "restates", "contradicts", "unrelated")
"""What a model can say of two memories."""


def vocabulary_record(action: str, list_: str, name: str, **fields: str | bool) -> Record:
    """A decision about the vocabulary; `list_` is `type` or `predicate`, `fields` go with the action."""
    return {"kind": "vocabulary", "action": action, "list": list_, "name": name, **fields}


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies in it; the empty path is the root."""
    if is_snapshot(path) or is_snapshot(folder):
        return path == folder
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


@lru_cache(maxsize=65_536)
def key_digest(key: str) -> str:
    """The mark of a forgotten memory or document."""
    return sha256(key.encode("utf-8", "replace")).hexdigest()


def is_meant(key: str, mark: str) -> bool:
    """Whether a mark is that of a memory or document, or that of the document which a chunk is of."""
    if key_digest(key) == mark:
        return True
    document, chunk, _ = key.partition("#")
    return bool(chunk) and key.startswith(DOCUMENT) and key_digest(document) == mark


def document_key(path: str) -> str:
    """The id of the document at a stored path; the characters that mean something in ids and paths are `%`-escaped.

    What follows a `#` in an id is a chunk's, so that no document has the id of another one's chunk.
    """
    escaped = re.sub(r"%(?=0[9AD]|2[35])|[#\t\n\r]", lambda found: f"%{ord(found[0]):02X}", path)
    return f"{DOCUMENT}{escaped}"


def is_whole(record: Record) -> bool:
    """Whether a record of one of KINDS has what its kind needs; others are passed over."""
    kind = record["kind"]
    if not all(isinstance(record.get(name), str) for name in TEXTS.get(kind, ())):
        return False
    return kind in KINDS and (kind not in CHECKS or CHECKS[kind](record))


TEXTS = {
    "version": ("id", "sha256"),
    "forget": ("id_sha256",),
    "add": ("path",),
    "remove": ("path",),
    "extraction": ("id", "text_sha256", "prompt_sha256", "model"),
    "created": ("id",),
    "judgement": ("id", "other", "text_sha256", "other_sha256", "prompt_sha256", "model", "verdict"),
    "vocabulary": ("action", "name"),
}
"""What a record of each kind has to have as text."""


def _is_whole_rename(record: Record) -> bool:
    moves = record.get("moves")
    return isinstance(moves, dict) and all(isinstance(new, str) for new in moves.values())


def _is_whole_judgement(record: Record) -> bool:
    quotes = record.get("quotes")
    stand = isinstance(quotes, list) and [type(one) for one in quotes] == [str, str]
    return record["verdict"] in VERDICTS and (quotes is None or stand)


def _is_whole_snapshot(record: Record) -> bool:
    # A journal can come from anywhere: the sha256 becomes the name of a file, the link is opened.
    path, link, digest, suffix = (record.get(name) for name in ("path", "link", "sha256", "suffix"))
    return (
        isinstance(path, str)
        and is_snapshot(path)
        and (link is None or (isinstance(link, str) and re.match(r"https?://", link) is not None))
        and isinstance(digest, str)
        and re.fullmatch(r"[0-9a-f]{64}", digest) is not None
        and isinstance(suffix, str)
        and re.fullmatch(r"(\.[a-z0-9_+-]{1,20})?", suffix) is not None
        and isinstance(record.get("content_type"), str | None)
    )


CHECKS: dict[str, Callable[[Record], bool]] = {
    "rename": _is_whole_rename,
    "clusters": lambda one: isinstance(one.get("set"), dict) and isinstance(one.get("gone", []), list),
    "forget": lambda one: curation.are_texts(one.get("decisions", [])),
    "snapshot": _is_whole_snapshot,
    "vocabulary": lambda one: one.get("list") in ("type", "predicate"),
    "curation": curation.is_whole,
    "extraction": lambda one: isinstance(one.get("output"), dict),
    "judgement": _is_whole_judgement,
}
"""What a record of each kind has to be like beside that."""


def replay(records: Iterable[Record]) -> Past:
    """The past that a journal tells. What was written of a memory before it was forgotten is not told."""
    past = Past()
    told: dict[str, list[Record]] = {}  # records of the kinds ATTACHED by the ids of the memories and chunks they name
    untold: set[int] = set()  # those of which one was forgotten
    for record in filter(is_whole, records):
        kind = record["kind"]
        if kind == "version":
            past.versions.append(_version(record))
        elif kind == "rename":
            _move(past, told, record["moves"])
        elif kind == "forget":
            past.tombstones[record["id_sha256"]] = record["t"]
            untold |= _forget(past, told, record)
        elif kind == "snapshot" or (kind == "remove" and is_snapshot(record["path"])):
            before = past.snapshots.pop(record["path"], None)
            past.replaced.update([before.sha256] if before else [])
            if kind == "snapshot":
                past.snapshots[record["path"]] = snapshot_of(record)
        elif kind in ("add", "remove"):
            past.additions = with_addition(past.additions, record)
        elif kind in ATTACHED:
            for key in named_by(record):
                told.setdefault(key, []).append(record)
        elif kind in DECISIONS:
            past.decisions.append(record)
        else:
            for key in record.get("gone", []):
                past.anchors.pop(key, None)
            past.anchors.update(record["set"])
    _sort_out(past, told, untold)
    return past


def named_by(record: Record) -> set[str]:
    """The ids that a record of the kinds ATTACHED names, or one of an earlier text."""
    return {record["id"], record["other"]} if record["kind"] == "judgement" else {record["id"]}


def _sort_out(past: Past, told: Mapping[str, list[Record]], untold: Collection[int]) -> None:
    """Put records of the kinds ATTACHED where they belong, in the order of their times."""
    found: dict[int, Record] = {}
    for key, records in told.items():
        for one in records:
            if id(one) in untold:
                continue
            if one["kind"] == "created":
                past.births.setdefault(key, []).append(one["t"])
            else:
                found[id(one)] = one
    for one in sorted(found.values(), key=lambda one: (one["t"], one["w"])):
        (past.extractions if one["kind"] == "extraction" else past.judgements).append(one)


def _version(record: Record) -> Version:
    return Version(
        record["id"],
        record["t"],
        record["sha256"],
        str(record.get("reason", "edited")),
        record.get("text"),
        record.get("withheld"),
    )


def _move(past: Past, told: dict[str, list[Record]], moves: Mapping[str, str]) -> None:
    """Let what is known of memories follow them to other ids."""
    past.versions = [_renamed(version, moves) for version in past.versions]
    past.decisions = [with_moves(decision, moves) for decision in past.decisions]
    moved = {new: told.pop(old) for old, new in moves.items() if old in told}
    for key, found in moved.items():
        told.setdefault(key, []).extend(found)


def _forget(past: Past, told: dict[str, list[Record]], forgotten: Record) -> set[int]:
    """Drop what is known of a memory or document; returns which of the records in `told` go with it."""
    mark = forgotten["id_sha256"]
    past.versions = [version for version in past.versions if key_digest(version.memory_key) != mark]
    past.anchors = {key: [a for a in found if key_digest(a) != mark] for key, found in past.anchors.items()}
    past.decisions = [
        without_memories(decision, {key for key in memories_of(decision) if key_digest(key) == mark})
        for decision in past.decisions
    ]
    gone = gone_with(past.decisions, forgotten)
    past.decisions = [decision for decision in past.decisions if curation.ref_of(decision) not in gone]
    for path in [path for path in past.snapshots if key_digest(document_key(path)) == mark]:
        past.replaced.add(past.snapshots.pop(path).sha256)
    return {id(one) for key in [key for key in told if is_meant(key, mark)] for one in told.pop(key)}


def gone_with(decisions: Iterable[Record], forgotten: Record) -> set[str]:
    """The refs of the decisions that go with what was forgotten.

    Those that its record names, those between memories of which one is left, and those that are of such alone.
    """
    gone = set(forgotten.get("decisions", ()))
    for one in decisions:
        is_of_gone = set(curation.means(one))
        if _is_moot(one) or (is_of_gone and is_of_gone <= gone):
            gone.add(curation.ref_of(one))
    return gone


def _is_moot(record: Record) -> bool:
    """Whether a decision was between memories, and all but one of them were forgotten."""
    return is_between_memories(record) and len(memories_of(record)) < 2


def _renamed(version: Version, moves: Mapping[str, str]) -> Version:
    new = moves.get(version.memory_key)
    if new is None:
        return version
    return Version(new, version.at, version.sha256, version.reason, version.text, version.withheld)


def memories_of(record: Record) -> list[str]:
    """The memories that a decision names."""
    return [key for side in SIDES for key in record.get(side, [])] if is_between_memories(record) else []


def is_between_memories(record: Record) -> bool:
    """Whether a decision settles a conflict between memories."""
    return bool(record["kind"] == "curation" and record["action"] == "resolve" and record["of"] == "memories")


def with_moves(record: Record, moves: Mapping[str, str]) -> Record:
    """A decision with the ids that the memories which it names have now."""
    if not any(key in moves for key in memories_of(record)):
        return record
    return record | {side: [moves.get(key, key) for key in record[side]] for side in SIDES if side in record}


def without_memories(record: Record, gone: Collection[str]) -> Record:
    """A decision without the memories that were forgotten."""
    if not gone:
        return record
    return record | {side: [key for key in record[side] if key not in gone] for side in SIDES if side in record}
