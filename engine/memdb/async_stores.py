"""Several stores for programs that run on asyncio: `async with memdb.open_all_async(["work", "home"]) as stores`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import TracebackType

from memdb import stores as several
from memdb.async_calls import Calls, Twin
from memdb.async_store import AsyncStore
from memdb.pool import MOST
from memdb.stores import Stores


def open_all_async(
    stores: Sequence[Path | str] | Path | str | None = None, *, most: int = MOST, watch: bool = False
) -> AsyncStores:
    """Several stores for asyncio, as `memdb.open_all` opens them: use them by `async with`.

    They are looked up when the block is entered. Raises NotFound, UsageError there.
    """
    return AsyncStores(stores, most=most, watch=watch)


class AsyncStores:
    """Several stores whose methods are awaited, each call in a thread, as those of `AsyncStore` are."""

    def __init__(
        self, stores: Sequence[Path | str] | Path | str | None = None, *, most: int = MOST, watch: bool = False
    ) -> None:
        self._calls = Calls()
        self._make = partial(several.open_all, stores, most=most, watch=watch)
        self._opened: Stores | None = None

    def _receiver(self) -> Stores:
        return self.stores

    @property
    def stores(self) -> Stores:
        """The stores, for calls that are not awaited. Raises RuntimeError outside of `async with`."""
        if self._opened is None:
            raise RuntimeError("The stores are not open: use them by `async with`.")
        return self._opened

    async def __aenter__(self) -> AsyncStores:
        self._opened = await self._calls.run(self._make)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Wait for the calls that have begun, then close all stores."""
        await asyncio.shield(asyncio.to_thread(self._end))

    def _end(self) -> None:
        self._calls.end()
        if self._opened is not None:
            self._opened.close()

    def __iter__(self) -> Iterator[str]:
        return iter(self.stores)

    def __len__(self) -> int:
        return len(self.stores)

    recall = Twin(Stores.recall)
    prompt_block = Twin(Stores.prompt_block)

    @asynccontextmanager
    async def use(self, name: str) -> AsyncIterator[AsyncStore]:
        """One of the stores, which stays open for as long as the block takes. Raises NotFound."""
        held = self.stores.use(name)
        store = await self._calls.run(held.__enter__)
        try:
            yield AsyncStore(store, self._calls)
        finally:
            await self._calls.run(partial(held.__exit__, None, None, None))


__all__ = ["AsyncStores", "open_all_async"]
