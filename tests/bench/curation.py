"""How long correcting the graph takes: `python -m tests.bench.curation [--entities N] [--repeat N] [--json]`.

A store of memories that mention N entities, one of them a hub that every text mentions, without a model. Each figure is
held against what the same run takes for one save of a memory, or for one recall, so that the machine does not decide.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from memdb.base.embedding import Embedder
from memdb.store import Store
from tests.bench.measuring import Row, median, medians, seconds

ENTITIES, REPEAT, NAMES_PER_TEXT = 10_000, 5, 4

SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "zu", "tha", "lin")

CHANGE_GOAL, HUB_GOAL = 10.0, 40.0
"""Saves of one memory that a decision about an entity, and one about a hub, may take as long as."""

LIST_GOAL, SUGGEST_GOAL = 5.0, 60.0
"""Recalls that a page of the list, and suggestions where all names are compared, may take as long as."""

KEPT_GOAL = 5.0
"""The same of suggestions, and of the whole review, where no entity changed, or one."""


def build(root: Path, entities: int) -> tuple[Store, list[str]]:
    """A synced store, and the names that its texts mention; the first is the hub."""
    pick = random.Random(1)
    names: dict[str, None] = {}
    while len(names) < entities:
        names[" ".join("".join(pick.choices(SYLLABLES, k=3)).capitalize() for _ in range(2))] = None
    listed = list(names)
    folder = root / "project"
    folder.mkdir(parents=True)
    for place in range(0, entities, NAMES_PER_TEXT):
        own = listed[place : place + NAMES_PER_TEXT]
        others = [listed[int(pick.paretovariate(0.7)) % entities] for _ in range(NAMES_PER_TEXT)]
        said = ", ".join(dict.fromkeys([*own, *others, listed[0]]))
        (folder / f"n{place}.md").write_text(f"We saw {said} on that day.\n", encoding="utf-8", newline="\n")
    store = Store.init(root, embedder=Embedder(enabled=False))
    store.sync()
    return store, listed


def rows(store: Store, names: list[str], repeat: int) -> Iterator[Row]:
    """The figures of one store."""
    size = len(store.entities.list())
    counter = iter(range(1_000_000))

    def save() -> object:
        return store.save("project/n0", f"We saw {names[0]} and {names[1]} on day {next(counter)}.")

    def figure(name: str, value: float, against: float, baseline: str, goal: float) -> Row:
        return Row(name, size, "entities", value * 1000, "ms", against * 1000, baseline, goal)

    hub, one, other, third = names[0], names[size // 2], names[size // 2 + 1], names[size // 2 + 2]

    def undone(change: Callable[[], object]) -> Callable[[], object]:
        def run() -> object:
            return store.undo(getattr(change(), "id"))  # noqa: B009 (whatever decision it is)

        return run

    for name, change, goal in (
        ("rename and its undo", lambda: store.entities.rename(one, f"Another {one}"), CHANGE_GOAL),
        ("merge and its undo", lambda: store.entities.merge(one, other), CHANGE_GOAL),
        ("delete and its undo", lambda: store.entities.delete(third), CHANGE_GOAL),
        ("merge into a hub and its undo", lambda: store.entities.merge(one, hub), CHANGE_GOAL),
        ("merge of a hub and its undo", lambda: store.entities.merge(hub, one), HUB_GOAL),
    ):
        value, against = medians(undone(change), save, repeat)
        yield figure(name, value, against, "one save", goal)

    def recall() -> object:
        return store.recall(f"What of {one}?")

    value, against = medians(lambda: store.entities.list(limit=50), recall, repeat)
    yield figure("entities, the first 50", value, against, "one recall", LIST_GOAL)
    value = seconds(lambda: store.entities.suggest(limit=20))
    yield figure("suggest, all names compared", value, median(recall, repeat), "one recall", SUGGEST_GOAL)
    value, against = medians(lambda: store.entities.suggest(limit=20), recall, repeat)
    yield figure("suggest, nothing changed", value, against, "one recall", KEPT_GOAL)
    value, against = medians(store.review.list, recall, repeat)
    yield figure("review, nothing changed", value, against, "one recall", KEPT_GOAL)
    renamed = []
    for place in range(repeat):
        store.entities.rename(names[size // 3 + place], f"Yet another {names[size // 3 + place]}")
        renamed.append(seconds(lambda: store.entities.suggest(limit=20)))
    yield figure("suggest, one entity changed", statistics.median(renamed), against, "one recall", KEPT_GOAL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--entities", type=int, default=ENTITIES)
    parser.add_argument("--repeat", type=int, default=REPEAT)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ["MEMDB_HOME"] = str(Path(folder) / "home")
        store, names = build(Path(folder) / "root", asked.entities)
        with store:
            found = list(rows(store, names, asked.repeat))
    if asked.json:
        print(json.dumps({"rows": [row.as_json() for row in found]}, indent=2))
        return
    for row in found:
        met = "" if row.is_met is None else "  met" if row.is_met else "  missed"
        print(f"{row.figure:32} {row.value:9.1f} ms  {row.ratio:6.2f} x {row.baseline} (goal {row.goal:g}){met}")


if __name__ == "__main__":
    main()
