"""Stores by name: the list of a user, which name means which store, and names that follow a folder that was moved."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memdb.base import named, settings
from memdb.errors import MemdbError, NotFound, Refused, UsageError
from memdb.store import Store, open
from memdb_cli.hooking import Options, Run
from tests.cli_support import make, memdb, write
from tests.fake_embedder import FakeEmbedder

pytestmark = pytest.mark.usefixtures("no_model")


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Two named stores, work and home, in a folder."""
    make(tmp_path / "work", user__kettle="The kettle is red.\n")
    make(tmp_path / "home", user__cup="The cup is blue.\n")
    named.add("work", tmp_path / "work")
    named.add("home", tmp_path / "home")
    return tmp_path


def ids(*words: str | Path) -> list[str]:
    answer = memdb(*words, "--json")
    assert answer.code == 0, answer
    return [memory["id"] for memory in answer.json["memories"]]


# The list


def test_the_list_has_what_a_person_wants_to_know(two: Path) -> None:
    memdb("list", "--store", "work")
    found = {store["name"]: store for store in memdb("stores", "--json").json["stores"]}
    assert list(found) == ["home", "work"]
    assert found["work"] | {"opened": "x"} == {
        "name": "work",
        "path": str(two / "work"),
        "id": settings.read_settings(settings.place(two / "work"))["id"],
        "state": "ok",
        "memories": 1,
        "opened": "x",
        "database": str(two / "work/.memdb/memory.db"),
        "copies": [],
    }
    assert found["work"]["opened"].endswith("+00:00")
    assert found["home"]["opened"] is None
    assert memdb("stores").out == memdb("stores", "list").out
    assert memdb("stores").out.splitlines()[0].split() == ["NAME", "STATE", "MEMORIES", "OPENED", "ID", "PATH"]


def test_without_names_the_list_says_how_to_give_one() -> None:
    answer = memdb("stores")
    assert (answer.code, answer.out) == (0, "")
    assert "memdb stores add" in answer.err
    assert memdb("stores", "--json").json == {"stores": []}


def test_names_are_added_renamed_and_removed_and_no_store_is_touched(two: Path) -> None:
    def bytes_of(root: Path) -> dict[Path, str]:
        return {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in root.rglob("*") if file.is_file()}

    before = bytes_of(two)
    assert memdb("stores", "rename", "work", "office").out == f"office is {two / 'work'}\n"
    assert memdb("stores", "path", "office").out == f"{two / 'work'}\n"
    assert memdb("stores", "path", "OFFICE", "--json").json["name"] == "office"
    assert memdb("stores", "remove", "office").out == f"office is no longer the name of {two / 'work'}\n"
    assert memdb("stores", "path", "office").code == 3
    assert memdb("stores", "add", "work", two / "work").out == f"work is {two / 'work'}\n"
    assert bytes_of(two) == before


@pytest.mark.parametrize(
    "name", ["", "a/b", "a\\b", "..", "-x", ".x", "_x", "a b", "C:", "x" * 65, "a\nb", "a\x7f", "*"]
)
def test_what_is_no_name(tmp_path: Path, name: str) -> None:
    settings.initialise(settings.place(tmp_path))
    with pytest.raises(UsageError):
        named.add(name, tmp_path)


@pytest.mark.parametrize("name", ["a", "9", "Übung", "日本", "my-notes_2.old", "x" * 64])
def test_what_is_a_name(tmp_path: Path, name: str) -> None:
    settings.initialise(settings.place(tmp_path))
    named.add(name, tmp_path)
    assert named.find(name.swapcase()).root == tmp_path
    assert memdb("--store", name, "serve", "--status", "--json").json["running"] is False


def test_a_name_in_use_is_not_taken_over_in_any_capitals(two: Path) -> None:
    for call in (lambda: named.add("Work", two / "home"), lambda: named.rename("home", "WORK")):
        with pytest.raises(Refused) as error:
            call()
        assert "work" in error.value.message
    assert named.rename("work", "Work").name == "Work"
    assert list(named.read()) == ["Work", "home"]


def test_a_folder_that_is_no_store_gets_no_name(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        named.add("work", tmp_path)
    assert named.read() == {}


def test_a_damaged_list_names_its_line_and_is_left_as_it_is(two: Path) -> None:
    named.file().write_text('[work]\npath = "x\n', encoding="utf-8")
    answer = memdb("stores")
    assert (answer.code, "line 2" in answer.err) == (2, True)
    with pytest.raises(UsageError):
        named.add("other", two / "work")
    assert named.file().read_text(encoding="utf-8") == '[work]\npath = "x\n'
    # A store by its folder opens all the same, and says so.
    opened = memdb("list", "--root", two / "work")
    assert (opened.code, "stores.toml" in opened.err) == (0, True)


def test_odd_paths_come_back_as_they_were(tmp_path: Path) -> None:
    root = make(tmp_path / 'a "b" \\ c\x7f é')
    named.add("odd", root)
    assert named.find("odd").root == root


def test_a_store_without_an_id_gets_one_with_its_name(tmp_path: Path) -> None:
    root = make(tmp_path)
    place = settings.place(root)
    settings.write_settings(place, {"model": "off"})
    mark = named.add("work", root).id
    assert settings.read_settings(place) == {"model": "off", "id": mark}


# Which store is meant


def test_every_way_to_name_a_store_means_it(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ids("list", "--store", "work") == ["user/kettle"]
    assert ids("--store", "work", "list") == ["user/kettle"]
    assert ids("--store", "home", "list", "--store", "WORK") == ["user/kettle"]
    assert ids("list", "--store", two / "work") == ["user/kettle"]
    assert memdb("entities", "--store", "work").code == memdb("entities", "list", "--store", "work").code == 0
    monkeypatch.chdir(two)
    assert ids("list", "--store", "./home") == ["user/cup"]
    monkeypatch.setenv("MEMDB_STORE", "home")
    assert ids("list") == ["user/cup"]
    assert open().place.root == two / "home"
    assert ids("list", "--store", "work") == ids("list", "--root", two / "work") == ["user/kettle"]
    monkeypatch.setenv("MEMDB_ROOT", str(two / "work"))
    assert ids("list") == ["user/cup"]
    monkeypatch.setenv("MEMDB_STORE", str(two / "work"))
    assert ids("list") == ["user/kettle"]


def test_a_name_goes_before_a_folder_of_that_name(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(two / "elsewhere/work", user__lamp="The lamp is green.\n")
    monkeypatch.chdir(two / "elsewhere")
    assert ids("list", "--store", "work") == ["user/kettle"]
    assert ids("list", "--store", "./work") == ids("list", "--root", "work") == ["user/lamp"]


def test_a_hook_takes_a_name_too(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(*words: str) -> str:
        prompt = json.dumps({"prompt": "kettle cup", "session_id": secrets.token_hex(4)}).encode()
        return Run(Options([*words, "--seconds", "50"]), prompt).wait()

    assert "[user/kettle]" in said("--store", "work")
    assert said("--store", "nowhere") == ""
    monkeypatch.setenv("MEMDB_STORE", "home")
    assert "[user/cup]" in said()
    assert "[user/kettle]" in said("--root", str(two / "work"))
    assert "[user/kettle]" in said("--store=work")
    prompt = json.dumps({"prompt": "kettle cup"}).encode()
    command = [sys.executable, "-m", "memdb_cli", "hook", "run", "--store", "work", "--seconds", "50"]
    done = subprocess.run(command, input=prompt, capture_output=True, check=True, env=os.environ | {"MEMDB_DEBUG": "1"})
    assert b"[user/kettle]" in done.stdout, done


UNFIT = [
    (("list", "--store", "nowhere"), 3),
    (("list", "--store", "./nowhere"), 3),
    (("list", "--store", "work", "--root", "home"), 2),
    (("--root", "home", "list", "--store", "work"), 0),
    (("recall", "kettle", "--all-stores", "--root", "home"), 2),
    (("recall", "kettle", "--all-stores", "--store", "home"), 2),
    (("recall", "kettle", "--all-stores", "--sql"), 2),
    (("recall", "kettle", "--store", "work", "--sql"), 0),
    (("recall", "kettle", "--store", "work", "--root", "home"), 2),
    (("serve", "--all-stores", "--root", "home"), 2),
]


def test_what_does_not_fit(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(two)
    for words, code in UNFIT:
        assert memdb(*words).code == code, words


def test_a_variable_that_names_no_store_is_an_error(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMDB_STORE", "nowhere")
    answer = memdb("list")
    assert (answer.code, "There are home, work." in answer.err) == (3, True)


def test_a_named_store_has_its_own_database_whatever_the_environment_says(
    two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMDB_DB", str(tmp_path / "shared.db"))
    assert memdb("stats", "--store", "work", "--json").json["database"] == str(two / "work/.memdb/memory.db")
    assert not (tmp_path / "shared.db").exists()
    monkeypatch.delenv("MEMDB_DB")
    named.add("apart", two / "work", tmp_path / "apart.db")
    assert memdb("stats", "--store", "apart", "--json").json["database"] == str(tmp_path / "apart.db")


# A folder that was moved, copied, replaced


def test_a_moved_store_keeps_its_name_once_it_is_opened_where_it_is(two: Path) -> None:
    (two / "work").rename(two / "office")
    assert {store["name"]: store["state"] for store in memdb("stores", "--json").json["stores"]} == {
        "home": "ok",
        "work": "missing",
    }
    gone = memdb("list", "--store", "work")
    assert (gone.code, "memdb stats --root FOLDER" in gone.err) == (3, True)
    assert "note: The store work is at" in memdb("list", "--root", two / "office").err
    assert ids("list", "--store", "work") == ["user/kettle"]
    assert memdb("list", "--root", two / "office").err == ""
    assert memdb("stores", "path", "work").out == f"{two / 'office'}\n"


def test_another_store_at_the_old_path_is_not_taken_for_it(two: Path) -> None:
    (two / "work").rename(two / "office")
    make(two / "work", user__lamp="The lamp is green.\n")
    answer = memdb("list", "--store", "work")
    assert (answer.code, "Another store has taken the place of" in answer.err) == (3, True)
    assert memdb("list", "--root", two / "work").err == ""
    assert "note: The store work is at" in memdb("list", "--root", two / "office").err
    assert ids("list", "--store", "work") == ["user/kettle"]


def test_a_copy_is_said_once_and_not_guessed(two: Path) -> None:
    shutil.copytree(two / "work", two / "copy")
    said = memdb("list", "--root", two / "copy").err
    assert "have one id: one is a copy of the other, or both are clones" in said
    assert memdb("list", "--root", two / "copy").err == ""
    assert named.find("work").root == two / "work"
    assert "a copy or clone with its id" in memdb("stores").err
    # With the first one gone, the copy is all there is of it: the name follows when it is opened.
    shutil.rmtree(two / "work")
    assert str(two / "copy") in memdb("list", "--store", "work").err
    assert "note: The store work is at" in memdb("list", "--root", two / "copy").err
    assert named.find("work").copies == ()


def test_a_deleted_database_changes_no_id(two: Path) -> None:
    mark = named.find("work").id
    (two / "work/.memdb/memory.db").unlink()
    assert [store["memories"] for store in memdb("stores", "--json").json["stores"]] == [1, None]
    assert ids("list", "--store", "work") == ["user/kettle"]
    assert named.id_of(settings.place(two / "work")) == mark


def test_the_list_tells_a_damaged_database(two: Path) -> None:
    (two / "work/.memdb/memory.db").write_bytes(b"no database at all" * 100)
    assert [store["state"] for store in memdb("stores", "--json").json["stores"]] == ["ok", "damaged"]
    assert "memdb rebuild" in memdb("stores").err


def test_a_moved_store_embeds_nothing_again_and_loses_no_decision(tmp_path: Path) -> None:
    before = tmp_path / "before"
    notes = ("Quillbase has it.", "They asked Quillbase, and Grafana drew it.", "Somebody set up Quill Base for it.")
    write(before, **{f"project__note_{number}": f"{note}\n" for number, note in enumerate(notes)})
    (before / "docs").mkdir()
    (before / "docs/guide.txt").write_text("Pumps\n\nThe pumps of the house are serviced in May.\n", encoding="utf-8")
    outside = tmp_path / "outside.txt"
    outside.write_text("The boiler of the house is serviced in June.\n", encoding="utf-8")
    first = FakeEmbedder()
    with Store.init(before, embedder=first) as store:
        store.sync()
        store.add([before / "docs", outside])
        store.entities.merge("Quill Base", "Quillbase")
        store.entities.rename("Grafana", "Grafana Labs")
        store.save("project/note-0", "Quillbase has it all.\n")
        store.sync()
        decisions = [(one.id, one.action, one.at) for one in store.log()]
        digest = store.digest().digest
        documents = [one.id for one in store.documents.list()]
        answers = [(hit.id, hit.score) for hit in store.recall("pumps serviced").hits]
    assert documents == [f"document:{outside.as_posix()}", "document:docs/guide.txt"]
    assert first.read

    after = tmp_path / "deep/after"
    after.parent.mkdir()
    before.rename(after)
    second = FakeEmbedder()
    with open(after, embedder=second) as store:
        report = store.sync()
        assert (report.embedded, second.read) == (0, [])
        assert [(one.id, one.action, one.at) for one in store.log()] == decisions
        assert store.digest().digest == digest
        assert [one.id for one in store.documents.list()] == documents
        assert [(hit.id, hit.score) for hit in store.recall("pumps serviced", sync_first=False).hits] == answers
        assert len(store.history("project/note-0")) == 1
        second.read.clear()
        store.rebuild()
        assert (store.digest().digest, second.read) == (digest, [])
        assert [(one.id, one.action, one.at) for one in store.log()] == decisions


def test_an_error_of_the_list_is_one_of_memdb(two: Path) -> None:
    with pytest.raises(MemdbError):
        named.place("nowhere")
