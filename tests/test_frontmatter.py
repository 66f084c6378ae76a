"""Memory files: frontmatter read tolerantly, edited in place, written anew."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memdb.base.text import decode, decode_exact, sha256_text
from memdb.domain.frontmatter import FrontmatterError, MemoryText, edit_bytes, parse, render
from memdb.domain.frontmatter_yaml import Node, compose_any, compose_simple

VAULT = Path(__file__).parent / "vaults" / "frontmatter"
FIELDS = (
    *("name", "description", "type", "tags", "supersedes", "aliases"),
    *("created", "modified", "happened_at", "valid_from", "valid_to"),
)
SAME = sorted(path.name for path in VAULT.glob("same_*.md"))


def read(file: str) -> MemoryText:
    return parse(decode((VAULT / file).read_bytes()).text)


def front(block: str, body: str = "Body.\n") -> MemoryText:
    return parse(f"---\n{block}\n---\n{body}")


def lines(memory: MemoryText) -> list[int | None]:
    return [problem.line for problem in memory.problems]


# --- reading ------------------------------------------------------------------------------------------------


def test_scalars_are_strings_as_typed() -> None:
    memory = read("typed_scalars.md")
    assert memory.frontmatter == {
        "title": "2025-10-24",
        "tags": ["2024-01-01", "1.0", "true"],
        "country": "NO",
        "time": "12:30",
        "id": "0123",
        "v": "1_000",
        "on": "x",
    }
    assert memory.tags == ("2024-01-01", "1.0", "true")
    assert memory.problems == ()


@pytest.mark.parametrize("value", ["NO", "12:30", "0123", "1_000", "2025-10-24", "true", "1.0", "0x1F", "1e3", ".5"])
@pytest.mark.parametrize("key", ["name", "description", "type", "created", "valid_to"])
def test_typed_scalars_in_the_known_keys(key: str, value: str) -> None:
    assert getattr(front(f"{key}: {value}"), key) == value


@pytest.mark.parametrize(
    ("block", "line", "expected"),
    [
        ("name: n\ntitle: Foo: bar", 3, {"name": "n"}),
        ("title: @me\nname: n", 2, {"name": "n"}),
        ("name: n\ntitle: `code`\ntags: a, b", 3, {"name": "n", "tags": ("a", "b")}),
        ("tags: [#foo]\nname: n", 2, {"name": "n", "tags": ("foo",)}),
        ("tags: ['#a', #b, \"c\"]", 2, {"tags": ("a", "b", "c")}),
        ("name: n\na:\tb", 3, {"name": "n"}),
        ("description: 'never closed\nname: n\ntype: t", 2, {"name": "n", "description": "'never closed"}),
        ("title: 2024-13-45\nname: n", 2, {"name": "n"}),
        ("name: n\ntitle: {{title}}", 3, {"name": "n"}),
        ("title: {{title}}", 2, {"name": None}),
        ("description: Foo: bar  # why\nname: n", 2, {"description": "Foo: bar", "name": "n"}),
        ("description: [draft] the plan\nname: n", 2, {"description": "[draft] the plan", "name": "n"}),
        ("supersedes: [[X]], [[Y]]", 2, {"supersedes": ("X", "Y")}),
        ("name: n\ntags:\n  - a\n  - 'b'\nx: @", 6, {"tags": ("a", "b")}),
        ("x: @\ndescription: >\n  two\n  lines", 2, {"description": "two lines"}),
        ("metadata:\n  type: feedback\n  x: @y\n  name: n\nz: w", 4, {"type": "feedback", "name": "n"}),
        ("name: n\n\tindented: x", 3, {"name": "n"}),
        ("name: *missing\ntype: t", 2, {"name": "*missing", "type": "t"}),
        ("name: n\nname: m\nx: @", 3, {"name": "n"}),
        ('name: n\nx: "\\UFFFFFFFF"', 3, {"name": "n"}),
        ("name: n\n--- x", 3, {"name": "n"}),
    ],
)
def test_a_broken_block_is_read_line_by_line_and_listed(block: str, line: int, expected: dict[str, Any]) -> None:
    memory = front(block)
    assert {key: getattr(memory, key) for key in expected} == expected
    assert line in lines(memory)
    assert memory.body == "Body.\n"


def test_every_bad_line_is_listed_and_none_hides_the_rest() -> None:
    memory = read("broken.md")
    assert memory.name == "still-read"
    assert memory.tags == ("one", "two")
    assert memory.type == "feedback"
    assert memory.created == "2025-10-24"
    assert memory.description == "'never closed"
    assert lines(memory) == [3, 9, 10]


@pytest.mark.parametrize(
    ("block", "name"),
    [
        ("name:", None),
        ("name: ''", None),
        ("name: None", None),
        ("name: null", None),
        ("name: ~", None),
        ("name: 'None'", "None"),
        ("name: [a, b]", None),
        ("name:\n  - a", None),
        ("name: {a: b}", None),
        ("name: [[Link]]", "Link"),
        ("name: '[[Link|shown]]'", "Link"),
        ("name: [[]]", None),
        ("name: '  padded '", "padded"),
        ("name: |\n  two\n  lines", "two lines"),
        ("metadata:\n  name: nested", "nested"),
        ("name: top\nmetadata:\n  name: nested", "top"),
        ("metadata:\n  name: nested\nname: top", "top"),
        ("name:\nmetadata:\n  name: nested", "nested"),
        ("other: x", None),
        ("name: !!python/object/apply:os.getcwd []", None),
        ("name: !!python/name:os.system x", "x"),
        ("name: !!int x", "x"),
        ("'name': quoted-key", "quoted-key"),
        ("{name: flow, tags: [a]}", "flow"),
        ("  name: indented", "indented"),
    ],
)
def test_name(block: str, name: str | None) -> None:
    assert front(block).name == name


@pytest.mark.parametrize(
    ("block", "tags"),
    [
        ("tags: a, b", ("a", "b")),
        ("tags: ['#a']", ("a",)),
        ("tags: '#foo'", ("foo",)),
        ("tags: #foo", ("foo",)),
        ("tags: #foo\nname: x", ("foo",)),
        ("tags: #a #b, #c", ("a", "b", "c")),
        ("tags: # a comment", ()),
        ("tags: # a comment\n  - a", ("a",)),
        ("tags:\n  - #a\n  - b\n  - #c", ("a", "b", "c")),
        ("tags: a/b", ("a/b",)),
        ("tags: [a, b, a, '', ' c ']", ("a", "b", "c")),
        ("tags: ['a, b', c]", ("a", "b", "c")),
        ("tags: '##a'", ("#a",)),
        ("tags: [[nested], deeper]", ("nested", "deeper")),
        ("tags:", ()),
        ("tags: null", ()),
        ("tags: {a: b}", ()),
        ("metadata:\n  tags: [x]", ("x",)),
        ("tags: ',,'", ()),
    ],
)
def test_tags(block: str, tags: tuple[str, ...]) -> None:
    assert front(block).tags == tags


@pytest.mark.parametrize("key", ["supersedes", "aliases"])
@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("X", ("X",)),
        ("[X, Y, X]", ("X", "Y")),
        ("[[X]]", ("X",)),
        ("[[feedback/x|the old one]]", ("feedback/x",)),
        ("'[[X]], [[Y]]'", ("X", "Y")),
        ("['[[X]]', Y]", ("X", "Y")),
        ("\n  - [[X]]\n  - Y", ("X", "Y")),
        ("[[[X]], [[Y]]]", ("X", "Y")),
        ("[[Doe, Jane]]", ("Doe, Jane",)),
        ("a, b", ("a, b",)),
        ("C#", ("C#",)),
        ("", ()),
        ("[]", ()),
        ("{a: b}", ()),
    ],
)
def test_supersedes_and_aliases(key: str, typed: str, names: tuple[str, ...]) -> None:
    assert getattr(front(f"{key}: {typed}"), key) == names


@pytest.mark.parametrize(
    ("block", "modified"),
    [
        ("updated: 2025-01-01", "2025-01-01"),
        ("updated: a\nmodified: b", "b"),
        ("metadata:\n  updated: a", "a"),
        ("updated: a\nmetadata:\n  modified: b", "a"),
        ("modified:\nupdated: a", "a"),
    ],
)
def test_modified_or_updated(block: str, modified: str) -> None:
    assert front(block).modified == modified


def test_nested_metadata_is_read_the_same_way_and_the_top_wins() -> None:
    memory = read("nested_metadata.md")
    assert memory.name == "prefers-tables"
    assert memory.type == "feedback"
    assert memory.description == "Answers with numbers go into a table."
    assert memory.modified == "2026-01-02T03:04:05Z"
    assert memory.body_line == 10


@pytest.mark.parametrize(
    ("text", "name", "body", "body_line"),
    [
        ("", None, "", 1),
        ("Just text", None, "Just text", 1),
        ("---", None, "---", 1),
        ("---\n---", None, "", 2),
        ("---\n\n---\nBody", None, "Body", 4),
        ("---\nname: x\n---", "x", "", 3),
        ("---\nname: x\n---\n\n\n  \n    code", "x", "    code", 7),
        ("---\nname: x\n---\n---\nB", "x", "---\nB", 4),
        ("---\n\nText\n\n---\n", None, "---\n\nText\n\n---\n", 1),
        ("---\n\nTo do: text\n\n---\n", None, "---\n\nTo do: text\n\n---\n", 1),
        ("---\n\nname: x\n\n---\nB", "x", "B", 6),
        ("---\n# Heading\n---\nB", None, "---\n# Heading\n---\nB", 1),
        ("---\n- a\n- b\n---\n", None, "---\n- a\n- b\n---\n", 1),
        ("---\nplain: [prose\n---\nB", None, "B", 4),
        ("----\nname: x\n----\n", None, "----\nname: x\n----\n", 1),
        ("\n---\nname: x\n---\n", None, "---\nname: x\n---\n", 2),
        ("---\r\nname: x\r\n---\r\nB\r\n", "x", "B\n", 4),
        ("---\rname: x\r---\rB\r", "x", "B\n", 4),
        ("\ufeff---\nname: x\n---\nB", "x", "B", 4),
        ("---\nk: |\n  ---\n  x\nname: n\n---\nB", "n", "B", 7),
        ("--- # comment\nname: x\n---\n", None, "--- # comment\nname: x\n---\n", 1),
    ],
)
def test_where_the_frontmatter_ends(text: str, name: str | None, body: str, body_line: int) -> None:
    memory = parse(text)
    assert (memory.name, memory.body, memory.body_line) == (name, body, body_line)


@pytest.mark.parametrize(
    ("file", "name", "body"),
    [
        ("trailing_spaces.md", "spaced", "Body.\n"),
        ("dots.md", "dotted", "Body.\n"),
        ("duplicates.md", "first", "Body.\n"),
        ("empty_frontmatter.md", None, "# Only a body\n"),
        ("no_final_newline.md", "plain", "One line.\n\nAnother line."),
    ],
)
def test_fences(file: str, name: str | None, body: str) -> None:
    memory = read(file)
    assert (memory.name, memory.body) == (name, body)


def test_a_rule_is_not_a_fence() -> None:
    memory = read("rule_first.md")
    assert memory.body.startswith("---\n\nNotes from the call")
    assert memory.h1 == "After the rule"
    assert (memory.frontmatter, memory.problems) == ({}, ())


def test_repeated_keys_are_reported_and_the_first_wins() -> None:
    problem = read("duplicates.md").problems[0]
    assert problem.line == 4
    assert problem.reason == "the key 'name' is repeated; the first, on line 2, is read"
    nested = front("x: @\nmetadata:\n  type: a\n  type: b")
    assert nested.type == "a"
    assert lines(nested) == [2, 5]


def test_an_unclosed_fence_is_a_problem_and_nothing_is_hidden() -> None:
    memory = read("unclosed.md")
    assert (memory.name, memory.type) == ("never-closed", "project")
    assert memory.body.startswith("---\nname: never-closed")
    assert lines(memory) == [1]
    assert "no closing ---" in memory.problems[0].reason


@pytest.mark.parametrize("file", SAME)
def test_one_text_in_every_encoding_gives_the_same_fields_and_hash(file: str) -> None:
    memory = read(file)
    assert memory == read("same_plain.md")
    assert memory.name == "café-notes"
    assert sha256_text(memory.body) == hashlib.sha256("# Café\n\nNear the bridge.\n".encode()).hexdigest()


def test_nul_and_hidden_characters_stay_in_the_body() -> None:
    assert read("nul.md").body == "A NUL \0 inside, a zero width\u200bspace, a turned \u202eword.\n"
    assert front("name: a\0b\u2028c\x85d").name == "a\0b\u2028c\x85d"


@pytest.mark.parametrize(
    ("body", "h1"),
    [
        ("# One\n# Two", "One"),
        ("## Two\n\n# One", "One"),
        ("```\n# code\n```\n# Real", "Real"),
        ("````\n```\n# code\n````\n# Real", "Real"),
        ("~~~\n# code\n```\n# code\n~~~\n# Real", "Real"),
        ("```\n# never closed", None),
        ("    # code\n", None),
        ("   # Near\n", "Near"),
        ("#tag\n", None),
        ("# \n# Second", "Second"),
        ("# Closed ##\n", "Closed"),
        ("# C#\n", "C#"),
        ("# #\n# x", "x"),
        ("Title\n=====\n", "Title"),
        ("\n=====\n", None),
        ("- item\n===\n", None),
        ("text # no\n", None),
        ("", None),
    ],
)
def test_first_heading(body: str, h1: str | None) -> None:
    assert parse(body).h1 == h1


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
CHAIN = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 1500))


@pytest.mark.parametrize(
    "block",
    [
        BOMB,
        CHAIN,
        "a: &a [*a]\n",
        "a: " + "[" * 50_000,
        "a: " + "{a: " * 10_000,
        "a:\n " + "- " * 30_000,
        "".join(" " * depth + "a:\n" for depth in range(300)),
        "? " * 30_000,
        "k: v\n" * 6_000,
        "".join(f"k{n}: @\n" for n in range(8_000)),
        "a: " + "x" * 2_000_000,
        "b: @\na: [" + "x, " * 10_000 + "]",
    ],
)
def test_hostile_blocks_are_bounded(block: str) -> None:
    started = time.process_time()
    memory = parse(f"---\nname: n\n{block}\n---\nBody.\n")
    assert time.process_time() - started < 5
    assert memory.name == "n"
    assert memory.body == "Body.\n"
    assert 1 <= len(memory.problems) <= 20


YAML_PIECES = st.sampled_from(
    [
        *(
            "name",
            "description",
            "tags",
            "metadata",
            "supersedes",
            ":",
            "[",
            "]",
            "[[",
            "]]",
            "{",
            "}",
            "#",
            " #",
        ),
        *(
            "'",
            '"',
            "&a ",
            "*a",
            "!!str ",
            "!x ",
            "!<",
            "?",
            "-",
            "---",
            "...",
            "\\",
            "\\U",
            "@",
            "`",
            ",",
            "<<",
            "~",
        ),
        *(
            "x",
            "é",
            "%YAML 1.1\n",
            "%TAG ! x",
            ": ",
            "\n",
            "\n  ",
            "\n- ",
            " ",
            "\t",
            "\0",
            "|\n",
            ">\n",
            "\r",
        ),
        *("\x85", "\u2028", "\ud800", "\ufeff", "\U000f0000", "2024-13-45"),
    ]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(YAML_PIECES, max_size=25).map("".join), st.sampled_from(["", "\n---\nB", "\n...\nB"]))
def test_parse_never_raises(block: str, end: str) -> None:
    memory = parse(f"---\n{block}{end}")
    assert memory.body_line >= 1
    assert_texts(memory.frontmatter)


@given(st.text())
def test_parse_never_raises_for_any_text(text: str) -> None:
    assert text.replace("\r\n", "\n").replace("\r", "\n").endswith(parse(text).body)


def assert_texts(value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            assert isinstance(key, str)
            assert_texts(item)
    elif isinstance(value, list):
        for item in value:
            assert_texts(item)
    else:
        assert isinstance(value, str)


SIMPLE_LINES = st.lists(
    st.sampled_from(
        [
            "name",
            "tags",
            "x_y-z",
            "metadata",
            "  name",
            "  type",
            "    deep",
            "- a",
            "  - b c",
            "  - 'd'",
            "é",
        ]
    ).flatmap(
        lambda start: st.sampled_from(
            [
                "",
                ": ",
                ":",
                ": v",
                ":  two words ",
                ": 'q: #'",
                ': "d"',
                ": []",
                ": [a, b/c d,e-f]",
                ": [a-, -b]",
                ": a:b#c",
            ]
        ).map(lambda end: start + end)
    ),
    max_size=6,
).map("\n".join)


@settings(max_examples=400, deadline=None)
@given(SIMPLE_LINES | st.builds("{}: {}".format, st.sampled_from(["name", "- a"]), st.text(max_size=8)))
def test_the_fast_reader_agrees_with_the_yaml_reader(block: str) -> None:
    simple = compose_simple(block)
    if simple is not None:
        assert shape(simple) == shape(compose_any(block))


def test_the_fast_reader_reads_the_common_block() -> None:
    block = 'name: a b\ndescription: "It is: so"\ntags: [a, b]\naliases:\n  - x\n'
    block += "metadata:\n  type: user\ncreated: 12:30\n"
    assert shape(compose_simple(block)) == shape(compose_any(block))
    assert compose_simple(block) is not None


def shape(node: Node | None) -> Any:
    """What both readers must agree on: not the places of empty values and the ends of indented ones."""
    assert node is not None
    if node.kind == "text":
        place = (node.line, node.column, node.end_line, node.end_column) if node.text else ()
        return node.text, node.style, node.raw, place
    place = (node.line, node.column, *((node.end_line, node.end_column) if node.flow else ()))
    pairs = [(shape(key), shape(value)) for key, value in node.pairs]
    return node.kind, node.flow, node.raw, place, [shape(item) for item in node.items], pairs


def test_importing_is_cheap() -> None:
    code = "import sys, memdb.domain.frontmatter; print('ruamel.yaml' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


# --- editing ------------------------------------------------------------------------------------------------

FOREIGN = (VAULT / "foreign.md").read_bytes()


@pytest.mark.parametrize(
    ("changes", "before", "after"),
    [
        ({"name": "monthly"}, b"name: weekly-notes\n", b"name: monthly\n"),
        ({"type": "user"}, b"  type: project\n", b"  type: user\n"),
        ({"title": "New"}, b'title:   "Weekly notes"   # shown', b"title:   New   # shown"),
        ({"draft": "yes: really"}, b"draft: NO\n", b"draft: 'yes: really'\n"),
        ({"weights": ["a", "b"]}, b"weights: {b: 1.0, a: 0x1F}\n", b"weights: [a, b]\n"),
        ({"rating": None}, b"rating: 0123\n", b""),
        ({"tags": None}, b"tags:\n  - planning   # the team's word\n  - 'cost: low'\n", b""),
        ({"tags": ["planning"]}, b"  - 'cost: low'\n", b""),
        (
            {"tags": ["new", "cost: low", "planning"]},
            b"  - planning   # the team's word\n  - 'cost: low'\n",
            b"  - new\n  - 'cost: low'\n  - planning   # the team's word\n",
        ),
        ({"tags": []}, b"tags:\n  - planning   # the team's word\n  - 'cost: low'\n", b"tags: []\n"),
        ({"description": "A: b"}, b"# by whom\n---\n", b"# by whom\ndescription: 'A: b'\n---\n"),
        ({"supersedes": "old"}, b"# by whom\n---\n", b"# by whom\nsupersedes: [old]\n---\n"),
        ({"type": None}, b"  type: project\n", b""),
        (
            {"nested": {"a": ["x", {"b": "c"}]}},
            b"# by whom\n---\n",
            b"# by whom\nnested:\n  a:\n    - x\n    - b: c\n---\n",
        ),
    ],
)
def test_an_edit_touches_only_its_key(changes: dict[str, object], before: bytes, after: bytes) -> None:
    assert FOREIGN.count(before) == 1
    assert edit_bytes(FOREIGN, changes) == FOREIGN.replace(before, after)


@pytest.mark.parametrize(
    ("block", "changes", "edited"),
    [
        ("updated: 2025-01-01", {"modified": "2025-02-02"}, "updated: 2025-02-02"),
        ("tags: a, b", {"tags": ("a", "b", "c")}, "tags: [a, b, c]"),
        ("tags: #a", {"tags": ("b",)}, "tags: [b]"),
        ("tags: #a", {"tags": ("a",)}, "tags: #a"),
        ("tags: [a, '#b'] # mine", {"tags": ("b", "a")}, "tags: [b, a] # mine"),
        ("name:", {"name": "x"}, "name: x"),
        ("name: # later\nx: y", {"name": "n"}, "name: n # later\nx: y"),
        ("name: |\n  a\n  b\n# c\nx: y", {"name": "n"}, "name: n\n# c\nx: y"),
        ('name: "a" # c', {"name": "it's #1: yes"}, "name: 'it''s #1: yes' # c"),
        ("name: a\nname: b", {"name": "c"}, "name: c\nname: b"),
        ("name: a\nx: y\nname: b", {"name": None}, "x: y"),
        ("metadata: {type: user, x: y}", {"type": "project"}, "metadata: {type: project, x: y}"),
        ("metadata:\n  type: user", {"type": None}, "metadata:"),
        ("  name: a\n  x: y", {"description": "d"}, "  name: a\n  x: y\n  description: d"),
        ("name: a\nk: |+\n  text\n", {"type": "t"}, "name: a\nk: |+\n  text\n\ntype: t"),
        ("name: a\n# last words", {"type": "t"}, "name: a\n# last words\ntype: t"),
        ("tags:\n- a\n# about b\n- b", {"tags": ["b"]}, "tags:\n# about b\n- b"),
        ("supersedes: [[X]]", {"supersedes": ["X"]}, "supersedes: [[X]]"),
        ("supersedes: [[X]]", {"supersedes": ["X", "Y"]}, "supersedes: [X, Y]"),
        (
            "description: >-\n  a long\n  text",
            {"description": "a long text"},
            "description: >-\n  a long\n  text",
        ),
        ("x: 1", {"x": 1, "y": 2.5, "z": True}, "x: 1\ny: 2.5\nz: True"),
        ("x: 1", {"description": "two\nlines\0"}, 'x: 1\ndescription: "two\\nlines\\0"'),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_edits(block: str, changes: dict[str, object], edited: str, newline: str, bom: bytes) -> None:
    def file(text: str) -> bytes:
        return bom + f"---\n{text}\n---\nBody\n".replace("\n", newline).encode()

    assert edit_bytes(file(block), changes) == file(edited)


@pytest.mark.parametrize(
    ("data", "edited"),
    [
        (b"", b"---\nname: n\ntype: t\n---\n"),
        (b"Text", b"---\nname: n\ntype: t\n---\n\nText"),
        (b"\r\nText\r\n", b"---\r\nname: n\r\ntype: t\r\n---\r\n\r\nText\r\n"),
        (b"\xef\xbb\xbf# H\n", b"\xef\xbb\xbf---\nname: n\ntype: t\n---\n\n# H\n"),
        (b"---\n---\nText", b"---\nname: n\ntype: t\n---\nText"),
        (b"---\n\nText\n\n---\n", b"---\nname: n\ntype: t\n---\n\n---\n\nText\n\n---\n"),
    ],
)
def test_a_file_without_frontmatter_gets_one(data: bytes, edited: bytes) -> None:
    assert edit_bytes(data, {"type": "t", "name": "n"}) == edited
    assert edit_bytes(data, {"name": None}) == data


@pytest.mark.parametrize("path", sorted(VAULT.glob("*.md")), ids=lambda path: path.name)
def test_three_save_round_trips_change_no_byte(path: Path) -> None:
    original = path.read_bytes()
    if path.name == "binary.md":
        with pytest.raises(Exception, match="not readable as text"):
            edit_bytes(original, {})
        return
    data = original
    for _ in range(3):
        memory = parse(decode(data).text)
        fields = {key: getattr(memory, key) for key in FIELDS if getattr(memory, key)}
        data = edit_bytes(data, fields, body=memory.body)
    assert hashlib.sha256(data).hexdigest() == hashlib.sha256(original).hexdigest()


def test_a_mixed_newline_body_keeps_its_bytes() -> None:
    data = (VAULT / "mixed_newlines.md").read_bytes()
    edited = edit_bytes(data, {"name": "new", "type": "user"})
    assert edited == b"---\r\nname: new\nother: kept\r" + b"type: user\r\n---\nunix\nwindows\r\nmac\rend"


@pytest.mark.parametrize(
    ("data", "body", "edited"),
    [
        (b"---\nname: n\n---\n\nOld\n", "New\ntext", b"---\nname: n\n---\n\nNew\ntext"),
        (b"---\r\nname: n\r\n---\r\nOld\r\n", "New\ntext\n", b"---\r\nname: n\r\n---\r\nNew\r\ntext\r\n"),
        (b"---\nname: n\n---", "New", b"---\nname: n\n---\nNew"),
        (b"\xef\xbb\xbfOld", "New", b"\xef\xbb\xbfNew"),
        (b"Old", "", b""),
    ],
)
def test_the_body_is_replaced(data: bytes, body: str, edited: bytes) -> None:
    assert edit_bytes(data, {}, body=body) == edited


@pytest.mark.parametrize(
    ("block", "line"),
    [("name: n\ntitle: Foo: bar", 3), ("name: 'x\ntype: t", 2), ("a:\tb", 2)],
)
def test_a_broken_frontmatter_is_not_edited(block: str, line: int) -> None:
    data = f"---\n{block}\n---\nBody\n".encode()
    with pytest.raises(FrontmatterError) as caught:
        edit_bytes(data, {"name": "new"})
    assert caught.value.line == line
    assert f"line {line}" in caught.value.message
    assert caught.value.hint == "Put the value on that line in double quotes, or close what is open, then save again."
    assert edit_bytes(data, {}) == data


def test_an_unclosed_frontmatter_is_not_edited() -> None:
    with pytest.raises(FrontmatterError) as caught:
        edit_bytes((VAULT / "unclosed.md").read_bytes(), {"name": "new"})
    assert caught.value.line == 1
    assert caught.value.hint == "Add a line --- after the last key, then save again."


@pytest.mark.parametrize(
    ("block", "changes"),
    [
        ("name: &n x\nother: *n", {"name": "y"}),
        ("{name: x}", {"type": "t"}),
        ("metadata: {type: t, x: y}", {"type": None}),
    ],
)
def test_an_edit_that_would_touch_other_values_is_refused(block: str, changes: dict[str, object]) -> None:
    with pytest.raises(FrontmatterError):
        edit_bytes(f"---\n{block}\n---\nBody\n".encode(), changes)


# --- writing ------------------------------------------------------------------------------------------------


def test_render() -> None:
    fields = {
        "owner": "the team",
        "type": "feedback",
        "tags": ["style", "a, b"],
        "name": "prefers-tables",
        "created": "2025-10-24",
        "description": "Use tables: always",
        "supersedes": "old",
        "aliases": [],
        "valid_to": None,
    }
    assert render(fields, "\n# Tables\n\nFor numbers.") == (
        "---\n"
        "name: prefers-tables\n"
        "description: 'Use tables: always'\n"
        "type: feedback\n"
        "tags: [style, a, b]\n"
        "supersedes: [old]\n"
        "created: 2025-10-24\n"
        "owner: the team\n"
        "---\n"
        "\n"
        "# Tables\n"
        "\n"
        "For numbers.\n"
    )


def test_render_without_fields() -> None:
    assert render({}, "Text") == "Text\n"
    assert parse(render({}, "---\nname: x\n---\n")).body == "---\nname: x\n---\n"


TEXT = st.text(st.characters(exclude_characters="\r") | st.sampled_from(":#-'\"[]{},&*!|>%@`\\ \n\t\0~")).map(str.strip)
NAME = TEXT.filter(lambda text: text and not text.startswith("[[") and "\n" not in text)
TAG = NAME.filter(lambda text: "," not in text and not text.startswith("#"))
UNKNOWN = st.recursive(
    TEXT,
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(NAME, inner, min_size=1, max_size=3),
    max_leaves=6,
)


def unique(texts: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


@settings(max_examples=80, deadline=None)
@given(
    st.fixed_dictionaries(
        {
            "name": NAME,
            "description": TEXT,
            "tags": st.lists(TAG).map(unique),
            "aliases": st.lists(NAME).map(unique),
        },
        optional={"type": NAME, "created": NAME, "supersedes": st.lists(NAME).map(unique)},
    ),
    st.dictionaries(
        st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r"), min_size=1).map(
            lambda key: "x" + key
        ),
        UNKNOWN,
        max_size=2,
    ),
    TEXT,
)
def test_what_render_writes_parse_reads(fields: dict[str, Any], others: dict[str, Any], body: str) -> None:
    memory = parse(render({**others, **fields}, body))
    assert {key: getattr(memory, key) for key in fields} == fields
    assert {key: memory.frontmatter[key] for key in others if others[key]} == {k: v for k, v in others.items() if v}
    assert memory.body == (f"{body}\n" if body else "")
    assert not [problem for problem in memory.problems if "calendar" not in problem.reason]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["a\n", "b\r\n", "c\r", "\r\n", "---\n", "name: z\n", "é"]), max_size=8).map("".join),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([("utf-8", b""), ("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe")]),
    st.dictionaries(
        st.sampled_from(["name", "description", "type", "created", "zeta", "kept"]),
        st.none() | TEXT,
        min_size=1,
        max_size=3,
    ),
    st.lists(TAG, max_size=4).map(unique),
)
def test_an_edit_keeps_body_bytes_and_all_other_keys(
    body: str, newline: str, kind: tuple[str, bytes], changes: dict[str, str | None], tags: tuple[str, ...]
) -> None:
    block = "---\nname: n # c\nkept: {a: [1, x]}\n# c\ntags:\n  - one # c\n  - 'two'\n"
    block += "metadata:\n  type: t\n  z: 0\n---\n"
    encoding, bom = kind
    head, tail = block.replace("\n", newline), body.encode(encoding)
    data = bom + head.encode(encoding) + tail
    if head.endswith("\r") and body.startswith("\n"):
        return  # the two bytes together are one newline
    edited = edit_bytes(data, {**changes, "tags": tags})
    assert edited.startswith(bom)
    assert edited.endswith(tail)
    before, after = parse(decode_exact(data).text), parse(decode_exact(edited).text)
    assert after.body == before.body
    assert after.tags == tags
    for key, value in changes.items():
        if key in FIELDS:
            assert (getattr(after, key) or "") == (value or "")
        else:
            assert after.frontmatter.get(key) == value
    untouched = {"kept", "metadata"} - set(changes) - ({"metadata"} if "type" in changes else set())
    assert all(after.frontmatter[key] == before.frontmatter[key] for key in untouched)
    assert edit_bytes(edited, {**changes, "tags": tags}) == edited


def test_comments_above_the_frontmatter_are_kept_and_counted() -> None:
    text = "<!-- for agents:\n---\nalways greet -->\n\n<!-- more -->\n"
    text += "---\nname: Greeting\nwhen: 2024-13-45\n---\n\nSay hello.\n"
    found = parse(text)
    assert (found.name, found.body, found.body_line) == ("Greeting", "Say hello.\n", 11)
    assert [problem.line for problem in found.problems] == [8]
    edited = edit_bytes(text.encode(), {"description": "How to greet"})
    assert edited == text.replace("---\n\nSay", "description: How to greet\n---\n\nSay").encode()


def test_a_comment_above_plain_text_is_part_of_the_body() -> None:
    assert parse("<!-- note -->\nText\n").body == "<!-- note -->\nText\n"
