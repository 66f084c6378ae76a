"""Many stores open in one process: at most so many, closed with their watchers, never under a call, opened again."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from memdb.base import named, settings
from memdb.base.place import Place
from memdb.errors import Busy, NotFound
from memdb.pool import MOST, StorePool
from memdb.services.recall import sessions
from memdb.store import Store
from tests.cli_support import make, write

pytestmark = pytest.mark.usefixtures("no_model")

LONG = 30.0
"""Seconds until a test gives up waiting for what should take a fraction of one."""


class Counted(Store):
    """A store that says whether it is open."""

    is_open = False

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.is_open = True

    def close(self) -> None:
        super().close()
        self.is_open = False


@contextmanager
def pool(root: Path, count: int, **options: object) -> Iterator[StorePool]:
    """A pool of stores s00, s01, … each with one memory of its number."""
    places = {}
    for number in range(count):
        name = f"s{number:02}"
        with Store.init(write(root / name, **{"user__note": f"The lamp of room {number} is green.\n"})) as store:
            places[name] = store.place
    stores = StorePool(places, make=Counted, **options)  # type: ignore[arg-type]
    try:
        yield stores
    finally:
        stores.close()


def until(met: Callable[[], bool]) -> None:
    end = time.monotonic() + LONG
    while not met():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)


def watchers() -> set[str]:
    return {thread.name.removeprefix("memdb-follow-") for thread in threading.enumerate() if "follow-" in thread.name}


def ask(stores: StorePool, name: str) -> list[tuple[str, float]]:
    with stores.use(name) as store:
        return [(hit.id, hit.score) for hit in store.recall(f"lamp of room {int(name[1:])}").hits]


def test_the_seventeenth_closes_the_one_that_was_used_the_longest_ago_with_its_watcher(tmp_path: Path) -> None:
    assert MOST == 16
    with pool(tmp_path, 17, watch=True) as stores:
        names = list(stores.places)
        first = ask(stores, "s00")
        opened = {}
        for name in names[:16]:
            with stores.use(name) as store:
                opened[name] = store
        ask(stores, "s00")  # so that s01 is the one that waited the longest
        assert stores.open == [*names[1:16], "s00"]
        assert watchers() == set(names[:16])
        ask(stores, "s16")
        assert stores.open == [*names[2:16], "s00", "s16"]
        assert not opened["s01"].is_open
        assert opened["s00"].is_open
        until(lambda: watchers() == {*names[2:], "s00"})
        # Asked again, the closed one answers as before, and another one goes.
        assert ask(stores, "s01") == ask(stores, "s01") != []
        assert stores.open == [*names[3:16], "s00", "s16", "s01"]
        for name in names[2:16]:
            with stores.use(name):
                pass
        assert "s00" not in stores.open
        assert ask(stores, "s00") == first
    assert stores.open == []
    assert watchers() == set()


def test_more_are_never_open_than_may_be(tmp_path: Path) -> None:
    most = 3
    alive: list[int] = []
    guard = threading.Lock()
    held: set[int] = set()

    class Watched(Counted):
        def __init__(self, place: Place) -> None:
            with guard:
                held.add(id(self))
                alive.append(len(held))
            super().__init__(place)

        def close(self) -> None:
            super().close()
            with guard:
                held.discard(id(self))

    with pool(tmp_path, 5, most=most) as stores:
        stores._make = Watched
        wrong: list[str] = []

        def work(start: int) -> None:
            for step in range(6):
                name = f"s{(start + step * 3) % 5:02}"
                if [key for key, _ in ask(stores, name)] != ["user/note"]:
                    wrong.append(name)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONG)
        assert not any(thread.is_alive() for thread in threads)
        assert wrong == []
    assert max(alive) <= most
    assert held == set()


def test_a_call_in_flight_is_never_closed_under_its_feet(tmp_path: Path) -> None:
    with pool(tmp_path, 4, most=2) as stores, ExitStack() as calls:
        first = calls.enter_context(stores.use("s00"))
        ask(stores, "s01")
        ask(stores, "s02")  # s00 waited the longest, and stays
        assert stores.open == ["s00", "s02"]
        assert isinstance(first, Counted) and first.is_open
        second = calls.enter_context(stores.use("s02"))
        # Both are at work: another one has to wait until one of them is done.
        done: list[object] = []
        waiting = threading.Thread(target=lambda: done.append(ask(stores, "s03")))
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive() and done == []
        assert first.is_open and isinstance(second, Counted) and second.is_open
        calls.close()
        waiting.join(LONG)
        assert done == [[("user/note", done[0][0][1])]]  # type: ignore[index]


def test_who_waits_too_long_is_told(tmp_path: Path) -> None:
    with pool(tmp_path, 2, most=1, wait=0.05) as stores, stores.use("s00"):
        with pytest.raises(Busy) as error, stores.use("s01"):
            pass
        assert "All 1 stores" in error.value.message
        with stores.use("s00"):  # the same one twice is no second one
            pass


def test_closing_waits_for_calls(tmp_path: Path) -> None:
    with pool(tmp_path, 2) as stores:
        with stores.use("s00") as store:
            closing = threading.Thread(target=stores.close)
            closing.start()
            closing.join(0.3)
            assert closing.is_alive() and store.recall("lamp").hits
        closing.join(LONG)
        assert not closing.is_alive()
        with pytest.raises(Busy), stores.use("s00"):
            pass


def test_what_cannot_be_opened_takes_no_place(tmp_path: Path) -> None:
    with pool(tmp_path, 3, most=1) as stores:
        (tmp_path / "s01/.memdb").rename(tmp_path / "aside")
        for _ in range(3):
            with pytest.raises(NotFound), stores.use("s01"):
                pass
        assert stores.open == []
        with pytest.raises(NotFound) as error, stores.use("nowhere"):
            pass
        assert error.value.hint == "There are s00, s01, s02."
        (tmp_path / "aside").rename(tmp_path / "s01/.memdb")
        assert [key for key, _ in ask(stores, "s01")] == ["user/note"]


def test_a_store_whose_settings_changed_is_opened_anew(tmp_path: Path) -> None:
    with pool(tmp_path, 1) as stores:
        with stores.use("s00") as before:
            place = before.place
            settings.write_settings(place, settings.read_settings(place) | {"user": "ines"})
            with stores.use("s00") as meanwhile:
                assert meanwhile is before
        with stores.use("s00") as after:
            assert after is not before
        assert isinstance(before, Counted) and not before.is_open


def test_files_are_followed_while_a_store_is_open(tmp_path: Path) -> None:
    with pool(tmp_path, 2, most=1, watch=True) as stores:
        ask(stores, "s00")
        until(lambda: stores.is_followed("s00"))
        write(tmp_path / "s00", user__kettle="The kettle is red.\n")

        def is_found() -> bool:
            with stores.use("s00") as store:
                return [hit.id for hit in store.recall("kettle", sync_first=False).hits] == ["user/kettle"]

        until(is_found)
        ask(stores, "s01")
        assert not stores.is_followed("s00")


@pytest.mark.skipif(sys.platform == "win32", reason="there a folder with open files cannot be moved")
def test_a_store_that_moves_while_it_is_served_is_found_again(tmp_path: Path) -> None:
    from memdb.stores import open_all

    make(tmp_path / "work", user__kettle="The kettle is red.\n")
    named.add("work", tmp_path / "work")
    with open_all() as stores:
        assert [hit.id for hit in stores.recall("kettle").hits] == ["user/kettle"]
        (tmp_path / "work").rename(tmp_path / "office")
        gone = stores.recall("kettle")
        assert (gone.hits, gone.empty_because) == ([], "no_store")
        assert [store.error for store in gone.stores] == ["not_found"]
        named.opened(settings.place(tmp_path / "office"))
        assert [hit.id for hit in stores.recall("kettle").hits] == ["user/kettle"]


# Sessions


def test_the_65th_session_drops_the_one_that_was_used_the_longest_ago(tmp_path: Path) -> None:
    place = settings.place(make(tmp_path))
    for number in range(64):
        sessions.note(place, f"session {number}", {"user/kettle": "mark"})
    sessions.note(place, "session 0", {})  # asked again, and nothing new was given: it is in use
    sessions.note(place, "session 64", {"user/kettle": "mark"})
    left = [number for number in range(65) if sessions.given(place, f"session {number}")]
    assert left == [0, *range(2, 65)]


def test_each_store_keeps_64_sessions_of_its_own(tmp_path: Path) -> None:
    places = [settings.place(make(tmp_path / name)) for name in ("work", "home")]
    for place in places:
        for number in range(70):
            sessions.note(place, f"session {number}", {"user/kettle": "mark"})
    assert [len(list((place.home / "local/sessions").iterdir())) for place in places] == [64, 64]


def test_a_session_goes_on_in_a_folder_that_moved(tmp_path: Path) -> None:
    sessions.note(settings.place(make(tmp_path / "before")), "1", {"user/kettle": "mark"})
    (tmp_path / "before").rename(tmp_path / "after")
    after = settings.place(tmp_path / "after")
    assert sessions.given(after, "1") == {"user/kettle": "mark"}
    assert sessions.given(settings.place(tmp_path / "after", tmp_path / "other.db"), "1") == {}
