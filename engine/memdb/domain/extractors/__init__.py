"""Files of the usual formats as passages: which extractor reads a file, and what it gives.

A new format is one class like the others, in a file of its own, and one entry in `EXTRACTORS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path, PurePosixPath

from memdb.base.text import UndecodableText, decode_exact
from memdb.domain.extractors.blocks import Block, CannotExtract, Extracted, Extractor
from memdb.domain.extractors.docx import Docx
from memdb.domain.extractors.html import Html
from memdb.domain.extractors.markdown import Markdown
from memdb.domain.extractors.notebook import Notebook
from memdb.domain.extractors.pdf import Pdf
from memdb.domain.extractors.reading import HEAD_BYTES, Source
from memdb.domain.extractors.records import Json, JsonLines
from memdb.domain.extractors.source import SourceCode
from memdb.domain.extractors.tables import Tables
from memdb.domain.extractors.text import PlainText

__all__ = ["EXTRACTORS", "HEAD_BYTES", "Block", "CannotExtract", "Extracted", "Extractor", "choose", "extract"]

_TEXT = PlainText()
_SIGNED: tuple[Extractor, ...] = (Pdf(), Docx())
_TEXTUAL: tuple[Extractor, ...] = (
    *(Html(), JsonLines(), Markdown(), Tables(), Json(), Notebook(), SourceCode()),
    _TEXT,
)

EXTRACTORS: tuple[Extractor, ...] = (*_SIGNED, *_TEXTUAL)
"""All formats, those with a signature first; the first that accepts the content is taken, then the first by name."""

_BINARY_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"RIFF", "a sound, video or WebP file"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a Windows program"),
    (b"\xca\xfe\xba\xbe", "compiled Java or a program"),
    (b"ID3", "a sound file"),
    (b"OggS", "a sound or video file"),
    (b"%!PS", "a PostScript file"),
    (b"{\\rtf", "an RTF document"),
)


def choose(name: str, head: bytes) -> Extractor:
    """The extractor for a file of this name whose first bytes are `head` (64 kB are enough).

    The content decides where it has a signature: a PDF named `.txt` is a PDF. Else the extension does, and a text of
    an unknown one is plain text. Raises CannotExtract for what is no text: pictures, archives, programs.
    """
    for extractor in _SIGNED:
        if extractor.accepts(name, head):
            return extractor
    _refuse_binary(head)
    by_name = _by_suffix(name)
    # A page or a log of JSON lines tells itself apart from prose, but not from a program that prints one.
    trusted = by_name is not None and by_name.name in ("source", "table", "jsonl")
    for extractor in _TEXTUAL:
        if not trusted and extractor.accepts(name, head):
            return extractor
    return by_name or _TEXT


def extract(content: bytes | Path, name: str) -> Extracted:
    """The passages of a file; `name` is its name or path, for the extension.

    Raises CannotExtract with the reason, before the first block is given, except where a file of more than 8 MB turns
    out damaged later on; OSError where the file cannot be read. Nothing should be stored before the blocks have ended.
    """
    source = Source(content, name)
    if not source.size:
        raise CannotExtract("The file is empty.", hint="Add it again once something is in it.")
    extracted = choose(name, source.head).extract(source)
    blocks: Iterator[Block] = iter(extracted.blocks)
    first = next(blocks, None)
    if first is None:
        reason = f" ({extracted.warnings[0]})" if extracted.warnings else ""
        raise CannotExtract(f"The file has no text{reason}.", hint="Add it again once something is in it.")
    extracted.blocks = chain([first], blocks)
    return extracted


def _by_suffix(name: str) -> Extractor | None:
    suffix = PurePosixPath(name).suffix.lower()
    return next((extractor for extractor in _TEXTUAL if suffix in extractor.suffixes), None)


def _refuse_binary(head: bytes) -> None:
    for signature, kind in _BINARY_SIGNATURES:
        if head.startswith(signature):
            raise CannotExtract(f"The file is {kind}, which holds no text that memdb reads.")
    # The last character may be cut in two.
    whole = head if len(head) < HEAD_BYTES else head[: head.rfind(b"\n") + 1] or head[:-4]
    try:
        decode_exact(whole[: len(whole) // 4 * 4] if b"\0" in whole and len(head) >= HEAD_BYTES else whole)
    except UndecodableText as error:
        reason = error.message.partition(": ")[2] or error.message
        raise CannotExtract(
            f"The file is not text, and of no format that memdb reads: {reason}.",
            hint="Formats: Markdown, text, PDF, HTML, DOCX, CSV, JSON, JSONL, notebooks, source code.",
        ) from error
