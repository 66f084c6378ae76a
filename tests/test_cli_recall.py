"""recall and cascade: what is printed, for people, for programs and for a prompt."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from memdb_cli import screen
from memdb_cli.commands.ask import parse_seed
from memdb_cli.hits import shortened
from tests.cli_support import make, memdb, write


@pytest.fixture
def root(tmp_path: Path, no_model: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The worked example without a model, named by MEMDB_ROOT."""
    monkeypatch.setenv("MEMDB_ROOT", str(tmp_path / "notes"))
    return make(tmp_path / "notes")


def test_cascade_gives_the_worked_example(root: Path) -> None:
    answer = memdb("cascade", "--seed", "feedback/prefers-tables=0.71", "--json").json
    hit = answer["hits"][1]
    assert hit["id"] == "feedback/response-style"
    assert hit["score"] == pytest.approx(0.222656)
    assert [(hop["node"], hop["edge"], hop["weight"]) for hop in hit["path"]] == [
        ("feedback/prefers-tables", None, None),
        ("tag:style", "has_tag", 0.8),
        ("feedback/response-style", "has_tag", 0.8),
    ]
    assert [hop["score"] for hop in hit["path"]] == pytest.approx([0.71, 0.3976, 0.222656])
    assert {"vector", "keyword", "entity"} <= set(answer["arms"])
    assert {answer["arms"][arm]["state"] for arm in ("vector", "keyword", "entity")} == {"off"}


def test_cascade_for_people_shows_the_path(root: Path) -> None:
    answer = memdb("cascade", "--seed", "feedback/prefers-tables=0.71")
    assert answer.err == ""
    assert answer.out == (
        "1  feedback/prefers-tables  0.710  seed           Prefers tables\n"
        "2  feedback/response-style  0.223  via tag:style  Short answers\n"
        "   feedback/prefers-tables 0.710  --has_tag 0.8-->  tag:style 0.398"
        "  --has_tag 0.8-->  feedback/response-style 0.223\n"
    )


def test_cascade_of_one_hop(root: Path) -> None:
    answer = memdb("cascade", "--seed", "tag:style=1", "--hops", "1", "--limit", "1", "--json").json
    assert [(hit["id"], hit["score"]) for hit in answer["hits"]] == [("feedback/prefers-tables", pytest.approx(0.56))]


@pytest.mark.parametrize(
    ("written", "parsed"), [("a/b=0.5", ("a/b", 0.5)), ("a/b=c=1", ("a/b=c", 1.0)), ("tag:x=1e-2", ("tag:x", 0.01))]
)
def test_a_seed_is_split_at_the_last_equals_sign(written: str, parsed: tuple[str, float]) -> None:
    assert parse_seed(written) == parsed


@pytest.mark.parametrize(
    ("seed", "code"), [("a/b", 2), ("=1", 2), ("a/b=x", 2), ("feedback/prefers-tables=2", 2), ("a/b=0.5", 3)]
)
def test_a_seed_that_is_none(seed: str, code: int, root: Path) -> None:
    assert memdb("cascade", "--seed", seed).code == code


def test_recall_json_has_the_fixed_shape(root: Path) -> None:
    answer = memdb("recall", "tables for comparisons", "--json").json
    assert set(answer) >= {"query", "hits", "arms", "empty_because", "empty_message", "notes"}
    assert (answer["query"], answer["empty_because"], answer["empty_message"]) == ("tables for comparisons", None, None)
    assert set(answer["arms"]) == {"vector", "keyword", "entity"}
    assert answer["arms"]["vector"] == {
        "state": "off",
        "candidates": 0,
        "reason": "Embeddings are switched off.",
        "model": None,
    }
    hit = answer["hits"][0]
    assert set(hit) >= {
        "id", "kind", "score", "name", "description", "file", "type", "path", "arms", "fused", "superseded_by",
        "contradicts", "stale",
    }  # fmt: skip
    assert (hit["id"], hit["kind"], hit["type"]) == ("feedback/prefers-tables", "memory", "feedback")
    assert set(hit["arms"]) == {"keyword"}
    assert set(hit["arms"]["keyword"]) >= {"rank", "similarity"}
    assert set(hit["path"][0]) == {"node", "edge", "weight", "score", "closeness"}
    assert memdb("recall", "tables for comparisons", "--format", "json").json == answer


def test_recall_for_people_says_how_each_was_found(root: Path) -> None:
    answer = memdb("recall", "tables for comparisons")
    first, second, path = answer.out.splitlines()
    assert first.split()[:2] == ["1", "feedback/prefers-tables"]
    assert first.endswith("  keyword 1      Prefers tables")
    assert second.endswith("  via tag:style  Short answers")
    assert "  --has_tag 0.8-->  tag:style " in path
    assert answer.err == "note: the vector arm is off: Embeddings are switched off.\n"


def test_recall_explained(root: Path) -> None:
    shown = memdb("recall", "tables for comparisons", "--explain", "--limit", "1").out.splitlines()
    assert [line.split(":")[0].strip() for line in shown[1:4]] == ["keyword", "fused", "file"]
    assert shown[-1].startswith("   feedback/prefers-tables 0.")


def test_recall_marks_what_is_not_to_be_trusted(root: Path) -> None:
    write(
        root,
        project__old="---\nvalid_to: 2001-01-01\n---\nThe database is heron.",
        project__new="---\nsupersedes: [old]\n---\nThe database is egret.",
    )
    shown = memdb("recall", "which database").out
    assert "   superseded by project/new\n" in shown
    assert "   stale: no longer valid by its valid_to\n" in shown


def test_recall_sees_files_that_were_never_synced(root: Path) -> None:
    write(root, user__fresh="Zanzibar is the code word.")
    assert memdb("recall", "zanzibar", "--no-sync", "--json").json["hits"] == []
    assert memdb("recall", "zanzibar", "--json").json["hits"][0]["id"] == "user/fresh"


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ((), {"user/fresh", "project/fresh"}),
        (("--type", "user"), {"user/fresh"}),
        (("--tag", "x"), {"project/fresh"}),
        (("--path", "project/*"), {"project/fresh"}),
        (("--since", "2026-03"), {"user/fresh"}),
        (("--until", "2026-02"), {"project/fresh"}),
        (("--as-of", "2026-01-15"), set()),
        (("--as-of", "2026-02-01"), {"project/fresh"}),
        (("--as-of", "2026-05"), {"user/fresh", "project/fresh"}),
        (("--limit", "1", "--type", "project"), {"project/fresh"}),
        (("--no-keyword", "--no-entity"), set()),
        (("--no-keyword",), {"user/fresh", "project/fresh"}),  # both mention what is called Zanzibar
    ],
)
def test_recall_filters(words: tuple[str, ...], ids: set[str], root: Path) -> None:
    write(
        root,
        user__fresh="---\ncreated: 2026-05-01\n---\nZanzibar is the code word.",
        project__fresh="---\ncreated: 2026-02-01\ntags: [x]\nvalid_from: 2026-02-01\n---\nZanzibar again.",
    )
    assert {hit["id"] for hit in memdb("recall", "zanzibar", *words, "--json").json["hits"]} == ids


def test_an_empty_answer_says_why_and_is_no_error(root: Path) -> None:
    answer = memdb("recall", "quantum chromodynamics")
    assert answer.code == 0
    assert answer.out.startswith("No memory has ")
    shape = memdb("recall", "quantum chromodynamics", "--json").json
    assert shape["hits"] == []
    assert shape["empty_because"] == "arm_off"
    assert answer.out == shape["empty_message"] + "\n"


def test_recall_for_a_prompt(root: Path) -> None:
    whole = memdb("recall", "tables for comparisons", "--format", "prompt", "--limit", "1").out
    assert whole.endswith(
        "\n\n- [feedback/prefers-tables] Prefers tables\n\n  Tables for comparisons.\n\n</memdb-notes>\n"
    )
    short = memdb("recall", "tables for comparisons", "--format", "prompt", "--limit", "1", "--budget", "230").out
    assert short.endswith("\n\n- [feedback/prefers-tables] Prefers tables\n</memdb-notes>\n")
    none = memdb("recall", "tables", "--format", "prompt", "--budget", "5")
    assert (none.code, none.out, none.err.splitlines()[0]) == (0, "", "Nothing fits into 5 bytes.")


def test_the_printed_sql_runs_by_hand(root: Path) -> None:
    ids = [hit["id"] for hit in memdb("recall", "tables", "--json").json["hits"]]
    statement = memdb("recall", "tables", "--sql").out
    with sqlite3.connect(root / ".memdb" / "memory.db") as connection:
        # Several statements, each with the values of those before it written in; the last gives the answer.
        rows = [connection.execute(part).fetchall() for part in statement.split(";\n") if part.strip()][-1]
    connection.close()
    assert [row[0] for row in rows] == ids
    assert memdb("recall", "tables", "--sql", "--json").json == {"sql": statement}


@pytest.mark.parametrize(
    ("words", "stdin", "query"),
    [
        (("two", "words"), b"", "two words"),
        (("-",), b"from a file\n", "from a file"),
        (("-",), b"\xff\x00\x01tables", "\ufffd\x00\x01tables"),
        (("--", "-Xmx"), b"", "-Xmx"),
        (("",), b"", ""),
        (("NEAR(",), b"", "NEAR("),
    ],
)
def test_any_text_is_a_question(words: tuple[str, ...], stdin: bytes, query: str, root: Path) -> None:
    answer = memdb("recall", "--json", *words, stdin=stdin)
    assert answer.code == 0
    assert answer.json["query"] == query


@pytest.mark.parametrize(
    "words", [("x", "--limit", "0"), ("x", "--hops", "-1"), ("x", "--since", "yesterday"), ("x", "--format", "xml"), ()]
)
def test_a_recall_that_does_not_fit(words: tuple[str, ...], root: Path) -> None:
    answer = memdb("recall", *words)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: ")


@pytest.mark.model
def test_recall_with_the_model(tmp_path: Path) -> None:
    pytest.importorskip("fastembed")
    root = make(tmp_path)
    answer = memdb("recall", "how should comparisons be shown", "--root", root, "--json")
    assert (answer.code, answer.err) == (0, "")
    assert answer.json["arms"]["vector"]["state"] == "on"
    assert answer.json["hits"][0]["id"] == "feedback/prefers-tables"
    assert answer.json["hits"][0]["arms"]["vector"]["rank"] == 1


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("short", 5, "short"),
        ("a longer text", 8, "a lon..."),
        ("日本語日本語", 7, "日本..."),
        ("a b c d e", 6, "a b..."),
    ],
)
def test_a_description_is_cut_to_the_console(text: str, columns: int, shown: str) -> None:
    assert shortened(text, columns) == shown


def test_columns_of_wide_letters_line_up() -> None:
    assert screen.aligned(("a", "n"), [["日本", "1"], ["e\u0301x", "12"]], right=("n",)) == [
        "A      N",
        "日本   1",
        "e\u0301x    12",
    ]
