"""Links in the store: kept as written, resolved as memories come and go, with no edge touched that need not be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memdb.base.embedding import Embedder
from memdb.store import Store
from tests.conftest import write_files

MakeStore = Callable[..., Store]
pytestmark = pytest.mark.usefixtures("no_model")


def edges(store: Store, kind: str = "links_to") -> set[tuple[str, str]]:
    rows = store._context.database.rows("select source, target from graph_edges where kind = ?", (kind,))
    return {(source, target) for source, target in rows}


def edit(store: Store, files: dict[str, str | bytes], *gone: str) -> None:
    write_files(store.place.root, files)
    for path in gone:
        (store.place.root / path).unlink()
    store.sync(yes=True)


def meanings(store: Store) -> list[tuple[str, str, str, str | None]]:
    return [(link.source, link.raw, link.status, link.id) for link in store.links()]


def test_links_are_kept_as_written(make_store: MakeStore) -> None:
    store = make_store(
        {
            "user/a.md": "---\nsupersedes: old-one\n---\n"
            "See [[b#Part|the b]], ![[pic.png]], [[b^7]] and [[nowhere]].\n",
            "user/b.md": "Back to [[user/a]], and to [[b]] itself.\n",
            "project/old-one.md": "Old.\n",
        }
    )
    rows = store._context.database.rows(
        "select raw, target, heading, block, link.label, embed, line, status from link join node on node.id = memory_id"
        " where key = 'user/a' order by link.id"
    )
    assert rows == [
        ("[[b#Part|the b]]", "b#Part", "Part", None, "the b", 0, 4, "resolved"),
        ("![[pic.png]]", "pic.png", None, None, None, 1, 4, "unresolved"),
        ("[[b^7]]", "b^7", None, "7", None, 0, 4, "resolved"),
        ("[[nowhere]]", "nowhere", None, None, None, 0, 4, "unresolved"),
        ("old-one", "old-one", None, None, None, 0, None, "resolved"),
    ]
    assert edges(store) == {("user/a", "user/b"), ("user/b", "user/a")}
    assert edges(store, "supersedes") == {("user/a", "project/old-one")}
    assert ("user/b", "[[b]]", "self", "user/b") in meanings(store)


@pytest.mark.parametrize(
    ("written", "files", "expected"),
    [
        ("b", {"user/b.md": ""}, ("resolved", "user/b", "exact")),
        ("user/b", {"user/b.md": "", "project/b.md": ""}, ("resolved", "user/b", "exact")),
        ("project/b", {"user/b.md": "", "project/b.md": ""}, ("resolved", "project/b", "exact")),
        ("b", {"user/b.md": "", "project/b.md": "", "ritual/b.md": ""}, ("resolved", "user/b", "type order")),
        ("b", {"ritual/b.md": "", "episode/b.md": ""}, ("resolved", "episode/b", "type order")),
        ("bee", {"user/b.md": "---\naliases: [bee]\n---\n"}, ("resolved", "user/b", "alias")),
        ("My Note", {"user/my-note.md": ""}, ("resolved", "user/my-note", "folded")),
        ("MY_NOTE", {"user/my-note.md": ""}, ("resolved", "user/my-note", "folded")),
        ("my_note", {"user/my-note.md": "", "user/My Note.md": ""}, ("ambiguous", None, None)),
        ("bee", {"user/b.md": "---\naliases: [bee]\n---\n", "user/c.md": "---\naliases: [bee]\n---\n"},
         ("ambiguous", None, None)),
        ("b", {"project/x.md": "---\nname: b\n---\n"}, ("resolved", "project/x", "exact")),
        ("b", {}, ("unresolved", None, None)),
    ],
)  # fmt: skip
def test_what_a_link_means(
    make_store: MakeStore, written: str, files: dict[str, str], expected: tuple[str, str | None, str | None]
) -> None:
    store = make_store({"feedback/from.md": f"See [[{written}]].\n", **files})
    row = store._context.database.rows("select status, target, how from links where source = 'feedback/from'")
    assert row == [expected]
    assert edges(store) == ({("feedback/from", expected[1])} if expected[1] else set())


def test_ambiguous_and_dangling_links_are_listed(make_store: MakeStore) -> None:
    store = make_store({"user/a.md": "[[my_note]] [[gone]]\n", "user/my-note.md": "", "user/My Note.md": ""})
    listed = store.links(statuses=("unresolved", "ambiguous"))
    assert [(link.raw, link.status, link.candidates) for link in listed] == [
        ("[[gone]]", "unresolved", ()),
        ("[[my_note]]", "ambiguous", ("user/My Note", "user/my-note")),
    ]
    rows = store._context.database.rows("select raw, status, candidates from unresolved_links order by raw")
    assert rows == [("[[gone]]", "unresolved", "[]"), ("[[my_note]]", "ambiguous", '["user/My Note", "user/my-note"]')]


def test_writing_the_target_later_connects_and_deleting_it_disconnects(make_store: MakeStore) -> None:
    store = make_store({"user/a.md": "[[later]]\n", "user/b.md": "---\nsupersedes: [later]\n---\n", "user/c.md": "x\n"})
    assert edges(store) == set()
    edit(store, {"project/later.md": "Here.\n"})
    assert edges(store) == {("user/a", "project/later")}
    assert edges(store, "supersedes") == {("user/b", "project/later")}
    edit(store, {"user/later.md": "A better match.\n"})
    assert edges(store) == {("user/a", "user/later")}
    edit(store, {}, "user/later.md")
    assert edges(store) == {("user/a", "project/later")}
    edit(store, {}, "project/later.md")
    assert edges(store) == edges(store, "supersedes") == set()
    assert {status for _, _, status, _ in meanings(store)} == {"unresolved"}


def test_a_rename_is_followed_where_the_link_still_means_it(make_store: MakeStore) -> None:
    store = make_store(
        {
            "user/a.md": "[[thing]] [[The Thing]]\n",
            "project/thing.md": "---\nname: The Thing\n---\nText.\n",
            "user/c.md": "",
        }
    )
    (store.place.root / "project/thing.md").rename(store.place.root / "project/matter.md")
    report = store.sync()
    assert (report.renamed, report.added, report.removed) == (1, 0, 0)
    assert meanings(store) == [
        ("user/a", "[[The Thing]]", "resolved", "project/matter"),
        ("user/a", "[[thing]]", "unresolved", None),
    ]


def test_a_file_in_two_folders_that_ask_for_one_id(make_store: MakeStore) -> None:
    store = make_store(
        {"project/b.md": "one\n", "b.md": "---\ntype: project\n---\ntwo\n", "user/a.md": "[[project/b]]\n"}
    )
    ids = [memory.id for memory in store.list(types=["project"])]
    assert ids[0] == "project/b"
    assert ids[1].startswith("project/b~")
    assert edges(store) == {("user/a", "project/b")}
    edit(store, {}, "project/b.md")
    assert [memory.id for memory in store.list(types=["project"])] == ["project/b"]
    assert store.show("project/b").body == "two\n"
    assert edges(store) == {("user/a", "project/b")}


# What an edit touches


@pytest.fixture
def counted(make_store: MakeStore) -> Store:
    store = make_store(
        {
            "user/a.md": "---\ntags: [x, y]\n---\nProse. [[b]] [[c]]\n",
            "user/b.md": "---\ntags: [x]\n---\nMore prose.\n",
            "user/c.md": "Even more. [[a]]\n",
        }
    )
    store._context.database.connection.execute(
        "create temp table touched (what text);"
        "create temp trigger added after insert on main.edge begin insert into touched values ('+' || new.kind); end;"
        "create temp trigger gone after delete on main.edge begin insert into touched values ('-' || old.kind); end;"
        "create temp trigger edited after update on main.edge begin insert into touched values ('~' || new.kind); end;"
    )
    return store


@pytest.mark.parametrize(
    ("text", "touched"),
    [
        ("---\ntags: [x, y]\n---\nOther prose, rewritten. [[b]] and [[c]]\n", []),
        ("---\ntags: [x, y]\ndescription: new\ncreated: 2026\n---\nProse.\n\n\n[[b]]\n[[c|see]]\n", []),
        ("---\ntags: [y, x]\n---\nProse. [[c]] [[b]] [[b]]\n", []),
        ("---\ntags: [x, z]\n---\nProse. [[b]] [[c]]\n", ["+has_tag", "-has_tag"]),
        ("---\ntags: [x, y]\n---\nProse. [[b]] [[gone]]\n", ["-links_to"]),
        ("---\ntags: [x, y]\nsupersedes: b\n---\nProse. [[b]] [[c]]\n", ["+supersedes"]),
    ],
)
def test_an_edit_touches_only_the_edges_that_it_changes(counted: Store, text: str, touched: list[str]) -> None:
    before = set(counted._context.database.rows("select id, src, dst, kind from edge"))
    edit(counted, {"user/a.md": text})
    assert sorted(what for (what,) in counted._context.database.rows("select what from touched")) == touched
    after = set(counted._context.database.rows("select id, src, dst, kind from edge"))
    assert len(before - after) == sum(what[0] == "-" for what in touched)


def test_a_tag_that_no_memory_has_any_more_is_gone(make_store: MakeStore) -> None:
    store = make_store({"user/a.md": "---\ntags: [Only, both]\n---\n", "user/b.md": "---\ntags: [both]\n---\n"})
    assert store._context.database.rows("select tag, memories from tags order by tag") == [("both", 2), ("only", 1)]
    edit(store, {"user/a.md": "x\n"})
    assert store._context.database.rows("select tag, memories from tags") == [("both", 1)]
    edit(store, {}, "user/b.md")
    assert store._context.database.rows("select tag from tags") == []


# Incremental and anew are the same

NAMES = ["user/b", "project/b", "project/my-note", "user/My Note", "ritual/b", "b"]
TARGETS = ["b", "user/b", "My Note", "my_note", "bee", "project/b", "x"]
text = st.builds(
    lambda links, aliases, old, name: (
        "---\n" + (f"aliases: [{', '.join(aliases)}]\n" if aliases else "")
        + (f"supersedes: {old}\n" if old else "") + (f"name: {name}\n" if name else "") + "---\n"
        + " ".join(f"[[{link}]]" for link in links) + "\n"
    ),
    st.lists(st.sampled_from(TARGETS), max_size=3),
    st.lists(st.sampled_from(["bee", "b", "x"]), max_size=1),
    st.none() | st.sampled_from(TARGETS),
    st.none() | st.sampled_from(["x", "bee"]),
)  # fmt: skip
step = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(NAMES), text),
    st.tuples(st.just("delete"), st.sampled_from(NAMES), st.none()),
    st.tuples(st.just("move"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
)


def view(store: Store) -> list[tuple[Any, ...]]:
    database = store._context.database
    return sorted(database.rows("select * from links"), key=repr) + sorted(
        database.rows("select * from graph_edges_all"), key=repr
    )


def holds(steps: list[tuple[str, str, str | None]]) -> None:
    """Links that were kept up are those that a store finds anew."""
    with TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        with Store.init(root, embedder=Embedder(enabled=False)) as store:
            for what, name, more in steps:
                file = root / f"{name}.md"
                if what == "write":
                    write_files(root, {f"{name}.md": more or ""})
                elif what == "delete":
                    file.unlink(missing_ok=True)
                elif file.exists() and not (root / f"{more}.md").exists():
                    (root / f"{more}.md").parent.mkdir(exist_ok=True)
                    file.rename(root / f"{more}.md")
                store.sync(yes=True)
            kept = view(store)
            database = store.place.database
        database.unlink()
        with Store.init(root, embedder=Embedder(enabled=False)) as store:
            store.sync()
            assert view(store) == kept


@settings(max_examples=8, deadline=None)
@given(steps=st.lists(step, min_size=1, max_size=8))
def test_links_kept_up_are_links_resolved_anew(steps: list[tuple[str, str, str | None]]) -> None:
    holds(steps)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(steps=st.lists(step, min_size=1, max_size=8))
def test_links_of_many_histories_are_links_resolved_anew(steps: list[tuple[str, str, str | None]]) -> None:
    holds(steps)
