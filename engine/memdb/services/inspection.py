"""Figures of a store, and what is wrong with it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import apsw

from memdb.base.storage import DAMAGE, Database
from memdb.errors import MemdbError
from memdb.services import sync, vectors
from memdb.services.context import Context


def stats(context: Context) -> dict[str, Any]:
    """Counts of everything, the model and the file; `index_behind` counts what waits."""
    database, status = context.database, context.embedder.status

    def count(statement: str) -> int:
        return int(database.value(f"select count(*) from {statement}"))

    return {
        "memories": count("memory"),
        "documents": 0,
        "chunks": 0,
        "entities": 0,
        "tags": count("node where kind = 'tag'"),
        "clusters": count("cluster"),
        "nodes": count("node"),
        "edges": count("edge where active"),
        "links": count("link"),
        "unresolved_links": count("link where status in ('unresolved', 'ambiguous')"),
        "versions": count("memory_version"),
        "problems": count("problem"),
        "vectors": count("passage"),
        "pending": vectors.pending_count(context),
        "dims": int(database.meta("dims") or 0) or status.dims,
        "model": database.meta("model") or status.identity,
        "embedder": {"state": status.state, "model": status.model, "reason": status.reason},
        "root": str(context.place.root),
        "database": str(context.place.database),
        "bytes": context.place.database.stat().st_size,
        "sqlite": apsw.sqlite_lib_version(),
    }


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: `state` is ok, warning or error; `hint` says what to do."""

    check: str
    state: str
    detail: str
    hint: str | None = None


def doctor(context: Context) -> list[Finding]:
    """Look at everything that can be wrong: the program, the model, the database, the journal, the files."""
    findings = [Finding("program", "ok", f"Python {sys.version.split()[0]}, SQLite {apsw.sqlite_lib_version()}")]
    findings.append(_embedder(context))
    database = context.database
    reason = database.vector_reason
    findings.append(
        Finding("sqlite-vec", "warning", reason, "Reinstall it: pip install --force-reinstall sqlite-vec")
        if reason
        else Finding("sqlite-vec", "ok", "loaded")
    )
    findings += _database(database)
    damaged = context.journal.damaged()
    findings.append(
        Finding("journal", "warning", f"{len(damaged)} lines cannot be read, first {damaged[0][0]} line {damaged[0][1]}",
                "They are passed over; restore the file from version control if it matters.")
        if damaged
        else Finding("journal", "ok", f"{len(context.journal.files())} files")
    )  # fmt: skip
    findings.append(_files(context))
    problems = int(database.value("select count(*) from problem"))
    findings.append(
        Finding(
            "problems", "warning", f"{problems} in the files", "`memdb sync --json` or the view `problems` lists them."
        )
        if problems
        else Finding("problems", "ok", "none")
    )
    return findings


def _embedder(context: Context) -> Finding:
    status = context.embedder.status
    if find_spec("fastembed") is None:
        return Finding("model", "warning", "fastembed is not installed; recall answers from keywords and the graph",
                       "pip install 'memdb-engine[local]'")  # fmt: skip
    if status.state == "off":
        return Finding("model", "warning", status.reason or "off", "`memdb model list` shows what can be used.")
    return Finding("model", "ok", str(status.identity))


def _database(database: Database) -> list[Finding]:
    checks = {
        "pages": database.check,
        "foreign keys": lambda: _first(database, "pragma foreign_key_check"),
        "keyword index": lambda: _fts(database),
        "keyword rows": lambda: _unequal(database, "select count(*) from fts", "select count(*) from memory"),
        "degrees": lambda: _first(
            database,
            "select key from node where degree <> (select count(*) from neighbor where node_id = node.id)",
        ),
        "neighbours": lambda: _unequal(
            database,
            "select count(*) from neighbor",
            "select 2 * count(*) from edge where active and weight > 0 and src <> dst and kind <> 'contradicts'",
        ),
        "vectors": lambda: _vectors(database),
    }
    findings = []
    for name, check in checks.items():
        try:
            wrong = check()
        except (*DAMAGE, apsw.SQLError) as error:
            wrong = str(error)
        findings.append(
            Finding(name, "error", wrong, "Run `memdb rebuild`: the files and the journal have everything.")
            if wrong
            else Finding(name, "ok", "consistent")
        )
    return findings


def _first(database: Database, statement: str) -> str | None:
    row = database.connection.execute(statement).fetchone()
    return f"first of them: {row[0]}" if row else None


def _unequal(database: Database, left: str, right: str) -> str | None:
    a, b = database.value(left), database.value(right)
    return None if a == b else f"{a} rows where {b} belong"


def _fts(database: Database) -> str | None:
    if database.read_only:
        return None
    database.connection.execute("insert into fts (fts, rank) values ('integrity-check', 1)")
    return None


def _vectors(database: Database) -> str | None:
    missing = _first(
        database,
        "select text_sha256 from passage where not exists (select 1 from embedding"
        " where embedding.model = passage.model and embedding.text_sha256 = passage.text_sha256)",
    )
    if missing or database.vector_reason is not None or not database.connection.table_exists(None, "vec_passage"):
        return missing
    return _unequal(database, "select count(*) from vec_passage", "select count(*) from passage")


def _files(context: Context) -> Finding:
    try:
        plan = sync.plan(context)
    except MemdbError as error:
        return Finding("files", "error", error.message, error.hint)
    behind = len(plan.suspects) + len(plan.missing)
    if behind:
        return Finding("files", "warning", f"{behind} files changed since the last sync", "Run `memdb sync`.")
    return Finding("files", "ok", f"{len(plan.walk.files)} memories, index up to date")
