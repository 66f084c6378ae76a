"""Bytes that change: every page of a small database, its log and the journal. Detected and rebuilt, or proved harmless.

A change to a closed database comes in two ways: so that the file system shows it (another time of change), as when a
program wrote, and so that only the bytes differ, as when a disk did. Afterwards the store opens, answers, and says what
it said before: equal content, no error of the doctor, or the same after `doctor --fix`.
"""

from __future__ import annotations

import os
import pickle
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from memdb.base import settings
from memdb.base.journal import Journal
from memdb.base.storage import page_size_of
from memdb.services.health import checking
from tests.bench.faults import stores
from tests.bench.faults.crash import wrong_with
from tests.bench.faults.stores import Content, differing
from tests.bench.faults.trials import Asked, Found, Tell, forked, loaded, sampled, shared_out

QUICK_PAGES = 20
"""Pages that a quick run changes, evenly spread; a whole run takes each."""

QUICK_FRAMES = 8

Change = Callable[[bytearray, int, int], None]
"""Changes a file's bytes at a page (its number from 0, its size)."""


def _flip(share: float) -> Change:
    def change(data: bytearray, page: int, size: int) -> None:
        data[min(page * size + int(share * size), len(data) - 1)] ^= 0xFF

    return change


def _bit(data: bytearray, page: int, size: int) -> None:
    data[page * size + random.Random(page).randrange(size)] ^= 1 << page % 8


def _zero(data: bytearray, page: int, size: int) -> None:
    data[page * size : (page + 1) * size] = bytes(size)


def _noise(data: bytearray, page: int, size: int) -> None:
    data[page * size : (page + 1) * size] = random.Random(page).randbytes(size)


def _cut(data: bytearray, page: int, size: int) -> None:
    del data[page * size :]


def _half(data: bytearray, page: int, size: int) -> None:
    del data[page * size + size // 2 :]


def _swap(data: bytearray, page: int, size: int) -> None:
    other = (page + 1) % (len(data) // size)
    one, two = page * size, other * size
    data[one : one + size], data[two : two + size] = data[two : two + size], data[one : one + size]


def _twice(data: bytearray, page: int, size: int) -> None:
    other = (page + 1) % (len(data) // size)
    data[other * size : (other + 1) * size] = data[page * size : (page + 1) * size]


PAGE_CHANGES: dict[str, Change] = {
    "first byte": _flip(0),
    "a byte of the header": _flip(0.0007),
    "a byte at a quarter": _flip(0.25),
    "a byte in the middle": _flip(0.5),
    "last byte": _flip(0.9999),
    "one bit": _bit,
    "zeroed": _zero,
    "noise": _noise,
    "truncated": _cut,
    "truncated in the middle": _half,
    "swapped with the next": _swap,
    "written over the next": _twice,
}

WAYS = ("seen", "unseen", "log")
"""How a page changes: by a program, by the disk alone, or beside a log that a killed process left."""


def run(asked: Asked) -> Found:
    """Change everything that can change, and look."""
    loaded()
    template = asked.folder / "template"
    built = forked(lambda tell: _build(template))
    if built.code:
        return Found(failures=[f"the store could not be built: {built.errors[-3000:]}"])
    database = (template / "closed/.memdb/memory.db").read_bytes()
    size = page_size_of(template / "closed/.memdb/memory.db")
    pages = sampled(len(database) // size, QUICK_PAGES if asked.quick else None)
    items: list[tuple[str, str, int]] = [(way, what, page) for way in WAYS for page in pages for what in PAGE_CHANGES]
    if asked.quick:
        items = [item for number, item in enumerate(items) if number % len(WAYS) == WAYS.index(item[0])]
    frames = ((template / "killed/.memdb/memory.db-wal").stat().st_size - 32) // (size + 24)
    items += [
        ("frame", what, frame)
        for frame in sampled(frames, QUICK_FRAMES if asked.quick else None)
        for what in ("a byte of the header", "a byte in the middle", "zeroed", "truncated", "truncated in the middle")
    ]
    items += [("log file", what, 0) for what in LOG_FILES]
    items += [("line", what, line) for line in range(_lines(template)) for what in LINES]
    items += [("sources", "changed under a running sync", seed) for seed in range(2 if asked.quick else 10)]
    random.Random(asked.seed).shuffle(items)

    def work(number: int, item: tuple[str, str, int]) -> Found:
        return tried(asked.folder / f"trial-{number}", template, *item)

    found = shared_out(asked, items, work)
    found.figures["pages of the database"] = len(database) // size
    return found


def _build(template: Path) -> None:
    """A store that was closed, and the same one as a killed process leaves it, with a log."""
    stores.build(template / "closed")
    with stores.opened(template / "closed") as store:
        (template / "closed.content").write_bytes(pickle.dumps(stores.content(store)))
    for moment in (template / "closed/.memdb").glob("memory.db-*"):
        raise AssertionError(f"{moment.name} is left of a store that was closed")
    shutil.copytree(template / "closed", template / "killed")
    store = stores.opened(template / "killed")
    store.save("user/late", "A late note on the crane.\n")
    (template / "killed.content").write_bytes(pickle.dumps(stores.content(store)))
    os._exit(0)  # no connection is closed


def _lines(template: Path) -> int:
    journal = Journal(template / "closed/.memdb/journal", "none")
    return sum(file.read_bytes().count(b"\n") for file in journal.files())


def tried(where: Path, template: Path, way: str, what: str, number: int) -> Found:
    """One change, and what comes of it."""
    shutil.rmtree(where, ignore_errors=True)
    killed = way in ("log", "frame", "log file")
    shutil.copytree(template / ("killed" if killed else "closed"), where)
    named = f"{way}: {what} at {number}"
    found = Found()
    if way == "sources":
        from tests.bench.faults import moving

        after = forked(lambda tell: moving.changed_under_a_sync(where, number, tell))
    elif way == "line":
        after = forked(lambda tell: _line_changed(where, what, number, tell))
    else:
        after = forked(lambda tell: _page_changed(where, template, (way, what, number), tell))
    told = [said for said in after.said if isinstance(said, tuple)]
    found.count(
        {
            "line": "journal lines changed",
            "sources": "folders changed under a sync",
            "frame": "frames of the log changed",
            "log file": "logs changed whole",
        }.get(way, f"pages changed, {'with a log beside' if way == 'log' else way}")
    )
    for _, outcome in told:
        found.count(f"{outcome}")
    wrong = [said for said in wrong_with(after) if not isinstance(said, tuple)]
    if not told and not wrong:
        wrong = ["no outcome was told"]
    found.failures += [f"{named}: {said}" for said in wrong]
    return found


def _page_changed(where: Path, template: Path, change: tuple[str, str, int], tell: Tell) -> None:
    way, what, number = change
    home = where / ".memdb"
    if way == "seen":
        # As memdb left it, here.
        with stores.opened(where) as store:
            store.sync()
    size = page_size_of(home / "memory.db")
    file = home / ("memory.db-wal" if way in ("frame", "log file") else "memory.db")
    data = bytearray(file.read_bytes())
    if way == "frame":
        head, data = data[:32], data[32:]
        PAGE_CHANGES[what](data, number, size + 24)
        data = head + data
    elif way == "log file":
        data = LOG_FILES[what](data)
    else:
        PAGE_CHANGES[what](data, number, size)
    same = bytes(data) == file.read_bytes()
    if way == "unseen":
        _unseen(where, bytes(data))
    else:
        file.write_bytes(data)
    if way in ("log", "frame", "log file"):
        (home / "memory.db-shm").unlink(missing_ok=True)
    if same:
        tell(("outcome", "nothing changed"))
        return
    _judged(where, _expected(template, "killed" if way in ("log", "frame", "log file") else "closed"), tell)


def _unseen(where: Path, data: bytes) -> None:
    """Write as a failing disk does: the note is of this file with its times, and of its bytes before."""
    with stores.opened(where) as store:
        store.sync()
    place = settings.place(where)
    noted = checking._noted(place)
    assert noted is not None
    place.database.write_bytes(data)
    stamp = checking._stamp(place)
    assert stamp is not None
    checking._write(place, noted._replace(stamp=stamp))


def _expected(template: Path, which: str) -> Content:
    """The content of the store before it was damaged."""
    kept = template / f"{which}.content"
    content: Content = pickle.loads(kept.read_bytes())
    return content


def _judged(where: Path, expected: Content, tell: Tell) -> None:
    """Open, ask, compare: nothing is missing, and what was wrong is found and mended."""
    with stores.opened(where) as store:
        opened = store.damage
        hits = [hit.id for hit in store.recall("what is drunk at five").hits]
        listed = len(store.list())
        asked = store.damage
        now = stores.content(store)
        used = store.damage
        errors = [f"{one.check}: {one.detail}" for one in store.doctor() if one.state == "error"]
        differs = differing(expected, now)
        outcome = (
            "detected when it was opened" if opened
            else "detected when it was asked" if asked
            else "detected when it was synced" if used
            else "detected by the doctor" if errors
            else "harmless: every row is as it was"
        )  # fmt: skip
        if errors or differs:
            deep = not errors
            done = store.repair(deep=deep)
            if deep and done:
                outcome = "detected by the doctor, with --deep"
            now = stores.content(store)
            errors = [f"{one.check}: {one.detail}" for one in store.doctor() if one.state == "error"]
            for said in errors:
                tell(f"after doctor --fix: {said}")
            for said in differing(expected, now):
                tell(f"after doctor --fix, it differs in {said}")
        if outcome in ("detected when it was opened", "harmless: every row is as it was"):
            if "user/tea" not in hits:
                tell(f"a recall gave {hits}")
            if listed != len(expected["memory"]):
                tell(f"{listed} memories are listed")
        tell(("outcome", outcome))


def _no_log(data: bytearray) -> bytearray:
    return bytearray()


def _log_of_noise(data: bytearray) -> bytearray:
    return bytearray(random.Random(1).randbytes(len(data)))


def _half_a_log(data: bytearray) -> bytearray:
    return data[: len(data) // 2 + 13]


def _log_twice(data: bytearray) -> bytearray:
    return data + data[32:]


def _other_salt(data: bytearray) -> bytearray:
    return data[:16] + bytearray(b"\x01\x02\x03\x04\x05\x06\x07\x08") + data[24:]


LOG_FILES: dict[str, Callable[[bytearray], bytearray]] = {
    "emptied": _no_log,
    "noise": _log_of_noise,
    "half of it": _half_a_log,
    "doubled": _log_twice,
    "of another generation": _other_salt,
}

LINES = ("a byte at a quarter", "a byte in the middle", "a byte near the end", "cut", "joined with the next")


def _told(journal: Journal) -> list[str]:
    """What a journal says; a checksum whose name was hit is a member that nobody reads."""
    return sorted(
        repr({name: value for name, value in record.items() if len(name) > 1 or name in "tw"})
        for record in journal.read()
    )


def _line_changed(where: Path, what: str, number: int, tell: Tell) -> None:
    """A line of the journal that changes is named by the doctor; with the database there, it is written again."""
    journal = Journal(where / ".memdb/journal", "none")
    before = _told(journal)
    for file in journal.files():
        lines = file.read_bytes().split(b"\n")
        if number >= len(lines) - 1:
            number -= len(lines) - 1
            continue
        line = bytearray(lines[number])
        if what.startswith("a byte"):
            at = {"a byte at a quarter": 0.25, "a byte in the middle": 0.5, "a byte near the end": 0.95}[what]
            line[int(at * len(line))] ^= 0x01
            lines[number] = bytes(line)
        elif what == "cut":
            lines[number] = bytes(line[: len(line) // 2])
        else:
            lines[number : number + 2] = [lines[number] + lines[number + 1]]
        file.write_bytes(b"\n".join(lines))
        break
    if _told(journal) == before:
        tell(("outcome", "harmless: the journal says what it said"))
        return
    with stores.opened(where) as store:
        found = next(one for one in store.doctor() if one.check == "journal")
        if found.state == "ok":
            tell("the doctor finds nothing wrong with the journal")
        tell(("outcome", "detected by the doctor"))
        store.recall("what is drunk at five")
        if len(store.list()) != len([path for path in stores.FILES if path.endswith(".md")]):
            tell("memories are missing")
        store.repair()
        brought = _told(journal) == before
        tell(("outcome", "lines brought back by doctor --fix" if brought else "lines that nothing else tells of"))
        if what.startswith("a byte") and not brought:
            tell("a line of which one byte changed is not brought back")
