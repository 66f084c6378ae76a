"""Backups: whole, checked, made while others write; brought back without loss; gone when something is forgotten."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from memdb.base.archives import BadArchive
from memdb.errors import MemdbError, NotFound, Refused, UsageError
from memdb.services.transfer import backups
from memdb.store import Store
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder
from tests.histories import differing
from tests.import_support import opened, tree, zipped


@pytest.fixture
def store(tmp_path: Path) -> Store:
    root = tmp_path / "root"
    write_files(root, {"user/marit.md": "Marit Aune reads on paper.\n", "project/quay.md": "Of oak.\n"})
    write_files(root, {"docs/times.txt": "The ferry leaves at nine.\n", "photo.png": b"\x89PNG not memdb's"})
    store = opened(root)
    store.sync()
    store.add([root / "docs"])
    store.add_text("report.md", "The bell rings in fog.\n")
    store.save("project/quay", "Of stone.\n")
    return store


def test_a_backup_is_the_whole_store(store: Store, tmp_path: Path) -> None:
    live = store.digest()
    done = store.backup(tmp_path / "b.zip")
    assert (done.digest, done.files, done.notes) == (live.digest, 3, [])
    came = Store.restore_backup(tmp_path / "b.zip", tmp_path / "copy")
    assert (came.digest, came.kept_aside) == (live.digest, None)
    copy = tmp_path / "copy"
    assert tree(copy) == {path: digest for path, digest in tree(store.place.root).items() if path != "photo.png"}
    config = (copy / ".memdb" / "config.toml").read_text(encoding="utf-8")
    assert config == store.place.config.read_text(encoding="utf-8")
    embedder = FakeEmbedder()
    with Store(store.place.__class__(copy, copy / ".memdb" / "memory.db"), embedder) as again:
        assert differing(again.digest(), live) == []
        assert embedder.read == []  # vectors are in it
        assert [past.text for past in again.history("project/quay")] == ["Of oak.\n"]


def test_it_goes_to_a_place_of_its_own(store: Store) -> None:
    first, second = store.backup(), store.backup()
    folder = store.place.home / "backups"
    assert {Path(first.file).parent, Path(second.file).parent} == {folder}
    assert first.file != second.file
    assert (folder / ".gitignore").read_text(encoding="utf-8") == "*\n"
    with zipfile.ZipFile(second.file) as archive:
        assert not [name for name in archive.namelist() if "backup" in name]


def test_nothing_is_written_over_unasked(store: Store, tmp_path: Path) -> None:
    store.backup(tmp_path / "b.zip")
    with pytest.raises(Refused, match="there already"):
        store.backup(tmp_path / "b.zip")
    store.backup(tmp_path / "b.zip", yes=True)
    (tmp_path / "disk").mkdir()
    assert Path(store.backup(tmp_path / "disk").file).parent == tmp_path / "disk"
    assert not [path for path in tmp_path.rglob(".memdb-*")]


def test_what_is_there_is_kept_aside(store: Store, tmp_path: Path) -> None:
    store.backup(tmp_path / "b.zip")
    live = store.digest()
    store.save("project/later", "Written after the backup.\n")
    before = tree(store.place.root)
    store.close()
    came = Store.restore_backup(tmp_path / "b.zip", store.place.root)
    assert came.kept_aside is not None
    assert tree(Path(came.kept_aside)) == before
    with opened(store.place.root) as again:
        assert differing(again.digest(), live) == []
    with opened(Path(came.kept_aside)) as old:
        assert old.show("project/later").body == "Written after the backup.\n"


def test_forgetting_deletes_the_backups_of_the_store(store: Store, tmp_path: Path) -> None:
    store.save("project/whale", "The quokkabird sings.\n")
    store.backup()
    store.backup(tmp_path / "elsewhere.zip")
    (store.place.home / "backups" / ".memdb-backup-killed").mkdir()
    (store.place.home / "backups" / ".memdb-backup-killed" / "memory.db").write_bytes(b"quokkabird")
    store.forget("project/whale")
    assert [path.name for path in (store.place.home / "backups").iterdir()] == [".gitignore"]
    assert (tmp_path / "elsewhere.zip").exists()
    after = Path(store.backup().file)
    store.remove("document:upload://report.md")
    assert after.exists()


def test_what_another_machine_forgot_is_in_no_backup_here(store: Store, tmp_path: Path) -> None:
    store.save("project/whale", "The quokkabird sings.\n")
    store.backup()
    with opened(tmp_path / "other") as other:
        other.save("project/whale", "Of that name.\n")
        other.forget("project/whale")
        [journal] = other._context.journal.files()
        (store.place.journal / "0123456789ab.jsonl").write_bytes(journal.read_bytes())
    (store.place.root / "project" / "whale.md").unlink()
    store.sync()
    assert list((store.place.home / "backups").glob("*.zip")) == []


def test_while_others_write(store: Store, tmp_path: Path) -> None:
    code = (
        "import sys, memdb\n"
        "with memdb.open(sys.argv[1]) as store:\n"
        "    for number in range(12):\n"
        "        store.save(f'episode/day-{number}', f'Day {number}, the ferry was on time.')\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, str(store.place.root)])
    made = []
    while writer.poll() is None or not made:
        made.append(store.backup(tmp_path / f"{len(made)}.zip"))
        if len(made) == 4:
            writer.wait(60)
    assert writer.returncode == 0
    for number, one in enumerate(made):
        copy = tmp_path / f"copy-{number}"
        assert Store.restore_backup(one.file, copy).digest == one.digest
        with opened(copy) as again:
            days = [memory.id for memory in again.list(types=["episode"])]
            assert days == sorted(f"episode/day-{day}" for day in range(len(days)))
            live = again.digest()
            again.rebuild()
            assert differing(again.digest(), live) == []


def change(file: Path, name: str, data: bytes | None) -> Path:
    with zipfile.ZipFile(file) as archive:
        entries: dict[str, bytes | str] = {entry: archive.read(entry) for entry in archive.namelist()}
    if data is None:
        del entries[name]
    else:
        entries[name] = data
    return zipped(file.with_name("changed.zip"), entries)


@pytest.mark.parametrize("name", ["files/user/marit.md", "memory.db", "config.json"])
@pytest.mark.parametrize("data", [b"other", None])
def test_a_damaged_backup_changes_nothing(store: Store, tmp_path: Path, name: str, data: bytes | None) -> None:
    store.backup(tmp_path / "b.zip")
    store.close()
    before = tree(store.place.root)
    with pytest.raises(MemdbError):
        Store.restore_backup(change(tmp_path / "b.zip", name, data), store.place.root)
    assert tree(store.place.root) == before
    assert [path.name for path in tmp_path.iterdir() if "restoring" in path.name or "before" in path.name] == []


def test_a_database_of_another_digest_is_refused(store: Store, tmp_path: Path) -> None:
    store.backup(tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        about = json.loads(archive.read("memdb.json"))
    about["digest"] = "0" * 64
    with pytest.raises(backups.BadBackup, match="not the one that was backed up"):
        Store.restore_backup(change(tmp_path / "b.zip", "memdb.json", json.dumps(about).encode()), tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_what_is_no_backup(store: Store, tmp_path: Path) -> None:
    store.export(tmp_path / "export.zip")
    with pytest.raises(UsageError, match="an export, not a backup"):
        Store.restore_backup(tmp_path / "export.zip", tmp_path / "copy")
    with pytest.raises(NotFound):
        Store.restore_backup(tmp_path / "nowhere.zip", tmp_path / "copy")
    (tmp_path / "torn.zip").write_bytes(b"PK\x03\x04torn")
    with pytest.raises(BadArchive):
        Store.restore_backup(tmp_path / "torn.zip", tmp_path / "copy")
    with pytest.raises(MemdbError):
        Store.restore_backup(zipped(tmp_path / "other.zip", {"a.md": "x"}), tmp_path / "copy")
