"""Say that a decision holds: of those that contradict one another, or of one that is held by what is in its way."""

from __future__ import annotations

from memdb.base.journal import Record
from memdb.base.storage import Database
from memdb.domain.curation import Curation, Verdict, merges, record, replay
from memdb.errors import Refused
from memdb.services import decisions
from memdb.services.context import Context
from memdb.services.decisions import Decision


def confirm(context: Context, decision: str, *, why: str | None = None) -> Decision:
    """Say that a decision holds, by its id or the beginning of it, and return the decision that says so.

    One that is held takes effect: what is in its way is taken back, in one `undo` whose `holds` names it. Of those that
    contradict one another, what stands stands. One that stands alone is returned as it is. Raises NotFound, UsageError
    where several are meant, Refused where it is undone or cannot take effect.
    """

    def plan(database: Database, curation: Curation) -> Record | Decision:
        wanted = decisions.find(database, decision)
        verdict = curation.verdicts[wanted.ref]
        if verdict.state == "undone":
            raise Refused(f"{wanted.id} was taken back.", hint="Undo what took it back: `memdb log` lists it.")
        if verdict.state == "held":
            refs = [same for ref in in_the_way(curation, wanted.ref) for same in decisions.same(curation, ref)]
            draft = decisions.taking_back(context, database, curation, list(dict.fromkeys(refs)), why)
            return draft | {"holds": wanted.ref}
        if not verdict.contradicts:
            return wanted
        of = sorted({wanted.ref, *verdict.contradicts})
        return decisions.written(context, curation, "confirm", why, of=of)

    return decisions.decide(context, plan)


def in_the_way(curation: Curation, ref: str) -> list[str]:
    """The decisions that hold a decision, by their refs: no fewer of them taken back would let it take effect.

    Where others would do too, the later ones stay. Raises Refused where none of them is what holds it.
    """
    records = [verdict.record for verdict in curation.verdicts.values()]

    def stands(without: list[str]) -> bool:
        taken_back = record("undo", by="", on=(), of=without) | decisions.UNWRITTEN
        return replay([*records, taken_back]).verdicts[ref].state == "standing"

    left = _about_the_same(curation, ref)
    if not left or not stands(left):
        reason = curation.verdicts[ref].reason
        raise Refused(
            f"It cannot take effect: {reason}.", hint="Bring the journals of all machines together, then sync."
        )
    # What is left out may let another one be left out: taking one back can bring a held one into the way.
    while True:
        fewer = left
        for one in reversed(left):
            others = [other for other in fewer if other != one]
            if others and stands(others):
                fewer = others
        if fewer == left:
            return left
        left = fewer


def _about_the_same(curation: Curation, ref: str) -> list[str]:
    """Decisions before one that are about its entities, or about what those are linked to by decisions.

    Those that are held count too: they may be next in the way.
    """
    before: list[Verdict] = []
    for verdict in curation.verdicts.values():
        if verdict.ref == ref:
            break
        if verdict.state != "undone" and verdict.record["action"] not in ("undo", "confirm", "distinct"):
            before.append(verdict)
    about = _entities(curation.verdicts[ref])
    while True:
        found = [verdict for verdict in before if not about.isdisjoint(_entities(verdict))]
        wider = about.union(*map(_entities, found))
        if wider == about:
            return [verdict.ref for verdict in found]
        about = wider


def _entities(verdict: Verdict) -> set[str]:
    """The keys of the entities that a decision is about."""
    named = {one.removeprefix("entity:") for one in verdict.about if one.startswith("entity:")}
    return named.union(*merges(verdict.record)) if verdict.record["kind"] == "curation" else named
