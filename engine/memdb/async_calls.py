"""How a method of the store becomes an awaitable one: a thread makes the whole call, whatever becomes of who waits."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")

THREADS = 8
"""Calls at once. Most wait for one another inside the store; those of a language model do not."""


class Calls:
    """The threads of one store. A cancelled call that has not begun is never made; one that has goes to its end."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def submit(self, call: Callable[[], R]) -> Future[R]:
        """Have a call made, with the context variables of who asks."""
        with self._guard:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="memdb-async")
            return self._pool.submit(contextvars.copy_context().run, call)

    async def run(self, call: Callable[[], R]) -> R:
        """The result of a call, or what it raises."""
        return await asyncio.wrap_future(self.submit(call))

    def end(self) -> None:
        """Wait until all calls are made; the next one has threads anew."""
        with self._guard:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()


class Receiver(Protocol):
    """What has awaitable methods: the store, or one of its groups."""

    @property
    def _calls(self) -> Calls: ...

    def _receiver(self) -> Any:
        """The store or the group in whose place it stands; called in the thread."""


class Twin(Generic[P, R]):
    """The awaitable twin of a method, with its parameters and its result."""

    def __init__(self, method: Callable[Concatenate[Any, P], R]) -> None:
        functools.update_wrapper(self, method)
        self._method = method

    def __call__(self, one: Receiver, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        return one._calls.run(partial(self._made, one, *args, **kwargs))

    def _made(self, one: Receiver, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._method(one._receiver(), *args, **kwargs)

    @overload
    def __get__(self, one: None, owner: type) -> Self: ...
    @overload
    def __get__(self, one: Receiver, owner: type) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(self, one: Receiver | None, owner: type) -> Self | Callable[P, Coroutine[Any, Any, R]]:
        return self if one is None else MethodType(self, one)
