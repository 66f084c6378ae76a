"""The store on asyncio: every method has its awaitable twin; what is cancelled leaves no lock and no half a write."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

import memdb
from memdb.async_calls import THREADS, Twin
from memdb.async_store import AsyncStore
from memdb.errors import NotFound, UsageError
from memdb.groups.group import Group
from memdb.services.files.following import Followed
from memdb.services.memories import reading
from memdb.store import Store

pytestmark = pytest.mark.usefixtures("no_model")

FILES: dict[str, str | bytes] = {
    "feedback/prefers-tables.md": "---\ntags: [style]\n---\nTables for comparisons, says Ada Wren.\n",
    "user/ada.md": "Ada Wren likes tea.\n",
}

MINE = {"another", "follow", "init", "restore_backup", "close"}
"""Written by hand: one has a thread of its own, the others open a store, need none, or end one."""


def public(kind: type) -> dict[str, Any]:
    return {name: value for name, value in inspect.getmembers(kind) if not name.startswith("_")}


@pytest.fixture
def store(make_store: Callable[..., Store]) -> Iterator[Store]:
    made = make_store(FILES)
    yield made
    made.close()


def run(store: Store, talk: Callable[[AsyncStore], Coroutine[Any, Any, Any]]) -> Any:
    async def whole() -> Any:
        async with memdb.open_async(store.place.root) as awaited:
            return await talk(awaited)

    return asyncio.run(asyncio.wait_for(whole(), 60))


# Nothing is missing


def test_every_public_method_has_its_twin() -> None:
    for name, value in public(Store).items():
        twin = inspect.getattr_static(AsyncStore, name, None)
        if isinstance(value, property):
            assert isinstance(twin, property), name
        elif name in MINE:
            assert twin is not None
        else:
            assert isinstance(twin, Twin), name
            assert twin.__wrapped__ is value, name
    assert public(AsyncStore).keys() <= public(Store).keys() | {"store", "place"}


def test_another_of_one_folder_answers_beside_it(store: Store) -> None:
    async def talk() -> None:
        async with AsyncStore(store).another() as other:
            assert other.store is not store
            assert other.place == store.place

    asyncio.run(talk())


def test_every_method_of_a_group_has_its_twin(store: Store) -> None:
    seen = 0
    for noun in public(Store):
        if not isinstance(getattr(Store, noun), property) or not isinstance(getattr(store, noun), Group):
            continue
        group, twins = type(getattr(store, noun)), type(getattr(AsyncStore(store), noun))
        assert twins.noun == noun
        methods = {name: value for name, value in public(group).items() if callable(value)}
        for name, value in methods.items():
            twin = inspect.getattr_static(twins, name, None)
            assert isinstance(twin, Twin), f"{noun}.{name}"
            assert twin.__wrapped__ is value
            seen += 1
        assert {name for name, value in vars(twins).items() if isinstance(value, Twin)} == methods.keys()
    assert seen > 40


def test_a_twin_has_the_signature_and_the_words_of_its_method(store: Store) -> None:
    awaited = AsyncStore(store)
    assert inspect.signature(awaited.recall) == inspect.signature(store.recall)
    assert inspect.signature(AsyncStore.recall) == inspect.signature(Store.recall)
    assert inspect.getdoc(awaited.entities.merge) == inspect.getdoc(store.entities.merge)
    for name in ("follow", "init", "restore_backup"):
        ours, theirs = (inspect.signature(getattr(kind, name)) for kind in (AsyncStore, Store))
        assert list(ours.parameters) == list(theirs.parameters)


TYPED = """
import memdb
from memdb.services.decisions import Decision
from memdb.services.recall.recall import Recall


async def right() -> None:
    async with memdb.open_async("notes") as store:
        found: Recall = await store.recall("tea", limit=3)
        merged: Decision = await store.entities.merge("a", "b", why="one")
        names: list[str] = [entity.name for entity in await store.entities.list(limit=2)]


async def wrong() -> None:
    store = await memdb.open_async("notes")
    await store.recall(7)
    await store.recall("tea", most=3)
    text: str = await store.recall("tea")
    await store.entities.merge("a")
"""


@pytest.mark.slow
def test_mypy_sees_the_real_signatures(tmp_path: Path) -> None:
    file = tmp_path / "typed.py"
    file.write_text(TYPED)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(file)],
        cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False,
    )  # fmt: skip
    wrong = sorted(int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line)
    assert wrong == [16, 17, 18, 19], done.stdout


# What it does


def test_it_does_what_the_store_does(store: Store) -> None:
    async def talk(awaited: AsyncStore) -> None:
        found = await awaited.recall("tables for comparisons", limit=1)
        assert [hit.id for hit in found.hits] == ["feedback/prefers-tables"]
        assert (await awaited.save("user/kettle", "The kettle is red.")).created
        assert [one.id for one in (await awaited.recall("kettle")).hits] == ["user/kettle"]
        merged = await awaited.entities.rename("Ada Wren", "Countess")
        assert (await awaited.log())[0].id == merged.id
        assert (await awaited.undo(merged.id)).action == "undo"
        assert await awaited.documents.list() == []
        with pytest.raises(NotFound):
            await awaited.show("user/none")
        with pytest.raises(UsageError):
            await awaited.recall("x", limit=0)
        assert awaited.place == store.place
        assert awaited.is_warm
        assert awaited.damage is None

    run(store, talk)
    assert store.recall("kettle").hits[0].id == "user/kettle"


def test_the_loop_goes_on_meanwhile(store: Store) -> None:
    async def talk(awaited: AsyncStore) -> int:
        ticks = 0
        saving = asyncio.create_task(awaited.sync(progress=lambda *_: time.sleep(0.05)))
        while not saving.done():
            ticks += 1
            await asyncio.sleep(0.001)
        return ticks

    for number in range(20):
        (store.place.root / f"user/note-{number}.md").write_text(f"Note {number}.\n")
    assert run(store, talk) > 10


def test_many_tasks_at_once(store: Store) -> None:
    async def talk(awaited: AsyncStore) -> None:
        async def one(number: int) -> None:
            await awaited.save(f"user/task-{number}", f"The task number {number} has a kettle of its own.")
            await awaited.recall(f"task number {number}")
            assert (await awaited.show(f"user/task-{number}")).body.startswith(f"The task number {number} ")

        await asyncio.gather(*(one(number) for number in range(24)))
        assert len(await awaited.list()) == 26

    run(store, talk)
    assert store.digest() == store.digest()
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("memdb-async")]
    assert threads == []


def test_an_opened_one_is_closed_by_hand_and_opens_again(store: Store) -> None:
    async def talk() -> None:
        awaited = await memdb.open_async(store.place.root)
        assert len(await awaited.list()) == 2
        await awaited.close()
        assert len(await awaited.list()) == 2
        await awaited.close()
        made = await AsyncStore.init(store.place.root)
        async with made:
            assert len(await made.list()) == 2

    asyncio.run(talk())
    with pytest.raises(NotFound):
        asyncio.run(memdb.open_async(store.place.root / "none")._open())


# What is cancelled


def test_a_call_that_waits_for_its_turn_is_not_made(store: Store) -> None:
    async def talk(awaited: AsyncStore) -> None:
        go = threading.Event()
        blocked = [asyncio.create_task(awaited._calls.run(go.wait)) for _ in range(THREADS)]
        await asyncio.sleep(0.05)
        saving = asyncio.create_task(awaited.save("user/never", "Never written."))
        await asyncio.sleep(0.05)
        saving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await saving
        go.set()
        await asyncio.gather(*blocked)

    run(store, talk)
    assert not (store.place.root / "user/never.md").exists()


def test_a_call_that_has_begun_goes_to_its_end(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    began, go = threading.Event(), threading.Event()
    listed = reading.list_memories

    def slowly(*given: Any, **options: Any) -> Any:
        began.set()
        go.wait(20)
        return listed(*given, **options)

    async def talk(awaited: AsyncStore) -> None:
        monkeypatch.setattr(reading, "list_memories", slowly)
        listing = asyncio.create_task(awaited.list())
        await asyncio.to_thread(began.wait)
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(listing, 0.05)
        assert time.monotonic() - started < 15  # of the 20 seconds that the call takes
        go.set()
        assert (await awaited.show("user/ada")).id == "user/ada"  # the lock is free

    run(store, talk)


def test_cancelled_at_any_moment_it_leaves_whole_files_and_no_lock(store: Store) -> None:
    """A hundred and twenty saves from six tasks, each cancelled at a random moment, or not at all."""
    chance = random.Random(7)
    confirmed: set[str] = set()

    async def talk(awaited: AsyncStore) -> None:
        async def save(name: str) -> None:
            await awaited.save(name, f"The whole text of {name}, to its last word.\n", tags=["a", "b"])
            confirmed.add(name)

        async def many(task: int) -> None:
            for number in range(20):
                saving = asyncio.create_task(save(f"user/note-{task}-{number}"))
                await asyncio.sleep(chance.choice([0, 0, 0.001, 0.005, 0.02]))
                if chance.random() < 0.8:
                    saving.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await saving

        await asyncio.gather(*(many(task) for task in range(6)))
        await asyncio.wait_for(awaited.recall("whole text"), 20)

    run(store, talk)
    there = {f"user/{file.stem}" for file in (store.place.root / "user").glob("note-*.md")}
    assert confirmed <= there
    for name in there:
        text = (store.place.root / f"{name}.md").read_text()
        assert text.endswith(f"The whole text of {name}, to its last word.\n")
    live = store.digest()
    store.rebuild()
    assert store.digest() == live
    assert not list(store.place.root.glob("**/*.tmp"))


def test_cancelled_while_it_opens_it_is_closed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    closed, go = threading.Event(), threading.Event()
    close = Store.close
    monkeypatch.setattr(Store, "close", lambda self: (close(self), closed.set()))

    def slowly(root: Path) -> Store:
        go.wait(20)
        return memdb.open(root)

    async def talk() -> None:
        opening = asyncio.ensure_future(memdb.async_store.Opening(lambda: slowly(store.place.root))._open())
        await asyncio.sleep(0.05)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        go.set()
        assert await asyncio.to_thread(closed.wait, 20)

    asyncio.run(talk())


def test_following_ends_with_its_task(store: Store) -> None:
    events: list[Followed] = []

    async def talk(awaited: AsyncStore) -> None:
        following = asyncio.create_task(awaited.follow(events.append, poll=0.05, notices=False))
        while not any(event.kind == "watching" for event in events):
            await asyncio.sleep(0.01)
        (store.place.root / "user/late.md").write_text("A late note.\n")
        while not any(event.report is not None and event.report.added for event in events[1:]):
            await asyncio.sleep(0.01)
        following.cancel()
        with pytest.raises(asyncio.CancelledError):
            await following
        assert events[-1].kind == "stopped"

    run(store, talk)


def test_several_stores_are_asked_and_awaited(tmp_path: Path, no_model: None) -> None:
    async def main() -> None:
        for name, text in (
            ("work", "The kettle of the office is red."),
            ("home", "The kettle of the kitchen is blue."),
        ):
            with Store.init(tmp_path / name) as store:
                store.save("user/kettle", text)
        async with memdb.open_all_async([tmp_path / "work", tmp_path / "home"]) as stores:
            answers = await asyncio.gather(*(stores.recall("which colour has the kettle") for _ in range(4)))
            assert [{hit.store for hit in answer.hits} for answer in answers] == [{"work", "home"}] * 4
            assert "kitchen is blue" in await stores.prompt_block(answers[0])
            assert (list(stores), len(stores)) == (["work", "home"], 2)
            async with stores.use("home") as store:
                assert [one.id for one in await store.list()] == ["user/kettle"]
            with pytest.raises(NotFound):
                async with stores.use("garden"):
                    pass
        with pytest.raises(NotFound):
            async with memdb.open_all_async(["nowhere"]):
                pass
        with pytest.raises(RuntimeError):
            len(memdb.open_all_async([tmp_path / "work"]))

    asyncio.run(main())
