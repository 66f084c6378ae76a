"""Read from texts which names they mention: from a model's output where there is one, by rules, and by known names.

The passage of a text is read outside of any transaction, then written as evidence; `entities.settle` derives the rest.
What waits is in tables that triggers fill, so that a pass that is interrupted goes on where it was.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from memdb.base import files, words
from memdb.base.kept import state_of
from memdb.base.later import Later
from memdb.base.storage import Database
from memdb.base.text import name_key
from memdb.domain import gazetteer
from memdb.services import late
from memdb.services.conflicts import conflict_tables
from memdb.services.context import Context, Progress, silent
from memdb.services.entities import matching
from memdb.services.entities.mention_rows import Evidence, Text, evidence_digests, write_all_evidence

if TYPE_CHECKING:
    from memdb.services.conflicts import clashes
    from memdb.services.entities import entities, evidence_salvage
else:
    clashes = Later("memdb.services.conflicts.clashes")
    entities = Later("memdb.services.entities.entities")
    evidence_salvage = Later("memdb.services.entities.evidence_salvage")

VERSION = "3"
"""Of what reads names from texts: raised with every change of what it finds, so that all texts are read again."""

BATCH = 200
"""Texts that are read between two transactions: about half a second of work."""

ASIDE_BATCH = 2_000
"""The same in a database that nobody else writes to: fewer pages are written twice."""

CONTESTED_BATCH = 20
"""The same where the writer lock is held meanwhile: a few hundredths of a second."""

MANY_NAMES = 300
"""From so many changed names on, all texts are read against them: cheaper than a search for each name."""

SUBJECT_WORDS = 8
"""A text's own name of more words is a sentence: nothing else mentions it by that."""


def waiting_count(context: Context) -> int:
    """How many texts wait to be read for names."""
    return int(context.database.value("select count(*) from extract_waiting"))


def is_behind(database: Database) -> bool:
    """Whether anything waits to be read or derived."""
    return (
        database.meta("names_version") != VERSION
        or bool(
            database.value(
                "select exists (select 1 from extract_waiting)"
                " or exists (select 1 from known_name_changed where balance <> 0)"
                " or exists (select 1 from entity_touched) or exists (select 1 from statement_touched)"
            )
        )
        or conflict_tables.is_behind(database)
    )


def refresh(
    context: Context, *, wait: float = files.LOCK_SECONDS, limit: int | None = None, progress: Progress = silent
) -> int:
    """Read what waits, look for names that came or went, and derive the entities; returns how many texts were read.

    `limit` bounds how many texts are read now, and then `wait` for how many seconds. Raises Busy, NotWritable.
    """
    database, end = context.database, None if limit is None else time.monotonic() + wait
    if not is_behind(database):
        return 0
    if database.meta("names_version") != VERSION:
        with files.writer(context.place, wait), database.write() as connection:
            connection.execute(
                "insert or replace into extract_waiting"
                " select id, 'read' from memory union all select id, 'read' from chunk"
            )
            database.set_meta("names_version", VERSION)
    with _late(context, late.MENTIONS, late.KNOWN_NAMES):
        read = _each_batch(context, "read", _read_batch, wait=wait, limit=limit, end=end, progress=progress)
    left = None if limit is None else limit - read
    with files.writer(context.place, wait), database.write():
        entities.settle(database)
        if left is None or left > 0:
            _queue_changed(database)
    match = matching.Matching(database)
    with _late(context, late.MATCHES):
        read += _each_batch(context, "match", match, wait=wait, limit=left, end=end, progress=progress)
    with files.writer(context.place, wait), database.write():
        entities.settle(database)
    return read


def _late(context: Context, *parts: late.Derived) -> AbstractContextManager[None]:
    """Where a database is filled aside what is derived from many rows can wait for the last of them."""
    return late.late(context.database, *parts) if context.is_aside else nullcontext()


Step = Callable[[Context, list[Text]], tuple[Callable[[], bool], Callable[[], None]]]
"""Reads some texts and returns what tells whether all that the result rests on is as it was, and what writes it."""


def _each_batch(
    context: Context, stage: str, step: Step, *, wait: float, limit: int | None, end: float | None, progress: Progress
) -> int:
    """Read what waits for a stage, batch by batch, until so many texts are read or the time has come."""
    database = context.database
    total = int(database.value("select count(*) from extract_waiting where stage = ?", (stage,)))
    total = total if limit is None else min(total, max(limit, 0))
    done, is_contested = 0, False
    batch = ASIDE_BATCH if context.is_aside else BATCH
    while done < total and (end is None or time.monotonic() < end):
        with ExitStack() as held:
            if is_contested:
                # What was read changed meanwhile. Where others write without a pause it would do so again.
                held.enter_context(files.writer(context.place, wait))
            nodes = [
                node
                for (node,) in database.rows(
                    "select node_id from extract_waiting where stage = ? order by node_id limit ?",
                    (stage, min(CONTESTED_BATCH if is_contested else batch, total - done)),
                )
            ]
            if not nodes:
                break
            before = state_of(database)
            texts = texts_of(database, nodes)
            holds, write = step(context, texts)
            held.enter_context(files.writer(context.place, wait))
            connection = held.enter_context(database.write())
            if state_of(database) != before:
                now = {text.node: text for text in texts_of(database, nodes)}
                is_contested = not (all(now.get(text.node) == text for text in texts) and holds())
            else:
                is_contested = False
            if not is_contested:
                connection.executemany(
                    "delete from extract_waiting where node_id = ? and stage = ?", [(node, stage) for node in nodes]
                )
                write()
                done += len(nodes)
        progress("reading names" if stage == "read" else "matching names", done, total)
    return done


TEXTS = """select memory.id, 'memory', description || char(10) || trim(body, char(9, 10, 13, 32)), name,
       name, null, aliases, text_sha256, has_secret
from memory where memory.id in (select value from json_each(:nodes))
union all
select chunk.id, 'chunk', iif(state = 'seen', text, ''), iif(state = 'seen', prefix, ''),
       iif(state = 'seen', chunk.title, null), iif(state = 'seen' and ordinal = 0, document.title, null), '[]',
       iif(state = 'seen', text_sha256, ''), has_secret
from chunk join document on document.id = document_id where chunk.id in (select value from json_each(:nodes))
order by 1"""


def texts_of(database: Database, nodes: Sequence[int]) -> list[Text]:
    """Memories and chunks as they are read; what is neither is not there."""
    found = []
    for node, kind, body, above, title, whole, aliases, text_sha256, has_secret in database.rows(
        TEXTS, {"nodes": json.dumps(nodes)}
    ):
        own = [name for name in (title, whole) if name]
        subjects = tuple(own if kind == "memory" else [one for name in own for one in gazetteer.title_names(name)])
        if aliases != "[]":
            subjects += tuple(json.loads(aliases))
        found.append(Text(node, kind, body, above, subjects, text_sha256, bool(has_secret)))
    return found


# Reading


def _read_batch(context: Context, texts: list[Text]) -> tuple[Callable[[], bool], Callable[[], None]]:
    database = context.database
    inputs = _inputs(database, texts)
    old = evidence_digests(database, [text.node for text in texts])
    unread = [text for text in texts if old.get(text.node) != inputs[text.node][2]]
    taken: dict[int, Evidence] = {}
    if context.salvage is not None:
        taken = evidence_salvage.taken(context.salvage, [(text, inputs[text.node][2]) for text in unread])
    plans = [(text, taken.get(text.node) or _evidence(text, *inputs[text.node])) for text in unread]

    def holds() -> bool:
        # An output that another process put into the ledger meanwhile is to be read.
        return {node: found[2] for node, found in _inputs(database, texts).items()} == {
            node: found[2] for node, found in inputs.items()
        }

    write_claims = clashes.read(database, [text.node for text in texts if text.kind == "memory"])

    def write() -> None:
        write_claims()
        # Another process may have read some of them meanwhile.
        nodes = [text.node for text, _ in plans]
        write_all_evidence(database, plans, set(nodes) - evidence_digests(database, nodes).keys())
        _match_later(database, [text.node for text, _ in plans])

    return holds, write


def _inputs(database: Database, texts: list[Text]) -> dict[int, tuple[Output | None, frozenset[str], str]]:
    """What the evidence of each text is read from: the output of a model, the types with short names, a digest."""
    single_letters = frozenset(
        key for (key,) in database.rows("select name_key from vocabulary where kind = 'type' and single_letters")
    )
    outputs = _latest_outputs(database, [text.text_sha256 for text in texts])
    found = {}
    for text in texts:
        output = outputs.get(text.text_sha256)
        found[text.node] = output, single_letters, _input_digest(text, output, single_letters)
    return found


Output = tuple[str, dict[str, Any], frozenset[str]]
"""Of a model for a text: its time, the answer, and the names that were disabled then."""


def _latest_outputs(database: Database, texts: Sequence[str]) -> dict[str, Output]:
    """The newest output of a model for each of some texts that have one."""
    return {
        text_sha256: (at, json.loads(output), frozenset(json.loads(refused)))
        for text_sha256, at, output, refused in database.rows(
            "select text_sha256, at, output, refused from json_each(?) cross join extraction on text_sha256 = value"
            " order by at",
            (json.dumps(texts),),
        )
    }


def _input_digest(text: Text, output: tuple[str, Any, Any] | None, single_letters: Collection[str]) -> str:
    parts = [VERSION, text.text_sha256, text.subjects, *((output[0], sorted(single_letters)) if output else ())]
    return sha256(json.dumps(parts, ensure_ascii=True).encode()).hexdigest()


def _evidence(
    text: Text, output: tuple[str, dict[str, Any], frozenset[str]] | None, single_letters: Collection[str], digest: str
) -> Evidence:
    # Rules that a sync without changes does not need.
    from memdb.domain import extraction, names, relation_patterns  # noqa: PLC0415
    from memdb.domain.vocabulary import entry_key  # noqa: PLC0415

    skip = "secret" if text.has_secret else extraction.skip_reason(text.sent)
    found = Evidence({}, {}, {}, set(), digest, output[0] if output else None, skip)
    _own_names(text, found)
    if output is None:
        places = names.places_in(text.body)
        for ordinal, name in enumerate(names.once(places)):
            _mention(found, name.key, ("rules", name.source, name.name, name.type, "", ordinal, 0))
        for relation in relation_patterns.relations_in(text.body, places, own=text.subjects):
            if {relation.subject, relation.object} <= found.mentions.keys():
                # Rules go on as the vocabulary is: a disabled predicate is not used, whenever that was.
                found.statements[relation.subject, relation.predicate, relation.object] = (
                    "rules",
                    relation.confidence,
                    "",
                    1,
                )
        return found
    at, answer, refused = output
    said = extraction.read_answer(answer, text.sent, single_letters=single_letters)
    for ordinal, mentioned in enumerate(said.mentions):
        type_ = entry_key("type", mentioned.type)
        row = ("model", "answer", mentioned.name, type_, at, ordinal, int(f"type:{type_}" in refused))
        _mention(found, name_key(mentioned.name), row)
    for stated in said.relations:
        predicate = entry_key("predicate", stated.predicate)
        found.statements[name_key(stated.subject), predicate, name_key(stated.object)] = (
            "model",
            stated.confidence,
            at,
            int(f"predicate:{predicate}" in refused),
        )
    for wanted in said.proposals:
        found.proposals[wanted.kind, entry_key(wanted.kind, wanted.name)] = (wanted.name, wanted.description, at)
    return found


def _mention(found: Evidence, key: str, row: tuple[str, str, str, str | None, str, int, int]) -> None:
    """Add a mention; where a text's own name is said in it as well, that says more."""
    old = found.mentions.get(key)
    if key and (old is None or old[2] == "subject"):
        found.mentions[key] = (key, *row, int(old is not None))


def _own_names(text: Text, found: Evidence) -> None:
    for place, name in enumerate(text.subjects):
        key = name_key(name)
        if not key or len(name.split()) > SUBJECT_WORDS:
            continue
        found.mentions.setdefault(key, (key, "names", "subject", name, None, "", place, 0, 1))
        is_alias = text.kind == "memory" and place > 0
        is_matchable = gazetteer.is_matchable(name)
        if not is_matchable and not is_alias:
            continue
        source = "alias" if is_alias else "memory" if text.kind == "memory" else "title"
        entity_key = name_key(text.subjects[0]) if is_alias else key
        # A short alias is one where a text is said to mention it, but is not looked for: no text has an empty name.
        found.known.add((gazetteer.match_key(name) if is_matchable else "", key, entity_key, source, name))


# Known names


def _match_later(database: Database, nodes: Iterable[int]) -> None:
    database.connection.executemany(
        "insert or ignore into extract_waiting values (?, 'match')", [(node,) for node in nodes]
    )


def _queue_changed(database: Database) -> None:
    """Have the texts that contain a name that came or went matched again."""
    changed = [key for (key,) in database.rows("select distinct match_key from known_name_changed where balance <> 0")]
    if changed:
        database.set_meta(matching.TURN, str(int(database.meta(matching.TURN) or 0) + 1))
    if len(changed) > MANY_NAMES:
        _match_later(
            database, [node for (node,) in database.rows("select id from memory union all select id from chunk")]
        )
    else:
        for key in changed:
            _match_later(database, _containing(database, key))
    database.connection.execute("delete from known_name_changed")


def _containing(database: Database, match_key: str) -> list[int]:
    """The texts that have all words of a name, as the keyword index cuts them."""
    cut = words.searchable(match_key).split()
    if not cut:
        return []
    query = " ".join('"' + word.replace('"', '""') + '"' for word in cut)
    return [node for (node,) in database.rows("select rowid from fts where fts match ?", (query,))]
