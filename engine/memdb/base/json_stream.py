"""Read the elements of a large JSON list one by one: an export of gigabytes never stands in memory whole."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Generator, Iterator
from typing import IO, Any

from memdb.errors import MemdbError

READ = 1 << 18
"""Characters that are read at once."""

MAX_ELEMENT = 1 << 28
"""Characters of one element: the longest conversations have some millions."""

NUMBER = 32
"""Characters that a number may go on where its first ones read as a whole one: "1" of "1.5e-300"."""

_SPACE = " \t\r\n\ufeff"


class NotJson(MemdbError):
    """The text is not JSON from some place on."""

    code = "not_json"


class _Buffer:
    """The part of the text that is in memory, from the place where the next element begins."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.text, self.at, self.ended = "", 0, False
        self._stream = io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="")

    def more(self) -> bool:
        """Read on, as much as there is in memory, so that a long element is read in few goes; False at the end."""
        if self.ended:
            return False
        held = len(self.text) - self.at
        if held > MAX_ELEMENT:
            raise NotJson(f"One value has more than {MAX_ELEMENT:,} characters.")
        fresh = self._stream.read(max(READ, held))
        self.ended = not fresh
        self.text, self.at = self.text[self.at :] + fresh, 0
        return not self.ended

    def peek(self) -> str:
        """The next character that is no space; "" at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in _SPACE:
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def value(self) -> Any:
        """The value that begins here. Raises NotJson."""
        decoder = json.JSONDecoder()
        self.peek()
        while True:
            try:
                found, end = decoder.raw_decode(self.text, self.at)
            except ValueError as error:
                if self.more():
                    continue
                raise NotJson(f"Not valid JSON: {error}.") from error
            except RecursionError as error:
                raise NotJson("The JSON is nested too deeply.") from error
            if not isinstance(found, dict | list | str) and self._may_go_on(end) and self.more():
                continue
            self.at = end
            return found

    def _may_go_on(self, end: int) -> bool:
        """Whether a number, read up to here, may have more digits than are in memory."""
        return end + NUMBER >= len(self.text) and not self.text[end:].strip("0123456789.eE+-")

    def skip_line(self) -> None:
        """Go to the start of the next line."""
        while (end := self.text.find("\n", self.at)) < 0:
            if not self.more():
                self.at = len(self.text)
                return
        self.at = end + 1

    def detach(self) -> None:
        """Leave the stream open for whoever opened it."""
        self._stream.detach()


def elements(stream: IO[bytes], keys: tuple[str, ...] = (), broken: Callable[[], None] | None = None) -> Iterator[Any]:
    """The elements of a list, the lines of JSONL, or a single value.

    Of an object that has a list under one of `keys`, the elements of that list; its other fields are passed over.
    Raises NotJson where the text ends or breaks off; what came before was given. With `broken`, a line of JSONL that is
    no JSON calls it instead, and is passed over.
    """
    buffer = _Buffer(stream)
    try:
        first = buffer.peek()
        if first == "[":
            yield from _list(buffer)
            return
        if first == "{" and keys and (yield from _object(buffer, keys)):
            return
        while buffer.peek():
            try:
                value = buffer.value()
            except NotJson:
                if broken is None:
                    raise
                broken()
                buffer.skip_line()
                continue
            yield value
            if buffer.peek() == ",":
                buffer.at += 1
    finally:
        buffer.detach()


def _list(buffer: _Buffer) -> Iterator[Any]:
    buffer.at += 1
    if buffer.peek() == "]":
        buffer.at += 1
        return
    while True:
        if not buffer.peek():
            raise NotJson("The JSON ends in the middle.")
        yield buffer.value()
        after = buffer.peek()
        buffer.at += 1
        if after == "]":
            return
        if after != ",":
            raise NotJson("The JSON ends in the middle." if not after else f"Not valid JSON: {after!r} after a value.")


def _object(buffer: _Buffer, keys: tuple[str, ...]) -> Generator[Any, None, bool]:
    """The lists under the keys; its result is False where the object has to be read as a value.

    Only an object whose first field is one of the keys is taken apart: what else comes before a list is small.
    """
    while (len(buffer.text) - buffer.at) < READ and buffer.more():
        pass
    head = buffer.text[buffer.at : buffer.at + READ]
    name = json.JSONDecoder()
    try:
        start = head.index('"')
        first, end = name.raw_decode(head, start)
        rest = head[end:].lstrip(_SPACE)
    except (ValueError, RecursionError):
        return False
    if head[1:start].strip(_SPACE) or first not in keys or not rest.startswith(":"):
        return False
    if not rest[1:].lstrip(_SPACE).startswith("["):
        return False
    buffer.at += head.index("[", end)
    yield from _list(buffer)
    while buffer.peek() == ",":
        buffer.at += 1
        if buffer.peek() != '"':
            raise NotJson("Not valid JSON: a field has no name.")
        field = buffer.value()
        if buffer.peek() != ":":
            raise NotJson("Not valid JSON: a field has no value.")
        buffer.at += 1
        if field in keys and buffer.peek() == "[":
            yield from _list(buffer)
        else:
            buffer.value()
    return True
