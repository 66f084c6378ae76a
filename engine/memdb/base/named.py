"""Stores by name: a list of this user, `stores.toml` in memdb's own folder, which no store depends on.

A name stands for a store's id, which lies in its `.memdb/config.toml` and goes where the folder goes; the path says
where it was seen last. So a folder that was moved keeps its name: once it is opened where it is now, the list follows.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from memdb.base import settings
from memdb.base.files import write_whole
from memdb.base.place import FOLDER, Place
from memdb.errors import Busy, MemdbError, NotFound, NotWritable, Refused, StoreUnreadable, UsageError

LOCK_SECONDS = 5.0
"""How long a change of the list waits for another one."""

_NAME = re.compile(r"[^\W_][\w.-]{0,63}")
"""A name has no slash and begins with a letter or a digit, so that it is told from a path as people write one."""


class Named(NamedTuple):
    """A store by name: where it was seen last, its id, and its database where that lies elsewhere.

    `copies` are other folders with the same id that were opened while this one was there.
    """

    name: str
    root: Path
    id: str | None
    database: Path | None = None
    copies: tuple[Path, ...] = ()

    @property
    def place(self) -> Place:
        """The place of the store."""
        return own_place(self.root, self.database)

    @property
    def state(self) -> str:
        """What is at the path: ok, missing, unreadable, or replaced, where another store has it."""
        place = self.place
        if not place.config.exists():
            return "missing"
        try:
            return "ok" if settings.read_settings(place).get("id") == self.id else "replaced"
        except MemdbError:
            return "unreadable"


def own_place(root: Path | str, database: Path | str | None = None) -> Place:
    """The place of a store by itself: MEMDB_DB, which is one file, is not that of many."""
    return settings.place(root, database or Path(root) / FOLDER / "memory.db")


def file() -> Path:
    """The file of the list."""
    return settings.user_folder() / "stores.toml"


def read() -> dict[str, Named]:
    """All named stores, by name. Raises UsageError for a damaged list."""
    try:
        said = tomllib.loads(file().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file()} is not valid TOML: {error}", hint="Mend that line, or delete the file.") from error
    except OSError as error:
        raise UsageError(f"{file()} cannot be read: {error.strerror}") from error
    found = (_entry(name, one) for name, one in sorted(said.items()) if isinstance(one, dict))
    return {one.name: one for one in found if one is not None}


def _entry(name: str, said: dict[str, Any]) -> Named | None:
    path, mark, database, copies = (said.get(key) for key in ("path", "id", "database", "copies"))
    if not isinstance(path, str):
        return None
    return Named(
        name,
        Path(path).expanduser(),
        mark if isinstance(mark, str) else None,
        Path(database).expanduser() if isinstance(database, str) else None,
        tuple(Path(copy) for copy in copies if isinstance(copy, str)) if isinstance(copies, list) else (),
    )


def id_of(place: Place) -> str | None:
    """The id of the store at a place, the same wherever its folder lies; None where it cannot be read."""
    try:
        return settings.read_settings(place).get("id")
    except MemdbError:
        return None


def is_name(written: str) -> bool:
    """Whether a text can be a name."""
    return _NAME.fullmatch(unicodedata.normalize("NFC", written)) is not None


def find(name: str) -> Named:
    """A named store, in any capitals. Raises NotFound, with the names that there are."""
    stores = read()
    found = _meant(stores, name)
    if found is None:
        hint = f"There are {', '.join(stores)}." if stores else "`memdb stores add NAME FOLDER` names one."
        raise NotFound(f"There is no store of the name {name}.", hint=hint)
    return found


def _meant(stores: dict[str, Named], name: str) -> Named | None:
    folded = _folded(name)
    return stores.get(name) or next((one for one in stores.values() if _folded(one.name) == folded), None)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def meant(written: str) -> Named | None:
    """The store of a name, None where a folder is meant; a name goes before a folder of the same name.

    Raises NotFound for what could be a name, is none, and is no folder either.
    """
    if not is_name(written):
        return None
    found = _meant(read(), written)
    return find(written) if found is None and not Path(written).is_dir() else found


def place(written: str, database: Path | str | None = None) -> Place:
    """The place of a store that is written as its name or as a folder.

    Raises NotFound for a name that no store has, and where the named store is not at its path any more.
    """
    named = meant(written)
    if named is None:
        return settings.place(written, database)
    check(named)
    return settings.place(named.root, database) if database is not None else named.place


def check(named: Named) -> None:
    """Raise NotFound where a named store is not at its path, StoreUnreadable where its settings cannot be read."""
    state = named.state
    if state == "ok":
        return
    if state == "unreadable":
        try:
            settings.read_settings(named.place)
        except MemdbError as error:
            raise StoreUnreadable(error.message, hint=error.hint) from error
    seen = [copy for copy in named.copies if id_of(own_place(copy)) == named.id]
    where = f" A folder with its id was seen at {seen[0]}." if seen else ""
    what = "There is no store any more at" if state == "missing" else "Another store has taken the place of"
    said = f"{what} {named.root}, where {named.name} was.{where}"
    hint = f"Open it once where it is now (`memdb stats --root {seen[0] if seen else 'FOLDER'}`): its name follows it."
    raise NotFound(said, hint=hint)


def add(name: str, root: Path | str, database: Path | str | None = None) -> Named:
    """Give a store a name; one that has no id yet gets it. Raises UsageError, NotFound, Refused for a name in use."""
    where = own_place(root, database)
    settings.require(where)
    try:
        str(where).encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{where.root} has bytes in its name that are no text.", hint="Rename the folder.") from error
    with _changing() as stores:
        _check_name(stores, name)
        mark = settings.read_settings(where).get("id") or settings.give_id(where)
        elsewhere = where.database if database is not None else None
        stores[name] = Named(name, where.root, mark, elsewhere)
        return stores[name]


def remove(name: str) -> Named:
    """Forget a name; the store itself is not touched. Raises NotFound."""
    with _changing() as stores:
        return stores.pop(find(name).name)


def rename(name: str, new: str) -> Named:
    """Give a store another name. Raises NotFound, UsageError, Refused for a name in use."""
    with _changing() as stores:
        found = stores.pop(find(name).name)
        _check_name(stores, new)
        stores[new] = found._replace(name=new)
        return stores[new]


def _check_name(stores: dict[str, Named], name: str) -> None:
    if not is_name(name) or not name.isprintable():
        raise UsageError(
            f"{name!r} is no name of a store.",
            hint="Letters, digits, hyphens, dots and underscores, a letter or a digit first; at most 64.",
        )
    taken = _meant(stores, name)
    if taken is not None:
        raise Refused(
            f"The name {taken.name} is that of {taken.root} already.",
            hint=f"`memdb stores remove {taken.name}` frees it; the store stays.",
        )


def opened(where: Place) -> list[str]:
    """Note that a store was opened; returns what a person should know: a name that followed it, a copy of it.

    A name whose path is gone, or holds another store, goes to where its id is now. While both are there, nobody can
    tell the copy from the store: it is said, once, and nothing is changed.
    """
    try:
        stores = read()
    except UsageError as error:
        return [error.message]
    mark = id_of(where) if stores else None
    mine = [one for one in stores.values() if mark is not None and one.id == mark]
    if not mine:
        return []
    with suppress(OSError):
        _opened_file(where).touch()
    if any(one.root == where.root for one in mine):
        return []
    notes = []
    for one in mine:
        if one.state in ("missing", "replaced"):
            _mend(one, one._replace(root=where.root, copies=()))
            notes.append(f"The store {one.name} is at {where.root} now; it was at {one.root}.")
        elif where.root not in one.copies:
            _mend(one, one._replace(copies=(*one.copies, where.root)))
            notes.append(
                f"{where.root} and {one.root} ({one.name}) have one id: one is a copy of the other, or both are clones."
                f" The name stays with {one.root}."
            )
    return notes


def _mend(before: Named, after: Named) -> None:
    """Change an entry, unless another process did meanwhile; a list that takes no write stays as it is."""
    with suppress(Busy, NotWritable), _changing() as stores:
        if stores.get(before.name) == before:
            stores[before.name] = after


def last_opened(where: Place) -> float | None:
    """When a named store was opened last, in seconds since 1970; None where that is not known."""
    try:
        return _opened_file(where).stat().st_mtime
    except OSError:
        return None


def _opened_file(where: Place) -> Path:
    return where.home / "local" / "last-opened"


@contextmanager
def _changing() -> Iterator[dict[str, Named]]:
    """The stores to change in place; written at the end. Raises Busy, NotWritable, UsageError for a damaged list."""
    import filelock  # noqa: PLC0415 (only a change needs it)

    lock = filelock.FileLock(str(file().with_suffix(".lock")))
    try:
        file().parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=LOCK_SECONDS)
    except filelock.Timeout as error:
        raise Busy(f"Another process changes {file()}.", hint="Try again.") from error
    except OSError as error:
        raise NotWritable(f"{file()} cannot be written: {error.strerror or error}.") from error
    try:
        stores = read()
        before = dict(stores)
        yield stores
        if stores != before:
            write_whole(file(), "\n".join(_written(one) for _, one in sorted(stores.items())).encode())
    finally:
        lock.release()


def _written(one: Named) -> str:
    """An entry as TOML."""
    values: dict[str, Any] = {"path": os.fspath(one.root)}
    values |= {"id": one.id} if one.id is not None else {}
    values |= {"database": os.fspath(one.database)} if one.database is not None else {}
    values |= {"copies": [os.fspath(copy) for copy in one.copies]} if one.copies else {}
    lines = (f"{key} = {_toml(value)}\n" for key, value in values.items())
    return f"[{_toml(one.name)}]\n{''.join(lines)}"


def _toml(value: Any) -> str:
    """A text or a list of texts as TOML: as JSON writes them, but that DEL has to be escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
