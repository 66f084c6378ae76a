"""The groups of the store for programs that run on asyncio: `await store.entities.merge(...)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from memdb.async_calls import Calls, Twin
from memdb.groups.conflicts import Conflicts
from memdb.groups.documents import Documents
from memdb.groups.entities import Entities
from memdb.groups.graph import Graph
from memdb.groups.group import Group
from memdb.groups.proposals import Proposals
from memdb.groups.review import Review
from memdb.groups.runs import Runs
from memdb.groups.schema import Schema

if TYPE_CHECKING:
    from memdb.async_store import AsyncStore


class AsyncGroup:
    """The awaitable methods of a group; `noun` is its name in the store."""

    noun: ClassVar[str]

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    @property
    def _calls(self) -> Calls:
        return self._store._calls

    def _receiver(self) -> Group:
        group: Group = getattr(self._store.store, self.noun)
        return group


class AsyncConflicts(AsyncGroup):
    """What contradicts what, and what people decide of it."""

    noun = "conflicts"

    list = Twin(Conflicts.list)
    show = Twin(Conflicts.show)
    resolutions = Twin(Conflicts.resolutions)
    resolve = Twin(Conflicts.resolve)
    revert = Twin(Conflicts.revert)


class AsyncDocuments(AsyncGroup):
    """The documents that the store mirrors, and their chunks."""

    noun = "documents"

    list = Twin(Documents.list)
    find = Twin(Documents.find)
    meant = Twin(Documents.meant)
    chunks = Twin(Documents.chunks)
    chunk = Twin(Documents.chunk)
    path = Twin(Documents.path)
    link = Twin(Documents.link)


class AsyncEntities(AsyncGroup):
    """The entities that texts mention, and what people decide of them."""

    noun = "entities"

    list = Twin(Entities.list)
    show = Twin(Entities.show)
    rename = Twin(Entities.rename)
    retype = Twin(Entities.retype)
    change = Twin(Entities.change)
    merge = Twin(Entities.merge)
    unmerge = Twin(Entities.unmerge)
    delete = Twin(Entities.delete)
    restore = Twin(Entities.restore)
    distinct = Twin(Entities.distinct)
    suggest = Twin(Entities.suggest)


class AsyncGraph(AsyncGroup):
    """The graph for people to look at: parts of it, and single nodes with their edges."""

    noun = "graph"

    part = Twin(Graph.part)
    node = Twin(Graph.node)
    document = Twin(Graph.document)
    document_head = Twin(Graph.document_head)
    named = Twin(Graph.named)


class AsyncProposals(AsyncGroup):
    """The types and predicates that models want."""

    noun = "proposals"

    list = Twin(Proposals.list)
    approve = Twin(Proposals.approve)
    dismiss = Twin(Proposals.dismiss)
    restore = Twin(Proposals.restore)


class AsyncReview(AsyncGroup):
    """What waits for a person, in one queue."""

    noun = "review"

    list = Twin(Review.list)
    show = Twin(Review.show)
    answer = Twin(Review.answer)
    undo = Twin(Review.undo)


class AsyncRuns(AsyncGroup):
    """The runs of the language model."""

    noun = "runs"

    list = Twin(Runs.list)
    show = Twin(Runs.show)
    failures = Twin(Runs.failures)


class AsyncSchema(AsyncGroup):
    """The vocabulary of the entity graph: its types and predicates."""

    noun = "schema"

    list = Twin(Schema.list)
    add = Twin(Schema.add)
    describe = Twin(Schema.describe)
    disable = Twin(Schema.disable)
    enable = Twin(Schema.enable)
    delete = Twin(Schema.delete)
