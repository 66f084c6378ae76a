"""Look things up: one memory, lists of them, links, history."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memdb.base.text import name_key
from memdb.domain.links import LinkIndex
from memdb.domain.memories import type_rank
from memdb.errors import NotFound, UsageError
from memdb.services.context import Context
from memdb.services.index import digests, indexing
from memdb.services.recall.answers import Citation


@dataclass(frozen=True, slots=True)
class Listed:
    """A memory in a list."""

    id: str
    type: str
    name: str
    description: str
    tags: tuple[str, ...]
    file: str
    superseded_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """A link as written, with what became of it."""

    source: str
    kind: str
    raw: str
    target: str
    line: int | None
    status: str
    id: str | None
    candidates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A memory with all that the store knows of it; secrets in `body` are redacted."""

    id: str
    type: str
    name: str
    description: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    file: str
    sha256: str
    body: str
    frontmatter: dict[str, Any]
    links: tuple[Written, ...]
    linked_from: tuple[str, ...]
    supersedes: tuple[str, ...]
    superseded_by: tuple[str, ...]
    contradicts: tuple[str, ...]
    cluster: str | None
    problems: tuple[str, ...]
    versions: int
    embedded: bool
    suspect: tuple[str, ...] = ()  # instruction-like, hidden-characters, prompt-like: what its text does


@dataclass(frozen=True, slots=True)
class PastText:
    """An earlier text of a memory; `number` counts from 1, the oldest."""

    number: int
    at: str  # ISO 8601, UTC
    reason: str
    sha256: str
    text: str | None
    withheld: str | None


def path_of(context: Context, key: str) -> str | None:
    """The path of a memory by its exact id."""
    found = context.database.value(
        "select path from source join memory on memory.source_id = source.id join node on node.id = memory.id"
        " where node.key = ?",
        (key,),
    )
    return str(found) if found is not None else None


def key_of(context: Context, path: str) -> str | None:
    """The id of the memory in a file."""
    found = context.database.value(
        "select node.key from node join memory on memory.id = node.id join source on source.id = source_id"
        " where path = ?",
        (path,),
    )
    return str(found) if found is not None else None


def body_of(context: Context, key: str, version: int | None = None) -> str | None:
    """The text of a memory or chunk by its exact id, secrets redacted, or an earlier one; None where there is none."""
    if version is not None:
        from memdb.domain import frontmatter  # noqa: PLC0415 (a parser that other looks do not need)

        past = history(context, key)[version - 1 : version]
        return frontmatter.parse(past[0].text).body if past and past[0].text is not None else None
    found = context.database.value(
        "select coalesce(body, chunk.text) from node left join memory using (id) left join chunk on chunk.id = node.id"
        " where key = ?",
        (key,),
    )
    return str(found) if found is not None else None


def find(context: Context, written: str) -> str:
    """The id that a person means by an id, a name, an alias or a path. Raises NotFound, UsageError if ambiguous."""
    if path_of(context, written) is not None:
        return written
    by_path = key_of(context, written) or key_of(context, f"{written}.md")
    if by_path is not None:
        return by_path
    index = LinkIndex(indexing.candidates(context.database, written))
    found = index.resolve(written)
    if found.id is not None:
        return found.id
    if found.candidates:
        raise UsageError(
            f"{written!r} can mean {len(found.candidates)} memories: {', '.join(found.candidates)}.",
            hint="Give the whole id.",
        )
    keys = [key for (key,) in context.database.rows("select key from node where kind = 'memory' order by key")]
    near = difflib.get_close_matches(written, keys, n=3, cutoff=0.5) if len(keys) <= 20_000 else []
    hint = f"Did you mean {', '.join(near)}?" if near else "`memdb list` shows what there is."
    raise NotFound(f"There is no memory {written!r}.", hint=hint)


def list_memories(context: Context, *, types: Sequence[str] = (), tags: Sequence[str] = ()) -> list[Listed]:
    """All memories, or those of any of some types and all of some tags, by type order and name."""
    rows = context.database.rows(
        "select node.key, type, name, description, tags, path,"
        " (select json_group_array(newer.key) from edge join node as newer on newer.id = edge.src"
        "  where edge.dst = node.id and edge.kind in ('supersedes', 'replaces') and edge.active)"
        " from memory join node on node.id = memory.id join source on source.id = source_id"
    )
    wanted = {name_key(tag.removeprefix("#")) for tag in tags}
    listed = [
        Listed(key, kind, name, description, tuple(json.loads(given)), path, tuple(json.loads(newer)))
        for key, kind, name, description, given, path, newer in rows
        if (not types or kind in types) and wanted <= {name_key(tag) for tag in json.loads(given)}
    ]
    return sorted(listed, key=lambda memory: (type_rank(memory.type), memory.type, memory.id))


LINKS = """select source_node.key, link.kind, raw, target, line, status, target_node.key, candidates
from link join node as source_node on source_node.id = link.memory_id
left join node as target_node on target_node.id = link.target_id"""


def links(context: Context, *, key: str | None = None, statuses: Sequence[str] = ()) -> list[Written]:
    """Links as written: all, those of one memory, or those of some statuses."""
    rows = context.database.rows(
        # For one memory by its index: a condition that may be left out has all links looked at.
        f"{LINKS} where {'true' if key is None else 'link.memory_id = (select id from node where key = :key)'}"
        " and (:statuses is null or status in (select value from json_each(:statuses)))"
        " order by source_node.key, line, link.kind, raw",
        {"key": key, "statuses": json.dumps(list(statuses)) if statuses else None},
    )
    return [
        Written(source, kind, raw, target, line, status, found, tuple(json.loads(candidates)))
        for source, kind, raw, target, line, status, found, candidates in rows
    ]


def show(context: Context, written: str) -> Shown:
    """A memory by id, name, alias or path."""
    key = find(context, written)
    database = context.database
    row = database.rows(
        "select memory.id, type, name, description, tags, aliases, path, sha256, body, frontmatter,"
        " exists (select 1 from embedded where node_id = memory.id and text_sha256 = memory.text_sha256)"
        " from memory join node on node.id = memory.id join source on source.id = source_id where node.key = ?",
        (key,),
    )[0]

    def keys(statement: str) -> tuple[str, ...]:
        return tuple(found for (found,) in database.rows(f"{statement} order by node.key", (row[0],)))

    cluster = keys("select node.key from edge join node on node.id = dst where src = ? and edge.kind = 'in_cluster'")
    against = (
        "select node.key from edge join node on node.id = {0} where {1} = ? and edge.kind = 'contradicts' and active"
    )
    return Shown(
        id=key,
        type=row[1],
        name=row[2],
        description=row[3],
        tags=tuple(json.loads(row[4])),
        aliases=tuple(json.loads(row[5])),
        file=row[6],
        sha256=row[7],
        body=row[8],
        frontmatter=json.loads(row[9]),
        links=tuple(links(context, key=key)),
        linked_from=keys(
            "select node.key from edge join node on node.id = src where dst = ? and edge.kind = 'links_to'"
        ),
        supersedes=keys(
            "select node.key from edge join node on node.id = dst"
            " where src = ? and edge.kind in ('supersedes', 'replaces')"
        ),
        superseded_by=keys(
            "select node.key from edge join node on node.id = src"
            " where dst = ? and edge.kind in ('supersedes', 'replaces')"
        ),
        contradicts=tuple(sorted({*keys(against.format("src", "dst")), *keys(against.format("dst", "src"))})),
        cluster=cluster[0] if cluster else None,
        problems=tuple(
            reason
            for (reason,) in database.rows("select reason from problem where path = ? order by reason", (row[6],))
        ),
        versions=len(history(context, key)),
        embedded=bool(row[10]),
        suspect=_suspect(f"{key}\n{row[2]}\n{row[3]}\n\n{row[8]}"),
    )


def _suspect(text: str) -> tuple[str, ...]:
    from memdb.domain import injection  # noqa: PLC0415 (its patterns take a moment, and other looks do not need them)

    return injection.marks(text)


def find_past(context: Context, written: str) -> str:
    """As `find`, and by its id or bare name also a memory whose file is gone and whose earlier texts are kept."""
    if history(context, written):
        return written
    try:
        return find(context, written)
    except NotFound:
        gone = context.database.rows(
            f"select distinct memory_key from memory_version where substr(memory_key, -?) = ? and {digests.REPLACED}"
            " order by memory_key",
            (len(written) + 1, f"/{written}"),
        )
        if not gone:
            raise
    if len(gone) > 1:
        raise UsageError(
            f"{written!r} can mean {len(gone)} memories whose files are gone: {', '.join(key for (key,) in gone)}.",
            hint="Give the whole id.",
        )
    return str(gone[0][0])


def history(context: Context, key: str) -> list[PastText]:
    """The earlier texts of a memory by its exact id, oldest first; also of one whose file is gone."""
    rows = context.database.rows(
        f"select at, reason, sha256, text, withheld from memory_version where memory_key = ? and {digests.REPLACED}"
        " order by id",
        (key,),
    )
    return [
        PastText(number, iso_time(at), reason, digest, text, withheld)
        for number, (at, reason, digest, text, withheld) in enumerate(rows, start=1)
    ]


def iso_time(logical: str) -> str:
    """The wall clock of a hybrid logical time, in ISO 8601 and UTC."""
    from datetime import UTC, datetime  # noqa: PLC0415

    milliseconds = int(logical.partition("-")[0] or 0)
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class DocumentListed:
    """A mirrored document; `places` are the paths of identical files, `state` is seen or missing."""

    id: str
    title: str
    format: str
    state: str
    chunks: int
    places: tuple[str, ...]
    notes: tuple[str, ...]
    link: str | None = None  # of a page: the address that it was read from


@dataclass(frozen=True, slots=True)
class ChunkListed:
    """A passage of a document with where it stands."""

    id: str
    text: str
    citation: Citation
    embedded: bool


def list_documents(context: Context) -> list[DocumentListed]:
    """All documents by id."""
    rows = context.database.rows(
        "select node.key, node.label, format, state, (select count(*) from chunk where document_id = document.id),"
        " (select json_group_array(path) from (select path from place where document_id = document.id order by path)),"
        " notes,"
        " (select min(link) from place join snapshot using (path) where place.document_id = document.id)"
        " from document join node using (id) order by node.key"
    )
    return [
        DocumentListed(key, title, kind, state, count, tuple(json.loads(places)), tuple(json.loads(notes)), link)
        for key, title, kind, state, count, places, notes, link in rows
    ]


def find_document(context: Context, written: str) -> str:
    """The id of a document by id or by any of its paths, from the root or from here. Raises NotFound."""
    from memdb.domain.documents import meant_path  # noqa: PLC0415 (it brings the extractors)

    found = context.database.value(
        "select node.key from node join document using (id) left join place on place.document_id = document.id"
        " where node.key in (?1, 'document:' || ?1) or place.path = ?1"
        " union all select node.key from place join node on node.id = document_id where place.path = ?2 limit 1",
        (written, meant_path(written, context.place.root)),
    )
    if found is None:
        raise NotFound(f"There is no document {written!r}.", hint="`memdb documents` lists them.")
    return str(found)


def open_path(context: Context, key: str) -> Path:
    """The file of a document by its exact id: the first place that is there. Raises NotFound."""
    from memdb.domain.documents import real_path  # noqa: PLC0415 (it brings the extractors)
    from memdb.services.documents import snapshots  # noqa: PLC0415

    root = context.place.root
    rows = context.database.rows(
        "select place.path from place join node on node.id = document_id"
        " where node.key = ? and state = 'seen' order by place.path",
        (key,),
    )
    found = next((file for (path,) in rows if (file := real_path(path, root)).is_file()), None)
    found = found or next((copy for (path,) in rows if (copy := snapshots.opened_copy(context, path))), None)
    if found is not None:
        return found
    if context.database.value("select 1 from document join node using (id) where key = ?", (key,)) is None:
        raise NotFound(
            f"There is no document with the id {key!r}.", hint="`memdb documents` lists the ids; a path is none."
        )
    raise NotFound(f"The file of {key} is gone.", hint="`memdb chunks` shows what it said.")


def document_link(context: Context, key: str) -> str | None:
    """The address that a document was read from, by its exact id; None of files and uploads."""
    return next((document.link for document in list_documents(context) if document.id == key), None)


CHUNKS = """select node.key, text, parent.key, heading_path, page, start_line, end_line, record_id,
(select min(link) from place join snapshot using (path) where place.document_id = chunk.document_id),
exists (select 1 from embedded where node_id = chunk.id and embedded.text_sha256 = chunk.text_sha256)
from chunk join node using (id) join node as parent on parent.id = document_id"""


def list_chunks(context: Context, written: str) -> list[ChunkListed]:
    """The chunks of a document, in its order."""
    key = find_document(context, written)
    return [_chunk(row) for row in context.database.rows(f"{CHUNKS} where parent.key = ? order by ordinal", (key,))]


def show_chunk(context: Context, key: str, *, around: int = 1) -> list[ChunkListed]:
    """A chunk by its exact id with its neighbours in the document, in order; empty where there is none."""
    return [
        _chunk(row)
        for row in context.database.rows(
            f"{CHUNKS} where (document_id, ordinal) in (select hit.document_id, near.ordinal from chunk as hit"
            " join node as hit_node on hit_node.id = hit.id join chunk as near on near.document_id = hit.document_id"
            " and near.ordinal between hit.ordinal - ?2 and hit.ordinal + ?2 where hit_node.key = ?1) order by ordinal",
            (key, around),
        )
    ]


def _chunk(row: tuple[Any, ...]) -> ChunkListed:
    key, text, document, heading_path, page, start_line, end_line, record_id, link, embedded = row
    place = Citation(document, tuple(json.loads(heading_path)), page, start_line, end_line, record_id, link)
    return ChunkListed(key, text, place, bool(embedded))
