"""Have a model compare memories with those near to them, and journal what it says before the next question.

Nothing is changed by it: what contradicts becomes a conflict, what restates a suggestion. A pair of texts is asked
about once: the journal pays for a rebuild, and two runs at once share the work.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass

from memdb.base import files
from memdb.base.journal import Record
from memdb.base.llm import Answer, Llm
from memdb.base.storage import Database
from memdb.domain import history, judging
from memdb.domain.judging import Verdict
from memdb.errors import LlmError, LlmRefused, LlmUnavailable, MemdbError, SecretFound
from memdb.services.context import Context, Progress
from memdb.services.extraction import judging_plans as plans
from memdb.services.extraction import runs
from memdb.services.extraction.extraction_wording import failed
from memdb.services.extraction.judging_plans import Compared

LEASE = 900
"""Seconds that a claim holds: longer than any question may take. Those of a dead run are free at once."""

PATIENCE = 600.0
"""Seconds that a paid answer waits for another writer to finish."""

BREAKER = 3
"""Comparisons in a row that fail, after which a run leaves the others to the next one."""


@dataclass(slots=True)
class Judged:
    """What comparing did: questions asked, pairs that contradict, pairs that say the same; the error that ended it."""

    asked: int = 0
    contradictions: int = 0
    restatements: int = 0
    error: MemdbError | None = None


def judge(
    context: Context,
    llm: Llm,
    nodes: list[int],
    *,
    log: runs.Log,
    limit: int | None,
    rebuild: bool,
    progress: Progress,
    stop: threading.Event,
) -> Judged:
    """Compare memories with those near to them, in at most `limit` questions, as part of a run that goes on.

    A failure of the model ends it and is in what it returns; the run's counts and log have what was used up.
    """
    judging_ = _Judging(context, llm, log=log, rebuild=rebuild)
    for place, node in enumerate(nodes):
        if stop.is_set() or judging_.done.error is not None or (limit is not None and judging_.done.asked >= limit):
            break
        progress("comparing memories", place, len(nodes))
        judging_.one(node)
    else:
        progress("comparing memories", len(nodes), len(nodes))
    return judging_.done


class _Judging:
    """Comparing at work."""

    def __init__(self, context: Context, llm: Llm, *, log: runs.Log, rebuild: bool) -> None:
        self.done = Judged()
        self._context = context
        self._llm = llm
        self._log = log
        self._run = log.run
        self._rebuild = rebuild
        self._model = llm.model or ""
        self._prompt = judging.prompt_sha256()
        self._failures = 0

    def one(self, node: int) -> None:
        found = plans.compared(self._context, [node])
        if not found:
            return
        memory = found[0]
        others = plans.neighbours(self._context, memory, self._model, rebuild=self._rebuild)
        if not others:
            self._note_alone(memory)
            return
        if not self._claim(memory):
            return
        self.done.asked += 1
        try:
            answer = self._llm.ask(
                judging.messages(memory.text, [other.text for other in others]), judging.answer_model()
            )
        except (LlmError, SecretFound) as error:
            self._failed(memory, error)
        else:
            self._record(memory, others, answer)

    def _note_alone(self, memory: Compared) -> None:
        with self._context.database.write() as connection:
            connection.execute(
                "insert or replace into judged_alone values (?, ?, ?, ?)",
                (memory.node, memory.text_sha256, self._prompt, self._model),
            )

    def _claim(self, memory: Compared) -> bool:
        """Take a memory for this run; False where another is at it, or has judged it."""
        context = self._context
        if context.journal_is_ahead():
            with files.writer(context.place, PATIENCE), context.database.write():
                context.replay_journal()
        database = context.database
        with database.write() as connection:
            self._log.on(database).save()
            if memory.node not in plans.waiting(context, self._model, rebuild=self._rebuild, nodes=(memory.node,)):
                return False
            holder = database.value(
                "select run_id from claim where text_sha256 = ? and until > ?", (_claimed(memory), int(time.time()))
            )
            if holder is not None and holder != self._run.id and runs.works(context, int(holder)):
                return False
            connection.execute(
                "insert or replace into claim values (?, ?, ?)",
                (_claimed(memory), self._run.id, int(time.time()) + LEASE),
            )
        return True

    def _record(self, memory: Compared, others: list[Compared], answer: Answer) -> None:
        """Journal what was said of each pair, and show it in the tables."""
        context = self._context
        verdicts = judging.read_answer(answer.output, memory.text, [other.text for other in others])
        with files.writer(context.place, PATIENCE), context.database.patience(PATIENCE):
            database = context.database
            with database.write() as connection:
                there = {
                    one.text_sha256: one for one in plans.compared(context, [memory.node, *(o.node for o in others)])
                }
                records: list[Record] = []
                for other, verdict in zip(others, verdicts, strict=True):
                    # What was forgotten or changed while the model read it is not written down.
                    if memory.text_sha256 in there and other.text_sha256 in there:
                        records.append(self._ledger(memory, other, verdict, None if records else answer))
                context.append(*records)
                connection.execute("delete from claim where text_sha256 = ?", (_claimed(memory),))
                connection.execute(
                    "delete from failure where text_sha256 = ? and prompt_sha256 = ?",
                    (memory.text_sha256, self._prompt),
                )
                self._failures = 0
                self._spend(answer)
                self._log.on(database).save()
                self._tell(memory, verdicts)

    def _ledger(self, memory: Compared, other: Compared, verdict: Verdict, paid: Answer | None) -> Record:
        return history.judgement_record(
            (memory.key, other.key),
            (memory.text_sha256, other.text_sha256),
            self._prompt,
            self._model,
            verdict.verdict,
            quotes=verdict.quotes,
            input_tokens=paid.input_tokens if paid else None,
            output_tokens=paid.output_tokens if paid else None,
            cost=paid.cost if paid else None,
        )

    def _tell(self, memory: Compared, verdicts: list[Verdict]) -> None:
        """Say in the log how many of each verdict there were, and what was not believed.

        Neither ids nor quotes: a line about one memory would keep those of another that is forgotten.
        """
        counts = Counter(verdict.verdict for verdict in verdicts)
        self.done.contradictions += counts["contradicts"]
        self.done.restatements += counts["same"] + counts["restates"]
        said = [f"{counts[name]} {name}" for name in history.VERDICTS if counts[name]]
        self._log.event(memory.key, "judged", f"{len(verdicts)} near to it: {', '.join(said)}")
        doubts = Counter(verdict.doubt for verdict in verdicts if verdict.doubt)
        if doubts:
            self._log.event(
                memory.key,
                "dropped",
                "; ".join(f"{count} not believed: {why}" for why, count in sorted(doubts.items())),
            )

    def _failed(self, memory: Compared, error: LlmError | SecretFound) -> None:
        database = self._context.database
        if isinstance(error, LlmError):
            self._spend(error)
        everywhere = isinstance(error, LlmRefused) and error.everywhere
        with database.write() as connection:
            self._log.on(database).save()
            self._log.event(memory.key, "failed", error.message)
            connection.execute("delete from claim where text_sha256 = ?", (_claimed(memory),))
            # At an endpoint that does not answer, no text is to blame.
            if not everywhere and not isinstance(error, LlmUnavailable):
                self._count(database, memory, error)
        self._failures += 1
        if everywhere or isinstance(error, LlmUnavailable) or self._failures >= BREAKER:
            self.done.error = error

    def _count(self, database: Database, memory: Compared, error: MemdbError) -> None:
        times = plans.MOST_TRIES if isinstance(error, SecretFound) else 1
        database.connection.execute(
            "insert into failure values (?, ?, ?, ?, ?) on conflict do update set times = times + excluded.times,"
            " reason = excluded.reason",
            (memory.text_sha256, self._prompt, self._model, times, failed(error.code)),
        )

    def _spend(self, used: Answer | LlmError) -> None:
        run = self._run
        run.calls += used.attempts
        run.input_tokens += used.input_tokens or 0
        run.output_tokens += used.output_tokens or 0
        if used.cost is not None:
            run.cost = round((run.cost or 0.0) + used.cost, 9)


def _claimed(memory: Compared) -> str:
    """The name under which a comparison is claimed: the same text may be claimed for its names at the same time."""
    return f"judge:{memory.text_sha256}"
