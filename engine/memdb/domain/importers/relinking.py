"""Links that meant a note in its source mean the same memory here: the few that would not are written anew."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memdb.base import text as texts
from memdb.domain import frontmatter, markdown
from memdb.domain.importers.naming import fold_path
from memdb.domain.links import LinkEntry, LinkIndex
from memdb.domain.markdown import WikiLink

_NO_TARGET = re.compile(r"[\[\]|\n]")


@dataclass(frozen=True, slots=True)
class Linked:
    """A note as links see it: its path in the source (without suffix), its other names, how memdb will know it."""

    path: str
    names: tuple[str, ...]
    entry: LinkEntry
    links: tuple[WikiLink, ...]


class SourceLinks:
    """What a link means in its source: a path from the top or from the note's folder, a file's name, another name."""

    def __init__(self, notes: Iterable[Linked]) -> None:
        self._paths: dict[str, list[str]] = {}
        self._names: dict[str, list[tuple[str, str]]] = {}
        self._others: dict[str, list[str]] = {}
        for note in notes:
            id_, path = note.entry.id, fold_path(note.path)
            self._paths.setdefault(path, []).append(id_)
            self._names.setdefault(path.rpartition("/")[2], []).append((path, id_))
            for name in dict.fromkeys(map(fold_path, note.names)):
                self._others.setdefault(name, []).append(id_)

    def meaning(self, target: str, path: str) -> str | None:
        """The memory that a target means in the note at a path; None where there is none, or several."""
        folder = posixpath.dirname(fold_path(path))
        wanted = fold_path(re.sub(r"(?i)\.(md|markdown)$", "", target.strip()))
        if not wanted:
            return None
        beside = posixpath.normpath(posixpath.join(folder, wanted))
        for candidate in (beside, wanted) if wanted.startswith(".") else (wanted, beside):
            if len(found := self._paths.get(candidate.lstrip("/"), [])) == 1:
                return found[0]
        named = self._names.get(wanted, [])
        if len(named) == 1:
            return named[0][1]
        if named:
            return None
        suffixed = [
            id_ for path_, id_ in self._names.get(wanted.rpartition("/")[2], []) if path_.endswith("/" + wanted)
        ]
        for others in (suffixed if "/" in wanted else [], self._others.get(wanted, [])):
            if len(set(others)) == 1:
                return others[0]
        return None


def plan(
    notes: Mapping[str, Linked], there: Iterable[LinkEntry], attachments: Iterable[str]
) -> tuple[dict[str, dict[str, str]], list[tuple[str, int, str]]]:
    """By note, which links as written have to lead where; and the links that lead nowhere, as (note, line, target).

    `there` are the memories that the store has besides, `attachments` the paths of files that are no notes.
    """
    source = SourceLinks(notes.values())
    here = LinkIndex([*(note.entry for note in notes.values()), *there])
    files = {fold_path(path) for path in attachments}
    files |= {path.rpartition("/")[2] for path in files}
    rewrites: dict[str, dict[str, str]] = {}
    lost: list[tuple[str, int, str]] = []
    resolved: dict[str, str | None] = {}
    for key, note in notes.items():
        for link in note.links:
            if not link.target or fold_path(link.written.rpartition("/")[2]) in files:
                continue
            meant, anchor = source.meaning(link.written, note.path), ""
            if meant is None:
                meant, anchor = source.meaning(link.target, note.path), link.written[len(link.target) :]
            if link.written not in resolved:
                resolved[link.written] = here.resolve(link.written).id
            found = resolved[link.written]
            if meant is not None and meant != found and not _NO_TARGET.search(meant):
                rewrites.setdefault(key, {})[link.raw] = meant + anchor
            elif found is None:
                lost.append((key, link.line, link.written))
    return rewrites, lost


def links_of(body: str, body_line: int) -> tuple[WikiLink, ...]:
    """The links of a note's text."""
    return tuple(markdown.wiki_links(body, body_line))


def rewritten(data: bytes, meant: Mapping[str, str]) -> bytes:
    """A note's bytes with some links, given as written, to other targets; what was written stays as what is shown.

    The frontmatter and every other byte stay. Raises what `decode_exact` and `encode_exact` raise.
    """
    decoded = texts.decode_exact(data)
    parsed = frontmatter.parse(decoded.text)
    places: dict[int, set[str]] = {}
    for link in markdown.wiki_links(parsed.body, parsed.body_line):
        if link.raw in meant:
            places.setdefault(link.line, set()).add(link.raw)
    lines = re.split(r"(\r\n|\r|\n)", decoded.text)  # lines and what ends them, in turn
    for line, raws in places.items():
        at = 2 * (line - 1)
        in_table = lines[at].lstrip().startswith("|")
        for raw in sorted(raws, key=len, reverse=True):
            lines[at] = lines[at].replace(raw, _written(raw, meant[raw], in_table))
    return texts.encode_exact("".join(lines), decoded)


def _written(raw: str, target: str, in_table: bool) -> str:
    inner = raw.removeprefix("!")[2:-2]
    bar = "\\|" if in_table or "\\|" in inner else "|"
    before, _, label = inner.replace("\\|", "|").partition("|")
    mark = "!" if raw.startswith("!") else ""
    return f"{mark}[[{target}{bar}{label or before}]]"
