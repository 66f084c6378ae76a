"""Index runs of several processes at once, and of processes that are killed."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from memdb.store import Store
from tests.histories import differing
from tests.index_support import finds, indexing, notes, rebuilt, rows, timeless
from tests.llm_server import LlmServer, Reply, Request, gives

pytest.importorskip("instructor", reason="the extra `llm` is not installed")

pytestmark = pytest.mark.usefixtures("no_model")

MakeStore = Callable[..., Store]


def slowly(seconds: float) -> Callable[[Request], Reply]:
    def answer(request: Request) -> Reply:
        time.sleep(seconds)
        return gives(finds(request))

    return answer


def endpoint(server: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("MEMDB_LLM_MODEL", "tiny")


@pytest.mark.slow
def test_two_processes_at_once_ask_about_no_text_twice(make_store: MakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store = make_store(dict(notes(30)))
    with LlmServer(answer=slowly(0.1)) as server:
        endpoint(server, monkeypatch)
        processes = [indexing(store.place.root) for _ in range(2)]
        for process in processes:
            _, said = process.communicate(timeout=120)
            assert process.returncode == 0, said
        asked = Counter(request.text for request in server.requests)
        assert (len(asked), max(asked.values())) == (30, 1)
        assert store.index().calls == 0
    assert [run.state for run in store.runs.list()] == ["done", "done"]
    assert min(run.done for run in store.runs.list()) > 0 and sum(run.done for run in store.runs.list()) == 30
    assert rows(store, "select count(*), count(distinct text_sha256) from extraction") == [(30, 30)]
    assert rows(store, "select * from claim") == []
    live = store.digest()
    assert differing(rebuilt(store), live) == []


@pytest.mark.slow
def test_a_run_that_is_killed_at_any_moment_goes_on(
    make_store: MakeStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = 25
    with LlmServer(answer=slowly(0.04)) as server:
        endpoint(server, monkeypatch)
        undisturbed = make_store(dict(notes(number)))
        assert indexing(undisturbed.place.root).wait() == 0
        expected = timeless(undisturbed)
        assert expected["waiting"] == []
        chance = random.Random(7)
        cut = answered = 0
        for _ in range(20):
            store = make_store(dict(notes(number)))
            server.requests.clear()
            process = indexing(store.place.root)
            wanted = chance.randrange(1, number - 2)
            while process.poll() is None and len(server.requests) < wanted:
                time.sleep(0.002)
            time.sleep(chance.uniform(0, 0.04))
            cut += process.poll() is None
            process.kill()
            process.communicate()
            answered += bool(rows(store, "select 1 from extraction"))
            assert all(run.state != "running" for run in store.runs.list())
            again = indexing(store.place.root)
            _, said = again.communicate(timeout=120)
            assert again.returncode == 0, said
            # Nothing is asked again but what was open when the process was killed.
            asked = Counter(request.text for request in server.requests)
            assert len(asked) == number and sum(asked.values()) <= number + 1
            assert timeless(store) == expected
            assert [finding for finding in store.doctor() if finding.state == "error"] == []
            live = store.digest()
            assert differing(rebuilt(store), live) == []
            store.close()
    assert cut >= 15 and answered >= 5
