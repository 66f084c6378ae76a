"""Ask a language model what texts mention, once for each text, and journal every answer before the next question.

Nothing is locked while the model works. An answer is in the journal as soon as it came, so whatever ends a run loses no
more than the question that was open. Runs at once share the work: each claims a text before it asks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from memdb.base import files
from memdb.base.llm import Answer, Llm, configured
from memdb.base.storage import Database
from memdb.domain import extraction, history
from memdb.domain.extraction_prompt import MOST_KNOWN_NAMES, prompt_sha256
from memdb.errors import Busy, LlmError, LlmOff, LlmRefused, LlmUnavailable, MemdbError, SecretFound
from memdb.services.context import Context, Progress, silent
from memdb.services.entities import mentions
from memdb.services.entities.mention_rows import Text
from memdb.services.extraction import extraction_plans as plans
from memdb.services.extraction import judging, runs
from memdb.services.extraction.extraction_plans import MOST_TRIES, Plan, Waiting
from memdb.services.extraction.extraction_wording import dropped, failed, found, held

BATCH = 20
"""Answers after which the graph is derived, so that their names are known to the next prompts."""

BREAKER = 5
"""Texts in a row that the model has no usable answer for, after which a run gives up."""

OUTAGES = 2
"""Texts in a row at which the endpoint does not answer, after which a run gives up: each was tried five times."""

LEASE = 900
"""Seconds that a claim holds: longer than any question may take. Those of a dead run are free at once."""

PATIENCE = 600.0
"""Seconds that a paid answer waits for another writer to finish."""

SHOWN = 50
"""Skipped texts that a run lists one by one; the rest is counted, and listed by the next runs."""

LONG_WAIT = 60.0
"""An endpoint that asks for a longer wait, in seconds, is left alone until the next run."""


@dataclass(slots=True)
class RunReport:
    """What a run did; counts as in `runs.Run`, `id` is None where there was nothing to do and no run.

    `replayed` of the `done` texts had an output in the ledger. `left` counts distinct texts that wait still,
    `elsewhere` those that another run is at. `compared` memories were asked about together with those near to them, in
    which so many pairs were found to contradict or to say the same. `given_up` are texts that failed in too many runs,
    each with the reason. Where `state` is failed, `code`, `message` and `hint` are those of the error.
    """

    id: int | None = None
    state: runs.State = "done"
    model: str | None = None
    done: int = 0
    replayed: int = 0
    skipped: int = 0
    failed: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    left: int = 0
    elsewhere: int = 0
    compared: int = 0
    contradictions: int = 0
    restatements: int = 0
    given_up: list[tuple[str, str]] = field(default_factory=list)
    code: str | None = None
    message: str | None = None
    hint: str | None = None
    retry_after: float | None = None


def index(
    context: Context,
    *,
    limit: int | None = None,
    rebuild: bool = False,
    llm: Llm | None = None,
    progress: Progress = silent,
    stop: threading.Event | None = None,
) -> RunReport:
    """Ask the model about texts that no model has read, then derive the entities; the index should be synced before.

    `limit` bounds how many distinct texts are asked about now; `rebuild` takes also those that were read under another
    prompt, vocabulary or model, and those that failed too often. `stop`, once set, ends the run before the next text.
    Raises LlmOff where texts wait and no model can be asked, Busy, NotWritable; a model's failure ends the run, not the
    program, and is in the report.
    """
    asked = configured(context.place) if llm is None else llm
    mentions.refresh(context, progress=progress)
    plan = plans.plan(context, rebuild=rebuild, llm=asked)
    report = RunReport(model=plan.model, skipped=sum(len(nodes) for nodes in plan.skipped.values()))
    keys = plans.keys_of(context.database, (node for node, _ in plan.given_up))
    report.given_up = [(keys[node], reason) for node, reason in plan.given_up if node in keys]
    if not plan.asks and not plan.replays and not plan.judges:
        return report
    if plan.asks and plan.off is not None:
        waiting = "1 text waits" if len(plan.asks) == 1 else f"{len(plan.asks)} texts wait"
        raise LlmOff(f"{waiting} for a language model. {plan.off}", hint=plan.hint)
    with runs.started(context, plan.model, plan.prompt_sha256) as log:
        indexing = _Indexing(context, asked, log=log, report=report, plan=plan, rebuild=rebuild)
        ending = stop or threading.Event()
        indexing.work(limit, progress, ending)
        if log.run.state == "done" and plan.judges:
            left = None if limit is None else max(0, limit - len(plan.asks))
            _judge(context, asked, plan, log, report, limit=left, rebuild=rebuild, progress=progress, stop=ending)
    _tell(report, log.run)
    return report


def _judge(
    context: Context,
    llm: Llm,
    plan: Plan,
    log: runs.Log,
    report: RunReport,
    *,
    limit: int | None,
    rebuild: bool,
    progress: Progress,
    stop: threading.Event,
) -> None:
    """Have memories compared with those near to them, once their names are known; then derive what follows."""
    log.run.state = "running"
    done = judging.judge(context, llm, plan.judges, log=log, limit=limit, rebuild=rebuild, progress=progress, stop=stop)
    report.compared, report.contradictions, report.restatements = done.asked, done.contradictions, done.restatements
    if done.error is not None:
        log.run.state, log.run.message = "failed", done.error.message
        report.code, report.hint = done.error.code, done.error.hint
        report.retry_after = getattr(done.error, "retry_after", None)
    elif stop.is_set():
        log.run.message = "asked to stop"
    else:
        log.run.state = "done"
    with suppress(Busy):
        mentions.refresh(context, progress=progress)


def _tell(report: RunReport, run: runs.Run) -> None:
    report.id, report.state, report.message = run.id, run.state, run.message
    report.done, report.failed, report.calls = run.done, run.failed, run.calls
    report.input_tokens, report.output_tokens, report.cost = run.input_tokens, run.output_tokens, run.cost


class _GiveUp(Exception):
    """The run ends here, for the reason of a model's error."""

    def __init__(self, error: MemdbError) -> None:
        super().__init__(error.message)
        self.error = error


class _Indexing:
    """A run at work."""

    def __init__(
        self, context: Context, llm: Llm, *, log: runs.Log, report: RunReport, plan: Plan, rebuild: bool
    ) -> None:
        self._context = context
        self._llm = llm
        self._log = log
        self._run = log.run
        self._report = report
        self._plan = plan
        self._rebuild = rebuild
        self._model = plan.model or ""
        self._answered: tuple[Waiting, Text, Answer] | None = None
        self._unsettled = 0  # answers since the graph was derived
        self._failures = 0
        self._outages: list[Waiting] = []
        self._read_vocabulary()

    def work(self, limit: int | None, progress: Progress, stop: threading.Event) -> None:
        """Do the plan, up to so many questions."""
        run, report = self._run, self._report
        self._note_skipped()
        for waiting in self._plan.replays:
            self._replay(waiting)
        asks = self._plan.asks if limit is None else self._plan.asks[:limit]
        report.left = len(self._plan.asks)
        try:
            for place, waiting in enumerate(asks):
                if stop.is_set():
                    run.message = "asked to stop"
                    break
                progress("asking the model", place, len(asks))
                self._one(waiting)
                report.left -= 1
                if self._unsettled >= BATCH:
                    self._settle(progress)
            else:
                run.state = "done"
                progress("asking the model", len(asks), len(asks))
        except _GiveUp as end:
            run.state, run.message = "failed", end.error.message
            report.code, report.hint = end.error.code, end.error.hint
            report.retry_after = getattr(end.error, "retry_after", None)
        except KeyboardInterrupt:
            run.message = "interrupted"
            self._record()  # an answer that came at the same moment
            raise
        self._settle(progress)

    def _read_vocabulary(self) -> None:
        """What stands in every prompt until it is read again."""
        database = self._context.database
        self._vocabulary = plans.vocabulary(database)
        self._prompt = prompt_sha256(self._vocabulary)
        self._refused = plans.refused(self._vocabulary.entries)
        self._widely = plans.names_widely(database, MOST_KNOWN_NAMES)

    def _settle(self, progress: Progress) -> None:
        """Derive the graph from the answers; where another process writes for long, the next sync does it."""
        self._unsettled = 0
        with suppress(Busy):
            mentions.refresh(self._context, progress=progress)
        self._read_vocabulary()

    def _note_skipped(self) -> None:
        """List what is skipped, in the first run that meets it."""
        database = self._context.database
        self._run.skipped = self._report.skipped
        told = {key for (key,) in database.rows("select distinct node from run_event where kind = 'skipped'")}
        shown = [(node, reason) for reason, nodes in sorted(self._plan.skipped.items()) for node in nodes]
        keys = plans.keys_of(database, (node for node, _ in shown))
        fresh = [(keys[node], reason) for node, reason in shown if node in keys and keys[node] not in told]
        with database.write():
            self._log.on(database).save()
            for key, reason in fresh[:SHOWN]:
                self._log.event(key, "skipped", reason)

    # One text

    def _one(self, waiting: Waiting) -> None:
        text = self._claim(waiting)
        if text is None:
            return
        try:
            self._answered = (waiting, text, self._ask(text))
        except LlmError as error:
            self._spend(error)
            self._failed(waiting, text, error)
        except SecretFound as error:
            self._failed(waiting, text, error)
        self._record()

    def _ask(self, text: Text) -> Answer:
        known = plans.names_here(self._context.database, text.node, MOST_KNOWN_NAMES)
        names = dict.fromkeys([*known, *self._widely])
        return self._llm.ask(extraction.messages(text.sent, self._vocabulary, names), extraction.answer_model())

    def _claim(self, waiting: Waiting) -> Text | None:
        """Take a text for this run; None where another has or had it, or where the text is no more."""
        context = self._context
        self._catch_up()
        database = context.database
        with database.write() as connection:
            self._log.on(database).save()
            if self._is_known(database, waiting.text_sha256):
                self._report.elsewhere += 1
                return None
            holder = database.value(
                "select run_id from claim where text_sha256 = ? and until > ?", (waiting.text_sha256, int(time.time()))
            )
            if holder is not None and holder != self._run.id and self._works(database, holder):
                self._report.elsewhere += 1
                return None
            texts = mentions.texts_of(database, waiting.nodes)
            text = next((one for one in texts if one.text_sha256 == waiting.text_sha256 and not one.has_secret), None)
            if text is not None:
                connection.execute(
                    "insert or replace into claim values (?, ?, ?)",
                    (waiting.text_sha256, self._run.id, int(time.time()) + LEASE),
                )
        return text

    def _catch_up(self) -> None:
        """Show what a killed run left in the journal alone: it is paid for."""
        context = self._context
        if context.journal_is_ahead():
            with files.writer(context.place, PATIENCE), context.database.write():
                if context.journal_is_ahead():
                    context.replay_journal()

    def _is_known(self, database: Database, text_sha256: str) -> bool:
        return bool(
            database.value(
                "select exists (select 1 from extraction where text_sha256 = ?"
                " and (not ? or (prompt_sha256 = ? and model = ?)))",
                (text_sha256, self._rebuild, self._prompt, self._model),
            )
        )

    def _works(self, database: Database, number: int) -> bool:
        """Whether another run is at work."""
        stamp = database.rows("select started_at, pid from run where id = ? and state = 'running'", (number,))
        return any(
            runs.is_alive(self._context.place, runs.Run(number, "running", started, pid=pid)) for started, pid in stamp
        )

    # What comes of it

    def _record(self) -> None:
        """Journal the answer that came and show it in the tables, if that is not done."""
        if self._answered is None:
            return
        waiting, text, answer = self._answered
        context = self._context
        with files.writer(context.place, PATIENCE), context.database.patience(PATIENCE):
            # It may be in the journal already: an interruption can come at any line of this.
            self._catch_up()
            database = context.database
            key = plans.keys_of(database, [text.node]).get(text.node)
            with database.write() as connection:
                if key is not None and not self._has(database, waiting.text_sha256):
                    context.append(
                        history.extraction_record(
                            key,
                            waiting.text_sha256,
                            self._prompt,
                            self._model,
                            answer.output,
                            refused=self._refused,
                            input_tokens=answer.input_tokens,
                            output_tokens=answer.output_tokens,
                            cost=answer.cost,
                        )
                    )
                connection.execute("delete from claim where text_sha256 = ?", (waiting.text_sha256,))
                connection.execute("delete from failure where text_sha256 = ?", (waiting.text_sha256,))
                self._answered = None
                self._spend(answer)
                self._count_outages(database)
                self._failures = 0
                self._run.done += len(waiting.nodes)
                self._unsettled += 1
                self._log.on(database).save()
                self._tell_answer(database, waiting, text, answer)

    def _has(self, database: Database, text_sha256: str) -> bool:
        """Whether the ledger has this very output: a question that took longer than its lease was asked twice."""
        return bool(
            database.value(
                "select 1 from extraction where text_sha256 = ? and prompt_sha256 = ? and model = ?",
                (text_sha256, self._prompt, self._model),
            )
        )

    def _tell_answer(self, database: Database, waiting: Waiting, text: Text, answer: Answer) -> None:
        letters = self._vocabulary.single_letter_types
        said = extraction.read_answer(answer.output, text.sent, single_letters=letters)
        keys = plans.keys_of(database, waiting.nodes)
        own = keys.get(text.node)
        self._log.event(own, "indexed", found(said, answer))
        if said.dropped:
            self._log.event(own, "dropped", dropped(said))
        waits = held(said, self._vocabulary)
        if waits:
            self._log.event(own, "held", waits)
        for node, key in keys.items():
            if node != text.node:
                self._log.event(key, "replayed", "the same text as another; it was asked about once")

    def _replay(self, waiting: Waiting) -> None:
        """Make an output that the ledger has the newest of its text again."""
        context = self._context
        with files.writer(context.place, PATIENCE):
            self._catch_up()
            database = context.database
            rows = database.rows(
                "select output, refused, input_tokens, output_tokens, cost from extraction"
                " where text_sha256 = ? and prompt_sha256 = ? and model = ?",
                (waiting.text_sha256, self._prompt, self._model),
            )
            keys = plans.keys_of(database, waiting.nodes)
            if not rows or not keys:
                return
            with database.write():
                context.append(
                    _again(next(iter(keys.values())), waiting.text_sha256, self._prompt, self._model, rows[0])
                )
                self._run.done += len(waiting.nodes)
                self._report.replayed += len(waiting.nodes)
                self._log.on(database).save()
                for key in keys.values():
                    self._log.event(key, "replayed", "the ledger has this model's output")

    def _failed(self, waiting: Waiting, text: Text, error: MemdbError) -> None:
        """Note a failure, and give the run up where the next text would fare no better."""
        database = self._context.database
        with database.write() as connection:
            self._run.failed += len(waiting.nodes)
            self._log.on(database).save()
            self._log.event(plans.keys_of(database, [text.node]).get(text.node), "failed", error.message)
            connection.execute("delete from claim where text_sha256 = ?", (waiting.text_sha256,))
            if isinstance(error, LlmUnavailable):
                # Whether the text is to blame shows when another one is answered.
                self._outages.append(waiting)
            elif not (isinstance(error, LlmRefused) and error.everywhere):
                self._count_outages(database)
                self._failures += 1
                self._count(database, waiting, error.code, MOST_TRIES if isinstance(error, SecretFound) else 1)
        if isinstance(error, LlmRefused) and error.everywhere:
            raise _GiveUp(error)
        if isinstance(error, LlmUnavailable) and (error.retry_after or 0.0) > LONG_WAIT:
            raise _GiveUp(error)
        if len(self._outages) >= OUTAGES or self._failures >= BREAKER:
            raise _GiveUp(error)

    def _count_outages(self, database: Database) -> None:
        """The endpoint answers, so the texts at which it did not are the cause of that themselves."""
        for waiting in self._outages:
            self._count(database, waiting, LlmUnavailable.code, 1)
        self._outages = []

    def _count(self, database: Database, waiting: Waiting, code: str, times: int) -> None:
        # The endpoint's own words may repeat the text: what stays here says no more than the kind of failure.
        database.connection.execute(
            "insert into failure values (?, ?, ?, ?, ?) on conflict do update set times = times + excluded.times,"
            " reason = excluded.reason",
            (waiting.text_sha256, self._prompt, self._model, times, failed(code)),
        )

    def _spend(self, used: Answer | LlmError) -> None:
        run = self._run
        run.calls += used.attempts
        run.input_tokens += used.input_tokens or 0
        run.output_tokens += used.output_tokens or 0
        if used.cost is not None:
            run.cost = round((run.cost or 0.0) + used.cost, 9)


def _again(key: str, text_sha256: str, prompt: str, model: str, row: Iterable[Any]) -> dict[str, object]:
    """The ledger's record of an output once more, with what it cost then."""
    import json  # noqa: PLC0415

    output, refused, input_tokens, output_tokens, cost = row
    return history.extraction_record(
        key,
        text_sha256,
        prompt,
        model,
        json.loads(output),
        refused=json.loads(refused),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost=cost,
    )
