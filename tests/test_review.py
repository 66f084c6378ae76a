"""The review: what waits for a person, in which order, and what an answer does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memdb.errors import Changed, MemdbError, NotFound, UsageError
from memdb.services.review.review import KINDS
from memdb.services.review.review_items import Choice, Line, ReviewItem, choice_names, item_id, numbered, parts_of
from memdb.store import Store
from tests.answer_support import Answered
from tests.test_proposals import GATE, LINE, RULE, SAID, TEXTS

BROKEN = "---\nname: [\n---\nThe lantern is lit.\n"
PROBLEMS = {
    "project/broken.md": BROKEN,
    "reference/my-note.md": "One.\n",
    "reference/My Note.md": "Two.\n",
    "project/reader.md": "It reads [[my_note]] and again [[my_note]].\n",
    "project/lost.md": "A link to [[nothing at all]].\n",
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Answered]:
    made = Answered(tmp_path / "root", TEXTS | PROBLEMS)
    made.put("project/line", LINE)
    made.put("project/gate", GATE)
    yield made
    made.store.close()


def ids(store: Store, **options: object) -> list[str]:
    return [item.id for item in store.review.list(**options)]  # type: ignore[arg-type]


ALL = [
    "proposal:predicate+runs_over",
    "proposal:type+protocol",
    "problem:project/broken.md",
    "problem:project/reader.md",
]


def test_the_queue_has_all_that_waits_in_its_order(world: Answered) -> None:
    assert ids(world.store) == ALL
    assert ids(world.store, limit=3) == ALL[:3]
    assert ids(world.store, kinds=["problem"]) == ALL[2:]
    assert ids(world.store, kinds=["problems", "proposals"], limit=1) == ALL[:1]
    world.rebuilt()
    assert ids(world.store) == ALL


def test_an_empty_store_waits_for_nothing(tmp_path: Path) -> None:
    made = Answered(tmp_path / "root", {})
    assert made.store.review.list() == []
    made.store.close()


# Proposals


def test_a_proposal_shows_what_it_would_link(world: Answered) -> None:
    item = world.store.review.show("proposal:type+protocol")
    assert (item.kind, item.title) == ("proposal", "2 texts ask for the type protocol")
    assert item.detail == (
        Line("fact", f"rule: {SAID}"),
        Line("side", "MQTT"),
        Line("side", "Zigbee"),
        Line("source", "project/gate"),
        Line("source", "project/line"),
    )
    assert [(choice.key, choice.name, choice.required, choice.draft) for choice in item.choices] == [
        ("a", "approve", False, ""),
        ("r", "approve-as", True, SAID),
        ("d", "dismiss", False, ""),
    ]


def test_approval_is_taken_back(world: Answered) -> None:
    before = world.digest().tables
    answered = world.store.review.answer("proposal:type+protocol", "approve", why="we speak it")
    assert (answered.choice, answered.said) == ("approve", "approved the type protocol")
    assert ("project/line", "mqtt") in world.mentions()
    assert ids(world.store) == [ALL[0], *ALL[2:]]
    world.store.review.undo(answered)
    assert ids(world.store) == ALL
    assert world.digest().tables["edge"] == before["edge"]


def test_a_proposal_is_approved_by_a_rule_of_ones_own(world: Answered) -> None:
    world.store.review.answer("proposal:predicate+runs_over", "a", text=RULE)
    world.store.review.answer("proposal:type+protocol", "approve-as", text=RULE)
    rules = {(entry.kind, entry.name): entry.description for entry in world.store.schema.list()}
    assert rules["predicate", "runs_over"] == RULE
    assert rules["type", "protocol"] == RULE


def test_a_dismissal_is_taken_back(world: Answered) -> None:
    answered = world.store.review.answer("proposal:predicate+runs_over", "dismiss")
    assert answered.decision
    assert ids(world.store) == ALL[1:]
    world.store.review.undo(answered)
    assert ids(world.store) == ALL


# Problems


def test_a_file_that_does_not_parse_is_opened(world: Answered) -> None:
    item = world.store.review.show("problem:project/broken.md")
    assert item.title.startswith("project/broken.md has ") or "line" in item.title
    assert item.file == "project/broken.md"
    assert [(choice.key, choice.name, choice.here) for choice in item.choices] == [("e", "edit", False)]
    world.write({"project/broken.md": "Mended.\n"})
    world.store.sync()
    assert "problem:project/broken.md" not in ids(world.store)


def test_an_ambiguous_link_names_its_targets_once(world: Answered) -> None:
    item = world.store.review.show("problem:project/reader.md")
    assert item.title == "project/reader.md line 1: [[my_note]] can mean 2 memories"
    assert item.detail == (
        Line("fact", "line 1: [[my_note]] can mean 2 memories"),
        Line("source", "reference/My Note"),
        Line("source", "reference/my-note"),
        Line("hint", "Write the id of the one that is meant, such as [[type/name]]."),
    )


def test_texts_that_failed_too_often_are_one_item(world: Answered) -> None:
    database = world.store._context.database
    for key, times in (("project/line", 3), ("project/gate", 3), ("project/hall", 1)):
        digest = database.value("select text_sha256 from memory join node using (id) where key = ?", (key,))
        with database.write():
            database.connection.execute("insert into failure values (?, 'p', 'm', ?, 'no answer')", (digest, times))
    item = world.store.review.list(kinds=["problem"])[-1]
    assert (item.id, item.title) == ("problem:index+failing", "The language model failed on 2 texts too often")
    assert item.detail[0:2] == (Line("source", "project/gate"), Line("fact", "no answer"))
    assert world.store.review.show(item.id) == item
    assert item.choices == ()


# What does not fit

ERRORS: list[tuple[str, str, str | None, type[MemdbError], str, str]] = [
    ("proposal:type+nothing", "approve", None, NotFound, "waits for nobody", "`memdb review` lists"),
    ("proposal:type+protocols", "approve", None, NotFound, "waits for nobody", ""),
    ("proposal:nonsense", "approve", None, NotFound, "waits for nobody", ""),
    ("problem:project/none.md", "edit", None, NotFound, "waits for nobody", ""),
    ("thing:x", "y", None, NotFound, "There is no item 'thing:x'", "proposal"),
    ("\u202ex", "y", None, NotFound, "<U+202E>x", "proposal"),
    ("proposal:type+protocol", "aprove", None, UsageError, "'aprove'", "approve (a), approve-as (r), dismiss (d)"),
    ("proposal:type+protocol", "dismiss", "why", UsageError, "takes no text", "Leave"),
    ("proposal:predicate+runs_over", "approve", None, UsageError, "needs a text", "--text"),
    ("proposal:predicate+runs_over", "approve", " ", UsageError, "needs a text", "--text"),
    ("problem:project/broken.md", "edit", None, UsageError, "in an editor: project/broken.md", "terminal"),
]


@pytest.mark.parametrize(("item", "choice", "text", "kind", "message", "hint"), ERRORS)
def test_what_is_refused(
    world: Answered, *, item: str, choice: str, text: str | None, kind: type[MemdbError], message: str, hint: str
) -> None:
    before = world.store._context.journal.state()
    with pytest.raises(MemdbError) as caught:
        world.store.review.answer(item, choice, text=text)
    assert type(caught.value) is kind
    assert message in caught.value.message
    assert hint in str(caught.value.hint)
    assert world.store._context.journal.state() == before


@pytest.mark.parametrize(("options", "hint"), [({"kinds": ["x"]}, ", ".join(KINDS)), ({"limit": 0}, "from 1 on")])
def test_what_cannot_be_listed(world: Answered, options: dict[str, object], hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        ids(world.store, **options)
    assert hint in str(caught.value.hint)


def test_what_was_answered_waits_no_more(world: Answered) -> None:
    world.store.review.answer("proposal:type+protocol", "dismiss")
    with pytest.raises(NotFound):
        world.store.review.answer("proposal:type+protocol", "dismiss")


def test_what_changed_since_it_was_shown_is_not_answered(world: Answered) -> None:
    seen = world.store.review.show("proposal:type+protocol")
    world.put("project/hall", LINE)
    with pytest.raises(Changed):
        world.store.review.answer(seen.id, "dismiss", seen=seen)
    again = world.store.review.show(seen.id)
    assert world.store.review.answer(seen.id, "dismiss", seen=again).choice == "dismiss"


# Ids and keys

IDS = [
    (("a b", "a_b"), "k:a%20b+a_b"),
    (("c++", "c"), "k:c%2B%2B+c"),
    (("悬空", "café"), "k:悬空+café"),
    (("x\u200by", "\u3164"), "k:x%E2%80%8By+%E3%85%A4"),
    (("100%", "a\nb"), "k:100%25+a%0Ab"),
    (("project/a.md", "caf\udce9"), "k:project/a.md+caf%ED%B3%A9"),
]


@pytest.mark.parametrize(("parts", "written"), IDS)
def test_an_id_is_one_word_that_says_what_it_is_about(parts: tuple[str, ...], written: str) -> None:
    assert item_id("k", *parts) == written
    assert parts_of(written.removeprefix("k:")) == list(parts)


def test_choices_are_named_for_what_they_choose() -> None:
    assert choice_names("keep", ["Lumen Labs", "C", "C++", "悬空", "!!"]) == [
        "keep-lumen-labs",
        "keep-c-1",
        "keep-c-2",
        "keep-悬空",
        "keep-it",
    ]
    assert [numbered(place) for place in (0, 8, 9, 34)] == ["1", "9", "A", "Z"]


def test_a_choice_is_named_or_keyed() -> None:
    item = ReviewItem("k:x", "k", "x", (), (Choice("a", "approve", "x"),))
    assert item.choice("a") == item.choice("approve") == item.choices[0]
