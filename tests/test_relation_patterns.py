"""Relations that a sentence states in so many words, and the many sentences that only look as if they did."""

from __future__ import annotations

from pathlib import Path

import pytest

from memdb.domain.names import places_in
from memdb.domain.relation_patterns import CONFIDENCE, relations_in
from memdb.services.entities.entities import RELATION_CONFIDENCE
from tests.answer_support import Answered, answer

STATED = [
    ("Wilhelmina Brandt works at Kestrel Labs.", "wilhelmina brandt works_at kestrel labs"),
    ("Wilhelmina Brandt works for Kestrel Labs and lives in Graz.", "wilhelmina brandt works_at kestrel labs"),
    ("Dr. Weiss works at the Kestrel Institute.", "weiss works_at kestrel institute"),
    ("Wilhelmina Brandt is employed by Kestrel Labs since May.", "wilhelmina brandt works_at kestrel labs"),
    ("Wilhelmina Brandt is a senior engineer at Kestrel Labs.", "wilhelmina brandt works_at kestrel labs"),
    ("- **Ottilie Krahn** works on Kestrel", "ottilie krahn works_on kestrel"),
    ("1. Ottilie Krahn is currently working on Kestrel.", "ottilie krahn works_on kestrel"),
    ("Ottilie Krahn maintains Kestrel.", "ottilie krahn works_on kestrel"),
    ("Kestrel Labs is located in Graz.", "kestrel labs located_in graz"),
    ("Rocky Mound is a small market town in Camp County, Texas.", "rocky mound located_in camp county"),
    ("The Musée Boribana is a museum located in Senegal.", "musée boribana located_in senegal"),
    ("Kestrel depends on PostgreSQL for its ledger.", "kestrel depends_on postgresql"),
    ("heron.internal relies on vault.internal.", "heron.internal depends_on vault.internal"),
    ("`deploy.sh` uses `pg_dump`.", "deploy.sh uses pg_dump"),
    ("Kestrel uses PostgreSQL.", "kestrel uses postgresql"),
    ("Raft Mountain is part of the Shuswap Highland.", "raft mountain part_of shuswap highland"),
    ("Kestrel Labs is a subsidiary of Heron Group.", "kestrel labs part_of heron group"),
    ("Kestrel was created by Ottilie Krahn in May.", "kestrel created_by ottilie krahn"),
    ("Kestrel was designed and built by Ottilie Krahn.", "kestrel created_by ottilie krahn"),
    ("Haiducii is a 1966 Romanian film directed by Dinu Cocea.", "haiducii created_by dinu cocea"),
    ("Sodrun Ferry (1987) is a novel by Ottilie Krahn.", "sodrun ferry created_by ottilie krahn"),
    ("Ottilie Krahn founded Kestrel Labs.", "kestrel labs created_by ottilie krahn"),
    ("Ottilie Krahn attended Lund University.", "ottilie krahn attended lund university"),
    ("Ottilie Krahn studied at Lund University, where she rowed.", "ottilie krahn attended lund university"),
]

NOT_STATED = [
    # questions, conditions, doubts, what others say, what is over
    "Wilhelmina Brandt works at Kestrel Labs?",
    "If Wilhelmina Brandt works at Kestrel Labs, ask her.",
    "Wilhelmina Brandt works at Kestrel Labs if they pay.",
    "Wilhelmina Brandt works at Kestrel Labs, maybe.",
    "Perhaps Wilhelmina Brandt works at Kestrel Labs.",
    "Wilhelmina Brandt doesn't work at Kestrel Labs.",
    "Wilhelmina Brandt no longer works at Kestrel Labs.",
    "Wilhelmina Brandt never works for Kestrel Labs.",
    "Wilhelmina Brandt works at Kestrel Labs, not Heron Group.",
    "Wilhelmina Brandt works at Kestrel Labs no more.",
    "Wilhelmina Brandt used to work at Kestrel Labs.",
    "Wilhelmina Brandt worked at Kestrel Labs.",
    "Wilhelmina Brandt will work at Kestrel Labs.",
    "Wilhelmina Brandt formerly works at Kestrel Labs.",
    "Ottilie says Wilhelmina Brandt works at Kestrel Labs.",
    "Wilhelmina Brandt works at Kestrel Labs, says Ottilie.",
    "Wilhelmina Brandt works at Kestrel Labs, according to Ottilie.",
    '"Wilhelmina Brandt works at Kestrel Labs," it read.',
    "Kestrel uses PostgreSQL unless Redis is there.",
    "Kestrel should use PostgreSQL.",
    # lists, and names that go on
    "Wilhelmina Brandt works at Kestrel Labs and Heron Group.",
    "Ottilie Krahn and Wilhelmina Brandt works at Kestrel Labs.",
    "Kestrel uses PostgreSQL, Redis and Kafka.",
    "Kestrel uses PostgreSQL or Redis.",
    "Kestrel uses PostgreSQL streams.",
    "Kestrel uses PostgreSQL's parser.",
    "Kestrel uses no PostgreSQL.",
    "The Kestrel team uses PostgreSQL.",
    "Friends of Wilhelmina Brandt works at Kestrel Labs.",
    "The People vs. Larry Flynt is a 1996 film directed by Dinu Cocea.",
    # other things than the phrase asks for
    "Kestrel works for PostgreSQL users.",
    "PostgreSQL works at Kestrel Labs.",
    "Dr. Weiss depends on PostgreSQL.",
    "Wilhelmina Brandt is a student at Lund University.",
    "Wilhelmina Brandt is the mother of Ottilie Krahn.",
    "Wilhelmina Brandt knows Ottilie Krahn.",
    "It works at Kestrel Labs.",
    "Kestrel uses Kestrel.",
    "```\nKestrel uses PostgreSQL.\n```",
    "",
]


def stated(text: str, own: tuple[str, ...] = ()) -> list[str]:
    return [f"{one.subject} {one.predicate} {one.object}" for one in relations_in(text, places_in(text), own)]


@pytest.mark.parametrize(("text", "relation"), STATED)
def test_what_a_sentence_states(text: str, relation: str) -> None:
    assert stated(text) == [relation]


@pytest.mark.parametrize(("text", "relation"), STATED)
def test_it_is_stated_among_other_sentences_too(text: str, relation: str) -> None:
    assert stated(f"Some words about the weather.\n\n{text}\n\nAnd then some more of them.") == [relation]


@pytest.mark.parametrize("text", NOT_STATED)
def test_what_a_sentence_does_not_state(text: str) -> None:
    assert stated(text) == []


def test_a_sentence_ends_where_the_next_one_doubts() -> None:
    assert stated("Kestrel uses PostgreSQL. Is that wise? Nobody knows.") == ["kestrel uses postgresql"]


def test_a_text_that_begins_with_its_own_name() -> None:
    text = "Five Million Look for an Heir is a 1938 German comedy film directed by Carl Boese."
    assert stated(text) == []
    assert stated(text, ("Five Million Look for an Heir",)) == ["five million look for an heir created_by carl boese"]
    assert stated(text, ("Five Million",)) == []


def test_each_relation_is_told_once() -> None:
    assert stated("Kestrel uses PostgreSQL. Kestrel uses PostgreSQL.") == ["kestrel uses postgresql"]


def test_the_confidence_is_enough_for_an_edge() -> None:
    assert RELATION_CONFIDENCE <= CONFIDENCE < 1


# In a store

TEXTS = {
    "project/kestrel.md": "---\nname: Kestrel\n---\nKestrel uses PostgreSQL.\n",
    "user/mina.md": "Wilhelmina Brandt works at Kestrel Labs.\n",
    "user/note.md": "Kestrel Labs and PostgreSQL came up, and Wilhelmina Brandt laughed.\n",
}

RELATIONS = (
    "select a.key, predicate, b.key from edge join node as a on a.id = src join node as b on b.id = dst"
    " where edge.kind = 'relates' and active order by 1"
)


@pytest.fixture
def world(tmp_path: Path) -> Answered:
    return Answered(tmp_path / "root", TEXTS)


def test_relations_become_edges_with_their_evidence(world: Answered) -> None:
    with world.store:
        assert world.rows(RELATIONS) == [
            ("entity:kestrel", "uses", "entity:postgresql"),
            ("entity:wilhelmina brandt", "works_at", "entity:kestrel labs"),
        ]
        assert world.rows("select distinct origin, confidence, at from statement") == [("rules", CONFIDENCE, "")]
        assert world.rebuilt() == world.digest()


def test_a_models_answer_takes_their_place(world: Answered) -> None:
    with world.store:
        person, firm = ("Wilhelmina Brandt", "person"), ("Kestrel Labs", "organization")
        world.put("user/mina", answer(person, firm, said=(("Wilhelmina Brandt", "works_on", "Kestrel Labs"),)))
        assert [row[1] for row in world.rows(RELATIONS)] == ["uses", "works_on"]
        assert world.rows("select origin from statement order by 1") == [("model",), ("rules",)]


def test_a_disabled_predicate_is_not_used(world: Answered) -> None:
    with world.store:
        world.store.schema.disable("predicate", "uses")
        world.store.sync()
        assert [row[1] for row in world.rows(RELATIONS)] == ["works_at"]
        world.store.schema.enable("predicate", "uses")
        world.store.sync()
        assert [row[1] for row in world.rows(RELATIONS)] == ["uses", "works_at"]


def test_two_employers_are_a_conflict(world: Answered) -> None:
    with world.store:
        world.write({"episode/later.md": "Wilhelmina Brandt works at Heron Group. Heron Group is in town.\n"})
        world.store.sync()
        conflicts = world.store.conflicts.list()
        assert [(one.subject, one.predicate) for one in conflicts] == [("entity:wilhelmina brandt", "works_at")]
