"""Look in texts for the names that the store knows."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from memdb.base.later import Later
from memdb.base.storage import Database
from memdb.domain import gazetteer
from memdb.services.context import Context
from memdb.services.entities.mention_rows import COLUMNS, Row, Text, known_sum, write_all_mentions

if TYPE_CHECKING:
    from memdb.services.entities import evidence_salvage
else:
    evidence_salvage = Later("memdb.services.entities.evidence_salvage")

MANY_TEXTS = 200
"""From so many texts on, all known names are held in memory: cheaper than to look them up for each text."""

TURN = "known_names"
"""The stamp that counts how often texts were queued for names that came or went."""

HEARD = """not exists (select 1 from entity_decision where deleted and entity_key = coalesce(
    (select entity_alias.entity_key from entity_alias where entity_alias.name_key = known_name.name_key),
    known_name.name_key))"""
"""Of a known name: it is looked for. Those of deleted entities are not, and keep no shorter one from being found."""


class Matching:
    """The step that looks for known names: in memory where there are many texts, else looked up in the table."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._all: set[str] | None = None
        self._reach: dict[str, int] = {}
        self._turn: str | None = None
        self._is_known_before = False

    def __call__(self, context: Context, texts: list[Text]) -> tuple[Callable[[], bool], Callable[[], None]]:
        database = self._database
        turn = database.meta(TURN)
        if turn != self._turn:
            self._turn, self._all = turn, None
            self._is_known_before = context.salvage is not None and evidence_salvage.knows_the_same(
                context.salvage, database, HEARD
            )
        sums: dict[int, int | None] = dict(
            database.rows(
                "select node_id, evidence_sum from json_each(?) cross join extracted on node_id = value",
                (json.dumps([text.node for text in texts]),),
            )
        )
        taken: dict[int, tuple[list[Row], int]] = {}
        if self._is_known_before and context.salvage is not None:
            taken = evidence_salvage.known(context.salvage, texts, sums)
        unread = [text for text in texts if text.node not in taken]
        if unread:
            self._hold_all()
        found = {text.node: gazetteer.find(_matched_text(text), self._known, self._starts) for text in unread}

        def write() -> None:
            new = self._rows(found)
            known = {
                node: known_sum(evidence, rows)
                for node, rows in new.items()
                if (evidence := sums.get(node)) is not None
            }
            for node, (rows, said) in taken.items():
                new[node], known[node] = rows, said
            self._write(texts, new, known)

        # Names that another process brought meanwhile had these texts queued already.
        return lambda: database.meta(TURN) == turn, write

    def _hold_all(self) -> None:
        database = self._database
        if self._all is not None or not database.value(
            "select count(*) > ? from (select 1 from extract_waiting limit ?)", (MANY_TEXTS, MANY_TEXTS + 1)
        ):
            return
        self._all, self._reach = set(), {}
        for (key,) in database.rows(f"select distinct match_key from known_name where {HEARD}"):
            first, _, _ = key.partition(" ")
            self._all.add(key)
            self._reach[first] = max(self._reach.get(first, 0), key.count(" ") + 1)

    def _known(self, keys: Collection[str]) -> Collection[str]:
        if self._all is not None:
            return self._all.intersection(keys)
        rows = self._database.rows(
            "select distinct match_key from json_each(?) as wanted join known_name on match_key = wanted.value"
            f" where {HEARD}",
            (json.dumps(sorted(keys), ensure_ascii=False),),
        )
        return {key for (key,) in rows}

    def _starts(self, words_: Collection[str]) -> Mapping[str, int]:
        if self._all is not None:
            return self._reach
        rows = self._database.rows(
            "select value from json_each(?) where exists (select 1 from known_name where match_key = value"
            " or match_key >= value || ' ' and match_key < value || '!')",
            (json.dumps(sorted(words_), ensure_ascii=False),),
        )
        return dict.fromkeys((word for (word,) in rows), gazetteer.MAX_UNSPACED)

    def _rows(self, found: Mapping[int, Sequence[gazetteer.Match]]) -> dict[int, list[Row]]:
        """The mentions that each text has by the names found in it, but for those that it says of itself."""
        database = self._database
        said = set(
            database.rows(
                "select node_id, name_key from json_each(?) cross join mention on node_id = value"
                " where source <> 'known'",
                (json.dumps(list(found)),),
            )
        )
        meant: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for match_key, key, name in database.rows(
            "select match_key, name_key, name from json_each(?) cross join known_name on match_key = value"
            f" where {HEARD} order by name_key, name",
            (json.dumps(sorted({match.key for matches in found.values() for match in matches}), ensure_ascii=False),),
        ):
            meant[match_key].append((key, name))
        rows: dict[int, list[Row]] = {}
        for node, matches in found.items():
            new: dict[str, Row] = {}
            for place, match in enumerate(matches):
                for key, name in meant[match.key]:
                    if (node, key) not in said and gazetteer.agrees(name, match.name):
                        new.setdefault(key, (key, "names", "known", match.name, None, "", place, 0, 0))
            rows[node] = sorted(new.values())
        return rows

    def _write(self, texts: list[Text], new: dict[int, list[Row]], known: Mapping[int, int]) -> None:
        database = self._database
        old: dict[int, list[Row]] = defaultdict(list)
        for node, *row in database.rows(
            f"select node_id, {COLUMNS} from mention where source = 'known'"
            " and node_id in (select value from json_each(?))",
            (json.dumps([text.node for text in texts]),),
        ):
            old[node].append(tuple(row))
        write_all_mentions(database, old, new)
        database.connection.executemany(
            "update extracted set known_sum = ? where node_id = ?",
            [(said, node) for node, said in known.items()],
        )


def _matched_text(text: Text) -> str:
    return f"{text.above}\n{text.body}" if text.kind == "chunk" else text.body
