"""What a rebuild takes over of unchanged texts, and that nothing damaged or outdated comes with it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import apsw
import pytest

from memdb.base import sums
from memdb.domain import documents, formats
from memdb.services.documents import document_content
from memdb.services.entities import matching, mentions
from memdb.services.health import rebuilding
from memdb.services.index import vectors
from tests.document_support import Shelf
from tests.fake_embedder import FakeEmbedder
from tests.histories import differing

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

FILES: dict[str, str | bytes] = {
    "guide.md": "# The Maple Guide\n\n"
    + "".join(
        f"## Part {number}\n\nVelkor Works runs PostgreSQL on birch-{number}. "
        "Ines Halloran wrote to team@velkor.example. Velkor Works depends on Redis. The Maple Guide says more.\n\n"
        + "Some more words, so that this part is cut into several passages, one after the other. " * 6
        + "\n\n"
        for number in range(4)
    ),
    "notes.txt": "Maple Team met in the Oslo Office. The token is " + TOKEN + ", says Ines Halloran.\n",
    "people.jsonl": '{"id": "p1", "title": "Ines Halloran", "text": "Ines Halloran works at Velkor Works."}\n',
}
MEMORIES: dict[str, str | bytes] = {
    "user/maple-team.md": "---\naliases: [Maples]\ntags: [team]\n---\nThe Maples use PostgreSQL. See [[tea]].\n",
    "user/tea.md": "Tea is drunk at five by Ines Halloran.\n",
}

MAKERS = {
    "documents read": (documents, "read"),
    "words cut": (document_content, "cut_words"),
    "texts read for names": (mentions, "_evidence"),
    "texts searched for names": (matching, "_matched_text"),
    "texts cut into windows": (vectors, "passages_of"),
}
"""What makes the units that a rebuild may take over."""


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """A store of memories and documents, all indexed."""
    for path, text in MEMORIES.items():
        file = tmp_path / "root" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    made = Shelf(tmp_path, FILES)
    made.add()
    made.store.sync()
    return made


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each unit is made."""
    counts: Counter[str] = Counter()

    def counted(name: str, original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            counts[name] += 1
            return original(*args, **kwargs)

        return call

    for name, (module, function) in MAKERS.items():
        monkeypatch.setattr(module, function, counted(name, getattr(module, function)))
    return counts


def damage(shelf: Shelf, statement: str) -> None:
    """Change rows behind memdb's back, without what triggers would make of it."""
    shelf.store.close()
    connection = apsw.Connection(str(shelf.store.place.database))
    for (name,) in connection.execute("select name from sqlite_schema where type = 'trigger'").fetchall():
        connection.execute(f'drop trigger "{name}"')
    connection.execute(statement)
    assert connection.total_changes() > 0
    connection.close()


def test_of_unchanged_texts_nothing_is_made_again(shelf: Shelf, made: Counter[str]) -> None:
    live = shelf.store.digest()
    assert shelf.store.rebuild().report.documents.added == len(FILES)
    assert made == {}
    assert differing(live, shelf.store.digest()) == []
    assert shelf.store.rebuild().report.embedded == 0  # what was taken over can be taken over again
    assert made == {}
    shelf.assert_rebuilds()


DAMAGES = [
    ("update chunk set text = text || ' more' where ordinal = 1", "documents read"),
    ("update chunk set heading_path = '[\"Part 9\"]' where ordinal = 1", "documents read"),
    ("update chunk set has_secret = 1 - has_secret", "documents read"),
    ("update chunk set start_line = start_line + 1 where ordinal = 2", "documents read"),
    ("update chunk set record_id = 'p2' where record_id = 'p1'", "documents read"),
    ("update chunk set text_sha256 = identity where ordinal = 0", "documents read"),
    ("delete from chunk where ordinal = 2", "documents read"),
    ("update edge set kind = 'links_to' where kind = 'next'", "documents read"),
    ("update document set title = 'The Oak Guide' where title is not null", "documents read"),
    ("update document set notes = '[\"x\"]'", "documents read"),
    ("update document set passages_sum = passages_sum + 1", "documents read"),
    ("update document set passages_sum = null", "documents read"),
    ("update document set extractor = 'text 0'", "documents read"),
    ("update fts set body = 'wrong' where rowid in (select id from chunk)", "words cut"),
    ("update fts_length set words = words + 1", "words cut"),
    ("delete from fts where rowid in (select id from chunk)", "words cut"),
    ("update chunk set words_sum = null", "words cut"),
    ("update mention set name = 'Wrong' where source <> 'known'", "texts read for names"),
    ("update mention set name_key = name_key || 'x' where source <> 'known'", "texts read for names"),
    ("delete from mention where source <> 'known'", "texts read for names"),
    ("update statement set confidence = 0.1", "texts read for names"),
    ("delete from statement", "texts read for names"),
    ("insert into proposal_evidence select id, 'type', 'x', 'x', 'x', '' from chunk", "texts read for names"),
    ("update known_name set name = 'Wrong' where node_id in (select id from memory)", "texts read for names"),
    ("update extracted set skip = 'math-dense'", "texts read for names"),
    ("update extracted set evidence_sum = null", "texts read for names"),
    ("update extracted set input_sha256 = 'x'", "texts read for names"),
    ("update chunk set indexed_at = '2020'", "texts read for names"),
    ("update mention set name = 'Wrong' where source = 'known'", "texts searched for names"),
    ("delete from mention where source = 'known'", "texts searched for names"),
    (
        "insert into mention select id, 'wrong', 'names', 'known', 'Wrong', null, '', 9, 0, 0 from chunk",
        "texts searched for names",
    ),
    ("delete from known_name where source = 'entity'", "texts searched for names"),
    ("update extracted set known_sum = known_sum - 1", "texts searched for names"),
    ("insert into extract_waiting select id, 'match' from chunk", "texts searched for names"),
    ("update passage set stop = stop - 1", "texts cut into windows"),
    ("update passage set text_sha256 = 'x'", "texts cut into windows"),
    ("delete from passage", "texts cut into windows"),
    ("update embedded set windows_sum = null", "texts cut into windows"),
]


@pytest.mark.parametrize(("statement", "again"), DAMAGES)
def test_what_was_changed_is_made_again(shelf: Shelf, made: Counter[str], statement: str, again: str) -> None:
    live = shelf.store.digest()
    damage(shelf, statement)
    shelf.store.rebuild()
    assert made[again] > 0
    assert differing(live, shelf.store.digest()) == []
    made.clear()
    shelf.store.rebuild()
    assert made == {}


def test_a_vector_that_is_gone_is_made_again_for_its_windows(shelf: Shelf) -> None:
    live = shelf.store.digest()
    damage(shelf, "delete from embedding where rowid % 2")
    assert shelf.store.rebuild().report.embedded > 0
    assert differing(live, shelf.store.digest()) == []


def test_another_memdb_makes_everything_again(
    shelf: Shelf, made: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    live = shelf.store.digest()
    monkeypatch.setattr(sums, "RECIPE", "another")
    shelf.store.rebuild()
    assert made.keys() == MAKERS.keys()
    assert differing(live, shelf.store.digest()) == []


def test_another_extractor_reads_again(shelf: Shelf, made: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    kept = formats.versions() - {"markdown 2"}
    monkeypatch.setattr(formats, "versions", lambda: kept)
    shelf.store.rebuild()
    assert made["documents read"] >= 1


def test_another_reader_of_names_reads_again(shelf: Shelf, made: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mentions, "VERSION", "another")
    shelf.store.rebuild()
    assert made["texts read for names"] > 0 and made["documents read"] == 0


def test_another_model_cuts_again(shelf: Shelf, made: Counter[str]) -> None:
    shelf.store._context.set_embedder(FakeEmbedder("fake/other@1", window=32))
    shelf.store.rebuild()
    assert made["documents read"] == len(FILES)
    assert made["texts cut into windows"] > 0


def test_a_file_of_another_name_or_text_is_read(shelf: Shelf, made: Counter[str]) -> None:
    (shelf.docs / "guide.md").rename(shelf.docs / "handbook.md")
    shelf.put({"notes.txt": "Maple Team met in Bergen.\n"})
    shelf.store.rebuild()
    assert made["documents read"] == 2
    shelf.assert_rebuilds()


def test_a_known_name_that_is_new_is_looked_for(shelf: Shelf, made: Counter[str]) -> None:
    (shelf.where / "root/user/redis.md").write_text("Redis keeps sessions.\n")
    shelf.store.rebuild()
    assert made["texts searched for names"] > 0 and made["documents read"] == 0
    shelf.assert_rebuilds()


def test_what_grew_step_by_step_is_taken_over_too(shelf: Shelf, made: Counter[str]) -> None:
    shelf.store.save("reference/redis", "Redis keeps sessions.", aliases=["cache store"])
    shelf.store.sync()
    shelf.put({"late.md": "# Late\n\nThe cache store is down, says Ines Halloran.\n"})
    shelf.store.sync()
    made.clear()
    live = shelf.store.digest()
    shelf.store.rebuild()
    assert made == {}
    assert differing(live, shelf.store.digest()) == []


def test_healing_takes_vectors_alone(shelf: Shelf, made: Counter[str]) -> None:
    live = shelf.store.digest()
    healed = rebuilding.rebuild(shelf.store._context, keep_old=False)
    assert healed.salvaged > 0
    assert made["documents read"] == len(FILES)
    assert made.keys() == MAKERS.keys()
    shelf.store.sync()
    assert differing(live, shelf.store.digest()) == []


def test_an_old_database_that_cannot_be_read_gives_nothing(shelf: Shelf, made: Counter[str]) -> None:
    """Pages of it are noise: what stood on them is made again."""
    live = shelf.store.digest()
    shelf.store.close()
    file = shelf.store.place.database
    data = bytearray(file.read_bytes())
    size = 8192
    for page in range(len(data) // size // 3, len(data) // size, 2):
        data[page * size : page * size + 100] = b"\xa5" * 100
    file.write_bytes(data)
    shelf.store.rebuild()
    shelf.store.sync()
    assert differing(live, shelf.store.digest()) == []


OTHER_TYPES = [
    "update mention set name_key = cast(name_key as blob) where source <> 'known' and ordinal % 2",
    "update statement set predicate = cast(predicate as blob) where object_key like 'p%'",
    "update known_name set match_key = cast(match_key as blob) where node_id % 2",
    "update embedding set text_sha256 = cast(text_sha256 as blob)",
]
"""What bytes that a disk changed can make of a text; SQLite itself would refuse it in a strict table."""


@pytest.mark.parametrize("change", OTHER_TYPES)
def test_a_value_of_another_type_is_made_again_and_stops_no_rebuild(shelf: Shelf, change: str) -> None:
    whole = shelf.store.digest()
    shelf.store.close()
    connection = apsw.Connection(str(shelf.store.place.database))
    connection.pragma("writable_schema", True)
    tables = connection.execute("select sql, name from sqlite_schema where type = 'table'").fetchall()
    loose = [(re.sub(r"\bstrict\b\s*,?\s*(without rowid)?\s*$", r"\1", sql), name) for sql, name in tables]
    for schema, statement in ((loose, change), (tables, "select 1")):
        connection.executemany("update sqlite_schema set sql = ? where name = ? and type = 'table'", schema)
        connection.pragma("schema_version", connection.pragma("schema_version") + 1)
        connection.close()
        connection = apsw.Connection(str(shelf.store.place.database))
        connection.pragma("writable_schema", True)
        connection.execute(statement)
    connection.close()
    shelf.store.rebuild()
    assert differing(shelf.store.digest(), whole) == []
