"""The log of what people decided, and how a decision is taken back."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from memdb.base import files, settings
from memdb.base.journal import Record
from memdb.base.later import Later
from memdb.base.storage import Database
from memdb.base.text import expose_hidden, id_begin, name_key
from memdb.domain.curation import Curation, Verdict, means, record, replay, subjects
from memdb.errors import NotFound, Refused, SecretFound, UsageError
from memdb.services.context import Context
from memdb.services.entities import curation_tables, mentions

if TYPE_CHECKING:
    from memdb.base import secrets
else:
    secrets = Later("memdb.base.secrets")

STATES = ("standing", "held", "undone")

WHY_LIMIT = 1000
"""Characters of a reason: the log is read by people."""

TEXTS_READ = 500
"""Texts that are searched for the names that a decision is about before it returns, about half a second; the next sync
does the rest."""

UNWRITTEN = {"t": "9999999999999-99999", "w": "~"}
"""The stamp of a decision that is only tried: later than all that are journaled."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision; `detail` has what goes with its action, `contradicts` the ids of those that say otherwise.

    `waiting` is true where no text mentions what it is about: it takes effect once one does. `changed` is False where a
    call found that it was decided so already, and added nothing.
    """

    id: str  # 10 hex digits
    ref: str  # time/writer of the journal record
    at: str  # ISO 8601, UTC
    by: str
    writer: str
    action: str
    subject: str  # entity:anchor, type:name, predicate:name, conflict:id
    detail: dict[str, Any]
    why: str | None
    state: str  # standing, held, undone
    reason: str | None  # why it is held
    contradicts: tuple[str, ...]
    waiting: bool = False
    changed: bool = True


COLUMNS = "id, ref, at, by, writer, action, subject, detail, why, state, reason, contradicts, waiting"
"""Of the view `decisions`, in the order of the fields of a Decision."""


# Looking


def log(
    context: Context, *, limit: int | None = None, subject: str | None = None, states: Sequence[str] = ()
) -> list[Decision]:
    """Decisions, the newest first: all, those about one subject, or those in some states.

    A subject is an entity by any name that it has or had, `type:NAME`, `predicate:NAME` or `conflict:ID`. Raises
    UsageError for an unknown state or a limit below 1.
    """
    for one in states:
        if one not in STATES:
            raise UsageError(f"There is no state {one!r}.", hint=f"Decisions are {', '.join(STATES)}.")
    if limit is not None and limit < 1:
        raise UsageError(f"A limit of {limit} shows nothing.", hint="Give 1 or more.")
    database = context.database
    refs = None if subject is None else json.dumps(sorted(_about(curation_tables.state(database), subject)))
    rows = database.rows(
        f"select {COLUMNS} from decisions where (?1 is null or ref in (select value from json_each(?1)))"
        " and (?2 is null or state in (select value from json_each(?2))) order by ref desc limit ?3",
        (refs, json.dumps(list(states)) if states else None, -1 if limit is None else limit),
    )
    return [_decision(row) for row in rows]


def _about(curation: Curation, subject: str) -> set[str]:
    """The refs of the decisions about something, and of those that took them back or confirmed them."""
    wanted = {subject}
    if subject.partition(":")[0] not in ("type", "predicate", "conflict"):
        key = name_key(subject.removeprefix("entity:"))
        root = curation.resolve(key)
        wanted = {f"entity:{one}" for one, anchor in curation.names() if curation.root(anchor) == root}
        wanted |= {f"entity:{key}", f"entity:{root}"}
    found: set[str] = set()
    for ref, verdict in curation.verdicts.items():
        if wanted.intersection(verdict.about) or found.intersection(means(verdict.record)):
            found.add(ref)
    return found


def _decision(row: tuple[Any, ...]) -> Decision:
    values = dict(zip(COLUMNS.split(", "), row, strict=True))
    values |= {"detail": json.loads(values["detail"]), "contradicts": tuple(json.loads(values["contradicts"]))}
    return Decision(**(values | {"waiting": bool(values["waiting"])}))


def of_ref(database: Database, ref: str) -> Decision:
    """The decision of a journal record."""
    [row] = database.rows(f"select {COLUMNS} from decisions where ref = ?", (ref,))
    return _decision(row)


def find(database: Database, written: str) -> Decision:
    """A decision by its id or at least four letters of it. Raises NotFound, UsageError where several are meant."""
    begin = id_begin(written)
    rows = database.rows(
        f"select {COLUMNS} from decisions where ?1 <> '' and id >= ?1 and id < ?1 || 'g' order by ref desc", (begin,)
    )
    if len(rows) > 1:
        found = ", ".join(f"{row[0]} ({row[5]} {row[6]})" for row in rows[:5])
        raise UsageError(f"{written!r} can mean {len(rows)} decisions.", hint=f"Give more of the id: {found}")
    if not rows:
        raise NotFound(f"There is no decision {expose_hidden(written)!r}.", hint="`memdb log` lists them.")
    return _decision(rows[0])


# Deciding


Plan = Callable[[Database, Curation], Record | Decision]
"""Checks what is asked for against the tables; the record of it, or the decision by which it is so already."""


def decide(context: Context, plan: Plan) -> Decision:
    """Check and journal one decision, derive what follows from it, and return it.

    What another machine decided counts before it.
    """
    database = context.database
    with files.writer(context.place), database.write():
        if context.journal_is_ahead():
            context.replay_journal()
        planned = plan(database, curation_tables.state(database))
        if isinstance(planned, Decision):
            return replace(planned, changed=False)
        [journaled] = context.append(planned)
    mentions.refresh(context, limit=TEXTS_READ)
    return of_ref(context.database, f"{journaled['t']}/{journaled['w']}")


def signed(context: Context, record: Record) -> Record:
    """A record with who decides, and the decisions about the same that there are."""
    seen = seen_about(curation_tables.state(context.database), subjects(record))
    return record | {"by": settings.user_name(context.place), "on": seen}


def seen_about(curation: Curation, about: Collection[str]) -> list[str]:
    """The refs of the decisions that count, or are held, about any of some subjects."""
    wanted = set(about)
    return sorted(
        ref
        for ref, verdict in curation.verdicts.items()
        if verdict.state != "undone" and not wanted.isdisjoint(verdict.about)
    )


def written(context: Context, curation: Curation, action: str, why: str | None, **fields: Any) -> Record:
    """The record of a decision by whoever decides here, in view of the decisions that there are."""
    by = settings.user_name(context.place)
    draft = record(action, by=by, on=(), why=checked_why(why), **fields)
    return draft | {"on": seen_about(curation, [subject for one in _with_means(curation, draft) for subject in one])}


def _with_means(curation: Curation, draft: Record) -> Iterable[tuple[str, ...]]:
    yield subjects(draft)
    for ref in means(draft):
        if ref in curation.verdicts:
            yield subjects(curation.verdicts[ref].record)


def tried(curation: Curation, draft: Record) -> tuple[Curation, Verdict]:
    """What the decisions come to with one more, and what becomes of that."""
    after = replay([*(verdict.record for verdict in curation.verdicts.values()), draft | UNWRITTEN])
    return after, after.verdicts[f"{UNWRITTEN['t']}/{UNWRITTEN['w']}"]


def checked_why(why: str | None) -> str | None:
    """A reason on one line. Raises UsageError for one that is too long, SecretFound."""
    reason = " ".join((why or "").split())
    if len(reason) > WHY_LIMIT:
        raise UsageError(f"The reason has {len(reason)} characters; {WHY_LIMIT} are the most.", hint="Say it shorter.")
    found = secrets.find_secrets(reason)
    if found:
        raise SecretFound(
            f"The reason looks like a credential: {found[0].category}. Nothing was changed.",
            hint=secrets.advice(found[0].category),
        )
    return reason or None


# Taking back


def undo(context: Context, decision_id: str, *, why: str | None = None) -> Decision:
    """Take a decision back, by its id or the beginning of it: everything is as if it had not been made.

    Where others decided the very same, unaware of it, that goes too. An undo can be undone. Raises NotFound, UsageError
    where several are meant, Refused where a name that would come back is another entity's now.
    """

    def plan(database: Database, curation: Curation) -> Record | Decision:
        wanted = find(database, decision_id)
        if wanted.state == "undone":
            return wanted
        return taking_back(context, database, curation, same(curation, wanted.ref), why)

    return decide(context, plan)


def taking_back(
    context: Context, database: Database, curation: Curation, refs: Sequence[str], why: str | None
) -> Record:
    """The record that takes decisions back. Raises Refused where a name that comes back is another entity's now."""
    draft = written(context, curation, "undo", why, of=refs[0] if len(refs) == 1 else sorted(refs))
    after, _ = tried(curation, draft)
    for key, anchor in after.owner.items():
        if key not in curation.owner:  # else what is called so now is so by a decision that goes
            refuse_taken(database, curation, key, curation.root(anchor))
    return draft


def refuse_taken(database: Database, curation: Curation, key: str, root: str) -> None:
    """Raise Refused where an entity other than the one of an anchor is called by a name, or has it as an alias."""
    rows = database.rows(
        "select entity.name_key, entity.name from entity"
        " where name_key = coalesce((select entity_key from entity_alias where entity_alias.name_key = ?1), ?1)",
        (key,),
    )
    for taken, name in rows:
        if taken != curation.key_of(root):
            mine = database.value("select name from entity where name_key = ?", (curation.key_of(root),))
            raise Refused(
                f"{expose_hidden(name)!r} is another entity, and has the name {expose_hidden(key)!r}.",
                hint=f"To make one of the two: memdb entities merge {quoted(mine or curation.spelling(root))}"
                f" {quoted(name)}",
            )


def same(curation: Curation, ref: str) -> list[str]:
    """A decision with those of other machines that decided the very same, unaware of it."""
    mine = curation.verdicts[ref].record
    found = [ref]
    for other, verdict in curation.verdicts.items():
        its = verdict.record
        if other != ref and verdict.state != "undone" and its["w"] != mine["w"] and _says_the_same(mine, its):
            unaware = ref not in its.get("on", ()) and other not in mine.get("on", ())
            found += [other] if unaware else []
    return found


SAID_ASIDE = ("t", "w", "by", "why", "on", "label", "into_label")
"""Fields of a decision that do not say what it does."""


def _says_the_same(one: Record, other: Record) -> bool:
    if one["action"] in ("undo", "confirm"):
        return False
    said = [{name: value for name, value in record.items() if name not in SAID_ASIDE} for record in (one, other)]
    return said[0] == said[1]


def quoted(name: str) -> str:
    """A name as a word of a command line."""
    shown = expose_hidden(name)
    return f'"{shown}"' if not shown.replace("-", "").replace("_", "").isalnum() else shown
