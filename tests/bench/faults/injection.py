"""How many texts that order a model about are marked, and how many ordinary ones: a labelled list, and real notes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

from memdb.domain.injection import marks
from tests.bench.faults.trials import Asked, Found
from tests.labelled_injections import MARKED, ORDINARY

DATA = Path(__file__).parents[4] / "shared" / "data"
"""The reference corpora, where they are beside the repository."""


def run(asked: Asked) -> Found:
    """Every text of the list, alone; then every note and passage of the corpora, which order no model about."""
    found = Found()
    missed = [text for mark, text in MARKED if mark not in marks(text)]
    flagged = [text for text in ORDINARY if marks(text)]
    found.figures |= {
        "texts with orders, hidden or imitating text": len(MARKED),
        "marked": len(MARKED) - len(missed),
        "ordinary texts": len(ORDINARY),
        "ordinary texts marked": len(flagged),
    }
    found.failures += [f"not marked: {text[:80]!r}" for text in missed]
    found.failures += [f"marked: {text[:80]!r}" for text in flagged]
    texts = list(_real())[:: 10 if asked.quick else 1]
    if texts:
        began = time.process_time()
        real = [name for name, text in texts if marks(text)]
        found.figures |= {
            "real notes and passages": len(texts),
            "real notes and passages marked": len(real),
            "ms a million characters": round(
                1000 * (time.process_time() - began) / max(1, sum(len(text) for _, text in texts)) * 1_000_000
            ),
        }
        found.failures += [f"marked: {name}" for name in real]
    return found


def _real() -> Iterator[tuple[str, str]]:
    for file in sorted(DATA.rglob("*")) if DATA.is_dir() else ():
        name = file.relative_to(DATA).as_posix()
        if file.suffix == ".md":
            yield name, file.read_text(encoding="utf-8", errors="replace")
        elif file.name == "corpus.jsonl":
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
                record = json.loads(line)
                yield f"{name} line {number}", f"{record.get('title') or ''}\n{record['text']}"
