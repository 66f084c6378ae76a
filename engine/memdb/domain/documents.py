"""A document: a file that the store mirrors, found under what was added, cut into chunks that can be cited."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from memdb.base import secrets
from memdb.base.files import AGENT_FOLDER, SKIPPED_FOLDERS, TEMPORARY_SUFFIXES, is_memory_file, storable
from memdb.base.place import FOLDER
from memdb.base.text import plain, sha256_text
from memdb.domain import chunking, extractors
from memdb.domain.extractors import Block
from memdb.errors import StoreUnreadable

SEPARATOR = " › "
"""Between the headings of a citation, outermost first."""

OffsetsOf = Callable[[str], Sequence[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """A file below what was added; `path` is the stored one, `real` the operating system's."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    real: Path


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as it is stored, without its document."""

    ordinal: int
    heading_path: tuple[str, ...]
    prefix: str
    text: str
    page: int | None
    start_line: int | None
    end_line: int | None
    record_id: str | None
    title: str | None
    created: str | None
    joins_next: bool
    secret: str | None

    @property
    def identity(self) -> str:
        """The same for an unchanged passage wherever it stands in its document."""
        return sha256_text(json.dumps([self.record_id, self.title, self.heading_path, self.text], ensure_ascii=True))

    @property
    def text_sha256(self) -> str:
        return sha256_text("\n".join(part for part in (self.prefix, self.text.strip()) if part))


@dataclass(frozen=True, slots=True)
class Read:
    """A document as it was read: its passages, and what a reader should know."""

    sha256: str
    format: str
    extractor: str
    title: str | None
    created: str | None
    passages: tuple[Passage, ...]
    notes: tuple[str, ...]


def stored_path(path: Path, root: Path) -> str:
    """A path as the store writes it: relative inside the root, else absolute, with "/"."""
    whole = Path(os.path.abspath(path))  # noqa: PTH100 (a link is added as what it is called)
    inside = whole.is_relative_to(root)
    return storable((whole.relative_to(root) if inside else whole).as_posix())


def real_path(stored: str, root: Path) -> Path:
    """The path of a stored one."""
    return root / stored


def walk(added: Path, root: Path, excluded: Callable[[str], bool]) -> Iterator[DocumentFile]:
    """The files of an added file or folder, in a fixed order; memories of the store and hidden folders are left out.

    Raises StoreUnreadable when the added path itself cannot be listed.
    """
    if added.is_file():
        yield from _file(added, root, excluded)
        return
    if not added.exists():
        return

    def complain(error: OSError) -> None:
        if Path(error.filename or "") == added:
            raise StoreUnreadable(f"The folder {added} cannot be read: {error.strerror}.") from error

    for folder, folders, names in os.walk(added, onerror=complain):
        folders[:] = sorted(
            name
            for name in folders
            if name not in SKIPPED_FOLDERS and name != FOLDER and (not name.startswith(".") or name == AGENT_FOLDER)
        )
        for name in sorted(names):
            if not name.startswith((".", "~")) and not name.lower().endswith(TEMPORARY_SUFFIXES):
                yield from _file(Path(folder) / name, root, excluded)


def _file(file: Path, root: Path, excluded: Callable[[str], bool]) -> Iterator[DocumentFile]:
    path = stored_path(file, root)
    if excluded(path) or (file.is_relative_to(root) and is_memory_file(file.name)):
        return
    try:
        status = file.stat()
    except OSError:
        return  # gone while the walk ran
    if stat.S_ISREG(status.st_mode):
        yield DocumentFile(path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, file)


def is_readable_kind(file: Path) -> bool:
    """Whether a name is that of a format that memdb reads; other files of a folder are passed over."""
    return any(file.suffix.lower() in extractor.suffixes for extractor in extractors.EXTRACTORS)


def digest(file: Path) -> str:
    """The sha256 of a file's bytes, read in pieces."""
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def read(file: Path, sha256: str, *, max_tokens: int, offsets_of: OffsetsOf) -> Read:
    """Extract and cut a file. Raises CannotExtract with the reason, OSError where it cannot be read."""
    with file.open("rb") as source:
        head = source.read(extractors.HEAD_BYTES)
    extractor = extractors.choose(file.name, head)
    found = extractors.extract(file, file.name)

    def prefix_of(block: Block) -> str:
        return _prefix(block.title or found.title, block.heading_path)

    passages = []
    for chunk in chunking.chunks(found.blocks, max_tokens=max_tokens, offsets_of=offsets_of, prefix_of=prefix_of):
        text = plain(chunk.text)
        secret = secrets.find_secrets(text)
        title = plain(chunk.title) if chunk.title else None
        headings = tuple(plain(heading) for heading in chunk.heading_path)
        passages.append(
            Passage(
                chunk.ordinal,
                headings,
                secrets.redact(_prefix(title or found.title, headings)),
                secrets.redact(text) if secret else text,
                chunk.page,
                chunk.start_line,
                chunk.end_line,
                chunk.record_id,
                title,
                chunk.created,
                chunk.joins_next,
                secret[0].category if secret else None,
            )
        )
    notes = [
        *found.warnings,
        *(
            f"chunk {passage.ordinal + 1} looks like a credential ({passage.secret}): redacted and not embedded"
            for passage in passages
            if passage.secret
        ),
    ]
    name = f"{extractor.name} {extractor.version}"
    title = plain(found.title) if found.title else None
    return Read(sha256, found.format, name, title, found.created, tuple(passages), tuple(notes))


def _prefix(title: str | None, headings: Sequence[str]) -> str:
    parts = [plain(part) for part in (title, *headings) if part]
    # A document's title is often its first heading.
    unique = [part for place, part in enumerate(parts) if place == 0 or part != parts[place - 1]]
    return SEPARATOR.join(unique)
