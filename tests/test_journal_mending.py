"""Damaged lines of the journal come back: by their checksums, or from the database, which shows what they said."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from memdb.base import journal_mending
from memdb.base.journal import Journal, _line
from memdb.store import Store
from tests.histories import anew, differing

Make = Callable[..., Store]

pytestmark = pytest.mark.usefixtures("no_model")

ONE = _line({"t": "0000000000001-00000", "w": "w1", "kind": "created", "id": "user/zażółć"})
TWO = _line({"t": "0000000000002-00000", "w": "w1", "kind": "created", "id": "user/b"})


def flipped(line: bytes, place: int, bits: int = 1) -> bytes:
    return line[:place] + bytes([line[place] ^ bits]) + line[place + 1 :]


@pytest.mark.parametrize("place", range(len(ONE)))
def test_one_changed_byte_anywhere_is_known_from_the_checksum(place: int) -> None:
    pick = random.Random(place)
    assert journal_mending.lines_of(flipped(ONE, place, pick.randrange(1, 256))) == [ONE]


def test_a_long_line_too() -> None:
    line = _line({"t": "1", "w": "w1", "kind": "version", "id": "a", "sha256": "b", "text": "Tide gauges. " * 9000})
    assert journal_mending.lines_of(flipped(line, 70_000, 0x80)) == [line]


@pytest.mark.parametrize(
    ("damaged", "was"),
    [
        (ONE + TWO, [ONE, TWO]),
        (ONE + b"\x0b" + TWO, [ONE, TWO]),
        (ONE[:-20], []),
        (ONE[:20] + b"\0\0\0" + ONE[23:], []),
        (b"<<<<<<< HEAD", []),
        (b"", []),
        (b'{"t":"1","w":"w1","kind":"created","id":"old', []),
    ],
    ids=["joined", "end of line changed", "cut", "three bytes", "conflict mark", "empty", "without a checksum"],
)
def test_what_other_damage_comes_to(damaged: bytes, was: list[bytes]) -> None:
    assert journal_mending.lines_of(damaged) == was


def test_a_byte_that_became_the_end_of_a_line(tmp_path: Path) -> None:
    place = ONE.index(b"user")
    (tmp_path / "w1.jsonl").write_bytes(ONE[:place] + b"\n" + ONE[place + 1 :] + b"\n" + TWO + b"\n")
    log = Journal(tmp_path, "w1")
    assert len(log.damaged()) == 2
    assert log.mend(lambda records, writer: []) == (2, 0)
    assert (tmp_path / "w1.jsonl").read_bytes() == ONE + b"\n" + TWO + b"\n"


def made(make_store: Make) -> Store:
    """A store whose journal has an earlier text, births, decisions about the vocabulary and about entities."""
    store = make_store({"user/tea.md": "Green tea.\n", "user/ines.md": "Ines Okafor runs Quillbase.\n"})
    store.save("user/tea", "Black tea now.\n")
    store.save("project/crane", "Ines Okafor mends the crane of Quillbase.\n")
    store.schema.add("type", "vessel", "A ship or a boat that has a name.")
    store.entities.rename("Quillbase", "Quillbase Server", why="so it is called")
    store.save("user/tea", "White tea.\n")
    store.sync()
    return store


def lines(store: Store) -> list[bytes]:
    (file,) = store.place.journal.glob("*.jsonl")
    return file.read_bytes().splitlines()


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "one byte": lambda line: flipped(line, len(line) // 2),
    "zeroed": lambda line: b"\0" * len(line),
    "cut": lambda line: line[: len(line) // 2],
    "noise, as long": lambda line: random.Random(3).randbytes(len(line)).replace(b"\n", b"?").replace(b"\r", b"?"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_line_comes_back_from_the_database(make_store: Make, damage: str) -> None:
    store = made(make_store)
    before, live = lines(store), store.digest()
    (file,) = store.place.journal.glob("*.jsonl")
    told = store._context.journal.read()
    assert {one["kind"] for one in told} == {"created", "curation", "version", "vocabulary"}
    for number, line in enumerate(before):
        damaged = [*before[:number], DAMAGES[damage](line), *before[number + 1 :]]
        file.write_bytes(b"\n".join(damaged) + b"\n")
        assert len(store._context.journal.damaged()) == 1
        said = store.repair()
        assert len(said) == 1 and "1 damaged lines of the journal" in said[0]
        assert store._context.journal.read() == told
        assert store._context.journal.damaged() == []
        assert store.digest() == live
    assert differing(live, anew(store.place.root, model=False)) == []


def test_a_line_that_was_cut_comes_back_before_the_tables_follow_the_journal(make_store: Make) -> None:
    """The size of a journal file tells a sync to show it anew: what the tables alone still know would go."""
    store = made(make_store)
    live, told = store.digest(), store._context.journal.read()
    (file,) = store.place.journal.glob("*.jsonl")
    file.write_bytes(file.read_bytes()[:-60])
    store.sync()
    assert (store.digest(), store._context.journal.read()) == (live, told)


def test_a_rebuild_asks_the_old_database(make_store: Make) -> None:
    store = made(make_store)
    live, told = store.digest(), store._context.journal.read()
    (file,) = store.place.journal.glob("*.jsonl")
    file.write_bytes(b"\n".join(b"\0" * len(line) for line in lines(store)) + b"\n")
    store.rebuild()
    assert (store.digest(), store._context.journal.read()) == (live, told)


def test_what_nothing_tells_of_stays_and_is_named(make_store: Make) -> None:
    store = make_store({"user/tea.md": "Green tea.\n"})
    store.save("user/tea", "Black tea now.\n")
    (file,) = store.place.journal.glob("*.jsonl")
    file.write_bytes(b'{"t":"0000000000001-00000","w":"other","kind":"version","id":"user/x"\n' + file.read_bytes())
    assert not any("journal" in said for said in store.repair())
    assert next(one for one in store.doctor() if one.check == "journal").state == "warning"
    assert b'"id":"user/x"' in file.read_bytes()


def test_what_was_forgotten_does_not_come_back_with_a_damaged_line(make_store: Make) -> None:
    store = made(make_store)
    writer = store._context.journal.writer
    rows = store._context.database.rows("select memory_key, at, sha256, reason, text from memory_version")
    store.forget("user/tea")
    # As a process leaves it that was killed before the tables followed.
    with store._context.database.write() as connection:
        connection.executemany(
            "insert into memory_version (memory_key, at, sha256, reason, text) values (?, ?, ?, ?, ?)", rows
        )
    (file,) = store.place.journal.glob("*.jsonl")
    file.write_bytes(b'{"t":"0000000000001-00000","w":"%b"\n' % writer.encode() + file.read_bytes())
    store.repair()
    assert b"Green tea" not in file.read_bytes()
    assert all(one.get("id") != "user/tea" for one in store._context.journal.read())


def test_a_sound_journal_is_not_touched(make_store: Make) -> None:
    store = made(make_store)
    (file,) = store.place.journal.glob("*.jsonl")
    before = file.read_bytes()
    assert store.repair() == []
    assert file.read_bytes() == before
