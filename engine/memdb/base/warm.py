"""The warm process of a store: it keeps the store open and the model loaded, on a port of this machine.

`.memdb/local/serve.json` says where it is, and has a secret that both sides prove to have and neither sends: a program
that took the port of a dead server learns nothing and is not believed. Both sides write one JSON object a line.
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from memdb.base import asking
from memdb.base.asking import HOST, PROTOCOL, NoAnswer, Wire, environment, proof
from memdb.base.place import Place


class Info(NamedTuple):
    """What the file of a warm process says."""

    port: int
    token: str
    pid: int
    version: str
    protocol: int
    database: str


def read_info(place: Place) -> Info | None:
    """What the file says; None where there is none or it is damaged."""
    said = asking.read_file(str(place.served))
    try:
        return Info(
            int(said["port"]),
            str(said["token"]),
            int(said["pid"]),
            str(said["version"]),
            int(said["protocol"]),
            str(said["database"]),
        )
    except (ValueError, TypeError, KeyError):
        return None


def write_info(place: Place, info: Info) -> None:
    """Write the file, readable by its owner alone."""
    file = place.served
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_suffix(".tmp")
    aside.unlink(missing_ok=True)
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
        json.dump(info._asdict(), out)
    os.replace(aside, file)  # noqa: PTH105


def ask(place: Place, request: dict[str, Any], *, seconds: float, any_version: bool = False) -> dict[str, Any]:
    """The answer of the warm process to a request, within some seconds in all. Raises NoAnswer.

    It is asked only if it runs the same version with the same settings, unless `any_version`.
    """
    return asking.ask(str(place.served), request, seconds=seconds, any_version=any_version)


__all__ = [
    "HOST",
    "PROTOCOL",
    "Info",
    "NoAnswer",
    "Wire",
    "ask",
    "environment",
    "proof",
    "read_info",
    "write_info",
]
