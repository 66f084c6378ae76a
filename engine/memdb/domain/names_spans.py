"""Where a name stands, and which parts of a text are code, where capitals and dots mean something else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Span:
    """The place of one name, with what kind of rule found it and its type where that is sure."""

    start: int
    stop: int
    source: Literal["identifier", "proper"]
    type: str | None = None


_FENCE = re.compile(r"[ \t]{0,3}(?:[>\-*][ \t]*)?(`{3,}|~{3,})")
_SYMBOLS = re.compile(r"[{}\[\];=<>\\$&()\"]")
# A line of prose has few of these signs; one in eight characters is a statement, markup or data.
_SYMBOL_SHARE = 0.125
_STATEMENT = re.compile(
    r"\s*(?:at [\w.$<>]+\(|File \"[^\"]{1,500}\", line \d|"
    r"Traceback \(|\$ |>>> |#include\b|import [\w.]+\s*$|from [\w.]+ import "
    r"|(?:def|class|func|fn|public|private|static|const|let|var) .{0,500}[({:;=]\s*$)"
)
# A line of nothing else is a key, a picture, an attachment.
_ENCODED = re.compile(r"[A-Za-z0-9+/=]{40,}")
# Longer runs without a space are encoded data.
_LONGEST_WORD = 120
_BLOB = re.compile(rf"\S{{{_LONGEST_WORD + 1},}}")


def without_code(text: str) -> str:
    """The text with fenced blocks, lines of code and encoded data blanked out, every other character at its place."""
    lines = text.splitlines(keepends=True)
    fence = ""
    for at, line in enumerate(lines):
        opened = _FENCE.match(line)
        if fence:
            if opened and opened[1].startswith(fence):
                fence = ""
            lines[at] = _blank(line)
        elif opened:
            fence = opened[1]
            lines[at] = _blank(line)
        elif _is_code(line):
            lines[at] = _blank(line)
    return _BLOB.sub(lambda blob: " " * len(blob.group()), "".join(lines))


def _is_code(line: str) -> bool:
    bare = line.strip()
    if not bare:
        return False
    if bare.endswith((";", "{", "}", "});", "},", "/>")) and _SYMBOLS.search(bare):
        return True
    if _STATEMENT.match(line) or _ENCODED.fullmatch(bare):
        return True
    return len(_SYMBOLS.findall(bare)) > _SYMBOL_SHARE * len(bare)


def _blank(line: str) -> str:
    end = len(line.rstrip("\r\n"))
    return " " * end + line[end:]
