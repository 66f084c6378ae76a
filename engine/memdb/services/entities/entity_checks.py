"""Whether the entity graph is what it should be: every derived row against what texts say and people decided.

The statements here are written for themselves, not with those that derive the rows: a fault in one shows in the other.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import apsw

from memdb.base.storage import DAMAGE, Database
from memdb.base.text import sha256_text
from memdb.domain import history
from memdb.services.context import Context
from memdb.services.entities import curation_tables, mentions
from memdb.services.entities.entities import RELATION_CONFIDENCE
from memdb.services.index import entity_vectors

MEANT = """with meant as materialized (
    select node_id, mention.name_key, entity.id as entity_id, source, about,
           coalesce(entity_alias.entity_key, mention.name_key) as entity_key
    from mention
    left join entity_alias on entity_alias.name_key = mention.name_key
    left join entity on entity.name_key = coalesce(entity_alias.entity_key, mention.name_key)
    left join vocabulary on vocabulary.kind = 'type' and vocabulary.name_key = mention.type
    where coalesce(mention.type, '') = ''
       or (vocabulary.state is not null and (not refused or vocabulary.state = 'active')))
"""
"""Every standing mention with the entity that it means."""

EDGES = """, wanted as materialized (
    select node_id as src, entity_id as dst, iif(max(about), 'about', 'mentions') as kind
    from meant where entity_id is not null group by 1, 2),
have as materialized (select src, dst, kind from edge where kind in ('mentions', 'about') and active)
select node.key || ' to ' || other.key
from ({}) join node on node.id = src join node as other on other.id = dst order by 1"""

STATED = f"""with wanted as materialized (
    select distinct subject.id as src, object.id as dst, predicate
    from statement
    left join entity_alias as a on a.name_key = subject_key
    left join entity_alias as b on b.name_key = object_key
    join entity as subject on subject.name_key = coalesce(a.entity_key, subject_key)
    join entity as object on object.name_key = coalesce(b.entity_key, object_key)
    join vocabulary on vocabulary.kind = 'predicate' and vocabulary.name_key = predicate
    where confidence >= {RELATION_CONFIDENCE} and subject.id <> object.id
      and (not refused or vocabulary.state = 'active')),
have as materialized (select src, dst, predicate from edge where kind = 'relates')
select node.key || ' ' || predicate || ' ' || other.key
from ({{}}) join node on node.id = src join node as other on other.id = dst order by 1"""

COUNTED = """with said as materialized (
    select name_key, origin, source, name, coalesce(type, ''), refused, count(*)
    from mention group by 1, 2, 3, 4, 5, 6),
counted as materialized (select name_key, origin, source, name, type, refused, uses from spelling)
select name_key from (select * from said except select * from counted)
union select name_key from (select * from counted except select * from said) order by 1"""

GIVEN = """select name_key from entity_alias where made_by = 'memory'
and not exists (select 1 from known_name where known_name.name_key = entity_alias.name_key and source = 'alias')
order by 1"""

STATEMENTS: dict[str, tuple[tuple[str, str], ...]] = {
    "spellings": (("names are counted otherwise than texts mention them", COUNTED),),
    "entities": (
        (
            "entities are mentioned by no text",
            f"{MEANT} select node.key from entity join node using (id)"
            " where id not in (select entity_id from meant where entity_id is not null) order by 1",
        ),
        (
            "names that texts mention have no entity",
            f"{MEANT} select distinct name_key from meant where entity_id is null and source <> 'subject'"
            " and entity_key not in (select entity_key from entity_decision where deleted and part_of is null)"
            " order by 1",
        ),
        (
            "entities are called otherwise than their nodes",
            "select node.key from entity join node using (id) where label <> name or key <> 'entity:' || name_key"
            " or kind <> 'entity' order by 1",
        ),
        (
            "nodes of entities have no entity",
            "select key from node where kind = 'entity' and id not in (select id from entity) order by 1",
        ),
        (
            "entities have a type that the vocabulary does not have",
            "select node.key from entity join node using (id) where entity.type is not null and entity.type not in"
            " (select name_key from vocabulary where vocabulary.kind = 'type') order by 1",
        ),
        (
            "entities are there although they were deleted",
            "select node.key from entity join node using (id) where name_key in"
            " (select entity_key from entity_decision where deleted and part_of is null) order by 1",
        ),
    ),
    "mention edges": (
        (
            "edges have no mention behind them",
            MEANT + EDGES.format("select * from have except select * from wanted"),
        ),
        (
            "mentions have no edge",
            MEANT + EDGES.format("select * from wanted except select * from have"),
        ),
    ),
    "relations": (
        ("relations are stated by no text", STATED.format("select * from have except select * from wanted")),
        ("statements have no relation", STATED.format("select * from wanted except select * from have")),
    ),
    "known names": (
        (
            "known names belong to something that is gone",
            "select name from known_name where node_id not in (select id from node)"
            " and (node_id <> 0 or source <> 'decided') order by 1",
        ),
        (
            "known names of entities mean other ones",
            "select known_name.name from known_name join entity on entity.id = node_id"
            " where source = 'entity' and entity_key <> entity.name_key order by 1",
        ),
        ("aliases are given by no memory", GIVEN),
    ),
    "conflicts": (
        (
            "conflicts have only one side",
            "select conflict.key from conflict left join conflict_side on conflict_key = conflict.key group by 1"
            " having count(distinct iif(conflict.kind = 'relation', object_id, node_id)) < 2 order by 1",
        ),
        (
            "conflicts are about a predicate that holds for many things",
            "select key from conflict where kind = 'relation' and predicate not in"
            " (select name_key from vocabulary where vocabulary.kind = 'predicate' and single_valued) order by 1",
        ),
        (
            "sides of conflicts are stated by no text",
            """select conflict.key from conflict join conflict_side on conflict_key = conflict.key
            join entity as subject on subject.id = subject_id join entity as object on object.id = object_id
            where not exists (
                select 1 from statement
                left join entity_alias as a on a.name_key = subject_key
                left join entity_alias as b on b.name_key = object_key
                where statement.node_id = conflict_side.node_id and statement.predicate = conflict.predicate
                  and coalesce(a.entity_key, subject_key) = subject.name_key
                  and coalesce(b.entity_key, object_key) = object.name_key)
            order by 1""",
        ),
        (
            "entities wait for their conflicts to be derived, and nothing is due to do it",
            "select node.key from conflict_touched left join node on node.id = subject_id order by 1",
        ),
    ),
}
"""For each check, what is wrong with the rows of a statement; their first column names them."""

DECIDED = {
    "decision": "select ref, state, reason, contradicts, subject, detail from decision",
    "entity_decision": "select anchor, entity_key, part_of, name, type, deleted from entity_decision",
    "entity_distinct": "select one, other from entity_distinct",
    "entity_alias": "select name_key, entity_key, name, made_by from entity_alias where made_by <> 'memory'",
    "vocabulary": "select name_key, kind, name, description, origin, state, single_letters, single_valued"
    " from vocabulary",
    "dismissal": "select name_key, kind, name, at from dismissal",
}
"""What decisions come to: the same in every database that shows the same journal."""


@dataclass(frozen=True, slots=True)
class Check:
    """What was looked at; `wrong` says what is wrong, if anything, and `waits` that this is only not done yet."""

    name: str
    wrong: str | None = None
    waits: bool = False


def check(context: Context) -> list[Check]:
    """Look at the entity graph; where it waits to be derived, that is all that is said. Reads every row."""
    database = context.database
    if mentions.is_behind(database):
        texts = mentions.waiting_count(context)
        waiting = f"{texts} texts wait to be read for names" if texts else "changed names wait to be derived"
        return [Check("entities", f"{waiting}; the graph is looked at once that is done", waits=True)]
    found = [_looked(name, database, statements) for name, statements in STATEMENTS.items()]
    return [*found, Check("entity vectors", _vectors(database)), _decisions(context)]


def _looked(name: str, database: Database, statements: tuple[tuple[str, str], ...]) -> Check:
    said = []
    try:
        for what, statement in statements:
            rows = [str(row[0]) for row in database.rows(statement)]
            if rows:
                said.append(_said(what, rows))
    except (*DAMAGE, apsw.SQLError) as error:
        said.append(str(error))
    return Check(name, "; ".join(said) or None)


def _said(what: str, rows: list[str]) -> str:
    return f"{len(rows)} {what}, first of them: {rows[0]}"


def _vectors(database: Database) -> str | None:
    rows = database.rows(
        "select entity.id, name, entity_name.text_sha256, not exists (select 1"
        " from embedding_model join embedding using (model_id) where embedding_model.model = entity_name.model"
        " and embedding.text_sha256 = entity_name.text_sha256),"
        " entity_name.model from entity_name join entity on entity.id = entity_id order by name"
    )
    without = [name for _, name, _, is_missing, _ in rows if is_missing]
    others = [name for _, name, digest, _, _ in rows if sha256_text(name) != digest]
    said = [_said("names of entities have no vector", without)] if without else []
    said += [_said("vectors are of another name than their entities have", others)] if others else []
    model = database.meta("model")
    if not said and model is not None and database.meta(entity_vectors.STALE) is None:
        wanted = entity_vectors.wanted(database)
        differing = sorted(wanted.keys() ^ {entity for entity, *_, by in rows if by == model})
        if differing:
            name = database.value("select name from entity where id = ?", (differing[0],))
            what = f"{len(differing)} entities lack a vector or have one that they should not"
            said.append(f"{what}, first of them: {name}")
    return "; ".join(said) or None


def _decisions(context: Context) -> Check:
    """What the tables show of decisions, against what the journal's come to in an empty database."""
    name, database = "decisions", context.database
    if context.journal_is_ahead():
        return Check(name, "the journal has lines that the tables do not show yet", waits=True)
    decided = history.replay(context.journal.read(history.KINDS)).decisions
    if not decided and database.value("select 1 from decision limit 1") is None:
        return Check(name)
    with tempfile.TemporaryDirectory(prefix="memdb-doctor-", ignore_cleanup_errors=True) as folder:
        fresh = Database(Path(folder) / "decisions.db")
        try:
            with fresh.write():
                curation_tables.show(fresh, decided)
            for table, statement in DECIDED.items():
                differing = {str(row[0]) for row in set(database.rows(statement)) ^ set(fresh.rows(statement))}
                if differing:
                    what = f"rows of {table} are other than the journal's decisions make them"
                    return Check(name, _said(what, sorted(differing)))
        finally:
            fresh.close()
    return Check(name)
