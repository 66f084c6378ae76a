"""Keep what the sentences of memories claim, and which memories clash in it: same form, values that disagree."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from zlib import crc32

from memdb.base.storage import Database

MOST_MEMORIES, MOST_VALUES = 8, 5
"""What more memories say, or with more values, is a template that each fills in for itself."""

TEXTS = """select memory.id, base_key, memory.type, description, body, happened_at, valid_from, valid_to
from json_each(?) as wanted cross join memory on memory.id = wanted.value order by memory.id"""

EVENTS = ("episode",)
"""Types whose memories tell what happened, each at its time."""


def read(database: Database, nodes: Sequence[int]) -> Callable[[], None]:
    """What some memories claim, as what writes it: the rules are slow, so they run outside of any transaction.

    Where the rules change, `mentions.VERSION` is raised, so that all texts are read again.
    """
    wanted = {
        node: {(form, value, mark) for form, value, mark, _ in claims} for node, claims in _claims(database, nodes)
    }

    def write() -> None:
        run_many = database.connection.executemany
        for node in nodes:
            new = wanted.get(node, set())
            old = set(database.rows("select form, value, mark from sentence where node_id = ?", (node,)))
            run_many(
                "delete from sentence where node_id = ? and form = ?", [(node, row[0]) for row in sorted(old - new)]
            )
            run_many("insert into sentence values (?, ?, ?, ?)", [(node, *row) for row in sorted(new - old)])

    return write


def _claims(database: Database, nodes: Iterable[int]) -> list[tuple[int, list[tuple[int, str, int, str]]]]:
    """By memory: form, value, mark of the sentence, the sentence."""
    from memdb.domain.clashes import claims_in  # noqa: PLC0415 (rules that a sync without changes does not need)

    found = []
    for node, key, type_, description, body, *when in database.rows(TEXTS, (json.dumps(list(nodes)),)):
        claims = [] if type_ in EVENTS else claims_in(_stem(key), description, body, when)
        found.append(
            (node, [(one.form, one.value, crc32(one.quote.encode("utf-8", "replace")), one.quote) for one in claims])
        )
    return found


def _stem(key: str) -> str:
    return key.rpartition("/")[2]


def settle(database: Database) -> None:
    """Compare the memories of the forms that changed, inside the caller's transaction; replaced ones do not count."""
    run = database.connection.execute
    if database.value("select 1 from sentence_touched limit 1") is None:
        return
    forms = {
        form
        for (form,) in database.rows(
            "select sentence.form from sentence_touched cross join sentence on sentence.form = sentence_touched.form"
            " group by sentence.form having min(value) <> max(value)"
            " union select clash.form from sentence_touched cross join clash on clash.form = sentence_touched.form"
        )
    }
    run("delete from sentence_touched")
    for form in sorted(forms):
        _settle_form(database, form)


def _settle_form(database: Database, form: int) -> None:
    rows = database.rows(
        "select node_id, value from sentence where form = ? and not exists (select 1 from edge"
        " where edge.dst = node_id and edge.kind in ('supersedes', 'replaces') and edge.active)",
        (form,),
    )
    values = dict(rows)
    wanted: set[tuple[int, str, str]] = set()
    if len(values) <= MOST_MEMORIES and 1 < len(set(values.values())) <= MOST_VALUES:
        quotes = {
            node: quote
            for node, claims in _claims(database, values)
            for claimed, _, _, quote in claims
            if claimed == form
        }
        wanted = {(node, value, quotes.get(node, "")) for node, value in values.items()}
    have = set(database.rows("select node_id, value, quote from clash where form = ?", (form,)))
    run_many = database.connection.executemany
    run_many("delete from clash where form = ? and node_id = ?", [(form, row[0]) for row in sorted(have - wanted)])
    run_many("insert into clash values (?, ?, ?, ?)", [(form, *row) for row in sorted(wanted - have)])


Side = tuple[str, str]
"""Of a memory in a clash: its value, and the sentence."""


def groups(database: Database) -> list[tuple[int, dict[int, Side], set[tuple[int, int]]]]:
    """Every form that memories clash in: what each of them says, and the pairs that cannot both be true."""
    from memdb.domain.clashes import disagree, siblings  # noqa: PLC0415

    by_form: dict[int, dict[int, Side]] = defaultdict(dict)
    names: dict[int, str] = {}
    for form, node, value, quote, key in database.rows(
        "select form, node_id, value, quote, node.key from clash join node on node.id = node_id order by form, node.key"
    ):
        by_form[form][node] = (value, quote)
        names[node] = _stem(key)
    found = []
    for form, sides in by_form.items():
        pairs = {
            (one, other)
            for one, other in combinations(sides, 2)
            if disagree(sides[one][0], sides[other][0]) and not siblings(names[one], names[other])
        }
        if pairs:
            found.append((form, sides, pairs))
    return found
