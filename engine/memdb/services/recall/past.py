"""Recall as of a time: which text each memory had then, and answers that show it.

A text counts until the time at which the journal has it replaced. What is approximate is said in the notes of an
answer: vectors, links, tags and entities are those of today, and of many memories nobody noted when they came to be.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import MAXYEAR, UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

from memdb.base import resources
from memdb.base.storage import Database
from memdb.base.text import name_key
from memdb.errors import UsageError
from memdb.services.recall.answers import BEGINNING, BLANKS, Filters, Found, Hit, Hop

DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")

LAST_MOMENT = "9" * 13
"""After every time of a journal."""


@dataclass(slots=True)
class Then:
    """Which memories said something else at a time, by node and id of the version; which there were not yet; and which
    are not there any more, by id of the version.

    `lost` are those of which the text of that time was not kept.
    """

    edited: dict[int, int] = field(default_factory=dict)
    unborn: set[int] = field(default_factory=set)
    gone: list[int] = field(default_factory=list)
    lost: set[int] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)  # the keys of the unborn


Row = tuple[int, int, int, float, float]
"""An id, how many words of the question a text has, whether all, which share of it, and its BM25."""


def end_of(day: str) -> str:
    """The first moment after a year, month or day, in UTC, as the journal counts time. Raises UsageError."""
    found = DATE.fullmatch(day)
    year, month, date = found.groups() if found else ("0", None, None)
    try:
        begin = datetime(int(year), int(month or 1), int(date or 1), tzinfo=UTC)
    except ValueError as error:
        raise UsageError(
            f"There is no {day!r} in the calendar.", hint="Write a date as 2026, 2026-05 or 2026-05-01."
        ) from error
    if begin.year == MAXYEAR:
        return LAST_MOMENT
    if date:
        end = begin + timedelta(days=1)
    else:
        end = (begin + timedelta(days=31)).replace(day=1) if month else begin.replace(year=begin.year + 1)
    return f"{max(0, int(end.timestamp() * 1000)):013d}"


def standing(database: Database, day: str) -> Then:
    """How memories stood at the end of a year, month or day."""
    then = Then()
    for key, version, is_kept, node, is_dated in database.rows(
        resources.query("as_of_texts"), {"after": end_of(day), "day": day}
    ):
        if version is None:
            if node is not None and not is_dated:
                then.unborn.add(node)
                then.absent.add(key)
        elif not is_kept:
            then.lost.update([node] if node is not None else [])
        elif node is None:
            then.gone.append(version)
        else:
            then.edited[node] = version
    then.gone.sort()
    return then


def split(then: Then | None, allowed: str | None) -> tuple[str | None, str | None]:
    """Of the nodes that filters let through (JSON), those that there were, and of these the ones that said what they
    say today; all where no time is asked for.
    """
    if then is None or allowed is None:
        return allowed, allowed
    there = [node for node in json.loads(allowed) if node not in then.unborn and node not in then.lost]
    return json.dumps(there), json.dumps([node for node in there if node not in then.edited])


def matches(database: Database, then: Then, allowed: str, values: dict[str, Any]) -> tuple[list[Row], list[Row]]:
    """The texts of that time which hold words of the question: by node, and by version of what is gone."""
    within = set(json.loads(allowed))
    nodes = {version: node for node, version in then.edited.items() if node in within}
    wanted = [*nodes, *then.gone]
    if not wanted:
        return [], []
    rows = database.rows(resources.query("recall_past"), values | {"versions": json.dumps(wanted)})
    edited = [(nodes[row[0]], *row[1:]) for row in rows if row[0] in nodes]
    return edited, [row for row in rows if row[0] not in nodes]


def dressed(database: Database, hit: Hit, then: Then) -> Hit:
    """A hit as its memory stood then: with the name and description of that time, marked by what there was then."""
    if hit.kind != "memory":
        return hit
    hit = replace(
        hit,
        superseded_by=tuple(key for key in hit.superseded_by if key not in then.absent),
        contradicts=tuple(key for key in hit.contradicts if key not in then.absent),
        stale=False,
    )
    node = database.value("select id from node where key = ?", (hit.id,))
    if node not in then.edited:
        return hit
    number, _, text = _version(database, then.edited[node])
    from memdb.domain import frontmatter  # noqa: PLC0415 (a parser that other recalls do not need)

    parsed = frontmatter.parse(text)
    return replace(
        hit,
        name=parsed.name or hit.id.rpartition("/")[2],
        description=parsed.description or parsed.body.strip(BLANKS)[:BEGINNING],
        version=number,
    )


def gone_hits(database: Database, rows: Sequence[Row], filters: Filters, found: Sequence[float]) -> list[Hit]:
    """Hits for memories that are not there any more; `found` has the similarity of each row. They have no place in the
    graph.
    """
    hits = []
    for rank, (row, similarity) in enumerate(zip(rows, found, strict=True), start=1):
        number, key, text = _version(database, row[0])
        if not _passes(key, text, filters):
            continue
        from memdb.domain import frontmatter  # noqa: PLC0415

        parsed = frontmatter.parse(text)
        hits.append(
            Hit(
                id=key,
                kind="memory",
                score=similarity,
                name=parsed.name or key.rpartition("/")[2],
                type=key.partition("/")[0],
                description=parsed.description or parsed.body.strip(BLANKS)[:BEGINNING],
                file=f"{key}.md",
                path=(Hop(key, None, None, similarity),),
                arms={"keyword": Found(rank, similarity, row[3])},
                fused=similarity,
                superseded_by=(),
                contradicts=(),
                stale=False,
                version=number,
            )
        )
    return hits


def _version(database: Database, version: int) -> tuple[int, str, str]:
    """Number, memory and text of a version."""
    key, text = database.rows("select memory_key, text from memory_version where id = ?", (version,))[0]
    number = database.value("select count(*) from memory_version where memory_key = ? and id <= ?", (key, version))
    return int(number), str(key), str(text)


def _passes(key: str, text: str, filters: Filters) -> bool:
    """Whether the filters let a text through that has no rows any more."""
    from memdb.domain import frontmatter  # noqa: PLC0415

    parsed = frontmatter.parse(text)
    tags = {name_key(tag.removeprefix("#")) for tag in parsed.tags}
    of = parsed.happened_at or parsed.modified or parsed.created or ""
    day = filters.as_of or ""
    begins = parsed.valid_from or parsed.created or ""
    return (
        filters.document is None
        and (not filters.kinds or "memory" in filters.kinds)
        and (not filters.types or key.partition("/")[0] in filters.types)
        and {name_key(tag.removeprefix("#")) for tag in filters.tags} <= tags
        and (filters.path is None or fnmatchcase(f"{key}.md", filters.path))
        and (filters.since is None or of[: len(filters.since)] >= filters.since)
        and (filters.until is None or ("" < of[: len(filters.until)] <= filters.until))
        and begins[: len(day)] <= day
        and (parsed.valid_to is None or parsed.valid_to[: len(day)] >= day)
    )


def remarks(database: Database, then: Then, *, vectors: bool, kinds: Collection[str]) -> list[str]:
    """What of an answer as of a time is approximate."""
    said = []
    if then.edited:
        found = "; what was edited since is found by its words, not by its meaning" if vectors else ""
        said.append(f"As of then: links, tags and entities are those of today{found}.")
    if then.lost:
        one = "1 memory is" if len(then.lost) == 1 else f"{len(then.lost)} memories are"
        said.append(f"{one} left out: the text of that time was not kept.")
    if ("chunk" in kinds or not kinds) and database.value("select 1 from chunk limit 1") is not None:
        said.append("Documents are as they are now: memdb keeps no earlier texts of them.")
    undated = database.value(
        "select count(*) from memory join node using (id) where coalesce(valid_from, created, happened_at) is null"
        " and not exists (select 1 from memory_birth where memory_key = node.key)"
    )
    if undated and ("memory" in kinds or not kinds):
        one = (
            "1 memory does not say since when it is there; it counts"
            if undated == 1
            else (f"{undated} memories do not say since when they are there; they count")
        )
        said.append(f"{one} as there.")
    return said
