"""Source code: one passage for each definition where a grammar is there, else cuts where the indentation ends."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from memdb.domain.extractors.blocks import Block, Extracted
from memdb.domain.extractors.reading import Line, Source
from memdb.domain.extractors.text import paragraphs, verbatim_block

# Generated code beyond this is data; it is read by lines. A syntax tree takes about thirty times its source.
MAX_BYTES = 4_000_000

# A class of up to about this many characters is read as one passage (256 tokens at 5 characters); a larger one by
# its methods.
_WHOLE_CLASS = 1_300

# A stretch without a grammar ends here at the latest.
_LONGEST_STRETCH = 131_072

# A constant or a lambda of fewer lines is no definition of its own.
_LEAST_LINES_OF_A_VALUE = 3

_GRAMMARS: dict[str, tuple[str, str]] = {
    **dict.fromkeys((".py", ".pyi", ".pyw"), ("tree_sitter_python", "language")),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), ("tree_sitter_javascript", "language")),
    **dict.fromkeys((".ts", ".mts", ".cts"), ("tree_sitter_typescript", "language_typescript")),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
    ".go": ("tree_sitter_go", "language"),
    ".rs": ("tree_sitter_rust", "language"),
    ".java": ("tree_sitter_java", "language"),
    **dict.fromkeys((".c", ".h"), ("tree_sitter_c", "language")),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), ("tree_sitter_cpp", "language")),
    ".cs": ("tree_sitter_c_sharp", "language"),
    ".rb": ("tree_sitter_ruby", "language"),
}
_BY_LINES = re.findall(
    r"[.]\w+",
    """
    .sh .bash .zsh .fish .ps1 .bat .cmd .sql .kt .kts .swift .scala .php .pl .pm .lua .r .jl .ex .exs .erl .hs .ml .mli
    .clj .cljs .el .lisp .scm .dart .zig .nim .v .sv .vhd .f90 .f .pas .asm .s .m .mm .groovy .gradle .proto .graphql
    .gql .tf .hcl .nix .cmake .mk .yaml .yml .toml .ini .cfg .conf .properties .env .xml .xsl .xsd .svg .plist .css
    .scss .sass .less .vue .svelte .diff .patch .cu .glsl .wgsl .sol .vb .fs .bib .po
    """,
)
_NAMES = frozenset({"dockerfile", "containerfile", "makefile", "gnumakefile", "rakefile", "gemfile", "justfile"})

_CONTAINERS = frozenset(
    {"class_definition", "class_declaration", "abstract_class_declaration", "interface_declaration", "class_specifier"}
    | {"struct_specifier", "struct_declaration", "record_declaration", "enum_declaration", "impl_item", "trait_item"}
    | {"mod_item", "module", "class", "singleton_class"}
)
# Always read by what is in them; a namespace is where things are, not a thing.
_NAMESPACES = frozenset(
    {"namespace_definition", "namespace_declaration", "internal_module", "linkage_specification", "preproc_ifdef"}
    | {"preproc_if"}
)
_VALUES = frozenset(
    {"lexical_declaration", "variable_declaration", "const_declaration", "var_declaration", "const_item", "static_item"}
    | {"expression_statement", "declaration", "assignment"}
)


class SourceCode:
    """Code and settings files; ten languages by their grammar."""

    name, version = "source", 1
    suffixes = frozenset({*_GRAMMARS, *_BY_LINES})

    def accepts(self, name: str, head: bytes) -> bool:
        """A script by its first line, or one of the file names that go without an extension."""
        return head.startswith(b"#!") or name.rpartition("/")[2].lower() in _NAMES

    def extract(self, source: Source) -> Extracted:
        extracted = Extracted(self.name, None, ())
        grammar = _GRAMMARS.get(source.suffix) or _shebang(source.head)
        parser = _parser(*grammar) if grammar and source.size <= MAX_BYTES else None
        if parser is None:
            extracted.blocks = stretches(source.lines())
            return extracted
        text = source.text(MAX_BYTES)
        tree = parser.parse(text.encode("utf-8"))
        lines = [Line(number, line, False) for number, line in enumerate(text.split("\n"), 1)]
        extracted.blocks = _blocks(tree.root_node, lines)
        return extracted


class _Part(NamedTuple):
    """Rows of the file from `first` to `last` (from 0, both included) under one heading path."""

    first: int
    last: int
    heading_path: tuple[str, ...]
    is_definition: bool


def stretches(lines: Iterable[Line]) -> Iterator[Block]:
    """Code without a grammar: a new stretch begins at a line without indentation that follows a blank one."""
    held: list[Line] = []
    characters, after_blank = 0, False
    for line in lines:
        text = line.text
        blank = not text.strip()
        begins = after_blank and not blank and not text[0].isspace() and text[0] not in ")]}"
        if held and (begins or line.continued or characters + len(text) > _LONGEST_STRETCH):
            yield _stripped(held)
            held, characters = [], 0
        if held or not blank:
            held.append(line)
            characters += len(text) + 1
        after_blank = blank
    if held:
        yield _stripped(held)


def _stripped(lines: list[Line], heading_path: tuple[str, ...] = (), starts_section: bool = False) -> Block:
    end = len(lines)
    while end > 1 and not lines[end - 1].text.strip():
        end -= 1
    return verbatim_block(lines[:end], heading_path, starts_section)


def _shebang(head: bytes) -> tuple[str, str] | None:
    first = head.split(b"\n", 1)[0]
    if first.startswith(b"#!"):
        for word, suffix in ((b"python", ".py"), (b"node", ".js"), (b"ruby", ".rb")):
            if word in first:
                return _GRAMMARS[suffix]
    return None


def _parser(module: str, function: str) -> Any:
    """A parser for a language; None where the grammar is not installed, and the file is read by its indentation."""
    try:
        tree_sitter = importlib.import_module("tree_sitter")
        grammar = importlib.import_module(module)
    except ImportError:
        return None
    return tree_sitter.Parser(tree_sitter.Language(getattr(grammar, function)()))


def _blocks(root: Any, lines: Sequence[Line]) -> Iterator[Block]:
    for part in _parts(root.children, 0, len(lines) - 1, (), lines):
        held = list(lines[part.first : part.last + 1])
        while held and not held[0].text.strip():
            held.pop(0)
        if not held:
            continue
        if part.is_definition:
            yield _stripped(held, part.heading_path, starts_section=True)
            continue
        for number, block in enumerate(paragraphs(held)):
            yield Block(
                block.text,
                part.heading_path,
                start_line=block.start_line,
                end_line=block.end_line,
                verbatim=True,
                starts_section=number == 0,
            )


def _parts(
    nodes: Sequence[Any], first: int, last: int, path: tuple[str, ...], lines: Sequence[Line]
) -> Iterator[_Part]:
    """The rows from `first` to `last`, cut at the definitions among `nodes`; nothing is left out."""
    used = first
    for node in nodes:
        name = _name(node)
        start, end = node.start_point[0], min(_last_row(node), last)
        if not name or start < used:
            continue
        start = _with_remarks(start, used, lines)
        if start > used:
            yield _Part(used, start - 1, path, False)
        inner = _inside(node)
        body = inner.child_by_field_name("body") or _body(inner)
        size = node.end_byte - node.start_byte
        own_path = (*path, name)
        if body is not None and (inner.type in _NAMESPACES or (inner.type in _CONTAINERS and size > _WHOLE_CLASS)):
            yield from _parts(body.children, start, end, own_path, lines)
        else:
            yield _Part(start, end, own_path, True)
        used = end + 1
    if used <= last:
        yield _Part(used, last, path, False)


def _last_row(node: Any) -> int:
    row, column = node.end_point
    ends_before = column == 0 and row > node.start_point[0]
    return int(row) - 1 if ends_before else int(row)


def _with_remarks(start: int, used: int, lines: Sequence[Line]) -> int:
    """The first of the comment, decorator and attribute lines that stand right above a definition."""
    while start > used:
        above = lines[start - 1].text.strip()
        if not above.startswith(("#", "//", "/*", "*", "@", "[", "--")):
            break
        start -= 1
    return start


def _inside(node: Any) -> Any:
    """The definition within an export or below decorators."""
    for field in ("definition", "declaration"):
        inner = node.child_by_field_name(field)
        if inner is not None and node.type in ("decorated_definition", "export_statement"):
            return inner
    if node.type == "expression_statement" and node.named_child_count == 1:
        inner = node.named_children[0]
        return inner if inner.type == "internal_module" else node
    if node.type in ("declaration", "type_declaration") and node.named_child_count:
        inner = node.child_by_field_name("type") or node.named_children[0]
        return inner if inner.type in _CONTAINERS else node
    return node


def _body(node: Any) -> Any:
    for child in node.named_children:
        if child.type in ("declaration_list", "class_body", "body_statement", "field_declaration_list"):
            return child
    return node if node.type in _NAMESPACES else None


def _name(node: Any) -> str:
    """What a definition is called, as its language writes it; empty when it defines nothing of a name."""
    if not node.is_named or "import" in node.type or node.type in ("comment", "package_clause", "ERROR"):
        return ""
    inner = _inside(node)
    rows = node.end_point[0] - node.start_point[0] + 1
    if inner.type in _VALUES and rows < _LEAST_LINES_OF_A_VALUE:
        return ""
    if inner.type == "impl_item":
        trait, of = inner.child_by_field_name("trait"), inner.child_by_field_name("type")
        return f"{_text(trait)} for {_text(of)}" if trait is not None else _text(of)
    name = _identifier(inner, 0)
    receiver = inner.child_by_field_name("receiver")
    if name and receiver is not None and inner.type == "method_declaration":
        kind = _text(receiver).strip("()").split()
        return f"{kind[-1].lstrip('*')}.{name}" if kind else name
    return name


def _identifier(node: Any, depth: int) -> str:
    """The name field, or that of the declarator within (C), the specification (Go) or the assignment."""
    if depth > 5:
        return ""
    named = node.child_by_field_name("name")
    if named is not None:
        return _text(named)
    if node.type in ("identifier", "field_identifier", "qualified_identifier", "type_identifier", "destructor_name"):
        return _text(node)
    for field in ("declarator", "left"):
        inner = node.child_by_field_name(field)
        if inner is not None:
            return _identifier(inner, depth + 1)
    for child in node.named_children:
        if child.type in (
            "variable_declarator",
            "type_spec",
            "const_spec",
            "var_spec",
            "assignment",
            "struct_specifier",
        ):
            return _identifier(child, depth + 1)
    return ""


def _text(node: Any) -> str:
    text = " ".join(node.text.decode("utf-8", "replace").split()) if node is not None else ""
    return text if len(text) <= 80 else ""
