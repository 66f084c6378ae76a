"""Bytes to text and back, name keys, and what is shown of hidden characters."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memdb.base.text import (
    Decoded,
    UndecodableText,
    UnencodableText,
    decode,
    decode_exact,
    encode,
    encode_exact,
    expose_hidden,
    fold,
    name_key,
    plain,
    sha256_text,
)

VAULT = Path(__file__).parent / "vaults" / "frontmatter"
SAME = {
    "same_plain.md": ("utf-8", b"", "\n"),
    "same_bom.md": ("utf-8", b"\xef\xbb\xbf", "\n"),
    "same_crlf.md": ("utf-8", b"", "\r\n"),
    "same_cr.md": ("utf-8", b"", "\r"),
    "same_bom_crlf.md": ("utf-8", b"\xef\xbb\xbf", "\r\n"),
    "same_utf16le_bom.md": ("utf-16-le", b"\xff\xfe", "\n"),
    "same_utf16be_bom.md": ("utf-16-be", b"\xfe\xff", "\n"),
    "same_utf16le.md": ("utf-16-le", b"", "\n"),
    "same_utf32.md": ("utf-32-le", b"\xff\xfe\0\0", "\n"),
    "same_latin1.md": ("cp1252", b"", "\n"),
}


@pytest.mark.parametrize(("file", "expected"), SAME.items())
def test_one_text_in_every_encoding_reads_the_same_and_is_written_back(
    file: str, expected: tuple[str, bytes, str]
) -> None:
    data = (VAULT / file).read_bytes()
    decoded = decode(data)
    assert (decoded.encoding, decoded.bom, decoded.newline) == expected
    assert decoded.text == (VAULT / "same_plain.md").read_text(encoding="utf-8")
    assert encode(decoded.text, decoded) == data


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"", "", "utf-8"),
        (b"\xef\xbb\xbf", "", "utf-8"),
        (b"a\0b", "a\0b", "utf-8"),
        ("naïve".encode(), "naïve", "utf-8"),
        (b"it\x92s 5 \x80", "it’s 5 €", "cp1252"),
        ("ąbc is here, plain text".encode("utf-16-be"), "ąbc is here, plain text", "utf-16-be"),
        (b"caf\xe9 \x81 ok", "café \x81 ok", "latin-1"),
        (b"\xff\xfe\0\0a\0", "\0a", "utf-16-le"),
        (b"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m", "utf-8"),
    ],
)
def test_decode(data: bytes, text: str, encoding: str) -> None:
    decoded = decode(data)
    assert (decoded.text, decoded.encoding) == (text, encoding)
    assert encode(decoded.text, decoded) == data


@pytest.mark.parametrize(
    "data",
    [
        (VAULT / "binary.md").read_bytes(),
        b"\0" * 4096,
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0\0\0\1\0\x08\x06",
        b"PK\x03\x04\x14\0\x08\x08\x08\0\xbc\xf0\x9c\x9d",
        b"\xef\xbb\xbfabc\xff",
        b"\xff\xfea",
        "текст на русском языке".encode("cp1251"),
        b"abc\xff\0def",
    ],
)
def test_undecodable_bytes_are_an_error_with_a_hint(data: bytes) -> None:
    with pytest.raises(UndecodableText) as caught:
        decode(data)
    assert caught.value.code == "undecodable"
    assert caught.value.hint


@pytest.mark.parametrize(
    ("data", "newline"),
    [
        (b"a", "\n"),
        (b"a\r\nb\r\nc\n", "\r\n"),
        (b"a\rb\r\nc\r", "\r"),
        (b"a\r\nb\nc", "\n"),
        (b"\r\n", "\r\n"),
    ],
)
def test_dominant_newline(data: bytes, newline: str) -> None:
    assert decode(data).newline == newline


def test_mixed_newlines_survive_the_exact_pair() -> None:
    data = (VAULT / "mixed_newlines.md").read_bytes()
    decoded = decode_exact(data)
    assert "\r\n" in decoded.text
    assert encode_exact(decoded.text, decoded) == data


def test_text_that_the_encoding_cannot_hold_is_refused() -> None:
    with pytest.raises(UnencodableText) as caught:
        encode("日本", Decoded("", "cp1252", b"", "\n"))
    assert caught.value.hint == "Save the file as UTF-8 first, or leave that character out."


@given(
    st.text(st.characters(exclude_characters="\r", exclude_categories=("Cs", "Cc")) | st.just("\n")),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([("utf-8", b""), ("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe")]),
)
def test_one_newline_style_round_trips(text: str, newline: str, kind: tuple[str, bytes]) -> None:
    data = kind[1] + text.replace("\n", newline).encode(kind[0])
    decoded = decode(data)
    assert encode(decoded.text, decoded) == data


@given(st.binary(max_size=200))
def test_any_bytes_decode_and_come_back_or_are_undecodable(data: bytes) -> None:
    try:
        decoded = decode_exact(data)
    except UndecodableText:
        return
    assert encode_exact(decoded.text, decoded) == data


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("  Big\t Name\n", "big name"),
        ("@alice", "alice"),
        ("@@ @bob", "bob"),
        ("me@home", "me@home"),
        ("cafe\u0301", "café"),
        ("Straße", "strasse"),
        ("ﬁle", "file"),
        ("Ｃ＋＋", "c++"),
        ("C#", "c#"),
        ("a\u3000b", "a b"),
        ("my_note", "my_note"),
        ("my-note", "my-note"),
        ("数据", "数据"),
        ("İ", "i̇"),
        ("", ""),
    ],
)
def test_name_key(name: str, key: str) -> None:
    assert name_key(name) == key


def test_name_keys_that_must_differ() -> None:
    names = ["C++", "C", "C#", "a b", "a_b", "a-b", "Opus 4.7", "Opus 4.8", "System Admin", "SystemAdmin"]
    assert len({name_key(name) for name in names}) == len(names)


@pytest.mark.parametrize(
    ("name", "folded"),
    [
        ("my_note", "my note"),
        ("My-Note", "my note"),
        ("My  Note", "my note"),
        ("a - b", "a b"),
        ("proj___alpha", "proj/alpha"),
        ("proj / alpha", "proj/alpha"),
        ("proj/alpha_one", "proj/alpha one"),
        ("_private_", "private"),
        ("Café-Notes", "café notes"),
        ("-", ""),
    ],
)
def test_fold(name: str, folded: str) -> None:
    assert fold(name) == folded


@given(st.text() | st.text(alphabet="@ _-/\u0301\u0345\u00b4\u0390ſßẞIİΣς\u1fb3\ufdfaA\u3000\u200b"))
def test_name_key_and_fold_are_idempotent(name: str) -> None:
    key, folded = name_key(name), fold(name)
    assert name_key(key) == key
    assert fold(folded) == folded
    assert unicodedata.is_normalized("NFKC", key)
    assert key == key.strip() and not key.startswith("@") and "  " not in key
    assert fold(key) == folded


def test_plain_makes_text_storable() -> None:
    assert plain("a\udcffb") == "a\ufffdb"
    assert plain("é😀\0") == "é😀\0"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("two\nlines\tand tab", "two\nlines\tand tab"),
        ("a\u200bb", "a<U+200B>b"),
        ("\u202eevil\u2069", "<U+202E>evil<U+2069>"),
        ("hi\U000e0041", "hi<U+E0041>"),
        ("a\0b\x1b[1m\x7f\x85", "a<U+0000>b<U+001B>[1m<U+007F><U+0085>"),
        ("over\rwritten", "over<U+000D>written"),
        ("a\u2028b", "a<U+2028>b"),
        ("\ufeffx\u00ad", "<U+FEFF>x<U+00AD>"),
        ("x\U000e0100\u3164", "x<U+E0100><U+3164>"),
        ("a\udc80", "a<U+DC80>"),
        ("naïve 数据 😀\ufe0f", "naïve 数据 😀\ufe0f"),
    ],
)
def test_expose_hidden(text: str, shown: str) -> None:
    assert expose_hidden(text) == shown


def test_sha256_text() -> None:
    assert sha256_text("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert sha256_text("\udc80") != sha256_text("\udc81")
