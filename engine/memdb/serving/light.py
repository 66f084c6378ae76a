"""What a hook needs before anything is imported that costs time: which folder is meant, its store, and its settings."""

from __future__ import annotations

import os
import sys

SECONDS = 2.0
"""Within which a hook answers, unless the setting `hook_seconds` says otherwise: a person waits for it."""

LONGEST = 300.0
"""Seconds that a setting may give a hook."""

WARM_SHARE = 0.6
"""Of the time that is left, how much the warm process gets before the store is opened here."""

FOLDERS = ("cwd", "working_directory", "workspace", "workspace_root", "workspace_roots")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


def first(said: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The first text under any of some names; of several in a list, the first."""
    for name in names:
        value = said.get(name)
        if isinstance(value, list) and value:  # several workspaces: the first
            value = value[0]
        if isinstance(value, str) and value.strip():
            return value
    return None


def option(words: Sequence[str], name: str) -> str | None:
    """The value of an option, as `--name value` or `--name=value`."""
    for index, word in enumerate(words):
        if word == name and index + 1 < len(words):
            return words[index + 1]
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return None


def number(written: str | None, low: float, high: float) -> float | None:
    """A number above one and up to another; None for what is none."""
    try:
        value = float(written) if written is not None else None
    except ValueError:
        return None
    return value if value is not None and low < value <= high else None


def setting(config: str, key: str) -> str | None:
    """A setting, read without a TOML parser: memdb writes each on a line of its own."""
    named = os.environ.get(f"MEMDB_{key.upper()}")
    if named is not None:
        return named
    try:
        with open(config, encoding="utf-8", errors="replace") as lines:  # noqa: PTH123
            for line in lines:
                name, is_set, value = line.partition("=")
                if is_set and name.strip() == key:
                    return value.strip().removeprefix('"').partition('"')[0].strip()
    except OSError:
        pass
    return None


def root_of(folder: str | None) -> str | None:
    """The root of the store that a hook run in some folder means; None where more than the folders has to be asked.

    That of MEMDB_ROOT, else the nearest one upward, else the user's own, as `settings.find_root` says.
    """
    if os.environ.get("MEMDB_STORE"):
        return None
    named = os.environ.get("MEMDB_ROOT")
    if named:
        return named
    here = os.path.join(os.getcwd(), folder) if folder and os.path.isdir(folder) else os.getcwd()  # noqa: PTH109, PTH112, PTH118
    while True:
        if os.path.isdir(os.path.join(here, ".memdb")):  # noqa: PTH112, PTH118
            return here
        above = os.path.dirname(here)  # noqa: PTH120
        if above == here:
            return _own()
        here = above


def _own() -> str | None:
    """The user's own store, where its folder is known without asking the system."""
    named = os.environ.get("MEMDB_HOME")
    if named:
        return os.path.join(named, "memories")  # noqa: PTH118
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/memdb/memories")  # noqa: PTH111
    if os.name != "posix":
        return None
    data = os.environ.get("XDG_DATA_HOME", "").strip() or "~/.local/share"
    return os.path.join(data, "memdb", "memories")  # noqa: PTH118
