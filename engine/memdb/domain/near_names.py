"""Pairs of names that may be one thing under two spellings: to ask a person, never to merge.

A name meets others only under keys (its letters, its letters less one, its words without a legal form, …), so that the
work grows with the number of names and not with its square. Where a short name fits two long ones, nobody can tell
which is meant, and neither is asked.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memdb.domain.near_keys import LONE, OTHER_RANK, SLIPS, THINGS, Meeting, Reason, keys, met, spellings

WORTH_ASKING = 0.5
"""The least score of a pair: below it, most pairs are two things."""

OTHER_TYPES = 0.6
"""Of the score where two types are sure and far apart: models confuse them, people seldom."""

SURE_AS_SPELLED = 0.9
"""A pair of this score may be one thing even where one is a person and the other is not: somebody gave a wrong type."""

LONE_AND_SELDOM = 0.55
"""Of a slip in a name of one word, with a letter doubled or two swapped, where one is mentioned at most once in `OFTEN`
times the other."""

OFTEN = 5

_SELDOM_TOLD = frozenset((SLIPS["doubled"]._replace(score=LONE), SLIPS["swapped"]._replace(score=LONE)))


@dataclass(frozen=True, slots=True)
class Named:
    """What is compared: the key, the names with what it is called first, the type where that is sure, the mentions."""

    key: str
    names: tuple[str, ...]
    type: str | None = None
    mentions: int = 1


@dataclass(frozen=True, slots=True)
class Near:
    """Two keys, the lesser first, why they may be one, and from 0 to 1 how likely it is."""

    a: str
    b: str
    reasons: tuple[Reason, ...]
    score: float


def near(
    entities: Iterable[Named], known: Iterable[tuple[str, str, Reason]] = (), floor: float = WORTH_ASKING
) -> list[Near]:
    """The pairs of a score of `floor` or more, the likeliest first, then by their keys.

    `known` has pairs of keys that are near for another reason than their names. About linear in the number of names:
    none is compared with more than `near_keys.MOST_ALIKE` under one key.
    """
    named = {entity.key: entity for entity in entities}
    every = (
        (spelling, keys(spelling))
        for entity in named.values()
        for spelling in spellings(entity.key, entity.names, entity.type)
    )
    return judged(named, (meeting for _, meeting in met(every)), known, floor)


def judged(
    named: Mapping[str, Named],
    meetings: Iterable[Meeting],
    known: Iterable[tuple[str, str, Reason]] = (),
    floor: float = WORTH_ASKING,
) -> list[Near]:
    """What `near` gives, of what the names have in common; `named` has at least those that have something."""
    alike: dict[tuple[str, str], tuple[int, Reason]] = {}
    reasons: dict[tuple[str, str], set[Reason]] = defaultdict(set)
    for a, b, rank, reason in meetings:
        weighed = _of_mentions(reason, named[a], named[b])
        if rank == OTHER_RANK:
            reasons[a, b].add(weighed)
        else:
            # Of two ways to be spelled alike the surer one says it all.
            best = alike.get((a, b))
            if best is None or (rank, -weighed.score, weighed.words) < (best[0], -best[1].score, best[1].words):
                alike[a, b] = rank, weighed
    for pair, (_, reason) in alike.items():
        reasons[pair].add(reason)
    for a, b, reason in known:
        if a != b and a in named and b in named:
            reasons[min(a, b), max(a, b)].add(reason)
    found = []
    for (a, b), some in reasons.items():
        why = tuple(sorted(some, key=lambda reason: (-reason.score, reason.words)))
        types = _of_types(named[a].type, named[b].type, why[0].score)
        score = likelihood(reason.score for reason in why) * types
        found.append(Near(a, b, why, round(score, 2)))
    return sorted((pair for pair in found if pair.score >= floor), key=lambda pair: (-pair.score, pair.a, pair.b))


def likelihood(scores: Iterable[float]) -> float:
    """Of several reasons together: one less what all of them leave open, at most 0.99."""
    return min(0.99, 1 - math.prod(1 - score for score in scores))


def _of_mentions(reason: Reason, a: Named, b: Named) -> Reason:
    """A slip in a name of one word as it counts: more where one is seldom beside the other."""
    seldom, often = sorted((a.mentions, b.mentions))
    if reason in _SELDOM_TOLD and seldom * OFTEN <= often:
        return reason._replace(score=LONE_AND_SELDOM)
    return reason


def _of_types(a: str | None, b: str | None, surest: float) -> float:
    """The factor of two types: a person is nothing else, things are easily confused."""
    if a is None or b is None or a == b or (a in THINGS and b in THINGS):
        return 1.0
    if "person" in (a, b) and surest < SURE_AS_SPELLED:
        return 0.0
    return OTHER_TYPES
