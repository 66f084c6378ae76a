"""The inline rules by which the markdown parser reads wikilinks, links to files, comments and HTML code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

MAX_NESTING = 100
"""Depth of quotes, lists and brackets that is read; deeper text is left out. Each level costs the parser
four Python frames at most, so that this stays far below the interpreter's recursion limit."""

MAX_LABEL = 999
"""Longest label of a reference link, in characters (CommonMark 0.31, link labels)."""


# Single brackets may stand inside when they are balanced; a backslash must not escape a bracket. Possessive,
# so that a failed match costs one walk to the next unbalanced bracket.
_WIKI = re.compile(r"\[\[(?!\[)((?:[^\[\]\n\\]|\\(?![\[\]\n])|\[[^\[\]\n]*\])*+)\]\]")
_BLOCK = re.compile(r"\^([A-Za-z0-9-]+)$")
_SHELL_TEST = re.compile(r"(?<!\S)-[A-Za-z]{1,2}(?!\S)|\$|[=!]=|=~|&&|\|\||(?<!\S)(?:[=<>]|!)(?!\S)")
_TEXT = re.compile(r"[^\[\]!\\`<]+")
_SPACE = re.compile(r"[ \t\n]*")
_LABEL = re.compile(r"\[((?:[^\[\]\\]|\\.){0,999})\]", re.DOTALL)
_BULLET = re.compile(r"[-*+][ \t]")
_BACKTICKS = re.compile(r"`+")
_TAG = re.compile(r"<(/?)([A-Za-z]+)")
_CODE_TAGS = frozenset({"code", "kbd", "samp", "tt"})
_RAW_TAGS = frozenset({"pre", "script", "style", "textarea"})


@dataclass(frozen=True, slots=True)
class Hit:
    """A wikilink as written (`href` is None), or the label and address of a markdown link."""

    position: int
    text: str
    href: str | None


@dataclass(slots=True)
class _Opener:
    position: int
    picture: bool
    token: int


class Hits:
    """What the rules note while one inline text is read; positions count from its start."""

    def __init__(self) -> None:
        self.found: list[Hit] = []
        self.tags: list[tuple[int, bool, str]] = []
        self.openers: list[_Opener] = []
        self.closed_below = 0
        self.last_comment_end: int | None = None

    def outside_code(self, length: int) -> Iterator[Hit]:
        """The hits outside HTML code, in order; `<pre>` and its kind run to the end when left open."""
        ranges: list[tuple[int, int]] = []
        start, name = -1, ""
        for position, closing, tag in self.tags:
            if not closing and not name:
                start, name = position, tag
            elif closing and tag == name:
                ranges.append((start, position))
                name = ""
        if name in _RAW_TAGS:
            ranges.append((start, length))
        ranges.append((length, length))
        current = 0
        for hit in sorted(self.found, key=lambda hit: hit.position):
            while ranges[current][1] <= hit.position < length:
                current += 1
            if hit.position < ranges[current][0]:
                yield hit


@lru_cache(maxsize=2)
def markdown_parser(emphasis: bool) -> MarkdownIt:
    """The parser for links, or with `emphasis` the one for the plain text of headings.

    Brackets are matched with a stack, as the CommonMark appendix describes it: the parser's own rules look
    ahead from each bracket, which takes half a minute on 200 kB of `[`.
    """
    # The parser is a noticeable part of start-up, and listing memories does not need it.
    from markdown_it import MarkdownIt  # noqa: PLC0415
    from markdown_it.rules_block import code, reference  # noqa: PLC0415
    from markdown_it.rules_inline import html_inline  # noqa: PLC0415

    class Parser(MarkdownIt):
        def normalizeLink(self, url: str) -> str:
            return url  # a path is read here, never shown in a page

    def definition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        # `[note]: [[other]]` would vanish as a reference definition; it is prose that links to `other`.
        line = state.src[state.bMarks[start] : state.eMarks[start]]
        return "[[" not in line and reference(state, start, end, silent)

    def indented_code(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        # Outliners indent the list below a heading: code by the letter of CommonMark, a list to its writer.
        first = state.bMarks[start] + state.tShift[start]
        return _BULLET.match(state.src, first) is None and code(state, start, end, silent)

    def tag(state: StateInline, silent: bool) -> bool:
        position = state.pos
        if not html_inline(state, silent):
            return False
        match = _TAG.match(state.src, position)
        if match:
            name = match.group(2).lower()
            if name in _CODE_TAGS or name in _RAW_TAGS:
                _hits(state).tags.append((position, bool(match.group(1)), name))
        return True

    parser = Parser("commonmark", {"maxNesting": MAX_NESTING}).enable("table")
    parser.block.ruler.at("reference", definition)
    parser.block.ruler.at("code", indented_code)
    inline = parser.inline.ruler
    inline.at("link", _open_bracket)
    inline.at("image", _close_bracket)
    inline.at("html_inline", tag)
    inline.before("link", "wikilink", _read_wikilink)
    inline.before("html_inline", "comment", _read_comment)
    if not emphasis:
        # Emphasis and entities never decide what is a link, and are most of the cost of a long line.
        parser.disable(["emphasis", "entity", "newline"])
        inline.at("text", _read_text)
    return parser


def _hits(state: StateInline) -> Hits:
    hits: Hits = state.env["hits"]
    return hits


def _read_text(state: StateInline, silent: bool) -> bool:
    del silent
    match = _TEXT.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    state.append_pending(match.group())
    state.pos = match.end()
    return True


def _read_wikilink(state: StateInline, silent: bool) -> bool:
    del silent
    position = state.pos
    embed = state.src.startswith("![[", position)
    if not embed and not state.src.startswith("[[", position):
        return False
    opening = position + embed
    match = _WIKI.match(state.src, opening, state.posMax)
    if match is None or not _is_target(match.group(1)):
        return False
    if not embed and _touches_word(state.src, opening):
        return False
    if _destination(state, match.end()) is not None:
        return False
    target, label = split_label(match.group(1))
    token = state.push("wikilink", "", 0)
    token.content = label or target
    _hits(state).found.append(Hit(position, state.src[position : match.end()], None))
    state.pos = match.end()
    return True


def _open_bracket(state: StateInline, silent: bool) -> bool:
    del silent
    picture = state.src.startswith("![", state.pos)
    if not picture and state.src[state.pos] != "[":
        return False
    token = state.push("bracket", "", 0)
    token.content = "![" if picture else "["
    _hits(state).openers.append(_Opener(state.pos, picture, len(state.tokens) - 1))
    state.pos += len(token.content)
    return True


def _close_bracket(state: StateInline, silent: bool) -> bool:
    del silent
    hits = _hits(state)
    if state.src[state.pos] != "]" or not hits.openers:
        return False
    opener = hits.openers.pop()
    # A link holds no link: what was opened before a link can only be text (a picture may hold one).
    inside_link = len(hits.openers) < hits.closed_below and not opener.picture
    hits.closed_below = min(hits.closed_below, len(hits.openers))
    if inside_link:
        return False
    start = opener.position + 1 + opener.picture
    found = _destination(state, state.pos + 1) or _reference(state, start)
    if found is None:
        return False
    href, end = found
    if state.pending:
        state.pushPending()
    state.tokens[opener.token].content = ""
    if not opener.picture:
        label = plain_text(state.tokens[opener.token + 1 :])
        hits.found.append(Hit(opener.position, label, href))
        hits.closed_below = len(hits.openers)
    state.pos = end
    return True


def _destination(state: StateInline, position: int) -> tuple[str, int] | None:
    """`(href, end)` of an inline `(destination "title")` that starts at `position`, else None."""
    source, limit = state.src, state.posMax
    if not source.startswith("(", position):
        return None
    helpers = state.md.helpers
    start = _after_space(source, position + 1, limit)
    if source.startswith("[[", start):
        return None  # `[label]([[note]])` links to the note
    destination = helpers.parseLinkDestination(source, start, limit)
    if not destination.ok:
        return ("", start + 1) if source.startswith(")", start) else None
    end = _after_space(source, destination.pos, limit)
    if end > destination.pos:
        title = helpers.parseLinkTitle(source, end, limit)
        if title.ok:
            end = _after_space(source, title.pos, limit)
    return (destination.str, end + 1) if source.startswith(")", end) and end < limit else None


def _reference(state: StateInline, start: int) -> tuple[str, int] | None:
    """`(href, end)` of `[text][label]`, `[label][]` or `[label]` whose label is defined, else None."""
    references: dict[str, dict[str, str]] = state.env.get("references", {})
    if not references:
        return None
    end = state.pos + 1
    label = state.src[start : state.pos] if state.pos - start <= MAX_LABEL else ""
    full = _LABEL.match(state.src, end, state.posMax)
    if full:
        label, end = full.group(1) or label, full.end()
    definition = references.get(_normal_label(label))
    return (definition["href"], end) if definition else None


def _normal_label(label: str) -> str:
    from markdown_it.common.utils import normalizeReference  # noqa: PLC0415

    return normalizeReference(label)


def _after_space(source: str, position: int, limit: int) -> int:
    match = _SPACE.match(source, position, limit)
    return match.end() if match else position


def _read_comment(state: StateInline, silent: bool) -> bool:
    """Skip `<!-- … -->`, which ends at the first `-->` whatever stands inside."""
    del silent
    if not state.src.startswith("<!--", state.pos):
        return False
    hits = _hits(state)
    if hits.last_comment_end is None:
        # Remembered, so that a run of openings without an end is not searched again for each of them.
        hits.last_comment_end = state.src.rfind("-->")
    if hits.last_comment_end < state.pos + len("<!"):
        return False
    state.pos = state.src.find("-->", state.pos + len("<!")) + len("-->")
    return True


def split_target(written: str) -> tuple[str, str | None, str | None]:
    """`(target, heading, block)` of the part of a link before its label.

    `n#h`, `n#^block` and `n^block` are told apart. A `#` with nothing behind it belongs to the name (`C#`).
    """
    target, _, anchor = written.partition("#")
    anchor = anchor.strip()
    if anchor.startswith("^") and len(anchor) > 1:
        return target.strip(), None, anchor[1:]
    if anchor.strip("#"):
        return target.strip(), anchor, None
    block = _BLOCK.search(written)
    if block:
        return written[: block.start()].strip(), None, block.group(1)
    return written.strip(), None, None


def _touches_word(source: str, position: int) -> bool:
    before = position - 1
    while before >= 0 and source[before] == "_":
        before -= 1
    if before < 0:
        return False
    character = source[before]
    # Scripts without case (Chinese, Japanese, Thai) set no space before a link.
    return character.isdecimal() or character.islower() or character.isupper()


def _is_target(inner: str) -> bool:
    target = split_label(inner)[0]
    if not target.strip("#^ \t"):
        return False
    if inner[0].isspace() and inner[-1].isspace() and _SHELL_TEST.search(inner):
        return False
    return "`" not in inner or _closes_code(inner)


def _closes_code(inner: str) -> bool:
    """Whether each run of backticks has its partner inside, so that no code span cuts the link."""
    opened = 0
    for run in _BACKTICKS.findall(inner):
        if opened == 0:
            opened = len(run)
        elif opened == len(run):
            opened = 0
    return opened == 0


def split_label(inner: str) -> tuple[str, str | None]:
    """`(what is linked, label)`; the pipe may be escaped, as tables need it."""
    target, _, label = inner.partition("|")
    if target.endswith("\\"):
        target = target[:-1]
    return target.strip(), label.replace("\\|", "|").strip() or None


def plain_text(tokens: Sequence[Token]) -> str:
    parts: list[str] = []
    for token in tokens:
        if token.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif token.type != "html_inline":
            parts.append(token.content)
    return " ".join("".join(parts).split())
