"""Forget means gone: no file of the store has a byte of the text, of its earlier versions or of its vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from memdb.base.journal import Journal
from memdb.errors import NotFound, NotWritable, Refused
from memdb.services.forgetting import forgetting, scrubbing
from memdb.services.index import indexing, mirroring, signatures
from memdb.store import Store
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder
from tests.histories import anew, differing

Make = Callable[..., Store]

WORDS = ("xylophone", "quokkas", "zanzibar", "obsidian", "periwinkle", "marzipan")
"""Words of the memory that is forgotten and of its earlier texts; no other memory has them."""

OTHERS = {
    f"user/other{number}.md": f"# Other {number}\n\nText {number} on {topic}, see [[xylophone-plan]].\n"
    for number, topic in enumerate(["tea", "coffee", "juice", "milk", "water", "soda", "cider"])
}


class Killed(BaseException):
    """Stands in for a process that ends at this point."""


def traces(root: Path, needles: list[bytes]) -> list[tuple[str, bytes]]:
    """Where the bytes are found under a root: in which file, which of them, in any case."""
    found = []
    for file in sorted(root.rglob("*")):
        if file.is_file():
            data = file.read_bytes().lower()
            found += [(str(file.relative_to(root)), needle) for needle in needles if needle.lower() in data]
    return found


def told(root: Path) -> list[tuple[str, bytes]]:
    """Traces of the memory's words, but for the link to it that other memories have in their own text."""
    words = [word.encode() for word in WORDS if word != "xylophone"]
    return traces(root, [*words, b"xylophone plays", b"feedback/xylophone-plan", b"feedback/first"])


def signature(blob: bytes) -> bytes:
    """The bit vector that is kept of a vector."""
    import numpy as np

    positive = np.frombuffer(blob, dtype="<f4") > 0
    return bytes(np.packbits(positive, bitorder="little").tobytes())


def large(blob: bytes) -> bytes:
    """The second bit vector that is kept of a vector, in the virtual table alone."""
    return signatures.large([blob], len(blob) // 4)[0]


@pytest.fixture
def plan(tmp_path: Path) -> tuple[Store, FakeEmbedder, list[bytes]]:
    """A store whose memory `feedback/xylophone-plan` was renamed, saved and edited outside, and its vectors' bytes."""
    root, fake = tmp_path / "r", FakeEmbedder(window=24)
    write_files(
        root, {**OTHERS, "feedback/first.md": "---\ntags: [marzipan]\n---\nThe xylophone plays, quokkas listen.\n"}
    )
    store = Store.init(root, embedder=fake)
    store.sync()
    (root / "feedback/first.md").rename(root / "feedback/xylophone-plan.md")
    store.sync()
    store.save("feedback/xylophone-plan", "Zanzibar is far. " * 30, description="obsidian")
    store.sync()
    (root / "feedback/xylophone-plan.md").write_text("Periwinkle is a colour, zanzibar a place.\n")
    store.sync()
    blobs = [
        bytes(blob)
        for (blob,) in store._context.database.rows(
            "select vector from embedding where text_sha256 not in (select text_sha256 from passage)"
            " or text_sha256 in"
            " (select text_sha256 from passage join node on node.id = node_id where key like 'feedback/%')"
        )
    ]
    assert len(blobs) >= 3
    # SQLite may cut a long value at the edge of a page: a piece of it is as telling.
    return (
        store,
        fake,
        [blob[at : at + 48] for blob in blobs for at in (0, 200)] + [signature(blobs[-1]), large(blobs[-1])],
    )


def test_no_byte_remains(plan: tuple[Store, FakeEmbedder, list[bytes]]) -> None:
    store, fake, blobs = plan
    root = store.place.root
    assert {word for _, word in told(root)} >= {b"zanzibar", b"periwinkle", b"obsidian"}
    assert {needle for _, needle in traces(root, blobs)} == set(blobs)
    store.recall("zanzibar")
    done = store.forget("feedback/xylophone-plan")
    assert (done.id, done.file, done.versions) == ("feedback/xylophone-plan", "feedback/xylophone-plan.md", 2)
    assert done.vectors >= 3 and len(done.unresolved) == 7
    assert told(root) == []
    assert traces(root, blobs) == []
    assert {link.status for link in store.links()} == {"unresolved"}
    assert all(finding.state != "error" for finding in store.doctor())
    live = store.digest()
    assert told(root) == []
    store.close()
    assert told(root) == [] and traces(root, blobs) == []
    assert differing(live, anew(root)) == []
    # The other memories' vectors stayed.
    with Store(store.place, fake) as again:
        assert again.sync().embedded == 0


def test_a_memory_that_comes_back_is_new(plan: tuple[Store, FakeEmbedder, list[bytes]]) -> None:
    store, _, _ = plan
    file = store.place.root / "feedback/xylophone-plan.md"
    data = file.read_bytes()
    store.forget("feedback/xylophone-plan")
    file.write_bytes(data)
    assert store.sync().added == 1
    assert store.history("feedback/xylophone-plan") == []
    store.save("feedback/xylophone-plan", "later\n")
    assert [past.text for past in store.history("feedback/xylophone-plan")] == [data.decode()]
    store.close()


def test_a_deleted_memory_can_be_forgotten(plan: tuple[Store, FakeEmbedder, list[bytes]]) -> None:
    store, _, blobs = plan
    root = store.place.root
    (root / "feedback/xylophone-plan.md").unlink()
    store.sync()
    assert told(root)
    assert store.forget("feedback/xylophone-plan").file == ""
    assert told(root) == [] and traces(root, blobs) == []
    with pytest.raises(NotFound):
        store.forget("feedback/xylophone-plan")
    store.close()


def test_a_file_that_was_renamed_unseen_is_not_missed(plan: tuple[Store, FakeEmbedder, list[bytes]]) -> None:
    store, _, _ = plan
    root = store.place.root
    (root / "feedback/xylophone-plan.md").rename(root / "feedback/elsewhere.md")
    with pytest.raises(NotFound):
        store.forget("feedback/xylophone-plan")
    store.forget("feedback/elsewhere")
    assert not (root / "feedback/elsewhere.md").exists()
    assert told(root) == []
    store.close()


def test_nothing_is_forgotten_where_the_folder_is_not_what_it_was(make_store: Make, no_model: None) -> None:
    store = make_store(OTHERS)
    for number in range(5):
        (store.place.root / f"user/other{number}.md").unlink()
    with pytest.raises(Refused):
        store.forget("user/other6")
    assert (store.place.root / "user/other6.md").exists()


POINTS = {
    "the file is gone": (Journal, "append"),
    "the journal says so": (indexing, "_remove"),
    "the journal is clean": (scrubbing, "drop_vectors"),
    "the tables are clean": (mirroring, "repair"),
}


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("then", ["sync", "rebuild", "delete"])
def test_a_crash_on_the_way_is_carried_out_by_the_next_sync(
    plan: tuple[Store, FakeEmbedder, list[bytes]], monkeypatch: pytest.MonkeyPatch, point: str, then: str
) -> None:
    store, fake, blobs = plan
    root = store.place.root
    owner, name = POINTS[point]

    def die(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, die)
        with pytest.raises(Killed):
            store.forget("feedback/xylophone-plan")
    store.close()
    if then == "delete":
        for file in store.place.home.glob("memory.db*"):
            file.unlink()
    with Store(store.place, fake) as again:
        if then == "rebuild":
            again.rebuild()
        again.sync()
        if point == "the file is gone" and then == "sync":
            # Nothing was recorded: to the store it is a file that was deleted.
            assert again.forget("feedback/xylophone-plan").versions == 3
        elif point == "the file is gone":
            again.forget("feedback/xylophone-plan")
        live = again.digest()
        assert told(root) == []
        assert traces(root, blobs) == []
    assert differing(live, anew(root)) == []


def test_what_a_killed_rebuild_left_goes_too(plan: tuple[Store, FakeEmbedder, list[bytes]]) -> None:
    store, _, _ = plan
    home = store.place.home
    for name in ("memory.db.rebuild", "memory.db.rebuild-wal", "journal/.memdb-x.tmp"):
        (home / name).write_bytes(b"zanzibar")
    store.forget("feedback/xylophone-plan")
    assert told(store.place.root) == []
    store.close()


def test_a_reader_in_the_way_puts_the_scrub_off_to_the_next_sync(
    plan: tuple[Store, FakeEmbedder, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, _, _ = plan
    reader = apsw.Connection(str(store.place.database))
    reader.execute("begin")
    reader.execute("select count(*) from memory").fetchall()
    monkeypatch.setattr(scrubbing, "WAIT", 0.1)
    store.forget("feedback/xylophone-plan")
    assert told(store.place.root)
    reader.execute("rollback")
    reader.close()
    store.sync()
    assert told(store.place.root) == []
    store.close()


def test_a_file_that_cannot_be_deleted_is_kept_whole(
    plan: tuple[Store, FakeEmbedder, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, _, _ = plan
    versions = store.history("feedback/xylophone-plan")

    def refuse(_self: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        with pytest.raises(NotWritable):
            store.forget("feedback/xylophone-plan")
    assert store.history("feedback/xylophone-plan") == versions
    assert "Periwinkle" in store.show("feedback/xylophone-plan").body
    store.close()


def test_without_a_model_the_clusters_say_nothing_of_it(plan: tuple[Store, FakeEmbedder, list[bytes]]) -> None:
    store, fake, blobs = plan
    assert store.stats()["clusters"] > 0
    store.close()
    with Store(store.place, FakeEmbedder(off="not here")) as off:
        off.forget("feedback/xylophone-plan")
        assert told(store.place.root) == [] and traces(store.place.root, blobs) == []
    with Store(store.place, fake) as again:
        again.sync()
        live = again.digest()
    assert differing(live, anew(store.place.root)) == []


def test_the_mark_has_no_content(plan: tuple[Store, FakeEmbedder, list[bytes]]) -> None:
    store, _, _ = plan
    store.forget("feedback/xylophone-plan")
    (mark,) = store._context.database.rows("select key_sha256 from tombstone")
    assert mark == (hashlib.sha256(b"feedback/xylophone-plan").hexdigest(),)
    store.close()


def test_forget_by_name_and_the_id_of_another_goes_on(make_store: Make, no_model: None) -> None:
    store = make_store({"a.md": "flat\n", "reference/a.md": "folder\n"})
    store.save("reference/a", "folder again\n")
    assert forgotten(store, "reference/a") == "reference/a.md"
    assert [(memory.id, memory.file) for memory in store.list()] == [("reference/a", "a.md")]
    assert store.history("reference/a") == []
    live = store.digest()
    store.close()
    assert differing(live, anew(store.place.root, model=False)) == []


def forgotten(store: Store, name: str) -> Any:
    return store._run(lambda context: forgetting.forget(context, name)).file
