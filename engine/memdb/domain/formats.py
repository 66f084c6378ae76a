"""The formats that documents are read in, with the versions of their extractors: known without loading one of them.

A recall asks for both, and seldom reads a file. A test compares them with `memdb.domain.extractors`.
"""

from __future__ import annotations

SOURCE = """
.asm .bash .bat .bib .c .cc .cfg .cjs .clj .cljs .cmake .cmd .conf .cpp .cs .css .cts .cu .cxx .dart .diff .el
.env .erl .ex .exs .f .f90 .fish .fs .glsl .go .gql .gradle .graphql .groovy .h .hcl .hh .hpp .hs .hxx .ini
.java .jl .js .jsx .kt .kts .less .lisp .lua .m .mjs .mk .ml .mli .mm .mts .nim .nix .pas .patch .php .pl .plist
.pm .po .properties .proto .ps1 .py .pyi .pyw .r .rb .rs .s .sass .scala .scm .scss .sh .sol .sql .sv .svelte
.svg .swift .tf .toml .ts .tsx .v .vb .vhd .vue .wgsl .xml .xsd .xsl .yaml .yml .zig .zsh
"""

FORMATS: dict[str, tuple[int, str]] = {
    "pdf": (1, ".pdf"),
    "docx": (1, ".docm .docx .dotx"),
    "html": (1, ".htm .html .shtml .xhtml"),
    "jsonl": (2, ".jsonl .jsonlines .ndjson"),
    "markdown": (2, ".markdown .md .mdown .mdx .mkd .qmd .rmd"),
    "table": (2, ".csv .psv .tab .tsv"),
    "json": (2, ".geojson .json .webmanifest"),
    "notebook": (1, ".ipynb"),
    "source": (1, SOURCE),
    "text": (1, " .adoc .asciidoc .log .org .rst .srt .tex .text .txt .vtt"),
}
"""Version and extensions of each extractor, by its name; a text may have none."""

READABLE = frozenset(suffix for _, suffixes in FORMATS.values() for suffix in suffixes.split()) | {""}
"""The extensions that are read; other files of a folder are passed over."""


def versions() -> set[str]:
    """The names of all extractors with their versions."""
    return {f"{name} {version}" for name, (version, _) in FORMATS.items()}
