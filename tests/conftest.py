"""What all tests share: folders of their own for this user's data and caches, and stores made in a temporary root."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memdb.store import Store

SHARED_MEMORY, ENOUGH = Path("/dev/shm"), 6 * 2**30
"""A folder in memory, where the system has one, and the bytes that must be free: nothing waits for a disk there."""


def pytest_configure() -> None:
    """Temporary folders lie in memory where there is room, unless pytest is told another place.

    Modules are kept compiled, as at a user's: else each process that a test starts compiles them all, which is a third
    of its time, and each run of pytest rewrites every assertion.
    """
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if SHARED_MEMORY.is_dir() and os.access(SHARED_MEMORY, os.W_OK) and shutil.disk_usage(SHARED_MEMORY).free > ENOUGH:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(SHARED_MEMORY))


VAULTS = Path(__file__).parent / "vaults"

OWN_SETTINGS = (
    "MEMDB_STORE",
    "MEMDB_ROOT",
    "MEMDB_DB",
    "MEMDB_MODEL",
    "MEMDB_EMBEDDER",
    "MEMDB_AUTO_INDEX",
    "MEMDB_USER",
)
LLM_SETTINGS = (
    "MEMDB_LLM",
    "MEMDB_LLM_MODEL",
    "MEMDB_LLM_PRICE_INPUT",
    "MEMDB_LLM_PRICE_OUTPUT",
    "OPENAI_BASE_URL",
    "OPENAI_API_KEY",
)
"""No test asks a language model of the machine that it runs on."""


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache folder for the whole run, so that the model is put together once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders that do not exist yet, one for each test; pytest itself would look through all that it made before."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def own_user(homes: Iterator[Path], model_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the real user's folders or settings."""
    for name in (*OWN_SETTINGS, *LLM_SETTINGS):
        monkeypatch.delenv(name, raising=False)
    # A run that compares memories too asks a model more often: tests of it switch it on.
    monkeypatch.setenv("MEMDB_JUDGE", "off")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    home = next(homes)
    home.mkdir()
    monkeypatch.setenv("MEMDB_HOME", str(home))
    monkeypatch.setenv("MEMDB_CACHE_DIR", str(model_cache))


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Embeddings are switched off."""
    monkeypatch.setenv("MEMDB_EMBEDDER", "off")


@pytest.fixture
def make_store(tmp_path: Path) -> Iterator[Callable[..., Store]]:
    """Makes a store from `{path: text or bytes}`, synced, in a fresh root; closes all at the end."""
    stores: list[Store] = []

    def make(files: dict[str, str | bytes] | None = None, *, root: Path | None = None, sync: bool = True) -> Store:
        where = root or tmp_path / f"root-{len(stores)}"
        write_files(where, files or {})
        store = Store.init(where)
        stores.append(store)
        if sync:
            store.sync()
        return store

    yield make
    for store in stores:
        store.close()


def write_files(root: Path, files: dict[str, str | bytes]) -> None:
    """Write files under a root; text as UTF-8 with the newlines that it has."""
    root.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def copy_vault(name: str, root: Path) -> Path:
    """A copy of a fixture vault."""
    return Path(shutil.copytree(VAULTS / name, root))
