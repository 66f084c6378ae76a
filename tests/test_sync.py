"""Sync: what changed on disk comes into the index, nothing is done twice, nothing of the user's is touched."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memdb.base import files
from memdb.base.settings import place
from memdb.errors import ModelUnavailable, Refused, StoreUnreadable
from memdb.services.files import sync as syncing
from memdb.store import Store
from tests.conftest import write_files
from tests.fake_embedder import FakeEmbedder
from tests.histories import anew, copied, differing
from tests.test_invariants import contents_of

Make = Callable[..., Store]

EIGHT = {f"user/m{number}.md": f"# Memory {number}\n\nText number {number} of eight.\n" for number in range(8)}


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is so young that it is read again."""
    monkeypatch.setattr(syncing, "RACY_NS", 0)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The paths of memory files that were read."""
    found: list[str] = []
    original = files.read

    def counted(root: Path, wanted: files.Found) -> bytes:
        found.append(wanted.path)
        return original(root, wanted)

    monkeypatch.setattr(files, "read", counted)
    yield found


def with_fake(root: Path, contents: dict[str, str | bytes], **options: Any) -> tuple[Store, FakeEmbedder]:
    write_files(root, contents)
    fake = FakeEmbedder(**options)
    store = Store.init(root, embedder=fake)
    return store, fake


@pytest.mark.usefixtures("settled")
def test_a_second_sync_reads_and_embeds_nothing(tmp_path: Path, reads: list[str]) -> None:
    store, fake = with_fake(tmp_path / "r", EIGHT)
    first = store.sync()
    assert (first.added, first.embedded, len(reads)) == (8, 8, 8)
    second = store.sync()
    assert (second.unchanged, second.embedded, second.pending) == (8, 0, 0)
    assert (len(reads), len(fake.read)) == (8, 8)
    store.close()
    with Store(store.place, fake) as again:
        assert again.sync().unchanged == 8
    assert (len(reads), len(fake.read)) == (8, 8)


def test_a_young_file_is_read_again_until_its_time_tells(tmp_path: Path, reads: list[str]) -> None:
    store, _ = with_fake(tmp_path / "r", {"user/a.md": "one"})
    store.sync()
    store.sync()
    assert reads == ["user/a.md", "user/a.md"]
    store.close()


@pytest.mark.usefixtures("settled")
def test_an_edit_that_keeps_size_and_time_is_seen(tmp_path: Path) -> None:
    store, _ = with_fake(tmp_path / "r", {"user/a.md": "maple", "user/b.md": "birch"})
    os.utime(tmp_path / "r/user/a.md", ns=(10**18, 10**18))
    store.sync()
    (tmp_path / "r/user/a.md").write_text("cedar")
    os.utime(tmp_path / "r/user/a.md", ns=(10**18, 10**18))
    assert store.sync().changed == 1
    assert store.show("user/a").body == "cedar"
    store.close()


@pytest.mark.usefixtures("settled")
def test_files_of_one_size_and_time_may_swap_their_names(tmp_path: Path) -> None:
    root = tmp_path / "r"
    store, _ = with_fake(root, {"user/a.md": "maple", "user/b.md": "birch"})
    for name in "ab":
        os.utime(root / f"user/{name}.md", ns=(10**18, 10**18))
    store.sync()
    (root / "user/a.md").rename(root / "x")
    (root / "user/b.md").rename(root / "user/a.md")
    (root / "x").rename(root / "user/b.md")
    assert store.sync().changed == 2
    assert store.show("user/a").body == "birch"
    store.close()


@pytest.mark.usefixtures("settled")
def test_a_time_in_the_future_is_no_reason_to_read_again(tmp_path: Path, reads: list[str]) -> None:
    store, _ = with_fake(tmp_path / "r", {"user/a.md": "one"})
    ahead = time.time_ns() + 10**15
    os.utime(tmp_path / "r/user/a.md", ns=(ahead, ahead))
    store.sync()
    store.sync()
    assert reads == ["user/a.md"]
    store.close()


def test_changing_one_memory_embeds_one_text_and_moving_none(tmp_path: Path) -> None:
    root = tmp_path / "r"
    store, fake = with_fake(root, EIGHT)
    store.sync()
    (root / "user/m3.md").write_text("# Memory 3\n\nAnother text.\n")
    assert store.sync().embedded == 1
    (root / "feedback").mkdir()
    (root / "user/m4.md").rename(root / "feedback/m4.md")
    report = store.sync()
    assert (report.renamed, report.added, report.removed, report.embedded) == (1, 0, 0, 0)
    shutil.move(root / "user/m5.md", root / "user/renamed.md")
    # The name of a memory is the first line of its text: only that one is read again.
    assert store.sync().embedded == 1
    assert len(fake.read) == 10
    store.close()


def test_a_rename_takes_the_history_with_it(make_store: Make, no_model: None) -> None:
    store = make_store({"user/a.md": "one\n"})
    root = store.place.root
    store.save("user/a", "two\n")
    (root / "user/a.md").rename(root / "user/b.md")
    assert store.sync().renamed == 1
    assert [past.text for past in store.history("user/b")] == ["one\n"]
    # A file with the same bytes at the old path is a memory of its own.
    (root / "user/a.md").write_text("two\n")
    assert store.sync().added == 1
    assert store.history("user/a") == []
    assert [past.text for past in store.history("user/b")] == ["one\n"]


def test_history_follows_a_memory_whose_id_another_file_takes(make_store: Make, no_model: None) -> None:
    store = make_store({"a.md": "flat one\n"})
    root = store.place.root
    store.save("reference/a", "flat two\n")
    write_files(root, {"reference/a.md": "in a folder\n"})
    store.sync()
    flat = store.show("a.md")
    assert flat.id.startswith("reference/a~")
    assert [past.text for past in store.history(flat.id)] == ["flat one\n"]
    assert store.history("reference/a") == []
    (root / "reference/a.md").unlink()
    store.sync()
    assert [past.text for past in store.history("reference/a")] == ["in a folder\n", "flat one\n"] or [
        past.text for past in store.history("reference/a")
    ] == ["flat one\n", "in a folder\n"]
    live = store.digest()
    store.close()
    assert differing(live, anew(root, model=False)) == []


def test_a_file_may_take_the_id_that_another_gives_up_in_the_same_sync(make_store: Make, no_model: None) -> None:
    store = make_store({"b.md": "---\ntype: feedback\n---\nflat\n"})
    write_files(store.place.root, {"b.md": "---\ntype: user\n---\nflat\n", "feedback/b.md": "folder\n"})
    store.sync()
    assert [(memory.id, memory.file) for memory in store.list()] == [
        ("user/b", "b.md"),
        ("feedback/b", "feedback/b.md"),
    ]


def test_two_flat_files_may_swap_their_ids(make_store: Make, no_model: None) -> None:
    store = make_store({"a.md": "---\ntype: user\n---\none\n", "a.markdown": "---\ntype: feedback\n---\nother\n"})
    root = store.place.root
    write_files(root, {"a.md": "---\ntype: feedback\n---\none\n", "a.markdown": "---\ntype: user\n---\nother\n"})
    store.sync()
    assert [past.text for past in store.history("feedback/a")] == ["---\ntype: user\n---\none\n"]
    assert [past.text for past in store.history("user/a")] == ["---\ntype: feedback\n---\nother\n"]
    live = store.digest()
    store.close()
    assert differing(live, anew(root, model=False)) == []


def test_a_file_that_stops_being_text_leaves_no_other_problem_behind(make_store: Make, no_model: None) -> None:
    store = make_store({"a.md": "flat\n", "reference/a.md": "folder\n"})
    assert [problem.path for problem in store.sync().problems] == ["a.md"]
    write_files(store.place.root, {"a.md": b"\x00" * 40})
    report = store.sync()
    assert [problem.path for problem in report.problems] == ["a.md"]
    assert "not readable as text" in report.problems[0].reason
    assert [past.text for past in store.history("reference/a~" + store_mark("a.md"))] == ["flat\n"]


def store_mark(path: str) -> str:
    from memdb.domain.memories import unique_key

    return unique_key("", path).removeprefix("~")


def test_a_root_that_is_gone_or_no_folder_is_an_error_and_nothing_is_deleted(make_store: Make, no_model: None) -> None:
    store = make_store(EIGHT)
    root = store.place.root
    root.rename(root.with_name("away"))
    with pytest.raises(StoreUnreadable):
        store.sync()
    answer = store.recall("eight")
    assert answer.notes and "not brought up" in answer.notes[0]
    root.with_name("away").rename(root)
    assert store.sync().unchanged == 8


@pytest.mark.parametrize(
    ("there", "gone", "refused"),
    [
        (1, 1, False),
        (2, 2, False),
        (3, 3, True),
        (4, 2, False),
        (5, 3, True),
        (8, 4, False),
        (8, 5, True),
        (8, 8, True),
    ],
)
def test_more_than_half_of_the_files_gone_is_refused(
    make_store: Make, no_model: None, there: int, gone: int, refused: bool
) -> None:
    store = make_store({f"user/m{number}.md": f"text {number}" for number in range(there)})
    before = store.stats()["memories"]
    for number in range(gone):
        (store.place.root / f"user/m{number}.md").unlink()
    if refused:
        with pytest.raises(Refused) as error:
            store.sync()
        assert "--yes" in str(error.value.hint)
        assert store.stats()["memories"] == before
        assert store.recall("text").notes
        assert store.sync(yes=True).removed == gone
    else:
        assert store.sync().removed == gone
    assert store.stats()["memories"] == there - gone


def test_moving_all_files_is_no_deletion(make_store: Make, no_model: None) -> None:
    store = make_store(EIGHT)
    (store.place.root / "user").rename(store.place.root / "feedback")
    report = store.sync()
    assert (report.renamed, report.removed, report.added) == (8, 0, 0)


def test_hidden_folders_are_skipped_and_said_so_and_agents_memories_are_found(make_store: Make, no_model: None) -> None:
    store = make_store(
        {
            "user/a.md": "a",
            ".obsidian/workspace.md": "no",
            "node_modules/x/readme.md": "no",
            ".claude/settings.md": "no",
            ".claude/projects/p/memory/user/b.md": "b",
            ".claude/projects/p/memory/c.md": "c",
            "user/a.md.tmp": "no",
            "user/.a.md.swp": "no",
            "user/a.sync-conflict-20240101-120000-ABCDEFG.md": "no",
            "user/~a.md": "no",
            "user/a.md~": "no",
            "user/picture.png": b"\x89PNG",
        }
    )
    assert {memory.id for memory in store.list()} == {"user/a", "user/b", "reference/c"}
    ignored = dict(store.sync().ignored)
    assert ignored[".obsidian/"] == ignored["node_modules/"] == "a hidden or program folder"
    assert ignored["user/picture.png"] == "not a Markdown file"
    assert "user/a.sync-conflict-20240101-120000-ABCDEFG.md" in ignored


def test_a_root_inside_a_hidden_folder_is_indexed(make_store: Make, no_model: None, tmp_path: Path) -> None:
    store = make_store({"user/a.md": "a"}, root=tmp_path / ".claude" / "memory")
    assert [memory.id for memory in store.list()] == ["user/a"]


def test_one_store_through_link_slash_and_home(
    make_store: Make, no_model: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make_store({"user/a.md": "a"}, root=tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for way in (tmp_path / "link", f"{tmp_path}/real/", f"{tmp_path}/link/../real", "~/real", "~/link/"):
        assert place(way) == store.place
    with Store(place(tmp_path / "link")) as other:
        assert other.sync().unchanged == 1


def test_a_looping_link_is_reported_and_the_rest_indexed(make_store: Make, no_model: None) -> None:
    store = make_store({"user/a.md": "a", "user/deep/b.md": "b"})
    (store.place.root / "user/deep/loop").symlink_to(store.place.root / "user")
    (store.place.root / "user/gone.md").symlink_to(store.place.root / "nothing")
    (store.place.root / "user/self").symlink_to(store.place.root / "user/self")
    report = store.sync()
    assert [(problem.path, problem.reason) for problem in report.problems if "loop" in problem.path] == [
        ("user/deep/loop", "a link that leads back to a folder above it")
    ]
    assert {memory.id for memory in store.list()} == {"user/a", "user/deep/b"}
    assert store.sync().problems == report.problems


def test_a_linked_folder_is_followed(make_store: Make, no_model: None, tmp_path: Path) -> None:
    write_files(tmp_path / "elsewhere", {"x.md": "linked"})
    store = make_store({"user/a.md": "a"})
    (store.place.root / "project").symlink_to(tmp_path / "elsewhere")
    assert store.sync().added == 1
    assert store.show("project/x").body == "linked"


def test_a_file_that_vanishes_while_the_sync_runs(
    make_store: Make, no_model: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make_store({"user/a.md": "a"})
    write_files(store.place.root, {"user/b.md": "b", "user/c.md": "c"})
    original = files.read

    def vanishing(root: Path, found: files.Found) -> bytes:
        (root / "user/b.md").unlink(missing_ok=True)
        return original(root, found)

    monkeypatch.setattr(files, "read", vanishing)
    store.sync()
    assert {memory.id for memory in store.list()} == {"user/a", "user/c"}


ODD_NAMES = [
    "100%.md", "a#b.md", "what?.md", "-rf.md", "it's.md", 'say "x".md', "$(x).md", "new\nline.md", "tab\there.md",
    "a b.md", "a_b.md", "C++.md", "C.md", "C#.md", "CON.md", "\u8bb0\u5fc6.md", "caf\u00e9.md", "cafe\u0301.md",
    "back\\slash.md", "a\\xff.md", "a\\x5cxff.md", "n" * 252 + ".md", "[x].md", "a|b.md", ";rm.md", "UPPER.MD",
    "e\u0301.markdown",
]  # fmt: skip


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="these file systems refuse some of the names")
def test_odd_names_have_ids_of_their_own_and_are_reachable(make_store: Make, no_model: None) -> None:
    store = make_store({f"user/{name}": f"text of {number}\n" for number, name in enumerate(ODD_NAMES)})
    root = os.fsencode(store.place.root)
    raw = [b"a\xff.md", b"\xe9.md", b"\\xff\xff.md"]
    for number, name in enumerate(raw):
        Path(os.fsdecode(root), "user", os.fsdecode(name)).write_bytes(b"raw %d\n" % number)
    store.sync()
    listed = store.list()
    assert len({memory.id for memory in listed}) == len(listed) == len(ODD_NAMES) + len(raw)
    assert len({memory.file for memory in listed}) == len(listed)
    bodies = {store.show(memory.id).body for memory in listed}
    assert len(bodies) == len(listed)
    assert {store.show(memory.file).body for memory in listed} == bodies
    for memory in listed:
        assert "\n" not in memory.id
        # Each can be edited where it lies, and none is taken for another.
        saved = store.save(memory.id, f"new text of {memory.file!r}\n")
        assert (saved.file, saved.changed, saved.created) == (memory.file, True, False)
    report = store.sync()
    assert (report.added, report.removed, report.renamed) == (0, 0, 0)
    assert len({store.show(memory.id).body for memory in listed}) == len(listed)


@pytest.mark.usefixtures("no_model")
def test_another_locale_zone_and_hash_seed_give_the_same_digest(make_store: Make, tmp_path: Path) -> None:
    import subprocess

    names = {
        f"user/{name}.md": f"[[{name}]] [[\u00c4]] text" for name in ("z", "\u00e4", "\u00c4", "I", "\u0131", "\u00df")
    }
    store = make_store(names)
    live = store.digest()
    store.close()
    shutil.copytree(store.place.root, tmp_path / "copy", ignore=shutil.ignore_patterns("memory.db*"))
    code = "import sys, memdb.store as m; print(m.Store.init(sys.argv[1]).digest().digest)"
    environment = os.environ | {"LC_ALL": "tr_TR.UTF-8", "TZ": "Pacific/Apia", "PYTHONHASHSEED": "7"}
    found = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "copy")],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == live.digest


def test_indexing_changes_no_byte_and_no_order_matters(tmp_path: Path) -> None:
    root = tmp_path / "r"
    write_files(root, {**EIGHT, "a.md": b"\xef\xbb\xbf---\r\nname: x\r\n---\r\ntext", "b.md": b"\x00" * 30})
    before = contents_of(root)
    store = Store.init(root, embedder=FakeEmbedder())
    store.sync()
    live = store.digest()
    store.rebuild()
    store.recall("text")
    store.close()
    assert contents_of(root) == before
    assert differing(live, copied(root, tmp_path / "copy", window=64)) == []


class Failing(FakeEmbedder):
    def embed_passages(self, texts: Any, progress: object = None) -> Iterator[Any]:
        raise ModelUnavailable("The embedding model failed: out of memory")
        yield


def test_a_broken_model_leaves_the_text_searchable(tmp_path: Path) -> None:
    write_files(tmp_path / "r", EIGHT)
    with Store.init(tmp_path / "r", embedder=Failing()) as store:
        report = store.sync()
        assert (report.added, report.embedded, report.pending) == (8, 0, 8)
        assert "out of memory" in report.embedder
        assert store.recall("number 3").hits[0].id == "user/m3"


def test_a_save_while_the_model_reads_the_text_before(tmp_path: Path) -> None:
    """The vectors that come late are those of a text that is no longer there: they are not the memory's."""
    root = tmp_path / "r"
    write_files(root, EIGHT)
    other = Store.init(root, embedder=FakeEmbedder(off="not here"))
    other.sync()

    class Interrupted(FakeEmbedder):
        def embed_passages(self, texts: Any, progress: object = None) -> Iterator[Any]:
            if not self.read:
                other.save("user/m1", "The second text.\n")
                (root / "user/m2.md").unlink()
                other.sync()
                other.save("user/m1", "The third text.\n")
            yield from super().embed_passages(texts)

    with Store.init(root, embedder=Interrupted()) as store:
        store.sync()
        assert store.show("user/m1").body == "The third text.\n"
        report = store.sync()
        assert (report.pending, report.embedded) == (0, 1)
        assert store.show("user/m1").embedded
        live = store.digest()
    other.close()
    assert differing(live, anew(root, window=64)) == []


def test_a_memory_that_goes_and_comes_back_between_two_clusterings_is_in_its_cluster(tmp_path: Path) -> None:
    root = tmp_path / "r"
    store, _ = with_fake(root, {f"user/m{number}.md": f"{number} maple tree leaf" for number in range(8)})
    store.sync()
    live = store.digest()
    data = (root / "user/m3.md").read_bytes()
    (root / "user/m3.md").unlink()
    store.sync(embed=False)
    (root / "user/m3.md").write_bytes(data)
    store.sync()
    assert store.show("user/m3").cluster is not None
    assert differing(live, store.digest()) == ["memory_version", "memory_birth", "version_fts"]
    store.close()


def test_near_identical_texts_and_small_files_are_all_indexed(make_store: Make, no_model: None) -> None:
    store = make_store({f"episode/t{number}.md": f"Thanks, {number}!" for number in range(150)})
    assert store.stats()["memories"] == 150
    assert store.sync().problems == []


def test_what_a_killed_save_left_is_cleared(make_store: Make, no_model: None) -> None:
    store = make_store({"user/a.md": "a"})
    write_files(store.place.root, {"user/.memdb-abc.tmp": "half"})
    store.sync()
    assert not (store.place.root / "user/.memdb-abc.tmp").exists()


def test_what_is_read_as_a_document_is_not_said_to_be_left_out(tmp_path: Path) -> None:
    """Also where its name has bytes that are stored in another way."""
    root = tmp_path / "r"
    write_files(root, {"user/tea.md": "tea\n", "shelf/a.txt": "words\n", "shelf/b\\x.txt": "more\n", "c.bin": "rest\n"})
    with Store.init(root, embedder=FakeEmbedder()) as store:
        added = store.add([root / "shelf"])
        assert added.documents.added == 2
        for report in (added, store.sync(), store.sync()):
            assert report.ignored == [("c.bin", "not a Markdown file")]
        store.remove(str(root / "shelf"))
        assert [path for path, _ in store.sync().ignored] == ["c.bin", "shelf/a.txt", "shelf/b\\x.txt"]


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("outrun", [False, True])
def test_the_folder_is_walked_again_where_another_process_wrote_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: list[str], outrun: bool
) -> None:
    store, _ = with_fake(tmp_path / "r", EIGHT)
    store.sync()
    other, _ = with_fake(tmp_path / "r", {})
    plan, writer, plans = syncing.plan, files.writer, list[syncing.Plan]()

    def counted(context: Any) -> syncing.Plan:
        plans.append(plan(context))
        return plans[-1]

    def waited(*given: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(files, "writer", writer)
            if outrun and len(plans) == 1:
                assert other.sync().changed == 1
        return writer(*given)

    monkeypatch.setattr(syncing, "plan", counted)
    monkeypatch.setattr(files, "writer", waited)
    write_files(tmp_path / "r", {"user/m1.md": "Another text.\n"})
    reads.clear()
    assert store.sync().changed == (0 if outrun else 1)
    assert reads == ["user/m1.md"]
    assert [len(found.suspects) for found in plans] == ([1, 1, 0] if outrun else [1])
