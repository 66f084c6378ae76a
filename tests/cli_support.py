"""Run the `memdb` command: in this process for tables of cases, as a process of its own for the main flows."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from memdb.store import Store
from memdb_cli.main import run


class Answer(NamedTuple):
    """What a run of the command gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def memdb(*words: str | Path, stdin: bytes = b"", encoding: str = "utf-8") -> Answer:
    """Run the command here, with streams of this encoding that are no terminal."""
    out, err = io.BytesIO(), io.BytesIO()
    with (
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding=encoding)),
        mock.patch.object(sys, "stdout", io.TextIOWrapper(out, encoding=encoding)) as shown,
        mock.patch.object(sys, "stderr", io.TextIOWrapper(err, encoding=encoding)) as said,
    ):
        code = run([str(word) for word in words])
        shown.flush()
        said.flush()
        return Answer(code, out.getvalue().decode(encoding), err.getvalue().decode(encoding))


def process(*words: str | Path, stdin: bytes = b"", **environment: str) -> Answer:
    """Run the command as a process."""
    done = subprocess.run(
        [sys.executable, "-m", "memdb_cli", *map(str, words)],
        input=stdin,
        capture_output=True,
        check=False,
        env=os.environ | environment,
        timeout=60,
    )
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    return Answer(done.returncode, done.stdout.decode(encoding), done.stderr.decode(encoding))


def write(root: Path, **files: str) -> Path:
    """Write memory files under a root; `feedback__a="text"` is `feedback/a.md`."""
    for name, text in files.items():
        file = root / (name.replace("__", "/").replace("_", "-") + ".md")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8"))
    return root


STYLE = {
    "feedback__prefers_tables": "---\ndescription: Prefers tables\ntags: [style]\n---\nTables for comparisons.\n",
    "feedback__response_style": "---\ndescription: Short answers\ntags: [style]\n---\nThe verdict comes first.\n",
}
"""The worked example: two memories that share a tag."""


def make(root: Path, **files: str) -> Path:
    """A store of these files, or of the worked example, synced."""
    with Store.init(write(root, **(files or STYLE))) as store:
        store.sync()
    return root
