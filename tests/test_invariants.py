"""Rebuild equals live: after any history, a database built anew from the folder says the same."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from memdb.errors import MemdbError, NotFound
from tests import histories
from tests.histories import BODIES, HEADS, PATHS, UNREADABLE, World, anew, copied, differing

paths = st.sampled_from(PATHS)
texts = st.builds(lambda head, body: (head + body).encode(), st.sampled_from(HEADS), st.sampled_from(BODIES))
contents = st.one_of(
    texts,
    texts,
    texts,
    texts.map(lambda data: data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")),
    st.sampled_from([UNREADABLE, b"\xef\xbb\xbf# Marked\n", b"torn \xe9\xe8 latin\n"]),
    texts.map(lambda data: data + histories.secret().encode()),
)


class History(RuleBasedStateMachine):
    """Every step is one that a person, an editor, a sync tool or memdb takes."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="memdb-history-"))
        self.world = World(self.folder / "root")

    @initialize(start=st.lists(st.tuples(paths, texts), max_size=12))
    def begin(self, start: list[tuple[str, bytes]]) -> None:
        for number, (path, data) in enumerate(start):
            self.world.write(path, data + f"Number {number}.\n".encode())
        self.world.store.sync()

    @rule(path=paths, data=contents)
    def edit_outside(self, path: str, data: bytes) -> None:
        self.world.write(path, data)

    @rule(data=st.data(), new=paths)
    def rename(self, data: st.DataObject, new: str) -> None:
        if (old := self.some_file(data)) is not None:
            self.world.rename(old, new)

    @rule(data=st.data(), new=paths)
    def rename_and_put_back(self, data: st.DataObject, new: str) -> None:
        if (old := self.some_file(data)) is not None and old != new:
            before = (self.world.root / old).read_bytes()
            self.world.rename(old, new)
            self.world.write(old, before)

    @rule(data=st.data())
    def swap(self, data: st.DataObject) -> None:
        one, other = self.some_file(data), self.some_file(data)
        if one is not None and other is not None and one != other:
            self.world.swap(one, other)

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        if (old := self.some_file(data)) is not None:
            (self.world.root / old).unlink()

    @rule(
        name=st.sampled_from(["a", "b", "c", "deep/er", "caf\u00e9"]),
        kind=st.sampled_from(["user", "reference", "notes"]),
        body=st.one_of(st.none(), st.sampled_from(BODIES)),
        tags=st.one_of(st.none(), st.lists(st.sampled_from(["style", "x", "y"]), max_size=2)),
    )
    def save(self, name: str, kind: str, body: str | None, tags: list[str] | None) -> None:
        try:
            self.world.store.save(f"{kind}/{name}", body, tags=tags)
        except MemdbError as error:
            # A file that is no text, or not UTF-8, is not edited.
            assert error.code in ("undecodable", "unencodable", "frontmatter", "usage"), error

    @rule(embed=st.booleans())
    def sync(self, embed: bool) -> None:
        self.world.store.sync(yes=True, embed=embed)
        report = self.world.store.sync(embed=embed)
        assert (report.added, report.changed, report.removed, report.renamed) == (0, 0, 0, 0)

    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        self.world.store.sync(yes=True)
        known = [memory.id for memory in self.world.store.list()] + [f"user/{name}" for name in "ab"]
        try:
            self.world.store.forget(data.draw(st.sampled_from(sorted(known))))
        except NotFound:
            pass
        except MemdbError as error:
            assert error.code == "usage", error  # the name means several

    @rule()
    def switch_model(self) -> None:
        self.world.switch_model()

    @rule()
    def reopen(self) -> None:
        self.world.reopen()

    @precondition(lambda self: self.world.files())
    @rule()
    def rebuild(self) -> None:
        self.world.store.rebuild()

    def some_file(self, data: st.DataObject) -> str | None:
        there = [str(file.relative_to(self.world.root)) for file in self.world.files()]
        return data.draw(st.sampled_from(there)) if there else None

    def teardown(self) -> None:
        try:
            before = contents_of(self.world.root)
            live = self.world.finish()
            assert contents_of(self.world.root) == before
            other = copied(self.world.root, self.folder / "copy")
            assert differing(live, other) == []
            again = anew(self.world.root)
            assert differing(live, again) == []
            assert (live.digest, live.vectors) == (again.digest, again.vectors)
            assert all(finding.state != "error" for finding in self.doctor())
        finally:
            self.world.store.close()
            shutil.rmtree(self.folder)

    def doctor(self) -> list[object]:
        self.world.reopen()
        return list(self.world.store.doctor())


def contents_of(root: Path) -> dict[str, str]:
    """The sha256 of every file outside of `.memdb`."""
    return {
        str(file.relative_to(root)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(root.rglob("*"))
        if file.is_file() and ".memdb" not in file.relative_to(root).parts
    }


def bounds(number: int) -> settings:
    """So many histories, or as many as the environment says."""
    return settings(
        max_examples=int(os.environ.get("MEMDB_TEST_HISTORIES", number)),
        stateful_step_count=int(os.environ.get("MEMDB_TEST_STEPS", "15")),
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


TestHistory = History.TestCase
TestHistory.settings = bounds(6)


@pytest.mark.slow
class TestHistories(History.TestCase):
    """More of them."""

    settings = bounds(15)
