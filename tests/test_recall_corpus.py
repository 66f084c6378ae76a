"""Twenty questions on a real folder of memories, as its user would ask them: the right one is in the first five."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from memdb.base.embedding import Embedder
from memdb.store import Store

CORPUS = Path(__file__).parents[2] / "shared" / "data" / "corpora" / "memories-a"

pytestmark = [
    pytest.mark.corpora,
    pytest.mark.skipif(not CORPUS.is_dir(), reason="the reference corpora are not beside the repository"),
]

QUESTIONS = [
    ("may I commit and push for her, or does she do that herself?", "feedback/feedback_user_owns_git"),
    ("should I open a pull request on a feature branch?", "feedback/feedback_main_branch_only"),
    ("what to do after an API key got committed", "project/project_secret_leak_recovery"),
    ("FileNotFoundError warn-manage.txt while two builds run at once", "project/project_build_concurrency_guard"),
    ("why does numpy fail with 'cannot load module more than once per process'", "project/project_numpy_pyinstaller"),
    ("llama-server binary not found", "project/project_ollama_source_build_breaks_embeddings"),
    ("thousands of console windows flashed and the machine restarted", "project/project_pythonxer_forkbomb_fix"),
    ("did we ever build a Unity agent?", "project/project_unity_mcp_declined"),
    ("which Python do the agents use in the installed app", "project/project_carried_python_for_agents"),
    ("keep the browser open after the script so that I can look at it", "project/project_playwrighter_hold_open"),
    ("does the serial port of the F4 Discovery prove that the firmware runs?",
     "project/project_stm32er_hil_serial_proof_fix"),
    ("what happened to the toast notifications", "project/project_native_toast"),
    ("what became of the living canvas", "project/project_living_canvas_dropped"),
    ("where may temporary files and templates be written?", "project/project_temp_templates_policy"),
    ("upper or lower case in an agent's name: what is the rule?", "feedback/feedback_agent_naming_conventions"),
    ("pip says packages conflict, is that real?", "project/project_ghost_distinfo_dependency_audit"),
    ("is package.json also bumped for a release", "feedback/feedback_package_json_version_bump"),
    ("which agent takes a photo with the webcam?", "project/project_camcorder_agent"),
    ("agents disappear from the database at startup", "project/project_agent_table_wiped_on_boot"),
    ("how strict should the tests be that I write for her", "feedback/feedback_hard_real_scenario_tests"),
]  # fmt: skip

ENOUGH = 18
"""Of the twenty, this many must have their memory among the first five."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("corpus") / "memories-a"
    shutil.copytree(CORPUS, root)
    return root


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, model_cache: Path) -> Iterator[None]:
    # A store of the module's own outlives the folders that each test has for itself.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("corpus-home")))
        patch.setenv("MEMDB_CACHE_DIR", str(model_cache))
        yield


def misses(store: Store, limit: int = 5) -> dict[str, list[str]]:
    found = {}
    for question, expected in QUESTIONS:
        hits = [hit.id for hit in store.recall(question, limit=limit, sync_first=False).hits]
        if expected not in hits:
            found[f"{question} -> {expected}"] = hits
    return found


def test_the_expected_memories_exist(copy: Path, home: None) -> None:
    with Store.init(copy, embedder=Embedder(enabled=False)) as store:
        store.sync()
        ids = {memory.id for memory in store.list()}
    assert {expected for _, expected in QUESTIONS} - ids == set()
    assert len({expected for _, expected in QUESTIONS}) == len(QUESTIONS) == 20


def test_keywords_and_the_graph_answer_them(copy: Path, home: None) -> None:
    with Store.init(copy, embedder=Embedder(enabled=False)) as store:
        store.sync()
        missed = misses(store)
    assert len(QUESTIONS) - len(missed) >= ENOUGH, missed


@pytest.mark.slow
@pytest.mark.model
def test_the_model_answers_them(copy: Path, home: None) -> None:
    with Store.init(copy, embedder=Embedder()) as store:
        report = store.sync()
        assert report.pending == 0
        missed = misses(store)
    assert len(QUESTIONS) - len(missed) >= ENOUGH, missed
