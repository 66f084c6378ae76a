"""Pages of the web as documents: fetched when they are added and never else, kept, cited by their address."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memdb.base.fetching import CannotFetch
from memdb.domain import documents as domain
from memdb.domain.extractors import CannotExtract
from memdb.errors import NotFound, NotWritable, SecretFound, UsageError
from memdb.services.documents import snapshots
from memdb.store import Store
from tests.document_files import docx, pdf, scan
from tests.document_support import Shelf
from tests.fake_embedder import FakeEmbedder
from tests.histories import differing
from tests.web_support import Page, Site, serving

pytest.importorskip("httpx")

PARTS = {"Install": "Bolt the pump to the plinth.", "Restore": "Copy the last snapshot back.", "Care": "Grease it."}


def page(**changed: str) -> str:
    parts = "".join(f"<h2>{name}</h2><p>{text}</p>" for name, text in (PARTS | changed).items())
    return f"<html><head><title>Pump handbook</title></head><body><main><h1>Pumps</h1>{parts}</main></body></html>"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as served:
        yield served


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def kept(shelf: Shelf) -> list[str]:
    folder = shelf.store.place.snapshots
    return sorted(file.name for file in folder.iterdir()) if folder.is_dir() else []


def journaled(shelf: Shelf) -> list[str]:
    lines = [
        line
        for file in shelf.store.place.journal.glob("*.jsonl")
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    return [json.loads(line)["path"] for line in lines if json.loads(line)["kind"] == "snapshot"]


def chunk_ids(shelf: Shelf) -> dict[str, int]:
    return {text: chunk for chunk, text in shelf.rows("select id, text from chunk")}


def everything(shelf: Shelf) -> bytes:
    shelf.store.close()
    return b"".join(file.read_bytes() for file in (shelf.where / "root" / ".memdb").rglob("*") if file.is_file())


def test_a_page_is_a_document_that_is_cited_by_its_address(shelf: Shelf, site: Site) -> None:
    at = site.put("/handbook", page())
    report = shelf.store.add([at])
    assert (report.documents.added, report.documents.chunks, report.documents.failed) == (1, 3, [])
    [document] = shelf.store.documents.list()
    assert (document.id, document.title, document.format, document.state) == (
        f"document:{at}", "Pump handbook", "html", "seen",
    )  # fmt: skip
    assert (document.places, document.link) == ((at,), at)
    hit = shelf.store.recall("copy the last snapshot back").hits[0]
    assert hit.citation is not None
    assert (hit.id, hit.citation.link, str(hit.citation)) == (f"document:{at}#2", at, f"{at} › Pumps › Restore")
    assert [chunk.citation.link for chunk in shelf.store.documents.chunks(at)] == [at] * 3
    assert shelf.rows("select id, link from documents") == [(f"document:{at}", at)]
    assert shelf.store.documents.find(at.replace("http://", "HTTP://") + "#restore") == f"document:{at}"
    shelf.assert_rebuilds()


def test_nothing_but_an_add_asks_the_network(shelf: Shelf, site: Site) -> None:
    shelf.store.add([site.put("/handbook", page())])
    shelf.store.sync()
    shelf.store.recall("pump")
    shelf.store.rebuild()
    shelf.anew()
    assert site.asked == ["/handbook"]


def test_a_deleted_database_comes_back_without_the_network(shelf: Shelf, site: Site) -> None:
    at = site.put("/handbook", page())
    shelf.store.add([at])
    live = shelf.store.digest()
    site.pages.clear()
    assert differing(live, shelf.anew()) == []
    assert site.asked == ["/handbook"]


def test_adding_an_unchanged_page_again_does_nothing(shelf: Shelf, site: Site) -> None:
    at = site.put("/handbook", page())
    shelf.store.add([at])
    before = shelf.rows("select * from chunk order by id")
    shelf.embedder.read.clear()
    report = shelf.store.add([at])
    assert (report.documents.unchanged, report.documents.chunks, report.embedded) == (1, 0, 0)
    assert (shelf.rows("select * from chunk order by id"), shelf.embedder.read) == (before, [])
    assert site.asked == ["/handbook", "/handbook"]
    assert journaled(shelf) == [at]


def test_adding_a_changed_page_again_replaces_what_changed(shelf: Shelf, site: Site) -> None:
    at = site.put("/handbook", page())
    shelf.store.add([at])
    before, first = chunk_ids(shelf), kept(shelf)
    shelf.embedder.read.clear()
    site.put("/handbook", page(Restore="Call the warden."))
    report = shelf.store.add([at])
    assert (report.documents.changed, report.documents.added, report.embedded) == (1, 0, 1)
    assert len(shelf.embedder.read) == 1
    after = chunk_ids(shelf)
    assert {text for text in after if before.get(text) != after[text]} == {"Call the warden."}
    assert len(kept(shelf)) == 1
    assert kept(shelf) != first
    shelf.assert_rebuilds()


def test_a_page_that_leads_elsewhere_is_cited_by_where_it_led(shelf: Shelf, site: Site) -> None:
    end = site.put("/new/handbook", page())
    at = site.redirect("/old", "/new/handbook", 301)
    report = shelf.store.add([at])
    assert report.documents.notes == [f"{at} leads to {end}"]
    [document] = shelf.store.documents.list()
    assert (document.id, document.link) == (f"document:{at}", end)
    hit = shelf.store.recall("plinth").hits[0]
    assert hit.citation is not None
    assert hit.citation.link == end
    assert shelf.store.documents.link(f"document:{at}") == end
    shelf.assert_rebuilds()


TYPES: dict[str, tuple[str, str, bytes | str, str, str]] = {
    "html": ("/a", "text/html", page(), "html", "Grease it."),
    "html without a type": ("/a", "", page(), "html", "Grease it."),
    "latin-1": ("/a", "text/html; charset=iso-8859-1", "<html><p>Größe elf.</p></html>".encode("latin-1"), "html",
                "Größe elf."),
    "the server's encoding goes before the page's": (
        "/a", "text/html; charset=iso-8859-2",
        "<html><head><meta charset=utf-8></head><p>Łódź.</p></html>".encode("iso-8859-2"), "html", "Łódź.",
    ),
    "the page's own encoding": (
        "/a", "text/html", "<html><head><meta charset=koi8-r></head><p>Лампа.</p></html>".encode("koi8-r"), "html",
        "Лампа.",
    ),
    "text in another encoding": ("/a.txt", "text/plain; charset=shift_jis", "灯台の鍵".encode("shift_jis"), "text",
                                 "灯台の鍵"),
    "utf-8 that is called latin-1": ("/a.txt", "text/plain; charset=iso-8859-1", "Größe elf.", "text", "Größe elf."),
    "an encoding that is none": ("/a.txt", "text/plain; charset=none", "Größe elf.", "text", "Größe elf."),
    "markdown called text": ("/raw/README.md?raw=1", "text/plain", "# Pump\n\nGrease it.\n", "markdown", "Grease it."),
    "code called text": ("/raw/a.py", "text/plain", "def grease():\n    return 'often'\n", "source", "often"),
    "json": ("/api/list", "application/json", '[{"id": "p1", "text": "Grease it."}]', "json", "Grease it."),
    "jsonl": ("/api/list", "application/x-ndjson", '{"id": "p1", "text": "Grease it."}\n', "jsonl", "Grease it."),
    "csv": ("/list.php", "text/csv", "part,care\npump,grease\nhose,none\n", "table", "grease"),
    "pdf": ("/get?id=7", "application/pdf", pdf([[(72, 700, "The tower has nine bells.")]]), "pdf", "nine bells"),
    "docx": ("/letter.docx", "application/octet-stream", docx(), "docx", "opened again in autumn"),
}  # fmt: skip


@pytest.mark.parametrize("case", TYPES)
def test_a_page_is_read_by_its_type(shelf: Shelf, site: Site, case: str) -> None:
    path, content_type, body, form, said = TYPES[case]
    at = site.put(path, body, content_type)
    shelf.store.add([at])
    [document] = shelf.store.documents.list()
    assert (document.format, document.id) == (form, f"document:{at}")
    assert said in "\n".join(chunk.text for chunk in shelf.store.documents.chunks(document.id))
    shelf.assert_rebuilds()


def test_a_binary_is_kept_byte_by_byte(shelf: Shelf, site: Site) -> None:
    data = pdf([[(72, 700, "The tower has nine bells.")]])
    at = site.put("/a.pdf", data, "application/pdf")
    shelf.store.add([at])
    path = shelf.store.documents.path(f"document:{at}")
    assert (path.read_bytes(), path.suffix) == (data, ".pdf")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (scan(), "no text"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "PNG"),
        (b"<html><body></body></html>", "no text"),
    ],
)
def test_a_page_without_text_is_refused(shelf: Shelf, site: Site, body: bytes, said: str) -> None:
    with pytest.raises(CannotExtract, match=said):
        shelf.store.add([site.put("/a", body, "")])
    assert (shelf.store.documents.list(), kept(shelf), journaled(shelf)) == ([], [], [])


def bad_addresses(site: Site) -> dict[str, type[Exception]]:
    site.redirect("/loop", "/loop")
    site.pages["/500"] = Page(b"<p>Broken.</p>", 500)
    site.put("/large", b"x" * 3000)
    return {
        site.address("/nowhere"): CannotFetch,
        site.address("/500"): CannotFetch,
        site.address("/loop"): CannotFetch,
        site.address("/large"): CannotFetch,
        "http://127.0.0.1:1/": CannotFetch,
        "file:///etc/hosts": UsageError,
        "http://" + "me:" + "Zq8Zq8Zq8" + f"@127.0.0.1:{site.port}/a": SecretFound,
        site.address("/a?api_" + "key=" + "Zq8" * 7): SecretFound,
    }


def test_what_cannot_be_fetched_keeps_no_other_back(shelf: Shelf, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "MAX_BYTES", 2000)
    bad = bad_addresses(site)
    shelf.put({"a.md": "The gate is green.\n"})
    good = site.put("/good", page())
    report = shelf.store.add([*bad, good, shelf.docs, shelf.docs / "nowhere"])
    assert report.documents.added == 2
    assert len(report.documents.failed) == len(bad) + 1
    assert all(len(reason) > 20 for _, reason in report.documents.failed)
    assert "Zq8" not in repr(report)
    assert {document.id for document in shelf.store.documents.list()} == {f"document:{good}", shelf.key("a.md")}
    assert journaled(shelf) == [good]
    assert b"Zq8" not in everything(shelf)


def test_a_single_page_that_cannot_be_fetched_raises_why(
    shelf: Shelf, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "MAX_BYTES", 2000)
    for at, error in bad_addresses(site).items():
        with pytest.raises(error) as caught:
            shelf.store.add([at])
        assert getattr(caught.value, "hint", None), at
    assert (shelf.store.documents.list(), kept(shelf), journaled(shelf)) == ([], [], [])


def test_a_page_that_is_gone_from_the_web_stays(shelf: Shelf, site: Site) -> None:
    at = site.put("/handbook", page())
    shelf.store.add([at])
    site.pages.clear()
    with pytest.raises(CannotFetch):
        shelf.store.add([at])
    assert [document.state for document in shelf.store.documents.list()] == ["seen"]
    assert shelf.store.recall("plinth").hits[0].stale is False
    shelf.assert_rebuilds()


def test_a_removed_page_leaves_no_byte(shelf: Shelf, site: Site) -> None:
    at, other = site.put("/handbook", page(Care="The quokkabird sings.")), site.put("/other", page())
    shelf.store.add([at, other])
    shelf.store.documents.path(f"document:{at}")
    assert shelf.store.remove(f"document:{at}") == at
    assert [document.id for document in shelf.store.documents.list()] == [f"document:{other}"]
    assert len(kept(shelf)) == 1
    shelf.assert_rebuilds()
    assert b"quokkabird" not in everything(shelf).lower()


@pytest.mark.parametrize("by", ["id", "address", "another spelling"])
def test_a_page_is_removed_by(shelf: Shelf, site: Site, by: str) -> None:
    at = site.put("/handbook", page())
    shelf.store.add([at, site.put("/handbook/more", page(Care="None."))])
    written = {"id": f"document:{at}", "address": at, "another spelling": at.replace("http:", "HTTP:") + "#a"}
    shelf.store.remove(written[by])
    assert [document.id for document in shelf.store.documents.list()] == [f"document:{site.address('/handbook/more')}"]
    with pytest.raises(NotFound):
        shelf.store.remove(written[by])
    shelf.assert_rebuilds()


def test_a_snapshot_of_two_pages_goes_with_the_last(shelf: Shelf, site: Site) -> None:
    one, other = site.put("/one", page()), site.put("/other", page())
    shelf.store.add([one, other])
    [document] = shelf.store.documents.list()
    assert document.places == (one, other)
    assert len(kept(shelf)) == 1
    shelf.store.remove(one)
    assert [document.id for document in shelf.store.documents.list()] == [f"document:{other}"]
    assert len(kept(shelf)) == 1
    shelf.assert_rebuilds()
    shelf.store.remove(other)
    assert (kept(shelf), shelf.store.documents.list()) == ([], [])


def test_a_page_and_a_file_of_the_same_bytes_are_one_document(shelf: Shelf, site: Site) -> None:
    shelf.put({"a.html": page()})
    shelf.add()
    before = chunk_ids(shelf)
    at = site.put("/handbook", page())
    shelf.store.add([at])
    [document] = shelf.store.documents.list()
    assert (document.places, document.link) == (((shelf.docs / "a.html").as_posix(), at), at)
    assert chunk_ids(shelf) == before
    shelf.store.remove(str(shelf.docs))
    assert [document.id for document in shelf.store.documents.list()] == [f"document:{at}"]
    assert chunk_ids(shelf) == before
    shelf.assert_rebuilds()


def test_adding_and_removing_the_root_leaves_pages_alone(shelf: Shelf, site: Site) -> None:
    at = site.put("/handbook", page())
    shelf.store.add([at, shelf.store.place.root])
    shelf.store.remove(str(shelf.store.place.root))
    shelf.store.sync()
    assert [document.id for document in shelf.store.documents.list()] == [f"document:{at}"]
    shelf.assert_rebuilds()


@pytest.mark.parametrize("harm", ["gone", "damaged", "cut", "a folder"])
def test_a_snapshot_that_is_lost_is_said_and_mended(shelf: Shelf, site: Site, harm: str) -> None:
    at = site.put("/handbook", page())
    shelf.store.add([at])
    before = chunk_ids(shelf)
    file = shelf.store.place.snapshots / kept(shelf)[0]
    data = file.read_bytes()
    file.unlink()
    if harm == "a folder":
        file.mkdir()
    elif harm != "gone":
        file.write_bytes(data[:-9] if harm == "cut" else data.replace(b"plinth", b"ceilin"))
    report = shelf.store.sync()
    [(path, reason)] = report.documents.failed
    assert path == at
    assert reason.startswith("the snapshot is ") or harm == "a folder"
    assert [document.state for document in shelf.store.documents.list()] == ["missing"]
    assert shelf.store.recall("plinth").hits[0].stale is True
    assert shelf.rows("select path from problems") == [(at,)]
    with pytest.raises(NotFound):
        shelf.store.documents.path(f"document:{at}")
    live = shelf.store.digest()
    shelf.store.rebuild()
    assert differing(live, shelf.store.digest()) == []
    assert chunk_ids(shelf).keys() == before.keys()
    if harm == "a folder":
        file.rmdir()
    shelf.embedder.read.clear()
    report = shelf.store.add([at])
    assert (report.documents.failed, shelf.embedder.read) == ([], [])
    assert [document.state for document in shelf.store.documents.list()] == ["seen"]
    assert shelf.rows("select path from problems") == []
    shelf.assert_rebuilds()


def test_a_damaged_snapshot_without_a_database_is_said(shelf: Shelf, site: Site) -> None:
    at = site.put("/handbook", page())
    shelf.store.add([at])
    (shelf.store.place.snapshots / kept(shelf)[0]).write_bytes(b"other bytes")
    live = shelf.store.digest()
    assert differing(live, shelf.anew()) == []
    shelf.reopen()
    assert shelf.store.documents.list() == []
    assert shelf.rows("select path, reason from problem") == [(at, domain.DAMAGED)]


def test_a_sync_without_news_writes_nothing(shelf: Shelf, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from memdb.services.documents import documents

    shelf.store.add([site.put("/handbook", page()), site.put("/other", page(Care="None."))])
    file = shelf.store.place.snapshots / kept(shelf)[0]
    file.write_bytes(b"other bytes")
    monkeypatch.setattr(documents, "RACY_NS", 0)
    shelf.store.sync()
    shelf.store.sync()
    writes = shelf.store._context.database.connection.total_changes()
    shelf.store.sync()
    assert shelf.store._context.database.connection.total_changes() == writes


def test_of_two_machines_the_later_fetch_counts(shelf: Shelf, site: Site, tmp_path: Path) -> None:
    at = site.put("/handbook", page())
    shelf.store.add([at])
    shelf.store.close()
    theirs = tmp_path / "theirs"
    shutil.copytree(tmp_path / "root", theirs)
    site.put("/handbook", page(Care="Theirs is later."))
    with Store.init(theirs, embedder=FakeEmbedder()) as store:
        store.add([at])
        expected = store.digest()
    shutil.copytree(theirs / ".memdb" / "journal", tmp_path / "root" / ".memdb" / "journal", dirs_exist_ok=True)
    shutil.copytree(theirs / ".memdb" / "snapshots", tmp_path / "root" / ".memdb" / "snapshots", dirs_exist_ok=True)
    shelf.store.sync()
    assert "Theirs is later." in chunk_ids(shelf)
    assert len(kept(shelf)) == 1
    assert differing(shelf.store.digest(), expected) == []
    shelf.assert_rebuilds()


def test_a_page_that_another_machine_removed_goes_here_too(shelf: Shelf, site: Site, tmp_path: Path) -> None:
    at = site.put("/handbook", page())
    shelf.store.add([at])
    shelf.store.close()
    theirs = tmp_path / "theirs"
    shutil.copytree(tmp_path / "root", theirs)
    with Store.init(theirs, embedder=FakeEmbedder()) as store:
        store.remove(at)
    shutil.copytree(theirs / ".memdb" / "journal", tmp_path / "root" / ".memdb" / "journal", dirs_exist_ok=True)
    shelf.store.sync()
    assert (shelf.store.documents.list(), kept(shelf)) == ([], [])
    shelf.assert_rebuilds()


@pytest.mark.parametrize(
    "change",
    [{"sha256": "../../../user/a"}, {"sha256": "A" * 64}, {"link": "file:///etc/hosts"}, {"path": "user/a.md"},
     {"suffix": "/../a"}, {"suffix": None}, {"link": 7}],
)  # fmt: skip
def test_a_foreign_record_that_does_not_fit_is_passed_over(shelf: Shelf, change: dict[str, object]) -> None:
    record = {"t": "0000000000001-00000", "w": "other", "kind": "snapshot", "path": "http://a/", "link": "http://a/"}
    record |= {"sha256": "a" * 64, "suffix": ".html", "content_type": None, "fetched_at": "2026-01-01T00:00:00Z"}
    folder = shelf.store.place.journal
    folder.mkdir(exist_ok=True)
    (folder / "other.jsonl").write_text(json.dumps(record | change) + "\n", encoding="utf-8")
    shelf.store.sync()
    assert shelf.rows("select * from snapshot") == []
    (folder / "other.jsonl").write_text(json.dumps(record) + "\n\n", encoding="utf-8")
    shelf.store.sync()
    assert shelf.rows("select path from snapshot") == [("http://a/",)]
    assert shelf.store.sync().documents.failed == [("http://a/", domain.LOST)]


@pytest.mark.parametrize("when", ["before the journal", "before the database"])
def test_a_kill_while_a_page_is_kept_leaves_all_or_nothing(
    shelf: Shelf, site: Site, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    at = site.put("/handbook", page())
    target = {"before the journal": "append", "before the database": "set_journal_state"}[when]
    with monkeypatch.context() as patch:

        def killed(*_: object) -> None:
            raise KeyboardInterrupt

        patch.setattr(type(shelf.store._context), target, killed)
        with pytest.raises(KeyboardInterrupt):
            shelf.store.add([at])
    shelf.reopen()
    shelf.store.sync()
    assert len(shelf.store.documents.list()) == (when == "before the database")
    shelf.store.add([at])
    assert [document.id for document in shelf.store.documents.list()] == [f"document:{at}"]
    shelf.assert_rebuilds()


def test_a_full_disk_keeps_nothing(shelf: Shelf, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(NotWritable, match="No space left"):
            shelf.store.add([site.put("/handbook", page())])
    assert (shelf.store.documents.list(), kept(shelf), journaled(shelf)) == ([], [], [])


def test_a_credential_on_a_page_is_cut_out_before_it_is_kept(shelf: Shelf, site: Site) -> None:
    token = "sk-" + "proj-" + "Zq8" * 14
    at = site.put("/handbook", page(Care=f"The key is {token} for now."))
    report = shelf.store.add([at])
    assert report.documents.notes == [f"{at}: 1 part of the snapshot redacted that looked like a credential"]
    assert any(text.startswith("The key is [redacted") for text in chunk_ids(shelf))
    assert shelf.store.add([at]).documents.unchanged == 1
    shelf.assert_rebuilds()
    assert b"Zq8Zq8" not in everything(shelf)


def test_a_page_that_takes_its_time_keeps_no_other_thread_waiting(
    shelf: Shelf, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.store.add([site.put("/handbook", page())])
    answered: list[int] = []
    fetch = snapshots.fetch

    def slow(written: str) -> snapshots.Page:
        thread = threading.Thread(target=lambda: answered.append(len(shelf.store.recall("plinth").hits)))
        thread.start()
        thread.join(20)
        return fetch(written)

    monkeypatch.setattr(snapshots, "fetch", slow)
    shelf.store.add([site.put("/other", page(Care="None."))])
    assert len(answered) == 1
    assert answered[0] > 0


def test_what_the_link_of_a_file_is(shelf: Shelf) -> None:
    shelf.put({"a.md": "The gate is green.\n"})
    shelf.add()
    assert shelf.store.documents.link(shelf.key("a.md")) is None
    assert [chunk.citation.link for chunk in shelf.store.documents.chunks(shelf.key("a.md"))] == [None]
