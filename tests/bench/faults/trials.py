"""Each trial in a process of its own, forked from one that has everything loaded; what it says comes through a pipe."""

from __future__ import annotations

import faulthandler
import os
import pickle
import pkgutil
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import IO, Any

SHARED_MEMORY = Path("/dev/shm")
"""Where files take no disk, if there is such a place: a trial is about the order of writes, not their speed."""


@dataclass
class Asked:
    """What the run is to be: `quick` samples, `jobs` trials at once, `folder` for the stores, `seed` for all chance."""

    quick: bool
    folder: Path
    jobs: int = 2
    seed: int = 7
    seconds: float | None = None  # of load, where a kind runs for a time
    log: Path | None = None


@dataclass
class Found:
    """What a kind of faults came to: `figures` by name, and every failure in words."""

    figures: dict[str, float | int | str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def count(self, figure: str, number: float = 1) -> None:
        value = self.figures.get(figure, 0)
        assert not isinstance(value, str)
        self.figures[figure] = value + number


@dataclass(frozen=True)
class Ended:
    """How a trial ended: `code` is negative for a signal; `said` is what it told, in order."""

    code: int
    said: list[Any]
    errors: str

    @property
    def killed(self) -> bool:
        return self.code == -9


Tell = Callable[[Any], None]


@dataclass
class Running:
    """A trial that was started: its process, and the files that it writes to, which outlive a kill."""

    process: int
    said: IO[bytes]
    errors: IO[bytes]

    def end(self) -> Ended:
        """Wait for it."""
        _, status = os.waitpid(self.process, 0)
        with self.said, self.errors:
            self.said.seek(0)
            self.errors.seek(0)
            said, errors = list(_received(self.said)), self.errors.read().decode("utf-8", "replace")
        return Ended(os.waitstatus_to_exitcode(status), said, errors)


def started(trial: Callable[[Tell], None], *, seconds: float | None = 300) -> Running:
    """Start a trial in a fork of this process; it ends with 0, with 1 after an exception, or by a signal.

    Where it takes longer than so many seconds, it tells where it was and ends. A process that forks itself must have no
    limit: the thread that would watch over it is not there in its forks, and they would wait for it.
    """
    said, errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 (closed when it has ended)
    child = os.fork()
    if not child:
        code = 1
        try:
            os.dup2(errors.fileno(), 2)
            faulthandler.enable(errors.fileno())
            if seconds is not None:
                faulthandler.dump_traceback_later(seconds, exit=True, file=errors.fileno())
            trial(lambda told: _send(said.fileno(), told))
            code = 0
        except BaseException:  # noqa: BLE001 (told to the parent)
            _send_text(errors.fileno(), traceback.format_exc())
        finally:
            os._exit(code)
    return Running(child, said, errors)


def forked(trial: Callable[[Tell], None], *, seconds: float = 300) -> Ended:
    """Run a trial in a fork of this process, to its end."""
    return started(trial, seconds=seconds).end()


def _send(descriptor: int, said: Any) -> None:
    data = pickle.dumps(said)
    data = len(data).to_bytes(4, "big") + data
    while data:
        data = data[os.write(descriptor, data) :]


def _send_text(descriptor: int, text: str) -> None:
    os.write(descriptor, text.encode("utf-8", "replace"))


def _received(source: IO[bytes]) -> Iterator[Any]:
    while len(head := source.read(4)) == 4:
        data = source.read(int.from_bytes(head, "big"))
        if len(data) == int.from_bytes(head, "big"):
            yield pickle.loads(data)


def shared_out(asked: Asked, items: list[Any], work: Callable[[int, Any], Found]) -> Found:
    """The sum of what `work(number, item)` finds for all items, done by so many processes at once.

    What fails is written to the log as it happens, where one is asked for.
    """

    def share(number: int) -> Callable[[Tell], None]:
        def run(tell: Tell) -> None:
            for done, item in enumerate(items[number :: asked.jobs], start=1):
                found = work(number, item)
                tell(found)
                if asked.log is not None and (found.failures or done % 20 == 0):
                    said = "".join(f"{failure}\n" for failure in found.failures)
                    with asked.log.open("a", encoding="utf-8") as log:
                        log.write(f"{done * asked.jobs} of {len(items)}\n{said}")

        return run

    total = Found()
    for running in [started(share(number), seconds=None) for number in range(asked.jobs)]:
        ended = running.end()
        for found in ended.said:
            add(total, found)
        if ended.code:
            total.failures.append(f"a process of the bench ended with {ended.code}: {ended.errors[-2000:]}")
    return total


def add(total: Found, found: Found) -> None:
    """Add figures to figures; the largest counts where a name begins with `max`."""
    for name, value in found.figures.items():
        if isinstance(value, str):
            total.figures[name] = value
        elif name.startswith("max"):
            total.figures[name] = max(value, total.figures.get(name, 0))  # type: ignore[type-var]
        else:
            total.count(name, value)
    total.failures += found.failures


def sampled(number: int, most: int | None) -> list[int]:
    """Numbers below `number`, all of them or so many evenly spread; the first and the last are among them."""
    if most is None or number <= most:
        return list(range(number))
    return sorted({round(at * (number - 1) / (most - 1)) for at in range(most)})


def loaded() -> None:
    """Import all that a trial needs, once, in the process that trials are forked from."""
    for package in ("memdb.services", "memdb.groups", "memdb.domain", "memdb.base"):
        for found in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            import_module(found.name)
    for name in ("instructor", "openai", "numpy", "filelock", "markdown_it", "ruamel.yaml"):
        import_module(name)


def scratch() -> str | None:
    """The folder for temporary stores: in memory where the system has such a folder."""
    return str(SHARED_MEMORY) if SHARED_MEMORY.is_dir() and os.access(SHARED_MEMORY, os.W_OK) else None
