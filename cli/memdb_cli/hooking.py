"""`memdb hook run`: one prompt of an agent, answered within its time or not at all. It never fails the agent.

It parses its few options itself and imports the engine only where no warm process answers: an agent waits for it.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memdb.base import warm
from memdb.base.place import Place, at
from memdb.serving import hook

if TYPE_CHECKING:
    from memdb.serving.hook import Question

WARM_SHARE = 0.6
"""Of the time that is left, how much the warm process gets before the store is opened here."""

MODEL_SECONDS = 8.0
"""With so much time left the model is loaded here: a cold start takes two to six seconds."""

LONGEST = 300.0
"""Seconds that a setting may give a hook."""


class Options:
    """The words after `hook run`; what is unknown or unreadable is passed over: an agent's settings may be older."""

    def __init__(self, words: Sequence[str]) -> None:
        self.serve = "--serve" in words
        self.root = _value(words, "--root")
        self.database = _value(words, "--db")
        self.seconds = _number(_value(words, "--seconds"), 0.0, LONGEST)
        self.bytes = _number(_value(words, "--bytes"), 0.0, 1e9)


def _value(words: Sequence[str], name: str) -> str | None:
    for index, word in enumerate(words):
        if word == name and index + 1 < len(words):
            return words[index + 1]
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return None


def _number(written: str | None, low: float, high: float) -> float | None:
    try:
        number = float(written) if written is not None else None
    except ValueError:
        return None
    return number if number is not None and low < number <= high else None


class Run:
    """One run: a thread does the work, so that it can be left where it is when the time is over."""

    def __init__(self, options: Options, data: bytes | None = None) -> None:
        self.options = options
        self.started = time.monotonic()
        self.seconds = options.seconds or hook.SECONDS
        self.text = ""
        self.serve_from: Place | None = None
        self._data = data
        self._done = threading.Event()

    @property
    def left(self) -> float:
        """Seconds until the time is over."""
        return self.started + self.seconds - time.monotonic()

    def wait(self) -> str:
        """The answer; nothing where it does not come in time."""
        threading.Thread(target=self._work, daemon=True, name="memdb-hook").start()
        while (left := self.left) > 0 and not self._done.wait(min(left, 0.05)):
            pass  # settings that the thread reads may give more time, or less
        return self.text if self._done.is_set() else ""

    def _work(self) -> None:
        try:
            self.text = self._answer()
        except Exception as error:  # noqa: BLE001 (whatever is wrong here, the agent goes on without it)
            _debug(error)
        self._done.set()

    def _answer(self) -> str:
        data = sys.stdin.buffer.read() if self._data is None else self._data
        question = hook.read(data)
        if question is None or not (question.prompt or question.lost):
            return ""
        place = self._place(question)
        if place is None:
            return ""
        if self.options.seconds is None:
            self.seconds = _number(hook.setting(place.config, "hook_seconds"), 0.0, LONGEST) or hook.SECONDS
        budget = int(self.options.bytes or _number(hook.setting(place.config, "hook_bytes"), 0.0, 1e9) or hook.BYTES)
        request = {"do": "hook", "question": question._asdict(), "budget": budget}
        try:
            block = str(warm.ask(place, request, seconds=self.left * WARM_SHARE)["block"])
        except warm.NoAnswer as error:
            _debug(error)
            self.serve_from = place
            block = self._here(place, question, budget)
        return hook.printed(question, block)

    def _here(self, place: Place, question: Question, budget: int) -> str:
        from memdb.store import Store

        with Store(place) as store:
            if not store.is_warm and self.left > MODEL_SECONDS:
                store.warm()
            return hook.answer(store, question, budget=budget)

    def _place(self, question: Question) -> Place | None:
        root = Path(self.options.root) if self.options.root else hook.store_of(question.folder)
        return at(root, self.options.database) if root is not None else None


def run(words: Sequence[str], data: bytes | None = None) -> int:
    """Answer one prompt; `data` replaces standard input. Always returns 0."""
    one = Run(Options(words), data)
    try:
        text = one.wait()
        if text:
            sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        with suppress(OSError):
            sys.stdout.flush()
        if one.options.serve and one.serve_from is not None:
            _serve(one.serve_from)
    except Exception as error:  # noqa: BLE001 (an agent that went away, a closed pipe: nobody is left to tell)
        _debug(error)
    return 0


def _serve(place: Place) -> None:
    """Start a warm process for the next prompt. One that runs already makes it end at once."""
    from memdb_cli import background

    where = ["--root", str(place.root), "--db", str(place.database)]
    background.spawn([sys.executable, "-m", "memdb_cli", "serve", "--quiet", *where])


def _debug(error: Exception) -> None:
    import os

    if os.environ.get("MEMDB_DEBUG"):
        print(f"memdb hook: {type(error).__name__}: {error}", file=sys.stderr)
