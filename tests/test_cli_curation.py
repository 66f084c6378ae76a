"""The commands that correct the graph, list what was decided, and take it back."""

from __future__ import annotations

import io
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.answer_support import Answered, answer
from tests.cli_support import Answer, memdb

TEXTS = {
    "project/labs.md": "Harrowgate Labs runs Quillbase. Mirela Dovrak keeps it.\n",
    "project/setup.md": "Quill Base was set up by Mirela Dovrak.\n",
    "project/readings.md": "Quillbase has the readings, and Grafana draws them.\n",
}

DECISIONS = ("rename", "retype", "merge", "unmerge", "delete", "restore", "distinct")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        world = Answered(tmp_path_factory.mktemp("made"), TEXTS)
        keeps = ("Mirela Dovrak", "works_at", "Harrowgate Labs")
        world.put(
            "project/labs",
            answer(
                ("Harrowgate Labs", "organization"), ("Quillbase", "tool"), ("Mirela Dovrak", "person"), said=(keeps,)
            ),
        )
        uses = ("Mirela Dovrak", "uses", "Quill Base")
        world.put("project/setup", answer(("Quill Base", "project"), ("Mirela Dovrak", "person"), said=(uses,)))
        world.put("project/readings", answer(("Quillbase", "tool"), ("Grafana", "tool")))
        world.store.close()
        yield world.root


@pytest.fixture
def root(made: Path, tmp_path: Path, no_model: None) -> Path:
    return Path(shutil.copytree(made, tmp_path / "root"))


def at(root: Path, *words: str | Path) -> Answer:
    return memdb(*words, "--root", root)


def line(result: Answer) -> str:
    """The one line that a decision prints, its id blanked."""
    assert result.code == 0, result.err
    [only] = result.out.splitlines()
    return re.sub(r"\b[0-9a-f]{10}\b", "ID", only)


def names(root: Path, *words: str) -> list[str]:
    return [entity["name"] for entity in at(root, "entities", "list", *words, "--json").json["entities"]]


def decided(result: Answer) -> str:
    """The id of the decision that a command made."""
    found = re.search(r"`memdb undo ([0-9a-f]{10})` takes it back", result.err)
    assert found, result.err
    return found[1]


@pytest.mark.parametrize("name", DECISIONS)
def test_every_decision_takes_a_reason_and_is_listed(name: str) -> None:
    assert "--why" in memdb("entities", name, "--help").out
    assert f"\n  {name} " in memdb("entities", "--help").out


@pytest.mark.parametrize(
    ("words", "printed", "left"),
    [
        (
            ("merge", "quill base", "QUILLBASE"),
            "merged Quill Base into Quillbase  (3 mentions, 1 relation; ID)",
            ["Grafana", "Harrowgate Labs", "Mirela Dovrak", "Quillbase"],
        ),
        (
            ("rename", "Grafana", "Grafana Board"),
            "renamed Grafana to Grafana Board  (1 mention, 0 relations; ID)",
            ["Grafana Board", "Harrowgate Labs", "Mirela Dovrak", "Quill Base", "Quillbase"],
        ),
        (
            ("retype", "Quill Base", "Tool"),
            "retyped Quill Base: tool  (it was project; ID)",
            ["Grafana", "Harrowgate Labs", "Mirela Dovrak", "Quill Base", "Quillbase"],
        ),
        (
            ("delete", "Mirela Dovrak", "--yes"),
            "deleted Mirela Dovrak  (2 mentions, 2 relations went with it; ID)",
            ["Grafana", "Harrowgate Labs", "Quill Base", "Quillbase"],
        ),
        (
            ("distinct", "Quill Base", "Quillbase"),
            "distinct Quill Base and Quillbase  (ID)",
            ["Grafana", "Harrowgate Labs", "Mirela Dovrak", "Quill Base", "Quillbase"],
        ),
    ],
)
def test_a_decision_says_what_changed_and_is_undone(
    root: Path, words: tuple[str, ...], printed: str, left: list[str]
) -> None:
    before = at(root, "entities", "--json").json
    digest = at(root, "digest", "--json").json["digest"]
    done = at(root, "entities", *words, "--why", "for a test")
    assert line(done) == printed
    assert names(root, "--sort", "name") == left
    undone = at(root, "undo", decided(done))
    assert line(undone).startswith("undid: ")
    assert at(root, "entities", "--json").json == before
    assert at(root, "digest", "--json").json["digest"] == digest
    again = at(root, "undo", decided(undone))
    assert line(again).startswith("undid: undid ID: ")
    assert names(root, "--sort", "name") == left


@pytest.mark.parametrize(
    ("words", "back", "printed"),
    [
        (
            ("merge", "Quill Base", "Quillbase"),
            ("unmerge", "Quill Base"),
            "unmerged Quill Base  (1 mention, 1 relation; ID)",
        ),
        (("delete", "Grafana", "--yes"), ("restore", "grafana"), "restored grafana  (1 mention, 0 relations; ID)"),
    ],
)
def test_merges_and_deletions_have_commands_of_their_own_that_take_them_back(
    root: Path, words: tuple[str, ...], back: tuple[str, ...], printed: str
) -> None:
    before = at(root, "entities", "--json").json
    at(root, "entities", *words)
    assert at(root, "entities", "--json").json != before
    assert line(at(root, "entities", *back)) == printed
    assert at(root, "entities", "--json").json == before


def test_json_has_the_decision_and_the_entity_after_it(root: Path) -> None:
    done = at(root, "entities", "merge", "Quill Base", "Quillbase", "--why", "one product", "--json").json
    assert done["decision"]["action"] == "merge"
    assert (done["decision"]["state"], done["decision"]["why"]) == ("standing", "one product")
    assert (done["decision"]["changed"], done["decision"]["contradicts"]) == (True, [])
    assert (done["entity"]["id"], done["entity"]["mentions"]) == ("entity:quillbase", 3)
    assert done["entity"]["aliases"] == ["Quill Base"]
    gone = at(root, "entities", "delete", "Grafana", "--yes", "--json").json
    assert (gone["decision"]["action"], gone["entity"]) == ("delete", None)
    undone = at(root, "undo", gone["decision"]["id"], "--json").json
    assert undone["decision"]["detail"]["of"] == gone["decision"]["ref"]


def test_what_is_decided_already_is_not_decided_again(root: Path) -> None:
    first = at(root, "entities", "distinct", "Quill Base", "Quillbase")
    again = at(root, "entities", "distinct", "quillbase", "quill base")
    assert line(again) == "unchanged Quillbase and Quill Base  (it is so already; ID)"
    assert decided(first) in again.out
    assert len(at(root, "log", "--json").json["decisions"]) == 1
    at(root, "undo", decided(first))
    assert line(at(root, "undo", decided(first))).endswith("  (it is undone already; ID)")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("rename", "Quillbase", "Quill Base"), 4, 'memdb entities merge Quillbase "Quill Base"'),
        (("rename", "Nobody", "Somebody"), 3, "There is no entity 'Nobody'."),
        (("rename", "Quillbase", " "), 2, "is no name"),
        (("rename", "Quillbase", "Quill\u200bbase"), 2, "Quill<U+200B>base"),
        (("retype", "Quillbase", "gadget"), 3, "gadget"),
        (("merge", "Quillbase", "quillbase"), 2, "one"),
        (("merge", "Nobody", "Quillbase"), 3, "There is no entity 'Nobody'."),
        (("unmerge", "Quillbase"), 3, "Nothing was merged into 'Quillbase'"),
        (("delete", "Quillbase"), 4, "Add --yes to do it"),
        (("delete", "Nobody", "--yes"), 3, "There is no entity 'Nobody'."),
        (("restore", "Quillbase"), 3, "No entity 'Quillbase' is deleted."),
        (("distinct", "Quillbase", "Quillbase"), 2, "one entity"),
        (("list", "--sort", "age"), 2, "mentions, memories, documents, relations, name"),
        (("list", "--in", "project/nothing"), 3, "There is no memory 'project/nothing'."),
    ],
)
def test_what_is_refused_changes_nothing(root: Path, words: tuple[str, ...], code: int, said: str) -> None:
    refused = at(root, "entities", *words)
    assert (refused.code, refused.out) == (code, "")
    assert said in refused.err
    shape = at(root, "entities", *words, "--json")
    assert set(shape.json["error"]) == {"code", "message", "hint"}
    assert at(root, "log", "--json").json == {"decisions": [], "more": False}


def test_a_reason_that_looks_like_a_credential_is_kept_out(root: Path) -> None:
    refused = at(root, "entities", "delete", "Grafana", "--yes", "--why", "key " + "gh" + "o_" + "a1B2" * 9)
    assert refused.code == 4
    assert "credential" in refused.err
    assert "a1B2" not in refused.err
    assert names(root, "--deleted") == []


@pytest.mark.parametrize(("typed", "code", "gone"), [("y\n", 0, True), ("n\n", 4, False), ("", 4, False)])
def test_a_deletion_is_asked_about_on_a_terminal(root: Path, typed: str, code: int, gone: bool) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    from memdb_cli.main import run

    with mock.patch.object(sys, "stdin", Terminal(typed)), mock.patch.object(sys, "stderr", io.StringIO()) as said:
        assert run(["entities", "delete", "grafana", "--root", str(root)]) == code
    assert "takes Grafana (1 mention, 0 relations) out of the graph" in said.getvalue()
    assert (names(root, "--deleted") == ["Grafana"]) is gone


def test_deleted_entities_are_listed_with_what_waits_for_them(root: Path) -> None:
    at(root, "entities", "delete", "Mirela Dovrak", "--yes")
    at(root, "entities", "delete", "Grafana", "--yes")
    [first, second] = at(root, "entities", "--deleted", "--json").json["entities"]
    assert (first["name"], first["mentions"], first["memories"], first["relations"]) == ("Mirela Dovrak", 2, 2, 0)
    assert (second["id"], second["mentions"]) == ("entity:grafana", 1)
    assert names(root, "--deleted", "--name", "graf") == ["Grafana"]
    shown = at(root, "entities", "show", "grafana")
    assert shown.code == 3
    assert "memdb entities restore" in shown.err
    at(root, "entities", "restore", "Grafana")
    at(root, "entities", "restore", "Mirela Dovrak")
    assert at(root, "entities", "--deleted").err == "No entity is deleted.\n"


def test_entities_are_sorted_and_filtered(root: Path) -> None:
    assert names(root, "--sort", "relations")[0] == "Mirela Dovrak"
    assert names(root, "--sort", "documents") == names(root, "--sort", "memories") == names(root)
    assert names(root, "--in", "project/setup", "--sort", "name") == ["Mirela Dovrak", "Quill Base"]
    assert names(root, "--in", "readings", "--type", "tool", "--sort", "name") == ["Grafana", "Quillbase"]


def test_suggestions_are_listed_until_they_are_settled(root: Path) -> None:
    shown = at(root, "entities", "suggest")
    assert [" ".join(row.split()) for row in shown.out.splitlines()] == [
        "SOURCE MENTIONS INTO MENTIONS SCORE REASONS",
        "Quill Base (project) 1 Quillbase (tool) 2 0.95 same letters",
    ]
    assert '`memdb entities merge "Quill Base" Quillbase`' in shown.err
    assert '`memdb entities distinct "Quill Base" Quillbase`' in shown.err
    shape = at(root, "entities", "suggest", "--json").json
    assert shape["more"] is False
    [suggestion] = shape["suggestions"]
    assert (suggestion["source"]["id"], suggestion["into"]["id"]) == ("entity:quill base", "entity:quillbase")
    assert (suggestion["reasons"], suggestion["score"]) == (["same letters"], 0.95)
    done = at(root, "entities", "distinct", "Quill Base", "Quillbase")
    empty = at(root, "entities", "suggest")
    assert (empty.code, empty.out, empty.err) == (0, "", "No two entities look like one.\n")
    at(root, "undo", decided(done))
    assert len(at(root, "entities", "suggest", "--json").json["suggestions"]) == 1
    assert at(root, "entities", "suggest", "--limit", "0").code == 2


def test_the_log_lists_decisions_with_who_and_why(root: Path) -> None:
    assert at(root, "log").err == "Nobody decided anything so far.\n"
    merge = at(root, "entities", "merge", "Quill Base", "Quillbase", "--why", "one\u202e product")
    at(root, "entities", "rename", "Grafana", "Grafana Board")
    at(root, "undo", decided(merge), "--why", "two after all")
    listed = at(root, "log").out.splitlines()
    assert listed[0].split() == ["ID", "WHEN", "WHO", "WHAT", "STATE", "WHY"]
    rows = [re.split(r"  +", row) for row in listed[1:]]
    merged = "merged Quill Base into Quillbase"
    assert [row[3:] for row in rows] == [
        [f"undid {decided(merge)}: {merged}", "standing", "two after all"],
        ["renamed Grafana to Grafana Board", "standing"],
        [merged, "undone", "one<U+202E> product"],
    ]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", rows[0][1])
    cut = at(root, "log", "--limit", "1")
    assert f"undid {decided(merge)}: {merged}" in cut.out
    assert "there are more; --limit 2 shows twice as many." in cut.err
    shape = at(root, "log", "quill base", "--json").json
    assert [decision["action"] for decision in shape["decisions"]] == ["undo", "merge"]
    assert shape["decisions"][1]["words"] == merged
    assert [one["action"] for one in at(root, "log", "--state", "undone", "--json").json["decisions"]] == ["merge"]
    assert at(root, "log", "--state", "held").err == "There are no such decisions.\n"
    assert at(root, "log", "--state", "lost").code == 2


def test_the_log_has_decisions_about_the_vocabulary_and_undoes_them(root: Path) -> None:
    at(root, "schema", "disable", "type", "concept")
    [decision] = at(root, "log", "--json").json["decisions"]
    assert decision["words"] == "disabled type concept"
    assert at(root, "undo", decision["id"]).code == 0
    states = {entry["name"]: entry["state"] for entry in at(root, "schema", "--json").json["entries"]}
    assert states["concept"] == "active"


def test_the_log_marks_what_is_held_and_what_contradicts() -> None:
    from memdb.services.decision_words import in_words
    from memdb.services.decisions import Decision
    from memdb_cli.decisions import remarks, state_of

    plain = Decision(
        "0123456789", "1-0/w", "2026-01-01T00:00:00Z", "ada", "w", "delete", "entity:a b",
        {"entity": "a b", "label": "A B"}, None, "standing", None, (),
    )  # fmt: skip

    def decision(action: str, state: str = "standing", **more: Any) -> Decision:
        return replace(plain, action=action, state=state, **more)

    held = decision("delete", "held", reason="it is part of 'C' already")
    assert remarks(held) == [
        "it takes no effect now: it is part of 'C' already; `memdb confirm 0123456789` has it take effect"
    ]
    assert (state_of(held), state_of(decision("delete", waiting=True))) == ("held", "waiting")
    both = decision("rename", contradicts=("aaaaaaaaaa",), detail={"entity": "a b", "label": "A B", "name": "C"})
    assert in_words(both) == "renamed A B to C"
    assert remarks(both) == ["it contradicts aaaaaaaaaa; `memdb undo` takes one back"]
    assert in_words(decision("change", detail={"entity": "a b", "name": "C", "type": "tool"})) == (
        "renamed a b to C, retyped: tool"
    )
    assert in_words(decision("distinct", detail={"pair": ["a", "b"]})) == "told apart a and b"
    resolve = decision("resolve", subject="conflict:3f0c", detail={"conflict": "3f0c", "choice": "keep-new"})
    assert in_words(resolve) == "resolved conflict 3f0c: keep-new"
    sides: dict[str, Any] = {"conflict": "3f0c", "choice": "keep", "keep": ["b"], "against": ["c", "d"]}
    assert in_words(decision("resolve", subject="conflict:3f0c", detail=sides)).endswith(": keep (b, not c or d)")
    sides |= {"subject": "a", "predicate": "works_at", "keep": ["b", "c"], "against": [], "choice": "keep-both"}
    assert in_words(decision("resolve", subject="conflict:3f0c", detail=sides)).endswith(
        ": keep-both (a works_at b and c)"
    )
    assert in_words(decision("confirm", detail={"of": ["1-0/w", "2-0/w"]})).startswith("confirmed ")
    assert in_words(decision("polish")) == "polish entity a b"  # an action that a newer memdb knows


@pytest.mark.parametrize(
    "words", [("log",), ("undo", "3f0c2a91d7"), ("entities", "suggest"), ("entities", "--deleted")]
)
def test_without_a_store_there_is_nothing_to_decide(words: tuple[str, ...], tmp_path: Path) -> None:
    found = memdb(*words, "--root", tmp_path, "--json")
    assert (found.code, found.json["error"]["code"]) == (3, "not_found")


def test_an_unknown_decision_is_not_undone(root: Path) -> None:
    found = at(root, "undo", "ffffffffff")
    assert (found.code, found.out) == (3, "")
    assert "`memdb log` lists them" in found.err
