"""Word documents, by way of the clean HTML that mammoth makes: headings, lists, tables, notes."""

from __future__ import annotations

import re
import zipfile
import zlib
from typing import BinaryIO
from xml.etree import ElementTree
from xml.parsers.expat import ExpatError
from xml.sax import SAXException

from memdb.domain.extractors.blocks import Block, CannotExtract, Extracted, library
from memdb.domain.extractors.html_blocks import blocks_of
from memdb.domain.extractors.reading import Source

# Pictures make most of a large document, and are not read.
MAX_BYTES = 256_000_000

# The text parts of a document of 3,000 pages unpack to about 50 MB; more is a zip made to fill the memory.
MAX_UNPACKED_BYTES = 200_000_000

_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_BODY = "word/document.xml"
_OTHER_KINDS = (
    ("xl/", "an Excel workbook", "Save its sheets as CSV."),
    ("ppt/", "a PowerPoint presentation", "Export it as PDF."),
    ("META-INF/container.xml", "an e-book (EPUB)", "Convert it to HTML or PDF."),
    ("content.xml", "an OpenDocument file", "Save it as DOCX or PDF."),
)
# Pictures are left out, and the document's own title is a heading.
_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='title'] => h1:fresh"
_CORE = "{http://purl.org/dc/elements/1.1/}title", "{http://purl.org/dc/terms/}created"
# Paragraph marks that mammoth writes as anchors (bookmarks, notes).
_NOTE_MARKS = re.compile(r'<sup><a href="#[^"]*" id="[^"]*">\[\d+\]</a></sup>| <a href="#[^"]*">↑</a>')


class Docx:
    """A Word document (DOCX, also with macros); every other zip is told what it is."""

    name, version = "docx", 1
    suffixes = frozenset({".docx", ".docm", ".dotx"})

    def accepts(self, name: str, head: bytes) -> bool:
        """Any zip, and the container of old and of encrypted Office files."""
        return head.startswith((_ZIP, _OLE, b"PK\x05\x06"))

    def extract(self, source: Source) -> Extracted:
        if source.head.startswith(_OLE):
            raise CannotExtract(
                "The file is an encrypted Office document or one of the format before 2007.",
                hint="Open it, remove the password, and save it as DOCX or PDF.",
            )
        if source.size > MAX_BYTES:
            source.read(MAX_BYTES)
        with source.open() as file:
            title, created = _check(file)
            markup = _to_html(file)
        tree = library("selectolax.lexbor", "Word documents").LexborHTMLParser(_NOTE_MARKS.sub("", markup))
        blocks: list[Block] = blocks_of(tree.body) if tree.body is not None else []
        if title is None:
            title = next((block.heading_path[0] for block in blocks if block.heading_path), None)
        return Extracted(self.name, title, blocks, created=created)


def _check(file: BinaryIO) -> tuple[str | None, str | None]:
    """Title and time from the document's properties, once it is known to be a sound Word document."""
    try:
        with zipfile.ZipFile(file) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
            if _BODY not in entries:
                raise _other_kind(list(entries))
            if any(entry.flag_bits & 1 for entry in entries.values()):
                raise CannotExtract("The document is encrypted.", hint="Save it without a password.")
            unpacked = sum(entry.file_size for name, entry in entries.items() if name.endswith((".xml", ".rels")))
            if unpacked > MAX_UNPACKED_BYTES:
                raise CannotExtract(
                    f"The document unpacks to {unpacked // 1_000_000} MB; "
                    f"at most {MAX_UNPACKED_BYTES // 1_000_000} MB are read.",
                    hint="Save it as several documents.",
                )
            if "docProps/core.xml" not in entries:
                return None, None
            properties = ElementTree.fromstring(archive.read("docProps/core.xml"))
            title, created = (properties.findtext(name) for name in _CORE)
            return (title or "").strip() or None, (created or "").strip() or None
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise CannotExtract(
            f"The file is a damaged or cut zip archive ({error}).", hint="Copy or download it again."
        ) from error
    except (ElementTree.ParseError, NotImplementedError):
        return None, None  # properties that cannot be read are no loss


def _to_html(file: BinaryIO) -> str:
    mammoth = library("mammoth", "Word documents")
    file.seek(0)
    try:
        converted = mammoth.convert_to_html(file, style_map=_STYLES, convert_image=lambda image: [])
    except (zipfile.BadZipFile, zlib.error, EOFError, ExpatError, SAXException) as error:
        raise _damaged(error) from error
    except (KeyError, ValueError, AttributeError, IndexError, TypeError, RecursionError, OSError) as error:
        # mammoth checks nothing of what it reads; a part that is missing or misplaced ends in one of these.
        raise _damaged(error) from error
    return str(converted.value)


def _damaged(error: Exception) -> CannotExtract:
    return CannotExtract(
        f"The Word document is damaged ({type(error).__name__}: {error}).",
        hint="Open it in a word processor and save it again.",
    )


def _other_kind(names: list[str]) -> CannotExtract:
    for prefix, kind, hint in _OTHER_KINDS:
        if any(name.startswith(prefix) for name in names):
            return CannotExtract(f"The file is {kind}, not a Word document.", hint=hint)
    return CannotExtract(
        "The file is a zip archive, not a Word document.", hint="Unpack it and add the files that are in it."
    )
