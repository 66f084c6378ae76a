"""Settle a conflict as a person decides, and take that back: one journal record each, all else follows from it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memdb.base import files
from memdb.base.journal import Record
from memdb.base.storage import Database
from memdb.base.text import expose_hidden, id_begin, name_key
from memdb.domain.curation import Curation
from memdb.errors import NotFound, Refused, UsageError
from memdb.services import decisions
from memdb.services.conflicts import conflicts
from memdb.services.conflicts.conflict_tables import anchor_of
from memdb.services.conflicts.conflicts import Conflict, ConflictSide
from memdb.services.context import Context
from memdb.services.decisions import Decision
from memdb.services.files import sync
from memdb.services.memories import reading, saving

CHOICES = ("keep-new", "keep-existing", "keep", "keep-both", "merge")


@dataclass(frozen=True, slots=True)
class Effect:
    """What a resolution does to two: `effect` is retires, replaces, distinct or merges.

    The two are ids of memories, or of entities by the first name key that they had; the names are what these are called
    now, or the same. `counts` is False where a later decision about the two says something else.
    """

    kept: str
    other: str
    effect: str
    counts: bool
    kept_name: str
    other_name: str


@dataclass(frozen=True, slots=True)
class Resolution:
    """A conflict that was settled: by which decision, and the exact edges that follow from it."""

    id: str  # of the decision
    conflict: str
    kind: str  # relation, memories
    choice: str
    state: str  # standing, held, undone
    effects: tuple[Effect, ...]
    at: str
    by: str
    why: str | None


def resolve(
    context: Context,
    conflict: str,
    choice: str,
    *,
    keep: str | None = None,
    text: str | None = None,
    why: str | None = None,
) -> Resolution:
    """Settle an open conflict, by its id, its subject, or a memory in it.

    keep-new, keep-existing: the side that came last, or first, by the texts' own dates, else by when memdb saw them.
    keep: the side that `keep` names. keep-both: all stand, and are not asked about again. merge: of a relation, the
    objects are one entity, called as `keep` or the side most texts state; of memories, `text` becomes the text of
    `keep` or the newest, which replaces the others. Raises NotFound, UsageError, Refused where it is settled already.
    """
    if choice not in CHOICES:
        raise UsageError(f"There is no choice {choice!r}.", hint=f"Choose one of {', '.join(CHOICES)}.")
    if keep is not None and choice not in ("keep", "merge"):
        raise UsageError(f"What is kept goes with `keep` and `merge`, not with {choice}.", hint="Leave it out.")
    if keep is None and choice == "keep":
        raise UsageError("Which side is to be kept?", hint="Name it: memdb conflicts resolve CONFLICT keep --keep SIDE")
    if text is not None and choice != "merge":
        raise UsageError(f"A text goes with `merge`, not with {choice}.", hint="Leave it out.")
    with files.writer(context.place):
        sync.sync(context, embed=False)
        found = _open(context.database, conflict)
        merged = _merge_text(context, found, keep, text, choice)

        def plan(database: Database, curation: Curation) -> Record:
            now = _open(database, found.id)
            fields = _fields(database, now, choice, keep) | merged
            draft = decisions.written(context, curation, "resolve", why, **fields)
            _, verdict = decisions.tried(curation, draft)
            if verdict.state == "held":
                raise Refused(
                    f"That does not go together with what was decided: {verdict.reason}.",
                    hint="`memdb log` lists decisions; `memdb undo ID` takes one back.",
                )
            return draft

        decision = decisions.decide(context, plan)
    return _resolution(context.database, decision)


def resolutions(database: Database) -> list[Resolution]:
    """How conflicts were settled, the last first, those that were taken back too."""
    refs = database.rows("select ref from decision where action = 'resolve' order by ref desc")
    return [_resolution(database, decisions.of_ref(database, ref)) for (ref,) in refs]


def revert(context: Context, written: str, *, why: str | None = None, force: bool = False) -> Resolution:
    """Take a resolution back, by its id or the conflict that it settled: exactly what it made goes.

    Of memories that were merged the former text comes back; where the merged text was changed since, that is refused,
    unless `force` leaves the text as it is now. Raises NotFound, UsageError, Refused where it is taken back already.
    """
    with files.writer(context.place):
        sync.sync(context, embed=False)
        decision = _find(context.database, written)
        if decision.state == "undone":
            raise Refused(
                f"The resolution {decision.id} was taken back already.",
                hint="`memdb conflicts` lists what is open; `memdb undo` of the undo puts the resolution back.",
            )
        version = _former(context, decision, force)
        decisions.undo(context, decision.id, why=why)
        if version is not None:
            from memdb.services.memories import versions  # noqa: PLC0415 (seldom used)

            versions.restore(context, decision.detail["keep"][0], version)
            sync.sync(context, embed=False)
    return _resolution(context.database, decisions.of_ref(context.database, decision.ref))


def undo(context: Context, decision_id: str, *, why: str | None = None) -> Decision:
    """Take any decision back; of one that merged memories the former text comes back. Raises as `revert` does."""
    decision = decisions.find(context.database, decision_id)
    if decision.action != "resolve" or decision.detail.get("before") is None or decision.state == "undone":
        return decisions.undo(context, decision_id, why=why)
    revert(context, decision.id, why=why)
    [taken_back] = decisions.log(context, limit=1)
    return taken_back


def _resolution(database: Database, decision: Decision) -> Resolution:
    detail = decision.detail
    effects = [
        Effect(kept, other, effect, bool(counts), *(_called(database, detail["of"], one) for one in (kept, other)))
        for kept, other, effect, counts in database.rows(
            "select kept, other, effect, counts from resolution_pair where ref = ? order by kept, other",
            (decision.ref,),
        )
    ]
    return Resolution(
        decision.id,
        detail["conflict"],
        detail["of"],
        detail["choice"],
        decision.state,
        tuple(effects),
        decision.at,
        decision.by,
        decision.why,
    )


def _called(database: Database, kind: str, side: str) -> str:
    """What a side of a resolution is called: a memory by its id, an entity, given by its anchor, by its name."""
    if kind != "relation":
        return side
    name = database.value(
        "select entity.name from entity where name_key = coalesce("
        "(select entity_key from entity_decision where anchor = ?1 and part_of is null), ?1)",
        (side,),
    )
    return side if name is None else str(name)


# Finding


def _open(database: Database, written: str) -> Conflict:
    """An open conflict. Raises NotFound, Refused with the decision where it is settled already."""
    try:
        return conflicts.show(database, written)
    except NotFound:
        settled = _settled(database, written)
        if not settled:
            raise
        raise Refused(
            f"The conflict {settled[0].detail['conflict']} was settled already ({settled[0].detail['choice']},"
            f" {settled[0].at} by {settled[0].by}).",
            hint=f"To take that back: memdb conflicts revert {settled[0].id}",
        ) from None


def _settled(database: Database, written: str) -> list[Decision]:
    """The standing resolutions that a conflict's id, subject or memory means, the last first."""
    begin, subject = id_begin(written), name_key(written.removeprefix("entity:"))
    alias = database.value("select entity_key from entity_alias where name_key = ?", (subject,))
    anchors = {subject, anchor_of(database, str(alias or subject))}
    found = []
    for ref, conflict, about in database.rows("select ref, conflict, subject from resolution order by ref desc"):
        memories = database.value("select 1 from resolution_pair where ref = ? and ? in (kept, other)", (ref, written))
        if (about and about in anchors) or memories or (begin and conflict.startswith(begin)):
            found.append(decisions.of_ref(database, ref))
    return found


def _find(database: Database, written: str) -> Decision:
    """The resolution that a person means. Raises NotFound, UsageError where several are meant."""
    settled = _settled(database, written)
    if len(settled) == 1 or len({one.detail["conflict"] for one in settled}) == 1:
        return settled[0]
    if settled:
        meant = ", ".join(f"{one.id} ({one.detail['choice']}, {one.at})" for one in settled)
        raise UsageError(
            f"{expose_hidden(written)!r} can mean {len(settled)} resolutions.", hint=f"Give the id: {meant}"
        )
    try:
        decision = decisions.find(database, written)
    except NotFound as error:
        raise NotFound(
            f"There is no resolution {expose_hidden(written)!r}.", hint="`memdb conflicts --all` lists them."
        ) from error
    if decision.action != "resolve":
        raise UsageError(
            f"The decision {decision.id} settled no conflict: it is a {decision.action}.",
            hint=f"To take it back: memdb undo {decision.id}",
        )
    return decision


# Choosing


def _fields(database: Database, conflict: Conflict, choice: str, keep: str | None) -> dict[str, object]:
    """What the record of a resolution says."""
    fields: dict[str, object] = {"conflict": conflict.id, "of": conflict.kind, "choice": choice}
    if conflict.kind == "relation":
        subject = str(conflict.subject).removeprefix("entity:")
        fields |= {"subject": anchor_of(database, subject), "predicate": conflict.predicate}
    if choice == "keep-both":
        return fields | {"keep": _names(database, conflict, conflict.sides), "against": []}
    kept = _chosen(database, conflict, choice, keep)
    names = _names(database, conflict, [kept])
    if choice == "merge" and conflict.kind == "memories":
        names = [_kept_memory(database, conflict, keep)]
    return fields | {
        "keep": names,
        "against": _names(database, conflict, _against(database, conflict, kept, choice), names),
    }


def _names(
    database: Database, conflict: Conflict, sides: Iterable[ConflictSide], without: Sequence[str] = ()
) -> list[str]:
    """The anchors of the objects, or the ids of the memories, of some sides."""
    if conflict.kind == "relation":
        found = [anchor_of(database, side.object.removeprefix("entity:")) for side in sides]
    else:
        found = [source.id for side in sides for source in side.sources]
    return [name for name in found if name not in without]


def _chosen(database: Database, conflict: Conflict, choice: str, keep: str | None) -> ConflictSide:
    if keep is not None:
        return _named(database, conflict, keep)
    if choice == "merge" and conflict.kind == "relation":
        return min(conflict.sides, key=lambda side: (-len(side.sources), side.object))
    return _by_time(database, conflict, first=choice == "keep-existing")


def _against(database: Database, conflict: Conflict, kept: ConflictSide, choice: str) -> list[ConflictSide]:
    """The sides that give way: not those that were settled to stand beside the one that is kept."""
    if choice == "merge":
        return list(conflict.sides)
    others = [side for side in conflict.sides if side is not kept]
    mine = set(_names(database, conflict, [kept]))
    beside = {
        name
        for one, other in database.rows(
            "select kept, other from resolution_pair join resolution using (ref)"
            " where effect = 'distinct' and counts and resolution.kind = ?"
            " and (resolution.kind = 'memories' or conflict = ?)",
            (conflict.kind, conflict.id),
        )
        for name in (one, other)
        if mine & {one, other}
    }
    return [side for side in others if not beside.issuperset(_names(database, conflict, [side]))]


def _named(database: Database, conflict: Conflict, written: str) -> ConflictSide:
    key = name_key(written.removeprefix("entity:"))
    alias = database.value("select entity_key from entity_alias where name_key = ?", (key,))
    for side in conflict.sides:
        if conflict.kind == "relation":
            if side.object.removeprefix("entity:") in (key, alias):
                return side
        elif written in [source.id for source in side.sources]:
            return side
    raise UsageError(
        f"{expose_hidden(written)!r} is no side of the conflict {conflict.id}.", hint=_candidates(conflict)
    )


def _candidates(conflict: Conflict) -> str:
    if conflict.kind == "relation":
        names = [side.object_name for side in conflict.sides]
    else:
        names = [source.id for side in conflict.sides for source in side.sources]
    return "It is between " + ", ".join(f'"{expose_hidden(name)}"' for name in names) + "."


def _kept_memory(database: Database, conflict: Conflict, keep: str | None) -> str:
    """The memory that takes the merged text: the one that is named, else the newest."""
    if keep is not None:
        _named(database, conflict, keep)
        return keep
    side = _by_time(database, conflict, first=False)
    return side.sources[0].id


# Times

_ISO = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d)?)?)?)?")


def _by_time(database: Database, conflict: Conflict, *, first: bool) -> ConflictSide:
    """The side that came first, or last. Raises UsageError where that cannot be told."""
    times: list[list[str] | None] = []
    for side in conflict.sides:
        said = [_time(database, source.id) for source in side.sources]
        times.append(None if None in said else [time for time in said if time is not None])
    if all(times):
        for place, side in enumerate(conflict.sides):
            mine = times[place] or []
            others = [time for other, some in enumerate(times) if other != place for time in some or []]
            if first and any(all(_is_before(time, other) for other in others) for time in mine):
                return side
            if not first and any(all(_is_before(other, time) for other in others) for time in mine):
                return side
    raise UsageError(
        f"It cannot be told which side of the conflict {conflict.id} is the {'older' if first else 'newer'} one:"
        " the texts have no dates that say so.",
        hint=f"Name what is kept: memdb conflicts resolve {conflict.id} keep --keep SIDE. {_candidates(conflict)}",
    )


def _is_before(one: str, other: str) -> bool:
    """Whether a time is before another, as exactly as both are known."""
    length = min(len(one), len(other))
    return one[:length] < other[:length]


def _time(database: Database, text: str) -> str | None:
    """Since when a text says what it says: by its own dates, else by when the journal saw it come; no file's time."""
    rows = database.rows(
        "select memory.modified, memory.created, null from memory join node using (id) where node.key = ?1"
        " union all select chunk.created, document.created,"
        " (select min(fetched_at) from place join snapshot using (path) where place.document_id = document.id)"
        " from chunk join node using (id) join document on document.id = chunk.document_id where node.key = ?1",
        (text,),
    )
    for date in rows[0] if rows else ():
        written = _ISO.match((date or "").strip())
        if written is not None:
            return written[0].replace(" ", "T")
    seen = database.value(
        "select coalesce((select max(at) from memory_version where memory_key = ?1),"
        " (select max(at) from memory_birth where memory_key = ?1))",
        (text,),
    )
    if seen is None:
        return None
    return str(
        database.value(
            "select strftime('%Y-%m-%dT%H:%M:%S', cast(substr(?1, 1, 13) as integer) / 1000, 'unixepoch')"
            " || '.' || substr(?1, 11)",
            (seen,),
        )
    )


# Merging memories


def _merge_text(
    context: Context, conflict: Conflict, keep: str | None, text: str | None, choice: str
) -> dict[str, object]:
    """Write the merged text into the memory that is kept, and return what the record says of it."""
    if choice != "merge" or conflict.kind != "memories":
        if text is not None:
            raise UsageError("A relation has no text to be merged.", hint="Leave the text out.")
        return {}
    if text is None or not text.strip():
        raise UsageError(
            "Memories are merged into a text that says what holds.", hint="Give it with --text, or `-` to read it."
        )
    kept = _kept_memory(context.database, conflict, keep)
    before = _sha256(context, kept)
    saved = saving.save(context, kept, text)
    return {"before": before, "after": saved.sha256} if saved.changed else {}


def _sha256(context: Context, memory: str) -> str | None:
    path = reading.path_of(context, memory)
    return None if path is None else context.database.value("select sha256 from source where path = ?", (path,))


def _former(context: Context, decision: Decision, force: bool) -> int | None:
    """The number of the version that a merge of memories took the place of; None where no text comes back."""
    before, after = decision.detail.get("before"), decision.detail.get("after")
    if before is None or decision.state != "standing" or not decision.detail["keep"]:
        return None
    kept = decision.detail["keep"][0]
    now = _sha256(context, kept)
    if now == before:
        return None
    numbers = [place for place, past in enumerate(reading.history(context, kept), 1) if past.sha256 == before]
    if now == after and numbers:
        return numbers[-1]
    if force:
        return None
    what = "was changed since the merge" if now else "is not there any more"
    raise Refused(
        f"{kept} {what}, so its former text is not put back.",
        hint=f"Take back the rest and leave the text as it is: memdb conflicts revert {decision.id} --force",
    )
