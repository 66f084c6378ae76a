"""Memories that other tools keep as JSON: one note each, with ids, dates and links, and nothing lost unseen."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memdb.base import archives
from memdb.domain import frontmatter
from memdb.domain.importers import CannotImport, Note, importer
from memdb.domain.importers.records import iso_time
from memdb.store import Store
from tests.import_support import files_of, json_source, kept_lines, opened, outcome, source


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return opened(tmp_path / "root")


def test_the_file_of_the_mcp_memory_server(store: Store, tmp_path: Path) -> None:
    done = store.import_from([source("memory.jsonl", tmp_path)])
    assert done.kinds == ["mcp-memory"]
    assert sorted(files_of(done).values()) == [
        "reference/C- -old-.md",
        "reference/Ferry site.md",
        "reference/Marit Aune.md",
    ]
    assert kept_lines(store.place.root / "reference" / "Marit Aune.md") == (
        "---\nname: Marit Aune\ndescription: person\ntags: [person]\nimported_from: mcp-memory\n"
        "imported_id: Marit Aune\n---\n\n- Keeps the ferry timetable\n- Prefers short notes\n  on paper\n"
        "- Sails on Sundays\n\n## Relations\n\n- maintains [[Ferry site]]\n- knows C#  old  [[C- -old-]]\n"
    )
    assert store.show("Ferry site").frontmatter["mcp_memory"] == {"createdAt": "2025-01-02"}
    assert done.audit.left == {
        "lines that are not valid JSON": 1,
        "records that are no entity and no relation": 1,
        "relations of an entity that is not in the file ('Nobody')": 1,
    }
    links = {(link.source, link.id) for link in store.links(statuses=("resolved",))}
    assert links == {
        ("reference/Marit Aune", "reference/Ferry site"),
        ("reference/Marit Aune", "reference/C- -old-"),
    }


def test_the_same_as_one_json_object(store: Store, tmp_path: Path) -> None:
    value = {
        "entities": [
            {"name": "Quay", "entityType": "place", "observations": ["Mended in spring", {"content": "Of oak"}]}
        ],
        "relations": [{"from": "Quay", "to": "Quay", "relationType": "is"}],
    }
    done = store.import_from([json_source(tmp_path, "graph.json", value)])
    assert done.kinds == ["mcp-memory"]
    assert store.show("Quay").body == "- Mended in spring\n- Of oak\n\n## Relations\n\n- is [[Quay]]\n"


def test_mem0(store: Store, tmp_path: Path) -> None:
    done = store.import_from([source("mem0.json", tmp_path)])
    assert done.kinds == ["mem0"]
    assert outcome(done) == {f"mem0.json: record {number}": "created" for number in (1, 3, 4)}
    files = files_of(done)
    assert kept_lines(store.place.root / files["mem0.json: record 1"]) == (
        "---\ntags: [food, daily-habits]\ncreated: 2024-09-03T10:16:05.490548-07:00\nimported_from: mem0\n"
        "imported_id: 0b1c-1\nuser_id: marit\nmem0:\n  hash: 9f2e\n  metadata:\n    mood: calm\n    type: drink\n"
        "---\n\nPrefers tea over coffee in the morning\n"
    )
    assert files["mem0.json: record 1"] == "reference/prefers-tea-over-coffee-in-the-morning.md"
    assert files["mem0.json: record 3"].startswith("reference/prefers-tea-over-coffee-in-the-morning~")
    assert store.show("rows-on-tuesdays").frontmatter["created"] == "2024-09-04T10:00:00Z"
    assert done.audit.left == {"records without a text": 1}
    assert [sorted(pair) for pair in done.audit.exact] == []


@pytest.mark.parametrize(
    "wrap",
    [
        lambda records: records,
        lambda records: {"results": records},
        lambda records: {"memories": records, "total": 2},
        lambda records: {"count": 2, "results": {"results": records}},
    ],
)
def test_a_later_export_of_mem0_updates_by_id(store: Store, tmp_path: Path, wrap: Any) -> None:
    records = [
        {"id": "a", "memory": "Likes tea", "user_id": "m"},
        {"id": "b", "memory": "Rows on Tuesdays", "user_id": "m"},
    ]
    assert store.import_from([json_source(tmp_path, "1.json", wrap(records))]).counts == {"created": 2}
    records[0]["memory"] = "Likes coffee by now"
    records.append({"id": "c", "memory": "Sails", "user_id": "m"})
    done = store.import_from([json_source(tmp_path / "later", "2.json", wrap(records))])
    assert done.counts == {"created": 1, "unchanged": 1, "updated": 1}
    assert store.show("likes-tea").body == "Likes coffee by now\n"
    assert len(store.list()) == 3


def test_without_its_journal_an_id_is_still_known(store: Store, tmp_path: Path) -> None:
    file = json_source(tmp_path, "m.json", [{"id": "a", "memory": "Likes tea", "user_id": "m"}])
    store.import_from([file])
    store.close()
    for journal in store.place.journal.iterdir():
        journal.unlink()
    with opened(store.place.root) as again:
        later = json_source(tmp_path, "later.json", [{"id": "a", "memory": "Likes coffee", "user_id": "m"}])
        # Nothing says whether a person wrote what is there now.
        assert again.import_from([later]).counts == {"edited": 1}
        assert again.import_from([file]).counts == {"unchanged": 1}
        assert again.import_from([later]).counts == {"updated": 1}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ([], None),
        ({"a": 1}, None),
        ([{"memory": "text", "id": "1"}], "mem0"),
        ([{"payload": {"data": "text", "user_id": "m"}}], "mem0"),
        ([{"type": "entity", "name": "A", "entityType": "x", "observations": []}], "mcp-memory"),
        ([{"mapping": {}, "title": "x"}], "chatgpt"),
        ({"conversations": [{"chat_messages": []}]}, "claude"),
        ("text", None),
    ],
)
def test_what_a_json_file_is(tmp_path: Path, value: Any, kind: str | None) -> None:
    tree = archives.open_tree(json_source(tmp_path, "export.json", value))
    if kind is None:
        with pytest.raises(CannotImport, match="nothing that memdb knows"):
            importer(tree)
    else:
        found = importer(tree)
        assert found is not None
        assert found.kind == kind


@pytest.mark.parametrize(
    "text", ['[{"memory": "one", "id": "1"}, {"memory"', '[{"memory": "one", "id": "1"} {}]', "[" * 100_000]
)
def test_a_broken_file_is_an_error_and_nothing_is_written(store: Store, tmp_path: Path, text: str) -> None:
    file = tmp_path / "broken.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(CannotImport):
        store.import_from([file], kind="mem0")
    assert store.list() == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1700000000, "2023-11-14T22:13:20Z"),
        (1700000000.9, "2023-11-14T22:13:20Z"),
        (1700000000123, "2023-11-14T22:13:20Z"),
        (0, "1970-01-01T00:00:00Z"),
        (-86400, "1969-12-31T00:00:00Z"),
        (" 2024-09-03T10:16:05-07:00 ", "2024-09-03T10:16:05-07:00"),
        ("", None),
        (None, None),
        (True, None),
        (float("nan"), None),
        (1e300, None),
        ([1], None),
    ],
)
def test_times(value: Any, expected: str | None) -> None:
    assert iso_time(value) == expected


TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
RECORD = st.dictionaries(
    st.sampled_from(
        ["id", "memory", "text", "created_at", "user_id", "categories", "metadata", "type", "name", "from", "to"]
    )
    | st.sampled_from(["observations", "entityType", "relationType", "payload"])
    | TEXT,
    JSON,
    max_size=8,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(RECORD, max_size=5), st.sampled_from(["mem0", "mcp-memory"]))
def test_any_record_is_read_or_counted(tmp_path: Path, records: list[dict[str, Any]], kind: str) -> None:
    tree = archives.open_tree(json_source(tmp_path, "any.json", records))
    reader = importer(tree, kind)
    assert reader is not None
    notes = [item for item in reader.items() if isinstance(item, Note)]
    if kind == "mem0":
        assert len(notes) + reader.left["records without a text"] >= len(records) - sum("payload" in r for r in records)
    for note in notes:
        parsed = frontmatter.parse(note.data.decode("utf-8"))
        assert parsed.frontmatter["imported_from"] == kind
        assert not [problem for problem in parsed.problems if "not valid" in problem.reason]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(JSON, max_size=6), st.integers(1, 40))
def test_a_list_is_streamed_as_it_is(tmp_path: Path, values: list[Any], size: int) -> None:
    import io

    from memdb.base import json_stream

    before, json_stream.READ = json_stream.READ, size
    try:
        for text in (
            json.dumps(values),
            json.dumps(values, ensure_ascii=False, indent=2),
            json.dumps({"k": values, "z": 1}),
        ):
            assert list(json_stream.elements(io.BytesIO(text.encode("utf-8")), ("k",))) == values or text.startswith(
                "{"
            )
        lines = "\n".join(json.dumps({"v": value}) for value in values)
        assert list(json_stream.elements(io.BytesIO(lines.encode()))) == [{"v": value} for value in values]
    finally:
        json_stream.READ = before


def test_names_of_memories_are_words(store: Store, tmp_path: Path) -> None:
    texts = ["«Größe» des Schiffs!", "../../etc/passwd", "重跑流程后悬空引用清零", "???", "CON", "a" * 500]
    records = [{"id": str(number), "memory": text, "user_id": "m"} for number, text in enumerate(texts)]
    done = store.import_from([json_source(tmp_path, "m.json", records)])
    assert done.counts == {"created": len(texts)}
    for path in files_of(done).values():
        assert re.fullmatch(r"reference/[^/\\:*?\"<>|]{1,80}\.md", path)
