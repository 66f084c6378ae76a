"""Write documents and chunks: a passage that stays keeps its chunk, a document without a file goes, all are named."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import apsw

from memdb.base.storage import DAMAGE, UNREADABLE_VALUES, Database
from memdb.domain import documents
from memdb.domain.documents import Passage, Read
from memdb.services.indexing import change_edges, drop_passages, index_words, unindex_words


def write(database: Database, document: int | None, content: Read, suffix: str, cutter: str) -> int:
    """Write a document and its chunks; a passage whose identity stays keeps its chunk, with vectors and edges."""
    run = database.connection.execute
    notes = json.dumps(content.notes, ensure_ascii=False)
    row = (content.sha256, suffix, content.format, content.title, content.created, content.extractor, cutter, notes)
    if document is None:
        run("insert into node (kind, key, label) values ('document', ?, '')", (f"\x00{content.sha256}{suffix}",))
        document = database.connection.last_insert_rowid()
        run(
            "insert into document (id, sha256, suffix, format, title, created, extractor, cutter, notes,"
            " state) values (?, ?, ?, ?, ?, ?, ?, ?, ?, 'seen')",
            (document, *row),
        )
    else:
        run(
            "update document set sha256 = ?, suffix = ?, format = ?, title = ?, created = ?, extractor = ?, cutter = ?,"
            " notes = ?, state = 'seen' where id = ?",
            (*row, document),
        )
    old: dict[str, list[int]] = defaultdict(list)
    for chunk, identity in database.rows(
        "select id, identity from chunk where document_id = ? order by ordinal desc", (document,)
    ):
        old[identity].append(chunk)
    kept: list[int] = []
    for passage in content.passages:
        before = old[passage.identity].pop() if old.get(passage.identity) else None
        kept.append(_write_chunk(database, document, passage, before))
    for chunks in old.values():
        for chunk in chunks:
            drop_chunk(database, chunk)
    _write_next(database, kept, content.passages)
    return document


def _write_chunk(database: Database, document: int, passage: Passage, chunk: int | None) -> int:
    run = database.connection.execute
    fresh = chunk is None
    old = database.value("select text_sha256 from chunk where id = ?", (chunk,)) if chunk is not None else None
    if chunk is None:
        key = f"\x00{document}:{passage.ordinal}:{passage.identity}"
        run("insert into node (kind, key, label) values ('chunk', ?, '')", (key,))
        chunk = database.connection.last_insert_rowid()
    run(
        "insert or replace into chunk (id, document_id, ordinal, heading_path, prefix, text, page, start_line,"
        " end_line, record_id, title, created, identity, text_sha256, has_secret, indexed_at)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (select indexed_at from chunk where id = ?))",
        (
            chunk,
            document,
            passage.ordinal,
            json.dumps(passage.heading_path, ensure_ascii=False),
            passage.prefix,
            passage.text,
            passage.page,
            passage.start_line,
            passage.end_line,
            passage.record_id,
            passage.title,
            passage.created,
            passage.identity,
            passage.text_sha256,
            int(passage.secret is not None),
            chunk,
        ),
    )
    if fresh or old != passage.text_sha256:
        unindex_words(database, chunk)
        index_words(database, chunk, name=passage.prefix, body=passage.text)
        drop_passages(database, chunk)
    return chunk


def drop_chunk(database: Database, chunk: int) -> None:
    """Delete a chunk's node and all that hangs on it."""
    drop_passages(database, chunk)
    unindex_words(database, chunk)
    database.connection.execute("delete from node where id = ?", (chunk,))


def _write_next(database: Database, chunks: list[int], passages: tuple[Passage, ...]) -> None:
    """Join each chunk to the following one of its section by a `next` edge."""
    for place, chunk in enumerate(chunks):
        new = {chunks[place + 1]} if passages[place].joins_next and place + 1 < len(chunks) else set()
        old = {dst for (dst,) in database.rows("select dst from edge where src = ? and kind = 'next'", (chunk,))}
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
        named += _names(database, document, documents.key(path), title or path.rpartition("/")[2])
    now = {node: tuple(database.rows("select key, label from node where id = ?", (node,))[0]) for node, *_ in named}
    renamed = [(node, key, label) for node, key, label in named if now[node] != (key, label)]
    # Two documents can change names with one another: a name that holds a node's place comes between.
    moved = [(f"\x00{node}", node) for node, key, _ in renamed if now[node][0] != key]
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


def carry_over(old: apsw.Connection, fresh: Database) -> int:
    """Take over, from the database that a rebuild replaces, the documents whose files are gone; returns how many.

    They are in no file any more, so that nothing else could bring them back. Stops where the old database is damaged.
    """
    taken = 0
    try:
        gone: list[tuple[Any, ...]] = old.execute(
            "select id, suffix, cutter, sha256, format, extractor, title, created, notes from document"
            " where state = 'missing' order by id"
        ).fetchall()
        for document, suffix, cutter, *columns, notes in gone:
            places: list[tuple[Any, ...]] = old.execute(
                "select path, size, mtime_ns, ctime_ns, sha256 from place where document_id = ?", (document,)
            ).fetchall()
            passages = tuple(_passage(row) for row in old.execute(PASSAGES, (document,)))
            sha256, form, extractor, title, created = columns
            content = Read(sha256, form, extractor, title, created, passages, tuple(json.loads(notes)))
            with fresh.write() as connection:
                kept = write(fresh, None, content, suffix, cutter)
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
exists (select 1 from edge where edge.src = chunk.id and edge.kind = 'next') as joins_next,
iif(has_secret, 'secret', null)
from chunk where document_id = ? order by ordinal"""


def _passage(row: tuple[Any, ...]) -> Passage:
    ordinal, heading_path, *rest = row
    return Passage(ordinal, tuple(json.loads(heading_path)), *rest)
