"""Names of files that every system takes, for what others called as they liked; distinct where theirs were."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from hashlib import sha256

from memdb.base.text import plain

NAME_BYTES = 200
"""The longest name in UTF-8 bytes: 255 is what file systems take, and a mark and a suffix come to it."""

PATH_BYTES = 700
"""The longest path below the root in UTF-8 bytes: with a root's own, below what systems take (macOS: 1,024)."""

SLUG_WORDS = 8
SLUG_CHARACTERS = 60
"""Of a text without a name, so much becomes its name."""

_ILLEGAL = re.compile(r'[<>:"|?*\\/\x00-\x1f\x7f]+')
_RESERVED = re.compile(r"(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)")
_NOT_WORDS = re.compile(r"[^\w'.+-]+")


def safe_name(written: str) -> str:
    """One part of a path: what no system takes becomes "-"; never empty, hidden, temporary or a device."""
    name = unicodedata.normalize("NFC", plain(written))
    name = _ILLEGAL.sub("-", name).strip()
    name = name.lstrip(".~ ").rstrip(". ").replace(".sync-conflict-", "-sync-conflict-")
    if _RESERVED.match(name):
        name = f"{name.partition('.')[0]}-{name.partition('.')[2]}".rstrip("-") + "-file"
    if len(name.encode()) > NAME_BYTES:
        name = f"{_cut(name, NAME_BYTES)}~{_mark(written)}"
    return name or "untitled"


def safe_path(written: str) -> str:
    """A path of such parts; empty parts go, and a path too long keeps its last part."""
    parts = [safe_name(part) for part in written.split("/") if part.strip(" .")]
    path = "/".join(parts) or "untitled"
    return path if len(path.encode()) <= PATH_BYTES else f"{parts[-1]}~{_mark(written)}"


def slug(text: str) -> str:
    """A name made of a text's first words."""
    words = [word.strip("'.-") for word in _NOT_WORDS.sub(" ", unicodedata.normalize("NFC", plain(text))).split()]
    name = "-".join(word for word in words if word)[: SLUG_CHARACTERS * 2]
    short = "-".join(name.split("-")[:SLUG_WORDS])[:SLUG_CHARACTERS].strip("-")
    return safe_name(short.lower())


def fold_path(path: str) -> str:
    """The spelling under which two paths are one file on some system."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", path).casefold())


class Paths:
    """The paths that are taken; whoever comes later gets a mark that follows from its id."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {fold_path(path) for path in taken}
        self.clashes: list[tuple[str, str]] = []

    def is_free(self, path: str) -> bool:
        """Whether no other has it, in any case and Unicode form."""
        return fold_path(path) not in self._taken

    def take(self, path: str) -> str:
        """Have this one."""
        self._taken.add(fold_path(path))
        return path

    def claim(self, stem: str, suffix: str, id_: str) -> str:
        """The path `stem + suffix`, or one with a mark where that is another's."""
        path = stem + suffix
        if not self.is_free(path):
            marked = f"{stem}~{_mark(id_)}{suffix}"
            number = 2
            while not self.is_free(marked):
                marked, number = f"{stem}~{_mark(id_)}-{number}{suffix}", number + 1
            self.clashes.append((path, marked))
            path = marked
        return self.take(path)


def _mark(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]


def _cut(text: str, size: int) -> str:
    return text.encode()[:size].decode("utf-8", "ignore").rstrip(". ")
