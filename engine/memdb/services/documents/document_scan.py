"""Which documents need a look? The files below what was added, compared with what the index has of them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

from memdb.base.files import Stamp, Walk, is_memory_file
from memdb.base.storage import Database
from memdb.domain import documents, formats, history
from memdb.domain.documents import DocumentFile, Walked
from memdb.services.context import Context
from memdb.services.documents import snapshots


class Known(NamedTuple):
    """What the index has of a place."""

    size: int
    mtime_ns: int
    ctime_ns: int
    sha256: str
    state: str
    document: int | None
    extractor: str | None
    cutter: str | None


@dataclass(frozen=True, slots=True)
class Scan:
    """The files that need a look, the places that are gone or no longer wanted, and the folders that cannot be read."""

    known: dict[str, Known]  # empty where nothing differs
    suspects: list[DocumentFile]
    unchanged: int
    missing: list[str]
    unwanted: list[str]
    skipped: list[str]
    problems: list[tuple[str, str]]
    is_behind: bool


def scan(context: Context, seen: Walk | None = None) -> Scan:
    """Compare the files below what was added, and the snapshots, with the places; reads no file and no network.

    What a walk over the root has `seen` just now is not listed again, if the database has the same places as then.
    """
    database, root = context.database, context.place.root
    with database.read():
        additions, added, excluded = _additions(context)
        held = _stamps(context, added, excluded)
        stood = database.rows("select path, reason from problem where code = 'addition' order by path, reason")
        kept, lost = snapshots.listed(context)
    if not additions and not held.places and not stood and not kept and not lost:
        return Scan({}, [], 0, [], [], [], [], is_behind=False)
    wanted = _below(added, root)
    listed = seen.listed if seen is not None and seen.documents is held.inside else {}
    walked = Walked(held.stamps, listed, problems=[(path, documents.LOST) for path in lost])
    found = [
        (file, whole)
        for whole in (documents.real_path(path, root) for path in added)
        for file in documents.walk(whole, root, excluded, walked)
    ]
    there, unchanged = walked.as_known, len(walked.as_known)
    known = _known(database, [file.path for file in kept]) if kept else {}
    # Where all places were seen that are not known to be gone, what was found beside them has none.
    is_back = any(file.path in held.gone for file, _ in found)
    if is_back or len(there) + len(known) < len(held.places) - len(held.gone):
        known = _known(database)
    outdated = _outdated(context, known)
    suspects, skipped = [], []
    for file in kept:
        there.add(file.path)
        if file.path in outdated or _differs(file, known.get(file.path)) or known[file.path].sha256 != file.expected:
            suspects.append(file)
        else:
            unchanged += 1
    for file, whole in found:
        if file.path in there:
            continue
        if file.suffix not in formats.READABLE and file.real != whole:
            skipped.append(file.path)
            continue
        there.add(file.path)
        if file.path in outdated or _differs(file, known.get(file.path)):
            suspects.append(file)
        else:
            unchanged += 1
    gone = sorted(known.keys() - there)
    unwanted = [
        path for path in gone if (path not in lost if history.is_snapshot(path) else excluded(path) or not wanted(path))
    ]
    missing = sorted({path for path in gone if known[path].state != "missing"} - set(unwanted))
    problems = sorted(walked.problems)
    is_behind = bool(unwanted or missing or problems != stood)
    return Scan(known, suspects, unchanged, missing, unwanted, skipped, problems, is_behind)


def stamps(context: Context) -> Mapping[str, Stamp]:
    """What a walk over the root compares documents in it with, so that they are not listed again."""
    with context.database.read():
        _, added, excluded = _additions(context)
        return _stamps(context, added, excluded).inside


def _additions(context: Context) -> tuple[list[tuple[str, int]], list[str], Callable[[str], bool]]:
    """What was added and excluded as it is listed, the paths that were added, and whether a path is excluded."""
    rows = context.database.rows("select path, excluded from addition order by path")
    additions = [(str(path), int(is_excluded)) for path, is_excluded in rows]
    added = [path for path, is_excluded in additions if not is_excluded]
    return additions, added, _below([path for path, is_excluded in additions if is_excluded], context.place.root)


def _known(database: Database, paths: Sequence[str] | None = None) -> dict[str, Known]:
    """What the index has of all places, or of some."""
    rows = database.rows(
        "select path, size, mtime_ns, ctime_ns, place.sha256, place.state, document_id, extractor, cutter"
        " from place left join document on document.id = document_id"
        " where ?1 is null or path in (select value from json_each(?1))",
        (None if paths is None else json.dumps(paths),),
    )
    return {path: Known(*rest) for path, *rest in rows}


State = tuple[str | None, ...]
"""Changes with what is stored of documents and additions, with what extractors could read, and with the model."""


class _Held(NamedTuple):
    """What a scan compares files with, for the state of a database and the model that it was asked with.

    `inside` has the stamps of what lies in the root for a walk over its memories; none where one could be a memory too.
    `gone` are the `places` whose files are known to be missing, and that are wanted all the same.
    """

    state: State
    stamps: Mapping[str, Stamp]
    inside: Mapping[str, Stamp]
    places: AbstractSet[str]
    gone: AbstractSet[str]


_held: WeakKeyDictionary[Database, _Held] = WeakKeyDictionary()


def _stamps(context: Context, added: Sequence[str], excluded: Callable[[str], bool]) -> _Held:
    """Size and times of every file that a walk may take as it is, and all places.

    Read again only when one of them was written: that takes longer than to look at the files.
    """
    database, state = context.database, _state(context)
    held = _held.get(database)
    if held is None or held.state != state:
        known = _known(database)
        outdated, alone = _outdated(context, known), set(added)
        stamps = {
            path: (place.size, place.mtime_ns, place.ctime_ns)
            for path, place in known.items()
            if place.state != "missing"
            and path not in outdated
            and not excluded(path)
            # A file that neither its name nor an extension tells to read is read only where it was added itself.
            and (path in alone or _is_readable(path))
        }
        inside = {
            path: stamp for path, stamp in stamps.items() if not (history.is_outside(path) or history.is_snapshot(path))
        }
        if any(is_memory_file(path.rpartition("/")[2]) for path in inside):
            inside = {}
        wanted = _below(added, context.place.root)
        gone = {
            path
            for path, place in known.items()
            if place.state == "missing" and not history.is_snapshot(path) and wanted(path) and not excluded(path)
        }
        held = _held[database] = _Held(state, stamps, inside, known.keys(), gone)
    return held


def places(context: Context) -> AbstractSet[str]:
    """The stored paths of all documents."""
    held = _held.get(context.database)
    if held is not None and held.state == _state(context):
        return held.places
    return {path for (path,) in context.database.rows("select path from place")}


def _state(context: Context) -> State:
    return *(context.database.meta(key) for key in ("places", "abilities")), cutter_of(context)


def _is_readable(path: str) -> bool:
    name = path.rpartition("/")[2]
    return documents.is_kept(name) and os.path.splitext(name)[1].lower() in formats.READABLE  # noqa: PTH122 (no file yet)


def _below(folders: Sequence[str], root: Path) -> Callable[[str], bool]:
    """Whether a path lies in any of some folders; the root may itself lie in one."""
    whole = {documents.real_path(folder, root).as_posix().rstrip("/") for folder in folders}
    base = root.as_posix().rstrip("/") + "/"

    def lies_below(path: str) -> bool:
        if not whole:
            return False
        at = path if history.is_outside(path) else (base + path).rstrip("/")
        while at not in whole:
            at, slash, _ = at.rpartition("/")
            if not slash:
                return "" in whole
        return True

    return lies_below


def _differs(file: DocumentFile, known: Known | None) -> bool:
    if known is None or known.state == "missing":
        return True
    return (known.size, known.mtime_ns, known.ctime_ns) != (file.size, file.mtime_ns, file.ctime_ns)


def _outdated(context: Context, known: dict[str, Known]) -> set[str]:
    """The places of documents that another version of their extractor has read, or another model's tokens have cut.

    Also those of files that could not be read, once there are other extractors or libraries.
    """
    versions, cutter = formats.versions(), cutter_of(context)
    old = (
        {
            path
            for path, place in known.items()
            if place.extractor is not None and (place.extractor not in versions or place.cutter not in (cutter, None))
        }
        if cutter
        else {path for path, place in known.items() if place.extractor not in (None, *versions)}
    )
    errors = {path for path, place in known.items() if place.state == "error"}
    if errors and context.database.meta("abilities") != documents.abilities():
        old |= errors
    return old


def cutter_of(context: Context) -> str | None:
    """The model whose tokens count, or None where there is none: what a model has cut stays as it is then."""
    status = context.embedder.status
    return None if status.state == "off" or status.identity == context.broken_tokenizer else status.identity
