"""index, auto-index, runs: what a person and a program see of a language model at work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memdb_cli import background
from memdb_cli.commands import index as index_command
from tests.cli_support import make, memdb, process
from tests.index_support import INES, SAILS, finds
from tests.llm_server import BAD_KEY, LlmServer, gives, says

pytest.importorskip("instructor", reason="the extra `llm` is not installed")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    with LlmServer(answer=lambda request: gives(finds(request))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("MEMDB_LLM_MODEL", "tiny")
        monkeypatch.setenv("MEMDB_LLM_PRICE_INPUT", "2")
        monkeypatch.setenv("MEMDB_LLM_PRICE_OUTPUT", "8")
        yield server


@pytest.fixture
def root(tmp_path: Path, no_model: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEMDB_ROOT", str(tmp_path / "notes"))
    return make(tmp_path / "notes", user__a=INES, user__b=SAILS)


@pytest.fixture(autouse=True)
def no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process is left behind."""
    monkeypatch.setattr(background, "spawn", lambda command: None)


def test_index_says_what_it_will_do_and_what_it_did(root: Path, server: LlmServer) -> None:
    answer = memdb("index")
    assert answer.code == 0
    assert answer.err == f"2 calls of tiny at {server.url}\n"
    assert answer.out == "run 1: 2 texts indexed\n  2 calls, 200 + 40 tokens, cost 0.00072\n"
    answer = memdb("index")
    assert (answer.code, answer.out, answer.err) == (0, "Nothing waits: the model has read every text.\n", "")
    assert len(server.requests) == 2


def test_index_as_json(root: Path, server: LlmServer) -> None:
    assert memdb("index", "--limit", "1", "--json").json == {
        "id": 1,
        "state": "done",
        "model": "tiny",
        "done": 1,
        "replayed": 0,
        "skipped": 0,
        "failed": 0,
        "calls": 1,
        "input_tokens": 100,
        "output_tokens": 20,
        "cost": 0.00036,
        "left": 1,
        "elsewhere": 0,
        "compared": 0,
        "contradictions": 0,
        "restatements": 0,
        "given_up": [],
        "message": None,
    }


def test_index_with_a_limit_of_none_asks_nothing(root: Path, server: LlmServer) -> None:
    answer = memdb("index", "--limit", "0")
    assert (answer.code, answer.out.splitlines()[0]) == (0, "run 1: 0 texts indexed, 2 waiting")
    assert server.requests == []


def test_runs_lists_and_shows(root: Path, server: LlmServer) -> None:
    assert memdb("runs").err == "note: there was no run yet; `memdb index` starts one.\n"
    memdb("index")
    head, line = memdb("runs").out.splitlines()
    assert head == "RUN  STATE  STARTED              MODEL  DONE  SKIPPED  FAILED  CALLS    TOKENS     COST  MESSAGE"
    assert line.split()[:2] == ["1", "done"]
    assert " ".join(line.split()[4:]) == "tiny 2 0 0 2 200 + 40 0.00072"
    shown = memdb("runs", "show", "1").out.splitlines()
    assert shown[0] == "run 1  done"
    assert shown[2] == "  2 indexed, 0 skipped, 0 failed; 2 calls, 200 + 40 tokens, cost 0.00072"
    assert [line.split(maxsplit=2) for line in shown[4:]] == [
        ["user/a", "indexed", "2 names, 1 relation; 100 + 20 tokens"],
        ["user/b", "indexed", "3 names, 2 relations; 100 + 20 tokens"],
        ["user/b", "held", "type vessel: Baltic Star"],
    ]
    run = memdb("runs", "show", "1", "--json").json
    assert (run["state"], run["done"], len(run["events"])) == ("done", 2, 3)
    assert set(run["events"][0]) == {"at", "source", "kind", "message"}
    assert [one["id"] for one in memdb("runs", "--limit", "1", "--json").json["runs"]] == [1]
    assert memdb("runs", "show", "2").code == 3
    assert memdb("runs", "show", "last").code == 2


def test_many_calls_need_a_yes(root: Path, server: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_command, "ASKED_FROM", 2)
    answer = memdb("index")
    assert answer.code == 4
    assert answer.err.splitlines() == [
        f"error: This takes 2 calls of tiny at {server.url}; nothing was sent.",
        "hint: Pass --yes, or bound it with --limit N.",
    ]
    assert memdb("index", "--json").json["error"]["code"] == "refused"
    assert server.requests == []
    assert memdb("index", "--limit", "1").code == 0
    monkeypatch.setenv("MEMDB_LLM_MODEL", "other")
    assert memdb("index", "--rebuild").code == 4
    assert memdb("index", "--rebuild", "--yes").code == 0
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("MEMDB_LLM=off", "The language model is switched off."),
        ("MEMDB_LLM_MODEL=", "No language model is named."),
        ("OPENAI_BASE_URL=", "There is no API key."),
        ("OPENAI_BASE_URL=localhost:80", "OPENAI_BASE_URL is no http address."),
    ],
)
def test_index_without_a_model(
    root: Path, server: LlmServer, monkeypatch: pytest.MonkeyPatch, variable: str, said: str
) -> None:
    monkeypatch.setenv(*variable.split("="))
    answer = memdb("index")
    assert (answer.code, answer.out) == (7, "")
    assert answer.err.splitlines()[0] == f"error: 2 texts wait for a language model. {said}"
    assert answer.err.splitlines()[1].startswith("hint: ")
    assert memdb("index", "--json").json["error"]["code"] == "llm_off"
    assert memdb("recall", "gauges").out.split()[1] == "user/a"


def test_a_failure_of_the_model_is_exit_code_7_with_what_was_done(root: Path, server: LlmServer) -> None:
    server.script = [gives({"entities": [], "relations": []}), BAD_KEY]
    answer = memdb("index")
    assert answer.code == 7
    assert answer.out.splitlines()[0] == "run 1: 1 text indexed, 1 failed, 1 waiting"
    assert f"error: {server.url} does not accept the API key (HTTP 401).\n" in answer.err
    assert "hint: Check OPENAI_API_KEY" in answer.err
    server.script = [BAD_KEY]
    answer = memdb("index", "--json")
    assert (answer.code, answer.json["state"], answer.json["error"]["code"]) == (7, "failed", "llm_refused")
    assert memdb("runs").out.splitlines()[1].split()[1] == "failed"


def test_a_text_that_fails_is_told_and_in_the_end_left_alone(root: Path, server: LlmServer) -> None:
    server.answer = lambda request: says("no")
    for _ in range(3):
        answer = memdb("index")
        assert answer.code == 0
        assert "2 failed" in answer.out and "`memdb runs show" in answer.err
    answer = memdb("index")
    assert (answer.code, answer.err.splitlines()) == (
        0,
        [
            f"note: user/{name} failed too often (no answer of the right form); `memdb index --rebuild` tries it again."
            for name in "ab"
        ],
    )
    assert "2 texts failed too often" in memdb("doctor").out


def test_stats_and_doctor_tell_where_texts_go(root: Path, server: LlmServer) -> None:
    stats = memdb("stats", "--json").json
    assert (stats["auto_index"], stats["llm"]["model"], stats["llm"]["endpoint"]) == ("off", "tiny", server.url)

    def finding() -> str:
        found = memdb("doctor", "--json").json["findings"]
        return str(next(one["detail"] for one in found if one["check"] == "language model"))

    assert finding() == f"tiny at {server.url}; auto-index is off: texts are sent by `memdb index`"
    answer = memdb("auto-index", "on")
    assert answer.err == f"note: 2 texts will be sent to tiny at {server.url}.\n"
    assert finding() == f"tiny at {server.url}; auto-index is on: new texts are sent to it"
    assert memdb("auto-index", "off", "--json").json["auto_index"] == "off"
    assert memdb("auto-index").out == "auto-index is off\n"
    assert memdb("auto-index", "maybe").code == 2


def test_a_price_that_is_none_is_a_usage_error(root: Path, server: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMDB_LLM_PRICE_INPUT", "cheap")
    assert memdb("index").code == 2


def test_index_as_a_process(root: Path, server: LlmServer) -> None:
    answer = process("index", "--json")
    assert (answer.code, answer.json["done"], answer.err) == (0, 2, "")
