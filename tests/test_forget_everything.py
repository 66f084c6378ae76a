"""Forget means gone in a store that uses every feature: words, vectors, hashes, names, decisions, logs, backups."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memdb.base.journal import Journal
from memdb.errors import NotFound
from memdb.services.forgetting import scrubbing
from memdb.store import Store
from tests.cli_support import memdb
from tests.fake_embedder import FakeEmbedder
from tests.full_store import ADDRESS, EDITED, MEMORY, MOSS, TOLD, UPLOAD, WORDS, Full, full_store, traces
from tests.histories import anew, differing


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Full:
    """The whole store, closed, and a copy of its folder beside it: made once."""
    where = tmp_path_factory.mktemp("full")
    made = full_store(where / "now")
    made.store.close()
    shutil.copytree(where / "now", where / "then")
    return made


@pytest.fixture
def full(made: Full) -> Iterator[Full]:
    """The whole store as it was made, where it was made: documents are known by their paths."""
    where = made.docs.parent
    shutil.rmtree(where)
    shutil.copytree(where.parent / "then", where)
    made.embedder.read.clear()
    again = replace(made, store=Store(made.store.place, made.embedder))
    yield again
    again.store.close()


def written(full: Full, part: str) -> str:
    """What a person writes to have a part forgotten."""
    documents = {"document": str(full.docs / "moss.md"), "upload": f"upload://{UPLOAD}", "page": ADDRESS}
    return {"memory": MEMORY, **documents}[part]


@pytest.mark.parametrize("part", WORDS)
def test_no_byte_is_left(full: Full, part: str) -> None:
    store, root = full.store, full.root
    needles = full.needles(part)
    before = {name for _, name in traces(root, needles)}
    missed = set(needles) - before
    # SQLite keeps no hash as bytes; the bits of an earlier text are overwritten when it changes.
    assert {
        name for name in missed if not name.endswith("as bytes") and not name.startswith(("bits", "sha256"))
    } == set()
    others = {other: full.needles(other) for other in WORDS if other != part}
    kept = {other: {name for _, name in traces(root, found)} for other, found in others.items()}
    done = store.forget(written(full, part))
    assert done.kind == ("memory" if part == "memory" else "document")
    assert done.backups == 1
    assert not done.waits
    assert traces(root, needles) == set()
    assert traces(full.docs, needles) == (
        {("moss.md", name) for name in needles if name.startswith("word")} if part == "document" else set()
    )
    assert [finding for finding in store.doctor() if finding.state == "error"] == []
    live = store.digest()
    assert traces(root, needles) == set()
    # What else was there is there still: words, vectors, hashes of all the others (the backup had some).
    for other, found in others.items():
        still = {name for _, name in traces(root, found)}
        assert {name for name in kept[other] - still if name.startswith("word")} == set(), other
    store.close()
    assert traces(root, needles) == set()
    with Store(store.place, FakeEmbedder(window=24)) as again:
        assert again.sync().embedded == 0
    assert differing(live, anew(root)) == []
    assert traces(root, needles) == set()


def test_a_file_that_its_owner_keeps_is_named(full: Full) -> None:
    done = full.store.forget(str(full.docs / "moss.md"))
    assert done.kept == ((full.docs / "moss.md").as_posix(),)
    assert (full.docs / "moss.md").read_text() == MOSS
    # The folder around it is mirrored still, and does not bring it back.
    assert full.store.sync().documents.added == 0
    assert [document.title for document in full.store.documents.list() if "moss" in document.id] == []


def test_links_to_it_lead_nowhere_and_say_so(full: Full) -> None:
    assert {link.status for link in full.store.links("reference/pointer")} == {"resolved"}
    assert full.store.forget(MEMORY).unresolved == ("reference/pointer",)
    assert {link.status for link in full.store.links("reference/pointer")} == {"unresolved"}


def test_the_same_memory_again_is_new(full: Full) -> None:
    full.store.forget(MEMORY)
    (full.root / f"{MEMORY}.md").write_text(EDITED)
    assert full.store.sync().added == 1
    assert full.store.history(MEMORY) == []
    assert rows(full, "select indexed_at from memory join node using (id) where key = ?", MEMORY) == [(None,)]
    # The names that were decided about are the texts' own again.
    assert {name for name in names(full) if "quillon" in name.casefold()} == {"Quillon Vastra"}


def test_the_same_upload_again_is_new(full: Full) -> None:
    said = "select count(*) from extraction where output like '%Farthingale%'"
    assert rows(full, said) == [(1,)]
    full.store.forget(f"upload://{UPLOAD}")
    assert rows(full, said) == [(0,)]
    full.embedder.read.clear()
    assert full.store.add_text(UPLOAD, TOLD).documents.added == 1
    assert len(full.embedder.read) >= 1
    assert rows(full, "select count(*) from chunk where indexed_at is not null and text like '%farthingale%'") == [(0,)]


def test_decisions_about_what_other_texts_name_stand(full: Full) -> None:
    before = {(one.action, one.subject) for one in full.store.log()}
    assert {action for action, _ in before} == {"rename", "retype", "distinct", "merge", "undo", "delete", "resolve"}
    assert full.store.forget(MEMORY).decisions == 5
    assert {(one.action, one.subject) for one in full.store.log()} == {
        ("delete", "entity:farthingale"),
        ("rename", "entity:clepsydra"),
        ("rename", "entity:ormolu works"),
        ("rename", "entity:lantern"),
    }
    assert "The Lantern" in names(full)


def rows(full: Full, statement: str, *values: object) -> list[tuple[object, ...]]:
    return full.store._run(lambda context: context.database.rows(statement, values))


def names(full: Full) -> set[str]:
    return {str(name) for (name,) in rows(full, "select name from entity")}


def test_what_another_machine_brings_back_goes_again(full: Full) -> None:
    """A machine that had not heard of it yet merges its journal, with all that was told before."""
    journal = full.store.place.journal
    [own] = journal.glob("*.jsonl")
    theirs = own.read_bytes()
    needles = {part: full.needles(part) for part in WORDS}
    for part in WORDS:
        full.store.forget(written(full, part))
    (journal / "0123456789ab.jsonl").write_bytes(theirs)
    full.store.sync()
    full.store.sync()
    for part in WORDS:
        assert traces(full.root, needles[part]) == set(), part
    live = full.store.digest()
    full.store.close()
    assert differing(live, anew(full.root)) == []


POINTS = {
    "the snapshot is gone": (Journal, "append"),
    "the journal says so": (Journal, "rewrite"),
    "the tables are clean": (scrubbing, "scrub"),
}


class Killed(BaseException):
    """Stands in for a process that ends at this point."""


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("part", ["document", "page"])
def test_a_crash_on_the_way_is_carried_out_by_the_next_sync(
    full: Full, monkeypatch: pytest.MonkeyPatch, part: str, point: str
) -> None:
    needles = full.needles(part)

    def die(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(*POINTS[point], die)
        with pytest.raises(Killed):
            full.store.forget(written(full, part))
    full.store.close()
    with Store(full.store.place, FakeEmbedder(window=24)) as again:
        again.sync()
        if point == "the snapshot is gone":
            # Nothing was recorded: it is mirrored still, or its snapshot is missing.
            again.forget(written(full, part))
        live = again.digest()
    left = {(place, name) for place, name in traces(full.root, needles) if "sessions" not in place}
    assert left == set()
    assert differing(live, anew(full.root)) == []


def test_a_folder_is_forgotten_whole(full: Full) -> None:
    needles = full.needles("document")
    done = full.store.forget(str(full.docs))
    assert done.kept == tuple((full.docs / name).as_posix() for name in ("moss.md", "other.md"))
    assert traces(full.root, needles) == set()
    assert {document.id for document in full.store.documents.list()} == {
        f"document:{ADDRESS}",
        f"document:upload://{UPLOAD}",
    }


def test_backups_elsewhere_and_copies_are_not_touched(full: Full, tmp_path: Path) -> None:
    full.store.backup(tmp_path / "elsewhere.zip")
    shutil.copytree(full.root, tmp_path / "copy")
    full.store.forget(MEMORY)
    assert (tmp_path / "elsewhere.zip").is_file()
    assert traces(tmp_path / "copy", {"word": b"quokkas"})
    assert list((full.root / ".memdb" / "backups").glob("*.zip")) == []


def test_the_mark_is_a_hash_of_the_id_and_never_of_the_text(full: Full) -> None:
    full.store.forget(MEMORY)
    full.store.forget(ADDRESS)
    marks = [record for record in full.store._context.journal.read(("forget",))]
    assert [sorted(record.keys() - {"t", "w", "kind"}) for record in marks] == [["decisions", "id_sha256"]] * 2
    from memdb.domain.history import key_digest

    assert [record["id_sha256"] for record in marks] == [key_digest(MEMORY), key_digest(f"document:{ADDRESS}")]


def test_what_was_never_there_is_said(full: Full) -> None:
    with pytest.raises(NotFound):
        full.store.forget("https://gossamer.example/pages/other.html")
    with pytest.raises(NotFound):
        full.store.forget(str(full.docs / "nothing.md"))


def test_the_command_says_what_goes_and_what_stays(full: Full, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMDB_EMBEDDER", "off")
    full.store.close()
    root, file = str(full.root), str(full.docs / "moss.md")
    asked = memdb("forget", file, "--root", root)
    assert asked.code == 4
    assert f"document:{file}" in asked.err
    gone = memdb("forget", file, "--root", root, "--yes")
    assert gone.code == 0
    assert "decision, 1 backup" in gone.out
    assert f"its file is yours and still there: {file}" in gone.err
    page = memdb("forget", ADDRESS, "--root", root, "--yes", "--json").json
    assert (page["kind"], page["kept"], page["waits"]) == ("document", [], False)
    assert memdb("forget", ADDRESS, "--root", root, "--yes").code == 3


def test_removed_documents_leave_no_words_in_the_log_of_runs(full: Full) -> None:
    logged = "select count(*) from run_event where message like '%tessellate%'"
    assert rows(full, logged) == [(2,)]
    full.store.remove(str(full.docs / "moss.md"))
    assert rows(full, logged) == [(0,)]
    assert rows(full, "select count(*) from failure where reason like '%sphagnum%'") == [(0,)]
