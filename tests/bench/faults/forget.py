"""What is left of a text that was forgotten: a search of every byte of a store that uses every feature."""

from __future__ import annotations

from memdb.store import Store
from tests.bench.faults.trials import Asked, Found
from tests.fake_embedder import FakeEmbedder
from tests.full_store import ADDRESS, MEMORY, UPLOAD, WORDS, Full, full_store, traces


def run(asked: Asked) -> Found:
    """Forget a memory, a document, an upload and a page, and search at once, after a close and after a rebuild."""
    found = Found({"searches": 0, "needles": 0, "found before": 0, "found after": 0})
    made = full_store(asked.folder)
    needles = {part: made.needles(part) for part in WORDS}
    for part, wanted in needles.items():
        found.count("needles", len(wanted))
        found.count("found before", len({name for _, name in traces(made.root, wanted)}))
        made.store.forget(_written(made, part))
        _search(found, made, {part: wanted}, "at once")
    made.store.close()
    _search(found, made, needles, "closed")
    with Store(made.store.place, FakeEmbedder(window=24)) as again:
        again.rebuild()
    _search(found, made, needles, "rebuilt")
    return found


def _written(made: Full, part: str) -> str:
    documents = {"document": str(made.docs / "moss.md"), "upload": f"upload://{UPLOAD}", "page": ADDRESS}
    return {"memory": MEMORY, **documents}[part]


def _search(found: Found, made: Full, needles: dict[str, dict[str, bytes]], when: str) -> None:
    for part, wanted in needles.items():
        found.count("searches")
        left = traces(made.root, wanted)
        found.count("found after", len(left))
        found.failures += [f"{when}, of the {part}: {name} in {place}" for place, name in sorted(left)]
