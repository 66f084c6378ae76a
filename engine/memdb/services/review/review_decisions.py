"""Decisions in a review: pairs that two machines made apart and that contradict, and those that are held.

Of a pair, the later stands until a person says what holds. What is held takes effect once what is in its way is undone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memdb.base.storage import Database
from memdb.domain.curation import ENTITY_ACTIONS
from memdb.errors import Refused
from memdb.services import confirming, decisions
from memdb.services.context import Context
from memdb.services.decisions import Decision
from memdb.services.entities import curation, curation_tables
from memdb.services.review.review_items import Choice, Done, Line, ReviewItem, Source, item_id, parts_of

CONTRADICTION, HELD = "contradiction", "held"

PAIRS = """select decision.id, other.id
from decision, json_each(decision.contradicts)
join decision as other on other.ref = json_each.value
where decision.contradicts <> '[]' and decision.ref < other.ref
  and decision.state <> 'undone' and other.state <> 'undone'
  and (?1 is null or decision.id in (?1, ?2) and other.id in (?1, ?2))"""

ALONE = """select id from decision
where state = 'held' and contradicts = '[]' and action not in ('undo', 'confirm') and (?1 is null or id = ?1)"""
"""Decisions that are held and contradict nothing: those that do are in a pair."""


# Contradictions


def contradictions(context: Context) -> Iterator[ReviewItem]:
    """The pairs of decisions that say different things, by id."""
    found = [_pair_item(context.database, *pair) for pair in context.database.rows(PAIRS, (None, None))]
    yield from sorted(found, key=lambda item: item.id)


def _pair_item(database: Database, first: str, second: str) -> ReviewItem:
    pair = [decisions.find(database, one) for one in (first, second)]
    told = [told_of(one) for one in pair]
    standing = [one for one in pair if one.state == "standing"]
    # Of two that stand, the later one is what the graph shows wherever they differ.
    holds = told_of((standing or pair)[-1])
    keeps = [
        Choice(str(place + 1), f"keep-{one.id}", f"{told[place]}; the other is taken back")
        for place, one in enumerate(pair)
    ]
    return ReviewItem(
        item_id(CONTRADICTION, *sorted((first, second))),
        CONTRADICTION,
        f"{_by(pair[0])}: {told[0]}. {_by(pair[1])}: {told[1]}",
        (*_lines(pair[0], "made first"), *_lines(pair[1], "made later"), Line("fact", f"now: {holds}")),
        (*keeps, Choice("c", "confirm", f"leave both: {holds}")),
        since=pair[1].at,
    )


def _by(decision: Decision) -> str:
    return decision.by or "someone"


def _lines(decision: Decision, when: str = "") -> Iterator[Line]:
    yield Line("side", told_of(decision))
    made = (when, f"by {_by(decision)}", decision.at[:16].replace("T", " "), decision.id)
    yield Line("source", ", ".join(filter(None, made)))
    if decision.why:
        yield Line("quote", decision.why)
    if decision.state == "held":
        yield Line("source", f"held: {decision.reason}")
    elif decision.waiting:
        yield Line("source", "no text mentions it now")


def find_contradiction(context: Context, key: str, _seen: ReviewItem | None) -> ReviewItem | None:
    """A pair of contradicting decisions by its key."""
    parts = parts_of(key)
    pairs = context.database.rows(PAIRS, tuple(parts)) if len(parts) == 2 else []
    return _pair_item(context.database, *pairs[0]) if pairs else None


def settle(context: Context, key: str, choice: Choice, _text: str | None, why: str | None) -> Done:
    """Keep one of two decisions, or leave both. Raises what taking one back raises."""
    ids = parts_of(key)
    if choice.name == "confirm":
        return Done("left both as they are", curation.confirm(context, ids, why=why).id)
    [other] = [one for one in ids if choice.name != f"keep-{one}"]
    said = told_of(decisions.find(context.database, other))
    return Done(f"taken back: {said}", decisions.undo(context, other, why=why).id)


# Held


def held(context: Context) -> Iterator[ReviewItem]:
    """The decisions that are held, by id."""
    for (one,) in sorted(context.database.rows(ALONE, (None,))):
        yield _held_item(context.database, decisions.find(context.database, one))


def _held_item(database: Database, decision: Decision) -> ReviewItem:
    hint = "It takes effect once what is in its way is undone: `memdb log` lists decisions."
    drop = Choice("d", "drop", "take it back: it will never take effect")
    try:
        refs = confirming.in_the_way(curation_tables.state(database), decision.ref)
    except Refused:
        choices: tuple[Choice, ...] = (drop,)
    else:
        gone = "; ".join(told_of(decisions.of_ref(database, ref)) for ref in refs)
        choices = (Choice("c", "confirm", f"it takes effect; taken back is: {gone}"), drop)
    return ReviewItem(
        item_id(HELD, decision.id),
        HELD,
        f"{_by(decision)}: {told_of(decision)}. Held: {decision.reason}",
        (*_lines(decision), Line("hint", hint)),
        choices,
        since=decision.at,
    )


def find_held(context: Context, key: str, _seen: ReviewItem | None) -> ReviewItem | None:
    """A held decision by its key."""
    found = context.database.rows(ALONE, (key,))
    return _held_item(context.database, decisions.find(context.database, key)) if found else None


def drop_or_confirm(context: Context, key: str, choice: Choice, _text: str | None, why: str | None) -> Done:
    """Take a held decision back, or what is in its way. Raises what taking one back raises."""
    said = told_of(decisions.find(context.database, key))
    if choice.name == "confirm":
        return Done(f"in effect: {said}", confirming.confirm(context, key, why=why).id)
    return Done(f"taken back: {said}", decisions.undo(context, key, why=why).id)


# In words


def told_of(decision: Decision) -> str:
    """What a decision says, in a few words, by the names that it was made with."""
    detail, action = decision.detail, decision.action
    if "list" in detail:
        rule = f": {detail['description']}" if detail.get("description") else ""
        return f"{action} the {detail['list']} {detail.get('name', '')}{rule}"
    if action == "distinct":
        return f"{' and '.join(detail['pair'])} are two"
    if action == "resolve":
        kept = ", ".join(one.removeprefix("entity:") for one in detail.get("keep", ()))
        return f"{detail['choice']}{f' {kept}' if kept else ''} in {decision.subject}"
    if action in ENTITY_ACTIONS:
        return f"{_label(detail, 'label', 'entity')} {_of_entity(action, detail)}"
    return f"{action} {decision.subject}"


def _of_entity(action: str, detail: dict[str, Any]) -> str:
    if action == "merge":
        return f"is {_label(detail, 'into_label', 'into')}"
    if action == "delete":
        return "is none"
    called = [f"is called {detail['name']}"] if "name" in detail else []
    typed = [f"is a {detail['type']}"] if "type" in detail else []
    return " and ".join(called + typed)


def _label(detail: dict[str, Any], label: str, key: str) -> str:
    return str(detail.get(label) or detail.get(key) or "")


CONTRADICTIONS = Source(CONTRADICTION, contradictions, find_contradiction, settle)
HELD_ONES = Source(HELD, held, find_held, drop_or_confirm)
