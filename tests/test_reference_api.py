"""The page of the Python API says what the code says, and its examples print what they show."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
from pathlib import Path
from typing import Any

import pytest

from memdb.store import Store
from tests import reference_api

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = sorted(reference_api.EXAMPLES.glob("*.py"))

METHODS = [(name, value) for name, value in reference_api.methods(Store).items()] + [
    (f"{noun}.{name}", value)
    for noun in reference_api.NOUNS
    for name, value in reference_api.methods(reference_api._group(noun)).items()
]


def test_the_page_is_what_the_code_says() -> None:
    assert reference_api.PAGE.read_text(encoding="utf-8") == reference_api.page(), "run: python -m tests.reference"


@pytest.mark.parametrize(("name", "method"), METHODS, ids=[name for name, _ in METHODS])
def test_every_method_is_explained_and_typed(name: str, method: Any) -> None:
    plain = method.fget if isinstance(method, property) else getattr(method, "__func__", method)
    text = inspect.getdoc(plain) or ""
    assert re.match(r"[A-Z`].*\.(\s|$)", text.partition("\n\n")[0], re.DOTALL), name
    shape = inspect.signature(plain)
    assert shape.return_annotation is not shape.empty
    options = [one for one in shape.parameters.values() if one.name not in ("self", "cls")]
    assert all(one.annotation is not one.empty for one in options)
    assert not [one for one in options if one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL)], "its options are not told"


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_prints_what_it_shows(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_model: None
) -> None:
    monkeypatch.chdir(tmp_path)
    text = file.read_text(encoding="utf-8")
    shown = [line.removeprefix("#").removeprefix(" ") for line in text.rpartition("\n\n")[2].splitlines()]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, file.name, "exec"), {"__name__": "__main__"})
    assert printed.getvalue().splitlines() == shown


def test_every_example_is_shown_and_the_main_methods_have_one() -> None:
    page = reference_api.PAGE.read_text(encoding="utf-8")
    for file in EXAMPLES:
        assert reference_api.example_shown(file) in page, file.name
    main = {"recall", "save", "add", "import_from", "export", "backup", "forget", "restore", "entities_merge"}
    assert main <= {file.stem for file in EXAMPLES}


def test_the_readme_leads_to_the_page() -> None:
    assert "(engine/memdb/README.md)" in README.read_text(encoding="utf-8")
