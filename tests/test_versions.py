"""Earlier texts: kept, counted, compared, and brought back."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from memdb.base import files
from memdb.errors import Changed, NotFound, Refused, UsageError
from memdb.store import Store
from tests.cli_support import memdb
from tests.conftest import write_files
from tests.histories import anew, differing, secret

Make = Callable[..., Store]

pytestmark = pytest.mark.usefixtures("no_model")


@pytest.fixture
def store(make_store: Make) -> Store:
    store = make_store({"project/plan.md": "---\ntags: [one]\n---\n\nThe first plan.\n"})
    store.save("project/plan", "The second plan.\n", tags=["two"])
    store.save("project/plan", "The third plan.\n")
    return store


def texts(store: Store, memory: str = "project/plan") -> list[tuple[str, str]]:
    return [(past.reason, (past.text or "").split("\n")[-2]) for past in store.history(memory)]


def test_an_earlier_text_comes_back_whole_and_the_present_one_is_kept(store: Store) -> None:
    saved = store.restore("project/plan", 1)
    assert (saved.id, saved.created, saved.changed, saved.restates) == ("project/plan", False, True, None)
    assert (store.place.root / "project/plan.md").read_text() == "---\ntags: [one]\n---\n\nThe first plan.\n"
    assert saved.sha256 == hashlib.sha256((store.place.root / "project/plan.md").read_bytes()).hexdigest()
    assert store.show("plan").tags == ("one",)
    assert texts(store) == [
        ("saved", "The first plan."), ("saved", "The second plan."), ("restored", "The third plan."),
    ]  # fmt: skip
    assert [hit.id for hit in store.recall("first").hits] == ["project/plan"]
    assert store.restore("plan", 3).changed
    assert (store.place.root / "project/plan.md").read_text().endswith("The third plan.\n")
    assert differing(store.digest(), anew(store.place.root, model=False)) == []


def test_the_text_that_is_there_is_not_written_again(store: Store) -> None:
    store.restore("project/plan", 1)
    saved = store.restore("project/plan", 1)
    assert (saved.changed, len(store.history("project/plan"))) == (False, 3)


def test_a_text_that_was_kept_for_a_save_that_did_not_come_is_no_earlier_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal has it, as after a kill between the journal and the file."""
    before = store.digest()

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(files, "write_whole", fail)
        with pytest.raises(KeyboardInterrupt):
            store.save("project/plan", "The fourth plan.\n")
    store.close()
    assert differing(before, store.digest()) == []
    store.close()
    assert differing(before, anew(store.place.root, model=False)) == []
    assert len(store.history("project/plan")) == store.show("project/plan").versions == 2
    assert store._context.database.value("select count(*) from memory_versions") == store.stats()["versions"] == 2
    store.save("project/plan", "The fourth plan.\n")
    assert texts(store) == [
        ("saved", "The first plan."), ("saved", "The second plan."), ("saved", "The third plan."),
    ]  # fmt: skip


@pytest.mark.parametrize("number", [0, -1, 3, 99])
def test_a_version_that_is_not_there(store: Store, number: int) -> None:
    with pytest.raises(NotFound) as error:
        store.restore("project/plan", number)
    assert error.value.hint == "Its earlier texts are numbered 1 to 2."
    assert store.show("plan").body == "The third plan.\n"


def test_a_file_that_changed_since_is_not_replaced(store: Store) -> None:
    read = store.show("plan").sha256
    write_files(store.place.root, {"project/plan.md": "By another hand.\n"})
    with pytest.raises(Changed):
        store.restore("project/plan", 1, expected_sha256=read)
    assert (store.place.root / "project/plan.md").read_text() == "By another hand.\n"
    store.restore("project/plan", 1, expected_sha256=hashlib.sha256(b"By another hand.\n").hexdigest())
    assert texts(store)[-1][0] == "restored"
    assert [past.text for past in store.history("project/plan")][-1] == "By another hand.\n"


def test_a_deleted_memory_comes_back_from_its_last_text(store: Store) -> None:
    (store.place.root / "project/plan.md").unlink()
    saved = store.restore("project/plan", 3)
    assert (saved.id, saved.file, saved.created) == ("project/plan", "project/plan.md", True)
    assert store.show("plan").body == "The third plan.\n"
    assert texts(store)[-1] == ("deleted", "The third plan.")
    assert differing(store.digest(), anew(store.place.root, model=False)) == []


def test_a_forgotten_memory_does_not(store: Store) -> None:
    store.forget("project/plan")
    with pytest.raises(NotFound) as error:
        store.restore("project/plan", 1)
    assert error.value.message == "project/plan was forgotten; nothing of it was kept."
    assert list((store.place.root / "project").iterdir()) == []


def test_a_text_that_was_withheld_does_not(make_store: Make) -> None:
    store = make_store({"user/a.md": f"Mind this. {secret()}\n"})
    write_files(store.place.root, {"user/a.md": "Mind nothing.\n"})
    store.sync()
    with pytest.raises(Refused):
        store.restore("user/a", 1)
    assert store.show("user/a").body == "Mind nothing.\n"


def test_encoding_and_newlines_are_those_of_the_file(make_store: Make) -> None:
    store = make_store({"user/a.md": b"\xef\xbb\xbfone\r\ntwo\r\n"})
    store.save("user/a", "three\nfour\n")
    store.restore("user/a", 1)
    assert (store.place.root / "user/a.md").read_bytes() == b"\xef\xbb\xbfone\r\ntwo\r\n"


def test_a_memory_that_never_was(store: Store) -> None:
    with pytest.raises(NotFound):
        store.restore("project/nothing", 1)
    write_files(store.place.root, {"user/plan.md": "Another plan.\n", "project/plan2.md": "---\nname: plan\n---\nx\n"})
    store.sync()
    with pytest.raises((UsageError, NotFound)):
        store.restore("Plan!", 1)


def test_the_command_restores_and_shows_what_changed(store: Store) -> None:
    root = store.place.root
    shown = memdb("history", "project/plan", "--root", root, "--json").json["versions"]
    assert [version["number"] for version in shown] == [1, 2]
    assert "-The first plan.\n+The second plan.\n" in memdb("history", "plan", "--diff", "1", "--root", root).out
    answer = memdb("restore", "plan", "1", "--root", root)
    assert (answer.code, answer.out, answer.err) == (0, "updated project/plan  (project/plan.md)\n", "")
    answer = memdb("restore", "plan", "9", "--root", root, "--json")
    assert (answer.code, answer.json["error"]["code"]) == (3, "not_found")
    answer = memdb("restore", "plan", "2", "--expect", "0" * 64, "--root", root, "--json")
    assert (answer.code, answer.json["error"]["code"]) == (4, "changed")
    answer = memdb("restore", "plan", "2", "--root", root, "--json")
    assert (answer.json["id"], answer.json["changed"]) == ("project/plan", True)


def test_the_view_counts_versions_as_the_command_does(store: Store, tmp_path: Path) -> None:
    store.restore("project/plan", 1)
    rows = store._context.database.rows("select version, reason from memory_versions order by version")
    assert rows == [(1, "saved"), (2, "saved"), (3, "restored")]


def test_half_a_line_that_a_killed_process_left_is_no_damage(store: Store) -> None:
    before, [file] = store.digest(), store._context.journal.files()
    data = file.read_bytes()
    file.write_bytes(data + data.splitlines()[-1][:40])
    store.sync()
    assert (file.read_bytes(), differing(before, store.digest())) == (data, [])
    assert store._context.database.value("select count(*) from problem") == 0


def test_a_memory_whose_file_is_gone_is_meant_by_its_bare_name(store: Store) -> None:
    (store.place.root / "project/plan.md").unlink()
    assert store.history("plan") == store.history("project/plan") != []
    assert store.restore("plan", 3).id == "project/plan"
    store.save("user/plan", "A plan of mine.")
    for file in ("project/plan.md", "user/plan.md"):
        (store.place.root / file).unlink()
    with pytest.raises(UsageError) as error:
        store.history("plan")
    assert error.value.message == "'plan' can mean 2 memories whose files are gone: project/plan, user/plan."
    with pytest.raises(NotFound):
        store.history("lan")
