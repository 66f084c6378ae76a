"""What README.md says of many stores is run here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli_support import make
from tests.test_readme import TEXT, commands, run, without_figures


@pytest.fixture
def folder(tmp_path: Path, no_model: None) -> Path:
    """A folder with the stores work and home."""
    for name, words in (("work", "of the office"), ("home", "at home")):
        colour = "red" if name == "work" else "blue"
        text = f"---\ndescription: The kettle {words}\n---\nThe kettle {words} is {colour}.\n"
        make(tmp_path / name, user__kettle=text)
    return tmp_path


def test_many_stores_print_what_the_readme_shows(folder: Path) -> None:
    def plain(line: str) -> str:
        return re.sub(r" +", " ", without_figures(re.sub(r"\b[0-9a-f]{16}\b", "…", line)).replace(str(folder), "/…"))

    for words, shown in commands("stores"):
        assert [plain(line) for line in run(words[1:], folder)] == [plain(line) for line in shown], words


def test_the_python_of_many_stores_runs(folder: Path) -> None:
    code = re.search(r"```python\n(import memdb\n\nwith memdb.open_all.*?)```", TEXT, re.S)
    assert code
    done = subprocess.run(
        [sys.executable, "-c", code[1]], cwd=folder, env=dict(os.environ), capture_output=True, encoding="utf-8",
        check=True, timeout=60,
    )  # fmt: skip
    *hits, count = done.stdout.splitlines()
    assert (sorted(line.rsplit(" ", 1)[0] for line in hits), count) == (["home user/kettle", "work user/kettle"], "1")
