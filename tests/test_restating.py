"""Saving what a memory says already: it becomes a version of that memory; what could be another fact stands apart."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memdb.base.files import Found
from memdb.domain.restating import compare, is_typo, signs
from memdb.services.files import sync
from memdb.services.index import indexing
from memdb.services.memories import restating
from memdb.store import Store
from tests.cli_support import make, memdb
from tests.conftest import write_files
from tests.histories import anew, differing, secret

Make = Callable[..., Store]

LONG = "The committee decides which projects receive money this year, always in the second week of May."

HAN = "\u91cd\u8dd1\u6d41\u7a0b\u540e\u60ac\u7a7a\u5f15\u7528\u6e05\u96f6"

SAME = [
    ("Likes tea.", "Likes tea.", "exact"),
    ("Likes tea.", "  Likes\r\n\ttea.\n\n", "exact"),
    ("caf\u00e9 au lait", "cafe\u0301 au lait", "exact"),
    (HAN, HAN + "\n", "exact"),
    ("Likes tea.", "likes tea", "near"),
    ("Likes tea.", "Likes tea!", "near"),
    ("Likes, above all, tea.", "Likes above all tea", "near"),
    ("- one\n- two\n", "* one\n* two\n", "near"),
    ("# Rules\n\nBe brief.", "## Rules\n\nBe brief", "near"),
    ('Say "yes" first.', "Say \u201cyes\u201d first.", "near"),
    ("We use **Postgres** here.", "We use Postgres here.", "near"),
    ("We use postgres here.", "We use Postgres here.", "near"),
    ("a multi-agent setup", "a multi agent setup", "near"),
    ("Runs on port 5432 with v1.2.", "runs on port 5432, with v1.2", "near"),
    ("NEVER PUSH ON FRIDAY", "Never push on Friday.", "near"),
    (
        "When options are compared, use a Markdown table: one row per option.",
        "When options are compared, use a markdown table - one row per option",
        "near",
    ),
    (LONG, LONG.replace("committee", "commitee"), "near"),
    (LONG, LONG.replace("receive", "recieve"), "near"),
    (LONG, LONG.replace("projects", "projcts").replace("The", "the"), "near"),
]  # fmt: skip

APART = [
    ("Thanks, A!", "Thanks, B!"),
    ("Thanks, A!", "Thanks, a!"),
    ("Yes.", "No."),
    ("We deploy on Friday.", "We deploy on Friday?"),
    ("We do deploy on Fridays.", "We do not deploy on Fridays."),
    ("We can deploy on Fridays.", "We can't deploy on Fridays."),
    ("Deploy with care.", "Deploy without care."),
    ("Runs on port 5432.", "Runs on port 5433."),
    ("Runs v1.2 of it.", "Runs v1.3 of it."),
    ("Costs 1.5 a day.", "Costs 15 a day."),
    ("Costs 1,000 a day.", "Costs 1000 a day."),
    ("It was 5 degrees.", "It was -5 degrees."),
    ("Meet on 2026-05-01.", "Meet on 2026-05-02."),
    ("Meet at 12:30.", "Meet at 12:20."),
    ("Likes 100% of it.", "Likes 100 of it."),
    ("Written in C.", "Written in C++."),
    ("Written in C#.", "Written in C."),
    ("Reads README.md first.", "Reads readme.md first."),
    ("Reads .env first.", "Reads env first."),
    ("Use --force here.", "Use force here."),
    ("a > b holds", "a < b holds"),
    ("Great \U0001f44d", "Great \U0001f44e"),
    ("Sent to us by mail.", "Sent to US by mail."),
    ("He may leave.", "He May leave."),
    ("Ask Jon about the sensors in the harbour today.", "Ask John about the sensors in the harbour today."),
    ("Ask Marina about the sensors in the harbour now.", "Ask Marena about the sensors in the harbour now."),
    ("We run one server for the harbour over there.", "We run one servers for the harbour over there."),
    ("They upload data to the archive every single night.", "They unload data to the archive every single night."),
    ("They are charging the harbour sensors once in a week.", "They are changing the harbour sensors once in a week."),
    ("The kubelet restarts pods whenever they fail in here.", "The kublet restarts pods whenever they fail in here."),
    ("Use the databse there.", "Use the database there."),
    (LONG, LONG.replace("committee", "commitee").replace("receive", "recieve").replace("decides", "deicdes")),
    (LONG, LONG + " Really."),
    (LONG, LONG.replace("this ", "")),
    ("- [ ] buy milk", "- [x] buy milk"),
    (HAN, HAN[:-2] + "\u672a\u6e05"),
    ("", ""),
    ("---", "---"),
    ("\U0001f44d", "\U0001f44d"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "way"), SAME)
def test_what_says_the_same(one: str, other: str, way: str) -> None:
    assert (compare(one, other), compare(other, one)) == (way, way)
    assert set(signs(one)) & set(signs(other))


@pytest.mark.parametrize(("one", "other"), APART)
def test_what_could_be_another_fact(one: str, other: str) -> None:
    assert (compare(one, other), compare(other, one)) == (None, None)


@pytest.mark.parametrize(
    ("one", "other", "slip"),
    [
        ("database", "databse", True),
        ("database", "datbseea", False),
        ("receive", "recieve", True),
        ("committee", "comittee", True),
        ("environment", "enviroment", True),
        ("answers", "answer", False),
        ("server", "servers", False),
        ("enable", "unable", False),
        ("staging", "staying", False),
        ("tables", "tabels", True),
        ("Tables", "Tabels", False),
        ("from", "form", False),
        ("grafana", "grafanna", False),
        ("database", "database2", False),
    ],
)
def test_a_slip_in_a_common_word(one: str, other: str, slip: bool) -> None:
    assert (is_typo(one, other), is_typo(other, one)) == (slip, slip)


@given(st.lists(st.sampled_from(["harbour", "keeper", "the", "Postgres", "v1.2", "answers", "quiet"]), max_size=40))
def test_texts_that_say_the_same_share_a_sign(found: list[str]) -> None:
    text = " ".join(found)
    slips = {"harbour": "habrour", "answers": "anwsers", "keeper": "keeperr"}
    changed = list(found)
    for place, word in enumerate(found):
        if word in slips:
            changed[place] = slips[word]
            if compare(" ".join(changed), text) is None:
                changed[place] = word
    assert compare(text, text) == ("exact" if found else None)
    if compare(" ".join(changed), text):
        assert set(signs(text)) & set(signs(" ".join(changed)))


# Saving


@pytest.fixture
def store(make_store: Make, no_model: None) -> Store:
    return make_store(
        {"feedback/tables.md": "---\ndescription: kept\ntags: [style]\nmine: 1\n---\n\nUse tables for comparisons.\n"}
    )


def test_the_same_text_is_not_written_again(store: Store) -> None:
    before = (store.place.root / "feedback/tables.md").read_bytes()
    saved = store.save("user/other", "Use  tables for\ncomparisons.", tags=["new"], description="other")
    assert (saved.id, saved.file, saved.created, saved.changed) == (
        "feedback/tables",
        "feedback/tables.md",
        False,
        False,
    )
    assert (saved.restates, saved.left_out) == ("feedback/tables", ("description", "tags"))
    assert (store.place.root / "feedback/tables.md").read_bytes() == before
    assert [memory.id for memory in store.list()] == ["feedback/tables"]
    assert store.history("feedback/tables") == []


def test_the_same_words_become_a_version_that_keeps_the_rest(store: Store) -> None:
    saved = store.save("user/other", "use tables for comparisons!\n", tags=["style"], fields={"mine": "2"})
    assert (saved.id, saved.created, saved.changed, saved.restates) == (
        "feedback/tables",
        False,
        True,
        "feedback/tables",
    )
    assert saved.left_out == ("mine",)
    shown = store.show("feedback/tables")
    assert (shown.body, shown.type, shown.tags, shown.description) == (
        "use tables for comparisons!\n", "feedback", ("style",), "kept",
    )  # fmt: skip
    assert shown.frontmatter["mine"] == "1"
    assert [(past.reason, "Use tables" in (past.text or "")) for past in store.history("feedback/tables")] == [
        ("restated", True)
    ]
    live = store.digest()
    assert differing(live, anew(store.place.root, model=False)) == []


@pytest.mark.parametrize(
    "options",
    [
        {"apart": True},
        {"supersedes": ["feedback/tables"]},
        {"fields": {"valid_from": "2026-01-01"}},
        {"fields": {"happened_at": "2026-01-01"}},
        {"body": "Use charts for comparisons."},
    ],
)
def test_what_stands_apart(store: Store, options: dict[str, object]) -> None:
    saved = store.save("user/other", **({"body": "Use tables for comparisons."} | options))  # type: ignore[arg-type]
    assert (saved.id, saved.created, saved.restates) == ("user/other", True, None)


def test_an_id_that_is_there_is_saved_to(store: Store) -> None:
    store.save("user/other", "Use charts.")
    saved = store.save("user/other", "Use tables for comparisons.")
    assert (saved.id, saved.changed, saved.restates) == ("user/other", True, None)


def test_an_event_is_told_once_for_each_time(store: Store) -> None:
    first = store.save("episode/one", "The pump stopped and was started again.")
    second = store.save("episode/two", "The pump stopped and was started again.")
    assert (first.created, second.created) == (True, True)
    day = {"happened_at": "2026-03-01"}
    third = store.save("episode/three", "The pump stopped and was started again.", fields=day)
    assert third.created
    assert store.save("episode/four", "The pump stopped and was started again.", fields=day).restates == "episode/three"


def test_what_was_replaced_is_not_restated(store: Store) -> None:
    store.save("feedback/prose", "Use prose everywhere.", supersedes=["feedback/tables"])
    saved = store.save("user/other", "Use tables for comparisons.")
    assert (saved.created, saved.restates) == (True, None)


def test_a_file_that_changed_unseen_is_compared_as_it_is(store: Store) -> None:
    write_files(store.place.root, {"feedback/tables.md": "Use charts for comparisons.\n"})
    assert store.save("user/other", "Use tables for comparisons.").created
    write_files(store.place.root, {"user/other.md": "Use tables for comparisons!\n"})
    saved = store.save("user/third", "Use tables for comparisons")
    assert saved.restates == "user/other"
    assert [past.text for past in store.history("user/other")][-1] == "Use tables for comparisons!\n"


def test_of_several_the_same_text_comes_first_then_the_first_id(store: Store) -> None:
    store.save("user/a", "use tables for comparisons", apart=True)
    store.save("project/b", "use tables for comparisons", apart=True)
    assert store.save("user/x", "use tables for comparisons").restates == "project/b"
    assert store.save("user/x", "Use tables for comparisons.").restates == "feedback/tables"


def test_a_text_with_a_secret_is_no_candidate(make_store: Make, no_model: None) -> None:
    store = make_store({"user/a.md": f"Mind the gap here. {secret()}\n"})
    assert store._context.database.rows("select * from memory_sign") == []


def test_near_texts_of_a_chat_are_all_kept(make_store: Make, no_model: None) -> None:
    store = make_store()
    turns = [f"Thanks, {name}!" for name in ("A", "B", "Ann", "Anna", "Anne")] + ["Thanks!", "Thank you.", "ok", "OK?"]
    made = [store.save(f"project/turn-{at}", text) for at, text in enumerate(turns)]
    assert [saved.created for saved in made] == [True] * len(turns)


def test_a_restating_is_found_among_many_at_once(make_store: Make, no_model: None) -> None:
    store = make_store()
    number = 1_000
    readings = [
        sync.reading_of(Found(f"project/n{at:05}.md", 0, 1, 1, f"project/n{at:05}.md"), text.encode())
        for at in range(number)
        for text in [f"The garden report number {at} says that the keeper of the harbour answers questions."]
    ]
    database = store._context.database
    with database.write():
        indexing.apply(database, readings, [], {})
    plan = database.rows("explain query plan " + restating.CANDIDATES, ("[1]", 5))
    assert not [row for row in plan if "SCAN" in row[-1] and "json_each" not in row[-1] and "(" not in row[-1]]
    began = time.process_time()
    found = restating.restated(
        store._context, "user", "the garden report number 777 says that the keeper of the habrour answers questions", {}
    )
    took = time.process_time() - began
    assert found is None  # the files are not there
    assert took < 0.1
    rows = database.rows(
        restating.CANDIDATES,
        (str(list(signs("The garden report number 777 says that the keeper of the habrour answers questions."))), 5),
    )
    assert [row[0] for row in rows] == ["project/n00777"]


def test_memories_that_stand_twice_are_suggested(make_store: Make, no_model: None) -> None:
    store = make_store(
        {
            "user/a.md": "The keeper of the harbour likes tea.",
            "user/b.md": "the keeper of the harbour likes tea!",
            "user/c.md": "The keeper of the harbour likes tea.",
            "user/d.md": "Thanks!",
            "user/e.md": "Thanks!",
            "user/f.md": "---\nhappened_at: 2026-01-01\n---\nThe keeper of the harbour likes tea.",
            "project/new.md": "---\nsupersedes: project/old\n---\nThe plan of the harbour stands.",
            "project/old.md": "The plan of the harbour stands.",
        }
    )
    found = restating.restatements(store._context)
    assert [(one.memories, one.by) for one in found] == [
        (("user/a", "user/b"), "near"),
        (("user/a", "user/c"), "exact"),
    ]


# The command


def test_the_command_says_so(tmp_path: Path, no_model: None) -> None:
    root = make(tmp_path / "r")
    answer = memdb("save", "user/x", "--body", "Tables for comparisons.", "--tag", "new", "--root", root)
    assert (answer.code, answer.out) == (0, "unchanged feedback/prefers-tables  (feedback/prefers-tables.md)\n")
    assert answer.err == (
        "note: this is what feedback/prefers-tables says already: nothing was written.\n"
        "note: it keeps its own tags.\n"
        "hint: `--apart` makes a memory of its own of it.\n"
    )
    answer = memdb("save", "user/x", "--body", "tables, for comparisons", "--root", root, "--json")
    assert (answer.json["id"], answer.json["restates"], answer.json["changed"]) == (
        "feedback/prefers-tables", "feedback/prefers-tables", True,
    )  # fmt: skip
    answer = memdb("save", "user/x", "--body", "tables, for comparisons", "--apart", "--root", root, "--json")
    assert (answer.json["id"], answer.json["restates"], answer.json["created"]) == ("user/x", None, True)


def test_a_word_or_two_say_nothing_that_could_be_said_again(make_store: Make) -> None:
    store = make_store({})
    for name in ("one", "two", "three"):
        assert store.save(f"user/{name}", "Thanks, Ana!").restates is None
    assert [memory.id for memory in store.list()] == ["user/one", "user/three", "user/two"]
