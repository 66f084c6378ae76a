"""The machinery of an open store: its one context, shared by threads, kept fresh, and healed where it is damaged."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

import apsw

from memdb.base import database_file, settings
from memdb.base.embedding import Embedder
from memdb.base.place import Place
from memdb.base.storage import UNREADABLE_VALUES, Damaged, explain
from memdb.errors import Busy, MemdbError, ModelUnavailable, NotWritable, Refused, StoreUnreadable
from memdb.services.context import Context
from memdb.services.files import sync
from memdb.services.health import checking

if TYPE_CHECKING:
    from typing import Self

    from memdb.services.extraction.auto_index import Worker

Result = TypeVar("Result")

RECALL_NAMES = 200
"""Texts that a recall reads for names on its way, about as long."""

RECALL_EMBEDS = 16
"""Texts that a recall embeds on its way: a few saves, about a quarter of a second; more is left to `sync`."""

RECALL_CLUSTERS = 2_000
"""A recall clusters stores of up to so many memories again (a few hundredths of a second); larger ones wait for
`sync`."""

RECALL_READS = 1_000_000
"""Bytes of new and changed documents that a recall reads on its way: a few notes or one report, well below a second."""

CLOSE_WAIT = 1.0
"""Seconds that closing waits for what auto-index is writing; a question to the model is not waited for."""

RECALL_WAIT = 2.0
"""Seconds that a recall waits for another writer before it answers from the index as it is."""


class Opened:
    """An open store, whatever is asked of it. Safe to share between threads: calls wait for one another."""

    def __init__(self, place: Place, embedder: Embedder | None = None) -> None:
        self.place, self._given = place, embedder
        self._lock = threading.RLock()
        self._context = Context(place, embedder)
        self._worker: Worker | None = None
        self._changes = 0
        self._is_followed: Callable[[], bool] = lambda: False
        # A program that ends without closing is no crash.
        self._closer = weakref.finalize(self, checking.close, self._context, locked=False)
        self._run(checking.verify)

    @classmethod
    def init(cls, root: Path | str, *, db: Path | str | None = None, embedder: Embedder | None = None) -> Self:
        """Make a folder a store, or open it where it is one. Writes nothing outside `<root>/.memdb`."""
        place = settings.place(root, db)
        settings.require_folder(place)
        try:
            settings.initialise(place)
        except OSError as error:
            raise NotWritable(
                f"{place.home} cannot be made: {error.strerror or error}.", hint="Check the permissions of the folder."
            ) from error
        return cls(place, embedder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database; using the store opens it again."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end(CLOSE_WAIT)
        with self._lock:
            checking.close(self._context)

    @property
    def damage(self) -> str | None:
        """What was wrong with the database, where opening or using it made a rebuild necessary."""
        return self._context.damage

    def warm(self) -> bool:
        """Load the embedding model before the first question needs it; False where there is none."""
        with suppress(ModelUnavailable):
            self._context.embedder.embed_query("a first text, so that the next one is fast")
        return self.is_warm

    @property
    def is_warm(self) -> bool:
        """Whether a question waits for no model: it is loaded, or there is none."""
        return self._context.embedder.status.state != "not loaded"

    def followed_by(self, is_fresh: Callable[[], bool]) -> None:
        """Leave it to someone else to bring the index up to the files, for as long as `is_fresh` says that it is.

        A recall looks at the files nevertheless.
        """
        self._is_followed = is_fresh

    def _fresh(self, call: Callable[[Context], Result]) -> Result:
        """Run a service on an index that is up to the files."""
        self._freshen(embed=False)
        return self._run(call)

    def _run(self, call: Callable[[Context], Result]) -> Result:
        """Run a service.

        A database that turns out to be damaged is rebuilt from the files, then the call runs again.
        """
        with self._lock:
            try:
                result = self._guarded(call)
                self._notice()
                return result
            except Damaged as damaged:
                self._heal(damaged)
                return self._guarded(call)

    def _heal(self, damaged: Damaged) -> None:
        from memdb.services.health import rebuilding  # noqa: PLC0415

        if not self.place.database.is_relative_to(self.place.home) and not self._is_ours():
            raise StoreUnreadable(
                damaged.message, hint="memdb does not replace it. Name another file with --db."
            ) from damaged
        rebuilding.heal(self._context, damaged)

    def _apart(self, call: Callable[[Context], Result]) -> Result:
        """Run a long service on a connection of its own, so that other calls need not wait for it."""
        context = self._own_context()
        try:
            try:
                return self._guarded(call, context)
            except Damaged as damaged:
                context.close()
                with self._lock:
                    self._heal(damaged)
                return self._guarded(call, context)
        finally:
            checking.close(context)

    def _own_context(self) -> Context:
        return Context(self.place, self._context.embedder)

    def _notice(self) -> None:
        """Have what was written indexed, where that is switched on."""
        if not self._context.wrote:
            return
        changes = self._context.database.connection.total_changes()
        if changes != self._changes:
            self._changes = changes
            if not settings.switched_off(settings.setting(self.place, "auto_index", "off")):
                from memdb.services.extraction import auto_index  # noqa: PLC0415

                auto_index.want(self.place)
                self._wake()

    def _wake(self) -> None:
        from memdb.services.extraction import auto_index  # noqa: PLC0415

        if self._worker is None:
            self._worker = auto_index.Worker(self.place, self._own_context)
        self._worker.wake()

    def _guarded(self, call: Callable[[Context], Result], context: Context | None = None) -> Result:
        try:
            return call(self._context if context is None else context)
        except MemdbError as error:
            from memdb.base import secrets  # noqa: PLC0415

            secrets.redact_error(error)
            raise
        except (apsw.Error, OSError, *UNREADABLE_VALUES) as error:
            raise explain(self.place.database, error) from error

    def _is_ours(self) -> bool:
        try:
            return database_file.head(self.place.database, 72)[68:72] == b"memd"
        except OSError:
            return False

    def _freshen(self, *, embed: bool = True, wait: float = RECALL_WAIT) -> Sequence[str]:
        """Sync what is cheap before an answer; where it cannot be done, what to tell the caller."""
        if not embed and self._is_followed():
            return []
        try:
            report = self._run(
                lambda context: sync.sync(
                    context,
                    embed=embed,
                    embed_limit=RECALL_EMBEDS,
                    cluster_limit=RECALL_CLUSTERS,
                    read_limit=RECALL_READS,
                    names_limit=RECALL_NAMES,
                    wait=wait,
                )
            )
        except Busy:
            return [self._said_of_waiting()]
        except (StoreUnreadable, Refused, NotWritable) as error:
            return [f"The index was not brought up to the files: {error.message}"]
        notes = []
        if report.documents.behind:
            files_are = "1 document is" if report.documents.behind == 1 else f"{report.documents.behind} documents are"
            notes.append(f"{files_are} not read yet; `memdb sync` does it.")
        if embed and report.pending and not report.embedder:
            texts_are = "1 text is" if report.pending == 1 else f"{report.pending} texts are"
            notes.append(f"{texts_are} not embedded yet; `memdb sync` does it.")
        return notes

    def _said_of_waiting(self) -> str:
        """What to tell of an answer from the index as it is, while others write: by how much it is behind."""
        said = "The index was not brought up to the files: another memdb process is writing."
        with suppress(MemdbError):
            count = self._run(sync.behind)
            files_are = {0: "All files are in it", 1: "1 file is newer"}.get(count, f"{count} files are newer")
            return f"{said} {files_are}."
        return said
