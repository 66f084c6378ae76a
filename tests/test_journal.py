"""The journal: one file per writer, read as one log; and what a crash between it and the database leaves."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memdb.base import files, journal
from memdb.base.journal import Journal
from memdb.domain import history, remains
from memdb.errors import NotFound, NotWritable
from memdb.services.context import Context
from memdb.services.index import indexing
from memdb.store import Store
from tests.conftest import write_files
from tests.histories import anew, differing, secret

Make = Callable[..., Store]


class Killed(BaseException):
    """Stands in for a process that ends at this point."""


def lines(folder: Path) -> list[bytes]:
    return [line for file in sorted(folder.glob("*.jsonl")) for line in file.read_bytes().splitlines()]


def note(text: str) -> dict[str, Any]:
    return history.version_record("user/a", text, "saved", text)


def told(log: Journal) -> list[str]:
    return [record["text"] for record in log.read()]


def test_lines_come_back_in_order_with_time_and_writer(tmp_path: Path) -> None:
    log = Journal(tmp_path, "w1")
    log.append(note("one"), note("two"))
    log.append(note("three"))
    assert told(log) == ["one", "two", "three"]
    assert {record["w"] for record in log.read()} == {"w1"}
    assert [record["t"] for record in log.read()] == sorted({record["t"] for record in log.read()})


def test_a_clock_that_goes_back_does_not_turn_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Journal(tmp_path, "w1").append(note("one"))
    monkeypatch.setattr(time, "time_ns", lambda: 10**15)
    Journal(tmp_path, "w1").append(note("two"))
    Journal(tmp_path, "w2").append(note("three"))
    assert told(Journal(tmp_path, "w1")) == ["one", "two", "three"]


def test_two_processes_of_one_writer_never_give_one_stamp_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_000_000_000)
    one, other = Journal(tmp_path, "w1"), Journal(tmp_path, "w1")
    one.append(note("one"))
    other.append(note("two"))
    one.append(note("three"))
    other.append(note("four"))
    assert told(one) == ["one", "two", "three", "four"]
    assert len({record["t"] for record in one.read()}) == 4


def test_writers_are_merged_in_the_order_of_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, (machine, text) in enumerate([("w2", "one"), ("w1", "two"), ("w2", "three"), ("w1", "four")]):
        monkeypatch.setattr(time, "time_ns", lambda number=number: (1_700_000_000_000 + number) * 1_000_000)
        # Each writes where it sees nothing of the other.
        Journal(tmp_path / machine, machine).append(note(text))
    merged = tmp_path / "merged"
    merged.mkdir()
    for machine in ("w1", "w2"):
        shutil.copy(tmp_path / machine / f"{machine}.jsonl", merged)
    assert told(Journal(merged, "w1")) == ["one", "two", "three", "four"]


def test_a_line_that_a_merge_doubled_counts_once_and_two_of_one_stamp_both(tmp_path: Path) -> None:
    log = Journal(tmp_path, "w1")
    log.append(note("one"), note("two"))
    data = log.file.read_bytes()
    log.file.write_bytes(data + data)
    (tmp_path / "copy.jsonl").write_bytes(data.replace(b"\n", b"\r\n"))
    assert told(log) == ["one", "two"]
    # As a machine that was copied from this one writes it, at the same time.
    last = json.loads(data.splitlines()[-1])
    del last["c"]
    other = json.dumps(last, separators=(",", ":")).replace("two", "2").encode()
    log.file.write_bytes(data + data.splitlines()[0] + b"\n" + other + b"\n")
    (tmp_path / "copy.jsonl").unlink()
    assert sorted(told(log)) == ["2", "one", "two"]


def test_a_byte_that_changed_in_a_line_is_noticed(tmp_path: Path) -> None:
    log = Journal(tmp_path, "w1")
    log.append(note("one"), note("two"))
    data = log.file.read_bytes()
    assert data.endswith(b'"}\n') and b',"c":"' in data
    end = data.index(b"\n")
    for at in range(end + 1):
        for bit in (0x01, 0x20, 0x80):
            log.file.write_bytes(data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :])
            damaged, said = log.damaged(), told(log)
            # Either the line is said to be damaged, or what it says is what it said.
            assert (damaged[:1] == [("w1.jsonl", 1)] and "one" not in said) or said == ["one", "two"], (at, bit)


@pytest.mark.parametrize("cut", [1, 2, 20, 60])
def test_a_torn_last_line_is_passed_over_and_closed(tmp_path: Path, cut: int) -> None:
    log = Journal(tmp_path, "w1")
    log.append(note("one"))
    log.append(note("two"))
    log.file.write_bytes(log.file.read_bytes()[:-cut])
    again = Journal(tmp_path, "w1")
    whole = ["one", "two"] if cut == 1 else ["one"]
    assert told(again) == whole
    again.append(note("three"))
    assert told(again) == [*whole, "three"]
    assert len(again.damaged()) == (0 if cut == 1 else 1)


@pytest.mark.parametrize(("cut", "seen", "is_cut"), [
    (1, "none", False),  # a whole record, but for the end of its line
    (2, "none", True),
    (20, "none", True),
    (60, "none", True),
    (20, "one", True),
    (20, "both", False),  # it counted before it was damaged
    (0, "none", False),
    (0, "one", False),
])  # fmt: skip
def test_half_a_line_that_nobody_saw_whole_is_cut_off(tmp_path: Path, cut: int, seen: str, is_cut: bool) -> None:
    log = Journal(tmp_path, "w1")
    log.append(note("one"))
    first = log.file.stat().st_size
    log.append(note("two"))
    data = log.file.read_bytes()
    log.file.write_bytes(data[: len(data) - cut])
    assert log.cut_torn({"none": 0, "one": first, "both": len(data)}[seen]) is is_cut
    assert log.file.read_bytes() == (data[:first] if is_cut else data[: len(data) - cut])
    log.append(note("three"))
    assert told(log)[-1] == "three"
    assert len(log.damaged()) == (1 if cut == 20 and seen == "both" else 0)


def test_half_of_the_first_line_is_cut_off(tmp_path: Path) -> None:
    log = Journal(tmp_path, "w1")
    assert log.cut_torn(0) is False
    log.append(note("one"))
    log.file.write_bytes(log.file.read_bytes()[:-9])
    assert log.cut_torn(0)
    assert log.file.read_bytes() == b""
    log.append(note("two"))
    assert (told(log), log.damaged()) == (["two"], [])


@pytest.mark.parametrize(
    "line", [b"<<<<<<< HEAD", b"[]", b"{}", b'{"t":1,"w":"x","kind":"version"}', b"\xff\xfe", b"null"]
)
def test_foreign_lines_are_passed_over_and_said(tmp_path: Path, line: bytes) -> None:
    log = Journal(tmp_path, "w1")
    log.append(note("one"))
    log.file.write_bytes(line + b"\n" + log.file.read_bytes())
    assert told(log) == ["one"]
    assert log.damaged() == [("w1.jsonl", 1)]


@pytest.mark.parametrize(
    "record",
    [
        {"kind": "version"},
        {"kind": "version", "id": 3, "sha256": "x"},
        {"kind": "rename", "moves": []},
        {"kind": "rename", "moves": {"a": 1}},
        {"kind": "forget"},
        {"kind": "clusters", "set": 3},
        {"kind": "of a newer memdb"},
    ],
)
def test_records_that_lack_something_are_passed_over(record: dict[str, Any]) -> None:
    stamped = {"t": "1-0", "w": "w", **record}
    assert history.replay([stamped]) == history.Past()
    assert remains.remains([stamped]) == {}


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Journal(tmp_path, "w1")
    log.append(note("one"))
    before = log.file.read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal.os, "fsync", full)
    with pytest.raises(NotWritable):
        log.append(note("two"))
    monkeypatch.undo()
    assert log.file.read_bytes() == before
    log.append(note("three"))
    assert told(log) == ["one", "three"]


def rename(**moves: str) -> dict[str, Any]:
    return history.rename_record({f"user/{old}": f"user/{new}" for old, new in moves.items()})


def version(name: str, text: str) -> dict[str, Any]:
    return history.version_record(f"user/{name}", text, "saved", text)


def forget(name: str) -> dict[str, Any]:
    return history.forget_record(f"user/{name}")


@pytest.mark.parametrize(
    ("records", "left"),
    [
        ([version("a", "1")], {"a": ["1"]}),
        ([version("a", "1"), rename(a="b"), version("b", "2")], {"b": ["1", "2"]}),
        ([version("a", "1"), version("b", "2"), rename(a="b", b="a")], {"b": ["1"], "a": ["2"]}),
        ([version("a", "1"), forget("a")], {}),
        ([version("a", "1"), forget("a"), version("a", "2")], {"a": ["2"]}),
        (
            [version("a", "1"), rename(a="b"), version("b", "2"), rename(b="c"), version("a", "3"), forget("c")],
            {"a": ["3"]},
        ),
        ([rename(a="b"), rename(b="c"), version("b", "1"), forget("c")], {"b": ["1"]}),
        ([version("a", "1"), version("b", "2"), rename(a="b", b="a"), forget("a")], {"b": ["1"]}),
    ],
)
def test_history_follows_renames_and_ends_with_a_forget(
    records: list[dict[str, Any]], left: dict[str, list[str]]
) -> None:
    stamped = [{"t": f"{number:013d}-00000", "w": "w", **record} for number, record in enumerate(records)]
    found: dict[str, list[str]] = {}
    for past in history.replay(stamped).versions:
        found.setdefault(past.memory_key.removeprefix("user/"), []).append(str(past.text))
    assert found == left
    # With what remains of the forgotten taken out, the log tells the same, and nothing of them.
    rest = remains.remains(stamped)
    kept = [rest.get(place, record) for place, record in enumerate(stamped)]
    clean = [record for record in kept if record is not None]
    assert history.replay(clean) == history.replay(stamped)
    assert remains.remains(clean) == {}
    texts = {record.get("text") for record in clean if record["kind"] == "version"}
    assert texts == {text for all_of in left.values() for text in all_of}


# In a store


def test_saves_edits_and_deletions_keep_the_exact_text_before(make_store: Make, no_model: None) -> None:
    first = "---\nname: x\n# a comment\nodd:   key\n---\n\n# One\n\ttext \u00e4  \n"
    store = make_store({"user/a.md": first})
    file = store.place.root / "user/a.md"
    store.save("user/a", "two\n")
    second = file.read_text()
    file.write_text("three\n")
    store.sync()
    file.unlink()
    store.sync()
    past = store.history("user/a")
    assert [(one.reason, one.text) for one in past] == [("saved", first), ("edited", second), ("deleted", "three\n")]
    file.write_text("four\n")
    store.sync()
    store.save("user/a", "five\n")
    assert [one.text for one in store.history("user/a")] == [first, second, "three\n", "four\n"]


def test_a_text_with_a_secret_is_withheld(make_store: Make, no_model: None) -> None:
    store = make_store({"user/a.md": f"before\n{secret()}\n"})
    store.save("user/a", "clean\n")
    (past,) = store.history("user/a")
    assert (past.text, past.withheld) == (None, "secret")
    assert secret().split()[1].encode() not in b"".join(lines(store.place.journal))


def test_what_another_machine_wrote_comes_in_with_a_sync(make_store: Make, no_model: None) -> None:
    store = make_store({"user/a.md": "now\n"})
    Journal(store.place.journal, "another").append(version("a", "then\n"))
    store.sync()
    assert [past.text for past in store.history("user/a")] == ["then\n"]
    store.save("user/a", "later\n")
    assert [past.text for past in store.history("user/a")] == ["then\n", "now\n"]


@pytest.mark.parametrize("merged", [True, False])
def test_a_text_that_was_forgotten_elsewhere_leaves_this_store_too(
    make_store: Make, no_model: None, merged: bool
) -> None:
    store = make_store({"user/a.md": "the maple text\n", "user/b.md": "b"})
    store.save("user/a", "the birch text\n")
    store.save("user/a", "the cedar text\n")
    (store.place.root / "user/a.md").unlink()
    other = Journal(store.place.journal, "another")
    other.append(forget("a"))
    if not merged:
        other.append(version("b", "kept"))
    store.sync()
    with pytest.raises(NotFound):
        store.history("user/a")
    store.close()
    for file in store.place.home.rglob("*"):
        if file.is_file():
            assert not any(word in file.read_bytes() for word in (b"maple", b"birch", b"cedar")), file
    assert store.stats()["memories"] == 1


POINTS = {
    "before the journal": (Journal, "append"),
    "after the journal": (Context, "_apply"),
    "before the file": (files, "write_whole"),
    "after the file": (indexing, "apply"),
}


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("then", ["sync", "save"])
def test_a_crash_between_journal_file_and_database_is_healed(
    make_store: Make, no_model: None, monkeypatch: pytest.MonkeyPatch, point: str, then: str
) -> None:
    store = make_store({"user/a.md": "one\n", "user/b.md": "b\n"})
    store.save("user/a", "two\n")
    root = store.place.root
    owner, name = POINTS[point]

    def die(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, die)
        with pytest.raises(Killed):
            store.save("user/a", "three\n")
    store.close()
    with Store(store.place) as again:
        if then == "save":
            again.save("user/b", "more\n")
        again.sync()
        body = again.show("user/a").body
        assert body == ("three\n" if point == "after the file" else "two\n")
        past = [one.text for one in again.history("user/a")]
        assert past[:1] == ["one\n"] and len(past) == len(set(past))
        assert body == "two\n" or "two\n" in past
        live = again.digest()
    assert differing(live, anew(root, model=False)) == []


def test_a_killed_process_keeps_what_it_confirmed(make_store: Make, no_model: None) -> None:
    store = make_store({"user/a.md": "one\n"})
    store.close()
    code = (
        "import os, sys, memdb.store as m\n"
        "s = m.Store.init(sys.argv[1])\n"
        "for n in range(5): s.save('user/a', f'text {n}\\n')\n"
        "os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(store.place.root)], check=False)
    with Store(store.place) as again:
        assert again.damage is None
        again.sync()
        assert [one.text for one in again.history("user/a")] == ["one\n", *(f"text {n}\n" for n in range(4))]
        live = again.digest()
    assert differing(live, anew(store.place.root, model=False)) == []


def test_the_journal_is_lines_of_json_that_a_person_can_read(make_store: Make, no_model: None) -> None:
    store = make_store({})
    write_files(store.place.root, {"user/a.md": "caf\u00e9\n"})
    store.sync()
    store.save("user/a", "tea\n")
    born, line = lines(store.place.journal)
    assert "caf\u00e9" in line.decode()
    assert (json.loads(born)["kind"], json.loads(line)["kind"]) == ("created", "version")
    assert json.loads(line)["id"] == json.loads(born)["id"] == "user/a"
