"""Short checksums over rows, by which a rebuild tells whether what it would take over is what was once written."""

from __future__ import annotations

import sys
import unicodedata
from hashlib import blake2b

from memdb.version import __version__

SCHEME = 1
"""Raised with every change of what is made of a text: words, passages, names, windows, or which of it is a secret."""

BYTES = 8
"""Damage goes unseen once in 2^64; as an integer SQLite stores it in eight bytes."""

RECIPE = f"{SCHEME} {__version__} {sys.version_info[0]}.{sys.version_info[1]} {unicodedata.unidata_version}"
"""By which code a text was read: another memdb, Python or Unicode may read it otherwise."""


def sum_of(*parts: object) -> int:
    """A signed 64-bit checksum over rows of strings, numbers and None, and the code that made them."""
    return int.from_bytes(blake2b(repr((RECIPE, parts)).encode(), digest_size=BYTES).digest(), "little", signed=True)
