"""A memory file's text read into its fields; nothing is required, and nothing stops the reading."""

from __future__ import annotations

import datetime
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from memdb.base.text import normalise_newlines
from memdb.domain.frontmatter_yaml import (
    KEY_LINE,
    KEY_ORDER,
    NOTHING,
    Node,
    Unreadable,
    compose,
    read_head,
    walk,
)

__all__ = ["KEY_ORDER", "LISTS", "NOTHING", "MemoryText", "Problem", "parse"]

LISTS = frozenset({"tags", "supersedes", "aliases"})
# Above so many keys a broken block is read by lines alone: each key tried as YAML costs up to a millisecond.
_MAX_PIECES, _MAX_PROBLEMS = 200, 20

_WIKILINK = re.compile(r"\[\[([^\[\]\n]*)\]\]")
_WIKILINKS = re.compile(r"\[\[[^\[\]\n]*\]\](?:\s*,?\s*\[\[[^\[\]\n]*\]\])*")
_BLANK_LINES = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*")
_DATE_SHAPE = re.compile(r"\d{4}-\d\d-\d\d")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING_LINE = re.compile(r"^(?: {0,3}#[ \t].*| {0,3}=+[ \t]*| {0,3}(?:`{3,}|~{3,}).*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong in a file, with the 1-based line where one can be named."""

    line: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class MemoryText:
    """What a memory file says; `body` has "\\n" newlines and starts at its first line that is not blank."""

    name: str | None
    description: str
    type: str | None
    tags: tuple[str, ...]
    supersedes: tuple[str, ...]
    aliases: tuple[str, ...]
    created: str | None
    modified: str | None
    happened_at: str | None
    valid_from: str | None
    valid_to: str | None
    body: str
    body_line: int
    h1: str | None
    frontmatter: dict[str, Any]
    problems: tuple[Problem, ...]


def parse(text: str) -> MemoryText:
    """Read a memory file's text; never raises, what could not be read is in `problems`."""
    text = normalise_newlines(text.removeprefix("\ufeff"))
    head = read_head(text)
    first_line = head.first_line if head else 1
    problems: list[Problem] = []
    pairs: list[tuple[Node, Node]] = []
    if head is not None and head.failure is not None:
        pairs = _read_line_by_line(head.block, first_line, problems)
        if head.unclosed or not problems:
            _report(problems, head.failure.line + first_line, f"not valid frontmatter: {head.failure.reason}")
    elif head is not None and head.root is not None:
        pairs = head.root.pairs
    values = _value(Node("map", 0, 0, pairs=pairs), problems, first_line)
    fields = _Fields(pairs, problems, first_line)
    start = 0 if head is None or head.unclosed else head.length
    body_start = skip_blank_lines(text, start)
    body = text[body_start:]
    return MemoryText(
        name=fields.name(),
        description=fields.text("description") or "",
        type=fields.text("type"),
        tags=fields.tags(),
        supersedes=fields.names("supersedes"),
        aliases=fields.names("aliases"),
        created=fields.text("created"),
        modified=fields.text("modified"),
        happened_at=fields.text("happened_at"),
        valid_from=fields.text("valid_from"),
        valid_to=fields.text("valid_to"),
        body=body,
        body_line=text.count("\n", 0, body_start) + 1,
        h1=_first_heading(body),
        frontmatter=values,
        problems=tuple(sorted(problems, key=lambda problem: problem.line or 0)),
    )


def skip_blank_lines(text: str, start: int) -> int:
    found = _BLANK_LINES.match(text, start)
    return found.end() if found else start


def _value(node: Node, problems: list[Problem], first_line: int) -> Any:
    """Turn a node into str, list and dict; repeated keys are reported, the first wins."""
    if node.kind == "text":
        return node.text
    if node.kind == "list":
        return [_value(item, problems, first_line) for item in node.items]
    values: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for key, value in node.pairs:
        if key.text in values:
            first = lines[key.text] + first_line
            _report(
                problems,
                key.line + first_line,
                f"the key {key.text!r} is repeated; the first, on line {first}, is read",
            )
            continue
        lines[key.text] = key.line
        values[key.text] = _value(value, problems, first_line)
    return values


def candidates(pairs: list[tuple[Node, Node]], key: str) -> Iterator[tuple[Node, Node, Node | None]]:
    """Give the pairs that may hold a field, the one that counts first: top level, then `metadata:`."""
    spellings = ("modified", "updated") if key == "modified" else (key,)
    metadata = next((value for name, value in pairs if name.text == "metadata"), None)
    for holder in [None] if metadata is None else [None, metadata]:
        inside = pairs if holder is None else holder.pairs
        for spelling in spellings:
            yield from ((name, value, holder) for name, value in inside if name.text == spelling)


class _Fields:
    """The known keys of a frontmatter, each read in its own way; what does not fit is a problem."""

    def __init__(self, pairs: list[tuple[Node, Node]], problems: list[Problem], first_line: int) -> None:
        self.pairs, self.problems, self.first_line = pairs, problems, first_line
        metadata = [value.pairs for name, value in pairs if name.text == "metadata"][:1]
        for name, value in (pair for group in [pairs, *metadata] for pair in group):
            if value.kind == "text" and value.style is None and _DATE_SHAPE.fullmatch(value.text):
                self._check_date(name, value)

    def _check_date(self, name: Node, value: Node) -> None:
        try:
            datetime.date.fromisoformat(value.text)
        except ValueError:
            self._misfit(name, f"{value.text} is not a day of the calendar; it is kept as text")

    def _misfit(self, name: Node, reason: str) -> None:
        _report(self.problems, name.line + self.first_line, f"{name.text}: {reason}")

    def _nodes(self, key: str) -> Iterator[tuple[Node, Node]]:
        seen: set[tuple[str, int]] = set()
        for name, value, holder in candidates(self.pairs, key):
            place = (name.text, id(holder))
            if place not in seen:  # of a repeated key, the first
                seen.add(place)
                yield name, value

    def text(self, key: str) -> str | None:
        for name, value in self._nodes(key):
            if value.nothing:
                continue
            if value.kind == "text":
                return value.text.strip()
            if value.raw and "\n" not in value.raw and key == "description":
                return value.raw  # `description: [draft]` is prose in brackets
            self._misfit(name, f"is a {value.kind} and should be one text; it is not read")
        return None

    def name(self) -> str | None:
        for name, value in self._nodes("name"):
            typed = value.raw if value.kind == "list" and value.flow else value.text
            link = _WIKILINK.fullmatch(typed.strip())
            if link:
                typed = _target(link)
            elif value.kind != "text":
                self._misfit(name, f"is a {value.kind} and should be one text; heading or file name stand in")
                continue
            if not value.nothing and typed.strip():
                return " ".join(typed.split()) if "\n" in typed else typed.strip()
        return None

    def tags(self) -> tuple[str, ...]:
        for name, value in self._nodes("tags"):
            if value.kind == "map":
                self._misfit(name, "is a map and should be a list; it is not read")
                continue
            if not value.nothing or value.raw:
                return _unique(tag for node in _leaves(value) for tag in tags_of(node))
        return ()

    def names(self, key: str) -> tuple[str, ...]:
        for name, value in self._nodes(key):
            if value.kind == "map":
                self._misfit(name, "is a map and should be a list; it is not read")
            elif not value.nothing:
                return _unique(names_of(value))
        return ()


def _unique(texts: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))


def _leaves(node: Node) -> Iterator[Node]:
    if node.kind == "text":
        yield node
    for item in node.items:
        yield from _leaves(item)


def tags_of(node: Node) -> Iterator[str]:
    if node.nothing:
        yield from split_tags(re.sub(r"\s+#", ",#", node.raw))
    else:
        yield from split_tags(node.text)


def split_tags(typed: str) -> Iterator[str]:
    for part in typed.split(","):
        yield part.strip().removeprefix("#").strip()


def _target(link: re.Match[str]) -> str:
    # `\|` is how a label is written inside a table.
    return link[1].replace("\\|", "|").split("|", 1)[0].strip()


def names_of(node: Node) -> Iterator[str]:
    link = _WIKILINK.fullmatch(node.raw) if node.kind == "list" and node.flow else None
    if link:
        yield _target(link)
    elif node.kind == "list":
        for item in node.items:
            yield from names_of(item)
    elif node.kind == "text" and not node.nothing:
        yield from split_names(node.text)


def split_names(typed: str) -> Iterator[str]:
    typed = typed.strip()
    if _WIKILINKS.fullmatch(typed):
        yield from map(_target, _WIKILINK.finditer(typed))
    else:
        yield typed


def _first_heading(body: str) -> str | None:
    fence = ""
    for match in _HEADING_LINE.finditer(body):
        line = match[0]
        mark = _FENCE.match(line)
        if mark:
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if fence:
            continue
        if line.lstrip().startswith("#"):
            heading = re.sub(r"(?:^|[ \t])#+$", "", line.strip()[1:].strip()).strip()
        else:
            heading = _line_above(body, match.start())
        if heading:
            return heading
    return None


def _line_above(body: str, start: int) -> str:
    above = body[body.rfind("\n", 0, max(start - 1, 0)) + 1 : max(start - 1, 0)]
    # Under a list item, a quote, a table or indented code, `===` is no heading.
    return "" if re.match(r"\s{4}|\t|\s*[->*+|#<=]", above) else above.strip()


# --- a block that YAML refuses ------------------------------------------------------------------------------


def _read_line_by_line(block: str, first_line: int, problems: list[Problem]) -> list[tuple[Node, Node]]:
    """Read a block that YAML refuses, key by key: as YAML where that works, else `key: rest of line`."""
    pieces: list[tuple[int, list[str]]] = []
    for number, line in enumerate(textwrap.dedent(block).split("\n")):
        if KEY_LINE.match(line):
            pieces.append((number, [line]))
        elif pieces:
            pieces[-1][1].append(line)
    pairs: list[tuple[Node, Node]] = []
    for number, lines in pieces:
        failure: Unreadable | None = None
        if len(pieces) <= _MAX_PIECES:
            try:
                alone = compose("\n".join(lines))
                if alone is not None and alone.kind == "map":
                    for node in walk(alone):
                        node.line += number
                    pairs += alone.pairs
                    continue
            except Unreadable as error:
                failure = error
        before = len(problems)
        pairs.append(_read_piece(lines, number, first_line, problems))
        if failure is not None and len(problems) == before:
            last = max(place for place, line in enumerate(lines) if line.strip())
            line_number = first_line + number + min(failure.line, last)
            _report(problems, line_number, f"not valid YAML: {failure.reason}")
    return pairs


def _read_piece(lines: list[str], number: int, first_line: int, problems: list[Problem]) -> tuple[Node, Node]:
    found = KEY_LINE.match(lines[0])
    key = found["key"].strip("\"'") if found else ""
    rest = ((found["rest"] if found else "") or "").strip()
    node = Node("text", number, 0)
    below = [line.strip() for line in lines[1:] if line.strip() and not line.lstrip().startswith("#")]
    if key == "metadata" and not rest:
        node.kind = "map"
        nested = "\n".join(line for line in lines[1:] if line[:1] in ("", " ", "\t"))
        node.pairs = _read_line_by_line(nested, first_line + number + 1, problems)
    elif key in LISTS and rest.startswith("[") and rest.endswith("]") and not _WIKILINKS.fullmatch(rest):
        node.kind = "list"
        node.items = [_loose(part, number) for part in rest[1:-1].split(",")]
    elif not rest and below and all(line.startswith("-") for line in below):
        node.kind = "list"
        node.items = [_loose(line[1:], number) for line in below]
    elif rest in ("", "|", ">", "|-", ">-"):
        node = _loose(" ".join(below), number)
    else:
        node = _loose(rest if key == "tags" else re.sub(r"\s+#(?:\s.*)?$", "", rest), number)
    return Node("text", number, 0, text=key, style="'"), node


def _loose(typed: str, line: int) -> Node:
    typed = typed.strip()
    if len(typed) > 1 and typed[0] == typed[-1] and typed[0] in "\"'":
        return Node("text", line, 0, text=typed[1:-1], style=typed[0])
    return Node("text", line, 0, text=typed)


def _report(problems: list[Problem], line: int | None, reason: str) -> None:
    if len(problems) < _MAX_PROBLEMS:
        problems.append(Problem(line, reason))
