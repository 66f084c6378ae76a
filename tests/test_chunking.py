"""Blocks to passages: what stays together, what is cut, and that an edit stays local."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memdb.base.embedding import Embedder
from memdb.base.windows import MAX_CHARACTERS_PER_TOKEN
from memdb.domain.chunking import Chunk, chunks, estimate_offsets
from memdb.domain.extractors import Block, extract

_TOKEN = re.compile(r"[぀-鿿]|\w+|[^\w\s]")


def word_offsets(text: str) -> list[tuple[int, int]]:
    """A tokenizer of our own: words, punctuation, single CJK characters."""
    return [match.span() for match in _TOKEN.finditer(text)]


def cut(blocks: list[Block], max_tokens: int, prefix_of: Callable[[Block], str] | None = None) -> list[Chunk]:
    return list(chunks(blocks, max_tokens=max_tokens, offsets_of=word_offsets, prefix_of=prefix_of))


def texts(blocks: list[Block], max_tokens: int) -> list[str]:
    return [chunk.text for chunk in cut(blocks, max_tokens)]


def markdown_chunks(text: str, max_tokens: int) -> list[Chunk]:
    return cut(list(extract(text.encode(), "a.md").blocks), max_tokens)


@pytest.mark.parametrize(
    ("blocks", "max_tokens", "expected"),
    [
        ([], 10, []),
        ([Block(" \n ")], 10, []),
        ([Block("one two"), Block("three")], 10, ["one two\n\nthree"]),
        ([Block("one two"), Block("three")], 2, ["one two", "three"]),
        ([Block("one", ("A",)), Block("two", ("B",))], 10, ["one", "two"]),
        ([Block("one", ("A",)), Block("two", ("A",), starts_section=True)], 10, ["one", "two"]),
        ([Block("one", page=1), Block("two", page=2)], 10, ["one", "two"]),
        ([Block("one", atomic=True), Block("two", atomic=True)], 10, ["one", "two"]),
        ([Block("one"), Block("two", atomic=True), Block("three")], 10, ["one", "two", "three"]),
        ([Block("One two three. Four five six.")], 4, ["One two three.", "Four five six."]),
        ([Block("a" * 30)], 1, ["a" * 8, "a" * 8, "a" * 8, "a" * 6]),
        # What is left of a long block shares a passage with what follows.
        ([Block("One two three four five. Six."), Block("seven")], 6, ["One two three four five.", "Six.\n\nseven"]),
    ],
)
def test_what_stays_together(blocks: list[Block], max_tokens: int, expected: list[str]) -> None:
    assert texts(blocks, max_tokens) == expected


def test_lines_between_blocks_are_those_of_the_file() -> None:
    chunk = markdown_chunks("# T\n\nintro:\n- a\n- b\n\n\nend\n", 50)[0]
    assert (chunk.text, chunk.start_line, chunk.end_line) == ("intro:\n- a\n- b\n\n\nend", 3, 8)


def test_places_of_the_parts_of_one_paragraph() -> None:
    text = "# T\n\nalpha beta gamma\ndelta epsilon zeta\neta theta iota\n"
    found = [(chunk.text, chunk.start_line, chunk.end_line) for chunk in markdown_chunks(text, 3)]
    assert found == [("alpha beta gamma", 3, 3), ("delta epsilon zeta", 4, 4), ("eta theta iota", 5, 5)]


def test_a_cut_table_repeats_its_head() -> None:
    rows = "\n".join(f"| part{number} | price{number} |" for number in range(12))
    found = markdown_chunks(f"# T\n\n| a | b |\n|---|---|\n{rows}\n", 60)
    assert len(found) > 1
    assert all(chunk.text.startswith("| a | b |\n|---|---|\n| part") for chunk in found)
    assert [chunk.text.count("part") for chunk in found] == [
        chunk.end_line - chunk.start_line + 1 - 2 * (not at)
        for at, chunk in enumerate(found)
        if chunk.start_line and chunk.end_line
    ]
    assert (found[0].start_line, found[-1].end_line) == (3, 16)


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        (Block("a b c", ("H",)), Block("d e f", ("H",)), True),
        (Block("a b c", ("H",)), Block("d e f", ("H", "I")), False),
        (Block("a b c", ("H",)), Block("d e f", ("H",), starts_section=True), False),
        (Block("a b c", ("H",), page=1), Block("d e f", ("H",), page=2), True),
        (Block("a b c", atomic=True), Block("d e f", atomic=True), False),
        (Block("a b c", ("session 1",), atomic=True), Block("d e f", ("session 1",), atomic=True), True),
        (Block("a b c", ("session 1",), atomic=True), Block("d e f", ("session 2",), atomic=True), False),
    ],
)
def test_which_neighbours_are_joined(first: Block, second: Block, joined: bool) -> None:
    assert [chunk.joins_next for chunk in cut([first, second], 4)] == [joined, False]


def test_parts_of_one_record_keep_its_identity() -> None:
    block = Block("One two three. Four five six.", atomic=True, record_id="7", title="T", created="2024")
    found = cut([block, Block("next", atomic=True)], 4)
    assert [(chunk.record_id, chunk.title, chunk.created, chunk.joins_next) for chunk in found] == [
        ("7", "T", "2024", True),
        ("7", "T", "2024", False),
        (None, None, None, False),
    ]
    assert [chunk.ordinal for chunk in found] == [0, 1, 2]


def test_the_prefix_counts_up_to_half_of_the_window() -> None:
    blocks = [Block("one two three four five six seven eight", ("H",))]
    assert [len(word_offsets(chunk.text)) for chunk in cut(blocks, 8, lambda block: "x y z")] == [5, 3]
    assert [len(word_offsets(chunk.text)) for chunk in cut(blocks, 8, lambda block: "x " * 90)] == [2, 4, 2]


@pytest.mark.parametrize("max_tokens", [0, -1])
def test_a_window_must_hold_something(max_tokens: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        cut([Block("a")], max_tokens)


def test_blocks_are_read_as_they_are_needed() -> None:
    read: list[int] = []

    def endless():  # type: ignore[no-untyped-def]
        for number in range(10**9):
            read.append(number)
            yield Block(f"word{number} and more")

    found = chunks(endless(), max_tokens=9, offsets_of=word_offsets)
    for _ in range(3):
        next(found)
    assert len(read) < 30


_WORD = st.text(alphabet="abcdeé数据.\u200b👍|-#", min_size=1, max_size=9)
_BLOCK = st.builds(
    Block,
    text=st.lists(_WORD, min_size=1, max_size=25).flatmap(
        lambda words: st.sampled_from([" ", "\n", ". ", "\n\n"]).map(lambda gap: gap.join(words))
    ),
    heading_path=st.sampled_from([(), ("A",), ("A", "B")]),
    page=st.sampled_from([None, 1]),
    atomic=st.booleans(),
    starts_section=st.booleans(),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(_BLOCK, max_size=12), st.integers(1, 40))
def test_all_text_in_order_within_the_limit(blocks: list[Block], max_tokens: int) -> None:
    found = cut(blocks, max_tokens)
    assert "".join("".join(chunk.text.split()) for chunk in found) == "".join(
        "".join(block.text.split()) for block in blocks
    )
    assert all(len(word_offsets(chunk.text)) <= max_tokens for chunk in found)
    assert all(len(chunk.text) <= (MAX_CHARACTERS_PER_TOKEN + 3) * max_tokens for chunk in found)
    assert [chunk.ordinal for chunk in found] == list(range(len(found)))
    assert found == cut(blocks, max_tokens)


_LINE = st.lists(
    st.sampled_from(["well", "pump", "was", "serviced.", "A", "new", "hose", "fitted", "in May"]), min_size=1
)
_SECTION = st.lists(_LINE.map(" ".join), min_size=1, max_size=12).map("\n\n".join)


@settings(max_examples=40, deadline=None)
@given(st.lists(_SECTION, min_size=2, max_size=8), st.data())
def test_editing_one_section_leaves_the_chunks_of_the_others(sections: list[str], data: st.DataObject) -> None:
    edited = data.draw(st.integers(0, len(sections) - 1))
    new = data.draw(_SECTION)

    def of(bodies: list[str]) -> dict[tuple[str, ...], list[str]]:
        text = "".join(f"## Part {number}\n\n{body}\n\n" for number, body in enumerate(bodies))
        found: dict[tuple[str, ...], list[str]] = {}
        for chunk in markdown_chunks(text, 30):
            found.setdefault(chunk.heading_path, []).append(chunk.text)
        return found

    before, after = of(sections), of([*sections[:edited], new, *sections[edited + 1 :]])
    untouched = {path for path in before if path != (f"Part {edited}",)}
    assert {path: before[path] for path in untouched} == {path: after[path] for path in untouched}


def test_an_insertion_in_a_long_text_stays_local() -> None:
    paragraphs = [
        f"Reading {number} of the gauge: {number * 7919 % 1000} mm at the {number % 37}th weir."
        for number in range(900)
    ]
    before = texts([Block(paragraph) for paragraph in paragraphs], 100)
    after = texts([Block(paragraph) for paragraph in [*paragraphs[:400], "A new line.", *paragraphs[400:]]], 100)
    assert len(set(after) - set(before)) <= 4


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(["# A", "## B", "text one two", "- item", "| a | b |", "|---|---|", "", "```", "x" * 90]))
)
def test_cited_lines_hold_the_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    if not text.strip():
        return
    for chunk in markdown_chunks(text, 12):
        assert chunk.start_line is not None and chunk.end_line is not None
        cited = "\n".join(lines[chunk.start_line - 1 : chunk.end_line])
        head, _, rest = chunk.text.partition("\n|---|---|\n")
        assert chunk.text in cited or (head.startswith("|") and rest in cited)


PROSE = (
    "The municipality inspected seventeen culverts after the thunderstorm; two were obstructed by driftwood. "
    "Hydrologists recalibrated the ultrasonic gauges, and the maintenance supervisor rescheduled the excavation."
)
CODE = (
    "def rebuild_index(self, *, max_tokens: int = 254) -> list[Span]:\n    return [s for s in self._spans if s.end]\n"
)
SHELL = "kubectl -n ingress-nginx get pods -o jsonpath='{.items[*].metadata.name}' | xargs -n1 sha256sum\n"


@pytest.mark.model
@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        CODE * 2,
        SHELL * 2,
        "数据库已经迁移到新的主机上，备份计划每天凌晨三点执行。" * 2,
        "어제 데이터베이스를 새 서버로 옮겼습니다. " * 4,
        "Überschwemmungen beschädigten die Brücke am Wehr. " * 3,
        "Вчера мы перенесли базу данных на сервер. " * 2,
        "12345 67.89 0xFF " * 9,
    ],
    ids=["prose", "code", "shell", "chinese", "korean", "german", "russian", "numbers"],
)
def test_the_estimate_is_at_or_above_the_tokenizer(text: str) -> None:
    embedder = Embedder()
    if embedder.status.state == "off":
        pytest.skip(f"no embedding model: {embedder.status.reason}")
    counted = embedder.count_tokens(text)
    assert counted <= len(estimate_offsets(text)) <= 2 * counted


@given(st.text())
def test_estimated_offsets_are_in_order_and_within_the_text(text: str) -> None:
    offsets = estimate_offsets(text)
    assert offsets == sorted(offsets)
    assert all(0 <= start < end <= len(text) for start, end in offsets)
    assert "".join(text[start:end] for start, end in dict.fromkeys(offsets)) == "".join(text.split())
