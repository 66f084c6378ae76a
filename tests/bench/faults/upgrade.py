"""Databases of every schema version so far, and every kind of damage to rows: migrated, refused, found, repaired."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw

from memdb.base import resources
from memdb.errors import NewerStore
from memdb.store import Store
from tests.bench.faults import faulty, stores
from tests.bench.faults.damages import DAMAGES
from tests.bench.faults.stores import differing
from tests.bench.faults.trials import Asked, Found, Tell, forked, loaded, shared_out
from tests.upgrade_support import VERSIONS, database, embedder, folder, old_store

QUICK_KILLS, KILLS = 3, 12
"""Write calls of a migration at which it is killed, for each version."""


def run(asked: Asked) -> Found:
    """Migrate each version, refuse a newer one, damage rows and repair them."""
    faulty.install()
    loaded()
    asked.folder.mkdir(parents=True, exist_ok=True)
    template = asked.folder / "template"
    fresh = forked(lambda tell: _fresh(asked.folder / "fresh", tell))
    built = forked(lambda tell: _damageable(template, tell))
    if fresh.code or built.code:
        return Found(failures=[f"no store could be built: {fresh.errors[-2000:]}{built.errors[-2000:]}"])
    kills = QUICK_KILLS if asked.quick else KILLS
    items: list[tuple[str, object]] = [("version", version) for version in VERSIONS]
    items += [("killed", (version, at)) for version in VERSIONS[:-1] for at in range(1, 60, 60 // kills)]
    items += [("newer", version) for version in VERSIONS[:-1]]
    items += [("damage", name) for name in DAMAGES]

    def work(number: int, item: tuple[str, object]) -> Found:
        kind, what = item
        where = asked.folder / f"trial-{number}"
        shutil.rmtree(where, ignore_errors=True)
        found = Found()
        if kind == "version":
            after = forked(lambda tell: _migrated(where, what, fresh.said[0], tell))  # type: ignore[arg-type]
            found.count("versions migrated")
        elif kind == "killed":
            killed = forked(lambda tell: _killed(where, *what))  # type: ignore[misc]
            found.count("migrations killed" if killed.killed else "migrations that had ended before")
            after = forked(lambda tell: _migrated(where, None, fresh.said[0], tell))
        elif kind == "newer":
            after = forked(lambda tell: _refused(where, what, tell))  # type: ignore[arg-type]
            found.count("newer databases refused")
        else:
            shutil.copytree(template, where)
            after = forked(lambda tell: _damaged(where, str(what), built.said[0], tell))
            found.count("kinds of damaged rows that the doctor found and repaired")
        wrong = [*after.said, *([after.errors[-2500:] or str(after.code)] if after.code else [])]
        found.failures += [f"{kind} {what}: {said}" for said in wrong]
        return found

    return shared_out(asked, items, work)


def _content(store: Store) -> stores.Content:
    return stores.content(store)


def _fresh(where: Path, tell: Tell) -> None:
    with Store.init(folder(where), embedder=embedder()) as store:
        store.sync()
        tell(_content(store))


def _migrated(where: Path, version: int | None, expected: stores.Content, tell: Tell) -> None:
    store = Store.init(where, embedder=embedder()) if version is None else old_store(version, where)
    with store:
        if store.damage:
            tell(f"it was rebuilt, not migrated: {store.damage}")
        for said in differing(expected, _content(store)):
            tell(f"migrated, it differs in {said}")
        for finding in store.doctor():
            if finding.state == "error":
                tell(f"doctor: {finding.check}: {finding.detail}")


def _killed(where: Path, version: int, at: int) -> None:
    folder(where)
    database(version, where / ".memdb" / "memory.db")
    faulty.FAULTS.arm(at)
    with Store.init(where, embedder=embedder()) as store:
        store.sync()


def _refused(where: Path, version: int, tell: Tell) -> None:
    with old_store(VERSIONS[-1], where) as store:
        store.sync()
    before = (where / ".memdb/memory.db").read_bytes()
    older = resources.migrations()[:version]
    resources.migrations = lambda: older  # type: ignore[assignment]
    try:
        Store.init(where, embedder=embedder())
        tell("it was opened")
    except NewerStore as error:
        if not error.hint or "newer" not in error.message:
            tell(f"it was refused without a reason: {error.message}")
    if (where / ".memdb/memory.db").read_bytes() != before:
        tell("it was refused and changed")


def _damageable(where: Path, tell: Tell) -> None:
    stores.build(where)
    with stores.opened(where) as store:
        tell(_content(store))


def _damaged(where: Path, name: str, expected: stores.Content, tell: Tell) -> None:
    statement, check = DAMAGES[name]
    with stores.opened(where) as store:
        store.sync()
        other = apsw.Connection(str(store.place.database))
        other.pragma("foreign_keys", False)
        other.execute(statement)
        if not other.total_changes() and not statement.startswith("drop"):
            tell("the damage changes no row")
        other.close()
        found = [one.check for one in store.doctor(deep=check == "rows") if one.state == "error"]
        if check not in found:
            tell(f"the doctor names {found}, not {check}")
        if not store.repair(deep=check == "rows"):
            tell("nothing was repaired")
        left = [f"{one.check}: {one.detail}" for one in store.doctor(deep=check == "rows") if one.state == "error"]
        if left:
            tell(f"after doctor --fix: {left}")
        for said in differing(expected, _content(store)):
            tell(f"after doctor --fix, it differs in {said}")
