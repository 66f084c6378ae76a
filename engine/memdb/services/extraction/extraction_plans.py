"""Which texts wait for a language model, and how many calls that is: known before the first one is made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from memdb.base.llm import Llm, configured
from memdb.base.storage import Database
from memdb.domain.extraction_prompt import prompt_sha256
from memdb.domain.vocabulary import Entry, Vocabulary, entry_key
from memdb.services.context import Context
from memdb.services.extraction import judging_plans

MOST_TRIES = 3
"""Runs in which a text may fail before it is left alone; `rebuild` tries it again."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A distinct text and the nodes, memories or chunks, that have it; `tries` is in how many runs it failed."""

    text_sha256: str
    nodes: tuple[int, ...]
    tries: int = 0


@dataclass(slots=True)
class Plan:
    """What an index run would do: `asks` cost one question each, `replays` are in the ledger and cost nothing.

    `judges` are memories to be compared with those near to them, in one question each, or none where nothing is near.
    `skipped` has the nodes that no model reads, by reason; `given_up` those that failed too often, with the last
    reason. `off` says why no model can be asked, `hint` what to do about it.
    """

    model: str | None
    endpoint: str | None
    prompt_sha256: str
    asks: list[Waiting] = field(default_factory=list)
    replays: list[Waiting] = field(default_factory=list)
    judges: list[int] = field(default_factory=list)
    skipped: dict[str, list[int]] = field(default_factory=dict)
    given_up: list[tuple[int, str]] = field(default_factory=list)
    off: str | None = None
    hint: str | None = None

    @property
    def calls(self) -> int:
        """Questions that the run would ask at most, leaving aside what has to be asked again."""
        return len(self.asks) + len(self.judges)

    @property
    def texts(self) -> int:
        """Memories and chunks that it would bring up to the model."""
        return sum(len(one.nodes) for one in (*self.asks, *self.replays))


TEXTS = """with text as (
    select memory.id, 0 as rank, node.key as place, 0 as ordinal, text_sha256, indexed_at, has_secret
    from memory join node on node.id = memory.id
    where trim(description || body, char(9, 10, 13, 32)) <> ''
    union all
    select chunk.id, 1, node.key, ordinal, text_sha256, indexed_at, has_secret
    from chunk join document on document.id = document_id join node on node.id = document_id
    where state = 'seen')
select text.id, text.text_sha256, iif(has_secret, 'secret', skip), failure.times, failure.reason,
       extraction.id is not null,
       extraction.id is not null and extraction.id = (
           select newest.id from extraction as newest where newest.text_sha256 = text.text_sha256
           order by newest.at desc limit 1)
from text
join extracted on extracted.node_id = text.id
left join extraction on extraction.text_sha256 = text.text_sha256 and extraction.prompt_sha256 = :prompt
    and extraction.model = :model
left join failure on failure.text_sha256 = text.text_sha256 and failure.prompt_sha256 = :prompt
    and failure.model = :model
where :rebuild or indexed_at is null
order by rank, place, ordinal"""


def plan(context: Context, *, rebuild: bool = False, llm: Llm | None = None) -> Plan:
    """What an index run would do now. Nothing is written or sent.

    Without `rebuild`, texts that no model has read; with it, also those that were read under another prompt, vocabulary
    or model, and those that failed too often. Raises UsageError for a price in the settings that is none.
    """
    database = context.database
    status = (configured(context.place) if llm is None else llm).status
    found = Plan(
        status.model, status.endpoint, prompt_sha256(vocabulary(database)), off=status.reason, hint=status.hint
    )
    asks: dict[str, list[int]] = {}
    replays: dict[str, list[int]] = {}
    tries: dict[str, int] = {}
    values = {"prompt": found.prompt_sha256, "model": found.model or "", "rebuild": rebuild}
    for node, digest, skip, times, reason, known, newest in database.connection.execute(TEXTS, values):
        if skip:
            found.skipped.setdefault(skip, []).append(node)
        elif known:
            if not newest:
                replays.setdefault(digest, []).append(node)
        elif not rebuild and (times or 0) >= MOST_TRIES:
            found.given_up.append((node, reason))
        else:
            asks.setdefault(digest, []).append(node)
            tries[digest] = times or 0
    found.asks = [Waiting(digest, tuple(nodes), tries[digest]) for digest, nodes in asks.items()]
    # What failed before comes last: it keeps nothing else waiting.
    found.asks.sort(key=lambda one: one.tries)
    found.replays = [Waiting(digest, tuple(nodes)) for digest, nodes in replays.items()]
    if found.off is None and judging_plans.is_on(context):
        found.judges = judging_plans.waiting(context, found.model or "", rebuild=rebuild)
    return found


def vocabulary(database: Database) -> Vocabulary:
    """The vocabulary as the tables have it."""
    rows = database.rows(
        "select kind, name, description, origin, state, single_letters, single_valued from vocabulary order by ordinal"
    )
    return Vocabulary(
        Entry(kind, name, description, origin, state, bool(letters), bool(valued))
        for kind, name, description, origin, state, letters, valued in rows
    )


def refused(entries: Iterable[Entry]) -> list[str]:
    """The types and predicates that are disabled, as the ledger has them."""
    return sorted(f"{entry.kind}:{entry_key(entry.kind, entry.name)}" for entry in entries if entry.state == "disabled")


KNOWN_HERE = """select entity.name from mention
join entity on entity.name_key = coalesce(
    (select entity_key from entity_alias where entity_alias.name_key = mention.name_key), mention.name_key)
where mention.node_id = ? group by entity.id order by min(mention.ordinal), entity.name limit ?"""
KNOWN_WIDELY = """select name from entity join node on node.id = entity.id order by degree desc, name limit ?"""


def names_here(database: Database, node: int, limit: int) -> list[str]:
    """The entities that a text is known to name, for the prompt."""
    return [name for (name,) in database.rows(KNOWN_HERE, (node, limit))]


def names_widely(database: Database, limit: int) -> list[str]:
    """The entities that most texts name."""
    return [name for (name,) in database.rows(KNOWN_WIDELY, (limit,))]


def keys_of(database: Database, nodes: Iterable[int]) -> dict[int, str]:
    """The text keys of nodes."""
    keys = {}
    for node in nodes:
        key = database.value("select key from node where id = ?", (node,))
        if key is not None:
            keys[node] = str(key)
    return keys
