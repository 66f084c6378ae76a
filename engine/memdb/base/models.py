"""Which embedding models there are, and which of them can be used on this machine.

Nothing here loads a model, and only `pull` uses the network.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from memdb.base import model_files
from memdb.base.model_files import INSTALL_HINT
from memdb.errors import ModelUnavailable

BUNDLED = "sentence-transformers/all-MiniLM-L6-v2"
PREFERRED = "BAAI/bge-small-en-v1.5"

# Passages longer than this are poor evidence for one question, however much a model can read.
LONGEST_PASSAGE_TOKENS = 512

# A hub that answers does so in well under a second; name resolution alone may block for longer than any
# timeout of the request, so the limit is kept from outside.
HUB_WAIT_SECONDS = 4.0

DIGITS_IN_IDENTITY = 12

# (bytes so far, bytes in all or 0 when unknown)
Progress = Callable[[int, int], None]

_OPTIONAL_FILES = ("config.json", "special_tokens_map.json")


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What memdb has to know of a model: `floor` is the least cosine of a seed, `size_mb` the download.

    `answer_floor` is the least cosine of the nearest of many texts that answers a question.
    """

    id: str
    dims: int | None
    floor: float
    max_tokens: int
    query_prefix: str
    passage_prefix: str
    bundled: bool
    description: str
    size_mb: float | None
    floor_measured: bool = False

    @property
    def answer_floor(self) -> float:
        """`ANSWER_MARGIN` above the floor; none where no floor is known."""
        return self.floor and self.floor + ANSWER_MARGIN * (1 - self.floor)


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a hub keeps the model: repository, the ONNX file in it, and files beside that."""

    repository: str | None
    model_file: str
    more_files: tuple[str, ...] = ()

    def local_folder(self) -> Path | None:
        """The folder in a hub cache that holds all of it, if one does."""
        if self.repository is None:
            return None
        needed = (self.model_file, *self.more_files, *model_files.TOKENIZER_FILES)
        return model_files.hub_folder(self.repository, needed)


class _Listed(NamedTuple):
    card: ModelCard
    source: _Source


# Measured on 40 short memories with one question each and 20 questions about nothing in them. The cosine of a
# question and its memory: least 0.165, 5 % quantile 0.20, median 0.52. The best memory for an unanswerable
# question: median 0.17, at most 0.30. This floor loses 1 answer of 40 (0.15: none, 0.20: 2, 0.25: 4) and
# leaves 11 of the 20 without a seed (0.15: 6, 0.20: 16, 0.25: 18). In 150 questions over long chats (median
# 0.49) a floor of 0.15 loses 2 % and one of 0.20 loses 4 % of the answering turns; of claims and the
# abstracts that prove them 5 % lie below 0.32 (median 0.59).
MINILM_FLOOR = 0.18

# Of what lies between the floor and 1. Measured with MiniLM, whose floor it raises to 0.34: of 50 questions to each of
# three stores (chat turns, abstracts, passages; 419 to 10,368 texts) none has its nearest text below 0.35 while no text
# holds half of its words; of 50 questions about other things 98, 94 and 54 % do.
ANSWER_MARGIN = 0.2

# Not measured here. The model is trained at a temperature of 0.01, which crowds its cosines together: by
# published experience unrelated English pairs lie around 0.4 to 0.6 and related ones above.
BGE_FLOOR = 0.45

_BGE_QUERY = "Represent this sentence for searching relevant passages: "


def _listed(
    id: str,
    description: str,
    source: _Source,
    *,
    dims: int | None,
    floor: float,
    max_tokens: int,
    size_mb: float | None,
    query_prefix: str = "",
    passage_prefix: str = "",
    floor_measured: bool = False,
) -> _Listed:
    note = "" if floor_measured else " Its seed floor is an estimate, not measured."
    card = ModelCard(
        id=id,
        dims=dims,
        floor=floor,
        max_tokens=max_tokens,
        query_prefix=query_prefix,
        passage_prefix=passage_prefix,
        bundled=id == BUNDLED,
        description=description + note,
        size_mb=size_mb,
        floor_measured=floor_measured,
    )
    return _Listed(card, source)


# Widths, sizes, windows, files and repositories are fastembed's; prefixes are those of the models' authors.
_CATALOGUE = {
    listed.card.id: listed
    for listed in (
        _listed(
            BUNDLED,
            "English. Small and fast; installed with the extra `local`.",
            _Source("Qdrant/all-MiniLM-L6-v2-onnx", "model.onnx"),
            dims=384,
            floor=MINILM_FLOOR,
            max_tokens=256,
            size_mb=23,
            floor_measured=True,
        ),
        _listed(
            PREFERRED,
            "English. Finds more than MiniLM and is slower.",
            _Source("Qdrant/bge-small-en-v1.5-onnx-Q", "model_optimized.onnx"),
            dims=384,
            floor=BGE_FLOOR,
            max_tokens=512,
            size_mb=67,
            query_prefix=_BGE_QUERY,
        ),
        _listed(
            "BAAI/bge-base-en-v1.5",
            "English. Twice as wide as bge-small, a little better.",
            _Source("Qdrant/bge-base-en-v1.5-onnx-Q", "model_optimized.onnx"),
            dims=768,
            floor=BGE_FLOOR,
            max_tokens=512,
            size_mb=210,
            query_prefix=_BGE_QUERY,
        ),
        _listed(
            "snowflake/snowflake-arctic-embed-s",
            "English. Trained for retrieval.",
            _Source("Snowflake/snowflake-arctic-embed-s", "onnx/model.onnx"),
            dims=384,
            floor=0.2,
            max_tokens=512,
            size_mb=130,
            query_prefix=_BGE_QUERY,
        ),
        _listed(
            "nomic-ai/nomic-embed-text-v1.5-Q",
            "English. Trained for retrieval.",
            _Source("nomic-ai/nomic-embed-text-v1.5", "onnx/model_quantized.onnx"),
            dims=768,
            floor=0.45,
            max_tokens=512,
            size_mb=130,
            query_prefix="search_query: ",
            passage_prefix="search_document: ",
        ),
        _listed(
            "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
            "About 50 languages. For sentences rather than long passages.",
            _Source("Qdrant/paraphrase-multilingual-MiniLM-L12-v2-onnx-Q", "model_optimized.onnx"),
            dims=384,
            floor=0.2,
            max_tokens=128,
            size_mb=220,
        ),
        _listed(
            "intfloat/multilingual-e5-large",
            "About 100 languages. Large and slow.",
            _Source("Qdrant/multilingual-e5-large-onnx", "model.onnx", ("model.onnx_data",)),
            dims=1024,
            floor=0.75,
            max_tokens=512,
            size_mb=2240,
            query_prefix="query: ",
            passage_prefix="passage: ",
        ),
    )
}

# A model outside the catalogue has no floor that anyone knows: every candidate may be a seed.
UNKNOWN_FLOOR = 0.0


def catalogue() -> list[ModelCard]:
    """The models that memdb knows by itself, the bundled one first."""
    return [listed.card for listed in _CATALOGUE.values()]


def card(model_id: str) -> ModelCard:
    """The card of a model, by its id in any case or by the part of it after the slash.

    Models outside the catalogue are looked up in fastembed, once per machine. Raises ModelUnavailable for an
    id that neither knows.
    """
    return _describe(model_id).card


def default_model() -> str | None:
    """The model to use when nobody chose: bge-small where it was pulled, else the bundled one, else None."""
    if _CATALOGUE[PREFERRED].source.local_folder() is not None:
        return PREFERRED
    if model_files.bundled_installed() or _CATALOGUE[BUNDLED].source.local_folder() is not None:
        return BUNDLED
    return None


def locate(model_id: str) -> Path | None:
    """The folder with the files of a model when they are on this machine, else None; never the network.

    The first call lays the bundled model out in the cache folder. Raises ModelUnavailable for an unknown id
    and for installed files that are not the expected ones.
    """
    listed = _describe(model_id)
    if listed.card.id == BUNDLED and model_files.bundled_installed():
        return model_files.bundled_folder()
    return listed.source.local_folder()


def missing(wanted: ModelCard) -> ModelUnavailable:
    """The error that says how to get the files of this model."""
    hint = INSTALL_HINT if wanted.bundled else f"Fetch it once while online: memdb model pull {wanted.id}"
    return ModelUnavailable(f"The files of {wanted.id} are not on this machine.", hint=hint)


def identity(model_id: str) -> str:
    """The model with its weights, `id@` and 12 hex digits of the ONNX file's sha256, as stamped into a store.

    Where the weights lie beside the ONNX file, the sha256 is over the checksums of all of them. Raises
    ModelUnavailable when the files are not on this machine.
    """
    listed = _describe(model_id)
    folder = locate(listed.card.id)
    if folder is None:
        raise missing(listed.card)
    names = (listed.source.model_file, *listed.source.more_files)
    checksums = [model_files.checksum(folder / name) for name in names]
    weights = checksums[0] if len(checksums) == 1 else sha256("".join(checksums).encode("ascii")).hexdigest()
    return f"{listed.card.id}@{weights[:DIGITS_IN_IDENTITY]}"


def proven_dims(model_identity: str) -> int | None:
    """The width read from the model when it passed its check on this machine; None before that."""
    dims = model_files.remembered("proven").get(model_identity)
    return dims if isinstance(dims, int) else None


def mark_proven(model_identity: str, dims: int) -> None:
    """Remember that this model, with these weights, gave the similarities that it should, in this width."""
    model_files.remember("proven", model_identity, dims)


# Descriptions


def _describe(model_id: str) -> _Listed:
    wanted = model_id.strip().casefold()
    for listed in _CATALOGUE.values():
        known = listed.card.id.casefold()
        if wanted in (known, known.rpartition("/")[2]):
            return listed
    remembered = model_files.remembered("cards").get(wanted)
    if remembered:
        with suppress(TypeError, KeyError):
            source = remembered["source"]
            return _Listed(
                ModelCard(**remembered["card"]),
                _Source(source["repository"], source["model_file"], tuple(source["more_files"])),
            )
    return _ask_fastembed(model_id)


def _ask_fastembed(model_id: str) -> _Listed:
    hint = "`memdb model list` names the models to choose from."
    wanted = model_id.strip().casefold()
    try:
        from fastembed import TextEmbedding  # noqa: PLC0415 (slow: only for a model outside the catalogue)
    except ImportError as error:
        raise ModelUnavailable(f"{model_id} is not a model that memdb knows.", hint=INSTALL_HINT) from error
    from fastembed.rerank.cross_encoder import TextCrossEncoder  # noqa: PLC0415

    for described in (*TextEmbedding.list_supported_models(), *TextCrossEncoder.list_supported_models()):
        if described["model"].casefold() == wanted:
            found = _from_fastembed(described)
            model_files.remember("cards", wanted, {"card": asdict(found.card), "source": asdict(found.source)})
            return found
    raise ModelUnavailable(f"{model_id} is not a model that memdb or fastembed knows.", hint=hint)


def _from_fastembed(described: dict[str, Any]) -> _Listed:
    size = described.get("size_in_GB")
    window = re.search(r"(\d+) input tokens", described["description"])
    tokens = int(window[1]) if window else LONGEST_PASSAGE_TOKENS
    return _listed(
        described["model"],
        described["description"].rstrip(". ") + ".",
        _Source(
            described["sources"].get("hf"),
            described["model_file"],
            tuple(described.get("additional_files") or ()),
        ),
        dims=described.get("dim"),  # a reranker gives no vectors
        floor=UNKNOWN_FLOOR,
        max_tokens=min(tokens, LONGEST_PASSAGE_TOKENS),
        size_mb=round(size * 1000, 1) if size else None,
    )


# The hub


def pull(model_id: str, progress: Progress | None = None) -> Path:
    """Download a model unless it is here already, and return its folder; the only use of the network here.

    Raises ModelUnavailable when the hub cannot be reached, within `HUB_WAIT_SECONDS`, or the download fails.
    """
    listed = _describe(model_id)
    found = locate(listed.card.id)
    if found is not None:
        return found
    repository = listed.source.repository
    if repository is None:
        raise ModelUnavailable(f"{listed.card.id} cannot be downloaded.", hint="Choose another: memdb model list")
    try:
        import huggingface_hub  # noqa: PLC0415 (slow: only for a download)
        import huggingface_hub.utils as hub_utils  # noqa: PLC0415
    except ImportError as error:
        raise ModelUnavailable("The hub's client is not installed.", hint=INSTALL_HINT) from error
    names = [
        listed.source.model_file,
        *listed.source.more_files,
        *model_files.TOKENIZER_FILES,
        *_OPTIONAL_FILES,
    ]
    target = model_files.cache_folder() / "hub"
    _within(HUB_WAIT_SECONDS, listed, lambda: huggingface_hub.HfApi().model_info(repository))
    hub_utils.disable_progress_bars()  # type: ignore[attr-defined]
    try:
        with _watched(target, listed.card, progress):
            huggingface_hub.snapshot_download(
                repository,
                allow_patterns=names,
                cache_dir=target,
                etag_timeout=HUB_WAIT_SECONDS,
            )
    except Exception as error:  # the client's errors come from three libraries and change with its version
        raise _unreachable(listed, error) from error
    finally:
        hub_utils.enable_progress_bars()  # type: ignore[attr-defined]
    found = listed.source.local_folder()
    if found is None:
        raise ModelUnavailable(
            f"The hub's copy of {listed.card.id} lacks files that memdb needs.",
            hint="Choose another: memdb model list",
        )
    return found


def _unreachable(listed: _Listed, error: BaseException) -> ModelUnavailable:
    reason = str(error).strip().partition("\n")[0] or type(error).__name__
    return ModelUnavailable(
        f"{listed.card.id} could not be fetched: {reason}",
        hint="Check the network, HF_HUB_OFFLINE and HF_ENDPOINT, then try again.",
    )


def _within(seconds: float, listed: _Listed, ask: Callable[[], object]) -> None:
    """Run `ask` and wait for it no longer than that; a thread, because name resolution has no timeout."""
    failure: list[BaseException] = []

    def run() -> None:
        try:
            ask()
        except Exception as error:  # noqa: BLE001 (carried to the caller's thread, not swallowed)
            failure.append(error)

    thread = threading.Thread(target=run, name="memdb-hub-probe", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise _unreachable(listed, TimeoutError(f"the hub did not answer within {seconds:g} s"))
    if failure:
        raise _unreachable(listed, failure[0]) from failure[0]


@contextmanager
def _watched(folder: Path, wanted: ModelCard, progress: Progress | None) -> Iterator[None]:
    """Report the bytes that arrive in `folder`, twice a second, while the block runs."""
    if progress is None:
        yield
        return
    report = progress
    total = int((wanted.size_mb or 0) * 1_000_000)
    done = threading.Event()
    before = _bytes_in(folder)

    def watch() -> None:
        while not done.wait(0.5):
            report(_bytes_in(folder) - before, total)

    thread = threading.Thread(target=watch, name="memdb-download-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        report(_bytes_in(folder) - before, total)


def _bytes_in(folder: Path) -> int:
    size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                size += (Path(parent) / name).lstat().st_size
    return size
