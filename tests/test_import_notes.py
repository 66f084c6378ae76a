"""Folders of notes come as they are: bytes, dates, links, and once only."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from memdb.errors import NotFound, UsageError
from memdb.services.transfer import importing
from memdb.store import Store
from tests.conftest import write_files
from tests.import_support import files_of, kept_lines, opened, outcome, source, tree, zipped

CORPORA = Path(__file__).parents[2] / "shared" / "data" / "corpora"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return opened(tmp_path / "root")


def resolved(store: Store) -> set[tuple[str, str]]:
    return {(link.source, link.id) for link in store.links(statuses=("resolved",)) if link.id}


def test_a_vault_becomes_memories(store: Store, tmp_path: Path) -> None:
    vault = source("obsidian", tmp_path)
    before = tree(vault)
    done = store.import_from([vault])
    assert done.kinds == ["obsidian"]
    assert files_of(done) == {
        "Daily/2024-05-02.md": "reference/Daily/2024-05-02.md",
        "Harbour.md": "reference/Harbour.md",
        "Lighthouse.md": "project/Lighthouse.md",
        "Projects/Quay.md": "reference/Projects/Quay.md",
        "Projects/Stones.md": "reference/Projects/Stones.md",
        "Untitled.md": "",
    }
    assert done.counts == {"created": 5, "empty": 1}
    assert done.audit.types == {"project": 1, "reference": 4}
    assert done.audit.left == {".png": 1}
    assert done.audit.junk == [("Daily/2024-05-02.md", "a template"), ("Untitled.md", "empty")]
    assert done.audit.unresolved == [("Harbour.md", 11, "Nowhere")]
    assert done.audit.inline_tags == 1
    assert tree(vault) == before


def test_links_lead_to_the_same_note(store: Store, tmp_path: Path) -> None:
    store.import_from([source("obsidian", tmp_path)])
    assert resolved(store) == {
        ("reference/Harbour", "reference/Projects/Quay"),
        ("reference/Harbour", "project/Lighthouse"),
        ("reference/Projects/Quay", "reference/Harbour"),
        ("reference/Projects/Quay", "reference/Projects/Stones"),
        ("reference/Projects/Stones", "reference/Projects/Quay"),
        ("project/Lighthouse", "reference/Harbour"),
    }


def test_only_links_that_would_be_lost_are_written_anew(store: Store, tmp_path: Path) -> None:
    vault = source("obsidian", tmp_path)
    stones = vault / "Projects" / "Stones.md"
    stones.write_bytes(b"Granite.\r\n\r\nUsed in [[Projects/Quay#Wall]] and\r\n\r\n    [[Projects/Quay]]\r\n")
    done = store.import_from([vault])
    root = store.place.root
    harbour = kept_lines(root / "reference" / "Harbour.md")
    assert harbour.startswith(kept_lines(vault / "Harbour.md").partition("# Harbour")[0])
    assert "[[reference/Projects/Quay|the quay]]" in harbour
    assert "[[Lighthouse]], [[lighthouse#Lamp|the lamp]], ![[map.png|200]] and [[Nowhere]]" in harbour
    assert r"[[reference/Projects/Stones\|the heap]]" in kept_lines(root / "reference" / "Projects" / "Quay.md")
    assert kept_lines(root / "reference" / "Projects" / "Stones.md") == (
        "Granite.\r\n\r\nUsed in [[reference/Projects/Quay#Wall|Projects/Quay#Wall]] and\r\n\r\n"
        "    [[Projects/Quay]]\r\n"
    )
    assert (root / "project" / "Lighthouse.md").read_bytes() == (vault / "Lighthouse.md").read_bytes()
    assert done.audit.relinked == 3


def test_dates_are_kept(store: Store, tmp_path: Path) -> None:
    vault = source("obsidian", tmp_path)
    os.utime(vault / "Lighthouse.md", (1_600_000_000, 1_600_000_000))
    done = store.import_from([vault])
    assert (store.place.root / "project" / "Lighthouse.md").stat().st_mtime == 1_600_000_000
    assert store.show("reference/Harbour").frontmatter["created"] == "2024-05-02"
    assert ("Lighthouse.md", "last changed 2020-09-13") in done.audit.stale


def test_twice_changes_nothing(store: Store, tmp_path: Path) -> None:
    vault = source("obsidian", tmp_path)
    store.import_from([vault])
    before, digest = tree(store.place.root), store.digest()
    journal = store._context.journal.state()
    again = store.import_from([vault])
    assert again.counts == {"empty": 1, "unchanged": 5}
    assert tree(store.place.root) == before
    assert store.digest() == digest
    assert store._context.journal.state() == journal


def test_a_newer_state_updates_only_what_changed(store: Store, tmp_path: Path) -> None:
    vault = source("obsidian", tmp_path)
    store.import_from([vault])
    (vault / "Lighthouse.md").write_text("It turns once in ten seconds.\n", encoding="utf-8")
    (vault / "Bell.md").write_text("The bell rings in fog, see [[Lighthouse]].\n", encoding="utf-8")
    done = store.import_from([vault])
    assert {place: action for place, action in outcome(done).items() if action not in ("unchanged", "empty")} == {
        "Bell.md": "created",
        "Lighthouse.md": "updated",
    }
    # Its type is not asked for again: the memory stays what it was.
    assert "ten seconds" in store.show("project/Lighthouse").body
    assert [past.reason for past in store.history("project/Lighthouse")] == ["edited"]


def test_what_was_edited_here_is_left_alone(store: Store, tmp_path: Path) -> None:
    vault = source("obsidian", tmp_path)
    store.import_from([vault])
    mine = store.place.root / "project" / "Lighthouse.md"
    mine.write_text("My own words about the lighthouse.\n", encoding="utf-8")
    assert outcome(store.import_from([vault]))["Lighthouse.md"] == "unchanged"
    (vault / "Lighthouse.md").write_text("It turns once in ten seconds.\n", encoding="utf-8")
    assert outcome(store.import_from([vault]))["Lighthouse.md"] == "edited"
    assert mine.read_text(encoding="utf-8") == "My own words about the lighthouse.\n"


def test_what_was_removed_or_forgotten_here_does_not_come_back(store: Store, tmp_path: Path) -> None:
    vault = source("obsidian", tmp_path)
    store.import_from([vault])
    root = store.place.root
    (root / "reference" / "Harbour.md").unlink()
    (root / "reference" / "Projects" / "Quay.md").rename(root / "reference" / "pier.md")
    store.forget("reference/pier")
    store.forget("project/Lighthouse")
    again = outcome(store.import_from([vault]))
    assert (again["Harbour.md"], again["Lighthouse.md"]) == ("gone", "forgotten")
    assert again["Projects/Quay.md"] == "forgotten"
    assert not (store.place.root / "project" / "Lighthouse.md").exists()
    journal = b"".join(file.read_bytes() for file in store._context.journal.files())
    assert b"seconds" not in journal


def test_a_renamed_memory_is_followed(store: Store, tmp_path: Path) -> None:
    vault = source("obsidian", tmp_path)
    store.import_from([vault])
    root = store.place.root
    (root / "project" / "Lighthouse.md").rename(root / "project" / "tower.md")
    (vault / "Lighthouse.md").write_text("It turns once in ten seconds.\n", encoding="utf-8")
    done = store.import_from([vault])
    assert files_of(done)["Lighthouse.md"] == "project/tower.md"
    assert "ten seconds" in store.show("project/tower").body


def test_an_interrupted_import_goes_on(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = source("obsidian", tmp_path)
    write = importing.files.write_whole

    def stops(target: Path, data: bytes) -> None:
        if target.name == "Quay.md":
            raise KeyboardInterrupt
        write(target, data)

    monkeypatch.setattr(importing.files, "write_whole", stops)
    with pytest.raises(KeyboardInterrupt):
        store.import_from([vault])
    assert (store.place.root / "reference" / "Harbour.md").exists()
    monkeypatch.undo()
    done = store.import_from([vault])
    assert done.counts == {"created": 2, "empty": 1, "unchanged": 3}
    assert not [path for path in tree(store.place.root) if "~" in path]
    assert store.import_from([vault]).writes == 0


def test_a_dry_run_writes_nothing(store: Store, tmp_path: Path) -> None:
    vault = source("obsidian", tmp_path)
    store.sync()
    store.close()
    everything = {file: file.stat().st_mtime_ns for file in store.place.root.rglob("*") if file.name != "checked.json"}
    done = store.import_from([vault], dry_run=True)
    store.close()
    assert done.counts == {"created": 5, "empty": 1}
    after = {file: file.stat().st_mtime_ns for file in store.place.root.rglob("*") if file.name != "checked.json"}
    assert {file for file in after if after[file] != everything.get(file)} <= {
        store.place.home,
        store.place.home / "local",
    }
    assert done.sync is None


def test_basic_memory_keeps_its_graph(store: Store, tmp_path: Path) -> None:
    folder = source("basic-memory", tmp_path)
    done = store.import_from([folder])
    assert done.kinds == ["basic-memory"]
    assert resolved(store) == {
        ("reference/gardens/pruning-apples", "reference/gardens/sharp-shears"),
        ("reference/gardens/pruning-apples", "reference/gardens/grafting-knife"),
        ("reference/gardens/sharp-shears", "reference/gardens/pruning-apples"),
    }
    shown = store.show("pruning-apples")
    assert shown.frontmatter["permalink"] == "gardens/pruning-apples"
    assert shown.tags == ("orchard",)
    assert "- [method] Cut above a bud that looks outward #pruning (Jorunn's rule)" in shown.body
    assert [target for _, _, target in done.audit.unresolved] == ["Orchard year", "Orchard year"]


@pytest.mark.parametrize("where", ["-home-marit-ferry/memory", "projects/-home-marit-ferry/memory", ".claude/memory"])
def test_memories_of_claude_code_get_their_types(store: Store, tmp_path: Path, where: str) -> None:
    folder = tmp_path / "home" / where
    folder.parent.mkdir(parents=True)
    shutil.move(source("claude-code", tmp_path), folder)
    write_files(tmp_path / "home", {f"{where.rpartition('/')[0]}/plans/later.md": "Not a memory.\n"})
    done = store.import_from([tmp_path / "home"])
    assert done.kinds == ["claude-code"]
    assert sorted(files_of(done).values()) == [
        "feedback/feedback_short_answers.md",
        "project/project_ferry_site.md",
        "reference/MEMORY.md",
        "user/who_reads.md",
    ]
    assert done.audit.left == {"Markdown outside of a memory folder": 1}
    assert resolved(store) == {("feedback/feedback_short_answers", "project/project_ferry_site")}


def test_two_projects_with_the_same_names(store: Store, tmp_path: Path) -> None:
    for project in ("-home-a", "-home-b"):
        folder = tmp_path / "projects" / project / "memory"
        write_files(folder, {"MEMORY.md": f"Index of {project}.\n", "project_x.md": f"About {project}.\n"})
    done = store.import_from([tmp_path / "projects"])
    assert done.counts == {"created": 4}
    assert len({path.casefold() for path in files_of(done).values()}) == 4
    assert [wanted for wanted, _ in done.audit.clashes] == ["reference/MEMORY.md", "project/project_x.md"]
    assert store.import_from([tmp_path / "projects"]).counts == {"unchanged": 4}
    for project in ("-home-a", "-home-b"):
        assert store.import_from([tmp_path / "projects" / project / "memory"]).counts == {"unchanged": 2}


def test_a_vault_in_a_zip(store: Store, tmp_path: Path) -> None:
    vault = source("obsidian", tmp_path)
    packed = zipped(
        tmp_path / "obsidian.zip",
        {
            f"obsidian/{file.relative_to(vault).as_posix()}": file.read_bytes()
            for file in vault.rglob("*")
            if file.is_file()
        },
    )
    done = store.import_from([packed])
    assert done.kinds == ["obsidian"]
    assert done.counts == {"created": 5, "empty": 1}
    assert store.import_from([vault]).counts == {"empty": 1, "unchanged": 5}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["C++.md", "C.md"], ["reference/C++.md", "reference/C.md"]),
        (["a b.md", "a_b.md"], ["reference/a b.md", "reference/a_b.md"]),
        (["灯台.md", "灯火.md"], ["reference/灯台.md", "reference/灯火.md"]),
        (["CON.md"], ["reference/CON-file.md"]),
        (["why?.md", "why-.md"], ["reference/why-.md", "reference/why-~.md"]),
        (["-x.md", "$(x).md", "50%.md"], ["reference/-x.md", "reference/$(x).md", "reference/50%.md"]),
        (["a#b.md", "a'b.md"], ["reference/a#b.md", "reference/a'b.md"]),
        (["Case.md", "case.md"], ["reference/Case.md", "reference/case~.md"]),
        (["cafe\u0301.md", "café.md"], ["reference/café.md", "reference/café~.md"]),
    ],
)  # fmt: skip
def test_names_are_safe_and_distinct(store: Store, tmp_path: Path, names: list[str], expected: list[str]) -> None:
    packed = zipped(tmp_path / "notes.zip", {name: f"The text of {number}.\n" for number, name in enumerate(names)})
    done = store.import_from([packed], kind="markdown")
    assert done.counts == {"created": len(names)}
    # What a mark is follows from the source's name; that there is one is what counts here.
    assert sorted(re.sub(r"~[0-9a-f]{6}", "~", path) for path in files_of(done).values()) == sorted(expected)
    assert len(store.list()) == len(names)
    assert store.import_from([packed], kind="markdown").counts == {"unchanged": len(names)}


def test_a_name_of_255_bytes(store: Store, tmp_path: Path) -> None:
    names = [f"{'ü' * 120}{end}.md" for end in ("a", "b")]
    packed = zipped(tmp_path / "notes.zip", {name: f"The text of {name[-4]}.\n" for name in names})
    done = store.import_from([packed])
    assert done.counts == {"created": 2}
    assert all(len(path.rpartition("/")[2].encode()) <= 255 for path in files_of(done).values())


def test_all_of_it_can_go_to_one_type(store: Store, tmp_path: Path) -> None:
    done = store.import_from([source("obsidian", tmp_path)], to="garden")
    assert done.audit.types == {"garden": 5}
    assert ("garden/Harbour", "garden/Projects/Quay") in resolved(store)


@pytest.mark.parametrize("to", ["", "..", "a/b", ".hidden", "x\n"])
def test_what_is_no_type(store: Store, tmp_path: Path, to: str) -> None:
    with pytest.raises(UsageError):
        store.import_from([source("obsidian", tmp_path)], to=to)


def test_doubles_are_named_and_all_come(store: Store, tmp_path: Path) -> None:
    long = "The ferry leaves the harbour at nine and comes back at noon, and then once more when the sun goes down. "
    write_files(store.place.root, {"user/mine.md": "Already here.\n"})
    write_files(
        tmp_path / "notes",
        {
            "a.md": "One and the same.\n",
            "b.md": "One and the same.\n",
            "c.md": long * 2 + "It is on time.\n",
            "d.md": long * 2 + "It is late.\n",
            "e.md": "Thanks, Ada!\n",
            "f.md": "Thanks, Bo!\n",
            "g.md": "Already here.\n",
        },
    )
    done = store.import_from([tmp_path / "notes"])
    assert done.counts == {"created": 7}
    assert done.audit.exact == [["a.md", "b.md"]]
    assert [(one, other) for one, other, _ in done.audit.near] == [("c.md", "d.md")]
    assert done.audit.known == [("g.md", "user/mine.md")]


def test_a_file_that_is_there_is_never_written_over(store: Store, tmp_path: Path) -> None:
    write_files(store.place.root, {"reference/Harbour.md": "My own harbour.\n"})
    done = store.import_from([source("obsidian", tmp_path)])
    assert (store.place.root / "reference" / "Harbour.md").read_text(encoding="utf-8") == "My own harbour.\n"
    assert files_of(done)["Harbour.md"].startswith("reference/Harbour~")
    quay = "reference/Projects/Quay"
    assert (quay, files_of(done)["Harbour.md"].removesuffix(".md")) in resolved(store)


def test_sources_that_cannot_be(store: Store, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        store.import_from([tmp_path / "nowhere"])
    with pytest.raises(UsageError, match="in one another"):
        store.import_from([store.place.root])
    with pytest.raises(UsageError, match="in one another"):
        store.import_from([tmp_path])
    with pytest.raises(UsageError, match="no kind"):
        store.import_from([source("obsidian", tmp_path / "x")], kind="evernote")
    with pytest.raises(UsageError, match="Nothing"):
        store.import_from([])


def test_it_rebuilds_the_same(store: Store, tmp_path: Path) -> None:
    vault = source("obsidian", tmp_path)
    store.import_from([vault])
    (vault / "Lighthouse.md").write_text("It turns once in ten seconds.\n", encoding="utf-8")
    store.import_from([vault])
    live = store.digest()
    store.rebuild()
    assert store.digest() == live


ABSENT = pytest.mark.skipif(not CORPORA.is_dir(), reason="the reference corpora are not beside the repository")


@pytest.mark.corpora
@ABSENT
@pytest.mark.parametrize(
    ("name", "kind"),
    [("memories-a", "claude-code"), ("memories-b", "claude-code"), ("wikilinks", "markdown"), ("runbooks", "markdown")],
)
def test_real_folders_are_told_apart(store: Store, tmp_path: Path, name: str, kind: str) -> None:
    copy = Path(shutil.copytree(CORPORA / name, tmp_path / name, copy_function=shutil.copyfile))
    done = store.import_from([copy], dry_run=True)
    assert done.kinds == [kind]
    assert len(done.items) == len([path for path in tree(copy) if path.endswith(".md")])
    assert set(done.counts) <= {"created", "empty"}
    assert len({item.file for item in done.items if item.action == "created"}) == done.counts["created"]


@pytest.mark.slow
@pytest.mark.corpora
@ABSENT
@pytest.mark.parametrize("name", ["memories-a", "memories-b", "wikilinks", "runbooks"])
def test_real_folders(store: Store, tmp_path: Path, name: str) -> None:
    copy = Path(shutil.copytree(CORPORA / name, tmp_path / name, copy_function=shutil.copyfile))
    before = tree(copy)
    done = store.import_from([copy])
    assert len(store.list()) == done.counts["created"]
    assert tree(copy) == before
    again = store.import_from([copy])
    assert set(again.counts) <= {"unchanged", "empty"}
    known = [link for link in store.links(statuses=("resolved",)) if link.source]
    with opened(tmp_path / "in-place") as other:
        shutil.copytree(copy, other.place.root, dirs_exist_ok=True)
        other.sync()
        # What leads somewhere in the folder as it is leads somewhere here.
        assert len(known) >= len([link for link in other.links(statuses=("resolved",)) if link.source])
