"""Links, headings and sections as a markdown parser sees them, and which memory a link means."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memdb.domain.links import LinkEntry, LinkIndex, Resolution, entry_keys, keys
from memdb.domain.markdown import (
    Block,
    Heading,
    headings,
    parse,
    parse_links,
    sections,
    split_target,
    wiki_links,
)

NOTES = Path(__file__).parent / "vaults" / "links" / "notes"


def targets(text: str) -> list[str]:
    return [link.target for link in wiki_links(text)]


def test_every_link_of_a_note_with_its_line() -> None:
    text = (NOTES / "prose.md").read_text(encoding="utf-8")
    assert [(link.target, link.line) for link in wiki_links(text)] == [
        ("deploy-bot", 1),
        ("runbook", 3),
        ("feedback/prefers-tables", 3),
        ("quoted", 4),
        ("strong", 4),
        ("slanted", 4),
        ("first item", 6),
        ("second item", 7),
        ("third item", 8),
        ("quotes", 10),
        ("quotes in quotes", 11),
        ("team", 15),
        ("站点", 16),
        ("笔记", 16),
        ("in html", 20),
        ("diagram.png", 23),
    ]
    assert [(link.path, link.anchor, link.label, link.line) for link in parse_links(text).files] == [
        ("../project/launch plan.md", "dates", "the plan", 18),
        ("../reference/list.md", None, "the list", 18),
    ]


def test_code_comments_escapes_and_shell_hold_no_link() -> None:
    text = (NOTES / "code.md").read_text(encoding="utf-8")
    assert wiki_links(text) == []


@pytest.mark.parametrize(
    ("text", "target", "heading", "block", "label", "embed"),
    [
        ("[[Note]]", "Note", None, None, None, False),
        ("[[Note#H|alias]]", "Note", "H", None, "alias", False),
        ("[[Note#H#Sub]]", "Note", "H#Sub", None, None, False),
        ("[[#H]]", "", "H", None, None, False),
        ("[[#^b1]]", "", None, "b1", None, False),
        ("[[n^block]]", "n", None, "block", None, False),
        ("[[n#^block]]", "n", None, "block", None, False),
        ("![[img.png|200]]", "img.png", None, None, "200", True),
        ("![[img.png|alt|200]]", "img.png", None, None, "alt|200", True),
        ("[[type/name]]", "type/name", None, None, None, False),
        ("[[a%20b]]", "a%20b", None, None, None, False),
        ('[[say "hi"]]', 'say "hi"', None, None, None, False),
        ("[[it's $5]]", "it's $5", None, None, None, False),
        ("[[ Note ]]", "Note", None, None, None, False),
        ("[[ Note - draft ]]", "Note - draft", None, None, None, False),
        ("[[-f x]]", "-f x", None, None, None, False),
        ("[[Note |  label ]]", "Note", None, None, "label", False),
        ("[[A\\|b]]", "A", None, None, "b", False),
        ("[[a|see [1]]]", "a", None, None, "see [1]", False),
        ("[[Note [draft]]]", "Note [draft]", None, None, None, False),
        ("[[a|the `x` flag]]", "a", None, None, "the `x` flag", False),
        ("[[C#]]", "C#", None, None, None, False),
        ("[[C++]]", "C++", None, None, None, False),
        ("[[悬空]]", "悬空", None, None, None, False),
        ("[[a^b c]]", "a^b c", None, None, None, False),
    ],
)  # fmt: skip
def test_parts_of_a_link(
    text: str, *, target: str, heading: str | None, block: str | None, label: str | None, embed: bool
) -> None:
    (link,) = wiki_links(f"see {text} there")
    assert (link.raw, link.target, link.heading, link.block, link.label, link.embed, link.line) == (
        text, target, heading, block, label, embed, 1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[]] [[ ]] [[|label]] [[#]] [[ # ]]", []),
        ("[[a]]]", ["a"]),
        ("[[[a]]]", ["a"]),
        ("[[a\nb]]", []),
        ("[[a\r\nb]] [[c]]", ["c"]),
        ("[[a]b]] [[c]]", ["c"]),
        ("[[a [[b]]", ["b"]),
        ("[[a]][[b]]", ["a", "b"]),
        ("\\[[a]] \\\\[[b]] \\![[c]]", ["b", "c"]),
        ("[\\[a]] [[a\\]] [[a]\\]", []),
        ("List[[A]] x_[[B]] 1[[C]] Список[[D]]", []),
        ("_[[A]]_ __[[B]]__ ([[C]]) 见[[D]] ,[[E]]", ["A", "B", "C", "D", "E"]),
        ("if [[ -f x ]]; then", []),
        ("[[ ! -e x ]] [[ a = b ]] [[ a && b ]] [[ a =~ ^b ]] [[ x -eq y ]]", []),
        ("`a [[b` c]] [[d]]", ["d"]),
        ("[[a `b]] c`", []),
        ("[[1]](https://example.org)", []),
        ("[[a]](not a destination) [[b]](", ["a", "b"]),
        ("[see [[a]] now](https://example.org)", ["a"]),
        ("![alt [[a]]](x.png)", ["a"]),
        ("[note]: [[other]]", ["other"]),
        ("Title [[a]]\n===", ["a"]),
        ("<b>[[a]]</b> <code>[[b]] [[c]]</code> [[d]] <code>[[e]]", ["a", "d", "e"]),
        ("<pre>[[a]]</pre> [[b]]", ["b"]),
        ("<script>\nx = [[a]]\n</script>", []),
        ("<!-- open\n\n[[a]]", []),
        ("<!-- a ---> [[b]]", ["b"]),
        ("a <!-- b", []),
        ("a <!-- b ---> [[c]] <!--> [[d]]", ["c", "d"]),
        ("- a\n\n    [[in the item]]", ["in the item"]),
        ("## Outline\n\t- [[a]]\n\t\t- [[b]] `[[c]]`\n\t- [[d]]", ["a", "b", "d"]),
        ("text\n\n    [[code]]\n    - [[code too]]", []),
        ("[label]([[a]]) [[b]]([[c]])", ["a", "b", "c"]),
        ("para\n    [[lazy, not code]]", ["lazy, not code"]),
        ("x \x00 [[a\x00b]]", ["a\x00b"]),
    ],
)
def test_what_is_a_link(text: str, expected: list[str]) -> None:
    assert targets(text) == expected


def test_an_escaped_pipe_in_a_table_stays_in_raw() -> None:
    (link,) = wiki_links("|a|b|\n|-|-|\n|x|[[A\\|b]]|", first_line=10)
    assert (link.raw, link.target, link.label, link.written, link.line) == ("[[A\\|b]]", "A", "b", "A", 12)


def test_lines_count_from_the_first_line_in_every_newline_style() -> None:
    for newline in ("\n", "\r\n", "\r"):
        text = newline.join(["a", "", "b [[x]]", "[[y]]", "", "# [[z]]"])
        assert [link.line for link in wiki_links(text, first_line=5)] == [7, 8, 10]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[t](a.md)", [("a.md", None, "t")]),
        ("[t](./a%20b.md?x=1#h%20i)", [("./a b.md", "h i", "t")]),
        ("[t](<a b.md>) [u](a.MD 'title')", [("a b.md", None, "t"), ("a.MD", None, "u")]),
        ("[t](x%2525.md)", [("x%25.md", None, "t")]),
        ("[t][r] [r] [r][]\n\n[r]: r.md", [("r.md", None, "t"), ("r.md", None, "r"), ("r.md", None, "r")]),
        ("[![i](a.png)](doc.md)", [("doc.md", None, "i")]),
        ("[a [n](in.md)](out.md)", [("in.md", None, "n")]),
        ("[see [[x]] now](w.md)", [("w.md", None, "see x now")]),
        ("[[1]](one.md)", [("one.md", None, "[1]")]),
        ("![t](a.md) `[t](b.md)` \\[t](c.md) [t](d.txt) [t](#h) [t]() [t]", []),
        ("[t](/abs.md) [t](//host/a.md) [t](file:a.md) [t](C:\\a.md) [t](https://example.org/a.md)", []),
    ],
)
def test_links_to_markdown_files(text: str, expected: list[tuple[str, str | None, str]]) -> None:
    assert [(link.path, link.anchor, link.label) for link in parse_links(text).files] == expected


def test_headings_are_plain_and_stand_outside_quotes_and_lists() -> None:
    text = (
        "# The **bold** [[n|label]] `code` &amp; [t](u.md) \\*\n> # no\n- # no\n\nTwo\n---\n```\n# no\n```\n### x_y ###"
    )
    assert headings(text, first_line=3) == [
        Heading(1, "The bold label code & t *", 3),
        Heading(2, "Two", 7),
        Heading(3, "x_y", 12),
    ]


def test_sections_carry_their_heading_path_and_lines() -> None:
    text = "intro\r\n\r\n# A\n\none\n\n## B\ntwo\n\n\n# C\n#### D\n- x\n- y\n\n```\n# z\n\nw\n```\n"
    assert [(s.path, s.text, s.body, s.start_line, s.end_line) for s in sections(text)] == [
        ((), "intro", "intro", 1, 1),
        (("A",), "# A\n\none", "one", 3, 5),
        (("A", "B"), "## B\ntwo", "two", 7, 8),
        (("C",), "# C", "", 11, 11),
        (("C", "D"), "#### D\n- x\n- y\n\n```\n# z\n\nw\n```", "- x\n- y\n\n```\n# z\n\nw\n```", 12, 20),
    ]
    assert sections(text)[-1].blocks == (
        Block("heading", 12, 12),
        Block("list_item", 13, 13),
        Block("list_item", 14, 14),
        Block("fence", 16, 20),
    )
    assert sections("") == sections("\n \n") == []


def test_one_parse_serves_links_headings_and_sections() -> None:
    parsed = parse("# A [[b]]")
    assert [link.target for link in parsed.links().wiki] == ["b"]
    assert parsed.headings() == [Heading(1, "A b", 1)]
    assert parsed.sections()[0].path == ("A b",)


@pytest.mark.parametrize(
    "text",
    [
        "[[" * 100_000,
        "> " * 10_000 + "[[x]]",
        "- " * 10_000 + "[[x]]",
        "![" * 10_000,
        "[](" * 10_000,
        "<!--[[" * 10_000,
        "[a](b 'x" * 10_000,
        "`[[" * 10_000,
        "<code>[[a]]</code>" * 10_000,
        "[r]: x\n\n" + "[" * 10_000 + "r" + "]" * 10_000,
        "x" * 1_000_000 + " [[x]]",
        "# " + "[" * 10_000,
    ],
    ids=lambda text: text[:8],
)
def test_pathological_texts_are_read_in_linear_time(text: str) -> None:
    started = time.process_time()
    parse_links(text)
    sections(text)
    # Several times what it takes on a slow machine.
    assert time.process_time() - started < 12


def test_a_link_behind_a_megabyte_and_in_deep_lists_is_found() -> None:
    assert targets("word " * 200_000 + "[[last]]") == ["last"]
    deep = "\n".join("  " * depth + f"- [[level {depth}]]" for depth in range(40))
    assert len(targets(deep)) == 40


@given(st.text(alphabet=st.sampled_from("[]!|#^`\\<>-_*()~ \n\ra.mdé中&:/\"'\x00\u2028")))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read(text: str) -> None:
    links = parse_links(text)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for link in links.wiki:
        assert link.target or link.heading or link.block
        assert link.raw in lines[link.line - 1]
    for section in sections(text):
        assert "\n".join(lines[section.start_line - 1 : section.end_line]) == section.text


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_wiki_links_never_raises(text: str) -> None:
    wiki_links(text)


NAMES = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Z"], exclude_characters="[]|#^`\\<"),
    min_size=1,
    max_size=30,
)
OUTSIDE = [
    "{}", "a {} b", "**{}**", "> - {}", "# {}", "| a |\n|---|\n| {} |", "[x {} y](z)", "<p>\n{}\n</p>",
]  # fmt: skip
INSIDE = [
    "``{}``", "```\n{}\n```", "~~~~ x\n{}\n~~~\n{}", "    {}", "<!-- {} -->", "a <!-- {} --> b", "\\{}",
    "<pre>\n{}\n</pre>",
]  # fmt: skip


@given(NAMES, st.sampled_from(OUTSIDE))
@settings(max_examples=200, deadline=None)
def test_generated_names_are_found_outside_code(name: str, frame: str) -> None:
    assert targets(frame.format(f"[[{name}]]")) == [name]


@given(NAMES.filter(lambda name: "-->" not in name), st.sampled_from(INSIDE))
@settings(max_examples=200, deadline=None)
def test_generated_names_are_not_found_inside_code(name: str, frame: str) -> None:
    assert targets(frame.format(f"[[{name}]]", f"[[{name}]]")) == []


def test_importing_the_module_does_not_load_the_parser() -> None:
    code = "import sys, memdb.domain.links; sys.exit('markdown_it' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def entry(id_: str, name: str | None = None, *, aliases: tuple[str, ...] = (), title: str | None = None) -> LinkEntry:
    type_, _, stem = id_.partition("/")
    return LinkEntry(id_, type_, name or stem, stem, aliases, title)


ENTRIES = [
    entry("user/style"),
    entry("project/style"),
    entry("alpha/tone"),
    entry("beta/tone"),
    entry("reference/my-note"),
    entry("reference/My Note"),
    entry("feedback/prefers-tables", aliases=("tables", "grids")),
    entry("project/deploy-bot", "Deploy Bot", aliases=("grids",), title="How the bot deploys"),
    entry("reference/café"),
    entry("reference/C#"),
    entry("reference/C# tips"),
    entry("reference/C"),
    entry("reference/100%25"),
    entry("project/one", "Twin"),
    entry("project/two", "Twin"),
    entry("reference/tables"),
    entry("reference/area/topic"),
]


@pytest.mark.parametrize(
    ("target", "id_", "how"),
    [
        ("project/style", "project/style", "exact"),
        ("style", "user/style", "type order"),
        ("tone", "alpha/tone", "type order"),
        ("tables", "reference/tables", "exact"),
        ("feedback/prefers-tables", "feedback/prefers-tables", "exact"),
        ("prefers-tables.md", "feedback/prefers-tables", "exact"),
        ("../feedback/prefers-tables.md", "feedback/prefers-tables", "exact"),
        ("./style.md", "user/style", "type order"),
        ("prefers_tables", "feedback/prefers-tables", "folded"),
        ("Prefers Tables", "feedback/prefers-tables", "folded"),
        ("Feedback/Prefers Tables", "feedback/prefers-tables", "folded"),
        ("feedback___prefers-tables", "feedback/prefers-tables", "folded"),
        ("Deploy Bot", "project/deploy-bot", "exact"),
        ("deploy-bot", "project/deploy-bot", "exact"),
        ("project/Deploy Bot", "project/deploy-bot", "exact"),
        ("how the bot deploys", "project/deploy-bot", "folded"),
        ("my-note", "reference/my-note", "exact"),
        ("My Note", "reference/My Note", "exact"),
        ("My%20Note", "reference/My Note", "exact"),
        ("cafe\u0301", "reference/café", "exact"),
        ("CAFÉ", "reference/café", "folded"),
        ("C#", "reference/C#", "exact"),
        ("C# tips", "reference/C# tips", "exact"),
        ("C#Intro", "reference/C", "exact"),
        ("100%25", "reference/100%25", "exact"),
        ("one", "project/one", "exact"),
        ("area/topic", "reference/area/topic", "exact"),
    ],
)  # fmt: skip
def test_what_a_target_means(target: str, id_: str | None, how: str | None) -> None:
    for seed in range(3):
        shuffled = random.Random(seed).sample(ENTRIES, len(ENTRIES))
        found = LinkIndex(shuffled).resolve(target)
        assert (found.id, found.how) == (id_, how)
        assert found.status == ("resolved" if id_ else "unresolved")


@pytest.mark.parametrize(
    ("target", "candidates"),
    [
        ("my_note", ("reference/My Note", "reference/my-note")),
        ("MY NOTE", ("reference/My Note", "reference/my-note")),
        ("grids", ("feedback/prefers-tables", "project/deploy-bot")),
        ("Twin", ("project/one", "project/two")),
        ("project/Twin", ("project/one", "project/two")),
        ("Style", ("project/style", "user/style")),
    ],
)
def test_ambiguous_targets_list_their_candidates(target: str, candidates: tuple[str, ...]) -> None:
    for entries in (ENTRIES, ENTRIES[::-1]):
        assert LinkIndex(entries).resolve(target) == Resolution("ambiguous", candidates=candidates)


def test_two_files_of_one_id_are_ambiguous() -> None:
    twins = [LinkEntry("user/a", "user", "a", "first"), LinkEntry("user/a", "user", "a", "second")]
    assert LinkIndex(twins).resolve("a") == Resolution("ambiguous", candidates=("user/a",))


@pytest.mark.parametrize("target", ["", " ", "nothing", "../", ".md", "%", "#h", "a/b/c"])
def test_targets_that_mean_nothing(target: str) -> None:
    assert LinkIndex(ENTRIES).resolve(target) == Resolution("unresolved")


SPELLINGS = ["a-b", "a b", "A_B", "c", "C", "user/c", "a-b.md", "c#d", "project/a b", "c%20", "é", "e\u0301"]


@st.composite
def entries_(draw: st.DrawFn) -> LinkEntry:
    type_, name, stem = (draw(st.sampled_from(options)) for options in (["user", "project"], SPELLINGS, SPELLINGS))
    aliases = tuple(draw(st.lists(st.sampled_from(SPELLINGS), max_size=2)))
    return LinkEntry(f"{type_}/{stem}", type_, name, stem, aliases, draw(st.sampled_from([None, *SPELLINGS])))


@given(st.lists(entries_(), max_size=6), entries_(), st.sampled_from(SPELLINGS))
@settings(max_examples=150, deadline=None)
def test_only_links_that_share_a_key_can_change(entries: list[LinkEntry], newcomer: LinkEntry, target: str) -> None:
    before, after = LinkIndex(entries).resolve(target), LinkIndex([*entries, newcomer]).resolve(target)
    if not set(keys(target)) & set(entry_keys(newcomer)):
        assert before == after
    near = [one for one in entries if set(keys(target)) & set(entry_keys(one))]
    assert LinkIndex(near).resolve(target) == before
    assert LinkIndex(entries[::-1]).resolve(target) == before


def test_lookups_do_not_slow_with_the_size_of_the_index() -> None:
    index = LinkIndex(entry(f"reference/note-{number}") for number in range(10_000))
    started = time.process_time()
    for number in range(1000):
        assert index.resolve(f"note-{number}").id == f"reference/note-{number}"
    assert time.process_time() - started < 1
    assert index.resolve("Note 9999").id == "reference/note-9999"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("a#b", ("a", "b", None)),
        ("a#", ("a#", None, None)),
        ("a#^b", ("a", None, "b")),
        ("#", ("#", None, None)),
        ("", ("", None, None)),
    ],
)
def test_split_target(written: str, expected: tuple[str, str | None, str | None]) -> None:
    assert split_target(written) == expected
