"""JSONL (one passage for each line) and JSON (one for each record, or the fields of one object)."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from typing import Any

from memdb.base.text import plain
from memdb.domain.extractors.blocks import Block, Extracted
from memdb.domain.extractors.fields import flattened, record_block
from memdb.domain.extractors.reading import Source

# JSON has to be in memory as text (up to four bytes a character), not as objects: one record is one at a time.
MAX_JSON_BYTES = 128_000_000

# A line is one record, and is in memory whole; the largest abstracts and pages are far below this.
MAX_RECORD_CHARACTERS = 16_000_000

# Of more broken lines only the first are named; the rest are counted.
_NAMED_LINES = 20

_JSONL_SUFFIXES = frozenset({".jsonl", ".ndjson", ".jsonlines"})
_SPACE = re.compile(r"[ \t\n\r]*")
_FIRST_OBJECT = re.compile(rb"\s*(\{[^\r\n]*\})[ \t]*\r?\n\s*\{")


class JsonLines:
    """One JSON object a line, with its own `id`, `title`, `text` and `created`."""

    name, version = "jsonl", 2
    suffixes = _JSONL_SUFFIXES

    def accepts(self, name: str, head: bytes) -> bool:
        """A whole object on the first line and another one below, whatever the name."""
        first = _FIRST_OBJECT.match(head.removeprefix(b"\xef\xbb\xbf"))
        return first is not None and _is_json(first[1])

    def extract(self, source: Source) -> Extracted:
        extracted = Extracted(self.name, None, ())
        extracted.blocks = self._blocks(source, extracted.warnings)
        return extracted

    def _blocks(self, source: Source, warnings: list[str]) -> Iterator[Block]:
        broken: list[int] = []
        reasons: list[str] = []
        for line in source.lines(MAX_RECORD_CHARACTERS):
            if not line.text.strip():
                continue
            try:
                value = json.loads(line.text)
            except (ValueError, RecursionError) as error:
                if broken[-1:] != [line.number]:
                    broken.append(line.number)
                    is_cut = len(line.text) >= MAX_RECORD_CHARACTERS
                    reasons.append(f"longer than {MAX_RECORD_CHARACTERS:,} characters" if is_cut else _reason(error))
                continue
            block = record_block(value if isinstance(value, dict) else {"text": value}, line.number, line.number)
            if block is not None:
                yield block
        for number, reason in list(zip(broken, reasons, strict=True))[:_NAMED_LINES]:
            warnings.append(f"line {number}: not valid JSON ({reason}); left out")
        if len(broken) > _NAMED_LINES:
            rest = broken[_NAMED_LINES:]
            warnings.append(f"{len(rest)} more lines are not valid JSON, the first on line {rest[0]}; left out")


class Json:
    """A list of records, an object that holds such lists, or one object of settings."""

    name, version = "json", 2
    suffixes = frozenset({".json", ".geojson", ".webmanifest"})

    def accepts(self, name: str, head: bytes) -> bool:
        return False  # much begins with a brace; the name decides

    def extract(self, source: Source) -> Extracted:
        extracted = Extracted(self.name, None, ())
        text = source.text(MAX_JSON_BYTES)
        extracted.blocks = _Reader(text, extracted.warnings).blocks()
        return extracted


class _Reader:
    """Reads one JSON text record by record; what is not JSON from some place on is kept as plain text."""

    def __init__(self, text: str, warnings: list[str]) -> None:
        self.text = text
        self.warnings = warnings
        self.decoder = json.JSONDecoder()
        self.line, self.counted = 1, 0
        self.done = 0

    def blocks(self) -> Iterator[Block]:
        at = self._space(0)
        self.done = at
        try:
            if self.text[at : at + 1] == "[":
                at = yield from self._records(at, ())
            elif self.text[at : at + 1] == "{":
                at = yield from self._object(at)
            else:
                value, end = self._value(at)
                yield from self._leaves("", value, at, end)
                at = end
            if self._space(at) < len(self.text):
                raise json.JSONDecodeError("Extra data", self.text, self._space(at))
        except (ValueError, RecursionError) as error:
            # The failing value is kept from its start; the line of the error is told.
            at = error.pos if isinstance(error, json.JSONDecodeError) else self.done
            line = self.text.count("\n", 0, at) + 1
            self.warnings.append(f"line {line}: not valid JSON ({_reason(error)}); read as plain text from here on")
            yield from self._rest()

    def _records(self, at: int, heading_path: tuple[str, ...]) -> Generator[Block, None, int]:
        """The elements of the list that begins at `at`, each one passage; returns the place after the list."""
        at = self._space(at + 1)
        while self.text[at : at + 1] != "]":
            value, end = self._value(at)
            if isinstance(value, dict):
                block = record_block(value, *self._lines(at, end))
                if block is not None:
                    yield _under(block, heading_path)
            else:
                for block in self._leaves("", value, at, end):
                    yield _under(block, heading_path)
            self.done = end
            at = self._after(end, "]")
        return at + 1

    def _object(self, at: int) -> Generator[Block, None, int]:
        """The fields of the outermost object, lists of records record by record; returns the place after it."""
        at = self._space(at + 1)
        while self.text[at : at + 1] != "}":
            name, end = self._value(at)
            colon = self._space(end)
            if not isinstance(name, str) or self.text[colon : colon + 1] != ":":
                raise json.JSONDecodeError("Expecting a property name and a colon", self.text, at)
            value_at = self._space(colon + 1)
            if self._is_list_of_objects(value_at):
                end = yield from self._records(value_at, (name,))
            else:
                value, end = self._value(value_at)
                yield from self._leaves(name, value, at, end)
            self.done = end
            at = self._after(end, "}")
        return at + 1

    def _leaves(self, name: str, value: Any, at: int, end: int) -> Iterator[Block]:
        """A value that is no record: its leaves as one block, which may share a passage with its neighbours."""
        told = [f"{path}: {shown}" if path else shown for path, shown in flattened(value, name)]
        if told:
            start_line, end_line = self._lines(at, end)
            yield Block(plain("\n".join(told)), start_line=start_line, end_line=end_line)

    def _is_list_of_objects(self, at: int) -> bool:
        return self.text[at : at + 1] == "[" and self.text.startswith("{", self._space(at + 1))

    def _value(self, at: int) -> tuple[Any, int]:
        try:
            return self.decoder.raw_decode(self.text, at)
        except StopIteration as stop:
            raise json.JSONDecodeError("Expecting value", self.text, stop.value) from stop

    def _after(self, at: int, closing: str) -> int:
        """The place of the next element, or of the closing bracket."""
        at = self._space(at)
        if self.text[at : at + 1] == closing:
            return at
        if self.text[at : at + 1] != ",":
            raise json.JSONDecodeError(f"Expecting ',' or '{closing}'", self.text, at)
        return self._space(at + 1)

    def _space(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def _lines(self, start: int, end: int) -> tuple[int, int]:
        self.line += self.text.count("\n", self.counted, start)
        self.counted = start
        return self.line, self.line + self.text.count("\n", start, end)

    def _rest(self) -> Iterator[Block]:
        start = self.done
        while start < len(self.text) and self.text[start] in " \t\n\r,":
            start += 1
        rest = self.text[start:].rstrip()
        if rest.strip(",]} \n"):
            line = self._lines(start, start)[0]
            yield Block(rest, start_line=line, end_line=line + rest.count("\n"), verbatim=True)


def _under(block: Block, heading_path: tuple[str, ...]) -> Block:
    if not heading_path:
        return block
    return Block(
        text=block.text,
        heading_path=(*heading_path, *block.heading_path),
        start_line=block.start_line,
        end_line=block.end_line,
        record_id=block.record_id,
        title=block.title,
        created=block.created,
        atomic=block.atomic,
    )


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _reason(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg}, column {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)
