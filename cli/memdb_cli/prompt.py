"""`memdb hook run`, the first try: ask the warm process, with as little as can be imported for it.

What this cannot do, because no process is warm or something is unusual, `hooking` does in what is left of the time.
"""

from __future__ import annotations

import _thread
import os
import sys
import time

from memdb.base import asking
from memdb.serving import light

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_BYTES = 4 * 1024 * 1024
"""Of a prompt that is sent on as it came; of a longer one only the beginning is."""


def run(words: Sequence[str], data: bytes | None = None) -> int:
    """Answer one prompt; `data` replaces standard input. Always returns 0."""
    started = time.monotonic()
    limit = light.number(light.option(words, "--seconds"), 0.0, light.LONGEST)
    given = data
    try:
        given = _input(limit or light.SECONDS) if data is None else data
        if given is None:
            return 0  # whoever writes it takes too long
        said = _said(given)
        if not said:
            return 0
        text = _ask(words, said, given, started, limit)
        if text is not None:
            _print(text)
            return 0
    except Exception as error:  # noqa: BLE001 (what is unusual here is met again below, with all that belongs to it)
        debug(error)
    return _slowly(words, given, started)


def _input(seconds: float) -> bytes | None:
    """Standard input to its end; None where that does not come in time. A pipe that hangs cannot be left otherwise."""
    got: list[bytes] = []
    done = _thread.allocate_lock()
    done.acquire()

    def read() -> None:
        try:
            while part := os.read(0, 1 << 20):
                got.append(part)
        except OSError:
            pass
        done.release()

    _thread.start_new_thread(read, ())
    return b"".join(got) if done.acquire(timeout=seconds) else None


def _said(data: bytes) -> dict[str, object]:
    try:
        said = asking.loads(data.decode("utf-8-sig", "replace"))
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _ask(words: Sequence[str], said: dict[str, object], data: bytes, started: float, limit: float | None) -> str | None:
    """What the warm process says; None where it has to be found out otherwise."""
    root = light.option(words, "--root") or light.root_of(light.first(said, light.FOLDERS))
    if root is None or len(data) > MOST_BYTES:
        return None
    if light.option(words, "--store") and not light.option(words, "--root"):
        return None  # with both, the folder is where the store was when the hook was installed
    home = os.path.join(os.path.realpath(os.path.expanduser(root)), ".memdb")  # noqa: PTH111, PTH118
    named = light.option(words, "--db") or os.environ.get("MEMDB_DB")
    database = (
        os.path.realpath(os.path.expanduser(named)) if named else os.path.join(home, "memory.db")  # noqa: PTH111, PTH118
    )
    config = os.path.join(home, "config.toml")  # noqa: PTH118
    if limit is None:
        limit = light.number(light.setting(config, "hook_seconds"), 0.0, light.LONGEST) or light.SECONDS
    size = light.number(light.option(words, "--bytes") or os.environ.get("MEMDB_HOOK_BYTES"), 0.0, 1e9)
    request = {"do": "hook", "data": data.decode("utf-8-sig", "replace"), "budget": size and int(size)}
    left = started + limit - time.monotonic()
    try:
        return str(asking.ask(asking.file_of(home, database), request, seconds=left * light.WARM_SHARE)["text"])
    except asking.NoAnswer as error:
        debug(error)
        return None


def _print(text: str) -> None:
    out = text.encode("utf-8", "replace")
    try:
        while out:
            out = out[os.write(1, out) :]
    except OSError:
        pass  # the agent went away: nobody is left to tell


def _slowly(words: Sequence[str], data: bytes | None, started: float) -> int:
    if sys.flags.no_site:
        import site

        site.main()
    from memdb_cli import hooking

    return hooking.run(words, data, started)


def debug(error: Exception) -> None:
    """Say what was wrong, to who asks for it by MEMDB_DEBUG."""
    if os.environ.get("MEMDB_DEBUG"):
        print(f"memdb hook: {type(error).__name__}: {error}", file=sys.stderr)
