"""Several stores as one: `memdb.open_all(["work", "home"])` asks each of them alone and gives one ranked list.

What the list is made by, and when scores count, `services.merging` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from memdb.base import named
from memdb.base.place import Place
from memdb.errors import MemdbError, NotFound, UsageError
from memdb.opened import RECALL_WAIT
from memdb.pool import MOST, StorePool
from memdb.services.context import Context, several
from memdb.services.memories import reading
from memdb.services.recall import merging, prompting
from memdb.services.recall import recall as recalling
from memdb.services.recall.answers import Filters, Hit, ManyRecall, Recall
from memdb.store import Store

Warm = Callable[[Place, str, Filters, dict[str, Any]], Recall | None]
"""What may answer a question for the store of a place, by the options of a recall, so that it need not be opened."""


def open_all(
    stores: Sequence[Path | str] | Path | str | None = None, *, most: int = MOST, watch: bool = False
) -> Stores:
    """The stores of some names and folders, or all that have a name; each is opened when it is first asked.

    At most `most` are open at once; with `watch` the files of those are followed. A store that is not where it was seen
    last stands in the notes of an answer. Raises NotFound for a name that no store has, and where none has one;
    UsageError for a damaged list.
    """
    return Stores(places(stores), most=most, watch=watch)


def places(stores: Sequence[Path | str] | Path | str | None = None) -> dict[str, Place]:
    """The places of some stores, or of all that have a name, by name, there or not.

    A folder without a name has its own name here, or its path where that is taken. Raises NotFound, UsageError.
    """
    listed = named.read()
    if stores is None and not listed:
        raise NotFound("No store has a name.", hint="`memdb stores add NAME FOLDER` gives one.")
    found: dict[str, Place] = {}
    for name, listed_one in listed.items() if stores is None else ():
        if listed_one.place not in found.values():  # a store may have two names
            found[name] = listed_one.place
    for written in map(str, several(stores or ())):
        one = named.meant(written)
        place = one.place if one is not None else named.own_place(written)
        if place in found.values():
            continue
        one = one or next((other for other in listed.values() if other.place == place), None)
        taken = {*found, *listed}
        name = one.name if one is not None else place.root.name if place.root.name not in taken else str(place.root)
        found[name] = place
    return found


def current(name: str, place: Place) -> Place:
    """Where a store is now. Raises NotFound where the named one is not where it was seen last."""
    with suppress(UsageError):  # of a damaged list: what it said before holds
        one = named.read().get(name)
        # A folder that is called like a store which got its name since is another one.
        if one is not None and (one.place == place or named.id_of(place) in (None, one.id)):
            named.check(one)
            return one.place
    return place


class Stores:
    """Stores by name. Safe to share between threads; close it, or use it as a context, at the end."""

    def __init__(
        self,
        places: Mapping[str, Place],
        *,
        most: int = MOST,
        watch: bool = False,
        warm: Warm | None = None,
        make: Callable[[Place], Store] = Store,
    ) -> None:
        self.pool = StorePool(places, most=most, watch=watch, make=make, find=current)
        self.names = tuple(places)
        self._warm = warm

    @property
    def place(self) -> Place:
        """The place of the first one, which is meant where none is named."""
        return self.pool.places[self.names[0]]

    def __enter__(self) -> Stores:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def close(self) -> None:
        """Close all that are open."""
        self.pool.close()

    def use(self, name: str) -> AbstractContextManager[Store]:
        """A store by its name, in any capitals, open while the block lasts. Raises NotFound, Busy, and as opening."""
        return self.pool.use(self.name_of(name))

    def name_of(self, written: str) -> str:
        """The name of a store as it is kept here. Raises NotFound."""
        folded = written.strip().casefold()
        found = next((name for name in self.names if name == written or name.casefold() == folded), None)
        if found is None:
            raise NotFound(f"There is no store of the name {written}.", hint=f"There are {', '.join(self.names)}.")
        return found

    def recall(
        self,
        query: str,
        *,
        stores: Sequence[str] | None = None,
        limit: int = recalling.LIMIT,
        filters: Filters | None = None,
        hops: int = recalling.HOPS,
        arms: Sequence[str] = recalling.ARMS,
        paths: str = "evidence",
        now: str | None = None,
        sync_first: bool = True,
        wait: float = RECALL_WAIT,
    ) -> ManyRecall:
        """The best of all stores, or of some, as one list; every hit says in `store` which one it is of.

        Each store answers alone, as `Store.recall` does with the same options, so that no store changes how another one
        ranks; `services.merging` says how the answers become one list. One that is missing, damaged or busy stands in
        the notes, and in `stores` with a code, and never fails the rest. Raises UsageError for what fits no store: a
        bad limit or date; NotFound for a name that is not here.
        """
        filters = recalling.at(filters, now)
        options = {
            "limit": limit,
            "hops": hops,
            "arms": list(arms),
            "paths": paths,
            "sync_first": sync_first,
            "wait": wait,
        }
        answers: dict[str, Recall] = {}
        failures: dict[str, MemdbError] = {}
        notes: list[str] = []
        asked = self.names if stores is None else dict.fromkeys(map(self.name_of, stores))
        for name in asked:
            try:
                answers[name] = self._recall(name, query, filters or Filters(), options)
            except MemdbError as error:
                failures[name] = error
            notes += [f"{name}: {remark}" for remark in self.pool.remarks(name)]
        unfit = next((error for error in failures.values() if isinstance(error, UsageError)), None)
        if unfit is not None and not answers:
            raise unfit
        failed = {name: (error.code, _sentence(error)) for name, error in failures.items()}
        roots = {name: str(place.root) for name, place in self.pool.places.items()}
        result = merging.combined(query, answers, failed, roots, limit)
        result.notes = notes + result.notes
        return result

    def _recall(self, name: str, query: str, filters: Filters, options: dict[str, Any]) -> Recall:
        if self._warm is not None:
            answer = self._warm(current(name, self.pool.places[name]), query, filters, options)
            if answer is not None:
                return answer
        with self.use(name) as store:
            if filters.document is not None:
                filters = replace(filters, document=store.documents.find(filters.document))
            return store.recall(query, filters=filters, **options)

    def prompt_block(self, answer: Recall, budget: int | None = None) -> str:
        """A recall's answer as text for a prompt, as `Store.prompt_block` makes it; each note names its store.

        A store whose texts cannot be read any more is left out, and the answer's `notes` say so.
        """
        bodies: dict[tuple[str | None, str], str | None] = {}
        for name in dict.fromkeys(hit.store for hit in answer.hits if hit.store is not None):
            try:
                with self.use(name) as store:
                    hits = [hit for hit in answer.hits if hit.store == name]
                    bodies |= {(name, key): body for key, body in store._run(partial(_bodies, hits=hits)).items()}
            except MemdbError as error:
                answer.notes.append(f"{name}: its texts are left out of the block. {_sentence(error)}")

        def body_of(hit: Hit) -> str | None:
            return bodies.get((hit.store, hit.id))

        return prompting.composed(body_of, answer, prompting.BUDGET if budget is None else budget).text


def _bodies(context: Context, hits: Sequence[Hit]) -> dict[str, str | None]:
    return {hit.id: reading.body_of(context, hit.id, hit.version) for hit in hits}


def _sentence(error: MemdbError) -> str:
    return " ".join(filter(None, (error.message, error.hint)))
