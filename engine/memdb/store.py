"""The one object that a program needs: `memdb.open(path)` returns a Store; each method is one service call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memdb.base import settings
from memdb.base.embedding import Embedder
from memdb.errors import MemdbError
from memdb.moving import Moving
from memdb.opened import RECALL_WAIT
from memdb.services.context import Context, Progress, silent
from memdb.services.files import sync
from memdb.services.index import vectors
from memdb.services.memories import reading
from memdb.services.recall import recall as recalling
from memdb.services.recall.recall import Filters, Hit, Recall

if TYPE_CHECKING:
    from threading import Event

    from memdb.base.llm import Llm
    from memdb.services.decisions import Decision
    from memdb.services.documents.document_additions import Added
    from memdb.services.extraction.extraction_plans import Plan
    from memdb.services.extraction.extraction_runs import RunReport
    from memdb.services.files.following import Tell
    from memdb.services.files.sync import SyncReport
    from memdb.services.forgetting.forgetting import Forgotten
    from memdb.services.health.inspection import Finding
    from memdb.services.health.rebuilding import Rebuilt
    from memdb.services.health.secret_scan import Exposed
    from memdb.services.index.digests import Digest
    from memdb.services.memories.reading import Listed, PastText, Shown, Written
    from memdb.services.memories.relating import Related
    from memdb.services.memories.saving import Saved
    from memdb.services.recall.evaluation import Evaluation


def open(root: Path | str | None = None, *, db: Path | str | None = None, embedder: Embedder | None = None) -> Store:
    """Open the store under a root: a folder with `.memdb/` (see `Store.init`), or the one that settings name.

    `db` puts the database elsewhere; `embedder` replaces the one of the settings. Raises NotFound where there is no
    store, NewerStore where a newer memdb wrote it, StoreUnreadable where it cannot be read. A damaged database is
    rebuilt.
    """
    return Store(settings.place(root, db), embedder)


class Store(Moving):
    """An open store. Safe to share between threads: calls wait for one another."""

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
        now: str | None = None,
        sync_first: bool = True,
        wait: float = RECALL_WAIT,
    ) -> Recall:
        """The memories that belong in the next prompt, most relevant first, each with the path by which it came.

        Brings the index up to the files first; where it cannot within `wait` seconds of another writer, it answers from
        the index as it is and says so in `notes`. Without the vector arm nothing is embedded. Any text is a valid
        query. `now` is the day (`2026-05-01`) from which words as `yesterday` are counted: today, or of a store that
        nobody wrote to for a year its newest day. Raises UsageError for a bad limit or date.
        """
        filters = recalling.at(filters, now)
        notes = self._freshen(embed="vector" in arms, wait=wait) if sync_first else []
        answer = self._run(
            lambda context: recalling.recall(
                context, query, limit=limit, filters=filters, hops=hops, arms=arms, paths=paths
            )
        )
        answer.notes.extend(notes)
        return answer

    def recall_sql(
        self,
        query: str,
        *,
        limit: int = recalling.LIMIT,
        filters: Filters | None = None,
        hops: int = recalling.HOPS,
        arms: Sequence[str] = recalling.ARMS,
        paths: str = "evidence",
        now: str | None = None,
    ) -> str:
        """The SQL of a recall with its values written in, to be run by hand; the options are those of `recall`."""
        filters = recalling.at(filters, now)
        return self._run(
            lambda context: recalling.recall_sql(
                context, query, limit=limit, filters=filters, hops=hops, arms=arms, paths=paths
            )
        )

    def prompt_block(self, answer: Recall, budget: int | None = None, *, session: str | None = None) -> str:
        """A recall's answer as text for a prompt, within a budget of bytes.

        With a `session`, what that session was given before is left out, unless it changed, and what is given is noted.
        """
        from memdb.services.recall import prompting

        return self._run(lambda context: prompting.block(context, answer, budget, session))

    def end_session(self, session: str) -> None:
        """Forget what a session was given: its context is empty again."""
        from memdb.services.recall import sessions

        sessions.end(self.place, session)

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
        from memdb.services.recall import evaluation

        asked = evaluation.questions(questions)
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
        """The earlier texts of a memory, oldest first; also of one whose file is gone, by its id or bare name."""
        self._freshen(embed=False)

        def look(context: Context) -> Sequence[PastText]:
            return reading.history(context, reading.find_past(context, memory))

        return self._run(look)

    def stats(self) -> dict[str, Any]:
        """Counts of everything, the model and the file."""
        from memdb.services.health import inspection

        return self._run(inspection.stats)

    def doctor(self, *, deep: bool = False, progress: Progress = silent) -> Sequence[Finding]:
        """Every check, with what to do where one fails; `deep` also builds the database anew, aside, to compare."""
        from memdb.services.health import inspection

        return self._run(lambda context: inspection.doctor(context, deep=deep, progress=progress))

    def secrets(self, *, progress: Progress = silent) -> Sequence[Exposed]:
        """The credentials that lie in files of the store and in documents, each by place and kind, not shown."""
        from memdb.services.health import secret_scan

        return self._fresh(lambda context: secret_scan.scan(context, progress=progress))

    def repair(self, *, deep: bool = False, progress: Progress = silent) -> Sequence[str]:
        """Repair what `doctor` finds, where it can be; returns what was done. Raises as `sync` and `rebuild` do."""
        from memdb.services.health import repairing

        return self._run(lambda context: repairing.repair(context, deep=deep, progress=progress))

    def digest(self) -> Digest:
        """Sync, then one sha256 over what the store says.

        Equal for equal files and journal, however they were indexed.
        """
        from memdb.services.index import digests

        self.sync()
        return self._run(lambda context: digests.digest(context.database))

    # Writing

    def sync(self, *, yes: bool = False, embed: bool = True, progress: Progress = silent) -> SyncReport:
        """Bring the index up to the files.

        Raises StoreUnreadable, Refused where more than half of the files are gone.
        """
        return self._run(lambda context: sync.sync(context, yes=yes, embed=embed, progress=progress))

    def follow(
        self,
        tell: Tell,
        *,
        ended: Event | None = None,
        walk: float | None = None,
        poll: float | None = None,
        notices: bool = True,
    ) -> None:
        """Sync whenever files change, until the event `ended` is set; `tell` is called with what happens.

        Works on a store of its own with the same embedder, so that other calls need not wait. `walk` and `poll` are the
        seconds between two walks of all files with and without notices of the system (60 and 2), `notices` says whether
        to use them. A sync that goes on when the event is set ends between two batches of files or texts.
        """
        from memdb.services.files.following import POLL, WALK, Follower

        walk, poll = WALK if walk is None else walk, POLL if poll is None else poll
        Follower(self.another, tell, ended=ended, walk=walk, poll=poll, notices=notices).run()

    def another(self) -> Store:
        """The same folder opened once more with the same embedder: calls of one need not wait for the other's."""
        return Store(self.place, self._given)

    def mirrored(self) -> Sequence[Path]:
        """The files and folders that were added, there or not."""
        from memdb.services.files import following

        return self._run(following.added_paths)

    def rebuild(self, *, progress: Progress = silent) -> Rebuilt:
        """Build the database anew from the files and the journal, and swap it in when it is whole."""
        from memdb.services.health import rebuilding

        return self._run(lambda context: rebuilding.rebuild(context, progress=progress))

    def save(
        self,
        memory: str,
        body: str | None = None,
        *,
        description: str | None = None,
        tags: Sequence[str] | None = None,
        supersedes: Sequence[str] | None = None,
        aliases: Sequence[str] | None = None,
        fields: Mapping[str, str | None] | None = None,
        expected_sha256: str | None = None,
        apart: bool = False,
    ) -> Saved:
        """Make or change the memory `type/name`; what is not given stays as it is.

        `fields` sets further keys of its frontmatter, None removes one; with `expected_sha256`, a file that changed
        since is not replaced. A new memory that says again what another one says becomes a version of that one, which
        `restates` of the answer names; with `apart` it stands by itself. Raises SecretFound, Changed, UsageError,
        NotWritable.
        """
        from memdb.services.memories import saving

        return self._run(
            lambda context: saving.save(
                context,
                memory,
                body,
                description=description,
                tags=tags,
                supersedes=supersedes,
                aliases=aliases,
                fields=fields,
                expected_sha256=expected_sha256,
                apart=apart,
            )
        )

    def restore(self, memory: str, version: int, *, expected_sha256: str | None = None) -> Saved:
        """Make an earlier text of a memory its text again, by its number in `history`; what it says now is kept.

        Brings a deleted file back too. Raises NotFound, Refused where the text was withheld, Changed, NotWritable.
        """
        from memdb.services.memories import versions

        return self._run(lambda context: versions.restore(context, memory, version, expected_sha256=expected_sha256))

    def add(
        self, paths: Sequence[Path | str] | Path | str, *, embed: bool = True, progress: Progress = silent
    ) -> SyncReport:
        """Mirror files and folders, or one, as documents from now on, fetch http and https addresses (texts), and sync.

        An address is fetched now, and again when it is added again, never by a sync. `failed` and `skipped` of the
        report's documents are those of this call; a single path that cannot be taken raises: NotFound, UsageError,
        SecretFound, CannotFetch, CannotExtract.
        """
        from memdb.services.documents import document_additions as additions

        wanted = additions.gather(paths, progress=progress)
        added = self._run(lambda context: additions.add(context, wanted))
        return self._sync_added(added, embed, progress)

    def add_bytes(self, name: str, data: bytes, *, embed: bool = True, progress: Progress = silent) -> SyncReport:
        """Keep bytes as the document `document:upload://NAME`, in place of an earlier one of that name.

        The name's suffix says how they are read. Raises UsageError for a bad name and more than 32 MB, SecretFound,
        CannotExtract.
        """
        from memdb.services.documents import document_additions as additions

        added = self._run(lambda context: additions.upload(context, name, data))
        return self._sync_added(added, embed, progress)

    def add_text(self, name: str, text: str, *, embed: bool = True, progress: Progress = silent) -> SyncReport:
        """`add_bytes` of a text."""
        return self.add_bytes(name, text.encode("utf-8", "replace"), embed=embed, progress=progress)

    def _sync_added(self, added: Added, embed: bool, progress: Progress) -> SyncReport:
        from memdb.services.documents import document_additions as additions

        report = self.sync(embed=embed, progress=progress)
        self._run(lambda context: additions.narrow(context, report.documents, added))
        return report

    def remove(self, document: str, *, progress: Progress = silent) -> str:
        """Stop mirroring a document, file, folder or address, and drop its chunks. Returns its path.

        A file stays; the snapshot of a page or an upload goes.
        """
        from memdb.services.documents import document_additions as additions

        path = self._run(lambda context: additions.remove(context, document))
        self.sync(embed=False, progress=progress)
        return path

    def relate(self, source: str, target: str, kind: str = "link") -> Related:
        """Have a memory link to another one, or replace it (`supersedes`); its file says so from then on.

        Raises NotFound, UsageError, SecretFound, Changed, NotWritable.
        """
        from memdb.services.memories import relating

        self._freshen(embed=False)
        return self._run(lambda context: relating.relate(context, source, target, kind))

    def write_file(self, file: str, data: bytes, *, expected_sha256: str | None = None) -> Saved:
        """Replace a memory file's bytes, as an editor left them."""
        from memdb.services.memories import saving

        return self._run(lambda context: saving.write_file(context, file, data, expected_sha256=expected_sha256))

    def forget(self, memory: str) -> Forgotten:
        """Delete a memory, or what is kept of a document, folder or address that was added, with every trace of its
        text in the store. A document's own file stays. Cannot be undone.
        """
        from memdb.services.forgetting import forgetting

        return self._run(lambda context: forgetting.forget(context, memory))

    def use_model(self, model: str | None, *, progress: Progress = silent) -> int:
        """Make a model the store's own and embed with it what waits; None switches embeddings off.

        Returns how many texts the model read. Interrupted, the next sync goes on. Raises ModelUnavailable, and keeps
        the old model, where this one cannot be used.
        """
        from memdb.services import models

        return self._run(lambda context: models.use(context, model, progress=progress))

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
        from memdb.services.extraction import extraction_runs

        if sync_first:
            self.sync(embed=False, progress=progress)
        return self._apart(
            lambda context: extraction_runs.index(context, limit=limit, rebuild=rebuild, llm=llm, progress=progress)
        )

    def index_plan(self, *, rebuild: bool = False, llm: Llm | None = None, sync_first: bool = True) -> Plan:
        """What `index` would do, and in how many calls. Nothing is sent."""
        from memdb.services.extraction import extraction_plans

        if sync_first:
            self.sync(embed=False)
        return self._run(lambda context: extraction_plans.plan(context, rebuild=rebuild, llm=llm))

    def auto_index(self, on: bool | None = None) -> bool:
        """Whether what is written is indexed without being asked to, some seconds later; given a value, set that."""
        from memdb.services.extraction import auto_index

        if on is not None:
            auto_index.switch(self.place, on)
            if on:
                auto_index.want(self.place)
                self._wake()
        return auto_index.is_on(self.place)

    def auto_index_work(self) -> bool:
        """Do now what waits for auto-index, once nothing was written for some seconds; False where another is at it."""
        from memdb.services.extraction import auto_index

        return self._apart(auto_index.work)

    # What people decided

    def log(
        self, *, limit: int | None = None, subject: str | None = None, states: Sequence[str] = ()
    ) -> Sequence[Decision]:
        """What people decided, the newest first: all, of one subject, or in some states (standing, held, undone).

        A subject is an entity by any name, `type:NAME`, `predicate:NAME`, or `conflict:ID`. Raises UsageError.
        """
        from memdb.services import decisions

        return self._fresh(lambda context: decisions.log(context, limit=limit, subject=subject, states=states))

    def confirm(self, decision: str, *, why: str | None = None) -> Decision:
        """Say that a decision holds, by its id or the beginning of it, and return the decision that says so.

        One that is held takes effect, and what is in its way is taken back. Of those that contradict one another, what
        stands stands, and nobody is asked again. `undo` takes it back. Raises NotFound, UsageError where several are
        meant, Refused where it is undone or cannot take effect.
        """
        from memdb.services import confirming

        return self._fresh(lambda context: confirming.confirm(context, decision, why=why))

    def undo(self, decision: str, *, why: str | None = None) -> Decision:
        """Take a decision back, by its id or the beginning of it: everything is as if it had not been made.

        An undo can be undone. Raises NotFound, UsageError where several are meant, Refused where it no longer applies.
        """
        from memdb.services.conflicts import resolving

        return self._fresh(lambda context: resolving.undo(context, decision, why=why))


__all__ = ["Filters", "Hit", "MemdbError", "Recall", "Store", "open"]
