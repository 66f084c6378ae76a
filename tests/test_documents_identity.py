"""An unchanged passage stays the same chunk, with its vector and its edges, whatever happens around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from memdb.domain import formats
from memdb.domain.extractors import EXTRACTORS
from tests.document_support import Shelf, age

SECTION = "The {0} valve is number {0}. It opens to the left.\n\nSecond paragraph of {0}.\n"


def guide(numbers: list[int], **changed: str) -> str:
    parts = [f"## Valve {number}\n\n{changed.get(f'v{number}', SECTION.format(number))}\n" for number in numbers]
    return "# Valves\n\nAll of them.\n\n" + "".join(parts)


def test_editing_one_section_of_many_embeds_its_passages_only(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"valves.md": guide(list(range(300)))})
    shelf.add()
    before = shelf.nodes("valves.md")
    shelf.embedder.read.clear()
    shelf.put({"valves.md": guide(list(range(300)), v150="This one is stuck.\n")})
    report = shelf.store.sync()
    assert report.embedded == 1
    assert [text for text in shelf.embedder.read if "stuck" not in text] == []
    after = shelf.nodes("valves.md")
    assert len(before) == len(after) == 301
    assert {text for text in before if before[text] != after.get(text)} == {SECTION.format(150).strip()}


def test_reordered_sections_keep_their_chunks_and_vectors(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"valves.md": guide([1, 2, 3, 4])})
    shelf.add()
    before = shelf.nodes("valves.md")
    shelf.embedder.read.clear()
    shelf.put({"valves.md": guide([4, 2, 1, 3])})
    shelf.store.sync()
    assert shelf.embedder.read == []
    assert shelf.nodes("valves.md") == before
    ordinals = [text[:11] for (text,) in shelf.rows("select text from chunks order by ordinal")]
    assert ordinals == ["All of them", "The 4 valve", "The 2 valve", "The 1 valve", "The 3 valve"]
    shelf.assert_rebuilds()


@pytest.mark.parametrize("target", ["renamed.md", "sub/valves.md", "#1.md"])
def test_a_moved_file_keeps_everything(tmp_path: Path, target: str) -> None:
    shelf = Shelf(tmp_path, {"valves.md": guide([1, 2]) + SECTION.format(9) * 30})
    shelf.add()
    before = shelf.rows("select id, text from chunk order by id")
    edges = shelf.rows("select id, src, dst from edge where kind = 'next' order by id")
    assert edges != []
    shelf.embedder.read.clear()
    (shelf.docs / "sub").mkdir()
    (shelf.docs / "valves.md").replace(shelf.docs / target)
    report = shelf.store.sync()
    assert (report.documents.moved, report.documents.added, report.documents.missing) == (1, 0, 1)
    assert shelf.embedder.read == []
    assert shelf.rows("select id, text from chunk order by id") == before
    assert shelf.rows("select id, src, dst from edge where kind = 'next' order by id") == edges
    assert [doc.places for doc in shelf.store.documents.list()] == [((shelf.docs / target).as_posix(),)]
    shelf.assert_rebuilds()


def test_files_that_change_names_with_one_another_stay_the_documents_that_they_are(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"one.md": guide([1, 2]), "two.md": guide([3, 4])})
    shelf.add()
    one, two = shelf.nodes("one.md"), shelf.nodes("two.md")
    (shelf.docs / "one.md").replace(shelf.docs / "three.md")
    (shelf.docs / "two.md").replace(shelf.docs / "one.md")
    (shelf.docs / "three.md").replace(shelf.docs / "two.md")
    shelf.store.sync()
    assert (shelf.nodes("one.md"), shelf.nodes("two.md")) == (two, one)
    shelf.assert_rebuilds()


def test_rotated_logs_stay_the_documents_that_they_are(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"app.txt": "First day.\n", "app.1.txt": "Day before.\n"})
    shelf.add()
    first, before = shelf.nodes("app.txt"), shelf.nodes("app.1.txt")
    (shelf.docs / "app.1.txt").replace(shelf.docs / "app.2.txt")
    (shelf.docs / "app.txt").replace(shelf.docs / "app.1.txt")
    shelf.put({"app.txt": "Second day.\n"})
    shelf.store.sync()
    assert (shelf.nodes("app.1.txt"), shelf.nodes("app.2.txt")) == (first, before)
    shelf.assert_rebuilds()


def test_adding_again_and_touching_embeds_and_cuts_nothing(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {f"{number}.md": guide([number]) for number in range(20)})
    shelf.add()
    shelf.embedder.read.clear()
    before = shelf.rows("select id, indexed_at from chunk order by id")
    for file in shelf.docs.iterdir():
        file.touch()
    report = shelf.add()
    assert (report.documents.unchanged, report.documents.added, report.documents.chunks) == (20, 0, 0)
    assert shelf.embedder.read == []
    assert shelf.rows("select id, indexed_at from chunk order by id") == before


def test_a_rebuild_embeds_nothing(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"valves.md": guide([1, 2])})
    shelf.add()
    shelf.embedder.read.clear()
    shelf.store.rebuild()
    assert shelf.embedder.read == []


def test_identical_files_are_one_document_with_two_places(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"a.md": guide([1]), "b.md": guide([1])})
    shelf.add()
    listed = shelf.store.documents.list()
    assert [(doc.id, doc.chunks) for doc in listed] == [(shelf.key("a.md"), 2)]
    assert listed[0].places == tuple((shelf.docs / name).as_posix() for name in ("a.md", "b.md"))
    before = shelf.nodes("a.md")
    (shelf.docs / "a.md").unlink()
    shelf.store.sync()
    assert shelf.nodes("b.md") == before
    assert [(doc.state, len(doc.places)) for doc in shelf.store.documents.list()] == [("seen", 1)]
    shelf.put({"a.md": guide([2])})
    shelf.store.sync()
    assert [doc.id for doc in shelf.store.documents.list()] == [shelf.key("a.md"), shelf.key("b.md")]
    shelf.assert_rebuilds()


def test_another_version_of_an_extractor_cuts_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf(tmp_path, {"a.md": guide([1]), "b.txt": "A line.\n"})
    shelf.add()
    age(*shelf.docs.iterdir())
    shelf.store.sync()
    markdown = next(extractor for extractor in EXTRACTORS if extractor.name == "markdown")
    before = shelf.nodes("a.md")
    version, suffixes = formats.FORMATS["markdown"]
    monkeypatch.setattr(type(markdown), "version", version + 1)
    monkeypatch.setitem(formats.FORMATS, "markdown", (version + 1, suffixes))
    report = shelf.store.sync()
    assert report.documents.chunks == 2
    assert shelf.rows("select extractor from document where format = 'markdown'") == [(f"markdown {markdown.version}",)]
    assert shelf.nodes("a.md") == before
    assert shelf.store.sync().documents.chunks == 0


def test_what_was_cut_without_a_model_is_cut_anew_by_its_tokens(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"a.txt": "word " * 100}, window=24)
    shelf.store._context.set_embedder(None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_EMBEDDER", "off")
        shelf.add()
        assert shelf.rows("select cutter, count(*) from document join chunk on document_id = document.id") == [
            ("estimate", 1)
        ]
    shelf.store._context.set_embedder(shelf.embedder)
    shelf.store.sync()
    assert shelf.rows("select cutter, count(*) > 4 from document join chunk on document_id = document.id") == [
        ("fake/words@1", 1)
    ]
    cut = shelf.nodes("a.txt")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMDB_EMBEDDER", "off")
        shelf.store._context.set_embedder(None)
        shelf.store.sync()
        assert shelf.nodes("a.txt") == cut
    shelf.store._context.set_embedder(shelf.embedder)
    shelf.assert_rebuilds()


def test_next_edges_join_the_passages_of_one_section_only(tmp_path: Path) -> None:
    long = "The lantern hangs in the hall above the stairs. " * 12
    shelf = Shelf(tmp_path, {"a.md": f"# A\n\n{long}\n\n# B\n\n{long.replace('lantern', 'mirror')}\n"}, window=32)
    shelf.add()
    sections = shelf.rows(
        "select distinct one.heading_path, other.heading_path, other.ordinal - one.ordinal from edge"
        " join chunk as one on one.id = src join chunk as other on other.id = dst where edge.kind = 'next'"
    )
    assert sorted(sections) == [('["A"]', '["A"]', 1), ('["B"]', '["B"]', 1)]
    count, headings = shelf.rows("select count(*), count(distinct heading_path) from chunk")[0]
    assert shelf.rows("select count(*) from edge where kind = 'next'") == [(count - headings,)]


def test_the_cascade_reaches_the_neighbour(tmp_path: Path) -> None:
    first = "Sluices are opened by the warden alone, at dawn and at dusk, with the long iron key from the hut. "
    second = "Afterwards she writes a note into a ledger made from blue paper which hangs on its own brass hook. "
    shelf = Shelf(tmp_path, {"a.txt": first + "\n\n" + second}, window=24)
    shelf.add()
    answer = shelf.store.recall("warden sluices", arms=["keyword"])
    hops = {hit.id: hit.path for hit in answer.hits}
    assert len(hops) > 1
    assert [hop.edge for hop in hops[f"{shelf.key('a.txt')}#2"]] == [None, "next"]


def moved_and_edited(shelf: Shelf, numbers: list[int], **changed: str) -> None:
    (shelf.docs / "valves.md").unlink()
    shelf.put({"sub/pipes.md": guide(numbers, **changed)})


def test_a_file_that_is_renamed_and_edited_at_once_stays_the_document_that_it_is(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"valves.md": guide([1, 2, 3]), "other.md": "The gate is green.\n"})
    shelf.add()
    before, document = shelf.nodes("valves.md"), shelf.rows("select min(document_id) from chunk where text like '%3%'")
    shelf.embedder.read.clear()
    moved_and_edited(shelf, [1, 2, 3], v2="It is stuck.\n")
    report = shelf.store.sync()
    assert (report.documents.moved, report.documents.added, report.documents.missing) == (1, 0, 1)
    assert shelf.embedder.read == ["Valves › Valve 2\nIt is stuck."]
    after = shelf.nodes("sub/pipes.md")
    assert {text for text in after if before.get(text) != after[text]} == {"It is stuck."}
    assert shelf.rows("select min(document_id) from chunk where text like '%3%'") == document
    assert [doc.id for doc in shelf.store.documents.list()] == [shelf.key("other.md"), shelf.key("sub/pipes.md")]
    assert shelf.store.sync().documents.moved == 0
    shelf.assert_rebuilds()


@pytest.mark.parametrize(
    ("kept", "moved"), [([1, 2, 9], 1), ([1, 8, 9], 1), ([7, 8, 9], 0), (list(range(1, 8)), 1), (list(range(1, 9)), 0)]
)
def test_half_of_the_passages_tell_a_moved_document(tmp_path: Path, kept: list[int], moved: int) -> None:
    """The title's own passage is shared too: two of four and four of eight are enough, four of nine are not."""
    shelf = Shelf(tmp_path, {"valves.md": guide([1, 2, 3])})
    shelf.add()
    changed = {f"v{number}": f"Valve {number} is new here.\n" for number in range(4, 10)}
    moved_and_edited(shelf, kept, **changed)
    report = shelf.store.sync()
    assert (report.documents.moved, report.documents.added) == (moved, 1 - moved)
    assert len(shelf.store.documents.list()) == 2 - moved
    shelf.assert_rebuilds()


@pytest.mark.parametrize("which", ["two new ones", "two missing ones"])
def test_where_two_could_be_meant_none_is(tmp_path: Path, which: str) -> None:
    shelf = Shelf(tmp_path, {"valves.md": guide([1, 2, 3])})
    if which == "two missing ones":
        shelf.put({"copy.md": guide([1, 2, 3, 4])})
    shelf.add()
    if which == "two missing ones":
        (shelf.docs / "copy.md").unlink()
    else:
        shelf.put({"sub/more.md": guide([1, 2, 3, 5])})
    moved_and_edited(shelf, [1, 2, 3], v2="It is stuck.\n")
    report = shelf.store.sync()
    assert report.documents.moved == 0
    assert sorted(doc.state for doc in shelf.store.documents.list()) == sorted(
        ["missing", "missing", "seen"] if which == "two missing ones" else ["missing", "seen", "seen"]
    )
    shelf.assert_rebuilds()


def test_a_file_that_goes_and_one_that_comes_later_are_joined_as_well(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"valves.md": guide([1, 2, 3])})
    shelf.add()
    before = shelf.nodes("valves.md")
    (shelf.docs / "valves.md").unlink()
    shelf.store.sync()
    shelf.put({"pipes.md": guide([1, 2, 3], v2="It is stuck.\n")})
    assert shelf.store.sync().documents.moved == 1
    after = shelf.nodes("pipes.md")
    assert {text for text in after if before.get(text) != after[text]} == {"It is stuck."}
    shelf.assert_rebuilds()


def test_an_edit_leaves_the_rows_of_other_passages_alone(tmp_path: Path) -> None:
    """What waits on new rows, such as extraction, must not do unchanged passages again."""
    shelf = Shelf(tmp_path, {"valves.md": guide([1, 2, 3])})
    shelf.add()
    written: list[int] = []
    database = shelf.store._context.database
    database.connection.execute("create temp table written (id integer)")
    database.connection.execute(
        "create temp trigger note after insert on main.chunk begin insert into written values (new.id); end"
    )
    shelf.put({"valves.md": guide([3, 1, 2], v2="It is stuck.\n")})
    shelf.store.sync()
    written = [chunk for (chunk,) in database.rows("select id from written")]
    assert written == [shelf.nodes("valves.md")["It is stuck."]]


def test_what_did_not_change_is_not_looked_at_closer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Else what is seconds old is read again.
    monkeypatch.setattr("memdb.services.files.sync.RACY_NS", 0)
    monkeypatch.setattr("memdb.services.documents.documents.RACY_NS", 0)
    shelf = Shelf(tmp_path, {"valves.md": guide([1]), "deep/pumps.md": guide([2]), "bad.pdf": b"%PDF-1.7 no more"})
    (tmp_path / "odd.weird").write_text("A file that was added itself.\n", encoding="utf-8")
    shelf.add()
    shelf.store.add([tmp_path / "odd.weird"])
    shelf.store.save("user/a", "A memory.\n")
    shelf.store.sync()

    def refuse(*values: object) -> None:
        raise AssertionError(values)

    with monkeypatch.context() as patch:
        patch.setattr("memdb.domain.documents.DocumentFile", refuse)
        patch.setattr("memdb.base.files.Found", refuse)
        shelf.store.sync()
        patch.setattr("memdb.services.documents.document_scan.Known", refuse)
        shelf.store.sync()
        shelf.put({"valves.md": guide([3])})
        with pytest.raises(AssertionError, match="valves"):
            shelf.store.sync()
    assert shelf.store.sync().documents.changed == 1
    (shelf.docs / "deep" / "pumps.md").unlink()
    assert shelf.store.sync().documents.missing == 1
    shelf.put({"deep/pumps.md": guide([2])})
    shelf.store.sync()
    assert shelf.rows("select count(*) from documents where state = 'missing'") == [(0,)]
