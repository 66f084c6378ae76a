"""The help of every command, and what it costs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from memdb import errors
from memdb_cli.app import COMMANDS
from memdb_cli.options import EXIT_CODES
from tests.cli_support import make, memdb

MODEL_COMMANDS = ("list", "use", "pull", "path")
STORE_COMMANDS = ("list", "add", "remove", "rename", "path")
ENTITY_COMMANDS = (
    "list", "show", "suggest", "rename", "retype", "merge", "unmerge", "delete", "restore", "distinct"
)  # fmt: skip
HELPS = [(name,) for name in COMMANDS] + [("model", name) for name in MODEL_COMMANDS]
HELPS += [("stores", name) for name in STORE_COMMANDS]
HELPS += [("hook", name) for name in ("run", "install", "remove", "status")]
HELPS += [("entities", name) for name in ENTITY_COMMANDS]


@pytest.mark.parametrize("words", HELPS, ids=" ".join)
def test_every_help_has_a_summary_and_an_example(words: tuple[str, ...]) -> None:
    answer = memdb(*words, "--help")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"Usage: memdb {' '.join(words)} ")
    examples = answer.out.partition("Examples:\n")[2]
    assert re.search(rf"^ +.*\bmemdb {' '.join(words)}\b", examples, re.MULTILINE)
    assert "\x1b" not in answer.out


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_of_the_root_help_is_that_of_the_command(name: str) -> None:
    summary = COMMANDS[name].summary
    assert summary in " ".join(memdb(name, "--help").out.split())
    assert f" {name} {summary} " in " ".join(memdb("--help").out.split())


@pytest.mark.parametrize("words", HELPS, ids=" ".join)
def test_every_command_takes_json_and_all_but_a_few_the_place(words: tuple[str, ...]) -> None:
    if words == ("model",):
        return  # a group: its commands take them
    shown = memdb(*words, "--help").out
    assert "--json" in shown
    placeless = {("demo",), ("model", "pull"), ("stores",), *(("stores", name) for name in STORE_COMMANDS)}
    assert ("--root" in shown and "--db" in shown) is (words not in placeless)
    assert ("--store" in shown.partition("Examples:")[0]) is ("--root" in shown or words == ("stores",))


def test_the_root_help_lists_every_exit_code_of_an_error() -> None:
    shown = memdb("--help").out
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.MemdbError)]
    assert {kind.exit_code for kind in kinds} | {0, 130} == set(EXIT_CODES)
    for code, meaning in EXIT_CODES.items():
        assert re.search(rf"^ +{code}  {re.escape(meaning)}$", shown, re.MULTILINE)


@pytest.mark.parametrize("words", [("--help",), ("-h",), ()])
def test_the_root_help(words: tuple[str, ...]) -> None:
    answer = memdb(*words)
    assert answer.code == 0
    assert answer.out.startswith("Usage: memdb [OPTIONS] COMMAND [ARGS]...\n")


def test_version() -> None:
    assert memdb("--version").out.startswith("memdb 0.")


HEAVY = ("numpy", "fastembed", "onnxruntime", "tokenizers", "openai", "rich")
LOOK = """import sys
import typer
before = set(sys.modules)  # older typers load rich themselves
from memdb_cli.main import run
code = run(sys.argv[2:])
loaded = sorted(name for name in sys.argv[1].split(",") if name in sys.modules.keys() - before)
print(code, loaded, file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("words", "never"),
    [
        (("--help",), (*HEAVY, "apsw", "memdb.store", "memdb_cli.commands.ask")),
        (("list",), HEAVY),
        (("recall", "tables", "--no-vector", "--no-sync"), HEAVY),
    ],
)
def test_what_is_never_loaded(words: tuple[str, ...], never: tuple[str, ...], tmp_path: Path) -> None:
    root = make(tmp_path)
    place = () if words == ("--help",) else ("--root", str(root))
    done = subprocess.run(
        [sys.executable, "-c", LOOK, ",".join(never), *words, *place], capture_output=True, text=True, check=True
    )
    assert done.stderr.splitlines()[-1] == "0 []"
