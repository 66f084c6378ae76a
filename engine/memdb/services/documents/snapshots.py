"""Keep what no file of the user's could bring back: fetched pages and uploads, as bytes in `.memdb/snapshots`."""

from __future__ import annotations

import codecs
import os
import re
import time
import unicodedata
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from memdb.base import fetching, files, text
from memdb.base.later import Later
from memdb.domain import documents, formats, history
from memdb.domain.documents import DocumentFile
from memdb.domain.history import Snapshot
from memdb.errors import NotWritable, SecretFound, UsageError
from memdb.services.context import Context

if TYPE_CHECKING:
    from memdb.base import secrets
    from memdb.domain import extractors
    from memdb.domain.extractors import html
else:
    secrets = Later("memdb.base.secrets")
    extractors = Later("memdb.domain.extractors")
    html = Later("memdb.domain.extractors.html")

MAX_BYTES = fetching.MAX_BYTES
"""Of an upload as of a page: what is larger is a file, and is better left where it lies."""

NAME_BYTES = 255
"""The longest name of an upload: as long as a file's may be."""

SUFFIXES = {
    "application/json": ".json",
    "application/jsonl": ".jsonl",
    "application/msword": ".doc",
    "application/pdf": ".pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/x-ndjson": ".jsonl",
    "application/xhtml+xml": ".html",
    "text/csv": ".csv",
    "text/html": ".html",
    "text/markdown": ".md",
    "text/tab-separated-values": ".tsv",
}
"""By which suffix a page of a media type is read (IANA's registry). Of other types the address tells: servers call most
files of a kind that they do not know text/plain."""

BINARY = ("pdf", "docx")
"""The extractors that read no text: a part of such a file cannot be taken out."""


@dataclass(frozen=True, slots=True)
class Page:
    """What is to be kept under a path; `link` is the address that answered."""

    path: str
    data: bytes
    suffix: str
    link: str | None
    content_type: str | None


@dataclass(frozen=True, slots=True)
class Kept:
    """What was kept under a path; `link` is the address that answered, `redacted` counts credentials cut out of it."""

    path: str
    link: str | None
    redacted: int


def fetch(written: str) -> Page:
    """The page at an address, which nothing keeps yet. Raises UsageError, SecretFound for the address, CannotFetch."""
    path = fetching.address(written)
    page = fetching.fetch(path, max_bytes=MAX_BYTES)
    suffix = _suffix(page)
    data = as_named(page.data, page.charset, is_page=suffix == ".html")
    return Page(path, data, suffix, page.address, page.content_type)


def upload(context: Context, name: str, data: bytes) -> Kept:
    """Keep bytes as the document of a name, in place of an earlier upload of that name.

    Raises UsageError for a bad name and for too many bytes, SecretFound, CannotExtract, NotWritable.
    """
    path = upload_path(name)
    if len(data) > MAX_BYTES:
        raise UsageError(
            f"{name} has more than {MAX_BYTES / 1_000_000:g} MB, the most that is taken of an upload.",
            hint="Write it to a file and add that.",
        )
    return keep(context, Page(path, data, _plain_suffix(path), None, None))


def upload_path(name: str) -> str:
    """The stored path of an upload. Raises UsageError for what is no file name, SecretFound."""
    plain = unicodedata.normalize("NFC", name).strip()
    is_name = re.fullmatch(r"[^/\\\x00-\x1f\x7f]+", plain) and plain not in (".", "..")
    if not is_name or len(plain.encode("utf-8", "replace")) > NAME_BYTES:
        raise UsageError(
            f"{name!r} is no name for an upload.",
            hint=f"Give one such as report.pdf, without a folder, of at most {NAME_BYTES} bytes.",
        )
    if secrets.find_secrets(plain):
        raise SecretFound("The name of the upload looks like a credential.", hint="Give it another one.")
    return documents.UPLOAD + text.plain(plain)


def keep(context: Context, page: Page) -> Kept:
    """Write the bytes, then journal the fact, in place of what the path had; the same bytes once more change nothing.

    Credentials are cut out of text before it is written: it is memdb that writes here. Raises CannotExtract for what
    holds no text that memdb reads, NotWritable; nothing is kept then.
    """
    path = page.path
    extractors.extract(page.data, f"snapshot{page.suffix}")
    data, redacted = _redacted(page.data, page.suffix)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    snapshot = Snapshot(path, page.link, sha256(data).hexdigest(), page.suffix, page.content_type, now)
    with files.writer(context.place):
        before = _row(context, path)
        file = context.place.snapshots / snapshot.sha256
        if not file.is_file() or documents.digest(file) != snapshot.sha256:
            files.write_whole(file, data)
        if before is None or _facts(before) != _facts(snapshot):
            with context.database.write():
                context.append(history.snapshot_record(snapshot))
            if before is not None:
                with suppress(NotWritable):  # the new one stands; the next replay of the journal tries again
                    drop(context, before.sha256)
    return Kept(path, page.link, redacted)


def drop(context: Context, digest: str) -> None:
    """Delete a snapshot that no path has any more. Raises NotWritable."""
    if context.database.value("select 1 from snapshot where sha256 = ?", (digest,)) is None:
        delete(context, digest)


def delete(context: Context, digest: str) -> None:
    """Delete the file of a snapshot and the copies that were opened. Raises NotWritable."""
    file = context.place.snapshots / digest
    try:
        files.remove(*context.place.snapshot_files(digest))
    except OSError as error:
        raise NotWritable(f"{file} cannot be deleted: {error.strerror}.", hint="Check its permissions.") from error


def listed(context: Context) -> tuple[list[DocumentFile], list[str]]:
    """The snapshots as files that documents are read from, and the paths of those that are gone; reads none."""
    found, lost = [], []
    for path, digest, suffix in context.database.rows("select path, sha256, suffix from snapshot order by path"):
        file = context.place.snapshots / digest
        try:
            status = file.stat()
        except OSError:
            lost.append(path)
            continue
        found.append(
            DocumentFile(
                path,
                status.st_size,
                status.st_mtime_ns,
                status.st_ctime_ns,
                os.fspath(file),
                f"snapshot{suffix}",
                digest,
            )
        )
    return found, lost


def opened_copy(context: Context, path: str) -> Path | None:
    """A copy of a snapshot under a name that tells its kind, for a program to open; None where it is gone."""
    snapshot = _row(context, path)
    if snapshot is None or not (context.place.snapshots / snapshot.sha256).is_file():
        return None
    file = context.place.snapshots / snapshot.sha256
    copy = context.place.opened / f"{snapshot.sha256}{snapshot.suffix or '.txt'}"
    if not copy.is_file() or copy.stat().st_size != file.stat().st_size:
        try:
            files.write_whole(copy, file.read_bytes())
        except NotWritable:
            return file
    return copy


def as_named(data: bytes, charset: str | None, *, is_page: bool) -> bytes:
    """The bytes of a page so that they say their encoding themselves: as they are, or as UTF-8 with a mark.

    The encoding that a server names goes before the one that a page names (RFC 9110, WHATWG HTML); where the bytes are
    not in it, and where they are valid UTF-8, which no other text is by chance, they are left alone.
    """
    if charset is None or data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data
    try:
        codec = codecs.lookup(charset).name
        decoded = data.decode("cp1252" if codec == "iso8859-1" else codec)
    except (LookupError, UnicodeError):
        return data
    is_utf8 = codec in ("utf-8", "ascii") or _is_utf8(data)
    if is_utf8 and not (is_page and html.named_encoding(data) not in (None, "utf-8")):
        return data
    return codecs.BOM_UTF8 + (data if is_utf8 else decoded.encode("utf-8", "replace"))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _redacted(data: bytes, suffix: str) -> tuple[bytes, int]:
    name = f"snapshot{suffix}"
    extractor = extractors.choose(name, data[: extractors.HEAD_BYTES])
    if extractor.name in BINARY:
        return data, 0
    try:
        written = html.decode_page(data) if extractor.name == "html" else text.decode(data).text
    except (text.UndecodableText, extractors.CannotExtract):
        return data, 0  # what is read of it is redacted chunk by chunk
    found = len(secrets.find_secrets(written))
    if not found:
        return data, 0
    return codecs.BOM_UTF8 + secrets.redact(written).encode("utf-8", "replace"), found


def _suffix(page: fetching.Fetched) -> str:
    named = SUFFIXES.get(page.content_type or "")
    if named is not None:
        return named
    own = _plain_suffix(unquote(urlsplit(page.address).path))
    return own if own in formats.READABLE else ".txt" if page.content_type == "text/plain" else ""


def _plain_suffix(path: str) -> str:
    suffix = PurePosixPath(path).suffix.lower()
    return suffix if re.fullmatch(r"\.[a-z0-9_+-]{1,20}", suffix) else ""


def _row(context: Context, path: str) -> Snapshot | None:
    rows = context.database.rows(
        "select path, link, sha256, suffix, content_type, fetched_at from snapshot where path = ?", (path,)
    )
    return Snapshot(*rows[0]) if rows else None


def _facts(snapshot: Snapshot) -> tuple[str | None, ...]:
    """All but the time."""
    return snapshot.link, snapshot.sha256, snapshot.suffix, snapshot.content_type
