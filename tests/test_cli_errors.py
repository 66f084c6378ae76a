"""Errors, exit codes, streams, consoles: what a person or a program sees when something is in the way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memdb import errors
from memdb.store import Store
from memdb_cli.main import wants_json
from tests.cli_support import STYLE, make, memdb, process, write

pytestmark = pytest.mark.usefixtures("no_model")


@pytest.mark.parametrize(
    ("words", "code", "kind", "message", "hint"),
    [
        (("lst",), 2, "usage", "There is no command 'lst'.", "Did you mean list?"),
        (("qqq",), 2, "usage", "There is no command 'qqq'.", "`memdb --help` lists them."),
        (("list", "--bogus"), 2, "usage", "No such option: --bogus", "See `memdb list --help`."),
        (("show",), 2, "usage", "Missing argument 'HIT'.", "See `memdb show --help`."),
        (("--bogus", "list"), 2, "usage", "No such option: --bogus", "See `memdb --help`."),
        (("show", "nope"), 3, "not_found", "There is no memory 'nope'.", "`memdb list` shows what there is."),
        (("model", "path", "nope"), 7, "model_unavailable", None, None),
    ],
)
def test_both_shapes_of_an_error(
    *, words: tuple[str, ...], code: int, kind: str, message: str | None, hint: str | None, tmp_path: Path
) -> None:
    place = () if words[0] in ("lst", "qqq", "--bogus") else ("--root", make(tmp_path))
    plain, shape = memdb(*words, *place), memdb(*words, *place, "--json")
    assert (plain.code, shape.code, plain.out, shape.err) == (code, code, "", "")
    error = shape.json["error"]
    assert set(error) == {"code", "message", "hint"}
    assert error["code"] == kind
    if message is not None:
        assert error["message"] == message
        assert error["hint"] == hint
    assert plain.err == f"error: {error['message']}\n" + (f"hint: {error['hint']}\n" if error["hint"] else "")


def test_a_folder_that_is_no_store(tmp_path: Path) -> None:
    assert memdb("list", "--root", tmp_path / "nowhere").code == 3
    answer = memdb("list", "--root", tmp_path)
    assert (answer.code, answer.err) == (
        3,
        f"error: {tmp_path} is no memdb store yet.\nhint: Run `memdb init {tmp_path}` first.\n",
    )


@pytest.mark.parametrize(
    "kind", [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.MemdbError)]
)
def test_every_error_becomes_its_exit_code(
    kind: type[errors.MemdbError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise kind("It went wrong\nin two lines.", hint="Do this.")

    monkeypatch.setattr(Store, "list", fail)
    assert memdb("list", "--root", root) == (kind.exit_code, "", "error: It went wrong in two lines.\nhint: Do this.\n")
    assert memdb("list", "--root", root, "--json").json == {
        "error": {"code": kind.code, "message": "It went wrong\nin two lines.", "hint": "Do this."}
    }


def test_ctrl_c_says_that_the_work_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make(tmp_path)

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "sync", interrupt)
    answer = memdb("sync", "--root", root)
    assert (answer.code, answer.out) == (130, "")
    assert answer.err.startswith("error: interrupted; the work done so far is kept\n")
    shape = memdb("sync", "--root", root, "--json")
    assert (shape.code, shape.json["error"]["code"]) == (130, "interrupted")


def test_a_fault_of_memdb_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make(tmp_path)

    def break_down(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(Store, "list", break_down)
    monkeypatch.delenv("MEMDB_DEBUG", raising=False)
    answer = memdb("list", "--root", root)
    assert (answer.code, answer.err.splitlines()[0]) == (1, "error: unexpected ZeroDivisionError: by zero")
    assert "Please report it" in answer.err
    assert "Traceback" not in answer.err
    monkeypatch.setenv("MEMDB_DEBUG", "1")
    assert "Traceback" in memdb("list", "--root", root).err


def test_an_error_does_not_obey_what_it_quotes(tmp_path: Path) -> None:
    answer = memdb("show", "no\x1b[2Jsuch\u202e", "--root", make(tmp_path))
    assert "\x1b" not in answer.err
    assert "\u202e" not in answer.err


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["list", "--json"], True),
        (["--json", "list"], True),
        (["recall", "x", "--format", "json"], True),
        (["recall", "x", "--format=json"], True),
        (["recall", "--", "--json"], False),
        (["recall", "x", "--format", "table"], False),
        ([], False),
    ],
)
def test_whether_json_is_wanted_is_known_before_parsing(words: list[str], wanted: bool) -> None:
    assert wants_json(words) is wanted


WIDE = "---\ndescription: naïve 日本 😀\n---\nZürich · Ωmega → 日本 😀 bridge\n"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_every_console_takes_every_character(encoding: str, tmp_path: Path) -> None:
    root = make(tmp_path, user__w=WIDE)
    for words in (("list",), ("show", "w"), ("recall", "bridge"), ("recall", "bridge", "--explain"), ("stats",)):
        plain = memdb(*words, "--root", root, encoding=encoding)
        assert plain.code == 0, words
        assert plain.out, words
        shape = memdb(*words, "--root", root, "--json", encoding=encoding)
        assert shape.json == memdb(*words, "--root", root, "--json").json, words


def test_json_is_readable_where_the_console_is(tmp_path: Path) -> None:
    root = make(tmp_path, user__w=WIDE)
    assert "日本 😀" in memdb("list", "--root", root, "--json").out
    assert "\\u65e5" in memdb("list", "--root", root, "--json", encoding="ascii").out


def test_a_process_with_a_narrow_console(tmp_path: Path) -> None:
    root = make(tmp_path, user__w=WIDE)
    answer = process("recall", "bridge", "--root", root, PYTHONIOENCODING="cp1252")
    assert answer.code == 0
    assert answer.out.startswith("1  user/w  ")


def test_nothing_but_text_reaches_a_pipe(tmp_path: Path) -> None:
    root = make(tmp_path)
    for words in (("list",), ("show", "prefers-tables"), ("recall", "tables"), ("sync",), ("doctor",), ("links",)):
        answer = memdb(*words, "--root", root)
        assert "\x1b" not in answer.out + answer.err, words
        assert "\t" not in answer.out, words


@pytest.mark.parametrize("words", [("list", "--json"), ("--help",)])
def test_a_closed_pipe_ends_quietly(words: tuple[str, ...], tmp_path: Path) -> None:
    root = make(tmp_path)
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "memdb_cli", *words, *([] if words == ("--help",) else ["--root", str(root)])],
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file that is always full")
def test_a_full_disk_is_said(tmp_path: Path) -> None:
    root = make(tmp_path)
    with open("/dev/full", "wb") as full:  # noqa: PTH123 (a device)
        done = subprocess.run(
            [sys.executable, "-m", "memdb_cli", "list", "--root", str(root)],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert done.returncode == 6
    assert done.stderr.startswith(b"error: standard output cannot be written: ")


pty = pytest.importorskip("pty") if os.name != "nt" else None


def terminal(*words: str | Path, typed: bytes = b"") -> tuple[int, str]:
    """Run the command on a terminal of its own and return its exit code and all that it showed."""
    assert pty is not None
    outer, inner = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "memdb_cli", *map(str, words)],
        stdin=inner,
        stdout=inner,
        stderr=inner,
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"},
        close_fds=True,
    ) as child:
        os.close(inner)
        if typed:
            os.write(outer, typed)
        shown = b""
        while True:
            try:
                part = os.read(outer, 65536)
            except OSError:  # Linux says so when the other side is closed
                break
            if not part:
                break
            shown += part
        code = child.wait(60)
    os.close(outer)
    return code, shown.decode("utf-8")


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo terminal")
def test_a_terminal_gets_colours_and_sees_work(tmp_path: Path) -> None:
    write(tmp_path, **STYLE)
    memdb("init", tmp_path)
    code, shown = terminal("sync", "--root", tmp_path)
    assert code == 0
    assert "reading" in shown
    assert "2 added" in shown
    assert "\x1b[36mfeedback/prefers-tables" in terminal("list", "--root", tmp_path)[1]


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo terminal")
def test_a_terminal_shows_which_file_is_read(tmp_path: Path) -> None:
    root, docs = make(tmp_path / "notes"), tmp_path / "docs"
    docs.mkdir()
    for number in range(3):
        (docs / f"n{number}.txt").write_text(f"Text {number}.", encoding="utf-8")
    code, shown = terminal("add", docs, "--root", root)
    assert code == 0
    assert "3/3" in shown
    assert "docs/n0.txt" in shown
    assert "3 added, 3 chunks written" in shown


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo terminal")
@pytest.mark.parametrize(("typed", "code", "kept"), [(b"n\n", 4, True), (b"y\n", 0, False)])
def test_forget_asks_on_a_terminal(typed: bytes, code: int, kept: bool, tmp_path: Path) -> None:
    root = make(tmp_path)
    answer, shown = terminal("forget", "prefers-tables", "--root", root, typed=typed)
    assert answer == code, shown
    assert "Forget it? [y/N]" in shown
    assert (root / "feedback" / "prefers-tables.md").exists() is kept


ENDING = "import atexit, sys; atexit.register(print, 'the end'); sys.argv = ['memdb', *{words}]"


@pytest.mark.parametrize(("words", "code"), [(["--version"], 0), (["show", "nothing/here"], 3), (["what"], 2)])
def test_a_process_that_ends_at_once_does_what_is_registered_for_its_end(
    words: list[str], code: int, tmp_path: Path
) -> None:
    script = f"{ENDING.format(words=words)}; from memdb_cli.start import run; run(); print('taken apart')"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert run.returncode == code
    assert run.stdout.endswith("the end\n")


def test_a_word_that_does_not_fit_is_said_without_the_library_that_found_it() -> None:
    answer = memdb("recall", "tea", "--kind", "book")
    assert answer.err.startswith("error: Invalid value for '--kind': 'book' is not one of 'memory', 'chunk'.\n")


def test_a_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("A note.")
    for words in (("init", tmp_path / "notes"), ("list", "--root", tmp_path / "notes")):
        answer = memdb(*words)
        assert (answer.code, answer.out) == (2, "")
        assert answer.err.startswith(f"error: {tmp_path / 'notes'} is a file, no folder.\n")
