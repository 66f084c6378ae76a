"""Figures of a store, and what is wrong with it."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

import apsw

from memdb.base import files
from memdb.base.files import Found
from memdb.base.llm import configured
from memdb.base.storage import Database
from memdb.errors import MemdbError
from memdb.services.context import Context, Progress, silent
from memdb.services.entities import entity_checks
from memdb.services.extraction import auto_index
from memdb.services.extraction.extraction_plans import MOST_TRIES
from memdb.services.files import sync
from memdb.services.forgetting import scrubbing
from memdb.services.health import checking, consistency
from memdb.services.index import digests, vectors


def stats(context: Context) -> dict[str, Any]:
    """Counts of everything, the model and the file; `index_behind` counts what waits."""
    database, status = context.database, context.embedder.status

    def count(statement: str) -> int:
        return int(database.value(f"select count(*) from {statement}"))

    return {
        "memories": count("memory"),
        "documents": count("document"),
        "chunks": count("chunk"),
        "entities": count("entity"),
        "relations": count("edge where kind = 'relates' and active"),
        "tags": count("node where kind = 'tag'"),
        "clusters": count("cluster"),
        "nodes": count("node"),
        "edges": count("edge where active"),
        "links": count("link"),
        "unresolved_links": count("link where status in ('unresolved', 'ambiguous')"),
        "versions": count(f"memory_version where {digests.REPLACED}"),
        "problems": count("problem"),
        "vectors": count("passage"),
        "pending": vectors.pending_count(context),
        "dims": int(database.meta("dims") or 0) or status.dims,
        "model": database.meta("model") or status.identity,
        "embedder": {"state": status.state, "model": status.model, "reason": status.reason},
        "llm": asdict(configured(context.place).status),
        "auto_index": "on" if auto_index.is_on(context.place) else "off",
        "runs": count("run"),
        "root": str(context.place.root),
        "database": str(context.place.database),
        "bytes": context.place.database.stat().st_size,
        "sqlite": apsw.sqlite_lib_version(),
    }


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: `state` is ok, warning or error; `hint` says what to do, `repair` what `doctor --fix` does of it."""

    check: str
    state: str
    detail: str
    hint: str | None = None
    repair: str | None = None  # rebuild, sync or remove


REBUILD = "Run `memdb doctor --fix` (or `memdb rebuild`): the files and the journal have everything."

SYNC = "Run `memdb sync`."


def doctor(context: Context, *, deep: bool = False, progress: Progress = silent) -> list[Finding]:
    """Look at everything that can be wrong: the program, the model, the database, the journal, the files.

    With `deep`, the database is also built once more, aside, and compared; what is behind is brought up first.
    """
    findings = [Finding("program", "ok", f"Python {sys.version.split()[0]}, SQLite {apsw.sqlite_lib_version()}")]
    findings.append(_embedder(context))
    database = context.database
    reason = database.vector_reason
    findings.append(
        Finding("sqlite-vec", "warning", reason, "Reinstall it: pip install --force-reinstall sqlite-vec")
        if reason
        else Finding("sqlite-vec", "ok", "loaded")
    )
    findings.append(_bytes(context))
    findings += _database(database)
    findings += _entities(context)
    findings.append(_waiting(context))
    damaged, lasting = context.journal.damaged(), len(context.journal.files())
    findings.append(
        Finding("journal", "warning",
                f"{len(damaged)} lines cannot be read, first {damaged[0][0]} line {damaged[0][1]}",
                "Run `memdb doctor --fix`: it brings back what checksums or the database still tell. The rest is passed"
                " over; version control has it, where it keeps the journal.")
        if damaged
        else Finding("journal", "ok", f"{lasting} file{'s' * (lasting != 1)}")
    )  # fmt: skip
    findings.append(_leftovers(context))
    findings.append(_files(context))
    findings.append(_documents(database))
    findings.append(_language_model(context))
    problems = int(database.value("select count(*) from problem"))
    findings.append(
        Finding(
            "problems", "warning", f"{problems} in the files", "`memdb sync --json` or the view `problems` lists them."
        )
        if problems
        else Finding("problems", "ok", "none")
    )
    if deep:
        findings.append(_compared(context, progress))
    return findings


def _bytes(context: Context) -> Finding:
    """What is on the disk, against what memdb left there: a disk that fails changes bytes and no time."""
    wrong = checking.difference(context.place)
    if wrong:
        return Finding("bytes", "error", f"the database {wrong}", REBUILD, "rebuild")
    return Finding("bytes", "ok", "none that memdb did not write")


def _leftovers(context: Context) -> Finding:
    found = scrubbing.leftovers(context.place)
    if found:
        said = f"{len(found)} unfinished files, first {found[0].name}"
        return Finding("leftovers", "warning", said, "`memdb doctor --fix` removes them.", "remove")
    return Finding("leftovers", "ok", "none")


def _compared(context: Context, progress: Progress) -> Finding:
    from memdb.services.health import comparing  # noqa: PLC0415 (seldom used)

    try:
        tables = comparing.differing(context, progress=progress)
    except MemdbError as error:
        return Finding("rows", "warning", f"not compared: {error.message}", error.hint)
    if tables:
        return Finding("rows", "error", f"other than files and journal make them in {', '.join(tables)}", REBUILD,
                       "rebuild")  # fmt: skip
    return Finding("rows", "ok", "as files and journal make them")


def _embedder(context: Context) -> Finding:
    status = context.embedder.status
    if find_spec("fastembed") is None:
        return Finding("model", "warning", "fastembed is not installed; recall answers from keywords and the graph",
                       "pip install 'memdb-engine[local]'")  # fmt: skip
    if status.state == "off":
        return Finding("model", "warning", status.reason or "off", "`memdb model list` shows what can be used.")
    return Finding("model", "ok", str(status.identity))


def _language_model(context: Context) -> Finding:
    """Whether texts are sent anywhere, and when; none at all is a way to use the store."""
    status, on = configured(context.place).status, auto_index.is_on(context.place)
    failing = int(
        context.database.value("select count(distinct text_sha256) from failure where times >= ?", (MOST_TRIES,))
    )
    when = "auto-index is on: new texts are sent to it" if on else "auto-index is off: texts are sent by `memdb index`"
    if status.state == "off":
        said = f"{status.reason} Names are found by rules."
        return Finding(
            "language model", "warning" if on else "ok", f"{said} Auto-index is on." if on else said, status.hint
        )
    said = f"{status.model} at {status.endpoint}; {when}"
    if failing:
        return Finding("language model", "warning", f"{said}; {failing} texts failed too often",
                       "`memdb runs` says why; `memdb index --rebuild` tries them again.")  # fmt: skip
    return Finding("language model", "ok", said)


def _database(database: Database) -> list[Finding]:
    return [
        Finding(name, "error", wrong, REBUILD, "rebuild") if wrong else Finding(name, "ok", "consistent")
        for name, wrong in consistency.check(database).items()
    ]


def _entities(context: Context) -> list[Finding]:
    return [
        Finding(one.name, "warning", one.wrong, SYNC, "sync")
        if one.wrong and one.waits
        else Finding(one.name, "error", one.wrong, REBUILD, "rebuild")
        if one.wrong
        else Finding(one.name, "ok", "as texts and decisions make them")
        for one in entity_checks.check(context)
    ]


def _waiting(context: Context) -> Finding:
    waiting = vectors.pending_count(context) if context.embedder.status.state != "off" else 0
    if waiting:
        return Finding("embedded", "warning", f"{waiting} texts are not embedded yet", SYNC, "sync")
    return Finding("embedded", "ok", "nothing waits")


def _files(context: Context) -> Finding:
    try:
        plan = sync.plan(context)
        # Size and time only raise a suspicion: what was written seconds before a sync is looked at again.
        changed = [item for item in plan.suspects if _differs(context, plan.known.get(item.path), item)]
    except MemdbError as error:
        return Finding("files", "error", error.message, error.hint)
    behind = len(changed) + len(plan.missing)
    if behind:
        return Finding("files", "warning", f"{behind} files changed since the last sync", SYNC, "sync")
    return Finding("files", "ok", f"{plan.walk.count} memories, index up to date")


def _documents(database: Database) -> Finding:
    def count(what: str) -> int:
        return int(database.value(f"select count(*) from {what}"))

    said = [f"{count('document')} documents", f"{count('chunk')} chunks"]
    gone, failed = count("document where state = 'missing'"), count("problem where code = 'document'")
    if gone:
        said.append(f"{gone} with the file gone (`memdb documents` lists them, `memdb remove` drops them)")
    if failed:
        said.append(f"{failed} files that cannot be read (`memdb sync` says why)")
    hint = "What is gone is still recalled; a file that comes back is taken up again." if gone else None
    return Finding("documents", "warning" if gone or failed else "ok", ", ".join(said), hint)


def _differs(context: Context, digest: str | None, found: Found) -> bool:
    """Whether a file's bytes are others than the index has; one that cannot be read differs where it once could."""
    if digest is None:
        return True
    if found.size > files.MAX_FILE_BYTES:
        return digest != ""
    try:
        data = files.read(context.place.root, found)
    except OSError:
        return digest != ""
    return hashlib.sha256(data).hexdigest() != digest
