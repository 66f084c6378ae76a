"""`python -m memdb_cli` is the `memdb` command."""

from __future__ import annotations

import sys

from memdb_cli.main import run

sys.exit(run())
