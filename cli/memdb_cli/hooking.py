"""`memdb hook run`: one prompt of an agent, answered within its time or not at all. It never fails the agent.

It parses its few options itself and imports the engine only where no warm process answers: an agent waits for it. The
first try is in `prompt`.
"""

from __future__ import annotations

import os
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
from memdb.serving.light import LONGEST, WARM_SHARE, number, option
from memdb_cli.prompt import debug

if TYPE_CHECKING:
    from memdb.serving.hook import Question

MODEL_SECONDS = 8.0
"""With so much time left the model is loaded here: a cold start takes two to six seconds."""


class Options:
    """The words after `hook run`; what is unknown or unreadable is passed over: an agent's settings may be older."""

    def __init__(self, words: Sequence[str]) -> None:
        self.serve = "--serve" in words
        self.root = option(words, "--root")
        self.store = option(words, "--store")
        self.database = option(words, "--db")
        self.seconds = number(option(words, "--seconds"), 0.0, LONGEST)
        self.bytes = number(option(words, "--bytes"), 0.0, 1e9)


class Run:
    """One run: a thread does the work, so that it can be left where it is when the time is over."""

    def __init__(self, options: Options, data: bytes | None = None, started: float | None = None) -> None:
        self.options = options
        self.started = time.monotonic() if started is None else started
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
            debug(error)
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
            self.seconds = number(hook.setting(str(place.config), "hook_seconds"), 0.0, LONGEST) or hook.SECONDS
        budget = int(self.options.bytes or hook.budget(place))
        request = {"do": "hook", "data": data.decode("utf-8-sig", "replace"), "budget": budget}
        try:
            return str(warm.ask(place, request, seconds=self.left * WARM_SHARE)["text"])
        except warm.NoAnswer as error:
            debug(error)
            self.serve_from = place
            return hook.printed(question, self._here(place, question, budget))

    def _here(self, place: Place, question: Question, budget: int) -> str:
        from memdb.store import Store

        with Store(place) as store:
            if not store.is_warm and self.left > MODEL_SECONDS:
                store.warm()
            return hook.answer(store, question, budget=budget)

    def _place(self, question: Question) -> Place | None:
        name = self.options.store or (None if self.options.root else os.environ.get("MEMDB_STORE"))
        if name:
            from memdb.base import named

            place = named.place(name, self.options.database)
            return place if place.config.is_file() else None
        root = Path(self.options.root) if self.options.root else hook.store_of(question.folder)
        return at(root, self.options.database) if root is not None else None


def run(words: Sequence[str], data: bytes | None = None, started: float | None = None) -> int:
    """Answer one prompt; `data` replaces standard input, and the time counts from `started`. Always returns 0."""
    one = Run(Options(words), data, started)
    try:
        text = one.wait()
        if text:
            sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        with suppress(OSError):
            sys.stdout.flush()
        if one.options.serve and one.serve_from is not None:
            _serve(one.serve_from)
    except Exception as error:  # noqa: BLE001 (an agent that went away, a closed pipe: nobody is left to tell)
        debug(error)
    return 0


def _serve(place: Place) -> None:
    """Start a warm process for the next prompt. One that runs already makes it end at once."""
    from memdb_cli import background

    where = ["--root", str(place.root), "--db", str(place.database)]
    background.spawn([sys.executable, "-m", "memdb_cli", "serve", "--quiet", *where])
