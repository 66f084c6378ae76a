"""What one text says, as the tables have it: its mentions, statements, proposals and known names."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from memdb.base.storage import Database
from memdb.base.sums import sum_of


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
    sum: int | None = None  # the checksum, where it is known already


def evidence_sum(text: Text, found: Evidence) -> int:
    """The checksum over a text and what it says."""
    return sum_of(
        "evidence",
        (text.kind, text.body, text.above, text.subjects, text.text_sha256, text.has_secret),
        sorted(found.mentions.items()),
        sorted(found.statements.items()),
        sorted(found.proposals.items()),
        sorted(found.known),
        (found.input_sha256, found.at, found.skip),
    )


def known_sum(evidence: int, rows: Sequence[Row]) -> int:
    """The checksum over what a text says and the known names that were found in it, by their keys."""
    return sum_of("known", evidence, list(rows))


def evidence_digests(database: Database, nodes: Sequence[int]) -> dict[int, str]:
    """From what the evidence of each of some nodes was read; a node that was never read has none."""
    return dict(
        database.rows(
            "select node_id, input_sha256 from json_each(?) cross join extracted on node_id = value",
            (json.dumps(nodes),),
        )
    )


def write_all_evidence(database: Database, plans: Sequence[tuple[Text, Evidence]], first: Collection[int]) -> None:
    """Write what texts say; of those that are read for the `first` time there is nothing yet that would differ."""
    run = database.connection.executemany
    new = [(text.node, found) for text, found in plans if text.node in first]
    run(INSERT_MENTION, [(*row, node) for node, found in new for _, row in sorted(found.mentions.items())])
    _insert(database, STATEMENTS, [(*key, *row, node) for node, found in new for key, row in found.statements.items()])
    _insert(database, PROPOSALS, [(*key, *row, node) for node, found in new for key, row in found.proposals.items()])
    run(INSERT_KNOWN, [(*row, node) for node, found in new for row in sorted(found.known)])
    for text, found in plans:
        if text.node not in first:
            _write_evidence(database, text, found)
    for kind in ("memory", "chunk"):
        run(
            f"update {kind} set indexed_at = ?1 where id = ?2 and indexed_at is not ?1",
            [(found.at, text.node) for text, found in plans if text.kind == kind],
        )
    run(
        "insert or replace into extracted (node_id, input_sha256, skip, evidence_sum) values (?, ?, ?, ?)",
        [
            (text.node, found.input_sha256, found.skip, evidence_sum(text, found) if found.sum is None else found.sum)
            for text, found in plans
        ],
    )


INSERT_MENTION = f"insert or replace into mention ({COLUMNS}, node_id) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
"""A name that was only known so far may be said by the text itself now."""

KNOWN = "match_key, name_key, entity_key, source, name"
INSERT_KNOWN = f"insert into known_name ({KNOWN}, node_id) values (?, ?, ?, ?, ?, ?)"


class _Table(NamedTuple):
    """A table with rows of texts: its key columns beside the node, and the others."""

    name: str
    keys: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def columns(self) -> str:
        return ", ".join((*self.keys, *self.values))


STATEMENTS = _Table("statement", ("subject_key", "predicate", "object_key"), ("origin", "confidence", "at", "refused"))
PROPOSALS = _Table("proposal_evidence", ("kind", "name_key"), ("name", "description", "at"))


def _write_evidence(database: Database, text: Text, found: Evidence) -> None:
    """Write what a text says in place of what it said before."""
    node = text.node
    rows = database.rows(
        f"select {COLUMNS} from mention where node_id = ? and source <> 'known'",
        (node,),
    )
    write_all_mentions(database, {node: rows}, {node: list(found.mentions.values())})
    _write_rows(database, STATEMENTS, node, found.statements)
    _write_rows(database, PROPOSALS, node, found.proposals)
    known = set(
        database.rows("select match_key, name_key, entity_key, source, name from known_name where node_id = ?", (node,))
    )
    database.connection.executemany(
        "delete from known_name where match_key = ? and name_key = ? and source = ? and node_id = ?",
        [(match_key, key, source, node) for match_key, key, _, source, _ in sorted(known - found.known)],
    )
    database.connection.executemany(INSERT_KNOWN, [(*row, node) for row in sorted(found.known - known)])


def write_all_mentions(database: Database, old: Mapping[int, Sequence[Row]], new: Mapping[int, Sequence[Row]]) -> None:
    """Make the mentions of some texts those that they should have, touching only what differs."""
    have = {(row[0], node): row for node, rows in old.items() for row in rows}
    wanted = {(row[0], node): row for node, rows in new.items() for row in rows}
    database.connection.executemany(
        "delete from mention where name_key = ? and node_id = ?",
        [key for key in sorted(have) if wanted.get(key) != have[key]],
    )
    database.connection.executemany(
        INSERT_MENTION, [(*row, node) for (_, node), row in wanted.items() if have.get((row[0], node)) != row]
    )


def _insert(database: Database, table: _Table, rows: Sequence[tuple[Any, ...]]) -> None:
    places = ", ".join("?" * (len(table.keys) + len(table.values) + 1))
    database.connection.executemany(
        f"insert into {table.name} ({table.columns}, node_id) values ({places})", sorted(rows)
    )


def _write_rows(database: Database, table: _Table, node: int, new: dict[Any, tuple[Any, ...]]) -> None:
    """Make a text's rows of a table those that it should have, each given as its key columns and its value columns."""
    keys = len(table.keys)
    old = {
        row[:keys]: row[keys:]
        for row in database.rows(f"select {table.columns} from {table.name} where node_id = ?", (node,))
    }
    where = " and ".join(f"{key} = ?" for key in table.keys)
    database.connection.executemany(
        f"delete from {table.name} where node_id = ? and {where}",
        [(node, *key) for key in sorted(old) if new.get(key) != old[key]],
    )
    _insert(database, table, [(*key, *new[key], node) for key in new if old.get(key) != new[key]])
