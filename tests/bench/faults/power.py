"""The power goes: what was written and not synced is lost, or half there, in any order; what was confirmed stays.

Every operation runs once, and all that it writes is noted, sector by sector, with its syncs: SQLite's files through the
counting VFS, others through `open` and `os`. Then, before and after every sync (or a sample of them), a folder is made
as a disk could have it: once without anything that was not synced, and with random parts of it. Another process opens
the store, syncs, asks the doctor, compares with what was confirmed, does the rest again, and rebuilds. And whenever a
call returns, all that it wrote outside of the database, which can be made again, is synced with the names of its files.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from memdb.errors import MemdbError
from tests.bench.faults import crash, disk, faulty, stores
from tests.bench.faults.disk import Disk, Platter, Recorded
from tests.bench.faults.faulty import FAULTS
from tests.bench.faults.stores import OPERATIONS, Content, Operation
from tests.bench.faults.trials import Asked, Found, Tell, forked, loaded, sampled, shared_out

QUICK_POINTS = 5
"""Places between syncs of one operation at which a quick run cuts the power, evenly spread."""

QUICK_TIMES, TIMES = 1, 3
"""Random parts of the unsynced writes that are tried at each place, beside none of them."""

IN_PROBLEMS = "differs in problem (0 only before, 1 only after"

DERIVED = (".memdb/memory.db", ".memdb/local", ".memdb/lock", ".memdb/backups/.memdb-backup-")
"""Files that may be lost: they are made again from the files of memories and documents, the journal and snapshots."""


def run(asked: Asked) -> Found:
    """Cut the power at the syncs of every operation."""
    faulty.install()
    loaded()
    template = asked.folder / "template"
    built = forked(lambda tell: stores.build(template / "root"))
    if built.code:
        return Found(failures=[f"the store could not be built: {built.errors[-3000:]}"])

    def work(job: int, operation: Operation) -> Found:
        return tried(asked, asked.folder / f"trial-{job}", template, operation)

    return shared_out(asked, list(OPERATIONS), work)


def tried(asked: Asked, where: Path, template: Path, operation: Operation, most: int | None = QUICK_POINTS) -> Found:
    """One operation, and the power cut at its syncs; at `most` places in a quick run."""
    found = Found()
    states, without_fault = crash.recorded(Asked(True, where.parent / f"{where.name}-states"), template, [operation])
    found.failures += without_fault.failures
    if operation.name not in states:
        return found
    contents = states[operation.name][0]
    crash.prepared(where, template, operation)
    before = where.with_name(f"{where.name}-before")
    shutil.rmtree(before, ignore_errors=True)
    shutil.copytree(where, before)
    ended = forked(partial(_recorded, where, operation))
    if ended.code:
        found.failures.append(f"{operation.name}, recorded: {ended.errors[-3000:]}")
        return found
    recorded: Recorded = ended.said[-1]
    found.failures += [f"{operation.name}: {said}" for said in unsynced(recorded)]
    points = recorded.sync_points()
    found.count("sync points of all operations", len(points))
    for point in sampled(len(points), most if asked.quick else None):
        for time in range(1 + (QUICK_TIMES if asked.quick else TIMES)):
            add_trial(asked, where, before, operation, contents, recorded, points[point], time, found)
    return found


def add_trial(  # noqa: PLR0917 (what one trial is)
    asked: Asked,
    where: Path,
    before: Path,
    operation: Operation,
    contents: Sequence[Content],
    recorded: Recorded,
    at: int,
    time: int,
    found: Found,
) -> None:
    """Make the folder as a disk could have it after so many events, and look what another process finds."""
    pick = random.Random(f"{asked.seed} {operation.name} {at} {time}")
    lost = Platter.after(recorded, at).made(where, before, disk.some(pick) if time else disk.nothing)
    found.count("power cuts tried")
    found.count("unsynced sectors and names lost", lost)
    after = forked(
        lambda tell: crash._examined(
            where, operation, list(contents), recorded.confirmed(at), tell, anew=(at + time) % 2 == 0
        )
    )
    named = (
        f"{operation.name}, power cut after event {at} of {len(recorded.events)}, {('all', 'some')[bool(time)]} lost"
    )
    # A line that was being appended is named and passed over; it was not confirmed.
    torn = [said for said in after.said if IN_PROBLEMS in said and "such as .memdb/journal/" in said]
    found.count("journal lines that were torn", len(torn))
    found.failures += [f"{named}: {said}" for said in crash.wrong_with(after) if said not in torn]


def _recorded(where: Path, operation: Operation, tell: Tell) -> None:
    store = stores.opened(where / "root", operation.embedder)
    FAULTS.disk = watched = Disk(where)
    FAULTS.arm(None)
    for step in operation.steps:
        step(store)
        watched.done()
    try:
        store.close()
    except MemdbError as error:
        raise AssertionError("it does not close") from error
    FAULTS.disarm()
    FAULTS.disk = None
    tell(Recorded(watched.first, watched.listings, watched.events))


def unsynced(recorded: Recorded) -> list[str]:
    """What was written outside of the database and not synced, or named, when a call returned."""
    said = []
    for at, event in enumerate(recorded.events):
        if event != ("done",):
            continue
        platter = Platter.after(recorded, at)
        last = {folder: states[-1] for folder, states in platter.open_names.items()}
        for folder, listing in (platter.names | last).items():
            for name, file in listing.items():
                path = f"{folder}/{name}".removeprefix("root/")
                if path.startswith(DERIVED) or file == disk.FOLDER:
                    continue
                if platter.open_writes.get(file):
                    said.append(f"{path} is written and not synced when call {recorded.confirmed(at) + 1} returns")
        for folder, states in platter.open_names.items():
            certain = platter.names.get(folder, {})
            names = {name for name in certain.keys() | states[-1].keys() if certain.get(name) != states[-1].get(name)}
            for name in sorted(names):
                path = f"{folder}/{name}".removeprefix("root/")
                if not path.startswith(DERIVED):
                    said.append(f"the name {path} is not synced when call {recorded.confirmed(at) + 1} returns")
    return said


__all__ = ["run"]
