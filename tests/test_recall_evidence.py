"""What a path says of the text that it leads to: how near the text itself lies, and what else speaks for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memdb.services.recall import arms
from memdb.services.recall import recall as recalling
from memdb.services.recall.answers import Filters, Hit
from memdb.services.recall.arms import Pool
from memdb.services.recall.recall import Hop
from memdb.store import Store
from tests.fake_embedder import FakeEmbedder
from tests.graph_support import add_graph

MakeStore = Callable[..., Store]

LINKED = [("user/a", "links_to", "user/near"), ("user/a", "links_to", "user/far")]


def walked(store: Store, pool: Pool, *, paths: str = "evidence") -> dict[str, Hit]:
    statement = recalling._walk(store._context.database, pool, limit=50, hops=2, paths=paths)
    return {row[0]: recalling._hit(row, pool) for row in arms.run(store._context.database, statement)}


def pool_of(largeness: float = 0.0, closeness: tuple[tuple[str, float], ...] = (), **scores: float) -> Pool:
    return Pool(
        {f"user/{name}": score for name, score in scores.items()},
        largeness=largeness,
        closeness=list(closeness),
        distant=0.5 if closeness else 1.0,
    )


@pytest.fixture
def linked(make_store: MakeStore, no_model: None) -> Store:
    store = make_store()
    with store._context.database.write():
        add_graph(store._context.database, LINKED)
    return store


def test_odds_of_a_path_are_multiplied_by_the_closeness_of_the_text(linked: Store) -> None:
    hits = walked(linked, pool_of(a=1.0, closeness=(("user/a", 3.0), ("user/near", 2.0))))
    # 0.49 / 0.51 twice, and half of it: nothing is known of the other one but that it lies farther off.
    assert {key: hit.score for key, hit in hits.items()} == {
        "user/a": 1.0,
        "user/near": 0.657718120805,
        "user/far": 0.324503311258,
    }
    assert hits["user/near"].path == (
        Hop("user/a", None, None, 1.0),
        Hop("user/near", "links_to", 0.7, 0.657718120805, 2.0),
    )
    assert hits["user/far"].path[-1].closeness == 0.5
    assert hits["user/a"].path == (Hop("user/a", None, None, 1.0),)


@pytest.mark.parametrize("paths", recalling.PATHS)
def test_a_path_that_is_no_better_leaves_a_text_its_own_trail(linked: Store, paths: str) -> None:
    # The path to each of the two has 0.49: as much as the one has itself, and less than the other.
    hits = walked(linked, pool_of(a=1.0, near=0.6, far=0.49), paths=paths)
    assert hits["user/near"].path == (Hop("user/near", None, None, 0.6),)
    assert hits["user/far"].path == (Hop("user/far", None, None, 0.49),)
    lifted = (0.796, 0.7399) if paths == "evidence" else (0.6, 0.49)
    assert (hits["user/near"].score, hits["user/far"].score) == lifted
    hits = walked(linked, pool_of(a=1.0, near=0.48, other=0.3), paths=paths)
    assert [hop.node for hop in hits["user/near"].path] == ["user/a", "user/near"]
    assert hits["user/near"].path[-1].score == 0.49


def test_only_the_text_that_a_path_ends_at_is_weighed(make_store: MakeStore, no_model: None) -> None:
    store = make_store()
    with store._context.database.write():
        add_graph(store._context.database, [("user/a", "links_to", "user/way"), ("user/way", "links_to", "user/goal")])
    hits = walked(store, pool_of(a=1.0, closeness=(("user/way", 9.0), ("user/goal", 1.0))))
    assert hits["user/goal"].score == 0.2401
    assert hits["user/goal"].path[1:] == (
        Hop("user/way", "links_to", 0.7, 0.49),
        Hop("user/goal", "links_to", 0.7, 0.2401),
    )


def test_where_the_best_path_alone_counts_closeness_says_nothing(linked: Store) -> None:
    pool = pool_of(a=1.0, closeness=(("user/near", 2.0),))
    hits = walked(linked, pool, paths="best")
    assert {key: hit.score for key, hit in hits.items()} == {"user/a": 1.0, "user/near": 0.49, "user/far": 0.49}
    assert hits["user/near"].path[-1].closeness is None


def test_closeness_is_measured_against_the_other_hits(monkeypatch: pytest.MonkeyPatch) -> None:
    # Mean 0.113 and deviation 0.109 with thirty unrelated texts at 0.1: the first lies 3.5 above, which
    # counts as half of one.
    hits = [("user/a", 0.5), ("user/b", 0.1)]
    assert arms.closeness(hits, 1.0, 0.1) == ([("user/a", 1.221402758), ("user/b", 0.95531487)], 1.0)
    assert arms.closeness(hits[::-1], 1.0, 0.1)[0] == [("user/b", 0.95531487), ("user/a", 1.221402758)]
    monkeypatch.setattr(arms, "POOL", 2)
    assert arms.closeness(hits, 1.0, 0.1)[1] == 0.95531487


@pytest.mark.parametrize(("hits", "largeness"), [([], 1.0), ([("user/a", 0.5)], 0.0)])
def test_in_a_small_store_and_without_a_model_paths_are_as_they_are(
    hits: list[tuple[str, float]], largeness: float
) -> None:
    assert arms.closeness(hits, largeness, 0.1) == ([], 1.0)


TEXTS = {
    "project/pump.md": "The pump of the greenhouse failed at noon. See [[gauge]] and [[invoice]].\n",
    "project/gauge.md": "Pressure readings of greenhouse pump failures.\n",
    "project/invoice.md": "Paid in March.\n",
}


def test_a_recall_shows_the_factor_and_gives_the_same_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arms, "POOL_TEXTS", 1)
    answers = []
    for name, order in (("one", list(TEXTS)), ("two", list(TEXTS)[::-1])):
        with Store.init(tmp_path / name, embedder=FakeEmbedder()) as store:
            for key in order:
                (tmp_path / name / key).parent.mkdir(exist_ok=True)
                (tmp_path / name / key).write_text(TEXTS[key], encoding="utf-8")
                store.sync()
            answers.append({hit.id: hit for hit in store.recall("greenhouse pump failed", limit=3).hits})
            statements = store.recall_sql("greenhouse pump failed", limit=3)
    assert answers[0] == answers[1]
    last = answers[0]["project/invoice"].path[-1]
    assert last.edge == "links_to" and last.closeness is not None and last.closeness < 1
    assert f'"project/invoice": {last.closeness}' in statements


def test_an_entity_in_common_is_a_third_of_a_reason_in_a_large_store(make_store: MakeStore, no_model: None) -> None:
    store = make_store()
    edges = [("user/a", "mentions", "entity:x"), ("user/b", "mentions", "entity:x"), ("user/a", "links_to", "user/c")]
    with store._context.database.write():
        add_graph(store._context.database, edges)
    small, large = (walked(store, pool_of(share, a=1.0, b=0.6, c=0.6)) for share in (0.0, 1.0))
    # 1 - 0.4 * 0.51, and 1 - 0.4 * (1 - 0.49 * 0.35); a link is a reason of its own.
    assert (small["user/b"].score, small["user/c"].score) == (0.796, 0.796)
    assert (large["user/b"].score, large["user/c"].score) == (0.6686, 0.796)
    # It never says less than the path alone.
    assert walked(store, pool_of(1.0, a=1.0, b=0.1))["user/b"].score == 0.49


def test_parts_of_one_record_are_no_two_reasons(make_store: MakeStore, no_model: None, tmp_path: Path) -> None:
    store = make_store()
    records = [{"id": f"r{at}", "text": f"The tide table of harbour {at}. " * 90} for at in range(2)]
    file = tmp_path / "tides.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    store.add([file])
    rows = store._context.database.rows("select key, record_id from chunk join node using (id) order by chunk.id")
    first, second = [key for key, record in rows if record == "r0"][:2]
    # A seed of 0.5 starts with 0.5 * 0.5 / 0.6 in a small store.
    for largeness, score in ((1.0, 0.6), (0.0, 1 - 0.4 * (1 - 0.5 * 0.5 / 0.6 * 0.8 * 0.7))):
        pool = Pool({first: 0.6, second: 0.5}, largeness=largeness)
        assert {key: hit.score for key, hit in walked(store, pool).items() if "#r0" in key} == {
            first: pytest.approx(score)
        }


def test_a_record_is_one_answer_however_many_parts_it_has(
    make_store: MakeStore, no_model: None, tmp_path: Path
) -> None:
    store = make_store()
    rows = [{"id": "long", "text": "\n\n".join(f"Ferry {at} of the tide table. " * 30 for at in range(12))}]
    rows += [{"id": "twin", "text": f"The tide table of harbour {at}."} for at in range(2)]
    rows += [{"id": f"r{at}", "text": f"A tide table, {at}."} for at in range(4)]
    file = tmp_path / "tides.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    store.add([file])
    stored = store._context.database.rows("select key, record_id from chunk join node using (id) order by ordinal")
    parts = [key for key, record in stored if record == "long"]
    assert len(parts) > 8
    # All parts but the last rank above everything else, and the last but one best of all.
    pool = Pool({key: 0.9 + 0.001 * at for at, key in enumerate(parts[:-1])})
    pool.found |= {f"document:{file.as_posix()}#{name}": 0.5 for name in ("twin", "twin~" + str(len(parts) + 2))}
    pool.found |= {f"document:{file.as_posix()}#r{at}": 0.3 - 0.01 * at for at in range(4)}
    statement = recalling._walk(store._context.database, pool, limit=5, hops=0)
    hits = [row[0].rpartition("#")[2] for row in arms.run(store._context.database, statement)]
    best = parts[-2].rpartition("#")[2]
    # Two lines of one id are two records, of which none is dropped.
    assert hits == [best, "twin", f"twin~{len(parts) + 2}", "r0", "r1"]
    assert [hit.citation.record_id for hit in store.recall("tide table", limit=7).hits if hit.citation].count(
        "long"
    ) == 1


def test_records_of_one_id_in_one_line_are_two(make_store: MakeStore, no_model: None, tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    rows = {
        "users": [{"id": 1, "text": "a gondola by the harbour"}],
        "posts": [{"id": 1, "text": "a zeppelin, harbour"}],
    }
    file.write_text(json.dumps(rows), encoding="utf-8")
    store = make_store()
    store.add([file])
    assert store._context.database.value("select count(*) from chunk") == 2
    assert len(store.recall("harbour").hits) == 2


LAMPS = {
    "project/swamp-lantern.md": "A play, first shown in Ghent.\n",
    "project/lantern.md": "Which swamp it was is not known: a lantern in the swamp.\n",
    "user/ada.md": "She was born on the coast.\n",
}


def test_a_whole_title_in_the_question_asks_for_its_text(
    make_store: MakeStore, no_model: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make_store(
        {**LAMPS, "user/ben.md": "He knows Ada Veldt well.\n", "user/eve.md": "Ada Veldt is her aunt.\n"}
    )
    store.sync()
    monkeypatch.setattr(arms, "POOL_TEXTS", 1)
    found = {}
    for weight in (0.0, 0.8):
        monkeypatch.setattr(arms, "TITLE_WEIGHT", weight)
        pool = arms.find(store._context, "when was Swamp Lantern shown", Filters(), ("keyword", "entity"))
        found[weight] = pool.found
        assert "entity" in pool.said("project/swamp-lantern")
    before = found[0.0]["project/swamp-lantern"]
    assert found[0.8]["project/swamp-lantern"] == pytest.approx(1 - (1 - before) * 0.2)
    assert found[0.8]["project/lantern"] == found[0.0]["project/lantern"]


def test_a_title_that_others_mention_is_an_entity(make_store: MakeStore, no_model: None) -> None:
    store = make_store({**LAMPS, "user/ben.md": "He saw the Swamp Lantern twice.\n"})
    store.sync()
    values = arms.find(store._context, "when was Swamp Lantern shown", Filters(), ("entity",)).statements[-1][1]
    assert values["titled"] == "[]" and values["entities"] != "[]"
