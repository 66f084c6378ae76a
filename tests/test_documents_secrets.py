"""Credentials in documents: redacted wherever they stand, not embedded, not searched, and listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.document_support import Shelf


def token() -> str:
    return "sk-" + "proj-" + "Zq8" * 14


def private_key(lines: int) -> str:
    body = "\n".join("MIIEow" + "abcdEFGH12345678" * 3 + "QRSTuvwxyz" for _ in range(lines))
    return "-----BEGIN RSA " + "PRIVATE KEY-----\n" + body + "\n-----END RSA " + "PRIVATE KEY-----"


CASES = {
    "in the text": f"# Keys\n\nThe key is {token()} for now.\n\n## Other\n\nThe gate is green.\n",
    "in a heading": f"# Keys\n\nA lantern.\n\n## {token()}\n\nBelow it.\n",
    "in the title": f"---\ntitle: {token()}\n---\n# Keys\n\nThe gate is green.\n",
}


def bytes_of(shelf: Shelf) -> bytes:
    shelf.store.close()
    return b"".join(file.read_bytes() for file in (shelf.where / "root" / ".memdb").rglob("*") if file.is_file())


@pytest.mark.parametrize("case", CASES)
def test_a_credential_is_nowhere_in_the_store(tmp_path: Path, case: str) -> None:
    shelf = Shelf(tmp_path, {"keys.md": CASES[case]})
    shelf.add()
    assert "Zq8Zq8" not in "".join(shelf.embedder.read)
    assert "Zq8Zq8" not in repr(
        [chunk for doc in shelf.store.documents.list() for chunk in shelf.store.documents.chunks(doc.id)]
    )
    assert any("looks like a credential" in reason for (reason,) in shelf.rows("select reason from problems"))
    shelf.assert_rebuilds()
    found = bytes_of(shelf)
    assert b"Zq8Zq8" not in found
    assert b"zq8zq8" not in found


def test_only_the_passage_with_the_credential_is_withheld(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"keys.md": CASES["in the text"]})
    shelf.add()
    assert shelf.rows("select text, has_secret from chunks order by ordinal") == [
        ("The key is [redacted: OpenAI key] for now.", 1),
        ("The gate is green.", 0),
    ]
    assert len(shelf.embedder.read) == 1
    assert shelf.rows("select reason from problems") == [
        ("chunk 1 looks like a credential (OpenAI key): redacted and not embedded",)
    ]


@pytest.mark.parametrize("name", ["key.txt", "key.md", "key.py"])
def test_a_private_key_that_is_longer_than_a_passage_is_redacted_whole(tmp_path: Path, name: str) -> None:
    text = f"Before it.\n\n{private_key(40)}\n\nBehind it the gate is green.\n"
    if name == "key.py":
        text = f"KEY = '''{private_key(40)}'''\n\n\ndef gate():\n    return 'green'\n"
    shelf = Shelf(tmp_path, {name: text})
    shelf.add()
    texts = [text for (text,) in shelf.rows("select text from chunk")]
    assert "QRSTuvwxyz" not in "".join(texts)
    assert "QRSTuvwxyz" not in "".join(shelf.embedder.read)
    assert "\ufdd0" not in "".join(texts)
    last = shelf.store.recall("gate green").hits[0].citation
    assert last is not None
    assert last.end_line == len(text.splitlines())
    assert b"qrstuvwxyz" not in bytes_of(shelf).lower()


def test_a_credential_that_is_taken_out_lets_the_passage_in(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"keys.md": CASES["in the text"]})
    shelf.add()
    shelf.put({"keys.md": CASES["in the text"].replace(token(), "in the safe")})
    shelf.store.sync()
    assert shelf.rows("select has_secret from chunk") == [(0,), (0,)]
    assert shelf.rows("select count(*) from problems") == [(0,)]
    assert shelf.store.sync().pending == 0
    shelf.assert_rebuilds()
