"""What a person reads in the file: each view works in any SQLite, without extensions, and shows what is."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memdb.services.entities.entities import RELATION_CONFIDENCE
from memdb.services.recall.recall import HUB_DEGREE
from memdb.store import Store
from tests.answer_support import Answered, answer
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder

VIEWS = sorted((Path(__file__).parents[1] / "sql" / "views").glob("*.sql"))
OWN_SQLITE = pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 40), reason="this Python's SQLite is older than 3.40")

FILES: dict[str, str | bytes] = {
    "user/tea.md": "---\ndescription: What she drinks\ntags: [drinks, habits]\ncreated: 2026-01-02\n---\n"
    "Green tea. [[ferry]] [[gone]]\n",
    "project/ferry.md": "---\ntags: [travel]\n---\nLeaves at nine.\n",
    "project/ferry-2.md": "---\nsupersedes: ferry\n---\nLeaves at ten.\n",
    "episode/alone.md": "Nothing else.\n",
    "episode/broken.md": "---\ntitle: {{title}}\n---\nBroken head.\n",
    "episode/latin.md": b"\xff\xfe\x00",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        root = tmp_path_factory.mktemp("views")
        write_files(root, FILES)
        with Store.init(root, embedder=FakeEmbedder()) as made:
            made.sync()
            write_files(root, {"episode/alone.md": "Nothing more.\n"})
            made.sync(embed=False)
            yield made


def rows(store: Store, statement: str) -> list[tuple[Any, ...]]:
    return store._context.database.rows(statement)


@pytest.mark.parametrize("file", VIEWS, ids=lambda file: file.stem)
def test_each_view_is_one_plain_view(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert re.match(r"-- [A-Z].*\?.*\ncreate view ", text)
    assert f"create view {file.stem} as" in text
    assert not re.search(r"vec_|fts\b|match", text)


@pytest.mark.parametrize("file", VIEWS, ids=lambda file: file.stem)
def test_each_view_selects_here(store: Store, file: Path) -> None:
    assert len(rows(store, f"select * from {file.stem}")) >= 0


@OWN_SQLITE
@pytest.mark.parametrize("file", VIEWS, ids=lambda file: file.stem)
def test_each_view_selects_the_same_in_another_sqlite(store: Store, file: Path) -> None:
    with closing(sqlite3.connect(store.place.database.as_uri() + "?mode=ro", uri=True)) as connection:
        assert connection.execute(f"select * from {file.stem}").fetchall() == rows(store, f"select * from {file.stem}")


def test_every_view_of_the_file_has_a_file(store: Store) -> None:
    names = rows(store, "select name from sqlite_schema where type = 'view' order by name")
    assert [name for (name,) in names] == [file.stem for file in VIEWS]


EXPECTED: dict[str, list[tuple[Any, ...]]] = {
    "select id, file, superseded, neighbours from memories order by id": [
        ("episode/alone", "episode/alone.md", 0, 0),
        ("episode/broken", "episode/broken.md", 0, 0),
        ("project/ferry", "project/ferry.md", 1, 4),
        ("project/ferry-2", "project/ferry-2.md", 0, 1),
        ("user/tea", "user/tea.md", 0, 4),
    ],
    "select description, tags, created, has_secret, body from memories where id = 'user/tea'": [
        ("What she drinks", '["drinks", "habits"]', "2026-01-02", 0, "Green tea. [[ferry]] [[gone]]\n")
    ],
    "select id, superseded_by from superseded": [("project/ferry", "project/ferry-2")],
    "select tag, memories from tags order by tag": [("drinks", 1), ("habits", 1), ("travel", 1)],
    "select source, raw, status, candidates from unresolved_links": [("user/tea", "[[gone]]", "unresolved", "[]")],
    "select source, kind, status, target from links order by source, raw": [
        ("project/ferry-2", "supersedes", "resolved", "project/ferry"),
        ("user/tea", "wikilink", "resolved", "project/ferry"),
        ("user/tea", "wikilink", "unresolved", None),
    ],
    "select source, kind, target, weight from graph_edges order by source, kind, target": [
        ("project/ferry", "about", "entity:ferry", 1.0),
        ("project/ferry", "has_tag", "tag:travel", 0.8),
        ("project/ferry-2", "supersedes", "project/ferry", 0.9),
        ("user/tea", "has_tag", "tag:drinks", 0.8),
        ("user/tea", "has_tag", "tag:habits", 0.8),
        ("user/tea", "links_to", "project/ferry", 0.7),
        ("user/tea", "mentions", "entity:ferry", 1.0),
    ],
    "select id from orphans order by id": [("episode/alone",), ("episode/broken",)],
    "select kind, count(*) from graph_nodes group by kind": [("entity", 1), ("memory", 5), ("tag", 3)],
    "select id, vectors, passages from index_status order by id limit 3": [
        ("episode/alone", "waiting", 0),
        ("episode/broken", "embedded", 1),
        ("project/ferry", "embedded", 1),
    ],
    "select id, version, reason, text from memory_versions": [("episode/alone", 1, "edited", "Nothing else.\n")],
    "select path from problems where code = 'unreadable' or line is not null order by path": [
        ("episode/broken.md",),
        ("episode/latin.md",),
    ],
    "select id, name, type, origin, mentions, memories, documents, relations, aliases from entities": [
        ("entity:ferry", "ferry", None, "names", 2, 2, 0, 0, "[]")
    ],
    "select name, decided, aliases from entities": [("ferry", "[]", "[]")],
    "select * from decisions": [],
    "select * from entities_deleted": [],
    "select * from entity_aliases": [],
    "select source, entity, name, type, origin, found_as, about from mentions order by source": [
        ("project/ferry", "entity:ferry", "ferry", None, "names", "subject", 1),
        ("user/tea", "entity:ferry", "ferry", None, "names", "known", 0),
    ],
    # What one text alone is called is no entity: no other one mentions it.
    "select source, name from mentions_all where name <> 'ferry' order by source": [
        ("episode/alone", "alone"),
        ("episode/broken", "broken"),
        ("project/ferry-2", "ferry-2"),
        ("user/tea", "tea"),
    ],
    "select * from hubs": [],
    "select * from clusters": [],
}


@pytest.mark.parametrize("statement", EXPECTED, ids=lambda statement: statement.partition(" from ")[2].split()[0])
def test_what_a_view_shows(store: Store, statement: str) -> None:
    assert rows(store, statement) == EXPECTED[statement]


def test_an_edge_that_no_longer_stands_is_in_the_twin_alone(store: Store) -> None:
    connection = store._context.database.connection
    connection.execute("begin; update edge set active = 0 where kind = 'links_to'")
    try:
        assert rows(store, "select count(*) from graph_edges where kind = 'links_to'") == [(0,)]
        assert rows(store, "select count(*), sum(active) from graph_edges_all where kind = 'links_to'") == [(1, 0)]
    finally:
        connection.execute("rollback")


def test_the_view_of_hubs_has_the_number_of_the_walk() -> None:
    view = next(file for file in VIEWS if file.stem == "hubs").read_text(encoding="utf-8")
    assert f"degree > {HUB_DEGREE};" in view


def test_a_hub_is_listed(store: Store) -> None:
    connection = store._context.database.connection
    connection.execute("begin; update node set degree = 51 where key = 'tag:drinks'")
    try:
        assert rows(store, "select id, neighbours from hubs") == [("tag:drinks", 51)]
    finally:
        connection.execute("rollback")


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with two memories and a document of which a model said something."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_HOME", str(tmp_path_factory.mktemp("home")))
        texts = {
            "user/ada.md": "Ada Wren of Corvin Works speaks MQTT.\n",
            "user/later.md": "Ada Wren left for Bree Labs, where they use Zigbee.\n",
            "project/corvin-works.md": "---\nname: Corvin Works\naliases: [Corvin Foundry]\n---\nA firm.\n",
        }
        world = Answered(tmp_path_factory.mktemp("answered"), texts)
        docs = tmp_path_factory.mktemp("docs")
        (docs / "guide.md").write_text(
            "# Corvin\n\nThe Corvin Foundry is old.\n\n# Rest\n\nNothing else.\n", encoding="utf-8"
        )
        world.store.add([docs / "guide.md"])
        person, firm = ("Ada Wren", "person"), ("Corvin Works", "organization")
        said = ("Ada Wren", "works_at", "Corvin Works")
        world.put("user/ada", answer(person, firm, ("MQTT", "protocol"), said=(said, ("Ada Wren", "speaks", "MQTT"))))
        world.put(
            "user/later",
            answer(
                person, ("Bree Labs", "organization"), ("Zigbee", "protocol"),
                said=(("Ada Wren", "works_at", "Bree Labs", 0.8), ("Bree Labs", "uses", "Ada Wren", 0.4)),
                new_types={"protocol": "A wire format.", "vibe": "A mood."},
            ),
        )  # fmt: skip
        world.store.proposals.dismiss("type", "vibe")
        yield world.store
        world.store.close()


CHUNKS = "replace(source, (select id from documents), 'guide')"
ANSWERED: dict[str, list[tuple[Any, ...]]] = {
    "select name, type, origin, mentions, memories, documents, relations, aliases from entities"
    " where origin = 'model' order by name": [
        ("Ada Wren", "person", "model", 2, 2, 0, 2, "[]"),
        ("Bree Labs", "organization", "model", 1, 1, 0, 1, "[]"),
        ("Corvin Works", "organization", "model", 3, 2, 1, 1, '["Corvin Foundry"]'),
    ],
    f"select {CHUNKS}, name, origin, about from mentions where entity = 'entity:corvin works' order by 1, 2": [
        ("guide#1", "Corvin Foundry", "rules", 0),
        ("project/corvin-works", "Corvin Foundry", "names", 1),
        ("project/corvin-works", "Corvin Works", "names", 1),
        ("user/ada", "Corvin Works", "model", 0),
    ],
    "select source, name from mentions where type = 'protocol'": [],
    "select source, name, refused, at is not null from mentions_all where type = 'protocol' order by 1": [
        ("user/ada", "MQTT", 0, 1),
        ("user/later", "Zigbee", 0, 1),
    ],
    "select count(*) from mentions_all where origin <> 'model' and at is not null": [(0,)],
    "select subject, predicate, object, confidence, sources from relations order by 3": [
        ("entity:ada wren", "works_at", "entity:bree labs", 0.8, '["user/later"]'),
        ("entity:ada wren", "works_at", "entity:corvin works", 0.9, '["user/ada"]'),
    ],
    "select entity, name, type, chunks, weight from document_entities where entity = 'entity:corvin works'": [
        ("entity:corvin works", "Corvin Works", "organization", 1, 0.5)
    ],
    "select kind, name, uses, evidence, single_valued from vocabulary_usage where evidence order by 1, 2": [
        ("predicate", "uses", 0, 1, 0),
        ("predicate", "works_at", 2, 2, 1),
        ("type", "organization", 2, 4, 0),
        ("type", "person", 1, 2, 0),
    ],
    "select kind, name, description, texts, state from proposals order by 1, 2": [
        ("predicate", "speaks", None, 1, "waiting"),
        ("type", "protocol", "A wire format.", 2, "pending"),
        ("type", "vibe", "A mood.", 1, "dismissed"),
    ],
    "select kind, name, description, texts from pending_proposals": [("type", "protocol", "A wire format.", 2)],
    "select subject_name, predicate, object_name, confidence, sources from open_conflicts order by object": [
        ("Ada Wren", "works_at", "Bree Labs", 0.8, '{"user/later":0.8}'),
        ("Ada Wren", "works_at", "Corvin Works", 0.9, '{"user/ada":0.9}'),
    ],
    "select model, sources, refused, output like '%MQTT%', at > '2020-01-01T00:00:00Z' from extractions order by 2": [
        ("m", '["user/ada"]', "[]", 1, 1),
        ("m", '["user/later"]', "[]", 0, 1),
    ],
    "select id, indexed_at like '20__-__-__T__:__:__Z' from memories order by id": [
        ("project/corvin-works", None),
        ("user/ada", 1),
        ("user/later", 1),
    ],
    "select ordinal, indexed_at from chunks order by ordinal": [(1, None), (2, None)],
    "select action, subject, detail, state, reason, waiting, contradicts from decisions": [
        ("dismiss", "type:vibe", '{"list": "type", "name": "vibe"}', "standing", None, 0, "[]")
    ],
    "select name, entity, made_by from entity_aliases": [("Corvin Foundry", "entity:corvin works", "memory")],
    "select * from runs": [],
    "select * from run_events": [],
}


@OWN_SQLITE
@pytest.mark.parametrize("statement", ANSWERED)
def test_what_a_view_of_the_entity_graph_shows(answered: Store, statement: str) -> None:
    with closing(sqlite3.connect(answered.place.database)) as connection:
        assert connection.execute(statement).fetchall() == ANSWERED[statement]


def test_the_view_of_relations_has_the_number_of_the_edges() -> None:
    view = next(file for file in VIEWS if file.stem == "relations").read_text(encoding="utf-8")
    assert f"confidence >= {RELATION_CONFIDENCE}\n" in view


BIG = {"node", "memory", "chunk", "edge", "mention", "statement", "entity", "entity_alias", "text", "subject", "object"}
LOOKED_UP = [
    "entities where id = 'entity:x'",
    "mentions where entity = 'entity:x'",
    "mentions where source = 'user/x'",
    "mentions_all where source = 'user/x'",
    "relations where subject = 'entity:x'",
    "relations where object = 'entity:x'",
    "document_entities where document = 'document:x'",
    "document_entities where entity = 'entity:x'",
    "extractions where text_sha256 = 'x'",
    "open_conflicts where conflict = 'x'",
    "vocabulary_usage where name = 'x'",
    "entity_aliases where entity = 'entity:x'",
    "decisions where id = 'x'",
]


@OWN_SQLITE
@pytest.mark.parametrize("condition", LOOKED_UP)
def test_what_is_looked_up_reads_no_table_as_a_whole(answered: Store, condition: str) -> None:
    with closing(sqlite3.connect(answered.place.database)) as connection:
        plan = [row[3] for row in connection.execute(f"explain query plan select * from {condition}")]
    assert [line for line in plan if (found := re.match(r"SCAN (\w+)", line)) and found[1] in BIG] == []
