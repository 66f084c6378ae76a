"""Bring damaged lines of the journal back: by their checksums, else from the tables, which show what they said."""

from __future__ import annotations

import json
from collections.abc import Iterator

from memdb.base.journal import Record
from memdb.base.storage import Database
from memdb.domain import curation, history
from memdb.services.context import Context
from memdb.services.entities import curation_tables


def mend(context: Context) -> tuple[int, int]:
    """Write damaged lines of the journal as they were; returns how many by their checksums, how many from the tables.

    The caller holds the writer lock. Lines of which neither tells stay, and are passed over.
    """

    def known(records: list[Record], writer: str) -> list[Record]:
        return list(_lacking(context.database, records, writer))

    return context.journal.mend(known)


def _lacking(database: Database, records: list[Record], writer: str) -> Iterator[Record]:
    """What the tables show of a writer and the journal does not say, but for what was forgotten."""
    said = {(one["t"], one["w"], one["kind"]) for one in records}
    times = {(one["t"], one["kind"]) for one in records}
    forgets = [one for one in records if one["kind"] == "forget" and history.is_whole(one)]
    gone = {ref for one in forgets for ref in one.get("decisions", ())}

    def is_forgotten(key: str, at: str) -> bool:
        return any(at < one["t"] and history.is_meant(key, one["id_sha256"]) for one in forgets)

    for one in curation_tables.stored(database):
        if one["w"] == writer and (one["t"], writer, one["kind"]) not in said and curation.ref_of(one) not in gone:
            yield one
    for one in _of_texts(database):
        # These tables do not say which machine it was; times of two are never the same in practice.
        if (one["t"], one["kind"]) not in times and not is_forgotten(one["id"], one["t"]):
            yield {"t": one["t"], "w": writer} | one


def _of_texts(database: Database) -> Iterator[Record]:
    """Earlier texts, births and outputs of models as records, with their times."""
    for key, at, digest, reason, text, withheld in database.rows(
        "select memory_key, at, sha256, reason, text, withheld from memory_version"
    ):
        yield {"t": at} | history.version_record(key, digest, reason, text, withheld)
    for key, at in database.rows("select memory_key, at from memory_birth"):
        yield {"t": at} | history.created_record(key)
    for key, at, text_sha256, prompt_sha256, model, output, refused, input_tokens, output_tokens, cost in database.rows(
        "select node.key, at, extraction.text_sha256, prompt_sha256, model, output, refused, input_tokens,"
        " output_tokens, cost from extraction join (select id, text_sha256 from memory union all"
        " select id, text_sha256 from chunk) as text using (text_sha256) join node on node.id = text.id"
        " group by extraction.id"
    ):
        yield {"t": at} | history.extraction_record(
            key,
            text_sha256,
            prompt_sha256,
            model,
            json.loads(output),
            refused=json.loads(refused),
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cost=cost,
        )


__all__ = ["mend"]
