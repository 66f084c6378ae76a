"""Large files: put in whole while others can write, or refused with the limit that they pass."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memdb.base.files import LOCK_SECONDS
from memdb.base.storage import Database
from memdb.domain import documents as domain
from memdb.services.context import Context
from memdb.services.documents import document_additions, documents
from memdb.services.documents.documents import DocumentReport
from tests.document_support import Shelf

LINES_64K = 64_000


def write_lines(file: Path, number: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as out:
        for at in range(number):
            out.write(json.dumps({"id": f"p{at}", "text": f"Lantern {at} hangs in hall {at % 97}, warden {at % 31}."}))
            out.write("\n")


def write_text(file: Path, size: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    paragraph = "The lantern hangs in the hall above the stairs, and the warden lights it at dusk. " * 8
    with file.open("w", encoding="utf-8") as out:
        written = at = 0
        while written < size:
            written += out.write(f"{at} {paragraph}\n\n")
            at += 1


@pytest.mark.parametrize("limit", ["MAX_PASSAGES", "MAX_CHARACTERS"])
def test_a_document_that_is_too_large_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    assert (domain.MAX_PASSAGES, domain.MAX_CHARACTERS) == (100_000, 20_000_000)
    monkeypatch.setattr(domain, limit, {"MAX_PASSAGES": 20, "MAX_CHARACTERS": 2000}[limit])
    shelf = Shelf(tmp_path, {"small.md": "The gate is green.\n"})
    write_lines(shelf.docs / "large.jsonl", 60)
    report = shelf.add()
    [(path, reason)] = report.documents.failed
    assert path.endswith("large.jsonl")
    assert "the most of one document" in reason
    assert [document.id for document in shelf.store.documents.list()] == [shelf.key("small.md")]
    assert shelf.rows("select count(*) from chunk") == [(1,)]
    shelf.assert_rebuilds()


def test_a_document_that_grows_too_large_goes_and_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domain, "MAX_PASSAGES", 20)
    shelf = Shelf(tmp_path)
    write_lines(shelf.docs / "a.jsonl", 20)
    assert shelf.add().documents.failed == []
    write_lines(shelf.docs / "a.jsonl", 21)
    assert len(shelf.store.sync().documents.failed) == 1
    assert shelf.rows("select count(*) from chunk") == [(0,)]
    write_lines(shelf.docs / "a.jsonl", 19)
    assert shelf.store.sync().documents.failed == []
    assert shelf.rows("select count(*) from chunk") == [(19,)]
    shelf.assert_rebuilds()


def test_words_are_cut_before_the_lock_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memdb.base import words

    shelf = Shelf(tmp_path)
    database = shelf.store._context.database
    searchable, inside = words.searchable, []

    def watch(text: str) -> str:
        inside.append(database.connection.in_transaction)
        return searchable(text)

    write_lines(shelf.docs / "a.jsonl", 30)
    monkeypatch.setattr(words, "searchable", watch)
    shelf.add()
    assert len(inside) >= 30
    assert not any(inside)


def mirrored(shelf: Shelf) -> DocumentReport:
    """Add the folder, without what comes after its documents are in."""

    def work(context: Context) -> DocumentReport:
        document_additions.add(context, [shelf.docs])
        return documents.sync(context)

    return shelf.store._run(work)


@contextmanager
def timed_transactions(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The seconds of work in each transaction: what it takes where nothing else runs. Others wait LOCK_SECONDS."""
    held: list[float] = []
    writing = documents._writing

    @contextmanager
    def timed(context: Context, wait: float) -> Iterator[Database]:
        with writing(context, wait) as database:
            started = time.thread_time()
            yield database
        held.append(time.thread_time() - started)

    monkeypatch.setattr(documents, "_writing", timed)
    yield held


@pytest.mark.slow
def test_more_than_fifty_thousand_lines_go_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf(tmp_path)
    write_lines(shelf.docs / "a.jsonl", LINES_64K)
    shelf.store.sync()
    with timed_transactions(monkeypatch) as held:
        report = mirrored(shelf)
    assert (report.failed, report.chunks) == ([], LINES_64K)
    assert shelf.rows("select count(*), count(distinct record_id) from chunk") == [(LINES_64K, LINES_64K)]
    assert max(held) < LOCK_SECONDS / 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["text", "jsonl"])
def test_a_hundred_megabytes_are_refused_in_bounded_memory(tmp_path: Path, kind: str) -> None:
    import tracemalloc

    shelf = Shelf(tmp_path, {"small.md": "The gate is green.\n"})
    file = shelf.docs / f"large.{'txt' if kind == 'text' else 'jsonl'}"
    if kind == "text":
        write_text(file, 100_000_000)
    else:
        write_lines(file, 1_400_000)
    assert file.stat().st_size > 100_000_000
    tracemalloc.start()
    report = mirrored(shelf)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    [(path, reason)] = report.failed
    assert path == file.as_posix()
    assert reason == "The file has more than 20 million characters of text, the most of one document."
    assert [document.id for document in shelf.store.documents.list()] == [shelf.key("small.md")]
    assert shelf.rows("select count(*) from chunk") == [(1,)]
    assert peak < 50_000_000


@pytest.mark.slow
def test_the_largest_text_goes_in_without_holding_others_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf(tmp_path, window=254)
    write_text(shelf.docs / "a.txt", domain.MAX_CHARACTERS - 2_000_000)
    with timed_transactions(monkeypatch) as held:
        report = mirrored(shelf)
    assert (report.failed, report.added) == ([], 1)
    assert max(held) < LOCK_SECONDS / 2
