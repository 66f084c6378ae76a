"""Look entities up: lists with usage, and one entity with the texts that mention it and what they say of it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

from memdb.base.storage import Database
from memdb.base.text import expose_hidden, name_key
from memdb.errors import NotFound, UsageError
from memdb.services.context import Context
from memdb.services.entities import entities
from memdb.services.memories import reading

SORTS = {
    "mentions": "mentions desc, id",
    "memories": "memories desc, mentions desc, id",
    "documents": "documents desc, mentions desc, id",
    "relations": "relations desc, mentions desc, id",
    "name": "substr(id, 8)",
}
"""How a list of entities can be sorted, and what that is in SQL."""

ORIGINS = ("model", "rules", "names", "user")

MOST_MENTIONS = 20
"""Texts that are listed of one entity by default; a hub has tens of thousands."""

MOST_NAMES_COMPARED = 20_000
"""With more entities a mistyped name is answered without a suggestion: to compare them takes over a second."""


@dataclass(frozen=True, slots=True)
class EntityListed:
    """An entity in a list; `mentions` counts texts, `memories` and `documents` say of which kind they are."""

    id: str  # entity:name key
    name: str
    type: str | None
    origin: str  # the surest evidence: model, rules, names
    mentions: int
    memories: int
    documents: int
    relations: int
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MentionShown:
    """One text that mentions an entity, by the first of the names that it has for it."""

    source: str  # id of the memory or chunk
    document: str | None  # of a chunk
    name: str  # as written
    type: str | None  # as this text has it
    origin: str
    found_as: str
    about: bool  # whether the text bears the name itself


@dataclass(frozen=True, slots=True)
class RelationShown:
    """One relation of an entity: `subject` and `object` are ids, `confidence` lies in 0..1."""

    subject: str
    subject_name: str
    predicate: str
    object: str
    object_name: str
    confidence: float
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DocumentShown:
    """A document that mentions an entity, in how many of its chunks, and which share of all they are."""

    document: str
    chunks: int
    weight: float


@dataclass(frozen=True, slots=True)
class AliasShown:
    """Another name of an entity; `made_by` is memory (a file's `aliases`), rename or merge (a person)."""

    name: str
    made_by: str


@dataclass(frozen=True, slots=True)
class EntityShown:
    """An entity with all that the texts say of it; `mention_list` has the first of `mentions`."""

    id: str
    name: str
    type: str | None
    origin: str
    mentions: int
    memories: int
    documents: int
    aliases: tuple[str, ...]
    mention_list: tuple[MentionShown, ...]
    document_list: tuple[DocumentShown, ...]
    relations: tuple[RelationShown, ...]
    alias_list: tuple[AliasShown, ...] = ()
    decided: tuple[str, ...] = ()  # what of it a person decided: merge, name, type


USAGE = "id, name, type, origin, mentions, memories, documents"


def listed(
    context: Context,
    *,
    types: Sequence[str] = (),
    name: str | None = None,
    origins: Sequence[str] = (),
    within: str | None = None,
    deleted: bool = False,
    sort: str = "mentions",
    limit: int | None = None,
) -> list[EntityListed]:
    """Entities, the most mentioned first or as `sort` says: all, or those of any of some types or origins.

    `name` is a part of the name or of an alias, in any spelling; `within` is a memory or document that mentions them.
    With `deleted` those that people deleted instead, with the mentions that wait for them. Raises UsageError for an
    unknown sort or origin, NotFound for no such memory or document.
    """
    if sort not in SORTS:
        raise UsageError(f"Entities cannot be sorted by {sort!r}.", hint=f"Sort by {', '.join(SORTS)}.")
    for origin in origins:
        if origin not in ORIGINS:
            raise UsageError(f"There is no origin {origin!r}.", hint=f"Origins are {', '.join(ORIGINS)}.")
    if limit is not None and limit < 1:
        raise UsageError(f"A limit of {limit} shows nothing.", hint="Give 1 or more.")
    given = {
        "types": json.dumps([name_key(one) for one in types], ensure_ascii=False) if types else None,
        "origins": json.dumps(list(origins)) if origins else None,
        "part": name_key(name) if name else None,
        "within": None if within is None else _text(context, within),
        "limit": -1 if limit is None else limit,
    }
    # Which are shown is settled first: the counts of all columns of all entities are most of the time.
    source = "entities_deleted" if deleted else "entities"
    rows = context.database.rows(
        f"select {USAGE}, relations, aliases from {source} where id in (select id from {source}"
        " where (:types is null or type in (select value from json_each(:types)))"
        " and (:origins is null or origin in (select value from json_each(:origins)))"
        " and (:part is null or instr(substr(id, 8), :part) or exists (select 1 from entity_alias"
        "  where entity_key = substr(id, 8) and instr(entity_alias.name_key, :part)))"
        f" and (:within is null or id in ({WITHIN}))"
        f" order by {SORTS[sort]} limit :limit) order by {SORTS[sort]}",
        given,
    )
    return [EntityListed(*(*row, tuple(json.loads(aliases)))) for *row, aliases in rows]


WITHIN = """select node.key from edge join node on node.id = edge.dst
where edge.kind in ('mentions', 'about') and edge.active and edge.src in (
    select id from node where key = :within
    union all select chunk.id from node join chunk on document_id = node.id where node.key = :within)"""


def _text(context: Context, written: str) -> str:
    """The id of a memory or document. Raises NotFound."""
    try:
        return reading.find(context, written)
    except NotFound:
        with suppress(NotFound):
            return reading.find_document(context, written)
        raise


def usage(database: Database, keys: Collection[str]) -> dict[str, EntityListed]:
    """Some entities by their name keys, as a list shows them."""
    rows = database.rows(
        f"select substr(id, 8), {USAGE}, relations, aliases from entities where id in (select value from json_each(?))",
        (json.dumps([f"entity:{key}" for key in sorted(keys)], ensure_ascii=False),),
    )
    return {key: EntityListed(*(*row, tuple(json.loads(aliases)))) for key, *row, aliases in rows}


def find(database: Database, written: str) -> str:
    """The id of an entity by a name that it has or had, an alias, or its id.

    Raises NotFound with the names that come near, or with what to do where it was deleted.
    """
    for name in (written, written.removeprefix("entity:")):
        key = entities.resolve(database, name_key(name))
        if database.value("select 1 from entity where name_key = ?", (key,)):
            return f"entity:{key}"
        if database.value("select 1 from entity_decision where entity_key = ? and deleted", (key,)):
            word = expose_hidden(written)
            raise NotFound(f"{word!r} was deleted.", hint=f'To have it back: memdb entities restore "{word}"')
    key = name_key(written.removeprefix("entity:"))
    hint = "`memdb entities` lists what there is."
    if database.value("select count(*) from entity") <= MOST_NAMES_COMPARED:
        names = [one for (one,) in database.rows("select name_key from entity union select name_key from entity_alias")]
        near = difflib.get_close_matches(key, names, n=3)
        near += sorted(one for one in names if key and key in one.split() and one not in near)[: 3 - len(near)]
        hint = f"Did you mean {', '.join(near)}?" if near else hint
    raise NotFound(f"There is no entity {expose_hidden(written)!r}.", hint=hint)


def show(database: Database, written: str, *, limit: int = MOST_MENTIONS) -> EntityShown:
    """An entity by its name, an alias, or its id, with the first `limit` of its mentions, memories before chunks.

    Raises NotFound with the names that come near, UsageError for a negative limit.
    """
    if limit < 0:
        raise UsageError(f"A limit of {limit} is none.", hint="Give 0 or more.")
    key = find(database, written)
    row = database.rows(f"select {USAGE}, aliases, decided from entities where id = ?", (key,))[0]
    id_, label, type_, origin, mentions, memories, documents_count, aliases, decided = row
    names = json.dumps(entities.names_of(database, key.removeprefix("entity:")), ensure_ascii=False)
    mentioned = database.rows(MENTIONS, {"names": names, "entity": key, "limit": limit})
    documents = database.rows(
        "select document, chunks, weight from document_entities where entity = ? order by chunks desc, document", (key,)
    )
    return EntityShown(
        id_,
        label,
        type_,
        origin,
        mentions,
        memories,
        documents_count,
        aliases=tuple(json.loads(aliases)),
        mention_list=tuple(MentionShown(*(*found, bool(about))) for *found, about in mentioned),
        document_list=tuple(DocumentShown(*found) for found in documents),
        relations=tuple(relations_of(database, key)),
        alias_list=tuple(
            AliasShown(*found)
            for found in database.rows(
                "select name, made_by from entity_aliases where entity = ? order by name, made_by", (key,)
            )
        ),
        decided=tuple(json.loads(decided)),
    )


MENTIONS = """select source, document, name, type, origin, found_as, about from (
    select text.key as source, document.key as document, mention.name, mention.type, mention.origin,
           mention.source as found_as, mention.about, min(mention.ordinal)
    from json_each(:names) as wanted
    cross join mention on mention.name_key = wanted.value
    join node as text on text.id = mention.node_id
    left join chunk on chunk.id = mention.node_id
    left join node as document on document.id = chunk.document_id
    where exists (
        select 1 from edge where edge.src = mention.node_id and edge.kind in ('mentions', 'about') and edge.active
        and edge.dst = (select id from node where key = :entity))
    group by mention.node_id)
order by document is not null, about desc, source
limit :limit"""


def relations_of(database: Database, key: str) -> list[RelationShown]:
    """The relations of an entity by its exact id, those in which it is the subject first."""
    rows = database.rows(RELATIONS, {"key": key})
    return [RelationShown(*(*row, tuple(sorted(json.loads(sources))))) for *row, sources in rows]


RELATIONS = """select subject, a.label, predicate, object, b.label, confidence, sources from (
    select * from relations where subject = :key union all select * from relations where object = :key)
join node as a on a.key = subject
join node as b on b.key = object
order by subject <> :key, predicate, subject, object"""
