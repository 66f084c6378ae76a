"""The YAML block at the start of a file, as nodes that know their place and keep every scalar as typed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from memdb.base.text import normalise_newlines

# The keys of a memory file that memdb reads, in the order in which it writes them.
KEY_ORDER = (
    *("name", "description", "type", "tags", "supersedes", "aliases"),
    *("created", "modified", "updated", "happened_at", "valid_from", "valid_to"),
)
# Keys that tell a frontmatter that begins with a blank line from prose between two rules.
_TELLING = frozenset({*KEY_ORDER, "metadata", "title"})
# Unquoted, these say "no value" in the YAML dialects and in Python programs that write frontmatter.
NOTHING = frozenset({"", "~", "null", "Null", "NULL", "None"})
# Bounds on what the YAML reader is given: its time grows with size and nesting, and aliases unfold. So
# many characters of the densest kind take it about a second.
_MAX_CHARACTERS, _MAX_DEPTH, _MAX_NODES = 32_768, 40, 50_000
_MAX_UNCLOSED_LINES = 200  # lines read of a frontmatter that never closes

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
# Lines of whole comments and blank lines between them, where a comment comes first; possessive, so that it is linear.
_COMMENTS_ABOVE = re.compile(
    r"(?:[ \t]*<!--(?:(?!-->)[\s\S]){0,10000}-->[ \t]*(?:\r\n|\r|\n)(?:[ \t]*(?:\r\n|\r|\n))*+)++"
)
KEY_LINE = re.compile(r"(?P<key>\w[\w .-]*?|\"\w[\w .-]*\"|'\w[\w .-]*')[ \t]*:(?:[ \t]+(?P<rest>.*))?$")
_HASH_TAGS = re.compile(r"[-:][ \t]+(#[^\s#].*)$")
# What YAML does not allow in a stream, and the line breaks that only YAML knows (they would split a value).
_FOREIGN = re.compile(r"[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_SIMPLE_WORD = re.compile(r"\w(?:[\w./ -]*[\w./-])?")
_SIMPLE_LINE = re.compile(
    r"(?P<indent> *)(?:(?P<dash>-) |(?P<key>[^\W\d][\w-]{0,99}):(?: |$)) *(?P<value>"
    r"'[^']*'|\"[^\"\\]*\"|\[(?:WORD(?:, ?WORD)*)?\]|\w(?:[^:#]|:(?=\S)|(?<=\S)#)*)? *".replace(
        "WORD", _SIMPLE_WORD.pattern
    )
)


class Unreadable(Exception):
    """YAML gave up; `line` is 0-based in the block."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line, self.reason = line, reason


@dataclass(slots=True)
class Node:
    """A YAML value with its place in the block: 0-based lines and columns; `raw` is a flow value as typed."""

    kind: str  # "text", "list" or "map"
    line: int
    column: int
    end_line: int = 0
    end_column: int = 0
    text: str = ""
    style: str | None = None  # the quote or block mark of a text
    flow: bool = False
    items: list[Node] = field(default_factory=list)
    pairs: list[tuple[Node, Node]] = field(default_factory=list)
    raw: str = ""
    depth: int = 1
    size: int = 1

    @property
    def nothing(self) -> bool:
        return self.kind == "text" and self.style is None and self.text in NOTHING


@dataclass(slots=True)
class Head:
    """The frontmatter of a file: its fences and lines as they are, and what YAML makes of them.

    `opening` is the fence with the HTML comments that some agents' tools write above it.
    """

    opening: str = ""
    lines: list[str] = field(default_factory=list)
    closing: str = ""
    root: Node | None = None
    failure: Unreadable | None = None
    unclosed: bool = False

    @property
    def first_line(self) -> int:
        """The 1-based line of the file on which the first of `lines` stands."""
        return normalise_newlines(self.opening).count("\n") + 1

    @property
    def length(self) -> int:
        return len(self.opening) + sum(map(len, self.lines)) + len(self.closing)

    @property
    def block(self) -> str:
        return normalise_newlines("".join(self.lines))


# --- YAML events to nodes ---------------------------------------------------------------------------------


def compose(block: str) -> Node | None:
    """Read one YAML document as nodes whose scalars are the text as typed; None when it is empty.

    Reads parser events, so that no tag constructs anything, every bound is checked while reading, and the
    place of each value is known. Raises `Unreadable`.
    """
    if len(block) > _MAX_CHARACTERS:
        raise Unreadable(0, f"the frontmatter is longer than {_MAX_CHARACTERS} characters")
    return compose_simple(block) or compose_any(block)


def compose_any(block: str) -> Node | None:
    """Read a block with the YAML reader; see `compose`."""
    from ruamel.yaml import YAML  # noqa: PLC0415  (48 ms, and many commands read no file)
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    shield = _shield(block)
    try:
        root = _assemble(YAML(typ="safe", pure=True).parse(block.translate(shield)), block.split("\n"))
    except YAMLError as error:
        raise _unreadable(error) from error
    # The reader does arithmetic on escapes and versions without checking them (`\UFFFFFFFF`, `%YAML x`).
    except (ValueError, OverflowError, LookupError, AttributeError, TypeError, AssertionError) as error:
        raise Unreadable(0, f"the YAML reader stopped: {error}") from error
    if root is not None and shield:
        _restore(root, {ord(new): chr(old) for old, new in shield.items()})
    return root


def compose_simple(block: str) -> Node | None:
    """Read the plainest blocks to the same nodes, some thirty times faster; None for all others.

    Those are lines of `key: value`, with plain or quoted values without escapes and one-line lists of words,
    and one level of such lines or of `- value` lines below a key.
    """
    if _FOREIGN.search(block) or "\t" in block:
        return None
    root, last = Node("map", 0, 0), None
    for number, line in enumerate(block.rstrip("\n").split("\n")):
        found = _SIMPLE_LINE.fullmatch(line)
        if found is None:
            return None
        indent, value = found.end("indent"), _simple_value(found, number)
        key = Node("text", number, indent, number, found.end("key"), found["key"] or "")
        if not indent and not found["dash"]:
            root.pairs.append((key, value))
            last = value if found["value"] is None else None
            continue
        kind = "list" if found["dash"] else "map"
        if last is not None and last.kind == "text":
            last.kind, last.line, last.column = kind, number, indent
        if last is None or (last.kind, last.column) != (kind, indent):
            return None
        if kind == "map":
            last.pairs.append((key, value))
        elif found["value"] is None:
            return None
        else:
            last.items.append(value)
    return root


def _simple_value(found: re.Match[str], number: int) -> Node:
    typed, column = (found["value"] or "").rstrip(" "), max(found.start("value"), 0)
    end = column + len(typed)
    if typed[:1] == "[":
        node = Node("list", number, column, number, end, flow=True, raw=typed)
        node.items = [
            Node("text", number, column + word.start(), number, column + word.end(), word[0])
            for word in _SIMPLE_WORD.finditer(typed)
        ]
        return node
    if typed[:1] in ("'", '"'):
        return Node("text", number, column, number, end, typed[1:-1], typed[0])
    return Node("text", number, column, number, end, typed)


def _shield(block: str) -> dict[int, str]:
    # NUL ends the stream and other controls stop the reader: they pass as private-use characters.
    foreign = set(_FOREIGN.findall(block))
    if not foreign:
        return {}
    base = 0x100000 if any(0xF0000 <= ord(char) < 0x100000 for char in block) else 0xF0000
    return {ord(char): chr(base + ord(char)) for char in foreign}


def _restore(root: Node, table: dict[int, str]) -> None:
    for node in walk(root):
        node.text, node.raw = node.text.translate(table), node.raw.translate(table)


def walk(root: Node) -> Iterator[Node]:
    """Give every node once, also where aliases share it."""
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            waiting += node.items
            for pair in node.pairs:
                waiting += pair


def _unreadable(error: Any) -> Unreadable:
    context, problem = getattr(error, "context", None) or "", getattr(error, "problem", None) or str(error)
    mark = getattr(error, "problem_mark", None)
    # An unclosed quote or bracket is noticed at the end of the block: its beginning is what must be fixed.
    if context.startswith(("while scanning", "while parsing a flow")):
        mark = getattr(error, "context_mark", None) or mark
    return Unreadable(mark.line if mark else 0, " ".join(f"{problem} {context}".split()))


def _assemble(events: Iterator[Any], lines: list[str]) -> Node | None:
    """Build nodes from parser events, with a stack instead of recursion."""
    from ruamel.yaml import events as kinds  # noqa: PLC0415

    root: Node | None = None
    open_nodes: list[tuple[Node, str | None, list[Node]]] = []
    anchors: dict[str, Node] = {}
    documents = 0
    for event in events:
        start, anchor = event.start_mark, getattr(event, "anchor", None)
        if isinstance(event, kinds.SequenceStartEvent | kinds.MappingStartEvent):
            kind = "list" if isinstance(event, kinds.SequenceStartEvent) else "map"
            node = Node(kind, start.line, start.column, flow=bool(event.flow_style))
            open_nodes.append((node, anchor, []))
            if len(open_nodes) > _MAX_DEPTH:
                raise Unreadable(start.line, f"values are nested deeper than {_MAX_DEPTH}")
            continue
        if isinstance(event, kinds.SequenceEndEvent | kinds.MappingEndEvent):
            node, anchor, children = open_nodes.pop()
            _close(node, children, event.end_mark, lines)
        elif isinstance(event, kinds.ScalarEvent):
            node = _text_node(event, lines)
        elif isinstance(event, kinds.AliasEvent):
            node, anchor = _alias_node(event, anchors), None
        else:
            documents += isinstance(event, kinds.DocumentStartEvent)
            if documents > 1:
                raise Unreadable(start.line, "a second YAML document begins here")
            continue
        if anchor:
            anchors[anchor] = node
        if open_nodes:
            open_nodes[-1][2].append(node)
        else:
            root = node
    return root


def _text_node(event: Any, lines: list[str]) -> Node:
    start, end = event.start_mark, event.end_mark
    node = Node("text", start.line, start.column, end.line, end.column, event.value, event.style)
    if node.text == "" and node.style is None:
        node.raw = _comment_before(lines, start.line, start.column)
    return node


def _alias_node(event: Any, anchors: dict[str, Node]) -> Node:
    start, end = event.start_mark, event.end_mark
    target = anchors.get(event.anchor)
    if target is None:  # also inside its own anchor: what contains itself has no end
        raise Unreadable(start.line, f"the alias *{event.anchor} has no anchor before it")
    return replace(target, line=start.line, column=start.column, end_line=end.line, end_column=end.column)


def _close(node: Node, children: list[Node], end: Any, lines: list[str]) -> None:
    node.end_line, node.end_column = end.line, end.column
    node.depth += max((child.depth for child in children), default=0)
    node.size += sum(child.size for child in children)
    if node.depth > _MAX_DEPTH or node.size > _MAX_NODES:
        raise Unreadable(node.line, "its aliases unfold to too much")
    if node.flow:
        node.raw = _slice(lines, node)
    if node.kind == "list":
        node.items = children
        return
    for key, value in zip(children[::2], children[1::2], strict=True):
        if key.kind != "text":
            raise Unreadable(key.line, "a key must be a plain text, not a list or a map")
        node.pairs.append((key, value))


def _slice(lines: list[str], node: Node) -> str:
    part = lines[node.line : node.end_line + 1]
    part[-1] = part[-1][: node.end_column]
    part[0] = part[0][node.column :]
    return "\n".join(part)


def _comment_before(lines: list[str], line: int, column: int) -> str:
    # YAML reads `tags: #a` as an empty value and a comment. It puts an empty list item at its dash, and every
    # other empty value at the next thing it finds.
    after = re.match(r"[ \t]+(#[^\s#].*)", lines[line][column:]) if line < len(lines) else None
    if after:
        return after[1]
    before = [*lines[:line], lines[line][:column] if line < len(lines) else ""]
    while before and (not before[-1].strip() or before[-1].lstrip().startswith("#")):
        before.pop()
    found = _HASH_TAGS.search(before[-1]) if before else None
    return found[1] if found else ""


# --- the block between the fences -------------------------------------------------------------------------


def read_head(raw: str) -> Head | None:
    """Find the frontmatter at the start of a text with any newlines; None where the text has none."""
    above = _COMMENTS_ABOVE.match(raw)
    start = above.end() if above else 0
    matches = _LINE.finditer(raw, start)
    first = next(matches, None)
    if first is None or first[0].rstrip(" \t\r\n") != "---":
        return None
    head = Head(opening=raw[:start] + first[0])
    for match in matches:
        if match[0].rstrip(" \t\r\n") in ("---", "..."):
            head.closing = match[0]
            break
        head.lines.append(match[0])
    if not head.closing:
        return _unclosed(head)
    if not head.block.strip():
        return head
    try:
        head.root = compose(head.block)
    except Unreadable as failure:
        head.failure = failure
    if head.failure is None and (head.root is None or head.root.kind != "map"):
        return None  # prose between two rules
    return head if _looks_like_frontmatter(head) else None


def _looks_like_frontmatter(head: Head) -> bool:
    lines = [line.rstrip("\r\n") for line in head.lines]
    if lines[0].strip() and head.root is not None:
        return True
    keys = [found["key"].strip("\"'") for line in lines if (found := KEY_LINE.match(line.strip()))]
    if not lines[0].strip():
        return any(key in _TELLING for key in keys)
    first = next((line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    return KEY_LINE.match(first) is not None or first.startswith(("{", "?", "<<", "&", "%", "!"))


def _unclosed(head: Head) -> Head | None:
    # Only the run of `key: value` lines right after the rule is read; the whole text stays the body.
    run: list[str] = []
    for line in head.lines[:_MAX_UNCLOSED_LINES]:
        if not line.strip() or not (KEY_LINE.match(line.rstrip("\r\n")) or line[0] in " \t-"):
            break
        run.append(line)
    if not run or not any(line.split(":")[0] in _TELLING for line in run):
        return None
    reason = "the frontmatter that opens here has no closing --- line"
    return Head(head.opening, run, "", None, Unreadable(-1, reason), unclosed=True)
