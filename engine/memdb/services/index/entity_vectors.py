"""Vectors of what entities are called, so that a question finds what it means by another word.

An entity is worth one where several texts meet in it and none is about it: a text that bears the name has it in its own
vector. In a large store only those that most texts mention have one, so that names cost little beside the texts.
"""

from __future__ import annotations

import re

from memdb.base.storage import Database
from memdb.base.text import sha256_text
from memdb.domain.names_shapes import is_file
from memdb.services.context import Context, Progress, silent
from memdb.services.index import signatures, vectors

STALE = "entity_names_stale"
"""In `meta` while entities may have changed since their names were embedded."""

LEAST_TEXTS, MOST_TEXTS = 2, 200
"""Neighbours of an entity that has a vector: of one text there is nothing to meet in, of more it says nothing."""

TEXTS_PER_NAME = 8
"""A name costs a fifth of a passage (15 against 79 ms of processor time): so many texts to a name make it 2 percent."""

FEW_NAMES = 500
"""Up to so many names have vectors in any store: some seconds."""

MOST_NAMES = 20_000
"""And in the largest one: their bits are compared in some milliseconds."""

NAMES_LATER = 2_000
"""In a store with more, a pass with a limit leaves them: to look through them is not for someone who waits."""

BATCH = 64
"""Names per round: embedded outside of any transaction, then written in one."""

CANDIDATES = 100
"""Names that are compared exactly: what is near enough to count is among so few."""

NEAREST = 3
"""Entities that a question may mean by other words."""

# Up to five words; paths, variables and flags mean nothing to a model.
_WORDS = re.compile(r"[^\W_]+(?:(?:\. | & |[ '’&+-])[^\W_]+){0,4}(?:[+#.]|\+\+)?")

LEAST_DEGREE = """select coalesce((select degree + 1 from node where kind = 'entity' and degree >= 2
order by degree desc limit 1 offset ?), ?)"""

WORTH = """select node.id, entity.name from node join entity using (id)
where kind = 'entity' and degree >= 2 and degree between ? and ?
and not exists (select 1 from neighbor where node_id = node.id and neighbor.kind = 'about')
order by degree desc, node.key"""

TEXTS = """select texts - (
    select count(*) from document join chunk on document_id = document.id where state = 'missing')
from fts_total"""


def name_floor(floor: float) -> float | None:
    """From which similarity on a question is near to a name, by the model's floor of a seed; None where it has none.

    Halfway between the floor and the same: 0.59 for MiniLM, of whose pairs of an unnamed entity and a question of
    2WikiMultihopQA, MuSiQue and SciFact 1 in 3 leads to an answer above it, and 1 in 12 in the tenth below it.
    """
    return (1 + floor) / 2 if floor > 0 else None


def is_worth(name: str) -> bool:
    """True for a name in words: what means something to a model."""
    return _WORDS.fullmatch(name) is not None and not is_file(name)


def wanted(database: Database) -> dict[int, str]:
    """The entities that are to have a vector, with their names, the most mentioned first."""
    most = max(FEW_NAMES, min(MOST_NAMES, int(database.value(TEXTS)) // TEXTS_PER_NAME))
    least = int(database.value(LEAST_DEGREE, (most, LEAST_TEXTS)))
    rows = database.rows(WORTH, (least, MOST_TEXTS))
    return {entity: name for entity, name in rows if is_worth(name)}


def embed_waiting(context: Context, *, limit: int | None = None, progress: Progress = silent) -> int:
    """Embed the names that wait and return how many the model read; with a `limit` no more than that.

    A name is embedded once, whatever bears it. Raises ModelUnavailable where the model fails; without one nothing is
    done.
    """
    database, identity = context.database, context.embedder.status.identity
    if identity is None or (limit is not None and limit <= 0) or database.meta(STALE) is None:
        return 0
    names = wanted(database)
    if limit is not None and len(names) > NAMES_LATER:
        return 0
    digests = {entity: sha256_text(name) for entity, name in names.items()}
    have = {
        entity: tuple(row) for entity, *row in database.rows("select entity_id, model, text_sha256 from entity_name")
    }
    gone = [entity for entity, row in have.items() if row != (identity, digests.get(entity))]
    if gone:
        with database.write() as connection:
            connection.executemany("delete from entity_name where entity_id = ?", [(entity,) for entity in gone])
    missing = [entity for entity in names if have.get(entity) != (identity, digests[entity])]
    embedded = done = 0
    while done < len(missing) and (limit is None or embedded < limit):
        batch = missing[done : done + (BATCH if limit is None else min(BATCH, limit - embedded))]
        embedded += vectors.embed_texts(context, identity, {digests[entity]: names[entity] for entity in batch})
        with database.write() as connection:
            for entity in batch:
                vector = vectors.vector_of(database, identity, digests[entity])
                assert vector is not None
                # The entity may have gone, or be called otherwise, while the model was at work.
                connection.execute(
                    "insert or replace into entity_name select id, ?, ?, ? from entity where id = ? and name = ?",
                    (identity, digests[entity], signatures.signature(vector), entity, names[entity]),
                )
        done += len(batch)
        progress("embedding names", done, len(missing))
    if done == len(missing):
        with database.write():
            if wanted(database) == names:
                database.set_meta(STALE, None)
    return embedded
