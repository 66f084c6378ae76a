"""Suggested merges of a store: which pairs a person is asked about, in which direction, and what ends the question."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memdb.base.text import sha256_text
from memdb.errors import UsageError
from memdb.services.entities import suggestions
from memdb.services.entities.suggestions import Suggestion
from memdb.services.index.signatures import signature
from memdb.services.index.vectors import put_vectors
from memdb.store import Store
from tests.answer_support import Answered, Said, answer
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder

Say = Callable[..., Answered]


@pytest.fixture
def say(tmp_path: Path) -> Say:
    """Makes a store of which a model said of each text that it mentions some names, `Name|type`."""
    made: list[Answered] = []

    def make(*texts: str, said: tuple[Said, ...] = (), files: dict[str, str] | None = None) -> Answered:
        names = [[part.strip() for part in text.split(",")] for text in texts]
        bodies = {
            f"episode/{place:02}.md": f"Note {place}: {', '.join(name.split('|')[0] for name in some)} again.\n"
            for place, some in enumerate(names)
        }
        world = Answered(tmp_path / f"root{len(made)}", {**bodies, **(files or {})})
        made.append(world)
        for place, some in enumerate(names):
            parts = [(name + "|concept").split("|") for name in some]
            output = answer(*((name, type_) for name, type_, *_ in parts), said=said if place == 0 else ())
            world.put(f"episode/{place:02}", output)
        return world

    return make


def asked(world: Answered, limit: int | None = None) -> list[tuple[str, str, float]]:
    return [(one.source.name, one.into.name, one.score) for one in world.store.entities.suggest(limit=limit)]


def test_a_suggestion_has_both_usages_and_its_reasons(say: Say) -> None:
    world = say("System Admin|person", "SystemAdmin|person", "SystemAdmin|person, Harrowgate")
    [found] = world.store.entities.suggest()
    assert isinstance(found, Suggestion)
    assert (found.source.id, found.source.mentions, found.source.memories) == ("entity:system admin", 1, 1)
    assert (found.into.id, found.into.mentions, found.into.type) == ("entity:systemadmin", 2, "person")
    assert (found.reasons, found.score) == (("same letters",), 0.95)


def test_of_two_that_are_mentioned_as_often_the_lesser_key_stays(say: Say) -> None:
    assert asked(say("SystemAdmin", "System Admin")) == [("SystemAdmin", "System Admin", 0.95)]


@pytest.mark.parametrize("texts", [("Opus 4.7", "Opus 4.8"), ("C#|technology", "C++|technology"), ("gpt-4", "gpt-4o")])
def test_versions_and_signs_are_not_asked_about(say: Say, texts: tuple[str, str]) -> None:
    assert asked(say(*texts)) == []


def test_nothing_is_merged(say: Say) -> None:
    world = say("System Admin", "SystemAdmin")
    before = world.digest()
    assert len(asked(world)) == 1
    assert world.digest() == before
    assert len(world.store.entities.list()) == 2


def test_the_likeliest_and_most_mentioned_come_first_and_the_limit_cuts(say: Say) -> None:
    texts = ("Lantern Works", "LanternWorks", "Quill Base", "Quillbase", "Quillbase", "Savile Row", "Saville Row")
    world = say(*texts)
    expected = [
        ("Quill Base", "Quillbase", 0.95),
        ("LanternWorks", "Lantern Works", 0.95),
        ("Saville Row", "Savile Row", 0.75),
    ]
    assert asked(world) == expected
    assert asked(world, 2) == expected[:2]
    with pytest.raises(UsageError, match="A limit of 0 shows nothing"):
        world.store.entities.suggest(limit=0)


def test_the_order_of_the_texts_says_nothing(say: Say) -> None:
    texts = ("Lantern Works", "LanternWorks", "Quill Base", "Quillbase", "neural network", "neural networks")
    assert asked(say(*texts)) == asked(say(*reversed(texts)))


def test_three_spellings_are_two_questions(say: Say) -> None:
    world = say("Code Review", "Code Review", "code-review", "code_review")
    assert asked(world) == [("code-review", "Code Review", 0.95), ("code_review", "Code Review", 0.95)]


def test_what_was_told_apart_is_not_asked_again(say: Say) -> None:
    world = say("System Admin", "SystemAdmin")
    decision = world.store.entities.distinct("SystemAdmin", "system admin")
    assert asked(world) == []
    world.rebuilt()
    assert asked(world) == []
    world.store.undo(decision.id)
    assert asked(world) == [("SystemAdmin", "System Admin", 0.95)]


def test_what_was_told_apart_stays_so_under_new_names(say: Say) -> None:
    world = say("System Admin", "SystemAdmin", "Operator")
    world.store.entities.distinct("SystemAdmin", "System Admin")
    world.store.entities.rename("System Admin", "System-Admin")
    assert asked(world) == []
    world.store.entities.merge("Operator", "System-Admin")
    assert asked(world) == []


def test_what_is_merged_is_not_asked_about_until_it_is_unmerged(say: Say) -> None:
    world = say("System Admin", "SystemAdmin")
    world.store.entities.merge("SystemAdmin", "System Admin")
    assert asked(world) == []
    world.store.entities.unmerge("SystemAdmin")
    assert len(asked(world)) == 1


def test_an_old_name_of_a_renamed_entity_is_compared_too(say: Say) -> None:
    world = say("Quill Base", "Lantern")
    assert asked(world) == []
    world.store.entities.rename("Lantern", "Quillbase")
    world.store.entities.rename("Quillbase", "Torch")
    assert asked(world) == [("Torch", "Quill Base", 0.95)]


def test_a_pair_that_a_text_relates_is_two_things(say: Say) -> None:
    world = say("Quill Base|tool, Quillbase|organization", said=(("Quill Base", "created_by", "Quillbase"),))
    assert asked(world) == []
    assert len(asked(say("Quill Base|tool, Quillbase|organization"))) == 1


def test_a_text_that_mentions_both_speaks_for_a_short_form_and_against_a_slip(say: Say) -> None:
    long = "Harbour Sensor Report Board"
    assert asked(say(long, "HSRB")) == [("HSRB", long, 0.7)]
    world = say(f"{long}, HSRB")
    assert asked(world) == [("HSRB", long, 0.79)]
    [found] = world.store.entities.suggest()
    assert found.reasons == ("acronym", "the same texts mention both")
    assert asked(say("Frances Howard", "Francis Howard")) == [("Francis Howard", "Frances Howard", 0.6)]
    assert asked(say("Frances Howard, Francis Howard")) == []


def test_a_part_of_a_company_is_asked_about_where_a_text_mentions_both(say: Say) -> None:
    assert asked(say("Quill|organization", "Quill Base Inc|organization")) == []
    [(source, into, score)] = asked(say("Quill|organization, Quill Base Inc|organization"))
    assert (source, into, score) == ("Quill Base Inc", "Quill", 0.61)


def test_an_alias_that_two_memories_give_makes_a_pair(say: Say) -> None:
    files = {
        "project/lantern.md": "---\naliases: [Glow]\n---\nSees the Harrowgate.\n",
        "project/torch.md": "---\naliases: [glow]\n---\nSees nothing.\n",
    }
    world = say("Lantern, Torch", files=files)
    [found] = world.store.entities.suggest()
    assert {found.source.id, found.into.id} == {"entity:lantern", "entity:torch"}
    assert found.reasons == ("two memories give both the same alias",)


def test_an_alias_that_another_entity_is_called_makes_a_pair(say: Say) -> None:
    files = {
        "project/lantern.md": "---\naliases: [Torch]\n---\nSees the Harrowgate.\n",
        "project/torch.md": "Sees nothing.\n",
    }
    world = say("Lantern, Torch", files=files)
    [found] = world.store.entities.suggest()
    assert {found.source.id, found.into.id} == {"entity:lantern", "entity:torch"}
    assert found.reasons == ("the name of one is an alias of the other",)


def test_vectors_of_names_raise_a_pair_and_make_none(tmp_path: Path) -> None:
    embedder = FakeEmbedder(meanings={"granada": "town", "grenada": "town", "harbour": "town"})
    write_files(tmp_path / "root", {"episode/a.md": "Trips.\n", "episode/b.md": "Trips again.\n"})
    with Store.init(tmp_path / "root", embedder=embedder) as store:
        store.sync()
        database = store._context.database
        with database.write() as connection:
            # As if texts mentioned three names, with vectors of each.
            for key, name in (("granada", "Granada"), ("grenada", "Grenada"), ("harbour", "Harbour")):
                connection.execute(
                    "insert into node (kind, key, label) values ('entity', ?, ?)", (f"entity:{key}", name)
                )
                node = connection.last_insert_rowid()
                connection.execute("insert into entity values (?, ?, ?, null, 'rules')", (node, key, name))
                vector = next(embedder.embed_passages([name])).tobytes()
                given = (embedder.identity, sha256_text(name))
                put_vectors(connection, [(*given, vector)])
                connection.execute("insert into entity_name values (?, ?, ?, ?)", (node, *given, signature(vector)))
        found = suggestions.suggest(store._context)
        assert [(one.source.name, one.into.name, one.score) for one in found] == [("Grenada", "Granada", 0.55)]
        assert found[0].reasons == ("one letter differs", "close in meaning")
        with database.write() as connection:
            connection.execute("delete from entity_name")
        assert suggestions.suggest(store._context) == []


def test_a_store_without_names_has_none(say: Say) -> None:
    assert asked(say()) == []
