"""End to end with a real, small model: twenty texts are indexed, and once is enough; what it says is not judged."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from memdb.base.llm import Llm
from memdb.domain.extraction import answer_model
from memdb.domain.extraction_names import Occurrences
from memdb.store import Store
from tests import llm_local
from tests.index_support import rebuilt, rows

pytestmark = [
    pytest.mark.llm,
    pytest.mark.slow,
    pytest.mark.usefixtures("no_model"),
    pytest.mark.skipif(llm_local.missing() is not None, reason=str(llm_local.missing())),
]

TEXTS = (
    "Marta Lindqvist runs the night shift at Korsvik Ferries.",
    "The ticket office in Malmo moved to Postgres in May.",
    "Tomas Reyes wrote the pager script in Go.",
    "Grafana shows the water level of the Brenta.",
    "Aiko Tanaka attended the harbour congress in Lisbon.",
    "The Heron survey depends on the buoys of Lake Vattern.",
    "Backups of db-02 go to the vault in Uppsala.",
    "Priya Nair works at Meridian Robotics since April.",
    "The choir rehearses in St. Olaf on Tuesdays.",
    "Redis keeps the sessions of the booking page.",
    "Wojtek repaired the crane in Gdynia with Piotr.",
    "The Tern project uses Rust and a little Lua.",
    "Dr. Osei prefers tea from Assam in the morning.",
    "Our landlord is called Benedek Farkas.",
    "The library of Ghent lends maps of the Scheldt.",
    "Kubernetes restarts the importer when memory runs out.",
    "Lena plays the viola in the Riverside Quartet.",
    "The ferry Saltholm leaves Dragor at six.",
    "Nobody touches the staging database on Fridays.",
    "Ansible installs the certificates on every host.",
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    pytest.importorskip("instructor", reason="the extra `llm` is not installed")
    with llm_local.serving() as address:
        yield address


def test_a_real_model_indexes_real_texts_once(address: str, make_store: Callable[..., Store]) -> None:
    store = make_store({f"episode/day-{at:02}.md": text for at, text in enumerate(TEXTS)})
    llm = Llm(llm_local.MODEL, address, price_input=0.1, price_output=0.4, **llm_local.PATIENCE)
    report = store.index(llm=llm)
    assert (report.state, report.done, report.failed, report.left) == ("done", 20, 0, 0)
    assert report.input_tokens > 20 * 100 and report.output_tokens > 20 and report.cost
    outputs = [json.loads(output) for (output,) in rows(store, "select output from extraction")]
    assert len(outputs) == 20
    for output in outputs:
        answer_model().model_validate(output)
    assert rows(store, "select count(*) from memory where indexed_at is null") == [(0,)]
    # What stands in the graph stands in the texts.
    for key, name in rows(
        store, "select node.key, mention.name from mention join node on node.id = node_id where origin = 'model'"
    ):
        assert Occurrences(f"{key.partition('/')[2]}\n{TEXTS[int(key[-2:])]}").has(name), (key, name)
    again = store.index(llm=Llm(llm_local.MODEL, address))
    assert (again.id, again.calls) == (None, 0)
    live = store.digest()
    assert rebuilt(store) == live
