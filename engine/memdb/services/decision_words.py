"""Decisions in words: what one did, in a line, for lists of what people decided."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from memdb.domain.curation import id_of
from memdb.services.decisions import Decision


def in_words(decision: Decision, others: Mapping[str, Decision] | None = None) -> str:
    """What a decision did, as a sentence without its subject: `merged Quill Base into Quillbase`.

    What an undo took back is said too, where it is among the `others`, by their ids.
    """
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
    of = decision.detail["of"]
    return [id_of(ref) for ref in ([of] if isinstance(of, str) else of)]
