"""A cross encoder that reads question and text together and says how well one answers the other.

Slower than comparing vectors and more exact; it orders the few answers that were found. Nothing is loaded before the
first use, and nothing is fetched: `memdb model pull` does that.
"""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from memdb.base import model_files, models
from memdb.errors import ModelUnavailable

Scorer = Callable[[str, Sequence[str]], Sequence[float]]
"""Gives for a question and texts one number each, in logits: positive where the text answers the question."""

LONGEST_TEXT = 4_000
"""Characters of a text that are read: such models see 512 tokens."""

_ONNX_FATAL = 4


class Reranker:
    """A cross encoder by its id; off for good once its files or its runtime turned out to be missing."""

    def __init__(self, model: str, load: Callable[[str], Scorer] | None = None) -> None:
        self.model = model
        self._load = load or _load_fastembed
        self._scorer: Scorer | None = None
        self._off: tuple[str, str | None] | None = None

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """For each text, 0 to 1, how well it answers the question. Raises ModelUnavailable."""
        if self._off is not None:
            raise ModelUnavailable(self._off[0], hint=self._off[1])
        try:
            if self._scorer is None:
                self._scorer = self._load(self.model)
        except ModelUnavailable as error:
            self._off = error.message, error.hint
            raise
        try:
            logits = list(self._scorer(question, [text[:LONGEST_TEXT] for text in texts]))
        except Exception as error:  # the runtime's own errors derive from nothing narrower
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            raise ModelUnavailable(
                f"The reranker failed: {reason}", hint="It is tried again on the next call."
            ) from error
        if len(logits) != len(texts) or not all(math.isfinite(one) for one in logits):
            raise ModelUnavailable(f"The reranker gave {len(logits)} numbers for {len(texts)} texts, or none.")
        return [0.5 + 0.5 * math.tanh(one / 2) for one in logits]


def _load_fastembed(model: str) -> Scorer:
    card = models.card(model)
    folder = models.locate(card.id)
    if folder is None:
        raise models.missing(card)
    return _loaded(card.id, folder)


def _loaded(model: str, folder: Path) -> Scorer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import loguru  # noqa: PLC0415 (slow)
            from fastembed.rerank.cross_encoder import TextCrossEncoder  # noqa: PLC0415

            onnxruntime = importlib.import_module("onnxruntime")
        except ImportError as error:
            raise ModelUnavailable(f"The model runtime is missing: {error}", hint=model_files.INSTALL_HINT) from error
        loguru.logger.disable("fastembed")
        onnxruntime.set_default_logger_severity(_ONNX_FATAL)
        try:
            encoder = TextCrossEncoder(
                model,
                cache_dir=str(folder),
                providers=["CPUExecutionProvider"],
                specific_model_path=str(folder),
                local_files_only=True,
            )
        except Exception as error:  # the libraries' own errors derive from nothing narrower
            raise ModelUnavailable(
                f"{model} cannot be used as a reranker: {error}", hint="Choose a cross encoder that fastembed knows."
            ) from error
    return lambda question, texts: [float(one) for one in encoder.rerank(question, list(texts))]
