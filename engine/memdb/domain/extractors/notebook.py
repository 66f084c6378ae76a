"""Jupyter notebooks: the Markdown and code of their cells, without outputs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from memdb.base.text import plain
from memdb.domain.extractors.blocks import CannotExtract, Extracted
from memdb.domain.extractors.markdown import section_blocks
from memdb.domain.extractors.reading import Source

# Pictures in outputs make a notebook large; the text of one is a few hundred kilobytes.
MAX_BYTES = 64_000_000


class Notebook:
    """A notebook (format 4), read as the Markdown text that its cells make; code cells are fenced blocks."""

    name, version = "notebook", 1
    suffixes = frozenset({".ipynb"})

    def accepts(self, name: str, head: bytes) -> bool:
        return False  # it is JSON; the name decides

    def extract(self, source: Source) -> Extracted:
        try:
            notebook = json.loads(source.text(MAX_BYTES))
        except (ValueError, RecursionError) as error:
            raise CannotExtract(f"The notebook is not valid JSON: {error}.", hint="Save it again.") from error
        if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
            raise CannotExtract("The notebook has no cells.", hint="Open it in Jupyter and save it again.")
        text = plain("\n\n".join(_cells(notebook["cells"])))
        # Lines of the text are not lines of the file, which is JSON.
        blocks = [replace(block, start_line=None, end_line=None, verbatim=False) for block in section_blocks(text, 1)]
        title = next((block.heading_path[0] for block in blocks if block.heading_path), None)
        return Extracted(self.name, title, blocks)


def _cells(cells: list[Any]) -> Iterator[str]:
    for cell in cells:
        if not isinstance(cell, dict):
            continue
        lines = cell.get("source")
        text = "".join(line for line in lines if isinstance(line, str)) if isinstance(lines, list) else lines
        if not isinstance(text, str) or not text.strip():
            continue
        if cell.get("cell_type") != "code":
            yield text
            continue
        fence = "```"
        while fence in text:
            fence += "`"
        yield f"{fence}\n{text}\n{fence}"
