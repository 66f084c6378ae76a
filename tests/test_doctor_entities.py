"""The doctor checks every derived row of the entity graph against its evidence, and says what is wrong with it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from memdb.services.entities import entity_checks
from memdb.services.index import entity_vectors
from memdb.store import Store
from tests.answer_support import Answered, answer
from tests.cli_support import memdb
from tests.fake_embedder import FakeEmbedder

TEXTS = {
    "user/ada.md": "---\naliases: [adaw]\n---\nAda Wren works at Corvin Works.\n",
    "user/later.md": "Ada Wren works at Bree Labs now.\n",
    "user/third.md": "Corvin Works and Bree Labs share a yard with Otto Lund.\n",
    "user/fourth.md": "Otto Lund and Mina Hald were there.\n",
    "user/fifth.md": "Mina Hald wrote to adaw.\n",
}

NAMES = {
    "spellings",
    "entities",
    "mention edges",
    "relations",
    "known names",
    "conflicts",
    "entity vectors",
    "decisions",
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    world = Answered(tmp_path / "root", TEXTS)
    person = ("Ada Wren", "person")
    for memory, firm in (("user/ada", "Corvin Works"), ("user/later", "Bree Labs")):
        world.put(memory, answer(person, (firm, "organization"), said=(("Ada Wren", "works_at", firm),)))
    world.store._context.set_embedder(FakeEmbedder())
    world.store.entities.rename("Otto Lund", "Otto Lundt")
    world.store.entities.retype("Mina Hald", "person")
    world.store.sync()
    yield world.store
    world.store.close()


def bad(store: Store) -> dict[str, str]:
    return {finding.check: finding.detail for finding in store.doctor() if finding.state != "ok"}


def break_(store: Store, *damage: str) -> None:
    """Change rows as another program would; what triggers note of it is dropped, as if it had been derived."""
    other = apsw.Connection(str(store.place.database))
    other.pragma("foreign_keys", False)
    for statement in damage:
        other.execute(statement)
    for queue in ("entity_touched", "statement_touched", "known_name_changed", "extract_waiting", "conflict_stale"):
        other.execute(f"delete from {queue}")
    if not any("conflict_touched" in statement for statement in damage):
        other.execute("delete from conflict_touched")
    other.close()


def test_a_sound_store(store: Store) -> None:
    assert bad(store) == {}
    assert {finding.check for finding in store.doctor()} >= NAMES
    assert len(store.conflicts.list()) == 1


OF_MINA = "(select id from node where key = 'entity:mina hald')"

BROKEN = [
    ("update spelling set uses = 9 where name_key = 'mina hald'", "spellings", "1 names are counted otherwise"),
    ("delete from spelling", "spellings", "names are counted otherwise than texts mention them, first of them: "),
    (
        "delete from mention where name_key = 'mina hald'",
        "entities",
        "1 entities are mentioned by no text, first of them: entity:mina hald",
    ),
    (
        "delete from mention where name_key = 'mina hald'",
        "mention edges",
        "2 edges have no mention behind them, first of them: user/fifth to entity:mina hald",
    ),
    (
        f"delete from entity where id = {OF_MINA}",
        "entities",
        "1 names that texts mention have no entity, first of them: mina hald",
    ),
    (
        f"delete from entity where id = {OF_MINA}",
        "entities",
        "1 nodes of entities have no entity, first of them: entity:mina hald",
    ),
    (
        f"update node set label = 'M' where id = {OF_MINA}",
        "entities",
        "1 entities are called otherwise than their nodes",
    ),
    (
        f"update entity set type = 'vessel' where id = {OF_MINA}",
        "entities",
        "1 entities have a type that the vocabulary does not have",
    ),
    (
        "insert into entity_decision values ('mina hald', 'mina hald', null, null, null, 1)"
        " on conflict do update set deleted = 1",
        "entities",
        "1 entities are there although they were deleted",
    ),
    (
        f"delete from edge where dst = {OF_MINA} and kind = 'mentions'",
        "mention edges",
        "2 mentions have no edge, first of them: user/fifth to entity:mina hald",
    ),
    (f"update edge set kind = 'about' where dst = {OF_MINA}", "mention edges", "edges have no mention behind them"),
    (
        f"insert into edge (src, dst, kind, weight) select id, {OF_MINA}, 'mentions', 1.0 from node"
        " where key = 'user/ada'",
        "mention edges",
        "1 edges have no mention behind them, first of them: user/ada to entity:mina hald",
    ),
    (
        "delete from statement",
        "relations",
        "2 relations are stated by no text, first of them: entity:ada wren works_at entity:bree labs",
    ),
    ("delete from statement", "conflicts", "2 sides of conflicts are stated by no text"),
    ("delete from edge where kind = 'relates'", "relations", "2 statements have no relation"),
    (
        "insert into known_name values ('ghost', 'ghost', 'ghost', 'title', 999, 'Ghost')",
        "known names",
        "1 known names belong to something that is gone, first of them: Ghost",
    ),
    (
        "update known_name set entity_key = 'else' where source = 'entity' and name_key = 'bree labs'",
        "known names",
        "1 known names of entities mean other ones",
    ),
    (
        "delete from known_name where source = 'alias'",
        "known names",
        "1 aliases are given by no memory, first of them: adaw",
    ),
    (
        "delete from conflict_side where rowid = (select min(rowid) from conflict_side)",
        "conflicts",
        "1 conflicts have only one side",
    ),
    (
        "update conflict set predicate = 'uses'",
        "conflicts",
        "1 conflicts are about a predicate that holds for many things",
    ),
    (
        "insert into conflict_touched values (1) on conflict do nothing",
        "conflicts",
        "1 entities wait for their conflicts to be derived",
    ),
    ("delete from entity_name", "entity vectors", "entities lack a vector or have one that they should not"),
    ("update entity_name set text_sha256 = ''", "entity vectors", "names of entities have no vector"),
    (
        "update entity_name set text_sha256 = (select text_sha256 from embedding limit 1)",
        "entity vectors",
        "vectors are of another name",
    ),
    (
        "update decision set state = 'undone'",
        "decisions",
        "2 rows of decision are other than the journal's decisions make them",
    ),
    ("delete from decision", "decisions", "2 rows of decision are other"),
    ("delete from entity_decision where type is not null", "decisions", "1 rows of entity_decision are other"),
    (
        "update entity_alias set entity_key = 'x' where made_by = 'rename'",
        "decisions",
        "1 rows of entity_alias are other",
    ),
    ("delete from vocabulary where name_key = 'event'", "decisions", "1 rows of vocabulary are other"),
]


@pytest.mark.parametrize(("damage", "check", "said"), BROKEN)
def test_what_is_broken_is_named(store: Store, damage: str, check: str, said: str) -> None:
    break_(store, damage)
    finding = next(finding for finding in store.doctor() if finding.check == check)
    assert said in finding.detail
    assert finding.state == "error"
    assert finding.hint == "Run `memdb doctor --fix` (or `memdb rebuild`): the files and the journal have everything."


def test_a_rebuild_mends_it_all(store: Store) -> None:
    break_(store, *dict.fromkeys(damage for damage, _, _ in BROKEN))
    assert len(bad(store).keys() & NAMES) > 4
    store.rebuild()
    assert bad(store) == {}


def test_what_only_waits_is_no_error(store: Store) -> None:
    with store._context.database.write() as connection:
        connection.execute("insert into extract_waiting select id, 'read' from memory")
        connection.execute("delete from edge where kind = 'mentions'")
    found = {finding.check: finding for finding in store.doctor()}
    assert found["entities"].state == "warning"
    assert found["entities"].detail.startswith("5 texts wait to be read for names")
    assert found["entities"].hint == "Run `memdb sync`."
    assert "mention edges" not in found


def test_the_command_says_it_and_fails(store: Store) -> None:
    break_(store, "delete from statement")
    store.close()
    root = str(store.place.root)
    found = memdb("doctor", "--root", root, "--json")
    relations = next(one for one in found.json["findings"] if one["check"] == "relations")
    assert (found.code, relations["state"]) == (1, "error")
    assert "2 relations are stated by no text" in memdb("doctor", "--root", root).out


@pytest.mark.slow
def test_a_hundred_thousand_mentions_take_seconds(store: Store) -> None:
    database = store._context.database
    with database.write() as connection:
        node = connection.execute("select max(id) from node").get
        for at in range(1, 10_001):
            connection.execute(
                "insert into node (id, kind, key, label) values (?, 'entity', ?, ?)",
                (node + at, f"entity:n{at}", f"N{at}"),
            )
            connection.execute("insert into entity values (?, ?, ?, null, 'rules')", (node + at, f"n{at}", f"N{at}"))
        for text in range(10_000):
            key = node + 20_000 + text
            connection.execute("insert into node (id, kind, key, label) values (?, 'tag', ?, '')", (key, f"tag:{text}"))
            for place in range(10):
                name = 1 + (text * 7 + place * 991) % 10_000
                connection.execute(
                    "insert or ignore into mention values (?, ?, 'rules', 'proper', ?, null, '', 0, 0, 0)",
                    (key, f"n{name}", f"N{name}"),
                )
                connection.execute(
                    "insert or ignore into edge (src, dst, kind, weight) values (?, ?, 'mentions', 1.0)",
                    (key, node + name),
                )
        connection.execute("delete from entity_touched")
        database.set_meta(entity_vectors.STALE, "1")
    start = time.process_time()
    checks = entity_checks.check(store._context)
    assert time.process_time() - start < 20
    assert [one.name for one in checks if one.wrong] == []
