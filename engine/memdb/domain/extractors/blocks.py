"""What every extractor gives and takes: blocks of text with their place, and the error for a file without any."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from memdb.errors import MemdbError

if TYPE_CHECKING:
    from memdb.domain.extractors.reading import Source


class CannotExtract(MemdbError):
    """The file has no text that memdb can read; the message says why."""

    code = "cannot_extract"


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a document that is kept together if it fits: a paragraph, list, table, definition or record.

    `heading_path` goes from the outermost heading to the nearest; the headings themselves are not in `text`. Pages
    and lines count from 1; lines are those of the source file. `verbatim` means that each line of `text` is a line of
    the file, so that a part of the block can be cited by its own lines. `starts_section` is true below a heading, also
    below one of the same name. `table_head` is the beginning of `text` that each piece of a cut table repeats.
    A record is `atomic`: one passage whatever its neighbours, cut only when it is larger than the window.
    """

    text: str
    heading_path: tuple[str, ...] = ()
    page: int | None = None
    start_line: int | None = None
    end_line: int | None = None
    record_id: str | None = None
    title: str | None = None
    created: str | None = None
    atomic: bool = False
    verbatim: bool = False
    starts_section: bool = False
    table_head: str = ""


@dataclass(slots=True)
class Extracted:
    """A document's blocks in reading order; `warnings` is complete once the blocks have been read.

    The blocks can be read once. Of large files they are read from the disk while they are asked for.
    """

    format: str
    title: str | None
    blocks: Iterable[Block]
    warnings: list[str] = field(default_factory=list)
    created: str | None = None


class Extractor(Protocol):
    """One format. `version` changes whenever the same file would give other blocks than before."""

    name: str
    version: int
    suffixes: frozenset[str]

    def accepts(self, name: str, head: bytes) -> bool:
        """Whether the first bytes of a file are of this format, whatever its name says."""
        ...

    def extract(self, source: Source) -> Extracted:
        """The document's blocks. Raises CannotExtract."""
        ...


def library(module: str, what: str) -> Any:
    """Import a module of the extra `files` on its first use. Raises CannotExtract when it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        raise CannotExtract(
            f"Reading {what} needs the package {module.partition('.')[0]}, which is not installed.",
            hint="Install the extra: pip install 'memdb-engine[files]'.",
        ) from missing


def numbered(numbers: list[int]) -> str:
    """Numbers in a row as people write them: "1-3, 7"."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
