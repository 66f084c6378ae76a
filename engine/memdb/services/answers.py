"""What a recall is asked and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Filters:
    """What a recall is limited to, inside the arms. Dates are ISO (`2026`, `2026-05`, `2026-05-01`)."""

    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # all of them
    path: str | None = None  # a glob over paths relative to the root
    since: str | None = None
    until: str | None = None
    as_of: str | None = None  # valid on that day

    @property
    def active(self) -> bool:
        return any((self.types, self.tags, self.path, self.since, self.until, self.as_of))


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of a path: the node, the edge that led to it (None at the seed), its weight, the score there."""

    node: str
    edge: str | None
    weight: float | None
    score: float


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
    """One answer; `score` is 0 to 1, `path` leads from the seed to it."""

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


@dataclass(frozen=True, slots=True)
class Arm:
    """Whether an arm was on, how many candidates it gave, and why it was off."""

    state: str  # on, off
    candidates: int
    reason: str | None = None


@dataclass(slots=True)
class Recall:
    """The answer to a question; `empty_because` is a code when there are no hits, `empty_message` says it in words."""

    query: str
    hits: list[Hit]
    arms: dict[str, Arm]
    empty_because: str | None = None
    empty_message: str | None = None
    notes: list[str] = field(default_factory=list)
