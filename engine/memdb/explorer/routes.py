"""The one table of what the API answers: the server goes by it, and the OpenAPI page is made from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote_to_bytes

from memdb.errors import UsageError
from memdb.explorer import reads, writes
from memdb.explorer.parameters import Parameter as P
from memdb.services import decisions, graph_reading
from memdb.services.conflicts import resolving
from memdb.services.entities import entity_reading, proposals
from memdb.store import Store

Handler = Callable[[Store, Mapping[str, Any]], dict[str, Any]]

Answers = Literal["json", "events", "page", "file"]

STATUSES = ("resolved", "unresolved", "ambiguous", "self")


@dataclass(frozen=True, slots=True)
class Route:
    """One thing that can be asked, below `/{database}/`. `{name}` is one segment, `{name*}` one or more.

    `browsed` says that Datasette has a page of that path, which a browser gets. Where there is no handler, `special`
    names what the server does itself.
    """

    method: str
    pattern: str
    about: str
    handler: Handler | None = None
    parameters: tuple[P, ...] = ()
    answers: Answers = "json"
    browsed: bool = False
    special: str = ""

    @property
    def writes(self) -> bool:
        """Whether it takes the token."""
        return self.method != "GET"


ID = P("id", "the id, percent-encoded", where="path", required=True)
WHY = P("why", "a reason, for the log", where="body")
KIND = P("kind", "type or predicate", where="body", required=True, choices=("type", "predicate"))
NAME = P("name", "what it is called", where="body", required=True)
RULE = P("description", "the rule by which a model uses it", where="body")
FLAGS = (
    P("single_letters", "of a type: names may have one letter", "flag", "body", default=False),
    P("single_valued", "of a predicate: a second object is a conflict", "flag", "body", default=False),
)


def _limit(default: int, most: int) -> P:
    return P("limit", "how many at most", "integer", default=default, least=1, most=most)


OFFSET = P("offset", "how many to leave out", "integer", default=0, least=0, most=10_000_000)

ROUTES: tuple[Route, ...] = (
    Route("GET", "explorer", "The explorer: a page that shows the store as a graph", answers="page", special="page",
          parameters=(P("token", "the token of `memdb ui`, for a page that may write"),)),
    Route("GET", "-/static/{name}", "What the page is made of", answers="file", special="static",
          parameters=(P("name", "a file's name", where="path", required=True),)),
    Route("GET", "-/alive", "Whether this server serves this store: proves that it knows the token", special="alive",
          parameters=(P("nonce", "any word", required=True),)),
    Route("GET", "api", "This API for people", answers="page", special="api"),
    Route("GET", "openapi.json", "This API for programs", special="openapi"),
    Route("GET", "changes", "An event whenever the store changed, with a version that counts up", answers="events",
          special="changes"),
    Route("GET", "status", "Counts of everything, the model, and whether the index is behind", reads.status),
    Route("GET", "schema", "The vocabulary with its usage, and what models want to add", reads.schema),
    Route("POST", "schema", "Add, describe, disable, enable or delete an entry of the vocabulary", writes.change_schema,
          (P("action", "what to do", where="body", required=True,
             choices=("add", "describe", "disable", "enable", "delete")), KIND, NAME, RULE, *FLAGS)),
    Route("GET", "proposals", "The types and predicates that models want", reads.proposals,
          (P("state", "pending, waiting, dismissed", "list", choices=proposals.STATES),), browsed=True),
    Route("POST", "proposals/approve", "Make a proposal an entry and link all evidence", writes.approve,
          (KIND, NAME, RULE, *FLAGS, WHY)),
    Route("POST", "proposals/dismiss", "Take a proposal off the list", writes.dismiss, (KIND, NAME, WHY)),
    Route("POST", "proposals/restore", "Take a dismissal back", writes.restore_proposal, (KIND, NAME)),
    Route("GET", "entities", "The entities that texts mention, with usage", reads.entities,
          (P("q", "a part of the name or of an alias, in any spelling"),
           P("type", "of any of these types", "list"),
           P("origin", "by the surest evidence", "list", choices=entity_reading.ORIGINS),
           P("deleted", "those that people deleted instead", "flag", default=False),
           P("sort", "what comes first", default="mentions", choices=tuple(entity_reading.SORTS)),
           _limit(100, 10_000), OFFSET), browsed=True),
    Route("GET", "entities/{id*}", "One entity with its mentions, relations, documents and decisions", reads.entity,
          (ID, P("limit", "of the mentions", "integer", default=20, least=0, most=1_000))),
    Route("PATCH", "entities/{id*}", "Rename or retype an entity, or both in one decision", writes.change_entity,
          (ID, P("name", "the new name", where="body"), P("type", "the new type", where="body"), WHY)),
    Route("DELETE", "entities/{id*}", "Take an entity out of the graph until it is restored", writes.delete_entity,
          (ID, WHY)),
    Route("POST", "entities/{id*}/merge", "Make one entity of two", writes.merge_entity,
          (ID, P("into", "the entity that stays", where="body", required=True), WHY)),
    Route("POST", "entities/{id*}/restore", "Let a deleted entity be one again", writes.restore_entity, (ID, WHY)),
    Route("GET", "graph", "The most connected part of the graph, or what lies around a node", reads.graph,
          (P("kinds", "only these kinds of nodes", "list", choices=graph_reading.KINDS),
           P("types", "only memories, entities and documents of these types", "list"),
           P("q", "a part of the name or id"), _limit(graph_reading.LIMIT, graph_reading.MOST_NODES),
           P("rollup", "documents stand for their chunks", "flag", default=True),
           P("around", "the id of a node: only what lies around it"),
           P("hops", "how far around it", "integer", default=1, least=0, most=graph_reading.MOST_HOPS))),
    Route("GET", "search", "Recall: hits with their arms, and the path by which each came", reads.search,
          (P("q", "any text", required=True), _limit(8, 200),
           P("hops", "how far the walk goes", "integer", default=2, least=0, most=5),
           P("now", "the day that yesterday is counted from, as 2026-05-01; today without it")), browsed=True),
    Route("GET", "node/{id*}", "One node of any kind, as the panel shows it", reads.node, (ID,), browsed=True),
    Route("GET", "documents", "The documents that the store mirrors", reads.documents, (_limit(500, 10_000), OFFSET),
          browsed=True),
    Route("GET", "documents/{id*}/chunks", "The chunks of a document with their edges", reads.chunks,
          (ID, _limit(2_000, 10_000), OFFSET)),
    Route("POST", "documents/{id*}/open", "Open the file of a document on this machine", special="open",
          parameters=(ID,)),
    Route("GET", "runs", "The runs of the language model", reads.runs, (_limit(100, 1_000),), browsed=True),
    Route("GET", "runs/{number}", "One run with what happened to each text", reads.run,
          (P("number", "of the run", "integer", "path", required=True, least=0, most=2**53),)),
    Route("GET", "conflicts", "What contradicts what, and how it was settled", reads.conflicts, browsed=True),
    Route("GET", "conflicts/{id*}", "One conflict with a quote from each text", reads.conflict, (ID,)),
    Route("POST", "conflicts/{id*}/resolve", "Settle a conflict", writes.resolve,
          (ID, P("choice", "how", where="body", required=True, choices=resolving.CHOICES),
           P("keep", "of `keep`: the side that stands", where="body"),
           P("text", "of `merge`: the text that replaces both", where="body"), WHY)),
    Route("POST", "conflicts/{id*}/revert", "Take a resolution back", writes.revert,
          (ID, P("force", "although its text was changed since", "flag", "body", default=False), WHY)),
    Route("GET", "review", "What waits for a person", reads.review,
          (P("kinds", "only these kinds", "list"), _limit(200, 10_000))),
    Route("POST", "review/answer", "Answer an item by one of its choices", writes.answer_review,
          (P("item", "its id", where="body", required=True),
           P("choice", "its name or key", where="body", required=True),
           P("text", "where the choice asks for one", where="body"), WHY)),
    Route("GET", "links", "Links as they are written in memories", reads.links,
          (P("status", "what became of them", "list", choices=STATUSES), P("memory", "only of this one"),
           _limit(1_000, 100_000)), browsed=True),
    Route("GET", "log", "What people decided, the newest first", reads.log,
          (P("subject", "an entity, type:NAME, predicate:NAME or conflict:ID"),
           P("state", "only in these states", "list", choices=decisions.STATES), _limit(100, 10_000))),
    Route("POST", "undo", "Take a decision back", writes.undo,
          (P("decision", "its id", where="body", required=True), WHY)),
    Route("POST", "sync", "Bring the index up to the files; progress comes as events", answers="events",
          special="sync"),
    Route("POST", "index", "Ask the language model about texts that it has not read; progress comes as events",
          answers="events", special="index",
          parameters=(P("limit", "texts at most", "integer", "body", least=1, most=1_000_000),)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Match:
    """A route that has a path, and the parts of the path by name."""

    route: Route
    path: dict[str, str]


def matches(segments: list[str]) -> list[Match]:
    """The routes of all methods that have a path, given as its percent-encoded segments. Raises UsageError."""
    found = []
    for route in ROUTES:
        parts = _parts(route.pattern.split("/"), segments)
        if parts is not None:
            found.append(Match(route, {name: decoded(value) for name, value in parts.items()}))
    # `entities/{id*}` has `entities/a/merge` too, as the entity "a/merge": the longer pattern is meant.
    longest = max((len(match.route.pattern.split("/")) for match in found), default=0)
    exact = [match for match in found if len(match.route.pattern.split("/")) == longest]
    methods = {match.route.method for match in exact}
    return exact + [match for match in found if match not in exact and match.route.method not in methods]


def _parts(pattern: list[str], segments: list[str]) -> dict[str, str] | None:
    if not pattern:
        return None if segments else {}
    first, *rest = pattern
    if not first.startswith("{"):
        return _parts(rest, segments[1:]) if segments and segments[0] == first else None
    name = first.strip("{}").removesuffix("*")
    longest = len(segments) - len(rest) if first.endswith("*}") else 1
    if longest < 1 or len(segments) < longest:
        return None
    after = _parts(rest, segments[longest:])
    return None if after is None else {name: "/".join(segments[:longest])} | after


def decoded(segment: str) -> str:
    """A part of a path as it was before it was percent-encoded. Raises UsageError."""
    try:
        text = unquote_to_bytes(segment).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError("The address is not UTF-8.", hint="Percent-encode ids as UTF-8.") from error
    if "\x00" in text:
        raise UsageError("The address has a NUL.")
    return text
