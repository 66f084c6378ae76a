"""From options to an open store, and text from the outside."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memdb.errors import NotFound, SecretFound, UsageError
from memdb_cli import background, screen

if TYPE_CHECKING:
    from memdb import Store


@contextmanager
def open_store(root: Path | None, database: Path | None) -> Iterator[Store]:
    """The store that the options name, closed at the end; says so where it had to be rebuilt, or was moved."""
    import memdb
    from memdb.base import named

    store = memdb.open(root, db=database)
    with store:
        for remark in named.opened(store.place):
            screen.note(f"note: {remark}")
        yield store
        if store.damage:
            screen.note(f"note: the database was rebuilt from the files: {store.damage}")
    background.start(store.place)


def read_text(file: Path) -> str:
    """A file's text in whatever encoding it has. Raises NotFound, UsageError."""
    try:
        return _decoded(file.read_bytes(), str(file))
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {file}.") from error
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}.") from error


def read_stdin() -> str:
    """All of standard input, in whatever encoding it has. Raises UsageError where it is no text."""
    return _decoded(stdin_bytes(), "Standard input")


def read_question() -> str:
    """All of standard input as a question: bytes that are no text are passed over."""
    return stdin_bytes().decode("utf-8", "replace").strip("\r\n")


def stdin_bytes() -> bytes:
    """All of standard input as it came."""
    binary = getattr(sys.stdin, "buffer", None)
    return bytes(binary.read()) if binary is not None else sys.stdin.read().encode("utf-8", "replace")


def _decoded(data: bytes, source: str) -> str:
    from memdb.base.text import UndecodableText, decode

    try:
        return decode(data).text
    except UndecodableText as error:
        raise UsageError(f"{source} is not readable as text.", hint="Write it as UTF-8.") from error


def given_body(body: str | None, file: Path | None) -> str | None:
    """The text that --body or --file name; None where neither was given."""
    if body is not None and file is not None:
        raise UsageError("--body and --file both give the text.", hint="Leave one of them out.")
    if file is not None:
        return read_text(file)
    if body == "-":
        return read_stdin()
    # A word of a command line cannot well end with a newline; a text file does.
    return f"{body}\n" if body and not body.endswith("\n") else body


def given_fields(pairs: Sequence[str] | None, removed: Sequence[str] | None) -> dict[str, str | None]:
    """Frontmatter keys from `KEY=VALUE` words, and None for those to remove. Raises UsageError."""
    fields: dict[str, str | None] = dict.fromkeys(removed or ())
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UsageError(
                f"--set is {pair!r}.", hint="Write --set KEY=VALUE, for example --set valid_to=2026-12-31."
            )
        fields[key.strip()] = value
    return fields


def file_bytes(store: Store, path: str) -> bytes:
    """The bytes of a memory's file as they are now. Raises NotFound."""
    from memdb.base import files

    found = files.stat_file(store.place.root, path)
    if found is None:
        raise NotFound(f"The file {path} is gone.", hint="Run `memdb sync`; `memdb history` shows what it said.")
    return files.read(store.place.root, found)


def open_bytes(store: Store, path: str) -> bytes:
    """The same, unless the text looks like a credential. Raises SecretFound."""
    from memdb.base import secrets, text

    data = file_bytes(store, path)
    try:
        found = secrets.find_secrets(text.decode(data).text)
    except text.UndecodableText:
        return data
    if found:
        raise SecretFound(
            f"{path} is not shown: line {found[0].line} looks like a credential ({found[0].category}).",
            hint=f"`memdb show` shows it with that part hidden. {secrets.advice(found[0].category)}",
        )
    return data
