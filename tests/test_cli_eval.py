"""`memdb eval`, and the corpora of the quality bench as documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench import quality
from tests.cli_support import make, memdb

pytestmark = pytest.mark.usefixtures("no_model")


def write(tmp_path: Path, *rows: dict[str, Any] | str) -> Path:
    file = tmp_path / "questions.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


TABLES = {"question": "Prefers tables", "gold": ["feedback/prefers-tables"], "category": "style"}
VERDICT = {"question": "verdict", "gold": ["feedback/response-style", "feedback/gone"], "category": "style"}


def test_the_table(tmp_path: Path) -> None:
    root = make(tmp_path / "root")
    file = write(tmp_path, TABLES, VERDICT, {"question": "zebra", "gold": []})
    answer = memdb("--root", root, "eval", file, "--k", "1,5")
    assert answer.code == 0
    lines = [line.split() for line in answer.out.splitlines()]
    half = ["75.0", "(50.0-100.0)"]
    assert lines[:3] == [["FIGURE", "KEYWORD", "FUSION", "CASCADE"], ["R@1", *half * 3], ["R@5", *half * 3]]
    assert [line[0] for line in lines[3:7]] == ["all-gold@5", "nDCG@10", "MRR", "unanswered"]
    assert lines[6][1:3] == ["100.0", "(100.0-100.0)"]
    assert lines[8:10] == [
        ["R@5", "BY", "CATEGORY", "QUESTIONS", "KEYWORD", "FUSION", "CASCADE"],
        ["style", "2", "75.0", "75.0", "75.0"],
    ]
    assert answer.out.endswith(
        "Worst misses, with what came instead:\n"
        "line 2  verdict\n"
        "  missing  feedback/gone\n"
        "  0.77     feedback/response-style  response-style\n"
        "  0.24     feedback/prefers-tables  prefers-tables\n"
    )
    assert answer.err.splitlines() == [
        "vector is off: Embeddings are switched off.",
        "entity is off: the store has no entities yet",
        "line 2: the store has no feedback/gone",
        "3 questions, 1 of them without gold; 95 % intervals in brackets.",
    ]


def test_json(tmp_path: Path) -> None:
    root = make(tmp_path / "root")
    answer = memdb("--root", root, "eval", write(tmp_path, TABLES, VERDICT), "--json")
    assert answer.code == 0
    shape = answer.json
    assert list(shape) == ["questions", "without_gold", "k", "configurations", "misses", "unknown_gold", "notes"]
    assert shape["k"] == [2, 5, 10, 20]
    assert shape["unknown_gold"] == [{"line": 2, "id": "feedback/gone"}]
    assert list(shape["configurations"]) == ["vector", "keyword", "entity", "fusion", "cascade"]
    assert shape["configurations"]["keyword"]["scores"]["R@2"] == {"value": 0.75, "low": 0.5, "high": 1.0}
    assert shape["misses"][0]["missing"] == ["feedback/gone"]


@pytest.mark.parametrize(
    ("rows", "words", "code", "message"),
    [
        ((TABLES, "{"), (), 2, "Line 2 of questions.jsonl is not JSON"),
        ((TABLES, {"question": "q"}), (), 2, "Line 2 of questions.jsonl: `gold` has to be a list of ids."),
        ((TABLES,), ("--k", "a"), 2, "--k is 'a'."),
        ((TABLES,), ("--k", "0"), 2, "k is 0; give numbers from 1 to 100."),
    ],
)
def test_what_does_not_fit(tmp_path: Path, rows: Any, words: tuple[str, ...], code: int, message: str) -> None:
    root = make(tmp_path / "root")
    answer = memdb("--root", root, "eval", write(tmp_path, *rows), *words)
    assert (answer.code, answer.out) == (code, "")
    assert message in answer.err


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    answer = memdb("--root", make(tmp_path / "root"), "eval", tmp_path / "none.jsonl")
    assert answer.code == 3
    assert "There is no file" in answer.err


def suite_files(tmp_path: Path) -> None:
    """Suites of a few lines in the shapes of the real ones, in our own words."""
    passage = {"id": "7", "title": "Old mill", "text": "The mill grinds rye."}
    files = {
        "2wiki": {"corpus": [passage], "queries": [{"id": "a", "type": "t", "question": "rye mill", "gold": ["7"]}]},
        "scifact": {
            "corpus": [{"_id": "7", "title": "Old mill", "text": "The mill grinds rye.", "metadata": {}}],
            "queries": [{"_id": "1", "text": "Rye is ground."}, {"_id": "2", "text": "unjudged"}],
        },
        "locomo": {
            "corpus": [
                {
                    "id": f"{conv}/1",
                    "conv": conv,
                    "session": 1,
                    "date": "1:05 pm on 8 May, 2023",
                    "speaker": "Ada",
                    "text": "Look at my boat!",
                    "caption": caption,
                }
                for conv, caption in (("c1", "a red sail"), ("c2", None))
            ],
            "queries": [
                {"id": "q", "conv": "c1", "category": "x", "question": "whose boat has a red sail", "gold": ["c1/1"]},
                {"id": "q", "conv": "c2", "category": "x", "question": "nothing of that", "gold": ["c2/1"]},
            ],
        },
    }
    for suite, parts in files.items():
        for name, rows in parts.items():
            file = tmp_path / suite / f"{name}.jsonl"
            file.parent.mkdir(exist_ok=True)
            file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "scifact" / "qrels_test.tsv").write_text("query-id\tcorpus-id\tscore\n1\t7\t1\n", encoding="utf-8")


def test_the_quality_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(quality, "DATA", tmp_path)
    suite_files(tmp_path)
    assert quality.main(["--keep", str(tmp_path / "keep"), "--json"]) == 0
    shown = capsys.readouterr()
    assert "musique: passed over, there is no" in shown.err
    tables = {suite: found["table"]["cascade"] for suite, found in json.loads(shown.out).items()}
    assert {suite: table["R@5"] for suite, table in tables.items()} == {"scifact": 1.0, "locomo": 0.5, "2wiki": 1.0}
    assert tables["locomo"]["categories"]["x"]["questions"] == 2
    assert sorted(path.name for path in (tmp_path / "keep" / "locomo").iterdir()) == [
        "c1",
        "c1-questions.jsonl",
        "c2",
        "c2-questions.jsonl",
    ]
    assert quality.main(["--keep", str(tmp_path / "keep"), "--suite", "2wiki"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[0].split() == ["2wiki", "R@2", "R@5", "R@10", "R@20", "nDCG@10", "all-gold@5", "MRR"]
    assert rows[2].split() == ["keyword", *["100.0"] * 7]
    assert quality.main(["--suite", "musique"]) == 1


def test_a_turn_of_a_chat_says_when_who_and_what_is_seen() -> None:
    row = {
        "id": "c1/1",
        "conv": "c1",
        "session": 2,
        "date": "1:05 pm on 8 May, 2023",
        "speaker": "Ada",
        "text": "Look!",
        "caption": "a sail",
    }
    assert quality.turn(row) == {
        "id": "c1/1",
        "text": "1:05 pm on 8 May, 2023\nAda: Look! [a sail]",
        "created": "2023-05-08T13:05:00",
        "conv": "c1",
        "session": 2,
    }
