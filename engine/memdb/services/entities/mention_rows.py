"""What one text says, as the tables have it: its mentions, statements, proposals and known names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memdb.base.storage import Database


@dataclass(frozen=True, slots=True)
class Text:
    """A node as it is read: what it says, what stands above it, and what it is called itself."""

    node: int
    kind: str
    body: str
    above: str  # a chunk's title and headings: searched for names that are known, too broken for rules
    subjects: tuple[str, ...]
    text_sha256: str
    has_secret: bool

    @property
    def sent(self) -> str:
        """What a model reads."""
        return "\n".join(part for part in (self.above, self.body.strip()) if part)


Row = tuple[str, str, str, str, str | None, str, int, int, int]
"""Of `mention`, all but the node: COLUMNS."""

COLUMNS = "name_key, origin, source, name, type, at, ordinal, refused, about"


@dataclass(slots=True)
class Evidence:
    """What one text says."""

    mentions: dict[str, Row]
    statements: dict[tuple[str, str, str], tuple[str, float, str, int]]
    proposals: dict[tuple[str, str], tuple[str, str, str]]
    known: set[tuple[str, str, str, str, str]]  # match_key, name_key, entity_key, source, name
    input_sha256: str
    at: str | None
    skip: str | None


def write_evidence(database: Database, text: Text, found: Evidence) -> None:
    node, run = text.node, database.connection.execute
    rows = database.rows(
        f"select {COLUMNS} from mention where node_id = ? and source <> 'known'",
        (node,),
    )
    write_mentions(database, node, {row[0]: row for row in rows}, found.mentions)
    _write_rows(
        database,
        "statement",
        node,
        found.statements,
        keys=("subject_key", "predicate", "object_key"),
        values=("origin", "confidence", "at", "refused"),
    )
    _write_rows(
        database,
        "proposal_evidence",
        node,
        found.proposals,
        keys=("kind", "name_key"),
        values=("name", "description", "at"),
    )
    known = set(
        database.rows("select match_key, name_key, entity_key, source, name from known_name where node_id = ?", (node,))
    )
    for match_key, key, _, source, _ in sorted(known - found.known):
        run(
            "delete from known_name where match_key = ? and name_key = ? and source = ? and node_id = ?",
            (match_key, key, source, node),
        )
    database.connection.executemany(
        "insert into known_name (match_key, name_key, entity_key, source, name, node_id) values (?, ?, ?, ?, ?, ?)",
        [(*row, node) for row in sorted(found.known - known)],
    )
    run(f"update {text.kind} set indexed_at = ?1 where id = ?2 and indexed_at is not ?1", (found.at, node))
    run("insert or replace into extracted values (?, ?, ?)", (node, found.input_sha256, found.skip))


def write_mentions(database: Database, node: int, old: dict[str, Row], new: dict[str, Row]) -> None:
    """Make a text's mentions those that it should have, touching only what differs."""
    database.connection.executemany(
        "delete from mention where node_id = ? and name_key = ?",
        [(node, key) for key in sorted(old) if new.get(key) != old[key]],
    )
    # A name that was only known so far may be said by the text itself now.
    database.connection.executemany(
        f"insert or replace into mention ({COLUMNS}, node_id) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(*new[key], node) for key in sorted(new) if old.get(key) != new[key]],
    )


def _write_rows(
    database: Database,
    table: str,
    node: int,
    new: dict[Any, tuple[Any, ...]],
    *,
    keys: tuple[str, ...],
    values: tuple[str, ...],
) -> None:
    """Make a text's rows of a table those that it should have, each given as its key columns and its value columns."""
    columns = ", ".join((*keys, *values))
    old = {
        row[: len(keys)]: row[len(keys) :]
        for row in database.rows(f"select {columns} from {table} where node_id = ?", (node,))
    }
    where = " and ".join(f"{key} = ?" for key in keys)
    database.connection.executemany(
        f"delete from {table} where node_id = ? and {where}",
        [(node, *key) for key in sorted(old) if new.get(key) != old[key]],
    )
    places = ", ".join("?" * (len(keys) + len(values) + 1))
    database.connection.executemany(
        f"insert into {table} ({columns}, node_id) values ({places})",
        [(*key, *new[key], node) for key in sorted(new) if old.get(key) != new[key]],
    )
