"""The tables of quality say what the bench measured, no other figure, and the README has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench import quality_tables

STORE = {"questions": 4}
TABLE = {
    "fusion": {"R@2": 0.5, "R@5": 0.6666, "R@10": 1.0, "nDCG@10": 0.71, "all-gold@5": 0.25},
    "cascade": {"R@2": 0.75, "R@5": 1.0, "R@10": 1.0, "nDCG@10": 0.9, "all-gold@5": 1.0, "categories": {}},
    "vector": {"off": "no model"},
    "keyword": {"off": "not asked"},
}


def test_readme_and_page_are_made_from_the_figures() -> None:
    figures = quality_tables.read()
    assert list(figures) == list(quality_tables.SUITES)
    readme = quality_tables.README.read_text(encoding="utf-8")
    assert quality_tables.section(figures) in readme
    assert quality_tables.TABLES_FILE.read_text(encoding="utf-8") == quality_tables.page(figures)


def test_a_run_replaces_the_figures_of_its_suites_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIGURES_FILE", "TABLES_FILE", "README"):
        monkeypatch.setattr(quality_tables, name, tmp_path / name)
    marked = f"before\n{quality_tables.BEGIN}\nold\n{quality_tables.END}\nafter\n"
    quality_tables.README.write_text(marked, encoding="utf-8")
    earlier = {"questions": 9, "configurations": {name: {} for name in TABLE}, "categories": {}}
    quality_tables.FIGURES_FILE.write_text(json.dumps({"locomo": earlier}), encoding="utf-8")
    quality_tables.write({"scifact": {"stores": [STORE], "table": TABLE}})
    figures = quality_tables.read()
    assert figures["locomo"]["questions"] == 9
    assert figures["scifact"]["configurations"]["fusion"]["R@5"] == 66.7
    assert "| fusion | 50.0 | 66.7 | 100.0 | 71.0 | 25.0 |" in quality_tables.TABLES_FILE.read_text(encoding="utf-8")
    text = quality_tables.README.read_text(encoding="utf-8")
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
    assert "| SciFact, nDCG@10 | off | off | 71.0 | 90.0 |" in text


def test_by_category_every_arm_stands_beside_the_cascade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIGURES_FILE", "TABLES_FILE", "README"):
        monkeypatch.setattr(quality_tables, name, tmp_path / name)
    quality_tables.README.write_text("", encoding="utf-8")
    part = {"questions": 3, "R@2": 0.1, "R@5": 0.2, "R@10": 0.333, "nDCG@10": 0.4, "all-gold@5": 0.5}
    table = {
        **TABLE,
        "fusion": {**TABLE["fusion"], "categories": {"temporal": part | {"R@5": 0.25}}},
        "cascade": {**TABLE["cascade"], "categories": {"temporal": part}},
    }
    quality_tables.write({"locomo": {"stores": [STORE], "table": table}})
    page = quality_tables.TABLES_FILE.read_text(encoding="utf-8")
    off = "off / off / off"
    assert f"| temporal (3) | {off} | {off} | 25.0 / 33.3 / 40.0 | 20.0 / 33.3 / 40.0 |" in page
