"""One keystroke at a time from a person's terminal, on every system."""

from __future__ import annotations

import sys

ESCAPES = ("\x1b", "\x00", "\xe0")
"""What the keys that are no characters (arrows, function keys) begin with, on Unix and on Windows."""

END = "\x04"
"""Ctrl-D; on Windows Ctrl-Z ends a text, too."""


INTERRUPT = "\x03"
"""Ctrl-C, where it comes as a character."""


def at_terminal() -> bool:
    """Whether a person both sees what is written and can press keys."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def pressed() -> str:
    """The next key as a character, without Enter; "" for a key that is none, `END` where the terminal went away.

    What was typed before it was asked for does not count: nobody answers what they have not seen. Raises
    KeyboardInterrupt at Ctrl-C.
    """
    import typer

    sys.stdout.flush()
    try:
        read = typer.getchar()
    except (EOFError, OSError):
        return END
    if INTERRUPT in read:
        raise KeyboardInterrupt
    # Several at once are a paste, an arrow key, or a second press that nobody was asked for.
    if len(read) > 1 and read.startswith(ESCAPES):
        return ""
    return END if not read or read[0] in (END, "\x1a") else read[0]


def line(prompt: str) -> str | None:
    """A line of text from the person, None where they leave it empty or end it. Raises KeyboardInterrupt."""
    sys.stdout.write(prompt)
    sys.stdout.flush()
    written = sys.stdin.readline()
    if not written.endswith("\n"):
        sys.stdout.write("\n")
    return written.strip() or None
