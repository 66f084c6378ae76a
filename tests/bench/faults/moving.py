"""Sources that change while a sync reads them: what the sync saw half, the next one sees whole."""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path

from memdb.errors import MemdbError
from tests.bench.faults import stores
from tests.bench.faults.stores import differing
from tests.bench.faults.trials import Tell

SECONDS = 2.0
"""For how long files change under the syncs of one trial."""


def changed_under_a_sync(root: Path, seed: int, tell: Tell) -> None:
    """Create, edit, truncate, rename and delete files while syncs run; then all is as a rebuild makes it."""
    ending = threading.Event()
    editor = threading.Thread(target=_edit, args=(root, seed, ending))
    with stores.opened(root) as store:
        editor.start()
        end = time.monotonic() + SECONDS
        syncs = 0
        while time.monotonic() < end:
            try:
                store.sync()
            except MemdbError as error:
                if error.code != "refused":
                    tell(f"a sync failed: {error.message}")
            syncs += 1
        ending.set()
        editor.join()
        if store.damage:
            tell(f"the database was damaged: {store.damage}")
        now = stores.content(store)
        files = {path.relative_to(root).as_posix() for path in root.rglob("*.md") if ".memdb" not in path.parts}
        indexed = {str(row[0]) for row in store._run(lambda context: context.database.rows("select path from source"))}
        if files != indexed:
            tell(f"files and index differ by {sorted(files ^ indexed)[:5]}")
        for finding in store.doctor():
            if finding.state == "error":
                tell(f"doctor: {finding.check}: {finding.detail}")
    for file in (root / ".memdb").glob("memory.db*"):
        file.unlink()
    with stores.opened(root) as store:
        for said in differing(now, stores.content(store)):
            tell(f"rebuilt, it differs in {said}")
    tell(("outcome", f"the same after {'many' if syncs > 3 else 'some'} syncs"))


def _edit(root: Path, seed: int, ending: threading.Event) -> None:
    pick = random.Random(seed)
    names = [root / "user" / f"moving-{number}.md" for number in range(6)] + [root / "docs/guide.txt"]
    while not ending.is_set():
        file = pick.choice(names)
        verb = pick.choice(("write", "write", "append", "truncate", "rename", "delete"))
        try:
            if verb == "write":
                file.write_text(f"Moving {pick.randrange(1000)} past [[tea]].\n" * pick.randrange(1, 400), "utf-8")
            elif verb == "append":
                with file.open("a", encoding="utf-8") as out:
                    out.write(f"More {pick.randrange(1000)}.\n")
            elif verb == "truncate":
                os.truncate(file, pick.randrange(200))
            elif verb == "rename":
                file.replace(pick.choice(names[:-1]))
            elif file.suffix == ".md":
                file.unlink()
        except OSError:
            continue
        time.sleep(pick.uniform(0, 0.01))
