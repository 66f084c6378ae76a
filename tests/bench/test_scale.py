"""The bench of speed and size runs, at a size where its figures mean nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench import commands, folders, scale, scale_tables, stores
from tests.bench.measuring import Row
from tests.bench.synthetic import passage, write_documents

FIELDS = {"figure", "size", "what", "value", "unit", "against", "baseline", "ratio", "goal", "at_least", "is_met"}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the real model, each call once, and without waiting for files to become old."""
    monkeypatch.setenv("MEMDB_HOME", str(tmp_path))  # the bench sets another one, which must not stay
    monkeypatch.setattr(commands, "has_model", lambda: False)
    monkeypatch.setattr(folders, "SETTLING", 0.0)
    for module, least in ((scale, "STARTS"), (stores, "QUESTIONS"), (stores, "SAVES"), (folders, "SYNCS")):
        monkeypatch.setattr(module, f"LEAST_{least}", 1)


@pytest.mark.usefixtures("quick")
def test_a_run_gives_every_figure_as_flat_json(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--chunks", "45,60", "--files", "12", "--folder", "12", "--repeat", "1", "--json"]
    assert scale.main(asked) == 0
    said = json.loads(capsys.readouterr().out)
    assert said.keys() == {"version", "python", "system", "rows"}
    assert {tuple(sorted(row)) for row in said["rows"]} == {tuple(sorted(FIELDS))}
    figures = {(row["figure"], row["size"], row["what"]) for row in said["rows"]}
    for size in (45, 60):
        assert {(name, size, "chunks") for name in ("warm recall p50", "warm recall p95", "one save")} <= figures
        assert {(name, size, "chunks") for name in ("file size", "rebuild, vectors salvaged")} <= figures
    assert ("growth of warm recall", 60, "chunks") in figures
    assert ("sync with nothing changed", 12, "memory files") in figures
    assert ("sync with nothing changed", 12, "document files") in figures
    assert ("memdb --help", None, "") in figures
    found = {row["figure"]: row["value"] for row in said["rows"] if row["size"] == 60}
    assert found["vector arm recall@10"] == 1.0


@pytest.mark.usefixtures("quick")
def test_the_table_says_what_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert scale.main(["--memories", "20", "--repeat", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["figure", "of", "ratio", "goal", "measured", "against"]
    assert any(line.startswith("one save") and "20 memories" in line for line in lines)
    assert not any("chunks" in line for line in lines)


def row(value: float, against: float | None, goal: float | None, *, at_least: bool = False) -> Row:
    return Row("figure", None, "", value, "s", against, "", goal=goal, at_least=at_least)


@pytest.mark.parametrize(
    ("figure", "ratio", "is_met"),
    [
        (row(3.0, 2.0, 1.5), 1.5, True),
        (row(3.1, 2.0, 1.5), 1.55, False),
        (row(0.95, 1.0, 0.9, at_least=True), 0.95, True),
        (row(0.85, 1.0, 0.9, at_least=True), 0.85, False),
        (row(320.0, None, 400.0), 320.0, True),
        (row(3.0, 2.0, None), 1.5, None),
    ],
)
def test_a_goal_is_a_limit_of_the_ratio(figure: Row, ratio: float, is_met: bool | None) -> None:
    assert (figure.ratio, figure.is_met) == (pytest.approx(ratio), is_met)


def test_synthetic_texts_are_the_same_each_time_and_differ_from_one_another(tmp_path: Path) -> None:
    texts = [passage(number) for number in range(200)]
    assert texts == [passage(number) for number in range(200)]
    assert len(set(texts)) == 200
    questions = [write_documents(tmp_path / name, 40, tmp_path / f"{name}-memories") for name in ("one", "two")]
    assert questions[0] == questions[1]
    files = [
        {file.relative_to(tmp_path / name).as_posix(): file.read_bytes() for file in (tmp_path / name).rglob("*.*")}
        for name in ("one", "two")
    ]
    assert files[0] == files[1]
    assert len(files[0]) == 2


def test_a_run_that_is_kept_goes_on_where_it_was(
    quick: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [
        "--chunks",
        "30",
        "--files",
        "0",
        "--folder",
        "0",
        "--repeat",
        "1",
        "--json",
        "--keep",
        str(tmp_path / "kept"),
    ]
    assert scale.main(asked) == 0
    first = json.loads(capsys.readouterr().out)
    monkeypatch.setattr(stores.StoreBench, "recall", None)
    assert scale.main(asked) == 0
    assert json.loads(capsys.readouterr().out) == first
    monkeypatch.undo()
    monkeypatch.setattr(stores.ChunkBench, "write", None)
    (tmp_path / "kept" / scale.FIGURES).unlink()
    monkeypatch.setattr(commands, "has_model", lambda: False)
    assert scale.main(asked) == 0
    again = json.loads(capsys.readouterr().out)
    assert [row["figure"] for row in again["rows"]] == [row["figure"] for row in first["rows"]]


def figure(name: str, size: int, value: float, *, against: float | None = 1.0, unit: str = "s") -> dict[str, object]:
    return Row(name, size, "chunks", value, unit, against, "something", goal=2.0).as_json()


def test_the_page_and_the_plot_say_what_was_measured(tmp_path: Path) -> None:
    rows = [
        figure("recall", 1_000, 0.5),
        figure("recall", 10_000, 2.0),
        figure("one save", 1_000, 0.1),
        figure("one save", 10_000, 1.5),
        figure("rebuild, vectors salvaged", 1_000, 1.0),
        figure("rebuild, vectors salvaged", 10_000, 30.0),
    ]
    scale_tables.write({"version": "1", "rows": rows}, tmp_path)
    page = (tmp_path / "SPEED.md").read_text(encoding="utf-8")
    assert "| recall | 10,000 chunks | 2.00 | ≤ 2 | yes | something |" in page
    assert "| one save | 10,000 chunks | 1.50 | ≤ 2 | yes | something |" in page
    assert "| recall | 1.00 | 4.00 |" in page
    assert "Faster than the data: one save." in page
    drawn = (tmp_path / "speed.svg").read_text(encoding="utf-8")
    assert drawn.count("<polyline") == 4
    assert "rebuild, vectors salvaged" in drawn
    assert json.loads((tmp_path / "speed.json").read_text(encoding="utf-8"))["rows"] == rows


def test_the_page_of_speed_is_made_from_the_figures() -> None:
    rows = json.loads((scale_tables.HERE / "speed.json").read_text(encoding="utf-8"))["rows"]
    assert (scale_tables.HERE / "SPEED.md").read_text(encoding="utf-8") == scale_tables.page(rows)
    assert (scale_tables.HERE / "speed.svg").read_text(encoding="utf-8") == scale_tables.plot(scale_tables.growth(rows))
