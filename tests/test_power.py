"""A power cut takes what was not synced: what a disk may have then, and that memdb syncs what it confirms."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.faults import disk
from tests.bench.faults.disk import FOLDER, Platter, Recorded
from tests.bench.faults.power import unsynced

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="trials are forks of a process")

REPOSITORY = Path(__file__).parents[1]

SAMPLE = """
import json, sys, tempfile
from pathlib import Path
from tests.bench.faults import faulty, power, scripted, stores, trials
from tests.bench.faults.trials import Asked, Found, add, forked, loaded

with tempfile.TemporaryDirectory(dir=trials.scratch(), ignore_cleanup_errors=True) as folder:
    with scripted.endpoint(Path(folder)):
        asked, found = Asked(True, Path(folder), 1), Found()
        faulty.install()
        loaded()
        template = asked.folder / "template"
        built = forked(lambda tell: stores.build(template / "root"))
        assert built.code == 0, built.errors
        for operation in stores.OPERATIONS:
            if operation.name in sys.argv[1].split(","):
                add(found, power.tried(asked, asked.folder / "trial", template, operation, most=3))
        print(json.dumps({"figures": found.figures, "failures": found.failures}))
"""


@pytest.mark.slow
def test_what_was_confirmed_outlives_a_power_cut() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SAMPLE, "save,forget"],
        cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    sample = json.loads(done.stdout)
    assert sample["failures"] == []
    assert sample["figures"]["power cuts tried"] == 12
    assert sample["figures"]["unsynced sectors and names lost"] > 100


def recorded(*events: disk.Event) -> Recorded:
    """A folder with one file, a.txt of the bytes `old`, and what is written there."""
    return Recorded({0: b"old"}, {"": {"root": FOLDER}, "root": {"a.txt": 0}}, list(events))


def kept(what: Recorded, tmp_path: Path, *, keeps: bool) -> dict[str, bytes]:
    """The files that a disk has which keeps all of what was not synced, or nothing of it."""
    where = tmp_path / "made"
    Platter.after(what, len(what.events)).made(where, tmp_path / "none", lambda: keeps)
    return {file.name: file.read_bytes() for file in (where / "root").iterdir()}


@pytest.mark.parametrize(
    ("events", "least", "most"),
    [
        ([("write", 0, 0, b"new")], {"a.txt": b"old"}, {"a.txt": b"new"}),
        ([("write", 0, 0, b"new"), ("sync", 0)], {"a.txt": b"new"}, {"a.txt": b"new"}),
        ([("write", 0, 4, b"!")], {"a.txt": b"old"}, {"a.txt": b"old\0!"}),
        ([("cut", 0, 1)], {"a.txt": b"old"}, {"a.txt": b"o"}),
        ([("names", "root", {"a.txt": 0, "b.txt": 1}), ("write", 1, 0, b"b"), ("sync", 1)],
         {"a.txt": b"old"}, {"a.txt": b"old", "b.txt": b"b"}),
        ([("names", "root", {"a.txt": 0, "b.txt": 1}), ("write", 1, 0, b"b"), ("sync names", "root")],
         {"a.txt": b"old", "b.txt": b""}, {"a.txt": b"old", "b.txt": b"b"}),
        ([("names", "root", {}), ("sync names", "root")], {}, {}),
        ([("names", "root", {"b.txt": 0})], {"a.txt": b"old"}, {"b.txt": b"old"}),
    ],
)  # fmt: skip
def test_what_a_disk_has_at_least_and_at_most(
    tmp_path: Path, events: list[disk.Event], least: dict[str, bytes], most: dict[str, bytes]
) -> None:
    assert kept(recorded(*events), tmp_path, keeps=False) == least
    assert kept(recorded(*events), tmp_path, keeps=True) == most


def test_a_write_is_lost_by_the_sector() -> None:
    parts = list(disk.sectors(("write", 0, 500, b"x" * 1100)))
    assert [(part[2], len(part[3])) for part in parts] == [(500, 12), (512, 512), (1024, 512), (1536, 64)]
    pick = random.Random(4)
    keeps = disk.some(pick)
    assert {keeps() for _ in range(50)} == {True, False}


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([("write", 0, 0, b"new"), ("done",)], ["a.txt is written and not synced when call 1 returns"]),
        ([("write", 0, 0, b"new"), ("sync", 0), ("done",)], []),
        ([("names", "root", {}), ("done",)], ["the name a.txt is not synced when call 1 returns"]),
        ([("names", "root", {}), ("sync names", "root"), ("done",)], []),
        ([("done",), ("names", "root", {}), ("done",)], ["the name a.txt is not synced when call 2 returns"]),
    ],
)
def test_what_a_call_left_unsynced_is_told(events: list[disk.Event], said: list[str]) -> None:
    assert unsynced(recorded(*events)) == said
