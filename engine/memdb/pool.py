"""Many stores open at once in one process: up to a limit, beyond which the one that was not used for longest closes."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memdb.base import named
from memdb.base.place import Place
from memdb.errors import Busy, MemdbError, NotFound
from memdb.store import Store

if TYPE_CHECKING:
    from memdb.services.files.following import Followed

MOST = 16
"""Stores that are open at once: each has a few files open and up to 64 MB of pages, and a watcher where files are
followed."""

WAIT_SECONDS = 30.0
"""That a call waits for a store while all that may be open are at work."""

CLOSE_SECONDS = 10.0
"""That closing waits for a sync of the watcher that goes on; it ends by itself soon after."""


@dataclass(slots=True, eq=False)
class _Held:
    """A store of the pool: open, or being opened (without `store`) or closed (`leaving`) by the thread that does it."""

    store: Store | None = None
    users: int = 0
    leaving: bool = False
    config: tuple[int, int] | None = None
    ended: threading.Event = field(default_factory=threading.Event)
    watcher: threading.Thread | None = None
    is_followed: bool = False


class StorePool:
    """Stores by name, opened when they are used. Safe to share between threads.

    At most `most` are open, those that are being opened and closed with them: for another one, that which was used the
    longest ago is closed first, and its watcher ends. A store is never closed under a call: where all are at work, the
    next call waits. Closed ones are opened again when they are asked for. One whose settings changed is opened anew.
    """

    def __init__(
        self,
        places: Mapping[str, Place],
        *,
        most: int = MOST,
        watch: bool = False,
        make: Callable[[Place], Store] = Store,
        find: Callable[[str, Place], Place] = lambda _name, place: place,
        wait: float = WAIT_SECONDS,
    ) -> None:
        """`find` says, from a name and a place, where the store is now; it is asked whenever one is opened."""
        self.places = dict(places)
        self.most = max(1, most)
        self._watch, self._make, self._find, self._wait = watch, make, find, wait
        self._held: OrderedDict[str, _Held] = OrderedDict()  # the one that was used the longest ago comes first
        self._changed = threading.Condition()
        self._remarks: dict[str, list[str]] = {}
        self._ending: list[threading.Thread] = []
        self._closed = False

    @property
    def open(self) -> list[str]:
        """The names of the stores that are open now, the one that was used the longest ago first."""
        with self._changed:
            return [name for name, held in self._held.items() if held.store is not None]

    def is_followed(self, name: str) -> bool:
        """Whether a watcher brings the index of a store up to the files, so that nobody has to look at them."""
        held = self._held.get(name)
        return held is not None and held.is_followed

    def remarks(self, name: str) -> list[str]:
        """What a person should know of a store since it was opened, each once: that its folder was moved or copied."""
        return self._remarks.pop(name, [])

    @contextmanager
    def use(self, name: str) -> Iterator[Store]:
        """A store, open while the block lasts. Raises NotFound, Busy, and what opening a store raises."""
        held = self._taken(name)
        assert held.store is not None
        try:
            yield held.store
        finally:
            with self._changed:
                held.users -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """Close all stores, each once nobody uses it."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        end = time.monotonic() + self._wait
        while True:
            with self._changed:
                leaving = self._idle()
                if leaving is None:
                    if not self._held or time.monotonic() > end:
                        break
                    self._changed.wait(0.1)
                    continue
                self._held[leaving].leaving = True
            self._retire(leaving)
        for watcher in self._ending:
            watcher.join(CLOSE_SECONDS)

    def _taken(self, name: str) -> _Held:
        """The store of a name with one user more; opened here where it is not, after another one was closed."""
        if name not in self.places:
            raise NotFound(f"There is no store of the name {name}.", hint=f"There are {', '.join(self.places)}.")
        end = time.monotonic() + self._wait
        while True:
            with self._changed:
                if self._closed:
                    raise Busy("The stores are being closed.")
                held = self._held.get(name)
                if held is not None and held.store is not None and not held.leaving:
                    if held.users or held.config == config_stamp(self.places[name]):
                        held.users += 1
                        self._held.move_to_end(name)
                        return held
                    leaving: str | None = name
                elif held is not None:
                    self._await(end)
                    continue
                elif len(self._held) < self.most:
                    held = self._held[name] = _Held()
                    break
                else:
                    leaving = self._idle()
                if leaving is None:
                    self._await(end)
                    continue
                self._held[leaving].leaving = True
            self._retire(leaving)
        return self._opened(name, held)

    def _await(self, end: float) -> None:
        left = end - time.monotonic()
        if left <= 0:
            raise Busy(f"All {self.most} stores that may be open at once are at work.", hint="Try again.")
        self._changed.wait(left)

    def _idle(self) -> str | None:
        """The open store that was used the longest ago and is not in use."""
        return next(
            (name for name, held in self._held.items() if held.store is not None and not held.users | held.leaving),
            None,
        )

    def _opened(self, name: str, held: _Held) -> _Held:
        try:
            place = self.places[name] = self._find(name, self.places[name])
            held.config = config_stamp(place)
            store = self._make(place)
        except BaseException:
            # Whatever it was, Ctrl-C too, goes on; whoever waits for this store must not wait for ever.
            self._drop(name)
            raise
        remarks = named.opened(place)
        if store.damage:
            remarks.append(f"The database was rebuilt from the files: {store.damage}")
        if self._watch:
            held.is_followed = True  # its first sync has begun; what keeps it from following, the next event says
            held.watcher = threading.Thread(
                target=_follow, args=(store, held), daemon=True, name=f"memdb-follow-{name}"
            )
            held.watcher.start()
        with self._changed:
            held.store, held.users = store, 1
            if remarks:
                self._remarks[name] = remarks
            self._changed.notify_all()
        return held

    def _retire(self, name: str) -> None:
        """Close a store that is marked as leaving, and end its watcher."""
        held = self._held[name]
        assert held.store is not None
        held.ended.set()  # the watcher has a connection of its own, and ends within a second: no call waits for it
        try:
            held.store.close()
        finally:
            with self._changed:
                self._ending = [one for one in (*self._ending, held.watcher) if one is not None and one.is_alive()]
            self._drop(name)

    def _drop(self, name: str) -> None:
        with self._changed:
            del self._held[name]
            self._changed.notify_all()


def _follow(store: Store, held: _Held) -> None:
    try:
        with suppress(MemdbError):  # a store that went before the first look at it: whoever uses it is told
            store.follow(lambda event: _note(held, event), ended=held.ended)
    finally:
        held.is_followed = False


def _note(held: _Held, event: Followed) -> None:
    held.is_followed = event.notices and event.kind in ("watching", "synced")


def config_stamp(place: Place) -> tuple[int, int] | None:
    """What changes when a store's settings do; None where there are none."""
    try:
        status = place.config.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
