"""A document: a file that the store mirrors, found under what was added, cut into chunks that can be cited."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from memdb.base import fetching, files
from memdb.base.files import AGENT_FOLDER, SKIPPED_FOLDERS, TEMPORARY_SUFFIXES, Listed, Stamp, is_memory_file, storable
from memdb.base.later import Later
from memdb.base.place import FOLDER
from memdb.base.text import plain, sha256_text
from memdb.domain.formats import versions
from memdb.domain.history import document_key, is_snapshot

if TYPE_CHECKING:
    from memdb.base import secrets
    from memdb.domain import chunking, extractors
    from memdb.domain.extractors import Block
else:
    secrets = Later("memdb.base.secrets")
    chunking = Later("memdb.domain.chunking")
    extractors = Later("memdb.domain.extractors")

SEPARATOR = " › "
"""Between the headings of a citation, outermost first."""

RECORD_ID_CHARACTERS = 200
"""Of a record's own id, so many characters become part of its chunk's: the ids that people write are shorter."""

MAX_PASSAGES = 100_000
MAX_CHARACTERS = 20_000_000
"""The most of one document. It is put in at once, and so much takes about ten seconds in which no other process writes
(measured: a tenth of a millisecond a passage, half a second a million characters). A book has a million."""

UPLOAD = "upload://"
"""What the paths of uploads begin with: no file's path and no address does."""

MARK = "\ufdd0"
"""Stands before what was redacted until the text is cut: a character that Unicode keeps for a program's own use."""

SPLIT = "Split it, or add the parts that matter."

GONE = "what was added is not there; its documents are kept as they were"
UNLISTED = "the folder cannot be read; its documents are kept as they were"
LOST = "the snapshot is gone; what was read of it is kept, and adding it again brings it back"
DAMAGED = "the snapshot is damaged; what was read of it is kept, and adding it again mends it"

OffsetsOf = Callable[[str], Sequence[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """A file below what was added; `path` is the stored one, `location` the operating system's."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    location: str
    name: str = ""  # by which it is read, where the location's own name does not tell
    expected: str | None = None  # the sha256 that a snapshot must have

    @property
    def real(self) -> Path:
        return Path(self.location)

    @property
    def suffix(self) -> str:
        """Which can decide how the bytes are read."""
        return os.path.splitext(self.name or self.location)[1].lower()  # noqa: PTH122 (of thousands of files on every recall)


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
    """A path as the store writes it: relative inside the root, which is itself empty, else absolute, with "/"."""
    whole = Path(os.path.abspath(path))  # noqa: PTH100 (a link is added as what it is called)
    inside = whole.is_relative_to(root)
    stored = storable((whole.relative_to(root) if inside else whole).as_posix())
    return "" if stored == "." else stored


def real_path(stored: str, root: Path) -> Path:
    """The path of a stored one."""
    return root / files.real_path(stored)


def meant_path(written: str, root: Path) -> str:
    """The stored path that a person means: of a file or folder, an address, an upload. Raises what `address` raises."""
    if written.startswith(UPLOAD):
        return written
    if fetching.is_address(written):
        return fetching.address(written)
    return stored_path(Path(written).expanduser(), root)


def name_of(path: str) -> str:
    """What a document at a stored path is called where it has no title: the last part of its path."""
    if path.startswith(UPLOAD):
        return path.removeprefix(UPLOAD)
    trail = path.partition("://")[2].partition("?")[0] if is_snapshot(path) else path
    return trail.rstrip("/").rpartition("/")[2]


key = document_key
"""The id of the document at a stored path."""


def chunk_keys(document: str, chunks: Iterable[tuple[int, str | None]]) -> list[str]:
    """The ids of a document's chunks, each given as (ordinal, id of its record): the record's, else the place."""
    used: set[str] = set()
    keys = []
    for ordinal, record_id in chunks:
        name = f"{document}#{' '.join(record_id.split())[:RECORD_ID_CHARACTERS] if record_id else ordinal + 1}"
        if name in used:
            name = f"{name}~{ordinal + 1}"
        while name in used:
            name += "~"
        used.add(name)
        keys.append(name)
    return keys


@dataclass(slots=True)
class Walked:
    """What walks over documents compare with, and what they saw beside the files that they give.

    `known` has no file that a walk would pass over, for its name or because it is excluded; folders in `listed`, by
    what their paths begin with, were compared with it already. Files whose stamps are as known come to `as_known` by
    path only, folders that cannot be listed to `problems` with the reason; so does what was added where it is gone.
    """

    known: Mapping[str, Stamp] = field(default_factory=dict)
    listed: Mapping[str, Listed] = field(default_factory=dict)
    as_known: set[str] = field(default_factory=set)
    problems: list[tuple[str, str]] = field(default_factory=list)


def walk(added: Path, root: Path, excluded: Callable[[str], bool], walked: Walked) -> Iterator[DocumentFile]:
    """The new and changed files of an added file or folder, in a fixed order.

    Memories of the store and hidden folders are left out.
    """
    try:
        is_folder = stat.S_ISDIR(added.stat().st_mode)
    except OSError as error:
        walked.problems.append((stored_path(added, root), f"{GONE}: {error.strerror}"))
        return
    if not is_folder:
        yield from _files(added.parent, root, excluded, [(added.name, added)], walked)
        return
    pending = [(os.fspath(added), _prefix_of(added, root))]
    while pending:
        folder, prefix = pending.pop()
        listed = walked.listed.get(prefix)
        if listed is not None:
            walked.as_known.update(listed.documents)
            pending.extend(_folders(folder, prefix, sorted(listed.folders)))
            continue
        try:
            with files.listing(folder) as entries:
                rest = _not_as_known(entries, prefix, walked)
                found = [(entry.name, entry, entry.is_dir(follow_symlinks=False)) for entry in rest]
                found.sort(key=itemgetter(0))
                names = [(name, entry) for name, entry, is_folder in found if not is_folder and is_kept(name)]
                seen = list(_files(Path(folder), root, excluded, names, walked)) if names else []
        except OSError as error:
            # A folder that went away while the walk ran is no problem; the added one is.
            if folder == os.fspath(added) or not isinstance(error, FileNotFoundError):
                walked.problems.append((stored_path(Path(folder), root), f"{UNLISTED}: {error.strerror}"))
            continue
        yield from seen
        pending.extend(_folders(folder, prefix, [name for name, _, is_folder in found if is_folder]))


def _folders(folder: str, prefix: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Those folders of a folder that are entered, the last first: real path and what paths in it begin with."""
    return (
        (os.path.join(folder, name), f"{prefix}{storable(name)}/")  # noqa: PTH118 (surrogates in names)
        for name in reversed(names)
        if _is_entered(name)
    )


def _not_as_known(listed: Iterable[os.DirEntry[str]], prefix: str, walked: Walked) -> list[os.DirEntry[str]]:
    """The entries of a folder that are folders, new, changed or not to be read; of nearly all files no more is asked
    than this, on every recall.
    """
    known, as_known = walked.known, walked.as_known
    rest = []
    for entry in listed:
        path = prefix + entry.name
        stamp = known.get(path)
        if stamp is not None and "\\" not in path:  # what is stored with one may be another name
            try:
                status = entry.stat()
            except OSError:
                rest.append(entry)
                continue
            if (status.st_size, status.st_mtime_ns, status.st_ctime_ns) == stamp:
                as_known.add(path)
                continue
        rest.append(entry)
    return rest


def _prefix_of(folder: Path, root: Path) -> str:
    """What the stored paths of the files of a folder begin with."""
    at = stored_path(folder, root)
    return at.rstrip("/") + "/" if at else ""


def is_kept(name: str) -> bool:
    """Whether a file of a folder is read for its name: it is not hidden, and no temporary one."""
    return not name.startswith((".", "~")) and not name.lower().endswith(TEMPORARY_SUFFIXES)


def _is_entered(name: str) -> bool:
    return name not in SKIPPED_FOLDERS and name != FOLDER and (not name.startswith(".") or name == AGENT_FOLDER)


def _files(
    folder: Path,
    root: Path,
    excluded: Callable[[str], bool],
    names: Iterable[tuple[str, Path | os.DirEntry[str]]],
    walked: Walked,
) -> Iterator[DocumentFile]:
    inside = folder.is_relative_to(root)
    prefix = _prefix_of(folder, root)
    for name, entry in names:
        path = prefix + storable(name)
        stamp = walked.known.get(path)
        # What is known as a document is no memory.
        if excluded(path) or (stamp is None and inside and is_memory_file(name)):
            continue
        try:
            status = entry.stat()
        except FileNotFoundError:
            continue  # gone while the walk ran, or a link to nothing
        except OSError as error:
            walked.problems.append((path, f"cannot be read: {error.strerror}"))
            continue
        if stamp == (status.st_size, status.st_mtime_ns, status.st_ctime_ns):
            walked.as_known.add(path)
        elif stat.S_ISREG(status.st_mode):
            yield DocumentFile(path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, os.path.join(folder, name))  # noqa: PTH118


def abilities() -> str:
    """What decides whether a file can be read: the extractors and the libraries that are installed for them."""
    import importlib.util  # noqa: PLC0415

    found = [name for name in ("mammoth", "pypdfium2", "selectolax") if importlib.util.find_spec(name) is not None]
    return ", ".join([*sorted(versions()), *found])


def digest(file: Path) -> str:
    """The sha256 of a file's bytes, read in pieces."""
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def read(file: Path, sha256: str, *, max_tokens: int, offsets_of: OffsetsOf, name: str = "") -> Read:
    """Extract and cut a file; `name` is by which it is read, where that is not its own.

    Raises CannotExtract with the reason, OSError where it cannot be read.
    """
    name = name or file.name
    with file.open("rb") as source:
        head = source.read(extractors.HEAD_BYTES)
        size = source.seek(0, os.SEEK_END)
    extractor = extractors.choose(name, head)
    if size > MAX_CHARACTERS and extractor.name not in ("pdf", "docx"):
        # To count what will be too much is a hundred times faster than to cut it.
        _count(extractors.extract(file, name).blocks)
    found = extractors.extract(file, name)

    def prefix_of(block: Block) -> str:
        return _prefix(block.title or found.title, block.heading_path)

    blocks = (_without_secrets(block, max_tokens) for block in _counted(found.blocks))
    passages: list[Passage] = []
    for chunk in chunking.chunks(blocks, max_tokens=max_tokens, offsets_of=offsets_of, prefix_of=prefix_of):
        if len(passages) == MAX_PASSAGES:
            raise extractors.CannotExtract(
                f"The file has more than {MAX_PASSAGES:,} passages, the most of one document.", hint=SPLIT
            )
        raw = _prefix(chunk.title or found.title, chunk.heading_path)
        text = plain(chunk.text)
        whole = f"{raw}\n{chunk.record_id or ''}\n{text}"
        secret = next((found.category for found in secrets.find_secrets(whole)), None)
        if MARK in text:
            secret, text = secret or text.partition(MARK)[2].partition("]")[0].partition(" ")[2], text.replace(MARK, "")
        passages.append(
            Passage(
                ordinal=chunk.ordinal,
                heading_path=tuple(shown(heading) for heading in chunk.heading_path),
                prefix=secrets.redact(raw) if secret else raw,
                text=secrets.redact(text) if secret else text,
                page=chunk.page,
                start_line=chunk.start_line,
                end_line=chunk.end_line,
                record_id=shown(chunk.record_id) if chunk.record_id else None,
                title=shown(chunk.title) if chunk.title else None,
                created=plain(chunk.created) if chunk.created else None,
                joins_next=chunk.joins_next,
                secret=secret,
            )
        )
    notes = [
        *map(shown, found.warnings),
        *(
            f"chunk {passage.ordinal + 1} looks like a credential ({passage.secret}): redacted and not embedded"
            for passage in passages
            if passage.secret
        ),
    ]
    by = f"{extractor.name} {extractor.version}"
    title = shown(found.title) if found.title else None
    created = plain(found.created) if found.created else None
    return Read(sha256, found.format, by, title, created, tuple(passages), tuple(notes))


def _counted(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks, until there are too many characters in them. Raises CannotExtract."""
    characters = 0
    for block in blocks:
        characters += len(block.text)
        if characters > MAX_CHARACTERS:
            most = MAX_CHARACTERS // 1_000_000
            raise extractors.CannotExtract(
                f"The file has more than {most} million characters of text, the most of one document.", hint=SPLIT
            )
        yield block


def _count(blocks: Iterable[Block]) -> None:
    for _ in _counted(blocks):
        pass


def shown(text: str) -> str:
    """A title, heading or note as it may be stored."""
    return secrets.redact(plain(text))


def _without_secrets(block: Block, max_tokens: int) -> Block:
    """A block that will be cut, without its credentials: half of one is not known as one. Lines stay where they are."""
    if len(block.text) <= max_tokens:
        return block
    parts, position = [], 0
    text = plain(block.text)
    for secret in secrets.find_secrets(text):
        lines = "\n" * text.count("\n", secret.start, secret.end)
        parts += [text[position : secret.start], f"{MARK}[redacted: {secret.category}]{lines}"]
        position = secret.end
    return replace(block, text="".join([*parts, text[position:]])) if parts else block


def _prefix(title: str | None, headings: Sequence[str]) -> str:
    parts = [plain(part) for part in (title, *headings) if part]
    # A document's title is often its first heading.
    unique = [part for place, part in enumerate(parts) if place == 0 or part != parts[place - 1]]
    return SEPARATOR.join(unique)
