"""A file as extractors read it: whole up to a limit, or line by line in flat memory."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, NamedTuple

from memdb.base import text as texts
from memdb.base.text import UndecodableText
from memdb.domain.extractors.blocks import CannotExtract

# What is looked at to tell the format and the encoding; file signatures and most of a first record lie in it.
HEAD_BYTES = 65_536

# Up to here a file is decoded at once, which lets every encoding be tried on all of it.
WHOLE_BYTES = 8_000_000

# A longer line is given in pieces, so that a gigabyte without a line end stays in bounds.
LINE_CHARACTERS = 1_000_000

_PIECE_BYTES = 1_048_576


class Line(NamedTuple):
    """One line without its end; `continued` marks what follows the first piece of an overlong one."""

    number: int
    text: str
    continued: bool


class Source:
    """The bytes of one document, from memory or from a path, and the name that it goes by."""

    def __init__(self, content: bytes | Path, name: str) -> None:
        self.content = content
        self.name = name

    @cached_property
    def size(self) -> int:
        """Bytes in all."""
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size

    @cached_property
    def head(self) -> bytes:
        """The first `HEAD_BYTES` bytes."""
        with self.open() as file:
            return file.read(HEAD_BYTES)

    @property
    def suffix(self) -> str:
        """The last extension of the name in lower case, with its dot; empty when there is none."""
        return Path(self.name).suffix.lower()

    def open(self) -> BinaryIO:
        """The bytes as a file that can be read and searched."""
        return io.BytesIO(self.content) if isinstance(self.content, bytes) else self.content.open("rb")

    def read(self, limit: int) -> bytes:
        """All bytes. Raises CannotExtract when there are more than `limit`."""
        if self.size > limit:
            raise CannotExtract(
                f"The file has {_megabytes(self.size)} MB; of this format at most {_megabytes(limit)} MB are read.",
                hint="Split it, or add the parts that matter.",
            )
        return self.content if isinstance(self.content, bytes) else self.content.read_bytes()

    def text(self, limit: int) -> str:
        """All text with newlines as "\\n", without a byte order mark. Raises CannotExtract."""
        data = self.read(limit)
        if len(data) <= WHOLE_BYTES:
            return _decoded(data).text
        encoding, mark = self._encoding()
        return texts.normalise_newlines(data[mark:].decode(encoding))

    def lines(self, longest: int = LINE_CHARACTERS) -> Iterator[Line]:
        """The lines, numbered from 1; one of more than `longest` characters comes in pieces. Raises CannotExtract."""
        with self._characters() as file:
            number, continued = 1, False
            while piece := file.readline(longest):
                ends = piece.endswith("\n")
                yield Line(number, piece.removesuffix("\n"), continued)
                number, continued = number + ends, not ends

    def _characters(self) -> io.TextIOBase:
        if self.size <= WHOLE_BYTES:
            return io.StringIO(_decoded(self.read(WHOLE_BYTES)).text)
        encoding, mark = self._encoding()
        file = self.open()
        file.seek(mark)
        return io.TextIOWrapper(file, encoding=encoding, newline=None)

    def _encoding(self) -> tuple[str, int]:
        """The encoding of a large file and the length of its byte order mark, checked over all its bytes."""
        start = self.head[: self.head.rfind(b"\n") + 1] or self.head[:-4]  # no character is cut in two
        found = _decoded(start[: len(start) // 4 * 4] if b"\0" in start else start)
        mark = len(found.bom)
        # One byte that is not UTF-8 anywhere in the file makes it a one-byte encoding, as in `memdb.base.text`.
        fallbacks = () if mark or found.encoding.startswith("utf-16") else ("cp1252", "latin-1")
        for encoding in (found.encoding, *fallbacks):
            if self._decodes(encoding, mark):
                return encoding, mark
        raise CannotExtract(f"The file is not readable as text: it begins as {found.encoding} and does not go on so.")

    def _decodes(self, encoding: str, mark: int) -> bool:
        decoder = codecs.getincrementaldecoder(encoding)("strict")
        with self.open() as file:
            file.seek(mark)
            try:
                while piece := file.read(_PIECE_BYTES):
                    decoder.decode(piece)
                decoder.decode(b"", final=True)
            except UnicodeDecodeError:
                return False
        return True


def _decoded(data: bytes) -> texts.Decoded:
    try:
        return texts.decode(data)
    except UndecodableText as error:
        raise CannotExtract(error.message[:1].upper() + error.message[1:] + ".", hint=error.hint) from error


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:.0f}" if size >= 10_000_000 else f"{size / 1_000_000:.1f}"
