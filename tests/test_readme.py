"""What README.md says is run here: its tour, its SQL, its Python, its demonstration, its lists."""

from __future__ import annotations

import os
import re
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from memdb.base import resources
from memdb.errors import MemdbError

NEAR = 0.01
"""How far a figure may be from the one in the README: between processors they differ in the third decimal."""

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")


def block(name: str) -> str:
    """The part of the README between two markers."""
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- end -->", TEXT, re.S)
    assert found, f"README has no part {name!r}"
    return found[1]


def commands(name: str) -> list[tuple[list[str], list[str]]]:
    """The commands of a console block, each with the lines that the README shows under it."""
    found: list[tuple[list[str], list[str]]] = []
    for line in block(name).splitlines():
        if line.startswith("$ "):
            found.append((shlex.split(line[2:]), []))
        elif found and not line.startswith("```") and line:
            found[-1][1].append(line)
    return found


def without_figures(line: str) -> str:
    """A line with its figures blanked: the last digits of a similarity differ between processors."""
    return re.sub(r" +", " ", re.sub(r"\d\.\d+", "N", line)).strip()


def figures(line: str) -> list[float]:
    """The figures of a line, which may differ from those of another processor by a little."""
    return [float(figure) for figure in re.findall(r"\d\.\d+", line)]


def assert_near(printed: list[str], shown: list[str]) -> None:
    """Lines are as the README shows them, and so are their figures but for what a processor makes of them."""
    assert [without_figures(line) for line in printed] == [without_figures(line) for line in shown]
    for line, as_shown in zip(printed, shown, strict=True):
        assert figures(line) == pytest.approx(figures(as_shown), abs=NEAR), line


def run(arguments: list[str], folder: Path) -> list[str]:
    """Run a `memdb` command as a process and return its lines."""
    result = subprocess.run(
        [sys.executable, "-m", "memdb_cli", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=120,
    )
    return result.stdout.splitlines()


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tour")


@pytest.mark.model
def test_the_tour_prints_what_the_readme_shows(tour: Path) -> None:
    folder = tour
    for words, shown in commands("tour"):
        if words[0] == "cd":
            folder = folder / words[1]
            continue
        printed = [line for line in run(words[1:], folder) if not line.startswith("next:")]
        if words[1] == "init":
            assert printed[0].endswith("notes is a memdb store now.")
            continue
        assert_near(printed, shown)


@pytest.mark.model
def test_the_sql_prints_what_the_readme_shows(tour: Path) -> None:
    run(["sync"], tour / "notes")  # on a busy machine a save leaves names for later
    with sqlite3.connect(tour / "notes" / ".memdb" / "memory.db") as connection:
        for words, shown in commands("sql"):
            rows = connection.execute(words[2]).fetchall()
            assert ["|".join(str(value) for value in row) for row in rows] == shown
    connection.close()


@pytest.mark.model
def test_the_documents_print_what_the_readme_shows(tour: Path) -> None:
    guide = tour / "guides" / "install.md"
    guide.parent.mkdir()
    text = "# Install\n\n## Linux\n\nInstall the package, then start the service with systemctl.\n\n"
    guide.write_text(f"{text}## Windows\n\nRun the installer as administrator.\n", encoding="utf-8", newline="\n")
    for words, shown in commands("documents"):
        arguments = [word.replace("/…", tour.as_posix()) for word in words[1:]]
        printed = [line.replace(tour.as_posix(), "/…") for line in run(arguments, tour / "notes")]
        assert_near(printed, shown)


@pytest.mark.slow
def test_the_corrections_print_what_the_readme_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMDB_USER", "ines")
    monkeypatch.setenv("MEMDB_EMBEDDER", "off")
    notes = ("Quillbase has it.", "They asked Quillbase, and Grafana drew it.", "Somebody set up Quill Base for it.")
    for number, note in enumerate(notes):
        file = tmp_path / "project" / f"note-{number}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{note}\n", encoding="utf-8", newline="\n")
    run(["init", "."], tmp_path)
    ids: dict[str, str] = {}

    def plain(line: str) -> str:
        """A line without what differs from run to run."""
        return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "WHEN", re.sub(r"\b[0-9a-f]{10}\b", "ID", line))

    for words, shown in commands("curation"):
        printed = run([ids.get(word, word) for word in words[1:]], tmp_path)
        assert [plain(line) for line in printed] == [plain(line) for line in shown], words
        for line, as_shown in zip(printed, shown, strict=True):
            found = [re.findall(r"\b[0-9a-f]{10}\b", one) for one in (as_shown, line)]
            ids |= dict(zip(*found, strict=True))


@pytest.mark.slow
def test_moving_in_and_out_prints_what_the_readme_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMDB_EMBEDDER", "off")
    for name, text in (("Harbour", "---\ntype: project\n---\nSee [[Quay]].\n"), ("Quay", "Before it, [[Old quay]].\n")):
        file = tmp_path / "vault" / f"{name}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
    (tmp_path / "vault" / ".obsidian").mkdir()
    run(["init", "notes"], tmp_path)
    for words, shown in commands("moving"):
        printed = run(words[1:], tmp_path / "notes")
        assert not shown or printed == shown, words
    assert run(["--root", "notes-again", "digest"], tmp_path) == run(["--root", "notes", "digest"], tmp_path)


@pytest.mark.model
def test_the_python_runs(tour: Path) -> None:
    code = re.search(r"```python\n(.*?)```", TEXT, re.S)
    assert code
    result = subprocess.run(
        [sys.executable, "-c", code[1]], cwd=tour, capture_output=True, encoding="utf-8", check=True, timeout=120
    )
    assert result.stdout.splitlines()[0].startswith("feedback/prefers-tables 0.")


@pytest.mark.model
def test_the_demonstration_prints_what_the_readme_shows(tmp_path: Path) -> None:
    [(words, shown), (_, more)] = commands("demo output")
    printed = {without_figures(line): line for line in run([*words[1:], "--keep", str(tmp_path / "demo")], tmp_path)}
    for line in [*shown, *more]:
        assert_near([printed.get(without_figures(line), "")], [line])


def test_every_view_is_named() -> None:
    for name, _ in resources.views():
        assert re.search(rf"\b{name.removesuffix('_all')}\b", TEXT), name


def test_every_exit_code_is_named() -> None:
    codes = {kind.exit_code for kind in all_errors(MemdbError)}
    for code in codes:
        assert f"\n| {code} | " in TEXT, code


def all_errors(kind: type[MemdbError]) -> set[type[MemdbError]]:
    """An error class and all below it."""
    return {kind}.union(*(all_errors(below) for below in kind.__subclasses__()))


def test_every_variable_is_named() -> None:
    engine = Path(resources.__file__).parents[1]
    used = {
        name
        for file in engine.rglob("*.py")
        for name in re.findall(r"\"(MEMDB_[A-Z_]+)\"", file.read_text(encoding="utf-8"))
    }
    assert used
    for name in used:
        assert name in TEXT, name
