"""Where the program begins: a hook is answered before anything is imported that it does not need.

The hook of an agent runs this file itself, by `python -S`: to look for packages takes longer than the answer.
"""

from __future__ import annotations

import os
import sys


def run() -> int:
    """Run `memdb` with the process's own words, and return the exit code."""
    words = sys.argv[1:]
    if words[:2] == ["hook", "run"] and not {"-h", "--help"}.intersection(words):
        from memdb_cli import prompt

        # An agent waits for this process: whatever a thread still does is not waited for.
        os._exit(prompt.run(words[2:]))
    from memdb_cli import main

    return main.run(words)


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
