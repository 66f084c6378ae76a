"""Which folder is the store, and what its settings say."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from memdb.base import settings
from memdb.errors import NotFound, StoreUnreadable, UsageError
from memdb.store import Store, open


def test_the_root_is_named_or_found_upward_or_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = tmp_path / "store" / "user" / "deep"
    below.mkdir(parents=True)
    assert settings.find_root(below) == settings.user_folder() / "memories"
    (tmp_path / "store" / ".memdb").mkdir()
    assert settings.find_root(below) == tmp_path / "store"
    monkeypatch.setenv("MEMDB_ROOT", str(tmp_path / "named"))
    assert settings.find_root(below) == tmp_path / "named"


def test_a_folder_that_is_no_store_is_said_so(tmp_path: Path) -> None:
    for root in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(NotFound) as error:
            open(root)
        assert "memdb init" in str(error.value.hint)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_model")
def test_init_makes_only_its_own_folder_and_may_run_twice(tmp_path: Path) -> None:
    (tmp_path / "user").mkdir()
    (tmp_path / "user/a.md").write_text("a")
    Store.init(tmp_path).close()
    first = (tmp_path / ".memdb/config.toml").read_bytes()
    Store.init(tmp_path).close()
    assert (tmp_path / ".memdb/config.toml").read_bytes() == first
    assert sorted(path.name for path in tmp_path.iterdir()) == [".memdb", "user"]
    assert "memory.db*" in (tmp_path / ".memdb/.gitignore").read_text()


@pytest.mark.parametrize(
    "value", ["plain", 'say "x"', "back\\slash", "tab\tend", "caf\u00e9", "", "a = b # c", "\u2028"]
)
def test_settings_come_back_as_they_were_written(tmp_path: Path, value: str) -> None:
    where = settings.place(tmp_path)
    settings.initialise(where)
    settings.write_settings(where, {"model": value, "id": "x"})
    assert settings.read_settings(where) == {"model": value, "id": "x"}
    assert settings.setting(where, "model") == value


def test_the_environment_wins_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = settings.place(tmp_path)
    settings.initialise(where)
    settings.write_settings(where, {"model": "one"})
    monkeypatch.setenv("MEMDB_MODEL", "other")
    assert settings.setting(where, "model") == "other"
    assert settings.setting(where, "nothing", "default") == "default"


@pytest.mark.parametrize("key", ["", "A", "a b", "1a", "a-b", "a\n"])
def test_a_name_that_no_setting_has_is_refused(tmp_path: Path, key: str) -> None:
    where = settings.place(tmp_path)
    settings.initialise(where)
    with pytest.raises(UsageError):
        settings.write_settings(where, {key: "x"})


@pytest.mark.parametrize("content", [b"id = ", b"\xff\xfe", b"[a\n"])
def test_a_damaged_file_of_settings_is_an_error_that_names_it(tmp_path: Path, content: bytes) -> None:
    where = settings.place(tmp_path)
    settings.initialise(where)
    where.config.write_bytes(content)
    with pytest.raises(UsageError) as error:
        settings.read_settings(where)
    assert "config.toml" in error.value.message and error.value.hint


@pytest.mark.parametrize(("value", "off"), [("0", True), ("No", True), (" off ", True), ("FALSE", True), ("none", True),
                                            ("on", False), ("1", False), ("", False), ("model", False)])  # fmt: skip
def test_what_switches_off(value: str, off: bool) -> None:
    assert settings.switched_off(value) is off


def test_each_machine_and_each_clone_writes_a_journal_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = settings.place(tmp_path / "one"), settings.place(tmp_path / "other")
    first = settings.writer_id(one)
    assert len(first) == 12
    assert settings.writer_id(one) == first
    assert settings.writer_id(other) != first
    monkeypatch.setenv("MEMDB_HOME", str(tmp_path / "another-machine"))
    assert settings.writer_id(one) != first


@pytest.mark.parametrize("content", ["", "  \n"])
def test_an_empty_machine_id_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    monkeypatch.setenv("MEMDB_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home/machine-id").write_text(content)
    first = settings.writer_id(settings.place(tmp_path))
    assert len((tmp_path / "home/machine-id").read_text().strip()) == 32
    assert settings.writer_id(settings.place(tmp_path)) == first


def test_a_home_that_takes_no_write_still_gives_an_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("MEMDB_HOME", str(tmp_path / "file" / "home"))
    where = settings.place(tmp_path)
    assert settings.writer_id(where) == settings.writer_id(where)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_root_that_is_a_looping_link_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises((StoreUnreadable, NotFound)):
        open(tmp_path / "loop")
