"""A sample of what `python -m tests.bench.faults` tries: kills, failing writes, changed bytes, many processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.faults.trials import Asked, Found

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="trials are forks of a process")

REPOSITORY = Path(__file__).parents[1]

SAMPLE = """
import json, sys, tempfile
from pathlib import Path
from tests.bench.faults import corruption, crash, faulty, scripted, stores, trials
from tests.bench.faults.trials import Asked, Found, add, forked, loaded

with tempfile.TemporaryDirectory(dir=trials.scratch(), ignore_cleanup_errors=True) as folder:
    with scripted.endpoint(Path(folder)):
        asked, found = Asked(True, Path(folder), 1), Found()
        faulty.install()
        loaded()
        template = asked.folder / "template"
        built = forked(lambda tell: stores.build(template / "root"))
        assert built.code == 0, built.errors
        some = [one for one in stores.OPERATIONS if one.name in sys.argv[1].split(",")]
        states, recorded = crash.recorded(asked, template, some)
        found.failures += recorded.failures
        points = crash.kill_points(states, some, int(sys.argv[2]))
        points += crash.error_points(states, some, 2)[:: int(sys.argv[3])]
        for point in points:
            add(found, crash.tried(asked.folder / "trial", template, states, point))
        pages = asked.folder / "pages"
        pages.mkdir()
        built = forked(lambda tell: corruption._build(pages))
        assert built.code == 0, built.errors
        for item in [("seen", "one bit", 9), ("unseen", "zeroed", 12), ("unseen", "swapped with the next", 4),
                     ("log", "noise", 7), ("frame", "a byte in the middle", 5), ("line", "a byte in the middle", 2)]:
            add(found, corruption.tried(asked.folder / "trial", pages, *item))
        print(json.dumps({"figures": found.figures, "failures": found.failures}))
"""


def measured(*words: str) -> dict[str, dict[str, object]]:
    """What the bench prints, from a process of its own: it counts the writes of the whole process that it runs in."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.faults", "--quick", "--json", *words],
        cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=1200,
    )  # fmt: skip
    assert done.stdout, done.stderr
    found: dict[str, dict[str, object]] = json.loads(done.stdout)
    assert done.returncode == (1 if any(one["failures"] for one in found.values()) else 0)
    return found


@pytest.fixture(scope="module")
def sample() -> Iterator[dict[str, dict[str, float]]]:
    done = subprocess.run(
        [sys.executable, "-c", SAMPLE, "save,upload", "4", "3"],
        cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    yield json.loads(done.stdout)


@pytest.mark.slow
def test_kills_failing_writes_and_changed_bytes_lose_nothing(sample: dict[str, dict[str, float]]) -> None:
    assert sample["failures"] == []


@pytest.mark.slow
def test_the_sample_met_the_faults_that_it_is_about(sample: dict[str, dict[str, float]]) -> None:
    figures = sample["figures"]
    assert figures["kill points tried"] >= 10
    assert figures["failing writes tried"] >= 4 and figures["failing writes that were told"] >= 2
    assert figures["detected when it was opened"] >= 3


def test_a_fault_that_memdb_does_not_survive_is_a_failure(tmp_path: Path) -> None:
    """The bench can fail: here the journal says less than what was confirmed."""
    from tests.bench.faults.stores import differing

    before = {"memory": frozenset([("user/a",), ("user/b",)])}
    after = {"memory": frozenset([("user/a",)])}
    assert differing(before, after) == ["memory (1 only before, 0 only after, such as user/b)"]


def test_trials_tell_how_they_ended(tmp_path: Path) -> None:
    import os
    import signal

    from tests.bench.faults.trials import forked

    ended = forked(lambda tell: tell(("done", 1)))
    assert (ended.code, ended.said) == (0, [("done", 1)])

    def dies(tell: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    assert forked(dies).killed
    wrong = forked(lambda tell: {}["nothing"])
    assert wrong.code == 1 and "KeyError" in wrong.errors


def test_an_unknown_kind_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.faults", "--only", "weather"],
        cwd=REPOSITORY, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and "no kind of fault" in done.stderr


def test_what_kinds_find_is_added_up() -> None:
    from tests.bench.faults.trials import add, sampled

    total = Found({"tried": 1, "max bytes": 5}, ["a"])
    add(total, Found({"tried": 2, "max bytes": 3}, ["b"]))
    assert (total.figures, total.failures) == ({"tried": 3, "max bytes": 5}, ["a", "b"])
    assert sampled(10, 3) == [0, 4, 9] and sampled(3, 5) == [0, 1, 2]
    assert Asked(True, Path()).jobs == 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["crash", "corruption", "concurrency", "upgrade"])
def test_the_quick_run_finds_no_failure(kind: str) -> None:
    words = ["--seconds", "20"] if kind == "concurrency" else []
    assert measured("--only", kind, *words)[kind]["failures"] == []
