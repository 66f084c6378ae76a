"""What a recall is asked and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field

BEGINNING = 200
"""Characters of a text that stand for a missing description, as in `cascade.sql`."""

BLANKS = " \t\n\r"
"""What is trimmed from a text before, as there."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What a recall is limited to, inside the arms. Dates are ISO (`2026`, `2026-05`, `2026-05-01`)."""

    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # all of them
    path: str | None = None  # a glob over paths relative to the root
    since: str | None = None
    until: str | None = None
    as_of: str | None = None  # as memories stood at the end of it, and what was valid then
    kinds: tuple[str, ...] = ()  # memory, chunk
    document: str | None = None  # the id of one document
    now: str | None = None  # limits nothing: the day from which words as `yesterday` are counted

    @property
    def active(self) -> bool:
        return any((self.types, self.tags, self.path, self.since, self.until, self.as_of, self.kinds, self.document))


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a chunk stands: its document, headings from the outermost, page, lines, the record's own id."""

    document: str
    heading_path: tuple[str, ...]
    page: int | None
    start_line: int | None
    end_line: int | None
    record_id: str | None
    link: str | None = None  # of a page: the address that it was read from

    def __str__(self) -> str:
        """As a person writes it: `docs/guide.md › Install › Linux, lines 12-20`."""
        place = [self.document.removeprefix("document:"), *self.heading_path]
        if self.record_id is not None:
            return f"{' › '.join(place)}, {self.record_id}"
        if self.page is not None:
            return f"{' › '.join(place)}, page {self.page}"
        if self.start_line is None:
            return " › ".join(place)
        same = self.end_line in (None, self.start_line)
        return (
            f"{' › '.join(place)}, {f'line {self.start_line}' if same else f'lines {self.start_line}-{self.end_line}'}"
        )


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of a path: the node, the edge that led to it (None at the seed), its weight, the score there.

    `closeness` is, of a text that the path found, what the odds of the score were multiplied by, because of how near
    the text itself lies to the question; None where nothing was.
    """

    node: str
    edge: str | None
    weight: float | None
    score: float
    closeness: float | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What an arm says of a hit: its place in the arm's ranking, from 1, and its similarity, 0 to 1.

    `share` is, for the keyword arm, the part of the question's words that the text holds, weighed by how rare they are.
    """

    rank: int
    similarity: float
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer; `score` is 0 to 1, `path` leads from the seed to it.

    `description` is a memory's own; where it has none, and of a chunk, it is the beginning of the text. `stale` is true
    of a memory whose validity is over, and of a chunk whose document's file is gone. `version` is, of a recall as of a
    time, the number of the earlier text that answers; None where it is the text of today.
    """

    id: str
    kind: str
    score: float
    name: str
    type: str
    description: str
    file: str
    path: tuple[Hop, ...]
    arms: dict[str, Found]
    fused: float | None
    superseded_by: tuple[str, ...]
    contradicts: tuple[str, ...]
    stale: bool
    citation: Citation | None = None  # of a chunk
    conflicts: tuple[str, ...] = ()  # ids of the open ones that it takes part in
    retired: tuple[str, ...] = ()  # relations that it states and a person decided against: `Ines works_at Acme`
    version: int | None = None
    store: str | None = None  # of a recall over several: the name of the one that it is in
    suspect: tuple[str, ...] = ()  # instruction-like, hidden-characters, prompt-like: what its text does
    reasons: tuple[str, ...] = ()  # what speaks for it beside arms and path: a time, a speaker


@dataclass(frozen=True, slots=True)
class Arm:
    """Whether an arm was on, how many candidates it gave, and why it was off."""

    state: str  # on, off
    candidates: int
    reason: str | None = None
    model: str | None = None  # of the vector arm: whose vectors were compared


@dataclass(slots=True)
class Recall:
    """The answer to a question; `empty_because` is a code when there are no hits, `empty_message` says it in words."""

    query: str
    hits: list[Hit]
    arms: dict[str, Arm]
    empty_because: str | None = None
    empty_message: str | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Asked:
    """One store of a recall over several: what it answered by itself, or in `error` why it did not.

    `hits` counts those of its own list; how many are in the common one, their `store` tells.
    """

    store: str
    path: str
    error: str | None = None  # a code: not_found, unreadable, busy, …
    hits: int = 0
    arms: dict[str, Arm] = field(default_factory=dict)
    empty_because: str | None = None
    empty_message: str | None = None


@dataclass(slots=True)
class ManyRecall(Recall):
    """The answers of several stores as one list; `merged_by` is scores or ranks."""

    stores: list[Asked] = field(default_factory=list)
    merged_by: str = "scores"
