"""Proposals: the types and predicates that models want and the vocabulary does not have, for a person to decide.

Texts that named something by one have it as evidence already, held out of the graph. Approving links that evidence.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memdb.base.journal import Record
from memdb.base.storage import Database
from memdb.base.text import expose_hidden
from memdb.domain import history
from memdb.domain.vocabulary import Kind, checked_name, entry_key
from memdb.errors import NotFound, Refused, UsageError
from memdb.services import decisions
from memdb.services.context import Context
from memdb.services.entities import vocabulary
from memdb.services.entities.vocabulary import EntryListed

STATES = ("pending", "waiting", "dismissed")
"""In the order of the list: two texts asked for it, one did so far, nobody is to be asked any more."""

MOST_SHOWN = 5
"""Examples and texts of one proposal in a list: enough to decide by."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A wanted name; `texts` counts the different texts that asked for it, `sources` are ids of some of them.

    `examples` are names of that type, or pairs that the predicate would join, as the texts have them.
    """

    kind: Kind
    name: str
    state: str  # pending, waiting, dismissed
    texts: int
    description: str | None  # as a model gave it
    examples: tuple[str, ...]
    sources: tuple[str, ...]


# Looking


def listed(database: Database, states: Sequence[str] = ()) -> list[Proposal]:
    """All proposals, or those of some states: what waits for a person first. Raises UsageError for no such state."""
    for state in states:
        if state not in STATES:
            raise UsageError(f"There is no state {state!r}.", hint=f"Proposals are {', '.join(STATES)}.")
    rows = database.rows("select kind, name, state, texts, description from proposals")
    rows = sorted(
        (row for row in rows if not states or row[2] in states),
        key=lambda row: (STATES.index(row[2]), -row[3], row[0] == "predicate", row[1]),
    )
    return [_with_evidence(database, row) for row in rows]


def _with_evidence(database: Database, row: tuple[Any, ...]) -> Proposal:
    kind, name, state, texts, description = row
    values = {"kind": kind, "name": name, "most": MOST_SHOWN}
    examples = database.rows(TYPE_EXAMPLES if kind == "type" else PREDICATE_EXAMPLES, values)
    sources = database.rows(SOURCES, values)
    return Proposal(
        kind, name, state, texts, description, tuple(one for (one,) in examples), tuple(one for (one,) in sources)
    )


TYPE_EXAMPLES = """select min(name) from mention where type = :name and origin = 'model'
group by name_key order by count(*) desc, 1 limit :most"""

PREDICATE_EXAMPLES = """select coalesce(a.name, subject_key) || ' ' || :name || ' ' || coalesce(b.name, object_key)
from statement
left join mention as a on a.node_id = statement.node_id and a.name_key = subject_key
left join mention as b on b.node_id = statement.node_id and b.name_key = object_key
where predicate = :name
group by subject_key, object_key order by max(confidence) desc, 1 limit :most"""

SOURCES = """select key from (
    select node_id from mention where :kind = 'type' and type = :name and origin = 'model'
    union select node_id from statement where :kind = 'predicate' and predicate = :name
    union select node_id from proposal_evidence where proposal_evidence.kind = :kind and name_key = :name)
join node on node.id = node_id order by key limit :most"""


def find(database: Database, kind: Kind, name: str) -> Proposal:
    """A proposal by its name in any spelling. Raises NotFound with the names that come near."""
    key = entry_key(kind, name)
    rows = database.rows("select kind, name, state, texts, description from proposals where kind = ?", (kind,))
    for row in rows:
        if row[1] == key:
            return _with_evidence(database, row)
    near = difflib.get_close_matches(key, [row[1] for row in rows], n=3)
    hint = f"Did you mean {', '.join(near)}?" if near else "`memdb proposals --all` lists them."
    raise NotFound(f"No text asked for a {kind} {expose_hidden(name)!r}.", hint=hint)


# Deciding


def approve(
    context: Context,
    kind: str,
    name: str,
    *,
    description: str | None = None,
    single_letters: bool = False,
    single_valued: bool = False,
    why: str | None = None,
) -> EntryListed:
    """Make a proposal an entry and link all evidence seen so far; without a description, the model's is the rule.

    One that a single text asked for may be approved too. Raises NotFound, UsageError where there is no description or
    the name is taken, Refused where it was dismissed.
    """
    kind = vocabulary.checked_kind(kind)
    flags = vocabulary.checked_flags(kind, single_letters, single_valued)

    def decision(database: Database) -> Record:
        vocabulary.refuse_taken(database, kind, name)
        wanted = find(database, kind, name)
        if wanted.state == "dismissed":
            raise Refused(
                f"The {kind} {wanted.name!r} was dismissed.",
                hint=f'Take that back first: memdb proposals restore {kind} "{wanted.name}"',
            )
        if description is None and wanted.description is None:
            raise UsageError(
                f"No model said what the {kind} {wanted.name!r} is for.",
                hint=f"Give it a description, the rule by which a model uses it. {vocabulary.RULE_HINT}",
            )
        rule = vocabulary.checked_description(description if description is not None else wanted.description or "")
        return history.vocabulary_record(
            "approve", kind, checked_name(kind, wanted.name), description=rule, **flags, **_reason(why)
        )

    return vocabulary.decided(context, decision, lambda database: vocabulary.find(database, kind, name))


def dismiss(context: Context, kind: str, name: str, *, why: str | None = None) -> Proposal:
    """Take a proposal off the list for good; its evidence stays held. Raises NotFound, UsageError for a known name."""
    kind = vocabulary.checked_kind(kind)

    def decision(database: Database) -> Record | None:
        vocabulary.refuse_taken(database, kind, name)
        wanted = find(database, kind, name)
        if wanted.state == "dismissed":
            return None
        return history.vocabulary_record("dismiss", kind, wanted.name, **_reason(why))

    return vocabulary.decided(context, decision, lambda database: find(database, kind, name))


def _reason(why: str | None) -> dict[str, str]:
    reason = decisions.checked_why(why)
    return {"why": reason} if reason else {}


def restore(context: Context, kind: str, name: str) -> Proposal | None:
    """Take a dismissal back; None where no text asks for the name any more. Raises NotFound."""
    kind = vocabulary.checked_kind(kind)
    key = entry_key(kind, name)

    def decision(database: Database) -> Record:
        dismissed = [found for (found,) in database.rows("select name_key from dismissal where kind = ?", (kind,))]
        if key not in dismissed:
            near = difflib.get_close_matches(key, dismissed, n=3)
            hint = f"Did you mean {', '.join(near)}?" if near else "`memdb proposals --state dismissed` lists them."
            raise NotFound(f"No {kind} {expose_hidden(name)!r} was dismissed.", hint=hint)
        return history.vocabulary_record("restore", kind, key)

    def result(database: Database) -> Proposal | None:
        asked = database.value("select 1 from proposals where kind = ? and name = ?", (kind, key))
        return find(database, kind, key) if asked else None

    return vocabulary.decided(context, decision, result)


__all__ = ["STATES", "Proposal", "approve", "dismiss", "find", "listed", "restore"]
