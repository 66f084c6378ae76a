"""save, edit, show, list, forget, links, history."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from tests.cli_support import make, memdb, write

pytestmark = pytest.mark.usefixtures("no_model")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with the worked example, named by MEMDB_ROOT."""
    monkeypatch.setenv("MEMDB_ROOT", str(tmp_path / "notes"))
    return make(tmp_path / "notes")


# save


def test_save_makes_changes_and_leaves(root: Path) -> None:
    words = ("save", "project/plan", "--body", "Ship it.", "--description", "The plan", "--tag", "a", "--tag", "b")
    assert memdb(*words).out == "created project/plan  (project/plan.md)\n"
    text = (root / "project" / "plan.md").read_text(encoding="utf-8")
    assert text.startswith("---\n")
    assert "description: The plan\n" in text
    assert text.endswith("Ship it.\n")
    assert memdb(*words).out == "unchanged project/plan  (project/plan.md)\n"
    assert memdb("save", "project/plan", "--body", "Wait.").out == "updated project/plan  (project/plan.md)\n"
    shown = memdb("show", "project/plan", "--json").json
    assert (shown["tags"], shown["description"], shown["body"].strip()) == (["a", "b"], "The plan", "Wait.")


def test_save_json_has_the_sha256_of_the_file(root: Path) -> None:
    saved = memdb("save", "user/me", "--body", "Hi.", "--json").json
    digest = hashlib.sha256((root / "user" / "me.md").read_bytes()).hexdigest()
    assert saved == {
        "id": "user/me", "file": "user/me.md", "created": True, "changed": True, "sha256": digest, "restates": None,
        "apart_from": None, "left_out": [], "contradicts": [],
    }  # fmt: skip


def test_save_says_what_it_contradicts(root: Path) -> None:
    assert memdb("save", "project/a", "--body", "The metrics port of the api is 9100.").err == ""
    answer = memdb("save", "project/b", "--body", "The metrics port of the api is 9200.")
    assert answer.err == "note: it contradicts project/a; `memdb conflicts` shows and settles it.\n"
    saved = memdb("save", "project/c", "--body", "The metrics port of the api is 9300.", "--json")
    assert (saved.json["contradicts"], saved.err) == (["project/a", "project/b"], "")


def test_save_says_what_it_does_not_supersede(root: Path) -> None:
    answer = memdb("save", "project/new", "--body", "Moved.", "--supersedes", "plna", "--supersedes", "response-style")
    assert answer.err == "note: it supersedes nothing yet: plna is no memory, or can mean several.\n"


def test_save_says_that_there_is_no_text(root: Path) -> None:
    """Standard input is not read unasked: what was piped would be lost without a word."""
    answer = memdb("save", "project/new", stdin=b"a text that nobody reads")
    assert answer.err == "note: it has no text; `memdb edit project/new` writes one, `--body -` reads a pipe.\n"
    assert memdb("save", "project/newer", "--description", "Says all").err == ""


@pytest.mark.parametrize(
    ("stdin", "text"),
    [
        (b"plain", "plain"),
        ("naïve 日本 😀".encode(), "naïve 日本 😀"),
        ("naïve".encode("cp1252"), "naïve"),
        (b"\xef\xbb\xbfwith a mark", "with a mark"),
        ("wide".encode("utf-16"), "wide"),
    ],
)
def test_save_reads_standard_input_in_any_encoding(stdin: bytes, text: str, root: Path) -> None:
    assert memdb("save", "user/me", "--body", "-", stdin=stdin).code == 0
    assert memdb("show", "user/me", "--json").json["body"].strip() == text


def test_save_does_not_read_standard_input_unasked(root: Path) -> None:
    memdb("save", "user/me", "--description", "Me", stdin=b"not asked for")
    assert memdb("show", "user/me", "--json").json["body"].strip() == ""


def test_save_takes_the_text_of_a_file(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("From a file.", encoding="utf-8")
    assert memdb("save", "user/me", "--file", file).code == 0
    assert memdb("show", "user/me", "--json").json["body"].strip() == "From a file."


def test_save_sets_and_removes_keys(root: Path) -> None:
    memdb("save", "user/me", "--set", "owner=Ann=B", "--body", "x")
    assert memdb("show", "user/me", "--json").json["frontmatter"] | {"name": ""} == {
        "name": "",
        "owner": "Ann=B",
    }
    memdb("save", "user/me", "--unset", "owner")
    assert "owner" not in memdb("show", "user/me", "--json").json["frontmatter"]


def test_save_supersedes_and_aliases(root: Path) -> None:
    memdb("save", "feedback/new", "--supersedes", "prefers-tables", "--alias", "n1", "--body", "x")
    assert memdb("show", "n1", "--json").json["supersedes"] == ["feedback/prefers-tables"]
    assert "  superseded by  feedback/new\n" in memdb("show", "prefers-tables").out
    assert "Prefers tables (superseded)" in memdb("list").out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("save", "plan", "--body", "x"), 2, "is no id"),
        (("save", "../out/x", "--body", "x"), 2, "cannot be part of an id"),
        (("save", "user/x", "--body", "x", "--file", "y"), 2, "--body and --file both give the text"),
        (("save", "user/x", "--file", "no-such-file"), 3, "There is no file no-such-file."),
        (("save", "user/x", "--set", "novalue"), 2, "--set is 'novalue'."),
        (("save", "user/x", "--set", "=v"), 2, "--set is '=v'."),
        (("save", "feedback/prefers-tables", "--body", "x", "--expect", "0" * 64), 4, "changed by someone else"),
    ],
)
def test_what_save_refuses(words: tuple[str, ...], code: int, said: str, root: Path) -> None:
    answer = memdb(*words)
    assert (answer.code, answer.out) == (code, "")
    assert said in answer.err
    assert not (root / "user").exists()


def test_save_keeps_a_credential_out(root: Path) -> None:
    answer = memdb("save", "user/x", "--body", "key: " + "gh" + "o_" + "A1b2" * 9, "--json")
    assert (answer.code, answer.json["error"]["code"]) == (4, "secret")
    assert "A1b2" not in answer.out


def test_standard_input_that_is_no_text(root: Path) -> None:
    answer = memdb("save", "user/x", "--body", "-", stdin=b"\x00" * 100)
    assert (answer.code, answer.err.splitlines()[0]) == (2, "error: Standard input is not readable as text.")


# edit

EDITOR = """import pathlib, sys
file = pathlib.Path(sys.argv[-1])
{act}
"""


@pytest.fixture
def edit_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Make a program that runs this Python text the person's editor."""

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def use(act: str) -> None:
        script = tmp_path / "an editor.py"
        script.write_text(EDITOR.format(act=act), encoding="utf-8")
        monkeypatch.setenv("VISUAL", f'"{sys.executable}" "{script}"')

    return use


def test_edit_saves_the_bytes_that_the_editor_left(root: Path, edit_with) -> None:  # type: ignore[no-untyped-def]
    file = root / "feedback" / "prefers-tables.md"
    file.write_bytes(b"\xef\xbb\xbf---\r\ntags: [style]\r\n---\r\nTables.\r\n")
    edit_with("assert file.name == 'prefers-tables.md'; file.write_bytes(file.read_bytes() + b'More.\\r\\n')")
    assert memdb("edit", "prefers-tables").out == "updated feedback/prefers-tables  (feedback/prefers-tables.md)\n"
    assert file.read_bytes() == b"\xef\xbb\xbf---\r\ntags: [style]\r\n---\r\nTables.\r\nMore.\r\n"
    assert "More." in memdb("show", "prefers-tables").out


def test_edit_without_a_change(root: Path, edit_with) -> None:  # type: ignore[no-untyped-def]
    edit_with("pass")
    assert memdb("edit", "prefers-tables").out.startswith("unchanged ")


def test_edit_never_replaces_a_file_that_changed_meanwhile(root: Path, edit_with) -> None:  # type: ignore[no-untyped-def]
    file = root / "feedback" / "prefers-tables.md"
    edit_with(f"file.write_text('mine'); pathlib.Path({str(file)!r}).write_text('theirs')")
    answer = memdb("edit", "prefers-tables", "--json")
    error = answer.json["error"]
    assert (answer.code, error["code"]) == (4, "changed")
    assert file.read_text(encoding="utf-8") == "theirs"
    kept = Path(error["hint"].rpartition("Your edit is kept in ")[2].removesuffix("."))
    assert kept.read_text(encoding="utf-8") == "mine"
    assert kept.suffix == ".md"


def test_an_edit_with_a_credential_is_kept_but_not_saved(root: Path, edit_with) -> None:  # type: ignore[no-untyped-def]
    edit_with("file.write_text('token: ' + 'gh' + 'o_' + 'A1b2' * 9)")
    answer = memdb("edit", "prefers-tables")
    assert answer.code == 4
    assert "Your edit is kept in " in answer.err


def test_an_editor_that_fails_saves_nothing(root: Path, edit_with) -> None:  # type: ignore[no-untyped-def]
    edit_with("file.write_text('half'); sys.exit(3)")
    answer = memdb("edit", "prefers-tables")
    assert answer.code == 2
    assert "ended with 3; nothing was saved" in answer.err
    assert "Your edit is kept in " in answer.err
    assert "Tables for comparisons." in memdb("show", "prefers-tables").out


def test_an_editor_that_is_not_there(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "no-such-editor --wait")
    answer = memdb("edit", "prefers-tables")
    assert (answer.code, answer.err.splitlines()[-1]) == (2, "hint: Set EDITOR to another.")


def test_edit_by_options(root: Path) -> None:
    assert memdb("edit", "prefers-tables", "--description", "New", "--set", "a=1", "--body", "B.").code == 0
    shown = memdb("show", "prefers-tables", "--json").json
    assert (shown["description"], shown["frontmatter"]["a"], shown["body"].strip()) == ("New", "1", "B.")
    memdb("edit", "prefers-tables", "--unset", "a")
    assert "a" not in memdb("show", "prefers-tables", "--json").json["frontmatter"]
    assert memdb("edit", "no-such").code == 3


# show


def test_show_for_people(root: Path) -> None:
    write(root, project__p="---\ntags: [style]\n---\nSee [[prefers-tables]] and [[nowhere]].\n")
    memdb("sync")
    assert memdb("show", "p").out == (
        "project/p\n"
        "  file      project/p.md\n"
        "  tags      style\n"
        "  links to  [[nowhere]] (unresolved), feedback/prefers-tables\n"
        "  embedded  not yet\n"
        "\n"
        "See [[prefers-tables]] and [[nowhere]].\n"
    )
    assert "  linked from  project/p\n" in memdb("show", "prefers-tables").out


def test_show_writes_hidden_characters_out_but_not_in_json(root: Path) -> None:
    text = "a\u200bb \x1b[31mred\u202e"
    write(root, user__h=text)
    memdb("sync")
    assert memdb("show", "h").out.endswith("\na<U+200B>b <U+001B>[31mred<U+202E>\n")
    assert memdb("show", "h", "--json").json["body"] == text
    assert memdb("show", "h", "--raw").out == text


def test_show_raw_gives_the_bytes(root: Path) -> None:
    text = "---\r\nname: x\r\n---\r\nLine.\r\n"
    write(root, user__w=text)
    memdb("sync")
    assert memdb("show", "w", "--raw").out == text


def test_show_hides_a_credential_and_refuses_its_bytes(root: Path) -> None:
    write(root, user__s="The token is " + "gh" + "o_" + "A1b2" * 9)
    memdb("sync")
    assert "A1b2" not in memdb("show", "s").out
    answer = memdb("show", "s", "--raw")
    assert (answer.code, answer.out) == (4, "")
    assert "A1b2" not in answer.err


def test_raw_and_json_exclude_each_other(root: Path) -> None:
    assert memdb("show", "prefers-tables", "--raw", "--json").json["error"]["code"] == "usage"


# list


def test_list_is_aligned_and_plain_where_nobody_looks(root: Path) -> None:
    assert memdb("list").out == (
        "ID                       DESCRIPTION     TAGS\n"
        "feedback/prefers-tables  Prefers tables  style\n"
        "feedback/response-style  Short answers   style\n"
    )


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ((), ["user/me", "feedback/prefers-tables", "feedback/response-style"]),
        (("--type", "user"), ["user/me"]),
        (
            ("--type", "user", "--type", "feedback", "--tag", "style"),
            ["feedback/prefers-tables", "feedback/response-style"],
        ),
        (("--tag", "#Style", "--tag", "x"), []),
    ],
)
def test_list_filters(words: tuple[str, ...], ids: list[str], root: Path) -> None:
    memdb("save", "user/me", "--body", "x")
    assert [memory["id"] for memory in memdb("list", *words, "--json").json["memories"]] == ids


def test_an_empty_list_says_what_to_do(tmp_path: Path) -> None:
    memdb("init", tmp_path)
    answer = memdb("list", "--root", tmp_path)
    assert (answer.code, answer.out) == (0, "")
    assert answer.err == "The index is empty. `memdb sync` reads the folder's files.\n"
    assert memdb("list", "--root", tmp_path, "--tag", "x").err == "No memory fits.\n"
    assert memdb("list", "--root", tmp_path, "--json").json == {"memories": []}


# forget


def test_forget_asks_first(root: Path) -> None:
    answer = memdb("forget", "prefers-tables")
    assert answer.code == 4
    assert answer.err == (
        "error: Forgetting feedback/prefers-tables (feedback/prefers-tables.md, 0 earlier texts) cannot be undone.\n"
        "hint: Add --yes to do it.\n"
    )
    assert (root / "feedback" / "prefers-tables.md").exists()


def test_forget_with_yes(root: Path) -> None:
    write(root, project__p="See [[prefers-tables]].")
    memdb("sync")
    answer = memdb("forget", "prefers-tables", "--yes")
    assert answer.out == "forgot feedback/prefers-tables  (feedback/prefers-tables.md, 0 earlier texts, 0 vectors)\n"
    assert "lead nowhere now: project/p\n" in answer.err
    assert "backups or synced folders are not reached" in answer.err
    assert not (root / "feedback" / "prefers-tables.md").exists()
    assert memdb("show", "prefers-tables").code == 3


def test_forget_a_memory_whose_file_is_gone(root: Path) -> None:
    memdb("save", "feedback/prefers-tables", "--body", "Second.")
    (root / "feedback" / "prefers-tables.md").unlink()
    memdb("sync")
    versions = len(memdb("history", "feedback/prefers-tables", "--json").json["versions"])
    assert versions >= 1
    gone = memdb("forget", "feedback/prefers-tables", "--yes", "--json").json
    assert (gone["id"], gone["file"], gone["versions"]) == ("feedback/prefers-tables", "", versions)
    assert memdb("forget", "feedback/prefers-tables", "--yes").code == 3


# links


def test_links(root: Path) -> None:
    write(root, project__p="See [[prefers-tables]]\nand [[nowhere]].\n", user__prefers_tables="Another.")
    memdb("sync")
    assert memdb("links", "--unresolved", "--json").json == {
        "links": [
            {
                "source": "project/p",
                "kind": "wikilink",
                "raw": "[[nowhere]]",
                "target": "nowhere",
                "line": 2,
                "status": "unresolved",
                "id": None,
                "candidates": [],
            }
        ]
    }
    assert [line.split() for line in memdb("links", "p").out.splitlines()[1:]] == [
        ["project/p", "1", "[[prefers-tables]]", "resolved", "user/prefers-tables"],
        ["project/p", "2", "[[nowhere]]", "unresolved"],
    ]
    assert memdb("links", "--ambiguous").err == "There are no ambiguous links.\n"
    assert memdb("links", "response-style", "--json").json == {"links": []}


# history


def test_history(root: Path) -> None:
    memdb("save", "feedback/prefers-tables", "--body", "Second.")
    memdb("save", "feedback/prefers-tables", "--body", "Third.")
    versions = memdb("history", "prefers-tables", "--json").json["versions"]
    assert [(version["number"], version["reason"]) for version in versions] == [(1, "saved"), (2, "saved")]
    assert set(versions[0]) == {"number", "at", "reason", "sha256", "text", "withheld"}
    rows = [line.split() for line in memdb("history", "prefers-tables").out.splitlines()[1:]]
    assert [row[0] for row in rows] == ["1", "2"]
    assert memdb("history", "prefers-tables", "--show", "1").out.endswith("Tables for comparisons.\n")
    assert memdb("history", "prefers-tables", "--show", "2", "--json").json["versions"][0]["number"] == 2
    assert "\n-Tables for comparisons.\n+Second.\n" in memdb("history", "prefers-tables", "--diff", "1").out
    last = memdb("history", "prefers-tables", "--diff", "2", "--json").json
    assert (last["version"], last["against"]) == (2, "now")
    assert "-Second.\n+Third.\n" in last["diff"]


@pytest.mark.parametrize(
    ("words", "code"),
    [(("--show", "7"), 3), (("--show", "0"), 3), (("--diff", "-1"), 3), (("--show", "1", "--diff", "1"), 2)],
)
def test_history_has_no_such_version(words: tuple[str, ...], code: int, root: Path) -> None:
    memdb("save", "feedback/prefers-tables", "--body", "Second.")
    assert memdb("history", "prefers-tables", *words).code == code
