"""Saving: one file, whole or not at all, compared before it is replaced, in the index when the call returns."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memdb.base import files
from memdb.errors import Changed, NotWritable, SecretFound, UsageError
from memdb.store import Store
from tests.conftest import write_files
from tests.histories import secret

Make = Callable[..., Store]

pytestmark = pytest.mark.usefixtures("no_model")


def test_a_new_memory_is_a_file_and_in_the_index(make_store: Make) -> None:
    store = make_store()
    saved = store.save("user/tea", "Likes tea.\n", description="drinks", tags=["style", "x"], fields={"origin": "chat"})
    file = store.place.root / "user/tea.md"
    assert (saved.id, saved.file, saved.created, saved.changed) == ("user/tea", "user/tea.md", True, True)
    assert saved.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    shown = store.show("user/tea")
    assert (shown.body.strip(), shown.description, shown.tags) == ("Likes tea.", "drinks", ("style", "x"))
    assert shown.frontmatter["origin"] == "chat"
    assert store.recall("tea").hits[0].id == "user/tea"
    report = store.sync()
    assert (report.added, report.changed, report.removed) == (0, 0, 0)


def test_saving_the_same_twice_changes_nothing(make_store: Make) -> None:
    store = make_store()
    first = store.save("user/a", "text\n", description="d", tags=["x"])
    before = (store.place.root / "user/a.md").stat()
    second = store.save("user/a", "text\n", description="d", tags=["x"])
    assert (second.changed, second.created, second.sha256) == (False, False, first.sha256)
    after = (store.place.root / "user/a.md").stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)
    assert store.history("user/a") == []


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_an_edit_of_one_key_keeps_every_other_byte(make_store: Make, newline: bytes, mark: bytes) -> None:
    text = (
        b"---\n# first comment\nzeta:   1   # odd spacing\nname: kept\ntags: [a, 'b']\ncountry: NO\n"
        b"nested:\n    deep: 0123\n    list:\n      - x\n\ntime: 12:30\n---\n\n# Body\n\nkept  \n\ttext without end"
    )
    before = mark + text.replace(b"\n", newline)
    store = make_store({"user/a.md": before})
    store.save("user/a", tags=["a", "b", "c"])
    after = (store.place.root / "user/a.md").read_bytes()
    old, new = before.split(newline), after.split(newline)
    changed = [line for line in old if line not in new]
    assert changed == [b"tags: [a, 'b']"]
    assert after.startswith(mark + b"---" + newline) and after.endswith(b"text without end")
    assert [line for line in new if line in old] == [line for line in old if line not in changed]
    assert store.show("user/a").tags == ("a", "b", "c")
    store.save("user/a", tags=["a", "b"])
    store.save("user/a", tags=["a", "b"])
    assert store.show("user/a").frontmatter["country"] == "NO"


def test_what_changed_since_it_was_read_is_not_replaced(make_store: Make) -> None:
    store = make_store({"user/a.md": "one\n"})
    read = store.show("user/a").sha256
    (store.place.root / "user/a.md").write_text("other\n")
    with pytest.raises(Changed):
        store.save("user/a", "two\n", expected_sha256=read)
    with pytest.raises(Changed):
        store.write_file("user/a.md", b"two\n", expected_sha256=read)
    assert (store.place.root / "user/a.md").read_text() == "other\n"
    store.save("user/a", "two\n", expected_sha256=hashlib.sha256(b"other\n").hexdigest())
    assert [past.text for past in store.history("user/a")] == ["one\n", "other\n"]


def test_an_edit_in_the_last_moment_is_not_lost(make_store: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from memdb.base.journal import Journal

    store = make_store({"user/a.md": "one\n"})
    original = Journal.append

    def meanwhile(self: Journal, *records: dict[str, object]) -> list[dict[str, object]]:
        (store.place.root / "user/a.md").write_text("from an editor\n")
        return original(self, *records)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", meanwhile)
        with pytest.raises(Changed):
            store.save("user/a", "two\n")
    assert (store.place.root / "user/a.md").read_text() == "from an editor\n"
    store.sync()
    assert store.show("user/a").body == "from an editor\n"
    assert [past.text for past in store.history("user/a")] == ["one\n"]


def test_a_file_that_is_not_indexed_yet_keeps_its_text_in_history(make_store: Make) -> None:
    store = make_store()
    write_files(store.place.root, {"user/a.md": "written by hand\n"})
    saved = store.save("user/a", "saved\n")
    assert (saved.created, saved.changed) == (False, True)
    assert [past.text for past in store.history("user/a")] == ["written by hand\n"]


def test_a_memory_that_was_renamed_unseen_is_not_written_anew_without_its_fields(make_store: Make) -> None:
    store = make_store({"a.md": "---\ntype: user\ndescription: kept\n---\ntext\n"})
    (store.place.root / "user").mkdir()
    (store.place.root / "a.md").rename(store.place.root / "user/a.md")
    saved = store.save("user/a", "new\n")
    assert (saved.file, saved.created) == ("user/a.md", False)
    assert store.show("user/a").description == "kept"
    assert not (store.place.root / "a.md").exists()


def test_a_flat_file_and_one_in_its_type_folder_are_both_reachable(make_store: Make) -> None:
    store = make_store({"a.md": "---\ntype: user\n---\nflat\n", "user/a.md": "folder\n"})
    (problem,) = store.sync().problems
    assert problem.path == "a.md" and "user/a" in problem.reason
    flat = next(memory.id for memory in store.list() if memory.file == "a.md")
    assert flat != "user/a"
    assert (store.show("user/a").body, store.show(flat).body, store.show("a.md").body) == (
        "folder\n",
        "flat\n",
        "flat\n",
    )
    saved = store.save(flat, "flat again\n")
    assert (saved.id, saved.file) == (flat, "a.md")
    assert (store.place.root / "user/a.md").read_text() == "folder\n"


def test_two_files_of_one_name_and_a_name_unlike_the_stem(make_store: Make) -> None:
    store = make_store({"user/x.md": "---\nname: tea\n---\none\n", "user/y.md": "---\nname: tea\n---\ntwo\n"})
    assert {memory.id for memory in store.list()} == {"user/x", "user/y"}
    assert (store.show("user/x").body, store.show("user/y").body) == ("one\n", "two\n")
    with pytest.raises(UsageError):
        store.show("tea")


@pytest.mark.parametrize(
    ("field", "where"),
    [("body", "body"), ("description", "description"), ("tags", "tags"), ("supersedes", "supersedes"),
     ("aliases", "aliases"), ("fields", "origin"), ("key", "name")],
)  # fmt: skip
def test_a_secret_is_refused_in_every_field_and_nothing_is_written(make_store: Make, field: str, where: str) -> None:
    store = make_store({"user/a.md": "one\n"})
    token = secret().split()[1]
    given: dict[str, object] = {
        "body": {"body": f"line\n{token}\n"},
        "description": {"description": token},
        "tags": {"tags": ["x", token]},
        "supersedes": {"supersedes": [token]},
        "aliases": {"aliases": [token]},
        "fields": {"fields": {"origin": token}},
        "key": {},
    }[field]
    before = {
        path: path.read_bytes()
        for path in store.place.root.rglob("*")
        if path.is_file() and "memory.db" not in path.name
    }
    for key in ("user/a", "user/new") if field != "key" else (f"user/{token}",):
        with pytest.raises(SecretFound) as error:
            store.save(key, **given)
        assert error.value.message.startswith(f"The {where} ")
        assert token not in error.value.message + str(error.value.hint)
        assert error.value.hint
    after = {
        path: path.read_bytes()
        for path in store.place.root.rglob("*")
        if path.is_file() and "memory.db" not in path.name
    }
    assert after == before
    with pytest.raises(SecretFound):
        store.write_file("user/a.md", token.encode())


@pytest.mark.parametrize("key", ["a", "/a", "user/", "user/..", "../a", "user/../../a", ".memdb/a", "user/.a",
                                 "user/a\nb",
                                 "user/a\0", "user/" + "n" * 253, "user//a", "user/~a", ""])  # fmt: skip
def test_what_cannot_be_an_id_is_refused(make_store: Make, key: str) -> None:
    store = make_store()
    with pytest.raises(UsageError):
        store.save(key, "text")
    assert [path.name for path in store.place.root.iterdir()] == [".memdb"]


@pytest.mark.parametrize(
    "path", ["../x.md", "/tmp/x.md", ".memdb/config.toml", ".memdb/x.md", "user/a.txt", "user/../../x.md"]
)
def test_a_file_outside_of_the_memories_is_not_written(make_store: Make, path: str) -> None:
    store = make_store()
    with pytest.raises(UsageError):
        store.write_file(path, b"text")


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_the_permissions_of_a_file_and_a_link_to_it_stay(make_store: Make, tmp_path: Path) -> None:
    store = make_store({"user/a.md": "one\n"})
    (store.place.root / "user/a.md").chmod(0o640)
    write_files(tmp_path, {"elsewhere.md": "linked\n"})
    (store.place.root / "user/b.md").symlink_to(tmp_path / "elsewhere.md")
    store.sync()
    store.save("user/a", "two\n")
    store.save("user/b", "two\n")
    assert stat.S_IMODE((store.place.root / "user/a.md").stat().st_mode) == 0o640
    assert (store.place.root / "user/b.md").is_symlink()
    assert (tmp_path / "elsewhere.md").read_text().strip() == "two"


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_whole(make_store: Make, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    store = make_store({"user/a.md": "one\n"})
    live = store.digest()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files.os, call, full)
        with pytest.raises(NotWritable) as error:
            store.save("user/a", "two\n")
        assert error.value.hint
    assert (store.place.root / "user/a.md").read_text() == "one\n"
    assert [path.name for path in (store.place.root / "user").iterdir()] == ["a.md"]
    assert store.show("user/a").body == "one\n"
    assert store.digest().tables["memory"] == live.tables["memory"]
    store.save("user/a", "two\n")
    assert [past.text for past in store.history("user/a")] == ["one\n"]


def test_a_save_brings_links_to_it_together(make_store: Make) -> None:
    store = make_store({"user/a.md": "see [[b]]\n"})
    assert store.links()[0].status == "unresolved"
    store.save("feedback/b", "text\n")
    assert (store.links()[0].status, store.links()[0].id) == ("resolved", "feedback/b")


def test_a_disk_that_does_not_tell_two_spellings_apart(make_store: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    store = make_store({"user/Tea.md": "one\n"})
    # Both names lead to one file, and a listing has the first alone.
    os.link(store.place.root / "user/Tea.md", store.place.root / "user/tea.md")
    monkeypatch.setattr(Path, "iterdir", lambda folder: iter([folder / "Tea.md"]))
    with pytest.raises(UsageError) as error:
        store.save("user/tea", "two\n")
    assert "Tea.md" in error.value.message
    assert (store.place.root / "user/Tea.md").read_text() == "one\n"
    assert store.save("user/Tea", "two\n").file == "user/Tea.md"


def test_an_undecodable_file_is_not_overwritten_unseen(make_store: Make) -> None:
    data = b"\x00\x01\x02" * 20
    store = make_store({"user/a.md": data})
    with pytest.raises(Exception) as error:
        store.save("user/a", "text")
    assert getattr(error.value, "code", "") == "undecodable"
    assert (store.place.root / "user/a.md").read_bytes() == data
