"""The closed lists of types and predicates. Mission G."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memdb.domain.vocabulary import (
    DESCRIPTION_LIMIT,
    SYSTEM,
    Entry,
    Kind,
    Vocabulary,
    checked_name,
    entry_key,
)
from memdb.errors import UsageError


def test_the_built_in_lists() -> None:
    vocabulary = Vocabulary()
    assert [entry.name for entry in vocabulary.types] == [
        "person",
        "organization",
        "project",
        "tool",
        "technology",
        "place",
        "event",
        "concept",
    ]
    assert [entry.name for entry in vocabulary.predicates] == [
        "uses",
        "depends_on",
        "part_of",
        "created_by",
        "works_on",
        "works_at",
        "located_in",
        "attended",
    ]
    assert all(entry.origin == "system" and entry.state == "active" for entry in SYSTEM)
    assert all(20 < len(entry.description) <= DESCRIPTION_LIMIT for entry in SYSTEM)
    assert [entry.name for entry in SYSTEM if entry.single_valued] == ["works_at"]
    assert vocabulary.single_letter_types == {"technology"}


@pytest.mark.parametrize(
    ("kind", "name", "found"),
    [
        ("type", "person", "person"),
        ("type", " PERSON ", "person"),
        ("type", "works_at", None),
        ("type", "persons", None),
        ("predicate", "works_at", "works_at"),
        ("predicate", "Works At", "works_at"),
        ("predicate", "works-at", "works_at"),
        ("predicate", "person", None),
        ("predicate", "", None),
    ],
)
def test_an_entry_is_found_by_its_name_in_any_spelling(kind: Kind, name: str, found: str | None) -> None:
    entry = Vocabulary().find(kind, name)
    assert (entry.name if entry else None) == found


def test_a_later_entry_replaces_an_earlier_one_in_its_place() -> None:
    off = Entry("type", "Tool", "A named program.", "system", "disabled")
    vocabulary = Vocabulary([*SYSTEM, off, Entry("type", "ship", "A vessel with a name.")])
    assert [entry.name for entry in vocabulary.types][2:] == [
        "project",
        "technology",
        "place",
        "event",
        "ship",
        "concept",
    ]
    assert [entry.name for entry in vocabulary.entries if entry.kind == "type"][3] == "Tool"
    assert vocabulary.find("type", "tool") == off
    assert (vocabulary.knows("type", "tool"), vocabulary.knows("type", "SHIP")) == (False, True)


def test_types_that_are_switched_off_let_in_no_letters() -> None:
    off = Entry("type", "technology", "x", "system", "disabled", single_letters=True)
    key = Entry("type", "Piano Key", "A key by its letter.", single_letters=True)
    assert Vocabulary([*SYSTEM, off, key]).single_letter_types == {"piano key"}


def test_an_empty_vocabulary_is_one() -> None:
    vocabulary = Vocabulary([])
    assert (vocabulary.types, vocabulary.predicates, vocabulary.entries) == ((), (), ())


@pytest.mark.parametrize(
    ("kind", "name", "checked"),
    [
        ("type", "Ship", "ship"),
        ("type", "  Recipe   Book ", "recipe book"),
        ("type", "API_endpoint", "api_endpoint"),
        ("type", "Straße", "strasse"),
        ("predicate", "Sails To", "sails_to"),
        ("predicate", "is-allergic to", "is_allergic_to"),
        ("type", "x" * 40, "x" * 40),
    ],
)
def test_a_new_name_gets_its_one_spelling(kind: Kind, name: str, checked: str) -> None:
    assert checked_name(kind, name) == checked


@pytest.mark.parametrize("kind", ["type", "predicate"])
@pytest.mark.parametrize("name", ["", "  ", "42", "a\nb: c", "drop;", '"ship"', "x" * 41, "{types}", "\u200b", "a, b"])
def test_what_is_no_name_is_refused(kind: Kind, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked_name(kind, name)
    assert caught.value.hint


@given(st.sampled_from(["type", "predicate"]), st.text(max_size=30))
def test_a_key_is_its_own_key_and_a_checked_name_is_found(kind: Kind, name: str) -> None:
    assert entry_key(kind, entry_key(kind, name)) == entry_key(kind, name)
    try:
        checked = checked_name(kind, name)
    except UsageError:
        return
    assert checked_name(kind, checked) == checked
    assert Vocabulary([Entry(kind, checked, "x")]).knows(kind, name)
