"""What an import would do, item by item, and its audit; reads the sources and the folder, and writes nothing."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from memdb.base import files, secrets
from memdb.base import text as texts
from memdb.domain import frontmatter, history
from memdb.domain.importers import Conversation, Importer, Note, audit, chats, naming, relinking
from memdb.domain.importers.audit import Audit
from memdb.domain.links import LinkEntry
from memdb.domain.memories import DEFAULT_TYPE, split_path
from memdb.services.context import Context, Progress

CONVERSATIONS = "conversations"
"""The folder of the root in which conversations are kept, each a JSONL file in a folder of its kind."""

WRITTEN = ("created", "updated")
"""What an import does to a file; in all other cases it leaves it alone."""

_LINK = re.compile(rb"\[\[[^\[\]\n]*\]\]")


@dataclass(slots=True)
class Step:
    """What becomes of one item. `before` is the sha256 of the file that is there now."""

    source: int  # which of the sources
    mark: str  # the hash of the item's identity
    place: str
    path: str = ""
    action: str = "created"
    reason: str = ""
    sha256: str = ""
    before: str | None = None
    data: bytes | None = None  # of a note; a conversation is read again
    mtime_ns: int | None = None
    is_document: bool = False


@dataclass(slots=True)
class Plan:
    """The steps of an import, and what a person should know before."""

    importers: list[Importer]
    steps: list[Step] = field(default_factory=list)
    audit: Audit = field(default_factory=Audit)

    @property
    def counts(self) -> dict[str, int]:
        """Steps by what they do."""
        return dict(sorted(Counter(step.action for step in self.steps).items()))


@dataclass(frozen=True, slots=True)
class _Known:
    """What the journal says of an item that was imported before: the marks of its file's path and bytes."""

    path_mark: str
    sha256: str


FORGOTTEN = _Known("", "")
"""What the journal says of an item that was imported and forgotten."""


def mark(kind: str, id_: str) -> str:
    """The hash of an item's identity."""
    text = json.dumps([kind, id_], ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class Planner:
    """Plans over one store; every source adds to the same audit and takes from the same names."""

    def __init__(
        self, context: Context, importers: Sequence[Importer], *, to: str | None, today: datetime.date
    ) -> None:
        self._context = context
        self._root = context.place.root
        self._to = to
        self._today = today
        self._plan = Plan(list(importers))
        self._notes: dict[str, relinking.Linked] = {}
        self._sketches: dict[str, tuple[int, ...]] = {}
        self._attachments: list[str] = []
        self._read_store()

    def _read_store(self) -> None:
        database = self._context.database
        walk = files.walk(self._root)
        paths = set(walk.files)
        for folder in {CONVERSATIONS, self._to or CONVERSATIONS}:
            found = (self._root / folder).rglob("*.jsonl") if (self._root / folder).is_dir() else ()
            paths |= {files.storable(file.relative_to(self._root).as_posix()) for file in found}
        self._paths = naming.Paths(paths)
        self._there = {history.key_digest(path): path for path in paths}
        self._by_sha = {digest: path for path, digest in database.rows("select path, sha256 from source")}
        self._forgotten = {found for (found,) in database.rows("select key_sha256 from tombstone")}
        self._known: dict[str, _Known] = {}
        for record in self._context.journal.read(("import",)):
            for entry in record.get("files", []):
                if isinstance(entry, list) and len(entry) == 3 and all(isinstance(part, str) for part in entry):
                    self._known[entry[0]] = _Known(entry[1], entry[2])
        self._owned = {known.path_mark for known in self._known.values()}
        self._entries = {
            path: LinkEntry(key, kind, name, key.rpartition("/")[2], tuple(json.loads(aliases)), title)
            for path, key, kind, name, aliases, title in database.rows(
                "select source.path, node.key, memory.type, memory.name, aliases, memory.title from memory"
                " join node on node.id = memory.id join source on source.id = source_id"
            )
        }
        self._imported = {
            (str(values.get("imported_from")), str(values.get("imported_id"))): path
            for path, values in (
                (path, json.loads(text))
                for path, text in database.rows(
                    "select path, frontmatter from memory join source on source.id = source_id"
                    " where frontmatter like '%\"imported_id\"%'"
                )
            )
        }

    def plan(self, progress: Progress) -> Plan:
        """All steps, in the order of the sources. Raises CannotImport, StoreUnreadable."""
        for number, importer in enumerate(self._plan.importers):
            total = len(importer.tree.entries)
            for done, item in enumerate(importer.items()):
                progress("looking", done, max(total, done + 1) if isinstance(item, Note) else 0)
                step = Step(number, mark(importer.kind, item.id), secrets.redact(item.place))
                if isinstance(item, Note):
                    self._note(step, item, importer.kind)
                else:
                    self._conversation(step, item, importer.kind)
                self._plan.steps.append(step)
            if importer.kind in _BY_PATH:
                self._attachments += [path for path in importer.tree.entries if not files.is_memory_file(path)]
            left = Counter(self._plan.audit.left)
            left.update(+importer.left)
            self._plan.audit.left = dict(sorted(left.items()))
            self._plan.audit.passed += [(secrets.redact(path), reason) for path, reason in importer.tree.passed]
        self._relink()
        self._judge()
        return self._plan

    def _note(self, step: Step, note: Note, kind: str) -> None:
        found = self._plan.audit
        step.data, step.mtime_ns = note.data, note.mtime_ns
        try:
            text = texts.plain(texts.decode(note.data).text)
        except texts.UndecodableText as error:
            step.action, step.reason = "unreadable", error.message
            return
        if places := [*audit.secret_places(step.place, note.path), *audit.secret_places(step.place, text)]:
            found.secrets += places
            step.action, step.reason = "refused", f"line {places[0].line} looks like a credential: {places[0].category}"
            return
        parsed = frontmatter.parse(text)
        if reason := audit.junk(parsed):
            found.junk.append((step.place, reason))
            if not parsed.body.strip() and not parsed.frontmatter:
                step.action, step.reason = "empty", "nothing in it"
                return
        type_ = self._to or note.type or DEFAULT_TYPE
        self._settle(step, f"{type_}/{naming.safe_path(note.path)}", ".md", kind, note.id)
        folder, rest = split_path(step.path)
        key = f"{folder or type_}/{rest}"
        if step.action == "created" and history.key_digest(key) in self._forgotten:
            step.action, step.reason = "forgotten", "was forgotten in this store"
            return
        if step.action not in ("gone", "forgotten"):
            found.types[folder or type_] = found.types.get(folder or type_, 0) + 1
        changed = _day_of(note.mtime_ns)
        if reason := audit.stale(parsed, changed, self._today):
            found.stale.append((step.place, reason))
        found.inline_tags += audit.inline_tags(parsed.body)
        self._sketches[step.place] = audit.sketch(parsed.body)
        stem = rest.rpartition("/")[2]
        entry = LinkEntry(key, folder or type_, parsed.name or stem, stem, parsed.aliases, parsed.h1)
        links = relinking.links_of(parsed.body, parsed.body_line)
        where = re.sub(r"(?i)\.(md|markdown)$", "", note.place) if kind in _BY_PATH else note.path
        self._notes[step.mark] = relinking.Linked(where, note.names, entry, links)

    def _conversation(self, step: Step, conversation: Conversation, kind: str) -> None:
        found = self._plan.audit
        step.is_document = True
        clean, places = without_secrets(conversation)
        found.secrets += places
        found.conversations += 1
        found.messages += len(clean.turns)
        step.sha256 = hashlib.sha256(chats.lines(clean, kind)).hexdigest()
        folder = self._to or CONVERSATIONS
        self._settle(step, f"{folder}/{kind}/{chats.file_name(clean)}", ".jsonl", kind, conversation.id)

    def _settle(self, step: Step, stem: str, suffix: str, kind: str, id_: str) -> None:
        """Find the file that an item has or will have."""
        known = self._known.get(step.mark)
        if known == FORGOTTEN:
            step.path, step.action, step.reason = stem + suffix, "forgotten", "was forgotten in this store"
            return
        if known is not None:
            path = self._there.get(known.path_mark) or self._moved(known)
            if path is None:
                step.path, step.action = stem + suffix, "gone"
                step.reason = "was removed or renamed in the store since it was imported"
            else:
                step.path, step.action = path, "known"
            return
        if (kind, id_) in self._imported:
            step.path, step.action = self._imported[kind, id_], "known"
            return
        if self._is_same(stem + suffix, step.data, step.sha256):
            step.path, step.action = stem + suffix, "known"
            return
        step.path = self._paths.claim(stem, suffix, step.mark)

    def _moved(self, known: _Known) -> str | None:
        """The file with an item's bytes that is no other item's: it was renamed."""
        path = self._by_sha.get(known.sha256)
        return path if path is not None and history.key_digest(path) not in self._owned else None

    def _is_same(self, path: str, data: bytes | None, sha256: str) -> bool:
        """Whether a file is there already that an import which did not finish, or a person, put there."""
        file = self._root / files.real_path(path)
        if self._paths.is_free(path) or not file.is_file():
            return False
        there = file.read_bytes()
        if data is None:
            return hashlib.sha256(there).hexdigest() == sha256
        return _LINK.sub(b"[[]]", there) == _LINK.sub(b"[[]]", data)

    def _relink(self) -> None:
        ours = {step.path for step in self._plan.steps}
        there = [entry for path, entry in self._entries.items() if path not in ours]
        rewrites, lost = relinking.plan(self._notes, there, self._attachments)
        places = {step.mark: step for step in self._plan.steps}
        self._plan.audit.unresolved = [(places[key].place, line, target) for key, line, target in lost]
        for key, meant in rewrites.items():
            step = places[key]
            try:
                step.data = relinking.rewritten(step.data or b"", meant)
                self._plan.audit.relinked += len(meant)
            except texts.UnencodableText:
                self._plan.audit.unresolved += [(step.place, 0, raw) for raw in meant]

    def _judge(self) -> None:
        """Compare what is to be written with what is there."""
        found = self._plan.audit
        same: dict[str, list[str]] = {}
        for step in self._plan.steps:
            if step.data is not None:
                step.sha256 = hashlib.sha256(step.data).hexdigest()
            if step.action == "known":
                self._compare(step)
            elif step.action == "created" and step.sha256 in self._by_sha:
                found.known.append((step.place, self._by_sha[step.sha256]))
            if step.action not in ("refused", "unreadable", "empty") and not step.is_document:
                same.setdefault(step.sha256, []).append(step.place)
        found.exact = sorted(places for places in same.values() if len(places) > 1)
        exact = {place for places in found.exact for place in places}
        pairs = audit.near_doubles(self._sketches)
        found.near = [pair for pair in pairs if not (pair[0] in exact and pair[1] in exact)]
        found.clashes = list(self._paths.clashes)
        found.types = dict(sorted(found.types.items()))

    def _compare(self, step: Step) -> None:
        known = self._known.get(step.mark)
        file = self._root / files.real_path(step.path)
        try:
            step.before = hashlib.sha256(file.read_bytes()).hexdigest()
        except OSError:
            step.action, step.reason = "gone", "was removed in the store since it was imported"
            return
        if step.before == step.sha256:
            step.action = "unchanged"
        elif known is not None and known.sha256 == step.sha256:
            step.action, step.reason = "unchanged", "was edited in the store; the source has nothing new"
        elif known is not None and known.sha256 == step.before:
            step.action = "updated"
        else:
            step.action, step.reason = (
                "edited",
                "was edited in the store since; the source's text was not written over it",
            )


_BY_PATH = ("claude-code", "obsidian", "basic-memory", "markdown")
"""The kinds whose items are files."""


def without_secrets(conversation: Conversation) -> tuple[Conversation, list[audit.SecretPlace]]:
    """A conversation with its credentials cut out, and where they stood: the message, and the line in it."""
    whole = "\n".join([conversation.title, *conversation.about.values(), *(turn.text for turn in conversation.turns)])
    names = "\n".join(name for turn in conversation.turns for name in turn.files)
    if not secrets.find_secrets(f"{whole}\n{names}"):
        return conversation, []
    places = audit.secret_places(conversation.place, conversation.title)
    turns = []
    for turn in conversation.turns:
        places += audit.secret_places(f"{conversation.place}: message {turn.id}", turn.text)
        turns.append(replace(turn, text=secrets.redact(turn.text), files=tuple(map(secrets.redact, turn.files))))
    about = {key: secrets.redact(value) for key, value in conversation.about.items()}
    return replace(conversation, title=secrets.redact(conversation.title), turns=tuple(turns), about=about), places


def folder_of(context: Context, step: Step) -> Path:
    """The folder that is mirrored for a conversation: that of all conversations."""
    return context.place.root / step.path.split("/", 1)[0]


def _day_of(mtime_ns: int | None) -> str | None:
    if mtime_ns is None:
        return None
    try:
        return datetime.datetime.fromtimestamp(mtime_ns / 1e9, tz=datetime.UTC).date().isoformat()
    except (OverflowError, OSError, ValueError):
        return None
