"""Write documents and chunks: a passage that stays keeps its chunk, a document without a file goes, all are named."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

import apsw

from memdb.base.storage import DAMAGE, UNREADABLE_VALUES, Database
from memdb.domain import documents
from memdb.domain.documents import Passage, Read
from memdb.domain.memories import EDGE_WEIGHTS
from memdb.services.documents.document_content import (
    CHUNK,
    DOCUMENT,
    Cut,
    Mark,
    Prepared,
    as_read,
    chunk_row,
    cut_passage,
    document_row,
    prepare,
)
from memdb.services.index.indexing import (
    NodeWords,
    change_edges,
    drop_passages,
    put_words,
    unindex_words,
)

SHARED = 0.5
"""A new document that has this share of a missing one's passages, and it of the new one's, is the same one, edited."""

OF_FILES = "and not exists (select 1 from place where place.document_id = chunk.document_id and instr(path, '://'))"
"""Of documents that lie in files alone."""


def write(
    database: Database,
    document: int | None,
    content: Read,
    suffix: str,
    cutter: str,
    *,
    words: list[NodeWords],
    prepared: Prepared | None = None,
) -> int:
    """Write a document and its chunks; a passage whose identity stays keeps its chunk, with vectors and edges.

    To `words` come those that the caller has to put into the keyword index, in the same transaction. `prepared` is what
    `prepare` gave for the same content.
    """
    run = database.connection.execute
    row: tuple[Any, ...] = document_row(content, suffix, cutter)
    known = prepared or prepare(content, ())
    row = (*row, known.passages_sum)
    if document is None:
        run("insert into node (kind, key, label) values ('document', ?, '')", (f"\x00{content.sha256}{suffix}",))
        document = database.connection.last_insert_rowid()
        run(
            "insert into document (id, sha256, suffix, format, title, created, extractor, cutter, notes, passages_sum,"
            " state) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'seen')",
            (document, *row),
        )
        _write_first(database, document, content.passages, known, words)
        return document
    run(
        "update document set sha256 = ?, suffix = ?, format = ?, title = ?, created = ?, extractor = ?, cutter = ?,"
        " notes = ?, passages_sum = ?, state = 'seen' where id = ?",
        (*row, document),
    )
    old: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for chunk, identity, text_sha256 in database.rows(
        "select id, identity, text_sha256 from chunk where document_id = ? order by ordinal desc", (document,)
    ):
        old[identity].append((chunk, text_sha256))
    kept: list[int] = []
    for passage, mark, cut in zip(content.passages, known.marks, known.cut, strict=True):
        before = old[mark.identity].pop() if old.get(mark.identity) else None
        kept.append(_write_chunk(database, document, passage, mark, words, before=before, cut=cut))
    leading = _leading(database, document)
    for chunks in old.values():
        for chunk, _ in chunks:
            drop_chunk(database, chunk)
    _write_next(database, kept, content.passages, leading)
    return document


def _leading(database: Database, document: int) -> set[int]:
    """The chunks of a document that lead on to another one."""
    return {
        chunk
        for (chunk,) in database.rows(
            "select src from edge join chunk on chunk.id = src where document_id = ? and kind = 'next'", (document,)
        )
    }


def texts_of(database: Database, documents: Iterable[int | None]) -> set[str]:
    """The sha256 of the texts that some documents have."""
    return {
        text_sha256
        for document in documents
        for (text_sha256,) in database.rows("select text_sha256 from chunk where document_id = ?", (document,))
    }


def _write_first(
    database: Database, document: int, passages: tuple[Passage, ...], known: Prepared, words: list[NodeWords]
) -> None:
    """Write all chunks of a document that has none yet: statement by statement, not chunk by chunk."""
    run = database.connection.executemany
    first = int(database.value("select max(id) from node")) + 1
    chunks = range(first, first + len(passages))
    cuts = [cut or cut_passage(passage) for passage, cut in zip(passages, known.cut, strict=True)]
    run(
        "insert into node (id, kind, key, label) values (?, 'chunk', ?, '')",
        [(chunk, f"\x00{document}:{chunk}") for chunk in chunks],
    )
    run(
        f"insert into chunk (id, document_id, words_sum, {CHUNK})"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (chunk, document, cut.words_sum, *chunk_row(passage, mark))
            for chunk, passage, mark, cut in zip(chunks, passages, known.marks, cuts, strict=True)
        ],
    )
    words += [(chunk, cut.words) for chunk, cut in zip(chunks, cuts, strict=True)]
    run(
        "insert into edge (src, dst, kind, weight) values (?, ?, 'next', ?)",
        [
            (chunk, chunk + 1, EDGE_WEIGHTS["next"])
            for chunk, passage in zip(chunks[:-1], passages, strict=False)
            if passage.joins_next
        ],
    )


def _write_chunk(
    database: Database,
    document: int,
    passage: Passage,
    mark: Mark,
    words: list[NodeWords],
    *,
    before: tuple[int, str] | None,
    cut: Cut | None,
) -> int:
    run = database.connection.execute
    chunk, old = before or (None, None)
    if chunk is not None and old == mark.text_sha256:
        # Its row stays: what waits on new rows has nothing to do with it.
        run(
            "update chunk set ordinal = ?, page = ?, start_line = ?, end_line = ?, created = ?, has_secret = ?"
            " where id = ?",
            (
                passage.ordinal,
                passage.page,
                passage.start_line,
                passage.end_line,
                passage.created,
                int(passage.secret is not None),
                chunk,
            ),
        )
        return chunk
    cut = cut or cut_passage(passage)
    if chunk is None:
        key = f"\x00{document}:{passage.ordinal}:{mark.identity}"
        run("insert into node (kind, key, label) values ('chunk', ?, '')", (key,))
        chunk = database.connection.last_insert_rowid()
    run(
        f"insert or replace into chunk (id, document_id, words_sum, {CHUNK}, indexed_at)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (select indexed_at from chunk where id = ?))",
        (chunk, document, cut.words_sum, *chunk_row(passage, mark), chunk),
    )
    if before is not None:
        unindex_words(database, chunk)
        drop_passages(database, chunk)
    words.append((chunk, cut.words))
    return chunk


def drop_chunk(database: Database, chunk: int) -> None:
    """Delete a chunk's node and all that hangs on it."""
    drop_passages(database, chunk)
    unindex_words(database, chunk)
    database.connection.execute("delete from node where id = ?", (chunk,))


def _write_next(database: Database, chunks: list[int], passages: tuple[Passage, ...], leading: set[int]) -> None:
    """Join each chunk to the following one of its section by a `next` edge; those in `leading` may have another."""
    for place, chunk in enumerate(chunks):
        new = {chunks[place + 1]} if passages[place].joins_next and place + 1 < len(chunks) else set()
        old = set()
        if chunk in leading:
            old = {dst for (dst,) in database.rows("select dst from edge where src = ? and kind = 'next'", (chunk,))}
        if old != new:
            change_edges(database, chunk, "next", old, new)


def leave(database: Database, path: str) -> None:
    """Forget a place and what was wrong with it."""
    database.connection.execute("delete from place where path = ?", (path,))
    database.connection.execute("delete from problem where path = ? and code = 'document'", (path,))


def settle(database: Database, touched: Iterable[int | None]) -> None:
    """Drop touched documents without a place, forget gone places of those that have another, and name what is left.

    A document is `document:` and the first of its paths, a chunk that and its record's id or its place.
    """
    run = database.connection.execute
    named: list[tuple[int, str, str]] = []
    for document in sorted({document for document in touched if document is not None}):
        if database.value("select 1 from place where document_id = ? and state = 'seen'", (document,)):
            run("delete from place where document_id = ? and state = 'missing'", (document,))
            run("update place set document_id = null where document_id = ? and state = 'error'", (document,))
        path, seen = database.rows(
            "select min(path), coalesce(max(state = 'seen'), 0) from place where document_id = ?", (document,)
        )[0]
        if path is None:
            for (chunk,) in database.rows("select id from chunk where document_id = ?", (document,)):
                drop_chunk(database, chunk)
            run("delete from node where id = ?", (document,))
            continue
        run("update document set state = ? where id = ?", ("seen" if seen else "missing", document))
        title = database.value("select title from document where id = ?", (document,))
        named += _names(database, document, documents.key(path), title or documents.name_of(path))
    now = {
        node: (key, label)
        for node, key, label in database.rows(
            "select id, key, label from node where id in (select value from json_each(?))",
            (json.dumps([node for node, *_ in named]),),
        )
    }
    renamed = [(node, key, label) for node, key, label in named if now[node] != (key, label)]
    # Two documents can change names with one another: a name that holds a node's place comes between.
    moved = [
        (f"\x00{node}", node) for node, key, _ in renamed if now[node][0] != key and not now[node][0].startswith("\x00")
    ]
    database.connection.executemany("update node set key = ? where id = ?", moved)
    database.connection.executemany(
        "update node set key = ?, label = ? where id = ?", [(key, label, node) for node, key, label in renamed]
    )


def _names(database: Database, document: int, key: str, label: str) -> list[tuple[int, str, str]]:
    rows = database.rows(
        "select id, ordinal, record_id, prefix from chunk where document_id = ? order by ordinal", (document,)
    )
    keys = documents.chunk_keys(key, [(ordinal, record_id) for _, ordinal, record_id, _ in rows])
    chunks = [(row[0], name, row[3]) for row, name in zip(rows, keys, strict=True)]
    return [(document, key, label), *chunks]


def successors(database: Database, fresh: Iterable[int]) -> list[tuple[int, int]]:
    """The documents whose files are gone, each with the one of the fresh ones that shares most of its passages.

    Where two could be meant, on either side, none is. Pages and uploads are never moved.
    """
    owners: dict[str, list[int]] = defaultdict(list)
    size: Counter[int] = Counter()
    for document in fresh:
        for (identity,) in database.rows(
            f"select distinct identity from chunk where document_id = ? {OF_FILES}", (document,)
        ):
            owners[identity].append(document)
            size[document] += 1
    shared: Counter[tuple[int, int]] = Counter()
    for document, identity in database.rows(
        "select distinct document_id, identity from chunk where document_id in"
        " (select id from document where state = 'missing' and not exists"
        f" (select 1 from place where document_id = document.id and state <> 'missing')) {OF_FILES}"
    ):
        size[document] += 1
        for other in owners.get(identity, ()):
            shared[document, other] += 1
    alike = [pair for pair, count in shared.items() if count >= SHARED * max(size[pair[0]], size[pair[1]])]
    olds, news = Counter(old for old, _ in alike), Counter(new for _, new in alike)
    return sorted((old, new) for old, new in alike if olds[old] == news[new] == 1)


def rejoin(database: Database, old: int, new: int) -> None:
    """Make a document the next state of one whose file is gone: what they share keeps the chunks of the old one."""
    content, suffix, cutter = _content(database.connection, new)
    places = database.rows("select path from place where document_id = ?", (new,))
    for (chunk,) in database.rows("select id from chunk where document_id = ?", (new,)):
        drop_chunk(database, chunk)
    database.connection.execute("delete from node where id = ?", (new,))
    words: list[NodeWords] = []
    write(database, old, content, suffix, cutter, words=words)
    put_words(database, words)
    database.connection.executemany("update place set document_id = ? where path = ?", [(old, p) for (p,) in places])
    database.connection.execute("delete from place where document_id = ? and state = 'missing'", (old,))
    settle(database, [old])


def carry_over(old: apsw.Connection, fresh: Database) -> int:
    """Take over, from the database that a rebuild replaces, the documents whose files are gone; returns how many.

    They are in no file any more, so that nothing else could bring them back. Stops where the old database is damaged.
    """
    taken = 0
    try:
        gone: list[tuple[Any, ...]] = old.execute(
            "select id from document where state = 'missing' order by id"
        ).fetchall()
        for (document,) in gone:
            places: list[tuple[Any, ...]] = old.execute(
                "select path, size, mtime_ns, ctime_ns, sha256 from place where document_id = ?", (document,)
            ).fetchall()
            content, suffix, cutter = _content(old, document)
            words: list[NodeWords] = []
            with fresh.write() as connection:
                kept = write(fresh, None, content, suffix, cutter, words=words)
                put_words(fresh, words)
                connection.executemany(
                    "insert into place (path, document_id, size, mtime_ns, ctime_ns, sha256, state)"
                    " values (?, ?, ?, ?, ?, ?, 'missing')",
                    [(path, kept, *stamp) for path, *stamp in places],
                )
                settle(fresh, [kept])
            taken += 1
    except (*DAMAGE, *UNREADABLE_VALUES, apsw.SQLError, apsw.ConstraintError):
        return taken
    return taken


PASSAGES = """select ordinal, heading_path, prefix, text, page, start_line, end_line, record_id, title, created,
exists (select 1 from edge where edge.src = chunk.id and edge.kind = 'next') as joins_next, has_secret
from chunk where document_id = ? order by ordinal"""


def _content(connection: apsw.Connection, document: int) -> tuple[Read, str, str]:
    """A document as it was read, its suffix and by whose tokens it was cut."""
    row: tuple[Any, ...] = connection.execute(f"select {DOCUMENT} from document where id = ?", (document,)).fetchall()[
        0
    ]
    return as_read(row, connection.execute(PASSAGES, (document,)))
