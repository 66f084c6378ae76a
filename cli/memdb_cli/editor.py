"""Let a person edit a memory's file in their editor, without losing either their edit or anyone else's."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from memdb.errors import MemdbError, UsageError
from memdb_cli.session import file_bytes, read_text

if TYPE_CHECKING:
    from memdb import Store
    from memdb.services.memories.reading import Shown
    from memdb.services.memories.saving import Saved

FALLBACKS = ("notepad",) if os.name == "nt" else ("sensible-editor", "nano", "vi")
"""Editors to try where neither VISUAL nor EDITOR names one."""


def edit_file(store: Store, shown: Shown) -> Saved:
    """Open a copy of the file, then save what came of it.

    Raises what `Store.write_file` raises, with the place of the edited copy, which then stays.
    """
    before = file_bytes(store, shown.file)
    command = editor()
    folder = Path(tempfile.mkdtemp(prefix="memdb-edit-"))
    copy = folder / PurePosixPath(shown.file).name
    try:
        copy.write_bytes(before)
        _run(command, copy)
        after = copy.read_bytes()
    except BaseException as error:
        if _was_edited(copy, before):
            _say_where(error, copy)
        else:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    try:
        saved = store.write_file(shown.file, after, expected_sha256=hashlib.sha256(before).hexdigest())
    except MemdbError as error:
        _say_where(error, copy)
        raise
    shutil.rmtree(folder, ignore_errors=True)
    return saved


def edit_draft(file: Path) -> None:
    """Open a file of ours in the person's editor and wait for its end. Raises UsageError where it fails."""
    _run(editor(), file)


def edit_text(name: str, text: str) -> str:
    """A text as the person leaves it in their editor. Raises UsageError where that fails."""
    with tempfile.TemporaryDirectory(prefix="memdb-edit-") as folder:
        file = Path(folder) / f"{name}.md"
        file.write_text(text, encoding="utf-8", newline="\n")
        edit_draft(file)
        return read_text(file)


def editor() -> list[str]:
    """The words that start the person's editor. Raises UsageError where there is none."""
    for name in ("VISUAL", "EDITOR"):
        named = os.environ.get(name, "").strip()
        if named:
            # Backslashes part the folders of a Windows path.
            words = shlex.split(named, posix=os.name != "nt")
            return [word.strip('"') for word in words] if os.name == "nt" else words
    for program in FALLBACKS:
        found = shutil.which(program)
        if found:
            return [found]
    raise UsageError("There is no editor.", hint="Set EDITOR, or edit by options: memdb edit MEMORY --body TEXT")


def _run(command: list[str], copy: Path) -> None:
    try:
        with _interrupts_left_to_it():
            result = subprocess.run([*command, str(copy)], check=False)
    except OSError as error:
        raise UsageError(
            f"The editor {command[0]!r} cannot be started: {error.strerror or error}.",
            hint="Set EDITOR to another.",
        ) from error
    if result.returncode != 0:
        raise UsageError(f"The editor {command[0]!r} ended with {result.returncode}; nothing was saved.")


@contextmanager
def _interrupts_left_to_it() -> Iterator[None]:
    """Ctrl-C in an editor is the editor's own affair, not a reason to end it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # A handler of ours, not SIG_IGN: that one the editor would inherit.
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _was_edited(copy: Path, before: bytes) -> bool:
    try:
        return copy.read_bytes() != before
    except OSError:
        return False


def _say_where(error: BaseException, copy: Path) -> None:
    if isinstance(error, MemdbError):
        error.hint = f"{error.hint or ''} Your edit is kept in {copy}.".strip()
