"""Index runs at endpoints that fail: what each fault leaves in the rows and in the log, and when a run gives up."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from memdb.errors import SecretFound
from memdb.services.extraction import extraction_runs
from memdb.store import Store
from tests.index_support import INES, SAILS, Indexed, finds, notes, rebuilt, rows, text_of
from tests.llm_server import (
    BAD_KEY,
    DROP,
    HANG,
    NO_MODEL,
    NOTHING,
    QUOTA,
    RATE_LIMITED,
    LlmServer,
    Reply,
    Request,
    fails,
    gives,
    says,
)

pytest.importorskip("instructor", reason="the extra `llm` is not installed")

pytestmark = pytest.mark.usefixtures("no_model")

MakeStore = Callable[..., Store]

TWO: dict[str, str | bytes] = {"user/a.md": INES, "user/b.md": SAILS}


def good(request: Request) -> Reply:
    return gives(finds(request))


def only_about(word: str, reply: Reply) -> Callable[[Request], Reply]:
    """An endpoint that fails for texts with a word."""
    return lambda request: reply if word in text_of(request) else good(request)


@pytest.mark.parametrize(
    ("script", "waits", "tries"),
    [
        pytest.param([RATE_LIMITED], [2.0], 2, id="429 with Retry-After"),
        pytest.param([fails(500, "oops"), fails(503, "busy")], [1.0, 2.0], 3, id="500 and 503"),
        pytest.param([DROP], [1.0], 2, id="a dropped connection"),
        pytest.param([HANG], [1.0], 2, id="a hang"),
        pytest.param([says('{"entities": [{"name": "Ines')], [], 2, id="broken JSON"),
        pytest.param([says('{"entities": [', finish="length")], [], 2, id="a length stop"),
        pytest.param([gives({"people": ["Ines Okafor"]})], [], 2, id="another schema"),
        pytest.param([says("")], [], 2, id="an empty answer"),
        pytest.param([says(None)], [], 2, id="no content"),
    ],
)
def test_what_passes_is_waited_out(make_store: MakeStore, script: list[Reply], waits: list[float], tries: int) -> None:
    with LlmServer(*script, answer=good) as server:
        indexed = Indexed(make_store(TWO), server, read_seconds=0.5)
        report = indexed.index()
    assert (report.state, report.done, report.failed, report.calls) == ("done", 2, 0, tries + 1)
    assert indexed.waits == waits
    assert indexed.said("indexed")[0].endswith(f"{tries} tries")
    assert rows(indexed.store, "select * from failure") == []
    assert len(indexed.mentions) == 4
    live = indexed.store.digest()
    assert rebuilt(indexed.store) == live


@pytest.mark.parametrize(
    ("reply", "message", "reason", "tries"),
    [
        (says("I do not do that."), "gave no answer of the right form", "no answer of the right form", 3),
        (says('{"entities": ['), "gave no answer of the right form", "no answer of the right form", 3),
        (says('{"entities": [', finish="length"), "cut off", "no answer of the right form", 3),
        (gives({"people": []}), "entities: Field required", "no answer of the right form", 3),
        (says("", refusal="I cannot help with that."), "declines", "the endpoint refuses this text", 1),
        (
            fails(400, "This model's maximum context length is 512 tokens"),
            "maximum context length",
            "the endpoint refuses this text",
            1,
        ),
    ],
)
def test_a_text_that_fails_stops_no_other_and_is_left_alone_in_the_end(
    make_store: MakeStore, reply: Reply, message: str, reason: str, tries: int
) -> None:
    with LlmServer(answer=only_about("gauges", reply)) as server:
        indexed = Indexed(make_store(TWO), server)
        report = indexed.index()
        assert (report.state, report.done, report.failed, report.calls) == ("done", 1, 1, tries + 1)
        (said,) = indexed.said("failed")
        assert message in said
        for times in (2, 3):
            assert (indexed.index().failed, indexed.asked) == (1, 1 + times * tries)
        report = indexed.index()
        assert (report.id, report.failed, report.given_up) == (None, 0, [("user/a", reason)])
        assert indexed.asked == 1 + 3 * tries
        # The names that rules find in it stand.
        assert ("user/a", "entity:ines okafor") in indexed.mentions
        server.answer = good
        assert (indexed.index(rebuild=True).done, indexed.index().given_up) == (1, [])
        assert rows(indexed.store, "select * from failure") == []


def test_what_failed_comes_last(make_store: MakeStore) -> None:
    with LlmServer(answer=only_about("berth 0.", says("no"))) as server:
        indexed = Indexed(make_store(dict(notes(3))), server)
        indexed.index(limit=1)
        server.requests.clear()
        indexed.index()
    assert [request.text.split(" at ")[1] for request in server.requests[:2]] == ["berth 1.", "berth 2."]


def test_a_hang_at_one_text_counts_against_that_text(make_store: MakeStore) -> None:
    with LlmServer(answer=only_about("gauges", Reply(hang=30.0))) as server:
        indexed = Indexed(make_store(TWO), server, read_seconds=0.2, deadline_seconds=0.6)
        report = indexed.index()
        assert (report.state, report.done, report.failed) == ("done", 1, 1)
        assert indexed.rows("select times, reason from failure") == [(1, "no answer in time")]


def test_an_endpoint_that_is_down_stops_the_run_and_counts_against_no_text(make_store: MakeStore) -> None:
    with LlmServer(answer=lambda request: fails(503, "maintenance")) as server:
        indexed = Indexed(make_store(dict(notes(9))), server)
        for _ in range(4):  # the whole day
            report = indexed.index()
            assert (report.state, report.done, report.failed, report.left) == ("failed", 0, 2, 8)
            assert (report.code, report.calls) == ("llm_unavailable", 10)
            assert "answers HTTP 503: maintenance" in (report.message or "")
        assert indexed.waits[:5] == [1.0, 2.0, 4.0, 8.0, 1.0]
        assert rows(indexed.store, "select * from failure") == []
        assert [run.state for run in indexed.store.runs.list()] == ["failed"] * 4
        server.answer = good
        assert (indexed.index().done, indexed.index().given_up) == (9, [])


def test_nothing_listens(make_store: MakeStore) -> None:
    with LlmServer() as server:
        indexed = Indexed(make_store(TWO), server)
    report = indexed.index()
    assert (report.state, report.code, report.done) == ("failed", "llm_unavailable", 0)
    assert "cannot be reached" in (report.message or "") and report.hint
    assert indexed.store.recall("gauges").hits[0].id == "user/a"


def test_an_endpoint_that_asks_for_an_hour_is_left_alone(make_store: MakeStore) -> None:
    with LlmServer(answer=lambda request: fails(429, "slow down", retry_after="3600")) as server:
        indexed = Indexed(make_store(TWO), server)
        report = indexed.index()
    assert (report.state, report.retry_after, indexed.asked, indexed.waits) == ("failed", 3600.0, 1, [])


@pytest.mark.parametrize(
    ("reply", "words"),
    [(QUOTA, "no credit or quota"), (BAD_KEY, "does not accept the API key"), (NO_MODEL, "has no model 'tiny'")],
)
def test_what_meets_every_text_stops_at_the_first(make_store: MakeStore, reply: Reply, words: str) -> None:
    with LlmServer(gives(NOTHING), reply, answer=good) as server:
        indexed = Indexed(make_store(dict(notes(5))), server)
        report = indexed.index()
        assert (report.state, report.code, report.done, report.failed) == ("failed", "llm_refused", 1, 1)
        assert words in (report.message or "")
        assert rows(indexed.store, "select * from failure") == []
        assert rows(indexed.store, "select * from claim") == []
        assert (indexed.index().done, indexed.asked) == (4, 6)


def test_a_model_that_never_answers_in_form_is_given_up(make_store: MakeStore) -> None:
    with LlmServer(answer=lambda request: says("no")) as server:
        indexed = Indexed(make_store(dict(notes(9))), server)
        report = indexed.index()
        assert (report.state, report.failed, report.left) == ("failed", extraction_runs.BREAKER, 5)
        assert report.code == "llm_bad_answer"


def test_a_credential_is_stopped_at_the_last_gate(make_store: MakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with LlmServer(answer=good) as server:
        indexed = Indexed(make_store(TWO), server)
        ask = indexed.llm.ask

        def watched(messages: Any, schema: Any) -> Any:
            if "gauges" in messages[-1]["content"]:
                raise SecretFound("The text for the language model holds a credential (key) and was not sent.")
            return ask(messages, schema)

        monkeypatch.setattr(indexed.llm, "ask", watched)
        report = indexed.index()
        assert (report.done, report.failed) == (1, 1)
        assert indexed.index().given_up == [("user/a", "the text holds a credential and is not sent")]


def test_what_failed_tries_used_up_is_counted(make_store: MakeStore) -> None:
    with LlmServer(answer=only_about("gauges", says("no", tokens=(50, 5)))) as server:
        indexed = Indexed(make_store(TWO), server)
        report = indexed.index()
    assert (report.input_tokens, report.output_tokens) == (150 + 100, 15 + 20)
    assert report.cost == pytest.approx((250 + 4 * 35) / 1e6)


def test_without_prices_the_cost_is_not_known(make_store: MakeStore) -> None:
    with LlmServer(answer=good) as server:
        indexed = Indexed(make_store(TWO), server, price_input=None, price_output=None)
        assert indexed.index().cost is None
    assert indexed.rows("select cost from run") == [(None,)]


# Interruption


@pytest.mark.skipif(os.name == "nt", reason="there, a process cannot send itself Ctrl-C")
def test_ctrl_c_keeps_what_was_answered(make_store: MakeStore) -> None:
    # A shell starts what runs in the background with Ctrl-C switched off.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def answer(request: Request) -> Reply:
        if "berth 2." in request.text:
            os.kill(os.getpid(), signal.SIGINT)
            return Reply(hang=5.0)
        return good(request)

    with LlmServer(answer=answer) as server:
        indexed = Indexed(make_store(dict(notes(5))), server)
        try:
            with pytest.raises(KeyboardInterrupt):
                indexed.index()
        finally:
            signal.signal(signal.SIGINT, before)
        (run,) = indexed.store.runs.list()
        assert (run.state, run.message, run.done) == ("stopped", "interrupted", 2)
        assert rows(indexed.store, "select * from claim") == []
        server.answer = good
        assert (indexed.index().done, indexed.asked) == (3, 6)
        live = indexed.store.digest()
        assert rebuilt(indexed.store) == live


@pytest.mark.parametrize("line", ["append", "after"])
def test_an_interruption_while_an_answer_is_written_loses_and_doubles_nothing(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    with LlmServer(answer=good) as server:
        indexed = Indexed(make_store(dict(notes(3))), server)
        from memdb.services.context import Context

        append, seen = Context.append, []

        def interrupted(self: Context, *records: Any) -> None:
            if records and records[0]["kind"] == "extraction" and not seen:
                seen.append(1)
                if line == "after":
                    self.journal.append(*records)
                raise KeyboardInterrupt
            append(self, *records)

        monkeypatch.setattr(Context, "append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            indexed.index()
        assert indexed.index().done == 2
        assert indexed.asked == 3
        lines = [json.loads(line) for file in indexed.store.place.journal.glob("*.jsonl") for line in file.open()]
        assert len([one for one in lines if one["kind"] == "extraction"]) == 3
        live = indexed.store.digest()
        assert rebuilt(indexed.store) == live


def test_a_run_that_is_asked_to_stop_ends_before_the_next_text(make_store: MakeStore) -> None:
    stop = threading.Event()

    def answer(request: Request) -> Reply:
        stop.set()
        return good(request)

    with LlmServer(answer=answer) as server:
        indexed = Indexed(make_store(dict(notes(3))), server)
        report = indexed.store._apart(lambda context: extraction_runs.index(context, llm=indexed.llm, stop=stop))
    assert (report.state, report.done, report.left, report.message) == ("stopped", 1, 2, "asked to stop")
