"""What an agent was given in a session, so that it is not given again: a small file each, without the texts."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from memdb.base.place import Place

MOST = 64
"""Sessions that a store keeps; the one that was used the longest ago goes first."""

MOST_GIVEN = 2_000
"""Texts that are kept of one session: more than any context holds."""


def given(place: Place, session: str) -> dict[str, str]:
    """The marks of what a session was given, by id; empty where there is nothing readable."""
    return _read(_file(place, session))


def note(place: Place, session: str, marks: Mapping[str, str]) -> None:
    """Add to what a session was given. Two at once: the later one counts, and a text may be given twice.

    A folder that takes no write has no stash.
    """
    file = _file(place, session)
    if not marks:
        _touch(file)  # it is in use all the same
        return
    kept = _read(file)
    for key in marks:
        kept.pop(key, None)  # what is given again is the newest again
    kept.update(marks)
    with suppress(OSError):
        _write(file, dict(list(kept.items())[-MOST_GIVEN:]))
        _prune(file.parent)


def end(place: Place, session: str) -> None:
    """Drop what a session was given: its context is empty again."""
    with suppress(OSError):
        _file(place, session).unlink(missing_ok=True)


def forget(place: Place, key: str) -> None:
    """Drop a memory, or a document with its chunks, from every stash."""
    for file in _files(_folder(place)):
        kept = _read(file)
        gone = [one for one in kept if one == key or one.startswith(f"{key}#")]
        if gone:
            kept = {one: mark for one, mark in kept.items() if one not in gone}
            try:
                _write(file, kept)
            except OSError:
                file.unlink(missing_ok=True)  # a full disk: the session starts anew


def _folder(place: Place) -> Path:
    return place.home / "local" / "sessions"


def _file(place: Place, session: str) -> Path:
    # Where a store has several databases, each answers for itself; in a folder that moved, a session goes on.
    inside = place.database.is_relative_to(place.home)
    database = place.database.relative_to(place.home).as_posix() if inside else place.database
    name = sha256(f"{database}\0{session}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return _folder(place) / f"{name}.json"


def _read(file: Path) -> dict[str, str]:
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
        return {str(key): str(mark) for key, mark in said["given"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _write(file: Path, marks: Mapping[str, str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_name(f"{file.stem}-{secrets.token_hex(4)}.tmp")
    try:
        aside.write_text(json.dumps({"given": marks}), encoding="utf-8")
        os.replace(aside, file)  # noqa: PTH105
        _touch(file)
    finally:
        aside.unlink(missing_ok=True)


def _touch(file: Path) -> None:
    """Note when a session was used, more finely than file systems do, whose clock ticks a hundred times a second."""
    now = time.time_ns()
    with suppress(OSError):
        os.utime(file, ns=(now, now))


def _files(folder: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(folder.glob("*.json"))
    return []


def _prune(folder: Path) -> None:
    with os.scandir(folder) as entries:  # for every prompt: cheaper than a path for each
        stashes = [entry for entry in entries if entry.name.endswith(".json")]
    if len(stashes) <= MOST:
        return
    found = []
    for entry in stashes:
        with suppress(OSError):  # another process took it
            found.append((entry.stat().st_mtime_ns, entry.path))
    for _, path in sorted(found)[:-MOST]:
        Path(path).unlink(missing_ok=True)
