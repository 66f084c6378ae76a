"""PDF: pages, reading order, headings from the outline, and the files that cannot be read."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest

from memdb.domain.extractors import Block, CannotExtract, extract
from memdb.domain.extractors.blocks import numbered
from memdb.domain.extractors.pdf_layout import Word, paragraphs
from tests import document_files as made

LEFT = [
    "The east pump was opened in May after",
    "it had been loud for several weeks and",
    "the seal was found to be worn out on",
    "one side, so that water ran into the",
    "bearing whenever the level was high.",
]
RIGHT = [
    "A new seal was ordered on the same day",
    "and arrived within a week from the old",
    "supplier, who still keeps that size on",
    "the shelf for the other water boards of",
    "the valley that have the same machine.",
]
TABLE = [("east", "400", "12.5"), ("west", "380", "11.0"), ("spare", "0", "0.0"), ("south", "90", "2.5")]


def blocks(content: bytes) -> list[Block]:
    return list(extract(content, "a.pdf").blocks)


def test_pages_paragraphs_and_the_last_sentence() -> None:
    first = [*made.column(72, 760, LEFT), *made.column(72, 660, RIGHT)]
    extracted = extract(made.pdf([first, [(72, 700, "The last page is short.")]], title="Pump report"), "a.pdf")
    assert (extracted.format, extracted.title, extracted.warnings) == ("pdf", "Pump report", [])
    assert [(block.page, block.text) for block in extracted.blocks] == [
        (1, "\n".join(LEFT)),
        (1, "\n".join(RIGHT)),
        (2, "The last page is short."),
    ]


@pytest.mark.parametrize("order", ["columns", "rows", "backwards", "shuffled"])
def test_two_columns_are_read_one_after_the_other_however_they_were_drawn(order: str) -> None:
    title = [(72, 800, "A report on the pumps of the upper valley and on what became of their seals")]
    foot = [(72, 60, "Printed by the water board of the upper valley for all of its keepers and guests")]
    left, right = made.column(72, 760, LEFT), made.column(320, 760, RIGHT)
    lines = [*title, *left, *right, *foot]
    if order == "rows":
        lines = [*title, *(line for pair in zip(left, right, strict=True) for line in pair), *foot]
    elif order == "backwards":
        lines.reverse()
    elif order == "shuffled":
        random.Random(3).shuffle(lines)
    text = "\n".join(block.text for block in blocks(made.pdf([lines])))
    assert text == "\n".join([title[0][2], *LEFT, *RIGHT, foot[0][2]])


def test_page_numbers_are_left_out() -> None:
    pages = [
        [(290, 800, "xii"), (72, 700, "Text of the page."), (72, 650, "17"), (290, 40, "- 12 -")],
        [(72, 700, "3")],
    ]
    assert [block.text for block in blocks(made.pdf(pages))] == ["Text of the page.", "17", "3"]


def test_a_table_is_read_row_by_row() -> None:
    cells = [
        (x, 700 - 14 * row, text)
        for row, texts in enumerate(TABLE)
        for x, text in zip((72, 250, 400), texts, strict=True)
    ]
    assert [block.text for block in blocks(made.pdf([cells]))] == [
        "east 400 12.5\nwest 380 11.0\nspare 0 0.0\nsouth 90 2.5"
    ]


def test_headings_come_from_the_outline() -> None:
    pages = [
        [(72, 760, "Preface"), (72, 730, "Before it all."), (72, 700, "Pumps"), (72, 680, "Text on pumps.")],
        [(72, 760, "More on pumps."), (72, 700, "Seals"), (72, 680, "Text on seals.")],
    ]
    marks = [("Preface", 0, 0, 772), ("Pumps", 0, 0, 712), ("Seals", 1, 1, 700)]
    found = [
        (block.page, block.heading_path, block.text.split("\n")[-1])
        for block in blocks(made.pdf(pages, bookmarks=marks))
    ]
    assert found[-1] == (2, ("Pumps", "Seals"), "Text on seals.")
    assert (2, ("Pumps",), "More on pumps.") in found
    assert (1, ("Pumps",), "Text on pumps.") in found
    assert (1, ("Preface",), "Before it all.") in found


def test_a_scan_has_no_text() -> None:
    for pages, reason in ((1, "its one page is pictures"), (3, "all 3 pages are pictures")):
        with pytest.raises(CannotExtract, match=reason) as raised:
            blocks(made.scan(pages))
        assert "OCR" in (raised.value.hint or "")


def test_scanned_pages_among_others_are_reported() -> None:
    extracted = extract(made.scan(2, last_page_text="One typed page."), "a.pdf")
    assert [(block.page, block.text) for block in extracted.blocks] == [(3, "One typed page.")]
    assert extracted.warnings == ["no text on page 1-2 (pictures or empty)"]


def test_an_encrypted_pdf() -> None:
    with pytest.raises(CannotExtract, match="encrypted and needs a password"):
        blocks(made.pdf([[(72, 700, "Nobody reads this.")]], password="open-" + "sesame"))


@pytest.mark.parametrize("content", [b"%PDF-1.7 and nothing else", made.pdf([[(72, 700, "x")]])[:400]])
def test_a_damaged_pdf(content: bytes) -> None:
    with pytest.raises(CannotExtract, match="damaged"):
        blocks(content)


def test_a_pdf_from_a_path_with_another_extension(tmp_path: Path) -> None:
    path = tmp_path / "nöte.txt"
    path.write_bytes(made.pdf([[(72, 700, "A note.")]]))
    assert [block.text for block in extract(path, path.name).blocks] == ["A note."]


def test_many_threads_read_at_once() -> None:
    content = made.pdf([[(72, 700, f"Page {number}.")] for number in range(20)])
    found: list[list[Block]] = []
    threads = [threading.Thread(target=lambda: found.append(blocks(content))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(one) for one in found] == [20] * 6
    assert all(one == found[0] for one in found)


def test_a_word_cut_at_the_end_of_a_line_is_whole() -> None:
    words = [Word("main\x02", 10, 90, 40, 100), Word("tenance", 10, 78, 60, 88)]
    assert paragraphs(words) == [("maintenance", 90)]


def test_a_page_without_words() -> None:
    assert paragraphs([]) == []


@pytest.mark.parametrize(
    ("numbers", "expected"), [([1], "1"), ([1, 2, 3, 7], "1-3, 7"), ([2, 4, 5], "2, 4-5"), ([], "")]
)
def test_numbers_in_a_row(numbers: list[int], expected: str) -> None:
    assert numbered(numbers) == expected
