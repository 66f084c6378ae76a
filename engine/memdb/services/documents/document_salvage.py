"""Take over the passages of a document from the database that a rebuild replaces."""

from __future__ import annotations

from typing import NamedTuple

from memdb.domain import formats
from memdb.domain.documents import Read
from memdb.services.documents import document_content
from memdb.services.documents.document_content import CHUNK, DOCUMENT, Cut, Made, Mark, Prepared
from memdb.services.salvage import Salvage

CHUNKS = f"""select {CHUNK}, exists (select 1 from edge where edge.src = chunk.id and edge.kind = 'next') as joins_next
from chunk where document_id = ? order by ordinal"""

WORDS = """select words_sum, fts.name, description, tags, body, parts, words
from chunk left join fts on fts.rowid = chunk.id left join fts_length on node_id = chunk.id
where document_id = ? order by ordinal"""

HAS_SECRET, JOINS_NEXT = -2, -1
"""Places in a row of CHUNKS."""


class Salvaged(NamedTuple):
    """A document as it was read before, with what it needs to be written."""

    content: Read
    prepared: Prepared


def salvaged(salvage: Salvage, sha256: str, made: Made) -> Salvaged | None:
    """The document with these bytes, as this version of its extractor has cut it; None where it is to be read again."""
    found = salvage.rows(
        f"select {DOCUMENT}, passages_sum, id from document where sha256 = ? and suffix = ?", (sha256, made.suffix)
    )
    if len(found) != 1:
        return None
    *document, known, identity = found[0]
    chunks = salvage.rows(CHUNKS, (identity,))
    if known is None or document_content.passages_sum(made, tuple(document), chunks) != known:
        return None
    content, _, cutter = document_content.as_read(
        document, [(*chunk[:-4], chunk[JOINS_NEXT], chunk[HAS_SECRET]) for chunk in chunks]
    )
    if content.extractor not in formats.versions() or cutter != made.cutter:
        return None
    words = salvage.rows(WORDS, (identity,))
    cuts: list[Cut | None] = [None] * len(chunks)
    if len(words) == len(chunks):
        for place, (said, *columns, length) in enumerate(words):
            cut = tuple(columns), length
            passage = content.passages[place]
            if said is not None and document_content.words_sum(passage.prefix, passage.text, cut) == said:
                cuts[place] = Cut(cut, said)
    marks = [Mark(chunk[-4], chunk[-3]) for chunk in chunks]
    return Salvaged(content, Prepared(marks, cuts, known))
