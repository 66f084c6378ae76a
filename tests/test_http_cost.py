"""What a question over HTTP costs: no walk over files that are followed, and nothing that grows with the graph."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memdb.explorer import freshness, reads
from memdb.explorer.freshness import Freshness
from memdb.services.files import sync
from memdb.store import Store
from tests.answer_support import Answered, answer
from tests.test_http_api import TOKEN, Server

pytestmark = pytest.mark.usefixtures("no_model")


def grown(root: Path, size: int) -> Answered:
    """A store of `size` memories that link to one another, and two documents, one of which has `size` chunks."""
    texts = {
        "user/ada.md": "---\ntags: [people]\n---\nAda Wren works at Corvin Works. See [[corvin]].\n",
        "project/corvin.md": "Corvin Works makes ferries.\n",
    }
    for number in range(size):
        texts[f"episode/{number}.md"] = f"Zeb{number} Quor{number} came. See [[{(number * 7) % size}]].\n"
    shelf = root / "shelf"
    shelf.mkdir(parents=True)
    parts = (f"## Part {number}\n\nWhat part {number} says of {number * 13} is this.\n\n" for number in range(size))
    (shelf / "large.md").write_text("# Large\n\n" + "".join(parts), encoding="utf-8")
    (shelf / "small.md").write_text("# Small\n\nAda Wren builds.\n\n## Pay\n\nCorvin Works pays.\n", encoding="utf-8")
    world = Answered(root / "store", texts)
    world.store.add([shelf], embed=False)
    said = (("Ada Wren", "works_at", "Corvin Works"),)
    world.put("user/ada", answer(("Ada Wren", "person"), ("Corvin Works", "organization"), said=said))
    return world


def steps(store: Store, call: Callable[[], object]) -> int:
    """Steps of SQLite's machine, in tens, which no other load on the computer changes."""
    counted = 0

    def count() -> bool:
        nonlocal counted
        counted += 1
        return False

    connection = store._context.database.connection
    connection.set_progress_handler(count, 10)
    call()
    connection.set_progress_handler(None)
    return counted


def test_a_node_costs_the_same_in_any_graph(tmp_path: Path) -> None:
    found: dict[int, dict[str, int]] = {}
    for size in (20, 200):
        world = grown(tmp_path / str(size), size)
        large, small = sorted(document.id for document in world.store.documents.list())
        ids = ("user/ada", "entity:ada wren", "entity:corvin works", "tag:people", small, f"{small}#1", f"{large}#7")
        world.store.followed_by(lambda: True)

        def look(store: Store = world.store, ids: tuple[str, ...] = ids) -> dict[str, int]:
            return {id_: steps(store, partial(reads.node, store, {"id": id_})) for id_ in ids}

        look()  # the first time something is prepared
        found[size] = {id_.replace(str(tmp_path / str(size)), ""): count for id_, count in look().items()}
        world.store.close()
    assert all(count > 0 for count in found[20].values())
    for id_, count in found[200].items():
        assert count <= found[20][id_] * 1.1 + 3, (id_, found)


@pytest.fixture
def world(tmp_path: Path) -> Answered:
    return Answered(tmp_path / "root", {"user/ada.md": "Ada Wren works.\n"})


def until(holds: Callable[[], bool], seconds: float = 15.0) -> bool:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def walks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes each sync from now on but those of the thread that follows."""
    seen: list[str] = []
    original = sync.sync

    def counting(*given: Any, **more: Any) -> Any:
        if threading.current_thread().name != "memdb-follow":
            seen.append(threading.current_thread().name)
        return original(*given, **more)

    monkeypatch.setattr(sync, "sync", counting)
    return seen


def test_what_is_followed_is_not_walked_for_a_question(world: Answered, monkeypatch: pytest.MonkeyPatch) -> None:
    world.store.close()
    server = Server(world.root / ".memdb" / "memory.db", TOKEN)
    try:
        assert server.get("node/user%2Fada")["label"] == "ada"
        assert until(lambda: server.get("status")["followed"] is True)
        assert server.get("status")["files"] == freshness.FOLLOWED
        seen = walks(monkeypatch)
        for path in ("node/user%2Fada", "graph", "entities", "review", "log", "links", "runs", "documents"):
            server.get(path)
        assert seen == []
        server.get("search?q=ada")  # a recall answers from the files as they are
        assert len(seen) == 1
        (world.root / "user" / "bryn.md").write_text("Bryn Lowe is new.\n", encoding="utf-8")
        assert until(lambda: server("GET", "/memory/node/user%2Fbryn").status_code == 200)
        assert len(seen) == 1
    finally:
        server.explorer.close()


def test_where_nothing_tells_of_changes_each_question_walks(world: Answered, monkeypatch: pytest.MonkeyPatch) -> None:
    following = Freshness(world.store, notices=False)
    try:
        following.use()
        assert until(lambda: following.said == freshness.WALKED)
        assert not following.is_fresh()
        seen = walks(monkeypatch)
        world.store.list()
        assert len(seen) == 1
    finally:
        following.close()


def test_files_that_cannot_be_followed_are_told_with_the_reason(
    world: Answered, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(follower: object) -> None:
        raise OSError("out of watches")

    monkeypatch.setattr(freshness.Follower, "run", fails)
    following = Freshness(world.store)
    try:
        following.use()
        assert until(lambda: "out of watches" in following.said)
        assert not following.is_fresh()
        assert "each question looks at all of them" in following.said
        monkeypatch.undo()
        following.use()
        assert until(lambda: following.said == freshness.FOLLOWED)
    finally:
        following.close()


def test_the_walk_now_and_then_finds_what_no_notice_told(world: Answered, monkeypatch: pytest.MonkeyPatch) -> None:
    from memdb.services.files.following import Follower

    monkeypatch.setattr(Follower, "concerns", lambda *_: False)  # every notice is lost
    following = Freshness(world.store, walk=0.5)
    try:
        following.use()
        assert until(following.is_fresh)
        (world.root / "user" / "bryn.md").write_text("Bryn Lowe is new.\n", encoding="utf-8")
        assert until(lambda: "user/bryn" in [memory.id for memory in world.store.list()])
    finally:
        following.close()


def test_files_are_followed_for_as_long_as_someone_asks(world: Answered) -> None:
    following = Freshness(world.store, idle=1.5, walk=0.2)
    following.use()
    assert until(following.is_fresh)
    assert until(lambda: not following.is_fresh() and following._ended is None)
    following.use()
    assert until(following.is_fresh)
    following.hold()
    time.sleep(2.25)
    assert following.is_fresh()
    following.close()
    assert not following.is_fresh()


def test_what_cannot_be_followed_is_not_fresh(world: Answered, monkeypatch: pytest.MonkeyPatch) -> None:
    following = Freshness(world.store, walk=0.2)
    following.use()
    assert until(following.is_fresh)
    world.root.rename(world.root.with_name("away"))
    try:
        assert until(lambda: not following.is_fresh())
    finally:
        world.root.with_name("away").rename(world.root)
        following.close()
