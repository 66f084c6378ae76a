"""The words of earlier texts, by which a recall as of a time finds what memories said then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memdb.base.storage import Database
from memdb.domain import frontmatter
from memdb.domain.history import Version
from memdb.services.index import indexing
from memdb.services.index.indexing import Words

Identity = tuple[str, str, str]
"""The memory's key, the time and the sha256 of an earlier text: what tells it from all others."""


def insert(database: Database, versions: Iterable[Version]) -> None:
    """Add earlier texts, with their words, after those that are there."""
    _insert(database, versions, {})


def keep(database: Database, versions: Sequence[Version]) -> None:
    """Make the earlier texts those of the journal; words that were cut before are not cut again."""
    wanted = [(v.memory_key, v.at, v.sha256, v.reason, v.text, v.withheld) for v in versions]
    have = database.rows("select memory_key, at, sha256, reason, text, withheld from memory_version order by id")
    waiting = database.value(
        "select 1 from memory_version where text is not null and id not in (select version_id from version_length)"
    )
    if wanted == have and not waiting:
        return
    cut: dict[Identity, Words] = {
        (key, at, digest): (tuple(columns), int(length))
        for key, at, digest, length, *columns in database.rows(
            "select memory_key, at, sha256, words, name, description, tags, body, parts from memory_version"
            " join version_length on version_id = memory_version.id join version_fts on version_fts.rowid = version_id"
        )
    }
    database.connection.execute("delete from memory_version")
    _insert(database, versions, cut)


def rename(database: Database, keys: Iterable[str]) -> None:
    """Cut the words of earlier texts anew whose memories have these keys now: a key has the name of the file in it."""
    run = database.connection.execute
    for key in keys:
        for number, text in database.rows("select id, text from memory_version where memory_key = ?", (key,)):
            run("delete from version_fts where rowid = ?", (number,))
            run("delete from version_length where version_id = ?", (number,))
            if text is not None:
                _put_words(database, number, _cut(key, text))


def _insert(database: Database, versions: Iterable[Version], cut: dict[Identity, Words]) -> None:
    for one in versions:
        database.connection.execute(
            "insert into memory_version (memory_key, at, sha256, reason, text, withheld) values (?, ?, ?, ?, ?, ?)",
            (one.memory_key, one.at, one.sha256, one.reason, one.text, one.withheld),
        )
        number = database.connection.last_insert_rowid()
        if one.text is not None:
            known = cut.get((one.memory_key, one.at, one.sha256))
            _put_words(database, number, known or _cut(one.memory_key, one.text))


def _cut(key: str, text: str) -> Words:
    parsed = frontmatter.parse(text)
    stem = key.rpartition("/")[2]
    title = parsed.h1 or ""
    return indexing.cut_words(
        name=f"{parsed.name} {stem}" if parsed.name and parsed.name != stem else stem,
        description=f"{parsed.description}\n{title}" if title not in parsed.body else parsed.description,
        tags=" ".join((*parsed.tags, *parsed.aliases)),
        body=parsed.body,
    )


def _put_words(database: Database, number: int, cut: Words) -> None:
    columns, length = cut
    database.connection.execute(
        "insert into version_fts (rowid, name, description, tags, body, parts) values (?, ?, ?, ?, ?, ?)",
        (number, *columns),
    )
    database.connection.execute("insert into version_length values (?, ?)", (number, length))
