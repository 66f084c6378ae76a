"""The language model of the bench: a scripted endpoint in a process of its own, so that trials can be forked freely."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.faults.stores import LLM_URL

SETTINGS = {
    "MEMDB_JUDGE": "off",
    "MEMDB_EMBEDDER": "on",
    "NO_PROXY": "127.0.0.1",
}


@contextmanager
def endpoint(folder: Path) -> Iterator[str]:
    """Answer on 127.0.0.1 until the end, and keep memdb's own folders in `folder`; sets this process's variables."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            _serve(writing)
        finally:
            os._exit(0)
    os.close(writing)
    url = os.read(reading, 200).decode()
    os.close(reading)
    own = SETTINGS | {"MEMDB_HOME": str(folder / "home"), LLM_URL: url}
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    try:
        yield url
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _serve(writing: int) -> None:
    from tests.index_support import finds
    from tests.llm_server import LlmServer, gives

    with LlmServer(answer=lambda request: gives(finds(request))) as server:
        os.write(writing, server.url.encode())
        os.close(writing)
        parent = os.getppid()
        while os.getppid() == parent:
            time.sleep(0.2)
