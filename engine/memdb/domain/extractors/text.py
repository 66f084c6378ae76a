"""Plain text and logs: paragraphs with their lines, read as a stream."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from memdb.domain.extractors.blocks import Block, Extracted
from memdb.domain.extractors.reading import Line, Source

# A log has no blank lines. A run of lines this long ends at the next line whose checksum says so, and at the latest
# at the second figure: the place depends on the line alone, so that lines added above move no later one.
_PARAGRAPH_CHARACTERS, _LONGEST_PARAGRAPH = 16_384, 131_072
_ONE_LINE_IN = 64


class PlainText:
    """Text, logs and every markup that has no reader of its own."""

    name, version = "text", 1
    suffixes = frozenset({".txt", ".text", ".log", ".rst", ".adoc", ".asciidoc", ".org", ".tex", ".srt", ".vtt", ""})

    def accepts(self, name: str, head: bytes) -> bool:
        return False  # every text is plain text, so this one is only ever the last resort

    def extract(self, source: Source) -> Extracted:
        return Extracted(self.name, None, paragraphs(source.lines()))


def paragraphs(lines: Iterable[Line]) -> Iterator[Block]:
    """The runs of lines between blank lines; long runs without any are cut at lines that their text selects."""
    held: list[Line] = []
    characters = 0
    for line in lines:
        blank = not line.text.strip()
        if held and (blank or line.continued or _ends(characters, line.text)):
            yield verbatim_block(held)
            held, characters = [], 0
        if not blank:
            held.append(line)
            characters += len(line.text) + 1
    if held:
        yield verbatim_block(held)


def verbatim_block(lines: list[Line], heading_path: tuple[str, ...] = (), starts_section: bool = False) -> Block:
    """Whole lines of the file as one block."""
    return Block(
        text="\n".join(line.text for line in lines),
        heading_path=heading_path,
        start_line=lines[0].number,
        end_line=lines[-1].number,
        verbatim=True,
        starts_section=starts_section,
    )


def _ends(characters: int, following: str) -> bool:
    if characters < _PARAGRAPH_CHARACTERS:
        return False
    if characters + len(following) > _LONGEST_PARAGRAPH:
        return True
    return zlib.crc32(following.encode("utf-8", "surrogatepass")) % _ONE_LINE_IN == 0
