"""Where the program begins: a hook is answered before anything is imported that it does not need."""

from __future__ import annotations

import os
import sys


def run() -> int:
    """Run `memdb` with the process's own words, and return the exit code."""
    words = sys.argv[1:]
    if words[:2] == ["hook", "run"] and not {"-h", "--help"}.intersection(words):
        from memdb_cli import hooking

        # An agent waits for this process: whatever a thread still does is not waited for.
        os._exit(hooking.run(words[2:]))
    from memdb_cli import main

    return main.run(words)
