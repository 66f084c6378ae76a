"""How many credentials are caught and missed, and innocent texts flagged, by memdb and by detect-secrets."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from memdb.base.secrets import find_secrets
from tests.bench.faults.trials import Asked, Found
from tests.labelled_secrets import Labelled, innocents, secrets

Detector = Callable[[Sequence[str]], list[list[str]]]
"""The stretches of each of some texts that look like a credential."""


def own(texts: Sequence[str]) -> list[list[str]]:
    return [[text[found.start : found.end] for found in find_secrets(text)] for text in texts]


def library(texts: Sequence[str]) -> list[list[str]]:
    """What detect-secrets finds in a file of all the texts, with its default plugins and filters."""
    from detect_secrets.core.scan import scan_file

    of_line: list[int] = []
    for place, text in enumerate(texts):
        of_line += [place] * len(text.splitlines())
    found: list[list[str]] = [[] for _ in texts]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "notes.md"
        file.write_text("".join(f"{line}\n" for text in texts for line in text.splitlines()), encoding="utf-8")
        for one in scan_file(str(file)):
            found[of_line[one.line_number - 1]].append(one.secret_value or "")
    return found


def run(asked: Asked) -> Found:
    """Both detectors on the whole labelled list: a credential counts as caught only where the whole of it is found."""
    found = Found()
    with_secret, without = secrets(), innocents()
    found.figures |= {
        "credentials": len(with_secret),
        "kinds of credentials": len({one.kind for one in with_secret}),
        "innocent texts": len(without),
    }
    for name, detector in _detectors():
        missed, flagged, seconds = _measured(detector, with_secret, without)
        caught = len(with_secret) - len(missed)
        found.figures |= {
            f"{name}: caught": caught,
            f"{name}: missed": len(missed),
            f"{name}: innocents flagged": len(flagged),
            f"{name}: recall": round(caught / len(with_secret), 3),
            f"{name}: precision": round(caught / max(1, caught + len(flagged)), 3),
            f"{name}: ms a text": round(1000 * seconds / (len(with_secret) + len(without)), 2),
        }
        if name == "memdb":
            found.failures += [f"missed: {one.kind}" for one in missed]
            found.failures += [f"flagged: {one.kind}: {one.text[:80]}" for one in flagged]
    return found


def _detectors() -> Iterator[tuple[str, Detector]]:
    yield "memdb", own
    if find_spec("detect_secrets") is not None:
        from detect_secrets.settings import default_settings

        with default_settings():
            yield "detect-secrets", library


def _measured(
    detector: Detector, with_secret: Sequence[Labelled], without: Sequence[Labelled]
) -> tuple[list[Labelled], list[Labelled], float]:
    began = time.process_time()
    of_secrets, of_others = detector([one.text for one in with_secret]), detector([one.text for one in without])
    missed = [one for one, found in zip(with_secret, of_secrets, strict=True) if not _covers(found, one)]
    flagged = [one for one, found in zip(without, of_others, strict=True) if found]
    return missed, flagged, time.process_time() - began


def _covers(found: Sequence[str], one: Labelled) -> bool:
    # Of a private key in several lines, its first line is what a search by lines can find.
    wanted = one.secret or ""
    return any(
        wanted in stretch or ("PRIVATE" in wanted and stretch in wanted and "BEGIN" in stretch) for stretch in found
    )
