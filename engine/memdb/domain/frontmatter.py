"""The frontmatter of a memory file: read tolerantly, edited in place, written with little quoting."""

from __future__ import annotations

from memdb.domain.frontmatter_edit import FrontmatterError, edit_bytes, render
from memdb.domain.frontmatter_read import KEY_ORDER, MemoryText, Problem, parse

__all__ = ["KEY_ORDER", "FrontmatterError", "MemoryText", "Problem", "edit_bytes", "parse", "render"]
