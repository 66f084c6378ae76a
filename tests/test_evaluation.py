"""The figures of an evaluation, from single rankings to whole stores."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import log2
from pathlib import Path
from typing import Any

import pytest

from memdb.errors import NotFound, UsageError
from memdb.services.recall.answers import Filters
from memdb.services.recall.evaluation import Question, Score, metrics, question, read_questions
from memdb.store import Store
from tests.fake_embedder import FakeEmbedder

MakeStore = Callable[..., Store]

SECOND, THIRD = 1 / log2(3), 1 / log2(4)


@pytest.mark.parametrize(
    ("found", "gold", "expected"),
    [
        ("a", "a", {"R@1": 1, "R@2": 1, "all-gold@5": 1, "nDCG@10": 1, "MRR": 1}),
        ("-a", "a", {"R@1": 0, "R@2": 1, "all-gold@5": 1, "nDCG@10": SECOND, "MRR": 0.5}),
        ("", "a", {"R@1": 0, "R@2": 0, "all-gold@5": 0, "nDCG@10": 0, "MRR": 0}),
        ("---", "a", {"R@1": 0, "R@2": 0, "all-gold@5": 0, "nDCG@10": 0, "MRR": 0}),
        ("ab", "ab", {"R@1": 0.5, "R@2": 1, "all-gold@5": 1, "nDCG@10": 1, "MRR": 1}),
        ("a-b", "ab", {"R@1": 0.5, "R@2": 0.5, "all-gold@5": 1, "nDCG@10": (1 + THIRD) / (1 + SECOND), "MRR": 1}),
        (
            "a----b",
            "ab",
            {"R@1": 0.5, "R@2": 0.5, "all-gold@5": 0, "nDCG@10": (1 + 1 / log2(7)) / (1 + SECOND), "MRR": 1},
        ),
        (
            "a",
            "abcd",
            {"R@1": 0.25, "R@2": 0.25, "all-gold@5": 0, "nDCG@10": 1 / (1 + SECOND + THIRD + 1 / log2(5)), "MRR": 1},
        ),
        ("----------a", "a", {"R@1": 0, "R@2": 0, "all-gold@5": 0, "nDCG@10": 0, "MRR": 1 / 11}),
    ],
)
def test_metrics_of_one_ranking(found: str, gold: str, expected: dict[str, float]) -> None:
    ranking = [frozenset() if name == "-" else frozenset(name) for name in found]
    assert metrics(ranking, list(gold), (1, 2)) == pytest.approx(expected)


@pytest.mark.parametrize(("found", "expected"), [("", 1), ("-", 0)])
def test_without_gold_only_silence_is_right(found: str, expected: float) -> None:
    assert metrics([frozenset() for _ in found], [], (1, 2)) == {"unanswered": expected}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"question": "q", "gold": ["a", "b", "a"]}, Question(4, "q", ("a", "b"))),
        ({"question": "q", "gold": "a"}, Question(4, "q", ("a",))),
        ({"question": "q", "gold": [17]}, Question(4, "q", ("17",))),
        ({"question": "q", "gold": []}, Question(4, "q", ())),
        ({"question": "q", "gold": [], "id": 3, "category": "c", "x": 1}, Question(4, "q", (), "3", "c")),
        ({"question": "q", "gold": [], "type": "t"}, Question(4, "q", (), None, "t")),
        (
            {"question": "q", "gold": [], "filter": {"types": "user", "tags": ["a", "b"], "since": "2026"}},
            Question(4, "q", (), filters=Filters(("user",), ("a", "b"), None, "2026")),
        ),
        (
            {"question": "q", "gold": [], "filter": {"kinds": ["chunk"], "document": "document:a", "as_of": "2026"}},
            Question(4, "q", (), filters=Filters(as_of="2026", kinds=("chunk",), document="document:a")),
        ),
    ],
)
def test_a_question(value: dict[str, Any], expected: Question) -> None:
    assert question(value, 4) == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "Line 3 of q.jsonl is not JSON: Expecting property name enclosed in double quotes."),
        ("[1]", "Line 3 of q.jsonl is no object."),
        ('{"gold": []}', "Line 3 of q.jsonl: `question` has to be a text."),
        ('{"question": " ", "gold": []}', "Line 3 of q.jsonl: `question` has to be a text."),
        ('{"question": "q"}', "Line 3 of q.jsonl: `gold` has to be a list of ids."),
        ('{"question": "q", "gold": {"a": 1}}', "Line 3 of q.jsonl: `gold` has to be a list of ids."),
        ('{"question": "q", "gold": [""]}', "Line 3 of q.jsonl: `gold` has to be a list of ids."),
        ('{"question": "q", "gold": [], "filter": []}', None),
        ('{"question": "q", "gold": [], "filter": [1]}', "Line 3 of q.jsonl: `filter` has to be an object."),
        (
            '{"question": "q", "gold": [], "filter": {"tags": 1}}',
            "Line 3 of q.jsonl: `tags` of `filter` has to be a list of texts.",
        ),
        (
            '{"question": "q", "gold": [], "filter": {"path": 1}}',
            "Line 3 of q.jsonl: `path` of `filter` has to be a text.",
        ),
        (
            '{"question": "q", "gold": [], "filter": {"kind": 1}}',
            "Line 3 of q.jsonl: `filter` has no `kind`;"
            " it has types, tags, kinds, path, since, until, as_of, document.",
        ),
    ],
)
def test_a_line_that_does_not_fit_is_named(tmp_path: Path, line: str, message: str | None) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text('\ufeff{"question": "q", "gold": []}\n\n' + line + "\n", encoding="utf-8")
    if message is None:
        assert len(read_questions(file)) == 2
        return
    with pytest.raises(UsageError) as error:
        read_questions(file)
    assert error.value.message == message
    assert error.value.hint is not None


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_questions(tmp_path / "q.jsonl")
    (tmp_path / "q.jsonl").write_bytes(b"\n\n")
    with pytest.raises(UsageError, match=r"has no questions\.$"):
        read_questions(tmp_path / "q.jsonl")
    (tmp_path / "q.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="cannot be read"):
        read_questions(tmp_path / "q.jsonl")


FRUIT = {
    "project/apple.md": "The apple tree stands by the gate.\n",
    "project/pear.md": "The pear tree is old; see [[plum]].\n",
    "reference/plum.md": "Purple and sweet.\n",
}

QUESTIONS: list[dict[str, Any]] = [
    {"question": "apple gate", "gold": ["project/apple"], "category": "one"},
    {"question": "old pear", "gold": ["project/pear", "reference/plum"], "category": "two"},
    {"question": "zebra", "gold": [], "category": "none"},
    {"question": "pear", "gold": [], "category": "none"},
]


def test_the_arms_of_a_small_store(make_store: MakeStore, no_model: None) -> None:
    found = make_store(FRUIT).evaluate(QUESTIONS, k=[1, 2])
    assert (found.questions, found.without_gold, found.k, found.unknown_gold) == (4, 2, (1, 2), [])
    assert {name: scores.state for name, scores in found.configurations.items()} == {
        "vector": "off",
        "keyword": "on",
        "entity": "on",
        "fusion": "on",
        "cascade": "on",
    }
    assert found.configurations["vector"].reason == "Embeddings are switched off."
    keyword, cascade = found.configurations["keyword"], found.configurations["cascade"]
    second = round((1 + 1 / (1 + SECOND)) / 2, 6)
    # One question is whole; of the other, the second memory is reached by its link alone.
    assert {name: score.value for name, score in keyword.scores.items()} == {
        "R@1": 0.75,
        "R@2": 0.75,
        "all-gold@5": 0.5,
        "nDCG@10": second,
        "MRR": 1.0,
        "unanswered": 0.5,
    }
    assert {name: score.value for name, score in cascade.scores.items()} == {
        "R@1": 0.75,
        "R@2": 1.0,
        "all-gold@5": 1.0,
        "nDCG@10": 1.0,
        "MRR": 1.0,
        "unanswered": 0.5,
    }
    assert found.configurations["fusion"].scores == keyword.scores
    assert keyword.scores["R@1"] == Score(0.75, 0.5, 1.0)
    assert keyword.scores["MRR"] == Score(1.0, 1.0, 1.0)
    assert list(keyword.categories) == ["none", "one", "two"]
    assert keyword.categories["two"].questions == 1
    assert keyword.categories["two"].scores["R@2"] == 0.5
    assert keyword.categories["none"].scores == {"unanswered": 0.5}


def test_a_question_is_embedded_once(make_store: MakeStore, tmp_path: Path) -> None:
    asked: list[str] = []

    class Counting(FakeEmbedder):
        def embed_query(self, text: str) -> Any:
            asked.append(text)
            return super().embed_query(text)

    root = make_store(FRUIT, sync=False).place.root
    embedder = Counting(meanings={"orchard": "tree"})
    with Store.init(root, embedder=embedder) as store:
        store.sync()
        found = store.evaluate([{"question": "orchard", "gold": ["project/apple", "project/pear"]}, *QUESTIONS])
        assert asked == ["orchard", "apple gate", "old pear", "zebra", "pear"]
        # The store's own embedder is back.
        store.recall("orchard")
        assert asked[-1] == "orchard"
    assert found.configurations["vector"].state == "on"
    assert found.configurations["vector"].scores["R@5"].value > found.configurations["keyword"].scores["R@5"].value


def test_the_worst_misses_come_first_with_what_came_instead(make_store: MakeStore, no_model: None) -> None:
    found = make_store(FRUIT).evaluate(
        [
            {"question": "pear", "gold": ["project/pear", "project/apple"]},
            {"question": "plum", "gold": ["project/apple"], "id": "x", "category": "c"},
            {"question": "apple", "gold": ["project/apple"]},
        ]
    )
    assert [(miss.line, miss.id, miss.category, miss.missing) for miss in found.misses] == [
        (2, "x", "c", ("project/apple",)),
        (1, None, None, ("project/apple",)),
    ]
    assert [hit.id for hit in found.misses[0].returned] == ["reference/plum", "project/pear"]
    assert found.misses[0].ndcg == 0


def test_only_ten_misses_are_told(make_store: MakeStore, no_model: None) -> None:
    found = make_store(FRUIT).evaluate([{"question": "zebra", "gold": ["project/pear"]}] * 12)
    assert [miss.line for miss in found.misses] == [*range(1, 11)]


def test_filters_hold(make_store: MakeStore, no_model: None) -> None:
    found = make_store(FRUIT).evaluate(
        [{"question": "plum", "gold": [], "filter": {"types": ["user"]}}, {"question": "plum", "gold": []}]
    )
    assert found.configurations["cascade"].scores["unanswered"].value == 0.5


def test_gold_that_the_store_does_not_have_is_named(make_store: MakeStore, no_model: None) -> None:
    found = make_store(FRUIT).evaluate([QUESTIONS[0], {"question": "x", "gold": ["project/appel", "project/pear"]}])
    assert found.unknown_gold == [(2, "project/appel")]


@pytest.fixture
def shelf(make_store: MakeStore, no_model: None, tmp_path: Path) -> Store:
    """Two records, the first of several chunks."""
    long = " ".join(f"The harbour of sentence {number} is calm." for number in range(120))
    rows = [{"id": "r1", "text": long}, {"id": "r2", "text": "A harbour in the south."}]
    file = tmp_path / "shelf.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    store = make_store()
    store.add([file])
    return store


def test_a_record_of_several_chunks_counts_once(shelf: Store) -> None:
    assert len(shelf.documents.chunks(shelf.documents.list()[0].id)) > 3
    found = shelf.evaluate([{"question": "harbour", "gold": ["r1", "r2"]}], k=[1, 2])
    assert found.configurations["keyword"].scores["R@2"].value == 1.0
    assert found.unknown_gold == []


def test_gold_may_name_chunks_and_documents(shelf: Store) -> None:
    document = shelf.documents.list()[0].id
    first, *_, last = [chunk.id for chunk in shelf.documents.chunks(document)]
    hits = [hit.id for hit in shelf.recall("harbour", limit=100).hits]
    [best] = [hit for hit in hits if hit != last]  # of the parts of the first record
    found = shelf.evaluate(
        [{"question": "harbour", "gold": [document]}, {"question": "harbour", "gold": [best, last]}], k=[100]
    )
    assert best.startswith(first)
    assert found.unknown_gold == []
    assert found.configurations["keyword"].scores["R@100"].value == 1.0
    assert found.configurations["keyword"].scores["MRR"].value == 1.0


@pytest.mark.parametrize(
    ("k", "message"),
    [([0], "k is 0; give numbers from 1 to 100."), ([5, 101], "k is 5, 101; give numbers from 1 to 100.")],
)
def test_a_bad_k(make_store: MakeStore, no_model: None, k: list[int], message: str) -> None:
    with pytest.raises(UsageError) as error:
        make_store(FRUIT).evaluate(QUESTIONS, k=k)
    assert error.value.message == message


def test_no_questions(make_store: MakeStore, no_model: None) -> None:
    with pytest.raises(UsageError):
        make_store(FRUIT).evaluate([])


def test_the_same_questions_have_the_same_figures(make_store: MakeStore, no_model: None) -> None:
    store = make_store(FRUIT)
    assert store.evaluate(QUESTIONS) == store.evaluate(QUESTIONS)
