"""Texts to unit vectors, by a model that loads on the first use and stays off once it proved unusable.

Every text goes through the model alone (batch size 1). Measured on two cores with texts of about 100 tokens:
37 texts/s alone, 38 sorted by length in fours, 18 unsorted in fours, 10 unsorted in sixteens, because of
padding. Memory stays flat this way, and no vector can depend on its neighbours.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from weakref import WeakValueDictionary

from memdb.base import model_files, models
from memdb.base.models import ModelCard
from memdb.base.windows import Span
from memdb.errors import ModelUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

# The third failure in a row is no accident; until then a full disk or a short memory may pass.
FAILURES_UNTIL_OFF = 3

# A window is full long before it holds this many characters per token; a longer text is cut before it is
# read, so that a pasted megabyte costs what a page costs.
MAX_CHARACTERS_PER_TOKEN = 16

# Two sentences that say one thing and one that says another.
_CHECK_TEXTS = (
    "The staging database moved to a new host.",
    "We migrated the test database to another server.",
    "Grandmother's lemon cake needs four eggs.",
)

# Their cosines (first with second, first with third) as measured; with the pooling of another model the same
# weights give 0.81 and 0.47. Processors round int8 products differently, by far less than the tolerance.
_KNOWN_COSINES = {models.BUNDLED: (0.708, 0.006)}
_COSINE_TOLERANCE = 0.1

# Of other models only this is known: the related pair stands out.
_LEAST_MARGIN = 0.15

Progress = Callable[[int, int], None]
Encoder = Callable[[str], "NDArray[Any]"]
Loader = Callable[[ModelCard, Path], Encoder]


@dataclass(frozen=True, slots=True)
class EmbedderStatus:
    """What an embedder can do; `reason` says why it is off, `dims` is None until read from the model."""

    state: Literal["ready", "not loaded", "off"]
    model: str | None
    identity: str | None
    dims: int | None
    reason: str | None


class _Off(NamedTuple):
    """Why an embedder stays off, in the words of the error that every call raises from then on."""

    message: str
    hint: str | None

    def error(self) -> ModelUnavailable:
        return ModelUnavailable(self.message, hint=self.hint)


class Embedder:
    """One model of one store. Creating it loads nothing; the first text to embed does.

    A missing runtime and missing or wrong files switch it off at once, three other failures in a row as well;
    then every call raises ModelUnavailable with the reason, without trying again.
    """

    def __init__(self, model_id: str | None = None, *, enabled: bool = True, load: Loader | None = None) -> None:
        """`model_id` None means the default model of this machine; `load` replaces fastembed."""
        self._wanted = model_id
        self._load: Loader = load or _load_fastembed
        self._needs_fastembed = load is None
        self._lock = threading.RLock()
        self._off = None if enabled else _Off("Embeddings are switched off.", "Unset MEMDB_EMBEDDER to use them.")
        self._failures = 0
        self._card: ModelCard | None = None
        self._folder: Path | None = None
        self._identity: str | None = None
        self._encoder: Encoder | None = None
        self._dims: int | None = None
        self._tokens: Any = None

    @property
    def status(self) -> EmbedderStatus:
        """The state, the model and, once it was read from the model, the width; loads no model."""
        reason = self._off.message if self._off else None
        if reason is None:
            try:
                self._resolve()
            except ModelUnavailable as unavailable:
                reason = unavailable.message
        model = self._card.id if self._card else self._wanted
        state: Literal["ready", "not loaded", "off"] = "ready" if self._encoder else "not loaded"
        if reason is not None:
            state = "off"
        dims = self._dims
        if dims is None and self._identity is not None:
            dims = models.proven_dims(self._identity)
        return EmbedderStatus(state, model, self._identity, dims, reason)

    @property
    def card(self) -> ModelCard:
        """The card of the model in use. Raises ModelUnavailable when there is none."""
        return self._resolve()[0]

    @property
    def identity(self) -> str:
        """The model and its weights, as stamped into a store. Raises ModelUnavailable when there is none."""
        self._resolve()
        assert self._identity is not None
        return self._identity

    @property
    def window_tokens(self) -> int:
        """How many tokens of a passage the model reads, without its own special tokens and prefix."""
        tokenizer = self._tokenizer()
        card = self.card
        special: int = tokenizer.num_special_tokens_to_add(False)
        prefix = len(tokenizer.encode(card.passage_prefix, add_special_tokens=False).ids)
        return max(1, card.max_tokens - special - prefix)

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Iterator[Vector]:
        """The vectors of stored texts, float32 of shape (dims,) and unit length, one by one in their order.

        Of each text only the first `window_tokens` count: cut longer ones with `memdb.base.windows` before.
        `progress` is called with the number done and the number in all. Raises ModelUnavailable.
        """
        for done, text in enumerate(texts, start=1):
            yield self._embed(text, of_query=False)
            if progress is not None:
                progress(done, len(texts))

    def embed_query(self, text: str) -> Vector:
        """The vector of a question, float32 of shape (dims,) and unit length, read up to the model's window.

        Raises ModelUnavailable.
        """
        return self._embed(text, of_query=True)

    def count_tokens(self, text: str) -> int:
        """The number of tokens of a text, without special tokens. Loads the tokenizer, not the model."""
        return len(self.token_offsets(text))

    def token_offsets(self, text: str) -> list[Span]:
        """The (start, end) of each token in characters, without special tokens. Loads the tokenizer only.

        Raises ModelUnavailable when the tokenizer's files or library are missing.
        """
        offsets: list[Span] = self._tokenizer().encode(_encodable(text), add_special_tokens=False).offsets
        return offsets

    def _resolve(self) -> tuple[ModelCard, Path]:
        """Which model this is and where it lies, found once and cheaply: asking for the status needs it."""
        with self._lock:
            if self._card is None or self._folder is None:
                if self._needs_fastembed and importlib.util.find_spec("fastembed") is None:
                    raise ModelUnavailable("fastembed is not installed.", hint=model_files.INSTALL_HINT)
                model_id = self._wanted or models.default_model()
                if model_id is None:
                    raise ModelUnavailable(
                        "There is no embedding model on this machine.", hint=model_files.INSTALL_HINT
                    )
                card = models.card(model_id)
                try:
                    folder = models.locate(card.id)
                    if folder is None:
                        raise models.missing(card)
                    self._identity = models.identity(card.id)
                except OSError as error:
                    raise ModelUnavailable(
                        f"The files of {card.id} cannot be read: {error}",
                        hint="`memdb model path` says where they are.",
                    ) from error
                self._card, self._folder = card, folder
            return self._card, self._folder

    def _tokenizer(self) -> Any:
        with self._lock:
            if self._tokens is None:
                _, folder = self._resolve()
                self._tokens = _load_tokenizer(folder)
            return self._tokens

    def _embed(self, text: str, *, of_query: bool) -> Vector:
        if self._off is not None:
            raise self._off.error()
        try:
            encoder = self._ready()
            card, _ = self._resolve()
            prefix = card.query_prefix if of_query else card.passage_prefix
            limit = card.max_tokens * MAX_CHARACTERS_PER_TOKEN
            vector = self._checked(encoder(prefix + _encodable(text.strip()[:limit])))
        except ModelUnavailable as error:
            self._off = _Off(error.message, error.hint)
            raise
        except ImportError as error:
            self._off = _Off(f"The model runtime is missing: {error}", model_files.INSTALL_HINT)
            raise self._off.error() from error
        except Exception as error:  # the runtime's own errors derive from nothing narrower
            raise self._failed(error) from error
        self._failures = 0
        return vector

    def _failed(self, error: Exception) -> ModelUnavailable:
        """Count one failure that may pass; the third in a row switches the embedder off."""
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        with self._lock:
            self._failures += 1
            message = f"The embedding model failed: {reason}"
            if self._failures < FAILURES_UNTIL_OFF:
                return ModelUnavailable(message, hint="It is tried again on the next call.")
            self._off = _Off(
                f"{message} ({self._failures} times in a row; off until the program restarts)",
                "`memdb doctor` checks the model; `memdb model list` names others.",
            )
            return self._off.error()

    def _ready(self) -> Encoder:
        with self._lock:
            if self._encoder is None:
                card, folder = self._resolve()
                encoder = self._load(card, folder)
                self._prove(encoder)
                self._encoder = encoder
            return self._encoder

    def _prove(self, encoder: Encoder) -> None:
        """One known similarity, the first time that these weights run on this machine."""
        assert self._identity is not None
        if models.proven_dims(self._identity) is not None:
            return
        one, same, other = (self._checked(encoder(text)) for text in _CHECK_TEXTS)
        expected = self.card.dims
        if expected is not None and len(one) != expected:
            raise ModelUnavailable(
                f"{self._identity} gives {len(one)} dimensions instead of {expected}: it is another model.",
                hint="Reinstall or pull the model again, or choose another: memdb model list",
            )
        cosines = float(one @ same), float(one @ other)
        known = _KNOWN_COSINES.get(self.card.id, cosines)
        off_by = max(abs(is_now - should_be) for is_now, should_be in zip(cosines, known, strict=True))
        if cosines[0] - cosines[1] < _LEAST_MARGIN or off_by > _COSINE_TOLERANCE:
            raise ModelUnavailable(
                f"{self._identity} cannot tell related texts from unrelated ones: its files are wrong.",
                hint="Reinstall or pull the model again, or choose another: memdb model list",
            )
        models.mark_proven(self._identity, len(one))

    def _checked(self, raw: NDArray[Any]) -> Vector:
        """The vector in float32 and unit length. Raises ValueError for what no text can have."""
        import numpy as np

        vector = np.asarray(raw, dtype=np.float32)
        if vector.ndim != 1 or (self._dims is not None and len(vector) != self._dims):
            raise ValueError(f"the model gave a vector of shape {vector.shape} instead of ({self._dims},)")
        norm = float(np.linalg.norm(vector.astype(np.float64)))
        if not np.isfinite(norm) or norm == 0.0:
            raise ValueError(f"the model gave a vector of length {norm}")
        self._dims = len(vector)
        return vector / np.float32(norm)


class _FastembedEncoder:
    """A loaded model; processes that open many stores share one."""

    def __init__(self, card: ModelCard, folder: Path) -> None:
        _quiet_environment()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import loguru
            from fastembed import TextEmbedding

            # A library's messages do not belong on the user's terminal; what goes wrong raises an error.
            loguru.logger.disable("fastembed")
            onnxruntime = importlib.import_module("onnxruntime")
            onnxruntime.set_default_logger_severity(_ONNX_FATAL)
            onnxruntime.disable_telemetry_events()
            # The CPU is named so that one text has one vector, whatever else is in the machine.
            self._model = TextEmbedding(
                card.id,
                cache_dir=str(folder),  # created when absent, else a folder in the system's temp folder would be
                providers=["CPUExecutionProvider"],
                specific_model_path=str(folder),
                local_files_only=True,
            )

    def __call__(self, text: str) -> NDArray[Any]:
        return next(iter(self._model.embed([text], batch_size=1)))


_ONNX_FATAL = 4
_shared: WeakValueDictionary[tuple[str, Path], _FastembedEncoder] = WeakValueDictionary()
_shared_lock = threading.Lock()


def _load_fastembed(card: ModelCard, folder: Path) -> Encoder:
    with _shared_lock:
        encoder = _shared.get((card.id, folder))
        if encoder is None:
            encoder = _FastembedEncoder(card, folder)
            _shared[card.id, folder] = encoder
        return encoder


def _load_tokenizer(folder: Path) -> Any:
    """The tokenizer of the model, without its padding and truncation, which belong to batches."""
    _quiet_environment()
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise ModelUnavailable("tokenizers is not installed.", hint=model_files.INSTALL_HINT) from error
    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # the library raises plain Exception for a missing and for a damaged file
        raise ModelUnavailable(
            f"The tokenizer cannot be read: {error}",
            hint="Pull or reinstall the model again.",
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _quiet_environment() -> None:
    """Settings that the model's libraries read from the environment as they load; those of the user stay."""
    # onnxruntime's official builds (1.32 on Linux and macOS) send events to their makers and leave an
    # identifier in the temporary folder, unless this is set before the import.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("ORT_TELEMETRY_DISABLED", "1")
    # Otherwise tokenizers warns on stderr whenever the program forks after the first text.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def _encodable(text: str) -> str:
    """The text with lone surrogates as `?`, one character for one, so that offsets stay right."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
