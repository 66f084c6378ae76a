"""Eight processes at once on one store: they save, edit by hand, recall, curate, index, sync and rebuild, for minutes.

No save that was confirmed is lost, no process is told of a lock, the log stays bounded, an answer is from one state of
the store, and afterwards the store is what its files and its journal make.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from memdb.errors import Busy, Changed, MemdbError, NotFound, Refused, UsageError
from memdb.store import Store
from tests.bench.faults import stores
from tests.bench.faults.stores import differing
from tests.bench.faults.trials import Asked, Found, Tell, forked, loaded, started

PROCESSES = 8

QUICK_SECONDS, SECONDS = 45.0, 240.0
"""For how long each process works."""

ROLES = ("writer", "writer", "editor", "reader", "reader", "curator", "indexer", "keeper")
"""What the processes do: save, write files by hand, ask, correct the graph, index with a model, sync and rebuild."""

LOG_BYTES = 64 * 2**20
"""What the log may grow to: a reader holds it for as long as it reads, and a rebuild writes the whole store into it."""


def run(asked: Asked) -> Found:
    """Let the processes work on a store, then look."""
    loaded()
    seconds = _seconds(asked)
    root = asked.folder / "shared"
    built = forked(lambda tell: stores.build(root))
    if built.code:
        return Found(failures=[f"the store could not be built: {built.errors[-3000:]}"])
    found = Found()
    log = root / ".memdb/memory.db-wal"
    begun = time.monotonic()
    running = [
        started(lambda tell, number=number, role=role: _work(root, role, number, asked, tell),  # type: ignore[misc]
                seconds=seconds + 600)
        for number, role in enumerate(ROLES)
    ]  # fmt: skip
    largest = 0
    while time.monotonic() - begun < seconds:
        time.sleep(0.02)
        with suppress(OSError):
            largest = max(largest, log.stat().st_size)
    saved: dict[str, list[str]] = {}
    for role, process in zip(ROLES, running, strict=True):
        ended = process.end()
        if ended.code:
            found.failures.append(f"{role}: ended with {ended.code}: {ended.errors[-2500:]}")
        for said in ended.said:
            match said:
                case ("saved", name, text):
                    saved.setdefault(name, []).append(text)
                case ("did", verb, number):
                    found.count(f"operations: {verb}", number)
                    found.count("operations", number)
                case _:
                    found.failures.append(f"{role}: {said}")
    found.figures["processes"] = PROCESSES
    found.figures["process-minutes"] = round(PROCESSES * (time.monotonic() - begun) / 60, 1)
    found.figures["confirmed saves"] = sum(map(len, saved.values()))
    found.figures["max bytes of the log"] = largest
    if largest > LOG_BYTES:
        found.failures.append(f"the log grew to {largest} bytes")
    after = forked(lambda tell: _examined(root, saved, tell), seconds=600)
    found.failures += [*after.said, *([after.errors[-2500:]] if after.code else [])]
    return found


def _seconds(asked: Asked) -> float:
    return asked.seconds or (QUICK_SECONDS if asked.quick else SECONDS)


def _work(root: Path, role: str, number: int, asked: Asked, tell: Tell) -> None:
    seconds = _seconds(asked)
    pick = random.Random(f"{asked.seed} {number}")
    step = STEPS[role]
    counts: dict[str, int] = {}
    end = time.monotonic() + seconds
    store = stores.opened(root)
    turn = 0
    while time.monotonic() < end:
        turn += 1
        try:
            verb = step(store, pick, number, turn, tell)
        except Busy as error:
            tell(f"was told of a lock: {error.message}")
            verb = "told of a lock"
        except (NotFound, Refused, UsageError) as error:
            if isinstance(error, Changed):
                tell(f"an unexpected error: {error.message}")
            verb = "refused"
        except MemdbError as error:
            tell(f"{error.code}: {error.message}")
            verb = "failed"
        counts[verb] = counts.get(verb, 0) + 1
        if turn % 40 == 0:
            store.close()
    if store.damage:
        tell(f"the database was damaged: {store.damage}")
    store.close()
    for verb, count in counts.items():
        tell(("did", verb, count))


def _write(store: Store, pick: random.Random, number: int, turn: int, tell: Tell) -> str:
    name = f"user/shared-{pick.randrange(4)}" if turn % 3 else f"user/own-{number}"
    text = f"Text {number}-{turn} of the pier, see [[shared-{pick.randrange(4)}]].\n"
    store.save(name, text)
    tell(("saved", name, text))
    # An agent thinks between two saves; without any pause, whoever waits for the lock waits long.
    time.sleep(pick.uniform(0, 0.1))
    return "save"


def _edit(store: Store, pick: random.Random, number: int, turn: int, tell: Tell) -> str:
    # Files that no one else writes: what two programs write into one file at once, no store can keep.
    file = store.place.root / f"project/by-hand-{pick.randrange(5)}.md"
    file.parent.mkdir(exist_ok=True)
    if pick.random() < 0.1:
        file.unlink(missing_ok=True)
        return "delete by hand"
    fresh = file.with_name(f".{file.name}.tmp")
    fresh.write_text(f"Edit {turn} by hand of the crane. See [[shared-1]] and Ines Okafor.\n", encoding="utf-8")
    fresh.replace(file)
    time.sleep(pick.uniform(0, 0.1))
    return "edit by hand"


def _read(store: Store, pick: random.Random, number: int, turn: int, tell: Tell) -> str:
    verb = pick.choice(("recall", "recall", "recall", "list", "show", "one state", "graph"))
    if verb == "recall":
        answer = store.recall(pick.choice(("text of the pier", "who is Ines", "tide gauges", "berth nine")))
        for hit in answer.hits:
            if not hit.id:
                tell("a hit without an id")
    elif verb == "list":
        if len(store.list()) < 8:
            tell(f"{len(store.list())} memories are listed")
    elif verb == "show":
        store.show("user/ines")
    elif verb == "graph":
        store.entities.list()
    else:
        _one_state(store, tell)
    return verb


STATE = """select
    (select count(*) from memory), (select count(*) from node where kind = 'memory'),
    (select count(*) from memory) + (select count(*) from chunk), (select texts from fts_total),
    (select count(*) from fts_length), (select count(*) from embedded),
    (select count(distinct node_id) from passage),
    (select count(*) from neighbor), (select 2 * count(*) from edge
        where active and weight > 0 and src <> dst and kind <> 'contradicts')"""


def _one_state(store: Store, tell: Tell) -> None:
    """Tables that are written together agree at any moment, in one transaction and in one statement."""
    ((memories, nodes, texts, total, lengths, embedded, embedded_nodes, neighbors, edges),) = store._run(
        lambda context: context.database.rows(STATE)
    )
    if (memories, texts, texts, neighbors) != (nodes, total, lengths, edges) or embedded < embedded_nodes:
        tell(f"two states in one answer: {memories, nodes, texts, total, lengths, neighbors, edges}")


def _curate(store: Store, pick: random.Random, number: int, turn: int, tell: Tell) -> str:
    verb = pick.choice(("rename", "delete", "undo", "type", "suggest"))
    if verb == "rename":
        store.entities.rename(pick.choice(("Ines Okafor", "Harbour Office")), f"Name {turn % 7} {number}")
    elif verb == "delete":
        store.undo(store.entities.delete("Grafana").id)
    elif verb == "undo":
        store.undo(next(one.id for one in store.log(limit=1)))
    elif verb == "type":
        store.schema.add("type", f"kind {turn}", "A kind of thing that has a number.")
    else:
        store.entities.suggest(limit=3)
    return f"curate: {verb}"


def _index(store: Store, pick: random.Random, number: int, turn: int, tell: Tell) -> str:
    store.index(llm=stores.llm(), limit=pick.randrange(1, 6))
    return "index"


def _keep(store: Store, pick: random.Random, number: int, turn: int, tell: Tell) -> str:
    verb = pick.choice(("sync", "sync", "sync", "rebuild", "stats", "add", "backup", "reopen"))
    if verb == "add":
        file = store.place.root / f"docs/log-{pick.randrange(4)}.txt"
        file.write_text(f"Log {turn} of the quay.\n" * pick.randrange(1, 40), encoding="utf-8")
        store.add([file])
    elif verb == "backup":
        store.backup(store.place.root.parent / "backup.zip", yes=True)
    elif verb == "reopen":
        store.close()
    elif verb == "rebuild":
        store.rebuild()
    else:
        getattr(store, verb)()
    return verb


STEPS: dict[str, Callable[[Store, random.Random, int, int, Tell], str]] = {
    "writer": _write,
    "editor": _edit,
    "reader": _read,
    "curator": _curate,
    "indexer": _index,
    "keeper": _keep,
}


def _examined(root: Path, saved: dict[str, list[str]], tell: Tell) -> None:
    """Every confirmed text is there, now or before; the store is what its files and its journal make."""
    with stores.opened(root) as store:
        if store.damage:
            tell(f"the database was damaged: {store.damage}")
        now = stores.content(store)
        for name, texts in saved.items():
            there = "".join([store.show(name).body, *(str(past.text) for past in store.history(name))])
            found = set(re.findall(r"Text \d+-\d+ ", there))
            lost = [text for text in texts if text[: text.index(" of ") + 1] not in found]
            if lost:
                tell(f"{len(lost)} confirmed texts of {name} are lost, such as {lost[0]!r}")
        for finding in store.doctor():
            if finding.state == "error":
                tell(f"doctor: {finding.check}: {finding.detail}")
    for file in (root / ".memdb").glob("memory.db*"):
        file.unlink()
    with stores.opened(root) as store:
        for said in differing(now, stores.content(store)):
            tell(f"rebuilt, it differs in {said}")


__all__ = ["run"]
