"""The vocabulary of the entity graph: its entries with their usage, what people decide of them, and what follows.

A decision goes to the journal first; the tables show what the journal says. The evidence of texts is there already, so
that no decision costs a call of a model.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from memdb.base import files
from memdb.base.journal import Record
from memdb.base.later import Later
from memdb.base.storage import Database
from memdb.base.text import expose_hidden, sha256_text
from memdb.domain import history
from memdb.domain.registry import Key, Registry, replay
from memdb.domain.vocabulary import DESCRIPTION_LIMIT, SYSTEM, Kind, checked_name, entry_key
from memdb.errors import NotFound, Refused, SecretFound, UsageError
from memdb.services import decisions
from memdb.services.context import Context
from memdb.services.entities import mentions

if TYPE_CHECKING:
    from memdb.base import secrets
else:
    secrets = Later("memdb.base.secrets")

KINDS: tuple[Kind, Kind] = ("type", "predicate")

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class EntryListed:
    """An entry of the vocabulary; `uses` counts entities of a type or relations by a predicate that stand now.

    `evidence` counts the mentions of those entities, or how often texts state the predicate.
    """

    kind: Kind
    name: str
    description: str
    origin: str  # system, user
    state: str  # active, disabled
    single_letters: bool
    single_valued: bool
    uses: int
    evidence: int


# Looking


def listed(database: Database) -> list[EntryListed]:
    """All entries with their usage: types, then predicates, in the order of the prompt."""
    rows = database.rows(
        "select kind, name, description, origin, state, single_letters, single_valued, uses, evidence"
        " from vocabulary_usage order by kind = 'predicate', ordinal"
    )
    return [
        EntryListed(*(*row, bool(letters), bool(valued), uses, evidence))
        for *row, letters, valued, uses, evidence in rows
    ]


def find(database: Database, kind: Kind, name: str) -> EntryListed:
    """An entry by its name in any spelling. Raises NotFound with the names that come near."""
    key = entry_key(kind, name)
    entries = [entry for entry in listed(database) if entry.kind == kind]
    for entry in entries:
        if entry_key(kind, entry.name) == key:
            return entry
    near = difflib.get_close_matches(key, [entry.name for entry in entries], n=3)
    hint = f"Did you mean {', '.join(near)}?" if near else "`memdb schema` lists what there is."
    raise NotFound(f"There is no {kind} {expose_hidden(name)!r} in the vocabulary.", hint=hint)


# Deciding


def add(
    context: Context,
    kind: str,
    name: str,
    description: str,
    *,
    single_letters: bool = False,
    single_valued: bool = False,
) -> EntryListed:
    """Add an entry; the description is the rule by which a model uses it. Evidence that is held for it is linked.

    `single_letters` lets in names of one letter for a type, `single_valued` makes a second object of a predicate a
    conflict. Raises UsageError for what cannot be a name or a rule, and for a name that is taken.
    """
    kind = checked_kind(kind)
    flags = checked_flags(kind, single_letters, single_valued)
    written = checked_name(kind, name)
    rule = checked_description(description)

    def decision(database: Database) -> Record:
        refuse_taken(database, kind, written)
        return history.vocabulary_record("add", kind, written, description=rule, **flags)

    return decided(context, decision, lambda database: find(database, kind, written))


def describe(context: Context, kind: str, name: str, description: str) -> EntryListed:
    """Give a user entry another rule. Raises NotFound, UsageError, Refused for a system entry."""
    kind = checked_kind(kind)
    rule = checked_description(description)

    def decision(database: Database) -> Record | None:
        entry = find(database, kind, name)
        if entry.origin == "system":
            raise Refused(
                f"The {kind} {entry.name!r} is built in, and its rule is the system's.",
                hint=f"Disable it, and add a {kind} of your own: memdb schema disable {kind} {_word(entry.name)}",
            )
        if entry.description == rule:
            return None
        return history.vocabulary_record("describe", kind, entry.name, description=rule)

    return decided(context, decision, lambda database: find(database, kind, name))


def disable(context: Context, kind: str, name: str) -> EntryListed:
    """Take an entry out of the prompt; what it links already stays. Raises NotFound."""
    return _switch(context, checked_kind(kind), name, "disable", "disabled")


def enable(context: Context, kind: str, name: str) -> EntryListed:
    """Put an entry back into the prompt; what a model named by it while it was disabled is linked. Raises NotFound."""
    return _switch(context, checked_kind(kind), name, "enable", "active")


def _switch(context: Context, kind: Kind, name: str, action: str, state: str) -> EntryListed:
    def decision(database: Database) -> Record | None:
        entry = find(database, kind, name)
        return None if entry.state == state else history.vocabulary_record(action, kind, entry.name)

    return decided(context, decision, lambda database: find(database, kind, name))


def delete(context: Context, kind: str, name: str) -> EntryListed:
    """Delete a disabled user entry and return what it was; its evidence is held again, and may make it a proposal.

    Raises NotFound, Refused for a system entry and for one that is active.
    """
    kind = checked_kind(kind)
    gone: list[EntryListed] = []

    def decision(database: Database) -> Record:
        entry = find(database, kind, name)
        gone.append(entry)
        if entry.origin == "system":
            raise Refused(
                f"The {kind} {entry.name!r} is built in and can only be disabled.",
                hint=f"memdb schema disable {kind} {_word(entry.name)}",
            )
        if entry.state != "disabled":
            raise Refused(
                f"The {kind} {entry.name!r} is active; only a disabled one can be deleted.",
                hint=f"Disable it first: memdb schema disable {kind} {_word(entry.name)}",
            )
        return history.vocabulary_record("delete", kind, entry.name)

    return decided(context, decision, lambda _: gone[0])


def decided(
    context: Context, decision: Callable[[Database], Record | None], result: Callable[[Database], Result]
) -> Result:
    """Check and journal one decision, derive what follows from it, and return the result as it stands then."""
    with files.writer(context.place), context.database.write():
        if context.journal_is_ahead():
            # What another machine decided counts before what is decided here.
            context.replay_journal()
        record = decision(context.database)
        if record is not None:
            context.append(decisions.signed(context, record))
    mentions.refresh(context)
    return result(context.database)


def refuse_taken(database: Database, kind: Kind, name: str) -> None:
    """Raise UsageError for a name that the vocabulary has."""
    row = database.rows(
        "select name, origin, state from vocabulary where kind = ? and name_key = ?", (kind, entry_key(kind, name))
    )
    if not row:
        return
    taken, origin, state = row[0]
    raise UsageError(
        f"There is a {kind} {taken!r} already ({origin}, {state}).",
        hint=f"memdb schema {'enable' if state == 'disabled' else 'describe'} {kind} {_word(taken)}"
        if state == "disabled" or origin == "user"
        else "Its rule is the system's: choose another name.",
    )


def checked_kind(kind: str) -> Kind:
    """The kind that a word names. Raises UsageError."""
    for known in KINDS:
        if kind in (known, f"{known}s"):
            return known
    raise UsageError(f"{kind!r} is no part of the vocabulary.", hint="Write `type` or `predicate`.")


def checked_description(description: str) -> str:
    """A rule on one line. Raises UsageError where there is none or too much of it, SecretFound."""
    rule = " ".join(description.split())
    if not any(char.isalpha() for char in rule):
        raise UsageError("The description is the rule by which a model uses it: it cannot be empty.", hint=RULE_HINT)
    if len(rule) > DESCRIPTION_LIMIT:
        raise UsageError(
            f"The description has {len(rule)} characters; {DESCRIPTION_LIMIT} are the most, for every prompt has it.",
            hint="Say when it applies in one sentence.",
        )
    if expose_hidden(rule) != rule:
        raise UsageError("The description has hidden characters.", hint=f"It reads: {expose_hidden(rule)}")
    found = secrets.find_secrets(rule)
    if found:
        raise SecretFound(
            f"The description looks like a credential: {found[0].category}. Nothing was changed.",
            hint=secrets.advice(found[0].category),
        )
    return rule


RULE_HINT = 'For example: --description "A named agreement on how programs talk to one another."'


def checked_flags(kind: Kind, single_letters: bool, single_valued: bool) -> dict[str, bool]:
    """The flags that are set. Raises UsageError for one of the other kind."""
    if single_letters and kind != "type":
        raise UsageError("Only a type can let in names of one letter.", hint="Leave single_letters out.")
    if single_valued and kind != "predicate":
        raise UsageError("Only a predicate can hold for one object at a time.", hint="Leave single_valued out.")
    flags = {"single_letters": single_letters, "single_valued": single_valued}
    return {flag: is_set for flag, is_set in flags.items() if is_set}


def _word(name: str) -> str:
    """A name as a word of a command line."""
    return f'"{name}"' if " " in name else name


# Showing what the journal says


def is_outdated(database: Database) -> bool:
    """Whether the tables have the system's entries of another version of memdb, or none yet."""
    return database.meta("system_vocabulary") != _system_digest()


def _system_digest() -> str:
    return sha256_text(repr(SYSTEM))


def show(database: Database, records: Sequence[Record]) -> None:
    """Make the tables show the decisions, and have what depends on them derived anew; in the caller's transaction."""
    registry = replay(records)
    rows = {(kind, key): tuple(row) for kind, key, *row in database.rows(ENTRIES)}
    wanted = {key: _row(registry, key, place) for place, key in enumerate(registry.entries)}
    for key in sorted(rows.keys() | wanted.keys()):
        if rows.get(key) == wanted.get(key):
            continue
        database.connection.execute("delete from vocabulary where kind = ? and name_key = ?", key)
        if key in wanted:
            database.connection.execute(
                "insert into vocabulary values (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*key, *wanted[key])
            )
        _touch(database, key, rows.get(key), wanted.get(key))
    database.connection.execute("delete from dismissal")
    database.connection.executemany(
        "insert into dismissal values (?, ?, ?, ?)", [(*key, *said) for key, said in sorted(registry.dismissed.items())]
    )
    database.set_meta("system_vocabulary", _system_digest())


ENTRIES = """select kind, name_key, name, description, origin, state, single_letters, single_valued, ordinal
from vocabulary"""

Row = tuple[object, ...]


def _row(registry: Registry, key: Key, place: int) -> Row:
    entry = registry.entries[key]
    return (
        entry.name,
        entry.description,
        entry.origin,
        entry.state,
        int(entry.single_letters),
        int(entry.single_valued),
        place,
    )


STATE, SINGLE_LETTERS, SINGLE_VALUED = 3, 4, 5
"""Places in a row."""


def _touch(database: Database, key: Key, old: Row | None, new: Row | None) -> None:
    """Have derived anew what an entry lets stand: the evidence is there already, so no model is asked."""
    kind, name_key = key
    run = database.connection.execute

    def changed(place: int) -> bool:
        return (old[place] if old else 0) != (new[place] if new else 0)

    if kind == "predicate":
        if changed(STATE) or changed(SINGLE_VALUED):
            run(
                "insert or ignore into statement_touched select distinct subject_key, predicate, object_key"
                " from statement where predicate = ?",
                (name_key,),
            )
        return
    if changed(STATE):
        run(
            "insert or ignore into entity_touched select distinct name_key, 0 from spelling where type = ?1"
            " union select entity_key, 0 from entity_decision where type = ?1",
            (name_key,),
        )
    if changed(SINGLE_LETTERS):
        # Which of a model's names are too short is decided when its answer is read.
        run(
            "insert or replace into extract_waiting select id, 'read' from"
            " (select id, text_sha256 from memory union all select id, text_sha256 from chunk) as text"
            " where exists (select 1 from extraction where extraction.text_sha256 = text.text_sha256)"
        )
