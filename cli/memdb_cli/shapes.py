"""The JSON shapes of what the engine returns; keys may come, none may go."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memdb.services.recall import Recall
    from memdb.services.sync import SyncReport

ARMS = ("vector", "keyword", "entity")


def sync_report(report: SyncReport) -> dict[str, Any]:
    """A sync as its counts, `problems: [{path, line, reason}]` and `ignored: [{path, reason}]`."""
    shape = asdict(report)
    shape["ignored"] = [{"path": path, "reason": reason} for path, reason in report.ignored]
    return shape


def recall(answer: Recall) -> dict[str, Any]:
    """A recall or a cascade as `{query, hits, arms, empty_because, empty_message, notes}`."""
    shape = asdict(answer)
    # The walk alone has no arms of its own; the keys are there for programs that read both.
    for arm in ARMS:
        shape["arms"].setdefault(arm, {"state": "off", "candidates": 0, "reason": "not asked for"})
    return shape
