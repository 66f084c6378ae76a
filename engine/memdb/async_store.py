"""The store for programs that run on asyncio: `async with memdb.open_async(path) as store`, with methods to await."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from memdb import store as stores
from memdb.async_calls import Calls, Twin
from memdb.base.embedding import Embedder
from memdb.base.place import Place
from memdb.errors import MemdbError
from memdb.services.context import Progress, silent
from memdb.store import Store

if TYPE_CHECKING:
    from memdb.async_groups import (
        AsyncConflicts,
        AsyncDocuments,
        AsyncEntities,
        AsyncGraph,
        AsyncProposals,
        AsyncReview,
        AsyncRuns,
        AsyncSchema,
    )
    from memdb.services.files.following import Tell
    from memdb.services.transfer.backups import Restored


def open_async(
    root: Path | str | None = None, *, db: Path | str | None = None, embedder: Embedder | None = None
) -> Opening:
    """Open a store for asyncio, as `memdb.open` does: use it by `async with`, or await it and `close` it yourself."""
    return Opening(partial(stores.open, root, db=db, embedder=embedder))


class AsyncStore:
    """A store whose methods are awaited, from as many tasks as you like; each call is one of `Store`, in a thread.

    A call that is cancelled while it waits for its turn is not made. One that has begun goes to its end in its thread,
    so nothing is written by half and no lock is left; what comes of it is dropped. Callbacks run in that thread.
    """

    def __init__(self, store: Store, calls: Calls | None = None) -> None:
        self.store = store
        self._calls = calls or Calls()

    def _receiver(self) -> Store:
        return self.store

    @classmethod
    def init(cls, root: Path | str, *, db: Path | str | None = None, embedder: Embedder | None = None) -> Opening:
        """Make a folder a store, or open it where it is one, as `Store.init` does."""
        return Opening(partial(Store.init, root, db=db, embedder=embedder))

    def another(self) -> Opening:
        """The same folder opened once more with the same embedder, as `Store.another` does."""
        return Opening(self.store.another)

    async def __aenter__(self) -> AsyncStore:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Wait for the calls that have begun, then close the database; using the store opens it again."""
        await asyncio.shield(asyncio.to_thread(self._end))

    def _end(self) -> None:
        self._calls.end()
        self.store.close()

    @property
    def place(self) -> Place:
        """Where the store lies."""
        return self.store.place

    @property
    def damage(self) -> str | None:
        """What was wrong with the database, where opening or using it made a rebuild necessary."""
        return self.store.damage

    @property
    def is_warm(self) -> bool:
        """Whether a question waits for no model: it is loaded, or there is none."""
        return self.store.is_warm

    recall = Twin(Store.recall)
    recall_sql = Twin(Store.recall_sql)
    prompt_block = Twin(Store.prompt_block)
    end_session = Twin(Store.end_session)
    warm = Twin(Store.warm)
    followed_by = Twin(Store.followed_by)
    cascade = Twin(Store.cascade)
    evaluate = Twin(Store.evaluate)
    list = Twin(Store.list)
    show = Twin(Store.show)
    links = Twin(Store.links)
    history = Twin(Store.history)
    stats = Twin(Store.stats)
    doctor = Twin(Store.doctor)
    secrets = Twin(Store.secrets)
    repair = Twin(Store.repair)
    digest = Twin(Store.digest)
    sync = Twin(Store.sync)
    mirrored = Twin(Store.mirrored)
    rebuild = Twin(Store.rebuild)
    save = Twin(Store.save)
    restore = Twin(Store.restore)
    add = Twin(Store.add)
    add_bytes = Twin(Store.add_bytes)
    add_text = Twin(Store.add_text)
    remove = Twin(Store.remove)
    relate = Twin(Store.relate)
    write_file = Twin(Store.write_file)
    forget = Twin(Store.forget)
    import_from = Twin(Store.import_from)
    export = Twin(Store.export)
    backup = Twin(Store.backup)
    use_model = Twin(Store.use_model)
    reembed = Twin(Store.reembed)
    index = Twin(Store.index)
    index_plan = Twin(Store.index_plan)
    auto_index = Twin(Store.auto_index)
    auto_index_work = Twin(Store.auto_index_work)
    log = Twin(Store.log)
    confirm = Twin(Store.confirm)
    undo = Twin(Store.undo)

    async def follow(
        self,
        tell: Tell,
        *,
        ended: threading.Event | None = None,
        walk: float | None = None,
        poll: float | None = None,
        notices: bool = True,
    ) -> None:
        """Sync whenever files change, until the task is cancelled or the event is set; see `Store.follow`."""
        end = ended or threading.Event()
        work = partial(self.store.follow, tell, ended=end, walk=walk, poll=poll, notices=notices)
        # A thread of its own: it takes no place of a call for as long as it goes on.
        pool = ThreadPoolExecutor(1, thread_name_prefix="memdb-async-follow")
        following = asyncio.wrap_future(pool.submit(work))
        pool.shutdown(wait=False)
        try:
            await asyncio.shield(following)
        except asyncio.CancelledError:
            end.set()
            await following
            raise

    @staticmethod
    async def restore_backup(file: Path | str, root: Path | str, *, progress: Progress = silent) -> Restored:
        """Bring a store back from a backup into a folder; see `Store.restore_backup`."""
        return await asyncio.to_thread(Store.restore_backup, file, root, progress=progress)

    @property
    def entities(self) -> AsyncEntities:
        """The entities that texts mention, and what people decide of them."""
        from memdb.async_groups import AsyncEntities  # noqa: PLC0415

        return AsyncEntities(self)

    @property
    def schema(self) -> AsyncSchema:
        """The vocabulary of the entity graph: its types and predicates."""
        from memdb.async_groups import AsyncSchema  # noqa: PLC0415

        return AsyncSchema(self)

    @property
    def proposals(self) -> AsyncProposals:
        """The types and predicates that models want."""
        from memdb.async_groups import AsyncProposals  # noqa: PLC0415

        return AsyncProposals(self)

    @property
    def conflicts(self) -> AsyncConflicts:
        """Where texts contradict one another."""
        from memdb.async_groups import AsyncConflicts  # noqa: PLC0415

        return AsyncConflicts(self)

    @property
    def review(self) -> AsyncReview:
        """What waits for a person."""
        from memdb.async_groups import AsyncReview  # noqa: PLC0415

        return AsyncReview(self)

    @property
    def runs(self) -> AsyncRuns:
        """The runs of the language model."""
        from memdb.async_groups import AsyncRuns  # noqa: PLC0415

        return AsyncRuns(self)

    @property
    def documents(self) -> AsyncDocuments:
        """The documents that the store mirrors, and their chunks."""
        from memdb.async_groups import AsyncDocuments  # noqa: PLC0415

        return AsyncDocuments(self)

    @property
    def graph(self) -> AsyncGraph:
        """The graph for people to look at."""
        from memdb.async_groups import AsyncGraph  # noqa: PLC0415

        return AsyncGraph(self)


class Opening:
    """A store that is being opened: `async with` closes it at the end, who awaits it closes it."""

    def __init__(self, make: Callable[[], Store]) -> None:
        self._make = make
        self._opened: AsyncStore | None = None

    def __await__(self) -> Generator[Any, None, AsyncStore]:
        return self._open().__await__()

    async def _open(self) -> AsyncStore:
        calls = Calls()
        opening = calls.submit(self._make)
        try:
            return AsyncStore(await asyncio.wrap_future(opening), calls)
        except asyncio.CancelledError:
            opening.add_done_callback(_close)  # the thread opens it all the same
            raise

    async def __aenter__(self) -> AsyncStore:
        self._opened = await self._open()
        return self._opened

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            await self._opened.close()


def _close(opening: Future[Store]) -> None:
    if not opening.cancelled():
        with suppress(MemdbError):  # nobody is there to hear that it could not be opened
            opening.result().close()
