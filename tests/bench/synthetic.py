"""Stores of any size for measuring: memories of made-up words, and vectors to match, without a model's cost."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memdb.base.embedding import EmbedderStatus
from memdb.base.models import ModelCard

DIMS = 384
TOPICS = 64
"""Centres around which the vectors and words of a store lie."""

SYLLABLES = ("ka", "lo", "mi", "ren", "ta", "vo", "su", "dal", "pe", "ni", "gor", "hy", "za", "bru", "fe", "ost")


def word(number: int) -> str:
    """A made-up word for a number."""
    letters = ""
    number += 16
    while number:
        letters = SYLLABLES[number % 16] + letters
        number //= 16
    return letters


class SyntheticEmbedder:
    """Stands in for an embedder: the topic named in a text gives the centre, its hash the distance from it."""

    def __init__(self) -> None:
        rng = np.random.default_rng(7)
        centres = rng.normal(size=(TOPICS, DIMS))
        self.centres = centres / np.linalg.norm(centres, axis=1, keepdims=True)
        self.card = ModelCard("synthetic", DIMS, 0.2, 256, "", "", False, "made up for measuring", None)
        self.identity = "synthetic@1"
        self.status = EmbedderStatus("ready", "synthetic", self.identity, DIMS, None)
        self.window_tokens = 254

    def vector(self, text: str) -> NDArray[np.float32]:
        """A unit vector of a text."""
        topic = next((int(part[5:]) for part in text.split() if part.startswith("topic") and part[5:].isdigit()), 0)
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        noise = np.random.default_rng(seed).normal(size=DIMS)
        mixed = self.centres[topic % TOPICS] + 0.8 * noise / np.linalg.norm(noise)
        return (mixed / np.linalg.norm(mixed)).astype(np.float32)

    def embed_passages(self, texts: Sequence[str], progress: object = None) -> Iterator[NDArray[np.float32]]:
        for text in texts:
            yield self.vector(text)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self.vector(text)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        spans, start = [], 0
        for part in text.split(" "):
            spans.append((start, start + len(part)))
            start += len(part) + 1
        return spans

    def count_tokens(self, text: str) -> int:
        return len(self.token_offsets(text))


def write_memories(root: Path, count: int) -> list[str]:
    """Write `count` files (about 80 words, three tags, two links each) and return questions about some of them."""
    rng = random.Random(11)
    questions = []
    types = ("user", "feedback", "project", "reference", "episode")
    for number in range(count):
        topic = rng.randrange(TOPICS)
        kind = types[number % len(types)]
        words = [word(int(30_000 ** rng.random())) for _ in range(80)]  # by Zipf's law
        links = " ".join(f"[[note-{rng.randrange(count)}]]" for _ in range(2))
        tags = ", ".join([f"t{topic}", f"area-{rng.randrange(200)}", "all" if number % 2 else "half"])
        text = f"---\nname: note-{number}\ndescription: about topic{topic} {words[0]}\ntags: [{tags}]\n---\n\n"
        text += f"topic{topic} {' '.join(words)}\n\nSee {links}.\n"
        file = root / kind / f"note-{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
        if number % max(1, count // 200) == 0:
            questions.append(f"what of topic{topic} {words[1]} {words[2]} and {words[3]}")
    return questions
