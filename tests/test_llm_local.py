"""End to end with a real model: its answers have the right form and pass the checks; what they say is not judged."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memdb.base.llm import Llm
from memdb.base.text import name_key
from memdb.domain.extraction import answer_model, messages, read_answer
from memdb.domain.extraction_names import Occurrences
from memdb.domain.vocabulary import Vocabulary
from tests import llm_local

pytestmark = [
    pytest.mark.llm,
    pytest.mark.slow,
    pytest.mark.skipif(llm_local.missing() is not None, reason=str(llm_local.missing())),
]

TEXTS = [
    "Ines Okafor moved the tide gauges from MySQL to Postgres in March, because Grafana reads it without a plugin.",
    "The harbour office in Gdynia closes at four on Fridays. Wojtek has the second key, the pilots the first.",
    "Deploy with `make release` from the ops-tools repository, then watch the canary on db-01.example.org for an hour.",
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    pytest.importorskip("instructor", reason="the extra `llm` is not installed")
    with llm_local.serving() as address:
        yield address


@pytest.mark.parametrize("text", TEXTS)
def test_a_real_model_answers_in_the_right_form(address: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    llm = Llm(llm_local.MODEL, address, price_input=0.1, price_output=0.4, **llm_local.PATIENCE)
    answer = llm.ask(messages(text, Vocabulary(), ["Postgres", "Gdynia"]), answer_model())
    assert answer.mode == "json_schema"
    assert {"entities", "relations"} <= set(answer.output) <= {"entities", "relations", "new_types", "new_predicates"}
    assert answer.input_tokens and answer.output_tokens and answer.cost
    read = read_answer(answer.output, text)
    assert len(read.mentions) <= 5
    assert all(Occurrences(text).has(mention.name) for mention in read.mentions)
    names = {name_key(mention.name) for mention in read.mentions}
    assert all({name_key(one.subject), name_key(one.object)} <= names for one in read.relations)
