"""The embedder: what it gives, when it loads, and how it stays off."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memdb.base import embedding, model_files, models
from memdb.base.embedding import Embedder
from memdb.base.windows import windows
from memdb.errors import ModelUnavailable

IDENTITY = "sentence-transformers/all-MiniLM-L6-v2@8199be6f699a"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One cache folder for the module, and no hub cache of the machine."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FASTEMBED_CACHE_PATH", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
            patch.delenv(name, raising=False)
        patch.setenv("HF_HOME", str(folder / "hf"))
        patch.setenv("MEMDB_CACHE_DIR", str(folder))
        yield folder


@pytest.fixture(scope="module")
def real(cache: Path) -> Embedder:
    return Embedder()


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which the files of any model are found; what is in them never matters."""
    monkeypatch.setenv("MEMDB_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(models, "locate", lambda model_id: tmp_path)
    monkeypatch.setattr(models, "identity", lambda model_id: f"{model_id}@0123456789ab")
    return tmp_path


class FakeModel:
    """Vectors from the letters of a text, or what `answers` holds, one per text; counts the loads."""

    def __init__(self, answers: list[Any] | None = None, load_error: Exception | None = None) -> None:
        self.answers = list(answers or [])
        self.load_error = load_error
        self.loads = 0
        self.texts: list[str] = []

    def load(self, card: models.ModelCard, folder: Path) -> Callable[[str], Any]:
        self.loads += 1
        if self.load_error:
            raise self.load_error
        return self.encode

    def encode(self, text: str) -> Any:
        self.texts.append(text)
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        vector = np.zeros(384, dtype=np.float64)
        for word in text.lower().split():
            vector[sum(word.encode("utf-8")) % 384] += 2.0
        return vector if vector.any() else np.ones(384)


def proven(model_id: str = models.BUNDLED, dims: int = 384) -> None:
    models.mark_proven(f"{model_id}@0123456789ab", dims)


def fake_embedder(fake: FakeModel, model_id: str | None = models.BUNDLED) -> Embedder:
    return Embedder(model_id, load=fake.load)


def test_nothing_loads_before_the_first_text(found: Path) -> None:
    proven()
    fake = FakeModel()
    embedder = fake_embedder(fake)
    assert embedder.status.state == "not loaded"
    assert embedder.status.identity == f"{models.BUNDLED}@0123456789ab"
    assert fake.loads == 0
    embedder.embed_query("one")
    embedder.embed_query("two")
    assert embedder.status.state == "ready"
    assert fake.loads == 1


def test_vectors_are_float32_of_unit_length_in_the_order_of_the_texts(found: Path) -> None:
    proven()
    embedder = fake_embedder(FakeModel())
    texts = ["three words here", "one", "two words"]
    vectors = list(embedder.embed_passages(texts))
    assert [(vector.shape, vector.dtype) for vector in vectors] == [((384,), np.float32)] * 3
    assert [float(np.linalg.norm(vector)) for vector in vectors] == pytest.approx([1.0] * 3, abs=1e-6)
    for vector, text in zip(vectors, texts, strict=True):
        assert np.array_equal(vector, embedder.embed_query(text))


def test_passages_stream_with_progress(found: Path) -> None:
    proven()
    fake = FakeModel()
    reported: list[tuple[int, int]] = []
    stream = fake_embedder(fake).embed_passages(["a", "b", "c"], lambda done, total: reported.append((done, total)))
    next(stream)
    assert fake.texts == ["a"]
    list(stream)
    assert reported == [(1, 3), (2, 3), (3, 3)]


def test_prefixes_of_the_card_go_before_the_text(found: Path) -> None:
    proven("intfloat/multilingual-e5-large", 384)
    fake = FakeModel()
    embedder = fake_embedder(fake, "multilingual-e5-large")
    list(embedder.embed_passages(["a note"]))
    embedder.embed_query(" a question\n")
    assert fake.texts == ["passage: a note", "query: a question"]


def test_only_the_first_part_of_a_huge_text_reaches_the_model(found: Path) -> None:
    proven()
    fake = FakeModel()
    fake_embedder(fake).embed_query("x" * 1_000_000)
    assert fake.texts == ["x" * 256 * 16]


def test_lone_surrogates_and_nuls_reach_the_model_as_text(found: Path) -> None:
    proven()
    fake = FakeModel()
    fake_embedder(fake).embed_query("a\ud800b\0c é")
    assert fake.texts == ["a?b\0c é"]


def test_switched_off_embedder_raises_and_says_so(found: Path) -> None:
    fake = FakeModel()
    embedder = Embedder(models.BUNDLED, enabled=False, load=fake.load)
    assert (embedder.status.state, embedder.status.reason) == ("off", "Embeddings are switched off.")
    with pytest.raises(ModelUnavailable, match="switched off"):
        embedder.embed_query("a")
    with pytest.raises(ModelUnavailable, match="switched off"):
        list(embedder.embed_passages(["a"]))
    assert fake.loads == 0


@pytest.mark.parametrize(
    "error",
    [
        ImportError("No module named 'fastembed'"),
        ModuleNotFoundError("onnxruntime"),
        ModelUnavailable("bad checksum"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_missing_runtime_and_wrong_files_latch_at_once(found: Path, error: Exception) -> None:
    fake = FakeModel(load_error=error)
    embedder = fake_embedder(fake)
    for _ in range(3):
        with pytest.raises(ModelUnavailable, match=str(error)):
            embedder.embed_query("a")
    assert fake.loads == 1
    assert embedder.status.state == "off"
    assert str(error) in (embedder.status.reason or "")


class RuntimesOwnError(Exception):
    """Runtimes raise errors that derive from Exception alone."""


@pytest.mark.parametrize("error", [RuntimeError("busy"), OSError("disk full"), RuntimesOwnError("busy"), MemoryError()])
def test_third_failure_in_a_row_latches(found: Path, error: Exception) -> None:
    proven()
    fake = FakeModel([error] * 5)
    embedder = fake_embedder(fake)
    for number in (1, 2):
        with pytest.raises(ModelUnavailable) as caught:
            embedder.embed_query("a")
        assert caught.value.hint == "It is tried again on the next call."
        assert embedder.status.state == "ready", number
    with pytest.raises(ModelUnavailable, match="3 times in a row"):
        embedder.embed_query("a")
    assert embedder.status.state == "off"
    with pytest.raises(ModelUnavailable, match="3 times in a row"):
        embedder.embed_query("a")
    assert len(fake.texts) == 3


def test_failing_load_is_retried_and_latches_at_the_third(found: Path) -> None:
    fake = FakeModel(load_error=RuntimeError("out of memory"))
    embedder = fake_embedder(fake)
    for _ in range(5):
        with pytest.raises(ModelUnavailable, match="out of memory"):
            embedder.embed_query("a")
    assert fake.loads == 3


def test_one_success_clears_the_count(found: Path) -> None:
    proven()
    good, bad = np.ones(384), RuntimeError("busy")
    embedder = fake_embedder(FakeModel([bad, bad, good, bad, bad, good]))
    outcomes = []
    for _ in range(6):
        try:
            embedder.embed_query("a")
        except ModelUnavailable:
            outcomes.append("failed")
        else:
            outcomes.append("vector")
    assert outcomes == ["failed", "failed", "vector", "failed", "failed", "vector"]
    assert embedder.status.state == "ready"


@pytest.mark.parametrize(
    ("vector", "reason"),
    [
        (np.zeros(384), "length 0.0"),
        (np.full(384, np.nan), "length nan"),
        (np.r_[np.inf, np.ones(383)], "length inf"),
        (np.ones((1, 384)), r"shape \(1, 384\)"),
        (np.ones(10), r"shape \(10,\)"),
    ],
)
def test_vectors_that_no_text_can_have_are_failures(found: Path, vector: Any, reason: str) -> None:
    proven()
    embedder = fake_embedder(FakeModel([np.ones(384), vector]))
    embedder.embed_query("a")
    with pytest.raises(ModelUnavailable, match=reason):
        embedder.embed_query("a")


def test_width_is_read_from_the_model_and_remembered(found: Path) -> None:
    assert fake_embedder(FakeModel(), models.PREFERRED).status.dims is None
    embedder = fake_embedder(FakeModel(), models.PREFERRED)
    embedder.embed_query("a")
    assert embedder.status.dims == 384
    assert fake_embedder(FakeModel(), models.PREFERRED).status.dims == 384


def test_known_similarity_is_checked_once_per_machine(found: Path) -> None:
    for expected in (4, 1):
        fake = FakeModel()
        fake_embedder(fake, models.PREFERRED).embed_query("a")
        assert len(fake.texts) == expected


def test_model_that_finds_everything_alike_is_refused(found: Path) -> None:
    fake = FakeModel([np.ones(384) for _ in range(9)])
    embedder = fake_embedder(fake)
    for _ in range(2):
        with pytest.raises(ModelUnavailable, match="cannot tell related texts from unrelated"):
            embedder.embed_query("a")
    assert embedder.status.state == "off"
    assert fake.loads == 1


def test_model_of_another_width_than_its_card_is_refused(found: Path) -> None:
    with pytest.raises(ModelUnavailable, match="gives 8 dimensions instead of 384"):
        fake_embedder(FakeModel([np.ones(8) for _ in range(3)])).embed_query("a")


def test_files_that_are_not_here_are_named_with_the_way_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMDB_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    embedder = Embedder("BAAI/bge-small-en-v1.5", load=FakeModel().load)
    assert embedder.status.state == "off"
    assert embedder.status.model == "BAAI/bge-small-en-v1.5"
    with pytest.raises(ModelUnavailable, match="not on this machine") as caught:
        embedder.embed_query("a")
    assert "memdb model pull BAAI/bge-small-en-v1.5" in (caught.value.hint or "")


def test_no_model_at_all_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMDB_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(models, "default_model", lambda: None)
    embedder = Embedder(load=FakeModel().load)
    assert (embedder.status.state, embedder.status.model) == ("off", None)
    assert embedder.status.reason == "There is no embedding model on this machine."


def test_machine_without_fastembed_is_off_with_the_way_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding.importlib.util, "find_spec", lambda name: None)
    embedder = Embedder(models.BUNDLED)
    assert embedder.status.reason == "fastembed is not installed."
    with pytest.raises(ModelUnavailable) as caught:
        embedder.embed_query("a")
    assert caught.value.hint == model_files.INSTALL_HINT


def test_unreadable_files_are_a_reason_and_not_a_crash(found: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(model_id: str) -> str:
        raise PermissionError("no entry")

    monkeypatch.setattr(models, "identity", fail)
    embedder = fake_embedder(FakeModel())
    assert embedder.status.state == "off"
    assert "no entry" in (embedder.status.reason or "")


def test_threads_load_the_model_once(found: Path) -> None:
    proven()
    fake = FakeModel()

    def slow(card: models.ModelCard, folder: Path) -> Callable[[str], Any]:
        time.sleep(0.05)
        return fake.load(card, folder)

    embedder = Embedder(models.BUNDLED, load=slow)
    threads = [threading.Thread(target=embedder.embed_query, args=("a",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert fake.loads == 1
    assert len(fake.texts) == 8


@pytest.mark.model
def test_real_model_gives_unit_vectors_and_known_similarities(real: Embedder) -> None:
    one, same, other = real.embed_passages(
        [
            "The staging database moved to a new host.",
            "We migrated the test database to another server.",
            "Grandmother's lemon cake needs four eggs.",
        ]
    )
    # Measured with these weights; other processors round the int8 products a little differently.
    assert float(one @ same) == pytest.approx(0.708, abs=0.03)
    assert float(one @ other) == pytest.approx(0.006, abs=0.05)
    assert one.shape == (384,) and one.dtype == np.float32
    assert float(np.linalg.norm(one)) == pytest.approx(1.0, abs=1e-6)
    assert real.status == embedding.EmbedderStatus("ready", models.BUNDLED, IDENTITY, 384, None)


@pytest.mark.model
def test_real_vector_is_the_same_alone_and_in_company(real: Embedder) -> None:
    texts = [
        "a short note",
        "a much longer note about the weir and its sensor " * 8,
        "重跑流程",
        "",
        "NEAR( \0 👩",
    ]
    for text, vector in zip(texts, real.embed_passages(texts), strict=True):
        assert np.array_equal(vector, real.embed_query(text))
        assert np.array_equal(vector, next(Embedder().embed_passages([text])))


@pytest.mark.model
def test_real_huge_query_costs_no_more_than_a_full_window(real: Embedder) -> None:
    full = "what database do we use for staging? " * 40
    real.embed_query(full)

    def seconds(text: str) -> float:
        begin = time.process_time()
        real.embed_query(text)
        return time.process_time() - begin

    usual = min(seconds(full) for _ in range(3))
    assert min(seconds(full * 40) for _ in range(3)) < 3 * usual + 0.05


@pytest.mark.model
@pytest.mark.parametrize(
    ("text", "offsets"),
    [
        ("Hello, world", [(0, 5), (5, 6), (7, 12)]),
        ("重跑 flow", [(0, 1), (1, 2), (3, 7)]),
        ("a\ud800b", [(0, 1), (1, 2), (2, 3)]),
        (" \n ", []),
    ],
)
def test_real_token_offsets_are_in_characters(real: Embedder, text: str, offsets: list[tuple[int, int]]) -> None:
    assert real.token_offsets(text) == offsets
    assert real.count_tokens(text) == len(offsets)


@pytest.mark.model
def test_real_window_is_what_the_model_reads(real: Embedder) -> None:
    assert real.window_tokens == 254
    within, beyond = " ".join(["weir"] * 253), " ".join(["weir"] * 254)
    assert np.array_equal(real.embed_query(f"{beyond} snow"), real.embed_query(f"{beyond} desert"))
    assert not np.array_equal(real.embed_query(f"{within} snow"), real.embed_query(f"{within} desert"))


@pytest.mark.model
def test_real_windows_fit_and_the_last_sentence_is_found(real: Embedder) -> None:
    text = "The committee met and nothing was decided. " * 120 + "The spare key hangs behind the kitchen clock."
    spans = windows(text, real.window_tokens, real.token_offsets)
    assert max(real.count_tokens(text[start:end]) for start, end in spans) <= real.window_tokens
    query = real.embed_query("where is the spare key")
    scores = [float(query @ vector) for vector in real.embed_passages([text[start:end] for start, end in spans])]
    assert int(np.argmax(scores)) == len(spans) - 1


@pytest.mark.model
def test_counting_tokens_loads_no_model(cache: Path) -> None:
    code = (
        "import sys; from memdb.base.embedding import Embedder;"
        "e = Embedder(); assert e.count_tokens('one two') == 2; assert e.status.state == 'not loaded';"
        "print(sorted({'onnxruntime', 'fastembed', 'numpy'} & set(sys.modules)))"
    )
    assert run_python(code).stdout.strip() == "[]"


@pytest.mark.model
def test_first_text_writes_nothing_to_the_terminal_and_leaves_no_temporary_folder(cache: Path, tmp_path: Path) -> None:
    code = (
        "import os; from memdb.base.embedding import Embedder; e = Embedder(); e.embed_query('a');"
        "print(len(list(e.embed_passages(['a', 'b']))), flush=True);"
        "pid = os.fork() if hasattr(os, 'fork') else 0; pid == 0 and os._exit(0); os.waitpid(pid, 0)"
    )
    answer = run_python(code, TMPDIR=str(tmp_path), TEMP=str(tmp_path), TMP=str(tmp_path))
    assert (answer.stdout, answer.stderr) == ("2\n", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.model
def test_no_text_needs_the_network(cache: Path) -> None:
    code = (
        "import socket\n"
        "def refuse(*arguments, **named): raise AssertionError('the network was used')\n"
        "socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse\n"
        "from memdb.base.embedding import Embedder\n"
        "e = Embedder(); e.embed_query('a'); print(e.count_tokens('a'), e.status.state)\n"
        "missing = Embedder('BAAI/bge-base-en-v1.5')\n"
        "try: missing.embed_query('a')\n"
        "except Exception as error: print(type(error).__name__, missing.status.state)\n"
    )
    assert run_python(code).stdout.splitlines() == ["1 ready", "ModelUnavailable off"]


@pytest.mark.model
@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff"])
def test_tokenizer_that_cannot_be_read_is_a_reason(found: Path, content: bytes | None) -> None:
    if content is not None:
        (found / "tokenizer.json").write_bytes(content)
    with pytest.raises(ModelUnavailable, match="tokenizer cannot be read"):
        fake_embedder(FakeModel()).count_tokens("a")


@pytest.mark.model
def test_right_weights_with_the_pooling_of_another_model_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMDB_CACHE_DIR", str(tmp_path))

    def load(card: models.ModelCard, folder: Path) -> Callable[[str], Any]:
        from fastembed import TextEmbedding

        (folder / "model_optimized.onnx").write_bytes((folder / "model.onnx").read_bytes())
        model = TextEmbedding(
            "BAAI/bge-small-en-v1.5",
            cache_dir=str(tmp_path),
            specific_model_path=str(folder),
            local_files_only=True,
        )
        return lambda text: next(iter(model.embed([text])))

    with pytest.raises(ModelUnavailable, match="its files are wrong"):
        Embedder(models.BUNDLED, load=load).embed_query("a")


# One memory and one question a line: what the seed floor was chosen on is larger and of this kind.
ANSWERED = """
Staging runs PostgreSQL 15 on pg-stage-2; migrations run on Tuesdays. | what database do we use for staging
The deploy bot answers only in the release channel. | why is the deploy bot not replying
On-call changes every Monday at nine; Priya swaps with Tomas in August. | who is on call in August
The user's daughter is allergic to peanuts and cashews. | can I bring cookies with nuts to the birthday
Moved from Lisbon to Ghent in spring 2024. | where does the user live
Works as a hydrologist for the river authority. | what is the user's profession
All services use Python 3.12; do not propose older syntax. | which python version should code target
Nightly backups go to the cold bucket and are kept for ninety days. | how long are backups kept
A restore drill in June took four hours: no index. | how long did the recovery exercise take
Has an old grey cat named Biscuit. | what is the pet called
The contract with the map tile vendor ends in March. | when does the maps agreement expire
Dislikes dark mode in editors. | light or dark theme
Off from 3 to 17 July, reachable for emergencies only. | when is the vacation
The iOS build is signed on Marta's machine only. | who can sign the iphone app
Trains for the half marathon in October; runs on Tuesday and Saturday. | what sport does the user do
"""
UNANSWERABLE = """
how many moons does Saturn have
who won the chess tournament
how to prune apple trees
the plot of the opera Carmen
how do volcanoes form
knitting pattern for socks
"""


@pytest.mark.model
def test_floor_keeps_answers_and_stops_most_of_the_rest(real: Embedder) -> None:
    pairs = [line.split(" | ") for line in ANSWERED.strip().splitlines()]
    memories = np.array(list(real.embed_passages([memory for memory, _ in pairs])))
    floor = real.card.floor
    assert floor == 0.18
    kept = sum(float(real.embed_query(question) @ memories[row]) >= floor for row, (_, question) in enumerate(pairs))
    assert kept >= 14
    unanswerable = UNANSWERABLE.strip().splitlines()
    stopped = sum(float((memories @ real.embed_query(question)).max()) < floor for question in unanswerable)
    assert stopped >= 4


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "default", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        check=True,
    )
