"""Whether the database is what files and journal make: it is built once more, aside, and compared table by table."""

from __future__ import annotations

import tempfile
from pathlib import Path

from memdb.base import files
from memdb.base.storage import Database
from memdb.services.context import Context, Progress, silent
from memdb.services.files import sync
from memdb.services.health import rebuilding
from memdb.services.index import digests

SCRATCH = ".memdb-doctor-"
"""What the name of the folder begins with in which the database is built once more, beside the store's own."""


def differing(context: Context, *, progress: Progress = silent) -> list[str]:
    """The tables whose rows are other than files and journal make them; takes as long as a rebuild that embeds nothing.

    Vectors and what follows from them are not compared. Raises what `sync` raises, Busy, NotWritable.
    """
    place = context.place
    sync.sync(context, embed=False, progress=progress)
    with (
        tempfile.TemporaryDirectory(prefix=SCRATCH, dir=place.database.parent, ignore_cleanup_errors=True) as folder,
        files.writer(place),
    ):
        aside = Context(place, context.embedder)
        aside.use(Database(Path(folder) / "memory.db"))
        try:
            with aside.database.write():
                aside.replay_journal()
            rebuilding.carry_over(place.database, aside.database)
            sync.sync(aside, yes=True, embed=False, progress=progress)
            made = digests.digest(aside.database).tables
        finally:
            aside.close()
        have = digests.digest(context.database).tables
    return [name for name in digests.CONTENT if have[name] != made[name]]
