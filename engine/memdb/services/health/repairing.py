"""Repair what the doctor finds: leftovers go, what is behind is brought up, a database that is wrong is built anew."""

from __future__ import annotations

from memdb.base import files
from memdb.errors import MemdbError
from memdb.services.context import Context, Progress, silent
from memdb.services.files import sync
from memdb.services.forgetting import scrubbing
from memdb.services.health import comparing, inspection, mending, rebuilding


def repair(context: Context, *, deep: bool = False, progress: Progress = silent) -> list[str]:
    """Repair the store, and return what was done, in words; ask the doctor again to see what is left.

    Rows that hang on nothing, indexes of words and vectors, and tables of another shape all come right by a rebuild
    aside: it takes over the vectors that can be read and swaps the new database in when it is whole. With `deep`, the
    database is also compared with what files and journal make. Raises StoreUnreadable, Refused, NotWritable, Busy.
    """
    done = []
    with files.writer(context.place):
        leftovers = scrubbing.leftovers(context.place)
        scrubbing.remove_leftovers(context)
    if leftovers:
        done.append(f"removed {len(leftovers)} files that a process left unfinished")
    if context.journal.damaged():
        done += _mended(context)
    findings = inspection.doctor(context)
    wrong = [finding.check for finding in findings if finding.state == "error" and finding.repair == "rebuild"]
    if wrong:
        rebuilding.rebuild(context, reason=f"doctor: {', '.join(wrong)}", progress=progress, keep_old=False)
        done.append(f"rebuilt the database from the files and the journal: {', '.join(wrong)}")
    behind = [finding.check for finding in findings if finding.state != "ok" and finding.repair == "sync"]
    if behind or wrong:
        try:
            sync.sync(context, progress=progress)
        except MemdbError:
            if not wrong:
                raise
        if behind:
            done.append(f"brought the index up to the files: {', '.join(behind)}")
    if deep and not wrong:
        tables = comparing.differing(context, progress=progress)
        if tables:
            rebuilding.rebuild(context, reason=f"doctor: {', '.join(tables)}", progress=progress, keep_old=False)
            done.append(f"rebuilt the database from the files and the journal: {', '.join(tables)} differed")
    return done


def _mended(context: Context) -> list[str]:
    """Bring damaged lines of the journal back, and show the journal in the tables again."""
    with files.writer(context.place):
        by_sum, by_tables = mending.mend(context)
        if by_sum or by_tables:
            with context.database.write():
                context.replay_journal()
    ways = ((by_sum, "by their checksums"), (by_tables, "from the database"))
    return [f"brought {count} damaged lines of the journal back, {how}" for count, how in ways if count]
