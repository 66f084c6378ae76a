"""Work that goes on after a command: a process of its own, which no command waits for."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memdb.base.place import Place


def start(place: Place) -> None:
    """Start the worker of auto-index where that is on and something waits; a few milliseconds."""
    from memdb.base import settings

    if settings.switched_off(settings.setting(place, "auto_index", "off")):
        return
    from memdb.services.extraction import auto_index

    if auto_index.is_due(place):
        spawn(words(place))


def words(place: Place) -> list[str]:
    """The command of the worker."""
    where = ["--root", str(place.root), "--db", str(place.database)]
    return [sys.executable, "-m", "memdb_cli", "index", "--background", *where]


def spawn(command: list[str]) -> None:
    """Start a program that outlives this one, with no console and nothing to read or write."""
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
    nothing = subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            command,
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            creationflags=flags,
            start_new_session=sys.platform != "win32",
        )
    except OSError:
        return  # what waits stays noted: the next command tries again
    # Nobody waits for it; without this, Python complains that it was left running.
    process.returncode = 0
