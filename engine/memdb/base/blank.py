"""The bytes of a new database, for a process that makes several (stores of many users, rebuilds): a copy is put in
place in a tenth of the time that the migrations and views take."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import apsw

Kind = tuple[str, str, int]
"""What tells new databases apart: the digests of the migrations and of the views, the bytes of a page."""

LOGS = ("-wal", "-journal")
"""Files beside a database that SQLite would read into it. Left by another one, they must not meet a copy."""

_kept: dict[Kind, bytes | None] = {}
"""One database of a kind, about 1 MB; None after the first of it, since most processes make but one."""


def keep(kind: Kind, connection: apsw.Connection) -> None:
    """Remember a database that was just made, from the second of its kind on.

    Within the transaction that makes it: what another process writes after it is in no copy.
    """
    if kind not in _kept:
        _kept[kind] = None
    elif _kept[kind] is None:
        _kept.clear()
        _kept[kind] = connection.serialize("main")


def lay(path: Path, kind: Kind) -> bool:
    """Put a kept database where there is none, whole or not at all; False where SQLite has to make it.

    Never over a file: of two processes at once one is first, and the other opens what that one made.
    """
    content = _kept.get(kind)
    if content is None or path.exists() or any(path.with_name(path.name + log).exists() for log in LOGS):
        return False
    aside = path.with_name(f"{path.name}-{secrets.token_hex(8)}.new")
    try:
        # The permissions are those that SQLite gives.
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        path.hardlink_to(aside)
    except OSError:
        return False  # a disk that is full or knows no links, or another process: SQLite makes or opens it, or says why
    finally:
        aside.unlink(missing_ok=True)
    return True
