"""What a document says, as rows and as passages, with the checksums by which a rebuild knows it again."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from memdb.base.sums import sum_of
from memdb.domain.documents import Passage, Read
from memdb.services.index.indexing import Words, cut_words


class Mark(NamedTuple):
    """A passage's identity, and the sha256 of what is embedded of it."""

    identity: str
    text_sha256: str


class Cut(NamedTuple):
    """A passage's words for the keyword index, and the checksum over them and its text."""

    words: Words
    words_sum: int


class Prepared(NamedTuple):
    """What a document needs to be written, passage by passage; words are None where they should be there already.

    `passages_sum` is the checksum over the document and its passages; None where it is not known of what they are made.
    """

    marks: list[Mark]
    cut: list[Cut | None]
    passages_sum: int | None = None


class Made(NamedTuple):
    """Of what a document is made beside the bytes: its name and suffix, whose tokens were counted, the window."""

    name: str
    suffix: str
    cutter: str
    max_tokens: int


def prepare(content: Read, there: Container[str], made: Made | None = None) -> Prepared:
    """Most of the work of writing a document, before a transaction; words of texts that are there are not cut again."""
    marks = [Mark(passage.identity, passage.text_sha256) for passage in content.passages]
    return Prepared(
        marks,
        [
            None if mark.text_sha256 in there else cut_passage(passage)
            for passage, mark in zip(content.passages, marks, strict=True)
        ],
        None
        if made is None
        else passages_sum(
            made,
            document_row(content, made.suffix, made.cutter),
            [
                (*chunk_row(passage, mark), int(passage.joins_next))
                for passage, mark in zip(content.passages, marks, strict=True)
            ],
        ),
    )


def cut_passage(passage: Passage) -> Cut:
    """A passage's words."""
    cut = cut_words(name=passage.prefix, body=passage.text)
    return Cut(cut, words_sum(passage.prefix, passage.text, cut))


def words_sum(prefix: str, text: str, cut: Words) -> int:
    """The checksum over a passage's text and its words."""
    return sum_of("words", prefix, text, cut)


def passages_sum(made: Made, document: Sequence[Any], chunks: Sequence[Sequence[Any]]) -> int:
    """The checksum over a document's row and those of its chunks, each with whether it joins the next."""
    return sum_of("passages", tuple(made), document, chunks)


DOCUMENT = "sha256, suffix, format, title, created, extractor, cutter, notes"
CHUNK = """ordinal, heading_path, prefix, text, page, start_line, end_line, record_id, title, created, identity,
text_sha256, has_secret"""
"""The columns that say what was read of a file."""


def document_row(content: Read, suffix: str, cutter: str) -> tuple[Any, ...]:
    """The values of DOCUMENT."""
    notes = json.dumps(content.notes, ensure_ascii=False)
    return content.sha256, suffix, content.format, content.title, content.created, content.extractor, cutter, notes


def chunk_row(passage: Passage, mark: Mark) -> tuple[Any, ...]:
    """The values of CHUNK."""
    return (
        passage.ordinal,
        _stored(passage.heading_path),
        passage.prefix,
        passage.text,
        passage.page,
        passage.start_line,
        passage.end_line,
        passage.record_id,
        passage.title,
        passage.created,
        mark.identity,
        mark.text_sha256,
        int(passage.secret is not None),
    )


def as_read(document: Sequence[Any], passages: Iterable[Sequence[Any]]) -> tuple[Read, str, str]:
    """A document from its row and those of its passages, its suffix and by whose tokens it was cut."""
    sha256, suffix, form, title, created, extractor, cutter, notes = document
    found = tuple(_passage(passage) for passage in passages)
    return Read(sha256, form, extractor, title, created, found, tuple(json.loads(notes))), suffix, cutter


def _passage(row: Sequence[Any]) -> Passage:
    ordinal, heading_path, *rest, joins_next, has_secret = row
    read = (ordinal, _headings(heading_path), *rest, bool(joins_next), "secret" if has_secret else None)
    return Passage(*read)


@lru_cache(maxsize=64)
def _headings(stored: str) -> tuple[str, ...]:
    return tuple(json.loads(stored))


@lru_cache(maxsize=64)
def _stored(headings: tuple[str, ...]) -> str:
    """Headings as they are stored: many chunks in a row stand under the same."""
    return json.dumps(headings, ensure_ascii=False)
