"""What moves a store, or other things into it: imports, exports and backups, as methods of the store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memdb.groups.nouns import Nouns
from memdb.services.context import Progress, silent
from memdb.services.files import sync

if TYPE_CHECKING:
    from memdb.services.transfer.backups import Backup, Restored
    from memdb.services.transfer.exporting import Exported
    from memdb.services.transfer.importing import Imported


class Moving(Nouns):
    """An open store that things are moved into and out of."""

    def import_from(
        self,
        sources: Sequence[Path | str] | Path | str,
        *,
        kind: str | None = None,
        to: str | None = None,
        dry_run: bool = False,
        embed: bool = True,
        progress: Progress = silent,
    ) -> Imported:
        """Take over what another tool keeps: notes become memories of the type `to`, conversations documents.

        `kind` is one of `importers.KINDS`, told by the content where it is None; `dry_run` writes nothing. Imported
        again, only what the source changed is written, and nothing that was edited here. Raises UsageError, NotFound,
        CannotImport, BadArchive and other Refused, StoreUnreadable, NotWritable.
        """
        from memdb.services.transfer import importing  # noqa: PLC0415

        return self._run(
            lambda context: importing.import_from(
                context, sources, kind=kind, to=to, dry_run=dry_run, embed=embed, progress=progress
            )
        )

    def export(
        self, target: Path | str, *, form: str | None = None, yes: bool = False, progress: Progress = silent
    ) -> Exported:
        """Write the store to a folder, a JSONL file or a zip (`form`; the name tells where it is None).

        A zip imported into an empty store gives the same digest. Raises Refused for what is there already, without
        `yes`; UsageError, NotWritable.
        """
        from memdb.services.transfer import exporting  # noqa: PLC0415

        self._run(lambda context: sync.sync(context, embed=False, progress=progress))
        return self._run(lambda context: exporting.export(context, Path(target), form=form, yes=yes, progress=progress))

    def backup(self, target: Path | str | None = None, *, yes: bool = False, progress: Progress = silent) -> Backup:
        """Write a checked zip of the whole store while others use it, by default into `.memdb/backups`.

        Raises Refused for a file that is there already, without `yes`; NotWritable, Busy.
        """
        from memdb.services.transfer import backups  # noqa: PLC0415

        self._run(lambda context: sync.sync(context, embed=False, progress=progress))
        where = None if target is None else Path(target)
        return self._run(lambda context: backups.backup(context, where, yes=yes, progress=progress))

    @staticmethod
    def restore_backup(file: Path | str, root: Path | str, *, progress: Progress = silent) -> Restored:
        """Bring a store back from a backup into a folder; what the folder had is kept beside it.

        Close a store that is open there first. Raises BadArchive, BadBackup, CannotImport, NotFound, NotWritable.
        """
        from memdb.services.transfer import backups  # noqa: PLC0415

        return backups.restore(Path(file), Path(root), progress=progress)
