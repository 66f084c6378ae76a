"""Suggested merges in a review: two entities that may be one, with what speaks for it and what texts say of each."""

from __future__ import annotations

from collections.abc import Iterator

from memdb.base.storage import Database
from memdb.domain.quotes import quote
from memdb.services.context import Context
from memdb.services.entities import curation, entity_reading, suggestions
from memdb.services.entities.entity_reading import EntityListed
from memdb.services.entities.suggestions import Suggestion
from memdb.services.review.review_items import Choice, Done, Line, ReviewItem, Source, item_id, parts_of

KIND = "merge"

PREFIX = "entity:"

FEW_TEXTS = 200
"""Texts up to which one is quoted: of a name that more have, a person knows what it is."""


def items(context: Context) -> Iterator[ReviewItem]:
    """All suggested merges, the likeliest first."""
    for suggestion in suggestions.suggest(context, limit=None):
        yield _item(context.database, suggestion)


def _item(database: Database, suggestion: Suggestion) -> ReviewItem:
    source, into = suggestion.source, suggestion.into
    detail = [Line("fact", reason) for reason in suggestion.reasons]
    detail += [*_lines(database, source), *_lines(database, into)]
    return ReviewItem(
        item_id(KIND, source.id.removeprefix(PREFIX), into.id.removeprefix(PREFIX)),
        KIND,
        f"{source.name} and {into.name} may be one",
        tuple(detail),
        (
            Choice("m", "merge", f"one entity, called {into.name}; {source.name} becomes an alias"),
            Choice("r", "merge-reversed", f"one entity, called {source.name}; {into.name} becomes an alias"),
            Choice("d", "distinct", "two entities: ask no more"),
        ),
    )


def _lines(database: Database, entity: EntityListed) -> Iterator[Line]:
    yield Line("side", entity.name)
    texts = f"{entity.mentions} {'text mentions' if entity.mentions == 1 else 'texts mention'} it"
    yield Line("source", f"{entity.type or 'of no type yet'}, {texts}")
    if entity.aliases:
        yield Line("source", f"also called {', '.join(entity.aliases)}")
    for source, body in database.rows(SAID, (entity.id,)) if entity.mentions <= FEW_TEXTS else ():
        yield Line("source", source)
        names = (entity.name, *entity.aliases)
        said = quote(body, names, names)
        if said:
            yield Line("quote", said)


SAID = """select text.key, coalesce(memory.body, chunk.text)
from node join edge on edge.dst = node.id and edge.kind in ('mentions', 'about') and edge.active
join node as text on text.id = edge.src
left join memory on memory.id = text.id left join chunk on chunk.id = text.id
where node.key = ? and (memory.id is not null or chunk.id is not null)
order by text.key limit 1"""


def find(context: Context, key: str, seen: ReviewItem | None) -> ReviewItem | None:
    """A suggested merge by its key; of one that was shown before, it is looked up whether it can be asked still.

    To say why two names are near, all names are looked at: the reasons that were shown stand.
    """
    if seen is None:
        return next((item for item in items(context) if item.id == f"{KIND}:{key}"), None)
    ends = parts_of(key)
    usage = entity_reading.usage(context.database, ends)
    if len(usage) != len(ends) or context.database.value(IS_SETTLED, tuple(sorted(ends))):
        return None
    reasons = tuple(line.text for line in seen.detail if line.role == "fact")
    return _item(context.database, Suggestion(usage[ends[0]], usage[ends[1]], reasons, 0))


IS_SETTLED = """select 1 from entity_distinct
left join entity_decision as a on a.anchor = one left join entity_decision as b on b.anchor = other
where min(coalesce(a.entity_key, one), coalesce(b.entity_key, other)) = ?1
  and max(coalesce(a.entity_key, one), coalesce(b.entity_key, other)) = ?2"""


def answer(context: Context, key: str, choice: Choice, _text: str | None, why: str | None) -> Done:
    """Merge one into the other, or say that they are two. Raises what these raise."""
    source, into = (f"{PREFIX}{part}" for part in parts_of(key))
    if choice.name == "distinct":
        return Done(
            f"{_plain(source)} and {_plain(into)} are two", curation.distinct(context, source, into, why=why).id
        )
    if choice.name == "merge-reversed":
        source, into = into, source
    return Done(f"merged {_plain(source)} into {_plain(into)}", curation.merge(context, source, into, why=why).id)


def _plain(entity: str) -> str:
    return entity.removeprefix(PREFIX)


SOURCE = Source(KIND, items, find, answer)
