"""The page `sql/README.md`, made from the SQL files themselves: `python -m tests.reference` writes it anew.

That of the Python API, `engine/memdb/README.md`, is made in `reference_api`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from memdb.base.resources import column_notes, question
from memdb.base.storage import Database

SQL = Path(__file__).parents[1] / "sql"
PAGE = SQL / "README.md"

OPENING = """# What the file can be asked

Every view and recipe here opens in any SQLite from 3.40 on, without extensions: `sqlite3 .memdb/memory.db`, a notebook,
Datasette. This page is made from the files beside it by `python -m tests.reference`."""


def page() -> str:
    """The whole page as it should be."""
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "memory.db")
        try:
            views = [_view(database, file) for file in files("views")]
        finally:
            database.close()
    recipes = [_recipe(file) for file in files("recipes")]
    told = "Questions that people have, each answered by one statement; `:name` and the like are values to fill in."
    return "\n\n".join([OPENING, "## Views", *views, "## Recipes", told, *recipes]) + "\n"


def files(folder: str) -> list[Path]:
    """The SQL files of a folder by name."""
    return sorted((SQL / folder).glob("*.sql"))


def columns(database: Database, file: Path) -> list[tuple[str, str]]:
    """The columns of a view with the comment that stands beside each, empty where there is none."""
    notes = column_notes(file.read_text(encoding="utf-8"))
    names = database.rows("select name from pragma_table_info(?)", (file.stem,))
    return [(name, notes.get(name, "")) for (name,) in names]


def _view(database: Database, file: Path) -> str:
    rows = "\n".join(f"| `{name}` | {comment} |" for name, comment in columns(database, file))
    asked = question(file.read_text(encoding="utf-8"))
    return f"### {file.stem}\n\n{asked}\n\n| column | what it holds |\n|---|---|\n{rows}"


def _recipe(file: Path) -> str:
    text = file.read_text(encoding="utf-8")
    statement = text.partition("\n")[2].strip()
    return f"### {question(text)}\n\n`sql/recipes/{file.name}`\n\n```sql\n{statement}\n```"


if __name__ == "__main__":
    from tests import reference_api

    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    reference_api.PAGE.write_text(reference_api.page(), encoding="utf-8", newline="\n")
