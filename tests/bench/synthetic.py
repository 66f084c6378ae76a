"""Stores of any size for measuring: texts of made-up words, and vectors to match, without a model's cost."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memdb.base.embedding import Embedder, EmbedderStatus
from memdb.base.models import ModelCard

DIMS = 384
TOPICS = 64
"""Centres around which the vectors and words of a store lie."""

WORDS_PER_TEXT = 80
"""About 100 tokens of real text: a paragraph."""

RECORDS_PER_FILE = 500
SECTIONS_PER_FILE = 20
MARKDOWN_SHARE = 5
"""Every fifth chunk is a section of a Markdown file, the others are JSONL records."""

HUB = "Velkor Works"
"""A name that half of all chunks have: the hub of the entity graph."""

HUB_MEMORY = "reference/velkor-works"

SYLLABLES = ("ka", "lo", "mi", "ren", "ta", "vo", "su", "dal", "pe", "ni", "gor", "hy", "za", "bru", "fe", "ost")


def word(number: int) -> str:
    """A made-up word for a number."""
    letters = ""
    number += 16
    while number:
        letters = SYLLABLES[number % 16] + letters
        number //= 16
    return letters


def some_words(rng: random.Random, count: int = WORDS_PER_TEXT) -> list[str]:
    """Words by Zipf's law."""
    return [word(int(30_000 ** rng.random())) for _ in range(count)]


class SyntheticEmbedder(Embedder):
    """Stands in for an embedder: the topic named in a text gives the centre, its hash the distance from it.

    With the name of a `model` that this machine has, a store looks as if that model had embedded it, and commands that
    load the real one can be measured on a store of any size.
    """

    def __init__(self, model: Embedder | None = None) -> None:
        super().__init__()
        rng = np.random.default_rng(7)
        centres = rng.normal(size=(TOPICS, DIMS))
        self.centres = centres / np.linalg.norm(centres, axis=1, keepdims=True)
        known = None if model is None or model.status.state == "off" else model
        self._name = known.card if known else ModelCard("synthetic", DIMS, 0.2, 256, "", "", False, "made up", None)
        self._stamp = known.identity if known else "synthetic@1"
        self._questions: dict[str, NDArray[np.float32]] = {}

    @property
    def status(self) -> EmbedderStatus:
        return EmbedderStatus("ready", self._name.id, self._stamp, DIMS, None)

    @property
    def card(self) -> ModelCard:
        return self._name

    @property
    def identity(self) -> str:
        return self._stamp

    @property
    def window_tokens(self) -> int:
        return 254

    def vector(self, text: str) -> NDArray[np.float32]:
        """A unit vector of a text."""
        topic = next((int(part[5:]) for part in text.split() if part.startswith("topic") and part[5:].isdigit()), 0)
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        noise = np.random.default_rng(seed).normal(size=DIMS)
        mixed = self.centres[topic % TOPICS] + 0.8 * noise / np.linalg.norm(noise)
        return np.asarray(mixed / np.linalg.norm(mixed), dtype=np.float32)

    def embed_passages(self, texts: Sequence[str], progress: object = None) -> Iterator[NDArray[np.float32]]:
        for text in texts:
            yield self.vector(text)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        # Embedding a question is no part of what is measured.
        if text not in self._questions:
            self._questions[text] = self.vector(text)
        return self._questions[text]

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
        words = some_words(rng)
        links = " ".join(f"[[note-{rng.randrange(count)}]]" for _ in range(2))
        tags = ", ".join([f"t{topic}", f"area-{rng.randrange(200)}", "all" if number % 2 else "half"])
        text = f"---\nname: note-{number}\ndescription: about topic{topic} {words[0]}\ntags: [{tags}]\n---\n\n"
        text += f"topic{topic} {' '.join(words)}\n\nSee {links}.\n"
        write_text(root / kind / f"note-{number}.md", text)
        if number % max(1, count // 200) == 0:
            questions.append(f"what of topic{topic} {words[1]} {words[2]} and {words[3]}")
    return questions


def write_documents(folder: Path, chunks: int, memories: Path | None = None) -> list[str]:
    """Write JSONL and Markdown files that become `chunks` chunks and return questions about some of them.

    Half of the texts name the hub, which is a memory under `memories`.
    """
    rng = random.Random(13)
    questions: list[str] = []
    records: list[str] = []
    sections: list[str] = []
    files = 0

    def flush(kept: list[str], name: str) -> None:
        nonlocal files
        if kept:
            write_text(folder / f"part-{files // 100}" / f"{files}-{name}", "".join(kept))
            files += 1
            kept.clear()

    for number in range(chunks):
        topic, words = rng.randrange(TOPICS), some_words(rng)
        place = rng.randrange(len(words))
        named = [*words[:place], HUB, *words[place:]] if number % 2 else words
        text = f"topic{topic} {' '.join(named)}."
        title = f"{words[0]} {words[1]} {number}"
        if number % MARKDOWN_SHARE:
            records.append(json.dumps({"id": f"r{number}", "title": title, "text": text}) + "\n")
        else:
            sections.append(f"## {title}\n\n{text}\n\n")
        if len(records) == RECORDS_PER_FILE:
            flush(records, "records.jsonl")
        if len(sections) == SECTIONS_PER_FILE:
            flush(sections, "sections.md")
        if number % max(1, chunks // 200) == 0:
            about = HUB if number % 3 == 0 else words[4]
            questions.append(f"what of topic{topic} {words[1]} {words[2]} and {words[3]} at {about}")
    flush(records, "records.jsonl")
    flush(sections, "sections.md")
    if memories is not None:
        head = f"---\nname: {HUB}\ndescription: where half of it happens\n---\n"
        write_text(memories / f"{HUB_MEMORY}.md", f"{head}\nThe makers.\n")
    return questions


def write_notes(folder: Path, count: int) -> None:
    """Write `count` short text files, 100 in a folder."""
    rng = random.Random(17)
    for number in range(count):
        text = f"topic{rng.randrange(TOPICS)} {' '.join(some_words(rng))}.\n"
        write_text(folder / f"shelf-{number // 100}" / f"note-{number}.txt", text)


def write_text(file: Path, text: str) -> None:
    """Write a file and the folders that it is in."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="\n")


PLACES = ("Lisbon", "the old harbour", "the north office", "a farm near Graz", "the third floor", "Montreal")
PEOPLE = ("Ines", "Tomasz", "the night shift", "her brother", "our landlord", "Dr. Okafor", "the new engineer")
DEEDS = (
    "moved the staging database to a larger machine and left the old one running for a week",
    "asked for the budget of the second quarter before the board meets again",
    "baked the lemon cake twice because the first one sank in the middle",
    "wrote down how to restart the queue when the disk fills up overnight",
    "found that the backup had failed for nine days without anyone being told",
    "planted beans along the fence and complained about the snails until autumn",
    "replaced the certificate by hand, then made a script of it for next year",
    "cancelled the train, took the ferry and arrived a day late with all the luggage",
)
OUTCOMES = (
    "nobody noticed until Thursday",
    "the report was rewritten from the notes",
    "it has worked ever since",
    "we agreed to look at it again in spring",
    "the bill was split between three people",
    "the logs still show a warning now and then",
)


def passage(number: int) -> str:
    """A paragraph of plain English, about 90 to 150 tokens, no two alike."""
    rng = random.Random(number)
    sentences = [
        f"On day {rng.randrange(1, 365)}, in {rng.choice(PLACES)}, {rng.choice(PEOPLE)} {rng.choice(DEEDS)};"
        f" {rng.choice(OUTCOMES)}."
        for _ in range(rng.randrange(3, 6))
    ]
    return f"Note {number}. {' '.join(sentences)}"
