"""Short checksums over rows, by which a rebuild tells whether what it would take over is what was once written."""

from __future__ import annotations

import marshal
import sys
import unicodedata
from hashlib import blake2b
from typing import Any

from memdb.version import __version__

SCHEME = 1
"""Raised with every change of what is made of a text: words, passages, names, windows, or which of it is a secret."""

BYTES = 8
"""Damage goes unseen once in 2^64; as an integer SQLite stores it in eight bytes."""

RECIPE = f"{SCHEME} {__version__} {sys.version_info[0]}.{sys.version_info[1]} {unicodedata.unidata_version}"
"""By which code a text was read: another memdb, Python or Unicode may read it otherwise."""


def sum_of(*parts: Any) -> int:
    """A signed 64-bit checksum over rows of strings, numbers and None, and the code that made them."""
    # Of this format, version 2 says the same of equal values, however often they are referred to; it is fast.
    data = marshal.dumps((RECIPE, parts), 2)
    return int.from_bytes(blake2b(data, digest_size=BYTES).digest(), "little", signed=True)
