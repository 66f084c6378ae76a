"""The journal: what the files alone cannot say, append-only, one file per writer, read as one log.

Each line is a JSON object `{"t": time, "w": writer, "kind": ..., ...}`. `t` is a hybrid logical time (Kulkarni et al.
2014): milliseconds since 1970 and a counter, so that a writer's lines never go backward even when its clock does, and
all writers' lines have one order, `(t, w)`. The last member of a line, `"c"`, is the CRC-32 of what is before it: a
line with another one is damaged and passed over. Lines without it, of an earlier memdb, are read as they are.
"""

from __future__ import annotations

import json
import os
import re
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memdb.errors import NotWritable

Record = dict[str, Any]

SUMMED = re.compile(rb'(\{.*),"c":"([0-9a-f]{8})"\}', re.DOTALL)
"""A line with its checksum; the first group is what the sum is of."""


class Journal:
    """The journal folder of a store, with this machine's writer id."""

    def __init__(self, folder: Path, writer: str) -> None:
        self.folder = folder
        self.writer = writer
        self.file = folder / f"{writer}.jsonl"
        self._last: tuple[int, int] = (0, 0)
        self._seen: dict[str, int] | None = None

    def append(self, *records: Record) -> list[Record]:
        """Write records at the end, synced to disk, and return them with their time and writer.

        The caller holds the store's writer lock. A torn last line, left by a power cut, is closed first.
        """
        if not records:
            return []
        stamped = [{"t": self._tick(), "w": self.writer, **record} for record in records]
        data = b"".join(_line(record) + b"\n" for record in stamped)
        from memdb.base.files import make_folder, sync_folder  # noqa: PLC0415

        try:
            make_folder(self.folder)
            with self.file.open("a+b") as out:
                if out.tell() and not _ends_line(out):
                    data = b"\n" + data
                whole = out.tell()
                try:
                    out.write(data)
                    out.flush()
                    os.fsync(out.fileno())
                    if not whole:
                        # The name of a new file is synced apart from what is in it.
                        sync_folder(self.folder)
                except OSError:
                    # A full disk may have taken a part of it.
                    out.truncate(whole)
                    raise
            self._seen = self.state()
        except OSError as error:
            self._seen = None
            raise NotWritable(
                f"The journal {self.file} cannot be written: {error.strerror or error}.",
                hint="Check the permissions and the free space; nothing was changed.",
            ) from error
        return stamped

    def _tick(self) -> str:
        # Other processes of this machine write the same file, and those of others come with a sync tool.
        if self._seen is None or self._seen != self.state():
            self._seen = self.state()
            self._last = max((_parse_time(_last_time(file)) for file in self.files()), default=(0, 0))
        now = time.time_ns() // 1_000_000
        last, count = self._last
        self._last = (now, 0) if now > last else (last, count + 1)
        return f"{self._last[0]:013d}-{self._last[1]:05d}"

    def read(self, kinds: Iterable[str] | None = None) -> list[Record]:
        """All records of all writers in their order; lines that are torn or foreign are passed over.

        `damaged()` lists those. A line that came twice (a merge that kept both sides) counts once.
        """
        wanted = set(kinds) if kinds is not None else None
        return [record for _, record in self._entries() if wanted is None or record["kind"] in wanted]

    def _entries(self) -> list[tuple[bytes, Record]]:
        found: dict[bytes, Record] = {}
        for file in self.files():
            for line in _lines(file):
                record = _parse(line)
                if record is not None:
                    found.setdefault(line, record)
        # Two machines that were copied from one another may give one stamp twice: the line itself decides then.
        return sorted(found.items(), key=lambda entry: (entry[1]["t"], entry[1]["w"], entry[0]))

    def files(self) -> list[Path]:
        """The journal files of all writers."""
        return sorted(self.folder.glob("*.jsonl")) if self.folder.is_dir() else []

    def damaged(self) -> list[tuple[str, int]]:
        """The lines that could not be read, as `(file name, line)`; empty lines do not count."""
        found = []
        for file in self.files():
            for number, line in enumerate(file.read_bytes().split(b"\n"), start=1):
                if line.strip() and _parse(line) is None:
                    found.append((file.name, number))
        return found

    def cut_torn(self, seen: int) -> bool:
        """Cut off the half of a line at the end of this machine's file, unless so many bytes of it were `seen` whole.

        A process that is killed while it writes leaves it: no call confirmed it. The caller holds the lock.
        """
        if not self.file.is_file() or self.file.stat().st_size <= seen:
            return False
        with self.file.open("r+b") as file:
            file.seek(max(0, seen - 1))
            end, _, torn = file.read().rpartition(b"\n")
            if not torn or _parse(torn) is not None or (seen and not end and file.tell() - len(torn) != seen):
                return False
            file.truncate(file.tell() - len(torn))
            os.fsync(file.fileno())
        self._seen = None
        return True

    def mend(self, known: Callable[[list[Record], str], Sequence[Record]]) -> tuple[int, int]:
        """Write damaged lines as they were: by their checksums, else as `known` has them. The caller holds the lock.

        `known` gets all records that can be read and the name of a writer, and returns those of the writer that are not
        among them: one of a time between the lines around a damaged one is what that was. Returns how many lines came
        back in the one way and in the other.
        """
        from memdb.base.files import write_whole  # noqa: PLC0415

        by_sum, by_known = 0, 0
        for name in sorted({name for name, _ in self.damaged()}):
            file = self.folder / name
            before = _lines(file)
            lines = _mended_by_sums(before)
            by_sum += sum(_parse(line) is None for line in before) - sum(_parse(line) is None for line in lines)
            if lines != before:
                write_whole(file, b"".join(line + b"\n" for line in lines))
            if any(_parse(line) is None for line in lines):
                restored = _with_known(lines, known(self.read(), file.stem))
                by_known += len(restored) - len(lines) + sum(_parse(line) is None for line in lines)
                by_known -= sum(_parse(line) is None for line in restored)
                if restored != lines:
                    write_whole(file, b"".join(line + b"\n" for line in restored))
        self._seen = None
        return by_sum, by_known

    def state(self) -> dict[str, int]:
        """The size of every file in bytes: for append-only files, what tells whether there is more to read."""
        return {file.name: file.stat().st_size for file in self.files()}

    def rewrite(self, change: Callable[[list[Record]], Mapping[int, Record | None]]) -> int:
        """Drop or replace records for good, in every writer's file: only `forget` may. Returns how many changed.

        `change` gets all records in their order and returns what those at some places become, None for nothing. Lines
        that cannot be read go too: a torn line may hold a part of any text.
        """
        from memdb.base.files import write_whole  # noqa: PLC0415

        entries = self._entries()
        changed = {entries[place][0]: new for place, new in change([record for _, record in entries]).items()}
        for file in self.files():
            before = _lines(file)
            after = []
            for line in before:
                new = changed.get(line, line)
                if new is not None and _parse(line) is not None:
                    after.append(line if isinstance(new, bytes) else _line(new))
            if after != before:
                write_whole(file, b"".join(line + b"\n" for line in after))
        self._seen = None
        return len(changed)


def _line(record: Record) -> bytes:
    plain = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")[:-1]
    return b'%b,"c":"%08x"}' % (plain, zlib.crc32(plain))


def _lines(file: Path) -> list[bytes]:
    """The lines of a journal file.

    A carriage return, which a version control's newline setting may add, is none of it.
    """
    return [line for line in file.read_bytes().replace(b"\r\n", b"\n").split(b"\n") if line.strip()]


def _mended_by_sums(lines: list[bytes]) -> list[bytes]:
    """The lines, those that are damaged as they were where their checksums tell."""
    from memdb.base import journal_mending  # noqa: PLC0415

    found: list[bytes] = []
    for line in lines:
        found.append(line)
        if _parse(line) is not None:
            continue
        # A byte that became the end of a line made two of one.
        torn = b"\n".join(found[-2:]) if len(found) > 1 and _parse(found[-2]) is None else b""
        for count, damaged in ((2, torn), (1, line)):
            mended = journal_mending.lines_of(damaged)
            if mended and all(_parse(one) is not None for one in mended):
                found[-count:] = mended
                break
    return found


def _with_known(lines: list[bytes], known: Sequence[Record]) -> list[bytes]:
    """The lines with records in the place of damaged ones, where their times fit between the lines around."""
    found: list[bytes] = []
    place = 0
    while place < len(lines):
        gap = place
        while gap < len(lines) and _parse(lines[gap]) is None:
            gap += 1
        if gap == place:
            found.append(lines[place])
            place += 1
            continue
        damaged = lines[place:gap]
        earliest = _time_of(found[-1]) if found else ""
        latest = _time_of(lines[gap]) if gap < len(lines) else "~"
        fitting = sorted((one for one in known if earliest < one["t"] < latest), key=lambda one: str(one["t"]))
        if len(fitting) < len(damaged):
            # Which of them are there is known where their times can still be read.
            damaged = [line for line in damaged if not any(one["t"].encode() in line for one in fitting)]
            kept = damaged if len(damaged) + len(fitting) >= gap - place else lines[place:gap]
        else:
            kept = []
        found += [*map(_line, fitting), *kept]
        place = gap
    return found


def _time_of(line: bytes) -> str:
    record = _parse(line)
    return "" if record is None else str(record["t"])


def _ends_line(file: Any) -> bool:
    file.seek(-1, os.SEEK_END)
    return bool(file.read(1) == b"\n")


def _parse(line: bytes) -> Record | None:
    summed = SUMMED.fullmatch(line.strip())
    if summed is not None and zlib.crc32(summed[1]) != int(summed[2], 16):
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not all(isinstance(record.get(key), str) for key in ("t", "w", "kind")):
        return None
    record.pop("c", None)
    return record


def _last_time(file: Path) -> str:
    """The time of the last whole record of a file, read from its end."""
    size = file.stat().st_size
    block = 65_536
    with file.open("rb") as source:
        while True:
            start = max(0, size - block)
            source.seek(start)
            lines = source.read(size - start).splitlines()
            for line in reversed(lines if start == 0 else lines[1:]):
                record = _parse(line)
                if record is not None:
                    return str(record["t"])
            if start == 0:
                return ""
            block *= 8


def _parse_time(text: str) -> tuple[int, int]:
    milliseconds, _, count = text.partition("-")
    try:
        return int(milliseconds), int(count)
    except ValueError:
        return 0, 0
