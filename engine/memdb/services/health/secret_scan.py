"""Where credentials lie on disk already: in the user's files and in what memdb keeps, named without being shown."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memdb.base import files, secrets, text
from memdb.base.place import FOLDER
from memdb.domain import history
from memdb.domain.documents import real_path
from memdb.services.context import Context, Progress, silent
from memdb.services.transfer.backups import BACKUPS

MOST_BYTES = 50_000_000
"""Of one file; a longer one is read to here."""

AROUND = 40
"""Characters that are shown on each side of a credential, on its line."""

OWN = re.compile(r"serve(?:-[0-9a-f]+)?\.json|mcp-token|checked\.json|last-opened|.*\.lock")
"""Files in `.memdb/local` with the keys of memdb's own servers, or without texts: only this user can read them."""

REDACTED = re.compile(r"\[redacted: ([^\]\n]{1,40})\]")
SHORTEST = 8
"""Characters: a shorter value of a table is no credential."""


@dataclass(frozen=True, slots=True)
class Exposed:
    """One credential: its file (of the database with table and column), 1-based line, kind, and its line without it.

    `line` is None where there are none, as in a table or a PDF. `text` has what stands around it; in its place are the
    kind and the number of characters.
    """

    file: str
    line: int | None
    kind: str
    text: str
    characters: int
    hint: str


def scan(context: Context, *, progress: Progress = silent) -> list[Exposed]:
    """Look for credentials in memory files, mirrored documents, the journal, snapshots, backups and the database.

    Reads all of them, half a second for a million characters; changes nothing. Files that cannot be read are passed
    over: `doctor` names them. Raises StoreUnreadable.
    """
    root = context.place.root
    found: list[Exposed] = []
    paths = [(path, root / files.real_path(path)) for path in sorted(files.walk(root).files)]
    paths += [
        (path, real_path(path, root))
        for (path,) in context.database.rows("select path from place where state = 'seen' order by path")
        if not history.is_snapshot(path)
    ]
    paths += [(file.relative_to(root).as_posix(), file) for file in _kept(context)]
    for done, (path, file) in enumerate(paths):
        progress("reading files", done, len(paths))
        found += _in_file(path, file)
    found += _in_passages(context)
    found += _in_tables(context, progress)
    return found


def find(where: str, written: str, *, lines: bool = True) -> list[Exposed]:
    """The credentials in a text that lies at a place."""
    spans = secrets.find_secrets(written)
    found = []
    for place, one in enumerate(spans):
        begins = spans[place - 1].end if place else 0
        ends = spans[place + 1].start if place + 1 < len(spans) else len(written)
        before = _LINES.split(written[max(begins, one.start - AROUND) : one.start])[-1]
        behind = _LINES.split(written[one.end : min(ends, one.end + AROUND)])[0]
        size = one.end - one.start
        shown = text.expose_hidden(f"{before}[{one.category}, {size} characters]{behind}").strip()
        found.append(
            Exposed(where, one.line if lines else None, one.category, shown, size, secrets.advice(one.category))
        )
    return found


_LINES = re.compile(r"[\r\n]")


def _kept(context: Context) -> Iterator[Path]:
    """What memdb keeps beside the database."""
    home = context.place.home
    for file in sorted(home.rglob("*")):
        parts = file.relative_to(home).parts
        if file.is_symlink() or not file.is_file() or file.name.startswith(context.place.database.name):
            continue
        if parts[0] == "local" and OWN.fullmatch(file.name):
            continue
        yield file


def _in_file(path: str, file: Path) -> list[Exposed]:
    try:
        if file.suffix == ".zip" and file.parent.name == BACKUPS:
            return list(_in_backup(path, file))
        with file.open("rb") as source:
            return _in_bytes(path, source.read(MOST_BYTES))
    except (OSError, zipfile.BadZipFile):
        return []


def _in_bytes(path: str, data: bytes) -> list[Exposed]:
    try:
        return find(path, text.decode(data).text)
    except text.UndecodableText:
        return []  # of a PDF or the like, its passages are looked at


def _in_backup(path: str, file: Path) -> Iterator[Exposed]:
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            if not entry.filename.endswith(".db") and entry.file_size <= MOST_BYTES:
                yield from _in_bytes(f"{path}!{entry.filename}", archive.read(entry))


def _in_passages(context: Context) -> Iterator[Exposed]:
    """What was cut out of documents whose files are no text."""
    for path, page, kept in context.database.rows(
        "select (select min(path) from place where document_id = chunk.document_id), page, prefix || ' ' || text"
        " from chunk join document on document.id = chunk.document_id"
        " where has_secret and format in ('pdf', 'docx') order by 1, ordinal"
    ):
        for match in REDACTED.finditer(kept):
            where = f", page {page}" if page is not None else ""
            around = kept[max(0, match.start() - AROUND) : match.end() + AROUND]
            yield Exposed(
                f"{path}{where}",
                None,
                match[1],
                text.expose_hidden(" ".join(around.split())),
                0,
                secrets.advice(match[1]),
            )


def _in_tables(context: Context, progress: Progress) -> Iterator[Exposed]:
    """What the database has, where memdb should have written nothing of the kind: of an earlier version, by others."""
    database = context.database
    name = f"{FOLDER}/{context.place.database.name}"
    tables = [
        table
        for (table,) in database.rows(
            "select name from sqlite_master where type = 'table' and sql not like 'create virtual%'"
            " and name not glob 'fts_*' and name not glob 'version_fts_*' and name not glob 'vec_*' order by name"
        )
    ]
    for done, table in enumerate(tables):
        progress("reading the database", done, len(tables))
        columns = [
            column
            for _, column, kind, *_ in database.rows(f'pragma table_info("{table}")')
            if kind.lower() == "text" and not column.endswith("sha256")
        ]
        for column in columns:
            for (value,) in database.connection.execute(
                f'select "{column}" from "{table}" where length("{column}") >= {SHORTEST}'
            ):
                yield from find(f"{name}: {table}.{column}", str(value), lines=False)
