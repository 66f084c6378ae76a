"""The one object that a program needs: `memdb.open(path)` returns a Store; each method is one service call."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import apsw

from memdb.base import files, settings
from memdb.base.embedding import Embedder
from memdb.base.place import Place
from memdb.base.storage import UNREADABLE_VALUES, Damaged, explain
from memdb.errors import Busy, MemdbError, ModelUnavailable, NotWritable, Refused, StoreUnreadable
from memdb.services import checking, reading, sync, vectors
from memdb.services import recall as recalling
from memdb.services.context import Context, Progress, silent
from memdb.services.recall import Filters, Hit, Recall

if TYPE_CHECKING:
    from memdb.base.llm import Llm
    from memdb.groups.conflicts import Conflicts
    from memdb.groups.documents import Documents
    from memdb.groups.entities import Entities
    from memdb.groups.graph import Graph
    from memdb.groups.proposals import Proposals
    from memdb.groups.review import Review
    from memdb.groups.runs import Runs
    from memdb.groups.schema import Schema
    from memdb.services.auto_index import Worker
    from memdb.services.backups import Backup, Restored
    from memdb.services.decisions import Decision
    from memdb.services.digests import Digest
    from memdb.services.document_additions import Added
    from memdb.services.evaluation import Evaluation
    from memdb.services.exporting import Exported
    from memdb.services.extraction_plans import Plan
    from memdb.services.extraction_runs import RunReport
    from memdb.services.following import Tell
    from memdb.services.forgetting import Forgotten
    from memdb.services.importing import Imported
    from memdb.services.inspection import Finding
    from memdb.services.reading import Listed, PastText, Shown, Written
    from memdb.services.rebuilding import Rebuilt
    from memdb.services.relating import Related
    from memdb.services.saving import Saved
    from memdb.services.sync import SyncReport

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


def open(root: Path | str | None = None, *, db: Path | str | None = None, embedder: Embedder | None = None) -> Store:
    """Open the store under a root: a folder with `.memdb/` (see `Store.init`), or the one that settings name.

    `db` puts the database elsewhere; `embedder` replaces the one of the settings. Raises NotFound where there is no
    store, NewerStore where a newer memdb wrote it, StoreUnreadable where it cannot be read. A damaged database is
    rebuilt.
    """
    return Store(settings.place(root, db), embedder)


class Store:
    """An open store. Safe to share between threads: calls wait for one another."""

    def __init__(self, place: Place, embedder: Embedder | None = None) -> None:
        self.place = place
        self._lock = threading.RLock()
        self._context = Context(place, embedder)
        self._worker: Worker | None = None
        self._changes = 0
        # A program that ends without closing is no crash.
        self._closer = weakref.finalize(self, checking.close, self._context, locked=False)
        self._run(checking.verify)

    @classmethod
    def init(cls, root: Path | str, *, db: Path | str | None = None, embedder: Embedder | None = None) -> Store:
        """Make a folder a store, or open it where it is one. Writes nothing outside `<root>/.memdb`."""
        place = settings.place(root, db)
        try:
            settings.initialise(place)
        except OSError as error:
            raise NotWritable(
                f"{place.home} cannot be made: {error.strerror or error}.", hint="Check the permissions of the folder."
            ) from error
        return cls(place, embedder)

    def __enter__(self) -> Store:
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

    # Reading

    def recall(
        self,
        query: str,
        *,
        limit: int = recalling.LIMIT,
        filters: Filters | None = None,
        hops: int = recalling.HOPS,
        arms: Sequence[str] = recalling.ARMS,
        paths: str = "evidence",
        sync_first: bool = True,
        wait: float = RECALL_WAIT,
    ) -> Recall:
        """The memories that belong in the next prompt, most relevant first, each with the path by which it came.

        Brings the index up to the files first; where it cannot within `wait` seconds of another writer, it answers from
        the index as it is and says so in `notes`. Without the vector arm nothing is embedded. Any text is a valid
        query. Raises UsageError for a bad limit or date.
        """
        notes = self._freshen(embed="vector" in arms, wait=wait) if sync_first else []
        answer = self._run(
            lambda context: recalling.recall(
                context, query, limit=limit, filters=filters, hops=hops, arms=arms, paths=paths
            )
        )
        answer.notes.extend(notes)
        return answer

    def recall_sql(self, query: str, **options: Any) -> str:
        """The SQL of a recall with its values written in; takes the options of `recall`."""
        return self._run(lambda context: recalling.recall_sql(context, query, **options))

    def prompt_block(self, answer: Recall, budget: int | None = None, *, session: str | None = None) -> str:
        """A recall's answer as text for a prompt, within a budget of bytes.

        With a `session`, what that session was given before is left out, unless it changed, and what is given is noted.
        """
        from memdb.services import prompting, sessions

        already = sessions.given(self.place, session) if session is not None else {}
        block = self._run(
            lambda context: prompting.compose(context, answer, prompting.BUDGET if budget is None else budget, already)
        )
        if session is not None:
            sessions.note(self.place, session, block.given)
        return block.text

    def end_session(self, session: str) -> None:
        """Forget what a session was given: its context is empty again."""
        from memdb.services import sessions

        sessions.end(self.place, session)

    def warm(self) -> bool:
        """Load the embedding model before the first question needs it; False where there is none."""
        with suppress(ModelUnavailable):
            self._context.embedder.embed_query("a first text, so that the next one is fast")
        return self.is_warm

    @property
    def is_warm(self) -> bool:
        """Whether a question waits for no model: it is loaded, or there is none."""
        return self._context.embedder.status.state != "not loaded"

    def cascade(
        self, seeds: Mapping[str, float], *, limit: int = recalling.LIMIT, hops: int = recalling.HOPS
    ) -> Recall:
        """The graph walk alone, from nodes with given scores, for example `{"feedback/prefers-tables": 0.71}`."""
        pairs = sorted(seeds.items())
        return self._run(lambda context: recalling.cascade(context, pairs, limit=limit, hops=hops))

    def evaluate(
        self, questions: Path | str | Sequence[Mapping[str, Any]], *, k: Sequence[int] = (), progress: Progress = silent
    ) -> Evaluation:
        """How well each arm, the fusion and the cascade answer questions, a JSONL file or its lines as mappings.

        Each has `question` and `gold` (ids that should come), and may have `id`, `category` and `filter`. Raises
        NotFound, UsageError with the line that does not fit.
        """
        from memdb.services import evaluation

        asked = (
            evaluation.read_questions(Path(questions))
            if isinstance(questions, (str, Path))
            else [evaluation.question(value, line) for line, value in enumerate(questions, start=1)]
        )
        notes = self._freshen()
        found = self._run(lambda context: evaluation.evaluate(context, asked, k=k or evaluation.KS, progress=progress))
        found.notes.extend(notes)
        return found

    def list(self, *, types: Sequence[str] = (), tags: Sequence[str] = ()) -> Sequence[Listed]:
        """All memories, or those of any of some types and all of some tags."""
        self._freshen(embed=False)
        return self._run(lambda context: reading.list_memories(context, types=types, tags=tags))

    def show(self, memory: str) -> Shown:
        """One memory by id, name, alias or path. Raises NotFound, UsageError where the name is ambiguous."""
        self._freshen(embed=False)
        return self._run(lambda context: reading.show(context, memory))

    def links(self, memory: str | None = None, *, statuses: Sequence[str] = ()) -> Sequence[Written]:
        """Links as written; `statuses` are resolved, unresolved, ambiguous, self."""
        self._freshen(embed=False)
        return self._run(
            lambda context: reading.links(
                context, key=reading.find(context, memory) if memory else None, statuses=statuses
            )
        )

    def history(self, memory: str) -> Sequence[PastText]:
        """The earlier texts of a memory, oldest first; also of one whose file is gone."""
        self._freshen(embed=False)

        def look(context: Context) -> Sequence[PastText]:
            return reading.history(context, memory) or reading.history(context, reading.find(context, memory))

        return self._run(look)

    def stats(self) -> dict[str, Any]:
        """Counts of everything, the model and the file."""
        from memdb.services import inspection

        return self._run(inspection.stats)

    def doctor(self) -> Sequence[Finding]:
        """Every check, with what to do where one fails."""
        from memdb.services import inspection

        return self._run(inspection.doctor)

    def digest(self) -> Digest:
        """Sync, then one sha256 over what the store says.

        Equal for equal files and journal, however they were indexed.
        """
        from memdb.services import digests

        self.sync()
        return self._run(lambda context: digests.digest(context.database))

    # Writing

    def sync(self, *, yes: bool = False, embed: bool = True, progress: Progress = silent) -> SyncReport:
        """Bring the index up to the files.

        Raises StoreUnreadable, Refused where more than half of the files are gone.
        """
        return self._run(lambda context: sync.sync(context, yes=yes, embed=embed, progress=progress))

    def follow(self, tell: Tell, **options: Any) -> None:
        """Sync whenever files change, until the event `ended` is set; `tell` is called with what happens.

        Works on a store of its own, so that other calls need not wait. Further options are `walk` and `poll`, the
        seconds between two walks of all files with and without notices of the system, and `notices`, whether to use
        them.
        """
        from memdb.services.following import Follower

        Follower(lambda: Store(self.place), tell, **options).run()

    def mirrored(self) -> Sequence[Path]:
        """The files and folders that were added, there or not."""
        from memdb.services import following

        return self._run(following.added_paths)

    def rebuild(self, *, progress: Progress = silent) -> Rebuilt:
        """Build the database anew from the files and the journal, and swap it in when it is whole."""
        from memdb.services import rebuilding

        return self._run(lambda context: rebuilding.rebuild(context, progress=progress))

    def save(self, memory: str, body: str | None = None, **fields: Any) -> Saved:
        """Make or change the memory `type/name`; takes description, tags, supersedes, aliases, fields, expected_sha256.

        What is not given stays as it is. A new memory that says again what another one says becomes a version of that
        one, which `restates` of the answer names; with `apart` it stands by itself. Raises SecretFound, Changed,
        UsageError, NotWritable.
        """
        from memdb.services import saving

        return self._run(lambda context: saving.save(context, memory, body, **fields))

    def restore(self, memory: str, version: int, *, expected_sha256: str | None = None) -> Saved:
        """Make an earlier text of a memory its text again, by its number in `history`; what it says now is kept.

        Brings a deleted file back too. Raises NotFound, Refused where the text was withheld, Changed, NotWritable.
        """
        from memdb.services import versions

        return self._run(lambda context: versions.restore(context, memory, version, expected_sha256=expected_sha256))

    def add(self, paths: Sequence[Path | str], *, embed: bool = True, progress: Progress = silent) -> SyncReport:
        """Mirror files and folders as documents from now on, fetch http and https addresses (texts), and sync.

        An address is fetched now, and again when it is added again, never by a sync. `failed` and `skipped` of the
        report's documents are those of this call; a single path that cannot be taken raises: NotFound, UsageError,
        SecretFound, CannotFetch, CannotExtract.
        """
        from memdb.services import document_additions as additions

        wanted = additions.gather(paths, progress=progress)
        added = self._run(lambda context: additions.add(context, wanted))
        return self._sync_added(added, embed, progress)

    def add_bytes(self, name: str, data: bytes, *, embed: bool = True, progress: Progress = silent) -> SyncReport:
        """Keep bytes as the document `document:upload://NAME`, in place of an earlier one of that name.

        The name's suffix says how they are read. Raises UsageError for a bad name and more than 32 MB, SecretFound,
        CannotExtract.
        """
        from memdb.services import document_additions as additions

        added = self._run(lambda context: additions.upload(context, name, data))
        return self._sync_added(added, embed, progress)

    def add_text(self, name: str, text: str, *, embed: bool = True, progress: Progress = silent) -> SyncReport:
        """`add_bytes` of a text."""
        return self.add_bytes(name, text.encode("utf-8", "replace"), embed=embed, progress=progress)

    def _sync_added(self, added: Added, embed: bool, progress: Progress) -> SyncReport:
        from memdb.domain.history import is_below
        from memdb.services import document_additions as additions

        report = self.sync(embed=embed, progress=progress)

        def is_added(path: str) -> bool:
            return any(is_below(path, folder) for folder in added.paths)

        found = report.documents
        found.failed = [(path, reason) for path, reason in found.failed if is_added(path)] + added.failed
        found.skipped = [path for path in found.skipped if is_added(path)]
        found.notes = added.notes
        found.memories = self._run(lambda context: additions.memories_below(context, added.paths))
        return report

    def remove(self, document: str, *, progress: Progress = silent) -> str:
        """Stop mirroring a document, file, folder or address, and drop its chunks. Returns its path.

        A file stays; the snapshot of a page or an upload goes.
        """
        from memdb.services import document_additions as additions

        path = self._run(lambda context: additions.remove(context, document))
        self.sync(embed=False, progress=progress)
        return path

    def relate(self, source: str, target: str, kind: str = "link") -> Related:
        """Have a memory link to another one, or replace it (`supersedes`); its file says so from then on.

        Raises NotFound, UsageError, SecretFound, Changed, NotWritable.
        """
        from memdb.services import relating

        self._freshen(embed=False)
        return self._run(lambda context: relating.relate(context, source, target, kind))

    def write_file(self, file: str, data: bytes, *, expected_sha256: str | None = None) -> Saved:
        """Replace a memory file's bytes, as an editor left them."""
        from memdb.services import saving

        return self._run(lambda context: saving.write_file(context, file, data, expected_sha256=expected_sha256))

    def forget(self, memory: str) -> Forgotten:
        """Delete a memory and every trace of its text in the store. Cannot be undone."""
        from memdb.services import forgetting

        return self._run(lambda context: forgetting.forget(context, memory))

    # Moving in and out

    def import_from(
        self,
        sources: Sequence[Path | str],
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
        from memdb.services import importing

        done = self._run(
            lambda context: importing.import_from(
                context, sources, kind=kind, to=to, dry_run=dry_run, progress=progress
            )
        )
        if not dry_run:
            if done.store is not None and "model" in done.store.settings:
                self._context.set_embedder(None)
            done.sync = self.sync(embed=embed, progress=progress)
            if done.store is not None:
                done.store.same = self.digest().digest == done.store.digest
        return done

    def export(
        self, target: Path | str, *, form: str | None = None, yes: bool = False, progress: Progress = silent
    ) -> Exported:
        """Write the store to a folder, a JSONL file or a zip (`form`; the name tells where it is None).

        A zip imported into an empty store gives the same digest. Raises Refused for what is there already, without
        `yes`; UsageError, NotWritable.
        """
        from memdb.services import exporting

        self.sync(embed=False, progress=progress)
        return self._run(lambda context: exporting.export(context, Path(target), form=form, yes=yes, progress=progress))

    def backup(self, target: Path | str | None = None, *, yes: bool = False, progress: Progress = silent) -> Backup:
        """Write a checked zip of the whole store while others use it, by default into `.memdb/backups`.

        Raises Refused for a file that is there already, without `yes`; NotWritable, Busy.
        """
        from memdb.services import backups

        self.sync(embed=False, progress=progress)
        where = None if target is None else Path(target)
        return self._run(lambda context: backups.backup(context, where, yes=yes, progress=progress))

    @staticmethod
    def restore_backup(file: Path | str, root: Path | str, *, progress: Progress = silent) -> Restored:
        """Bring a store back from a backup into a folder; what the folder had is kept beside it.

        Close a store that is open there first. Raises BadArchive, BadBackup, CannotImport, NotFound, NotWritable.
        """
        from memdb.services import backups

        return backups.restore(Path(file), Path(root), progress=progress)

    def use_model(self, model: str | None, *, progress: Progress = silent) -> int:
        """Make a model the store's own and embed with it what waits; None switches embeddings off.

        Returns how many texts the model read. Interrupted, the next sync goes on. Raises ModelUnavailable, and keeps
        the old model, where this one cannot be used.
        """
        chosen = Embedder(model) if model else None
        if chosen is not None:
            chosen.embed_query("a first text, to see that the model works")
        written = settings.read_settings(self.place)
        settings.write_settings(self.place, written | {"model": chosen.card.id if chosen else "off"})
        self._context.set_embedder(None)
        # Documents are cut by the model's tokens: what is cut anew is not embedded before.
        self.sync(embed=False)
        return self.reembed(progress=progress) if chosen is not None else 0

    def reembed(self, *, progress: Progress = silent) -> int:
        """Embed what waits under the current model; returns how many texts the model read."""
        return self._run(lambda context: vectors.embed_pending(context, progress=progress))

    # Entities by a language model

    def index(
        self,
        *,
        limit: int | None = None,
        rebuild: bool = False,
        llm: Llm | None = None,
        sync_first: bool = True,
        progress: Progress = silent,
    ) -> RunReport:
        """Ask the language model about texts that it has not read, at most `limit`; other calls go on meanwhile.

        `rebuild` takes also what was read under another prompt, vocabulary or model; what the ledger has costs nothing.
        `llm` replaces the model of the settings. Raises LlmOff where texts wait and no model can be asked; a failure of
        the model is in the report.
        """
        from memdb.services import extraction_runs

        if sync_first:
            self.sync(embed=False, progress=progress)
        return self._apart(
            lambda context: extraction_runs.index(context, limit=limit, rebuild=rebuild, llm=llm, progress=progress)
        )

    def index_plan(self, *, rebuild: bool = False, llm: Llm | None = None, sync_first: bool = True) -> Plan:
        """What `index` would do, and in how many calls. Nothing is sent."""
        from memdb.services import extraction_plans

        if sync_first:
            self.sync(embed=False)
        return self._run(lambda context: extraction_plans.plan(context, rebuild=rebuild, llm=llm))

    def auto_index(self, on: bool | None = None) -> bool:
        """Whether what is written is indexed without being asked to, some seconds later; given a value, set that."""
        from memdb.services import auto_index

        if on is not None:
            auto_index.switch(self.place, on)
            if on:
                auto_index.want(self.place)
                self._wake()
        return auto_index.is_on(self.place)

    def auto_index_work(self) -> bool:
        """Do now what waits for auto-index, once nothing was written for some seconds; False where another is at it."""
        from memdb.services import auto_index

        return self._apart(auto_index.work)

    # Groups of methods by noun

    @property
    def entities(self) -> Entities:
        """The entities that texts mention, and what people decide of them."""
        from memdb.groups.entities import Entities

        return Entities(self._fresh)

    @property
    def schema(self) -> Schema:
        """The vocabulary of the entity graph: its types and predicates."""
        from memdb.groups.schema import Schema

        return Schema(self._fresh)

    @property
    def proposals(self) -> Proposals:
        """The types and predicates that models want."""
        from memdb.groups.proposals import Proposals

        return Proposals(self._fresh)

    @property
    def conflicts(self) -> Conflicts:
        """Where texts contradict one another."""
        from memdb.groups.conflicts import Conflicts

        return Conflicts(self._fresh)

    @property
    def review(self) -> Review:
        """What waits for a person: contradicting decisions, conflicts, suggested merges, proposals, problems."""
        from memdb.groups.review import Review

        return Review(self._fresh)

    @property
    def runs(self) -> Runs:
        """The runs of the language model."""
        from memdb.groups.runs import Runs

        return Runs(self._fresh)

    @property
    def documents(self) -> Documents:
        """The documents that the store mirrors, and their chunks."""
        from memdb.groups.documents import Documents

        return Documents(self._fresh)

    @property
    def graph(self) -> Graph:
        """The graph for people to look at: parts of it, and single nodes with their edges."""
        from memdb.groups.graph import Graph

        return Graph(self._fresh)

    # What people decided

    def log(
        self, *, limit: int | None = None, subject: str | None = None, states: Sequence[str] = ()
    ) -> Sequence[Decision]:
        """What people decided, the newest first: all, of one subject, or in some states (standing, held, undone).

        A subject is an entity by any name, `type:NAME`, `predicate:NAME`, or `conflict:ID`. Raises UsageError.
        """
        from memdb.services import decisions

        return self._fresh(lambda context: decisions.log(context, limit=limit, subject=subject, states=states))

    def undo(self, decision: str, *, why: str | None = None) -> Decision:
        """Take a decision back, by its id or the beginning of it: everything is as if it had not been made.

        An undo can be undone. Raises NotFound, UsageError where several are meant, Refused where it no longer applies.
        """
        from memdb.services import resolving

        return self._fresh(lambda context: resolving.undo(context, decision, why=why))

    # Keeping it going

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
        from memdb.services import rebuilding

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
                from memdb.services import auto_index

                auto_index.want(self.place)
                self._wake()

    def _wake(self) -> None:
        from memdb.services import auto_index

        if self._worker is None:
            self._worker = auto_index.Worker(self.place, self._own_context)
        self._worker.wake()

    def _guarded(self, call: Callable[[Context], Result], context: Context | None = None) -> Result:
        try:
            return call(self._context if context is None else context)
        except (apsw.Error, *UNREADABLE_VALUES) as error:
            raise explain(self.place.database, error) from error

    def _is_ours(self) -> bool:
        try:
            with self.place.database.open("rb") as file:
                return file.read(72)[68:72] == b"memd"
        except OSError:
            return False

    def _freshen(self, *, embed: bool = True, wait: float = RECALL_WAIT) -> Sequence[str]:
        """Sync what is cheap before an answer; where it cannot be done, what to tell the caller."""
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
        except (StoreUnreadable, Refused, NotWritable, Busy) as error:
            return [f"The index was not brought up to the files: {error.message}"]
        notes = []
        if report.documents.behind:
            files_are = "1 document is" if report.documents.behind == 1 else f"{report.documents.behind} documents are"
            notes.append(f"{files_are} not read yet; `memdb sync` does it.")
        if embed and report.pending and not report.embedder:
            texts_are = "1 text is" if report.pending == 1 else f"{report.pending} texts are"
            notes.append(f"{texts_are} not embedded yet; `memdb sync` does it.")
        return notes


__all__ = ["Filters", "Hit", "MemdbError", "Recall", "Store", "files", "open"]
