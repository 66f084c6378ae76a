"""A stand-in for the embedder: fast, deterministic, and as good as a bag of words."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memdb.base.embedding import Embedder, EmbedderStatus
from memdb.base.models import ModelCard
from memdb.base.windows import Span
from memdb.errors import ModelUnavailable

Vector = NDArray[np.float32]


class FakeEmbedder(Embedder):
    """Each word has a direction of its own; `meanings` gives words of one meaning the same one.

    `read` has every text that was embedded, in order; after `fail_after` of them it fails.
    """

    def __init__(
        self,
        identity: str = "fake/words@1",
        *,
        dims: int = 512,
        floor: float = 0.25,
        window: int = 64,
        meanings: Mapping[str, str] | None = None,
        fail_after: int | None = None,
        off: str | None = None,
    ) -> None:
        super().__init__("fake/words")
        self._fake_card = ModelCard("fake/words", dims, floor, window, "", "", False, "a bag of words", None)
        self._fake_identity = identity
        self._fake_dims = dims
        self.meanings = dict(meanings or {})
        self.fail_after = fail_after
        self.off = off
        self.read: list[str] = []
        self._directions: dict[str, NDArray[np.float64]] = {}

    @property
    def status(self) -> EmbedderStatus:
        state = "off" if self.off else "ready"
        return EmbedderStatus(state, "fake/words", self._fake_identity, self._fake_dims, self.off)

    @property
    def card(self) -> ModelCard:
        return self._fake_card

    @property
    def identity(self) -> str:
        return self._fake_identity

    @property
    def window_tokens(self) -> int:
        return self._fake_card.max_tokens

    def embed_passages(self, texts: Sequence[str], progress: object = None) -> Iterator[Vector]:
        for text in texts:
            if self.fail_after is not None and len(self.read) >= self.fail_after:
                raise ModelUnavailable("The embedding model failed: out of memory")
            vector = self._vector(text)
            self.read.append(text)
            yield vector

    def embed_query(self, text: str) -> Vector:
        return self._vector(text)

    def count_tokens(self, text: str) -> int:
        return len(self.token_offsets(text))

    def token_offsets(self, text: str) -> list[Span]:
        return [(match.start(), match.end()) for match in re.finditer(r"\w+|[^\w\s]", text)]

    def _vector(self, text: str) -> Vector:
        if self.off:
            raise ModelUnavailable(self.off)
        words = re.findall(r"\w+", text.casefold())[: self._fake_card.max_tokens]
        vector = np.zeros(self._fake_dims, dtype=np.float64)
        for word in words:
            vector += self._direction(self.meanings.get(word, word))
        length = float(np.linalg.norm(vector))
        if length == 0:
            vector[0] = length = 1.0
        return (vector / length).astype(np.float32)

    def _direction(self, meaning: str) -> NDArray[np.float64]:
        if meaning not in self._directions:
            seed = hashlib.sha256(f"{self._fake_identity} {meaning}".encode("utf-8", "replace")).digest()
            self._directions[meaning] = np.random.default_rng(list(seed)).standard_normal(self._fake_dims)
        return self._directions[meaning]
