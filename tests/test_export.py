"""Moving out: files as they are, lines for programs, and a zip from which the same store comes back."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memdb.base.archives import BadArchive
from memdb.domain.importers import CannotImport
from memdb.errors import Refused, UsageError
from memdb.store import Store
from tests.conftest import write_files
from tests.histories import differing
from tests.import_support import lines, opened, source, tree, zipped

NOTES: dict[str, str | bytes] = {
    "feedback/tables.md": "---\ntags: [style]\naliases: [grids]\n---\nUse tables. See [[quay]] and [[nowhere]].\n",
    "project/quay.md": b"\xef\xbb\xbf---\r\nsupersedes: project/old-quay\r\n---\r\nOf oak. Marit Aune built it.\r\n",
    "project/old-quay.md": "The quay is of pine. Marit Aune built it.\n",
    "project/größe.md": "Its size is given in feet.\n",
    "flat.md": "---\ntype: user\n---\nMarit Aune reads on paper.\n",
    "docs/times.txt": "The ferry leaves at nine.\n\nIt comes back at noon.\n",
}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    root = tmp_path / "root"
    write_files(root, NOTES)
    store = opened(root)
    store.sync()
    store.add([root / "docs"])
    store.add_text("report.md", "# Report\n\nThe bell rings in fog.\n")
    store.save("project/quay", "The quay is of stone. Marit Aune built it.\n")
    (root / "flat.md").write_text("---\ntype: user\n---\nMarit Aune reads on a screen.\n", encoding="utf-8")
    store.sync()
    store.schema.add("type", "vessel", "A thing that floats.")
    return store


def test_a_zip_gives_the_same_store(store: Store, tmp_path: Path) -> None:
    packed = tmp_path / "all.zip"
    done = store.export(packed)
    live = store.digest()
    assert (done.format, done.digest) == ("zip", live.digest)
    assert done.counts["files"] == 6
    assert done.counts["snapshots"] == 1
    for synced in (False, True):
        with opened(tmp_path / f"copy-{synced}") as copy:
            if synced:
                copy.sync()
            came = copy.import_from([packed])
            assert came.store is not None
            assert came.store.same is True
            assert differing(copy.digest(), live) == []
            assert tree(copy.place.root) == tree(store.place.root)
            assert [past.reason for past in copy.history("project/quay")] == ["saved"]
            again = tmp_path / f"again-{synced}.zip"
            copy.export(again)
            assert contents(again) == contents(packed)
            assert [finding for finding in copy.doctor() if finding.state == "error"] == []


def contents(packed: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(packed) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name != "memdb.json"}


def test_a_zip_has_no_machine_and_no_secret(store: Store, tmp_path: Path) -> None:
    token = "sk-" + "proj-" + "Zq8" * 14
    config = store.place.config
    config.write_text(config.read_text(encoding="utf-8") + f'llm_key = "{token}"\nmodel = "off"\n', encoding="utf-8")
    store.export(tmp_path / "all.zip")
    found = contents(tmp_path / "all.zip")
    assert json.loads(found["config.json"]) == {"model": "off"}
    assert not any(token.encode() in data for data in found.values())
    assert all(not name.startswith((".", "/")) for name in found)


def test_forgotten_texts_are_in_no_export(store: Store, tmp_path: Path) -> None:
    store.save("project/whale", "The quokkabird sings.\n")
    store.save("project/whale", "The quokkabird sings and swims.\n")
    store.forget("project/whale")
    for name in ("all.zip", "all.jsonl", "folder"):
        store.export(tmp_path / name)
    texts = [*contents(tmp_path / "all.zip").values(), (tmp_path / "all.jsonl").read_bytes()]
    texts += [file.read_bytes() for file in (tmp_path / "folder").rglob("*") if file.is_file()]
    assert not any(b"quokkabird" in text.lower() or b"whale" in text for text in texts)


def test_lines(store: Store, tmp_path: Path) -> None:
    done = store.export(tmp_path / "all.jsonl")
    records = lines(tmp_path / "all.jsonl")
    assert records[0] == {"kind": "store", "version": 1, "digest": store.digest().digest}
    kinds = [record["kind"] for record in records[1:]]
    assert {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)} == done.counts
    assert list(dict.fromkeys(kinds)) == ["memory", "link", "document", "chunk", "entity", "mention"]
    by_id = {record["id"]: record for record in records if "id" in record}
    assert by_id["feedback/tables"] == {
        "kind": "memory",
        "id": "feedback/tables",
        "type": "feedback",
        "name": "tables",
        "tags": ["style"],
        "aliases": ["grids"],
        "file": "feedback/tables.md",
        "superseded": 0,
        "has_secret": 0,
        "text": "Use tables. See [[quay]] and [[nowhere]].\n",
    }
    assert by_id["document:upload://report.md"]["places"] == ["upload://report.md"]
    assert by_id["document:docs/times.txt#1"]["text"].startswith("The ferry leaves at nine.")
    assert {"kind": "link", "source": "feedback/tables", "link": "wikilink", "raw": "[[nowhere]]", "target": "nowhere",
            "status": "unresolved", "line": 5} in records  # fmt: skip
    before = (tmp_path / "all.jsonl").read_bytes()
    store.rebuild()
    store.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == before


def test_a_folder(store: Store, tmp_path: Path) -> None:
    done = store.export(tmp_path / "out")
    assert done.counts == {"memories": 5, "documents": 2, "snapshots": 1}
    found = tree(tmp_path / "out")
    own = {f"memories/{path}": digest for path, digest in tree(store.place.root).items() if path.endswith(".md")}
    assert {path: digest for path, digest in found.items() if path.startswith("memories/")} == own
    assert found.keys() - own.keys() == {"documents/times.txt.txt", "documents/report.md.txt", "snapshots/report.md"}
    text = (tmp_path / "out" / "documents" / "report.md.txt").read_text(encoding="utf-8")
    assert "The bell rings in fog." in text
    with opened(tmp_path / "other") as other:
        assert other.import_from([tmp_path / "out" / "memories"]).counts == {"created": 5}


@pytest.mark.parametrize("name", ["all.zip", "all.jsonl", "out"])
def test_nothing_is_written_over_unasked(store: Store, tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    store.export(target)
    before = tree(tmp_path)
    with pytest.raises(Refused, match="nothing was written"):
        store.export(target)
    assert tree(tmp_path) == before
    store.export(target, yes=True)
    assert not [path for path in tmp_path.rglob(".memdb-*.tmp")]


def test_places_that_cannot_be(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for target, form in ((store.place.root, None), (store.place.root / "out", None), (tmp_path, None),
                         (tmp_path, "zip"), (tmp_path / "file", "folder"), (tmp_path / "x", "tar")):  # fmt: skip
        with pytest.raises(UsageError):
            store.export(target, form=form, yes=True)


def test_a_whole_store_goes_into_an_empty_one_only(store: Store, tmp_path: Path) -> None:
    store.export(tmp_path / "all.zip")
    with opened(tmp_path / "other") as other:
        other.save("user/mine", "My own.\n")
        before = tree(other.place.root)
        with pytest.raises(Refused, match="memories or decisions of its own"):
            other.import_from([tmp_path / "all.zip"])
        assert tree(other.place.root) == before


def test_an_import_of_a_whole_store_that_was_killed_goes_on(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memdb.services.transfer import packing

    store.export(tmp_path / "all.zip")
    live = store.digest()
    copy_checked = packing.copy_checked

    def stops(tree: object, entry: str, target: Path, expected: str) -> None:
        if entry == "files/project/quay.md":
            raise KeyboardInterrupt
        copy_checked(tree, entry, target, expected)  # type: ignore[arg-type]

    monkeypatch.setattr(packing, "copy_checked", stops)
    with opened(tmp_path / "copy") as copy:
        with pytest.raises(KeyboardInterrupt):
            copy.import_from([tmp_path / "all.zip"])
        monkeypatch.undo()
        copy.import_from([tmp_path / "all.zip"])
        assert differing(copy.digest(), live) == []


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"files/../../out.md": b"x"}, BadArchive),
        ({"files/.memdb/config.toml": b"x"}, BadArchive),
        ({"journal/a/b.jsonl": b"x"}, BadArchive),
        ({"other/a.md": b"x"}, BadArchive),
        ({"files/flat.md": b"changed"}, BadArchive),
        ({"files/flat.md": None}, BadArchive),
        ({"memdb.json": b"{}"}, CannotImport),
        ({"memdb.json": b'{"memdb": 99, "files": {}}'}, CannotImport),
    ],
)
def test_a_zip_that_was_tampered_with(
    store: Store, tmp_path: Path, change: dict[str, bytes | None], error: type[Exception]
) -> None:
    store.export(tmp_path / "all.zip")
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        entries: dict[str, bytes | str] = {name: archive.read(name) for name in archive.namelist()}
    about = json.loads(entries["memdb.json"])
    for name, data in change.items():
        if data is None:
            del entries[name]
        else:
            if name not in entries:
                about["files"][name] = "0" * 64
                entries["memdb.json"] = json.dumps(about)
            entries[name] = data
    zipped(tmp_path / "bad.zip", entries)
    with opened(tmp_path / "copy") as copy, pytest.raises(error):
        copy.import_from([tmp_path / "bad.zip"])
    assert not (tmp_path / "out.md").exists()


def test_an_import_then_an_export_then_an_import(tmp_path: Path) -> None:
    with opened(tmp_path / "one") as one:
        one.import_from([source("obsidian", tmp_path / "s")])
        one.import_from([source("chatgpt-conversations.json", tmp_path / "s"), source("memory.jsonl", tmp_path / "s")])
        one.export(tmp_path / "one.zip")
        with opened(tmp_path / "two") as two:
            two.import_from([tmp_path / "one.zip"])
            assert differing(one.digest(), two.digest()) == []
            # What was imported where is known there too.
            assert two.import_from([tmp_path / "s" / "obsidian"]).counts == {"empty": 1, "unchanged": 5}


NAMES = st.text("abü漢 C+#%&'~.-_", min_size=1, max_size=8).filter(lambda name: name.strip(" .~") == name)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(NAMES, TEXTS, min_size=1, max_size=5))
def test_any_names_and_texts_come_back(tmp_path_factory: pytest.TempPathFactory, notes: dict[str, str]) -> None:
    where = tmp_path_factory.mktemp("any")
    folded = {name.casefold(): name for name in notes}
    write_files(where / "one", {f"user/{name}.md": notes[name] for name in folded.values()})
    with opened(where / "one") as one, opened(where / "two") as two:
        one.export(where / "all.zip")
        two.import_from([where / "all.zip"])
        assert differing(one.digest(), two.digest()) == []
        assert tree(one.place.root) == tree(two.place.root)
