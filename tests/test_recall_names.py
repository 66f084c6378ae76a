"""What a name in a question says for the text that bears it and for others, and when a question has no answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memdb.services.entities import naming
from memdb.services.recall import arms
from memdb.services.recall.answers import Filters
from memdb.store import Store

MakeStore = Callable[..., Store]

LAMPS = {
    "project/swamp-lantern.md": "A play by Ada Veldt, first shown in Ghent.\n",
    "project/sequel.md": "The Swamp Lantern came back to the stage as a musical.\n",
    "project/quay.md": "Who wrote to the harbour office was told to wait.\n",
    "user/ada.md": "Ada Veldt was born on the coast.\n",
}

QUESTION = "who wrote swamp lantern"


@pytest.fixture
def store(make_store: MakeStore, no_model: None) -> Store:
    made = make_store(LAMPS)
    made.sync()
    return made


def as_in_a_large_store(store: Store, question: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """The fused scores, measured against the other candidates: the vector arm is on and found nothing near."""
    context = store._context
    monkeypatch.setattr(arms, "POOL_TEXTS", 1)
    statement, values = arms.find(context, question, Filters(), ("keyword", "entity")).statements[-1]
    values |= {"vector_on": 1, "vector_share": arms.VECTOR_SHARE}
    return {row[0]: row[1] for row in arms.run(context.database, (statement, values))}


def test_words_of_a_borne_name_ask_for_the_text_that_bears_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = as_in_a_large_store(store, QUESTION, monkeypatch)
    monkeypatch.setattr(arms, "NAMES_TAKEN", False)
    given = as_in_a_large_store(store, QUESTION, monkeypatch)
    assert taken["project/swamp-lantern"] == given["project/swamp-lantern"]
    assert taken["project/sequel"] < given["project/sequel"]
    assert taken["project/quay"] == given["project/quay"]


def test_in_a_small_store_the_words_of_a_name_count_for_all(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = store.recall(QUESTION, hops=0).hits
    monkeypatch.setattr(arms, "NAMES_TAKEN", False)
    assert store.recall(QUESTION, hops=0).hits == taken


def test_a_name_that_no_text_bears_is_taken_by_none(store: Store) -> None:
    values = arms.find(store._context, "where was Ada Veldt born", Filters(), ("keyword", "entity")).statements[-1][1]
    assert values["bearers"] == "[]"
    assert '"veldt"' in values["terms"] and ", 1]" not in values["terms"]


def test_a_name_of_one_word_is_no_news_to_the_keyword_arm(
    make_store: MakeStore, no_model: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make_store(
        {
            "reference/heron.md": "The machine under the stairs.\n",
            "project/backup.md": "Every night Heron is copied.\n",
        }
    )
    store.sync()
    large = as_in_a_large_store(store, "what about Heron", monkeypatch)
    monkeypatch.setattr(arms, "ENTITY_WEIGHT", 0.0)
    without = as_in_a_large_store(store, "what about Heron", monkeypatch)
    assert large["project/backup"] == without["project/backup"]
    assert large["reference/heron"] > without["reference/heron"]


@pytest.mark.parametrize(
    ("question", "nearest", "answers"),
    [
        ("who had told us of violins and cellos", 0.36, False),  # near, but with few of its words
        ("who had told us of violins and cellos", 0.44, True),
        ("was told to wait", 0.2, True),  # all of its words
        ("what will become of Ada Veldt tomorrow morning", 0.2, False),  # two texts have that name, and that alone
        ("what will become of Ada Veldt tomorrow morning", 0.32, True),
    ],
)
def test_in_a_large_store_a_question_needs_reasons_enough(
    store: Store, monkeypatch: pytest.MonkeyPatch, question: str, nearest: float, answers: bool
) -> None:
    monkeypatch.setattr(arms, "POOL_TEXTS", 1)
    statement, values = arms.find(store._context, question, Filters(), ("keyword", "entity")).statements[-1]
    quay = store._context.database.value("select id from node where key = 'project/quay'")
    hits = f"[[{quay}, {nearest}]]"
    values |= {"vector_on": 1, "vector_share": arms.VECTOR_SHARE, "vector_floor": 0.18, "answer_floor": 0.344}
    values |= {"answer_words": 0.3, "answer_named": 0.1}
    values |= {"vector_hits": hits, "vector_weak": 0.09, "vector_mean": 0.1}
    found = arms.run(store._context.database, (statement, values))
    assert bool(found) is answers
    values["pool_texts"] = 1_000_000
    assert arms.run(store._context.database, (statement, values))


def test_a_title_that_goes_on_in_brackets_is_told_from_its_namesakes(
    make_store: MakeStore, no_model: None, tmp_path: Path
) -> None:
    rows = [
        {"id": year, "title": f"Swamp Lantern ({year} film)", "text": f"Swamp Lantern was shown in {town}."}
        for year, town in (("1922", "Ghent"), ("1936", "Tarn"), ("1981", "Varde"))
    ]
    file = tmp_path / "films.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    store = make_store()
    store.add([file])
    [(asked,)] = store._context.database.rows("select id from chunk where record_id = '1936'")
    database = store._context.database
    assert naming.named(database, "who made SWAMP LANTERN (1936 Film)?")[1] == [(asked, 1.0)]
    assert naming.named(database, "who made Swamp Lantern (1937 film)?")[1] == []
    assert naming.named(database, "who made Swamp Lantern [1936 film")[1] == []
    assert naming.named(database, "Swamp Lantern and other stories (1936 film)")[1] == []
    assert naming.named(database, "who made Swamp Lantern?")[1] == []
    assert store.recall("where was swamp lantern (1981 film) shown").hits[0].citation.record_id == "1981"  # type: ignore[union-attr]


def test_a_title_of_function_words_is_asked_for_as_it_is_spelled(make_store: MakeStore, no_model: None) -> None:
    store = make_store({"project/song.md": "---\nname: I Like Only You\n---\nA play, first shown in Ghent.\n"})
    store.sync()
    [(node,)] = store._context.database.rows("select id from memory")
    assert naming.named(store._context.database, "who directed I Like Only You")[1] == [(node, 1.0)]
    assert naming.named(store._context.database, "i like only you")[1] == []


def test_behind_a_rank_a_person_is_known_too(make_store: MakeStore, no_model: None) -> None:
    store = make_store(
        {
            "user/eric.md": "---\nname: Eric XIV of Tarn\n---\nHe built the harbour.\n",
            "user/sigrid.md": "She is a daughter of King Eric XIV of Tarn.\n",
            "user/karin.md": "She met King Eric XIV of Tarn in Ghent.\n",
        }
    )
    store.sync()
    rows = store._context.database.rows("select source, entity from mentions where entity like '%eric%' order by 1, 2")
    assert ("user/sigrid", "entity:eric xiv of tarn") in rows
    assert ("user/sigrid", "entity:king eric xiv of tarn") in rows


def test_what_stands_behind_a_name_is_read_no_further_than_its_brackets(
    make_store: MakeStore, no_model: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "films.jsonl"
    file.write_text(
        '{"id": "1", "title": "Swamp Lantern (film)", "text": "It was shown in Ghent."}\n', encoding="utf-8"
    )
    store = make_store()
    store.add([file])
    asked: list[str] = []
    fold = naming.gazetteer.match_key
    monkeypatch.setattr(naming.gazetteer, "match_key", lambda name: asked.append(name) or fold(name))
    naming.named(store._context.database, "Swamp Lantern is long " * 200 + "Swamp Lantern (film)")
    # The question itself is folded once, where it names nothing, to be compared with names that are nearly so.
    assert sum(len(name) > 100 for name in asked) <= 1


def test_a_document_that_lost_its_title_meanwhile_is_no_fault(
    make_store: MakeStore, no_model: None, tmp_path: Path
) -> None:
    file = tmp_path / "film.md"
    file.write_text("# Swamp Lantern\n\nIt was shown in Ghent.\n", encoding="utf-8")
    store = make_store()
    store.add([file])
    database = store._context.database
    assert database.rows("select 1 from known_name where source = 'title' and match_key = 'swamp lantern'")
    with database.write() as connection:
        connection.execute("update document set title = null")
        connection.execute("update chunk set title = null")
    naming.named(database, "who made Swamp Lantern (1936 film)?")
    assert store.recall("who made Swamp Lantern (1936 film)?", sync_first=False) is not None
