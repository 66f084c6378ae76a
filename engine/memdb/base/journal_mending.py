"""What a damaged line of the journal was, where its checksum tells: one byte of it changed, or a line end next to it.

A CRC is linear: the difference between the sum that is written and that of the bytes which are there is the sum of the
error alone. Walked back byte by byte, it is at one place that of a single changed byte (Peterson and Brown 1961).
"""

from __future__ import annotations

import re
import zlib

SUFFIX = re.compile(rb',"c":"([0-9a-f]{8})"\}')
SUFFIX_BYTES = 16
"""The last member of a line and its closing brace: `,"c":"01234567"}`."""

LONGEST = 2**20
"""Bytes of a line that is looked through for the byte that changed: half a second of work."""

JOINED = re.compile(rb'(?<="\}).?(?=\{"t":")', re.DOTALL)
"""Where the end of a line was lost: at most one byte between the end of one record and the beginning of the next."""

POLYNOMIAL = 0xEDB88320
"""Of CRC-32, in the bit order of zlib."""


def _table() -> list[int]:
    found = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (POLYNOMIAL if value & 1 else 0)  # noqa: PLW2901
        found.append(value)
    return found


TABLE = _table()
SINGLE = {value: byte for byte, value in enumerate(TABLE) if byte}
HIGH = {value >> 24: byte for byte, value in enumerate(TABLE)}


def suffix_of(plain: bytes) -> bytes:
    """The end of a line that begins so."""
    return b',"c":"%08x"}' % zlib.crc32(plain)


def is_sound(line: bytes) -> bool:
    """Whether a line ends with the checksum of what is before it."""
    return line[-SUFFIX_BYTES:] == suffix_of(line[:-SUFFIX_BYTES])


def lines_of(line: bytes) -> list[bytes]:
    """The sound lines that a damaged one was: one, or two that ran into each other; none where nothing tells."""
    for join in JOINED.finditer(line):
        parts = [line[: join.start()], line[join.end() :]]
        if all(map(is_sound, parts)):
            return parts
    plain, suffix = line[:-SUFFIX_BYTES], line[-SUFFIX_BYTES:]
    expected = suffix_of(plain)
    if len(suffix) == SUFFIX_BYTES and sum(one != other for one, other in zip(suffix, expected, strict=True)) == 1:
        return [plain + expected]
    written = SUFFIX.fullmatch(suffix)
    if written is None or len(line) > LONGEST:
        return []
    found = [one + suffix for one in _one_byte_off(plain, zlib.crc32(plain) ^ int(written[1], 16))]
    return found if len(found) == 1 else []


def _one_byte_off(plain: bytes, difference: int) -> list[bytes]:
    """All texts that differ from one in a single byte and have the other checksum."""
    found = []
    for place in range(len(plain) - 1, -1, -1):
        byte = SINGLE.get(difference)
        if byte is not None:
            found.append(plain[:place] + bytes([plain[place] ^ byte]) + plain[place + 1 :])
        last = HIGH[difference >> 24]
        difference = ((difference ^ TABLE[last]) << 8 | last) & 0xFFFFFFFF
    return found
