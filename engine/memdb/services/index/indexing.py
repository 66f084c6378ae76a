"""Bring changed files into the tables: memories, keyword index, tags, links and the edges that follow from them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memdb.base import words
from memdb.base.files import Found
from memdb.base.storage import Database
from memdb.base.text import name_key
from memdb.domain.links import LinkEntry, LinkIndex, entry_keys
from memdb.domain.links import keys as target_keys
from memdb.domain.memories import EDGE_WEIGHTS, Memory, key_order, unique_key
from memdb.domain.restating import signs

BULK_LINKS = 500
"""From this many links on, one index over all memories is cheaper than looking up each link's candidates."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A file as it was read: its memory, or why it is none."""

    found: Found
    sha256: str
    memory: Memory | None
    error: str | None = None


Words = tuple[tuple[str, ...], int]
"""Texts cut for the columns of the keyword index, in their order, and how many words they have."""

NodeWords = tuple[int, Words]
"""The words of a node."""


@dataclass(slots=True)
class Touched:
    """What a batch changed, so that only what depends on it is derived again."""

    base_keys: set[str] = field(default_factory=set)
    spellings: set[str] = field(default_factory=set)
    sources: set[int] = field(default_factory=set)  # memories whose own links are to be resolved
    tags: set[int] = field(default_factory=set)
    words: list[NodeWords] = field(default_factory=list)  # that are to go into the keyword index


Rekeyed = dict[int, tuple[str | None, str]]
"""Memories that have another key than before: by node, the old key, None where the memory is new, and the new one."""


def apply(database: Database, readings: Iterable[Reading], removed: Iterable[str], moved: dict[str, str]) -> Rekeyed:
    """Index readings and drop removed paths inside the caller's transaction; `moved` maps a new path to its old one.

    Returns which memories have another key now.
    """
    touched = Touched()
    for new, old in moved.items():
        database.connection.execute("update source set path = ? where path = ?", (new, old))
        database.connection.execute("delete from problem where path = ?", (old,))
    for path in removed:
        _remove(database, path, touched)
    for reading in readings:
        _upsert(database, reading, touched)
    put_words(database, touched.words)
    rekeyed = _settle_keys(database, touched)
    _resolve_links(database, touched)
    for tag in touched.tags:
        database.connection.execute(
            "delete from node where id = ? and not exists (select 1 from edge where dst = node.id)", (tag,)
        )
    return rekeyed


def _remove(database: Database, path: str, touched: Touched) -> None:
    run = database.connection.execute
    run("delete from problem where path = ?", (path,))
    source = database.value("select id from source where path = ?", (path,))
    if source is None:
        return
    memory = database.value("select id from memory where source_id = ?", (source,))
    if memory is not None:
        drop_memory(database, memory, touched)
    run("delete from source where id = ?", (source,))


def drop_memory(database: Database, memory: int, touched: Touched) -> None:
    """Delete a memory's node and all that hangs on it; links to it are left to be resolved again."""
    run = database.connection.execute
    touched.base_keys.add(database.value("select base_key from memory where id = ?", (memory,)))
    touched.spellings.update(_spellings(database, memory))
    touched.tags.update(_tag_ids(database, memory))
    touched.sources.discard(memory)
    drop_passages(database, memory)
    unindex_words(database, memory)
    run("delete from node where id = ?", (memory,))
    # Its place in a cluster went with it: were it to come back with the same vectors, nothing else would tell.
    database.set_meta("clusters", None)


def drop_passages(database: Database, node: int) -> None:
    """Forget a node's windows; their vectors stay in the cache. Without its row in `embedded` it waits for new ones."""
    connection, gone = database.connection, 0
    for table in ("passage", "embedded"):
        connection.execute(f"delete from {table} where node_id = ?", (node,))
        gone += connection.changes()
    if gone:
        database.set_meta("clusters_stale", "1")


def _upsert(database: Database, reading: Reading, touched: Touched) -> None:
    run, found, memory = database.connection.execute, reading.found, reading.memory
    run("delete from problem where path = ? and code <> 'duplicate_id'", (found.path,))
    run(
        "insert into source (path, kind, size, mtime_ns, ctime_ns, sha256, state) values (?, 'memory', ?, ?, ?, ?, ?)"
        " on conflict (path) do update set size = excluded.size, mtime_ns = excluded.mtime_ns,"
        " ctime_ns = excluded.ctime_ns, sha256 = excluded.sha256, state = excluded.state",
        (found.path, found.size, found.mtime_ns, found.ctime_ns, reading.sha256, "seen" if memory else "error"),
    )
    source = database.value("select id from source where path = ?", (found.path,))
    old = run("select id, graph_sha256, text_sha256, base_key from memory where source_id = ?", (source,)).fetchone()
    if memory is None:
        run("delete from problem where path = ?", (found.path,))
        run(
            "insert into problem (path, line, code, reason) values (?, null, 'unreadable', ?)",
            (found.path, reading.error),
        )
        if old:
            drop_memory(database, old[0], touched)
        return
    for problem in memory.problems:
        run(
            "insert into problem (path, line, code, reason) values (?, ?, 'content', ?)",
            (found.path, problem.line, problem.reason),
        )
    if old:
        node = int(old[0])
        run("update node set label = ? where id = ?", (memory.name, node))
    else:
        # The path stands in for the key until _settle_keys decides which file has which.
        run("insert into node (kind, key, label) values ('memory', ?, ?)", (f"\0{found.path}", memory.name))
        node = database.connection.last_insert_rowid()
    _write_row(database, node, int(source), memory)
    if not old or old[3] != memory.key:
        touched.base_keys.update({memory.key, *([old[3]] if old else [])})
    unindex_words(database, node)
    touched.words.append((node, _words_of(memory)))
    if not old or old[2] != memory.text_sha256:
        drop_passages(database, node)
        _write_signs(database, node, memory.body, memory.has_secret)
    if not old or old[1] != memory.graph_sha256:
        touched.spellings.update(_spellings(database, node))
        _write_tags(database, node, memory.tags, touched)
        _write_links(database, node, memory)
        touched.sources.add(node)
        # The spellings are written once the key is settled.
        touched.base_keys.add(memory.key)


def _write_row(database: Database, node: int, source: int, memory: Memory) -> None:
    row = {
        "id": node,
        "source_id": source,
        "base_key": memory.key,
        "type": memory.type,
        "name": memory.name,
        "title": memory.title,
        "description": memory.description,
        "head": memory.head,
        "body": memory.body,
        "body_line": memory.body_line,
        "frontmatter": memory.frontmatter,
        "tags": json.dumps(memory.tags, ensure_ascii=False),
        "aliases": json.dumps(memory.aliases, ensure_ascii=False),
        "created": memory.created,
        "modified": memory.modified,
        "happened_at": memory.happened_at,
        "valid_from": memory.valid_from,
        "valid_to": memory.valid_to,
        "graph_sha256": memory.graph_sha256,
        "text_sha256": memory.text_sha256,
        "has_secret": int(memory.has_secret),
    }
    columns = ", ".join(row)
    places = ", ".join(f":{name}" for name in row)
    updates = ", ".join(f"{name} = excluded.{name}" for name in row if name != "id")
    database.connection.execute(
        f"insert into memory ({columns}) values ({places}) on conflict (id) do update set {updates}", row
    )


def _words_of(memory: Memory) -> Words:
    title = memory.title or ""
    return cut_words(
        # Of a path only the name carries words; the type is filtered by, not searched.
        name=f"{memory.name} {memory.stem}" if memory.stem != memory.name else memory.name,
        description=f"{memory.description}\n{title}" if title not in memory.body else memory.description,
        tags=" ".join((*memory.tags, *memory.aliases)),
        body=memory.body,
    )


def cut_words(*, name: str, body: str, description: str = "", tags: str = "") -> Words:
    """A node's texts as the keyword index takes them: most of the work, and none that needs the database."""
    texts = (name, description, tags, body)
    cut = [words.searchable(text) for text in texts]
    return (*cut, words.identifier_parts("\n".join(texts))), sum(len(text.split()) for text in cut)


def put_words(database: Database, cuts: Sequence[NodeWords]) -> None:
    """Put what `cut_words` gave for some nodes into the keyword index.

    Of many nodes at once: with the next statement that SQLite could undo by itself, which is nearly any other, FTS5
    writes the words that it holds to the file.
    """
    run = database.connection.executemany
    run(
        "insert into fts (rowid, name, description, tags, body, parts) values (?, ?, ?, ?, ?, ?)",
        [(node, *columns) for node, (columns, _) in cuts],
    )
    run("insert into fts_length values (?, ?)", [(node, length) for node, (_, length) in cuts])


def unindex_words(database: Database, node: int) -> None:
    """Take a node out of the keyword index."""
    database.connection.execute("delete from fts where rowid = ?", (node,))
    database.connection.execute("delete from fts_length where node_id = ?", (node,))


def _write_signs(database: Database, node: int, body: str, has_secret: bool) -> None:
    """Write by what a memory's text is found when it is said again; of a redacted text that is not what was written."""
    database.connection.execute("delete from memory_sign where memory_id = ?", (node,))
    found = () if has_secret else signs(body)
    database.connection.executemany("insert into memory_sign values (?, ?)", [(sign, node) for sign in found])


def sign_all(database: Database) -> None:
    """Write the signs of all memories, inside the caller's transaction: those of an older memdb had none."""
    for node, body, has_secret in database.rows("select id, body, has_secret from memory"):
        _write_signs(database, node, body, bool(has_secret))
    database.set_meta("signs_stale", None)


def _tag_ids(database: Database, node: int) -> set[int]:
    return {dst for (dst,) in database.rows("select dst from edge where src = ? and kind = 'has_tag'", (node,))}


def _write_tags(database: Database, node: int, tags: tuple[str, ...], touched: Touched) -> None:
    run = database.connection.execute
    old = _tag_ids(database, node)
    new = set()
    for label in sorted({name_key(tag) for tag in tags} - {""}):
        run("insert or ignore into node (kind, key, label) values ('tag', ?, ?)", (f"tag:{label}", label))
        new.add(int(database.value("select id from node where key = ?", (f"tag:{label}",))))
    change_edges(database, node, "has_tag", old, new)
    touched.tags.update(old - new)


def change_edges(database: Database, src: int, kind: str, old: set[int], new: set[int]) -> None:
    """Make the edges of a kind from a node lead where they should, touching only those that differ."""
    for dst in sorted(old - new):
        database.connection.execute("delete from edge where src = ? and dst = ? and kind = ?", (src, dst, kind))
    for dst in sorted(new - old):
        database.connection.execute(
            "insert into edge (src, dst, kind, weight) values (?, ?, ?, ?)", (src, dst, kind, EDGE_WEIGHTS[kind])
        )


def _write_links(database: Database, node: int, memory: Memory) -> None:
    run = database.connection.execute
    run("delete from link where memory_id = ?", (node,))
    for link in memory.links:
        run(
            "insert into link (memory_id, kind, raw, target, heading, block, label, embed, line, status)"
            " values (?, ?, ?, ?, ?, ?, ?, ?, ?, 'unresolved')",
            (node, link.kind, link.raw, link.target, link.heading, link.block, link.label, int(link.embed), link.line),
        )
        identity = database.connection.last_insert_rowid()
        database.connection.executemany(
            "insert or ignore into link_key values (?, ?)", [(key, identity) for key in target_keys(link.target)]
        )


def _spellings(database: Database, memory: int) -> set[str]:
    return {key for (key,) in database.rows("select key from memory_key where memory_id = ?", (memory,))}


def _settle_keys(database: Database, touched: Touched) -> Rekeyed:
    """Give each file its key: of those that ask for one, the first keeps it, the others get a mark of their path."""
    run = database.connection.execute
    settled: dict[int, tuple[str, str]] = {}
    for base_key in sorted(touched.base_keys):
        rows = database.rows(
            "select memory.id, source.path, node.key from memory join source on source.id = source_id"
            " join node on node.id = memory.id where base_key = ?",
            (base_key,),
        )
        rows.sort(key=lambda row: key_order(row[1]))
        for place, (memory, path, key) in enumerate(rows):
            wanted = unique_key(base_key, path) if place else base_key
            settled[memory] = (key, wanted)
            run("delete from problem where path = ? and code = 'duplicate_id'", (path,))
            if wanted != base_key:
                reason = f"another file has the id {base_key} ({rows[0][1]}); this one is {wanted}"
                run(
                    "insert into problem (path, line, code, reason) values (?, null, 'duplicate_id', ?)", (path, reason)
                )
    changed = {memory: keys for memory, keys in settled.items() if keys[0] != keys[1]}
    # One memory may take the key that another one gives up: all give up theirs first.
    database.connection.executemany(
        "update node set key = char(0) || id where id = ?", [(memory,) for memory in changed]
    )
    database.connection.executemany(
        "update node set key = ? where id = ?", [(wanted, memory) for memory, (_, wanted) in changed.items()]
    )
    for memory in settled:
        old = _spellings(database, memory)
        new = set(entry_keys(entry(database, memory)))
        if old != new or memory in changed:
            touched.spellings.update(old, new)
            run("delete from memory_key where memory_id = ?", (memory,))
            database.connection.executemany("insert into memory_key values (?, ?)", [(k, memory) for k in sorted(new)])
    return {memory: (None if old.startswith("\0") else old, new) for memory, (old, new) in changed.items()}


ENTRY = """select memory.id, node.key, type, name, base_key, aliases, title
from memory join node on node.id = memory.id"""


def entry(database: Database, memory: int) -> LinkEntry:
    """How links can mean a memory."""
    return _as_entry(database.rows(f"{ENTRY} where memory.id = ?", (memory,))[0])


def _as_entry(row: tuple[int, str, str, str, str, str, str | None]) -> LinkEntry:
    _, key, kind, name, base_key, aliases, title = row
    stem = base_key.partition("/")[2]
    return LinkEntry(id=key, type=kind, name=name, stem=stem, aliases=tuple(json.loads(aliases)), title=title)


def _resolve_links(database: Database, touched: Touched) -> None:
    affected = {
        link: (memory, target)
        for memory_id in sorted(touched.sources)
        for link, memory, target in database.rows(
            "select id, memory_id, target from link where memory_id = ?", (memory_id,)
        )
    }
    for key in sorted(touched.spellings):
        for link, memory, target in database.rows(
            "select link.id, memory_id, target from link_key join link on link.id = link_id where key = ?", (key,)
        ):
            affected[link] = (memory, target)
    if not affected and not touched.sources:
        return
    whole = LinkIndex([_as_entry(row) for row in database.rows(ENTRY)]) if len(affected) > BULK_LINKS else None
    ids: dict[str, int] = {}
    for link, (memory, target) in sorted(affected.items()):
        index = whole or LinkIndex(candidates(database, target))
        found = index.resolve(target)
        target_id = None
        if found.id is not None:
            if found.id not in ids:
                ids[found.id] = int(database.value("select id from node where key = ?", (found.id,)))
            target_id = ids[found.id]
        status = "self" if target_id == memory else found.status
        database.connection.execute(
            "update link set status = ?, target_id = ?, how = ?, candidates = ? where id = ?",
            (status, target_id, found.how, json.dumps(found.candidates, ensure_ascii=False), link),
        )
    for memory in sorted({memory for memory, _ in affected.values()} | touched.sources):
        for link_kind, edge_kind in (("wikilink", "links_to"), ("supersedes", "supersedes")):
            old = {
                dst for (dst,) in database.rows("select dst from edge where src = ? and kind = ?", (memory, edge_kind))
            }
            new = {
                dst
                for (dst,) in database.rows(
                    "select distinct target_id from link where memory_id = ? and kind = ? and status = 'resolved'",
                    (memory, link_kind),
                )
            }
            change_edges(database, memory, edge_kind, old, new)


def candidates(database: Database, target: str) -> list[LinkEntry]:
    """The memories that a written target could mean."""
    found = {}
    for key in target_keys(target):
        for row in database.rows(
            f"{ENTRY} where memory.id in (select memory_id from memory_key where key = ?)", (key,)
        ):
            found[row[0]] = _as_entry(row)
    return list(found.values())
