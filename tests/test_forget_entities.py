"""Forget means gone for what was read from a text too: names, the ledger, proposals and the log of runs."""

from __future__ import annotations

from pathlib import Path

from tests.answer_support import Answered, answer

WORDS = (b"quillon", b"wizardry", b"enchants")


def told(root: Path) -> set[bytes]:
    """The words that any file of the store still has."""
    data = b"\n".join(file.read_bytes().lower() for file in sorted((root / ".memdb").rglob("*")) if file.is_file())
    return {word for word in WORDS if word in data}


def test_names_ledger_proposals_and_runs(tmp_path: Path, no_model: None) -> None:
    given = Answered(tmp_path / "r", {"user/first.md": "Quillon Vastra enchants Lantern.\n", "user/b.md": "Lantern.\n"})
    said = answer(
        ("Quillon Vastra", "wizardry"), ("Lantern", "tool"), said=(("Quillon Vastra", "enchants", "Lantern"),)
    )
    given.put("user/first", said)
    context = given.store._context
    with context.database.write() as connection:
        connection.execute("insert into run (kind, state, started_at) values ('index', 'done', '2026-01-01')")
        connection.execute(
            "insert into run_event (run_id, at, node, kind, message)"
            " values (1, '2026-01-01', 'user/first', 'held', 'Quillon Vastra: wizardry is no type')"
        )
    (given.root / "user/first.md").rename(given.root / "user/second.md")
    given.store.sync()
    assert told(given.root) == set(WORDS)
    given.store.forget("user/second")
    assert told(given.root) == set()
    live = given.store.digest()
    given.store.rebuild()
    assert given.store.digest() == live
    given.store.close()
