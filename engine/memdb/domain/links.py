"""Which memory a written link means: exact spelling, type order, alias, then a unique folded spelling."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal
from urllib.parse import unquote

from memdb.base.text import fold
from memdb.domain.markdown_rules import split_target

TYPE_ORDER = ("user", "feedback", "project", "reference", "episode")
"""Known memory types in the order that breaks ties between equal names; other types follow by name."""

Status = Literal["resolved", "unresolved", "ambiguous"]
How = Literal["exact", "type order", "alias", "folded"]


@dataclass(frozen=True, slots=True)
class LinkEntry:
    """What a memory can be called: `id` is `type/name`, `name` the frontmatter name or else the file stem."""

    id: str
    type: str
    name: str
    stem: str
    aliases: tuple[str, ...] = ()
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Resolution:
    """The memory that a target means, or the sorted `candidates` it could mean when none is guessed."""

    status: Status
    id: str | None = None
    candidates: tuple[str, ...] = ()
    how: How | None = None


_Table = dict[str, list[LinkEntry]]

UNRESOLVED = Resolution("unresolved")


class LinkIndex:
    """Resolves targets over a fixed set of entries; the order of the entries never matters.

    A lookup costs the same at any size. A resolution depends only on entries that share one of
    `keys(target)`, so an index over just those entries gives the same answer as one over all.
    """

    def __init__(self, entries: Iterable[LinkEntry]) -> None:
        self._entries = list(dict.fromkeys(entries))
        self._ids: _Table = {}
        self._paths: _Table = {}
        self._names: _Table = {}
        self._stems: _Table = {}
        self._aliases: _Table = {}
        for entry in self._entries:
            self._ids.setdefault(_exact(entry.id), []).append(entry)
            for spelling in {f"{entry.type}/{entry.name}", f"{entry.type}/{entry.stem}"}:
                self._paths.setdefault(_exact(spelling), []).append(entry)
            self._names.setdefault(_exact(entry.name), []).append(entry)
            self._stems.setdefault(_exact(entry.stem), []).append(entry)
            for alias in {_exact(alias) for alias in entry.aliases}:
                self._aliases.setdefault(alias, []).append(entry)

    @cached_property
    def _folded(self) -> tuple[_Table, _Table]:
        """Folded spellings and folded titles, made only when an exact spelling was not enough."""
        spellings: _Table = {}
        titles: _Table = {}
        for entry in self._entries:
            for key in {fold(spelling) for spelling in _spellings(entry)}:
                spellings.setdefault(key, []).append(entry)
            if entry.title:
                titles.setdefault(fold(entry.title), []).append(entry)
        return spellings, titles

    def resolve(self, target: str) -> Resolution:
        """The memory that `target` means.

        Tried in turn, each for the spelling as written, then without `.md`, leading `./` and `../`, percent
        signs or an anchor: the id; the type with a name or stem; the name, then the file stem, by type order;
        an alias; and after all of these a folded spelling of any, then of a title. Two entries of one type under one
        exact name, two under one alias and two under one folded spelling are ambiguous.
        """
        spellings = _variants(target)
        for spelling in spellings:
            key = _exact(spelling)
            found = _settled(self._ids.get(key), "exact")
            found = found or _settled(self._paths.get(key), "exact")
            found = found or _by_type(self._names.get(key))
            found = found or _by_type(self._stems.get(key))
            found = found or _settled(self._aliases.get(key), "alias")
            if found:
                return found
        for table in self._folded:
            for spelling in spellings:
                found = _settled(table.get(fold(spelling)), "folded")
                if found:
                    return found
        return UNRESOLVED


def _by_type(entries: list[LinkEntry] | None) -> Resolution | None:
    if not entries or len(entries) == 1:
        return _settled(entries, "exact")
    first = min(type_rank(entry.type) for entry in entries)
    return _settled([entry for entry in entries if type_rank(entry.type) == first], "type order")


def _settled(entries: list[LinkEntry] | None, how: How) -> Resolution | None:
    if not entries:
        return None
    candidates = tuple(sorted({entry.id for entry in entries}))
    if len(entries) > 1:
        return Resolution("ambiguous", candidates=candidates)
    return Resolution("resolved", candidates[0], candidates, how)


def type_rank(type_: str) -> tuple[int, str]:
    """The place of a type in the order that breaks name ties: known types first, then the others by name."""
    known = TYPE_ORDER.index(type_) if type_ in TYPE_ORDER else len(TYPE_ORDER)
    return known, type_


def keys(target: str) -> tuple[str, ...]:
    """Every lookup key under which `target` could match, sorted; equal exact spellings have equal keys.

    Store them with a link: when an entry comes, goes or changes, only the links that share a key with
    `entry_keys` of the entry before or after can mean something else.
    """
    return tuple(sorted({fold(spelling) for spelling in _variants(target)}))


def entry_keys(entry: LinkEntry) -> tuple[str, ...]:
    """Every key under which `entry` can be found, sorted."""
    titles = (entry.title,) if entry.title else ()
    return tuple(sorted({fold(spelling) for spelling in (*_spellings(entry), *titles)}))


def _exact(spelling: str) -> str:
    return unicodedata.normalize("NFC", spelling)


def _spellings(entry: LinkEntry) -> set[str]:
    names = {entry.name, entry.stem}
    return {entry.id, *names, *(f"{entry.type}/{name}" for name in names), *entry.aliases}


def _variants(target: str) -> tuple[str, ...]:
    """The spellings to try, the one as written first, without repeats."""
    found = [target.strip()]
    for change in (_without_suffix, _without_dots, unquote, _without_anchor, _without_suffix):
        found += [change(spelling) for spelling in found]
    return tuple(spelling for spelling in dict.fromkeys(found) if spelling)


def _without_suffix(spelling: str) -> str:
    return spelling[:-3] if spelling[-3:].lower() == ".md" else spelling


def _without_dots(spelling: str) -> str:
    while spelling.startswith(("./", "../")):
        spelling = spelling.partition("/")[2]
    return spelling


def _without_anchor(spelling: str) -> str:
    return split_target(spelling)[0]
