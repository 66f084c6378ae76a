"""The JSON shapes of what the engine returns; keys may come, none may go."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memdb.services.documents.documents import DocumentReport
    from memdb.services.files.sync import SyncReport
    from memdb.services.memories.reading import ChunkListed
    from memdb.services.recall.answers import Citation
    from memdb.services.recall.recall import Recall

ARMS = ("vector", "keyword", "entity")


def sync_report(report: SyncReport) -> dict[str, Any]:
    """A sync as its counts, `problems: [{path, line, reason}]`, `ignored: [{path, reason}]` and `documents`."""
    shape = asdict(report)
    shape["ignored"] = [{"path": path, "reason": reason} for path, reason in report.ignored]
    shape["documents"] = document_report(report.documents)
    return shape


def document_report(report: DocumentReport) -> dict[str, Any]:
    """What became of documents: counts, `failed: [{path, reason}]` and `skipped: [path]`."""
    shape = asdict(report)
    shape["failed"] = [{"path": path, "reason": reason} for path, reason in report.failed]
    return shape


def citation(place: Citation) -> dict[str, Any]:
    """A citation as its parts and, in `text`, as a person writes it."""
    return asdict(place) | {"text": str(place)}


def chunk(listed: ChunkListed) -> dict[str, Any]:
    """A chunk as `{id, text, citation, embedded}`."""
    return asdict(listed) | {"citation": citation(listed.citation)}


def recall(answer: Recall) -> dict[str, Any]:
    """A recall or a cascade as `{query, hits, arms, empty_because, empty_message, notes}`."""
    shape = asdict(answer)
    for hit, found in zip(shape["hits"], answer.hits, strict=True):
        hit["citation"] = citation(found.citation) if found.citation is not None else None
    # The walk alone has no arms of its own; the keys are there for programs that read both.
    for arm in ARMS:
        shape["arms"].setdefault(arm, {"state": "off", "candidates": 0, "reason": "not asked for"})
    return shape
