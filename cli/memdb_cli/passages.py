"""A document as its outline, and a chunk with what stands around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from memdb.errors import NotFound
from memdb_cli import screen, shapes
from memdb_cli.hits import cited

if TYPE_CHECKING:
    from memdb import Store
    from memdb.services.memories.reading import ChunkListed

PREFIX = "document:"
"""What the ids of documents and chunks begin with; no memory's does."""


@dataclass(frozen=True, slots=True)
class Around:
    """A chunk and its neighbours, in the order of the document."""

    id: str
    chunks: Sequence[ChunkListed]

    @property
    def place(self) -> int:
        """Where the chunk stands among them, from 0."""
        return next(index for index, chunk in enumerate(self.chunks) if chunk.id == self.id)


def find_passage(store: Store, written: str, around: int) -> Around | str | None:
    """The chunk, or the id of the document, that an id or a document's path means; None where it is of neither.

    Raises NotFound for an id of a document or chunk that is not there.
    """
    if written.startswith(PREFIX) and (chunks := store.documents.chunk(written, around=around)):
        return Around(written, chunks)
    try:
        return store.documents.find(written)
    except NotFound:
        if not written.startswith(PREFIX):
            return None
        raise NotFound(
            f"There is no document or chunk {written!r}.", hint="`memdb documents` and `memdb chunks` list them."
        ) from None


def print_chunk(found: Around, as_json: bool) -> None:
    """A chunk's citation, then its text between those of its neighbours."""
    place = found.place
    chunk = found.chunks[place]
    if as_json:
        shape = shapes.chunk(chunk)
        shape["before"] = [shapes.chunk(other) for other in found.chunks[:place]]
        shape["after"] = [shapes.chunk(other) for other in found.chunks[place + 1 :]]
        screen.as_json(shape)
        return
    screen.lines([[(cited(chunk.citation), "bold cyan")], [(f"  {screen.cell(chunk.id)}", "dim")]])
    link = chunk.citation.link
    if link is not None and not chunk.citation.document.endswith(link):
        screen.lines([[("  " + screen.cell(link), "dim")]])
    if not chunk.embedded:
        screen.lines([[("  not embedded", "dim")]])
    for other in found.chunks:
        # A neighbour has a head of its own, so that nobody takes it for the passage.
        head = (screen.cell(other.id), "bold") if other is chunk else (screen.cell(other.id), "dim")
        screen.lines([[("", "")], [("--- ", "dim"), head]])
        screen.write(screen.body(other.text.strip("\n")))


def print_document(store: Store, key: str, as_json: bool) -> None:
    """A document's places and facts, then its headings with the chunks below each."""
    document = next(document for document in store.documents.list() if document.id == key)
    outline = _outline(store.documents.chunks(key))
    if as_json:
        screen.as_json(asdict(document) | {"outline": outline})
        return
    facts = {
        "title": document.title,
        "format": document.format,
        "link": document.link or "",
        "places": ", ".join(document.places),
        "state": "" if document.state == "seen" else document.state,
        "notes": "; ".join(document.notes),
    }
    screen.lines([[(screen.cell(document.id), "bold cyan")]])
    screen.lines([[(f"  {name:<6}  ", "dim"), (screen.cell(value), "")] for name, value in facts.items() if value])
    screen.lines([[("", "")], *([(line, "")] for line in _drawn(outline))])


def _outline(chunks: Sequence[ChunkListed]) -> list[dict[str, Any]]:
    """The headings in order, as `{heading_path, first, last, chunks}`; first and last are ids."""
    result = []
    for path, group in groupby(chunks, key=lambda chunk: chunk.citation.heading_path):
        below = list(group)
        result.append({"heading_path": list(path), "first": below[0].id, "last": below[-1].id, "chunks": len(below)})
    return result


def _drawn(outline: Sequence[dict[str, Any]]) -> list[str]:
    lines: list[str] = []
    above: list[str] = []
    for entry in outline:
        path = entry["heading_path"]
        same = next(
            (i for i, (a, b) in enumerate(zip(path, above, strict=False)) if a != b), min(len(path), len(above))
        )
        # A heading without text of its own has no line yet; one that goes on after its parts gets another.
        start = min(same, len(path) - 1)
        lines += ["  " * (depth + 1) + screen.cell(path[depth]) for depth in range(start, len(path) - 1)]
        name = screen.cell(path[-1]) if path else "(no heading)"
        lines.append("  " * max(1, len(path)) + f"{name}  {_numbers(entry)}")
        above = path
    return lines


def _numbers(entry: dict[str, Any]) -> str:
    """The chunks below a heading, by the ends of their ids: `#2`, or `#2 to #5`."""
    first, last = ("#" + entry[end].rpartition("#")[2] for end in ("first", "last"))
    return first if entry["chunks"] == 1 else f"{first} to {last}"
