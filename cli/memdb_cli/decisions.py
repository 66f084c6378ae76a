"""Decisions in words: what one did, in a line, and how it is taken back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from memdb_cli import screen

if TYPE_CHECKING:
    from memdb.services.decisions import Decision

STYLES = {"standing": "", "held": "yellow", "undone": "dim", "waiting": "yellow"}
"""How a state is drawn in the log."""


def in_words(decision: Decision, others: Mapping[str, Decision] | None = None) -> str:
    """What a decision did, as a sentence without its subject: `merged Quill Base into Quillbase`.

    What an undo took back is said too, where it is among the `others`, by their ids.
    """
    from memdb.domain.curation import id_of

    detail, action = decision.detail, decision.action
    if action in ("undo", "confirm"):
        ids = undone_by(decision)
        known = "; ".join(in_words((others or {})[one], others) for one in ids if one in (others or {}))
        for_it = f", for {id_of(detail['holds'])} to take effect" if "holds" in detail else ""
        return f"{_PAST[action]} {', '.join(ids)}" + (f": {known}" if known else "") + for_it
    if action == "distinct":
        return f"told apart {' and '.join(detail['pair'])}"
    if action not in SENTENCES or "entity" not in detail:
        outcome = _outcome(detail) if action == "resolve" else ""
        return f"{_PAST.get(action, action)} {decision.subject.replace(':', ' ', 1)}{outcome}"
    names = {"what": _name(detail, "label", "entity"), "whole": _name(detail, "into_label", "into")}
    return SENTENCES[action].format_map(defaultdict(str, detail | names))


SENTENCES = {
    "rename": "renamed {what} to {name}",
    "retype": "retyped {what}: {type}",
    "change": "renamed {what} to {name}, retyped: {type}",
    "merge": "merged {what} into {whole}",
    "delete": "deleted {what}",
}
"""Of decisions about an entity; the words in braces are fields of the decision."""

_PAST = {
    "add": "added",
    "approve": "approved",
    "describe": "described",
    "disable": "disabled",
    "enable": "enabled",
    "delete": "deleted",
    "dismiss": "dismissed",
    "restore": "restored",
    "resolve": "resolved",
    "undo": "undid",
    "confirm": "confirmed",
}


def _outcome(detail: dict[str, Any]) -> str:
    """How a conflict was settled: `: keep (mirela dovrak works_at quill works, not acme foundry)`."""
    kept, lost = " and ".join(detail.get("keep", ())), " or ".join(detail.get("against", ()))
    about = f"{detail['subject']} {detail['predicate']} " if "predicate" in detail else ""
    said = f"{about}{kept}{f', not {lost}' if lost else ''}"
    return f": {detail['choice']}" + (f" ({said})" if kept else "")


def _name(detail: dict[str, Any], *fields: str) -> str:
    return next((str(detail[field]) for field in fields if detail.get(field)), "")


def undone_by(decision: Decision) -> list[str]:
    """The ids of the decisions that an undo or a confirmation is of."""
    from memdb.domain.curation import id_of

    of = decision.detail["of"]
    return [id_of(ref) for ref in ([of] if isinstance(of, str) else of)]


def state_of(decision: Decision) -> str:
    """The state for a list: waiting where it stands and no text mentions what it is about."""
    return "waiting" if decision.state == "standing" and decision.waiting else decision.state


def remarks(decision: Decision) -> list[str]:
    """What a person has to know of a decision: why it is held, that it waits, which others contradict it."""
    found = []
    if decision.state == "held":
        way = "" if decision.action in ("undo", "confirm") else f"; `memdb confirm {decision.id}` has it take effect"
        found.append(f"it takes no effect now: {decision.reason}{way}")
    elif decision.state == "standing" and decision.waiting:
        found.append("no text mentions what it is about; it takes effect once one does")
    if decision.contradicts:
        found.append(f"it contradicts {', '.join(decision.contradicts)}; `memdb undo` takes one back")
    return found


def print_decision(
    decision: Decision,
    words: str,
    after: str = "",
    *,
    as_json: bool,
    more: dict[str, Any] | None = None,
    already: str = "it is so already",
) -> None:
    """Print what was decided, in `words`, with what is so `after` it, and how to take it back."""
    if as_json:
        screen.as_json({"decision": asdict(decision), **(more or {})})
        return
    verb, _, rest = words.partition(" ")
    if not decision.changed:
        screen.lines([[("unchanged ", ""), (screen.cell(rest), "cyan"), (f"  ({already}; {decision.id})", "dim")]])
        return
    behind = f"  ({screen.cell(after)}; {decision.id})" if after else f"  ({decision.id})"
    screen.lines([[(f"{verb} ", "green"), (screen.cell(rest), "cyan"), (behind, "dim")]])
    for remark in remarks(decision):
        screen.note(f"note: {remark}.")
    screen.note(f"note: `memdb undo {decision.id}` takes it back.")
