"""The log of background work: one row for each run, with its events, kept while the run goes on, listed after it.

A run holds a lock file for as long as its process lives. So a run whose process was killed is told from one that works,
on every system, and its claims are free at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import apsw

from memdb.base.place import Place
from memdb.base.storage import Database
from memdb.errors import MemdbError, NotFound, NotWritable
from memdb.services.context import Context

KEPT = 100
"""Runs that are kept; with each new one the oldest goes."""

KILLED = "its process ended before it was done; what was answered is kept"
"""What the row of a run says that could not say it itself."""

State = Literal["running", "done", "stopped", "failed"]


@dataclass(slots=True)
class Run:
    """One run. `done`, `skipped` and `failed` count texts, `calls` requests to the model, those that were repeated too.

    `state` is running, done, stopped (interrupted or killed) or failed (given up; `message` says why). `cost` is None
    where no price is known.
    """

    id: int
    state: State
    started_at: str
    finished_at: str | None = None
    model: str | None = None
    done: int = 0
    skipped: int = 0
    failed: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    message: str | None = None
    kind: str = "index"
    prompt_sha256: str | None = None
    pid: int = 0


@dataclass(frozen=True, slots=True)
class RunEvent:
    """What happened to one text, or with None to the whole run.

    `kind` is indexed, replayed (the ledger had the output), skipped, failed, dropped (names that were not believed) or
    held (names that wait for the vocabulary).
    """

    at: str
    source: str | None
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A text that a model failed to read, and why the last time.

    `state` is "tried again" (by the next run), "given up" (tried by a run with `rebuild`) or "read since".
    """

    id: str
    model: str
    times: int
    reason: str
    state: str


COLUMNS = (
    "kind", "state", "started_at", "finished_at", "model", "prompt_sha256", "pid", "done", "skipped", "failed", "calls",
    "input_tokens", "output_tokens", "cost", "message",
)  # fmt: skip
SELECT = """select id, kind, state, started_at, finished_at, model, prompt_sha256, coalesce(pid, 0), done, skipped,
    failed, calls, input_tokens, output_tokens, cost, message from run"""


def _run_of(row: Sequence[Any]) -> Run:
    return Run(**dict(zip(("id", *COLUMNS), row, strict=True)))


def runs(context: Context, limit: int | None = None) -> list[Run]:
    """The runs, the newest first."""
    sweep(context)
    rows = context.database.rows(f"{SELECT} order by id desc limit ?", (-1 if limit is None else limit,))
    return [_as_it_is(context.place, _run_of(row)) for row in rows]


def run(context: Context, number: int) -> tuple[Run, list[RunEvent]]:
    """One run with its events, in order. Raises NotFound."""
    sweep(context)
    rows = context.database.rows(f"{SELECT} where id = ?", (number,))
    if not rows:
        raise NotFound(f"There is no run {number}.", hint=f"`memdb runs` lists the last {KEPT}.")
    events = context.database.rows(
        "select at, node, kind, message from run_event where run_id = ? order by id", (number,)
    )
    return _as_it_is(context.place, _run_of(rows[0])), [RunEvent(*event) for event in events]


def failures(context: Context) -> list[Failure]:
    """The texts that a model failed to read, and no model has read since, those that are given up first."""
    rows = context.database.rows(
        "select id, model, times, reason, state from extraction_failures where state <> 'read since'"
        " order by state <> 'given up', id, model, times desc"
    )
    return [Failure(*row) for row in rows]


def _as_it_is(place: Place, found: Run) -> Run:
    """A run as it is even where the database takes no write."""
    if found.state == "running" and not is_alive(place, found):
        found.state, found.message = "stopped", KILLED
    return found


def sweep(context: Context) -> None:
    """Mark runs whose process is dead as stopped, and free what they had claimed."""
    database = context.database
    if database.read_only:
        return
    going = [_run_of(row) for row in database.rows(f"{SELECT} where state = 'running'")]
    dead = [(one.id,) for one in going if not is_alive(context.place, one)]
    if dead:
        with database.write() as connection:
            connection.executemany(
                f"update run set state = 'stopped', message = '{KILLED}' where id = ? and state = 'running'", dead
            )
            connection.executemany("delete from claim where run_id = ?", dead)


def works(context: Context, number: int) -> bool:
    """Whether a run, by its number, is at work."""
    stamps = context.database.rows("select started_at, pid from run where id = ? and state = 'running'", (number,))
    return any(is_alive(context.place, Run(number, "running", started, pid=pid)) for started, pid in stamps)


class Log:
    """The row of a run that goes on. Its methods write inside the caller's transaction."""

    def __init__(self, database: Database, run: Run) -> None:
        self.run = run
        self._database = database

    def on(self, database: Database) -> Log:
        """The log on the database as it is open now: another process may have put a rebuilt one in its place."""
        self._database = database
        return self

    def save(self) -> None:
        """Write the counts. A database that was rebuilt meanwhile has no row of this run: it gets one."""
        values = [getattr(self.run, name) for name in COLUMNS]
        connection = self._database.connection
        settings = ", ".join(f"{name} = ?" for name in COLUMNS)
        connection.execute(
            f"update run set {settings} where id = ? and started_at = ? and pid = ?",
            (*values, self.run.id, self.run.started_at, self.run.pid),
        )
        if connection.changes() == 0:
            places = ", ".join("?" * len(COLUMNS))
            connection.execute(f"insert into run ({', '.join(COLUMNS)}) values ({places})", values)
            self.run.id = connection.last_insert_rowid()

    def event(self, source: str | None, kind: str, message: str) -> None:
        """Add what happened to a text, by its key, or to the whole run. The counts are saved before."""
        self._database.connection.execute(
            "insert into run_event (run_id, at, node, kind, message) values (?, ?, ?, ?, ?)",
            (self.run.id, now(), source, kind, message),
        )


@contextmanager
def started(context: Context, model: str | None, prompt_sha256: str) -> Iterator[Log]:
    """A run that goes on until the block is left; what the block does not set as its end is `stopped`.

    Raises NotWritable where the folder takes no lock.
    """
    sweep(context)
    found = Run(0, "running", now(), model=model, prompt_sha256=prompt_sha256, pid=os.getpid())
    with _living(context.place, found):
        database = context.database
        log = Log(database, found)
        with database.write() as connection:
            log.save()
            connection.execute("delete from run where id not in (select id from run order by id desc limit ?)", (KEPT,))
        try:
            yield log
        finally:
            if found.state == "running":
                found.state = "stopped"
            found.finished_at = now()
            # A database that takes no write now leaves a row that the next look marks as stopped.
            with suppress(MemdbError, apsw.Error), context.database.write() as connection:
                log.on(context.database).save()
                connection.execute("delete from claim where run_id = ?", (found.id,))


def now() -> str:
    """The time as rows have it, in milliseconds."""
    seconds = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03d}Z"


# Whether a run's process lives


def _lock_file(place: Place, run: Run) -> Path:
    stamp = "".join(char for char in run.started_at if char.isalnum())
    return place.home / "local" / f"run-{run.pid}-{stamp}.lock"


@contextmanager
def _living(place: Place, run: Run) -> Iterator[None]:
    """Hold the lock file of a run. The system lets it go when the process ends, in whatever way."""
    import filelock  # noqa: PLC0415

    while True:
        file = _lock_file(place, run)
        lock = filelock.FileLock(str(file), thread_local=False)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=0)
            break
        except filelock.Timeout:
            # Another run of this process began in the same millisecond.
            time.sleep(0.002)
            run.started_at = now()
        except OSError as error:
            raise NotWritable(
                f"{place.home} takes no write: {error.strerror or error}.", hint="Check the permissions of the folder."
            ) from error
    try:
        yield
    finally:
        lock.release()
        with suppress(OSError):
            file.unlink(missing_ok=True)


def is_alive(place: Place, run: Run) -> bool:
    """Whether the process of a run that is marked as running is there."""
    import filelock  # noqa: PLC0415

    file = _lock_file(place, run)
    if not file.exists():
        return False
    try:
        with filelock.FileLock(str(file), timeout=0, thread_local=False):
            pass
    except filelock.Timeout:
        return True
    except OSError:
        return False  # a folder that takes no write has no run
    with suppress(OSError):
        file.unlink(missing_ok=True)
    return False
