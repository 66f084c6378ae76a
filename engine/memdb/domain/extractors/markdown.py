"""Markdown: heading sections, and in them the blocks that a cut should not tear."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from memdb.domain import frontmatter, markdown
from memdb.domain.extractors.blocks import Block, Extracted
from memdb.domain.extractors.reading import Line, Source
from memdb.domain.extractors.text import paragraphs, verbatim_block
from memdb.domain.times_calendar import written_day

# The parser holds about 100 bytes for each byte of text; a larger file is a dump, and is read as plain text.
MAX_BYTES = 8_000_000

# Said by the title, or by the citation of a record, already.
_NOT_PROSE = frozenset({"name", "title", "created", "modified", "updated", "date", "id"})


class Markdown:
    """Markdown with or without frontmatter."""

    name, version = "markdown", 2
    suffixes = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"})

    def accepts(self, name: str, head: bytes) -> bool:
        return False  # markdown has no signature; the name decides

    def extract(self, source: Source) -> Extracted:
        if source.size > MAX_BYTES:
            warning = "too large to be read by its headings; read as plain text"
            return Extracted(self.name, None, paragraphs(source.lines()), [warning])
        read = frontmatter.parse(source.text(MAX_BYTES))
        title = read.frontmatter.get("title")
        return Extracted(
            format=self.name,
            title=read.name or (title.strip() if isinstance(title, str) and title.strip() else None) or read.h1,
            blocks=_blocks(read),
            warnings=[f"line {problem.line}: {problem.reason}" for problem in read.problems],
            created=read.created or _date(read.frontmatter.get("date")),
        )


def _date(written: object) -> str | None:
    """The day of a post or note that has no other."""
    return written_day(written) if isinstance(written, str) else None


def _blocks(read: frontmatter.MemoryText) -> Iterator[Block]:
    told = "\n".join(_prose_fields(read.frontmatter))
    if told:
        yield Block(told, start_line=1, end_line=max(1, read.body_line - 1))
    yield from section_blocks(read.body, read.body_line)


def section_blocks(text: str, first_line: int) -> Iterator[Block]:
    """The blocks of a Markdown text without frontmatter, whose first line has this number."""
    lines = [Line(number, line, False) for number, line in enumerate(text.split("\n"), first_line)]
    sections = markdown.parse(text, first_line).sections()
    for position, section in enumerate(sections):
        below = _pieces(section, lines[section.body_line - first_line : section.end_line + 1 - first_line])
        following = sections[position + 1].path if position + 1 < len(sections) else ()
        is_parent = len(following) > len(section.path) and following[: len(section.path)] == section.path
        if not below and not is_parent:
            # A heading with nothing below it, not even a smaller heading, is all that this place says.
            own = lines[section.start_line - first_line : section.end_line + 1 - first_line]
            below = [(own, "")]
        for number, (piece, table_head) in enumerate(below):
            block = verbatim_block(piece, section.path, starts_section=number == 0)
            yield Block(
                block.text,
                block.heading_path,
                start_line=block.start_line,
                end_line=block.end_line,
                verbatim=True,
                starts_section=block.starts_section,
                table_head=table_head,
            )


def _pieces(section: markdown.Section, lines: list[Line]) -> list[tuple[list[Line], str]]:
    """The lines of each block with the head of a table, and what stands between blocks (link definitions)."""
    pieces: list[tuple[list[Line], str]] = []
    first = section.body_line
    used = 0
    for block in section.blocks:
        start, end = max(block.start_line - first, used), block.end_line + 1 - first
        if end <= used or end <= 0:
            continue
        pieces.append((lines[used:start], ""))
        head = lines[start : start + 2] if block.kind == "table" else []
        pieces.append((lines[start:end], "\n".join(line.text for line in head)))
        used = end
    pieces.append((lines[used:], ""))
    stripped = ((_without_blank_ends(piece), head) for piece, head in pieces)
    return [(piece, head) for piece, head in stripped if piece]


def _without_blank_ends(lines: list[Line]) -> list[Line]:
    start, end = 0, len(lines)
    while start < end and not lines[start].text.strip():
        start += 1
    while end > start and not lines[end - 1].text.strip():
        end -= 1
    return lines[start:end]


def _prose_fields(fields: Mapping[str, object]) -> Iterator[str]:
    """The frontmatter that a person may search for: lists, and values of more than one word."""
    for key, value in fields.items():
        if isinstance(value, list):
            told = ", ".join(item for item in value if isinstance(item, str))
        else:
            told = value.strip() if isinstance(value, str) and " " in value.strip() else ""
        if told and key not in _NOT_PROSE:
            yield f"{key}: {told}"
