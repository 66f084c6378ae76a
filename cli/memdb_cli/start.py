"""Where the program begins: a hook is answered before anything is imported that it does not need.

The hook of an agent runs this file itself, by `python -S`: to look for packages takes longer than the answer.
"""

from __future__ import annotations

import os
import sys

YOUNG_OBJECTS = 100_000
"""New objects after which Python looks for unreachable ones, 700 by default: what is imported stays, so that each look
at it was in vain."""


def run() -> int:
    """Run `memdb` with the process's own words, and return the exit code."""
    words = sys.argv[1:]
    if words[:2] == ["hook", "run"] and not {"-h", "--help"}.intersection(words):
        from memdb_cli import prompt

        # An agent waits for this process: whatever a thread still does is not waited for.
        os._exit(prompt.run(words[2:]))
    import gc

    gc.set_threshold(YOUNG_OBJECTS, 20, 20)
    from memdb_cli import main

    return leave(main.run(words))


def leave(code: int) -> int:
    """End the process here where no thread is at work any more: to take numpy and a model apart piece by piece only to
    give all back to the system takes longer than an answer. What is registered for the end is done; else `code` is
    returned.
    """
    import atexit
    import threading

    if threading.active_count() > 1:
        return code
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            return code  # Python says so, as it does for every program
    os._exit(code)


def _as_a_file() -> int:
    """Run as a file: what stands beside it is no package of everybody's, and packages are looked for if need be."""
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    try:
        import memdb_cli.prompt  # noqa: F401
    except ImportError:  # an editable installation: its folders are named by files that Python reads with its packages
        import site

        site.main()
    return run()


if __name__ == "__main__":
    sys.exit(_as_a_file())
