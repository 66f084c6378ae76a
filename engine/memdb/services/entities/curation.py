"""What people decide of entities: checked against the tables, journaled whole, then shown by what follows from it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from memdb.base import secrets
from memdb.base.journal import Record
from memdb.base.storage import Database
from memdb.base.text import expose_hidden, name_key, plain
from memdb.domain.curation import Curation, Verdict, merges
from memdb.errors import NotFound, Refused, SecretFound, UsageError
from memdb.services import decisions
from memdb.services.context import Context
from memdb.services.decisions import Decision, quoted
from memdb.services.entities import entity_reading, vocabulary

NAME_LIMIT = 200
"""Characters of a name: more is a sentence."""


def rename(context: Context, entity: str, new: str, *, why: str | None = None) -> Decision:
    """Call an entity something else; its old name stays an alias, and texts are searched for the new one.

    Raises NotFound, UsageError for what is no name, SecretFound, Refused where the name is another entity's.
    """
    return change(context, entity, new=new, why=why)


def retype(context: Context, entity: str, type_: str, *, why: str | None = None) -> Decision:
    """Give an entity another type of the vocabulary; it stays, whatever texts say, while that type is active.

    Raises NotFound, Refused where the type is disabled.
    """
    return change(context, entity, type_=type_, why=why)


def change(
    context: Context, entity: str, *, new: str | None = None, type_: str | None = None, why: str | None = None
) -> Decision:
    """Rename and retype in one decision: both or neither. Raises what `rename` and `retype` raise, UsageError."""
    if new is None and type_ is None:
        raise UsageError("Nothing is to be changed.", hint="Give a new name, a type, or both.")
    name = None if new is None else checked_name(new)

    def plan(database: Database, curation: Curation) -> Record | Decision:
        key, label = _entity(database, entity)
        anchor = curation.resolve(key)
        fields: dict[str, Any] = {}
        if name is not None and curation.called.get(anchor) != name:
            fields |= _new_name(database, curation, anchor, name)
        if type_ is not None:
            kind = _active_type(database, type_)
            fields |= {"type": kind} if curation.types.get(anchor) != kind else {}
        if not fields:
            return _standing(database, curation, anchor, ("rename", "retype", "change"))
        action = "change" if {"name", "type"} <= fields.keys() else "rename" if "name" in fields else "retype"
        return _applicable(
            database, curation, decisions.written(context, curation, action, why, entity=anchor, label=label, **fields)
        )

    return decisions.decide(context, plan)


def merge(context: Context, source: str, into: str, *, why: str | None = None) -> Decision:
    """Make one entity of two: `into` keeps its name and type, the names of `source` become aliases of it.

    Raises NotFound, UsageError where both are one entity already.
    """

    def plan(database: Database, curation: Curation) -> Record | Decision:
        (first, label), (second, into_label) = (_entity(database, one) for one in (source, into))
        if first == second:
            done = _merge_of(curation, name_key(source.removeprefix("entity:")), curation.resolve(second))
            if done is not None:
                return decisions.of_ref(database, done.ref)
            raise UsageError(
                f"{expose_hidden(source)!r} and {expose_hidden(into)!r} are names of one entity.",
                hint=f"memdb entities show {quoted(label)}",
            )
        ends = {"entity": curation.resolve(first), "into": curation.resolve(second)}
        labels = {"label": label, "into_label": into_label}
        return _applicable(database, curation, decisions.written(context, curation, "merge", why, **ends, **labels))

    return decisions.decide(context, plan)


def unmerge(context: Context, entity: str, *, why: str | None = None) -> Decision:
    """Take a merge back, by a name of what was merged, or of what it was merged into where that is one thing.

    Raises NotFound where nothing is merged, UsageError where several merges could be meant.
    """

    def plan(database: Database, curation: Curation) -> Record | Decision:
        key = name_key(entity.removeprefix("entity:"))
        part = curation.anchor(key)
        if part not in curation.into:
            whole = curation.anchor(entity_reading.find(database, entity).removeprefix("entity:"))
            parts = sorted(one for one, target in curation.into.items() if target == whole)
            if not parts:
                raise NotFound(f"Nothing was merged into {expose_hidden(entity)!r}.", hint="`memdb log` lists merges.")
            if len(parts) > 1:
                names = ", ".join(quoted(curation.spelling(curation.key_of(one))) for one in parts)
                raise UsageError(f"Several were merged into {expose_hidden(entity)!r}.", hint=f"Name one of {names}.")
            part = parts[0]
        target = curation.into[part]
        refs = [
            verdict.ref
            for verdict in curation.verdicts.values()
            if verdict.state != "undone"
            and any(
                (curation.anchor(one), curation.anchor(into)) == (part, target) for one, into in merges(verdict.record)
            )
        ]
        return decisions.taking_back(context, database, curation, refs, why)

    return decisions.decide(context, plan)


def delete(context: Context, entity: str, *, why: str | None = None) -> Decision:
    """Take an entity out of the graph, whatever texts say, until it is restored. Raises NotFound."""

    def plan(database: Database, curation: Curation) -> Record | Decision:
        deleted = _deleted(curation, entity)
        if deleted is not None:
            return _standing(database, curation, deleted, ("delete",))
        key, label = _entity(database, entity)
        draft = decisions.written(context, curation, "delete", why, entity=curation.resolve(key), label=label)
        return _applicable(database, curation, draft)

    return decisions.decide(context, plan)


def restore(context: Context, entity: str, *, why: str | None = None) -> Decision:
    """Let an entity that was deleted be one again, as texts have it now. Raises NotFound with the names that are."""

    def plan(database: Database, curation: Curation) -> Record | Decision:
        anchor = _deleted(curation, entity)
        if anchor is None:
            names = {name_key(name): name for name in _names_of_deleted(curation)}
            near = difflib.get_close_matches(name_key(entity), list(names), n=3)
            hint = f"Did you mean {', '.join(names[one] for one in near)}?" if near else "`memdb log` lists deletions."
            raise NotFound(f"No entity {expose_hidden(entity)!r} is deleted.", hint=hint)
        refs = [verdict.ref for verdict in _about(curation, anchor, ("delete",))]
        return decisions.taking_back(context, database, curation, refs, why)

    return decisions.decide(context, plan)


def distinct(context: Context, one: str, other: str, *, why: str | None = None) -> Decision:
    """Say that two entities are two: their merge is not suggested any more. Raises NotFound, UsageError."""

    def plan(database: Database, curation: Curation) -> Record | Decision:
        keys = [_entity(database, name)[0] for name in (one, other)]
        pair = sorted(curation.resolve(key) for key in keys)
        if pair[0] == pair[1]:
            raise UsageError(
                f"{expose_hidden(one)!r} and {expose_hidden(other)!r} are names of one entity.",
                hint=f"If they were merged: memdb entities unmerge {quoted(one)}",
            )
        for verdict in reversed(curation.verdicts.values()):
            record = verdict.record
            is_same = record["action"] == "distinct" and sorted(map(curation.anchor, record["pair"])) == pair
            if is_same and verdict.state == "standing":
                return decisions.of_ref(database, verdict.ref)
        return decisions.written(context, curation, "distinct", why, pair=pair)

    return decisions.decide(context, plan)


def confirm(context: Context, ids: Iterable[str], *, why: str | None = None) -> Decision:
    """Say that decisions which contradict one another were looked at: what stands, stands. Raises NotFound."""

    def plan(database: Database, curation: Curation) -> Record | Decision:
        refs = {decisions.find(database, one).ref for one in ids}
        refs |= {other for ref in refs for other in curation.verdicts[ref].contradicts}
        if not any(curation.verdicts[ref].contradicts for ref in refs):
            raise NotFound("These decisions contradict no other one.", hint="`memdb review` lists those that do.")
        return decisions.written(context, curation, "confirm", why, of=sorted(refs))

    return decisions.decide(context, plan)


# Checking


def checked_name(name: str) -> str:
    """A name on one line. Raises UsageError for what is none, SecretFound."""
    written = " ".join(plain(name).split())
    if not any(char.isalnum() for char in name_key(written)):
        raise UsageError(f"{expose_hidden(name)!r} is no name.", hint="Give one with a letter or a digit.")
    if len(written) > NAME_LIMIT:
        raise UsageError(
            f"The name has {len(written)} characters; {NAME_LIMIT} are the most.", hint="Give a shorter one."
        )
    if expose_hidden(written) != written:
        raise UsageError("The name has hidden characters.", hint=f"It reads: {expose_hidden(written)}")
    found = secrets.find_secrets(written)
    if found:
        raise SecretFound(
            f"The name looks like a credential: {found[0].category}. Nothing was changed.",
            hint=secrets.advice(found[0].category),
        )
    return written


def _entity(database: Database, written: str) -> tuple[str, str]:
    """The key and the name of an entity. Raises NotFound, with what to do where it was deleted."""
    key = entity_reading.find(database, written).removeprefix("entity:")
    return key, str(database.value("select name from entity where name_key = ?", (key,)))


def _deleted(curation: Curation, written: str) -> str | None:
    for name in (written, written.removeprefix("entity:")):
        root = curation.resolve(name_key(name))
        if root in curation.deleted:
            return root
    return None


def _names_of_deleted(curation: Curation) -> list[str]:
    return [curation.spelling(key) for key, anchor in curation.names() if curation.root(anchor) in curation.deleted]


def _new_name(database: Database, curation: Curation, anchor: str, name: str) -> dict[str, Any]:
    """The fields of a new name. Raises Refused where it is another entity's."""
    key = name_key(name)
    root = curation.resolve(key)
    if root in curation.deleted:
        raise Refused(
            f"{name!r} is the name of an entity that was deleted.",
            hint=f"Restore it, then merge: memdb entities restore {quoted(name)}",
        )
    decisions.refuse_taken(database, curation, key, anchor)
    is_of_part = root == anchor and curation.anchor(key) != anchor
    return {"name": name, "part": True} if is_of_part else {"name": name}


def _active_type(database: Database, written: str) -> str:
    entry = vocabulary.find(database, "type", written)
    if entry.state != "active":
        raise Refused(f"The type {entry.name!r} is disabled.", hint=f"memdb schema enable type {quoted(entry.name)}")
    return entry.name


def _applicable(database: Database, curation: Curation, draft: Record) -> Record:
    """A record, if it would not be held. Raises Refused with the decision that is in its way."""
    _, verdict = decisions.tried(curation, draft)
    if verdict.state == "held":
        raise Refused(
            f"That does not go together with what was decided: {verdict.reason}.",
            hint="`memdb log` lists decisions; `memdb undo ID` takes one back.",
        )
    return draft


def _about(curation: Curation, anchor: str, actions: tuple[str, ...]) -> list[Verdict]:
    return [
        verdict
        for verdict in curation.verdicts.values()
        if verdict.state == "standing"
        and verdict.record["kind"] == "curation"
        and verdict.record["action"] in actions
        and curation.anchor(verdict.record["entity"]) == anchor
    ]


def _standing(database: Database, curation: Curation, anchor: str, actions: tuple[str, ...]) -> Decision:
    """The last decision of some kinds about an entity."""
    return decisions.of_ref(database, _about(curation, anchor, actions)[-1].ref)


def _merge_of(curation: Curation, key: str, root: str) -> Verdict | None:
    """The merge by which a name is part of an entity."""
    part = curation.anchor(key)
    found = [one for one in _about(curation, part, ("merge",)) if curation.root(part) == root]
    return found[-1] if found else None
