"""What people and programs see: data on stdout, remarks on stderr, colours on a terminal alone."""

from __future__ import annotations

import errno
import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

Part = tuple[str, str]
"""A piece of text with its style, in rich's words; "" is plain."""


class OutputLost(Exception):
    """Standard output takes no more; `reason` says why, None where nobody reads it any more, as behind `| head`."""

    def __init__(self, reason: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason


def prepare_streams() -> None:
    """Let every character through on every console: what its encoding lacks is written as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at the stream."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def dot() -> str:
    """What stands between parts of a line: a raised dot where the console has one."""
    return " ·" if _has("·") else ","


def arrows(text: str) -> str:
    """A text with the arrows between headings as the console has them."""
    return text if _has("›") else text.replace("›", ">")


def _has(char: str) -> bool:
    """Whether standard output has a character."""
    try:
        char.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def write(text: str) -> None:
    """Write data to standard output. Raises OutputLost."""
    with _pipe():
        sys.stdout.write(text)


def write_bytes(data: bytes) -> None:
    """Write bytes to standard output, unchanged. Raises OutputLost."""
    with _pipe():
        sys.stdout.flush()
        binary = getattr(sys.stdout, "buffer", None)
        if binary is None:
            sys.stdout.write(data.decode("utf-8", "backslashreplace"))
        else:
            binary.write(data)
            binary.flush()


def flush() -> None:
    """Push out what is written. Raises OutputLost."""
    with _pipe():
        sys.stdout.flush()


@contextmanager
def _pipe() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # Windows reports a closed pipe as an invalid argument.
        closed = isinstance(error, BrokenPipeError) or (os.name == "nt" and error.errno == errno.EINVAL)
        raise OutputLost(None if closed else error.strerror or str(error)) from error


def as_json(value: Any) -> None:
    """Write one JSON value, readable; raw characters where standard output is UTF-8, else ASCII."""
    import json

    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    write(json.dumps(value, ensure_ascii=encoding != "utf8", indent=2) + "\n")


def note(text: str) -> None:
    """A remark for the person, on stderr."""
    print(exposed(text), file=sys.stderr)


def cell(text: str) -> str:
    """A stored text on one line, with its hidden characters shown."""
    return " ".join(exposed(text).split())


def body(text: str) -> str:
    """A stored text on its lines, with its hidden characters shown."""
    return exposed(text).rstrip("\n") + "\n"


def exposed(text: str) -> str:
    """A stored text with the characters that draw nothing, or steer the drawing, written out."""
    from memdb.base.text import expose_hidden

    return expose_hidden(text)


def lines(rows: Iterable[Sequence[Part]]) -> None:
    """Write lines made of styled parts; longer ones are wrapped by the terminal."""
    if not is_terminal(sys.stdout):
        for row in rows:
            write("".join(text for text, _ in row).rstrip() + "\n")
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    with _pipe():
        for row in rows:
            console.print(Text.assemble(*[(text, style) for text, style in row]))


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> None:
    """Write a table; `right` names the columns of numbers."""
    shown = [[cell(value) for value in row] for row in rows]
    if not is_terminal(sys.stdout):
        for line in aligned(headers, shown, right):
            write(line + "\n")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for index, header in enumerate(headers):
        drawn.add_column(
            header,
            justify="right" if header in right else "left",
            style="cyan" if index == 0 else "",
            overflow="fold",
            # Ids are copied from here: they stay whole.
            no_wrap=index == 0 or header in right,
        )
    for row in shown:
        drawn.add_row(*[Text(value) for value in row])
    with _pipe():
        Console(highlight=False).print(drawn)


def aligned(headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> list[str]:
    """The lines of a table in plain text: two spaces between columns, no rules."""
    widths = [max(width(text) for text in column) for column in zip([h.upper() for h in headers], *rows, strict=True)]
    result = []
    for row in [[h.upper() for h in headers], *rows]:
        padded = [pad(text, widths[index], headers[index] in right) for index, text in enumerate(row)]
        result.append("  ".join(padded).rstrip())
    return result


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun: 1 memory, 2 memories."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def pad(text: str, columns: int, right: bool = False) -> str:
    """Text filled up to so many columns of a console."""
    space = " " * max(0, columns - width(text))
    return space + text if right else text + space


def width(text: str) -> int:
    """Columns that a text takes on a console: wide letters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    import unicodedata

    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


Progress = Callable[[str, int, int], None]

FILE_COLUMNS = 40
"""What a progress bar shows of a path: its end, which changes."""

SILENT_SECONDS = 30
"""How long work that nobody watches says nothing: a log shows that it goes on, and is not filled by it."""

DOCUMENTS = "documents"
"""What the bar of documents is called."""

READING = "reading "
"""What stands before the name of a file in what the engine says of its work."""


def _end(path: str) -> str:
    return path if len(path) <= FILE_COLUMNS else f"...{path[3 - FILE_COLUMNS :]}"


def _now_and_then() -> Progress:
    last = time.monotonic()

    def show(what: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= SILENT_SECONDS:
            last = time.monotonic()
            note(f"{cell(what)}: {done:,} of {total:,}" if total else cell(what))

    return show


@contextmanager
def progress() -> Iterator[Progress]:
    """A progress bar on stderr for each kind of work, with the file that is read; where it is no terminal, a line now
    and then."""
    if not is_terminal(sys.stderr):
        yield _now_and_then()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars
    from rich.table import Column

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[file]}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            # The engine names each document that it reads; a bar for each would fill the screen.
            file = what.removeprefix(READING) if what.startswith(READING) else ""
            closes = what == READING.strip() and DOCUMENTS in tasks
            bar = DOCUMENTS if file or closes else what
            if bar not in tasks:
                tasks[bar] = bars.add_task(bar, total=total or None, completed=done, file=_end(cell(file)))
            bars.update(tasks[bar], completed=done, total=total or None, file=_end(cell(file)))

        yield show
