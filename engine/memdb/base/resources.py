"""Where the SQL files are: beside the package in a wheel, in the repository in an editable install."""

from __future__ import annotations

import re
from functools import cache, lru_cache
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


def migrations_digest() -> str:
    """Changes when the text of a migration does: a database that has it was compared with what they make."""
    return _digest(migrations())


def views_digest() -> str:
    """Changes when a view's text does, so that a program with newer views puts them in."""
    return _digest(views())


@lru_cache(maxsize=4)
def _digest(statements: tuple[tuple[str, str], ...]) -> str:
    from hashlib import sha256  # noqa: PLC0415

    return sha256("".join(statement for _, statement in statements).encode()).hexdigest()


@cache
def recipes() -> tuple[tuple[str, str], ...]:
    """Every recipe as `(name, statement)`, by name: a question that people have, answered by one statement."""
    files = sorted((folder("sql") / "recipes").glob("*.sql"))
    return tuple((file.stem, file.read_text(encoding="utf-8")) for file in files)


def question(statement: str) -> str:
    """What an SQL file answers: its first line."""
    return statement.partition("\n")[0].removeprefix("-- ")


def column_notes(statement: str) -> dict[str, str]:
    """What a view's file says of its columns, by their names: the comment behind each."""
    found = re.findall(r"^(?!--).*?(\w+),?[ ]*--[ ]*(.+)$", statement, re.MULTILINE)
    return {name: note.strip() for name, note in found}
