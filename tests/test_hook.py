"""The hook of agents: what it is told, what it prints, within which time; and the settings that install it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memdb.base import files, settings
from memdb.serving import hook
from memdb.store import Store
from memdb_cli import agents, hooking, json_edit
from tests.cli_support import Answer, make, memdb, write

pytestmark = pytest.mark.usefixtures("no_model")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make(tmp_path / "notes")


def run(root: Path | None, payload: object, *words: str, **environment: str) -> Answer:
    """Run the hook as an agent does, as a process of its own, with time enough on a busy machine."""
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    place = ["--root", str(root)] if root is not None else []
    done = subprocess.run(
        [sys.executable, "-m", "memdb_cli", "hook", "run", *place, *words, "--seconds", "50"],
        input=data, capture_output=True, check=False, timeout=60, env=os.environ | environment,
    )  # fmt: skip
    return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())


def ask(capsys: pytest.CaptureFixture[str], root: Path | None, payload: object, *words: str) -> Answer:
    """Run the hook in this process, where it is not the process that is tested."""
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    place = ["--root", str(root)] if root is not None else []
    code = hooking.run([*place, *words, "--seconds", "50"], data)
    return Answer(code, *capsys.readouterr())


# What an agent writes


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({"prompt": "tables"}, ("tables", None, None, None)),
        (
            {"session_id": "s", "cwd": "/w", "hook_event_name": "UserPromptSubmit", "prompt": " tables\n"},
            ("tables", "s", "/w", "UserPromptSubmit"),
        ),
        ({"user_prompt": "tables", "sessionId": "s"}, ("tables", "s", None, None)),
        ({"conversation_id": "c", "workspace_roots": ["/a"], "text": "tables"}, ("tables", "c", "/a", None)),
        ({"message": {"role": "user", "content": "tables"}}, ("tables", None, None, None)),
        ({"content": [{"type": "text", "text": "a"}, {"type": "image"}, "b"]}, ("a\nb", None, None, None)),
        ({"prompt": 7, "query": "tables", "cwd": ["/a", "/b"]}, ("tables", None, "/a", None)),
        ({"prompt": ""}, ("", None, None, None)),
        ({}, ("", None, None, None)),
    ],
)  # fmt: skip
def test_a_question_is_read_from_any_shape(payload: dict[str, Any], expected: tuple[Any, ...]) -> None:
    question = hook.read(json.dumps(payload).encode())
    assert question is not None
    assert (question.prompt, question.session, question.folder, question.event) == expected


@pytest.mark.parametrize("data", [b"", b"tables", b"[1]", b"null", b"{", b"\xff\xfe", b'"tables"'])
def test_what_is_no_object_is_no_question(data: bytes) -> None:
    assert hook.read(data) is None


def test_a_byte_order_mark_and_broken_utf8_are_read() -> None:
    question = hook.read(b'\xef\xbb\xbf{"prompt": "tables \xff"}')
    assert question is not None
    assert question.prompt.startswith("tables")


@pytest.mark.parametrize(
    ("payload", "lost"),
    [
        ({"hook_event_name": "SessionStart", "source": "clear"}, True),
        ({"hook_event_name": "SessionStart", "source": "compact"}, True),
        ({"hook_event_name": "SessionStart", "source": "startup"}, False),
        ({"hook_event_name": "SessionStart", "source": "resume"}, False),
        ({"hook_event_name": "PreCompress", "trigger": "auto"}, True),
        ({"hook_event_name": "UserPromptSubmit", "prompt": "x", "source": "clear"}, False),
    ],
)
def test_when_an_agent_has_lost_what_it_was_given(payload: dict[str, Any], lost: bool) -> None:
    question = hook.read(json.dumps(payload | {"session_id": "s"}).encode())
    assert question is not None
    assert question.lost is lost


# What it prints


def test_the_block_of_a_prompt(root: Path) -> None:
    answer = run(root, {"prompt": "tables for comparisons", "session_id": "1"})
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("<memdb-notes>\n")
    assert "- [feedback/prefers-tables] Prefers tables\n\n  Tables for comparisons.\n" in answer.out
    assert answer.out.endswith("</memdb-notes>\n")


def test_what_a_session_has_is_not_given_again(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = {"prompt": "tables", "session_id": "1"}
    assert "[feedback/prefers-tables]" in run(root, asked).out
    assert run(root, asked) == (0, "", "")
    assert "[feedback/prefers-tables]" in ask(capsys, root, asked | {"session_id": "2"}).out
    write(root, feedback__prefers_tables="---\ndescription: Prefers tables\n---\nTables, always.\n")
    assert "Tables, always." in ask(capsys, root, asked).out
    compacted = {"hook_event_name": "SessionStart", "source": "compact", "session_id": "1"}
    assert ask(capsys, root, compacted) == (0, "", "")
    assert "Tables, always." in ask(capsys, root, asked).out


def test_gemini_reads_json(root: Path) -> None:
    answer = run(root, {"prompt": "tables", "hook_event_name": "BeforeAgent"})
    said = answer.json["hookSpecificOutput"]
    assert said["hookEventName"] == "BeforeAgent"
    assert "[feedback/prefers-tables]" in said["additionalContext"]


def test_the_store_is_that_of_the_folder_that_the_agent_works_in(root: Path, tmp_path: Path) -> None:
    below = root / "src" / "deep"
    below.mkdir(parents=True)
    assert "[feedback/prefers-tables]" in run(None, {"prompt": "tables", "cwd": str(below)}).out
    assert run(None, {"prompt": "tables", "cwd": str(tmp_path)}) == (0, "", "")
    assert run(None, {"prompt": "tables", "cwd": "/no/such/folder\u0000"}) == (0, "", "")
    assert not (tmp_path / ".memdb").exists()


@pytest.mark.parametrize(
    "payload",
    [b"", b"no json", {}, {"prompt": ""}, {"prompt": "   "}, {"prompt": "quantum chromodynamics"}, {"prompt": None}],
)
def test_nothing_to_say_is_nothing_printed(root: Path, payload: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(capsys, root, payload) == (0, "", "")


@pytest.mark.parametrize("payload", [b"no json", {"prompt": "quantum chromodynamics"}])
def test_nothing_to_say_is_nothing_printed_by_a_process(root: Path, payload: object) -> None:
    assert run(root, payload) == (0, "", "")


@pytest.mark.parametrize("query", ["AND", "NEAR(", '"', "\u0000", "🙂", "-- tables", "x" * 50_000, "/help"])
def test_any_prompt_is_taken(root: Path, query: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = ask(capsys, root, {"prompt": query})
    assert (answer.code, answer.err) == (0, "")


@pytest.mark.parametrize("query", ["\u0000", "🙂", "x" * 50_000])
def test_any_prompt_is_taken_by_a_process(root: Path, query: str) -> None:
    answer = run(root, {"prompt": query})
    assert (answer.code, answer.err) == (0, "")


def break_database(root: Path) -> None:
    (root / ".memdb/memory.db").write_bytes(b"no database" * 1000)


def break_settings(root: Path) -> None:
    (root / ".memdb/config.toml").write_text("[")


def remove_store(root: Path) -> None:
    (root / ".memdb/config.toml").unlink()


@pytest.mark.parametrize("damage", [break_database, break_settings, remove_store])
def test_it_never_fails_the_agent(root: Path, damage: Callable[[Path], None]) -> None:
    damage(root)
    answer = run(root, {"prompt": "tables"})
    assert (answer.code, answer.err) == (0, "")


def test_why_nothing_was_printed_is_said_on_demand(root: Path) -> None:
    break_settings(root)
    assert "config.toml" in run(root, {"prompt": "tables"}, MEMDB_DEBUG="1").err


def test_words_that_it_does_not_know_are_passed_over(root: Path) -> None:
    answer = run(root, {"prompt": "tables"}, "--of-another-version", "--bytes=-1")
    assert "[feedback/prefers-tables]" in answer.out


@pytest.mark.parametrize("written", ["abc", "-1", "0", "nan", "1e9", ""])
def test_a_time_that_is_none_is_the_usual_one(written: str) -> None:
    assert hooking.Options(["--seconds", written]).seconds is None
    assert hooking.Options([f"--seconds={written}"]).seconds is None
    assert hooking.Options(["--seconds", "2.5"]).seconds == 2.5


def test_bytes_by_option_and_setting(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ask(capsys, root, {"prompt": "tables"}, "--bytes", "230").out
    assert 0 < len(small.encode()) <= 231
    place = settings.place(root)
    settings.write_settings(place, settings.read_settings(place) | {"hook_bytes": "10"})
    assert ask(capsys, root, {"prompt": "tables"}).out == ""
    assert run(root, {"prompt": "tables"}, MEMDB_HOOK_BYTES="4000").out != ""


def test_it_ends_in_time_with_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "answer", lambda *_, **__: time.sleep(30))
    begun = time.monotonic()
    assert hooking.run(["--root", str(root), "--seconds", "0.3"], b'{"prompt": "tables"}') == 0
    assert time.monotonic() - begun < 15  # of the 30 seconds that an answer would take


def test_a_writer_is_not_waited_for(root: Path) -> None:
    write(root, user__kettle="The kettle is red.\n")
    with files.writer(settings.place(root)):
        answer = run(root, {"prompt": "tables"})
    assert "[feedback/prefers-tables]" in answer.out


def test_a_standard_input_that_stays_open_is_not_waited_for(root: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "memdb_cli", "hook", "run", "--root", str(root), "--seconds", "0.5"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.wait(20) == 0
        assert process.stdout is not None
        assert process.stdout.read() == b""
    finally:
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def test_the_model_is_not_loaded_for_a_prompt(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastembed")
    code = (
        "import sys; from memdb_cli import hooking; hooking.MODEL_SECONDS = 99; hooking.run(sys.argv[1:]);"
        "heavy = {'fastembed', 'onnxruntime', 'typer', 'rich', 'asyncio', 'http'};"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    monkeypatch.delenv("MEMDB_EMBEDDER")
    write(root, user__kettle="The kettle is red.\n")
    done = subprocess.run(
        [sys.executable, "-c", code, "--root", str(root), "--seconds", "50"], input=b'{"prompt": "kettle"}',
        capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    assert b"[user/kettle]" in done.stdout
    assert done.stderr.decode().split() == ["[]"]


def test_the_same_by_the_command(root: Path) -> None:
    answer = memdb("hook", "run", "--root", root, stdin=b'{"prompt": "tables"}')
    assert answer.code == 0
    assert "[feedback/prefers-tables]" in answer.out


# Settings of agents


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(Path, "home", lambda: folder)
    return folder


FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
}


@pytest.mark.parametrize("agent", FILES)
def test_install_writes_the_setting_and_remove_takes_it_out(home: Path, agent: str) -> None:
    file = home / FILES[agent]
    answer = memdb("hook", "install", "--agent", agent, "--yes")
    assert answer.code == 0
    assert f"({file})" in answer.out
    assert '+        "type": "command"' in answer.err.replace("      ", "        ") or '"type": "command"' in answer.err
    written = json.loads(file.read_text())
    for event in agents.AGENTS[agent].matchers:
        [group] = written["hooks"][event]
        [entry] = group["hooks"]
        assert entry["command"].endswith("start.py hook run --serve")
        assert entry["timeout"] == (5000 if agent == "gemini" else 5)
    before = file.read_bytes()
    assert memdb("hook", "install", "--agent", agent, "--yes").out.startswith("unchanged: ")
    assert file.read_bytes() == before
    status = {one["agent"]: one["installed"] for one in memdb("hook", "status", "--json").json["agents"]}
    assert status == {name: name == agent for name in FILES}
    assert memdb("hook", "remove", "--agent", agent, "--yes").code == 0
    assert json.loads(file.read_text()) == {}
    assert memdb("hook", "remove", "--agent", agent, "--yes").out.startswith("unchanged: ")


def test_the_installed_command_runs(home: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMDB_HOOK_SECONDS", "50")
    memdb("hook", "install", "--root", root, "--no-serve", "--yes")
    command = json.loads((home / FILES["claude-code"]).read_text())["hooks"]["UserPromptSubmit"][0]["hooks"][0][
        "command"
    ]
    done = subprocess.run(
        command, shell=True, input=b'{"prompt": "tables"}', capture_output=True, check=True, timeout=60
    )
    assert b"[feedback/prefers-tables]" in done.stdout


def test_a_hook_of_a_named_store_finds_it_where_it_was_moved(
    home: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMDB_HOOK_SECONDS", "50")
    monkeypatch.setenv("MEMDB_HOME", str(tmp_path / "named"))
    assert memdb("stores", "add", "notes", root).code == 0
    answer = memdb("hook", "install", "--store", "notes", "--no-serve", "--yes", "--json").json
    assert answer["command"].endswith(f"hook run --root {root} --store notes")
    moved = root.rename(tmp_path / "moved")
    assert memdb("list", "--root", moved).code == 0
    done = subprocess.run(
        answer["command"], shell=True, input=b'{"prompt": "tables"}', capture_output=True, check=True, timeout=60
    )
    assert b"[feedback/prefers-tables]" in done.stdout
    other = memdb("hook", "install", "--store", moved, "--no-serve", "--dry-run", "--json").json["command"]
    assert other.endswith(f"hook run --root {moved} --store notes")


HOOK = '{"type": "command", "command": "mine"}'
OTHERS = [
    "{}",
    "{}\n",
    "{ }",
    '{"model": "opus"}',
    '{\n  "model": "opus"\n}\n',
    '{\n\t"model": "opus",\n\t"env": {"A": "é", "B": "\\u00e9"}\n}',
    '{\n    "b": 1.50,\n    "a": [1,2,   3],\n    "hooks": {\n        "Stop": [{"hooks": [' + HOOK + "]}]\n    }\n}\n",
    '{\n  "hooks": {\n    "UserPromptSubmit": [\n      {\n        "hooks": [\n          '
    + HOOK
    + "\n        ]\n      }\n"
    '    ],\n    "SessionStart": [\n    ]\n  },\n  "z": null\n}\n',
    '{"hooks": {"UserPromptSubmit": [{"hooks": [' + HOOK + ']}]}, "z": 1}',
    '{\r\n  "model": "opus",\r\n  "hooks": {\r\n    "Stop": []\r\n  }\r\n}\r\n',
    '\n  {\n"model"  :  "a]}\\"[{"  ,\n"x":[]}',
]


@pytest.mark.parametrize("before", OTHERS)
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_every_other_byte_stays(home: Path, before: str, bom: bytes) -> None:
    file = home / FILES["claude-code"]
    file.parent.mkdir()
    file.write_bytes(bom + before.encode())
    assert memdb("hook", "install", "--yes").code == 0
    installed = file.read_bytes()
    assert installed.startswith(bom)
    said = json.loads(installed.decode("utf-8-sig"))
    ours = [entry["command"] for group in said["hooks"]["UserPromptSubmit"] for entry in group["hooks"]]
    assert sum("hook run" in command for command in ours) == 1
    if b"\r\n" in installed:
        assert installed.count(b"\n") == installed.count(b"\r\n")
    left = iter(installed.removeprefix(bom).decode())
    assert all(char in left for char in before), "the text before is there, in its order"
    assert memdb("hook", "remove", "--yes").code == 0
    after = file.read_bytes()
    assert json.loads(after.decode("utf-8-sig")) == json.loads(before) or '"SessionStart": [\n    ]' in before
    if before.strip() not in ("{ }",) and '"SessionStart": [\n    ]' not in before:
        assert after == bom + before.encode()


def test_an_older_entry_is_brought_up_to_date(home: Path, root: Path) -> None:
    memdb("hook", "install", "--yes")
    file = home / FILES["claude-code"]
    text = file.read_text().replace('"timeout": 5', '"timeout": 9, "mine": true')
    file.write_text(text)
    memdb("hook", "install", "--root", root, "--yes")
    entries = [node.value for _, node in agents.handlers(file.read_text())]
    assert [entry["timeout"] for entry in entries] == [5, 5]
    assert all(entry["mine"] for entry in entries)
    assert all(f"--root {root}" in entry["command"] for entry in entries)


@pytest.mark.parametrize(
    "content",
    [b"{", b"[]", b"// a comment\n{}", b'{"hooks": []}', b'{"hooks": {"UserPromptSubmit": 1}}', b"\xff\xfe{}"],
)
def test_what_is_not_understood_is_not_touched(home: Path, content: bytes) -> None:
    file = home / FILES["claude-code"]
    file.parent.mkdir()
    file.write_bytes(content)
    answer = memdb("hook", "install", "--yes")
    assert answer.code == 4
    assert file.read_bytes() == content
    assert memdb("hook", "status").code == 0


def test_nobody_is_asked_where_nobody_is(home: Path) -> None:
    answer = memdb("hook", "install")
    assert answer.code == 4
    assert "Add --yes to do it." in answer.err
    assert not (home / FILES["claude-code"]).exists()


def test_a_dry_run_shows_and_writes_nothing(home: Path) -> None:
    answer = memdb("hook", "install", "--dry-run", "--agent", "codex")
    assert answer.code == 0
    assert "UserPromptSubmit" in answer.err
    assert not (home / FILES["codex"]).exists()
    entry = memdb("hook", "install", "--dry-run", "--json", "--agent", "codex").json["entry"]
    assert "UserPromptSubmit" in entry["hooks"]


def test_a_project_has_settings_of_its_own(home: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    memdb("hook", "install", "--project", project, "--yes")
    assert (project / ".claude/settings.local.json").exists()
    assert not (home / ".claude").exists()


def test_an_agent_that_is_not_known(home: Path) -> None:
    answer = memdb("hook", "install", "--agent", "abacus", "--yes")
    assert answer.code == 3
    assert "claude-code, codex, gemini" in answer.err


@pytest.mark.parametrize("text", ["", "{", '{"a": }', "nul"])
def test_what_is_no_json_has_no_places(text: str) -> None:
    with pytest.raises(ValueError, match=r"Expecting|delimiter"):
        json_edit.parse(text)


def test_stores_that_hold_a_stash_forget_it(root: Path) -> None:
    run(root, {"prompt": "tables", "session_id": "1"})
    with Store(settings.place(root)) as store:
        store.forget("feedback/prefers-tables")
    kept = "".join(file.read_text() for file in (root / ".memdb/local/sessions").iterdir())
    assert "prefers-tables" not in kept


def test_the_readme_names_the_limits() -> None:
    text = " ".join((Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8").split())
    assert (hook.SECONDS, hook.BYTES) == (2.0, 4096)
    assert "A hook takes at most two seconds (`hook_seconds`) and 4,096 bytes (`hook_bytes`)" in text
    for name in agents.AGENTS:
        assert name == "claude-code" or f"--agent {name}" in text
