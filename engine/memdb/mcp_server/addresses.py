"""The resources of the MCP server: every memory and document has an address, by which it can be read.

`memdb://memory/TYPE/NAME` and `memdb://document/ID`, percent-encoded; `?store=NAME` names one of several stores, where
it is not the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import quote, unquote

from memdb.errors import MemdbError, UsageError
from memdb.mcp_server.tools import Served
from memdb.store import Store

MEMORY, DOCUMENT = "memdb://memory/", "memdb://document/"

STORE = "?store="
"""In front of the store's name. An id has no bare question mark: its own are percent-encoded."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A memory or a document: its address and what it is called."""

    uri: str
    name: str
    title: str
    mime_type: str
    description: str | None = None


def listed(served: Served) -> list[Resource]:
    """The memories, then the documents; store after store. Of several stores, those that are not there are left out."""
    if isinstance(served, Store):
        return list(_of(served, ""))
    found: list[Resource] = []
    for place, name in enumerate(served.names):
        with suppress(MemdbError), served.use(name) as store:
            found += _of(store, STORE + quote(name, safe="") if place else "")
    return found


def _of(store: Store, suffix: str) -> Iterator[Resource]:
    for memory in store.list():
        uri = MEMORY + quote(memory.id, safe="/") + suffix
        yield Resource(uri, memory.id, memory.name, "text/markdown", memory.description or None)
    for document in store.documents.list():
        uri = DOCUMENT + quote(document.id, safe="") + suffix
        yield Resource(uri, document.id, document.title, "text/plain")


def text_of(served: Served, uri: str) -> tuple[str, str]:
    """The text at an address, and its type. Raises NotFound, UsageError for what is no address here."""
    kind = next((prefix for prefix in (MEMORY, DOCUMENT) if uri.startswith(prefix)), None)
    if kind is None:
        raise UsageError(f"There is no resource {uri}: addresses begin {MEMORY} or {DOCUMENT}.")
    path, _, named = uri.removeprefix(kind).partition(STORE)
    if isinstance(served, Store):
        return _text_in(served, kind, unquote(path if not named else uri.removeprefix(kind)))
    with served.use(unquote(named) or served.names[0]) as store:
        return _text_in(store, kind, unquote(path))


def _text_in(store: Store, kind: str, key: str) -> tuple[str, str]:
    if kind == MEMORY:
        return store.show(key).body, "text/markdown"
    return "\n\n".join(chunk.text for chunk in store.documents.chunks(key)), "text/plain"
