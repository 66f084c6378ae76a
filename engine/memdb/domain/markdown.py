"""What a markdown text says about structure: its wikilinks, links to files, headings and sections.

The text is read by a CommonMark parser (with tables), and wikilinks are an inline rule inside it. So code,
escapes and comments are recognised by the parser, never guessed by a pattern over the raw text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from memdb.domain.markdown_rules import Hits, markdown_parser, plain_text, split_label, split_target

if TYPE_CHECKING:
    from markdown_it.token import Token

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/\\]")


@dataclass(frozen=True, slots=True)
class WikiLink:
    """One `[[target#heading|label]]` as written, or `![[target]]` when `embed` is true.

    `target` is empty for a link into the same text (`[[#heading]]`). `line` counts from the given first line.
    """

    raw: str
    target: str
    heading: str | None
    block: str | None
    label: str | None
    embed: bool
    line: int

    @property
    def written(self) -> str:
        """Everything before the label; a name may hold `#`, so resolution tries this before `target`."""
        return split_label(self.raw.removeprefix("!")[2:-2])[0]


@dataclass(frozen=True, slots=True)
class MarkdownLink:
    """One `[label](path.md#anchor)` to a relative file; `path` is percent-decoded, without the anchor."""

    path: str
    anchor: str | None
    label: str
    line: int


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading outside quotes and lists; `text` is plain, without markup."""

    level: int
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Block:
    """A run of lines that belongs together: a paragraph, fence, table, quote or one item of a list."""

    kind: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Section:
    """The lines from one heading to the next.

    `path` holds the plain headings from the outermost to this one (empty before the first). `text` is the
    lines with their newlines as LF, its own heading included, blank lines at the end left out; `body` is the
    same without the heading. `blocks` are the places where it may be cut without tearing a block.
    """

    path: tuple[str, ...]
    text: str
    start_line: int
    end_line: int
    body_line: int
    blocks: tuple[Block, ...]

    @property
    def body(self) -> str:
        """The text below the heading."""
        lines = self.text.split("\n")[self.body_line - self.start_line :]
        return "\n".join(lines).strip("\n")


@dataclass(frozen=True, slots=True)
class Links:
    """Both kinds of links of a text, each in reading order."""

    wiki: list[WikiLink]
    files: list[MarkdownLink]


def wiki_links(text: str, first_line: int = 1) -> list[WikiLink]:
    """The wikilinks of `text`, in reading order; see `Parsed.links` for the rules."""
    return parse_links(text, first_line).wiki


def parse_links(text: str, first_line: int = 1) -> Links:
    """Both kinds of links in one pass; a text without a bracket is not parsed at all."""
    return parse(text, first_line).links() if "[" in text else Links([], [])


def headings(text: str, first_line: int = 1) -> list[Heading]:
    """The headings of `text` that stand outside quotes and lists."""
    return parse(text, first_line).headings()


def sections(text: str, first_line: int = 1) -> list[Section]:
    """The sections of `text` that hold anything, in order."""
    return parse(text, first_line).sections()


def parse(text: str, first_line: int = 1) -> Parsed:
    """Read the blocks of `text` once, for links, headings and sections together.

    `first_line` is the number of the first line, for a body that stands below a frontmatter. CR and CRLF
    count as one newline. Never raises.
    """
    source = text.replace("\r\n", "\n").replace("\r", "\n")
    parser = markdown_parser(emphasis=False)
    env: dict[str, Any] = {}
    tokens: list[Token] = []
    parser.block.parse(source, parser, env, tokens)
    return Parsed(source, first_line, tokens, env)


@dataclass(slots=True)
class Parsed:
    """A text whose blocks have been read; each method reads what it needs of them."""

    source: str
    first_line: int
    _tokens: Sequence[Token]
    _env: dict[str, Any] = field(default_factory=dict)

    def links(self) -> Links:
        """The links of the text.

        A wikilink counts in prose of every kind (headings, lists, tables, quotes, emphasis, HTML, labels)
        and nowhere in code (spans, fences, indented, `<code>`, `<pre>`), comments or behind an escape. An
        indented block that starts with a bullet is an outline, not code.
        Not links: one that is empty; one that a line end cuts; one right behind a cased letter, digit or
        underscore (`List[[A]]`; text in scripts without spaces is free to touch its links); a shell test
        (spaces on both sides and an option, variable or operator inside: `[[ -f x ]]`, while `[[ Note ]]` is
        a link to `Note`); one that a code span cuts; and `[[1]](address)`, which is a markdown link.
        """
        wiki: list[WikiLink] = []
        files: list[MarkdownLink] = []
        cell = False
        for token in self._tokens:
            if token.type == "inline":
                self._read(token, token.content, cell, wiki, files)
            elif token.type == "html_block" and not _open_comment(token.content):
                self._read(token, token.content, False, wiki, files)
            cell = token.type in ("th_open", "td_open")
        return Links(wiki, files)

    def _read(self, token: Token, content: str, cell: bool, wiki: list[WikiLink], files: list[MarkdownLink]) -> None:
        if "[" not in content:
            return
        parser = markdown_parser(emphasis=False)
        hits = Hits()
        parser.inline.parse(content, parser, {**self._env, "hits": hits}, [])
        line = self.first_line + (token.map[0] if token.map else 0)
        counted = 0
        for hit in hits.outside_code(len(content)):
            line += content.count("\n", counted, hit.position)
            counted = hit.position
            if hit.href is None:
                # A pipe reaches a table cell only when it was escaped.
                raw = hit.text.replace("|", "\\|") if cell else hit.text
                wiki.append(_wiki_link(raw, line))
            elif (link := _file_link(hit.href, hit.text, line)) is not None:
                files.append(link)

    def headings(self) -> list[Heading]:
        """The headings outside quotes and lists, with their plain text."""
        return [heading for heading, _ in self._headings()]

    def _headings(self) -> Iterator[tuple[Heading, int]]:
        parser = markdown_parser(emphasis=True)
        for position, token in enumerate(self._tokens):
            if token.type != "heading_open" or token.level or token.map is None:
                continue
            inline: list[Token] = []
            content = self._tokens[position + 1].content
            parser.inline.parse(content, parser, {**self._env, "hits": Hits()}, inline)
            line, below = token.map
            yield Heading(int(token.tag[1]), plain_text(inline), self.first_line + line), below

    def sections(self) -> list[Section]:
        """The sections that hold more than blank lines, in order."""
        lines = self.source.split("\n")
        starts: list[tuple[tuple[str, ...], int, int]] = [((), 0, 0)]
        open_headings: list[Heading] = []
        for heading, below in self._headings():
            open_headings = [outer for outer in open_headings if outer.level < heading.level] + [heading]
            path = tuple(outer.text for outer in open_headings if outer.text)
            starts.append((path, heading.line - self.first_line, below))
        ends = [start for _, start, _ in starts[1:]] + [len(lines)]
        blocks = list(self._blocks(lines))
        found: list[Section] = []
        used = 0
        for (path, start, below), limit in zip(starts, ends, strict=True):
            first_block = used
            while used < len(blocks) and blocks[used].start_line - self.first_line < limit:
                used += 1
            end = _trimmed(lines, start, limit)
            if end > start:
                found.append(
                    Section(
                        path=path,
                        text="\n".join(lines[start:end]),
                        start_line=self.first_line + start,
                        end_line=self.first_line + end - 1,
                        body_line=self.first_line + below,
                        blocks=tuple(blocks[first_block:used]),
                    )
                )
        return found

    def _blocks(self, lines: list[str]) -> Iterator[Block]:
        for token in self._tokens:
            if token.map is None or token.nesting < 0:
                continue
            kind = token.type.removesuffix("_open")
            whole = token.level == 0 and kind not in ("bullet_list", "ordered_list")
            if whole or (token.level == 1 and kind == "list_item"):
                start, limit = token.map
                end = max(_trimmed(lines, start, limit), start + 1)
                yield Block(kind, self.first_line + start, self.first_line + end - 1)


def _open_comment(html: str) -> bool:
    return html.lstrip().startswith("<!--") and "-->" not in html


def _wiki_link(raw: str, line: int) -> WikiLink:
    embed = raw.startswith("!")
    written, label = split_label(raw[2 + embed : -2])
    target, heading, block = split_target(written)
    return WikiLink(raw, target, heading, block, label, embed, line)


def _file_link(href: str, label: str, line: int) -> MarkdownLink | None:
    path, _, anchor = href.partition("#")
    path = path.partition("?")[0]
    if _SCHEME.match(path) or not path.lower().endswith(".md"):
        return None
    return MarkdownLink(unquote(path), unquote(anchor) or None, label, line)


def _trimmed(lines: list[str], start: int, end: int) -> int:
    """`end` moved up over blank lines, never above `start`."""
    while end > start and not lines[end - 1].strip():
        end -= 1
    return end
