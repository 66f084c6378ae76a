"""Take over what texts say and which known names they have, from the database that a rebuild replaces."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from memdb.base.storage import Database
from memdb.services.entities.mention_rows import (
    COLUMNS,
    KNOWN,
    PROPOSALS,
    STATEMENTS,
    Evidence,
    Row,
    Text,
    evidence_sum,
    known_sum,
)
from memdb.services.salvage import Salvage

READ = """select node.kind, input_sha256, extracted.node_id, coalesce(memory.indexed_at, chunk.indexed_at), skip,
evidence_sum
from (select memory.id from json_each(?1) cross join memory on text_sha256 = value
      union all select chunk.id from json_each(?1) cross join chunk on text_sha256 = value) as text
cross join node using (id) cross join extracted on extracted.node_id = text.id
left join memory using (id) left join chunk using (id)
where evidence_sum is not null order by extracted.node_id desc"""

MATCHED = """select evidence_sum, known_sum, node_id from (
    select memory.id from json_each(?1) cross join memory on text_sha256 = value
    union all select chunk.id from json_each(?1) cross join chunk on text_sha256 = value) as text
cross join extracted on node_id = text.id
where evidence_sum is not null and known_sum is not null
  and not exists (select 1 from extract_waiting where extract_waiting.node_id = text.id)
order by node_id desc"""

NAMES = "select distinct match_key, name_key, name from known_name where {heard} order by 1, 2, 3"


def taken(salvage: Salvage, texts: Sequence[tuple[Text, str]]) -> dict[int, Evidence]:
    """What texts, each with the digest of what it is read from, were found to say before, where that is sure."""
    rows = salvage.rows(READ, (_texts(text for text, _ in texts),))
    olds = {(kind, digest): (node, at, skip, said) for kind, digest, node, at, skip, said in rows}
    pairs = [(text, digest, *olds[text.kind, digest]) for text, digest in texts if (text.kind, digest) in olds]
    nodes = json.dumps(sorted({node for _, _, node, *_ in pairs}))
    mentions = _by_node(salvage, "mention", COLUMNS, nodes, "source <> 'known'")
    statements = _by_node(salvage, STATEMENTS.name, STATEMENTS.columns, nodes)
    proposals = _by_node(salvage, PROPOSALS.name, PROPOSALS.columns, nodes)
    known = _by_node(salvage, "known_name", KNOWN, nodes)
    found = {}
    for text, digest, node, at, skip, said in pairs:
        evidence = Evidence(
            {row[0]: row for row in mentions[node]},
            {row[:3]: row[3:] for row in statements[node]},
            {row[:2]: row[2:] for row in proposals[node]},
            set(known[node]),
            digest,
            at,
            skip,
        )
        with suppress(TypeError):  # a value of a damaged row can be of another type, and has no place among the others
            if evidence_sum(text, evidence) == said:
                evidence.sum = said
                found[text.node] = evidence
    return found


def knows_the_same(salvage: Salvage, database: Database, heard: str) -> bool:
    """Whether the same names were known before, and looked for."""
    waiting = salvage.rows(
        "select (select count(*) from known_name_changed where balance <> 0),"
        " (select value from meta where key = 'names_version')"
    )
    names = NAMES.format(heard=heard)
    return waiting == [(0, database.meta("names_version"))] and salvage.rows(names) == database.rows(names)


def known(salvage: Salvage, texts: Sequence[Text], sums: Mapping[int, int | None]) -> dict[int, tuple[list[Row], int]]:
    """The mentions of known names in texts whose evidence has these checksums, and their own, where that is sure."""
    rows = salvage.rows(MATCHED, (_texts(texts),))
    olds = {evidence: (said, node) for evidence, said, node in rows}
    pairs = [(text.node, *olds[sums[text.node]]) for text in texts if sums.get(text.node) in olds]
    nodes = json.dumps(sorted({node for _, _, node in pairs}))
    mentions = _by_node(salvage, "mention", COLUMNS, nodes, "source = 'known'")
    found = {}
    for new, said, node in pairs:
        evidence = sums[new]
        if evidence is not None and known_sum(evidence, mentions[node]) == said:
            found[new] = mentions[node], said
    return found


def _texts(texts: Iterable[Text]) -> str:
    return json.dumps(sorted({text.text_sha256 for text in texts}))


def _by_node(
    salvage: Salvage, table: str, columns: str, nodes: str, where: str = "true"
) -> Mapping[int, list[tuple[Any, ...]]]:
    """The rows of nodes, by their keys."""
    found: dict[int, list[Any]] = defaultdict(list)
    for node, *row in salvage.rows(
        f"select node_id, {columns} from {table} where {where} and node_id in (select value from json_each(?))"
        f" order by node_id, {columns}",
        (nodes,),
    ):
        found[node].append(tuple(row))
    return found
