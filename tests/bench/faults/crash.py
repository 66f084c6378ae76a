"""Processes that are killed at each of their write calls, and writes that fail there: what is confirmed stays.

Every operation runs once with its write calls counted: pages and frames that SQLite writes, syncs, truncates and
deletes, files that memdb writes, renames and removes. Then it runs once for each of them (or a sample), in a process
that is killed there, before the call or after half of it; and once for each kind of failure. After each, another
process opens the store, syncs, asks the doctor, compares with what was confirmed, does the rest again, and rebuilds.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import apsw

from memdb.errors import MemdbError
from tests.bench.faults import faulty, stores
from tests.bench.faults.faulty import FAULTS
from tests.bench.faults.stores import OPERATIONS, Content, Operation, differing
from tests.bench.faults.trials import Asked, Ended, Found, Tell, forked, loaded, sampled, shared_out

QUICK_POINTS = 12
"""Write calls of one operation at which a quick run kills it, evenly spread."""

QUICK_ERRORS = 3
"""Write calls of one operation at which a quick run makes each kind of failure begin."""

RANDOM_KILLS = 30
"""Kills at random under load; a quick run makes half of them."""

Point = tuple[Operation, int, str]

States = dict[str, tuple[list[Content], list[str]]]
"""For each operation the contents before and after each step, and its write calls in order."""


def run(asked: Asked) -> Found:
    """Kill and fail every operation at its write calls."""
    faulty.install()
    loaded()
    template = asked.folder / "template"
    built = forked(lambda tell: stores.build(template / "root"))
    if built.code:
        return Found(failures=[f"the store could not be built: {built.errors[-3000:]}"])
    states, found = recorded(asked, template, OPERATIONS)
    points = kill_points(states, OPERATIONS, QUICK_POINTS if asked.quick else None)
    points += error_points(states, OPERATIONS, QUICK_ERRORS if asked.quick else 4 * QUICK_ERRORS)
    random.Random(asked.seed).shuffle(points)

    def work(number: int, point: Point) -> Found:
        return tried(asked.folder / f"trial-{number}", template, states, point)

    total = shared_out(asked, points, work)
    total.failures += found.failures
    total.count("write calls of all operations", sum(len(calls) for _, calls in states.values()))
    under_load(asked, template, total)
    return total


def recorded(asked: Asked, template: Path, operations: Sequence[Operation]) -> tuple[States, Found]:
    """What each operation comes to when nothing fails, and the write calls that it makes."""
    states: States = {}
    found = Found()
    where = asked.folder / "recorded"
    for operation in operations:
        contents: list[Content] = []
        for number in range(len(operation.steps) + 1):
            prepared(where, template, operation)
            ended = forked(partial(_contents, where, operation, number))
            contents += ended.said
            if ended.code:
                found.failures.append(f"{operation.name}, without any fault: {ended.errors[-3000:]}")
        prepared(where, template, operation)
        ended = forked(partial(_counted, where, operation))
        if ended.code or len(contents) != len(operation.steps) + 1:
            found.failures.append(f"{operation.name}, without any fault: {ended.errors[-3000:]}")
            continue
        states[operation.name] = contents, ended.said[-1]
    shutil.rmtree(where, ignore_errors=True)
    return states, found


def prepared(where: Path, template: Path, operation: Operation) -> None:
    """A fresh copy of the template, with the files changed as the operation has it."""
    shutil.rmtree(where, ignore_errors=True)
    shutil.copytree(template, where)
    operation.before(where / "root")


def _contents(where: Path, operation: Operation, steps: int, tell: Tell) -> None:
    with stores.opened(where / "root", operation.embedder) as store:
        for step in operation.steps[:steps]:
            step(store)
        tell(stores.content(store))


def _counted(where: Path, operation: Operation, tell: Tell) -> None:
    store = stores.opened(where / "root", operation.embedder)
    FAULTS.arm(None)
    for step in operation.steps:
        step(store)
    store.close()
    FAULTS.disarm()
    tell(list(FAULTS.trace))


def kill_points(states: States, operations: Sequence[Operation], most: int | None) -> list[Point]:
    """Each write call with a kill before it; those that write something also with a kill half way."""
    points: list[Point] = []
    for operation in operations:
        if operation.name not in states:
            continue
        calls = states[operation.name][1]
        for at in sampled(len(calls), most):
            points.append((operation, at, "kill"))
            if calls[at].endswith("write"):
                points.append((operation, at, "torn"))
    return points


def error_points(states: States, operations: Sequence[Operation], most: int | None) -> list[Point]:
    """Some write calls for each kind of failure, which lasts from that call on."""
    return [
        (operation, at, how)
        for operation in operations
        if operation.name in states
        for how in faulty.ERRORS
        for at in sampled(len(states[operation.name][1]), most)
    ]


def tried(where: Path, template: Path, states: States, point: Point) -> Found:
    """One trial: the operation with its fault, then what another process finds."""
    operation, at, how = point
    contents, calls = states[operation.name]
    named = f"{operation.name}, {how} at call {at} ({calls[at]})"
    prepared(where, template, operation)
    met = forked(lambda tell: _faulted(where, operation, at, how, tell))
    found = Found()
    confirmed = sum(said == "done" for said in met.said)
    if how in faulty.KILLS:
        found.count("kill points tried" if met.killed else "kill points that were not reached")
        if not met.killed and met.code:
            found.failures.append(f"{named}: {met.errors[-1500:]}")
    else:
        found.count("failing writes tried")
        found.count("failing writes that were told", sum(said == "told" for said in met.said))
        if met.code:
            found.failures.append(f"{named}: {met.errors[-2500:]}")
    after = forked(lambda tell: _examined(where, operation, contents, confirmed, tell, anew=at % 2 == 0))
    found.failures += [f"{named}: {said}" for said in wrong_with(after)]
    return found


def wrong_with(after: Ended) -> list[str]:
    """What an examination found wrong, with its own failure."""
    return [*after.said, *([after.errors[-2500:] or str(after.code)] if after.code else [])]


def _faulted(where: Path, operation: Operation, at: int, how: str, tell: Tell) -> None:
    store = stores.opened(where / "root", operation.embedder)
    FAULTS.arm(at, how)
    steps: list[Callable[[], object]] = [lambda step=step: step(store) for step in operation.steps]  # type: ignore[misc]
    for step in [*steps, store.close]:
        try:
            step()
            tell("done")
        except MemdbError as error:
            if not error.hint:
                raise AssertionError(f"an error without a hint: {error.message}") from error
            tell("told")
            break
        except SystemError as error:
            # What apsw makes of an error of a VFS that is written in Python, at the end of a backup.
            if not isinstance(error.__cause__, apsw.Error):
                raise
            tell("told")
            break
    FAULTS.disarm()
    with suppress(MemdbError):
        store.close()


def _examined(
    where: Path, operation: Operation, contents: list[Content], confirmed: int, tell: Tell, *, anew: bool
) -> None:
    """Open, sync, compare, do the rest again, ask the doctor, rebuild `anew`; tells all that is wrong."""
    root = where / "root"
    confirmed = min(confirmed, len(operation.steps))
    with stores.opened(root, operation.embedder) as store:
        if store.damage:
            tell(f"the database was damaged: {store.damage}")
        now = stores.content(store)
        _compared(operation, contents, confirmed, now, tell)
        for number in range(confirmed, len(operation.steps)):
            if now == contents[number + 1]:
                continue
            operation.steps[number](store)
            now = stores.content(store)
        for said in differing(contents[-1], now):
            tell(f"done again, it differs in {said}")
        for finding in store.doctor():
            if finding.state == "error":
                tell(f"doctor: {finding.check}: {finding.detail}")
    # What is left in .memdb by a process that was killed goes with `doctor --fix`.
    left = [str(path.relative_to(root)) for path in root.rglob(".memdb-*") if ".memdb" not in path.parts]
    if left:
        tell(f"left behind: {', '.join(left)}")
    if not anew:
        return
    for file in (root / ".memdb").glob("memory.db*"):
        file.unlink()
    with stores.opened(root, operation.embedder) as store:
        for said in differing(now, stores.content(store)):
            tell(f"rebuilt, it differs in {said}")


def _compared(operation: Operation, contents: list[Content], confirmed: int, now: Content, tell: Tell) -> None:
    before, last = contents[confirmed], contents[min(confirmed + 1, len(contents) - 1)]
    if now in (before, last):
        return
    if operation.atomic:
        for said in differing(before, now):
            tell(f"neither as before step {confirmed + 1} nor as after it: {said}")
        return
    for name, rows in before.items():
        lost = (rows & last[name]) - now[name]
        if lost:
            tell(f"{len(lost)} confirmed rows of {name} are lost, such as {next(iter(lost))!r}"[:400])


def under_load(asked: Asked, template: Path, total: Found) -> None:
    """Processes that save, sync, curate and rebuild in a loop, killed at random moments; each save that was confirmed
    is there afterwards, in its file or among its earlier texts."""
    pick = random.Random(asked.seed)
    where = asked.folder / "load"
    shutil.rmtree(where, ignore_errors=True)
    shutil.copytree(template, where)
    for number in range(RANDOM_KILLS // 2 if asked.quick else RANDOM_KILLS):
        limit = pick.uniform(0.05, 0.8)
        seed = pick.randrange(1_000_000)
        ended = forked(lambda tell, limit=limit, seed=seed: _loaded(where / "root", seed, limit, tell))  # type: ignore[misc]
        total.count("kills under load")
        if not ended.killed:
            total.failures.append(f"load {number}: {ended.errors[-2000:]}")
        after = forked(lambda tell, said=ended.said: _kept(where / "root", said, tell))  # type: ignore[misc]
        total.failures += [f"load {number}: {said}" for said in wrong_with(after)]


def _loaded(root: Path, seed: int, limit: float, tell: Tell) -> None:
    import os
    import signal
    import threading

    threading.Timer(limit, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
    pick = random.Random(seed)
    store = stores.opened(root)
    while True:
        verb = pick.choice(("save", "save", "save", "sync", "rename", "rebuild", "reopen", "recall"))
        name = f"user/load-{pick.randrange(5)}"
        with suppress(MemdbError):
            if verb == "save":
                text = f"Load {seed} {time.monotonic_ns()} on [[load-{pick.randrange(5)}]].\n"
                store.save(name, text)
                tell((name, text))
            elif verb == "rename":
                store.entities.rename("Ines Okafor", f"Ines Okafor {pick.randrange(9)}")
            elif verb == "reopen":
                store.close()
            elif verb == "recall":
                store.recall("where does the ferry go")
            else:
                getattr(store, verb)()


def _kept(root: Path, saved: list[tuple[str, str]], tell: Tell) -> None:
    with stores.opened(root) as store:
        if store.damage:
            tell(f"the database was damaged: {store.damage}")
        now = stores.content(store)
        for name in {name for name, _ in saved}:
            texts = {str(past.text).rpartition("---\n")[2].strip() for past in store.history(name)}
            texts.add(store.show(name).body.strip())
            for lost in {text.strip() for other, text in saved if other == name} - texts:
                tell(f"{name} lost a text that was confirmed: {lost!r}")
        for finding in store.doctor():
            if finding.state == "error":
                tell(f"doctor: {finding.check}: {finding.detail}")
    for file in (root / ".memdb").glob("memory.db*"):
        file.unlink()
    with stores.opened(root) as store:
        for said in differing(now, stores.content(store)):
            tell(f"rebuilt, it differs in {said}")
