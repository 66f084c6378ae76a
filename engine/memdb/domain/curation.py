"""What people decided, replayed: what entities are called, which of them are one, which are not to be there.

An entity is meant by its anchor, the first key that it had, whatever it is called later. A decision that does not apply
is held, not lost: it takes effect once what held it is undone. So two machines that decided apart come to the same
state when their journals meet, and every decision can be taken back exactly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Any, Literal

from memdb.base.journal import Record
from memdb.base.text import name_key
from memdb.domain.vocabulary import entry_key

State = Literal["standing", "held", "undone"]

ID_DIGITS = 10
"""Of the id by which people call a decision, in hex: 40 bits keep 100,000 decisions apart with a chance of 0.995."""

ENTITY_ACTIONS = ("rename", "retype", "change", "merge", "delete")
"""Actions about one entity, which `entity` has the anchor of."""

TEXTS = {
    "rename": ("entity", "name"),
    "retype": ("entity", "type"),
    "change": ("entity",),
    "merge": ("entity", "into"),
    "delete": ("entity",),
    "distinct": (),
    "resolve": ("conflict", "of", "choice"),
    "confirm": (),
    "undo": (),
}
"""What a record of each action has to have as text."""

OWN_FIELDS = ("t", "w", "kind", "action", "by", "why", "on")
"""Fields that every decision has; what goes with its action is the rest."""


_key = lru_cache(maxsize=65_536)(name_key)
"""Names are compared again with each replay."""


# Records


def record(action: str, *, by: str, on: Iterable[str], why: str | None = None, **fields: Any) -> Record:
    """One decision; `on` are the refs of the standing decisions about the same that whoever decides has before them.

    A `rename` with `part` takes the name of something that was merged into the entity.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    reason = {"why": why} if why else {}
    return {"kind": "curation", "action": action, **given, "by": by, **reason, "on": sorted(on)}


def is_whole(record: Record) -> bool:  # noqa: PLR0911 (one for each thing that may lack)
    """Whether a record has what its action needs; an action that a newer memdb knows is passed over."""
    action = record.get("action")
    if not isinstance(action, str) or action not in TEXTS:
        return False
    if not all(isinstance(record.get(name), str) for name in TEXTS[action]):
        return False
    if not all(isinstance(record.get(name, ""), str) for name in ("by", "why", "name", "type", "label", "into_label")):
        return False
    if not are_texts(record.get("on", [])):
        return False
    if "name" in record and not name_key(record["name"]):
        return False
    if action == "change":
        return "name" in record or "type" in record
    if action == "distinct":
        return are_texts(record.get("pair")) and len(set(record["pair"])) == 2
    if action == "resolve":
        return are_texts(record.get("keep", [])) and are_texts(record.get("against", []))
    if action in ("undo", "confirm"):
        return isinstance(record.get("of"), str) or (are_texts(record.get("of")) and bool(record["of"]))
    return all(record.get(name) for name in ("entity", "into") if name in record)


def are_texts(value: object) -> bool:
    """Whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def ref_of(record: Record) -> str:
    """What another record means this one by."""
    return f"{record['t']}/{record['w']}"


def id_of(ref: str) -> str:
    """What a person means a decision by."""
    return sha256(ref.encode("utf-8", "replace")).hexdigest()[:ID_DIGITS]


def means(record: Record) -> tuple[str, ...]:
    """The refs that an `undo` or a `confirm` is of."""
    of = record.get("of", ()) if record.get("action") in ("undo", "confirm") else ()
    return (of,) if isinstance(of, str) else tuple(of)


def subjects(record: Record) -> tuple[str, ...]:
    """What a decision is about, the first thing first: `entity:anchor`, `type:name`, `predicate:name`, `conflict:id`.

    A rename is about the name as well: another entity may be called so.
    """
    if record["kind"] == "vocabulary":
        return (f"{record['list']}:{entry_key(record['list'], record['name'])}",)
    action = record["action"]
    if action == "resolve":
        return (f"conflict:{record['conflict']}",)
    keys: list[str] = []
    if action == "distinct":
        keys = sorted(record["pair"])
    elif action in ENTITY_ACTIONS:
        keys = [record["entity"]]
        keys += [record["into"]] if action == "merge" else []
        keys += [_key(record["name"])] if "name" in record else []
    return tuple(dict.fromkeys(f"entity:{key}" for key in keys))


# Replay


@dataclass(slots=True)
class Verdict:
    """What became of a decision: whether it counts, why it does not, and which others say otherwise (refs)."""

    record: Record
    ref: str
    about: tuple[str, ...] = ()
    state: State = "standing"
    reason: str | None = None
    contradicts: tuple[str, ...] = ()


@dataclass(slots=True)
class Curation:
    """All decisions and what they come to. Keys are name keys; an anchor is one too."""

    verdicts: dict[str, Verdict] = field(default_factory=dict)  # by ref, in order
    owner: dict[str, str] = field(default_factory=dict)  # key: anchor that a rename gave it to
    claimed: dict[str, str] = field(default_factory=dict)  # key: the name as it was given
    into: dict[str, str] = field(default_factory=dict)  # anchor: the one that it is part of
    called: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    distinct: set[tuple[str, str]] = field(default_factory=set)
    resolutions: dict[str, Record] = field(default_factory=dict)  # by conflict: the last that stands
    labels: dict[str, str] = field(default_factory=dict)  # anchor: its name as it was when it was decided about
    known: set[str] = field(default_factory=set)  # anchors that standing decisions are about

    @property
    def vocabulary(self) -> list[Record]:
        """The decisions about the vocabulary that count, in their order."""
        return [
            one.record for one in self.verdicts.values() if one.record["kind"] == "vocabulary" and one.state != "undone"
        ]

    def anchor(self, key: str) -> str:
        """The anchor that a key means, as if nothing were merged."""
        return key if key in self.known else self.owner.get(key, key)

    def root(self, anchor: str) -> str:
        """The anchor of the whole that an anchor is part of."""
        while anchor in self.into:
            anchor = self.into[anchor]
        return anchor

    def resolve(self, key: str) -> str:
        """The anchor of the entity that a name means."""
        return self.root(self.anchor(key))

    def key_of(self, root: str) -> str:
        """The name key of an entity: of what it is called, else its anchor."""
        return _key(self.called[root]) if root in self.called else root

    def spelling(self, key: str) -> str:
        """A decided name as a person reads it."""
        return self.claimed.get(key) or self.labels.get(key) or key

    def names(self) -> Iterator[tuple[str, str]]:
        """Every name key that decisions speak of, with the anchor that it means as if nothing were merged."""
        for key in sorted(self.known | self.owner.keys()):
            yield key, self.anchor(key)


def replay(records: Sequence[Record]) -> Curation:
    """What all decisions come to, in their order; those of the kind `vocabulary` can be undone like the others."""
    curation = Curation()
    for one in records:
        ref = ref_of(one)
        while ref in curation.verdicts:
            ref += "'"  # copies of one machine may give a stamp twice
        curation.verdicts[ref] = Verdict(one, ref, subjects(one))
    places = {ref: place for place, ref in enumerate(curation.verdicts)}
    for verdict in reversed(curation.verdicts.values()):
        if verdict.state != "undone" and verdict.record["action"] == "undo":
            for ref in means(verdict.record):
                if places.get(ref, len(places)) < places[verdict.ref]:
                    curation.verdicts[ref].state = "undone"
    for verdict in curation.verdicts.values():
        if verdict.state != "undone":
            verdict.reason = _decide(curation, verdict.record)
            verdict.state = "held" if verdict.reason else "standing"
    _contradictions(curation)
    return curation


def _decide(curation: Curation, record: Record) -> str | None:
    """Change the state by one decision; why it does not apply, where it does not."""
    if record["kind"] == "vocabulary":
        return None
    action = record["action"]
    if action in ENTITY_ACTIONS:
        reason = _decide_entity(curation, record)
        if reason is None:
            _note_labels(curation, record)
        return reason
    if action == "distinct":
        one, other = sorted(curation.anchor(key) for key in record["pair"])
        curation.distinct.add((one, other))
    elif action == "resolve":
        curation.resolutions[record["conflict"]] = record
        return _merge_all(curation, merges(record))
    elif any(ref not in curation.verdicts for ref in means(record)):
        return "what it is of is not in the journal"
    return None


def _decide_entity(curation: Curation, record: Record) -> str | None:
    anchor, action = curation.anchor(record["entity"]), record["action"]
    reason = None
    if action == "merge":
        reason = _merge(curation, anchor, curation.anchor(record["into"]))
    elif action == "delete":
        reason = _part(curation, anchor)
        if reason is None:
            curation.deleted.add(anchor)
    else:
        reason = _call(curation, anchor, record) if "name" in record else None
        if reason is None and "type" in record:
            curation.types[anchor] = entry_key("type", record["type"])
    if reason is None:
        curation.known.add(anchor)
    return reason


def _call(curation: Curation, anchor: str, record: Record) -> str | None:
    name = record["name"]
    key = _key(name)
    # The name of a part stays the part's: where that is none any more, it is called so itself.
    is_part = record.get("part") is True
    other = key if is_part or key in curation.known else curation.owner.get(key)
    if other is not None and curation.resolve(other) != curation.root(anchor):
        return f"another entity has the name {name!r}"
    if not is_part and key != anchor and key not in curation.known:
        curation.owner[key] = anchor
    curation.claimed[key] = name
    curation.called[anchor] = name
    return None


def _merge(curation: Curation, source: str, target: str) -> str | None:
    reason = _part(curation, source)
    if reason is not None:
        return reason
    if curation.root(target) == source:
        return "both are one entity already"
    for end in (source, curation.root(target)):
        if end in curation.deleted:
            return f"{curation.spelling(end)!r} is deleted"
    curation.into[source] = target
    curation.known.add(target)
    return None


def merges(record: Record) -> list[tuple[str, str]]:
    """What a decision makes part of what, by the keys it names: a merge, or a conflict settled by one."""
    if record["kind"] == "curation" and record["action"] == "merge":
        return [(record["entity"], record["into"])]
    if record["action"] == "resolve" and (record["of"], record["choice"]) == ("relation", "merge"):
        return [(source, into) for into in record.get("keep", ())[:1] for source in record.get("against", ())]
    return []


def _merge_all(curation: Curation, pairs: Sequence[tuple[str, str]]) -> str | None:
    """Several merges of one decision: all or none."""
    before, known = dict(curation.into), set(curation.known)
    for source, into in pairs:
        anchor = curation.anchor(source)
        reason = _merge(curation, anchor, curation.anchor(into))
        if reason is not None:
            curation.into, curation.known = before, known
            return reason
        curation.known.add(anchor)
    return None


def _part(curation: Curation, anchor: str) -> str | None:
    if anchor not in curation.into:
        return None
    return f"it is part of {curation.spelling(curation.into[anchor])!r} already"


def _note_labels(curation: Curation, record: Record) -> None:
    for name, end in (("label", record["entity"]), ("into_label", record.get("into"))):
        label = record.get(name)
        if label and end and _key(label) == end:
            curation.labels.setdefault(end, label)


# Contradictions


def _contradictions(curation: Curation) -> None:
    """Note which decisions of different writers say different things, neither knowing of the other."""
    about: dict[str, list[Verdict]] = defaultdict(list)
    counts = [verdict for verdict in curation.verdicts.values() if verdict.state != "undone"]
    for verdict in counts:
        for subject in verdict.about:
            about[subject].append(verdict)
    found: dict[str, set[str]] = defaultdict(set)
    for verdicts in about.values():
        if len(verdicts) < 2 or len({verdict.record["w"] for verdict in verdicts}) < 2:
            continue
        for place, one in enumerate(verdicts):
            for other in verdicts[place + 1 :]:
                if _is_unaware(one, other) and _differ(one.record, other.record):
                    found[one.ref].add(other.ref)
                    found[other.ref].add(one.ref)
    if not found:
        return
    looked_at = [seen for verdict in counts if len(seen := _seen(verdict.record)) > 1]
    for ref, others in found.items():
        left = [other for other in others if not any(ref in seen and other in seen for seen in looked_at)]
        curation.verdicts[ref].contradicts = tuple(sorted(left))


def _seen(record: Record) -> frozenset[str]:
    return frozenset(record.get("on", ())) | frozenset(means(record))


def _is_unaware(one: Verdict, other: Verdict) -> bool:
    if one.record["w"] == other.record["w"] or "on" not in one.record or "on" not in other.record:
        return False  # decisions of earlier versions do not say what was known
    return one.ref not in _seen(other.record) and other.ref not in _seen(one.record)


def _differ(one: Record, other: Record) -> bool:  # noqa: PLR0911 (one for each pair of actions)
    if one["kind"] != other["kind"]:
        return False
    if one["kind"] == "vocabulary":
        return (one["action"], one.get("description")) != (other["action"], other.get("description"))
    actions = {one["action"], other["action"]}
    if actions == {"resolve"}:
        return _outcome(one) != _outcome(other)
    if "distinct" in actions:
        return actions == {"distinct", "merge"} and _pair(one) == _pair(other)
    if actions == {"merge"}:
        return one["into"] != other["into"] and (one["entity"] == other["entity"] or _pair(one) == _pair(other))
    if "delete" in actions:
        return actions != {"delete"} and _are_about_one(one, other)
    if "merge" in actions:
        return _takes_name(one, other) or _takes_name(other, one)
    if _fields_differ(one, other) or _share_name(one, other):
        return True
    return _takes_name(one, other) or _takes_name(other, one)


def _outcome(record: Record) -> tuple[str, str, list[str], list[str]]:
    return record["of"], record["choice"], sorted(record.get("keep", ())), sorted(record.get("against", ()))


def _pair(record: Record) -> list[str]:
    return sorted(record["pair"] if record["action"] == "distinct" else (record["entity"], record["into"]))


def _are_about_one(one: Record, other: Record) -> bool:
    ends = [{record["entity"], record.get("into", record["entity"])} for record in (one, other)]
    return bool(ends[0] & ends[1]) or _takes_name(one, other) or _takes_name(other, one)


def _fields_differ(one: Record, other: Record) -> bool:
    return one["entity"] == other["entity"] and any(
        name in one and name in other and one[name] != other[name] for name in ("name", "type")
    )


def _takes_name(one: Record, other: Record) -> bool:
    """Whether one calls its entity by the name of an entity that the other is about, as another one."""
    if "name" not in one:
        return False
    key = _key(one["name"])
    ends = {other["entity"], other.get("into", other["entity"])}
    return key in ends and one["entity"] not in ends


def _share_name(one: Record, other: Record) -> bool:
    if "name" not in one or "name" not in other or one["entity"] == other["entity"]:
        return False
    return _key(one["name"]) == _key(other["name"])
