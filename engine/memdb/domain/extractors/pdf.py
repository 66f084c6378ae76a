"""PDF by pages, in reading order, under the headings of its outline."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from ctypes import c_double
from typing import Any

from memdb.base.text import plain
from memdb.domain.extractors.blocks import Block, CannotExtract, Extracted, library, numbered
from memdb.domain.extractors.pdf_layout import Word, is_below, paragraphs
from memdb.domain.extractors.reading import Source

# PDFium maps the file; what is held is the text. The largest manuals with pictures are about this size.
MAX_BYTES = 512_000_000

# Characters on one page; a dense page of a newspaper has 20,000. Beyond, boxes are not worth their time.
_LAYOUT_CHARACTERS = 60_000

# A number alone at the top or the foot of a page; as a passage it would say nothing.
_PAGE_NUMBER = re.compile(r"[-–—]?\s*(?:\d{1,4}|[ivxlc]{1,6})\s*[-–—]?", re.I)

# PDFium itself may be entered by one thread at a time.
_LOCK = threading.Lock()

_PASSWORD_ERROR = 4  # FPDF_ERR_PASSWORD

# Where a bookmark points, as (page, minus height), and the heading path that begins there.
_Outline = list[tuple[tuple[int, float], tuple[str, ...]]]


class Pdf:
    """A PDF with text; pages that are pictures are reported."""

    name, version = "pdf", 1
    suffixes = frozenset({".pdf"})

    def accepts(self, name: str, head: bytes) -> bool:
        """The signature, which may stand within the first 1,024 bytes."""
        return b"%PDF-" in head[:1024]

    def extract(self, source: Source) -> Extracted:
        pdfium = library("pypdfium2", "PDF files")
        if source.size > MAX_BYTES:
            source.read(MAX_BYTES)
        with _LOCK:
            try:
                document = pdfium.PdfDocument(source.content)
            except pdfium.PdfiumError as error:
                raise _unopened(error) from error
            try:
                return self._read(document, pdfium)
            finally:
                document.close()

    def _read(self, document: Any, pdfium: Any) -> Extracted:
        outline = _outline(document, pdfium)
        blocks: list[Block] = []
        silent: list[int] = []
        damaged: list[int] = []
        for number in range(len(document)):
            try:
                found = list(_page_blocks(document, number, outline, pdfium))
            except pdfium.PdfiumError:
                damaged.append(number + 1)
                continue
            blocks.extend(found)
            if not found:
                silent.append(number + 1)
        if not blocks:
            pages = len(document)
            raise CannotExtract(
                f"The PDF has no text: {'its one page is' if pages == 1 else f'all {pages} pages are'} "
                "pictures (a scan) or empty.",
                hint="Run a text recognition (OCR) over it, and add the result.",
            )
        warnings = []
        if silent:
            warnings.append(f"no text on page {numbered(silent)} (pictures or empty)")
        if damaged:
            warnings.append(f"damaged page {numbered(damaged)} left out")
        about = document.get_metadata_dict()
        title = " ".join(about.get("Title", "").split()) or None
        return Extracted(self.name, title, blocks, warnings, _created(about.get("CreationDate", "")))


def _unopened(error: Any) -> CannotExtract:
    if getattr(error, "err_code", None) == _PASSWORD_ERROR:
        return CannotExtract("The PDF is encrypted and needs a password.", hint="Save it without a password.")
    return CannotExtract(f"The PDF is damaged: {error}", hint="Open it in a viewer and save it again.")


def _page_blocks(document: Any, number: int, outline: _Outline, pdfium: Any) -> Iterator[Block]:
    page = document[number]
    try:
        text_page = page.get_textpage()
        try:
            if text_page.count_chars() > _LAYOUT_CHARACTERS:
                found = [(part, 0.0) for part in plain(text_page.get_text_range()).replace("\r\n", "\n").split("\n\n")]
            else:
                marks = [-place for (page_number, place), _ in outline if page_number == number]
                found = paragraphs(list(_words(text_page, pdfium)), marks)
        finally:
            text_page.close()
    finally:
        page.close()
    if len(found) > 1:
        found = [part for at, part in enumerate(found) if at not in (0, len(found) - 1) or not _is_page_number(part[0])]
    last: tuple[str, ...] | None = None
    for text, bottom in found:
        heading_path = _heading_path(outline, number, bottom)
        if text.strip():
            yield Block(text, heading_path, page=number + 1, starts_section=last is not None and heading_path != last)
            last = heading_path


def _is_page_number(text: str) -> bool:
    return _PAGE_NUMBER.fullmatch(text.strip()) is not None


def _words(text_page: Any, pdfium: Any) -> Iterator[Word]:
    """The words of a page with their boxes; each costs two calls, one for its first and one for its last letter."""
    box = pdfium.raw.FPDFText_GetCharBox
    values = [c_double() for _ in range(4)]  # left, right, bottom, top

    def place(index: int) -> tuple[float, float, float, float]:
        box(text_page, index, *values)
        left, right, bottom, top = (value.value for value in values)
        return left, right, bottom, top

    count = text_page.count_chars()
    characters: Sequence[str] = text_page.get_text_range()
    if len(characters) != count:  # letters beyond the first 65,536 count twice, and some not at all
        characters = [chr(pdfium.raw.FPDFText_GetUnicode(text_page, at)) for at in range(count)]
    start: int | None = None
    for at, character in enumerate([*characters, " "]):
        if character.isspace() or character == "\0":
            if start is not None:
                left, _, bottom, top = place(start)
                _, right, bottom_last, top_last = place(at - 1)
                text = "".join(characters[start:at])
                text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # pairs come as two halves
                yield Word(text, left, min(bottom, bottom_last), max(right, left), max(top, top_last))
            start = None
        elif start is None:
            start = at


def _outline(document: Any, pdfium: Any) -> _Outline:
    """The bookmarks in reading order."""
    found: _Outline = []
    path: list[str] = []
    try:
        for mark in document.get_toc():
            title = " ".join(mark.get_title().split())
            target = mark.get_dest()
            index = target.get_index() if target is not None else None
            if not title or index is None:
                continue
            path = [*path[: mark.level], title]
            found.append(((index, -_height(target)), tuple(path)))
    except pdfium.PdfiumError:
        return []  # a broken outline costs the headings, not the text
    return sorted(found, key=lambda entry: entry[0])


def _height(target: Any) -> float:
    """How far up the page a bookmark points; the top of the page when it does not say."""
    _, position = target.get_view()
    # XYZ has left, top, zoom; FitH the top alone.
    for at in (1,) if len(position) == 3 else (0,) if len(position) == 1 else ():
        if position[at]:
            return float(position[at])
    return float("inf")


def _heading_path(outline: _Outline, page: int, bottom: float) -> tuple[str, ...]:
    """The path of the last bookmark on an earlier page, or on this one at or above the line."""
    path: tuple[str, ...] = ()
    for (number, place), heading_path in outline:
        if number > page or (number == page and not is_below(bottom, -place)):
            break
        path = heading_path
    return path


def _created(stamp: str) -> str | None:
    """`D:20240131120000+01'00'` as 2024-01-31."""
    digits = stamp.removeprefix("D:")[:8]
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}" if len(digits) == 8 and digits.isdigit() else None
