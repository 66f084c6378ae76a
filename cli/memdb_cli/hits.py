"""A recall for people: each hit with how it was found, its marks and the path by which it came."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memdb_cli import screen
from memdb_cli.screen import Part

LEAST_PATH = 12
"""Columns below which a path that is cut in the middle says nothing."""

if TYPE_CHECKING:
    from memdb.services.recall.answers import Citation
    from memdb.services.recall.recall import Hit, Hop, Recall

LEAST_DESCRIPTION = 30
"""Columns that a description must have beside the hit; with fewer, it goes below."""

TELLING = 0.05
"""A factor of closeness that differs by less from 1 is not shown: in a small store all of them do."""


def print_answer(answer: Recall, explain: bool = False, *, quiet: bool = False) -> None:
    """Write the hits, or why there are none; remarks on arms and index go to stderr, unless `quiet`."""
    if answer.hits:
        screen.lines(rows(answer.hits, _console_width(), explain))
    else:
        screen.lines([[(answer.empty_message or "Nothing found.", "")]])
    for remark in [] if quiet else remarks(answer):
        screen.note(remark)


def remarks(answer: Recall) -> list[str]:
    """What a person should know of an answer: the arms that were off, and the notes of the engine."""
    said = [
        f"note: the {name} arm is off: {arm.reason}"
        for name, arm in answer.arms.items()
        # The entity arm says nothing until there are entities; what was switched off by option is no news.
        if name != "entity" and arm.state == "off" and arm.reason != "not asked for"
    ]
    return said + [f"note: {text}" for text in answer.notes]


def rows(hits: Sequence[Hit], width: int | None, explain: bool) -> list[list[Part]]:
    """The lines of some hits, for a console of so many columns; None for one without an edge."""
    ids = max(screen.width(screen.cell(hit.id)) for hit in hits)
    founds = max(screen.width(found(hit)) for hit in hits)
    ranks = len(str(len(hits)))
    indent = " " * (ranks + 2)
    stores = max(screen.width(screen.cell(hit.store or "")) for hit in hits)
    taken = ranks + 2 + (stores + 2 if stores else 0) + ids + 2 + 5 + 2 + founds + 2
    beside = width is None or width - taken >= LEAST_DESCRIPTION
    result: list[list[Part]] = []
    for rank, hit in enumerate(hits, start=1):
        line: list[Part] = [
            (f"{rank:>{ranks}}  ", "bold"),
            (screen.pad(screen.cell(hit.store or ""), stores) + "  " if stores else "", "magenta"),
            (screen.pad(screen.cell(hit.id), ids), "cyan"),
            (f"  {hit.score:.3f}  ", "bold"),
            (screen.pad(found(hit), founds) if beside else found(hit), "dim"),
        ]
        if beside:
            line.append(("  " + about(hit, None if width is None else width - taken), ""))
        result.append(line)
        if not beside:
            result.append([(indent + about(hit, None if width is None else width - len(indent)), "")])
        result += [[(indent + mark, "yellow")] for mark in marks(hit)]
        if explain:
            if hit.citation is not None:
                text = screen.cell(hit.description)
                result.append([(indent + (text if width is None else shortened(text, width - len(indent))), "italic")])
            result += [[(indent + line, "dim")] for line in reasons(hit)]
        if explain or len(hit.path) > 1:
            result.append([(indent, ""), *path(hit.path)])
    return result


def about(hit: Hit, columns: int | None) -> str:
    """What a memory says, or where a chunk stands, in so many columns; None for any number."""
    if hit.citation is not None:
        return cited(hit.citation, columns)
    said = screen.cell(hit.description or hit.name)
    return said if columns is None else shortened(said, columns)


def cited(citation: Citation, columns: int | None = None) -> str:
    """A citation; where it is too long, its path is cut in the middle: its ends say more."""
    text = screen.arrows(screen.cell(str(citation)))
    if columns is None or screen.width(text) <= columns:
        return text
    path = screen.cell(citation.document.removeprefix("document:"))
    rest = text[len(path) :]
    room = columns - screen.width(rest) - 3
    if room < LEAST_PATH or not text.startswith(path):
        return shortened(text, columns)
    head = room // 3
    return f"{path[:head]}...{_end(path[head:], room - head)}{rest}"


def _end(text: str, columns: int) -> str:
    while screen.width(text) > columns:
        text = text[1:]
    return text


def found(hit: Hit) -> str:
    """How a hit was found: its place in each arm, or the node through which the walk reached it."""
    if hit.arms:
        return f"{screen.dot()} ".join(f"{name} {place.rank}" for name, place in hit.arms.items())
    if len(hit.path) > 1:
        return f"via {screen.cell(hit.path[-2].node)}"
    return "by its time" if hit.reasons else "seed"


def marks(hit: Hit) -> list[str]:
    """What a reader must know before believing a hit."""
    said = [f"version {hit.version}: what it said then"] if hit.version is not None else []
    if hit.superseded_by:
        said.append(f"superseded by {', '.join(screen.cell(newer) for newer in hit.superseded_by)}")
    if hit.contradicts:
        said.append(f"contradicts {', '.join(screen.cell(other) for other in hit.contradicts)}")
    if hit.conflicts:
        said.append(f"in conflict, see memdb conflicts show {' '.join(hit.conflicts)}")
    if hit.retired:
        said.append(f"decided against: {', '.join(screen.cell(relation) for relation in hit.retired)}")
    if hit.stale:
        gone = hit.citation is not None
        said.append("stale: the document's file is gone" if gone else "stale: no longer valid by its valid_to")
    if hit.suspect:
        said.append(f"{', '.join(hit.suspect)}: read it before an agent does")
    return said


def reasons(hit: Hit) -> list[str]:
    """The figures behind a hit."""
    said = [f"{name}: rank {place.rank}, similarity {place.similarity:.3f}" for name, place in hit.arms.items()]
    if hit.fused is not None:
        said.append(f"fused: {hit.fused:.3f}")
    said += [f"{screen.cell(reason)}" for reason in hit.reasons]
    return [*said, f"file: {screen.cell(hit.file)}"]


def path(hops: Sequence[Hop]) -> list[Part]:
    """A walk: `a 0.710  --has_tag 0.8-->  tag:b 0.398`, with what the odds of the last were multiplied by."""
    parts: list[Part] = []
    for hop in hops:
        if hop.edge is not None:
            parts.append((f"  --{hop.edge} {round(hop.weight or 0, 2):g}-->  ", "dim"))
        parts.append((screen.cell(hop.node), "cyan"))
        parts.append((f" {hop.score:.3f}", ""))
        if hop.closeness is not None and abs(hop.closeness - 1) >= TELLING:
            parts.append((f" (its own closeness: odds ×{hop.closeness:.2f})", "dim"))
    return parts


def shortened(text: str, columns: int) -> str:
    """Text cut to so many columns of a console, with a mark where it was cut."""
    if screen.width(text) <= columns:
        return text
    kept = text
    while kept and screen.width(kept) > columns - 3:
        kept = kept[:-1]
    return kept.rstrip() + "..."


def _console_width() -> int | None:
    return shutil.get_terminal_size((100, 24)).columns if screen.is_terminal(sys.stdout) else None
