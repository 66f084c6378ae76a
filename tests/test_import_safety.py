"""What a source could do to harm: archives that lead out, links, bombs, credentials, names of all kinds."""

from __future__ import annotations

import os
import stat
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memdb.base import archives, files
from memdb.base.archives import BadArchive
from memdb.domain.importers.naming import NAME_BYTES, Paths, fold_path, safe_name, safe_path, slug
from memdb.store import Store
from tests.conftest import write_files
from tests.import_support import files_of, opened, outcome, tree, zipped

TOKEN = "sk-" + "proj-" + "Zq8" * 14


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return opened(tmp_path / "root")


@pytest.mark.parametrize(
    "name",
    ["../out.md", "a/../../out.md", "/etc/out.md", "C:/out.md", "a\\..\\out.md", "a//b.md", "./a.md", "a/./b.md", ".."],
)
def test_an_entry_that_leads_out_is_refused(store: Store, tmp_path: Path, name: str) -> None:
    packed = tmp_path / "bad.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("good.md", "A good note.\n")
        info = zipfile.ZipInfo("x")
        info.filename = name
        archive.writestr(info, "A bad one.\n")
    before = set(tmp_path.rglob("*"))
    with pytest.raises(BadArchive, match="nothing of it was read"):
        store.import_from([packed])
    assert {path for path in set(tmp_path.rglob("*")) - before if ".memdb" not in path.parts} == set()
    assert store.list() == []


def test_a_link_in_an_archive_is_refused(store: Store, tmp_path: Path) -> None:
    packed = tmp_path / "bad.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        info = zipfile.ZipInfo("passwd.md")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(BadArchive, match="a link in it"):
        store.import_from([packed])


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_links_in_a_folder_are_not_followed(store: Store, tmp_path: Path) -> None:
    write_files(tmp_path / "notes", {"a.md": "A note of mine.\n"})
    write_files(tmp_path / "secret", {"b.md": "Not of this folder.\n"})
    (tmp_path / "notes" / "b.md").symlink_to(tmp_path / "secret" / "b.md")
    (tmp_path / "notes" / "more").symlink_to(tmp_path / "secret")
    (tmp_path / "notes" / "loop").symlink_to(tmp_path / "notes")
    done = store.import_from([tmp_path / "notes"])
    assert outcome(done) == {"a.md": "created"}
    assert [path for path, _ in done.audit.passed] == ["b.md", "loop", "more"]


def test_a_bomb_is_refused(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert archives.MAX_RATIO == 200
    packed = zipped(tmp_path / "bomb.zip", {"a.md": b"\0" * (archives.RATIO_FROM + 1)})
    with pytest.raises(BadArchive, match="more than 200 times its size"):
        store.import_from([packed])
    many = {f"{number}.md": b"\0" * archives.RATIO_FROM for number in range(2)}
    with pytest.raises(BadArchive, match="unpacks to more than 200 times its size"):
        store.import_from([zipped(tmp_path / "bombs.zip", many)])
    monkeypatch.setattr(archives, "MAX_TOTAL_BYTES", 100)
    with pytest.raises(BadArchive, match="would unpack to more"):
        store.import_from([zipped(tmp_path / "large.zip", {f"{n}.md": os.urandom(60) for n in range(2)})])
    monkeypatch.setattr(archives, "MAX_ENTRIES", 2)
    with pytest.raises(BadArchive, match="more than 2 entries"):
        store.import_from([zipped(tmp_path / "many.zip", {f"{n}.md": b"x" for n in range(3)})])


def test_an_entry_that_is_longer_than_it_says_gives_no_more(store: Store, tmp_path: Path) -> None:
    packed = zipped(tmp_path / "lies.zip", {"a.md": "A note with a text of its own.\n" * 9})
    data = bytearray(packed.read_bytes())
    size = (len("A note with a text of its own.\n") * 9).to_bytes(4, "little")
    data = bytearray(bytes(data).replace(size, (40).to_bytes(4, "little")))
    packed.write_bytes(data)
    with pytest.raises(BadArchive, match="damaged"):
        store.import_from([packed])


@pytest.mark.parametrize("cut", [10, 40, 200])
def test_a_torn_archive_is_an_error(store: Store, tmp_path: Path, cut: int) -> None:
    packed = zipped(tmp_path / "torn.zip", {f"{n}.md": os.urandom(40).hex() for n in range(9)})
    packed.write_bytes(packed.read_bytes()[:-cut])
    with pytest.raises(BadArchive, match="damaged"):
        store.import_from([packed])


def test_an_encrypted_archive_is_refused(store: Store, tmp_path: Path) -> None:
    packed = zipped(tmp_path / "locked.zip", {"a.md": "A note.\n"})
    data = bytearray(packed.read_bytes())
    for mark in (b"PK\x03\x04", b"PK\x01\x02"):
        at = data.index(mark)
        data[at + (6 if mark == b"PK\x03\x04" else 8)] |= 1
    packed.write_bytes(data)
    with pytest.raises(BadArchive, match="encrypted"):
        store.import_from([packed])


def test_a_name_twice_is_refused(store: Store, tmp_path: Path) -> None:
    packed = tmp_path / "twice.zip"
    with zipfile.ZipFile(packed, "w") as archive, pytest.warns(UserWarning):
        archive.writestr("a.md", "One.\n")
        archive.writestr("a.md", "Two.\n")
    with pytest.raises(BadArchive, match="two entries"):
        store.import_from([packed])


def test_credentials_are_refused_and_not_shown(store: Store, tmp_path: Path) -> None:
    write_files(
        tmp_path / "notes",
        {
            "good.md": "A note about keys, without one.\n",
            "bad.md": f"---\nname: bad\n---\n\nfirst\nthe key is {TOKEN}\n",
            "tag.md": f"---\ntags: [{TOKEN}]\n---\nA text.\n",
            f"{TOKEN}.md": "A name.\n",
            "words.md": "token: stored-in-keychain, ********, and the token bucket.\n",
        },
    )
    done = store.import_from([tmp_path / "notes"])
    assert done.counts == {"created": 2, "refused": 3}
    assert {(one.place, one.line): one.category for one in done.audit.secrets} == {
        ("bad.md", 6): "OpenAI key",
        ("tag.md", 2): "OpenAI key",
        ("[redacted: OpenAI key].md", 1): "OpenAI key",
    }
    assert TOKEN not in repr(done)
    store.close()
    assert all(TOKEN.encode() not in file.read_bytes() for file in store.place.root.rglob("*") if file.is_file())
    assert all(TOKEN not in str(file) for file in store.place.root.rglob("*"))


def test_bytes_that_are_no_text_are_listed(store: Store, tmp_path: Path) -> None:
    write_files(
        tmp_path / "notes",
        {
            "bom.md": b"\xef\xbb\xbfA note with a mark.\r\n",
            "wide.md": "A wide note.\n".encode("utf-16"),
            "binary.md": bytes(range(256)) * 4,
            "nul.md": b"A note\0with a NUL.\n",
            "broken.md": b"---\ntitle: Foo: bar\n  - [\n---\nA text below what is broken.\n",
        },
    )
    done = store.import_from([tmp_path / "notes"])
    assert outcome(done)["binary.md"] == "unreadable"
    assert done.counts == {"created": 4, "unreadable": 1}
    for place, path in files_of(done).items():
        if path:
            assert (store.place.root / path).read_bytes() == (tmp_path / "notes" / place).read_bytes()


def test_what_others_write_meanwhile_is_not_written_over(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memdb.services.transfer import importing

    write_files(tmp_path / "notes", {"a.md": "The source's text.\n"})
    carry_out = importing._carry_out

    def late(*arguments: object) -> None:
        write_files(store.place.root, {"reference/a.md": "A person's text.\n"})
        carry_out(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(importing, "_carry_out", late)
    done = store.import_from([tmp_path / "notes"])
    assert done.counts == {"edited": 1}
    assert tree(store.place.root).keys() == {"reference/a.md"}
    assert (store.place.root / "reference" / "a.md").read_text(encoding="utf-8") == "A person's text.\n"


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=300))
def test_any_name_becomes_a_file_name(written: str) -> None:
    name = safe_name(written)
    assert name == safe_name(name) or len(name.encode()) > NAME_BYTES
    assert 0 < len(f"{name}.md".encode()) <= 255
    assert not set(name) & set('<>:"|?*\\/\0\n')
    assert files.is_memory_file(f"{name}.md")
    assert name.rstrip(". ") == name
    assert name.partition(".")[0].lower() not in ("con", "prn", "aux", "nul", "com1", "lpt9")
    path = safe_path(written)
    assert ".." not in path.split("/")
    assert not path.startswith("/")
    assert "/" not in slug(written)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=12), max_size=30))
def test_any_names_are_distinct(written: list[str]) -> None:
    paths = Paths(["reference/taken.md"])
    claimed = [paths.claim(f"reference/{safe_path(name)}", ".md", f"{number}") for number, name in enumerate(written)]
    assert len({fold_path(path) for path in claimed}) == len(written)
    assert "reference/taken.md" not in claimed
