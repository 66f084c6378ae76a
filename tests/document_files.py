"""Binary documents that the tests make with the libraries by which people's programs make them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from typing import Any

PAGE_WIDTH, PAGE_HEIGHT = 595, 842


def pdf(
    pages: Sequence[Sequence[tuple[int, int, str]]],
    *,
    title: str = "",
    bookmarks: Sequence[tuple[str, int, int, int]] = (),
    password: str | None = None,
) -> bytes:
    """A PDF of lines (x, y, text), drawn in the order given; bookmarks are (title, level, page from 0, y)."""
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.pdfgen.canvas import Canvas

    file = io.BytesIO()
    encrypt = StandardEncryption(password) if password else None
    canvas: Any = Canvas(file, pagesize=(PAGE_WIDTH, PAGE_HEIGHT), encrypt=encrypt, invariant=1)
    if title:
        canvas.setTitle(title)
    for number, lines in enumerate(pages):
        canvas.setFont("Helvetica", 11)
        for x, y, text in lines:
            canvas.drawString(x, y, text)
        for at, (name, level, page, top) in enumerate(bookmarks):
            if page == number:
                canvas.bookmarkHorizontal(f"mark{at}", 0, top)
                canvas.addOutlineEntry(name, f"mark{at}", level)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def scan(pages: int = 1, *, last_page_text: str = "") -> bytes:
    """A PDF whose pages are pictures, as scanners make them, with a last page of text if wanted."""
    from PIL import Image
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen.canvas import Canvas

    file = io.BytesIO()
    canvas: Any = Canvas(file, pagesize=(PAGE_WIDTH, PAGE_HEIGHT), invariant=1)
    picture = ImageReader(Image.effect_noise((60, 80), 40))
    for _ in range(pages):
        canvas.drawImage(picture, 0, 0, PAGE_WIDTH, PAGE_HEIGHT)
        canvas.showPage()
    if last_page_text:
        canvas.drawString(72, 700, last_page_text)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def column(x: int, top: int, lines: Sequence[str]) -> list[tuple[int, int, str]]:
    """Lines one below the other."""
    return [(x, top - 14 * number, line) for number, line in enumerate(lines)]


def docx() -> bytes:
    """A report with headings, lists, a table, a link-like run and a title."""
    import docx as python_docx

    document = python_docx.Document()
    document.core_properties.title = "Report on the pumps"
    document.add_heading("Pumps", 1)
    document.add_paragraph("Both pumps were ").add_run("opened").bold = True
    document.add_paragraph("east pump", style="List Bullet")
    document.add_paragraph("west pump", style="List Bullet")
    document.add_heading("Costs", 2)
    table = document.add_table(2, 2)
    for row, cells in zip(table.rows, [("Part", "Price"), ("Hose", "12")], strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    document.add_heading("Closing", 1)
    document.add_paragraph("The pumps will be opened again in autumn.")
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def zipped(**files: str) -> bytes:
    """A zip archive; `__` in a name is a slash and `_` a dot."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), text)
    return file.getvalue()
