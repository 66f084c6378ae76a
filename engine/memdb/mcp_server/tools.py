"""The seven tools of the MCP server: what they are called, what they are for, and what they take under which names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from memdb.base import secrets
from memdb.errors import MemdbError, NotFound
from memdb.mcp_server import calls
from memdb.mcp_server.arguments import Parameter, schema, take
from memdb.mcp_server.calls import BUDGET, PAGE, Arguments, Outcome, may_curate
from memdb.services.memories import relating
from memdb.store import Store
from memdb.stores import Stores

Served = Store | Stores
"""What a server serves: one store, or several by their names."""

ALL = ("*", "all", "any", "every")
"""What a recall may give as the store, to ask all."""

MEMORY_TYPES = "user, feedback, project, reference, episode or any other"


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its name, what it is for, its parameters, whether it only reads and whether it can destroy."""

    name: str
    title: str
    about: str
    parameters: tuple[Parameter, ...]
    run: Callable[[Store, Arguments], Outcome]
    reads: bool = True
    destroys: bool = False
    repeats: bool = True  # a second call like the first changes nothing more

    def schema(self) -> dict[str, Any]:
        """The JSON schema of its input."""
        return schema(self.parameters)


_QUERY = Parameter(
    "query",
    "text",
    "What you want to know, in plain words; any text is fine.",
    (
        "q",
        "search",
        "question",
        "text",
        "prompt",
        "input",
        "search_query",
        "query_text",
        "keywords",
        "keyword",
        "terms",
        "term",
        "topic",
        "message",
        "content",
        "about",
    ),
    required=True,
)
_LIMIT = Parameter(
    "limit",
    "number",
    "The most results, 8 if not given.",
    ("top_k", "k", "n", "max_results", "num_results", "number", "count", "size", "max", "results", "num", "top"),
    least=1,
)
_FILTERS = (
    Parameter(
        "types",
        "texts",
        f"Only memories of these types: {MEMORY_TYPES}.",
        ("type", "memory_type", "memory_types", "category", "categories"),
    ),
    Parameter("tags", "texts", "Only memories with all of these tags.", ("tag", "label", "labels")),
    Parameter(
        "kind",
        "text",
        "memory: only memories; chunk: only passages of documents.",
        ("source", "scope"),
        choices=("memory", "chunk"),
    ),
    Parameter("document", "text", "Only passages of this document, by id or path.", ("doc", "document_id")),
    Parameter(
        "since",
        "text",
        "Only what is of this date or later: 2026, 2026-05 or 2026-05-01.",
        ("after", "from", "start", "start_date", "date_from"),
    ),
    Parameter("until", "text", "Only what is of this date or earlier.", ("before", "to", "end", "end_date", "date_to")),
    Parameter("as_of", "text", "Only what was valid on this date.", ("at", "valid_at", "date")),
    Parameter("now", "text", "The day that yesterday is counted from, as 2026-05-01; today if not given.", ("today",)),
)

_ID = Parameter(
    "id",
    "text",
    "The id of a memory (type/name), a document or a passage, as a recall gives it; or a memory's name.",
    (
        "name",
        "memory",
        "key",
        "memory_id",
        "memory_name",
        "uri",
        "url",
        "path",
        "file",
        "title",
        "identifier",
        "document",
        "document_id",
        "chunk",
        "chunk_id",
        "node",
        "hit",
        "ref",
        "q",
        "query",
    ),
    required=True,
)

_TYPE = Parameter(
    "type",
    "text",
    f"What kind of memory: {MEMORY_TYPES}. reference if not given.",
    ("memory_type", "category", "kind", "folder"),
)

RECALL = Tool(
    "recall",
    "Recall",
    "Find what belongs to a question in the memories and documents of this person: by meaning, by words and by the"
    " graph around them. Call it before you answer anything that may depend on preferences, decisions, projects or"
    " earlier work.",
    (
        _QUERY,
        _LIMIT,
        *_FILTERS,
        Parameter(
            "budget",
            "number",
            f"The most bytes of texts, {BUDGET} if not given.",
            ("bytes", "max_bytes", "max_chars", "max_length", "max_tokens"),
            least=1,
        ),
    ),
    calls.recall,
)
READ = Tool(
    "read",
    "Read",
    "Read one memory with its links, one passage with its neighbours, or a document passage by passage.",
    (
        _ID,
        Parameter(
            "around",
            "number",
            "Passages on each side of a passage, 1 if not given.",
            ("neighbours", "neighbors", "context"),
        ),
        Parameter("offset", "number", "Of a document: the first passage.", ("start", "skip", "from", "cursor")),
        Parameter(
            "limit",
            "number",
            f"Of a document: the most passages, {PAGE} if not given.",
            ("n", "k", "count", "max", "size"),
            least=1,
        ),
    ),
    calls.read,
)
REMEMBER = Tool(
    "remember",
    "Remember",
    "Write one memory to a Markdown file of its own: one fact, preference, decision or event that will matter in"
    " another session. Recall first, so that nothing is written twice. What a memory says already, but for capitals,"
    " punctuation or a typo, becomes a version of that one; the answer says so. Never write credentials.",
    (
        Parameter(
            "content",
            "text",
            "The memory in full sentences that stand alone. [[type/name]] links to another one.",
            ("body", "text", "memory", "note", "value", "data", "message", "observation", "fact", "markdown"),
            required=True,
        ),
        Parameter(
            "name",
            "text",
            "A short name in words joined by hyphens, or a whole id type/name.",
            ("id", "key", "title", "slug", "memory_name", "memory_id", "path", "file"),
        ),
        _TYPE,
        Parameter("description", "text", "What it says, in one line.", ("summary", "abstract", "headline")),
        Parameter("tags", "texts", "A few words under which it belongs.", ("tag", "label", "labels", "keywords")),
        Parameter("supersedes", "texts", "Ids of memories that this one makes obsolete.", ("replaces", "obsoletes")),
        Parameter("aliases", "texts", "Other names of it.", ("alias", "also_known_as")),
        Parameter("happened_at", "text", "The date of an event, 2026-05-01.", ("date", "when", "timestamp")),
        Parameter("valid_from", "text", "From when on it holds.", ("since",)),
        Parameter("valid_to", "text", "Until when it holds.", ("until", "expires", "expires_at")),
        Parameter(
            "replace",
            "flag",
            "Write over the memory of that name; the text before is kept in the history.",
            ("overwrite", "update", "force", "upsert"),
        ),
        Parameter("append", "flag", "Add to the text of the memory of that name.", ("add", "extend")),
        Parameter(
            "apart",
            "flag",
            "Make a memory of its own also of what another one says already.",
            ("separate", "force_new", "new", "keep_apart", "allow_duplicate"),
        ),
    ),
    calls.remember,
    reads=False,
)
RELATE = Tool(
    "relate",
    "Relate",
    "Have one memory link to another one, or say that it replaces it. Writes the line into the file of the first.",
    (
        Parameter(
            "source",
            "text",
            "The memory that will say so: an id or name.",
            ("from", "src", "subject", "a", "memory", "id", "name", "from_id", "source_id", "new"),
            required=True,
        ),
        Parameter(
            "target",
            "text",
            "The memory that it links to or replaces.",
            ("to", "dst", "object", "b", "other", "destination", "to_id", "target_id", "old"),
            required=True,
        ),
        Parameter(
            "kind",
            "text",
            f"{' or '.join(relating.KINDS)}; link if not given.",
            ("relation", "type", "predicate", "edge", "link_type", "how", "relationship", "relation_type"),
        ),
    ),
    calls.relate,
    reads=False,
)
EXPLAIN = Tool(
    "explain",
    "Explain",
    "Say why a recall answers what it does: which arm found each hit at which rank, and the path through the graph.",
    (
        _QUERY,
        _LIMIT,
        *_FILTERS,
        Parameter("id", "text", "Only this hit.", ("name", "memory", "hit", "key", "memory_id")),
        Parameter("sql", "flag", "Add the SQL of the recall, to run by hand.", ("show_sql", "with_sql")),
    ),
    calls.explain,
)
STATUS = Tool("status", "Status", "Counts of the store, its model, and what waits.", (), calls.status)

_REVIEW_LIMIT = Parameter(
    "limit", "number", f"The most items, {PAGE} if not given.", ("n", "k", "count", "max"), least=1
)
REVIEW = Tool(
    "review",
    "Review",
    "List what waits for a person: conflicts, merges, proposals, problems, links that lead nowhere. Tell the person.",
    (_REVIEW_LIMIT,),
    calls.review,
)
_DECISION = (
    Parameter("item", "text", "The id of the item to decide.", ("id", "item_id", "conflict", "proposal")),
    Parameter("choice", "text", "The name of one of its choices.", ("answer", "decision", "action", "resolution")),
    Parameter("text", "text", "The text that goes with the choice, where it asks for one.", ("content", "body")),
    Parameter("why", "text", "The reason, kept with the decision.", ("reason", "comment")),
    Parameter("forget", "text", "The id of a memory to delete for good, instead.", ("delete", "remove")),
)


def tools(served: Served) -> tuple[Tool, ...]:
    """The tools of a store: at most seven, and one of them decides only where the store's settings let it.

    Those of several stores take the name of one; what they show is up to the settings of the first.
    """
    review = REVIEW
    if may_curate(served):
        about = "List what waits for a decision, or, with item and choice, decide it as the person said."
        review = replace(
            REVIEW, about=about, parameters=(_REVIEW_LIMIT, *_DECISION), reads=False, destroys=True, repeats=False
        )
    every = RECALL, READ, REMEMBER, RELATE, EXPLAIN, review, STATUS
    if isinstance(served, Store):
        return every
    return tuple(replace(tool, parameters=(*tool.parameters, _store_of(served, tool))) for tool in every)


def _store_of(stores: Stores, tool: Tool) -> Parameter:
    """The parameter that names one of several stores."""
    alone = "" if tool.name != "recall" else "; all for all of them in one list"
    about = f"Which store: {', '.join(stores.names)}; {stores.names[0]} if not given{alone}."
    return Parameter("store", "text", about, ("store_name", "memory_store", "vault", "stores"))


def call(served: Served, name: str, given: Arguments | None) -> Outcome:
    """Call a tool; what goes wrong is an outcome, with what to do next."""
    try:
        known = tools(served)
        found = next((tool for tool in known if tool.name == name.strip().casefold()), None)
        if found is None:
            names = ", ".join(tool.name for tool in known)
            raise NotFound(f"There is no tool {name!r}.", hint=f"The tools are {names}.")
        # Without leave to decide, the parameters that would are still read, to say so.
        parameters = (*found.parameters, *(_DECISION if found.name == "review" and found.reads else ()))
        arguments, notes = take(parameters, given)
        outcome = found.run(served, arguments) if isinstance(served, Store) else _among(served, found, arguments)
    except MemdbError as error:
        secrets.redact_error(error)
        hint = f"\n{error.hint}" if error.hint else ""
        return Outcome(f"{error.message}{hint}", {"error": error.as_dict()}, is_error=True)
    if notes:
        notes = [secrets.redact(note) for note in notes]
        outcome.text = "\n".join([outcome.text, *notes])
        outcome.data["notes"] = [*outcome.data.get("notes", []), *notes]
    return outcome


def _among(stores: Stores, tool: Tool, given: dict[str, Any]) -> Outcome:
    """Call a tool of the store that is asked for, or of all; the outcome names it."""
    written = given.pop("store", stores.names[0])
    if written.strip().casefold() in ALL and tool.name == "recall":
        return calls.recall(stores, given)
    name = stores.name_of(written)
    with stores.use(name) as store:
        outcome = tool.run(store, given)
    for hit in outcome.data.get("hits", ()):
        hit["store"] = name
    remarks = stores.pool.remarks(name)
    outcome.text = "\n".join([outcome.text, f"Store: {name}", *remarks])
    outcome.data |= {"store": name}
    if remarks:
        outcome.data["notes"] = [*outcome.data.get("notes", []), *remarks]
    if tool.name == "status":
        there = {name: str(place.root) for name, place in stores.pool.places.items()}
        outcome.data["stores"] = [
            {"name": name, "path": there[name], "default": name == stores.names[0]} for name in there
        ]
        outcome.text += f"; there are {', '.join(there)}, and {stores.names[0]} is the default"
    return outcome
