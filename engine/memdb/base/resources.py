"""Where the SQL files are: beside the package in a wheel, in the repository in an editable install."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def folder(name: str) -> Path:
    """The folder `sql` or `migrations`, in a wheel and in an editable install alike."""
    package = Path(__file__).resolve().parents[1]
    packaged = package / name
    return packaged if packaged.is_dir() else package.parents[1] / name


@cache
def query(name: str) -> str:
    """The text of `sql/queries/<name>.sql`."""
    return (folder("sql") / "queries" / f"{name}.sql").read_text(encoding="utf-8")


@cache
def views() -> tuple[tuple[str, str], ...]:
    """Every view as `(name, statement)`, by name."""
    files = sorted((folder("sql") / "views").glob("*.sql"))
    return tuple((file.stem, file.read_text(encoding="utf-8")) for file in files)


@cache
def migrations() -> tuple[tuple[str, str], ...]:
    """Every migration as `(name, statements)`, in the order in which they apply."""
    files = sorted(folder("migrations").glob("[0-9]*.sql"))
    return tuple((file.stem, file.read_text(encoding="utf-8")) for file in files)
