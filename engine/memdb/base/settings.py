"""Which folder is the store, and its settings: `.memdb/config.toml`, over which MEMDB_* variables win."""

from __future__ import annotations

import json
import os
import re
import secrets
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import platformdirs

from memdb.base.files import make_folder, write_whole
from memdb.base.place import Place, at, nearest
from memdb.errors import NotFound, NotWritable, StoreUnreadable, UsageError

OFF = ("0", "no", "off", "false", "none")
"""What switches a setting off."""


def find_root(start: Path | None = None) -> Path:
    """The root to use when none is named.

    MEMDB_STORE, MEMDB_ROOT, the nearest folder upward with `.memdb/`, else a per-user folder.
    """
    if os.environ.get("MEMDB_STORE"):
        return place().root
    named = os.environ.get("MEMDB_ROOT")
    if named:
        return Path(named).expanduser()
    return nearest(start or Path.cwd()) or user_folder() / "memories"


def user_folder() -> Path:
    """memdb's folder of this user; MEMDB_HOME replaces it."""
    named = os.environ.get("MEMDB_HOME")
    return Path(named).expanduser() if named else Path(platformdirs.user_data_dir("memdb", appauthor=False))


def place(root: Path | str | None = None, database: Path | str | None = None) -> Place:
    """The place of a store; symlinks, `~` and trailing slashes lead to the same one.

    Without a root it is the store of MEMDB_STORE, by name or folder, else that of `find_root`.
    """
    named = os.environ.get("MEMDB_STORE") if root is None else None
    if named:
        from memdb.base import named as stores  # noqa: PLC0415 (it reads settings itself)

        return stores.place(named, database)
    chosen = Path(root) if root is not None else find_root()
    try:
        return at(chosen, database)
    except (OSError, RuntimeError) as error:
        raise StoreUnreadable(f"{chosen} cannot be resolved: {error}", hint="Check for a looping link.") from error


GITIGNORE = "# The database is derived from the files and the journal.\nmemory.db*\nlocal/\nlock\n"


def initialise(where: Place) -> bool:
    """Make the root and its `.memdb` folder; True when there was none. Never touches a file outside `.memdb`."""
    fresh = not where.config.exists()
    make_folder(where.journal)
    (where.home / "local").mkdir(exist_ok=True)
    make_folder(where.database.parent)
    if fresh:
        write_settings(where, {"id": secrets.token_hex(8)})
        write_whole(where.home / ".gitignore", GITIGNORE.encode())
    return fresh


def give_id(where: Place) -> str:
    """Give a store an id, where its settings were written by hand and have none."""
    mark = secrets.token_hex(8)
    write_settings(where, read_settings(where) | {"id": mark})
    return mark


def require_folder(where: Place) -> None:
    """Raise where something else than a folder is at the root."""
    if where.root.exists() and not where.root.is_dir():
        raise UsageError(f"{where.root} is a file, no folder.", hint="A store is a folder: name that of the file.")


def require(where: Place) -> None:
    """Raise unless the root is a store."""
    require_folder(where)
    if not where.root.exists():
        raise NotFound(
            f"There is no folder {where.root}.", hint="Name one with --root, or make one with `memdb init FOLDER`."
        )
    if not where.config.exists():
        raise NotFound(f"{where.root} is no memdb store yet.", hint=f"Run `memdb init {where.root}` first.")


def read_settings(where: Place) -> dict[str, str]:
    """The settings of a store as strings; a damaged file is an error that names its line."""
    try:
        loaded = tomllib.loads(where.config.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{where.config} is not valid TOML: {error}", hint="Mend that line, or delete the file."
        ) from error
    except OSError as error:
        raise StoreUnreadable(f"{where.config} cannot be read: {error.strerror}") from error
    return {str(key): str(value) for key, value in loaded.items() if not isinstance(value, dict | list)}


def write_settings(where: Place, settings: dict[str, str]) -> None:
    """Write all settings, one `key = "value"` line each. Raises UsageError for a bad name, NotWritable."""
    for key in settings:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", key):
            raise UsageError(f"{key!r} is no name of a setting.")
    # A JSON string is a valid TOML basic string.
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in sorted(settings.items())]
    write_whole(where.config, "".join(lines).encode())


def setting(where: Place, key: str, default: str | None = None) -> str | None:
    """One setting: MEMDB_<KEY> wins over the file, the file over the default."""
    named = os.environ.get(f"MEMDB_{key.upper()}")
    if named is not None:
        return named
    return read_settings(where).get(key, default)


def switched_off(value: Any) -> bool:
    """Whether a setting says no."""
    return str(value).strip().lower() in OFF


def user_name(where: Place) -> str:
    """Who decides: the setting `user`, else the name under which the system knows whoever runs this."""
    named = (setting(where, "user") or "").strip()
    if named:
        return named
    import getpass  # noqa: PLC0415 (seldom used)

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # an account without a name, as containers have
        return "unknown"


def writer_id(where: Place) -> str:
    """The id under which this machine writes the journal of this folder: 12 hex digits.

    It follows from a random id of the machine (kept in the user's folder) and the path of the root, so that
    two clones of one folder, on two machines or on one, never write the same journal file.
    """
    from hashlib import sha256  # noqa: PLC0415

    return sha256(f"{_machine_id()}\0{where.root}".encode("utf-8", "surrogateescape")).hexdigest()[:12]


def _machine_id() -> str:
    file = user_folder() / "machine-id"
    found = _read_machine_id(file)
    if found is not None:
        return found
    with suppress(NotWritable):
        write_whole(file, secrets.token_hex(16).encode())
    # Another process may have made one at the same time: what is in the file counts.
    found = _read_machine_id(file)
    if found is not None:
        return found
    # A home that takes no write (a container, a service account): the name and the hardware address stand in.
    import platform  # noqa: PLC0415
    import uuid  # noqa: PLC0415

    return f"{platform.node()}-{uuid.getnode():x}"


def _read_machine_id(file: Path) -> str | None:
    try:
        found = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return found or None
