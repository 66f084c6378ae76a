"""The warm process of a store: it keeps the store open and the model loaded, and answers on a port of this machine."""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any

import apsw

from memdb import __version__
from memdb.base import settings, warm
from memdb.base.place import Place
from memdb.base.warm import Info, Wire
from memdb.errors import Busy, MemdbError, NotWritable, UsageError
from memdb.pool import StorePool
from memdb.services.files.following import Followed
from memdb.serving import hook
from memdb.store import Store

IDLE_SECONDS = 30 * 60.0
"""After so long without a question a warm process ends."""

REQUEST_SECONDS = 60.0
"""That a connection may take in all; a client waits for much less."""

CONNECTIONS = 16
"""Answered at once; more wait in the port's queue. The store itself answers one at a time."""

GONE_SECONDS = 5.0
"""After its file was gone for so long a process ends: its folder was moved, and another one can serve it there."""

CLOSE_SECONDS = 10.0
"""That closing waits for a sync that goes on: a batch of files, and what of it is being embedded."""

LOOK_SECONDS = 0.5
"""Between two looks at whether it is time to end."""


class Server:
    """Serves one store. `start` claims it and opens the port, `run` serves until `stop` or the idle limit.

    Of several in one process, each has its `pool` open the store under its `name` when it is asked.
    """

    def __init__(
        self,
        place: Place,
        *,
        idle: float = IDLE_SECONDS,
        port: int = 0,
        watch: bool = False,
        pool: StorePool | None = None,
        name: str = "",
    ) -> None:
        self.place = place
        self._pool, self._name = pool, name
        self.idle = idle
        self.info: Info | None = None
        self.answered = 0
        self.started = time.time()
        self._port, self._watch = port, watch
        self._is_followed = self._is_warming = False
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._places = threading.BoundedSemaphore(CONNECTIONS)
        self._guard = threading.Lock()
        self._last = time.monotonic()
        self._store: Store | None = None
        self._config: tuple[int, int] | None = None
        self._socket: socket.socket | None = None
        self._lock: Any = None
        self._follower: threading.Thread | None = None

    def start(self) -> Info:
        """Claim the store, open it and a port, say where. Raises Busy where another serves it, and what open raises."""
        import filelock  # noqa: PLC0415

        file = self.place.served
        if self._pool is None:
            self._store = self._opened()
        else:
            settings.require(self.place)
        lock = filelock.FileLock(str(file.with_suffix(".lock")), thread_local=False)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=0)
        except filelock.Timeout as error:
            self._close_store()
            raise Busy(
                f"{self.place.root} is served already.", hint="`memdb serve --status` says by which process."
            ) from error
        except OSError as error:
            self._close_store()
            raise NotWritable(f"{self.place.home} takes no write: {error.strerror or error}.") from error
        self._lock = lock
        try:
            self._socket = socket.create_server((warm.HOST, self._port))
        except OSError as error:
            self.close()
            raise UsageError(f"The port {self._port} cannot be used: {error.strerror or error}.") from error
        self._socket.settimeout(LOOK_SECONDS)
        port = int(self._socket.getsockname()[1])
        self.info = Info(port, secrets.token_hex(32), os.getpid(), __version__, warm.PROTOCOL, str(self.place.database))
        warm.write_info(self.place, self.info)
        if self._pool is None:
            threading.Thread(target=self._warm, daemon=True, name="memdb-warm").start()
        if self._watch and self._store is not None:
            # Its first sync reads what changed while nobody looked: a hook that did so too would be late.
            self._is_followed = True
            self._follower = threading.Thread(
                target=self._follow, args=(self._store,), daemon=True, name="memdb-follow"
            )
            self._follower.start()
        return self.info

    def run(self) -> str:
        """Serve; returns why it ended: `stopped`, `idle`, or `gone`, where the folder went and nobody finds it."""
        assert self._socket is not None
        self._last = there = time.monotonic()
        while not self._stop.is_set():
            if self.idle and time.monotonic() - self._last > self.idle:
                return "idle"
            if not self._places.acquire(timeout=LOOK_SECONDS):
                continue
            try:
                link, _ = self._socket.accept()
            except OSError as error:  # nobody came in time, or the client went while it was accepted
                self._places.release()
                if self.place.served.exists():
                    there = time.monotonic()
                elif time.monotonic() - there > GONE_SECONDS:
                    return "gone"
                if not isinstance(error, TimeoutError):
                    self._stop.wait(0.01)
                continue
            threading.Thread(target=self._serve, args=(link,), daemon=True, name="memdb-answer").start()
        return "stopped"

    def stop(self) -> None:
        """Have `run` return; may be called from any thread and from a signal's handler."""
        self._stop.set()
        if self._socket is not None:
            with suppress(OSError):  # not every system wakes who waits at a port by this; a look does it then
                self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the port and the store, and take the file away, if it is still this server's."""
        self._stop.set()
        if self._follower is not None:
            self._follower.join(CLOSE_SECONDS)
        if self._socket is not None:
            self._socket.close()
        if self._lock is not None:
            said = warm.read_info(self.place)
            if self.info is not None and said is not None and said.token == self.info.token:
                with suppress(OSError):
                    self.place.served.unlink(missing_ok=True)
            self._lock.release()
        self._close_store()

    def _close_store(self) -> None:
        if self._store is not None:
            self._store.close()

    def _opened(self) -> Store:
        self._config = _stamp(self.place)
        return Store(self.place)

    @property
    def store(self) -> Store:
        """The open store; anew where its settings changed, another model for example."""
        with self._guard:
            assert self._store is not None
            if _stamp(self.place) != self._config:
                self._ready.clear()
                before, self._store = self._store, self._opened()
                before.close()
                threading.Thread(target=self._warm, daemon=True, name="memdb-warm").start()
            return self._store

    @contextmanager
    def _using(self) -> Iterator[Store]:
        """The store for one answer. A model that another store of the process has loaded is there at once."""
        if self._pool is None:
            yield self.store
            return
        with self._pool.use(self._name) as store:
            if not store.is_warm and self._ready.is_set():
                store.warm()
            yield store

    def _warm(self) -> None:
        with suppress(MemdbError, apsw.Error), self._using() as store:
            store.warm()
        self._ready.set()

    @property
    def last(self) -> float:
        """When something was asked last, by the monotonic clock."""
        return self._last

    def _serve(self, link: socket.socket) -> None:
        """Answer one connection; whatever is wrong with it ends it, and nothing else."""
        try:
            with closing(link), suppress(OSError, ValueError, TypeError, KeyError):
                self._converse(Wire(link, time.monotonic() + REQUEST_SECONDS))
        finally:
            self._places.release()

    def _converse(self, wire: Wire) -> None:
        assert self.info is not None
        hello = wire.receive()
        mine = secrets.token_hex(16)
        wire.send({"proof": warm.proof(self.info.token, "server", str(hello.get("nonce"))), "nonce": mine})
        said = wire.receive()
        if not hmac.compare_digest(str(said.get("proof")), warm.proof(self.info.token, "client", mine)):
            return
        request = said.get("request")
        if not isinstance(request, dict):
            return
        self._last = time.monotonic()
        if request.get("do") not in ("status", "stop") and said.get("environment") != warm.environment():
            wire.send({"refused": "the warm process has other settings"})
            return
        try:
            answer: dict[str, Any] = {"answer": self._answer(request)}
        except (MemdbError, apsw.Error) as error:
            # The client does it itself then, and meets the same error with all that belongs to it.
            answer = {"refused": str(error)}
        self.answered += request.get("do") in ("recall", "hook")
        self._last = time.monotonic()
        wire.send(answer)

    def _answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Raises MemdbError, and UsageError for what is no request."""
        does: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "recall": self._recall,
            "hook": self._hook,
            "status": self._status,
            "stop": self._end,
        }
        do = does.get(str(request.get("do")))
        if do is None:
            raise UsageError(f"There is no request {request.get('do')!r}.")
        return do(request)

    def _recall(self, request: Mapping[str, Any]) -> dict[str, Any]:
        with self._using() as store:
            return self._recall_in(store, request)

    def _recall_in(self, store: Store, request: Mapping[str, Any]) -> dict[str, Any]:
        from memdb.services.recall import wire  # noqa: PLC0415
        from memdb.services.recall.recall import Filters  # noqa: PLC0415

        given = dict(request["filters"])
        for name in ("types", "tags", "kinds"):
            given[name] = tuple(given.get(name) or ())
        if given.get("document") is not None:
            given["document"] = store.documents.find(given["document"])
        answer = store.recall(str(request["query"]), filters=Filters(**given), **request["options"])
        budget = request.get("budget")
        block = store.prompt_block(answer, int(budget)) if budget is not None else None
        return {"recall": wire.packed(answer), "block": block}

    def _hook(self, request: Mapping[str, Any]) -> dict[str, Any]:
        question = hook.read(str(request["data"]).encode("utf-8", "replace"))
        if question is None:
            return {"text": ""}
        if not self._ready.is_set():
            self._begin_warming()
            raise Busy("The model is being loaded.")
        # Ten thousand files are not looked at for every prompt where the system tells of changes.
        is_followed = self._is_followed if self._pool is None else self._pool.is_followed(self._name)
        budget = int(request.get("budget") or hook.budget(self.place))
        with self._using() as store:
            block = hook.answer(store, question, budget=budget, sync_first=not is_followed)
        return {"text": hook.printed(question, block)}

    def _begin_warming(self) -> None:
        """Load the model of one of several stores once it is asked; that of one alone is being loaded already."""
        with self._guard:
            if self._pool is None or self._is_warming:
                return
            self._is_warming = True
        threading.Thread(target=self._warm, daemon=True, name="memdb-warm").start()

    def _follow(self, store: Store) -> None:
        try:
            store.follow(self._note, ended=self._stop)
        finally:
            self._is_followed = False  # however it ended, a hook looks at the files itself from now on

    def _note(self, event: Followed) -> None:
        self._is_followed = event.notices and event.kind in ("watching", "synced")

    def _status(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            "version": __version__,
            "seconds": round(time.time() - self.started, 1),
            "answered": self.answered,
            "warm": self._ready.is_set(),
            "idle_limit": self.idle,
        }

    def _end(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self.stop()
        return {"pid": os.getpid()}


def _stamp(place: Place) -> tuple[int, int] | None:
    try:
        status = place.config.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
