"""Entities looked up: lists with usage, and one entity with all that the texts say of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memdb.errors import MemdbError, NotFound, UsageError
from memdb.store import Store
from tests.answer_support import Answered, answer

TEXTS = {
    "project/quillbase.md": "---\naliases: [Harbour Base, Quill Base]\n---\nWhere the harbour sensors report.\n",
    "project/shift.md": "Mirela Dovrak keeps the sensors on Quillbase. She asked Harrowgate Labs about it.\n",
    "user/desk.md": "The desk of Mirela Dovrak has Harbour Base on a screen.\n",
    "episode/walk.md": "A quiet walk, nothing else.\n",
}
GUIDE = "# Sensors\n\nReadings go to Quillbase.\n\n# Desk\n\nQuillbase shows them.\n\n# Cables\n\nRed ones are spare.\n"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answered]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        made = Answered(tmp_path_factory.mktemp("entities"), TEXTS)
        docs = tmp_path_factory.mktemp("docs")
        (docs / "guide.md").write_text(GUIDE, encoding="utf-8")
        made.store.add([docs / "guide.md"])
        made.put(
            "project/shift",
            answer(
                ("Mirela Dovrak", "person"),
                ("Quillbase", "tool"),
                ("Harrowgate Labs", "organization"),
                said=(
                    ("Mirela Dovrak", "uses", "Quillbase", 0.8),
                    ("Quillbase", "part_of", "Harrowgate Labs", 0.7),
                    ("Mirela Dovrak", "works_at", "Harrowgate Labs", 0.5),
                ),
            ),
        )
        made.put(
            "user/desk",
            answer(
                ("Mirela Dovrak", "person"),
                ("Harbour Base", "tool"),
                said=(("Mirela Dovrak", "uses", "Harbour Base", 0.95),),
            ),
        )
        yield made
        made.store.close()


@pytest.fixture
def store(world: Answered) -> Store:
    return world.store


def test_the_list_counts_texts_memories_and_documents(store: Store) -> None:
    listed = [
        (e.name, e.type, e.origin, e.mentions, e.memories, e.documents, e.relations) for e in store.entities.list()
    ]
    assert listed[:3] == [
        ("Quillbase", "tool", "model", 5, 3, 1, 2),
        ("Mirela Dovrak", "person", "model", 2, 2, 0, 1),
        ("Harrowgate Labs", "organization", "model", 1, 1, 0, 1),
    ]
    assert store.entities.list()[0].aliases == ("Harbour Base", "Quill Base")
    assert store.entities.list()[0].id == "entity:quillbase"


LISTS: list[tuple[dict[str, Any], list[str]]] = [
    ({"types": ["person"]}, ["Mirela Dovrak"]),
    ({"types": [" Person ", "@TOOL"], "sort": "name"}, ["Mirela Dovrak", "Quillbase"]),
    ({"types": ["guild"]}, []),
    ({"name": "LABS"}, ["Harrowgate Labs"]),
    ({"name": "harbour base"}, ["Quillbase"]),
    ({"name": "quill  base"}, ["Quillbase"]),
    ({"name": "%"}, []),
    ({"name": "nobody"}, []),
    ({"origins": ["model"], "limit": 2}, ["Quillbase", "Mirela Dovrak"]),
    ({"origins": ["user"]}, []),
    ({"sort": "name", "origins": ["model"]}, ["Harrowgate Labs", "Mirela Dovrak", "Quillbase"]),
]


@pytest.mark.parametrize(("options", "names"), LISTS)
def test_lists(store: Store, options: dict[str, Any], names: list[str]) -> None:
    assert [entity.name for entity in store.entities.list(**options)] == names


@pytest.mark.parametrize(
    "name", ["Quillbase", "@QUILLBASE", " quillbase", "harbour base", "Quill Base", "entity:quillbase"]
)
def test_an_entity_is_found_by_name_alias_and_id(store: Store, name: str) -> None:
    assert store.entities.show(name).id == "entity:quillbase"


def test_an_entity_has_its_mentions_relations_and_documents(store: Store) -> None:
    shown = store.entities.show("Harbour Base")
    assert (shown.name, shown.type, shown.mentions, shown.memories, shown.documents) == ("Quillbase", "tool", 5, 3, 1)
    assert [(m.source.rpartition("/")[2], m.name, m.origin, m.about) for m in shown.mention_list] == [
        ("quillbase", "quillbase", "names", True),
        ("shift", "Quillbase", "model", False),
        ("desk", "Harbour Base", "model", False),
        ("guide.md#1", "Quillbase", "rules", False),
        ("guide.md#2", "Quillbase", "rules", False),
    ]
    assert {m.document for m in shown.mention_list[3:]} == {shown.document_list[0].document}
    assert [(d.chunks, d.weight) for d in shown.document_list] == [(2, 0.6667)]
    assert [(r.subject_name, r.predicate, r.object_name, r.confidence, r.sources) for r in shown.relations] == [
        ("Quillbase", "part_of", "Harrowgate Labs", 0.7, ("project/shift",)),
        ("Mirela Dovrak", "uses", "Quillbase", 0.95, ("project/shift", "user/desk")),
    ]


def test_a_hub_is_shown_in_part(store: Store) -> None:
    shown = store.entities.show("quillbase", limit=2)
    assert (len(shown.mention_list), shown.mentions) == (2, 5)
    assert store.entities.show("quillbase", limit=0).mention_list == ()


Call = Callable[[Store], object]
ERRORS: list[tuple[Call, type[MemdbError], str, str]] = [
    (lambda s: s.entities.show("Quilbase"), NotFound, "There is no entity 'Quilbase'", "Did you mean quillbase"),
    (lambda s: s.entities.show("dovrak"), NotFound, "There is no entity 'dovrak'", "mirela dovrak"),
    (lambda s: s.entities.show("x\u202ey"), NotFound, "'x<U+202E>y'", "`memdb entities`"),
    (lambda s: s.entities.show(""), NotFound, "There is no entity ''", "`memdb entities`"),
    (lambda s: s.entities.show("harbour base", limit=-1), UsageError, "limit of -1", "0 or more"),
    (
        lambda s: s.entities.list(sort="age"),
        UsageError,
        "sorted by 'age'",
        "mentions, memories, documents, relations, name",
    ),
    (lambda s: s.entities.list(origins=["guess"]), UsageError, "no origin 'guess'", "model, rules, names"),
    (lambda s: s.entities.list(limit=0), UsageError, "limit of 0", "1 or more"),
]


@pytest.mark.parametrize(("call", "kind", "message", "hint"), ERRORS)
def test_what_is_refused(store: Store, call: Call, kind: type[MemdbError], message: str, hint: str) -> None:
    with pytest.raises(MemdbError) as caught:
        call(store)
    assert type(caught.value) is kind
    assert message in caught.value.message
    assert hint in str(caught.value.hint)


def test_a_relation_is_said_by_texts_that_are_sure_enough(world: Answered) -> None:
    assert world.rows("select predicate, sources from relations where subject = 'entity:mirela dovrak'") == [
        ("uses", '["project/shift","user/desk"]')
    ]
