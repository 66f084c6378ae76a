"""One warm process for several stores: a server each, found as that of one store is, over a pool of open stores."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

from memdb.base.place import Place
from memdb.base.warm import Info
from memdb.errors import MemdbError
from memdb.pool import MOST, StorePool
from memdb.serving.server import IDLE_SECONDS, LOOK_SECONDS, Server
from memdb.stores import current

JOIN_SECONDS = 10.0
"""That ending waits for the thread of a server, which looks up twice a second."""


class Servers:
    """Serves several stores, by their names. `start` claims them, `run` serves until `stop` or the idle limit.

    A store is opened when it is first asked, at most `most` at once. To stop one ends its server alone; with the last
    one the process ends.
    """

    def __init__(
        self, places: Mapping[str, Place], *, idle: float = IDLE_SECONDS, watch: bool = False, most: int = MOST
    ) -> None:
        self.idle = idle
        self.pool = StorePool(places, watch=watch, most=most, find=current)
        self.failed: dict[str, MemdbError] = {}
        self._servers: dict[str, Server] = {}
        self._threads: list[threading.Thread] = []
        self._stop = threading.Event()

    def start(self) -> dict[str, Info]:
        """Claim the stores, each on a port of its own. Those that cannot be claimed are in `failed`.

        Raises what is wrong with the first one where none can.
        """
        found: dict[str, Info] = {}
        for name, place in self.pool.places.items():
            try:
                where = self.pool.places[name] = current(name, place)
                server = Server(where, idle=0, pool=self.pool, name=name)
                found[name] = server.start()
                self._servers[name] = server
            except MemdbError as error:
                self.failed[name] = error
        if not found:
            self.close()
            raise next(iter(self.failed.values()))
        return found

    def run(self) -> str:
        """Serve; returns why it ended: `stopped` or `idle`."""
        started = time.monotonic()
        self._threads = [
            threading.Thread(target=server.run, daemon=True, name=f"memdb-serve-{name}")
            for name, server in self._servers.items()
        ]
        for thread in self._threads:
            thread.start()
        while not self._stop.wait(LOOK_SECONDS):
            for name, thread in zip(self._servers, self._threads, strict=True):
                if not thread.is_alive():
                    self._servers[name].close()  # so that nobody looks for it here any more
            if not any(thread.is_alive() for thread in self._threads):
                break
            last = max(server.last for server in self._servers.values())
            if self.idle and time.monotonic() - max(last, started) > self.idle:
                return "idle"
        return "stopped"

    def stop(self) -> None:
        """Have `run` return; may be called from any thread and from a signal's handler."""
        self._stop.set()

    def close(self) -> None:
        """Close all ports, then all stores."""
        self._stop.set()
        for server in self._servers.values():
            server.stop()
        for thread in self._threads:
            thread.join(JOIN_SECONDS)
        for server in self._servers.values():
            server.close()
        self.pool.close()
