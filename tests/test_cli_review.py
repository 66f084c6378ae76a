"""`memdb review` for programs: JSON, answers by id, and the batch file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.answer_support import Answered
from tests.cli_support import Answer, memdb
from tests.test_proposals import GATE, LINE, SAID, TEXTS

RULE = "The subject runs by the object."
BROKEN = "---\nname: [\n---\nThe lantern \u202eis\u200b lit.\n"

PROTOCOL = "proposal:type+protocol"
RUNS_OVER = "proposal:predicate+runs_over"
FILE = "problem:project/broken.md"


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    made = Answered(tmp_path / "root", TEXTS | {"project/broken.md": BROKEN})
    made.put("project/line", LINE)
    made.put("project/gate", GATE)
    made.store.close()
    yield made.root


def waiting(root: Path) -> list[str]:
    return [item["id"] for item in memdb("--root", root, "review", "--json").json["items"]]


def test_the_queue_for_programs(root: Path) -> None:
    found = memdb("--root", root, "review", "--json")
    assert (found.code, found.err) == (0, "")
    assert [item["id"] for item in found.json["items"]] == [RUNS_OVER, PROTOCOL, FILE]
    item = found.json["items"][1]
    assert sorted(item) == ["choices", "detail", "file", "id", "kind", "since", "title"]
    assert item["choices"][0] == {
        "key": "a",
        "name": "approve",
        "does": "make it part of the vocabulary and link all texts that asked",
        "asks": None,
        "required": False,
        "draft": "",
        "here": True,
    }
    assert item["detail"][0] == {"role": "fact", "text": f"rule: {SAID}"}
    assert memdb("--root", root, "review", "show", PROTOCOL, "--json").json == item
    assert memdb("--root", root, "review", "list", "--json").json == found.json


def test_the_queue_where_no_person_is(root: Path) -> None:
    listed = memdb("--root", root, "review", "--kind", "proposals")
    assert listed.out.splitlines() == [
        "ID                            WHAT WAITS                               ANSWERS",
        "proposal:predicate+runs_over  2 texts ask for the predicate runs_over  approve, dismiss",
        "proposal:type+protocol        2 texts ask for the type protocol        approve, approve-as, dismiss",
    ]
    assert memdb("--root", root, "review", "list", "--limit", "1").out.splitlines() == [
        line.rstrip() for line in listed.out.splitlines()[:2]
    ]


def test_one_item_in_full(root: Path) -> None:
    shown = memdb("--root", root, "review", "show", PROTOCOL).out
    assert shown.splitlines() == [
        "proposal:type+protocol · proposal",
        "2 texts ask for the type protocol",
        f"  rule: {SAID}",
        "  MQTT",
        "  Zigbee",
        "    project/gate",
        "    project/line",
        " a approve: make it part of the vocabulary and link all texts that asked",
        " r approve-as: the same, by a rule of yours",
        " d dismiss: ask no more, whoever wants it",
    ]


def test_nothing_waits(tmp_path: Path) -> None:
    made = Answered(tmp_path / "root", {})
    made.store.close()
    assert memdb("--root", made.root, "review") == Answer(0, "", "Nothing waits for you.\n")
    assert memdb("--root", made.root, "review", "--edit") == Answer(0, "", "Nothing waits for you.\n")
    assert memdb("--root", made.root, "review", "--json").json == {"items": []}


def test_an_answer_and_its_undo(root: Path) -> None:
    answered = memdb("--root", root, "review", "answer", PROTOCOL, "dismiss", "--why", "too vague", "--json").json
    assert (answered["item"], answered["choice"], answered["said"]) == (
        PROTOCOL,
        "dismiss",
        "dismissed the type protocol",
    )
    assert waiting(root) == [RUNS_OVER, FILE]
    assert memdb("--root", root, "undo", answered["decision"]).code == 0
    assert waiting(root) == [RUNS_OVER, PROTOCOL, FILE]


def test_an_answer_with_a_text(root: Path) -> None:
    given = memdb("--root", root, "review", "answer", RUNS_OVER, "a", "--text", "-", stdin=RULE.encode())
    assert given.out.startswith("approved the predicate runs_over   undo: memdb undo ")
    assert waiting(root) == [PROTOCOL, FILE]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("answer", PROTOCOL, "keep"), 2, "does not take the answer 'keep'"),
        (("answer", PROTOCOL, "dismiss", "--text", "x"), 2, "takes no text"),
        (("answer", RUNS_OVER, "approve"), 2, "needs a text"),
        (("answer", "proposal:type+x", "approve"), 3, "waits for nobody"),
        (("show", "thing:x"), 3, "There is no item"),
        (("--kind", "thing"), 2, "There is no kind 'thing'"),
        (("--limit", "0"), 2, "--limit"),
        (("--edit", "--apply", "x"), 2, "both name a file"),
        (("--apply", "none.txt"), 3, "no file none.txt"),
    ],
)
def test_what_does_not_fit(root: Path, words: tuple[str, ...], code: int, said: str) -> None:
    answer = memdb("--root", root, "review", *words)
    assert (answer.code, answer.out) == (code, "")
    assert said in answer.err


# The batch file


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the script that stands for the person's editor; `changes` writes it."""
    folder = tmp_path / "editor"
    folder.mkdir()
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f'"{sys.executable}" "{folder / "editor.py"}"')
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("TEMP", str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def changes(editor: Path, *pairs: tuple[str, str], code: int = 0) -> None:
    """Let the editor note what it is shown, put one text in place of another, and end with a code."""
    (editor / "editor.py").write_text(
        "import pathlib, sys\n"
        "file = pathlib.Path(sys.argv[1])\n"
        "text = file.read_text('utf-8')\n"
        "(pathlib.Path(__file__).parent / 'shown.txt').write_text(text, 'utf-8')\n"
        f"for old, new in {pairs!r}:\n"
        "    assert old in text, old\n"
        "    text = text.replace(old, new, 1)\n"
        "file.write_text(text, 'utf-8')\n"
        f"sys.exit({code})\n",
        encoding="utf-8",
    )


def kept(editor: Path) -> list[Path]:
    return sorted(editor.glob("memdb-review-*/review.txt"))


def test_what_the_editor_shows(root: Path, editor: Path) -> None:
    changes(editor)
    answer = memdb("--root", root, "review", "--edit")
    assert (answer.code, answer.out, answer.err) == (0, "", "Nothing was answered.\n")
    shown = (editor / "shown.txt").read_text("utf-8")
    assert [line for line in shown.splitlines() if line and not line.startswith("#")] == [
        f"skip {RUNS_OVER}",
        f"skip {PROTOCOL}",
        f"skip {FILE}",
    ]
    assert "# proposal: 2 texts ask for the type protocol\n#   rule: A wire protocol.\n#   MQTT\n" in shown
    assert "#   approve ID TEXT: make it part" in shown
    assert "#   approve: make it part" in shown
    assert "edit" not in shown  # what only a terminal can do
    assert kept(editor) == []


def test_a_file_answers_several_items(root: Path, editor: Path) -> None:
    changes(editor, (f"skip {RUNS_OVER}", f"approve {RUNS_OVER} {RULE}"), (f"skip {PROTOCOL}", f"d {PROTOCOL}"))
    answer = memdb("--root", root, "review", "--edit", "--why", "cleared up")
    assert answer.code == 0
    assert [line.partition("   ")[0] for line in answer.out.splitlines()] == [
        "approved the predicate runs_over",
        "dismissed the type protocol",
    ]
    assert waiting(root) == [FILE]
    assert kept(editor) == []


def test_deleted_lines_wait_on(root: Path, editor: Path) -> None:
    changes(editor, (f"skip {RUNS_OVER}\n", ""), (f"skip {PROTOCOL}", f"\ufeffdismiss  {PROTOCOL} \r"))
    assert memdb("--root", root, "review", "--edit", "--json").json["answered"][0]["choice"] == "dismiss"
    assert waiting(root) == [RUNS_OVER, FILE]


WRONG = [
    (f"drop {PROTOCOL}", "'drop'", "approve (a), approve-as (r), dismiss (d)"),
    (f"dismiss {PROTOCOL}x", f"no item '{PROTOCOL}x' waits", ""),
    (f"dismiss {PROTOCOL} because", "takes no text", ""),
    (f"approve-as {PROTOCOL}", "needs a text behind the id", "Its rule"),
    ("dismiss", "'dismiss' stands alone", "an answer and an id"),
    (f"skip {PROTOCOL}\ndismiss {PROTOCOL}", "stands on line", "already"),
    (f"edit {FILE}", "is for the terminal", ""),
]


@pytest.mark.parametrize(("line", "said", "hint"), WRONG)
def test_a_line_that_is_not_right_stops_all(root: Path, editor: Path, line: str, said: str, hint: str) -> None:
    changes(editor, (f"skip {RUNS_OVER}", f"dismiss {RUNS_OVER}"), (f"skip {PROTOCOL}", line))
    answer = memdb("--root", root, "review", "--edit")
    assert answer.code == 2
    [file] = kept(editor)
    number = file.read_text("utf-8").split("\n").index(line.splitlines()[-1]) + 1
    assert f"line {number}: " in answer.err
    assert said in answer.err
    assert hint in answer.err
    assert f"memdb review --apply {file}" in answer.err
    assert waiting(root) == [RUNS_OVER, PROTOCOL, FILE]


def test_all_lines_that_are_not_right_are_named(root: Path, editor: Path) -> None:
    changes(editor, (f"skip {RUNS_OVER}", f"x {RUNS_OVER}"), (f"skip {PROTOCOL}", f"y {PROTOCOL}"))
    assert memdb("--root", root, "review", "--edit").err.count("line ") == 2


def test_a_kept_file_is_applied(root: Path, editor: Path) -> None:
    changes(editor, (f"skip {RUNS_OVER}", f"dismiss {RUNS_OVER}"), (f"skip {PROTOCOL}", f"x {PROTOCOL}"))
    assert memdb("--root", root, "review", "--edit").code == 2
    [file] = kept(editor)
    file.write_text(file.read_text("utf-8").replace(f"x {PROTOCOL}", f"dismiss {PROTOCOL}"), "utf-8")
    assert memdb("--root", root, "review", "--apply", file).code == 0
    assert waiting(root) == [FILE]
    text = file.read_text("utf-8")
    assert "# done: dismissed the type protocol" in text
    assert f"\nskip {FILE}" in text
    assert memdb("--root", root, "review", "--apply", file).err == "Nothing was answered.\n"


def test_standard_input_is_a_file_too(root: Path) -> None:
    lines = f"skip {RUNS_OVER}\n# a remark\n\ndismiss {PROTOCOL}\n"
    answer = memdb("--root", root, "review", "--apply", "-", "--json", stdin=lines.encode())
    assert answer.code == 0
    assert [(one["line"], one["item"]) for one in answer.json["answered"]] == [(4, PROTOCOL)]
    assert answer.json["failed"] == []


def test_an_editor_that_fails_changes_nothing(root: Path, editor: Path) -> None:
    changes(editor, code=1)
    assert memdb("--root", root, "review", "--edit").code == 2
    assert kept(editor) == []
    changes(editor, (f"skip {PROTOCOL}", f"dismiss {PROTOCOL}"), code=1)
    answer = memdb("--root", root, "review", "--edit")
    assert answer.code == 2
    assert str(kept(editor)[0]) in answer.err
    assert waiting(root) == [RUNS_OVER, PROTOCOL, FILE]


def test_what_fails_is_kept_and_the_rest_is_done(root: Path, editor: Path) -> None:
    secret = "sk-" + "proj-" + "Zq8" * 14
    changes(
        editor, (f"skip {RUNS_OVER}", f"approve {RUNS_OVER} Key {secret}."), (f"skip {PROTOCOL}", f"dismiss {PROTOCOL}")
    )
    answer = memdb("--root", root, "review", "--edit")
    assert answer.code == 1
    assert answer.out.startswith("dismissed the type protocol")
    assert "looks like a credential" in answer.err
    assert secret not in answer.err
    assert "1 of 2 answers could not be applied" in answer.err
    text = kept(editor)[0].read_text("utf-8")
    assert "# error: The description looks like a credential" in text
    assert f"\napprove {RUNS_OVER} Key" in text
    assert "# done: dismissed the type protocol" in text
    assert waiting(root) == [RUNS_OVER, FILE]


def test_what_fails_as_json(root: Path, editor: Path) -> None:
    changes(editor, (f"skip {RUNS_OVER}", f"approve {RUNS_OVER} \u200bx"))
    answer = memdb("--root", root, "review", "--edit", "--json")
    assert answer.code == 1
    [failed] = answer.json["failed"]
    assert (failed["item"], failed["error"]["code"]) == (RUNS_OVER, "usage")
    assert answer.json["file"] == str(kept(editor)[0])
