"""Cutting long texts into passages that a model can read."""

from __future__ import annotations

import random
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memdb.base.windows import MAX_CHARACTERS_PER_TOKEN, windows

_TOKEN = re.compile(r"[぀-鿿]|[\w]+|[^\w\s]")


def word_offsets(text: str) -> list[tuple[int, int]]:
    """A tokenizer of our own: words, punctuation, single CJK characters."""
    return [match.span() for match in _TOKEN.finditer(text)]


def passages(text: str, max_tokens: int) -> list[str]:
    return [text[start:end] for start, end in windows(text, max_tokens, word_offsets)]


def paragraph(source: random.Random, sentences: int = 3) -> str:
    words = ["river", "table", "flood", "index", "note", "weir", "sensor", "budget", "plan", "query"]
    return " ".join(
        " ".join(source.choice(words) for _ in range(source.randint(4, 12))).capitalize() + "."
        for _ in range(sentences)
    )


@pytest.mark.parametrize(
    ("text", "max_tokens", "expected"),
    [
        ("", 10, []),
        (" \n\t\r\n ", 10, []),
        ("  one two  \n", 10, ["one two"]),
        ("# Title\n\nshort body\n\n## Next\n\nmore", 20, ["# Title\n\nshort body\n\n## Next\n\nmore"]),
        (
            "# One\n\nalpha beta gamma\n\n## Two\n\ndelta epsilon zeta",
            7,
            ["# One\n\nalpha beta gamma", "## Two\n\ndelta epsilon zeta"],
        ),
        # A heading without a body stays with the section below it.
        (
            "# Book\n\n## Two\n\ndelta epsilon\n\n## Three\n\neta theta",
            8,
            ["# Book\n\n## Two\n\ndelta epsilon", "## Three\n\neta theta"],
        ),
        # A comment in fenced code is no heading, whatever the fence.
        ("a b c d\n```sh\n# no heading\n```\n# H\nx", 14, ["a b c d\n```sh\n# no heading\n```", "# H\nx"]),
        ("one two three four\n\nfive six seven", 4, ["one two three four", "five six seven"]),
        ("one two three.\nfour five six.", 4, ["one two three.", "four five six."]),
        ("One two three. Four five six! Seven", 4, ["One two three.", "Four five six!", "Seven"]),
        ("数据库迁移。重跑流程。", 6, ["数据库迁移。", "重跑流程。"]),
        ("a" * 20, 1, ["a" * 8, "a" * 8, "a" * 4]),
        ("x\ud800y\0z", 40, ["x\ud800y\0z"]),
    ],
)
def test_cuts_at_natural_places(text: str, max_tokens: int, expected: list[str]) -> None:
    assert passages(text, max_tokens) == expected


@pytest.mark.parametrize("heading", ["# one", "###### six", "   ## three spaces", "##\ttab", "#"], ids=repr)
def test_every_atx_heading_begins_a_passage(heading: str) -> None:
    text = f"one two three four five six seven eight\n{heading}\nnine ten eleven twelve thirteen fourteen"
    assert passages(text, 14)[-1] == f"{heading.strip()}\nnine ten eleven twelve thirteen fourteen"


@pytest.mark.parametrize(
    "line",
    ["#tag", "####### seven", "    # indented code", "text # not", "~~~\n# x\n~~~", "````\n```\n# x\n````"],
)
def test_what_is_no_heading_does_not_cut(line: str) -> None:
    text = f"{line}\nshort words\n\n" + "long " * 40
    assert passages(text, 30)[0].startswith(line.strip() + "\nshort words")


def test_inline_backticks_open_no_fence() -> None:
    text = "```inline``` code\n\n# Heading\n\n" + "word " * 12
    assert passages(text, 14)[0] == "```inline``` code"


def test_line_endings_cut_alike() -> None:
    text = "# One\n\nalpha beta gamma.\n\n# Two\n\ndelta epsilon zeta.\n"
    unix = passages(text, 6)
    assert len(unix) == 2
    for ending in ("\r\n", "\r"):
        assert [part.replace(ending, "\n") for part in passages(text.replace("\n", ending), 6)] == unix


def test_max_tokens_must_be_positive() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        windows("a", 0, word_offsets)


def check(text: str, max_tokens: int) -> None:
    spans = windows(text, max_tokens, word_offsets)
    at = 0
    for start, end in spans:
        assert at <= start < end <= len(text)
        assert not text[at:start].strip(), "text between two passages"
        assert end - start <= max_tokens * MAX_CHARACTERS_PER_TOKEN
        assert len(word_offsets(text[start:end])) <= max_tokens
        assert text[start:end] == text[start:end].strip()
        at = end
    assert not text[at:].strip(), "text after the last passage"
    assert windows(text, max_tokens, word_offsets) == spans


_PIECES = st.sampled_from(
    [
        "word",
        " ",
        "\n",
        "\n\n",
        "\r\n",
        "# ",
        "## H\n",
        "```\n",
        "~~~",
        ". ",
        "! ",
        "。",
        "重跑流程",
        "é",
        "👩‍👧",
        "-",
        "\t",
    ]
)


@given(st.one_of(st.text(max_size=300), st.lists(_PIECES, max_size=120).map("".join)), st.integers(1, 20))
@settings(max_examples=150, deadline=None)
def test_passages_cover_fit_and_repeat(text: str, max_tokens: int) -> None:
    check(text, max_tokens)


@pytest.mark.parametrize(
    "text",
    [
        "QUJD" * 50_000,
        "." * 50_000,
        "`" * 50_000,
        '{"a":[1,2,"x"],' * 3_500,
        "word " * 40_000 + "end",
        "a" + " " * 1_000_000 + "b",
        "# h\n\nbody\n\n" * 10_000 + "end",
        "#" * 50_000,
        "数据库迁移到新服务器" * 5_000,
        ("Sentence of a long paragraph. " * 3000).strip(),
    ],
    ids=lambda text: repr(text[:12]),
)
def test_text_of_any_shape_is_cut_in_linear_time(text: str) -> None:
    begin = time.process_time()
    spans = windows(text, 254, word_offsets)
    whole = time.process_time() - begin
    assert spans[-1][1] == len(text)
    assert max(end - start for start, end in spans) <= 254 * MAX_CHARACTERS_PER_TOKEN
    begin = time.process_time()
    windows(text[: len(text) // 4], 254, word_offsets)
    quarter = time.process_time() - begin
    # In processor time, which other work hardly changes. Linear is 4, quadratic 16.
    assert whole < 9 * quarter + 1.0


def test_the_last_sentence_of_a_megabyte_is_in_the_last_passage() -> None:
    text = "Nothing of note happened today. " * 31_000 + "The spare key hangs behind the clock."
    assert passages(text, 254)[-1].endswith("The spare key hangs behind the clock.")


def test_cjk_text_is_not_truncated() -> None:
    text = "重跑流程后悬空引用清零" * 100
    assert "".join(passages(text, 50)) == text


def test_an_edit_changes_the_passages_near_it() -> None:
    source = random.Random(7)
    paragraphs = [paragraph(source) for _ in range(300)]
    before = passages("\n\n".join(paragraphs), 80)
    assert len(before) > 80
    changed = []
    for number in range(5, 300, 10):
        edited = [*paragraphs[:number], paragraph(source, 5), *paragraphs[number + 1 :]]
        changed.append(len(set(passages("\n\n".join(edited), 80)) - set(before)))
    assert sum(changed) / len(changed) <= 3.0
    assert max(changed) <= 15


def test_an_edit_in_one_section_leaves_the_other_sections_alone() -> None:
    source = random.Random(8)
    sections = [f"## Part {number}\n\n" + "\n\n".join(paragraph(source) for _ in range(8)) for number in range(10)]
    before = passages("\n\n".join(sections), 60)
    sections[4] = "## Part 4\n\n" + paragraph(source, 2)
    after = passages("\n\n".join(sections), 60)
    assert set(after) - set(before) == {sections[4]}


def test_words_inserted_into_one_long_line_leave_its_far_end_alone() -> None:
    source = random.Random(9)
    line = paragraph(source, 600)
    before = passages(line, 60)
    after = passages(line[:1000] + " some words put in " + line[1000:], 60)
    assert len(set(after) - set(before)) <= 8
    assert after[-30:] == before[-30:]


def test_a_tokenizer_whose_counts_do_not_add_up_still_gets_what_it_can_read() -> None:
    def one_more_per_call(text: str) -> list[tuple[int, int]]:
        return [(0, 0), (0, 0), *word_offsets(text)]

    spans = windows("alpha beta. gamma delta. " * 40, 9, one_more_per_call)
    text = "alpha beta. gamma delta. " * 40
    assert all(len(one_more_per_call(text[start:end])) <= 9 for start, end in spans)
    assert "".join(text[start:end] for start, end in spans).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize("level", [("\n\n", "para"), ("\n", "line"), (". ", "sentence")], ids=lambda level: level[1])
def test_passages_are_well_filled(level: tuple[str, str]) -> None:
    source = random.Random(10)
    text = level[0].join(paragraph(source, 1).rstrip(".") for _ in range(600))
    counts = [len(word_offsets(part)) for part in passages(text, 100)]
    assert sum(counts) / len(counts) > 60
