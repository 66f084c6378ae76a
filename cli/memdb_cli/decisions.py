"""Decisions as the commands print them, and how each is taken back."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from memdb_cli import screen

if TYPE_CHECKING:
    from memdb.services.decisions import Decision

STYLES = {"standing": "", "held": "yellow", "undone": "dim", "waiting": "yellow"}
"""How a state is drawn in the log."""


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
