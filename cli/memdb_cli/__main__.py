"""`python -m memdb_cli` is `memdb`."""

from __future__ import annotations

import sys

from memdb_cli.start import run

if __name__ == "__main__":
    sys.exit(run())
