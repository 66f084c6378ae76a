"""Bytes to text and back, and the spellings by which names are compared."""

from __future__ import annotations

import codecs
import hashlib
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from memdb.errors import MemdbError

# Longest first: the UTF-32 mark begins with the UTF-16 one.
_BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Tab, newline, form feed, carriage return and escape (terminal logs) are text; the other controls are not.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
# A file torn by a power cut is all NULs and still valid UTF-8: this share of controls, and at least this
# many, is no text.
_CONTROL_SHARE, _CONTROL_COUNT = 0.3, 8
# Western prose in one byte per letter has at most a sixth of accented letters; more is another script.
_HIGH_SHARE = 0.4
_SURROGATE = re.compile(r"[\ud800-\udfff]")
# Drawn as nothing although Unicode does not call them format characters: the grapheme joiner, Hangul fillers,
# Khmer inherent vowels, Mongolian selectors, the supplementary selectors (used to smuggle bytes).
_BLANK_LETTERS = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\uffa0\U000e0100-\U000e01ef]")
_HIDDEN_CATEGORIES = frozenset({"Cf", "Cc", "Cs", "Zl", "Zp"})


class UndecodableText(MemdbError):
    """The bytes are not text in any encoding that memdb reads."""

    code = "undecodable"


class UnencodableText(MemdbError):
    """The text has characters that the file's encoding cannot hold."""

    code = "unencodable"


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text with what is needed to write it back the same way."""

    text: str
    encoding: str
    bom: bytes
    newline: str


def decode(data: bytes) -> Decoded:
    """Read bytes as text with newlines as "\\n", without a byte order mark; raises `UndecodableText`.

    Tried in this order: byte order marks, UTF-16 without one where every other byte is NUL, UTF-8, cp1252,
    latin-1.
    """
    exact = decode_exact(data)
    return Decoded(normalise_newlines(exact.text), exact.encoding, exact.bom, exact.newline)


def decode_exact(data: bytes) -> Decoded:
    """Like `decode`, with the newlines left as they are, so that `encode_exact` gives the same bytes."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            text = _strict(data[len(bom) :], encoding)
            if text is not None:
                return Decoded(_checked(text), encoding, bom, _dominant_newline(text))
            if encoding != "utf-32-le":  # FF FE 00 00 may also be UTF-16 that begins with a NUL
                raise _undecodable(f"it has the byte order mark of {encoding} and does not follow it")
    for codec in (_bare_utf16(data), "utf-8", "cp1252", "latin-1"):
        read = _strict(data, codec) if codec else None
        if codec is None or read is None:
            continue
        if codec in ("cp1252", "latin-1"):
            _check_single_byte(data)
        return Decoded(_checked(read), codec, b"", _dominant_newline(read))
    raise AssertionError("latin-1 reads every byte")


def encode(text: str, like: Decoded) -> bytes:
    """Write text in the encoding, mark and newline style of `like`; raises `UnencodableText`."""
    return encode_exact(normalise_newlines(text).replace("\n", like.newline), like)


def encode_exact(text: str, like: Decoded) -> bytes:
    """Write text in the encoding and mark of `like`, newlines as given; raises `UnencodableText`."""
    try:
        return like.bom + text.encode(like.encoding)
    except UnicodeEncodeError as error:
        raise UnencodableText(
            f"{like.encoding} cannot hold {expose_hidden(text[error.start])!r}",
            hint="Save the file as UTF-8 first, or leave that character out.",
        ) from error


def normalise_newlines(text: str) -> str:
    """Turn "\\r\\n" and lone "\\r" into "\\n"."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _strict(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _undecodable(why: str) -> UndecodableText:
    return UndecodableText(
        f"the file is not readable as text: {why}", hint="Save it as UTF-8, or move it out of the root."
    )


def _checked(text: str) -> str:
    controls = len(_CONTROL.findall(text))
    if controls >= _CONTROL_COUNT and controls > _CONTROL_SHARE * len(text):
        raise _undecodable("it is mostly control characters")
    return text


def _bare_utf16(data: bytes) -> str | None:
    # Text with many ASCII characters has a NUL as every other byte in UTF-16, and in no other encoding.
    half = len(data) // 2
    if half < 2 or len(data) % 2:
        return None
    even, odd = data[0::2].count(0), data[1::2].count(0)
    if odd > 0.4 * half and even <= 0.05 * half:
        return "utf-16-le"
    if even > 0.4 * half and odd <= 0.05 * half:
        return "utf-16-be"
    return None


def _check_single_byte(data: bytes) -> None:
    text = data.decode("latin-1")
    if _CONTROL.search(text):
        raise _undecodable("it is not UTF-8 and has control characters")
    visible = [byte for byte in data if byte > 0x20]
    high = sum(byte >= 0x80 for byte in visible)
    # Two letters are let through: a file that holds one accented word.
    if high > 2 and high > _HIGH_SHARE * len(visible):
        raise _undecodable("it is not UTF-8, and not Western European text in one byte per letter")


def _dominant_newline(text: str) -> str:
    windows = text.count("\r\n")
    counts = {"\n": text.count("\n") - windows, "\r\n": windows, "\r": text.count("\r") - windows}
    return max(counts, key=lambda newline: counts[newline])  # a tie goes to the first in the order above


def name_key(name: str) -> str:
    """Give the spelling by which names are compared: NFKC, casefold, trimmed, no leading @, single spaces.

    Repeated until nothing changes, so that the key of a key is itself: casefolding can undo NFKC, and a
    stripped "@" or space can let two characters compose.
    """
    return _settle(name, _name_key_once)


def fold(name: str) -> str:
    """Give the looser spelling for links: `name_key`, runs of "-", "_" and space as one space, "___" as "/".

    "___" is how Logseq writes a namespace in a file name. Accents are kept. Only for unique spellings.
    """
    return _settle(name, _fold_once)


def _settle(name: str, step: Callable[[str], str]) -> str:
    # Each round shortens, composes or folds; three are the most that was seen, the bound is a guard.
    for _ in range(16):
        changed = step(name)
        if changed == name:
            break
        name = changed
    return name


def _name_key_once(name: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(folded.lstrip("@ \t\n").split())


def _fold_once(name: str) -> str:
    spaced = re.sub(r"[-_\s]+", " ", _name_key_once(name).replace("___", "/"))
    return re.sub(r" ?/ ?", "/", spaced).strip()


def plain(text: str) -> str:
    """Replace lone surrogates (file names that were not UTF-8) by U+FFFD, so that the text can be stored."""
    return _SURROGATE.sub("\ufffd", text)


def expose_hidden(text: str) -> str:
    """Show characters that draw nothing or steer the drawing as `<U+200B>`, for showing text to people.

    Zero-width and bidi marks, tag characters, all other format characters, C0 and C1 controls (but not
    newline and tab), line and paragraph separators, blank letters, surrogates.
    """
    # A text has few different characters, and is passed here for every hit of every prompt.
    shown = {ord(char): f"<U+{ord(char):04X}>" for char in set(text) if _is_hidden(char)}
    return text.translate(shown) if shown else text


@lru_cache(maxsize=4096)  # as many letters as a few scripts have
def _is_hidden(char: str) -> bool:
    if char in "\n\t":
        return False
    return unicodedata.category(char) in _HIDDEN_CATEGORIES or _BLANK_LETTERS.match(char) is not None


def sha256_text(text: str) -> str:
    """Hash a text: sha256 of its UTF-8, in hex; a lone surrogate counts as its three bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


LEAST_OF_AN_ID = 4
"""Letters by which a decision is called: with fewer, `undo 1` takes back whatever begins so by chance."""


def id_begin(written: str) -> str:
    """The beginning of an id of a decision or conflict, as a person writes it; empty where it is too short."""
    begin = written.strip().casefold()
    return begin if len(begin) >= LEAST_OF_AN_ID else ""
