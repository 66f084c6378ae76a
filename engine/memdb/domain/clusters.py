"""Clusters of related memories: spherical k-means over their vectors, with keys that outlive a recomputation.

Everything is exact. Vectors are rounded to whole numbers of 1/`SCALE`, so that every product and sum of a
similarity is a whole number below 2**24, which float32 holds without rounding: the same similarities come out
of every processor, thread count and order of addition, and a tie is a tie.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from memdb.base.words import STOPWORDS, WORD_CAP, searchable

SCALE = 4000
"""Steps per unit: (SCALE + sqrt(dims)/2)**2 stays below 2**24 up to 4096 dims, and errs by about 1e-4."""

MIN_VECTORS = 6
"""Fewer memories than this are read at a glance; a grouping of them would say nothing."""

MAX_CLUSTERS = 256
"""Keeps a pass over 100,000 vectors near a second; larger stores get larger clusters."""

MAX_PASSES = 30
"""Bound on the passes over all vectors; on real memories assignments settle in 3 to 12."""

SETTLED = 0.001
"""Share of vectors that may still move when the passes end; below a thousand vectors, none."""

SMALL = 1000
"""Up to so many vectors, several starts are tried: a few dozen memories hang on luck."""

STARTS = 8
"""Starts tried for a small store: on real ones the best has 0.03 to 0.06 more mean similarity than the first."""

SAMPLE = 2048
"""Rows that the starting centroids are chosen from: many times the number of clusters, at a bounded cost."""

CANDIDATES = 8
"""Rows tried for each starting centroid; with more, one new memory moves more of the others."""

CHUNK = 8192
"""Rows multiplied at once: a few megabytes beside the vectors, however many there are."""

ANCHORS = 8
"""Members recorded to recognise a cluster by: enough to outvote a few moves, and one short journal line."""

MIN_SHARE = 0.5
"""Least share of a recorded cluster's anchors that a new one must hold to be the same cluster."""

LABEL_TEXT = 500
"""Characters of a text that a label is made from: what a memory is about stands at its beginning."""

LABEL_WORDS = 3
"""Words in a label: what fits a table cell and a graph node."""

_ALGORITHM = b"memdb clusters 1\n"
_Whole = NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Group:
    """Members that belong together: `members` sorted, `anchors` those nearest to the centroid first."""

    members: tuple[str, ...]
    anchors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A group with the key that it keeps over recomputations and a label made of its most telling words."""

    key: str
    label: str
    members: tuple[str, ...]
    anchors: tuple[str, ...]


def fingerprint(ids: Sequence[str], vectors: NDArray[np.float32]) -> str:
    """A sha256 over ids, vectors (n, d) and this algorithm, the same for any order of the input."""
    digest = hashlib.sha256(_ALGORITHM)
    for row in _order(ids):
        name = ids[row].encode("utf-8", "surrogatepass")
        digest.update(len(name).to_bytes(8, "little") + name)
        digest.update(np.ascontiguousarray(vectors[row], dtype="<f4").tobytes())
    return digest.hexdigest()


def cluster_count(vectors: int) -> int:
    """How many clusters to look for among so many vectors: sqrt(n), of about as many members each."""
    return min(MAX_CLUSTERS, math.isqrt(vectors)) if vectors >= MIN_VECTORS else 0


def compute(ids: Sequence[str], vectors: NDArray[np.float32], *, seed: int = 0) -> list[list[int]]:
    """Spherical k-means: groups of two or more row numbers, nearest to the group's centroid first.

    `vectors` are unit length, (n, d). The groups come in the order of their smallest id, and neither they nor
    their order depend on the order of the input.
    """
    count = cluster_count(len(ids))
    if count == 0:
        return []
    order = _order(ids)
    whole = _whole(vectors, order)
    names = [ids[row] for row in order]
    starts = STARTS if len(order) <= SMALL else 1
    tries = [_settle(whole, _spread(whole, names, count, seed + start)) for start in range(starts)]
    labels, centroids, _ = max(tries, key=lambda settled: settled[2])  # the first of equals
    groups = []
    for cluster in dict.fromkeys(labels.tolist()):
        members = np.flatnonzero(labels == cluster)
        if len(members) > 1:
            closeness = whole[members].astype(np.float32) @ centroids[cluster]
            groups.append([order[members[at]] for at in np.lexsort((members, -closeness))])
    return groups


def match(groups: Sequence[Group], previous: Mapping[str, Sequence[str]]) -> list[str]:
    """The key of each group: that of the previous cluster it continues, or a new one made from its anchors.

    `previous` maps the key of each recorded cluster to its anchors. A group continues the cluster of whose
    anchors it holds at least `MIN_SHARE`, each key once; the largest overlap goes first, then the most common
    anchors, then the smaller key. Groups matched against their own record get exactly their own keys.
    """
    home = {member: number for number, group in enumerate(groups) for member in group.members}
    candidates = []
    for key, anchors in previous.items():
        overlaps = Counter(home[anchor] for anchor in anchors if anchor in home)
        for number, overlap in overlaps.items():
            if overlap >= MIN_SHARE * len(anchors):
                common = len(set(anchors) & set(groups[number].anchors))
                candidates.append((-overlap, -common, key, groups[number].anchors, number))
    keys: dict[int, str] = {}
    for _, _, key, _, number in sorted(candidates):
        if number not in keys and key not in keys.values():
            keys[number] = key
    used = set(previous)
    for number in sorted(set(range(len(groups))) - set(keys), key=lambda number: groups[number].anchors):
        keys[number] = _mint(groups[number].anchors, used)
        used.add(keys[number])
    return [keys[number] for number in range(len(groups))]


def document_frequencies(texts: Sequence[str]) -> Counter[str]:
    """In how many of the texts each word occurs, as `label` counts words."""
    return _frequencies([_spellings(text) for text in texts])


def label(members: Sequence[str], frequencies: Mapping[str, int], total: int) -> str:
    """The words that most tell a cluster's texts from all `total` texts, joined by ", "; or "".

    Class-based tf-idf: the share of members that use a word, times the logarithm of how rare it is among all
    texts. A word of one member in a larger group says nothing about the group.
    """
    return _label([_spellings(text) for text in members], frequencies, total)


def build(
    ids: Sequence[str],
    vectors: NDArray[np.float32],
    texts: Sequence[str],
    previous: Mapping[str, Sequence[str]],
) -> list[Cluster]:
    """All clusters of the memories, sorted by key; the same for any order of the input."""
    rows = compute(ids, vectors)
    groups = [
        Group(tuple(sorted(ids[row] for row in group)), tuple(ids[row] for row in group[:ANCHORS])) for group in rows
    ]
    spellings = [_spellings(text) for text in texts]
    frequencies = _frequencies(spellings)
    clusters = [
        Cluster(
            key,
            _label([spellings[row] for row in group_rows], frequencies, len(texts)),
            group.members,
            group.anchors,
        )
        for key, group, group_rows in zip(match(groups, previous), groups, rows, strict=True)
    ]
    return sorted(clusters, key=lambda cluster: cluster.key)


def _settle(whole: _Whole, centroids: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float32], int]:
    """Labels and centroids once (nearly) no row changes its cluster, and the similarity within the clusters.

    A row alone counts nothing there, so that among several starts the one with the fewest strays is best.
    """
    count = len(centroids)
    labels = np.full(len(whole), -1, dtype=np.int64)
    for _ in range(MAX_PASSES):
        nearest, similarity = _nearest(whole, centroids)
        _fill_empty(nearest, similarity, count)
        moved = int(np.count_nonzero(nearest != labels))
        labels, centroids = nearest, _means(whole, nearest, count)
        if moved <= SETTLED * len(whole):
            break
    together = np.bincount(labels, minlength=count)[labels] > 1
    return labels, centroids, int(similarity[together].sum(dtype=np.float64))


def _order(ids: Sequence[str]) -> list[int]:
    return sorted(range(len(ids)), key=ids.__getitem__)


def _whole(vectors: NDArray[np.float32], order: Sequence[int]) -> _Whole:
    whole = np.empty(vectors.shape, dtype=np.int16)
    for start in range(0, len(order), CHUNK):
        whole[start : start + CHUNK] = np.rint(vectors[order[start : start + CHUNK]] * np.float32(SCALE))
    return whole


def _nearest(whole: _Whole, centroids: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    nearest = np.empty(len(whole), dtype=np.int64)
    similarity = np.empty(len(whole), dtype=np.float32)
    for start in range(0, len(whole), CHUNK):
        products = whole[start : start + CHUNK].astype(np.float32) @ centroids.T
        best = products.argmax(axis=1)  # the lowest index among equals
        nearest[start : start + CHUNK] = best
        similarity[start : start + CHUNK] = products[np.arange(len(best)), best]
    return nearest, similarity


def _spread(whole: _Whole, ids: Sequence[str], count: int, seed: int) -> NDArray[np.float32]:
    """Starting centroids by greedy k-means++, with the luck of each memory drawn from its id.

    Each step considers the `CANDIDATES` rows whose distance from the centroids so far, times a number made of
    seed and id, is largest, and takes the one that brings all rows nearest. So an added memory seldom changes
    the start, as it would if the luck were drawn from a row of numbers. On real memories this gave evener and
    tighter clusters than single draws, and than farthest-first, which starts from the outliers and leaves the
    rest in one heap.
    """
    salt = seed.to_bytes(8, "little", signed=True)
    draws = [hashlib.sha256(salt + name.encode("utf-8", "surrogatepass")).digest()[:3] for name in ids]
    luck = np.array([int.from_bytes(draw, "big") for draw in draws], dtype=np.float64)
    sample = np.sort(np.argsort(-luck, kind="stable")[:SAMPLE])
    luck, rows = luck[sample], whole[sample].astype(np.float32)
    # One large product: many small ones spend their time on waking threads.
    apart = np.maximum(SCALE * SCALE - rows @ rows.T, 0)
    centroids = np.empty((count, whole.shape[1]), dtype=np.float32)
    distance = np.full(len(rows), SCALE * SCALE, dtype=np.float64)
    for number in range(count):
        candidates = np.argsort(-distance * luck, kind="stable")[:CANDIDATES]
        distances = np.minimum(apart[:, candidates], distance[:, None])
        best = int(distances.sum(axis=0).argmin())
        centroids[number], distance = rows[candidates[best]], distances[:, best]
    return centroids


def _fill_empty(nearest: NDArray[np.int64], similarity: NDArray[np.float32], count: int) -> None:
    """Give each empty cluster the row that lies worst in a cluster of its own, so that none is lost."""
    sizes = np.bincount(nearest, minlength=count)
    for empty in np.flatnonzero(sizes == 0):
        free = sizes[nearest] > 1
        worst = int(np.argmin(np.where(free, similarity, np.inf)))
        sizes[nearest[worst]] -= 1
        nearest[worst], similarity[worst] = empty, np.inf
        sizes[empty] = 1


def _means(whole: _Whole, labels: NDArray[np.int64], count: int) -> NDArray[np.float32]:
    """The renormalised mean of each cluster, in whole numbers again; sums of whole numbers have no order."""
    by_label = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[by_label], np.arange(count + 1))
    centroids = np.zeros((count, whole.shape[1]), dtype=np.float32)
    for cluster in range(count):
        total = np.zeros(whole.shape[1], dtype=np.float64)
        rows = by_label[bounds[cluster] : bounds[cluster + 1]]
        for start in range(0, len(rows), CHUNK):
            total += whole[rows[start : start + CHUNK]].sum(axis=0, dtype=np.int64)
        length = math.sqrt(math.fsum((total * total).tolist()))
        if length > 0:
            centroids[cluster] = np.rint(total * (SCALE / length))
    return centroids


def _mint(anchors: Sequence[str], used: set[str]) -> str:
    """A key made of the nearest anchor's id, or of more of them where that is taken."""
    for count in range(1, len(anchors) + 1):
        key = _key("\n".join(anchors[:count]))
        if key not in used:
            return key
    number = 2
    while (key := _key("\n".join([*anchors, str(number)]))) in used:
        number += 1
    return key


def _key(content: str) -> str:
    return "c-" + hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:8]


_SPELLING = re.compile(r"[^\W\d_][^\W_]*(?:-[^\W_]+)*")
# A number, a hash, or a word joined with one, as in the pieces of a UUID; not `non-2xx` or `e2e`.
_HEX = re.compile(r"(?:.*-)?(?:(?=[a-f]*[0-9])[0-9a-f]{4,}|[0-9a-f]{8,})(?:-.*)?")


def _spellings(text: str) -> set[str]:
    return set(_SPELLING.findall(searchable(text[:LABEL_TEXT])))


@lru_cache(maxsize=65_536)
def _word(spelling: str) -> str:
    """The word that a spelling stands for in labels, "" for one that tells nothing.

    It is folded and without the ending of an English plural, so that `agent` and `Agents` are one word.
    Stopwords, single letters, hashes and encoded data are none.
    """
    word = spelling.casefold()
    if not 1 < len(word) < WORD_CAP or word in STOPWORDS or _HEX.fullmatch(word):
        return ""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _frequencies(texts: Sequence[set[str]]) -> Counter[str]:
    frequencies: Counter[str] = Counter()
    for spellings in texts:
        frequencies.update({_word(spelling) for spelling in spellings})
    return frequencies


def _label(members: Sequence[set[str]], frequencies: Mapping[str, int], total: int) -> str:
    spelled: dict[str, Counter[str]] = {}
    for spelling, count in Counter(spelling for spellings in members for spelling in spellings).items():
        if word := _word(spelling):
            spelled.setdefault(word, Counter())[spelling] = count
    holders = _frequencies(members)
    least = min(2, max((holders[word] for word in spelled), default=0))
    scored = sorted(
        # Rounded, because the last bit of a logarithm differs between C libraries.
        (-round(holders[word] / len(members) * math.log((1 + total) / frequencies.get(word, 1)), 9), word)
        for word in spelled
        if holders[word] >= least
    )
    return ", ".join(
        min(spelled[word].items(), key=lambda counted: (-counted[1], counted[0]))[0] for _, word in scored[:LABEL_WORDS]
    )
