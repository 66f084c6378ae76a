"""Open a file for a person, and never run it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from memdb.errors import MemdbError

VIEWED = frozenset(
    (".pdf", ".docx", ".docm", ".dotx", ".html", ".htm", ".xhtml", ".csv", ".tsv", ".md", ".markdown", ".txt", ".log")
)
"""Suffixes that every system gives to a program which shows the file. Others, source code above all, a system may run:
they go to a text editor."""


def open_file(file: Path) -> None:
    """Show a file in the program that the system has for it. Raises MemdbError where there is none."""
    try:
        if sys.platform == "win32" and is_viewed(file):
            os.startfile(file)
        else:
            run(words(file, sys.platform))
    except (OSError, subprocess.SubprocessError) as error:
        raise MemdbError(
            f"No program opens {file}: {_reason(error)}.", hint="`memdb open DOCUMENT --print` prints the path."
        ) from error


def open_link(link: str) -> None:
    """Show an http or https address in the browser. Raises MemdbError where there is none."""
    if not link.startswith(("http://", "https://")):
        raise MemdbError(f"{link} is no http or https address, and no other is opened.")
    try:
        if sys.platform == "win32":
            os.startfile(link)
        else:
            run(["open" if sys.platform == "darwin" else "xdg-open", link])
    except (OSError, subprocess.SubprocessError) as error:
        raise MemdbError(
            f"No program opens {link}: {_reason(error)}.",
            hint="`memdb open DOCUMENT --snapshot` opens what was kept of it.",
        ) from error


def _reason(error: Exception) -> str:
    return str(error).rstrip(".")


def is_viewed(file: Path) -> bool:
    """Whether the system's own program for a file shows it, and does not run it."""
    return file.suffix.lower() in VIEWED


def words(file: Path, platform: str) -> list[str]:
    """The command that shows a file on a platform, by Python's name of it. The path is absolute: no option."""
    if platform == "win32":
        return ["notepad.exe", str(file)]
    if platform == "darwin":
        return ["open", str(file)] if is_viewed(file) else ["open", "-t", str(file)]
    return ["xdg-open", str(file)]


def run(command: list[str]) -> None:
    """Start a program. Raises OSError where there is none, CalledProcessError where it says that it failed."""
    if command[0] == "notepad.exe":
        subprocess.Popen(command)  # it stays until its window is closed
        return
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
